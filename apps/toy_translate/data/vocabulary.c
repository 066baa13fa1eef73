/* vocabulary.c - vocabularies: byte-pair encodings learned from pairs, or SentencePiece models read
   from files; both are stored in the metadata of the model's file. */
#include "data.h"
#include <stdlib.h>
#include <string.h>

enum { MIN_VOCAB = RAPT_TOKEN_SPECIALS + 256 };

static rapt_status learn_bpe(rapt_tokenizer **tokenizer, const rapt_text *texts, size_t count,
                             int vocab, rapt_message *why)
{
    return rapt_tokenizer_learn(tokenizer, texts, count, vocab, NULL, why);
}

/* Learns the largest vocabulary that the texts support, by bisection. Only small texts need
   this. */
static rapt_status shrink(rapt_tokenizer **tokenizer, const rapt_text *texts, size_t count,
                          int too_many, rapt_message *why)
{
    int fits = MIN_VOCAB;
    rapt_status status = learn_bpe(tokenizer, texts, count, fits, why);
    while (status == RAPT_OK && too_many - fits > 1) {
        int middle = fits + (too_many - fits) / 2;
        rapt_tokenizer *more = NULL;
        status = learn_bpe(&more, texts, count, middle, why);
        if (status == RAPT_OK) {
            rapt_tokenizer_free(*tokenizer);
            *tokenizer = more;
            fits = middle;
        } else if (status == RAPT_BAD_ARGUMENT) {
            too_many = middle;
            status = RAPT_OK;
        }
    }
    return status;
}

static int learn_one(rapt_tokenizer **tokenizer, const rapt_text *texts, size_t count, int vocab,
                     bool exactly)
{
    rapt_message why = {""};
    rapt_status status = learn_bpe(tokenizer, texts, count, vocab, &why);
    if (status == RAPT_BAD_ARGUMENT && exactly) return failed("--vocab %d: %s", vocab, why.text);
    if (status == RAPT_BAD_ARGUMENT) status = shrink(tokenizer, texts, count, vocab, &why);
    return status == RAPT_OK ? EXIT_OK : failed("vocabulary: %s", why.text);
}

static char *tokenizer_text(const rapt_tokenizer *tokenizer)
{
    size_t size = 0;
    rapt_tokenizer_write(tokenizer, NULL, 0, &size, NULL);
    char *text = xcalloc(size, 1);
    rapt_tokenizer_write(tokenizer, text, size, &size, NULL);
    return text;
}

static void write_metadata(struct vocabulary *vocabulary)
{
    vocabulary->metadata[0] = tokenizer_text(vocabulary->source);
    if (vocabulary->target != vocabulary->source)
        vocabulary->metadata[1] = tokenizer_text(vocabulary->target);
}

int vocabulary_learn(struct vocabulary *vocabulary, const struct pairs *pairs, int vocab,
                     bool exactly, bool separate)
{
    *vocabulary = (struct vocabulary){0};
    int code;
    if (separate) {
        code = learn_one(&vocabulary->source, pairs->source, pairs->count, vocab, exactly);
        if (code == EXIT_OK)
            code = learn_one(&vocabulary->target, pairs->target, pairs->count, vocab, exactly);
    } else {
        rapt_text *both = xcalloc(2 * pairs->count, sizeof *both);
        memcpy(both, pairs->source, pairs->count * sizeof *both);
        memcpy(both + pairs->count, pairs->target, pairs->count * sizeof *both);
        code = learn_one(&vocabulary->source, both, 2 * pairs->count, vocab, exactly);
        vocabulary->target = vocabulary->source;
        free(both);
    }
    if (code == EXIT_OK) write_metadata(vocabulary);
    return code;
}

static int open_one(rapt_tokenizer **tokenizer, const char *path)
{
    rapt_message why = {""};
    if (rapt_tokenizer_load(tokenizer, path, NULL, &why) != RAPT_OK) return failed("%s", why.text);
    if (rapt_tokenizer_special(*tokenizer, RAPT_TOKEN_END) >= 0) return EXIT_OK;
    return failed("%s: the vocabulary has no end token (</s>)", path);
}

int vocabulary_open(struct vocabulary *vocabulary, const char *path, const char *target)
{
    *vocabulary = (struct vocabulary){0};
    int code = open_one(&vocabulary->source, path);
    vocabulary->target = vocabulary->source;
    if (code == EXIT_OK && target != NULL) code = open_one(&vocabulary->target, target);
    if (code == EXIT_OK) write_metadata(vocabulary);
    return code;
}

static int load_one(rapt_tokenizer **tokenizer, const char *text)
{
    rapt_message why = {""};
    if (text == NULL) return failed("the model file has no vocabulary");
    if (rapt_tokenizer_create(tokenizer, text, strlen(text), NULL, &why) == RAPT_OK) return EXIT_OK;
    return failed("the vocabulary in the model file: %s", why.text);
}

int vocabulary_load(struct vocabulary *vocabulary, const rapt_model *model)
{
    *vocabulary = (struct vocabulary){0};
    const char *joint = rapt_model_metadata(model, "rapt.tokenizer");
    int code = load_one(&vocabulary->source,
                        joint ? joint : rapt_model_metadata(model, "rapt.source_tokenizer"));
    vocabulary->target = vocabulary->source;
    if (code == EXIT_OK && joint == NULL)
        code = load_one(&vocabulary->target, rapt_model_metadata(model, "rapt.target_tokenizer"));
    if (code == EXIT_OK) write_metadata(vocabulary);
    return code;
}

int vocabulary_metadata(const struct vocabulary *vocabulary, rapt_metadata metadata[2])
{
    bool joint = vocabulary->source == vocabulary->target;
    metadata[0] = (rapt_metadata){joint ? "rapt.tokenizer" : "rapt.source_tokenizer",
                                  vocabulary->metadata[0]};
    metadata[1] = (rapt_metadata){"rapt.target_tokenizer", vocabulary->metadata[1]};
    return joint ? 1 : 2;
}

bool vocabulary_same(const struct vocabulary *a, const struct vocabulary *b)
{
    rapt_metadata of_a[2], of_b[2];
    int count = vocabulary_metadata(a, of_a);
    bool same = vocabulary_metadata(b, of_b) == count;
    for (int i = 0; i < count && same; i++) same = strcmp(of_a[i].value, of_b[i].value) == 0;
    return same;
}

void vocabulary_free(struct vocabulary *vocabulary)
{
    if (vocabulary->target != vocabulary->source) rapt_tokenizer_free(vocabulary->target);
    rapt_tokenizer_free(vocabulary->source);
    free(vocabulary->metadata[0]);
    free(vocabulary->metadata[1]);
    *vocabulary = (struct vocabulary){0};
}
