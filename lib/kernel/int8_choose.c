/* int8_choose.c - selects the kernels for 8-bit integers. The build decides which tables are linked
   (RAPT_HAVE_...), and the processor decides which of them it can run. */
#include "base/base.h"
#include "kernel/int8.h"
#include <stdatomic.h>

extern const struct int8_kernels rapt__int8_scalar, rapt__int8_neon, rapt__int8_neondot,
    rapt__int8_avx2, rapt__int8_avxvnni, rapt__int8_avx512vnni;

static const struct int8_table {
    rapt_isa isa; /* the instruction set that the form belongs to */
    bool dots;    /* true if the form also needs the instructions that sum products of bytes */
    const struct int8_kernels *kernels;
} tables[] = {/* best first */
#ifdef RAPT_HAVE_AVX512VNNI
              {RAPT_ISA_AVX512, true, &rapt__int8_avx512vnni},
#endif
#ifdef RAPT_HAVE_AVXVNNI
              {RAPT_ISA_AVX2, true, &rapt__int8_avxvnni},
#endif
#ifdef RAPT_HAVE_AVX2
              {RAPT_ISA_AVX2, false, &rapt__int8_avx2},
#endif
#ifdef RAPT_HAVE_NEONDOT
              {RAPT_ISA_NEON, true, &rapt__int8_neondot},
#endif
#ifdef RAPT_HAVE_NEON
              {RAPT_ISA_NEON, false, &rapt__int8_neon},
#endif
              {RAPT_ISA_SCALAR, false, &rapt__int8_scalar}};

enum { TABLES = sizeof tables / sizeof tables[0], ISAS = RAPT_ISA_AVX512 + 1 };

/* The kernels chosen for each instruction set, or NULL until they are first requested. The choice
   is cached because CPUID takes microseconds in a virtual machine. Every thread makes the same
   choice, so the order of writes does not matter. */
static _Atomic(const struct int8_kernels *) chosen[ISAS];

static bool runs(const struct int8_table *t)
{
    return t->dots ? rapt__processor_dots(t->isa) : rapt__processor_has(t->isa);
}

const struct int8_kernels *rapt__int8_kernels(rapt_isa isa)
{
    const struct int8_kernels *k = atomic_load_explicit(&chosen[isa], memory_order_relaxed);

    if (k) return k;
    for (int i = 0; !k; i++) /* the last one always matches */
        if (tables[i].isa <= isa && runs(&tables[i])) k = tables[i].kernels;
    atomic_store_explicit(&chosen[isa], k, memory_order_relaxed);
    return k;
}

const struct int8_kernels *rapt__int8_kernels_of(enum int8_form form)
{
    for (int i = 0; i < TABLES; i++)
        if (tables[i].kernels->form == form && runs(&tables[i])) return tables[i].kernels;
    return NULL;
}
