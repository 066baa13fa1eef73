/* arena.c - arenas: pieces are counted as they are handed out, aligned, disjoint, and zeroed or
   NaN; sizes that do not fit are refused; members of a team get parts of their own; a write past
   the end of a piece is caught. The arena is compiled into this test, so that it has red zones in
   release builds, too. */
#include "../../lib/base/arena.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PIECES = 20 };

static size_t size_of_piece(size_t i)
{
    return i * (1 + i * 7);
}

static size_t lay_out(struct arena *arena, char *pieces[PIECES])
{
    for (size_t i = 0; i < PIECES; i++) pieces[i] = rapt__arena_take(arena, i, 1 + i * 7);
    return arena->used;
}

static void expect_bytes(const char *piece, size_t bytes, int value)
{
    for (size_t b = 0; b < bytes; b++) assert_int_equal((unsigned char)piece[b], value);
}

static void pieces_are_disjoint(void **state)
{
    (void)state;
    struct arena arena = {0};
    char *pieces[PIECES], *end = NULL;
    size_t size = lay_out(&arena, pieces);
    for (int i = 0; i < PIECES; i++) assert_null(pieces[i]);
    assert_int_equal(rapt__arena_reserve(&arena, NULL), RAPT_OK);
    assert_int_equal(lay_out(&arena, pieces), size);
    assert_int_equal(arena.size, size);
    assert_false(arena.overflow);
    assert_null(pieces[0]); /* an empty piece */
    for (size_t i = 1; i < PIECES; i++) {
        size_t bytes = size_of_piece(i);
        assert_int_equal((uintptr_t)pieces[i] % 64, 0);
        assert_true(pieces[i] >= end);
        expect_bytes(pieces[i], bytes, 0);
        memset(pieces[i], 0xff, bytes);
        end = pieces[i] + bytes;
    }
    assert_true(end <= arena.base + arena.size);
    assert_null(rapt__arena_take(&arena, 1, 1)); /* more than was counted */
    assert_true(arena.overflow);
    rapt__arena_free(&arena, NULL);
    assert_null(arena.base);
}

/* ---- sizes ---- */

static void sizes_that_do_not_fit(void **state)
{
    (void)state;
    const size_t sizes[][2] = {
        {SIZE_MAX, 2}, {SIZE_MAX / 2 + 1, 2}, {SIZE_MAX - 3, 1}, {1, SIZE_MAX - 2}};
    for (size_t i = 0; i < 4; i++) {
        struct arena arena = {0};
        assert_null(rapt__arena_take(&arena, sizes[i][0], sizes[i][1]));
        assert_true(arena.overflow);
        assert_int_equal(rapt__arena_reserve(&arena, NULL), RAPT_NO_MEMORY);
    }
    struct arena sum = {0};
    for (int i = 0; i < 5; i++) rapt__arena_take(&sum, SIZE_MAX / 4, 1);
    assert_true(sum.overflow);
    struct arena product = {0};
    rapt__arena_take(&product, rapt__product(SIZE_MAX / 2, 3), 1);
    assert_true(product.overflow);
}

static void one_or_the_other(void **state)
{
    (void)state;
    struct arena arena = {0};
    rapt__arena_take(&arena, 100, 1);
    struct arena small = arena, large = arena;
    rapt__arena_take(&small, 10, 1);
    rapt__arena_take(&large, 1000, 1);
    rapt__arena_either(&arena, &large);
    assert_int_equal(arena.used, large.used);
    rapt__arena_either(&arena, &small);
    assert_int_equal(arena.used, large.used);
    rapt__arena_take(&small, SIZE_MAX, 1);
    rapt__arena_either(&arena, &small);
    assert_true(arena.overflow);
}

