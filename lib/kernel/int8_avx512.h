/* int8_avx512.h - products of bytes in 512-bit registers, with vpdpbusd. */
#ifndef __AVX512VNNI__
#error "compile with -mavx512vnni"
#endif

#define VQ_ARRANGE NULL

enum { VS_FORM = INT8_AVX512 };
enum { VQ_SIZE = 1 };
enum { VS_ROWS = 13, VS_PANELS = 2 }; /* register tile: 26 sums, 2 of w, 1 of q, 1 constant */

typedef __m512i vs, vw, vq, vi;

/* vpdpbusd multiplies unsigned bytes by signed ones, so it is given w + 128 in place of w. */
static inline vs vs_start(int32_t sum)
{
    return _mm512_set1_epi32(vs_shifted(sum));
}
static inline vw vw_load(const int8_t *p)
{
    return _mm512_xor_si512(_mm512_loadu_si512(p), _mm512_set1_epi32((int)0x80808080u));
}
static inline vq vq_load(const int8_t *p)
{
    int32_t four;
    memcpy(&four, p, sizeof four);
    return _mm512_set1_epi32(four);
}
/* Uses asm, because with _mm512_dpbusd_epi32 gcc 12 keeps two copies of the sums and spills
   them. */
static inline void vs_add(vs *s, vw w, vq q)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(*s) : "v"(w), "v"(q));
}
static inline vf vs_float(vs s)
{
    return _mm512_cvtepi32_ps(s);
}

static inline vi vi_zero(void)
{
    return _mm512_setzero_si512();
}
static inline vi vi_add(vi x, vi y)
{
    return _mm512_add_epi32(x, y);
}
static inline vf vi_float(vi x)
{
    return _mm512_cvtepi32_ps(x);
}
static inline int32_t vi_sum(vi x)
{
    return _mm512_reduce_add_epi32(x);
}
static inline vi vi_max_magnitude(vi x, vf v)
{
    __m512i bits = _mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32(0x7fffffff));
    return _mm512_max_epi32(x, bits);
}
static inline int32_t vi_reduce_max(vi x)
{
    return _mm512_reduce_max_epi32(x);
}
static inline vi vi_nearest(vf v)
{
    return _mm512_cvt_roundps_epi32(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline void vi_store(int32_t *p, vi x)
{
    _mm512_storeu_si512(p, x);
}
static inline void vi_store_bytes(int8_t *p, vi x)
{
    _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8(x));
}
static inline void vi_store_groups(int8_t *p, const vi x[4])
{
    const __m512i byte = _mm512_set1_epi32(0xff);
    __m512i low = _mm512_or_si512(_mm512_and_si512(x[0], byte),
                                  _mm512_slli_epi32(_mm512_and_si512(x[1], byte), 8));
    __m512i high = _mm512_or_si512(_mm512_and_si512(x[2], byte), _mm512_slli_epi32(x[3], 8));
    _mm512_storeu_si512(p, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
}
