/* bias.c - terms other than mask.bias that are added to the scores of a query after scaling and
   capping: relative biases, sums of the logarithms of forget gates, and products with distance
   vectors (score/distances.c). */
#include "attention/score/score.h"

#include <stdlib.h>
#include <string.h>

/* ---- relative biases ----

   Slopes, a table, or the sum of both are expanded into one row of biases per head, which has an
   element for every distance s - position between a key s and a query's position. The gradients of
   these rows are turned into the gradients of the slopes and the table.

       -slope |s - position|            Press, Smith and Lewis 2022 (ALiBi)
       table[bucket(s - position)]      Raffel et al. 2020 (T5), section 2.1

   If biases are bidirectional, the upper half of the buckets is for keys after the position, and
   the lower half for all others. Otherwise all buckets are for keys up to the position, and keys
   after it are in bucket 0, like the key at the position. On each side, each bucket in the first
   half (rounded down) holds at most one distance. The sizes of the other buckets grow exponentially
   up to `distance`; all distances from there on share the last bucket. */

bool rapt__relative_wanted(const rapt_attention *a)
{
    return a->relative.slopes || a->relative.table;
}

int rapt__relative_bucket(const rapt_relative *r, int distance)
{
    int buckets = r->bidirectional ? r->buckets / 2 : r->buckets, exact = buckets / 2;
    int first = r->bidirectional && distance > 0 ? buckets : 0;
    int far = r->bidirectional ? abs(distance) : distance < 0 ? -distance : 0;
    if (far < exact) return first + far;
    if (far >= r->distance) return first + buckets - 1;
    double share = rapt__log((double)far / exact) / rapt__log((double)r->distance / exact);
    int bucket = exact + (int)(share * (buckets - exact) + 1e-9);
    return first + rapt__min(bucket, buckets - 1);
}

void rapt__relative_fill(struct team *team, const rapt_attention *a, int row, int zero, float *to)
{
    const rapt_relative *r = &a->relative;
    for (int h; (h = rapt__team_take(team)) < a->heads;) {
        float *x = to + (size_t)h * (size_t)row;
        for (int i = 0; i < row; i++) {
            x[i] = r->slopes ? -r->slopes[h] * (float)abs(i - zero) : 0;
            if (r->table)
                x[i] += r->table[(ptrdiff_t)h * r->buckets + rapt__relative_bucket(r, i - zero)];
        }
    }
    rapt__team_barrier(team);
}

void rapt__relative_backward(struct team *team, const rapt_attention *a, int row, int zero,
                             const float *dy, const rapt_gradients *d)
{
    const rapt_relative *r = &a->relative;
    for (int h; (h = rapt__team_take(team)) < a->heads;) {
        const float *x = dy + (size_t)h * (size_t)row;
        double slope = 0;
        for (int i = 0; i < row; i++) {
            slope -= (double)x[i] * abs(i - zero);
            if (d->table)
                d->table[(ptrdiff_t)h * r->buckets + rapt__relative_bucket(r, i - zero)] += x[i];
        }
        if (d->slopes) d->slopes[h] += (float)slope;
    }
    rapt__team_barrier(team);
}

/* ---- gradients of relative biases ----

   Gradients are first summed per head and sequence, and then over the sequences in order. */

float *rapt__relative_sums_layout(struct arena *arena, const struct bounds *b)
{
    if (!rapt__relative_wanted(b->a)) return NULL;
    return rapt__arena_floats(arena, b->heads, b->query_rows + b->key_rows);
}

/* Returns the distance s - position to which the first sum of a sequence belongs. */
static int sums_first(const rapt_attention *a, const struct sequence *b)
{
    bool left = a->mask.causal_alignment == RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
    return 1 - (left ? b->queries : b->existing);
}

