/* processor.c - CPUID agrees with the operating system about the maker of the processor and its
   instruction sets. Nothing is compared if the system has no such list, or if it describes another
   kind of processor, as an emulator may show that of its host. */
#include "base/base.h"
#include "skips.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#if defined(__x86_64__)
enum { LISTS_X86 = true };
#else
enum { LISTS_X86 = false };
#endif

/* Finds the first line of /proc/cpuinfo with that key and copies its value, between blanks. Returns
   false if there is none. */
static bool listed(const char *key, char *value, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    bool found = false;
    char line[8192];

    while (file && !found && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        found = colon && strncmp(line, key, strlen(key)) == 0;
        if (!found) continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(value, size, "%s ", colon + 1);
    }
    if (file) fclose(file);
    return found && LISTS_X86;
}

static void maker(void **state)
{
    char vendor[8192];

    (void)state;
    if (listed("vendor_id", vendor, sizeof vendor))
        assert_int_equal(rapt__processor_by_intel(), strcmp(vendor, " GenuineIntel ") == 0);
    else if (LISTS_X86)
        skipped("the processor's maker", "/proc/cpuinfo does not name it");
    else
        assert_false(rapt__processor_by_intel());
}

static void instruction_sets(void **state)
{
    char flags[8192];

    (void)state;
    if (!listed("flags", flags, sizeof flags)) {
        if (LISTS_X86)
            skipped("instruction sets", "/proc/cpuinfo does not list them");
        else
            assert_false(rapt__processor_has(RAPT_ISA_AVX2));
        return;
    }
    bool avx2 = strstr(flags, " fma ") && strstr(flags, " avx2 ");
    assert_int_equal(rapt__processor_has(RAPT_ISA_AVX2), avx2);
    bool avx512 = avx2 && strstr(flags, " avx512f ") && strstr(flags, " avx512dq ");
    assert_int_equal(rapt__processor_has(RAPT_ISA_AVX512), avx512);
    assert_false(rapt__processor_has(RAPT_ISA_NEON));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(maker), cmocka_unit_test(instruction_sets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
