/* local.c - computes the centers of local-p attention (Luong, Pham and Manning 2015, section 3.2,
   equation 9) from queries, and the gradients of this computation:

       c = keys sigmoid(u),   u = z . h,   h = tanh(C q)

   for each query and head. `keys` is the number of valid keys or, with a causal mask, of valid keys
   up to the query's position, so that the center does not depend on later keys. Backward:

       du = dc keys s (1 - s), s = sigmoid(u)    dz += sum of du h    d(C q) = du z (1 - h^2)

   A query with dc = 0 is skipped, because it may be masked and contain NaN. */
#include "attention/score/score.h"

#include <string.h>

enum { BLOCK_ROWS = 64 };

static struct projection center_weights(const rapt_attention *a, const rapt_gradients *d)
{
    return (struct projection){
        .heads = a->heads,
        .in = rapt__query_width(a),
        .out = a->parameters.center_hidden,
        .weight = a->parameters.array[RAPT_ATTENTION_PARAMETER_CENTER_WEIGHT],
        .dweight = d ? d->parameters[RAPT_ATTENTION_PARAMETER_CENTER_WEIGHT] : NULL};
}

const struct score_side rapt__center_side = {.weights = center_weights};

static double sigmoid(double x)
{
    return 1 / (1 + rapt__exp(-x));
}

struct center_rows { /* some rows of one sequence and head */
    const rapt_attention *a;
    int count, keys;
    int64_t position; /* position of the first row */
    const float *vector;
    float *hidden, *centers;
};

static struct center_rows center_rows_of(const rapt_attention *a, const struct sequence *b,
                                         const int *positions, int h, int first, float *hidden,
                                         float *centers)
{
    size_t width = (size_t)a->parameters.center_hidden;
    size_t row = (size_t)h * (size_t)rapt__query_rows(a) + (size_t)(b->query_first + first);
    int left = b->queries - first;
    return (struct center_rows){
        .a = a,
        .count = rapt__min(left, BLOCK_ROWS),
        .keys = b->existing,
        .position = positions ? positions[b->index] + first : rapt__query_position(a, b, first),
        .vector = a->parameters.array[RAPT_ATTENTION_PARAMETER_CENTER_VECTOR] + (size_t)h * width,
        .hidden = hidden + row * width,
        .centers = centers + row};
}

/* Returns the number of keys by which sigmoid(u) of row t is multiplied. */
static int keys_of(const struct center_rows *r, int t)
{
    return rapt__causal_end(r->a->mask.causal, r->position + t, r->keys);
}

static void centers_of(const struct center_rows *r)
{
    int width = r->a->parameters.center_hidden;
    rapt__kernels()->tanh_row(r->hidden, (size_t)r->count * (size_t)width);
    for (int t = 0; t < r->count; t++) {
        double u = (double)rapt__kernels()->dot(r->vector, r->hidden + (ptrdiff_t)t * width, width);
        r->centers[t] = (float)(keys_of(r, t) * sigmoid(u));
    }
}

static void centers_back(const struct center_rows *r)
{
    int width = r->a->parameters.center_hidden;
    for (int t = 0; t < r->count; t++) {
        if (r->centers[t] == 0) continue;
        double s = sigmoid(
            (double)rapt__kernels()->dot(r->vector, r->hidden + (ptrdiff_t)t * width, width));
        r->centers[t] = (float)((double)r->centers[t] * keys_of(r, t) * s * (1 - s));
    }
}

static void hidden_back(const struct center_rows *r)
{
    int width = r->a->parameters.center_hidden;
    for (int t = 0; t < r->count; t++) {
        float *h = r->hidden + (ptrdiff_t)t * width;
        if (r->centers[t] == 0) memset(h, 0, (size_t)width * sizeof *h);
        for (int i = 0; r->centers[t] != 0 && i < width; i++)
            h[i] = r->centers[t] * r->vector[i] * (1 - h[i] * h[i]);
    }
}

static void for_rows(struct team *team, const rapt_attention *a, const int *positions,
                     struct score_choice only, void (*work)(const struct center_rows *r),
                     float *hidden, float *centers)
{
    struct tickets tickets = rapt__tickets(team, 1);
    for (int i = 0; i < a->batch; i++) {
        struct sequence b = rapt__sequence(a, i);
        if (only.sequence >= 0 && only.sequence != i) continue;
        for (int h = 0; h < a->heads; h++)
            for (int t = 0; (only.head < 0 || only.head == h) && t < b.queries; t += BLOCK_ROWS) {
                if (!rapt__mine(&tickets)) continue;
                struct center_rows rows = center_rows_of(a, &b, positions, h, t, hidden, centers);
                work(&rows);
            }
    }
    rapt__team_barrier(team);
}

void rapt__locality_centers(struct team *team, const rapt_attention *a, const int *positions,
                            struct score_choice only, float *hidden, float *centers)
{
    for_rows(team, a, positions, only, centers_of, hidden, centers);
}

void rapt__locality_backward(struct team *team, const rapt_attention *a, float *hidden,
                             float *dcenters, const rapt_gradients *d)
{
    int width = a->parameters.center_hidden, rows = rapt__query_rows(a);
    for_rows(team, a, NULL, rapt__all_rows, centers_back, hidden, dcenters);
    for (int h; d->parameters[RAPT_ATTENTION_PARAMETER_CENTER_VECTOR] &&
                (h = rapt__team_take(team)) < a->heads;) {
        size_t first = (size_t)h * (size_t)rows;
        rapt__kernels()->gemv(dcenters + first, rows, hidden + first * (size_t)width, width, width,
                              d->parameters[RAPT_ATTENTION_PARAMETER_CENTER_VECTOR] +
                                  (size_t)h * (size_t)width);
    }
    rapt__team_barrier(team);
    for_rows(team, a, NULL, rapt__all_rows, hidden_back, hidden, dcenters);
}
