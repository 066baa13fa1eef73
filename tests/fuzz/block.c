/* block.c - blocks of any kind and configuration on plain arrays and ragged batches, forward and
   backward. A call must give a status and a reason, or finite rows and gradients. The bits must be
   the same in place, sequence by sequence, with two threads and when repeated. NaN in one sequence
   must not change the bits of another. Gradients are added to what is there. Gradients of functions
   without norms must agree with difference quotients. */
#include "models.h"

/* ---- blocks: a block of any kind and configuration chosen by the input, its parameters, and the
   arrays of one call: ragged batches of small numbers. ---- */

enum { ROWS = 24, LONGEST = 12 };

struct subject {
    rapt_config config;
    rapt_block_kind kind;
    rapt_block *block;
    float *parameters;
    int starts[MODEL_BATCH + 1], source_starts[MODEL_BATCH + 1];
    rapt_block_rows rows;
    float *x, *y, *dy, *source, *dx, *dsource, *gradients, *reward;
    size_t width, size, source_size, floats; /* floats in a row, in x, in source, in parameters */
};

/* ---- the problem ---- */

static rapt_config take_block_config(struct feed *in)
{
    rapt_config c = take_config(in);
    c.positions = take_below(in, LONGEST + 1);
    if (take_flag(in)) c.rotary = (rapt_rotary)take_below(in, 3);
    if (take_flag(in)) c.rotary_width = 2 * take_below(in, 4);
    if (take_flag(in)) c.relative_bias = (rapt_relative_bias)take_below(in, 8);
    if (take_flag(in)) c.relative_buckets = 4, c.relative_distance = 1 + take_below(in, 6);
    if (take_flag(in)) c.score_cap = 2;
    if (take_flag(in)) c.norm_type = RAPT_NORM_TYPE_RMS;
    if (take_flag(in)) c.ffn_gated = 1;
    if (take_flag(in)) c.decoder_recurrence = (rapt_recurrence)take_below(in, 6);
    if (take_flag(in)) c.head_width = take_below(in, 7);
    if (take_flag(in)) c.rotary_scaling = (rapt_rotary_scaling)take_below(in, 4);
    if (take_flag(in)) c.rotary_factor = (float)take_below(in, 5);
    if (take_flag(in)) c.rotary_positions = take_below(in, 100);
    if (take_flag(in)) c.query_key_norm = 1;
    if (take_flag(in)) c.output_gate = (rapt_output_gate)take_below(in, 3);
    if (take_flag(in)) c.differential = 1;
    if (take_flag(in)) c.forget_gate = 1;
    if (take_flag(in)) c.latent_width = 16 * take_below(in, 3), c.head_width = 16;
    if (take_flag(in)) c.latent_query_width = take_below(in, 20);
    if (take_flag(in)) c.talking_heads = 1;
    if (take_flag(in)) take_monotonic(in, &c);
    return c;
}

static bool reads_source(rapt_block_kind kind)
{
    return kind == RAPT_BLOCK_KIND_DECODER || kind == RAPT_BLOCK_KIND_CROSS_ATTENTION;
}

static bool attends_to_itself(const struct subject *s)
{
    bool layer = s->kind == RAPT_BLOCK_KIND_DECODER || s->kind == RAPT_BLOCK_KIND_DECODER_ONLY;
    if (layer && s->config.decoder_recurrence) return false;
    if (s->kind == RAPT_BLOCK_KIND_CAUSAL_ATTENTION &&
        s->config.decoder_recurrence > RAPT_RECURRENCE_SSRU)
        return false;
    return s->kind != RAPT_BLOCK_KIND_CROSS_ATTENTION && s->kind != RAPT_BLOCK_KIND_FEEDFORWARD;
}

