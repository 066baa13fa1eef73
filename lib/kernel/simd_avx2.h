/* simd_avx2.h - sixteen lanes in two registers. */
#if !defined(__AVX2__) || !defined(__FMA__) || !defined(__F16C__)
#error "compile with -mavx2 -mfma -mf16c"
#endif
#include <immintrin.h>
#include <stdint.h>

enum { VF_ISA = RAPT_ISA_AVX2 };
enum { VF_ROWS = 6, VF_PANELS = 1 }; /* register tile: sums take 12 of 16 registers */

typedef struct {
    __m256 a, b;
} vf;
typedef struct {
    __m256 a, b;
} vm;

static inline __m256i vf_first(int n) /* all bits set in lanes 0..n-1 of 8 */
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline vf vf_splat(float s)
{
    return (vf){_mm256_set1_ps(s), _mm256_set1_ps(s)};
}
static inline vf vf_zero(void)
{
    return (vf){_mm256_setzero_ps(), _mm256_setzero_ps()};
}
static inline vf vf_load(const float *p)
{
    return (vf){_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
static inline __m256 vf_load_bf16_8(const uint16_t *p)
{
    __m256i low = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(low, 16));
}
static inline vf vf_load_bf16(const uint16_t *p)
{
    return (vf){vf_load_bf16_8(p), vf_load_bf16_8(p + 8)};
}
static inline vf vf_load_f16(const uint16_t *p)
{
    return (vf){_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)),
                _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p + 8)))};
}
static inline void vf_store(float *p, vf v)
{
    _mm256_storeu_ps(p, v.a);
    _mm256_storeu_ps(p + 8, v.b);
}
static inline __m256 vf_load_8(const float *p, int n, __m256 rest)
{
    __m256i m = vf_first(n);
    return n <= 0 ? rest : _mm256_blendv_ps(rest, _mm256_maskload_ps(p, m), _mm256_castsi256_ps(m));
}
static inline vf vf_load_n(const float *p, int n, float rest)
{
    __m256 r = _mm256_set1_ps(rest);
    return (vf){vf_load_8(p, n, r), n > 8 ? vf_load_8(p + 8, n - 8, r) : r};
}
static inline void vf_store_n(float *p, vf v, int n)
{
    _mm256_maskstore_ps(p, vf_first(n), v.a);
    if (n > 8) _mm256_maskstore_ps(p + 8, vf_first(n - 8), v.b);
}
static inline vf vf_add(vf x, vf y)
{
    return (vf){_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)};
}
static inline vf vf_sub(vf x, vf y)
{
    return (vf){_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)};
}
static inline vf vf_mul(vf x, vf y)
{
    return (vf){_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)};
}
static inline vf vf_div(vf x, vf y)
{
    return (vf){_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)};
}
static inline vf vf_max(vf x, vf y)
{
    return (vf){_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)};
}
static inline vf vf_min(vf x, vf y)
{
    return (vf){_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)};
}
static inline vf vf_fma(vf x, vf y, vf z)
{
    return (vf){_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
static inline vf vf_fnma(vf x, vf y, vf z)
{
    return (vf){_mm256_fnmadd_ps(x.a, y.a, z.a), _mm256_fnmadd_ps(x.b, y.b, z.b)};
}
static inline vf vf_sqrt(vf x)
{
    return (vf){_mm256_sqrt_ps(x.a), _mm256_sqrt_ps(x.b)};
}
static inline vf vf_abs(vf x)
{
    __m256 sign = _mm256_set1_ps(-0.0f);
    return (vf){_mm256_andnot_ps(sign, x.a), _mm256_andnot_ps(sign, x.b)};
}
static inline vf vf_sign(vf x, vf y)
{
    __m256 sign = _mm256_set1_ps(-0.0f);
    return (vf){_mm256_or_ps(_mm256_andnot_ps(sign, x.a), _mm256_and_ps(sign, y.a)),
                _mm256_or_ps(_mm256_andnot_ps(sign, x.b), _mm256_and_ps(sign, y.b))};
}
static inline vf vf_round(vf x)
{
    return (vf){_mm256_round_ps(x.a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
                _mm256_round_ps(x.b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
static inline __m256 vf_ldexp_8(__m256 x, __m256 n)
{
    __m256i k = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(k, 1);
    __m256i rest = _mm256_add_epi32(_mm256_sub_epi32(k, half), _mm256_set1_epi32(127));
    __m256i first = _mm256_add_epi32(_mm256_castps_si256(x), _mm256_slli_epi32(half, 23));
    return _mm256_mul_ps(_mm256_castsi256_ps(first),
                         _mm256_castsi256_ps(_mm256_slli_epi32(rest, 23)));
}
static inline vf vf_ldexp(vf x, vf n)
{
    return (vf){vf_ldexp_8(x.a, n.a), vf_ldexp_8(x.b, n.b)};
}
static inline __m256 vf_power_8(__m256 x, __m256 n)
{
    __m256i exponent = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(x), exponent));
}
static inline vf vf_power(vf x, vf n)
{
    return (vf){vf_power_8(x.a, n.a), vf_power_8(x.b, n.b)};
}
static inline __m256 vf_frexp_8(__m256 x, __m256 *n)
{
    __m256i from = _mm256_set1_epi32(0x3f3504f3);
    __m256i u = _mm256_sub_epi32(_mm256_castps_si256(x), from);
    *n = _mm256_cvtepi32_ps(_mm256_srai_epi32(u, 23));
    u = _mm256_and_si256(u, _mm256_set1_epi32(0x7fffff));
    return _mm256_castsi256_ps(_mm256_add_epi32(u, from));
}
static inline vf vf_frexp(vf x, vf *n)
{
    return (vf){vf_frexp_8(x.a, &n->a), vf_frexp_8(x.b, &n->b)};
}
static inline vm vf_less(vf x, vf y)
{
    return (vm){_mm256_cmp_ps(x.a, y.a, _CMP_LT_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_LT_OQ)};
}
static inline vm vf_equal(vf x, vf y)
{
    return (vm){_mm256_cmp_ps(x.a, y.a, _CMP_EQ_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_EQ_OQ)};
}
static inline vm vm_and(vm x, vm y)
{
    return (vm){_mm256_and_ps(x.a, y.a), _mm256_and_ps(x.b, y.b)};
}
static inline vm vm_or(vm x, vm y)
{
    return (vm){_mm256_or_ps(x.a, y.a), _mm256_or_ps(x.b, y.b)};
}
static inline unsigned vm_bits(vm m)
{
    return (unsigned)_mm256_movemask_ps(m.a) | (unsigned)_mm256_movemask_ps(m.b) << 8;
}
static inline vf vf_select(vm m, vf x, vf y)
{
    return (vf){_mm256_blendv_ps(y.a, x.a, m.a), _mm256_blendv_ps(y.b, x.b, m.b)};
}
static inline float vf_sum(vf v)
{
    __m256 e = _mm256_add_ps(v.a, v.b);
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(e), _mm256_extractf128_ps(e, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
}
static inline float vf_reduce_max(vf v)
{
    __m256 e = _mm256_max_ps(v.a, v.b);
    __m128 q = _mm_max_ps(_mm256_castps256_ps128(e), _mm256_extractf128_ps(e, 1));
    q = _mm_max_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_max_ss(q, _mm_movehdup_ps(q)));
}

#define VF_REDUCE_MAX_ROWS
static inline __m256 vf_max_pairs(__m256 x, __m256 y) /* maxima of adjacent lanes */
{
    return _mm256_max_ps(_mm256_shuffle_ps(x, y, 0x88), _mm256_shuffle_ps(x, y, 0xdd));
}
static inline vf vf_reduce_max_rows(const vf x[16])
{
    __m256 e[8], f[2];
    for (int i = 0; i < 8; i++) e[i] = _mm256_max_ps(x[i].a, x[i].b);
    /* f[i] receives two maxima for each of rows 4 i .. 4 i + 3, one in each 128-bit lane. */
    for (int i = 0; i < 2; i++)
        f[i] = vf_max_pairs(vf_max_pairs(e[4 * i], e[4 * i + 1]),
                            vf_max_pairs(e[4 * i + 2], e[4 * i + 3]));
    return (vf){_mm256_max_ps(_mm256_permute2f128_ps(f[0], f[1], 0x20),
                              _mm256_permute2f128_ps(f[0], f[1], 0x31)),
                _mm256_setzero_ps()};
}

#define VF_TRANSPOSE
static inline __attribute__((always_inline)) void vf_transpose_8(const __m256 x[8], __m256 y[8])
{
    __m256 a[8];
    for (int i = 0; i < 8; i += 4) { /* transpose 4 x 4 blocks within each 128-bit lane */
        __m256 b = _mm256_unpacklo_ps(x[i], x[i + 1]), c = _mm256_unpackhi_ps(x[i], x[i + 1]);
        __m256 d = _mm256_unpacklo_ps(x[i + 2], x[i + 3]);
        __m256 e = _mm256_unpackhi_ps(x[i + 2], x[i + 3]);
        a[i] = _mm256_shuffle_ps(b, d, 0x44);
        a[i + 1] = _mm256_shuffle_ps(b, d, 0xee);
        a[i + 2] = _mm256_shuffle_ps(c, e, 0x44);
        a[i + 3] = _mm256_shuffle_ps(c, e, 0xee);
    }
    for (int i = 0; i < 4; i++) { /* then exchange the off-diagonal blocks */
        y[i] = _mm256_permute2f128_ps(a[i], a[i + 4], 0x20);
        y[i + 4] = _mm256_permute2f128_ps(a[i], a[i + 4], 0x31);
    }
}
/* Transposes a matrix of 16 x 16 elements as four blocks of 8 x 8. */
static inline __attribute__((always_inline)) void vf_transpose(vf x[16])
{
    __m256 from[4][8], to[4][8];
    for (int i = 0; i < 8; i++) {
        from[0][i] = x[i].a, from[1][i] = x[i].b;
        from[2][i] = x[i + 8].a, from[3][i] = x[i + 8].b;
    }
    for (int i = 0; i < 4; i++) vf_transpose_8(from[i], to[i]);
    for (int i = 0; i < 8; i++) {
        x[i] = (vf){to[0][i], to[2][i]};
        x[i + 8] = (vf){to[1][i], to[3][i]};
    }
}

typedef struct {
    __m256i a, b;
} vu;

static inline vu vu_splat(uint64_t u)
{
    return (vu){_mm256_set1_epi64x((long long)u), _mm256_set1_epi64x((long long)u)};
}
static inline vu vu_count(uint64_t u)
{
    __m256i first = _mm256_set1_epi64x((long long)u);
    return (vu){_mm256_add_epi64(first, _mm256_setr_epi64x(0, 1, 2, 3)),
                _mm256_add_epi64(first, _mm256_setr_epi64x(4, 5, 6, 7))};
}
static inline vu vu_xor(vu x, vu y)
{
    return (vu){_mm256_xor_si256(x.a, y.a), _mm256_xor_si256(x.b, y.b)};
}
static inline vu vu_high(vu x)
{
    return (vu){_mm256_srli_epi64(x.a, 32), _mm256_srli_epi64(x.b, 32)};
}
static inline vu vu_times(vu x, uint32_t u)
{
    __m256i by = _mm256_set1_epi64x((long long)u);
    return (vu){_mm256_mul_epu32(x.a, by), _mm256_mul_epu32(x.b, by)};
}
static inline void vu_words_4(__m256i a, __m256i b, __m256i c, __m256i d, uint32_t *to)
{
    __m256i low = _mm256_blend_epi32(a, _mm256_slli_epi64(b, 32), 0xaa);
    __m256i high = _mm256_blend_epi32(c, _mm256_slli_epi64(d, 32), 0xaa);
    __m256i even = _mm256_unpacklo_epi64(low, high), odd = _mm256_unpackhi_epi64(low, high);
    _mm256_storeu_si256((__m256i *)to, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256((__m256i *)(to + 8), _mm256_permute2x128_si256(even, odd, 0x31));
}
static inline void vu_words(const vu x[4], uint32_t *to)
{
    vu_words_4(x[0].a, x[1].a, x[2].a, x[3].a, to);
    vu_words_4(x[0].b, x[1].b, x[2].b, x[3].b, to + 16);
}
/* Compares the low 32 bits of each lane, unsigned, with u. */
static inline __m256 vu_less_8(vu x, uint32_t u)
{
    __m256 low = _mm256_shuffle_ps(_mm256_castsi256_ps(x.a), _mm256_castsi256_ps(x.b), 0x88);
    __m256i sign = _mm256_set1_epi32((int)0x80000000u);
    __m256i i = _mm256_permute4x64_epi64(_mm256_castps_si256(low), 0xd8);
    __m256i max = _mm256_xor_si256(_mm256_set1_epi32((int)u), sign);
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(max, _mm256_xor_si256(i, sign)));
}
static inline vm vu_less(vu x, vu y, uint32_t u)
{
    return (vm){vu_less_8(x, u), vu_less_8(y, u)};
}
