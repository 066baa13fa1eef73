/* tagger.c - an encoder alone learns to say of each word what it is, also of "fish", which is a noun behind "the"
   and a verb behind a noun; prints the tags of a sentence that it has not seen. One label per token; rapt_classify.
 */
#include <rapt/rapt.h>
#include <stdio.h>
#include <stdlib.h>

enum { THE, A, DOG, MAN, FISH, SEES, EATS, WORDS };
enum { DETERMINER, NOUN, VERB, TAGS };
static const char *const words[] = {"the", "a", "dog", "man", "fish", "sees", "eats"};
static const char *const tags[] = {"determiner", "noun", "verb"};
enum { LENGTH = 5, TEXTS = 107, TOKENS = TEXTS * LENGTH, NEW = 76 };
static int32_t ids[TOKENS + LENGTH], labels[TOKENS]; /* text b is ids[starts[b]] .. ids[starts[b + 1] - 1] */
static int starts[TEXTS + 1];
static rapt_message why;

static void ok(rapt_status status)
{
    if (status) fprintf(stderr, "%s\n", why.text), exit(1);
}

/* "the dog sees a man" and all of its kind by number, 0 .. 107. */
static void write(int number, int32_t *id)
{
    id[0] = THE + number % 2, id[1] = DOG + number / 2 % 3, id[2] = FISH + number / 6 % 3;
    id[3] = THE + number / 18 % 2, id[4] = DOG + number / 36;
}

int main(void)
{
    rapt_config config = {sizeof config, RAPT_KIND_ENCODER_ONLY, .source_vocab = WORDS, .target_vocab = TAGS};
    rapt_train_limits limits = {sizeof limits, TEXTS, TOKENS, .target_tokens = TOKENS};
    rapt_limits space = {.size = sizeof space, .batch = 1, .source_tokens = LENGTH};
    const rapt_tokens source = {TEXTS, ids, starts}, target = {TEXTS, labels, starts},
                      one = {1, ids + TOKENS, starts};
    rapt_train_options options;
    rapt_model *model;
    rapt_trainer *trainer;
    rapt_session *session;
    const float *logits;
    config.positions = 16, config.width = 32, config.heads = 4, config.ffn_width = 64, config.encoder_layers = 1;
    for (int b = 0; b < TEXTS; b++, starts[b] = b * LENGTH) write(b < NEW ? b : b + 1, ids + b * LENGTH);
    for (int i = 0; i < TOKENS; i++) labels[i] = i % LENGTH % 3;
    write(NEW, ids + TOKENS);
    rapt_train_options_default(&options, sizeof options);
    options.rate = 0.01F, options.warmup = 10, options.dropout = 0;
    ok(rapt_model_create(&model, &config, 1, NULL, &why));
    ok(rapt_trainer_create(&trainer, model, &options, &limits, NULL, &why));
    for (int step = 0; step < 60; step++) {
        ok(rapt_train_gradient(trainer, &source, &target, NULL, &why));
        ok(rapt_train_step(trainer, NULL, &why));
    }
    ok(rapt_session_create(&session, model, &space, NULL, &why));
    ok(rapt_classify(session, &one, &logits, &why)); /* [tokens][TAGS] */
    for (const int32_t *id = ids + TOKENS; id < ids + TOKENS + LENGTH; id++, logits += TAGS) {
        int best = logits[NOUN] > logits[DETERMINER] ? NOUN : DETERMINER;
        printf("%s: %s\n", words[*id], tags[logits[VERB] > logits[best] ? VERB : best]);
    }
    rapt_session_free(session), rapt_trainer_free(trainer), rapt_model_free(model);
}
