/* stack_layout.c - lays out the memory of a stack in an arena: the activations of every sublayer,
   for a given configuration and number of rows, and in training the gradients of one sublayer. In
   training, each sublayer has its own activations, which backward reads. At inference, layers share
   most of that memory. */
#include "model/sublayer.h"

int rapt__parts_of(const rapt_config *c, bool decoder, enum part parts[3])
{
    int n = 0;
    parts[n++] = !decoder || !c->decoder_recurrence ? PART_SELF
                 : rapt__decoder_is_linear(c)       ? PART_LINEAR
                                                    : PART_RECURRENT;
    if (decoder && c->kind == RAPT_KIND_ENCODER_DECODER) parts[n++] = PART_CROSS;
    if (c->ffn_width) parts[n++] = PART_FEEDFORWARD;
    return n;
}

struct sublayer *rapt__sublayer_of(const struct stack *s, int layer, enum part part)
{
    enum part parts[3];
    int n = rapt__parts_of(&s->model->config, s->decoder, parts), i = 0;
    while (i < n && parts[i] != part) i++;
    return i < n ? &s->memory->sublayers[layer * n + i] : NULL;
}

/* Lays out the results that attention to a cache computes for each query: projected queries,
   centers, products with distance vectors, and statistics. */
static void queries_layout(struct sublayer *u, const rapt_attention *spec, size_t rows,
                           struct arena *arena)
{
    size_t H = (size_t)spec->heads;
    if (rapt__score_changes(spec, false))
        u->projected_q = rapt__arena_floats(arena, rows, H * (size_t)rapt__score_width(spec));
    if (rapt__locality_centered(spec)) u->centers = rapt__arena_floats(arena, rows, H);
    if (spec->distances.keys)
        u->by_query = rapt__arena_floats(arena, rows * H, rapt__distance_row(spec));
    u->statistics = rapt__arena_floats(arena, rows, 2 * H);
}

static void cached_layout(struct sublayer *u, const rapt_config *c, enum part part, size_t rows,
                          size_t source_rows, struct arena *arena)
{
    const struct attention_use which = {.decoder = true, .cross = part == PART_CROSS};
    const rapt_attention spec = rapt__attention_of(c, &which);
    size_t H = (size_t)rapt__maps(c), W = (size_t)rapt__score_width(&spec);
    queries_layout(u, &spec, rows, arena);
    if (rapt__score_changes(&spec, true))
        u->projected_keys = rapt__arena_floats(arena, part == PART_CROSS ? source_rows : rows,
                                               (size_t)rapt__key_maps(c) * W);
    if (rapt__locality_centered(&spec))
        u->center_hidden =
            rapt__arena_floats(arena, rows, H * (size_t)spec.parameters.center_hidden);
}

static bool normalizes_hard(const rapt_config *c, enum part part)
{
    rapt_normalizer normalizer = part == PART_CROSS ? c->cross_normalizer : c->self_normalizer;
    return rapt__normalizer_is_hard(normalizer);
}

/* Returns the number of floats that all heads output for a token. */
static size_t output_elements(const rapt_config *c)
{
    return (size_t)c->heads * (size_t)rapt__head_width(c);
}

static size_t key_elements(const rapt_config *c, bool cross)
{
    const struct head_rows rows = rapt__head_rows(c, cross);
    return (size_t)rows.k + (size_t)rows.v;
}

/* Returns the number of floats in a token's queries and, for self-attention, in its keys and
   values. */
static size_t projected_elements(const rapt_config *c, bool cross)
{
    return (size_t)rapt__head_rows(c, cross).q + (cross ? 0 : key_elements(c, false));
}

static float *projections_of(const rapt_config *c, enum part part, size_t rows, struct arena *arena)
{
    return rapt__arena_floats(arena, rows, projected_elements(c, part == PART_CROSS));
}

/* Returns the number of floats per token in the queries that are multiplied by latent rows. */
static size_t latent_elements(const rapt_config *c, bool cross)
{
    return (size_t)c->heads * (size_t)rapt__head_rows(c, cross).k;
}

/* Returns the number of floats per token in u->maps. */
static size_t map_elements(const rapt_config *c)
{
    return c->latent_width ? (size_t)c->heads * (size_t)c->latent_width : 2 * output_elements(c);
}

/* Returns the number of floats per token in u->values, where each value is stored twice. */
static size_t value_elements(const rapt_config *c)
{
    return 2 * (size_t)rapt__head_rows(c, false).v;
}

static void outputs_layout(struct sublayer *u, const rapt_config *c, size_t rows,
                           struct arena *arena)
{
    size_t Q = output_elements(c);
    u->mixed = rapt__arena_floats(arena, rows, Q);
    if (!c->output_gate) return;
    u->gate = rapt__arena_floats(arena, rows, (size_t)rapt__gates(c));
    u->gated = rapt__arena_floats(arena, rows, Q);
}