static void checked_arithmetic(void **state)
{
    (void)state;
    size_t out = 5;
    assert_false(rapt__times(SIZE_MAX, 2, &out));
    assert_false(rapt__plus(SIZE_MAX, 1, &out));
    assert_int_equal(out, 5);
    assert_true(rapt__times(SIZE_MAX, 1, &out) && out == SIZE_MAX);
    assert_true(rapt__times(0, SIZE_MAX, &out) && out == 0);
    assert_true(rapt__product(3, 5) == 15 && rapt__product(SIZE_MAX, 0) == 0);
    assert_true(rapt__product(SIZE_MAX / 2 + 1, 2) == SIZE_MAX);
    assert_true(rapt__product(rapt__product(SIZE_MAX, 2), 3) == SIZE_MAX);
    assert_true(rapt__plus(SIZE_MAX, 0, &out) && out == SIZE_MAX);
}

/* ---- the allocator ---- */

struct counting {
    size_t held, calls;
    bool refuse;
};

static void *count_alloc(void *user, size_t bytes)
{
    struct counting *c = user;
    c->calls++;
    if (c->refuse) return NULL;
    c->held += bytes;
    return rapt__alloc(NULL, bytes);
}

static void count_free(void *user, void *memory, size_t bytes)
{
    struct counting *c = user;
    c->held -= bytes;
    rapt__free(NULL, memory, bytes);
}

static void the_callers_allocator(void **state)
{
    (void)state;
    struct counting counting = {0};
    rapt_allocator allocator = {count_alloc, count_free, &counting};
    struct arena arena = {0};
    rapt__arena_take(&arena, 100, 4);
    assert_int_equal(rapt__arena_reserve(&arena, &allocator), RAPT_OK);
    assert_int_equal(counting.held, arena.size);
    rapt__arena_free(&arena, &allocator);
    assert_int_equal(counting.held, 0);
    counting.refuse = true;
    rapt__arena_take(&arena, 100, 4);
    assert_int_equal(rapt__arena_reserve(&arena, &allocator), RAPT_NO_MEMORY);
    assert_null(rapt__alloc(&allocator, 0));
    assert_int_equal(counting.calls, 2);
}

/* ---- red zones ---- */

static char *allocate(size_t bytes)
{
    char *memory = aligned_alloc(64, bytes);
    assert_non_null(memory);
    return memory;
}

/* Lays a workspace out in a separate process and writes one byte, `behind` bytes past the end of a
   piece. Returns how that process ended. */
