/* angle.c - sines and cosines of the rotary angles of a position, computed in double precision and
   rounded to float:

     sines[i], cosines[i] = sin, cos(position frequencies[i]),  i < n */
#include "kernel/simd_sincos.h"

static void sine_cosine_row(double position, const double *frequencies, int n, float *sines,
                            float *cosines)
{
    for (int first = 0; first < n; first += ANGLE_LANES) {
        double angle[ANGLE_LANES] = {0}, sine[ANGLE_LANES], cosine[ANGLE_LANES];
        int count = rapt__min(n - first, ANGLE_LANES);
        for (int i = 0; i < count; i++) angle[i] = position * frequencies[first + i];
        sincos_lanes(angle, sine, cosine);
        for (int i = 0; i < count; i++) {
            sines[first + i] = (float)sine[i];
            cosines[first + i] = (float)cosine[i];
        }
    }
}
