/* base.h - interface of the lowest layer: messages, memory, sorting, UTF-8, random numbers,
   processor, thread team. It knows no mathematics. */
#ifndef RAPT_LIB_BASE_H
#define RAPT_LIB_BASE_H

#include "base/heap.h"
#include "base/real.h"
#include "base/util.h"
#include <rapt/base.h>
#include <stdbool.h>

/* ---- status.c ---- */

/* Windows' own printf does not know all of C's conversions, so another one is linked there. */
#ifdef __MINGW32__
#define RAPT__PRINTF gnu_printf
#else
#define RAPT__PRINTF printf
#endif

/* Writes a formatted reason, made printable, into *why (may be NULL) and returns the status. */
rapt_status rapt__fail(rapt_message *why, rapt_status status, const char *format, ...)
    __attribute__((format(RAPT__PRINTF, 3, 4)));
/* RAPT_BAD_ARGUMENT, and name, value and range in *why: it is not min to max; NaN never is. */
rapt_status rapt__int_check(const char *name, int value, int min, int max, rapt_message *why);
rapt_status rapt__float_check(const char *name, float value, double min, double max,
                              rapt_message *why);
/* The same for a share of elements that are dropped: at least 0 and below 1. */
rapt_status rapt__share_check(const char *name, float share, rapt_message *why);

/* ---- struct.c: public structs whose first member is `size_t size`, set by the caller to sizeof
   ---- So that they can grow, such a struct ends without padding, and 0 is the default of every
   field.
 */

/* The caller's struct `given` as the library's own, of own_size bytes: fields it is too short for
   are 0, and own's size is own_size. RAPT_BAD_ARGUMENT, own unchanged: given is NULL, its size was
   not set, or it is longer than own and not 0 there. `name` is the type, for messages. */
rapt_status rapt__struct_read(void *own, size_t own_size, const void *given, const char *name,
                              rapt_message *why);
/* The other way, for results: writes as much of own as given's size holds, 0 where given is longer;
   given's size stays. RAPT_BAD_ARGUMENT, given unchanged: NULL, or its size was not set. */
rapt_status rapt__struct_write(void *given, const void *own, size_t own_size, const char *name,
                               rapt_message *why);
/* The same for a struct whose size is a separate argument, which it gets. RAPT_BAD_ARGUMENT, given
   unchanged: NULL, or that size is invalid. */
rapt_status rapt__struct_default(void *given, size_t size, const void *own, size_t own_size);
/* What rapt__struct_write would return, before there is a result to write. */
rapt_status rapt__struct_check(const void *given, const char *name, rapt_message *why);

/* ---- decimal.c: floats as decimal text, whatever the locale ---- */
enum { FLOAT_TEXT = 24 }; /* bytes that hold any finite float */
/* The shortest text that reads back to the same bits; x is finite. */
void rapt__float_write(float x, char text[FLOAT_TEXT]);
/* A number for a message, as a user would have typed it: the digits of an integer, else the
   shortest text of the float, inf or nan. x is an int or a float. Returns text. */
const char *rapt__number_write(double x, char text[FLOAT_TEXT]);
/* The float nearest to a number as JSON writes it (leading zeros allowed). false, *x unchanged: it
   is no number, has more than 128 digits or is beyond the largest float. */
bool rapt__float_read(const char *text, float *x);

/* ---- memory.c ---- */

/* The allocator itself, or the default one if NULL. */
rapt_allocator rapt__allocator(const rapt_allocator *allocator);

/* 64-byte aligned memory; NULL if bytes is 0 or there is none. */
void *rapt__alloc(const rapt_allocator *allocator, size_t bytes);
void rapt__free(const rapt_allocator *allocator, void *memory, size_t bytes); /* NULL is allowed */
/* Advises the system to use large pages (madvise): all of this memory will be read repeatedly. */
void rapt__memory_streamed(void *memory, size_t bytes);

