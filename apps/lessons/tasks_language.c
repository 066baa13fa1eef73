/* tasks_language.c - two halves of a Transformer on one small language: a decoder alone predicts
   the next word and continues a prompt (GPT), an encoder alone fills in masked words (BERT). The
   verb agrees with a subject that may stand far to its left: "the dogs near the old tower sleep".
   The grammar gives the probability of each of its sentences, so there is a best possible
   perplexity. */
#include "kit/layers.h"
#include "learner.h"
#include "tasks.h"
#include "tasks_grammar.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DECODER, ENCODER, MODELS };
enum { BATCH = 32, TESTS = 512, PROMPT = 6, SHOWN_WORDS = 7 };

struct language {
    struct learner learner[MODELS];
    int steps;
    struct grams grams;                        /* of the sentences of training */
    double perplexity[ORDERS], model, grammar; /* on the tests */
    double agrees[2]; /* verbs behind a distracting noun: trigram, decoder */
    double
        fits[MODELS]; /* number of a masked subject behind "the": by what is left of it, by both */
    int32_t said[2][MAX_WORDS];
    int said_count[2];
    struct sentence shown;         /* its subject is masked */
    float weights[2][SHOWN_WORDS]; /* [layer] of the mask on all words */
};
/* the old dogs near the tower, the old dog near the towers */
static const int prompts[2][PROMPT] = {
    {DETERMINER, ADJECTIVE, NOUN + NOUNS, PREPOSITION, DETERMINER, NOUN + 4},
    {DETERMINER, ADJECTIVE, NOUN, PREPOSITION, DETERMINER, NOUN + NOUNS + 4}};

static void put(struct learner *l, const struct sentence *s, int masked)
{
    if (l->setup.config.kind == RAPT_KIND_DECODER_ONLY) learner_target(l, BEGIN);
    for (int i = 0; i < s->count; i++) {
        if (l->setup.config.kind == RAPT_KIND_DECODER_ONLY) {
            learner_target(l, s->word[i]);
            continue;
        }
        learner_id(l, i == masked ? MASK : s->word[i]);
        learner_target(l, i == masked ? s->word[i] : -1);
    }
    learner_end(l);
}

static void *create(const struct lesson_options *options)
{
    struct language *t = xcalloc(1, sizeof *t);
    grams_create(&t->grams);
    t->steps = options->quick ? 700 : 1200;
    for (int m = 0; m < MODELS; m++) {
        struct learner_setup setup = {.steps = t->steps,
                                      .batch = BATCH,
                                      .source_rows = MAX_WORDS,
                                      .target_ids = MAX_WORDS,
                                      .rate = 0.005F,
                                      .seed = options->seed};
        setup.config = learner_config(
            m == DECODER ? RAPT_KIND_DECODER_ONLY : RAPT_KIND_ENCODER_ONLY, 48, 4, 2, MAX_WORDS);
        setup.config.target_vocab = WORDS;
        if (m == ENCODER) setup.config.source_vocab = WORDS;
        learner_create(&t->learner[m], &setup);
    }
    return t;
}

static double share_of(const float *logits, int first, int count)
{
    double p = 0;
    float all[WORDS];
    softmax(1, WORDS, logits, all);
    for (int i = first; i < first + count; i++) p += (double)all[i];
    return p;
}

/* Does the model prefer the words of the right number? */
static bool right_number(const float *logits, int first, int count, bool plural)
{
    return (share_of(logits, first + count, count) > share_of(logits, first, count)) == plural;
}

