/* positions.c - representations of token positions: ALiBi slopes, sinusoids (Vaswani et al. 2017,
   section 3.5) in three common layouts, and the distance vectors of self-attention that
   relative_bias selects.

   At position p, the angle of pair i is p / 10000^(2i / D), or p / 10000^(i / (D/2 - 1)) with
   RAPT_POSITION_CONCATENATED_N1. rapt_position determines which columns hold its sine and
   cosine. */
#include "model/model.h"
#include "model/sublayer.h"

#include <string.h>

/* ---- sinusoids and slopes ---- */

static double sinusoid_rate(rapt_position position, int pair, int pairs)
{
    int span = position == RAPT_POSITION_CONCATENATED_N1 && pairs > 1 ? pairs - 1 : pairs;
    return rapt__exp(-rapt__log(10000.0) * pair / span);
}

/* Returns a slope as defined by Press, Smith and Lewis 2022, section 3, or as in the authors' code
   if the number of heads is not a power of two. */
double rapt__slope(int heads, int head)
{
    int power = 1;
    while (power <= heads / 2) power *= 2;
    if (head < power) return rapt__pow(2, -8.0 * (head + 1) / power);
    return rapt__pow(2, -8.0 * (2 * (head - power) + 1) / (2 * power));
}

void rapt__positions_fill(const rapt_config *config, float *table)
{
    enum { SOME = 64 }; /* number of pairs computed at a time */
    const struct kernels *k = rapt__kernels();
    const int width = config->width, pairs = width / 2;
    const bool interleaved = config->position == RAPT_POSITION_INTERLEAVED;
    const int step = interleaved ? 2 : 1, cosines = interleaved ? 1 : pairs;
    double rates[SOME];
    float sine[SOME], cosine[SOME];
    for (int i0 = 0, count; i0 < pairs; i0 += count) {
        count = rapt__min(pairs - i0, SOME);
        for (int i = 0; i < count; i++) rates[i] = sinusoid_rate(config->position, i0 + i, pairs);
        for (int p = 0; p < config->positions; p++) {
            float *to = table + (size_t)p * (size_t)width + i0 * step;
            k->sine_cosine_row((double)config->first_position + p, rates, count, sine, cosine);
            for (int i = 0; i < count; i++) {
                to[i * step] = sine[i];
                to[i * step + cosines] = cosine[i];
            }
        }
    }
}

/* ---- distance vectors (rapt/distances.h) ----

   The vectors of Shaw et al. 2018 are parameters of a layer. Those of Transformer-XL and DeBERTa
   are projections of rows that all layers of the encoder or decoder share: sinusoids of the
   distances in Transformer-XL, and learned rows in DeBERTa. The decoder sees no later keys, so it
   needs no vectors for distances d above 0.

   In DeBERTa's term k . r', distances are measured from the key to the query. So if R[d] is the row
   for distance d, r[d] is a projection of R[d], and r'[d] is a projection of R[-d]. Let C be
   relative_distance and B be relative_buckets. Even in a decoder, R has a row for each distance
   from -C to C or, in DeBERTa v2, for each logarithmic bucket of distances. Buckets are numbered
   -(B - 1) to B - 1. */

static bool are_projected(const rapt_config *c)
{
    return c->relative_bias == RAPT_RELATIVE_BIAS_TRANSFORMER_XL ||
           c->relative_bias == RAPT_RELATIVE_BIAS_DEBERTA;
}

int rapt__distances_before(const rapt_config *c)
{
    return rapt__config_int(c, CONFIG_relative_distance);
}

int rapt__distances_after(const rapt_config *c, bool decoder)
{
    return decoder ? 0 : rapt__config_int(c, CONFIG_relative_distance);
}

/* Returns B, or 0 if distance vectors do not use buckets. */
static int bucket_limit(const rapt_config *c)
{
    return c->relative_bias == RAPT_RELATIVE_BIAS_DEBERTA ? c->relative_buckets : 0;
}

/* Returns the number of rows for distances to keys before the query. */
static int rows_before(const rapt_config *c)
{
    return bucket_limit(c) ? bucket_limit(c) - 1 : rapt__distances_before(c);
}

int rapt__distances_rows(const rapt_config *c, bool decoder)
{
    if (c->relative_bias < RAPT_RELATIVE_BIAS_SHAW_KEYS) return 0;
    return rows_before(c) + 1 + (decoder ? 0 : rows_before(c));
}

size_t rapt__distances_buckets(const rapt_config *c)
{
    return bucket_limit(c) ? 2 * (size_t)rapt__distances_before(c) + 1 : 0;
}

void rapt__distances_buckets_fill(const rapt_config *c, int *to)
{
    int C = rapt__distances_before(c);
    if (to) rapt_distance_buckets(C, C, bucket_limit(c), C, to);
}

static size_t row_floats(const rapt_config *c)
{
    return (size_t)(c->heads * rapt__head_width(c));
}

/* Returns the number of floats in one array, for keys or for queries, of the vectors that a layer
   computes by projection. Returns 0 if it computes none. */
static size_t array_floats(const rapt_config *c, bool decoder)
{
    size_t rows = (size_t)rapt__distances_rows(c, decoder);
    return are_projected(c) ? rows * row_floats(c) : 0;
}