/* Lays out what attention without a cache saves for each row: softmax statistics and, if the
   normalizer is hard, the chosen keys. */
static void softmax_layout(struct sublayer *u, const rapt_config *c, enum part part, size_t rows,
                           struct arena *arena)
{
    size_t H = (size_t)rapt__maps(c);
    u->statistics = rapt__arena_floats(arena, rows, 2 * H);
    if (normalizes_hard(c, part)) u->chosen = rapt__arena_take(arena, rows * H, sizeof(int));
}

static void learning_layout(struct sublayer *u, const rapt_config *c, enum part part, size_t rows,
                            size_t source_rows, struct arena *arena)
{
    const bool cross = part == PART_CROSS;
    if (c->query_key_norm || c->latent_width) {
        u->raw_q = projections_of(c, part, rows, arena);
        u->inverse_q = rapt__arena_floats(arena, rows, (size_t)rapt__maps(c));
        u->inverse_k =
            rapt__arena_floats(arena, cross ? source_rows : rows, (size_t)rapt__key_maps(c));
        if (cross) u->raw_kv = rapt__arena_floats(arena, source_rows, key_elements(c, true));
    }
    if (c->differential) {
        u->raw_mixed = rapt__arena_floats(arena, rows, output_elements(c));
        u->inverse_mixed = rapt__arena_floats(arena, rows, (size_t)c->heads);
    }
}

/* The purpose of a pass: decoding with caches, forward only, or forward and backward. */
enum use { USE_CACHED, USE_FORWARD, USE_LEARNING };

static void linear_layout(struct sublayer *u, const rapt_config *c, enum use use, size_t rows,
                          struct arena *arena)
{
    size_t decays = (size_t)rapt__linear_decays(c), rates = (size_t)rapt__linear_rates(c);
    size_t Q = output_elements(c);
    u->q = projections_of(c, PART_LINEAR, rows, arena);
    outputs_layout(u, c, rows, arena);
    if (decays) u->forget = rapt__arena_floats(arena, rows, decays);
    if (decays) u->log_forget = rapt__arena_floats(arena, rows, decays);
    if (rates) u->rate_in = rapt__arena_floats(arena, rows, rates);
    if (rates) u->rate = rapt__arena_floats(arena, rows, rates);
    if (use != USE_LEARNING || !rapt__linear_normed(c)) return;
    u->raw_q = projections_of(c, PART_LINEAR, rows, arena);
    u->inverse_q = rapt__arena_floats(arena, rows, (size_t)c->heads);
    u->inverse_k = rapt__arena_floats(arena, rows, (size_t)rapt__key_heads(c));
    u->raw_mixed = rapt__arena_floats(arena, rows, Q);
    u->inverse_mixed = rapt__arena_floats(arena, rows, (size_t)c->heads);
}

/* Lays out the memory of monotonic attention. At inference, this includes the stops, from which
   attention weights can be computed. */
static void monotonic_layout(struct sublayer *u, const rapt_config *c, enum use use, size_t rows,
                             size_t source_rows, struct arena *arena)
{
    u->q = projections_of(c, PART_CROSS, rows, arena);
    outputs_layout(u, c, rows, arena);
    if (use == USE_CACHED)
        u->chosen = rapt__arena_take(arena, rows * (size_t)c->heads, sizeof *u->chosen);
    else
        u->kv = rapt__arena_floats(arena, source_rows, key_elements(c, true));
}

