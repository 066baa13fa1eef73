/* simd_sincos.h - sine and cosine of ANGLE_LANES doubles at a time. With SLEEF, all variants give
   the bits of rapt__sincos, because the cinz functions use no fused multiply-add on any
   processor. */
#include "base/util.h"

#if defined(RAPT_HAVE_SLEEF) && (defined(__AVX512DQ__) || defined(__AVX2__))
#include <sleef.h>
#endif

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
