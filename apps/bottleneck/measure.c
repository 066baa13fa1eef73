/* measure.c - BLEU (Papineni et al. 2002) by the length of the English sentence, as in figure 2 of
   Bahdanau, Cho and Bengio 2015, and the share of exact translations. */
#include "bottleneck.h"
#include <stdlib.h>
#include <string.h>

enum { TEXT = 4096 };
static const uint64_t TEST_STREAM = UINT64_MAX / 2; /* training draws from streams 0 .. steps - 1 */

struct tally {
    rapt_bleu bleu;
    int sentences, exact;
};

static void add(struct tally *tally, const struct vocabulary *french, const struct words *out,
                const struct words *wanted)
{
    char text[TEXT], reference[TEXT];
    words_spell(french, out->tokens, out->count, text, sizeof text);
    words_spell(french, wanted->tokens, wanted->count, reference, sizeof reference);
    rapt_text hypothesis = {text, strlen(text)}, right = {reference, strlen(reference)};
    if (rapt_bleu_add(&tally->bleu, RAPT_BLEU_TOKENS_NONE, 0, hypothesis, right, NULL, NULL) !=
        RAPT_OK)
        exit(failed("out of memory"));
    tally->sentences++;
    tally->exact += strcmp(text, reference) == 0;
}

struct quality quality_of(struct translator *translator, int from, int to)
{
    const struct setup *setup = translator->setup;
    struct sentence *sentences = xcalloc((size_t)setup->batch, sizeof *sentences);
    struct words *out = xcalloc((size_t)setup->batch, sizeof *out);
    struct tally count = {0};
    for (int length = from; length <= to; length++) {
        struct random random = random_from(setup->seed, TEST_STREAM + (uint64_t)length);
        for (int first = 0; first < setup->tests; first += setup->batch) {
            int some = setup->tests - first < setup->batch ? setup->tests - first : setup->batch;
            for (int i = 0; i < some; i++)
                sentence_draw(&setup->language, &sentences[i], &random, length);
            translator_translate(translator, sentences, some, out, NULL);
            for (int i = 0; i < some; i++)
                add(&count, &setup->language.french, &out[i], &sentences[i].french);
        }
    }
    free(sentences);
    free(out);
    return (struct quality){rapt_bleu_score(&count.bleu), 100.0 * count.exact / count.sentences};
}

int point_length(const struct setup *setup, int point)
{
    int length = (point + 1) * setup->max_words / 4;
    return length < MIN_WORDS ? MIN_WORDS : length;
}

void curve_measure(struct curve *curve, struct translator *translator)
{
    const struct setup *setup = translator->setup;
    curve->parameters = translator_parameters(translator);
    for (int i = 0; i < POINTS; i++) {
        int length = point_length(setup, i);
        curve->at[i] = quality_of(translator, length, length);
    }
    curve->in_range = quality_of(translator, MIN_WORDS, setup->max_words / 2);
    curve->beyond = quality_of(translator, setup->max_words + 1, setup->max_words * 5 / 4);
}

double retained(const struct curve *curve)
{
    return curve->in_range.bleu > 0 ? curve->beyond.bleu / curve->in_range.bleu : 0;
}

bool claim_holds(const struct report *report)
{
    return retained(&report->curves[FIXED_VECTOR]) < 0.5 &&
           retained(&report->curves[WITH_ATTENTION]) >= 0.9;
}
