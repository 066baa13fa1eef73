/* stream.c - prints each piece of a sentence's translation as soon as it is final, with its log-probability, using
   a token callback. Stops after ten pieces. */
#include <rapt/rapt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECES = 10 };
static rapt_message why;

static void ok(rapt_status status)
{
    if (status) fprintf(stderr, "%s\n", why.text), exit(1);
}

struct listener {
    const rapt_tokenizer *tokenizer;
    int pieces;
};

/* Prints a token; the end token has no text. A nonzero result ends the translation. */
static int hear(void *user, int sentence, int32_t id, float log_probability)
{
    struct listener *listener = user;
    rapt_text piece = rapt_tokenizer_token(listener->tokenizer, id);
    (void)sentence; /* there is only one */
    printf("[%.*s] %.2f\n", (int)piece.size, piece.size ? piece.bytes : "", (double)log_probability);
    fflush(stdout);
    return ++listener->pieces == PIECES;
}

static int finished(void *user, const rapt_translation *translation)
{
    (void)user;
    printf("%s%s\n", translation->text, translation->ended ? "" : " ...");
    return 0;
}

int main(int argc, char **argv)
{
    rapt_translator *translator;
    /* With a wider beam, a piece would be final only once all hypotheses agree on it. */
    const rapt_translator_options greedy = {.size = sizeof greedy, .beams = 1};
    const rapt_translate_call call = {.size = sizeof call, .options = &greedy, .token = hear};
    if (argc != 3) return fprintf(stderr, "usage: %s model.safetensors TEXT\n", argv[0]), 2;
    ok(rapt_translator_load(&translator, argv[1], NULL, NULL, &why));
    struct listener listener = {rapt_translator_target(translator), 0};
    rapt_text text = {argv[2], strlen(argv[2])};
    ok(rapt_translate_many_with(translator, &text, 1, &call, finished, &listener, &why));
    rapt_translator_free(translator);
    return 0;
}
