/* location.c - the location-based score (Luong, Pham and Manning 2015, section 3.1): every position
   s has its own row P[s], and x = P[s] . q. So k' = P, the same in all sequences, and k is
   ignored. */
#include "attention/score/score.h"

#include <string.h>

static void keys(const rapt_attention *a, const struct score_block *b)
{
    size_t width = (size_t)rapt__query_width(a), positions = (size_t)a->parameters.positions;
    const float *p = a->parameters.array[RAPT_ATTENTION_PARAMETER_POSITION] +
                     (size_t)b->head * positions * width;
    for (int r = 0; r < b->rows; r++)
        memcpy(b->y + r * b->y_row, p + (size_t)(b->position + r) * width, width * sizeof(float));
}

/* Adds to the gradient of P, sequence by sequence. Each row of P is computed by one member. */
static void learned(struct team *team, const struct score_rows *r, const rapt_gradients *d)
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

const struct score rapt__score_location = {.name = "location",
                                           .keyless = true,
                                           .width = rapt__query_width,
                                           .keys = {.rows = keys, .learned = learned}};
