/* processor.c - what is known about the processor and its caches. */
#include "base/base.h"
#include "skips.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- processor: CPUID agrees with the operating system about the maker of the processor and its
   instruction sets. Nothing is compared if the system has no such list, or if it describes another
   kind of processor, as an emulator may show that of its host. ---- */

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

/* ---- cache: rows that fall into few sets of the cache collide; rows that spread over all sets do
   not, nor do few rows. The numbers hold for L2 caches from 128 KB to 16 MB. ---- */

static void collisions(void **state)
{
    (void)state;
    assert_true(rapt__rows_collide(1 << 20, 512));
    assert_true(rapt__rows_collide(3 << 20, 512)); /* the largest power of two in the distance is 4
                                                      MB, too */
    assert_false(rapt__rows_collide(1 << 20, 2));
    assert_false(rapt__rows_collide((1 << 20) + 1, 512));
    assert_false(rapt__rows_collide((1 << 20) + 16, 512));
    assert_true(rapt__rows_collide(16, 1 << 20)); /* more than the cache */
    for (int rows = 1; rows < 1 << 20; rows *= 2) /* more rows collide sooner */
        assert_true(!rapt__rows_collide(2048, rows) || rapt__rows_collide(2048, 2 * rows));
    assert_false(rapt__rows_collide(2048, 0));
}

/* Reads a line of each row, of adjacent rows and of rows 4 MB apart. L1 caches have 2 to 64
   ways. */
static void tiles(void **state)
{
    (void)state;
    assert_false(rapt__tiles_collide(1 << 20, 2));
    assert_true(rapt__tiles_collide(1 << 20, 128));
    assert_false(rapt__tiles_collide((1 << 20) + 16, 128));
    assert_false(rapt__tiles_collide(16, 14));
    int ways = rapt__first_level_ways();
    assert_false(rapt__tiles_collide(1 << 20, ways));
    assert_false(rapt__tiles_collide(1 << 20, ways + ways / 2));
    assert_true(rapt__tiles_collide(1 << 20, 2 * ways));
}

static void sizes(void **state)
{
    (void)state;
    assert_true(rapt__second_level_size() >= 1 << 12);
    assert_int_equal(rapt__near_size() == rapt__second_level_size(), rapt__third_level_far());
    assert_in_range(rapt__first_level_ways(), 1, UINT16_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maker),      cmocka_unit_test(instruction_sets),
        cmocka_unit_test(collisions), cmocka_unit_test(tiles),
        cmocka_unit_test(sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
