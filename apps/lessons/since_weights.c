/* since_weights.c - lesson since: what the weights of a row may be: attention sinks, gated outputs
   and differential attention, which let a row keep the weight that it does not need; sigmoid
   attention, sparsemax, entmax and QK-norm: whether weights must be positive and sum to 1, and what
   decides how sharp they are. */
#include "kit/program.h"
#include "since.h"
#include <math.h>
#include <stdlib.h>

/* ---- attention sinks ---- */
/* Returns how many times more the sink gets in the head with its largest share than in
   cross-attention. */
static double shares_differ(struct learner *small, const void *user)
{
    (void)user;
    return since_mean(small, since_most(small, since_unused), since_unused) /
           since_mean(small, since_cross, since_unused);
}

static void show_sink(struct since *since)
{
    struct page *page = since->page;
    struct learner *small = &since->models[SINCE_SINK].small;
    const struct since_head head = since_most(small, since_unused);
    struct since_map map;
    page_step(page, "Where may weight go that nobody needs?");
    page_paragraph(
        page, SHORT,
        "A head that has nothing to look for must still spend its weight. In large models most of "
        "it then goes to the first token, whatever that is. Xiao et al. (2023) called this an "
        "attention sink: weight goes there because it does no harm there. One answer is to give it "
        "a place of its own: one more score b in the denominator, learned once per head, that "
        "belongs to no word and has no value. gpt-oss (2025) does this.");
    page_formula(page, SHORT, "a_{ts} = frac{exp(e_{ts})}{exp(b) + ∑_j exp(e_{tj})}");
    since_weights(small, &since->pair, head, &map);
    since_add_rest(&map, "(sink)");
    since_show(page, SHORT, "Attention sink: the last column is read from nowhere", &map);
    page_paragraph(
        page, SHORT,
        "The map shows the head with the largest share of the sink in unseen sentences, head %d of "
        "the %s: %.0f %% on average. In cross-attention, whose heads know what they are looking "
        "for, it is %.0f %%.",
        head.head + 1, since_which(head.which), 100 * since_mean(small, head, since_unused),
        100 * since_mean(small, since_cross, since_unused));
    learner_claim(small, page,
                  "attention sink: its share in the head shown, divided by that in cross-attention",
                  shares_differ, NULL, AT_LEAST, 3);
}

/* ---- gated outputs ---- */
/* Fills in the map [words and end][heads] of the gates of the encoder's self-attention. */
static void read_gates(const struct learner *small, const struct ids *source, struct since_map *map)
{
    static const char *const heads[SINCE_HEADS] = {"head 1", "head 2"};
    int32_t ids[SINCE_ROWS];
    map->rows = source->count + 1;
    map->columns = SINCE_HEADS;
    for (int h = 0; h < SINCE_HEADS; h++) map->column[h] = heads[h];
    for (int t = 0; t < map->rows; t++) {
        ids[t] = t < source->count ? source->at[t] : RAPT_TOKEN_END;
        map->row[t] = chase_word(ids[t]);
    }
    since_gates(small, "encoder", "gate", map->rows, ids, map->weights);
}

/* Returns by how much fewer sentences are translated exactly if open gates are closed and closed
   ones open, in %. */
static double gates_matter(struct learner *small, const void *user)
{
    static const char *const names[] = {"encoder.layers.0.self_attn.gate.weight",
                                        "decoder.layers.0.self_attn.gate.weight",
                                        "decoder.layers.0.cross_attn.gate.weight"};
    struct learner turned;
    (void)user;
    learner_create(&turned, &small->setup);
    since_copy(small, &turned);
    for (int i = 0; i < 3; i++) since_scale(&turned, names[i], -1);
    const double lost = 100 * (since_exact(small) - since_exact(&turned));
    learner_free(&turned);
    return lost;
}

static void show_gate(struct since *since)
{
    struct page *page = since->page;
    struct learner *small = &since->models[SINCE_GATE].small;
    struct since_map map;
    page_paragraph(
        page, SHORT,
        "Another answer is to leave the weights as they are and to decide afterwards how much of "
        "the result counts. With gated outputs (Qiu et al. 2025) each word computes a gate, a "
        "number between 0 and 1, from its own vector x, here one gate per head. A head whose gate "
        "is closed may spend its weight as it likes.");
    page_formula(page, SHORT, "c_t ← σ(W_g x_t) c_t ,  x_t: w ,  W_g: 1 × w");
    read_gates(small, &since->pair.source, &map);
    since_show(page, SHORT, "Gated outputs: how far each word opens the heads of the encoder, %",
               &map);
    page_paragraph(page, SHORT,
                   "Each word opens its heads in its own way. To see that this matters, we turn "
                   "all gates around, with −W_g in place of W_g: the share of unseen sentences "
                   "that are translated exactly then falls by %.0f percentage points.",
                   gates_matter(small, NULL));
    learner_claim(small, page,
                  "gated outputs: sentences translated exactly, minus those with gates turned "
                  "around, %",
                  gates_matter, NULL, AT_LEAST, 40);
}

