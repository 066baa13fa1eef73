/* int8_avx2.h - products of bytes in 256-bit registers: with vpdpbusd if compiled for AVX-VNNI or,
   in tests, AVX-512 VNNI, which has the same instruction; otherwise with vpmaddubsw and
   vpmaddwd. */
#ifndef __AVX2__
#error "compile with -mavx2 -mfma"
#endif

typedef struct {
    __m256i a, b; /* columns 0 to 7, 8 to 15 */
} vs, vw, vi;

static inline int32_t vq_four(const int8_t *p)
{
    int32_t four;
    memcpy(&four, p, sizeof four);
    return four;
}
static inline __m256i vw_load_32(const int8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

#if defined(__AVXVNNI__) || defined(__AVX512VNNI__)
#define VQ_ARRANGE NULL
enum { VQ_SIZE = 1 };
enum { VS_FORM = INT8_AVXVNNI };
enum { VS_ROWS = 6, VS_PANELS = 1 }; /* register tile: 12 of 16 registers hold sums */

#ifdef __AVXVNNI__
#define VS_VPDPBUSD "%{vex%} vpdpbusd %2, %1, %0"
#else
#define VS_VPDPBUSD "vpdpbusd %2, %1, %0"
#endif

typedef __m256i vq;

/* vpdpbusd multiplies unsigned bytes by signed ones, so it is given w + 128 in place of w. */
static inline vs vs_start(int32_t sum)
{
    __m256i start = _mm256_set1_epi32(vs_shifted(sum));
    return (vs){start, start};
}
static inline vw vw_load(const int8_t *p)
{
    __m256i sign = _mm256_set1_epi32((int)0x80808080u);
    return (vw){_mm256_xor_si256(vw_load_32(p), sign), _mm256_xor_si256(vw_load_32(p + 32), sign)};
}
static inline vq vq_load(const int8_t *p)
{
    return _mm256_set1_epi32(vq_four(p));
}
static inline void vs_add(vs *s, vw w, vq q)
{
    __asm__(VS_VPDPBUSD : "+x"(s->a) : "x"(w.a), "x"(q));
    __asm__(VS_VPDPBUSD : "+x"(s->b) : "x"(w.b), "x"(q));
}
#else
#define VQ_ARRANGE vq_arrange
/* A row consists of groups of four magnitudes |q|, each followed by four masks, which are -1 where
   q < 0 and otherwise 0. */
enum { VQ_SIZE = 2 };
enum { VS_FORM = INT8_AVX2 };
enum { VS_ROWS = 4, VS_PANELS = 1 }; /* register tile: 8 of 16 registers hold sums */

typedef struct {
    __m256i magnitude, mask;
} vq;

static inline void vq_arrange(int8_t *q, int n, int32_t *sum)
{
    const int size = rapt__round_up(n, LANES);
    __m128i negative = _mm_setzero_si128();
    for (int k = 0; k < size; k += LANES) {
        __m128i row = _mm_loadu_si128((const __m128i *)(const void *)(q + size + k));
        __m128i mask = _mm_cmpgt_epi8(_mm_setzero_si128(), row), magnitude = _mm_abs_epi8(row);
        __m128i counted = _mm_and_si128(magnitude, mask);
        negative = _mm_add_epi32(negative, _mm_sad_epu8(counted, _mm_setzero_si128()));
        _mm_storeu_si128((__m128i *)(void *)(q + 2 * k), _mm_unpacklo_epi32(magnitude, mask));
        _mm_storeu_si128((__m128i *)(void *)(q + 2 * k + 16), _mm_unpackhi_epi32(magnitude, mask));
    }
    *sum = _mm_cvtsi128_si32(negative) + _mm_extract_epi32(negative, 2);
}
/* `sum` is the sum of |q[k]| over the negative q[k]; see vs_products. */
static inline vs vs_start(int32_t sum)
{
    __m256i start = _mm256_set1_epi32(sum);
    return (vs){start, start};
}
static inline vw vw_load(const int8_t *p)
{
    return (vw){vw_load_32(p), vw_load_32(p + 32)};
}
static inline vq vq_load(const int8_t *p)
{
    return (vq){_mm256_set1_epi32(vq_four(p)), _mm256_set1_epi32(vq_four(p + INT8_GROUP))};
}
/* vpmaddubsw multiplies unsigned bytes by signed ones and adds pairs of products in 16 bits with
   saturation. Inverting the bits of w gives -w - 1, so where q is negative, the product with |q| is
   q w - |q|, and vs_start adds the missing |q|. Pairs stay within 2 * 127 * 128 = 32,512, below the
   limit of 32,767. vpsignb would negate exactly, but competes with the multiplications for
   execution units. */
static inline __m256i vs_products(__m256i w, vq q)
{
    __m256i pairs = _mm256_maddubs_epi16(q.magnitude, _mm256_xor_si256(w, q.mask));
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}
/* Uses asm, because with _mm256_add_epi32 gcc 12 keeps two copies of the sums and spills them. */
static inline void vs_add_8(__m256i *sum, __m256i products)
{
    __asm__("vpaddd %1, %0, %0" : "+x"(*sum) : "x"(products));
}
static inline void vs_add(vs *s, vw w, vq q)
{
    vs_add_8(&s->a, vs_products(w.a, q));
    vs_add_8(&s->b, vs_products(w.b, q));
}
#endif

static inline vf vs_float(vs s)
{
    return (vf){_mm256_cvtepi32_ps(s.a), _mm256_cvtepi32_ps(s.b)};
}

static inline vi vi_zero(void)
{
    return (vi){_mm256_setzero_si256(), _mm256_setzero_si256()};
}
static inline vi vi_add(vi x, vi y)
{
    return (vi){_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)};
}
static inline vf vi_float(vi x)
{
    return (vf){_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)};
}
static inline int32_t vi_sum(vi x)
{
    __m256i e = _mm256_add_epi32(x.a, x.b);
    __m128i q = _mm_add_epi32(_mm256_castsi256_si128(e), _mm256_extracti128_si256(e, 1));
    q = _mm_add_epi32(q, _mm_shuffle_epi32(q, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(q, _mm_shuffle_epi32(q, 0xb1)));
}
static inline vi vi_max_magnitude(vi x, vf v)
{
    __m256i bits = _mm256_set1_epi32(0x7fffffff);
    return (vi){_mm256_max_epi32(x.a, _mm256_and_si256(_mm256_castps_si256(v.a), bits)),
                _mm256_max_epi32(x.b, _mm256_and_si256(_mm256_castps_si256(v.b), bits))};
}
static inline int32_t vi_reduce_max(vi x)
{
    __m256i e = _mm256_max_epi32(x.a, x.b);
    __m128i q = _mm_max_epi32(_mm256_castsi256_si128(e), _mm256_extracti128_si256(e, 1));
    q = _mm_max_epi32(q, _mm_shuffle_epi32(q, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(q, _mm_shuffle_epi32(q, 0xb1)));
}
static inline vi vi_nearest(vf v)
{
    vf r = vf_round(v);
    return (vi){_mm256_cvttps_epi32(r.a), _mm256_cvttps_epi32(r.b)};
}
static inline void vi_store_8(void *p, __m256i x)
{
    _mm256_storeu_si256((__m256i *)p, x);
}
static inline void vi_store(int32_t *p, vi x)
{
    vi_store_8(p, x.a);
    vi_store_8(p + 8, x.b);
}
static inline void vi_store_bytes(int8_t *p, vi x)
{
    __m128i low = _mm_packs_epi32(_mm256_castsi256_si128(x.a), _mm256_extracti128_si256(x.a, 1));
    __m128i high = _mm_packs_epi32(_mm256_castsi256_si128(x.b), _mm256_extracti128_si256(x.b, 1));
    _mm_storeu_si128((__m128i *)(void *)p, _mm_packs_epi16(low, high));
}
static inline __m256i vi_groups_8(__m256i a, __m256i b, __m256i c, __m256i d)
{
    const __m256i byte = _mm256_set1_epi32(0xff);
    __m256i low =
        _mm256_or_si256(_mm256_and_si256(a, byte), _mm256_slli_epi32(_mm256_and_si256(b, byte), 8));
    __m256i high = _mm256_or_si256(_mm256_and_si256(c, byte), _mm256_slli_epi32(d, 8));
    return _mm256_or_si256(low, _mm256_slli_epi32(high, 16));
}
static inline void vi_store_groups(int8_t *p, const vi x[4])
{
    vi_store_8(p, vi_groups_8(x[0].a, x[1].a, x[2].a, x[3].a));
    vi_store_8(p + 32, vi_groups_8(x[0].b, x[1].b, x[2].b, x[3].b));
}
