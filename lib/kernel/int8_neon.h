/* int8_neon.h - products of bytes on arm64: with sdot if compiled for it, otherwise with smull,
   which every arm64 processor has. */
#ifndef __aarch64__
#error "compile for arm64"
#endif

typedef struct {
    int8x16_t a, b, c, d; /* columns 0 to 3, ... */
} vw;
typedef struct {
    int32x4_t a, b, c, d;
} vi;
typedef int8x16_t vq;

static inline vw vw_load(const int8_t *p)
{
    return (vw){vld1q_s8(p), vld1q_s8(p + 16), vld1q_s8(p + 32), vld1q_s8(p + 48)};
}
static inline vq vq_load(const int8_t *p)
{
    int32_t four;
    memcpy(&four, p, sizeof four);
    return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

#define VQ_ARRANGE NULL
enum { VQ_SIZE = 1 };

#ifdef __ARM_FEATURE_DOTPROD
enum { VS_FORM = INT8_NEONDOT };
enum { VS_ROWS = 6, VS_PANELS = 1 }; /* register tile: 24 of 32 registers hold sums */

typedef vi vs;

static inline vs vs_start(int32_t sum)
{
    (void)sum;
    return (vs){vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0)};
}
static inline void vs_add(vs *s, vw w, vq q)
{
    s->a = vdotq_s32(s->a, w.a, q);
    s->b = vdotq_s32(s->b, w.b, q);
    s->c = vdotq_s32(s->c, w.c, q);
    s->d = vdotq_s32(s->d, w.d, q);
}
static inline vi vs_whole(vs s)
{
    return s;
}
#else
enum { VS_FORM = INT8_NEON };
enum { VS_ROWS = 2, VS_PANELS = 1 }; /* register tile: 16 of 32 registers hold sums */

typedef struct {
    int32x4_t half[8]; /* each holds partial sums of two columns: for each column, one lane for
                          inputs 0 and 1 of each group, and one for inputs 2 and 3 */
} vs;

static inline vs vs_start(int32_t sum)
{
    vs s;
    (void)sum;
    for (int i = 0; i < 8; i++) s.half[i] = vdupq_n_s32(0);
    return s;
}
static inline void vs_add_4(int32x4_t half[2], int8x16_t w, vq q)
{
    half[0] = vpadalq_s16(half[0], vmull_s8(vget_low_s8(w), vget_low_s8(q)));
    half[1] = vpadalq_s16(half[1], vmull_high_s8(w, q));
}
static inline void vs_add(vs *s, vw w, vq q)
{
    vs_add_4(s->half, w.a, q);
    vs_add_4(s->half + 2, w.b, q);
    vs_add_4(s->half + 4, w.c, q);
    vs_add_4(s->half + 6, w.d, q);
}
static inline vi vs_whole(vs s)
{
    return (vi){vpaddq_s32(s.half[0], s.half[1]), vpaddq_s32(s.half[2], s.half[3]),
                vpaddq_s32(s.half[4], s.half[5]), vpaddq_s32(s.half[6], s.half[7])};
}
#endif

static inline vf vs_float(vs s)
{
    vi x = vs_whole(s);
    return (vf){vcvtq_f32_s32(x.a), vcvtq_f32_s32(x.b), vcvtq_f32_s32(x.c), vcvtq_f32_s32(x.d)};
}

static inline vi vi_zero(void)
{
    return (vi){vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0)};
}
static inline vi vi_add(vi x, vi y)
{
    return (vi){vaddq_s32(x.a, y.a), vaddq_s32(x.b, y.b), vaddq_s32(x.c, y.c), vaddq_s32(x.d, y.d)};
}
static inline vf vi_float(vi x)
{
    return (vf){vcvtq_f32_s32(x.a), vcvtq_f32_s32(x.b), vcvtq_f32_s32(x.c), vcvtq_f32_s32(x.d)};
}
static inline int32_t vi_sum(vi x)
{
    return vaddvq_s32(vaddq_s32(vaddq_s32(x.a, x.b), vaddq_s32(x.c, x.d)));
}
static inline int32x4_t vi_max_magnitude_4(int32x4_t x, float32x4_t v)
{
    return vmaxq_s32(x, vandq_s32(vreinterpretq_s32_f32(v), vdupq_n_s32(0x7fffffff)));
}
static inline vi vi_max_magnitude(vi x, vf v)
{
    return (vi){vi_max_magnitude_4(x.a, v.a), vi_max_magnitude_4(x.b, v.b),
                vi_max_magnitude_4(x.c, v.c), vi_max_magnitude_4(x.d, v.d)};
}
static inline int32_t vi_reduce_max(vi x)
{
    return vmaxvq_s32(vmaxq_s32(vmaxq_s32(x.a, x.b), vmaxq_s32(x.c, x.d)));
}
static inline vi vi_nearest(vf v)
{
    return (vi){vcvtnq_s32_f32(v.a), vcvtnq_s32_f32(v.b), vcvtnq_s32_f32(v.c), vcvtnq_s32_f32(v.d)};
}
static inline void vi_store(int32_t *p, vi x)
{
    vst1q_s32(p, x.a);
    vst1q_s32(p + 4, x.b);
    vst1q_s32(p + 8, x.c);
    vst1q_s32(p + 12, x.d);
}
static inline int8x16_t vi_bytes(vi x)
{
    int16x8_t low = vcombine_s16(vmovn_s32(x.a), vmovn_s32(x.b));
    int16x8_t high = vcombine_s16(vmovn_s32(x.c), vmovn_s32(x.d));
    return vcombine_s8(vmovn_s16(low), vmovn_s16(high));
}
static inline void vi_store_bytes(int8_t *p, vi x)
{
    vst1q_s8(p, vi_bytes(x));
}
static inline void vi_store_groups(int8_t *p, const vi x[4])
{
    vst4q_s8(p, (int8x16x4_t){{vi_bytes(x[0]), vi_bytes(x[1]), vi_bytes(x[2]), vi_bytes(x[3])}});
}
