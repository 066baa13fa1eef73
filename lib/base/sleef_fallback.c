/* sleef_fallback.c - implements the SLEEF functions that the library calls, using the C library.
   The build turns this file into an archive for programs that are linked with -static on systems
   that have no static SLEEF library, such as Debian. The results are those of a rapt library built
   without SLEEF.

   On x86-64 this file is compiled for three instruction sets, because the instruction set
   determines the registers in which vectors are passed. */
#include <math.h>
#include <string.h>

#if defined(__AVX512F__)
typedef double doubles __attribute__((vector_size(64))); /* __m512d */
#define SINCOS Sleef_cinz_sincosd8_u10avx512fnofma
#elif defined(__AVX__)
typedef double doubles __attribute__((vector_size(32))); /* __m256d */
#define SINCOS Sleef_cinz_sincosd4_u10avx
#else
typedef double doubles;
#define SINCOS Sleef_cinz_sincosd1_u10purec
#endif

typedef struct {
    doubles x, y;
} pair;
pair SINCOS(doubles x);

pair SINCOS(doubles x)
{
    enum { COUNT = sizeof x / sizeof(double) };
    double in[COUNT], sine[COUNT], cosine[COUNT];
    pair both;
    memcpy(in, &x, sizeof in);
    for (int i = 0; i < COUNT; i++) sine[i] = sin(in[i]), cosine[i] = cos(in[i]);
    memcpy(&both.x, sine, sizeof sine);
    memcpy(&both.y, cosine, sizeof cosine);
    return both;
}

#ifndef __AVX__
double Sleef_cinz_expd1_u10purec(double x);
double Sleef_cinz_logd1_u10purec(double x);
double Sleef_cinz_powd1_u10purec(double x, double y);

double Sleef_cinz_expd1_u10purec(double x)
{
    return exp(x);
}

double Sleef_cinz_logd1_u10purec(double x)
{
    return log(x);
}

double Sleef_cinz_powd1_u10purec(double x, double y)
{
    return pow(x, y);
}
#endif