static void sublayer_layout(struct sublayer *u, const rapt_config *c, bool decoder, enum part part,
                            enum use use, size_t rows, size_t source_rows, struct arena *arena)
{
    size_t D = (size_t)c->width, F = (size_t)c->ffn_width;
    bool cross = part == PART_CROSS;
    if (part == PART_FEEDFORWARD) {
        u->hidden = rapt__arena_floats(arena, rows, (size_t)rapt__ffn_rows(c));
        u->active = rapt__arena_floats(arena, rows, F);
    } else if (part == PART_RECURRENT) {
        u->q = rapt__arena_floats(arena, rows, 2 * D);
        u->mixed = rapt__arena_floats(arena, rows, D);
    } else if (part == PART_LINEAR) {
        linear_layout(u, c, use, rows, arena);
    } else if (cross && c->monotonic) {
        monotonic_layout(u, c, use, rows, source_rows, arena);
    } else {
        u->q = projections_of(c, part, rows, arena);
        outputs_layout(u, c, rows, arena);
        if (c->differential || c->latent_width)
            u->maps = rapt__arena_floats(arena, rows, map_elements(c));
        if (c->differential)
            u->values = rapt__arena_floats(arena, cross ? source_rows : rows, value_elements(c));
        if (c->latent_width)
            u->latent_q = rapt__arena_floats(arena, rows, latent_elements(c, cross));
        if (c->latent_query_width)
            u->queries =
                rapt__arena_floats(arena, rows, (size_t)rapt__latent_queries_row(c, cross));
        if (part == PART_SELF && rapt__forget_gates(c, decoder)) {
            u->forget = rapt__arena_floats(arena, rows, (size_t)rapt__maps(c));
            u->log_forget = rapt__arena_floats(arena, rows, (size_t)rapt__maps(c));
        }
        if (part == PART_SELF && use != USE_CACHED)
            u->distances = rapt__arena_floats(arena, rapt__distances_floats(c, decoder), 1);
        if (use == USE_LEARNING) learning_layout(u, c, part, rows, source_rows, arena);
        if (use == USE_CACHED)
            cached_layout(u, c, part, rows, source_rows, arena);
        else
            softmax_layout(u, c, part, rows, arena);
    }
    if (cross && !c->monotonic)
        u->kv = rapt__arena_floats(arena, source_rows, key_elements(c, true));
    u->y = rapt__arena_floats(arena, rows, D);
    u->sum = rapt__arena_floats(arena, rows, D);
    u->out = rapt__arena_floats(arena, rows, D);
    u->saved.mean = rapt__arena_floats(arena, rows, 1);
    u->saved.inverse = rapt__arena_floats(arena, rows, 1);
}

static void backward_layout(struct stack_memory *m, const rapt_config *c, bool decoder, size_t rows,
                            size_t source_rows, struct arena *arena)
{
    size_t D = (size_t)c->width, Q = output_elements(c), R = (size_t)c->latent_width;
    size_t unit = c->decoder_recurrence == RAPT_RECURRENCE_SSRU ? 3 * D : 0;
    m->dout = rapt__arena_floats(arena, rows, D);
    m->dstream = rapt__arena_floats(arena, rows, D);
    m->dy = rapt__arena_floats(arena, rows, D);
    m->dmixed = rapt__arena_floats(arena, rows, rapt__max_size(D, Q));
    const size_t projected =
        rapt__max_size(projected_elements(c, false), projected_elements(c, true));
    m->dq = rapt__arena_floats(arena, rows, rapt__max_size(unit, projected));
    m->dhidden = rapt__arena_floats(arena, rows, (size_t)rapt__ffn_rows(c));
    m->dactive = rapt__arena_floats(arena, rows, c->ffn_gated ? (size_t)c->ffn_width : 0);
    m->dkv = rapt__arena_floats(arena, source_rows, key_elements(c, true));
    if (c->output_gate) {
        m->dgate = rapt__arena_floats(arena, rows, (size_t)rapt__gates(c));
        m->dgated = rapt__arena_floats(arena, rows, Q);
    }
    int gates = c->forget_gate ? rapt__maps(c) : rapt__linear_decays(c);
    m->dforget = rapt__arena_floats(arena, rows, (size_t)gates);
    m->drate = rapt__arena_floats(arena, rows, (size_t)rapt__linear_rates(c));
    m->ddistances = rapt__arena_floats(arena, rapt__distances_floats(c, decoder), 1);
    size_t longest = rapt__max_size(rows, source_rows);
    if (c->differential || R) {
        m->dmaps = rapt__arena_floats(arena, rows, map_elements(c));
        m->dvalues = rapt__arena_floats(arena, longest,
                                        R ? projected_elements(c, false) : value_elements(c));
        m->dlambda = rapt__arena_floats(arena, rows, 1);
    }
    if (R) m->dlatent_q = rapt__arena_floats(arena, rows, latent_elements(c, false));
    if (c->latent_query_width)
        m->dqueries = rapt__arena_floats(arena, rows, (size_t)rapt__latent_queries_row(c, false));
    if (c->query_key_norm || c->differential || R || rapt__linear_normed(c))
        m->norm_partial = rapt__arena_floats(
            arena,
            rapt__head_norm_partial((int)longest, R ? rapt__max((int)R, c->latent_query_width)
                                                    : rapt__head_width(c)),
            1);
}

/* Returns a sublayer with memory only for the results from which attention weights can be computed
   later. */
