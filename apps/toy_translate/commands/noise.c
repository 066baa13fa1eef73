/* noise.c - toy_translate evaluate --noise: scores a model on the pairs with each kind of noise. */
#include "commands.h"

/* Translates the pairs with one kind of noise, or as they are if kind is NOISE_KINDS. */
static int score_kind(struct noise_scores *scores, int kind, rapt_translator *translator,
                      const struct pairs *pairs, uint64_t seed)
{
    struct noise noise = {{0}};
    struct pairs noisy = {0};
    struct noise_score *row = &scores->rows[scores->count++];
    if (kind < NOISE_KINDS) noise.rates[kind] = scores->noise.rates[kind];
    row->name = kind < NOISE_KINDS ? noise_name(kind) : "none";
    row->changed = noise_pairs(&noisy, pairs, &noise, seed);
    row->score.tokens = scores->tokens;
    int code = score_pairs(&row->score, translator, &noisy, NULL);
    pairs_free(&noisy);
    return code;
}

int noise_score(struct noise_scores *scores, const struct search *search, const struct pairs *pairs,
                uint64_t seed)
{
    rapt_translator *translator = NULL;
    int code = search_open(search, "evaluate", &translator);
    if (code == EXIT_OK) code = score_kind(scores, NOISE_KINDS, translator, pairs, seed);
    for (int kind = 0; kind < NOISE_KINDS && code == EXIT_OK; kind++)
        if (scores->noise.rates[kind] > 0) code = score_kind(scores, kind, translator, pairs, seed);
    search_close(translator);
    return code;
}

void noise_print(const struct noise_scores *scores)
{
    if (scores->count == 0) return;
    printf("\nnoise               changed    bleu    chrf   exact\n");
    for (int i = 0; i < scores->count; i++) {
        const struct noise_score *row = &scores->rows[i];
        printf("%-18s %8zu  %6.2f  %6.2f  %6.2f\n", row->name, row->changed,
               score_bleu(row->score.sums), score_chrf(row->score.sums), score_exact(&row->score));
    }
}

json_t *noise_json(const struct noise_scores *scores)
{
    json_t *object = json_object();
    for (int i = 0; i < scores->count; i++) {
        const struct noise_score *row = &scores->rows[i];
        put_member(object, row->name,
                   json_pack("{s:I, s:o, s:o, s:o}", "changed", (json_int_t)row->changed, "bleu",
                             number(score_bleu(row->score.sums)), "chrf",
                             number(score_chrf(row->score.sums)), "exact",
                             number(score_exact(&row->score))));
    }
    return object;
}

void noise_free(struct noise_scores *scores)
{
    for (int i = 0; i < scores->count; i++) score_free(&scores->rows[i].score);
}
