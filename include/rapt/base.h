/* base.h - status codes, messages, memory, threads, instruction sets and the version: what every
   other header needs, and the conventions that all functions share. */
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
#define RAPT_VERSION_MAJOR 0 /* of these headers */
#define RAPT_VERSION_MINOR 3 /* may break programs while MAJOR is 0 */
#define RAPT_VERSION_PATCH 0 /* never changes an interface */

/* Returns the version of the library that the program is linked with, such as "0.3.0". The string
   is static. */
RAPT_API const char *rapt_version(void);

/* The result of every function that can fail. A call that fails changes nothing, unless its comment
   says otherwise. Passing NULL where an object, array or result is needed gives RAPT_BAD_ARGUMENT.
 */
typedef enum rapt_status {
    RAPT_OK = 0,            /* success */
    RAPT_BAD_ARGUMENT = -1, /* a size, index or option is out of range */
    RAPT_NO_MEMORY = -2,    /* the allocator returned NULL */
    RAPT_NO_FILE = -3,      /* a file cannot be opened, read or written */
    RAPT_BAD_FILE = -4,     /* a file is damaged or has another format */
    RAPT_NOT_FINITE = -5    /* a loss, gradient or parameter is infinite or NaN */
} rapt_status;

/* Returns a short English sentence for a status. The string is static and never NULL. */
RAPT_API const char *rapt_status_text(rapt_status status);

/* Explains why a call failed: one sentence that names the field, file or tensor. The caller owns
   the message; calls that run at the same time need one each. Functions accept NULL instead, and
   leave the message alone when they succeed. This struct will not grow. */
typedef struct rapt_message {
    char text[512]; /* UTF-8, terminated by 0 */
} rapt_message;

/* Provides the library's memory. Only functions named *_create, *_load or *_learn allocate, and
   those whose comments say so or list RAPT_NO_MEMORY; encoding, decoding and training do not.
   Threads that call the library at the same time may also call these two functions at the same
   time.

   An allocator of NULL, or one whose members are all 0, stands for aligned_alloc and free. If only
   one of the two functions is set, no memory is available. The struct is copied and will not
   grow. */
typedef struct rapt_allocator {
    void *(*alloc)(void *user, size_t bytes); /* returns memory aligned to 64 bytes, or NULL; bytes
                                                 is above 0 */
    void (*free)(void *user, void *memory, size_t bytes); /* gets the size that was allocated;
                                                             memory is never NULL */
    void *user;                                           /* passed to both */
} rapt_allocator;

/* Structs that begin with `size_t size` are size-first: later versions may append fields. Set size
   to sizeof the struct and leave what you do not need 0, which is every field's default:

       rapt_limits limits = {.size = sizeof limits, .batch = 1};

   A program that does so runs with later versions of the library without being recompiled.
   RAPT_BAD_ARGUMENT means that size was not set, or that the struct is longer than the library's
   and has a byte other than 0 in the excess. */

/* Returns the library's sizeof for a public struct, given its name, such as "rapt_attention", or 0
   if no struct has that name. Bindings in other languages can verify their declarations with it. */
RAPT_API size_t rapt_struct_size(const char *name);

/* Threads. A field named `threads` limits the threads of one call; 0 means as many as OpenMP would
   use, up to the number of processors. Results are bit-identical for any number of threads. A call
   uses a single thread inside a parallel region of the caller, or while other programs keep the
   processors busy, and fewer threads than requested where OpenMP provides fewer. It uses more
   threads than there are processors, which is slow, only if both `threads` and OMP_NUM_THREADS
   exceed their number. The calling thread needs 64 KB of stack; if OMP_STACKSIZE gives OpenMP's
   threads less than that, calls use one thread.

   Any thread may call any function. An object that a call takes as const, such as a model or a
   tokenizer, may be shared by any number of threads; any other object may be used by one thread at
   a time. Calls that run at the same time compete for the processors, so give each of them one
   thread.

   Threads that wait within a call go to sleep after a few microseconds. GNU's OpenMP, however, lets
   its threads spin for milliseconds after each call. On a machine shared with other programs this
   makes short calls many times slower: set OMP_WAIT_POLICY=passive, or use one thread. */

/* The instruction sets of the library's kernels. The active one is the best that both processor and
   operating system support; it is the library's only global state. All of them compute the same
   bits, except RAPT_ISA_SCALAR (plain C) if it was compiled without fused multiply-add. */
typedef enum rapt_isa { RAPT_ISA_SCALAR, RAPT_ISA_NEON, RAPT_ISA_AVX2, RAPT_ISA_AVX512 } rapt_isa;
/* Returns the active instruction set. */
RAPT_API rapt_isa rapt_isa_used(void);
/* Activates another instruction set, for tests and measurements. No other call may run meanwhile.
   RAPT_BAD_ARGUMENT: this machine does not support it. */
RAPT_API rapt_status rapt_isa_use(rapt_isa isa);
/* Returns the name of an instruction set, such as "avx512", or NULL for an unknown value. The
   string is static. */
RAPT_API const char *rapt_isa_name(rapt_isa isa);

#ifdef __cplusplus
}
#endif
#endif
