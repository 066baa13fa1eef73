/* exchange.c - tests the plan of an exchange between ranks, comparing what each sends with
   reduce-scatter by halves in the same tree; and which rank is named as slow. Only this rank
   exists. */
#define _POSIX_C_SOURCE 200809L
#include "kit/program.h"
#include "ranks/ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

const char program_name[] = "exchange";

/* ---- traffic ---- */

enum { FLOATS = 1 << 20, SHARDS = 64 };

/* Returns the bytes of gradients that a rank sends to the ranks that sum them. */
static size_t sent(int count, int rank, int *nodes)
{
    struct exchange x;
    struct ranks ranks = {.count = count, .rank = rank};
    exchange_create(&x, &ranks, SHARDS, FLOATS);
    size_t own = x.pieces[rank + 1] - x.pieces[rank];
    size_t bytes = (size_t)x.own_count * (FLOATS * sizeof(float) - own);
    *nodes = x.own_count;
    assert_int_equal(x.bytes, (size_t)(x.count - x.own_count) * own);
    exchange_free(&x);
    return bytes;
}

/* Returns the same for reduce-scatter: a rank of a complete subtree sends half of what it still
   sums to its sibling's rank, then half of that half to the rank of the next sibling, and so on. */
static size_t sent_by_halves(int count)
{
    size_t bytes = 0, left = FLOATS * sizeof(float);
    for (int others = count; others > 1; others /= 2) bytes += left / 2, left /= 2;
    return bytes;
}

static void test_as_little_as_by_halves(void **state)
{
    int nodes;
    for (int count = 1; count <= SHARDS; count *= 2)
        for (int rank = 0; rank < count; rank++) {
            assert_int_equal(sent(count, rank, &nodes), sent_by_halves(count));
            assert_int_equal(nodes, 1);
        }
    (void)state;
}

/* For any number of ranks there are at most two subtrees per level of the tree. */
static void test_never_much_more(void **state)
{
    int nodes, largest = 0;
    for (int count = 1; count <= SHARDS; count++)
        for (int rank = 0; rank < count; rank++) {
            size_t bytes = sent(count, rank, &nodes);
            assert_true(bytes <= (size_t)nodes * FLOATS * sizeof(float));
            if (nodes > largest) largest = nodes;
        }
    assert_in_range(largest, 2, 6);
    (void)state;
}

/* ---- who is slow ---- */

/* Collects what rank `rank` of four reports about these seconds, spent on `steps` steps of two
   shards each. */
static void watch(int rank, const double seconds[4], long long steps, char text[512])
{
    struct exchange x;
    struct ranks ranks = {.count = 4, .rank = rank};
    int saved = dup(STDERR_FILENO);
    FILE *file = tmpfile();
    assert_true(saved >= 0 && file != NULL);
    exchange_create(&x, &ranks, 8, 64);
    memcpy(x.seconds, seconds, 4 * sizeof *seconds);
    x.steps = steps;
    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    exchange_watch(&x);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    text[fread(text, 1, 511, file)] = 0;
    fclose(file);
    exchange_free(&x);
}

static void test_slow_rank_is_named(void **state)
{
    char text[512];
    watch(0, (double[]){10, 10, 20, 11}, 20, text);
    assert_string_equal(text,
                        "exchange: rank 2 is slow: it takes 1 s per shard, others take 0.5 s\n");
    watch(0, (double[]){40, 10, 10, 11}, 20, text);
    assert_non_null(strstr(text, "rank 0 is slow"));
    watch(0, (double[]){10, 14, 10, 11}, 20, text); /* not much slower */
    assert_string_equal(text, "");
    watch(0, (double[]){10, 10, 20, 11}, 19, text); /* too early */
    assert_string_equal(text, "");
    watch(0, (double[]){.1, .1, .2, .1}, 20, text); /* too short to judge */
    assert_string_equal(text, "");
    watch(1, (double[]){10, 10, 20, 11}, 20, text); /* only rank 0 reports */
    assert_string_equal(text, "");
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_little_as_by_halves),
        cmocka_unit_test(test_never_much_more),
        cmocka_unit_test(test_slow_rank_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
