/* threads.c - four threads translate the sentences of standard input. They share one model and, if given, a
   shortlist. Each has its own translator and takes every fourth sentence. Prints the translations in the order of
   the sentences. */
#include <pthread.h>
#include <rapt/rapt.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, LINES = 1000, BYTES = 512 };
static char lines[LINES][BYTES], answers[LINES][2 * BYTES];
static int count;
static atomic_int failures;
static rapt_translator *first; /* loads the file; the others share its model and tokenizers */
static rapt_shortlist *shortlist;

static void *translate(void *number)
{
    rapt_translator_options options = {.size = sizeof options, .threads = 1}; /* per call, since four run at once */
    rapt_translator *mine;
    rapt_message why;
    if (rapt_translator_create(&mine, rapt_translator_model(first), rapt_translator_source(first),
                               rapt_translator_target(first), &options, NULL, &why) ||
        rapt_translator_set_shortlist(mine, shortlist, &why))
        return fprintf(stderr, "%s\n", why.text), (void)failures++, NULL;
    for (int i = *(int *)number; i < count; i += THREADS)
        if (rapt_translate(mine, lines[i], answers[i], sizeof answers[i], NULL, &why)) {
            fprintf(stderr, "line %d: %s\n", i + 1, why.text);
            answers[i][0] = 0, failures++;
        }
    rapt_translator_free(mine);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    rapt_message why;
    if (argc < 2) return fprintf(stderr, "usage: %s model.safetensors [shortlist]\n", argv[0]), 2;
    if (rapt_translator_load(&first, argv[1], NULL, NULL, &why) ||
        (argc > 2 && rapt_shortlist_load(&shortlist, argv[2], rapt_translator_source(first),
                                         rapt_translator_target(first), NULL, &why)))
        return fprintf(stderr, "%s\n", why.text), 1;
    for (; count < LINES && fgets(lines[count], BYTES, stdin); count++) {
        if (!strchr(lines[count], '\n') && !feof(stdin))
            return fprintf(stderr, "line %d is too long\n", count + 1), 1;
        lines[count][strcspn(lines[count], "\n")] = 0;
    }
    if (count == LINES && getchar() != EOF) return fprintf(stderr, "more than %d lines\n", LINES), 1;
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, translate, &numbers[i])) return 1;
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < count; i++) puts(answers[i]);
    rapt_translator_free(first), rapt_shortlist_free(shortlist);
    return failures > 0;
}
