/* simd_scalar.h - sixteen lanes in an array, for any machine with a C compiler. On a machine
   without fused multiply-add, vf_fma rounds twice, and results differ from those of the other
   instruction sets. If this file is compiled for a machine that has fused multiply-add (-mfma,
   arm64, s390x, riscv64), its results are bit-identical to theirs, as the tests require. */
#include "kernel/half.h"

#include <string.h>

enum { VF_ISA = RAPT_ISA_SCALAR };
enum { VF_ROWS = 4, VF_PANELS = 1 }; /* register tile */

typedef struct {
    float v[16];
} vf;
typedef struct {
    uint32_t v[16];
} vm; /* either all bits of a lane are set, or none */

#if defined(__FP_FAST_FMAF) || defined(__FMA__) || defined(__aarch64__)
static inline float vf_fma_1(float x, float y, float z)
{
    return __builtin_fmaf(x, y, z);
}
static inline float vf_fnma_1(float x, float y, float z)
{
    return __builtin_fmaf(-x, y, z);
}
#else
static inline float vf_fma_1(float x, float y, float z)
{
    return x * y + z;
}
/* Does not negate x: if x is itself a product, a compiler may negate one of its factors before the
   product is rounded. */
static inline float vf_fnma_1(float x, float y, float z)
{
    return z - x * y;
}
#endif
static inline float vf_round_1(float x) /* rounds ties to even and keeps the sign of zero */
{
    float a = __builtin_fabsf(x), r = (a + 0x1p23f) - 0x1p23f;
    return a < 0x1p23f ? __builtin_copysignf(r, x) : x;
}

