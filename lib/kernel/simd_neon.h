/* simd_neon.h - sixteen lanes in four arm64 registers. */
#ifndef __aarch64__
#error "compile for arm64"
#endif
#include <arm_neon.h>

enum { VF_ISA = RAPT_ISA_NEON };
enum { VF_ROWS = 6, VF_PANELS = 1 }; /* register tile: sums take 24 of 32 registers */

typedef struct {
    float32x4_t a, b, c, d;
} vf;
typedef struct {
    uint32x4_t a, b, c, d;
} vm;

static inline vf vf_splat(float s)
{
    float32x4_t q = vdupq_n_f32(s);
    return (vf){q, q, q, q};
}
static inline vf vf_zero(void)
{
    return vf_splat(0);
}
static inline vf vf_load(const float *p)
{
    return (vf){vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)};
}
static inline vf vf_load_bf16(const uint16_t *p)
{
    uint16x8_t low = vld1q_u16(p), high = vld1q_u16(p + 8);
    return (vf){vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(low), 16)),
                vreinterpretq_f32_u32(vshll_n_u16(vget_high_u16(low), 16)),
                vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(high), 16)),
                vreinterpretq_f32_u32(vshll_n_u16(vget_high_u16(high), 16))};
}
static inline float32x4_t vf_load_f16_4(const uint16_t *p)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
static inline vf vf_load_f16(const uint16_t *p)
{
    return (vf){vf_load_f16_4(p), vf_load_f16_4(p + 4), vf_load_f16_4(p + 8),
                vf_load_f16_4(p + 12)};
}
static inline void vf_store(float *p, vf x)
{
    vst1q_f32(p, x.a);
    vst1q_f32(p + 4, x.b);
    vst1q_f32(p + 8, x.c);
    vst1q_f32(p + 12, x.d);
}
static inline vf vf_load_n(const float *p, int n, float rest)
{
    float t[16];
    for (int i = 0; i < 16; i++) t[i] = i < n ? p[i] : rest;
    return vf_load(t);
}
static inline void vf_store_n(float *p, vf x, int n)
{
    float t[16];
    vf_store(t, x);
    for (int i = 0; i < n && i < 16; i++) p[i] = t[i];
}
static inline vf vf_add(vf x, vf y)
{
    return (vf){vaddq_f32(x.a, y.a), vaddq_f32(x.b, y.b), vaddq_f32(x.c, y.c), vaddq_f32(x.d, y.d)};
}
static inline vf vf_sub(vf x, vf y)
{
    return (vf){vsubq_f32(x.a, y.a), vsubq_f32(x.b, y.b), vsubq_f32(x.c, y.c), vsubq_f32(x.d, y.d)};
}
static inline vf vf_mul(vf x, vf y)
{
    return (vf){vmulq_f32(x.a, y.a), vmulq_f32(x.b, y.b), vmulq_f32(x.c, y.c), vmulq_f32(x.d, y.d)};
}
static inline vf vf_div(vf x, vf y)
{
    return (vf){vdivq_f32(x.a, y.a), vdivq_f32(x.b, y.b), vdivq_f32(x.c, y.c), vdivq_f32(x.d, y.d)};
}
static inline vf vf_fma(vf x, vf y, vf z)
{
    return (vf){vfmaq_f32(z.a, x.a, y.a), vfmaq_f32(z.b, x.b, y.b), vfmaq_f32(z.c, x.c, y.c),
                vfmaq_f32(z.d, x.d, y.d)};
}
static inline vf vf_fnma(vf x, vf y, vf z)
{
    return (vf){vfmsq_f32(z.a, x.a, y.a), vfmsq_f32(z.b, x.b, y.b), vfmsq_f32(z.c, x.c, y.c),
                vfmsq_f32(z.d, x.d, y.d)};
}
static inline vf vf_sqrt(vf x)
{
    return (vf){vsqrtq_f32(x.a), vsqrtq_f32(x.b), vsqrtq_f32(x.c), vsqrtq_f32(x.d)};
}
static inline vf vf_abs(vf x)
{
    return (vf){vabsq_f32(x.a), vabsq_f32(x.b), vabsq_f32(x.c), vabsq_f32(x.d)};
}
static inline vf vf_round(vf x)
{
    return (vf){vrndnq_f32(x.a), vrndnq_f32(x.b), vrndnq_f32(x.c), vrndnq_f32(x.d)};
}
static inline vm vf_less(vf x, vf y)
{
    return (vm){vcltq_f32(x.a, y.a), vcltq_f32(x.b, y.b), vcltq_f32(x.c, y.c), vcltq_f32(x.d, y.d)};
}
static inline vm vf_equal(vf x, vf y)
{
    return (vm){vceqq_f32(x.a, y.a), vceqq_f32(x.b, y.b), vceqq_f32(x.c, y.c), vceqq_f32(x.d, y.d)};
}
static inline vm vm_and(vm x, vm y)
{
    return (vm){vandq_u32(x.a, y.a), vandq_u32(x.b, y.b), vandq_u32(x.c, y.c), vandq_u32(x.d, y.d)};
}
static inline vm vm_or(vm x, vm y)
{
    return (vm){vorrq_u32(x.a, y.a), vorrq_u32(x.b, y.b), vorrq_u32(x.c, y.c), vorrq_u32(x.d, y.d)};
}
static inline unsigned vm_bits(vm m)
{
    static const uint32_t position[16] = {1,        2,        4,        8,       1u << 4,  1u << 5,
                                          1u << 6,  1u << 7,  1u << 8,  1u << 9, 1u << 10, 1u << 11,
                                          1u << 12, 1u << 13, 1u << 14, 1u << 15};
    uint32x4_t ab =
        vorrq_u32(vandq_u32(m.a, vld1q_u32(position)), vandq_u32(m.b, vld1q_u32(position + 4)));
    uint32x4_t cd = vorrq_u32(vandq_u32(m.c, vld1q_u32(position + 8)),
                              vandq_u32(m.d, vld1q_u32(position + 12)));
    return vaddvq_u32(vorrq_u32(ab, cd));
}
static inline vf vf_select(vm m, vf x, vf y)
{
    return (vf){vbslq_f32(m.a, x.a, y.a), vbslq_f32(m.b, x.b, y.b), vbslq_f32(m.c, x.c, y.c),
                vbslq_f32(m.d, x.d, y.d)};
}
static inline vf vf_max(vf x, vf y)
{
    return vf_select(vf_less(y, x), x, y);
}
static inline vf vf_min(vf x, vf y)
{
    return vf_select(vf_less(x, y), x, y);
}
static inline vf vf_sign(vf x, vf y)
{
    uint32x4_t sign = vdupq_n_u32(0x80000000u);
    return vf_select((vm){sign, sign, sign, sign}, y, x);
}
static inline float32x4_t vf_ldexp_4(float32x4_t x, float32x4_t n)
{
    int32x4_t k = vcvtq_s32_f32(n), half = vshrq_n_s32(k, 1);
    int32x4_t rest = vaddq_s32(vsubq_s32(k, half), vdupq_n_s32(127));
    int32x4_t first = vaddq_s32(vreinterpretq_s32_f32(x), vshlq_n_s32(half, 23));
    return vmulq_f32(vreinterpretq_f32_s32(first), vreinterpretq_f32_s32(vshlq_n_s32(rest, 23)));
}
static inline vf vf_ldexp(vf x, vf n)
{
    return (vf){vf_ldexp_4(x.a, n.a), vf_ldexp_4(x.b, n.b), vf_ldexp_4(x.c, n.c),
                vf_ldexp_4(x.d, n.d)};
}
static inline float32x4_t vf_power_4(float32x4_t x, float32x4_t n)
{
    int32x4_t exponent = vshlq_n_s32(vcvtq_s32_f32(n), 23);
    return vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(x), exponent));
}
static inline vf vf_power(vf x, vf n)
{
    return (vf){vf_power_4(x.a, n.a), vf_power_4(x.b, n.b), vf_power_4(x.c, n.c),
                vf_power_4(x.d, n.d)};
}
static inline float32x4_t vf_frexp_4(float32x4_t x, float32x4_t *n)
{
    int32x4_t from = vdupq_n_s32(0x3f3504f3), u = vsubq_s32(vreinterpretq_s32_f32(x), from);
    *n = vcvtq_f32_s32(vshrq_n_s32(u, 23));
    u = vandq_s32(u, vdupq_n_s32(0x7fffff));
    return vreinterpretq_f32_s32(vaddq_s32(u, from));
}
static inline vf vf_frexp(vf x, vf *n)
{
    return (vf){vf_frexp_4(x.a, &n->a), vf_frexp_4(x.b, &n->b), vf_frexp_4(x.c, &n->c),
                vf_frexp_4(x.d, &n->d)};
}
static inline float vf_sum(vf x)
{
    float32x4_t q = vaddq_f32(vaddq_f32(x.a, x.c), vaddq_f32(x.b, x.d));
    float32x2_t d = vadd_f32(vget_low_f32(q), vget_high_f32(q));
    return vget_lane_f32(d, 0) + vget_lane_f32(d, 1);
}
static inline float vf_reduce_max(vf x)
{
    vf y = {x.c, x.d, x.c, x.d};
    x = vf_max(x, y);
    x = vf_max(x, (vf){x.b, x.b, x.b, x.b});
    float lane[4];
    vst1q_f32(lane, x.a);
    lane[0] = lane[0] > lane[2] ? lane[0] : lane[2];
    lane[1] = lane[1] > lane[3] ? lane[1] : lane[3];
    return lane[0] > lane[1] ? lane[0] : lane[1];
}

