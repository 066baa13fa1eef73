/* tasks_language.c - two halves of a Transformer learn one small language: a decoder predicts the
   next word and continues a prompt (GPT), an encoder fills in masked words (BERT). The verb agrees
   with a subject that may be far to its left: "the dogs near the old tower sleep". Since the
   grammar gives the probability of each sentence, the best possible perplexity is known. */
#include "kit/layers.h"
#include "learner.h"
#include "tasks.h"
#include "tasks_grammar.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DECODER, ENCODER, MODELS };
enum { BATCH = 32, TESTS = 512, PROMPT = 6, SHOWN_WORDS = 7, DRAWS = 4 };

struct language {
    struct learner learner[MODELS];
    int steps;
    struct grams grams;                        /* counted in the training sentences */
    double perplexity[ORDERS], model, grammar; /* on test sentences */
    double agrees[2];    /* share of right verbs after a distracting noun: trigram, decoder */
    double fits[MODELS]; /* share of right numbers of a subject after "the": by the words to its
                            left, by all words */
    int32_t said[2][MAX_WORDS];
    int said_count[2];
    int32_t drawn[DRAWS][MAX_WORDS]; /* continuations of the first prompt by draws */
    int drawn_count[DRAWS];
    double streamed;               /* largest change of a logit when more words arrive */
    struct sentence shown;         /* with a masked subject */
    float weights[2][SHOWN_WORDS]; /* [layer] weights of the mask on all words */
};

/* Adds a sentence to the batch. masked: the word that an encoder has to fill in, or -1. */
static void language_put(struct learner *l, const struct sentence *s, int masked)
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

static double share_of(const float *logits, int first, int count)
{
    double p = 0;
    float all[WORDS];
    softmax(1, WORDS, logits, all);
    for (int i = first; i < first + count; i++) p += (double)all[i];
    return p;
}

/* Returns whether the words of the right number are more likely. */
static bool right_number(const float *logits, int first, int count, bool plural)
{
    return (share_of(logits, first + count, count) > share_of(logits, first, count)) == plural;
}

/* Measures on sentences kept out of training: perplexities, agreement of verbs, numbers of
   subjects. */
