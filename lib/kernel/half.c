/* half.c - widens 16-bit weights to floats (half.h). */
#include "kernel/half.h"

static void widen_row(enum half_type type, const uint16_t *h, size_t n, float *x)
{
    if (type == HALF_BF16)
        for (size_t i = 0; i < n; i++) x[i] = half_widen_bf16(h[i]);
    else
        for (size_t i = 0; i < n; i++) x[i] = half_widen_f16(h[i]);
}
