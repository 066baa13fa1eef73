/* parameters.c - the layout of a model: the name and shape of every parameter in parameters.def,
   and its offset in one block of floats. Also reads, writes and initializes parameters. */
#include "kernel/int8.h"
#include "model/model.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A pass over the list of parameters. The first pass only counts. */
struct layout_pass {
    struct layout *layout;
    bool real; /* the layout has memory */
};

size_t rapt__parameter_floats(const struct parameter *p)
{
    size_t rows = (size_t)p->rows, columns = (size_t)p->columns;
    size_t whole = p->kind == IN_PANELS ? rapt__round_up_size(rows, LANES) : rows;
    size_t floats = rapt__product(whole, columns);
    if (p->kind == IN_BYTES)
        floats = rapt__int8_weight_bytes(p->rows, p->columns) / sizeof(float) + rows;
    if (rapt__in_halves(p->kind)) floats = rapt__panels_size(rows, columns) / 2;
    return floats > SIZE_MAX - LANES ? SIZE_MAX : rapt__round_up_size(floats, LANES);
}

/* Returns the matrix [out][in] at offset `weight` of a block. */
static struct linear matrix_at(enum layout_kind kind, const float *block, size_t weight, int out,
                               int in)
{
    const float *at = block + weight;
    struct linear l = {.in = in, .out = out};
    if (kind == IN_PANELS) l.weight = at;
    if (rapt__in_halves(kind)) l.half = (const uint16_t *)at;
    l.type = kind == IN_F16 ? HALF_F16 : HALF_BF16;
    if (kind != IN_BYTES) return l;
    l.bytes = (const int8_t *)at;
    l.scale = at + rapt__int8_weight_bytes(out, in) / sizeof(float);
    return l;
}

struct linear rapt__linear_at(const struct layout *layout, const struct linear_offsets *offset,
                              const float *block)
{
    struct linear l = matrix_at(layout->matrices, block, offset->weight, offset->out, offset->in);
    l.bias = offset->bias ? block + offset->bias : NULL;
    l.fine = offset->fine;
    return l;
}

struct linear rapt__parameter_matrix(const struct parameter *p, const float *block)
{
    return matrix_at(p->kind, block, p->offset, p->rows, p->columns);
}

/* Adds one parameter to the layout and returns its offset. */
static size_t offset(struct layout_pass *w, const char *scope, int layer, const char *name,
                     int rows, int columns, enum layout_kind kind, enum initial initial)
{
    size_t here = w->layout->floats;
    if (kind == IN_PANELS) kind = w->layout->matrices;
    struct parameter spare = {0}, *p = w->real ? &w->layout->parameters[w->layout->count] : &spare;
    *p = (struct parameter){
        .rows = rows, .columns = columns, .kind = kind, .initial = initial, .offset = here};
    if (w->real) {
        if (layer < 0)
            snprintf(p->name, sizeof p->name, "%s", name);
        else
            snprintf(p->name, sizeof p->name, "%s.layers.%d.%s", scope, layer, name);
    }
    w->layout->count++;
    if (!rapt__plus(here, rapt__parameter_floats(p), &w->layout->floats))
        w->layout->floats = SIZE_MAX;
    return here;
}

