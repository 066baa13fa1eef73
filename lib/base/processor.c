/* processor.c - detects instruction sets, and whether Intel made the processor. On x86 the
   processor must support an instruction set (CPUID) and the operating system must save its
   registers (XGETBV): Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1,
   sections 14.3 and 15.2. On arm64 NEON is always present. */
#define _GNU_SOURCE /* syscall */
#include "base/base.h"

#if defined(__x86_64__)
#include <cpuid.h>

#if defined(__linux__)
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Returns the registers that this process may use, as bits of XCR0. Linux clears some bits until
   the process requests them with ARCH_REQ_XCOMP_PERM: Linux 5.16,
   Documentation/arch/x86/xstate.rst. */
static uint64_t permitted_state(void)
{
    enum { GET_PERMISSION = 0x1022 }; /* ARCH_GET_XCOMP_PERM */
    uint64_t state = 0;
    const int before = errno;
    const bool known = syscall(SYS_arch_prctl, GET_PERMISSION, &state) == 0;

    errno = before;
    return known ? state : 0;
}
#else
static uint64_t permitted_state(void)
{
    return 0;
}
#endif

static uint32_t saved_state(void) /* XCR0: the registers that the operating system saves */
{
    uint32_t low, high;

    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

bool rapt__processor_has(rapt_isa isa)
{
    unsigned a, b, c, d, a7, b7, c7, d7;
    uint32_t vectors = 1u << 12 | 1u << 27 | 1u << 28 | 1u << 29; /* FMA, XGETBV, AVX, F16C */
    uint32_t foundation = 1u << 16 | 1u << 17;                    /* AVX-512 F and DQ */

    if (isa == RAPT_ISA_SCALAR) return true;
    if (isa != RAPT_ISA_AVX2 && isa != RAPT_ISA_AVX512) return false;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & vectors) != vectors) return false;
    if (!__get_cpuid_count(7, 0, &a7, &b7, &c7, &d7)) return false;
    if (isa == RAPT_ISA_AVX2) return b7 >> 5 & 1 && (saved_state() & 0x06) == 0x06;
    return b7 >> 5 & 1 && (b7 & foundation) == foundation && (saved_state() & 0xe6) == 0xe6;
}

bool rapt__processor_dots(rapt_isa isa)
{
    unsigned a, b, c, d;

    if (!rapt__processor_has(isa)) return false;
    if (isa == RAPT_ISA_AVX512) /* AVX512_VNNI */
        return __get_cpuid_count(7, 0, &a, &b, &c, &d) && c >> 11 & 1;
    return isa == RAPT_ISA_AVX2 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && a >> 4 & 1;
}

bool rapt__processor_tiles(void)
{
    unsigned a, b, c, d;
    uint32_t tiles = 1u << 24 | 1u << 25;        /* AMX-TILE, AMX-INT8 */
    uint32_t shapes = 1u << 17, data = 1u << 18; /* in XCR0 */

    return rapt__processor_has(RAPT_ISA_AVX512) && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
           (d & tiles) == tiles && (saved_state() & (shapes | data)) == (shapes | data) &&
           (permitted_state() & data) != 0;
}

bool rapt__processor_bf16(void)
{
    unsigned a, b, c, d;

    return rapt__processor_has(RAPT_ISA_AVX512) && __get_cpuid_count(7, 1, &a, &b, &c, &d) &&
           a >> 5 & 1;
}

bool rapt__processor_by_intel(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(0, &a, &b, &c, &d) && b == signature_INTEL_ebx;
}
#elif defined(__aarch64__)
#if defined(__ARM_FEATURE_DOTPROD)
static bool has_sdot(void) /* the compiler may use it in the whole library */
{
    return true;
}
#elif defined(__linux__)
#include <sys/auxv.h>

static bool has_sdot(void)
{
    return getauxval(AT_HWCAP) >> 20 & 1; /* HWCAP_ASIMDDP */
}
#else
static bool has_sdot(void)
{
    return false;
}
#endif

bool rapt__processor_dots(rapt_isa isa)
{
    return isa == RAPT_ISA_NEON && has_sdot();
}

bool rapt__processor_has(rapt_isa isa)
{
    return isa == RAPT_ISA_SCALAR || isa == RAPT_ISA_NEON;
}

bool rapt__processor_tiles(void)
{
    return false;
}

bool rapt__processor_bf16(void)
{
    return false;
}

bool rapt__processor_by_intel(void)
{
    return false;
}
#else
bool rapt__processor_dots(rapt_isa isa)
{
    (void)isa;
    return false;
}

bool rapt__processor_has(rapt_isa isa)
{
    return isa == RAPT_ISA_SCALAR;
}

bool rapt__processor_tiles(void)
{
    return false;
}

bool rapt__processor_bf16(void)
{
    return false;
}

bool rapt__processor_by_intel(void)
{
    return false;
}
#endif
