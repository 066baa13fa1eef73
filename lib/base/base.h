/* base.h - interface of the lowest layer: checks and error messages, structs that begin with their
   size, memory, sorting, hashes, text, random numbers, processor features and thread teams. */
#ifndef RAPT_LIB_BASE_H
#define RAPT_LIB_BASE_H

#include "base/util.h"
#include <rapt/base.h>
#include <stdbool.h>
#include <string.h>

/* ---- status.c ---- */

/* MinGW replaces Windows' printf, which lacks some C99 conversions, with its own. */
#ifdef __MINGW32__
#define RAPT__PRINTF gnu_printf
#else
#define RAPT__PRINTF printf
#endif

/* Formats an error message into *why, unless `why` is NULL, and returns `status`. Unprintable
   characters become '?'. */
rapt_status rapt__fail(rapt_message *why, rapt_status status, const char *format, ...)
    __attribute__((format(RAPT__PRINTF, 3, 4)));
/* Check that `value` is in [min, max]. If it is not, or is NaN, return RAPT_BAD_ARGUMENT with a
   message that gives the name, the value and the range. */
rapt_status rapt__int_check(const char *name, int value, int min, int max, rapt_message *why);
rapt_status rapt__float_check(const char *name, float value, double min, double max,
                              rapt_message *why);
/* Returns RAPT_BAD_ARGUMENT with a message if `bytes` is NULL and `size` is not 0. The message
   names element i of the array called `texts`. */
rapt_status rapt__text_check(const char *texts, size_t i, const void *bytes, size_t size,
                             rapt_message *why);
/* Returns RAPT_BAD_ARGUMENT with a message unless `share`, a fraction such as a dropout rate, is at
   least 0 and below 1. */
rapt_status rapt__share_check(const char *name, float share, rapt_message *why);

/* ---- status.c: public structs whose first member is `size_t size` ----

   The caller sets `size` to the sizeof of the struct, so the struct can grow in later versions.
   Such a struct must end without padding. In every field, 0 must select the default, unless the
   field has no default and its comment excludes 0. */

/* Copies the caller's struct `given` to `own`, the library's version, which has own_size bytes.
   Fields beyond the end of `given` become 0, and the size becomes own_size. Returns
   RAPT_BAD_ARGUMENT and leaves `own` unchanged if `given` is NULL, if its `size` is implausible, or
   if it is longer than `own` and any byte beyond own_size is nonzero. Messages refer to the type as
   `name`. */
rapt_status rapt__struct_read(void *own, size_t own_size, const void *given, const char *name,
                              rapt_message *why);
/* Copies a result in the other direction: as much of `own` as fits into `given`, followed by zeros
   if `given` is longer. The `size` of `given` does not change. Returns RAPT_BAD_ARGUMENT and
   changes nothing if `given` is NULL or its `size` is implausible. */
rapt_status rapt__struct_write(void *given, const void *own, size_t own_size, const char *name,
                               rapt_message *why);
/* Works like rapt__struct_write, but the size is passed separately and stored in `given`, and there
   is no message. */
rapt_status rapt__struct_default(void *given, size_t size, const void *own, size_t own_size);
/* Performs the checks of rapt__struct_write, so that a call can fail before it computes a
   result. */
rapt_status rapt__struct_check(const void *given, const char *name, rapt_message *why);

/* ---- text.c: floats as decimal text, independent of the locale ---- */
enum { FLOAT_TEXT = 24 }; /* enough for any finite float as text, including the null terminator */
/* Writes x, which must be finite, rounded to the fewest digits that read back as x. */
void rapt__float_write(float x, char text[FLOAT_TEXT]);
/* Writes the value of an int or a float for messages, as a user would type it: an integer of up to
   15 digits in full; infinities and NaN as inf, -inf and nan; any other number as rapt__float_write
   does. Returns `text`. */
const char *rapt__number_write(double x, char text[FLOAT_TEXT]);
/* Reads a JSON number (leading zeros are allowed) as the nearest float. Returns false and leaves *x
   unchanged if the text is not such a number, has more than 128 significant digits or is too large
   for a float. */
bool rapt__float_read(const char *text, float *x);

/* ---- memory.c ---- */

/* Returns *allocator, or the default allocator if `allocator` is NULL or has no functions. */
rapt_allocator rapt__allocator(const rapt_allocator *allocator);

