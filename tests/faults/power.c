/* power.c - simulates a loss of power during a save, like SQLite's crash tests. The file operations
   of a save are recorded, and every prefix of them is replayed on a simulated disk that drops,
   keeps or tears the operations that no fsync covers, in any combination. The file must be the old
   or the new one, and the new one once the save has returned.

   The simulated disk guarantees only what POSIX does: a write is durable after an fsync of its
   file, a change of names after an fsync of the folder, and a rename happens completely or not at
   all. */
#define _GNU_SOURCE

#include "kit/things.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERATIONS = 1000, DESCRIPTORS = 1024, RANDOM = 64 };
enum kind { WRITE, SYNC, RENAME, SYNC_FOLDER, FORGOTTEN };

/* The recorded operations. File 0 is the old one, 1 the temporary one. */
static struct operation {
    enum kind kind;
    unsigned char *data; /* [size] bytes for offset `at` */
    size_t at, size;
    bool to_path; /* a rename to the final path */
} operations[OPERATIONS];
static int count;
static int file_of[DESCRIPTORS]; /* 1: the temporary file, 2: a folder */
static size_t written;

static void record(const char *call, int file, const char *name, const char *new_name,
                   const void *data, size_t size)
{
    assert_true(count < OPERATIONS && file < DESCRIPTORS);
    struct operation *o = &operations[count];
    if (strcmp(call, "create") == 0) file_of[file] = 1;
    if (strcmp(call, "open") == 0) file_of[file] = 2;
    if (strcmp(call, "write") == 0) {
        assert_int_equal(file_of[file], 1);
        *o = (struct operation){WRITE, malloc(size), written, size, false};
        assert_non_null(o->data);
        memcpy(o->data, data, size);
        written += size;
        count++;
    } else if (strcmp(call, "fsync") == 0) {
        *o = (struct operation){.kind = file_of[file] == 1 ? SYNC : SYNC_FOLDER};
        count++;
    } else if (strcmp(call, "rename") == 0) {
        assert_true(strncmp(name, ".rapt-", 6) == 0);
        *o = (struct operation){.kind = RENAME, .to_path = strcmp(new_name, "m") == 0};
        count++;
    }
}

static void record_save(enum thing thing, size_t limit)
{
    while (count > 0) free(operations[--count].data);
    written = 0;
    put(thing_bytes(thing, OLD));
    fault_arm(&(struct fault_plan){.mode = FAULT_ONCE, .at = -1, .limit = limit, .tell = record});
    assert_int_equal(thing_save(thing, NEW, NULL), RAPT_OK);
    fault_disarm();
}

/* ---- the disk after the loss of power ---- */

enum fate { DROPPED, KEPT, TORN };

static uint64_t next_random(uint64_t *state) /* SplitMix64 */
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* Tells whether an fsync before operation `until` covers operation o. */
static bool covered(int o, int until)
{
    enum kind needed = operations[o].kind == WRITE ? SYNC : SYNC_FOLDER;
    for (int i = o + 1; i < until; i++)
        if (operations[i].kind == needed) return true;
    return false;
}

/* Finds what the path names after `until` operations. Returns true if it is the new file, with its
   bytes in content[*size], and false if it is the old one. Bytes that no kept write covers are
   0. */
static bool replay(int until, const enum fate *fates, unsigned char *content, size_t *size)
{
    bool renamed = false;
    *size = 0;
    for (int o = 0; o < until; o++) {
        const struct operation *op = &operations[o];
        enum fate fate = covered(o, until) ? KEPT : fates[o];
        if (op->kind == RENAME && fate != DROPPED) renamed = op->to_path;
        if (op->kind != WRITE || fate == DROPPED) continue;
        size_t there = fate == TORN ? op->size / 2 : op->size;
        if (op->at > *size) memset(content + *size, 0, op->at - *size);
        memcpy(content + op->at, op->data, there);
        if (op->at + there > *size) *size = op->at + there;
    }
    return renamed;
}

static void choose(int until, int pattern, uint64_t *random, enum fate *fates)
{
    for (int o = 0; o < until; o++)
        fates[o] = pattern == 0   ? DROPPED
                   : pattern == 1 ? KEPT
                   : pattern == 2 ? TORN
                                  : (enum fate)(next_random(random) % 3);
}

static void check_kept_all(int until, unsigned char *content)
{
    enum fate fates[OPERATIONS];
    size_t size;
    uint64_t unused = 0;
    choose(until, 1, &unused, fates);
    replay(until, fates, content, &size);
}

/* Counts the simulated losses after which the file is neither old nor new, or old although the save
   had returned. Adds the number of simulations to *cases. */
static long losses(enum thing thing, long *cases)
{
    static enum fate fates[OPERATIONS];
    const struct bytes *new = thing_bytes(thing, NEW);
    unsigned char *content = malloc(written);
    uint64_t random = (uint64_t)thing;
    long wrong = 0;
    assert_non_null(content);
    check_kept_all(count, content);
    assert_memory_equal(content, new->data, new->size);
    for (int until = 0; until <= count; until++)
        for (int pattern = 0; pattern < RANDOM; pattern++) {
            size_t size;
            choose(until, pattern, &random, fates);
            bool renamed = replay(until, fates, content, &size);
            bool whole = size == new->size &&memcmp(content, new->data, size) == 0;
            wrong += renamed ? !whole : until == count;
            ++*cases;
        }
    free(content);
    return wrong;
}

static void test_every_loss(void **state)
{
    (void)state;
    long cases = 0;
    for (enum thing t = MODEL; t < THINGS; t++)
        for (size_t limit = 1 << 20; limit > 1000; limit /= 8) {
            record_save(t, limit);
            assert_int_equal(losses(t, &cases), 0);
        }
    print_message("%ld losses of power\n", cases);
    assert_true(cases > 10000);
}

/* If an fsync is missing, or the rename comes before it, the simulation must find losses. */
static void test_can_fail(void **state)
{
    (void)state;
    long cases = 0;
    for (enum thing t = MODEL; t < THINGS; t++) {
        for (enum kind kind = SYNC; kind <= SYNC_FOLDER; kind++) {
            record_save(t, 4096);
            for (int o = 0; o < count; o++)
                if (operations[o].kind == kind) operations[o].kind = FORGOTTEN;
            assert_true(losses(t, &cases) > 0);
        }
        record_save(t, 4096);
        for (int o = 1; o < count; o++)
            if (operations[o].kind == RENAME) {
                operations[o].kind = SYNC;
                operations[o - 1] = operations[o];
                operations[o - 1].kind = RENAME;
            }
        assert_true(losses(t, &cases) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_loss),
        cmocka_unit_test(test_can_fail),
    };
    return cmocka_run_group_tests(tests, things_create, things_free);
}
