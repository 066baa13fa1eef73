/* choice.h - the choices from which trial.h makes a problem, and their text for messages; random
   numbers and arrays for it. */
#ifndef RAPT_TESTS_CHOICE_H
#define RAPT_TESTS_CHOICE_H

#include <math.h>
#include <rapt/attention.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- random numbers and arrays ---- */

static inline uint32_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(*state >> 33);
}

static inline int draw_below(uint64_t *state, int n)
{
    return (int)(draw(state) % (uint32_t)n);
}

static inline float draw_float(uint64_t *state) /* deviation about 1 */
{
    float sum = 0;
    for (int i = 0; i < 3; i++) sum += (float)(draw(state) & 0xffff) / 32768.f - 1;
    return sum;
}

static inline float *draw_floats(uint64_t *state, size_t n, float times)
{
    float *x = malloc(n ? n * sizeof *x : 1);
    for (size_t i = 0; i < n; i++) x[i] = times * draw_float(state);
    return x;
}

static inline float *zeros(size_t n)
{
    return calloc(n ? n : 1, sizeof(float));
}

static inline int *draw_starts(uint64_t *state, int batch, int max)
{
    int *starts = calloc((size_t)batch + 1, sizeof *starts);
    for (int b = 0; b < batch; b++)
        starts[b + 1] = starts[b] + (b == batch / 2 ? max : draw_below(state, max + 1));
    return starts;
}

static inline double *doubles(const float *x, size_t n)
{
    double *d = malloc((n + 1) * sizeof *d);
    for (size_t i = 0; i < n; i++) d[i] = (double)x[i];
    return d;
}

/* Whether the bits are the same, except that any NaN equals any other. */
static inline bool same_bits(const float *x, const float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(x + i, y + i, sizeof *x) != 0 && !(isnan(x[i]) && isnan(y[i]))) return false;
    return true;
}

/* ---- choices ---- */

/* Which distance vectors there are, with scores that may have them. */
enum {
    DISTANCE_KEYS = 1,
    DISTANCE_QUERIES = 2,
    DISTANCE_VALUES = 4,
    CONTENT_BIAS = 8,
    POSITION_BIAS = 16,
    DISTANCES_SHARED = 32
};

enum { NONE = 0, PER_BATCH = 1, PER_HEAD = 2, PER_ROW = 4, SHARED = 8 }; /* of mask and bias */
enum { TALKING_SCORES = 1, TALKING_WEIGHTS = 2, TALKING = 3 };

struct choice {
    int batch, heads, key_heads, queries, keys, key_width, value_width;
    bool ragged, counts;
    rapt_causal_alignment causal_alignment;
    bool causal, window;
    int before, after;
    int allowed, bias; /* dimensions that they have of their own; NONE: absent */
    rapt_score score;
    float scale, dropout;
    float query_size;       /* deviation of q; 0: 1 */
    int query_width;        /* 0: key_width */
    rapt_locality locality; /* sparse: with global positions, which need an alignment, and blocks */
    float radius;           /* sparse without an alignment: not used */
    rapt_normalizer normalizer;
    float temperature, cap;
    bool slopes, previous, rewards;
    bool expected; /* for every other sequence; and entropy counts */
    bool learned;  /* everything that any score or locality can learn */
    int hidden;    /* 0: 5 */
    int buckets, distance;
    bool bidirectional;
    rapt_rotary rotary;
    int rotary_width;
    rapt_rotary_scaling rotary_scaling;
    float rotary_factor, rotary_magnitude;
    int rotary_positions;                   /* 0: 40 */
    bool forget;                            /* gates, only with a causal mask */
    float forget_size;                      /* deviation of their logarithms; 0: 0.3 */
    int distances, near_before, near_after; /* only with an alignment and without rotary */
    int near_buckets, near_distance;        /* of rapt_distance_buckets; 0: distances share none */
    int talking;                            /* which matrices mix the heads; 0: none */
};

static inline const char *choice_text(const struct choice *c)
{
    static char text[640];
    const char *score = rapt_score_name(c->score);
    int n = snprintf(
        text, sizeof text,
        "%s, locality %d, normalizer %d: batch %d heads %d/%d queries %d keys %d widths %d/%d "
        "%d ragged %d counts %d alignment %d causal %d window %d:%d,%d allowed %d bias %d "
        "scale %g dropout %g",
        score ? score : "?", (int)c->locality, (int)c->normalizer, c->batch, c->heads, c->key_heads,
        c->queries, c->keys, c->query_width, c->key_width, c->value_width, c->ragged, c->counts,
        (int)c->causal_alignment, c->causal, c->window, c->before, c->after, c->allowed, c->bias,
        (double)c->scale, (double)c->dropout);
    snprintf(text + n, sizeof text - (size_t)n,
             " radius %g temperature %g cap %g slopes %d buckets %d:%d%s rotary %d:%d previous %d "
             "rewards %d forget %d distances %d:%d,%d buckets %d:%d talking %d",
             (double)c->radius, (double)c->temperature, (double)c->cap, c->slopes, c->buckets,
             c->distance, c->bidirectional ? " forward too" : "", (int)c->rotary, c->rotary_width,
             c->previous, c->rewards, c->forget, c->distances, c->near_before, c->near_after,
             c->near_buckets, c->near_distance, c->talking);
    return text;
}

/* Sets the buckets of distances, if there are any. The caller frees them. */
static inline int *choice_buckets(const struct choice *c, rapt_distances *d)
{
    if (!c->near_buckets) return NULL;
    int *to = calloc((size_t)(d->before + 1 + d->after), sizeof *to);
    d->bucket_count =
        rapt_distance_buckets(d->before, d->after, c->near_buckets, c->near_distance, to);
    d->buckets = to;
    return to;
}

#endif