/* Returns memory aligned to 64 bytes. Returns NULL if `bytes` is 0, if there is no memory left, or
   if the allocator lacks one of its functions. */
void *rapt__alloc(const rapt_allocator *allocator, size_t bytes);
void rapt__free(const rapt_allocator *allocator, void *memory, size_t bytes); /* NULL is allowed */
/* On Linux, asks for huge pages (madvise), which pay off if all of this memory is read repeatedly.
   Does nothing for memory from a caller's allocator, because only the caller knows whether it is
   shared, locked or accounted for. */
void rapt__memory_streamed(const rapt_allocator *allocator, void *memory, size_t bytes);

/* Compute *product = a * b and *sum = a + b. If the result overflows, return false and write
   nothing. */
bool rapt__times(size_t a, size_t b, size_t *product);
bool rapt__plus(size_t a, size_t b, size_t *sum);
/* Returns a * b, or SIZE_MAX if it overflows. No arena has room for SIZE_MAX items. */
size_t rapt__product(size_t a, size_t b);

/* Doubles *capacity, the number of items of `size` bytes that an array has room for, or sets it to
   8 if it is 0. Returns a larger copy of the array and frees the old one. If there is no memory
   left or the size overflows, returns NULL and changes nothing. */
void *rapt__grown(const rapt_allocator *allocator, void *array, size_t *capacity, size_t size);

/* ---- memory.c: limits the memory that may be used to read untrusted files ----

   Until the names, shapes and configuration in the files have been checked against one another, the
   reader may hold at most 16 MB plus 8 bytes for each byte of the files. It allocates with the
   budget's allocator, and adds the size of each file to the budget. An object that outlives the
   budget must store the underlying allocator, with which it can free its memory. */
struct budget {
    rapt_allocator under; /* provides the memory */
    size_t used, limit;   /* bytes */
    bool exceeded;        /* an allocation failed because the budget was too small */
};
/* Initializes a budget and returns its allocator. The budget must outlive every use of the
   allocator. */
rapt_allocator rapt__budget_begin(struct budget *budget, const rapt_allocator *under);
/* Raises the limit of the budget that the allocator belongs to, and of all budgets beneath it, for
   a file of `size` bytes. Does nothing if the allocator does not belong to a budget. */
void rapt__budget_add(const rapt_allocator *allocator, uint64_t size);
/* Returns `status`, or RAPT_BAD_FILE with a message if `status` is RAPT_NO_MEMORY because the
   budget was exceeded. */
rapt_status rapt__budget_end(const struct budget *budget, rapt_status status, rapt_message *why);

/* ---- memory.c: sorting ---- */
/* Returns a negative number if a comes before b. */
typedef int rapt__order(const void *context, const void *a, const void *b);
/* Sorts `count` items of `size` bytes each in place, in O(count log count) time for every input,
   without allocating memory. The sort is not stable. */
void rapt__sort(void *items, size_t count, size_t size, rapt__order *order, const void *context);

/* ---- heap: a binary heap (Williams 1964, Algorithm 232) ----

   The heap is an array items[0 .. count) of items of `size` bytes. As in C++'s push_heap, the root
   items[0] is the item that comes last in `order`: no parent comes before its child. The functions
   are inline so that the compiler can specialize them for a constant size and order. */
static inline void rapt__swap_words(char *a, char *b, size_t size) /* size must be 1, 4 or 8 */
{
    char copy[8];
    memcpy(copy, a, size);
    memcpy(a, b, size);
    memcpy(b, copy, size);
}

static inline void rapt__swap(char *a, char *b, size_t size)
{
    size_t at = 0;
    for (; at + 8 <= size; at += 8) rapt__swap_words(a + at, b + at, 8);
    if (at + 4 <= size) rapt__swap_words(a + at, b + at, 4), at += 4;
    for (; at < size; at++) rapt__swap_words(a + at, b + at, 1);
}

/* Moves item `at` toward the root, past parents that come before it. Must be called after appending
   an item. */
static inline void rapt__heap_up(void *items, size_t at, size_t size, rapt__order *order,
                                 const void *context)
{
    char *base = items;
    for (size_t parent; at > 0; at = parent) {
        parent = (at - 1) / 2;
        if (order(context, base + parent * size, base + at * size) >= 0) return;
        rapt__swap(base + parent * size, base + at * size, size);
    }
}

