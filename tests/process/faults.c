/* faults.c - lets each allocation of each public function fail, first one at a time, then all from
   the n-th on, both in the caller's allocator and in the C library. The function must return
   RAPT_NO_MEMORY with a reason, change nothing and leak nothing, and a second try must succeed with
   the usual result. Argument: the number of scenes. */
#include "process/allocations.h"
#include "process/operations.h"

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
        if (can_watch && !uses_icu(o)) each_fails(s, o, &plain);
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