static void language_test_decoder(struct language *t)
{
    struct learner *l = &t->learner[DECODER];
    struct random random = random_from(l->setup.seed, 2);
    double nats = 0, grams[ORDERS] = {0}, tokens = 0, distracted = 0, open = 0;
    for (int done = 0; done < TESTS; done += BATCH) {
        struct sentence s[BATCH];
        for (int b = 0; b < BATCH; b++)
            sentence_draw(&s[b], &random, true), language_put(l, &s[b], -1);
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

static void language_test_encoder(struct language *t)
{
    struct learner *l = &t->learner[ENCODER];
    struct random random = random_from(l->setup.seed, 2);
    double open = 0;
    for (int done = 0; done < TESTS; done += BATCH) {
        struct sentence s[BATCH];
        for (int b = 0; b < BATCH; b++)
            sentence_draw(&s[b], &random, true), language_put(l, &s[b], s[b].subject);
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

/* Returns by how much the decoder's logits after a word change when the words after it are given,
   too. */
static double language_streamed(struct language *t)
{
    struct learner *l = &t->learner[DECODER];
    struct random random = random_from(l->setup.seed, 4);
    struct sentence s;
    float whole[(MAX_WORDS + 1) * WORDS];
    double largest = 0;
    sentence_draw(&s, &random, true);
    language_put(l, &s, -1);
    memcpy(whole, learner_decode(l), (size_t)(s.count + 1) * WORDS * sizeof *whole);
    learner_clear(l);
    for (int count = 0; count < s.count; count++) {
        struct sentence part = s;
        part.count = count;
        language_put(l, &part, -1);
        const float *logits = learner_decode(l) + count * WORDS;
        for (int i = 0; i < WORDS; i++)
            largest = fmax(largest, fabs((double)logits[i] - (double)whole[count * WORDS + i]));
        learner_clear(l);
    }
    return largest;
}

/* the old dogs near the tower, the old dog near the towers */
static const int prompts[2][PROMPT] = {
    {DETERMINER, ADJECTIVE, NOUN + NOUNS, PREPOSITION, DETERMINER, NOUN + 4},
    {DETERMINER, ADJECTIVE, NOUN, PREPOSITION, DETERMINER, NOUN + NOUNS + 4}};

static void *language_create(const struct lesson_options *options, bool trained)
{
    struct language *t = xcalloc(1, sizeof *t);
    grams_create(&t->grams);
    t->steps = !trained ? 0 : options->quick ? 700 : 1200;
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

static void continue_prompts(struct language *t)
{
    struct learner *l = &t->learner[DECODER];
    for (int i = 0; i < 2; i++) {
        int32_t prompt[PROMPT];
        const int starts[2] = {0, PROMPT};
        const rapt_tokens prefix = {.batch = 1, .ids = prompt, .starts = starts};
        for (int k = 0; k < PROMPT; k++) prompt[k] = prompts[i][k];
        learner_end(l);
        learner_generate(l, BEGIN, STOP, &prefix, t->said[i], &t->said_count[i], NULL);
        learner_clear(l);
    }
}

/* Continues the first prompt by drawing words, with the random numbers 1, 2, ... and 1 again. */
static void draw_prompt(struct language *t)
{
    struct learner *l = &t->learner[DECODER];
    for (int i = 0; i < DRAWS; i++) {
        int32_t prompt[PROMPT];
        const int starts[2] = {0, PROMPT};
        const rapt_tokens prefix = {.batch = 1, .ids = prompt, .starts = starts};
        for (int k = 0; k < PROMPT; k++) prompt[k] = prompts[0][k];
        const struct learner_search search = {BEGIN, STOP, &prefix, .temperature = 1,
                                              .seed = i < DRAWS - 1 ? (uint64_t)i + 1 : 1};
        learner_end(l);
        learner_search(l, &search, t->drawn[i], &t->drawn_count[i], NULL);
        learner_clear(l);
    }
}

/* Keeps a sentence in which only the verb shows the number of the subject. */
static void keep_masked(struct language *t)
{
    struct learner *l = &t->learner[ENCODER];
    struct random random = random_from(l->setup.seed, 3);
    float all[MAX_WORDS * MAX_WORDS];
    do sentence_draw(&t->shown, &random, true);
    while (t->shown.word[0] != DETERMINER || !t->shown.distracted || t->shown.count != SHOWN_WORDS);
    language_put(l, &t->shown, t->shown.subject);
    learner_classify(l);
    for (int layer = 0; layer < 2; layer++) {
        learner_weights(l, RAPT_WEIGHTS_ENCODER, layer, -1, all);
        memcpy(t->weights[layer], all + t->shown.subject * SHOWN_WORDS, sizeof t->weights[layer]);
    }
    learner_clear(l);
}

static void language_train(void *task, int m)
{
    struct language *t = task;
    struct learner *l = &t->learner[m];
    struct random random = random_from(l->setup.seed, 1);
    struct sentence s;
    for (int step = 0; step < t->steps; step++) {
        for (int b = 0; b < BATCH; b++) {
            sentence_draw(&s, &random, false);
            if (m == DECODER) grams_add(&t->grams, &s);
            language_put(l, &s, random_below(&random, s.count));
        }
        learner_step(l);
    }
    if (m == ENCODER) {
        language_test_encoder(t);
        keep_masked(t);
    } else {
        language_test_decoder(t);
        continue_prompts(t);
        draw_prompt(t);
        t->streamed = language_streamed(t);
    }
}

static void language_join(char *to, size_t size, const int32_t *ids, int count)
{
    size_t used = 0;
    for (int i = 0; i < count; i++)
        used +=
            (size_t)snprintf(to + used, size - used, "%s%s", i ? " " : "", grammar_words[ids[i]]);
}

static void show_decoder(struct page *page, const struct language *t, const struct language *none)
{
    static const char *const orders[ORDERS] = {"unigram", "bigram", "trigram"};
    page_step(page, "A language model: decoder only, like GPT");
    page_paragraph(
        page, SHORT,
        "A language model predicts the next word and can therefore continue a prompt. GPT (Radford "
        "et al. 2018) and its successors are decoders of this kind, without cross-attention. The "
        "verb has to agree with the subject, which is not always the noun before it.");
    for (int i = 0; i < 2; i++) {
        char text[256], end[256];
        language_join(text, sizeof text, t->said[i], PROMPT);
        language_join(end, sizeof end, t->said[i] + PROMPT, t->said_count[i] - PROMPT);
        page_paragraph(page, SHORT, "prompt: %s \u2026", text);
        page_paragraph(page, SHORT, "continuation: %s.", end);
    }
    page_table(page, SHORT, "The first prompt, continued by the draw of each word",
               "random number\tcontinuation");
    for (int i = 0; i < DRAWS; i++) {
        char end[256];
        language_join(end, sizeof end, t->drawn[i] + PROMPT, t->drawn_count[i] - PROMPT);
        page_row(page, "%d\t%s", i < DRAWS - 1 ? i + 1 : 1, end);
    }
    page_paragraph(page, SHORT,
                   "The last row repeats the random number of the first, and so it repeats its "
                   "words. The model also works on a stream: what it says after a word does not "
                   "change when more words arrive.");
    page_claim(page, "language model: largest change of a logit when more words arrive",
               t->streamed, AT_MOST, 1e-4);
    page_table(page, SHORT, "On sentences that were kept out of training",
               "model\tperplexity\tright verb after a noun of the other number");
    for (int n = 0; n < ORDERS - 1; n++)
        page_row(page, "%s\t%.2f\t\u2013", orders[n], t->perplexity[n]);
    page_row(page, "%s\t%.2f\t%.1f %%", orders[ORDERS - 1], t->perplexity[ORDERS - 1],
             100 * t->agrees[0]);
    page_row(page, "decoder\t%.2f\t%.1f %%", t->model, 100 * t->agrees[1]);
    page_row(page, "the grammar itself\t%.2f\t100 %%", t->grammar);
    const double trigrams = t->perplexity[ORDERS - 1];
    page_claim_learned(page, "language model: perplexity, divided by that of trigrams",
                       t->model / trigrams, none->model / trigrams, AT_MOST, 0.95);
    page_claim_learned(page, "language model: perplexity, divided by the best possible one",
                       t->model / t->grammar, none->model / none->grammar, AT_MOST, 1.1);
    page_claim_learned(
        page, "language model: share of verbs that agree across a noun of the other number",
        t->agrees[1], none->agrees[1], AT_LEAST, 0.9);
}

static void show_encoder(struct page *page, const struct language *t, const struct language *none)
{
    const char *columns[SHOWN_WORDS];
    int32_t ids[SHOWN_WORDS];
    char text[256];
    for (int i = 0; i < SHOWN_WORDS; i++) {
        ids[i] = i == t->shown.subject ? MASK : t->shown.word[i];
        columns[i] = grammar_words[ids[i]];
    }
    language_join(text, sizeof text, ids, SHOWN_WORDS - 1); /* without STOP */
    page_step(page, "Masked words: encoder only, like BERT");
    page_paragraph(
        page, SHORT,
        "\"%s.\" Is the missing noun singular or plural? The verb tells, but it is to the right of "
        "the gap, where a language model cannot look. BERT (Devlin et al. 2019) is an encoder that "
        "was trained to fill such gaps in text.",
        text);
    page_map(page, SHORT, "Self-attention of the mask", 2, SHOWN_WORDS,
             (const char *const[]){"layer 1", "layer 2"}, columns, t->weights[0]);
    page_table(page, SHORT, "Subjects after \"the\"", "model\tright number");
    page_row(page, "decoder: the words to the left\t%.1f %%", 100 * t->fits[DECODER]);
    page_row(page, "encoder: all other words\t%.1f %%", 100 * t->fits[ENCODER]);
    page_claim_learned(page, "masked words: share of subjects with the right number",
                       t->fits[ENCODER], none->fits[ENCODER], AT_LEAST, 0.9);
    page_claim_learned(page, "masked words: percentage points above the decoder",
                       100 * (t->fits[ENCODER] - t->fits[DECODER]),
                       100 * (none->fits[ENCODER] - none->fits[DECODER]), AT_LEAST, 30);
}

static void language_show(struct page *page, void *task, void *untrained)
{
    show_decoder(page, task, untrained);
    show_encoder(page, task, untrained);
}

static void language_free(void *task)
{
    struct language *t = task;
    for (int m = 0; m < MODELS; m++) learner_free(&t->learner[m]);
    grams_free(&t->grams);
    free(t);
}

const struct task task_language = {"language model\ttext\twords\tdecoder\tmany to many\n"
                                   "masked words\ttext\twords\tencoder\tmany to many",
                                   MODELS,
                                   language_create,
                                   language_train,
                                   language_show,
                                   language_free};
