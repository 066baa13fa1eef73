/* int8_choose.c - selects the kernels for 8-bit integers among the tables that the build links
   (RAPT_HAVE_...) and the processor can run. */
#include "base/base.h"
#include "kernel/int8.h"
#include <stdatomic.h>

extern const struct int8_kernels rapt__int8_scalar, rapt__int8_neon, rapt__int8_neondot,
    rapt__int8_avx2, rapt__int8_avxvnni, rapt__int8_avx512vnni, rapt__int8_amx;

/* What a form needs besides its instruction set: nothing, dot products of bytes, or these and
   tiles. */
enum needs { NOTHING, DOTS, TILES };

static const struct int8_table {
    rapt_isa isa; /* the instruction set that the form belongs to */
    enum needs needs;
    const struct int8_kernels *kernels;
} tables[] = {/* best first */
#ifdef RAPT_HAVE_AMX
              {RAPT_ISA_AVX512, TILES, &rapt__int8_amx},
#endif
#ifdef RAPT_HAVE_AVX512VNNI
              {RAPT_ISA_AVX512, DOTS, &rapt__int8_avx512vnni},
#endif
#ifdef RAPT_HAVE_AVXVNNI
              {RAPT_ISA_AVX2, DOTS, &rapt__int8_avxvnni},
#endif
#ifdef RAPT_HAVE_AVX2
              {RAPT_ISA_AVX2, NOTHING, &rapt__int8_avx2},
#endif
#ifdef RAPT_HAVE_NEONDOT
              {RAPT_ISA_NEON, DOTS, &rapt__int8_neondot},
#endif
#ifdef RAPT_HAVE_NEON
              {RAPT_ISA_NEON, NOTHING, &rapt__int8_neon},
#endif
              {RAPT_ISA_SCALAR, NOTHING, &rapt__int8_scalar}};

enum { TABLES = sizeof tables / sizeof tables[0], ISAS = RAPT_ISA_AVX512 + 1 };

/* The kernels chosen for each instruction set; NULL until first requested. The choice is cached
   because CPUID takes microseconds in a virtual machine. It never changes, so all threads of a team
   use the same kernels even if the process asks for tiles meanwhile. */
static _Atomic(const struct int8_kernels *) chosen[ISAS];

static bool runs(const struct int8_table *t)
{
    if (t->needs == TILES && !rapt__processor_tiles()) return false;
    return t->needs == NOTHING ? rapt__processor_has(t->isa) : rapt__processor_dots(t->isa);
}

const struct int8_kernels *rapt__int8_kernels(rapt_isa isa)
{
    const struct int8_kernels *k = atomic_load_explicit(&chosen[isa], memory_order_relaxed);
    const struct int8_kernels *first = NULL;

    if (k) return k;
    for (int i = 0; !k; i++) /* the last one always matches */
        if (tables[i].isa <= isa && runs(&tables[i])) k = tables[i].kernels;
    return atomic_compare_exchange_strong(&chosen[isa], &first, k) ? k : first;
}

const char *rapt_isa_int8(void)
{
    return rapt__int8_kernels(rapt_isa_used())->name;
}

const struct int8_kernels *rapt__int8_kernels_of(enum int8_form form)
{
    for (int i = 0; i < TABLES; i++)
        if (tables[i].kernels->form == form && runs(&tables[i])) return tables[i].kernels;
    return NULL;
}