static void test_decoder(struct language *t)
{
    struct learner *l = &t->learner[DECODER];
    struct random random = random_from(l->setup.seed, 2);
    double nats = 0, grams[ORDERS] = {0}, tokens = 0, distracted = 0, open = 0;
    for (int done = 0; done < TESTS; done += BATCH) {
        struct sentence s[BATCH];
        for (int b = 0; b < BATCH; b++) sentence_compose(&s[b], &random), put(l, &s[b], -1);
        nats += learner_evaluate(l).likelihood;
        const float *logits = learner_decode(l);
        for (int b = 0; b < BATCH; b++) {
            double share[ORDERS];
            for (int i = 0; i < s[b].count; i++) {
                grams_share(&t->grams, &s[b], i, share);
                for (int n = 0; n < ORDERS; n++) grams[n] -= log(share[n]);
            }
            tokens += s[b].count, t->grammar += s[b].nats;
            if (s[b].distracted) {
                struct sentence other = s[b]; /* with the verb of the other number */
                double wrong[ORDERS];
                grams_share(&t->grams, &s[b], s[b].verb, share);
                other.word[s[b].verb] += s[b].plural ? -VERBS : VERBS;
                grams_share(&t->grams, &other, s[b].verb, wrong);
                t->agrees[0] += share[ORDERS - 1] > wrong[ORDERS - 1];
                t->agrees[1] += right_number(logits + s[b].verb * WORDS, VERB, VERBS, s[b].plural);
                distracted++;
            }
            if (s[b].word[0] == DETERMINER) {
                t->fits[DECODER] +=
                    right_number(logits + s[b].subject * WORDS, NOUN, NOUNS, s[b].plural);
                open++;
            }
            logits += (s[b].count + 1) * WORDS;
        }
        learner_clear(l);
    }
    for (int n = 0; n < ORDERS; n++) t->perplexity[n] = exp(grams[n] / tokens);
    t->model = exp(nats / tokens), t->grammar = exp(t->grammar / tokens);
    t->agrees[0] /= distracted, t->agrees[1] /= distracted, t->fits[DECODER] /= open;
}

static void test_encoder(struct language *t)
{
    struct learner *l = &t->learner[ENCODER];
    struct random random = random_from(l->setup.seed, 2);
    double open = 0;
    for (int done = 0; done < TESTS; done += BATCH) {
        struct sentence s[BATCH];
        for (int b = 0; b < BATCH; b++)
            sentence_compose(&s[b], &random), put(l, &s[b], s[b].subject);
        const float *logits = learner_classify(l);
        for (int b = 0; b < BATCH; b++) {
            if (s[b].word[0] == DETERMINER) {
                t->fits[ENCODER] +=
                    right_number(logits + s[b].subject * WORDS, NOUN, NOUNS, s[b].plural);
                open++;
            }
            logits += s[b].count * WORDS;
        }
        learner_clear(l);
    }
    t->fits[ENCODER] /= open;
}

static void continue_prompts(struct language *t)
{
    struct learner *l = &t->learner[DECODER];
    for (int i = 0; i < 2; i++) {
        int32_t prompt[PROMPT];
        const int starts[2] = {0, PROMPT};
        const rapt_tokens prefix = {1, prompt, starts};
        for (int k = 0; k < PROMPT; k++) prompt[k] = prompts[i][k];
        learner_end(l);
        learner_generate(l, BEGIN, STOP, &prefix, t->said[i], &t->said_count[i], NULL);
        learner_clear(l);
    }
}

/* A sentence whose verb alone tells the number of the subject. */
static void keep_masked(struct language *t)
{
    struct learner *l = &t->learner[ENCODER];
    struct random random = random_from(l->setup.seed, 3);
    float all[MAX_WORDS * MAX_WORDS];
    do sentence_compose(&t->shown, &random);
    while (t->shown.word[0] != DETERMINER || !t->shown.distracted || t->shown.count != SHOWN_WORDS);
    put(l, &t->shown, t->shown.subject);
    learner_classify(l);
    for (int layer = 0; layer < 2; layer++) {
        learner_weights(l, RAPT_WEIGHTS_ENCODER, layer, -1, all);
        memcpy(t->weights[layer], all + t->shown.subject * SHOWN_WORDS, sizeof t->weights[layer]);
    }
    learner_clear(l);
}

