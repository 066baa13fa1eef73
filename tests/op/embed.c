/* embed.c - rows of tables that become a sequence, and rows of a sequence that become one. */
#include "op/helpers.h"
#include "oracle/op.h"

/* ---- embed: rows of a table by token and of another by position, against their definition and its
   difference quotients. ---- */

enum { MAX_ROWS = 120, POSITIONS = 64, EMBED_BATCH = 4 };

struct embed_problem {
    struct embedding e;
    int32_t ids[MAX_ROWS];
    int position[MAX_ROWS]; /* of each row, for the definition */
    int starts[EMBED_BATCH + 1], past[EMBED_BATCH];
    bool with_past;
    struct dropout d;
    float *table, *panels, *positions, *dy;
    float *y;
    float *gradients, *dtable, *dpositions; /* back to back */
    size_t table_size, size;
};

static const int all_starts[][EMBED_BATCH + 1] = {
    {0, 0, 0, 0, 0}, {0, 1, 1, 1, 1}, {0, 7, 7, 15, 15}, {0, 50, 51, 53, 113}};

static struct embed_problem make(int vocab, int width, const int *starts, bool positions)
{
    struct embed_problem p = {.e = {.table = {.in = width, .out = vocab}, .scale = 3.5f}};
    p.table = random_floats((size_t)(vocab * width), 1);
    p.panels = to_panels(p.table, vocab, width);
    p.positions = random_floats((size_t)(POSITIONS * width), 2);
    p.e.table.weight = p.panels;
    p.e.positions = positions ? p.positions : NULL;
    memcpy(p.starts, starts, sizeof p.starts);
    for (int b = 0; b < EMBED_BATCH; b++)
        for (int r = starts[b]; r < starts[b + 1]; r++) {
            p.ids[r] = (int32_t)(rapt__uniform(3, (uint64_t)r) * vocab);
            p.position[r] = r - starts[b];
        }
    size_t rows = (size_t)starts[EMBED_BATCH];
    p.dy = random_floats(rows * (size_t)width, 4);
    p.y = floats(rows * (size_t)width);
    p.table_size = rapt__panels_size((size_t)vocab, (size_t)width);
    p.size = p.table_size + (size_t)(POSITIONS * width);
    p.gradients = floats(p.size);
    p.dtable = p.gradients;
    p.dpositions = p.gradients + p.table_size;
    return p;
}

static void drop(struct embed_problem *p)
{
    free(p->table);
    free(p->panels);
    free(p->positions);
    free(p->dy);
    free(p->y);
    free(p->gradients);
}

static size_t outputs(const struct embed_problem *p)
{
    return (size_t)(p->starts[EMBED_BATCH] * p->e.table.in);
}

static void run_forward(const struct exec_context *exec, void *argument)
{
    const struct embed_problem *p = argument;
    rapt__embed_forward(exec, &p->e, EMBED_BATCH, p->ids, p->starts, p->with_past ? p->past : NULL,
                        &p->d, p->y);
}

/* Runs backward; uses y as dy and overwrites it. */
static void run_backward(const struct exec_context *exec, void *argument)
{
    const struct embed_problem *p = argument;
    if (exec->team->rank == 0) memcpy(p->y, p->dy, outputs(p) * sizeof(float));
    rapt__team_barrier(exec->team);
    const struct embedding_gradients to = {.table = p->dtable,
                                           .positions = p->e.positions ? p->dpositions : NULL};
    rapt__embed_backward(exec, &p->e, EMBED_BATCH, p->ids, p->starts, &p->d, p->y, &to);
}

struct reference { /* sum of dy * y */
    const struct embed_problem *p;
    double *table, *positions, *y;
};

static double weighted_sum(const void *argument)
{
    const struct reference *j = argument;
    const struct embed_problem *p = j->p;
    double sum = 0;
    oracle_embed(p->starts[EMBED_BATCH], p->e.table.in, p->ids, p->position, (double)p->e.scale,
                 j->table, p->e.positions ? j->positions : NULL, j->y);
    for (size_t i = 0; i < outputs(p); i++) sum += (double)p->dy[i] * j->y[i];
    return sum;
}

static struct reference reference_of(const struct embed_problem *p)
{
    return (struct reference){p, doubles(p->table, (size_t)(p->e.table.out * p->e.table.in)),
                              doubles(p->positions, (size_t)(POSITIONS * p->e.table.in)),
                              doubles(NULL, outputs(p))};
}

static void drop_reference(struct reference *j)
{
    free(j->table);
    free(j->positions);
    free(j->y);
}

static void check(struct embed_problem *p)
{
    struct reference j = reference_of(p);
    int width = p->e.table.in, cells = p->e.table.out * width;
    assert_same_bits(run_forward, p, p->y, outputs(p));
    weighted_sum(&j);
    assert_all_near(p->y, j.y, outputs(p), 2);
    assert_same_bits(run_backward, p, p->gradients, p->size);
    for (int i = 0; i<cells; i += cells> 50 ? cells / 50 : 1)
        assert_near((double)p->dtable[panel_index(width, i / width, i % width)],
                    slope(weighted_sum, &j, &j.table[i]), 24);
    assert_padding(p->dtable, p->e.table.out, width);
    for (size_t i = 0; i < 5 * (size_t)width; i++)
        assert_near((double)p->dpositions[i], slope(weighted_sum, &j, &j.positions[i]), 4);
    drop_reference(&j);
}

