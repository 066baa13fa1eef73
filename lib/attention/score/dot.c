/* dot.c - scores that are dot products (Luong, Pham and Manning 2015, section 3.1). The plain score
   is x = q . k, and the scaled score is x = q . k / sqrt(K) (Vaswani et al. 2017, section 3.2.1).
   For both, q' = q and k' = k. The general (or multiplicative) score is x = W q . k, with q' = W q
   and k' = k, so queries and keys may differ in width. In the location-based score, every position
   s has its own row P[s], and x = P[s] . q. Thus k' = P in all sequences, and k is ignored. */
#include "attention/score/score.h"

#include <string.h>

const struct score rapt__score_scaled_dot = {
    .name = "scaled-dot", .scaled = true, .width = rapt__key_width};
const struct score rapt__score_dot = {.name = "dot", .width = rapt__key_width};

static struct projection general_queries(const rapt_attention *a, const rapt_gradients *d)
{
    return (struct projection){.heads = a->heads,
                               .in = rapt__query_width(a),
                               .out = a->key_width,
                               .weight = a->parameters.array[RAPT_ATTENTION_PARAMETER_QUERY_WEIGHT],
                               .dweight =
                                   d ? d->parameters[RAPT_ATTENTION_PARAMETER_QUERY_WEIGHT] : NULL};
}

const struct score rapt__score_general = {
    .name = "general", .width = rapt__key_width, .queries = {.weights = general_queries}};

/* ---- the location-based score ---- */

static void location_keys(const rapt_attention *a, const struct score_block *b)
{
    size_t width = (size_t)rapt__query_width(a), positions = (size_t)a->parameters.positions;
    const float *p = a->parameters.array[RAPT_ATTENTION_PARAMETER_POSITION] +
                     (size_t)b->head * positions * width;
    for (int r = 0; r < b->rows; r++)
        memcpy(b->y + r * b->y_row, p + (size_t)(b->position + r) * width, width * sizeof(float));
}

/* Adds to the gradient of P, sequence by sequence. The gradient of each row is summed by one
   thread. */
static void location_learned(struct team *team, const struct score_rows *r, const rapt_gradients *d)
{
    size_t width = (size_t)rapt__query_width(r->a), positions = (size_t)r->a->parameters.positions;
    struct tickets tickets = rapt__tickets(team, 1);
    for (int g = 0; g < rapt__key_heads_of(r->a); g++)
        for (int s = 0; d->parameters[RAPT_ATTENTION_PARAMETER_POSITION] && s < r->a->keys;
             s += LANES) {
            if (!rapt__mine(&tickets)) continue;
            for (int i = 0; i < r->a->batch; i++) {
                struct sequence b = rapt__sequence(r->a, i);
                for (int n = s; n < s + LANES && n < b.existing; n++)
                    rapt__kernels()->add(d->parameters[RAPT_ATTENTION_PARAMETER_POSITION] +
                                             ((size_t)g * positions + (size_t)n) * width,
                                         r->y + rapt__key_at(&r->y_stride, &b, g, n), width);
            }
        }
    rapt__team_barrier(team);
}

const struct score rapt__score_location = {
    .name = "location",
    .keyless = true,
    .width = rapt__query_width,
    .keys = {.rows = location_keys, .learned = location_learned}};
