/* vocabulary.c - the byte-pair vocabularies of a translator: learned from pairs, kept in the
   notes of its model file. */
#include "toy.h"
#include <stdlib.h>
#include <string.h>

enum { SMALLEST = RAPT_TOKEN_SPECIALS + 256 };

static rapt_status try(rapt_tokeniser **tokeniser, const rapt_text *texts, size_t count, int vocab,
                       rapt_message *why)
{
    return rapt_tokeniser_learn(tokeniser, texts, count, vocab, NULL, why);
}

/* The largest vocabulary the texts support, by bisection: it is small where this is needed. */
static rapt_status shrink(rapt_tokeniser **tokeniser, const rapt_text *texts, size_t count,
                          int too_many, rapt_message *why)
{
    int fits = SMALLEST;
    rapt_status status = try(tokeniser, texts, count, fits, why);
    while (status == RAPT_OK && too_many - fits > 1) {
        int middle = fits + (too_many - fits) / 2;
        rapt_tokeniser *more = NULL;
        status = try(&more, texts, count, middle, why);
        if (status == RAPT_OK) {
            rapt_tokeniser_free(*tokeniser);
            *tokeniser = more;
            fits = middle;
        } else if (status == RAPT_BAD_ARGUMENT) {
            too_many = middle;
            status = RAPT_OK;
        }
    }
    return status;
}

static int learn_one(rapt_tokeniser **tokeniser, const rapt_text *texts, size_t count, int vocab,
                     bool exactly)
{
    rapt_message why = {""};
    rapt_status status = try(tokeniser, texts, count, vocab, &why);
    if (status == RAPT_BAD_ARGUMENT && exactly) return failed("--vocab %d: %s", vocab, why.text);
    if (status == RAPT_BAD_ARGUMENT) status = shrink(tokeniser, texts, count, vocab, &why);
    return status == RAPT_OK ? EXIT_FINE : failed("vocabulary: %s", why.text);
}

static char *written(const rapt_tokeniser *tokeniser)
{
    size_t size = 0;
    rapt_tokeniser_write(tokeniser, NULL, 0, &size);
    char *text = grab(size, 1);
    rapt_tokeniser_write(tokeniser, text, size, &size);
    return text;
}

static void write_notes(struct vocabulary *vocabulary)
{
    vocabulary->notes[0] = written(vocabulary->source);
    if (vocabulary->target != vocabulary->source)
        vocabulary->notes[1] = written(vocabulary->target);
}

int vocabulary_learn(struct vocabulary *vocabulary, const struct pairs *pairs, int vocab,
                     bool exactly, bool separate)
{
    *vocabulary = (struct vocabulary){0};
    int code;
    if (separate) {
        code = learn_one(&vocabulary->source, pairs->source, pairs->count, vocab, exactly);
        if (code == EXIT_FINE)
            code = learn_one(&vocabulary->target, pairs->target, pairs->count, vocab, exactly);
    } else {
        rapt_text *both = grab(2 * pairs->count, sizeof *both);
        memcpy(both, pairs->source, pairs->count * sizeof *both);
        memcpy(both + pairs->count, pairs->target, pairs->count * sizeof *both);
        code = learn_one(&vocabulary->source, both, 2 * pairs->count, vocab, exactly);
        vocabulary->target = vocabulary->source;
        free(both);
    }
    if (code == EXIT_FINE) write_notes(vocabulary);
    return code;
}

static int load_one(rapt_tokeniser **tokeniser, const char *text)
{
    rapt_message why = {""};
    if (text == NULL) return failed("the model file holds no vocabulary");
    if (rapt_tokeniser_create(tokeniser, text, strlen(text), NULL, &why) == RAPT_OK)
        return EXIT_FINE;
    return failed("vocabulary of the model file: %s", why.text);
}

int vocabulary_load(struct vocabulary *vocabulary, const rapt_model *model)
{
    *vocabulary = (struct vocabulary){0};
    const char *joint = rapt_model_note(model, "rapt.tokeniser");
    int code = load_one(&vocabulary->source,
                        joint ? joint : rapt_model_note(model, "rapt.source_tokeniser"));
    vocabulary->target = vocabulary->source;
    if (code == EXIT_FINE && joint == NULL)
        code = load_one(&vocabulary->target, rapt_model_note(model, "rapt.target_tokeniser"));
    if (code == EXIT_FINE) write_notes(vocabulary);
    return code;
}

int vocabulary_notes(const struct vocabulary *vocabulary, rapt_note notes[2])
{
    bool joint = vocabulary->source == vocabulary->target;
    notes[0] =
        (rapt_note){joint ? "rapt.tokeniser" : "rapt.source_tokeniser", vocabulary->notes[0]};
    notes[1] = (rapt_note){"rapt.target_tokeniser", vocabulary->notes[1]};
    return joint ? 1 : 2;
}

void vocabulary_free(struct vocabulary *vocabulary)
{
    if (vocabulary->target != vocabulary->source) rapt_tokeniser_free(vocabulary->target);
    rapt_tokeniser_free(vocabulary->source);
    free(vocabulary->notes[0]);
    free(vocabulary->notes[1]);
    *vocabulary = (struct vocabulary){0};
}