/* Moves item `at` toward the leaves, past children that come after it. Must be called after
   replacing an item, usually the root, with one that comes before it. */
static inline void rapt__heap_down(void *items, size_t at, size_t count, size_t size,
                                   rapt__order *order, const void *context)
{
    char *base = items;
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && order(context, base + child * size, base + (child + 1) * size) < 0)
            child++;
        if (order(context, base + at * size, base + child * size) >= 0) return;
        rapt__swap(base + at * size, base + child * size, size);
    }
}

/* ---- hash.c ---- */
struct sha256 {
    uint32_t state[8];
    uint64_t size; /* number of bytes added */
    unsigned char block[64];
};
enum { SHA256_TEXT = 65 };
void rapt__sha256_begin(struct sha256 *hash);
void rapt__sha256_add(struct sha256 *hash, const void *bytes, size_t size);
/* Writes the hash in lowercase hexadecimal. */
void rapt__sha256_end(struct sha256 *hash, char text[SHA256_TEXT]);

/* ---- hash.c: FNV-1a, 32 bits ---- */
uint32_t rapt__hash(const void *bytes, size_t size);
/* Returns a hash that also depends on the address of a table. The author of a file cannot know this
   address, so a file cannot make all of its names fall into the same slot. */
uint32_t rapt__hash_from(const void *table, const void *bytes, size_t size);

/* ---- text.c: UTF-8 ---- */
/* Decodes the code point at the beginning of bytes[size] into *code and returns its length in
   bytes. Returns 0 if `size` is 0 or the code point is not valid UTF-8. */
size_t rapt__utf8_decode(const void *bytes, size_t size, uint32_t *code);
/* Encodes a code point and returns the number of bytes written, 1 to 4. */
size_t rapt__utf8_encode(uint32_t code, void *bytes);
/* Replaces control characters and bytes that are not valid UTF-8 with '?'. */
void rapt__make_printable(char *text);
/* Returns true if a byte is a continuation byte, that is, not the first byte of a character. */
static inline bool rapt__utf8_continues(int byte)
{
    return (byte & 0xC0) == 0x80;
}

struct team; /* team.c, below */

/* ---- arena.c: a block of memory that is handed out in pieces ----

   A layout function takes a piece of the arena for each array of a struct. It runs twice: first
   with base NULL, when the arena only counts and hands out NULL, then with memory of `used` bytes.
   Pieces are aligned to 64 bytes if base is. In debug builds and under AddressSanitizer a red zone
   follows each piece, so sizes depend on the build. */
struct arena {
    char *base;
    size_t used, size;   /* bytes handed out or counted; bytes of the memory at base */
    bool overflow;       /* a piece did not fit into the memory or size_t; reserve then fails */
    bool raw;            /* the contents of pieces are undefined; reserve does not zero the
                            memory */
    int rank;            /* rank of the thread that uses this arena; all threads of the team lay out
                            the same memory */
    int owner;           /* rank of the thread that fills raw pieces and writes the red zones */
    char *last_red_zone; /* end of the last red zone, or NULL */
};
/* Take a piece for `count` items of `size` bytes, and one for rows * columns floats. Return NULL if
   the piece would be empty, if the arena only counts, or if the piece does not fit. */
void *rapt__arena_take(struct arena *arena, size_t count, size_t size);
float *rapt__arena_floats(struct arena *arena, size_t rows, size_t columns);
/* Allocates as many bytes as the arena has counted; pieces are then handed out from these bytes. If
   the allocation fails or the arena has overflowed, returns RAPT_NO_MEMORY and does not change the
   arena. */
rapt_status rapt__arena_reserve(struct arena *arena, const rapt_allocator *allocator);
void rapt__arena_free(struct arena *arena, const rapt_allocator *allocator);
/* Merges two counting arenas when only one of the two layouts will be used: `arena` takes the
   larger size. */
void rapt__arena_either(struct arena *arena, const struct arena *other);
/* Ends the use of the pieces and removes the red zones. Returns false if a red zone was
   overwritten. */
bool rapt__arena_close(struct arena *arena);

