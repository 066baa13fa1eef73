/* choose.c - selects the active table of kernels, and implements rapt_isa_*. The build decides
   which tables are linked (RAPT_HAVE_...). By default, the first table below that the processor can
   run is active. */
#include "base/base.h"
#include "kernel/kernel.h"
#include <stdatomic.h>

extern const struct kernels rapt__kernels_scalar, rapt__kernels_neon, rapt__kernels_avx2,
    rapt__kernels_avx512;

static const struct kernels *const tables[] = {/* best first */
#ifdef RAPT_HAVE_AVX512
                                               &rapt__kernels_avx512,
#endif
#ifdef RAPT_HAVE_AVX2
                                               &rapt__kernels_avx2,
#endif
#ifdef RAPT_HAVE_NEON
                                               &rapt__kernels_neon,
#endif
                                               &rapt__kernels_scalar};

enum { TABLES = sizeof tables / sizeof tables[0] };

/* The active table; NULL until first requested. Every thread finds the same table, so the order of
   writes does not matter. */
static _Atomic(const struct kernels *) chosen;

const struct kernels *rapt__kernels_of(rapt_isa isa)
{
    for (int i = 0; i < TABLES; i++)
        if (tables[i]->isa == isa && rapt__processor_has(isa)) return tables[i];
    return NULL;
}

const struct kernels *rapt__kernels(void)
{
    const struct kernels *k = atomic_load_explicit(&chosen, memory_order_relaxed);

    if (k != NULL) return k;
    for (int i = 0; k == NULL; i++)
        if (rapt__processor_has(tables[i]->isa)) k = tables[i]; /* the last one always matches */
    atomic_store_explicit(&chosen, k, memory_order_relaxed);
    return k;
}

bool rapt__kernels_plain(void)
{
    for (int i = 0; i < TABLES; i++)
        if (tables[i]->isa != RAPT_ISA_SCALAR && rapt__processor_has(tables[i]->isa)) return false;
    return true;
}

rapt_isa rapt_isa_used(void)
{
    return rapt__kernels()->isa;
}

rapt_status rapt_isa_use(rapt_isa isa)
{
    const struct kernels *k = rapt__kernels_of(isa);

    if (k == NULL) return RAPT_BAD_ARGUMENT;
    atomic_store_explicit(&chosen, k, memory_order_relaxed);
    return RAPT_OK;
}

const char *rapt_isa_name(rapt_isa isa)
{
    static const char *const names[] = {"scalar", "neon", "avx2", "avx512"};

    return (unsigned)isa < sizeof names / sizeof names[0] ? names[isa] : NULL;
}
