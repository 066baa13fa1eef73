/* dd.h - double-double arithmetic: a number is the unevaluated sum of two doubles, hi + lo with
   |lo| <= ulp(hi) / 2, about 106 bits. Sums: Knuth 1969, "Seminumerical Algorithms", section 4.2.2
   (two-sum). Products: a fused multiply-add computes their rounding error. The rest: Dekker 1971,
   "A floating-point technique for extending the available precision", and Hida, Li and Bailey 2001,
   "Algorithms for quad-double precision floating point arithmetic". Relative errors are a few times
   2^-104, but about 2^-100 for exp. Needs round-to-nearest and -ffp-contract=off. */
#ifndef RAPT_ORACLE_DD_H
#define RAPT_ORACLE_DD_H

#include <math.h>

struct dd {
    double hi, lo;
};

static inline struct dd dd_of(double x)
{
    return (struct dd){x, 0};
}

/* Returns a + b for |a| >= |b|. */
static inline struct dd dd_quick_two_sum(double a, double b)
{
    double s = a + b;
    return (struct dd){s, b - (s - a)};
}

static inline struct dd dd_two_sum(double a, double b)
{
    double s = a + b, part = s - a;
    return (struct dd){s, (a - (s - part)) + (b - part)};
}

static inline struct dd dd_add(struct dd x, struct dd y)
{
    struct dd s = dd_two_sum(x.hi, y.hi), t = dd_two_sum(x.lo, y.lo);
    s = dd_quick_two_sum(s.hi, s.lo + t.hi);
    return dd_quick_two_sum(s.hi, s.lo + t.lo);
}

static inline struct dd dd_neg(struct dd x)
{
    return (struct dd){-x.hi, -x.lo};
}

static inline struct dd dd_sub(struct dd x, struct dd y)
{
    return dd_add(x, dd_neg(y));
}

static inline struct dd dd_mul(struct dd x, struct dd y)
{
    double p = x.hi * y.hi, error = fma(x.hi, y.hi, -p);
    return dd_quick_two_sum(p, error + (x.hi * y.lo + x.lo * y.hi));
}

/* Divides by long division with three digits. */
static inline struct dd dd_div(struct dd x, struct dd y)
{
    double q1 = x.hi / y.hi;
    struct dd r = dd_sub(x, dd_mul(dd_of(q1), y));
    double q2 = r.hi / y.hi;
    r = dd_sub(r, dd_mul(dd_of(q2), y));
    return dd_add(dd_quick_two_sum(q1, q2), dd_of(r.hi / y.hi));
}

/* Takes one Newton step from the root of hi; x > 0. */
static inline struct dd dd_sqrt(struct dd x)
{
    struct dd root = dd_of(sqrt(x.hi));
    return dd_add(root, dd_div(dd_sub(x, dd_mul(root, root)), dd_mul(dd_of(2), root)));
}

/* Writes x = k ln 2 + 512 r, computes e^r - 1 from its series, and squares e^r nine times. |x| must
   be below 700. */
static inline struct dd dd_exp(struct dd x)
{
    const struct dd ln2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
    double k = nearbyint(x.hi / ln2.hi);
    struct dd r = dd_sub(x, dd_mul(dd_of(k), ln2)), term, sum;
    r.hi /= 512, r.lo /= 512;
    term = sum = r;
    for (int n = 2; n < 12; n++) {
        term = dd_div(dd_mul(term, r), dd_of(n));
        sum = dd_add(sum, term);
    }
    for (int i = 0; i < 9; i++) sum = dd_add(dd_add(sum, sum), dd_mul(sum, sum));
    sum = dd_add(sum, dd_of(1));
    return (struct dd){ldexp(sum.hi, (int)k), ldexp(sum.lo, (int)k)};
}

/* The error is relative to 1, not to the result: near 0, the difference cancels. */
static inline struct dd dd_tanh(struct dd x)
{
    struct dd e = dd_exp(dd_add(x, x));
    return dd_sub(dd_of(1), dd_div(dd_of(2), dd_add(e, dd_of(1))));
}

#endif