static void lay_out_once(struct layout_pass *w, const rapt_config *c)
{
    struct layout *l = w->layout;
    int D = c->width, source = c->source_vocab, target = c->target_vocab, positions = c->positions;
    int vocab = source > 0 ? source : target;
    bool encoder = c->kind != RAPT_KIND_DECODER_ONLY, decoder = c->kind != RAPT_KIND_ENCODER_ONLY;
    bool learned = c->position == RAPT_POSITION_LEARNED,
         pre_norm = c->norm_order == RAPT_NORM_ORDER_PRE;
    bool shared_table = c->tie == RAPT_TIE_ALL;
    int vectors = c->source_width, types = c->token_types;
    bool source_types = types > 0, pooler = c->pooler != 0;
    bool source_vectors = encoder && vectors > 0;
    bool source_table = encoder && !shared_table && !source_vectors,
         target_table = decoder && !shared_table;
    bool source_positions = encoder && learned, target_positions = decoder && learned;
    bool encoder_last = encoder && pre_norm, decoder_last = decoder && pre_norm;
    bool encoder_embedded = encoder && c->embedding_norm,
         decoder_embedded = decoder && c->embedding_norm;
    bool own_output = c->tie == RAPT_TIE_NONE || (c->tie == RAPT_TIE_OUTPUT && !decoder);
    bool output_matrix = own_output && target > 0;
    bool output_bias = c->output_bias != 0, centered = c->norm_type == RAPT_NORM_TYPE_LAYER;
    bool table = c->relative_bias == RAPT_RELATIVE_BIAS_T5;
    bool slopes = c->relative_bias == RAPT_RELATIVE_BIAS_ALIBI_LEARNED;
    bool decoder_attends = decoder && !c->decoder_recurrence;
    bool encoder_table = encoder && table, decoder_table = decoder_attends && table;
    bool encoder_slopes = encoder && slopes, decoder_slopes = decoder_attends && slopes;
    bool deberta = c->relative_bias == RAPT_RELATIVE_BIAS_DEBERTA;
    bool encoder_distances = encoder && deberta, decoder_distances = decoder_attends && deberta;
    int both_ways = rapt__distances_rows(c, false);
    int H = rapt__maps(c), buckets = rapt__config_int(c, CONFIG_relative_buckets);
#define ONCE(when, field, name, rows, columns, kind, initial)                                      \
    if (when) l->field = offset(w, "", -1, name, rows, columns, kind, initial);
#include "model/parameters.def"
#undef ONCE
    if (shared_table) l->decoder.table = l->encoder.table;
    if (!own_output) l->output.weight = l->decoder.table;
    l->encoder.source.in = vectors, l->encoder.source.out = D;
    l->pooler.in = l->pooler.out = pooler ? D : 0;
    l->output.in = D;
    l->output.out = target;
}

static const enum initial learned_initial[] = {
#define ATTENTION_PARAMETER(enumerator, name, scores, localities, normalizers, need, gradient,     \
                            rows, columns, initial)                                                \
    [enumerator] = INITIAL_##initial,
#include "attention/learned.def"
};

/* Lays out the learned arrays of the score, locality and normalizer of self- or cross-attention. */
static void lay_out_learned(struct layout_pass *w, const rapt_config *c, bool cross,
                            const char *scope, int layer, const char *prefix,
                            struct score_offsets *to)
{
    const struct attention_use which = {.cross = cross};
    const rapt_attention a = rapt__attention_of(c, &which);
    for (int i = 0; i < RAPT_ATTENTION_PARAMETER_COUNT; i++) {
        if (!rapt__learned_read(&a, i)) continue;
        const struct learned_shape shape = rapt__learned_shape(&a, i);
        char name[44];
        snprintf(name, sizeof name, "%s%s", prefix,
                 rapt_attention_parameter_name((rapt_attention_parameter)i));
        to->array[i] = offset(w, scope, layer, name, (int)shape.rows, (int)shape.columns, IN_ROWS,
                              learned_initial[i]);
    }
}

int rapt__ffn_rows(const rapt_config *c)
{
    return c->ffn_gated ? 2 * c->ffn_width : c->ffn_width;
}