/* Creates the block. Returns NULL if it was refused with a reason. */
static rapt_block *open_block(const struct subject *s, int threads, const rapt_allocator *allocator)
{
    const rapt_block_limits limits = {.size = sizeof limits,
                                      .batch = MODEL_BATCH,
                                      .rows = ROWS,
                                      .source_rows = reads_source(s->kind) ? ROWS : 0,
                                      .threads = threads};
    rapt_block *block = NULL;
    rapt_message why = {""};
    rapt_status status = rapt_block_create(&block, s->kind, &s->config, &limits, allocator, &why);
    require((status == RAPT_OK) == (block != NULL), "a block, or a status");
    require(status == RAPT_OK || why.text[0], "a reason");
    require(status != RAPT_NO_MEMORY || allocator, "there was memory");
    return block;
}

/* Chooses lengths whose sum fits. Returns the longest. */
static int take_starts(struct feed *in, int batch, int *starts)
{
    int longest = 0;
    starts[0] = 0;
    for (int b = 0; b < batch; b++) {
        int length = take_below(in, LONGEST + 1);
        if (take_flag(in)) length = ROWS;
        if (length > ROWS - starts[b]) length = ROWS - starts[b];
        if (length > longest) longest = length;
        starts[b + 1] = starts[b] + length;
    }
    return longest;
}

static void shake(struct subject *s, uint64_t seed, float by)
{
    for (int i = 0; i < rapt_block_tensors(s->block); i++) {
        const rapt_tensor t = rapt_block_tensor(s->block, i);
        size_t count = (size_t)t.rows * (size_t)t.columns;
        float *data = array_of(count), *more = array_uniform(count, 0, seed + (uint64_t)i);
        require(rapt_block_read(s->block, s->parameters, i, data, NULL) == RAPT_OK, "read");
        for (size_t k = 0; k < count; k++) data[k] += by * more[k];
        require(rapt_block_write(s->block, s->parameters, i, data, NULL) == RAPT_OK, "write");
        array_free(data, count), array_free(more, count);
    }
}

/* Chooses the rows. Returns whether a location score has enough positions for their lengths. */
static bool take_rows(struct feed *in, struct subject *s)
{
    rapt_block_rows *r = &s->rows;
    *r = (rapt_block_rows){.size = sizeof *r, .starts = s->starts, .seed = take_byte(in)};
    r->batch = 1 + take_below(in, MODEL_BATCH);
    int longest = take_starts(in, r->batch, s->starts), longest_source = 0;
    if (reads_source(s->kind)) {
        longest_source = take_starts(in, r->batch, s->source_starts);
        r->source_starts = s->source_starts;
    }
    if (take_flag(in)) r->dropout = r->attention_dropout = r->ffn_dropout = 0.3f;
    bool self = attends_to_itself(s) && s->config.self_score == RAPT_SCORE_LOCATION;
    bool cross = reads_source(s->kind) && s->config.cross_score == RAPT_SCORE_LOCATION;
    return !(self && longest > s->config.positions) &&
           !(cross && longest_source > s->config.positions);
}

static void make_arrays(struct subject *s, struct feed *in)
{
    uint64_t seed = take_byte(in);
    int rows = s->starts[s->rows.batch];
    s->width = (size_t)s->config.width, s->size = (size_t)rows * s->width;
    s->source_size = reads_source(s->kind) ? (size_t)s->source_starts[s->rows.batch] * s->width : 0;
    s->x = array_uniform(s->size, 0, seed), s->dy = array_uniform(s->size, 0, seed + 1);
    s->source = array_uniform(s->source_size, 0, seed + 2);
    s->y = array_of(s->size), s->dx = array_of(s->size), s->dsource = array_of(s->source_size);
    s->gradients = array_of(s->floats);
    s->reward = array_uniform((size_t)rows * (size_t)s->config.heads, 0, seed + 3);
    if (reads_source(s->kind)) s->rows.source = s->source_size ? s->source : NULL;
    if (take_flag(in)) s->rows.reward = s->reward;
}

