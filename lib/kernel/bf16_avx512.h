/* bf16_avx512.h - implements the operations listed in bf16_gemm.c with the vdpbf16ps
   instruction. */
#ifndef __AVX512BF16__
#error "compile with -mavx512bf16"
#endif

enum { VP_FORM = BF16_AVX512, VP_SUMS = BF16_STEPS };
enum { VP_ROWS = 13, VP_MAX_PANELS = 2, VP_GROUP = VP_ROWS };

typedef __m512i vp;
typedef struct {
    char none; /* nothing to check: the instruction is exact by definition */
} vp_check;

static inline vp vp_load(const uint32_t *p)
{
    return _mm512_loadu_si512(p);
}
static inline vp vp_splat(const uint32_t *p)
{
    return _mm512_set1_epi32((int)*p);
}
/* Uses asm, because with the intrinsic gcc 12 keeps two copies of the sums and spills them. */
static inline void vp_step(vf *sum, const vf *same, vp a, vp b, vp_check *check)
{
    (void)same, (void)check;
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(*sum) : "v"(a), "v"(b));
}
static inline vp_check vp_check_none(void)
{
    return (vp_check){0};
}
static inline void vp_check_sum(vp_check *check, vf sum)
{
    (void)check, (void)sum;
}
static inline void vp_check_end(vp_check *check, vf sum)
{
    (void)check, (void)sum;
}
static inline bool vp_check_failed(const vp_check *check)
{
    (void)check;
    return false;
}