static int status_after_write(size_t piece, int behind)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct arena counting = {0};
        char *pieces[PIECES];
        (void)close(STDERR_FILENO); /* AddressSanitizer reports there */
        size_t size = lay_out(&counting, pieces);
        struct arena arena = rapt__arena_over(allocate(size), size, 0);
        lay_out(&arena, pieces);
        ((volatile char *)pieces[piece])[(ptrdiff_t)size_of_piece(piece) + behind] = 1;
        _exit(rapt__arena_close(&arena) ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void writes_behind_a_piece(void **state)
{
    (void)state;
    const int behind[] = {0, 1, 17, RED_ZONE - 1};
    for (size_t i = 1; i < PIECES; i++) {
        assert_int_equal(status_after_write(i, -1), 0); /* the last byte of the piece itself */
        for (int b = 0; b < 4; b++) assert_int_not_equal(status_after_write(i, behind[b]), 0);
    }
}

static void a_workspace_begins_as_nan(void **state)
{
    (void)state;
    struct arena counting = {0};
    char *pieces[PIECES];
    size_t size = lay_out(&counting, pieces);
    char *memory = allocate(size);
    for (int run = 0; run < 2; run++) {
        struct arena arena = rapt__arena_over(memory, size, 0);
        assert_int_equal(lay_out(&arena, pieces), size);
        for (size_t i = 1; i < PIECES; i++) expect_bytes(pieces[i], size_of_piece(i), 0xff);
        for (size_t i = 1; i < PIECES; i++) memset(pieces[i], 0, size_of_piece(i));
        assert_true(rapt__arena_close(&arena));
        memset(memory, 1, size); /* all of the memory can be used again */
    }
    free(memory);
}

/* ---- parts ---- */

struct part {
    char *a, *b;
};

static void lay_out_part(struct arena *part, const void *what, void *to)
{
    const size_t *size = what;
    struct part *p = to;
    p->a = rapt__arena_take(part, *size, 1);
    p->b = rapt__arena_take(part, 3, *size);
}

enum { TEAM = 3, PART = 30 };

/* Member `rank` lays out a shared piece, the parts and another shared piece. */
static struct arena lay_out_team(char *memory, size_t bytes, int rank, char *shared[2],
                                 struct part *mine, struct part *first)
{
    const size_t size = PART;
    struct arena arena = rapt__arena_over(memory, bytes, rank);
    if (!memory) arena = (struct arena){0};
    shared[0] = rapt__arena_take(&arena, 10, 1);
    rapt__arena_parts(&arena, TEAM, lay_out_part, &size, mine, first);
    shared[1] = rapt__arena_take(&arena, 10, 1);
    return arena;
}

static void members_have_parts(void **state)
{
    (void)state;
    struct part mine[TEAM], first[TEAM];
    char *shared[TEAM][2];
    struct arena arena[TEAM];
    size_t bytes = lay_out_team(NULL, 0, 0, shared[0], mine, first).used;
    char *memory = allocate(bytes);
    for (int r = 0; r < TEAM; r++) {
        arena[r] = lay_out_team(memory, bytes, r, shared[r], mine + r, first + r);
        assert_int_equal(arena[r].used, bytes);
        assert_false(arena[r].overflow);
        for (int i = 0; i < 2; i++) assert_ptr_equal(shared[r][i], shared[0][i]);
        assert_ptr_equal(first[r].a, mine[0].a);
        assert_ptr_equal(first[r].b, mine[0].b);
        if (r > 0) assert_true(mine[r].a >= mine[r - 1].b + 3 * PART);
        memset(mine[r].a, r, PART), memset(mine[r].b, r, 3 * PART);
    }
    for (int r = 0; r < TEAM; r++) { /* no member has written to the part of another */
        expect_bytes(mine[r].a, PART, r), expect_bytes(mine[r].b, 3 * PART, r);
        assert_true(rapt__arena_close(&arena[r]));
    }
    memset(memory, 0, bytes);
    free(memory);
}

/* A member detects a write past the end of its part. */
static void writes_behind_a_part(void **state)
{
    (void)state;
    for (int r = 0; r < TEAM; r++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct part mine, first;
            char *shared[2];
            (void)close(STDERR_FILENO);
            size_t bytes = lay_out_team(NULL, 0, 0, shared, &mine, &first).used;
            struct arena arena = lay_out_team(allocate(bytes), bytes, r, shared, &mine, &first);
            ((volatile char *)mine.a)[PART] = 1;
            _exit(rapt__arena_close(&arena) ? 0 : 1);
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_not_equal(status, 0);
    }
}

static void parts_that_do_not_fit(void **state)
{
    (void)state;
    const size_t sizes[] = {SIZE_MAX, SIZE_MAX / TEAM};
    struct part mine;
    for (int i = 0; i < 2; i++) {
        struct arena arena = {0};
        rapt__arena_parts(&arena, TEAM, lay_out_part, &sizes[i], &mine, NULL);
        assert_true(arena.overflow);
    }
    char memory[64];
    struct arena small = rapt__arena_over(memory, sizeof memory, 0);
    const size_t size = PART;
    rapt__arena_parts(&small, TEAM, lay_out_part, &size, &mine, NULL);
    assert_true(small.overflow);
    assert_null(mine.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_disjoint),       cmocka_unit_test(sizes_that_do_not_fit),
        cmocka_unit_test(one_or_the_other),          cmocka_unit_test(checked_arithmetic),
        cmocka_unit_test(the_callers_allocator),     cmocka_unit_test(writes_behind_a_piece),
        cmocka_unit_test(a_workspace_begins_as_nan), cmocka_unit_test(members_have_parts),
        cmocka_unit_test(writes_behind_a_part),      cmocka_unit_test(parts_that_do_not_fit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