static void drop_arrays(struct subject *s)
{
    size_t rewards = (size_t)s->starts[s->rows.batch] * (size_t)s->config.heads;
    array_free(s->x, s->size), array_free(s->dy, s->size), array_free(s->y, s->size);
    array_free(s->dx, s->size), array_free(s->source, s->source_size);
    array_free(s->dsource, s->source_size), array_free(s->gradients, s->floats);
    array_free(s->reward, rewards);
}

/* ---- laws ---- */

static void forward(const struct subject *s, rapt_block *block, const rapt_block_rows *r,
                    const float *x, float *y)
{
    rapt_message why = {""};
    require(rapt_block_forward(block, s->parameters, r, x, y, &why) == RAPT_OK, why.text);
}

/* Computes the rows in place, then each sequence separately. */
static void check_alone(const struct subject *s)
{
    float *y = array_of(s->size);
    if (s->size) memcpy(y, s->x, s->size * sizeof *y);
    forward(s, s->block, &s->rows, y, y);
    require(array_same(y, s->y, s->size), "in place");
    array_free(y, s->size);
    for (int b = 0; b < s->rows.batch; b++) {
        rapt_block_rows one = s->rows;
        int starts[] = {0, s->starts[b + 1] - s->starts[b]}, sources[2] = {0};
        size_t at = (size_t)s->starts[b] * s->width, count = (size_t)starts[1] * s->width;
        one.batch = 1, one.starts = starts;
        if (reads_source(s->kind)) {
            sources[1] = s->source_starts[b + 1] - s->source_starts[b];
            one.source_starts = sources;
            one.source = s->source + (size_t)s->source_starts[b] * s->width;
        }
        y = array_of(count);
        forward(s, s->block, &one, s->x + at, y);
        require(array_same(y, s->y + at, count), "a sequence by itself");
        array_free(y, count);
    }
}

/* NaN in one sequence must change only that sequence. */
static void check_not_finite(const struct subject *s, int which)
{
    float *x = exact_copy(s->x, s->size * sizeof *x), *y = array_of(s->size);
    for (int b = 0; b < s->rows.batch; b++)
        for (size_t i = (size_t)s->starts[b] * s->width;
             b == which && i < (size_t)s->starts[b + 1] * s->width; i++)
            x[i] = i % 3 ? NAN : INFINITY;
    forward(s, s->block, &s->rows, x, y);
    for (int b = 0; b < s->rows.batch; b++) {
        size_t at = (size_t)s->starts[b] * s->width;
        size_t count = (size_t)s->starts[b + 1] * s->width - at;
        require(b == which || array_same(y + at, s->y + at, count), "beside a sequence of NaN");
    }
    array_free(y, s->size);
    free(x);
}

/* Runs forward and backward on the rows of s with this block, whose number of threads may
   differ. */
static void learn(const struct subject *s, rapt_block *block, const float *dy, float *dx,
                  float *dsource, float *gradients)
{
    rapt_block_rows r = s->rows;
    rapt_message why = {""};
    r.learning = 1;
    forward(s, block, &r, s->x, s->y);
    require(array_finite(s->y, s->size), "rows are finite while learning");
    require(rapt_block_backward(block, s->parameters, &r, dy, dx, dsource, gradients, &why) ==
                RAPT_OK,
            why.text);
}

static void check_gradients(const struct subject *s, rapt_block *other)
{
    float *dx = array_of(s->size), *dsource = array_of(s->source_size);
    float *gradients = array_of(s->floats);
    array_zero(s->dx, s->size), array_zero(s->dsource, s->source_size);
    array_zero(s->gradients, s->floats), array_zero(dx, s->size);
    array_zero(dsource, s->source_size), array_zero(gradients, s->floats);
    learn(s, s->block, s->dy, s->dx, s->dsource, s->gradients);
    require(array_finite(s->dx, s->size) && array_finite(s->dsource, s->source_size) &&
                array_finite(s->gradients, s->floats),
            "gradients are finite");
    learn(s, other, s->dy, dx, dsource, gradients);
    require(array_same(dx, s->dx, s->size) && array_same(dsource, s->dsource, s->source_size) &&
                array_same(gradients, s->gradients, s->floats),
            "gradients once more");
    learn(s, other, s->dy, dx, dsource, gradients);
    for (size_t i = 0; i < s->size; i++)
        require(dx[i] == s->dx[i] + s->dx[i], "the gradient of x is added");
    for (size_t i = 0; i < s->source_size; i++)
        require(dsource[i] == s->dsource[i] + s->dsource[i], "that of the source is added");
    array_free(dx, s->size), array_free(dsource, s->source_size);
    array_free(gradients, s->floats);
}