/* ---- differential attention ---- */
static double negative(const struct since_map *map)
{
    return -since_least(map);
}

static double most_negative(struct learner *small, const void *user)
{
    (void)user;
    return since_mean(small, since_most(small, negative), since_least);
}

static void show_difference(struct since *since)
{
    struct page *page = since->page;
    struct learner *small = &since->models[SINCE_DIFFERENCE].small;
    const struct since_head head = since_most(small, negative);
    struct since_map map;
    page_paragraph(
        page, SHORT,
        "A third answer is to let two attentions spend it in the same place, and to subtract one "
        "from the other. Differential attention (Ye et al. 2024) splits the queries and keys of a "
        "head in half and computes two softmaxes. What both read, the noise, cancels. What only "
        "the second one reads gets negative weights: it is not ignored, but subtracted.");
    page_formula(page, SHORT, "a_t = softmax(e_t) − λ softmax(e′_t)");
    since_weights(small, &since->pair, head, &map);
    since_show(page, SHORT, "Differential attention: negative weights are orange", &map);
    page_paragraph(page, MORE,
                   "The map shows head %d of the %s, which has the most negative weights in unseen "
                   "sentences. The factor λ is learned. It begins near 0.2, so an untrained row "
                   "sums to about 0.8 and has no negative weight to speak of.",
                   head.head + 1, since_which(head.which));
    learner_claim(small, page, "differential: the smallest weight of a sentence, mean",
                  most_negative, NULL, AT_MOST, -0.1);
}

void since_nowhere(struct since *since)
{
    show_sink(since);
    show_gate(since);
    show_difference(since);
}

/* ---- sigmoid ---- */
static double sums_apart(struct learner *small, const void *user)
{
    (void)user;
    return since_mean(small, since_cross, since_apart);
}

static void show_sigmoid(struct since *since)
{
    struct page *page = since->page;
    struct learner *small = &since->models[SINCE_SIGMOID].small;
    struct since_map map;
    char *names[SINCE_ROWS];
    page_step(page, "Must weights be positive, and sum to 1?");
    page_paragraph(
        page, SHORT,
        "A sum of 1 makes the words of a row compete: what one word gets, another loses. Sigmoid "
        "attention (Ramapuram et al. 2024) decides for each word by itself whether to read it. The "
        "bias b begins at −log of a typical length, so that the weights are small at first. The "
        "sum of a row, in brackets, is then something that the network can choose.");
    page_formula(page, SHORT, "a_{ts} = σ(e_{ts} + b)");
    since_weights(small, &since->pair, since_cross, &map);
    for (int r = 0; r < map.rows; r++) {
        double sum = 0;
        for (int c = 0; c < map.columns; c++) sum += (double)map.weights[r * map.columns + c];
        map.row[r] = names[r] = xasprintf("%s (%.2f)", map.row[r], sum);
    }
    since_show(page, SHORT, "Sigmoid: cross-attention, mean of the heads, and the sums of rows",
               &map);
    for (int r = 0; r < map.rows; r++) free(names[r]);
    learner_claim(small, page, "sigmoid: largest minus smallest sum of a row of a sentence, mean",
                  sums_apart, NULL, AT_LEAST, 0.2);
}

/* ---- exact zeros ---- */
static double words_read(struct learner *small, const void *user)
{
    const struct since_head *head = user;
    return since_mean(small, *head, since_read);
}

/* Shows the cross-attention of head 1 of a model with exact zeros. */
static void show_zeros(struct since *since, enum since_variant variant, const char *title)
{
    static const struct since_head first = {RAPT_WEIGHTS_CROSS, 0};
    struct learner *small = &since->models[variant].small;
    struct since_map map;
    since_weights(small, &since->pair, first, &map);
    char *shown =
        xasprintf("%s: cross-attention, head 1, in which %.0f of %d weights are exactly 0", title,
                  since_zeros(&map), map.rows * map.columns);
    since_show(since->page, SHORT, shown, &map);
    free(shown);
}

static void claim_zeros(struct since *since, enum since_variant variant, double bound)
{
    static const struct since_head first = {RAPT_WEIGHTS_CROSS, 0};
    char *statement = xasprintf("%s: words that a row of cross-attention reads, mean of head 1",
                                since_names[variant]);
    learner_claim(&since->models[variant].small, since->page, statement, words_read, &first,
                  AT_MOST, bound);
    free(statement);
}

