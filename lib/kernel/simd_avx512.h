/* simd_avx512.h - sixteen lanes in one register. */
#ifndef __AVX512DQ__
#error "compile with -mavx512f -mavx512dq"
#endif
#include <immintrin.h>
#include <stdint.h>

enum { VF_ISA = RAPT_ISA_AVX512 };
enum { VF_ROWS = 14, VF_PANELS = 2 }; /* register tile: 28 sums, 2 of b and 1 of a fill 31 of 32 */

typedef __m512 vf;
typedef __mmask16 vm;

static inline __mmask16 vf_first(int n)
{
    return (__mmask16)((1u << n) - 1u);
}

static inline vf vf_splat(float s)
{
    return _mm512_set1_ps(s);
}
static inline vf vf_zero(void)
{
    return _mm512_setzero_ps();
}
static inline vf vf_load(const float *p)
{
    return _mm512_loadu_ps(p);
}
static inline vf vf_load_bf16(const uint16_t *p)
{
    __m512i low = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(low, 16));
}
static inline vf vf_load_f16(const uint16_t *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}
static inline void vf_store(float *p, vf v)
{
    _mm512_storeu_ps(p, v);
}
static inline vf vf_load_n(const float *p, int n, float rest)
{
    return _mm512_mask_loadu_ps(_mm512_set1_ps(rest), vf_first(n), p);
}
static inline void vf_store_n(float *p, vf v, int n)
{
    _mm512_mask_storeu_ps(p, vf_first(n), v);
}
static inline vf vf_add(vf a, vf b)
{
    return _mm512_add_ps(a, b);
}
static inline vf vf_sub(vf a, vf b)
{
    return _mm512_sub_ps(a, b);
}
static inline vf vf_mul(vf a, vf b)
{
    return _mm512_mul_ps(a, b);
}
static inline vf vf_div(vf a, vf b)
{
    return _mm512_div_ps(a, b);
}
static inline vf vf_fma(vf a, vf b, vf c)
{
    return _mm512_fmadd_ps(a, b, c);
}
static inline vf vf_fnma(vf a, vf b, vf c)
{
    return _mm512_fnmadd_ps(a, b, c);
}
#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if __has_feature(memory_sanitizer)
/* Computes the maximum in two steps, because clang 14's MemorySanitizer treats the register of
   _mm512_max_ps as a single value and would report uninitialized lanes that are not used. */
