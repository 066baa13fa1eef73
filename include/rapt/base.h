/* base.h - definitions that every other header needs: status codes, messages, memory, threads,
   instruction sets and the version. It also describes the conventions that all functions share. */
#ifndef RAPT_BASE_H
#define RAPT_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
/* Marks a function that the shared library exports. */
#define RAPT_API __attribute__((visibility("default")))
#else
#define RAPT_API
#endif

/* CMakeLists.txt reads these three lines. */
#define RAPT_VERSION_MAJOR 0 /* version of these headers */
#define RAPT_VERSION_MINOR 3 /* a change may break programs while MAJOR is 0 */
#define RAPT_VERSION_PATCH 0 /* a change never affects the interface */

/* Returns the version of the library that the program is linked with, such as "0.3.0". The string
   is static. */
RAPT_API const char *rapt_version(void);

/* The result of every function that can fail. A failed call changes nothing unless its comment says
   otherwise. A NULL pointer where an object, array or result is required gives
   RAPT_BAD_ARGUMENT. */
typedef enum rapt_status {
    RAPT_OK = 0,            /* success */
    RAPT_BAD_ARGUMENT = -1, /* a size, index or option is out of range */
    RAPT_NO_MEMORY = -2,    /* the allocator returned NULL */
    RAPT_NO_FILE = -3,      /* a file cannot be opened, read or written */
    RAPT_BAD_FILE = -4,     /* a file is damaged or in another format */
    RAPT_NOT_FINITE = -5    /* a loss, gradient or parameter is infinite or NaN */
} rapt_status;

/* Returns a short English description of a status. The string is static and never NULL. */
RAPT_API const char *rapt_status_text(rapt_status status);

/* Explains why a call failed, in one sentence that names the field, file or tensor. The caller owns
   the message, and concurrent calls need one each. Functions accept NULL if no message is needed,
   and leave the message unchanged when they succeed. This struct will not grow. */
typedef struct rapt_message {
    char text[512]; /* UTF-8, terminated by 0 */
} rapt_message;

/* The functions through which the library allocates memory. A function allocates memory only if its
   name contains _create, _load or _learn, or if its comment says so or lists RAPT_NO_MEMORY.
   rapt_encode, rapt_decode and the steps of training never allocate. If several threads call the
   library at the same time, alloc and free must be safe to call concurrently.

   A NULL allocator, or one whose members are all 0, means aligned_alloc and free. If only one of
   the two functions is set, every allocation fails. The library asks the system for large pages
   (madvise on Linux) only for memory from aligned_alloc. The struct is copied and will not grow. */
typedef struct rapt_allocator {
    void *(*alloc)(void *user, size_t bytes); /* returns memory aligned to 64 bytes, or NULL; bytes
                                                 is never 0 */
    void (*free)(void *user, void *memory, size_t bytes); /* bytes is the size that was passed to
                                                             alloc; memory is never NULL */
    void *user;                                           /* passed to both functions */
} rapt_allocator;

/* A struct whose first field is `size_t size` is called size-first: later versions may append
   fields. Set size to the sizeof of the struct and zero-initialize the rest; 0 is the default of
   every field:

       rapt_limits limits = {.size = sizeof limits, .batch = 1};

   The program then works with later versions of the library without being recompiled. A call
   returns RAPT_BAD_ARGUMENT if size was not set, or if the struct is longer than the library's
   version of it and one of the extra bytes is not 0. */

/* Returns the library's sizeof for the public struct with this name, such as "rapt_attention", or 0
   for any other name. Bindings for other languages can check their declarations with it. */
RAPT_API size_t rapt_struct_size(const char *name);