float *rapt__relative_sums(const rapt_attention *a, float *all, const struct sequence *b, int h)
{
    size_t rows = (size_t)rapt__query_rows(a) + (size_t)rapt__key_rows(a);
    return all ? all + (size_t)h * rows + (size_t)b->query_first + (size_t)b->key_first : NULL;
}

float *rapt__relative_sums_row(const rapt_attention *a, float *all, const struct sequence *b, int h,
                               int t)
{
    ptrdiff_t before = sums_first(a, b) + (ptrdiff_t)rapt__query_position(a, b, t);
    return all ? rapt__relative_sums(a, all, b, h) - before : NULL;
}

void rapt__relative_sums_add(struct team *team, const rapt_attention *a, float *all, int row,
                             int zero, float *to)
{
    for (int h; (h = rapt__team_take(team)) < a->heads;)
        for (int i = 0; i < a->batch; i++) {
            struct sequence b = rapt__sequence(a, i);
            float *sum = to + (size_t)h * (size_t)row + zero + sums_first(a, &b);
            if (b.queries > 0 && b.existing > 0)
                rapt__kernels()->add(sum, rapt__relative_sums(a, all, &b, h),
                                     (size_t)(b.queries + b.existing - 1));
        }
    rapt__team_barrier(team);
}

/* ---- forget gates ----

   Forgetting attention (Lin et al. 2025, "Forgetting Transformer"). Each key l has a gate f[l],
   which reduces the scores of all keys before l for queries at position l and later:

       x[t][s] += log f[s+1] + ... + log f[p] = C[p] - C[s],   C[l] = log f[0] + ... + log f[l]

   where p is the position of query t, or the last key if the position is beyond it. C is stored as
   the sum of two floats, high and low, so that its error is about 2^-48 of its magnitude, and small
   differences between large sums stay accurate. Each sum is computed from the two floats of the sum
   before it, so a cache needs no other state, and results with a cache are bit-identical to those
   for whole arrays. Backward:

       dC[p] += sum over s of dx[t][s]   dC[s] -= sum over t of dx[t][s]
       dlog f[l] = dC[l] + dC[l+1] + ...

   f[0] cancels out of every difference, so its gradient is 0. */

size_t rapt__key_panels(size_t batch, size_t key_rows)
{
    return key_rows / LANES + batch;
}

size_t rapt__key_panel(const struct sequence *b)
{
    return (size_t)b->key_first / LANES + (size_t)b->index;
}

void rapt__forget_append(float *panels, int l, float log_forget)
{
    float *to = panels + (ptrdiff_t)(l / LANES) * FORGET_PANEL + l % LANES;
    double sum = (double)log_forget;
    if (l > 0) {
        const float *before = rapt__forget_at(panels, l - 1);
        sum += (double)before[0] + (double)before[LANES];
    }
    if (l % LANES == 0) memset(to, 0, FORGET_PANEL * sizeof *to);
    to[0] = (float)sum;
    to[LANES] = (float)(sum - (double)to[0]);
}

void rapt__forget_query(int64_t position, int keys, struct attend_row *row)
{
    if (position < 0 || keys == 0) return; /* fully masked */
    const float *own = rapt__forget_at(row->forget, position < keys ? (int)position : keys - 1);
    row->forget_high = own[0], row->forget_low = own[LANES];
}

void rapt__forget_fill(struct team *team, const rapt_attention *a, struct score_choice only,
                       float *to)
{
    size_t all = rapt__key_panels((size_t)a->batch, (size_t)rapt__key_rows(a));
    struct tickets tickets = rapt__tickets(team, 1);
    for (int i = 0; i < a->batch; i++)
        for (int h = 0; h < a->heads; h++) {
            struct sequence b = rapt__sequence(a, i);
            if ((only.sequence >= 0 && only.sequence != i) || (only.head >= 0 && only.head != h))
                continue;
            if (!rapt__mine(&tickets)) continue;
            float *panels = to + ((size_t)h * all + rapt__key_panel(&b)) * FORGET_PANEL;
            for (int l = 0; l < b.existing; l++)
                rapt__forget_append(panels, l,
                                    a->log_forget[rapt__key_at(&a->log_forget_stride, &b, h, l)]);
        }
    rapt__team_barrier(team);
}

