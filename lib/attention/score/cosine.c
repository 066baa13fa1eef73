/* cosine.c - the cosine score, also called content-based addressing (Graves, Wayne and Danihelka
   2014, section 3.3.1):

       x = beta u(q) . u(k),   u(z) = z / m,   m = max(|z|, 1e-8)

   so q' = beta u(q) and k' = u(k). Backward, for y = beta u(z):

       dz = beta / m (dy - u (u . dy))    if |z| >= 1e-8, else beta / m dy
       dbeta = sum of u . dy

   A row with dy = 0 is skipped, because it may be masked and contain NaN. */
#include "attention/score/score.h"

#include <math.h>

static const double min = 1e-8;

static double norm(const float *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

static bool zero(const float *x, int n)
{
    for (int i = 0; i < n; i++)
        if (x[i] != 0) return false;
    return true;
}

static double inverse_temperature(const rapt_attention *a, int head)
{
    return a->parameters.array[RAPT_ATTENTION_PARAMETER_INVERSE_TEMPERATURE]
               ? (double)a->parameters.array[RAPT_ATTENTION_PARAMETER_INVERSE_TEMPERATURE][head]
               : 1;
}

static void cosine_rows(int width, double beta, const struct score_block *b)
{
    for (int r = 0; r < b->rows; r++) {
        const float *x = b->x + r * b->x_row;
        float *y = b->y + r * b->y_row;
        double m = norm(x, width), by = beta / (m < min ? min : m);
        for (int i = 0; i < width; i++) y[i] = (float)((double)x[i] * by);
    }
}

static double cosine_product(const float *x, const float *y, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)x[i] * (double)y[i];
    return sum;
}

static void cosine_rows_back(int width, double beta, const struct score_block *b)
{
    for (int r = 0; r < b->rows; r++) {
        const float *x = b->x + r * b->x_row, *dy = b->y + r * b->y_row;
        float *dx = b->dx + r * b->dx_row;
        if (zero(dy, width)) continue;
        double m = norm(x, width), along = 0;
        if (m < min)
            m = min;
        else
            along = cosine_product(x, dy, width) / (m * m);
        for (int i = 0; i < width; i++)
            dx[i] += (float)(beta / m * ((double)dy[i] - (double)x[i] * along));
    }
}

static void queries(const rapt_attention *a, const struct score_block *b)
{
    cosine_rows(a->key_width, inverse_temperature(a, b->head), b);
}

static void queries_back(const rapt_attention *a, const struct score_block *b)
{
    cosine_rows_back(a->key_width, inverse_temperature(a, b->head), b);
}

static void keys(const rapt_attention *a, const struct score_block *b)
{
    cosine_rows(a->key_width, 1, b);
}

static void keys_back(const rapt_attention *a, const struct score_block *b)
{
    cosine_rows_back(a->key_width, 1, b);
}

static double along_rows(const struct score_rows *r, const struct sequence *b, int head)
{
    double sum = 0;
    int width = r->a->key_width;
    for (int t = 0; t < b->queries; t++) {
        const float *x = r->x + rapt__query_at(&r->x_stride, b, head, t);
        const float *dy = r->y + rapt__query_at(&r->y_stride, b, head, t);
        if (zero(dy, width)) continue;
        double m = norm(x, width);
        sum += cosine_product(x, dy, width) / (m < min ? min : m);
    }
    return sum;
}

static void learned(struct team *team, const struct score_rows *r, const rapt_gradients *d)
{
    for (int h; d->parameters[RAPT_ATTENTION_PARAMETER_INVERSE_TEMPERATURE] &&
                (h = rapt__team_take(team)) < r->a->heads;) {
        double sum = 0;
        for (int i = 0; i < r->a->batch; i++) {
            struct sequence b = rapt__sequence(r->a, i);
            sum += along_rows(r, &b, h);
        }
        d->parameters[RAPT_ATTENTION_PARAMETER_INVERSE_TEMPERATURE][h] += (float)sum;
    }
    rapt__team_barrier(team);
}

const struct score rapt__score_cosine = {
    .name = "cosine",
    .scaleless = true,
    .width = rapt__key_width,
    .queries = {.rows = queries, .rows_back = queries_back, .learned = learned},
    .keys = {.rows = keys, .rows_back = keys_back}};