/* ---- slopes ---- */

/* Returns the sum of dy times y. */
static double value(const struct subject *s)
{
    rapt_block_rows r = s->rows;
    double sum = 0;
    r.learning = 1;
    forward(s, s->block, &r, s->x, s->y);
    for (size_t i = 0; i < s->size; i++) sum += (double)s->dy[i] * (double)s->y[i];
    return sum;
}

/* x is moved by h in both directions along a direction of length 1. If tensor is not -1, x holds
   the parameters of that tensor. */
struct line {
    float *x;
    const float *gradient;
    size_t count;
    int tensor; /* -1: x holds no parameters */
};

static double value_at(struct subject *s, const struct line *l, const float *direction, double h)
{
    float *before = exact_copy(l->x, l->count * sizeof *before);
    for (size_t i = 0; i < l->count; i++) l->x[i] = (float)(before[i] + h * (double)direction[i]);
    if (l->tensor >= 0) rapt_block_write(s->block, s->parameters, l->tensor, l->x, NULL);
    double v = value(s);
    memcpy(l->x, before, l->count * sizeof *before);
    if (l->tensor >= 0) rapt_block_write(s->block, s->parameters, l->tensor, l->x, NULL);
    free(before);
    return v;
}

/* Where the difference quotients of two steps agree, they must agree with the gradient along the
   line. */
static void check_slope(struct subject *s, const struct line *l, uint64_t seed)
{
    float *direction = array_uniform(l->count, 0, seed);
    double length = 0, slope = 0, quotient[2];
    for (size_t i = 0; i < l->count; i++) length += (double)direction[i] * (double)direction[i];
    for (size_t i = 0; i < l->count; i++) {
        direction[i] = (float)(direction[i] / sqrt(length));
        slope += (double)direction[i] * (double)l->gradient[i];
    }
    for (int i = 0; i < 2; i++) {
        double h = i ? 0.01 : 0.02;
        quotient[i] = (value_at(s, l, direction, h) - value_at(s, l, direction, -h)) / (2 * h);
    }
    double size = 1 + fabs(quotient[1]);
    if (fabs(quotient[0] - quotient[1]) < 3e-3 * size)
        require(fabs(quotient[1] - slope) < 0.03 * size, "a gradient is a slope");
    array_free(direction, l->count);
}

/* Tells whether the function is smooth and has no norms. */
static bool has_slopes(const struct subject *s)
{
    const rapt_config *c = &s->config;
    return s->kind >= RAPT_BLOCK_KIND_SELF_ATTENTION && s->size > 0 &&
           c->activation != RAPT_ACTIVATION_RELU && c->self_normalizer == RAPT_NORMALIZER_SOFTMAX &&
           c->cross_normalizer == RAPT_NORMALIZER_SOFTMAX &&
           c->self_locality != RAPT_LOCALITY_LOCAL_P &&
           c->cross_locality != RAPT_LOCALITY_LOCAL_P && c->self_score != RAPT_SCORE_COSINE &&
           c->cross_score != RAPT_SCORE_COSINE && !c->query_key_norm && !c->differential;
}