static inline vf vf_splat(float s)
{
    vf r;
    for (int i = 0; i < 16; i++) r.v[i] = s;
    return r;
}
static inline vf vf_zero(void)
{
    return vf_splat(0);
}
static inline vf vf_load(const float *p)
{
    vf r;
    memcpy(r.v, p, sizeof r.v);
    return r;
}
static inline vf vf_load_bf16(const uint16_t *p)
{
    vf r;
    for (int i = 0; i < 16; i++) r.v[i] = half_widen_bf16(p[i]);
    return r;
}
static inline vf vf_load_f16(const uint16_t *p)
{
    vf r;
    for (int i = 0; i < 16; i++) r.v[i] = half_widen_f16(p[i]);
    return r;
}
static inline void vf_store(float *p, vf x)
{
    memcpy(p, x.v, sizeof x.v);
}
static inline vf vf_load_n(const float *p, int n, float rest)
{
    vf r;
    for (int i = 0; i < 16; i++) r.v[i] = i < n ? p[i] : rest;
    return r;
}
static inline void vf_store_n(float *p, vf x, int n)
{
    for (int i = 0; i < n && i < 16; i++) p[i] = x.v[i];
}
static inline vf vf_add(vf x, vf y)
{
    for (int i = 0; i < 16; i++) x.v[i] = x.v[i] + y.v[i];
    return x;
}
static inline vf vf_sub(vf x, vf y)
{
    for (int i = 0; i < 16; i++) x.v[i] = x.v[i] - y.v[i];
    return x;
}
static inline vf vf_mul(vf x, vf y)
{
    for (int i = 0; i < 16; i++) x.v[i] = x.v[i] * y.v[i];
    return x;
}
static inline vf vf_div(vf x, vf y)
{
    for (int i = 0; i < 16; i++) x.v[i] = x.v[i] / y.v[i];
    return x;
}
static inline vf vf_max(vf x, vf y)
{
    for (int i = 0; i < 16; i++) x.v[i] = x.v[i] > y.v[i] ? x.v[i] : y.v[i];
    return x;
}
static inline vf vf_min(vf x, vf y)
{
    for (int i = 0; i < 16; i++) x.v[i] = x.v[i] < y.v[i] ? x.v[i] : y.v[i];
    return x;
}
static inline vf vf_fma(vf x, vf y, vf z)
{
    for (int i = 0; i < 16; i++) x.v[i] = vf_fma_1(x.v[i], y.v[i], z.v[i]);
    return x;
}
static inline vf vf_fnma(vf x, vf y, vf z)
{
    for (int i = 0; i < 16; i++) x.v[i] = vf_fnma_1(x.v[i], y.v[i], z.v[i]);
    return x;
}
static inline vf vf_sqrt(vf x)
{
    for (int i = 0; i < 16; i++) x.v[i] = __builtin_sqrtf(x.v[i]);
    return x;
}
static inline vf vf_abs(vf x)
{
    for (int i = 0; i < 16; i++) x.v[i] = __builtin_fabsf(x.v[i]);
    return x;
}
static inline vf vf_sign(vf x, vf y)
{
    for (int i = 0; i < 16; i++) x.v[i] = __builtin_copysignf(x.v[i], y.v[i]);
    return x;
}
static inline vf vf_round(vf x)
{
    for (int i = 0; i < 16; i++) x.v[i] = vf_round_1(x.v[i]);
    return x;
}
static inline vf vf_ldexp(vf x, vf n)
{
    for (int i = 0; i < 16; i++) {
        int k = n.v[i] == n.v[i] ? (int)n.v[i] : 0, half = (k + 256) / 2 - 128;
        float first = half_float_of(half_bits_of(x.v[i]) + ((uint32_t)half << 23));
        x.v[i] = first * half_float_of((uint32_t)(k - half + 127) << 23);
    }
    return x;
}
static inline vf vf_power(vf x, vf n)
{
    for (int i = 0; i < 16; i++) {
        int k = n.v[i] == n.v[i] ? (int)n.v[i] : 0;
        x.v[i] = half_float_of(half_bits_of(x.v[i]) + ((uint32_t)k << 23));
    }
    return x;
}
static inline vf vf_frexp(vf x, vf *n)
{
    vf m;
    for (int i = 0; i < 16; i++) {
        uint32_t u = half_bits_of(x.v[i]) - 0x3f3504f3u;
        n->v[i] = (float)((int)((u >> 23) ^ 256u) - 256);
        m.v[i] = half_float_of((u & 0x7fffffu) + 0x3f3504f3u);
    }
    return m;
}
static inline vm vf_less(vf x, vf y)
{
    vm m;
    for (int i = 0; i < 16; i++) m.v[i] = x.v[i] < y.v[i] ? ~0u : 0;
    return m;
}
static inline vm vf_equal(vf x, vf y)
{
    vm m;
    for (int i = 0; i < 16; i++) m.v[i] = x.v[i] == y.v[i] ? ~0u : 0;
    return m;
}
static inline vm vm_and(vm x, vm y)
{
    for (int i = 0; i < 16; i++) x.v[i] &= y.v[i];
    return x;
}
static inline vm vm_or(vm x, vm y)
{
    for (int i = 0; i < 16; i++) x.v[i] |= y.v[i];
    return x;
}
static inline unsigned vm_bits(vm m)
{
    unsigned bits = 0;
    for (int i = 0; i < 16; i++) bits |= (m.v[i] & 1u) << i;
    return bits;
}
static inline vf vf_select(vm m, vf x, vf y)
{
    for (int i = 0; i < 16; i++)
        x.v[i] = half_float_of((half_bits_of(x.v[i]) & m.v[i]) | (half_bits_of(y.v[i]) & ~m.v[i]));
    return x;
}
static inline float vf_sum(vf x)
{
    for (int w = 8; w > 0; w /= 2)
        for (int i = 0; i < w; i++) x.v[i] = x.v[i] + x.v[i + w];
    return x.v[0];
}
static inline float vf_reduce_max(vf x)
{
    for (int w = 8; w > 0; w /= 2)
        for (int i = 0; i < w; i++) x.v[i] = x.v[i] > x.v[i + w] ? x.v[i] : x.v[i + w];
    return x.v[0];
}

typedef struct {
    uint64_t v[8];
} vu;

static inline vu vu_splat(uint64_t u)
{
    vu r;
    for (int i = 0; i < 8; i++) r.v[i] = u;
    return r;
}
static inline vu vu_count(uint64_t u)
{
    vu r;
    for (int i = 0; i < 8; i++) r.v[i] = u + (uint64_t)i;
    return r;
}
static inline vu vu_xor(vu x, vu y)
{
    for (int i = 0; i < 8; i++) x.v[i] ^= y.v[i];
    return x;
}
static inline vu vu_high(vu x)
{
    for (int i = 0; i < 8; i++) x.v[i] >>= 32;
    return x;
}
static inline vu vu_times(vu x, uint32_t u)
{
    for (int i = 0; i < 8; i++) x.v[i] = (x.v[i] & 0xffffffffu) * u;
    return x;
}
static inline void vu_words(const vu x[4], uint32_t *to)
{
    for (int c = 0; c < 8; c++)
        for (int w = 0; w < 4; w++) to[4 * c + w] = (uint32_t)x[w].v[c];
}
static inline vm vu_less(vu x, vu y, uint32_t u)
{
    vm m;
    for (int i = 0; i < 8; i++) m.v[i] = (uint32_t)x.v[i] < u ? ~0u : 0;
    for (int i = 0; i < 8; i++) m.v[i + 8] = (uint32_t)y.v[i] < u ? ~0u : 0;
    return m;
}