static void lay_out_layer(struct layout_pass *w, const rapt_config *c, bool decoder,
                          const char *scope, int layer, const struct layer_parts *parts,
                          struct layer_offsets *l)
{
    bool self = parts->has[PART_SELF], cross = parts->has[PART_CROSS];
    bool recurrent = parts->has[PART_RECURRENT], ffn = parts->has[PART_FEEDFORWARD];
    bool linear = parts->has[PART_LINEAR], outputs_normed = rapt__linear_normed(c);
    bool normed = !parts->alone, heads_normed = c->query_key_norm != 0;
    bool differential = c->differential != 0, talks = c->talking_heads != 0;
    bool monotonic = c->monotonic != RAPT_CROSS_MONOTONIC_NONE;
    int heads = c->heads, K = rapt__head_width(c), Q = heads * K, M = rapt__map_width(c);
    int R = c->latent_width, L = heads * R, queries_up = c->latent_query_width;
    int self_queries = rapt__latent_queries_row(c, false),
        cross_queries = rapt__latent_queries_row(c, true);
    const struct head_rows rows = rapt__head_rows(c, false), cross_rows = rapt__head_rows(c, true);
    int D = c->width, F = c->ffn_width, I = rapt__ffn_rows(c), gates = rapt__gates(c);
    int forgets = rapt__forget_gates(c, decoder);
    int decays = rapt__linear_decays(c), rates = rapt__linear_rates(c);
    bool centered = c->norm_type == RAPT_NORM_TYPE_LAYER;
    bool shaw_values = c->relative_bias == RAPT_RELATIVE_BIAS_SHAW;
    bool shaw = c->relative_bias == RAPT_RELATIVE_BIAS_SHAW_KEYS || shaw_values;
    bool xl = c->relative_bias == RAPT_RELATIVE_BIAS_TRANSFORMER_XL;
    bool deberta = c->relative_bias == RAPT_RELATIVE_BIAS_DEBERTA;
    int distances = rapt__distances_rows(c, decoder), maps = rapt__maps(c);
    *l = (struct layer_offsets){0};
#define LAYER(when, field, name, rows, columns, kind, initial)                                     \
    if (when) l->field = offset(w, scope, layer, name, rows, columns, kind, initial);
#define LEARNED(when, field, of_cross, prefix)                                                     \
    if (when) lay_out_learned(w, c, of_cross, scope, layer, prefix, &l->field);
#include "model/parameters.def"
#undef LEARNED
#undef LAYER
    l->self.qkv.in = l->cross.q.in = l->cross.kv.in = l->feedforward.in.in = D;
    l->self.gate.in = l->cross.gate.in = D;
    l->self.gate.out = l->cross.gate.out = gates;
    l->self.forget.in = D, l->self.forget.out = linear ? decays : forgets;
    l->self.rate.in = D, l->self.rate.out = rates;
    l->self.qkv.out = rows.q + rows.k + rows.v;
    l->cross.q.out = cross_rows.q, l->cross.kv.out = cross_rows.k + cross_rows.v;
    l->self.out.in = l->cross.out.in = Q;
    l->self.key_up.in = l->cross.key_up.in = K, l->self.key_up.out = l->cross.key_up.out = L;
    l->self.value_up.in = l->cross.value_up.in = R,
    l->self.value_up.out = l->cross.value_up.out = Q;
    l->self.query_up.in = l->cross.query_up.in = queries_up;
    l->self.query_up.out = self_queries, l->cross.query_up.out = cross_queries;
    l->self.distance_key.in = l->self.distance_query.in = D;
    l->self.distance_key.out = l->self.distance_query.out = Q;
    l->recurrent.input.in = l->recurrent.input.out = D;
    l->recurrent.forget.in = l->recurrent.forget.out = D;
    l->self.out.out = l->cross.out.out = l->feedforward.out.out = D;
    l->feedforward.in.out = I, l->feedforward.out.in = F;
    /* Rounding errors in the products of these matrices matter most, mainly because exponentials
       amplify errors in scores and gates. In 8-bit arithmetic, their inputs are therefore quantized
       as the sum of two 8-bit terms. The second term costs little, since these matrices are small
       compared with those of feed-forward layers and of the output. */
    l->self.qkv.fine = l->cross.q.fine = l->cross.kv.fine = l->cross.out.fine = true;
    l->self.gate.fine = l->cross.gate.fine = l->self.forget.fine = l->self.rate.fine = true;
    l->self.key_up.fine = l->cross.key_up.fine = true;
    l->self.query_up.fine = l->cross.query_up.fine = true;
    l->self.value_up.fine = l->cross.value_up.fine = true;
    l->self.distance_key.fine = l->self.distance_query.fine = true;
    l->recurrent.input.fine = l->recurrent.forget.fine = true;
}

