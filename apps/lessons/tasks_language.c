/* tasks_language.c - two halves of a Transformer learn one small language: a decoder predicts the
   next word and continues a prompt (GPT), an encoder fills in masked words (BERT). The verb agrees
   with a subject that may be far to its left: "the dogs near the old tower sleep". Since the
   grammar gives the probability of each sentence, the best possible perplexity is known. */
#include "tasks_language.h"
#include "tasks.h"
#include <stdlib.h>
#include <string.h>

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
