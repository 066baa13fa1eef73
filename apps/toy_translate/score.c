/* score.c - translates the sources of pairs and scores the results: BLEU, chrF, exact matches. */
#include "toy.h"
#include <string.h>

struct scoring {
    struct score *score;
    const struct pairs *pairs;
    rapt_status status;
};

static int callback(void *user, const rapt_translation *t)
{
    struct scoring *scoring = user;
    struct score *score = scoring->score;
    rapt_text hypothesis = {t->text, t->size};
    rapt_text reference = scoring->pairs->target[t->sentence];
    if (t->rank > 0) return 0;
    if (t->status != RAPT_OK && score->too_long++ == 0)
        print_message("%s:%zu: more tokens than the model has positions; counted as empty",
                      scoring->pairs->name, scoring->pairs->line[t->sentence]);
    score->sentences++;
    score->target_tokens += t->target_count + 1;
    if (hypothesis.size == reference.size &&
        memcmp(hypothesis.bytes, reference.bytes, reference.size) == 0)
        score->exact++;
    rapt_status status =
        rapt_bleu_add(&score->cased, RAPT_BLEU_TOKENS_13A, 0, hypothesis, reference, NULL, NULL);
    if (status == RAPT_OK)
        status = rapt_bleu_add(&score->lowered, RAPT_BLEU_TOKENS_NONE, 1, hypothesis, reference,
                               NULL, NULL);
    if (status == RAPT_OK) status = rapt_chrf_add(&score->chrf, hypothesis, reference, NULL, NULL);
    scoring->status = status;
    return status != RAPT_OK;
}

int score_pairs(struct score *score, rapt_translator *translator, const struct pairs *pairs)
{
    rapt_message why = {""};
    struct scoring scoring = {score, pairs, RAPT_OK};
    double start = now();
    *score = (struct score){0};
    rapt_status status =
        rapt_translate_many(translator, pairs->source, pairs->count, 0, callback, &scoring, &why);
    score->seconds = now() - start;
    if (status != RAPT_OK) return failed("%s", why.text);
    if (scoring.status != RAPT_OK) return failed("scores: %s", rapt_status_text(scoring.status));
    return EXIT_OK;
}

double score_exact(const struct score *score)
{
    return score->sentences ? 100.0 * (double)score->exact / (double)score->sentences : 0;
}
