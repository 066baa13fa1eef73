/* base.h - conventions common to all functions, and definitions that every other header needs:
   status codes, messages, memory, threads, instruction sets and the version. */
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
#define RAPT_VERSION_MAJOR 0 /* version of these headers: MAJOR.MINOR.PATCH */
#define RAPT_VERSION_MINOR 3 /* while MAJOR is 0, a new MINOR may break programs */
#define RAPT_VERSION_PATCH 0 /* a new PATCH never breaks programs */

/* Returns the version of the library that the program is linked with, such as "0.3.0". The string
   is static. */
RAPT_API const char *rapt_version(void);

/* The result of functions that can fail, except those that return a size, an index or a token. A
   failed call changes nothing unless the function's comment says otherwise. A call returns
   RAPT_BAD_ARGUMENT if a pointer to a required object, array or result is NULL. */
typedef enum rapt_status {
    RAPT_OK = 0,            /* success */
    RAPT_BAD_ARGUMENT = -1, /* an argument is out of range, contradicts another or is NULL */
    RAPT_NO_MEMORY = -2,    /* an allocation failed, or its size overflows size_t */
    RAPT_NO_FILE = -3,      /* a file cannot be opened, read or written */
    RAPT_BAD_FILE = -4,     /* a file is damaged or in another format */
    RAPT_NOT_FINITE = -5    /* a loss, gradient or parameter is infinite or NaN */
} rapt_status;

/* Returns a short English description of a status. The string is static and never NULL. */
RAPT_API const char *rapt_status_text(rapt_status status);

/* Explains why a call failed, in one sentence that names what is wrong, such as a field, file or
   tensor. The caller owns the message; concurrent calls need separate messages. Pass NULL if no
   message is needed. A successful call leaves the message unchanged. This struct will not grow. */
typedef struct rapt_message {
    char text[512]; /* null-terminated UTF-8 */
} rapt_message;

/* The functions with which the library allocates and frees memory. A function allocates memory only
   if its name contains _create, _load or _learn, or if its comment says so or lists RAPT_NO_MEMORY.
   rapt_encode, rapt_decode and training steps never allocate. If several threads call the library
   at the same time, alloc and free must be safe to call concurrently.

   A NULL allocator, or one whose functions are both NULL, means aligned_alloc and free (on Windows,
   their equivalents). If only one of the two is set, every allocation fails. On Linux, the library
   requests huge pages (madvise) only for memory from aligned_alloc. The struct is copied and will
   not grow. */
typedef struct rapt_allocator {
    void *(*alloc)(void *user, size_t bytes); /* returns memory aligned to 64 bytes, or NULL; bytes
                                                 is never 0 */
    void (*free)(void *user, void *memory, size_t bytes); /* bytes is the size that was passed to
                                                             alloc; memory is never NULL */
    void *user;                                           /* passed to both functions */
} rapt_allocator;

/* A struct whose first field is `size_t size` is called size-first. Later versions may append
   fields. Set size to the size of the struct, set the fields that must not be 0, and
   zero-initialize the rest, which selects their defaults:

       rapt_limits limits = {
           .size = sizeof limits, .batch = 1, .source_tokens = 100, .target_length = 100};

   The program then works, without being recompiled, with later versions that have the same MAJOR
   and, while MAJOR is 0, the same MINOR. A call returns RAPT_BAD_ARGUMENT if size was not set, or
   if the struct is longer than the library's version of it and one of the extra bytes is not 0. */

/* Returns the library's sizeof for the public struct with this name, such as "rapt_attention", or 0
   for any other name. Bindings for other languages can check their declarations with it. */
RAPT_API size_t rapt_struct_size(const char *name);