static void show_sparse(struct since *since)
{
    struct page *page = since->page;
    rapt_tensor tensor;
    page_paragraph(
        page, SHORT,
        "The other way is to keep the sum, but not the rule that every word gets something. "
        "Sparsemax (Martins and Astudillo 2016) subtracts the same τ from all scores of a row, "
        "sets what is then negative to 0, and chooses τ so that the rest sums to 1. With the "
        "scores 1, 0.4 and −2, τ is 0.2, and the weights are 0.8, 0.2 and 0. A word with the "
        "weight 0 is not read at all, as in hard attention, and yet the weights have a gradient, "
        "as in soft attention.");
    page_formula(page, SHORT, "a_{ts} = max(0, e_{ts} − τ_t)");
    show_zeros(since, SINCE_SPARSEMAX, "Sparsemax");
    page_paragraph(
        page, SHORT,
        "Entmax (Peters, Niculae and Martins 2019; Correia, Niculae and Martins 2019) lies "
        "between softmax, which is α = 1, and sparsemax, which is α = 2. Each head can learn its "
        "α.");
    page_formula(page, SHORT, "a_{ts} = max(0, (α − 1) e_{ts} − τ_t)^{1/(α − 1)}");
    show_zeros(since, SINCE_ENTMAX, "Entmax");
    float *order = since_parameter(&since->models[SINCE_ENTMAX].small,
                                   "decoder.layers.0.cross_attn.score.entmax_alpha", &tensor);
    page_paragraph(page, MORE,
                   "Here α = 1 + σ(a) with a learned a, and begins at 1.5. The two heads of "
                   "cross-attention have learned %.2f and %.2f.",
                   1 + 1 / (1 + exp(-(double)order[0])), 1 + 1 / (1 + exp(-(double)order[1])));
    free(order);
    claim_zeros(since, SINCE_SPARSEMAX, 2);
    claim_zeros(since, SINCE_ENTMAX, 3.5);
}

/* ---- QK-norm ---- */
enum { FACTORS = 9, LARGEST = 16 };

static void scale_queries(struct learner *small, float factor)
{
    since_scale(small, "decoder.layers.0.cross_attn.q.weight", factor);
    since_scale(small, "decoder.layers.0.cross_attn.q.bias", factor);
}

/* Sets the entropies of the sentence's rows for queries of 1/16 to 16 times the length. */
static void entropies(struct since *since, enum since_variant variant, double bits[FACTORS])
{
    struct learner *small = &since->models[variant].small, scaled;
    struct since_map map;
    learner_create(&scaled, &small->setup);
    since_copy(small, &scaled);
    scale_queries(&scaled, 1.0F / LARGEST);
    for (int i = 0; i < FACTORS; i++) {
        since_weights(&scaled, &since->pair, (struct since_head){RAPT_WEIGHTS_CROSS, 0}, &map);
        bits[i] = since_bits(&map);
        scale_queries(&scaled, 2);
    }
    learner_free(&scaled);
}

static void show_norm(struct since *since)
{
    struct page *page = since->page;
    double xs[FACTORS], plain[FACTORS], normed[FACTORS];
    page_paragraph(
        page, SHORT,
        "One thing is left open by the sum of 1: how sharp a row is. That depends on the lengths "
        "of queries and keys, which may keep growing during training, until each row gives all its "
        "weight to one word and has no gradient (lesson 9). QK-norm (Henry et al. 2020; Dehghani "
        "et al. 2023) divides each query and each key by its root mean square, and multiplies it "
        "by a learned gain g that all words share.");
    page_formula(page, SHORT,
                 "e_{ts} = frac{1}{sqrt{d}} frac{g q_t}{rms(q_t)} ⋅ frac{g′ k_s}{rms(k_s)}");
    entropies(since, SINCE_2017, plain);
    entropies(since, SINCE_NORMED, normed);
    for (int i = 0; i < FACTORS; i++) xs[i] = i - FACTORS / 2;
    page_chart(page, SHORT, "The sentence with longer queries: entropy of cross-attention, head 1",
               "log2 of the factor of all queries", "bits");
    page_curve(page, "2017", FACTORS, xs, plain);
    page_curve(page, "QK-norm", FACTORS, xs, normed);
    page_paragraph(
        page, SHORT,
        "For the chart, the queries of two trained translators are multiplied by a factor. In that "
        "of 2017 this takes the rows from equal weights, on the left, to hard attention. With "
        "QK-norm it changes nothing, since the weights depend only on directions.");
    page_claim(page, "QK-norm: bits that queries 16 times as long take from the rows",
               normed[FACTORS / 2] - normed[FACTORS - 1], AT_MOST, 0.01);
    page_claim(page, "2017: bits that queries 16 times as long take from the rows",
               plain[FACTORS / 2] - plain[FACTORS - 1], AT_LEAST, 0.2);
}

void since_sums(struct since *since)
{
    show_sigmoid(since);
    show_sparse(since);
    show_norm(since);
}
