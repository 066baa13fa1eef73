/* pack.c - rows copied to where kernels read whole vectors. */
#include "attention/problem.h"

#include <string.h>

/* All bits of the exponent are set in infinity and NaN only. */
static bool not_finite(const float *x, int n)
{
    uint32_t found = 0;
    for (int i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        found |= (bits & 0x7f800000u) == 0x7f800000u;
    }
    return found;
}

bool rapt__pack_rows(const float *x, ptrdiff_t ld, int rows, int width, float *to)
{
    size_t used = (size_t)width, padded = (size_t)rapt__padded(width);
    bool wild = false;
    for (int r = 0; r < rows; r++, x += ld, to += padded) {
        memcpy(to, x, used * sizeof *to);
        memset(to + used, 0, (padded - used) * sizeof *to);
        wild |= not_finite(x, width);
    }
    return wild;
}
