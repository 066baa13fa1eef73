/* since_nowhere.c - lesson since: attention sinks, gated outputs and differential attention, which
   let a row keep the weight that it does not need. */
#include "since.h"

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