/* Returns a workspace: an arena in the caller's memory (aligned to 64 bytes) that a team shares.
   Every thread lays out the same structs and has its own pointers. In debug builds and under
   AddressSanitizer the pieces are filled with NaN. */
struct arena rapt__arena_over(void *base, size_t bytes, int rank);
/* Lays out `count` equal parts, one per thread, by calling layout(part, what, to). The calling
   thread's part is laid out into `mine` and, unless `first` is NULL, the part of thread 0 into
   `first`. */
typedef void rapt__layout(struct arena *part, const void *what, void *to);
void rapt__arena_parts(struct arena *arena, size_t count, rapt__layout *layout, const void *what,
                       void *mine, void *first);
/* Enclose the use of a workspace; without red zones they do nothing. All threads of the team call
   `begin`, which is a barrier, after the layout and before the first use of a piece. They call
   `end` after another barrier, once no thread uses the workspace. `end` asserts that the red zones
   are intact, and is also a barrier. A caller without a team does not call `begin` and passes NULL
   to `end`. */
void rapt__workspace_begin(struct team *team);
void rapt__workspace_end(struct team *team, struct arena *arena);

/* ---- numbers.c: Philox 4x32-10 (Salmon et al. 2011), a function of a key and a counter ---- */
void rapt__philox(uint64_t key, uint64_t counter_low, uint64_t counter_high, uint32_t out[4]);
double rapt__uniform(uint64_t key, uint64_t index); /* random number `index` for a key, uniform in
                                                       [0, 1) */
double rapt__normal(uint64_t key, uint64_t index);  /* approximately normal, mean 0, standard
                                                       deviation 1 */
uint64_t rapt__mix(uint64_t key, uint64_t word);    /* derives a new key from a key and a word */

/* ---- processor.c ---- */
/* Returns true if the processor and the operating system support the instruction set. */
bool rapt__processor_has(rapt_isa isa);
/* Returns true if this machine supports the instruction set and its extension for dot products of
   bytes: AVX512_VNNI, AVX-VNNI, or sdot on arm64. */
bool rapt__processor_dots(rapt_isa isa);
/* Returns true if the processor supports AMX for 8-bit integers (AMX-TILE, AMX-INT8) and the system
   permits this process to use it. */
bool rapt__processor_tiles(void);
/* Returns true if rapt__processor_tiles does and the processor also supports AMX for bf16
   (AMX-BF16). */
bool rapt__processor_tiles_bf16(void);
/* Returns true if the processor supports RAPT_ISA_AVX512 and AVX512_BF16. */
bool rapt__processor_bf16(void);
bool rapt__processor_by_intel(void);

/* ---- processor.c: caches ---- */
size_t rapt__second_level_size(void); /* size in bytes of a core's L2 cache */
/* Returns the total size in bytes of the caches near a core: its L2 cache or, if the L3 cache is
   not far, an estimate that includes the core's share of the L3 cache. */
size_t rapt__near_size(void);
/* Returns true if all cores of a large die share the L3 cache, which is then far from each core.
   This is assumed for Intel processors with an L3 cache of more than 64 MB. */
bool rapt__third_level_far(void);
int rapt__first_level_ways(void); /* associativity of the L1 data cache */
/* Returns true if a column of `rows` rows that are `stride` floats apart would fill more than half
   of the ways in some sets of the L2 cache. If the stride is a multiple of a large power of two,
   the rows map to only a few sets. */
bool rapt__rows_collide(ptrdiff_t stride, int rows);
/* Returns true if a register tile that reads a line from each of `rows` rows, `stride` floats
   apart, would need more than 1.5 times as many ways in some sets of the L1 cache as there are. */
bool rapt__tiles_collide(ptrdiff_t stride, int rows);

/* ---- team.c: a thread team, SPMD (single program, multiple data) ----

   rapt__team_run opens a parallel region and calls work(team, argument) once on each of its
   threads. Within the region, all threads of the team call each function that takes a team, with
   the same arguments, and the function divides its loops among them. One loop between two barriers
   can be divided dynamically: each thread takes the next index (rapt__team_take) or part
   (rapt__team_part). Other loops are divided into equal parts (rapt__team_share). A function
   without a team does all of its work on the calling thread. Every thread passes the same barriers;
   what one thread writes, the others may read after the next barrier. Loops are divided so that
   each result is computed by a single thread, in an order that does not depend on the team. The
   results are therefore bit-identical for any number of threads, no matter which thread computes
   which result.

   Each thread of a team has its own struct team, and only these threads may call the functions that
   take one. Any thread may call rapt__team_run and rapt__team_size at any time. */
