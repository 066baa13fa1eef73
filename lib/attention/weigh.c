/* weigh.c - how scores x become weights z, one row of the table each; p = softmax(x).

   SOFT               z = p                          dx = p (dz - p.dz)
   ARGMAX             z = 1 at the greatest x        dx = 0
   SAMPLE             z = 1 at the greatest x + g    dx = gain (p - z): Williams 1992
   STRAIGHT_THROUGH   z = 1 at the greatest x        dx = p (dz - p.dz): Bengio, Leonard and
                                                     Courville 2013
   GUMBEL             y = (x + g) / temperature      dy = z (dz - z.dz): Jang, Gu and Poole 2017
                      z = softmax(y)                 dx = dy / temperature

   g is Gumbel noise: the greatest x + g is distributed as p (Gumbel 1954; Maddison, Tarlow and
   Minka 2014, "A* sampling", section 2); without noise it is 0. g[s] = -log(-log u), u = (bits /
   2^9 + 1/2) / 2^23 rounded down in the quotient, bits = word s % 4 of rapt__philox(key, s / 4,
   number of the query); so it depends on seed, sequence, head, query and key alone. Ties go to the
   lowest key. Hidden keys have x = -infinity and get weight and gradient 0. */
#include "attention/rows.h"

#include <math.h>
#include <string.h>

static size_t length_of(const struct row *r)
{
    return (size_t)(r->end - r->first);
}

/* to = x */
static void copy_scores(const struct row *r, float *to)
{
    memcpy(to + r->first, r->space.x + r->first, length_of(r) * sizeof *to);
}

/* p, which holds scores, becomes their softmax; returns their log-sum-exp. */
static float soften(struct row *r)
{
    const struct kernels *k = r->head->kernels;
    float *p = r->space.p, most, sum, log;
    k->softmax_row(p + r->first, r->end - r->first, &most, &sum);
    if (sum == 0) return -INFINITY;
    for (int s = r->first; s < r->end; s++) p[s] /= sum;
    log = sum;
    k->log_row(&log, 1);
    return (float)((double)most + (double)log);
}

/* to = x + g */
static void add_noise(const struct row *r, float *to)
{
    uint32_t bits[4];
    for (int s = r->first; s < r->end; s++) {
        if (s % 4 == 0) rapt__philox(r->head->noise, (uint64_t)s / 4, r->number, bits);
        to[s] = ((float)(bits[s % 4] >> 9) + 0.5f) * 0x1p-23f;
    }
    r->head->kernels->log_row(to + r->first, length_of(r));
    for (int s = r->first; s < r->end; s++) to[s] = -to[s];
    r->head->kernels->log_row(to + r->first, length_of(r));
    for (int s = r->first; s < r->end; s++) to[s] = r->space.x[s] - to[s];
}

/* weights = softmax of p */
static void weigh_softly(struct row *r)
{
    r->lse = soften(r);
    r->blind = r->lse == -INFINITY;
    memcpy(r->space.weights + r->first, r->space.p + r->first, length_of(r) * sizeof(float));
}

static void weigh_soft(struct row *r)
{
    copy_scores(r, r->space.p);
    weigh_softly(r);
}

static void weigh_gumbel(struct row *r)
{
    if (r->head->noiseless)
        copy_scores(r, r->space.p);
    else
        add_noise(r, r->space.p);
    for (int s = r->first; s < r->end; s++) r->space.p[s] /= r->head->temperature;
    weigh_softly(r);
}

/* Weight 1 for what was chosen, or is greatest in `from`. */
static void choose(struct row *r, const float *from)
{
    const struct kernels *k = r->head->kernels;
    int place = 0, best = -1;
    float value;
    if (r->decided) {
        bool seen = r->chosen >= r->see.low && r->chosen < r->see.high;
        if (seen && r->space.x[r->chosen] != -INFINITY) best = r->chosen;
    } else if (k->top_row(from + r->first, r->end - r->first, 1, &place, &value) == 1) {
        best = r->first + place;
    }
    memset(r->space.weights + r->first, 0, length_of(r) * sizeof(float));
    r->chosen = best;
    r->blind = best < 0;
    if (!r->blind) r->space.weights[best] = 1;
    r->lse = k->log_sum_row(r->space.x + r->first, r->end - r->first);
}

static void weigh_argmax(struct row *r)
{
    choose(r, r->space.x);
}

static void weigh_sample(struct row *r)
{
    bool draw = !r->decided && !r->head->noiseless;
    if (draw) add_noise(r, r->space.p);
    choose(r, draw ? r->space.p : r->space.x);
}

/* dz becomes p (dz - p.dz) / by */
static void pull(const struct row *r, float *dz, float by)
{
    const float *p = r->space.p;
    float sum = r->head->kernels->dot(p + r->first, dz + r->first, r->end - r->first);
    for (int s = r->first; s < r->end; s++)
        dz[s] = r->space.x[s] == -INFINITY ? 0 : p[s] * (dz[s] - sum) / by;
}

static void pull_soft(struct row *r, float *dz, float gain)
{
    (void)gain;
    pull(r, dz, 1);
}

static void pull_gumbel(struct row *r, float *dz, float gain)
{
    (void)gain;
    pull(r, dz, r->head->temperature);
}

static void pull_nothing(struct row *r, float *dz, float gain)
{
    (void)gain;
    memset(dz + r->first, 0, length_of(r) * sizeof *dz);
}

static void pull_straight_through(struct row *r, float *dz, float gain)
{
    (void)gain;
    copy_scores(r, r->space.p);
    soften(r);
    pull(r, dz, 1);
}

static void pull_sample(struct row *r, float *dz, float gain)
{
    copy_scores(r, r->space.p);
    soften(r);
    for (int s = r->first; s < r->end; s++)
        dz[s] = r->space.x[s] == -INFINITY ? 0 : gain * (r->space.p[s] - (s == r->chosen));
}

static const struct weighing {
    const char *name;
    bool hard;
    void (*weigh)(struct row *r);
    void (*pull)(struct row *r, float *dz, float gain);
} weighings[RAPT_WEIGHINGS] = {
    [RAPT_WEIGH_SOFT] = {"soft", false, weigh_soft, pull_soft},
    [RAPT_WEIGH_ARGMAX] = {"argmax", true, weigh_argmax, pull_nothing},
    [RAPT_WEIGH_SAMPLE] = {"sample", true, weigh_sample, pull_sample},
    [RAPT_WEIGH_STRAIGHT_THROUGH] = {"straight-through", true, weigh_argmax, pull_straight_through},
    [RAPT_WEIGH_GUMBEL] = {"gumbel", false, weigh_gumbel, pull_gumbel},
};

const char *rapt_weighing_name(rapt_weighing weighing)
{
    return (unsigned)weighing < RAPT_WEIGHINGS ? weighings[weighing].name : NULL;
}

bool rapt__weighing_hard(rapt_weighing weighing)
{
    return weighings[weighing].hard;
}

void rapt__weigh(struct row *r)
{
    weighings[r->head->weighing].weigh(r);
}

void rapt__weigh_backward(struct row *r, float *dz, float gain)
{
    weighings[r->head->weighing].pull(r, dz, gain);
}
