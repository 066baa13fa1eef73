/* score.c - scores several translations of a sentence with a model. Prints the mean log-probability of the tokens
   of each translation, most likely first. */
#include <rapt/rapt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 100 };
struct candidate {
    const char *text;
    double score;
};

static int hear(void *user, const rapt_text_score *score)
{
    struct candidate *candidates = user;
    candidates[score->pair].score = score->status ? -1e9 : score->sum / (score->target_count + 1);
    return 0;
}

static int by_score(const void *a, const void *b)
{
    double x = ((const struct candidate *)a)->score, y = ((const struct candidate *)b)->score;
    return (x < y) - (x > y);
}

int main(int argc, char **argv)
{
    struct candidate candidates[MAX];
    rapt_text sources[MAX], targets[MAX];
    rapt_translator *translator;
    rapt_message why;
    int count = argc - 3;
    if (count < 1 || count > MAX) return fprintf(stderr, "usage: %s MODEL SOURCE TARGET...\n", argv[0]), 2;
    for (int i = 0; i < count; i++) {
        candidates[i] = (struct candidate){argv[i + 3], 0};
        sources[i] = (rapt_text){argv[2], strlen(argv[2])};
        targets[i] = (rapt_text){argv[i + 3], strlen(argv[i + 3])};
    }
    if (rapt_translator_load(&translator, argv[1], NULL, NULL, &why) ||
        rapt_translator_score(translator, sources, targets, (size_t)count, hear, candidates, &why))
        return fprintf(stderr, "%s\n", why.text), 1;
    qsort(candidates, (size_t)count, sizeof *candidates, by_score);
    for (int i = 0; i < count; i++) printf("%.3f\t%s\n", candidates[i].score, candidates[i].text);
    rapt_translator_free(translator);
    return 0;
}
