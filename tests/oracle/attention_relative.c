/* attention_relative.c - what depends on the distance between a key and the position of a query:
   slopes (Press, Smith and Lewis 2022), buckets (Raffel et al. 2020), rotary embeddings (Su et al.
   2021) and distance vectors; and forget gates (Lin et al. 2025). */
#include "attention.h"

#include <math.h>
#include <stdlib.h>

/* Returns the bucket of a distance. Half of the buckets hold one distance each, the others hold
   ranges that grow geometrically:

     n < e: n      else e + floor((buckets - e) ln(n / e) / ln(distance / e)),   e = buckets / 2

   n is how far the key is before the query's position. Keys after it share bucket 0 or, if
   bidirectional, have as many buckets of their own. A distance exactly on an edge belongs to the
   range that begins there. */
int oracle_bucket(const rapt_relative *relative, int distance)
{
    int buckets = relative->buckets, first = 0, n = -distance;
    if (relative->bidirectional) {
        buckets /= 2;
        if (distance > 0) first = buckets, n = distance;
    }
    if (n < 0) n = 0;
    int each = buckets / 2;
    if (n < each) return first + n;
    double share = log((double)n / each) / log((double)relative->distance / each);
    int far =
        n >= relative->distance ? buckets - 1 : each + (int)floor((buckets - each) * share + 1e-9);
    return first + (far < buckets - 1 ? far : buckets - 1);
}

double oracle_relative(const struct oracle_row *r, int s)
{
    const rapt_relative *relative = &r->a->relative;
    double sum = 0;
    if (relative->slopes) sum -= r->in->slopes[r->h] * abs(r->position - s);
    if (relative->table)
        sum += r->in->table[(ptrdiff_t)r->h * relative->buckets +
                            oracle_bucket(relative, s - r->position)];
    return sum;
}

/* Lin et al. 2025, section 3: d[i][j] = sum of log f[l] over l = j + 1 .. i, for query i and key j.
   The query may come after the last key. */
double oracle_forgotten(const struct oracle_row *r, int s)
{
    const rapt_stride *stride = &r->a->log_forget_stride;
    ptrdiff_t first = r->h * stride->head;
    double sum = 0;
    if (!r->in->log_forget) return 0;
    if (r->a->key_starts)
        first += r->a->key_starts[r->b] * stride->row;
    else
        first += r->b * stride->batch;
    for (int l = s + 1; l <= r->position && l < r->existing; l++)
        sum += r->in->log_forget[first + l * stride->row];
    return sum;
}

/* Returns the angle of pair i per position. Chen et al. 2023 divide positions by the factor s. Peng
   et al. 2023 multiply the base by s^(|D| / (|D| - 2)), which is NTK-aware scaling. In YaRN theta
   becomes (1 - gamma) theta / s + gamma theta, where gamma is a ramp of the
   number of wavelengths in L positions: 0 up to alpha = 1, and 1 from beta = 32. */
static double angle_of(const rapt_relative *relative, int i, int width)
{
    double base = relative->rotary_base != 0 ? (double)relative->rotary_base : 10000;
    double s = relative->rotary_factor != 0 ? (double)relative->rotary_factor : 1;
    if (relative->rotary_scaling == RAPT_ROTARY_SCALING_NTK)
        base *= pow(s, (double)width / (width - 2));
    double theta = pow(base, -2.0 * i / width), wavelength = 2 * acos(-1) / theta;
    if (relative->rotary_scaling == RAPT_ROTARY_SCALING_LINEAR) return theta / s;
    if (relative->rotary_scaling != RAPT_ROTARY_SCALING_YARN) return theta;
    double gamma = fmin(fmax((relative->rotary_positions / wavelength - 1) / (32 - 1), 0), 1);
    return (1 - gamma) * theta / s + gamma * theta;
}

/* Peng et al. 2023: q and k are multiplied by sqrt(1 / t) = 0.1 ln(s) + 1. */
static double magnitude_of(const rapt_relative *relative)
{
    double s = relative->rotary_factor != 0 ? (double)relative->rotary_factor : 1;
    if (relative->rotary_scaling != RAPT_ROTARY_SCALING_YARN) return 1;
    if (relative->rotary_magnitude > 0) return (double)relative->rotary_magnitude;
    return 0.1 * log(s) + 1;
}

