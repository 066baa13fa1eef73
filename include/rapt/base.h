/* base.h - what every other header needs: status, messages, memory, threads, instruction sets,
 * version. */
#ifndef RAPT_BASE_H
#define RAPT_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
/* In front of what the library exports. */
#define RAPT_API __attribute__((visibility("default")))
#else
#define RAPT_API
#endif

/* CMakeLists.txt reads these three lines. */
#define RAPT_VERSION_MAJOR 0 /* of these headers */
#define RAPT_VERSION_MINOR 3 /* while MAJOR is 0, as MAJOR */
#define RAPT_VERSION_PATCH 0 /* changes no interface */

/* The version of the library that is linked, such as "0.3.0"; static. Any thread may ask. */
RAPT_API const char *rapt_version(void);

/* Every function that can fail returns one of these. A failed call changes nothing. A NULL pointer
   where an object or a result is needed is RAPT_BAD_ARGUMENT. */
typedef enum rapt_status {
    RAPT_OK = 0,            /* done */
    RAPT_BAD_ARGUMENT = -1, /* a size, index or option is out of range */
    RAPT_NO_MEMORY = -2,    /* the allocator returned NULL */
    RAPT_NO_FILE = -3,      /* a file cannot be opened, read or written */
    RAPT_BAD_FILE = -4,     /* a file is not what it should be, or is damaged */
    RAPT_NOT_FINITE = -5    /* a loss, gradient or parameter is infinite or NaN */
} rapt_status;

/* One short English sentence, constant; never NULL. */
RAPT_API const char *rapt_status_text(rapt_status status);

/* Why a call failed: one sentence that names the field, file or tensor. It belongs to the caller:
   concurrent calls need one each. Functions that take a rapt_message accept NULL; on RAPT_OK it is
   unchanged. This struct will not grow. */
typedef struct rapt_message {
    char text[512]; /* 0-terminated UTF-8 */
} rapt_message;

/* Where memory comes from. alloc returns memory aligned to 64 bytes, or NULL; free gets the same
   number of bytes. The library allocates in functions named *_create, *_load and *_learn, and for
   the length of a call where the comment says so: never while a model computes. Both functions may
   be called by every thread that calls the library, at once. NULL instead of an allocator, or one
   of all zeros, means aligned_alloc and free; one of the two functions alone gives no memory. The
   struct is copied; it will not grow. */
typedef struct rapt_allocator {
    void *(*alloc)(void *user, size_t bytes);             /* bytes above 0 */
    void (*free)(void *user, void *memory, size_t bytes); /* memory is not NULL */
    void *user;                                           /* passed to both */
} rapt_allocator;

/* Size-first structs. A struct that begins with `size_t size` may get new fields at its end in a
   later version. The caller sets size to its own sizeof and leaves what it does not need 0, which
   is the default of every field: rapt_limits limits = {.size = sizeof limits, .batch = 1}. So a
   program runs with later versions of the library without being compiled again. RAPT_BAD_ARGUMENT:
   size was not set, or the struct is longer than the library's and not 0 there. */

/* sizeof of a public struct by its name, such as "rapt_attention", as this library knows it; 0:
   there is none of that name. So that a program which declares the structs in another language can
   check them. Any thread may ask. */
RAPT_API size_t rapt_struct_size(const char *name);

/* Threads. A field `threads` says how many threads one call may use; 0: as many as OpenMP would
   use, but not more than there are processors. Results are bit-identical for any number. A call
   uses one thread inside a parallel region of the caller, and fewer than asked for where OpenMP
   gives fewer or there are fewer processors (unless OMP_NUM_THREADS is set to more as well, which
   is slow). A thread that calls needs 64 KB of stack; where OMP_STACKSIZE gives less to the
   threads of OpenMP, calls use one thread.

   Functions may be called from any thread, several at once: a constant object (const in the call: a
   model, a tokenizer) by any number of threads, an object that changes by one thread at a time.
   Calls that run at once share the processors: ask for 1 thread each then.

   Threads that wait within a call sleep after some microseconds. But GNU's OpenMP lets its threads
   spin for milliseconds after each call, and on a machine shared with other programs that makes
   short calls many times slower: set OMP_WAIT_POLICY=passive there, or ask for 1 thread. */

/* The active instruction set is the best one that both processor and operating system support. It
   is the one piece of global state. Setting another (rapt_isa_use) is for tests and measurements,
   while no other call runs; the other two may be called from any thread at any time. All sets with
   a fused multiply-add compute the same bits: all but plain C (SCALAR) where its compiler has none,
   which rounds twice. */
typedef enum rapt_isa { RAPT_ISA_SCALAR, RAPT_ISA_NEON, RAPT_ISA_AVX2, RAPT_ISA_AVX512 } rapt_isa;
/* The active one. */
RAPT_API rapt_isa rapt_isa_used(void);
RAPT_API rapt_status rapt_isa_use(rapt_isa isa);  /* RAPT_BAD_ARGUMENT: not on this machine */
RAPT_API const char *rapt_isa_name(rapt_isa isa); /* "avx512", static; NULL: no such set */

#ifdef __cplusplus
}
#endif
#endif