typedef struct {
    uint64x2_t a, b, c, d;
} vu;

static inline vu vu_splat(uint64_t u)
{
    uint64x2_t q = vdupq_n_u64(u);
    return (vu){q, q, q, q};
}
static inline vu vu_count(uint64_t u)
{
    uint64x2_t q = vaddq_u64(vdupq_n_u64(u), vcombine_u64(vcreate_u64(0), vcreate_u64(1)));
    uint64x2_t two = vdupq_n_u64(2), four = vdupq_n_u64(4);
    return (vu){q, vaddq_u64(q, two), vaddq_u64(q, four), vaddq_u64(vaddq_u64(q, two), four)};
}
static inline vu vu_xor(vu x, vu y)
{
    return (vu){veorq_u64(x.a, y.a), veorq_u64(x.b, y.b), veorq_u64(x.c, y.c), veorq_u64(x.d, y.d)};
}
static inline vu vu_high(vu x)
{
    return (vu){vshrq_n_u64(x.a, 32), vshrq_n_u64(x.b, 32), vshrq_n_u64(x.c, 32),
                vshrq_n_u64(x.d, 32)};
}
static inline vu vu_times(vu x, uint32_t u)
{
    uint32x2_t by = vdup_n_u32(u);
    return (vu){vmull_u32(vmovn_u64(x.a), by), vmull_u32(vmovn_u64(x.b), by),
                vmull_u32(vmovn_u64(x.c), by), vmull_u32(vmovn_u64(x.d), by)};
}
static inline void vu_words_2(uint64x2_t a, uint64x2_t b, uint64x2_t c, uint64x2_t d, uint32_t *to)
{
    uint32x4_t low = vreinterpretq_u32_u64(vsliq_n_u64(a, b, 32));
    uint32x4_t high = vreinterpretq_u32_u64(vsliq_n_u64(c, d, 32));
    vst1q_u32(to, vcombine_u32(vget_low_u32(low), vget_low_u32(high)));
    vst1q_u32(to + 4, vcombine_u32(vget_high_u32(low), vget_high_u32(high)));
}
static inline void vu_words(const vu x[4], uint32_t *to)
{
    vu_words_2(x[0].a, x[1].a, x[2].a, x[3].a, to);
    vu_words_2(x[0].b, x[1].b, x[2].b, x[3].b, to + 8);
    vu_words_2(x[0].c, x[1].c, x[2].c, x[3].c, to + 16);
    vu_words_2(x[0].d, x[1].d, x[2].d, x[3].d, to + 24);
}
static inline vm vu_less(vu x, vu y, uint32_t u)
{
    uint32x4_t max = vdupq_n_u32(u);
    return (vm){vcltq_u32(vcombine_u32(vmovn_u64(x.a), vmovn_u64(x.b)), max),
                vcltq_u32(vcombine_u32(vmovn_u64(x.c), vmovn_u64(x.d)), max),
                vcltq_u32(vcombine_u32(vmovn_u64(y.a), vmovn_u64(y.b)), max),
                vcltq_u32(vcombine_u32(vmovn_u64(y.c), vmovn_u64(y.d)), max)};
}