void oracle_rotate(const rapt_attention *a, int position, double *x)
{
    const rapt_relative *relative = &a->relative;
    int all = a->score == RAPT_SCORE_LOCATION ? oracle_query_width(a) : a->key_width;
    int width = relative->rotary_width ? relative->rotary_width : all;
    double magnitude = magnitude_of(relative);
    for (int i = 0; i < width / 2; i++) {
        double angle = position * angle_of(relative, i, width);
        double *first = x + i, *second = x + i + width / 2;
        if (relative->rotary == RAPT_ROTARY_PAIRS) first = x + 2 * i, second = first + 1;
        double f = *first, g = *second;
        *first = magnitude * (f * cos(angle) - g * sin(angle));
        *second = magnitude * (f * sin(angle) + g * cos(angle));
    }
}

static int power_of_two(int n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/* Press, Smith and Lewis 2022: for n heads, n a power of two, the slopes are the geometric sequence
   that begins with 2^(-8/n) and has this ratio. Otherwise the first slopes are those of the next
   lower power of two, and the remaining heads have every other slope of the next higher one. */
double oracle_slope(int heads, int head)
{
    int below = heads;
    while (!power_of_two(below)) below--;
    if (head < below) return pow(pow(2, -8.0 / below), head + 1);
    return pow(pow(2, -4.0 / below), 2 * (head - below) + 1);
}

/* ---- distance vectors between queries and keys, from the papers:

     Shaw et al. 2018, eqs. 3 and 4     e[i][j] = x[i] W_Q (x[j] W_K + a_K[i][j])' / sqrt(d_z)
                                        z[i] = sum of alpha[i][j] (x[j] W_V + a_V[i][j]),
                                        a[i][j] = w[clip(j - i)]
     Dai et al. 2019, section 3.3       q.k + q.r[i - j] + u.k + v.r[i - j]
     He et al. 2021, eqs. 2 to 4        q.k + q.K_r[delta(i, j)] + k.Q_r[delta(j, i)]

   With buckets, the rows of the arrays are given for each distance. oracle_log_bucket is written
   from make_log_bucket_position of DeBERTa v2, which He et al. 2023 (2111.09543) use:

     |d| <= m: d       otherwise: sign(d) (m + ceil(log(|d| / m) / log((M - 1) / m) (m - 1)))

   where m is half of position_buckets, and M is max_relative_positions.

   delta(i, j) counts i - j, the opposite of Shaw et al.'s distance, and Q_r belongs to the query
   that sees key j, so all of them are rows for the same number: j - i limited to a range. ---- */

/* Returns the row for a query and key s in an array of vectors of `width` elements. */
static const double *vector_of(const struct oracle_row *r, const double *all, int s, int width)
{
    const rapt_distances *d = &r->a->distances;
    int distance = s - r->position, head = d->shared ? 0 : r->h,
        heads = d->shared ? 1 : r->a->heads;
    if (distance > d->after) distance = d->after;
    if (-distance > d->before) distance = -d->before;
    int row = d->buckets ? d->buckets[distance + d->before] : distance + d->before;
    return all + ((ptrdiff_t)row * heads + head) * width;
}

int oracle_log_bucket(int distance, int buckets, int far)
{
    int m = buckets / 2, size = abs(distance);
    if (size <= m) return distance;
    long double x = logl((long double)size / m) / logl((long double)far / m) * (m - 1);
    long double above = fabsl(x - rintl(x)) < 1e-12L ? rintl(x) : ceill(x);
    return (distance < 0 ? -1 : 1) * (m + (int)above);
}

double oracle_distances(const struct oracle_row *r, int s, double scale, double *size)
{
    const rapt_distances *d = &r->a->distances;
    const struct oracle_inputs *in = r->in;
    int K = r->a->key_width;
    const double *q = oracle_query(r), *k = oracle_key(r, s), *of_key = NULL, *of_query = NULL;
    double sum = 0, terms = 0;
    if (d->keys) of_key = vector_of(r, in->distance_keys, s, K);
    if (d->queries) of_query = vector_of(r, in->distance_queries, s, K);
    for (int i = 0; i < K && of_key; i++) {
        double v = d->position_bias ? in->position_bias[r->h * K + i] : 0;
        sum += (q[i] + v) * of_key[i], terms += (fabs(q[i]) + fabs(v)) * fabs(of_key[i]);
    }
    for (int i = 0; i < K && of_query; i++)
        sum += k[i] * of_query[i], terms += fabs(k[i] * of_query[i]);
    *size += fabs(scale) * terms;
    return scale * sum;
}

double oracle_distance_value(const struct oracle_row *r, int s, int i)
{
    if (!r->a->distances.values) return 0;
    return vector_of(r, r->in->distance_values, s, r->a->value_width)[i];
}
