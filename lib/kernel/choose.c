/* choose.c - selects kernels from the tables that the build links (RAPT_HAVE_...) and the processor
   can run, and implements rapt_isa_*. */
#include "base/base.h"
#include "kernel/bf16.h"
#include "kernel/int8.h"
#include "kernel/kernel.h"
#include <stdatomic.h>

/* ---- floats: by default, the first table that the machine can run is active. ---- */

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

/* ---- 8-bit integers ---- */

extern const struct int8_kernels rapt__int8_scalar, rapt__int8_neon, rapt__int8_neondot,
    rapt__int8_avx2, rapt__int8_avxvnni, rapt__int8_avx512vnni, rapt__int8_amx;

/* Extensions that a variant needs in addition to its instruction set: none, dot products of bytes,
   or dot products and tiles. */
enum needs { NOTHING, DOTS, TILES };

static const struct int8_table {
    rapt_isa isa; /* the instruction set that the variant belongs to */
    enum needs needs;
    const struct int8_kernels *kernels;
} int8_tables[] = {/* best first */
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

enum { INT8_TABLES = sizeof int8_tables / sizeof int8_tables[0], ISAS = RAPT_ISA_AVX512 + 1 };

/* The kernels chosen for each instruction set; NULL until first requested. The choice is cached
   because CPUID takes microseconds in a virtual machine. It never changes, so all threads of a team
   use the same kernels even if the process obtains permission to use tiles in the meantime. */
static _Atomic(const struct int8_kernels *) int8_chosen[ISAS];

static bool int8_runs(const struct int8_table *t)
{
    if (t->needs == TILES && !rapt__processor_tiles()) return false;
    return t->needs == NOTHING ? rapt__processor_has(t->isa) : rapt__processor_dots(t->isa);
}

const struct int8_kernels *rapt__int8_kernels(rapt_isa isa)
{
    const struct int8_kernels *k = atomic_load_explicit(&int8_chosen[isa], memory_order_relaxed);
    const struct int8_kernels *first = NULL;

    if (k) return k;
    for (int i = 0; !k; i++) /* the last one always matches */
        if (int8_tables[i].isa <= isa && int8_runs(&int8_tables[i])) k = int8_tables[i].kernels;
    return atomic_compare_exchange_strong(&int8_chosen[isa], &first, k) ? k : first;
}

const char *rapt_isa_int8(void)
{
    return rapt__int8_kernels(rapt_isa_used())->name;
}

const struct int8_kernels *rapt__int8_kernels_of(enum int8_form form)
{
    for (int i = 0; i < INT8_TABLES; i++)
        if (int8_tables[i].kernels->form == form && int8_runs(&int8_tables[i]))
            return int8_tables[i].kernels;
    return NULL;
}

/* ---- bf16 ---- */

extern const struct bf16_kernels rapt__bf16_scalar, rapt__bf16_neon, rapt__bf16_avx2,
    rapt__bf16_avx512, rapt__bf16_scalar_slices, rapt__bf16_neon_slices, rapt__bf16_avx2_slices,
    rapt__bf16_avx512_slices, rapt__bf16_avx512bf16, rapt__bf16_amx;

enum { BF16_KINDS = BF16_TILES + 1 };

/* The kernels that emulate vdpbf16ps and tdpbf16ps, by instruction set. */
static const struct bf16_kernels *const bf16_emulations[ISAS][BF16_KINDS] = {
    [RAPT_ISA_SCALAR] = {&rapt__bf16_scalar, &rapt__bf16_scalar_slices},
#ifdef RAPT_HAVE_NEON
    [RAPT_ISA_NEON] = {&rapt__bf16_neon, &rapt__bf16_neon_slices},
#endif
#ifdef RAPT_HAVE_AVX2
    [RAPT_ISA_AVX2] = {&rapt__bf16_avx2, &rapt__bf16_avx2_slices},
#endif
#ifdef RAPT_HAVE_AVX512
    [RAPT_ISA_AVX512] = {&rapt__bf16_avx512, &rapt__bf16_avx512_slices},
#endif
};

/* The kernels that use vdpbf16ps and tdpbf16ps, or NULL if this build does not contain them. */
static const struct bf16_kernels *const bf16_native[BF16_KINDS] = {
#ifdef RAPT_HAVE_AVX512BF16
    [BF16_STEPS] = &rapt__bf16_avx512bf16,
#else
    [BF16_STEPS] = NULL,
#endif
#ifdef RAPT_HAVE_AMXBF16
    [BF16_TILES] = &rapt__bf16_amx,
#else
    [BF16_TILES] = NULL,
#endif
};

const struct bf16_kernels *rapt__bf16_emulation(rapt_isa isa, enum bf16_sums sums)
{
    return (unsigned)isa < ISAS && rapt__processor_has(isa) ? bf16_emulations[isa][sums] : NULL;
}

/* Returns true if this machine has the instruction for this kind of sums. */
static bool bf16_runs(enum bf16_sums sums)
{
    return sums == BF16_TILES ? rapt__processor_tiles_bf16() : rapt__processor_bf16();
}

/* The kernels chosen for each instruction set and kind; NULL until first requested. The choice is
   cached for the same reasons as that of int8_chosen, and it never changes. */
static _Atomic(const struct bf16_kernels *) bf16_chosen[ISAS][BF16_KINDS];

const struct bf16_kernels *rapt__bf16_kernels(rapt_isa isa, enum bf16_sums sums)
{
    _Atomic(const struct bf16_kernels *) *chosen_here = &bf16_chosen[isa][sums];
    const struct bf16_kernels *k = atomic_load_explicit(chosen_here, memory_order_relaxed);
    const struct bf16_kernels *first = NULL;

    if (k) return k;
    const bool native = isa == RAPT_ISA_AVX512 && bf16_native[sums] && bf16_runs(sums);
    k = native ? bf16_native[sums] : rapt__bf16_emulation(isa, sums);
    return atomic_compare_exchange_strong(chosen_here, &first, k) ? k : first;
}
