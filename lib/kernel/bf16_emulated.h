/* bf16_emulated.h - implements the operations listed in bf16_gemm.c with fused multiply-adds. A
   step equals a fused multiply-add except for denormals and NaNs. Since factors are never denormal,
   it suffices to check sums: a nonzero sum whose magnitude is at most 2^-126 may have been rounded
   as a denormal, and a final NaN may have the wrong bits. A tile that contains either is recomputed
   element by element. */
#include <math.h>

enum { VP_FORM = BF16_EMULATED, VP_SUMS = RAPT_BF16_SUMS };
/* BF16_TILES takes twice as many registers per row, for the even and the odd sum. */
enum { VP_ROWS = (enum bf16_sums)VP_SUMS == BF16_STEPS ? 4 : 2, VP_MAX_PANELS = 1, VP_GROUP = 16 };

typedef struct {
    vf odd, even;
} vp;
typedef struct {
    vm tiny;         /* lanes with a sum that may have been rounded as a denormal */
    unsigned number; /* lanes without a NaN */
} vp_check;

static inline vp vp_load(const uint32_t *p)
{
    float odd[LANES], even[LANES];
    for (int i = 0; i < LANES; i++) {
        odd[i] = half_float_of(p[i] & 0xffff0000);
        even[i] = half_float_of(p[i] << 16);
    }
    return (vp){vf_load(odd), vf_load(even)};
}
static inline vp vp_splat(const uint32_t *p)
{
    return (vp){vf_splat(half_float_of(*p & 0xffff0000)), vf_splat(half_float_of(*p << 16))};
}
static inline vm vp_tiny(vf sum)
{
    vf size = vf_abs(sum);
    return vm_and(vf_less(vf_zero(), size), vf_less(size, vf_splat(0x1.000002p-126f)));
}
/* Computes a b + c with a single rounding, even in plain C, where vf_fma may round twice. */
static inline vf vp_fma(vf a, vf b, vf c)
{
    float x[LANES], y[LANES], z[LANES];
    if ((rapt_isa)VF_ISA != RAPT_ISA_SCALAR) return vf_fma(a, b, c);
    vf_store(x, a), vf_store(y, b), vf_store(z, c);
    for (int i = 0; i < LANES; i++) z[i] = fmaf(x[i], y[i], z[i]);
    return vf_load(z);
}
/* The odd sum is stored before the even one is read, because they may be the same. */
static inline void vp_step(vf *even, vf *odd, vp a, vp b, vp_check *check)
{
    const vf first = *odd = vp_fma(a.odd, b.odd, *odd);
    const vf second = *even = vp_fma(a.even, b.even, *even);
    check->tiny = vm_or(check->tiny, vm_or(vp_tiny(first), vp_tiny(second)));
}
static inline vp_check vp_check_none(void)
{
    return (vp_check){vf_less(vf_zero(), vf_zero()), 0xffff};
}
static inline void vp_check_sum(vp_check *check, vf sum)
{
    check->tiny = vm_or(check->tiny, vp_tiny(sum));
}
static inline void vp_check_end(vp_check *check, vf sum)
{
    check->number &= vm_bits(vf_equal(sum, sum));
}
static inline bool vp_check_failed(const vp_check *check)
{
    return vm_bits(check->tiny) != 0 || check->number != 0xffff;
}