/* *product = a * b, *sum = a + b; false, and nothing written, if it does not fit. */
bool rapt__times(size_t a, size_t b, size_t *product);
bool rapt__plus(size_t a, size_t b, size_t *sum);

/* Growable arrays: a copy of `array`, which had *capacity items of `size` bytes, with twice the
   capacity (8 at first); the old memory is freed. NULL if there is none: the old array stays. */
void *rapt__grown(const rapt_allocator *allocator, void *array, size_t *capacity, size_t size);

/* ---- sort.c: in place, no memory, n log n for every input; not stable ---- */
void rapt__sort(void *items, size_t count, size_t size, rapt__order *order, const void *context);

/* ---- hash.c: FNV-1a, 32 bits ---- */
uint32_t rapt__hash(const void *bytes, size_t size);
/* The same from a beginning that depends on the address of a table, so that names which a file
   chose beforehand do not all fall into one slot of it. */
uint32_t rapt__hash_from(const void *table, const void *bytes, size_t size);

/* ---- utf8.c ---- */
/* The code point at the front of bytes[size]: its length, and its value in *code. 0: what stands
   there is not valid UTF-8. */
size_t rapt__utf8_decode(const void *bytes, size_t size, uint32_t *code);
/* Writes a code point, at most 4 bytes, and returns their number. */
size_t rapt__utf8_encode(uint32_t code, void *bytes);
/* Control characters, and bytes that are no UTF-8, become '?'. */
void rapt__make_printable(char *text);
/* Whether a byte is within a character, not its first. */
static inline bool rapt__utf8_continues(int byte)
{
    return (byte & 0xC0) == 0x80;
}

struct team; /* team.c, below */

/* ---- arena.c: one block of memory, handed out in pieces ----
   A layout function lays a struct out: it takes one piece of the arena for each array. It is run
   twice: with base NULL, which only counts (and hands out NULL), then with memory of `used` bytes.
   Pieces are aligned to 64 bytes, if base is. In debug builds and under AddressSanitizer a red
   zone follows each of them, so sizes depend on the build of the library. */
struct arena {
    char *base;
    size_t used, size;
    bool overflow; /* a piece did not fit into size_t, or into the memory; reserve then fails */
    bool raw;      /* reserve leaves the memory as the allocator gave it; else it is zeroed */
    int rank;      /* the member of a team that lays out; all lay out the same memory, and */
    int owner;     /*   this one writes its red zones */
    char *last_red_zone; /* its end; NULL: none */
};
/* NULL if count or size is 0. */
void *rapt__arena_take(struct arena *arena, size_t count, size_t size);
float *rapt__arena_floats(struct arena *arena, size_t rows, size_t columns);
/* Turns a counting arena into a real one of that size. */
rapt_status rapt__arena_reserve(struct arena *arena, const rapt_allocator *allocator);
void rapt__arena_free(struct arena *arena, const rapt_allocator *allocator);
/* Of what is laid out in `arena` or else in `other`, a counted copy of it, the greater. */
void rapt__arena_either(struct arena *arena, const struct arena *other);
/* Ends the use of the pieces: removes the red zones; false if one of them was written to. */
bool rapt__arena_close(struct arena *arena);

/* A workspace: an arena over memory that the caller gave, 64-byte aligned, shared by a team. Every
   member lays out the same structs and keeps its own pointers. Pieces hold NaN at first in debug
   builds. */
struct arena rapt__arena_over(void *base, size_t bytes, int rank);
/* Lays out `count` equal parts, one per member: layout(part, what, to) describes one of them. This
   member's part goes to *mine, that of member 0 to *first (NULL: not wanted). */
typedef void rapt__layout(struct arena *part, const void *what, void *to);
void rapt__arena_parts(struct arena *arena, size_t count, rapt__layout *layout, const void *what,
                       void *mine, void *first);
/* Called by all members after the layout and before the first use of a piece; and after the last
   use by anybody (a barrier has been passed), with no team by a single caller. They do nothing in
   release builds; else a barrier, and an assertion that the red zones are intact. */