static struct layer_parts parts_of(const rapt_config *c, bool decoder)
{
    enum part parts[3];
    struct layer_parts all = {.alone = false};
    for (int i = rapt__parts_of(c, decoder, parts); i-- > 0;) all.has[parts[i]] = true;
    return all;
}

static void lay_out_all(struct layout_pass *w, const rapt_config *c)
{
    struct layout *l = w->layout;
    const struct layer_parts encoder = parts_of(c, false), decoder = parts_of(c, true);
    struct layer_offsets spare;
    l->count = 0;
    l->floats = 0;
    lay_out_once(w, c);
    for (int i = 0; i < l->encoder.count; i++)
        lay_out_layer(w, c, false, "encoder", i, &encoder,
                      w->real ? &l->encoder.layers[i] : &spare);
    for (int i = 0; i < l->decoder.count; i++)
        lay_out_layer(w, c, true, "decoder", i, &decoder, w->real ? &l->decoder.layers[i] : &spare);
}

void rapt__layout_make(struct layout *layout, const rapt_config *config, enum layout_kind matrices,
                       struct arena *arena)
{
    struct layout_pass w = {.layout = layout};
    *layout = (struct layout){.matrices = matrices};
    layout->encoder.count = config->kind == RAPT_KIND_DECODER_ONLY ? 0 : config->encoder_layers;
    layout->decoder.count = config->kind == RAPT_KIND_ENCODER_ONLY ? 0 : config->decoder_layers;
    lay_out_all(&w, config);
    size_t layer = sizeof(struct layer_offsets);
    layout->parameters = rapt__arena_take(arena, (size_t)layout->count, sizeof(struct parameter));
    layout->encoder.layers = rapt__arena_take(arena, (size_t)layout->encoder.count, layer);
    layout->decoder.layers = rapt__arena_take(arena, (size_t)layout->decoder.count, layer);
    if (!layout->parameters) return;
    w.real = true;
    lay_out_all(&w, config);
}

/* Lays out a single layer with its relative biases and distance vectors. Parameter names have no
   prefix such as "encoder.layers.0.". */
static void lay_out_alone(struct layout_pass *w, const rapt_config *c, bool decoder,
                          const struct layer_parts *parts)
{
    struct stack_offsets *side = decoder ? &w->layout->decoder : &w->layout->encoder;
    struct layer_offsets spare;
    int H = rapt__maps(c), buckets = rapt__config_int(c, CONFIG_relative_buckets);
    w->layout->count = 0;
    w->layout->floats = LANES; /* offset 0 means that an array is absent */
    if (parts->has[PART_SELF] && c->relative_bias == RAPT_RELATIVE_BIAS_T5)
        side->relative =
            offset(w, "", -1, "relative_bias.weight", H, buckets, IN_ROWS, INITIAL_TABLE);
    if (parts->has[PART_SELF] && c->relative_bias == RAPT_RELATIVE_BIAS_ALIBI_LEARNED)
        side->relative = offset(w, "", -1, "slopes", 1, H, IN_ROWS, INITIAL_SLOPES);
    if (parts->has[PART_SELF] && c->relative_bias == RAPT_RELATIVE_BIAS_DEBERTA)
        side->distances = offset(w, "", -1, "distances.weight", rapt__distances_rows(c, false),
                                 c->width, IN_ROWS, INITIAL_TABLE);
    lay_out_layer(w, c, decoder, "", -1, parts, w->real ? side->layers : &spare);
}

void rapt__layer_layout_make(struct layout *layout, const rapt_config *config, bool decoder,
                             const struct layer_parts *parts, struct arena *arena)
{
    struct layout_pass w = {.layout = layout};
    *layout = (struct layout){0};
    struct stack_offsets *side = decoder ? &layout->decoder : &layout->encoder;
    lay_out_alone(&w, config, decoder, parts);
    side->count = 1;
    layout->parameters = rapt__arena_take(arena, (size_t)layout->count, sizeof(struct parameter));
    side->layers = rapt__arena_take(arena, 1, sizeof(struct layer_offsets));
    if (!layout->parameters) return;
    w.real = true;
    lay_out_alone(&w, config, decoder, parts);
}

