/* faults.c - lets each allocation of each public function fail, first one at a time, then all from
   the n-th on, both in the caller's allocator and in the C library. The function must return
   RAPT_NO_MEMORY with a reason, change nothing and leak nothing, and a second try must succeed with
   the usual result. Argument: the number of scenes. */
#define _GNU_SOURCE
#include "process/operations.h"

#include <errno.h>

/* Counts allocations and decides which fail. */
struct tally {
    long live, calls, fail_at; /* 0: never */
    bool for_good;
};

static bool fails(struct tally *c)
{
    c->calls++;
    bool now = c->fail_at && (c->calls == c->fail_at || (c->for_good && c->calls > c->fail_at));
    if (now) errno = ENOMEM;
    return now;
}

/* ---- the caller's allocator ---- */

static struct tally given;

static void *take(void *user, size_t bytes)
{
    struct tally *c = user;
    if (fails(c)) return NULL;
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(memory);
    memset(memory, 0xff, bytes);
    c->live++;
    return memory;
}

static void give_back(void *user, void *memory, size_t bytes)
{
    struct tally *c = user;
    memset(memory, 0xff, bytes);
    c->live--;
    free(memory);
}

static const rapt_allocator allocator = {take, give_back, &given};

/* ---- the C library's allocator, on this thread while `watched` ---- */

static struct tally plain;
static _Thread_local bool watched;

#if defined(__GLIBC__) && !defined(RAPT_INSTRUMENTED)
static const bool can_watch = true;
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *memory);

static void *counted(void *memory)
{
    if (watched && memory) plain.live++;
    return memory;
}

void *malloc(size_t bytes)
{
    return watched && fails(&plain) ? NULL : counted(__libc_malloc(bytes));
}

void *calloc(size_t count, size_t bytes)
{
    return watched && fails(&plain) ? NULL : counted(__libc_calloc(count, bytes));
}

void *realloc(void *memory, size_t bytes)
{
    if (watched && fails(&plain)) return NULL;
    return memory ? __libc_realloc(memory, bytes) : counted(__libc_malloc(bytes));
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return watched && fails(&plain) ? NULL : counted(__libc_memalign(alignment, bytes));
}

void free(void *memory)
{
    if (watched && memory) plain.live--;
    __libc_free(memory);
}
#else
static const bool can_watch = false;
#endif

/* ---- operations with failing allocations ---- */

static long injections,
    without; /* failures of the C library's allocator that the operation could do without */

/* Runs an operation with its n-th allocation failing and checks the outcome. Returns false if it
   makes fewer than n allocations. */
static bool inject(struct scene *s, const struct operation *o, struct tally *c, long n,
                   bool for_good, uint64_t right)
{
    rapt_message why = {""};
    uint64_t h = 0xCBF29CE484222325u;
    *c = (struct tally){.fail_at = n, .for_good = for_good};
    s->changed = false;
    watched = c == &plain;
    rapt_status status = o->run(s, &h, &why);
    watched = false;
    bool reached = c->calls >= n;
    c->fail_at = 0;
    if (c->live) fail_msg("%s: allocation %ld failed: %ld leaked", o->name, n, c->live);
    if (s->changed) fail_msg("%s: allocation %ld failed: something changed", o->name, n);
    if (!reached) {
        if (status || h != right) fail_msg("%s: %s", o->name, why.text);
        return false;
    }
    bool spared = c == &plain && !status && h == right && !why.text[0];
    without += spared;
    if (!spared && (status != RAPT_NO_MEMORY || !why.text[0]))
        fail_msg("%s: allocation %ld failed: status %d, \"%s\"", o->name, n, (int)status, why.text);
    if (scene_run(s, o) != right) fail_msg("%s: other results after failure %ld", o->name, n);
    injections++;
    return true;
}

static void each_fails(struct scene *s, const struct operation *o, struct tally *c)
{
    s->allocator = c == &given ? &allocator : NULL;
    uint64_t right = scene_run(s, o);
    if (!right) fail_msg("%s fails without a failing allocation: %s", o->name, s->reason);
    for (int for_good = 0; for_good < 2; for_good++) {
        long n = 1;
        while (inject(s, o, c, n, for_good, right)) n++;
        if (c == &plain) assert_true(n > 1);
    }
}

/* Checks that a function that the headers describe as not allocating does not allocate. */
static void nothing_allocated(struct scene *s, const struct operation *o)
{
    s->allocator = &allocator;
    given = plain = (struct tally){.calls = 0};
    watched = true;
    uint64_t h = scene_run(s, o);
    watched = false;
    if (!h) fail_msg("%s fails", o->name);
    if (given.calls || plain.calls) fail_msg("%s allocates", o->name);
}

static void all_of(struct scene *s, const struct operation *o)
{
    if (!o->allocates) {
        nothing_allocated(s, o);
    } else {
        each_fails(s, o, &given);
        if (can_watch) each_fails(s, o, &plain);
    }
}

/* Tells whether an operation is the same in every scene. */
static bool same_everywhere(const struct operation *o)
{
    return o->run == do_folder_import || o->run == do_folder_export;
}

static int scenes = 14;

static void test_faults(void **state)
{
    (void)state;
    for (int variant = 0; variant < scenes; variant++) {
        struct scene *s = scene_new(variant % SCENE_VARIANTS, 1, 0, NULL);
        for (int i = 0; i < OPERATIONS; i++)
            if (variant == 0 || !same_everywhere(&operations[i])) all_of(s, &operations[i]);
        scene_free(s, NULL);
    }
    printf("cases: process/faults: %ld failed allocations, %ld of them without consequence\n",
           injections, without);
    assert_true(!can_watch || injections >= 750L * scenes);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_faults)};
    if (count > 1) scenes = atoi(words[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
