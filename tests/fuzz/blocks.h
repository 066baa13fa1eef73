/* blocks.h - a block of any kind and configuration chosen by the input, its parameters, and the
   arrays of one call: ragged batches of small numbers. */
#ifndef RAPT_TESTS_FUZZ_BLOCKS_H
#define RAPT_TESTS_FUZZ_BLOCKS_H

#include "arrays.h"
#include "models.h"

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

static inline rapt_config take_block_config(struct feed *in)
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

static inline bool reads_source(rapt_block_kind kind)
{
    return kind == RAPT_BLOCK_KIND_DECODER || kind == RAPT_BLOCK_KIND_CROSS_ATTENTION;
}

static inline bool attends_to_itself(const struct subject *s)
{
    bool layer = s->kind == RAPT_BLOCK_KIND_DECODER || s->kind == RAPT_BLOCK_KIND_DECODER_ONLY;
    if (layer && s->config.decoder_recurrence) return false;
    if (s->kind == RAPT_BLOCK_KIND_CAUSAL_ATTENTION &&
        s->config.decoder_recurrence > RAPT_RECURRENCE_SSRU)
        return false;
    return s->kind != RAPT_BLOCK_KIND_CROSS_ATTENTION && s->kind != RAPT_BLOCK_KIND_FEEDFORWARD;
}

/* Creates the block. Returns NULL if it was refused with a reason. */
static inline rapt_block *open_block(const struct subject *s, int threads,
                                     const rapt_allocator *allocator)
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
static inline int take_starts(struct feed *in, int batch, int *starts)
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

static inline void shake(struct subject *s, uint64_t seed, float by)
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
static inline bool take_rows(struct feed *in, struct subject *s)
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

static inline void make_arrays(struct subject *s, struct feed *in)
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

static inline void drop_arrays(struct subject *s)
{
    size_t rewards = (size_t)s->starts[s->rows.batch] * (size_t)s->config.heads;
    array_free(s->x, s->size), array_free(s->dy, s->size), array_free(s->y, s->size);
    array_free(s->dx, s->size), array_free(s->source, s->source_size);
    array_free(s->dsource, s->source_size), array_free(s->gradients, s->floats);
    array_free(s->reward, rewards);
}

#endif
