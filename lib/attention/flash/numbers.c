/* numbers.c - gradients of the numbers that a normalizer learns, one for each head.

   A sink is a key with the value 0, so its dp is 0. The gradient of its logit is therefore the sum
   over the queries of -p delta. Here p is the weight of the sink, computed from the statistics that
   forward saved, and delta = out.dout. The gradient of the bias of sigmoids is the sum of all ds.
   Blocks sum ds row by row, in the order of keys. One member then sums the rows of a head, in the
   order of sequences and queries. */
#include "attention/flash/flash.h"

float *rapt__flash_numbers_layout(struct arena *arena, const struct bounds *b)
{
    bool summed = rapt__normalizer_kind(b->a->normalizer) == ATTEND_SIGMOID;
    return summed ? rapt__arena_floats(arena, b->heads, b->query_rows) : NULL;
}

float *rapt__flash_row_sums(const struct flash_backward *f, const struct sequence *b, int h,
                            int first)
{
    size_t rows = (size_t)rapt__query_rows(f->a);
    if (!f->row_sums) return NULL;
    return f->row_sums + (size_t)h * rows + (size_t)(b->query_first + first);
}

float *rapt__flash_forget_sums(const struct flash_backward *f, const struct sequence *b, int h)
{
    if (!f->d->forget_keys) return NULL;
    return f->d->forget_keys + (size_t)h * (size_t)rapt__key_rows(f->a) + (size_t)b->key_first;
}

/* Returns the gradient of a sink's logit, summed over the queries of a sequence. `scale` is the
   factor of the maxima in statistics and of the score of the sink. */
static double sink_gradient(const struct flash_backward *f, const struct sequence *b, int h,
                            float scale)
{
    const rapt_attention *a = f->a;
    if (b->queries == 0) return 0; /* statistics may be NULL */
    size_t at = (size_t)h * (size_t)rapt__query_rows(a) + (size_t)b->query_first;
    const float *statistics = f->statistics + at * STATISTICS;
    double score = (double)rapt__sink_score(rapt__number_of(f->c, h), scale), sum = 0;
    for (int t = 0; t < b->queries; t++, statistics += STATISTICS) {
        double max = (double)statistics[0], l = (double)statistics[1];
        if (l == 0) continue; /* fully masked */
        ptrdiff_t out = rapt__query_at(&a->out, b, h, t);
        float delta = f->kernels->dot(f->out + out, f->dout + out, a->value_width);
        sum -= rapt__exp((double)scale * (score - max)) / l * (double)delta;
    }
    return sum;
}

static double head_gradient(const struct flash_backward *f, int h)
{
    float scale = rapt__statistics_scale(f->c->scale, f->a->cap, rapt__biased(f->c));
    double sum = 0;
    for (int i = 0; i < f->a->batch; i++) {
        struct sequence b = rapt__sequence(f->a, i);
        const float *rows = rapt__flash_row_sums(f, &b, h, 0);
        bool summed = f->c->kind == ATTEND_SIGMOID;
        for (int t = 0; summed && t < b.queries; t++) sum += (double)rows[t];
        if (!summed) sum += sink_gradient(f, &b, h, scale);
    }
    return sum;
}

void rapt__flash_add_numbers(struct team *team, const struct flash_backward *f)
{
    for (int h; (h = rapt__team_take(team)) < f->a->heads;)
        f->d->numbers[h] += (float)head_gradient(f, h);
    rapt__team_barrier(team);
}
