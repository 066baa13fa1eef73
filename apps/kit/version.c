/* version.c - prints --version: program and library, how they were built, and what they run on. */
#include "kit/program.h"
#include <commit.h> /* KIT_COMMIT: "" unless built from a repository */
#include <rapt/base.h>

int print_version(void)
{
    const int threads = threads_used(0);
    printf("%s %d.%d.%d\n", program_name, RAPT_VERSION_MAJOR, RAPT_VERSION_MINOR,
           RAPT_VERSION_PATCH);
    printf("library rapt %s, %s (8 bits: %s), %s, %d %s\n", rapt_version(),
           rapt_isa_name(rapt_isa_used()), rapt_isa_int8(), KIT_OPENMP, threads,
           threads == 1 ? "thread" : "threads");
    if (*KIT_COMMIT) printf("commit %s\n", KIT_COMMIT);
    return finish_output();
}