static void check_slopes(struct subject *s, int tensor, uint64_t seed)
{
    const rapt_tensor t = rapt_block_tensor(s->block, tensor);
    size_t count = (size_t)t.rows * (size_t)t.columns;
    float *data = array_of(count), *d = array_of(count);
    rapt_block_read(s->block, s->parameters, tensor, data, NULL);
    rapt_block_read(s->block, s->gradients, tensor, d, NULL);
    const struct line lines[] = {{s->x, s->dx, s->size, -1},
                                 {s->source, s->dsource, s->source_size, -1},
                                 {data, d, count, tensor}};
    for (int i = 0; i < 3; i++)
        if (lines[i].count > 0) check_slope(s, &lines[i], seed + (uint64_t)i);
    array_free(data, count), array_free(d, count);
}

static void check(struct subject *s, struct feed *in)
{
    int which = take_below(in, MODEL_BATCH), tensor = take_byte(in);
    rapt_block *other = open_block(s, 1 + (take_byte(in) % 16 == 1), NULL);
    rapt_block_rows r = s->rows;
    require(other != NULL, "a second block");
    r.learning = 1;
    require(s->rows.batch == 0 || rapt_block_backward(other, s->parameters, &r, s->dy, s->dx, NULL,
                                                      s->gradients, NULL) == RAPT_BAD_ARGUMENT,
            "nothing was computed yet");
    forward(s, s->block, &s->rows, s->x, s->y);
    require(array_finite(s->y, s->size), "rows are finite");
    check_alone(s);
    check_not_finite(s, which);
    check_gradients(s, other);
    if (has_slopes(s)) check_slopes(s, tensor % rapt_block_tensors(s->block), s->rows.seed);
    rapt_block_free(other);
}

/* A refused call must not write anything. */
static void check_refused(const struct subject *s, const rapt_block_rows *r)
{
    rapt_message why = {""};
    float *y = array_of(s->size);
    require(rapt_block_forward(s->block, s->parameters, r, s->x, y, &why) == RAPT_BAD_ARGUMENT &&
                why.text[0],
            "refused, with a reason");
    for (size_t i = 0; i < s->size; i++)
        require(((unsigned char *)y)[i * sizeof *y] == ARRAY_FILL, "nothing is written");
    array_free(y, s->size);
}

/* Tries starts that decrease, do not begin at 0 or exceed the limits. */
static void check_bad_starts(const struct subject *s, struct feed *in)
{
    int starts[MODEL_BATCH + 1], last = s->rows.batch;
    rapt_block_rows r = s->rows;
    const int bad[] = {-1, INT32_MIN, ROWS + 1, INT32_MAX};
    memcpy(starts, s->starts, sizeof starts);
    starts[take_flag(in) ? last : take_below(in, last + 1)] = bad[take_below(in, 4)];
    if (take_flag(in) && r.source_starts)
        r.source_starts = starts;
    else
        r.starts = starts;
    check_refused(s, &r);
}

int fuzz_block(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    struct subject s = {.config = take_block_config(&in)};
    s.kind = (rapt_block_kind)take_below(&in, RAPT_BLOCK_KIND_FEEDFORWARD + 1);
    struct counted counted = counted_by(input_hash(bytes, size), 8);
    const rapt_allocator allocator = counted_allocator(&counted);
    s.block = open_block(&s, 1, &allocator);
    require(s.block != NULL || counted.now == 0, "what is refused keeps no memory");
    if (!s.block) return 0;
    s.floats = rapt_block_floats(s.block);
    s.parameters = array_of(s.floats);
    require(rapt_block_init(s.block, take_byte(&in), s.parameters, NULL) == RAPT_OK, "parameters");
    shake(&s, take_byte(&in), take_flag(&in) ? 1.5f : 0.3f);
    bool fits = take_rows(&in, &s);
    make_arrays(&s, &in);
    if (!fits)
        check_refused(&s, &s.rows);
    else if (take_flag(&in))
        check_bad_starts(&s, &in);
    else
        check(&s, &in);
    drop_arrays(&s);
    array_free(s.parameters, s.floats);
    rapt_block_free(s.block);
    require(counted.now == 0, "all memory is given back");
    return 0;
}