struct team_shared;
struct team {
    int rank, size; /* this thread's number, 0 .. size - 1, and the number of threads */
    unsigned phase; /* number of barriers passed */
    int spin_limit; /* maximum number of pause instructions at a barrier before sleeping */
    double waiting; /* estimated processor time in seconds spent in barriers */
    struct team_shared *shared;
};
typedef void rapt__work(struct team *team, void *argument);

/* Returns the maximum number of threads in the team that rapt__team_run creates for `threads`.
   Workspaces are sized for this number. If `threads` is 0, it is the number that OpenMP would use,
   but at most the number of processors. It is never above 1024. The actual number, team->size, may
   be smaller. For example, it is 1 inside a parallel region, while other programs occupy the
   processors (crowd.c), or if the stacks of OpenMP's threads are too small. A team has more threads
   than there are processors only if OMP_NUM_THREADS allows it. */
int rapt__team_size(int threads);
/* Runs `work` on a team of at most rapt__team_size(threads) threads. */
void rapt__team_run(int threads, rapt__work *work, void *argument);
void rapt__team_barrier(struct team *team);
/* Waits briefly, and longer once `attempt` (0, 1, 2, ...) is large. Called by loops that poll
   memory between barriers. */
void rapt__team_backoff(int attempt);
/* Returns the next ticket, counted from 0 after each barrier. Between two barriers, no two calls
   return the same ticket, no matter which threads make them. */
int rapt__team_take(struct team *team);

/* Takes the next part [*begin, *end) of n items. Its length is a multiple of `grain`, unless it is
   the last part. Returns false if no part is left. In a team, parts are usually smaller than those
   of rapt__team_share, so other threads can take over the parts of a thread that arrives late.
   Between two barriers, only one loop may take parts or tickets. */
bool rapt__team_part(struct team *team, size_t n, size_t grain, size_t *begin, size_t *end);
/* Sets [*begin, *end) to this thread's part of n items, which may be empty. Parts begin at
   multiples of `grain`, and their lengths differ by at most one grain. */
void rapt__team_share(const struct team *team, size_t n, size_t grain, size_t *begin, size_t *end);

/* ---- crowd.c: decides for team.c whether a team is faster than one thread ----

   A team is slow if other programs occupy the processors of some of its threads, because at every
   barrier the others wait for them.

   The rate of a call is the processor time that its threads get per second, not counting the time
   spent in barriers. If a team's rate is below 1, one thread may be faster, even if it, too, has to
   share its processor. Calls then try one thread, and the rates are compared. If the rate of one
   thread is higher, calls use one thread for a while before they try a team again. Results do not
   depend on this, because they are bit-identical for any number of threads. */
struct crowd {
    bool alone;         /* true while calls use one thread */
    double wall, work;  /* seconds that calls have taken since the last decision, and seconds of
                           processor time that their threads have used outside barriers */
    double enough;      /* value of `wall` at which the next decision is made */
    double alone_rate;  /* seconds of work per second with one thread */
    double alone_known; /* time at which alone_rate was measured, or 0 if it has not been */
};

/* Records a call that ended at `now`, ran on one thread (`alone`) or a team, took `wall` seconds,
   and used `work` seconds of processor time. c->alone then says how to run the next call.
   Zero-initialize a crowd; a team is tried first. */
void rapt__crowd_record(struct crowd *c, bool alone, double now, double wall, double work);

/* The functions below share one crowd, which describes the load of the machine as seen by the most
   recent calls in the process. Any thread may call them at any time. They measure time only on
   Linux; elsewhere the clocks return 0, and rapt__crowded returns false. */
bool rapt__crowded(void); /* returns true if calls should use one thread */
/* Reports that a call that began at `start` has ended and used `work` seconds of processor time. If
   several calls end at the same time, some of the reports may be lost. */
void rapt__crowd_report(bool alone, double start, double work);
double rapt__clock_seconds(void);  /* monotonic clock */
double rapt__thread_seconds(void); /* processor time of the calling thread */

#endif
