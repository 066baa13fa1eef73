/* wasi.h - included before every test that is compiled for WebAssembly. Memory has no protection
   there, so that fences between arrays are only checked for what was written to them. Rounding has
   one mode, which stays the same when a test sets another. */
#ifndef RAPT_TESTS_CROSS_WASI_H
#define RAPT_TESTS_CROSS_WASI_H

#include <fenv.h>
#include <sys/mman.h>

#undef PROT_NONE
#define PROT_NONE                          (PROT_READ | PROT_WRITE)
#define mprotect(memory, size, protection) ((void)(memory), 0)

#define fesetround(mode) ((void)(mode), 0)
#define FE_UPWARD        1
#define FE_DOWNWARD      2
#define FE_TOWARDZERO    3

#endif
