/* bf16_choose.c - selects the kernels for products of bf16 numbers among the tables that the build
   links (RAPT_HAVE_...) and the processor can run. */
#include "base/base.h"
#include "kernel/bf16.h"
#include <stdatomic.h>

extern const struct bf16_kernels rapt__bf16_scalar, rapt__bf16_neon, rapt__bf16_avx2,
    rapt__bf16_avx512, rapt__bf16_avx512bf16;

/* The emulations, by instruction set. */
static const struct bf16_kernels *const emulations[] = {
    [RAPT_ISA_SCALAR] = &rapt__bf16_scalar,
#ifdef RAPT_HAVE_NEON
    [RAPT_ISA_NEON] = &rapt__bf16_neon,
#endif
#ifdef RAPT_HAVE_AVX2
    [RAPT_ISA_AVX2] = &rapt__bf16_avx2,
#endif
#ifdef RAPT_HAVE_AVX512
    [RAPT_ISA_AVX512] = &rapt__bf16_avx512,
#endif
};

/* The kernels with the instruction, or NULL if they were not built. */
#ifdef RAPT_HAVE_AVX512BF16
static const struct bf16_kernels *const native = &rapt__bf16_avx512bf16;
#else
static const struct bf16_kernels *const native = NULL;
#endif

const struct bf16_kernels *rapt__bf16_emulation(rapt_isa isa)
{
    const size_t count = sizeof emulations / sizeof *emulations;
    return (size_t)isa < count && rapt__processor_has(isa) ? emulations[isa] : NULL;
}

/* The kernels chosen for each instruction set; NULL until first requested. The choice is cached
   because CPUID takes microseconds in a virtual machine. Every thread makes the same choice, so the
   order of writes does not matter. */
static _Atomic(const struct bf16_kernels *) chosen[RAPT_ISA_AVX512 + 1];

const struct bf16_kernels *rapt__bf16_kernels(rapt_isa isa)
{
    const struct bf16_kernels *k = atomic_load_explicit(&chosen[isa], memory_order_relaxed);

    if (k) return k;
    const bool has = isa == RAPT_ISA_AVX512 && native && rapt__processor_bf16();
    k = has ? native : rapt__bf16_emulation(isa);
    atomic_store_explicit(&chosen[isa], k, memory_order_relaxed);
    return k;
}
