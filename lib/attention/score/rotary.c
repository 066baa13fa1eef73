/* rotary.c - rotary position embedding (Su et al. 2021): rotates pairs of elements of q' and k' by
   angles proportional to the position. The product of q' and k' then depends on their positions
   only through the distance between them.

       (x, y) -> (x cos - y sin, x sin + y cos),   angle = position base^(-2i / width) for pair i

   Backward rotates by the negative angle. Angles are computed in double precision.
   rapt_rotary_scaling reduces the angles for sequences longer than those in training. YaRN also
   multiplies sines and cosines by a factor, forward and backward. */
#include "attention/score/score.h"

/* The number of rows that a thread takes at a time, and the number of pairs that it rotates at a
   time. */
enum { BLOCK_ROWS = 16, CHUNK = 64 };

int rapt__rotary_pairs(const rapt_attention *a)
{
    if (a->relative.rotary == RAPT_ROTARY_NONE) return 0;
    int width = a->relative.rotary_width;
    return (width ? width : rapt__score(a->score)->width(a)) / 2;
}

static double factor_of(const rapt_relative *r)
{
    return r->rotary_factor > 0 ? (double)r->rotary_factor : 1;
}

/* Returns the fraction of a frequency that remains unchanged; the rest is divided by the factor. In
   YaRN, the fraction depends on the number of turns within the original length (Peng et al.
   2023). */
static double kept_share(const rapt_relative *r, double frequency)
{
    static const double two_pi = 6.283185307179586, alpha = 1, beta = 32;
    if (r->rotary_scaling == RAPT_ROTARY_SCALING_LINEAR) return 0;
    if (r->rotary_scaling != RAPT_ROTARY_SCALING_YARN) return 1;
    double turns = frequency * r->rotary_positions / two_pi;
    return turns < alpha ? 0 : turns > beta ? 1 : (turns - alpha) / (beta - alpha);
}

void rapt__rotary_frequencies(const rapt_attention *a, double *frequencies)
{
    const rapt_relative *r = &a->relative;
    int pairs = rapt__rotary_pairs(a);
    double base = r->rotary_base > 0 ? (double)r->rotary_base : 10000, factor = factor_of(r);
    if (r->rotary_scaling == RAPT_ROTARY_SCALING_NTK)
        base *= rapt__pow(factor, (double)pairs / (pairs - 1));
    for (int i = 0; i < pairs; i++) {
        double f = rapt__pow(base, -(double)i / pairs), kept = kept_share(r, f);
        frequencies[i] = kept * f + (1 - kept) * f / factor;
    }
}

static float magnitude_of(const rapt_relative *r)
{
    if (r->rotary_scaling != RAPT_ROTARY_SCALING_YARN) return 1;
    if (r->rotary_magnitude > 0) return r->rotary_magnitude;
    return (float)(0.1 * rapt__log(factor_of(r)) + 1);
}

static void rotate_pairs(float *x, float *y, int step, const float *s, const float *c, int n)
{
    for (int i = 0; i < n; i++, x += step, y += step) {
        float rotated = *x * c[i] - *y * s[i];
        *y = *x * s[i] + *y * c[i];
        *x = rotated;
    }
}

static void rotate_row(const struct score_rows *r, const struct sequence *b, int t, double position,
                       const double *frequencies, float magnitude, struct score_choice only)
{
    int pairs = rapt__rotary_pairs(r->a), heads = rapt__side_heads(r);
    bool halves = r->a->relative.rotary == RAPT_ROTARY_HALVES;
    for (int i = 0; i < pairs; i += CHUNK) {
        float sines[CHUNK], cosines[CHUNK];
        int n = rapt__min(pairs - i, CHUNK);
        rapt__kernels()->sine_cosine_row(position, frequencies + i, n, sines, cosines);
        for (int j = 0; j < n && magnitude != 1; j++)
            sines[j] *= magnitude, cosines[j] *= magnitude;
        for (int h = 0; h < heads; h++) {
            if (only.head >= 0 && only.head != h) continue;
            float *row = r->y + rapt__side_at(r, &r->y_stride, b, h, t);
            if (halves)
                rotate_pairs(row + i, row + pairs + i, 1, sines, cosines, n);
            else
                rotate_pairs(row + (ptrdiff_t)2 * i, row + (ptrdiff_t)2 * i + 1, 2, sines, cosines,
                             n);
        }
    }
}

void rapt__rotary_rotate(struct team *team, const struct score_rows *r, const double *frequencies,
                         const int *positions, bool back, struct score_choice only)
{
    struct tickets tickets = rapt__tickets(team, 1);
    float magnitude = magnitude_of(&r->a->relative);
    for (int i = 0; i < r->a->batch; i++) {
        struct sequence b = rapt__sequence(r->a, i);
        if (only.sequence >= 0 && only.sequence != i) continue;
        int rows = rapt__side_rows(r, &b);
        int first = positions ? positions[i] : r->keys ? 0 : (int)rapt__query_position(r->a, &b, 0);
        for (int t = 0; t < rows; t++) {
            if (t % BLOCK_ROWS == 0 && !rapt__mine(&tickets)) {
                t += BLOCK_ROWS - 1;
                continue;
            }
            rotate_row(r, &b, t, back ? -(double)(first + t) : (double)(first + t), frequencies,
                       magnitude, only);
        }
    }
    rapt__team_barrier(team);
}
