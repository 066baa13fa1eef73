/* tagger.c - an encoder learns to tag words, even "fish", which is a noun after "the" or "old" but a verb after a
   noun. */
#include <rapt/rapt.h>
#include <stdio.h>
#include <stdlib.h>

enum { THE, A, OLD, DOG, MAN, FISH, SEES, EATS, WORDS, DETERMINER = 0, ADJECTIVE, NOUN, VERB, TAGS };
static const char *const words[] = {"the", "a", "old", "dog", "man", "fish", "sees", "eats"};
static const char *const tags[] = {"determiner", "adjective", "noun", "verb"};
enum { LENGTH = 6, ALL = 216, TEXTS = ALL - 1, TOKENS = ALL * LENGTH, LAST = TOKENS - LENGTH, NEW = 76 };
static int32_t ids[TOKENS], labels[TOKENS]; /* text b is ids[starts[b]] .. ids[starts[b + 1] - 1] */
static int starts[TEXTS + 1], length[2];
static rapt_message why;

static void ok(rapt_status status)
{
    if (status) fprintf(stderr, "%s\n", why.text), exit(1);
}

/* Writes sentence 0 to ALL - 1, such as "the dog sees a man" or "the old dog sees a man". Returns its length. */
static int write(int number, int32_t *id, int32_t *label)
{
    const int parts[] = {2, 1, 3, 3, 2, 3}, first[] = {THE, OLD, DOG, FISH, THE, DOG};
    const int kinds[] = {DETERMINER, ADJECTIVE, NOUN, VERB, DETERMINER, NOUN};
    int count = 0;
    for (int i = 0, rest = number; i < LENGTH; rest /= parts[i++])
        if (i != 1 || number >= ALL / 2) id[count] = first[i] + rest % parts[i], label[count++] = kinds[i];
    return count;
}

int main(void)
{
    rapt_config config = {sizeof config, RAPT_KIND_ENCODER_ONLY, .source_vocab = WORDS, .target_vocab = TAGS};
    rapt_train_limits limits = {sizeof limits, TEXTS, TOKENS, .target_tokens = TOKENS};
    rapt_limits space = {.size = sizeof space, .batch = 1, .source_tokens = LENGTH};
    const rapt_tokens source = {TEXTS, ids, starts, NULL}, target = {TEXTS, labels, starts, NULL};
    rapt_train_options options;
    rapt_model *model;
    rapt_trainer *trainer;
    rapt_session *session;
    const float *logits;
    config.positions = 16, config.width = 32, config.heads = 4, config.ffn_width = 64, config.encoder_layers = 1;
    for (int b = 0, n = 0; b < TEXTS; b++, starts[b] = n) n += write(b < NEW ? b : b + 1, ids + n, labels + n);
    length[1] = write(NEW, ids + LAST, labels + LAST);
    rapt_train_options_default(&options, sizeof options);
    options.rate = 0.01F, options.warmup = 10, options.dropout = 0;
    ok(rapt_model_create(&model, &config, 1, NULL, &why));
    ok(rapt_trainer_create(&trainer, model, &options, &limits, NULL, &why));
    for (int step = 0; step < 150; step++) {
        ok(rapt_train_gradient(trainer, &source, &target, NULL, &why));
        ok(rapt_train_step(trainer, NULL, &why));
    }
    ok(rapt_session_create(&session, model, &space, NULL, &why));
    ok(rapt_classify(session, &(rapt_tokens){1, ids + LAST, length, NULL}, &logits, &why));
    for (int i = 0, best = 0; i < length[1]; i++, logits += TAGS, best = 0) {
        for (int tag = 1; tag < TAGS; tag++) best = logits[tag] > logits[best] ? tag : best;
        printf("%s: %s\n", words[ids[LAST + i]], tags[best]);
    }
    rapt_session_free(session), rapt_trainer_free(trainer), rapt_model_free(model);
}