void rapt__workspace_begin(struct team *team);
void rapt__workspace_end(struct team *team, struct arena *arena);

/* ---- random.c: Philox 4x32-10 (Salmon et al. 2011), a function of key and counter ---- */
void rapt__philox(uint64_t key, uint64_t counter_low, uint64_t counter_high, uint32_t out[4]);
double rapt__uniform(uint64_t key, uint64_t index); /* in [0, 1) */
double rapt__normal(uint64_t key, uint64_t index);  /* mean 0, deviation 1 */
uint64_t rapt__mix(uint64_t key, uint64_t word);    /* a new key from a key and a word */

/* ---- processor.c ---- */
bool rapt__processor_has(rapt_isa isa);
bool rapt__processor_by_intel(void);

/* ---- cache.c ---- */
size_t rapt__second_level_size(void); /* bytes of a core's second-level cache */
/* Bytes that stay near a core: in its second-level cache, and in its share of a third level that
   few cores have. */
size_t rapt__near_size(void);
bool rapt__third_level_far(void); /* whether the third level is that of a whole die (Intel) */
int rapt__first_level_ways(void); /* lines that a set of the first level holds */
/* Whether a few floats of each of so many rows, stride floats apart, leave no half of the
   second-level cache free: rows a power of two apart fall into few of its sets. */
bool rapt__rows_collide(ptrdiff_t stride, int rows);
/* Whether a line of each of so many rows, as a register tile reads, would need half as many ways
   again as sets of the first level have. */
bool rapt__tiles_collide(ptrdiff_t stride, int rows);

/* ---- team.c: a thread team, SPMD (single program, multiple data) ----
   A public call opens one parallel region: rapt__team_run calls work(team, argument) once on every
   thread, its members. From there down, each function that takes a team is called by all members,
   with the same arguments, and divides its loop among them: dynamically, where each member takes
   the next index (rapt__team_take) or part (rapt__team_part), or statically, in equal parts
   (rapt__team_share), where several loops stand between two barriers. Functions without a team run
   on one thread. What one member wrote, others may read after the next barrier;
   every member passes the same barriers. Only independent results are divided, never a sum: which
   member computes what, and how many there are, changes no bit.

   All members of a team, and no other thread, may call these with its struct team, which is their
   own; rapt__team_run and rapt__team_size may be called from any thread, several at once as well.
 */
struct team_shared;
struct team {
    int rank, size; /* this member is number rank of 0 .. size - 1 */
    unsigned phase; /* barriers passed */
    int spin_limit; /* how long this member spins at a barrier before it sleeps */
    double waiting; /* seconds of a processor that barriers have taken */
    struct team_shared *shared;
};
typedef void rapt__work(struct team *team, void *argument);

/* The most members that a team of `threads` will have, for workspaces of each; threads 0: as many
   as OpenMP would use, but not more than there are processors. team->size is how many it has: one
   inside a parallel region of the caller or where other programs take the processors (crowd.h), and
   more than processors only if OMP_NUM_THREADS, too, says so. */
int rapt__team_size(int threads);
void rapt__team_run(int threads, rapt__work *work, void *argument);
void rapt__team_barrier(struct team *team);
/* Waits a little, for loops that poll memory between barriers; attempt 0, 1, 2, ...: longer later.
 */
void rapt__team_backoff(int attempt);
int rapt__team_take(struct team *team); /* 0, 1, 2, ... since the last barrier, each once */

/* Takes the next part of n items, a multiple of grain: [*begin, *end); false: none is left. Parts
   are smaller than those of rapt__team_share, and a member that comes late leaves them to the
   others; all that is taken until the next barrier is of one loop. */
bool rapt__team_part(struct team *team, size_t n, size_t grain, size_t *begin, size_t *end);
/* Member rank's part of n items, in multiples of grain: [*begin, *end). */
void rapt__team_share(const struct team *team, size_t n, size_t grain, size_t *begin, size_t *end);

#endif
