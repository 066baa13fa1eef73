/* score.c - scores translations against the targets of pairs: BLEU, chrF and exact matches. Keeps
   the counts of every sentence for intervals and comparisons. */
#include "commands.h"
#include <stdlib.h>
#include <string.h>

enum { BLEU = 10, CHRF = 18 }; /* numbers of counts; those of BLEU come first */

static void bleu_of(const long long *sums, rapt_bleu *bleu)
{
    memcpy(bleu->matches, sums, sizeof bleu->matches);
    memcpy(bleu->totals, sums + 4, sizeof bleu->totals);
    bleu->hypothesis_length = sums[8];
    bleu->reference_length = sums[9];
}

double score_bleu(const long long *sums)
{
    rapt_bleu bleu;
    bleu_of(sums, &bleu);
    return rapt_bleu_score(&bleu);
}

double score_chrf(const long long *sums)
{
    rapt_chrf chrf;
    memcpy(chrf.matches, sums + BLEU, sizeof chrf.matches);
    memcpy(chrf.hypothesis, sums + BLEU + 6, sizeof chrf.hypothesis);
    memcpy(chrf.reference, sums + BLEU + 12, sizeof chrf.reference);
    return rapt_chrf_score(&chrf);
}

/* Computes the counts [SCORE_COUNTS] of one sentence, which must be 0 at first, and adds the BLEU
   counts of its lowercased, untokenized text to `lowered`. */
static rapt_status count_sentence(long long *counts, rapt_bleu_tokens tokens, rapt_bleu *lowered,
                                  rapt_text hypothesis, rapt_text reference, rapt_message *why)
{
    rapt_bleu bleu = {{0}, {0}, 0, 0};
    rapt_chrf chrf = {{0}, {0}, {0}};
    rapt_status status = rapt_bleu_add(&bleu, tokens, 0, hypothesis, reference, NULL, why);
    if (status == RAPT_OK)
        status = rapt_bleu_add(lowered, RAPT_BLEU_TOKENS_NONE, 1, hypothesis, reference, NULL, why);
    if (status == RAPT_OK) status = rapt_chrf_add(&chrf, hypothesis, reference, NULL, why);
    memcpy(counts, bleu.matches, sizeof bleu.matches);
    memcpy(counts + 4, bleu.totals, sizeof bleu.totals);
    counts[8] = bleu.hypothesis_length;
    counts[9] = bleu.reference_length;
    memcpy(counts + BLEU, chrf.matches, sizeof chrf.matches);
    memcpy(counts + BLEU + 6, chrf.hypothesis, sizeof chrf.hypothesis);
    memcpy(counts + BLEU + 12, chrf.reference, sizeof chrf.reference);
    return status;
}

int score_add(struct score *score, rapt_text hypothesis, rapt_text reference)
{
    if (score->sentences == score->capacity) {
        size_t width = SCORE_COUNTS * sizeof *score->counts;
        score->capacity = 2 * score->capacity + 256;
        score->counts = xreallocarray(score->counts, score->capacity, width);
    }
    long long *counts = score->counts + score->sentences * SCORE_COUNTS;
    memset(counts, 0, SCORE_COUNTS * sizeof *counts);
    rapt_message why = {""};
    rapt_status status =
        count_sentence(counts, score->tokens, &score->lowered, hypothesis, reference, &why);
    if (status != RAPT_OK) return failed("scores: %s", why.text);
    for (int c = 0; c < SCORE_COUNTS; c++) score->sums[c] += counts[c];
    score->sentences++;
    score->exact += hypothesis.size == reference.size &&
                    memcmp(hypothesis.bytes, reference.bytes, reference.size) == 0;
    return EXIT_OK;
}

const char *score_tokenizer(const struct pairs *pairs)
{
    size_t counts[SCRIPT_MARK + 1] = {0}, spaces = 0;
    for (size_t i = 0; i < pairs->count; i++)
        for (size_t at = 0; at < pairs->target[i].size;) {
            uint32_t character = unicode_next(pairs->target[i], &at);
            spaces += character <= ' ';
            counts[script_of(character)]++;
        }
    size_t unspaced = counts[SCRIPT_HAN] + counts[SCRIPT_UNSPACED];
    if (unspaced <= counts[SCRIPT_SPACED] - spaces) return NULL;
    if (spaces > unspaced / 4) return NULL; /* split into words already */
    return counts[SCRIPT_UNSPACED] > unspaced / 10 ? "char" : "zh";
}

struct scoring {
    struct score *score;
    const rapt_tokenizer *sources;
    const struct pairs *pairs;
    FILE *output; /* or NULL */
    size_t line;  /* the last line of the pairs' file that was written */
    int code;
};

/* Writes an empty line for each line before `end` whose pair was skipped. */
static void skip_to(struct scoring *scoring, size_t end)
{
    while (++scoring->line < end) fputc('\n', scoring->output);
}

static int add_translation(void *user, const rapt_translation *t)
{
    struct scoring *scoring = user;
    struct score *score = scoring->score;
    rapt_text hypothesis = {t->text, t->size};
    if (t->rank > 0) return 0;
    if (t->status != RAPT_OK && score->too_long++ == 0)
        print_message("%s:%zu: more tokens than the model supports; scored as an empty translation",
                      scoring->pairs->name, scoring->pairs->line[t->sentence]);
    score->target_tokens += t->target_count + 1;
    raw_add(&score->raw, scoring->sources, t->source, t->source_count);
    if (scoring->output != NULL) {
        char *text = printable(hypothesis);
        skip_to(scoring, scoring->pairs->line[t->sentence]);
        fprintf(scoring->output, "%s\n", text);
        free(text);
    }
    scoring->code = score_add(score, hypothesis, scoring->pairs->target[t->sentence]);
    return scoring->code != EXIT_OK;
}

int score_pairs(struct score *score, rapt_translator *translator, const struct pairs *pairs,
                FILE *output)
{
    rapt_message why = {""};
    struct scoring scoring = {.score = score,
                              .sources = rapt_translator_source(translator),
                              .pairs = pairs,
                              .output = output};
    double start = now();
    *score = (struct score){.tokens = score->tokens};
    rapt_status status = rapt_translate_many(translator, pairs->source, pairs->count, 0,
                                             add_translation, &scoring, &why);
    score->seconds = now() - start;
    if (status != RAPT_OK) return failed("%s", why.text);
    if (output != NULL) skip_to(&scoring, pairs->lines + 1);
    return scoring.code;
}

double score_exact(const struct score *score)
{
    return score->sentences ? 100.0 * (double)score->exact / (double)score->sentences : 0;
}

void score_free(struct score *score)
{
    free(score->counts);
    *score = (struct score){0};
}