/* Threads. A field named `threads` limits the number of threads of a call. If it is 0, the call
   uses as many as OpenMP would, but no more than there are processors. Results are bit-identical
   for any number of threads.

   A call uses a single thread if it is made inside a parallel region, or while other programs keep
   the processors busy. A call uses fewer threads than requested if OpenMP provides fewer. If both
   `threads` and OMP_NUM_THREADS exceed the number of processors, a call uses more threads than
   there are processors, which is slow. The calling thread needs 64 KB of stack. If OMP_STACKSIZE
   gives OpenMP's threads less than 64 KB, calls use one thread.

   Any thread may call any function. An object that is passed as const, such as a model or a
   tokenizer, may be shared by any number of threads. Any other object may be used by only one
   thread at a time. Concurrent calls compete for the processors, so give each of them one thread.

   Within a call, the library's threads go to sleep after waiting for a few microseconds. Between
   calls, however, GNU OpenMP lets its threads spin for milliseconds. On a machine shared with other
   programs, this makes short calls many times slower. To avoid this, set OMP_WAIT_POLICY=passive,
   or use one thread. */

/* Callbacks. A function that the program passes to the library runs on the thread that called the
   library. The function must return. Only the callbacks of rapt_generate, rapt_translate_many,
   rapt_translate_many_with and rapt_translator_score may be left by longjmp() or a C++ exception:
   the session or translator can then be used again, as after a failed call. Memory that the
   abandoned call had allocated is freed with the translator or session; a session frees it earlier
   if rapt_generate is called again. An exception can pass through the library only where compilers
   write unwind tables for C, as they do on x86-64 and arm64; elsewhere it ends the program. Leaving
   a callback that reads or writes a file in this way leaks memory. Leaving an allocator or a
   rapt_ready_fn in this way is undefined behavior. */

/* fork(). With GNU OpenMP, if a thread has made calls that used several threads and then forks, the
   child process hangs as soon as it makes another such call on the same thread, because fork() does
   not copy OpenMP's threads. The child must set `threads` to 1 in every call, call the library from
   a new thread, or start another program with exec(). Objects may be used in the child; mapped
   models stay shared. */

/* The instruction sets for which the library has kernels. The active instruction set applies to the
   whole process. By default, it is the best one that both the processor and the operating system
   support. All instruction sets give the same bits, except RAPT_ISA_SCALAR (plain C) if it was
   compiled without fused multiply-add. */
typedef enum rapt_isa { RAPT_ISA_SCALAR, RAPT_ISA_NEON, RAPT_ISA_AVX2, RAPT_ISA_AVX512 } rapt_isa;
/* Returns the active instruction set. */
RAPT_API rapt_isa rapt_isa_used(void);
/* Activates another instruction set, for tests and measurements. No other call may run at the same
   time. Returns RAPT_BAD_ARGUMENT if this machine does not support it. */
RAPT_API rapt_status rapt_isa_use(rapt_isa isa);
/* Returns the name of an instruction set, such as "avx512", or NULL for an unknown value. The
   string is static. */
RAPT_API const char *rapt_isa_name(rapt_isa isa);
/* Returns the name of the instructions that multiply 8-bit integers (precision.h): "amx", or those
   that the active instruction set has, such as "avx512vnni". The string is static. */
RAPT_API const char *rapt_isa_int8(void);

/* AMX. Products of 8-bit integers with more than four rows can use the tiles of newer Intel
   processors (with RAPT_ISA_AVX512). Linux saves these registers only for processes that have asked
   for them, since they enlarge the frames of signal handlers by 8 KB; alternative signal stacks
   must have room for that. The library never asks. It checks once, in the first call that uses
   8-bit integers, whether the program has asked:

       #define _GNU_SOURCE
       #include <sys/syscall.h>
       #include <unistd.h>

       syscall(SYS_arch_prctl, 0x1023, 18);    // ARCH_REQ_XCOMP_PERM, tile data

   This needs Linux 5.16 on x86-64. Where it fails, nothing changes. The permission applies to all
   threads, present and future, and lasts until exec(). The system allocates a buffer of 11 KB
   for each thread that uses tiles, and sends the thread a signal if it cannot. Calls release the
   tiles before they return. Results have the same bits as without AMX. */

#ifdef __cplusplus
}
#endif
#endif