/* Given the row sums and key sums of one head and sequence, adds the gradients of log_forget to
   `to`. */
static void forget_backward_head(const rapt_attention *a, const struct sequence *b, int h,
                                 const float *rows, const float *keys, float *to)
{
    double sum = 0;
    for (int l = b->existing - 1, t = b->queries - 1; l > 0; l--) {
        for (; t >= 0 && rapt__query_position(a, b, t) >= l; t--) sum += (double)rows[t];
        sum -= (double)keys[l];
        to[rapt__key_at(&a->log_forget_stride, b, h, l)] += (float)sum;
    }
}

void rapt__forget_backward(struct team *team, const rapt_attention *a, const float *rows,
                           const float *keys, float *to)
{
    struct tickets tickets = rapt__tickets(team, 1);
    size_t all_rows = (size_t)rapt__query_rows(a), all_keys = (size_t)rapt__key_rows(a);
    for (int i = 0; i < a->batch; i++)
        for (int h = 0; h < a->heads; h++) {
            struct sequence b = rapt__sequence(a, i);
            if (!rapt__mine(&tickets) || b.existing < 2 || b.queries == 0) continue;
            forget_backward_head(a, &b, h, rows + (size_t)h * all_rows + (size_t)b.query_first,
                                 keys + (size_t)h * all_keys + (size_t)b.key_first, to);
        }
    rapt__team_barrier(team);
}

/* ---- all terms of a query ---- */

/* Sets *x for query t of head h. */
static void set_distance_terms(const struct projected *c, const struct sequence *b, int h, int t,
                               struct distances *x)
{
    const rapt_attention *a = c->a;
    size_t rows = (size_t)rapt__query_rows(a), row = rapt__distance_row(a);
    size_t panels = rapt__key_panels((size_t)a->batch, (size_t)rapt__key_rows(a));
    size_t panel = ((size_t)h * panels + rapt__key_panel(b)) * rapt__distance_panel(a);
    *x = (struct distances){.before = a->distances.before,
                            .after = a->distances.after,
                            .position = (int)rapt__query_position(a, b, t)};
    size_t at = ((size_t)h * rows + (size_t)b->query_first + (size_t)t) * row + LANES +
                (size_t)a->distances.before;
    if (c->by_query) x->by_query = c->by_query + at;
    if (c->by_dout) x->by_dout = c->by_dout + at;
    if (c->distance_weights) x->weights = c->distance_weights + at;
    if (c->by_key) x->by_key = c->by_key + panel;
}

void rapt__bias_row(const struct projected *c, const struct sequence *b, int h, int t,
                    struct attend_row *row)
{
    if (c->relative) row->relative = rapt__relative_row(c, b, h, t);
    if (c->by_query || c->by_key || c->a->distances.values)
        set_distance_terms(c, b, h, t, &row->distances);
    if (!c->forget) return;
    size_t all = rapt__key_panels((size_t)c->a->batch, (size_t)rapt__key_rows(c->a));
    row->forget = c->forget + ((size_t)h * all + rapt__key_panel(b)) * FORGET_PANEL;
    rapt__forget_query(rapt__query_position(c->a, b, t), b->existing, row);
}

void rapt__distance_gradients(const struct projected *c, const struct projected_gradients *d,
                              struct distances *x)
{
    if (d->by_query) x->dby_query = d->by_query + (x->by_query - c->by_query);
    if (d->by_key) x->dby_key = d->by_key + (x->by_key - c->by_key);
}

bool rapt__biased(const struct projected *c)
{
    return c->a->mask.bias || c->relative || c->forget || rapt__distances_wanted(c->a);
}
