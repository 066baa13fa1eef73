/* tiles.h - asks Linux, for the whole test program, for the tiles of AMX, as a host of the library
   does that wants to use them (rapt/base.h). */
#ifndef RAPT_TESTS_TILES_H
#define RAPT_TESTS_TILES_H

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

/* Returns true if the system gives them. It does not if the processor has none. */
static inline int ask_for_tiles(void)
{
    return syscall(SYS_arch_prctl, 0x1023, 18) == 0; /* ARCH_REQ_XCOMP_PERM, tile data */
}
#else
static inline int ask_for_tiles(void)
{
    return 0;
}
#endif

#endif