struct row_sizes rapt__row_sizes(const struct layout *layout)
{
    struct row_sizes most = {0};
    for (int i = 0; i < layout->count; i++) {
        const struct parameter *p = &layout->parameters[i];
        most.rows = rapt__max_size(most.rows, (size_t)p->rows);
        most.columns = rapt__max_size(most.columns, (size_t)p->columns);
        if (p->kind == IN_BYTES)
            most.scratch = rapt__max_size(most.scratch, rapt__int8_scratch(p->columns));
    }
    return most;
}

static struct int8_rows rows_of(const struct parameter *p, float *block)
{
    const struct linear l = rapt__parameter_matrix(p, block);
    return (struct int8_rows){(int8_t *)l.bytes, (float *)l.scale, p->columns};
}

bool rapt__parameter_set_integers(const struct parameter *p, float *block, int first, int count,
                                  const int8_t *rows, const float *factors)
{
    const struct int8_rows to = rows_of(p, block);
    return rapt__int8_set_integers(&to, first, count, rows, factors);
}

void rapt__parameter_set_rows(const struct parameter *p, float *block, int first, int count,
                              const float *data, const float *factors, float *scratch)
{
    size_t columns = (size_t)p->columns;
    if (p->kind != IN_BYTES) {
        rapt__parameter_set(p, block, (size_t)first * columns, (size_t)count * columns, data);
        return;
    }
    const struct int8_rows to = rows_of(p, block);
    rapt__int8_set_rows(&to, first, count, data, factors, scratch);
}

size_t rapt__parameter_count(const struct parameter *p)
{
    return (size_t)p->rows * (size_t)p->columns;
}

/* `count` elements of a parameter p that are consecutive in row-major order and are stored `step`
   elements apart. The first one is block[at] or, if p consists of 16-bit floats, the 16-bit element
   at - p->offset of p. */
struct stretch {
    size_t at, step, count;
};

/* Returns a stretch of at most `left` elements that starts with element `first` of the parameter.
   In panels, the stretch does not extend past the end of a row. */
static struct stretch stretch_at(const struct parameter *p, size_t first, size_t left)
{
    size_t columns = (size_t)p->columns, row = first / columns, column = first % columns;
    if (p->kind == IN_ROWS) return (struct stretch){p->offset + first, 1, left};
    size_t panel = p->offset + row / LANES * LANES * columns;
    return (struct stretch){panel + column * LANES + row % LANES, LANES,
                            rapt__min_size(left, columns - column)};
}

static void get_bytes(const struct parameter *p, const float *block, size_t first, size_t count,
                      float *data)
{
    const struct linear l = rapt__parameter_matrix(p, block);
    for (size_t columns = (size_t)p->columns, n; count > 0; first += n, count -= n, data += n) {
        n = rapt__min_size(count, columns - first % columns);
        rapt__int8_floats(&l, (int)(first / columns), (int)(first % columns), (int)n, 1, data);
    }
}

void rapt__parameter_get(const struct parameter *p, const float *block, size_t first, size_t count,
                         float *data)
{
    if (p->kind == IN_BYTES) {
        get_bytes(p, block, first, count, data);
        return;
    }
    const struct linear l = rapt__parameter_matrix(p, block);
    while (count > 0) {
        const struct stretch s = stretch_at(p, first, count);
        const uint16_t *half = l.half ? l.half + (s.at - p->offset) : NULL;
        for (size_t i = 0; half && i < s.count; i++) data[i] = half_widen(l.type, half[i * s.step]);
        for (size_t i = 0; !half && i < s.count; i++) data[i] = block[s.at + i * s.step];
        data += s.count, first += s.count, count -= s.count;
    }
}