size_t rapt__distances_floats(const rapt_config *c, bool decoder)
{
    bool both = c->relative_bias == RAPT_RELATIVE_BIAS_DEBERTA;
    return array_floats(c, decoder) * (both ? 2 : 1);
}

size_t rapt__distances_sinusoids(const rapt_config *c)
{
    bool wanted = c->relative_bias == RAPT_RELATIVE_BIAS_TRANSFORMER_XL;
    return wanted ? (size_t)rapt__distances_rows(c, false) * (size_t)c->width : 0;
}

void rapt__distances_sinusoids_fill(const rapt_config *c, float *to)
{
    int pairs = c->width / 2, before = rapt__distances_before(c);
    for (int n = 0; to && n < rapt__distances_rows(c, false); n++, to += c->width)
        for (int i = 0; i < pairs; i++) {
            double sine, cosine;
            rapt__sincos((before - n) * rapt__exp(-rapt__log(10000.0) * i / pairs), &sine, &cosine);
            to[i] = (float)sine, to[pairs + i] = (float)cosine;
        }
}

void rapt__distances_use(const rapt_config *c, bool decoder, const float *arrays, rapt_attention *a)
{
    if (!are_projected(c)) return;
    a->distances.keys = arrays;
    if (c->relative_bias == RAPT_RELATIVE_BIAS_DEBERTA)
        a->distances.queries = arrays + array_floats(c, decoder);
}

static const struct stack_offsets *half_of(const struct stack *s)
{
    return s->decoder ? &s->model->layout.decoder : &s->model->layout.encoder;
}

/* Returns the rows [rows][D] that are projected to keys. */
static const float *key_rows(const struct stack *s)
{
    size_t learned = half_of(s)->distances;
    return learned ? s->block + learned : s->model->distances;
}

/* Returns the offset of the rows that are projected to queries, in floats from the beginning of
   key_rows(s). */
static size_t query_rows(const struct stack *s)
{
    const rapt_config *c = &s->model->config;
    return s->decoder ? (size_t)rows_before(c) * (size_t)c->width : 0;
}

static void reverse(const struct exec_context *c, float *x, int rows, size_t width)
{
    for (int n; (n = rapt__team_take(c->team)) < rows / 2;)
        for (size_t i = 0; i < width; i++) {
            float *first = x + (size_t)n * width + i,
                  *last = x + (size_t)(rows - 1 - n) * width + i;
            float swap = *first;
            *first = *last, *last = swap;
        }
    rapt__team_barrier(c->team);
}

void rapt__distances_project(const struct exec_context *c, const struct stack *s, int layer,
                             float *arrays)
{
    const rapt_config *config = &s->model->config;
    const struct attention_offsets *offset = rapt__offsets_of(s, layer, false);
    const struct step step = {.stack = s, .layer = layer};
    int rows = rapt__distances_rows(config, s->decoder);
    if (!are_projected(config)) return;
    rapt__sublayer_project(c, &step, &offset->distance_key, key_rows(s), rows, arrays);
    if (config->relative_bias != RAPT_RELATIVE_BIAS_DEBERTA) return;
    arrays += array_floats(config, s->decoder);
    rapt__sublayer_project(c, &step, &offset->distance_query, key_rows(s) + query_rows(s), rows,
                           arrays);
    reverse(c, arrays, rows, row_floats(config));
}

void rapt__distances_gradients(const struct exec_context *c, const struct step *s, float *gradients,
                               rapt_gradients *to)
{
    const struct stack *stack = s->stack;
    const rapt_config *config = &stack->model->config;
    const struct attention_offsets *offset = rapt__offsets_of(stack, s->layer, false);
    float *d = stack->memory->ddistances;
    if (offset->distance_keys) to->distances.keys = gradients + offset->distance_keys;
    if (offset->distance_values) to->distances.values = gradients + offset->distance_values;
    if (offset->content_bias) to->distances.content_bias = gradients + offset->content_bias;
    if (offset->position_bias) to->distances.position_bias = gradients + offset->position_bias;
    if (!are_projected(config)) return;
    rapt__fill(c, d, rapt__distances_floats(config, stack->decoder), 0);
    to->distances.keys = d;
    if (config->relative_bias == RAPT_RELATIVE_BIAS_DEBERTA)
        to->distances.queries = d + array_floats(config, stack->decoder);
}

void rapt__distances_project_backward(const struct exec_context *c, const struct step *s,
                                      float *gradients)
{
    const struct stack *stack = s->stack;
    const rapt_config *config = &stack->model->config;
    const struct attention_offsets *offset = rapt__offsets_of(stack, s->layer, false);
    size_t learned = half_of(stack)->distances;
    int rows = rapt__distances_rows(config, stack->decoder);
    float *d = stack->memory->ddistances, *dx = learned ? gradients + learned : NULL;
    if (!are_projected(config)) return;
    rapt__sublayer_project_backward(c, s, &offset->distance_key, key_rows(stack), d, rows, dx, true,
                                    gradients);
    if (config->relative_bias != RAPT_RELATIVE_BIAS_DEBERTA) return;
    d += array_floats(config, stack->decoder);
    reverse(c, d, rows, row_floats(config));
    rapt__sublayer_project_backward(c, s, &offset->distance_query,
                                    key_rows(stack) + query_rows(stack), d, rows,
                                    dx + query_rows(stack), true, gradients);
}