static struct sublayer weights_layout(const rapt_config *c, bool decoder, enum part part,
                                      size_t rows, struct arena *arena)
{
    const struct attention_use which = {.decoder = decoder, .cross = part == PART_CROSS};
    const rapt_attention spec = rapt__attention_of(c, &which);
    struct sublayer own = {0};
    if (part == PART_CROSS && c->monotonic) {
        own.q = projections_of(c, part, rows, arena);
        own.chosen = rapt__arena_take(arena, rows * (size_t)c->heads, sizeof *own.chosen);
        return own;
    }
    if (!decoder || !rapt__score_changes(&spec, false)) {
        own.q = projections_of(c, part, rows, arena);
        if (c->latent_width)
            own.latent_q = rapt__arena_floats(arena, rows, latent_elements(c, part == PART_CROSS));
    }
    if (part == PART_SELF && !decoder)
        own.distances = rapt__arena_floats(arena, rapt__distances_floats(c, decoder), 1);
    if (decoder)
        queries_layout(&own, &spec, rows, arena);
    else
        softmax_layout(&own, c, part, rows, arena);
    return own;
}

/* For inference, makes all layers share the memory of the first layer, and makes all parts share y,
   sum, out and saved. However, each layer has its own memory for the results from which attention
   weights are computed: always for cross-attention, since alignments need them, and for
   self-attention if `self` is set. */
static void share_layout(struct stack_memory *m, const rapt_config *c, bool decoder, bool self,
                         size_t rows, struct arena *arena)
{
    enum part parts[3];
    int n = rapt__parts_of(c, decoder, parts);
    for (int i = 1; i < m->count; i++) {
        enum part part = parts[i % n];
        bool keeps = i >= n && (part == PART_CROSS || (self && part == PART_SELF));
        struct sublayer own = {0};
        if (keeps) own = weights_layout(c, decoder, part, rows, arena);
        if (!m->sublayers) continue;
        struct sublayer *first = &m->sublayers[0], *u = &m->sublayers[i];
        if (i >= n) *u = m->sublayers[i % n];
        if (own.q) u->q = own.q;
        if (own.latent_q) u->latent_q = own.latent_q;
        if (keeps) u->projected_q = own.projected_q, u->centers = own.centers;
        if (keeps) u->by_query = own.by_query;
        if (keeps && own.distances) u->distances = own.distances;
        if (keeps) u->statistics = own.statistics, u->chosen = own.chosen;
        u->y = first->y, u->sum = first->sum, u->out = first->out, u->saved = first->saved;
    }
}

/* Lays out a chain of m->count sublayers. Sublayer i computes parts[i % n]. Only the first `own`
   sublayers receive memory here. */
static void chain_layout(struct stack_memory *m, const rapt_config *c, bool decoder,
                         const enum part *parts, int n, int own, enum use use, size_t rows,
                         size_t source_rows, struct arena *arena)
{
    size_t D = (size_t)c->width;
    m->sublayers = rapt__arena_take(arena, (size_t)m->count, sizeof *m->sublayers);
    m->embedded = rapt__arena_floats(arena, rows, D);
    m->first = rapt__arena_floats(arena, rows, D);
    if (c->embedding_norm) {
        m->raw = rapt__arena_floats(arena, rows, D);
        m->embedded_saved.mean = rapt__arena_floats(arena, rows, 1);
        m->embedded_saved.inverse = rapt__arena_floats(arena, rows, 1);
    }
    m->first_saved.mean = rapt__arena_floats(arena, rows, 1);
    m->first_saved.inverse = rapt__arena_floats(arena, rows, 1);
    for (int i = 0; i < own; i++) {
        struct sublayer counted = {0}, *u = m->sublayers ? &m->sublayers[i] : &counted;
        *u = (struct sublayer){0};
        sublayer_layout(u, c, decoder, parts[i % n], use, rows, source_rows, arena);
    }
}

void rapt__layer_memory(struct stack_memory *m, const rapt_config *c, bool decoder,
                        const enum part *parts, int count, int rows, int source_rows,
                        struct arena *arena)
{
    m->count = count;
    chain_layout(m, c, decoder, parts, count, count, USE_LEARNING, (size_t)rows,
                 (size_t)source_rows, arena);
    backward_layout(m, c, decoder, (size_t)rows, (size_t)source_rows, arena);
}

void rapt__stack_layout(struct stack_memory *m, const rapt_config *c, bool decoder, int rows,
                        int source_rows, enum stack_keeps keeps, struct arena *arena)
{
    enum part parts[3];
    bool keep = keeps == KEEPS_ALL;
    int n = rapt__parts_of(c, decoder, parts),
        layers = decoder ? c->decoder_layers : c->encoder_layers;
    size_t R = (size_t)rows, S = (size_t)source_rows;
    m->count = n * layers;
    const enum use use = keep ? USE_LEARNING : decoder ? USE_CACHED : USE_FORWARD;
    chain_layout(m, c, decoder, parts, n, keep ? m->count : n, use, R, S, arena);
    if (keep)
        backward_layout(m, c, decoder, R, S, arena);
    else
        share_layout(m, c, decoder, keeps == KEEPS_SELF, R, arena);
}