/* Threads. A field named `threads` limits the number of threads that a call uses. If it is 0, the
   call uses as many as OpenMP would, but no more than there are processors. No call uses more than
   1024. Results are bit-identical for any number of threads.

   A call uses a single thread if it is made inside a parallel region, or if other programs keep the
   processors so busy that several threads would be slower. A call uses fewer threads than requested
   if OpenMP provides fewer. It uses more threads than there are processors, which is slow, only if
   both `threads` and OMP_NUM_THREADS exceed the number of processors. An OMP_STACKSIZE of 96 KB
   suffices; on Linux, calls use one thread if the stacks of OpenMP's threads are too small.

   Any thread may call any function. Any number of threads may share an object that is passed as
   const, such as a model or a tokenizer. Only one thread at a time may use any other object.
   Concurrent calls compete for the processors, so set `threads` to 1 in each of them.

   Within a call, a thread that has waited for a fraction of a millisecond goes to sleep. Between
   calls, however, GNU OpenMP lets its threads spin for milliseconds. On a machine shared with other
   programs, this makes short calls many times slower. To avoid this, set OMP_WAIT_POLICY=passive,
   or use one thread. */

/* Callbacks. A function that the program passes to the library runs on the thread that called the
   library, and must return normally. Only the callbacks of rapt_generate, rapt_translate_many,
   rapt_translate_many_with and rapt_translator_score may exit via longjmp() or a C++ exception. The
   session or translator can then be used again, as after a failed call. Memory that the abandoned
   call had allocated is freed with the translator or session, or by the next call to rapt_generate
   on the session. An exception can pass through the library only where compilers emit unwind tables
   for C, as they do on x86-64 and arm64; elsewhere it ends the program. If a callback of a
   rapt_reader or rapt_writer exits in this way, memory leaks; if an allocator or a rapt_ready_fn
   does, the behavior is undefined. */

/* fork(). With GNU OpenMP, if a thread makes a call that uses several threads and then forks, the
   child process hangs in its next such call on that thread, because fork() does not copy OpenMP's
   threads. The child must set `threads` to 1 in every call, call the library from a new thread, or
   start another program with exec(). It may use the parent's objects; mapped models stay shared. */

/* The instruction sets for which the library has kernels. One of them is active for the whole
   process: by default, the best one that both the processor and the operating system support. All
   instruction sets give bit-identical results, except RAPT_ISA_SCALAR (plain C) if it was compiled
   without fused multiply-add. */
typedef enum rapt_isa { RAPT_ISA_SCALAR, RAPT_ISA_NEON, RAPT_ISA_AVX2, RAPT_ISA_AVX512 } rapt_isa;
/* Returns the active instruction set. */
RAPT_API rapt_isa rapt_isa_used(void);
/* Activates another instruction set, for tests and measurements. No other call may run at the same
   time. Returns RAPT_BAD_ARGUMENT if this machine does not support it. */
RAPT_API rapt_status rapt_isa_use(rapt_isa isa);
/* Returns the name of an instruction set, such as "avx512", or NULL for an unknown value. The
   string is static. */
RAPT_API const char *rapt_isa_name(rapt_isa isa);
/* Returns the name of the instructions that the library uses to multiply 8-bit integers
   (precision.h): "amx" or, without AMX, the best instructions available with the active instruction
   set, such as "avx512vnni". The string is static. */
RAPT_API const char *rapt_isa_int8(void);

/* AMX. With RAPT_ISA_AVX512, the library can use the tile registers of newer Intel processors to
   multiply 8-bit integers and, for RAPT_PRODUCTS_BF16_TILES, bf16 numbers. Linux lets a process use
   these registers only if it has asked for permission, because they add 8 KB to the stack frames of
   signal handlers; alternate signal stacks must have room for that. The library never asks. It
   checks only once for each of these two types whether the program has asked: in the first call
   that uses the type (for 8-bit integers, rapt_isa_int8 is such a call). So ask before that call:

       #define _GNU_SOURCE
       #include <sys/syscall.h>
       #include <unistd.h>

       syscall(SYS_arch_prctl, 0x1023, 18);    // ARCH_REQ_XCOMP_PERM, tile data

   This call needs Linux 5.16 on x86-64. If it fails, nothing changes. The permission applies to all
   threads, present and future, and lasts until exec(). Linux allocates a buffer of 11 KB for each
   thread that uses tiles, and sends the thread a signal if the allocation fails. Calls release the
   tiles before they return. Results are bit-identical with and without AMX. */

#ifdef __cplusplus
}
#endif
#endif
