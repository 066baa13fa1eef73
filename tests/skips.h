/* skips.h - reports what a test skips on this machine, and why, in a separate line, which run.sh
   repeats at the end. */
#ifndef RAPT_TESTS_SKIPS_H
#define RAPT_TESTS_SKIPS_H

#include <rapt/base.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static inline void skipped(const char *what, const char *why)
{
    printf("\nskipped: %s: %s\n", what, why);
    fflush(stdout);
}

enum { DATA_PATH = 512 };
/* Writes the path of RAPT_DATA/models/name, a file of another program, to `found`. Returns false if
   the file does not exist, after reporting that the test is skipped. */
static inline bool data_path(const char *test, const char *name, char found[DATA_PATH])
{
    const char *data = getenv("RAPT_DATA");
    int size = data ? snprintf(found, DATA_PATH, "%s/models/%s", data, name) : DATA_PATH;
    FILE *file = size < DATA_PATH ? fopen(found, "rb") : NULL;
    if (file)
        fclose(file);
    else
        skipped(test, "RAPT_DATA is not a folder with this model");
    return file != NULL;
}

/* Instruction sets that give the same bits. Plain C is one of them if the compiler uses a fused
   multiply-add. */
#if defined(__aarch64__)
static const rapt_isa same_bits_promised[] = {RAPT_ISA_NEON, RAPT_ISA_SCALAR};
#else
static const rapt_isa same_bits_promised[] = {RAPT_ISA_AVX2, RAPT_ISA_AVX512};
#endif
enum { EQUAL_SETS = sizeof same_bits_promised / sizeof *same_bits_promised };

/* Writes those that this processor has to `sets`, or plain C if it has none of them, and returns
   their number. If there is only one, reports once that the test has nothing to compare. */
static inline int equal_sets(const char *what, rapt_isa sets[EQUAL_SETS])
{
    static bool said;
    rapt_isa used = rapt_isa_used();
    int count = 0;

    for (int i = 0; i < EQUAL_SETS; i++)
        if (rapt_isa_use(same_bits_promised[i]) == RAPT_OK) sets[count++] = same_bits_promised[i];
    rapt_isa_use(used);
    if (count < EQUAL_SETS && !said) {
        skipped(what, "this processor has too few instruction sets to compare");
        said = true;
    }
    if (count == 0) sets[count++] = RAPT_ISA_SCALAR;
    return count;
}

#endif