static void rows_and_gradients_are_the_definition(void **state)
{
    static const int vocabs[] = {1, 5, 1003}, widths[] = {1, 7, 17, 130};
    (void)state;
    for (int v = 0; v < COUNT(vocabs); v++)
        for (int w = 0; w < COUNT(widths); w++)
            for (int s = 0; s < COUNT(all_starts); s++) {
                struct embed_problem p =
                    make(vocabs[v], widths[w], all_starts[s], (v + w + s) % 3 > 0);
                check(&p);
                drop(&p);
            }
}

/* With `past`, computing one row of each sequence at a time gives the rows of all at once. */
static void positions_go_on_from_the_past(void **state)
{
    (void)state;
    struct embed_problem p = make(5, 17, all_starts[2], true);
    run_exec(2, run_forward, &p);
    struct embed_problem one = p;
    one.y = floats(17);
    one.with_past = true;
    for (int b = 0; b < EMBED_BATCH; b++)
        for (int r = p.starts[b]; r < p.starts[b + 1]; r++) {
            for (int i = 0; i <= EMBED_BATCH; i++) one.starts[i] = i > b;
            one.past[b] = r - p.starts[b];
            one.ids[0] = p.ids[r];
            run_exec(1, run_forward, &one);
            assert_memory_equal(one.y, p.y + 17 * r, 17 * sizeof(float));
        }
    free(one.y);
    drop(&p);
}

/* Dropped elements have no gradient and the others are scaled, by the factors of
   rapt__dropout_rows. */
static void dropout_goes_both_ways(void **state)
{
    (void)state;
    struct embed_problem p = make(5, 130, all_starts[3], false);
    run_exec(1, run_forward, &p);
    double *whole = doubles(p.y, outputs(&p)), sum = 0, dropped_sum = 0;
    p.d = rapt__dropout(0.5f, 11);
    assert_same_bits(run_forward, &p, p.y, outputs(&p));
    for (size_t i = 0; i < outputs(&p); i++) {
        assert_true(p.y[i] == 0 || within_roundings((double)p.y[i], 2 * whole[i], 4, 1));
        if (p.y[i] != 0) sum += 2 * (double)p.dy[i] * (double)p.e.scale;
    }
    assert_same_bits(run_backward, &p, p.gradients, p.size);
    for (size_t i = 0; i < p.table_size; i++) dropped_sum += (double)p.dtable[i];
    assert_near(dropped_sum, sum, 4);
    free(whole);
    drop(&p);
}

/* ---- pool: pools rows of a sequence to one and back, against the definition, with the same bits
   for any number of threads and every instruction set. ---- */

enum { POOL_BATCH = 5, ROWS = 9 + 1 + 0 + 33 + 4 };
static const int starts[] = {0, 9, 10, 10, 43, 47};

struct pool_problem {
    struct pool pool;
    float *x, *dy;
    float *result; /* y [BATCH][width], then dx [ROWS][width] */
};

static void run(const struct exec_context *exec, void *argument)
{
    const struct pool_problem *p = argument;
    rapt__pool_forward(exec, &p->pool, p->x, p->result);
    rapt__pool_backward(exec, &p->pool, p->dy, p->result + POOL_BATCH * p->pool.width);
}

static void compare(const struct pool_problem *p, int b, int j)
{
    int width = p->pool.width, first = starts[b], rows = starts[b + 1] - first;
    double sum = 0, share = p->pool.mean ? 1.0 / rows : 0;
    const float *dx = p->result + POOL_BATCH * width;
    for (int r = first; r < first + rows; r++) sum += (double)p->x[r * width + j];
    double wanted = p->pool.mean ? sum / rows : (double)p->x[first * width + j];
    if (rows == 0) wanted = 0;
    assert_near((double)p->result[b * width + j], wanted, OF_A_SUM(rows));
    for (int r = first; r < first + rows; r++) {
        double part = p->pool.mean ? share : r == first;
        assert_near((double)dx[r * width + j], part * (double)p->dy[b * width + j], 2);
    }
}

static void pools_are_the_definition(void **state)
{
    (void)state;
    static const int widths[] = {1, 7, 16, 130};
    for (int mean = 0; mean < 2; mean++)
        for (int i = 0; i < COUNT(widths); i++) {
            size_t width = (size_t)widths[i], size = (POOL_BATCH + ROWS) * width;
            struct pool_problem p = {.pool = {mean, POOL_BATCH, widths[i], starts}};
            p.x = random_floats(ROWS * width, 1);
            p.dy = random_floats(POOL_BATCH * width, 2);
            p.result = random_floats(size, 3);
            assert_same_bits(run, &p, p.result, size);
            for (int b = 0; b < POOL_BATCH; b++)
                for (int j = 0; j < widths[i]; j++) compare(&p, b, j);
            free(p.x);
            free(p.dy);
            free(p.result);
        }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_gradients_are_the_definition),
        cmocka_unit_test(positions_go_on_from_the_past),
        cmocka_unit_test(dropout_goes_both_ways),
        cmocka_unit_test(pools_are_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