static void train(void *task, int m)
{
    struct language *t = task;
    struct learner *l = &t->learner[m];
    struct random random = random_from(l->setup.seed, 1);
    struct sentence s;
    for (int step = 0; step < t->steps; step++) {
        for (int b = 0; b < BATCH; b++) {
            sentence_compose(&s, &random);
            if (m == DECODER) grams_add(&t->grams, &s);
            put(l, &s, random_below(&random, s.count));
        }
        learner_step(l);
    }
    if (m == ENCODER) {
        test_encoder(t);
        keep_masked(t);
    } else {
        test_decoder(t);
        continue_prompts(t);
    }
}

static void join(char *to, size_t size, const int32_t *ids, int count)
{
    size_t used = 0;
    for (int i = 0; i < count; i++)
        used +=
            (size_t)snprintf(to + used, size - used, "%s%s", i ? " " : "", grammar_words[ids[i]]);
}

static void show_decoder(struct page *page, const struct language *t)
{
    static const char *const orders[ORDERS] = {"unigram", "bigram", "trigram"};
    page_step(page, "A language model: decoder only");
    page_paragraph(page, SHORT,
                   "It predicts the next word, and so continues a prompt. The verb agrees with the "
                   "subject, which is not always the noun before it.");
    for (int i = 0; i < 2; i++) {
        char text[256], end[256];
        join(text, sizeof text, t->said[i], PROMPT);
        join(end, sizeof end, t->said[i] + PROMPT, t->said_count[i] - PROMPT);
        page_paragraph(page, SHORT, "\"%s \u2026\" %s.", text, end);
    }
    page_table(page, SHORT, "On new sentences",
               "model\tperplexity\tright verb behind another number");
    for (int n = 0; n < ORDERS - 1; n++)
        page_row(page, "%s\t%.2f\t\u2013", orders[n], t->perplexity[n]);
    page_row(page, "%s\t%.2f\t%.1f %%", orders[ORDERS - 1], t->perplexity[ORDERS - 1],
             100 * t->agrees[0]);
    page_row(page, "decoder\t%.2f\t%.1f %%", t->model, 100 * t->agrees[1]);
    page_row(page, "the grammar itself\t%.2f\t100 %%", t->grammar);
    page_claim(page, "language model: perplexity over that of trigrams",
               t->model / t->perplexity[ORDERS - 1], AT_MOST, 0.95);
    page_claim(page, "language model: perplexity over the best possible", t->model / t->grammar,
               AT_MOST, 1.1);
    page_claim(page, "language model: share of verbs that agree across another number",
               t->agrees[1], AT_LEAST, 0.9);
}

static void show_encoder(struct page *page, const struct language *t)
{
    const char *columns[SHOWN_WORDS];
    page_step(page, "Masked words: encoder only");
    page_paragraph(
        page, SHORT,
        "\"the [mask] near the tower sleep.\" One dog or several? The verb tells, to the "
        "right of the gap, where a language model does not look.");
    for (int i = 0; i < SHOWN_WORDS; i++)
        columns[i] = grammar_words[i == t->shown.subject ? MASK : t->shown.word[i]];
    page_map(page, SHORT, "Self-attention of the mask", 2, SHOWN_WORDS,
             (const char *const[]){"layer 1", "layer 2"}, columns, t->weights[0]);
    page_table(page, SHORT, "Subjects behind \"the\"", "model\tright number");
    page_row(page, "decoder: the words to the left\t%.1f %%", 100 * t->fits[DECODER]);
    page_row(page, "encoder: all other words\t%.1f %%", 100 * t->fits[ENCODER]);
    page_claim(page, "masked words: share of subjects of the right number", t->fits[ENCODER],
               AT_LEAST, 0.9);
    page_claim(page, "masked words: percentage points above the decoder",
               100 * (t->fits[ENCODER] - t->fits[DECODER]), AT_LEAST, 30);
}

static void show(struct page *page, void *task)
{
    show_decoder(page, task);
    show_encoder(page, task);
}

static void task_free(void *task)
{
    struct language *t = task;
    for (int m = 0; m < MODELS; m++) learner_free(&t->learner[m]);
    grams_free(&t->grams);
    free(t);
}

const struct task task_language = {"go on; fill in\ttext\twords\tdecoder; encoder\tmany to many",
                                   MODELS,
                                   create,
                                   train,
                                   show,
                                   task_free};