void rapt__parameter_set(const struct parameter *p, float *block, size_t first, size_t count,
                         const float *data)
{
    assert(p->kind != IN_BYTES);
    const struct linear l = rapt__parameter_matrix(p, block);
    const size_t panel = p->kind == IN_PANELS ? LANES * (size_t)p->columns : SIZE_MAX;
    while (count > 0) {
        const struct stretch s = stretch_at(p, first, count);
        uint16_t *half = l.half ? (uint16_t *)l.half + (s.at - p->offset) : NULL;
        if (count >= panel && first % panel == 0 && !half) {
            rapt__kernels()->pack_columns(data, p->columns, LANES, p->columns, 1, 0, 1,
                                          block + s.at);
            data += panel, first += panel, count -= panel;
            continue;
        }
        for (size_t i = 0; half && i < s.count; i++) half[i * s.step] = half_round(l.type, data[i]);
        for (size_t i = 0; !half && i < s.count; i++) block[s.at + i * s.step] = data[i];
        data += s.count, first += s.count, count -= s.count;
    }
}

/* ---- initial values ----

   Gains are 1 and biases are 0 unless stated otherwise. The elements of matrices are uniformly
   distributed within +-sqrt(6 / (in + out)) (Glorot and Bengio 2010, eq. 16). Projections to
   queries, keys and values are drawn as if they consisted of square matrices, with gain 1/sqrt 2.
   The elements of tables are normally distributed with standard deviation columns^-1/2, so that the
   elements of an embedding have unit variance after multiplication by sqrt(width). Matrices,
   vectors and filters of scores and localities, but not biases, are drawn like tables, which makes
   scores initially about as large as scaled dot products. The inverse temperatures of cosine scores
   start at 8, the parameters of sinks and of entmax start at 0, and learned slopes start with the
   values of ALiBi. Sigmoid biases start at -log 32, which makes the weights of 32 tokens sum to
   about 1. Lambda vectors are normally distributed with standard deviation 0.1 (Ye et al. 2024).
   The decay biases of linear attention correspond to decays between 31/32 and 511/512, as in
   retention (Sun et al. 2023). The matrices of talking heads start as the identity, so that heads
   are initially independent. Offsets of monotonic attention start at -2, as in fairseq, so that a
   head reads on with probability 0.88 if q . k is 0. Each random number depends only on the seed
   and on the indices of the parameter and the element. */

/* Returns the bias whose sigmoid is 1 - p, where p falls geometrically from 1/32 for the first head
   to 1/512 for the last. */
static double initial_decay(int heads, int head)
{
    double p = rapt__exp(-rapt__log(32) - rapt__log(16) * head / (heads > 1 ? heads - 1 : 1));
    return rapt__log(1 / p - 1);
}

static double initial_draw(enum initial initial, const struct parameter *p, uint64_t key,
                           uint64_t index)
{
    double in = p->columns, out = p->rows;
    switch (initial) {
    case INITIAL_ZERO:
        return 0;
    case INITIAL_ONE:
        return 1;
    case INITIAL_XAVIER:
        return (2 * rapt__uniform(key, index) - 1) * sqrt(6 / (in + out));
    case INITIAL_ATTENTION:
        return (2 * rapt__uniform(key, index) - 1) * sqrt(1.5 / in);
    case INITIAL_INVERSE_TEMPERATURE:
        return 8;
    case INITIAL_SIGMOID_BIAS:
        return -rapt__log(32);
    case INITIAL_IDENTITY:
        return index / (size_t)p->columns == index % (size_t)p->columns;
    case INITIAL_LAMBDA:
        return rapt__normal(key, index) * 0.1;
    case INITIAL_DECAYS:
        return initial_decay(p->columns, (int)index);
    case INITIAL_STOP_OFFSET:
        return -2;
    case INITIAL_SLOPES:
        return rapt__slope(p->columns, (int)index);
    case INITIAL_TABLE:
        return rapt__normal(key, index) / sqrt(in);
    }
    return 0;
}

void rapt__parameters_init(const struct layout *layout, uint64_t seed, float *block)
{
    for (int i = 0; i < layout->count; i++) {
        const struct parameter *p = &layout->parameters[i];
        uint64_t key = rapt__mix(seed, (uint64_t)i);
        size_t count = rapt__parameter_count(p);
        for (size_t j = 0; j < count; j++) {
            float value = (float)initial_draw(p->initial, p, key, j);
            rapt__parameter_set(p, block, j, 1, &value);
        }
    }
}
