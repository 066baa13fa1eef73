/* int8.c - see int8.h. */
#include "int8.h"

#include <math.h>

static int nearest(double x) /* halves to even */
{
    double below = floor(x), rest = x - below;
    int whole = (int)below;
    return rest > 0.5 || (rest == 0.5 && whole % 2 != 0) ? whole + 1 : whole;
}

void oracle_quantize(int n, const float *x, int *q, float *scale)
{
    double max = 0;
    int finite = 1;
    for (int k = 0; k < n; k++) {
        if (!isfinite(x[k])) finite = 0;
        max = fmax(max, fabs((double)x[k]));
        q[k] = 0;
    }
    *scale = finite ? 0 : NAN;
    if (!finite || max < 0x1p-118) return;
    float factor = (float)(127 / max);
    *scale = (float)(max / 127);
    for (int k = 0; k < n; k++) q[k] = nearest((double)(float)((double)x[k] * (double)factor));
}

void oracle_quantize_rest(int n, const float *x, const int *q, int *rest, float *scale)
{
    double max = 0;
    int finite = 1;
    for (int k = 0; k < n; k++) {
        if (!isfinite(x[k])) finite = 0;
        max = fmax(max, fabs((double)x[k]));
        rest[k] = 0;
    }
    float whole = (float)(max / 127), factor = (float)(127 / max);
    *scale = 0;
    if (!finite || whole < 0x1p-117f) return;
    *scale = (float)((double)whole / 254);
    for (int k = 0; k < n; k++) {
        double scaled = (double)(float)((double)x[k] * (double)factor);
        rest[k] = nearest((double)(float)((scaled - q[k]) * 254));
    }
}

float oracle_int8(int n, const int *q, float s, const int *w, float t, float bias)
{
    long long sum = 0;
    for (int k = 0; k < n; k++) sum += q[k] * w[k];
    double scale = (double)(float)((double)s * (double)t);
    float product = (float)((double)(float)sum * scale);
    return (float)((double)product + (double)bias);
}