static inline vf vf_max(vf a, vf b)
{
    return _mm512_mask_mov_ps(b, _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ), a);
}
#else
static inline vf vf_max(vf a, vf b)
{
    return _mm512_max_ps(a, b);
}
#endif
static inline vf vf_min(vf a, vf b)
{
    return _mm512_min_ps(a, b);
}
static inline vf vf_sqrt(vf a)
{
    return _mm512_sqrt_ps(a);
}
static inline vf vf_abs(vf a)
{
    return _mm512_abs_ps(a);
}
static inline vf vf_round(vf a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
#define VF_REST
static inline vf vf_rest(vf a)
{
    return _mm512_reduce_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline vf vf_sign(vf a, vf b) /* takes each bit from a where `sign` is 0, and from b where it
                                        is 1 */
{
    __m512i sign = _mm512_set1_epi32((int)0x80000000u);
    __m512i r =
        _mm512_ternarylogic_epi32(sign, _mm512_castps_si512(a), _mm512_castps_si512(b), 0xac);
    return _mm512_castsi512_ps(r);
}
static inline vf vf_ldexp(vf a, vf n)
{
    return _mm512_scalef_ps(a, n);
}
static inline vf vf_frexp(vf a, vf *n)
{
    __m512i from = _mm512_set1_epi32(0x3f3504f3);
    __m512i u = _mm512_sub_epi32(_mm512_castps_si512(a), from);
    *n = _mm512_cvtepi32_ps(_mm512_srai_epi32(u, 23));
    u = _mm512_and_si512(u, _mm512_set1_epi32(0x7fffff));
    return _mm512_castsi512_ps(_mm512_add_epi32(u, from));
}
static inline vm vf_less(vf a, vf b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
static inline vm vf_equal(vf a, vf b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}
static inline vm vm_and(vm a, vm b)
{
    return (vm)(a & b);
}
static inline vm vm_or(vm a, vm b)
{
    return (vm)(a | b);
}
static inline unsigned vm_bits(vm m)
{
    return m;
}
static inline vf vf_select(vm m, vf a, vf b)
{
    return _mm512_mask_blend_ps(m, b, a);
}

static inline __m256 vf_high(vf v)
{
    return _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(v), 1));
}
static inline float vf_sum(vf v)
{
    __m256 e = _mm256_add_ps(_mm512_castps512_ps256(v), vf_high(v));
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(e), _mm256_extractf128_ps(e, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
}
static inline float vf_reduce_max(vf v)
{
    __m256 e = _mm256_max_ps(_mm512_castps512_ps256(v), vf_high(v));
    __m128 q = _mm_max_ps(_mm256_castps256_ps128(e), _mm256_extractf128_ps(e, 1));
    q = _mm_max_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_max_ss(q, _mm_movehdup_ps(q)));
}

#define VF_REDUCE_MAX_ROWS
static inline vf vf_reduce_max_rows(const vf x[16])
{
    vf a[8], b[4], c[2];
    for (int i = 0; i < 8; i++) { /* two 128-bit lanes for x[j], two for x[j + 4] */
        int j = i + (i & 4);
        a[i] = vf_max(_mm512_shuffle_f32x4(x[j], x[j + 4], 0x44),
                      _mm512_shuffle_f32x4(x[j], x[j + 4], 0xee));
    }
    for (int i = 0; i < 4; i++) /* a 128-bit lane for each of x[i], x[i + 4], x[i + 8], x[i + 12] */
        b[i] = vf_max(_mm512_shuffle_f32x4(a[i], a[i + 4], 0x88),
                      _mm512_shuffle_f32x4(a[i], a[i + 4], 0xdd));
    for (int i = 0; i < 2; i++) {
        __m512d even = _mm512_castps_pd(b[2 * i]), odd = _mm512_castps_pd(b[2 * i + 1]);
        c[i] = vf_max(_mm512_castpd_ps(_mm512_unpacklo_pd(even, odd)),
                      _mm512_castpd_ps(_mm512_unpackhi_pd(even, odd)));
    }
    return vf_max(_mm512_shuffle_ps(c[0], c[1], 0x88), _mm512_shuffle_ps(c[0], c[1], 0xdd));
}

#define VF_TRANSPOSE
static inline vf vf_low_pairs(vf a, vf b)
{
    return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
}
static inline vf vf_high_pairs(vf a, vf b)
{
    return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
}
static inline __attribute__((always_inline)) void vf_transpose(vf x[16])
{
    vf y[16];
    for (int i = 0; i < 16; i += 4) { /* transpose 4 x 4 blocks within each 128-bit lane */
        vf a = _mm512_unpacklo_ps(x[i], x[i + 1]), b = _mm512_unpackhi_ps(x[i], x[i + 1]);
        vf c = _mm512_unpacklo_ps(x[i + 2], x[i + 3]), d = _mm512_unpackhi_ps(x[i + 2], x[i + 3]);
        y[i] = vf_low_pairs(a, c), y[i + 1] = vf_high_pairs(a, c);
        y[i + 2] = vf_low_pairs(b, d), y[i + 3] = vf_high_pairs(b, d);
    }
    for (int i = 0; i < 4; i++) { /* then transpose the 4 x 4 matrix of blocks */
        vf a = _mm512_shuffle_f32x4(y[i], y[i + 4], 0x88);
        vf b = _mm512_shuffle_f32x4(y[i], y[i + 4], 0xdd);
        vf c = _mm512_shuffle_f32x4(y[i + 8], y[i + 12], 0x88);
        vf d = _mm512_shuffle_f32x4(y[i + 8], y[i + 12], 0xdd);
        x[i] = _mm512_shuffle_f32x4(a, c, 0x88), x[i + 4] = _mm512_shuffle_f32x4(b, d, 0x88);
        x[i + 8] = _mm512_shuffle_f32x4(a, c, 0xdd), x[i + 12] = _mm512_shuffle_f32x4(b, d, 0xdd);
    }
}

typedef __m512i vu;

static inline vu vu_splat(uint64_t u)
{
    return _mm512_set1_epi64((long long)u);
}
static inline vu vu_count(uint64_t u)
{
    return _mm512_add_epi64(vu_splat(u), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline vu vu_xor(vu a, vu b)
{
    return _mm512_xor_si512(a, b);
}
static inline vu vu_high(vu a)
{
    return _mm512_srli_epi64(a, 32);
}
static inline vu vu_times(vu a, uint32_t u)
{
    return _mm512_mul_epu32(a, vu_splat(u));
}
static inline void vu_words(const vu x[4], uint32_t *to)
{
    const __m512i first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    const __m512i second = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    __m512i low = _mm512_mask_shuffle_epi32(x[0], 0xaaaa, x[1], _MM_PERM_CCAA);
    __m512i high = _mm512_mask_shuffle_epi32(x[2], 0xaaaa, x[3], _MM_PERM_CCAA);
    _mm512_storeu_si512(to, _mm512_permutex2var_epi64(low, first, high));
    _mm512_storeu_si512(to + 16, _mm512_permutex2var_epi64(low, second, high));
}
static inline vm vu_less(vu a, vu b, uint32_t u)
{
    __m512i low = vu_splat(0xffffffffu), max = vu_splat(u);
    unsigned first = _mm512_cmplt_epu64_mask(_mm512_and_si512(a, low), max);
    unsigned second = _mm512_cmplt_epu64_mask(_mm512_and_si512(b, low), max);
    return (vm)(first | second << 8);
}
