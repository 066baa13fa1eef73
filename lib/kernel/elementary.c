/* elementary.c - exp, log and tanh of rows in place (for higher layers, which cannot include
   simd_math.h), and sines and cosines of angles. */
#if defined(RAPT_HAVE_SLEEF) && (defined(__AVX512DQ__) || defined(__AVX2__))
#include <sleef.h>
#endif

static void exp_row(float *x, size_t n)
{
    for (size_t i = 0; i < n; i += LANES)
        vf_store_partial(x + i, vf_exp(vf_load_partial(x + i, n - i, 0)), n - i);
}

static void log_row(float *x, size_t n)
{
    for (size_t i = 0; i < n; i += LANES)
        vf_store_partial(x + i, vf_log(vf_load_partial(x + i, n - i, 1)), n - i);
}

static void tanh_row(float *x, size_t n)
{
    for (size_t i = 0; i < n; i += LANES)
        vf_store_partial(x + i, vf_tanh(vf_load_partial(x + i, n - i, 0)), n - i);
}

/* ---- angles: sines and cosines of the rotary angles of a position, computed in double precision
   and rounded to float:

     sines[i], cosines[i] = sin, cos(position frequencies[i]),  i < n ---- */

/* Computes the sines and cosines of ANGLE_LANES doubles. With SLEEF, the results of all variants
   are bit-identical to those of rapt__sincos, because the cinz functions use no fused multiply-add
   on any processor. */
#if defined(RAPT_HAVE_SLEEF) && defined(__AVX512DQ__)
enum { ANGLE_LANES = 8 };
static inline void sincos_lanes(const double *angle, double *sine, double *cosine)
{
    Sleef___m512d_2 both = Sleef_cinz_sincosd8_u10avx512fnofma(_mm512_loadu_pd(angle));
    _mm512_storeu_pd(sine, both.x);
    _mm512_storeu_pd(cosine, both.y);
}
#elif defined(RAPT_HAVE_SLEEF) && defined(__AVX2__)
enum { ANGLE_LANES = 4 };
static inline void sincos_lanes(const double *angle, double *sine, double *cosine)
{
    Sleef___m256d_2 both = Sleef_cinz_sincosd4_u10avx(_mm256_loadu_pd(angle));
    _mm256_storeu_pd(sine, both.x);
    _mm256_storeu_pd(cosine, both.y);
}
#else
enum { ANGLE_LANES = 1 };
static inline void sincos_lanes(const double *angle, double *sine, double *cosine)
{
    rapt__sincos(*angle, sine, cosine);
}
#endif

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
