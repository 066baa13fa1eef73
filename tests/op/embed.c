/* embed.c - rows of a table by token and of another by position, against their definition and its
   difference quotients. */
#include "op/helpers.h"
#include "oracle/op.h"

enum { MAX_ROWS = 120, POSITIONS = 64, BATCH = 4 };

struct problem {
    struct embedding e;
    int32_t ids[MAX_ROWS];
    int position[MAX_ROWS]; /* of each row, for the definition */
    int starts[BATCH + 1], past[BATCH];
    bool with_past;
    struct dropout d;
    float *table, *panels, *positions, *dy;
    float *y;
    float *gradients, *dtable, *dpositions; /* back to back */
    size_t table_size, size;
};

static const int all_starts[][BATCH + 1] = {
    {0, 0, 0, 0, 0}, {0, 1, 1, 1, 1}, {0, 7, 7, 15, 15}, {0, 50, 51, 53, 113}};

static struct problem make(int vocab, int width, const int *starts, bool positions)
{
    struct problem p = {.e = {.table = {.in = width, .out = vocab}, .scale = 3.5f}};
    p.table = random_floats((size_t)(vocab * width), 1);
    p.panels = to_panels(p.table, vocab, width);
    p.positions = random_floats((size_t)(POSITIONS * width), 2);
    p.e.table.weight = p.panels;
    p.e.positions = positions ? p.positions : NULL;
    memcpy(p.starts, starts, sizeof p.starts);
    for (int b = 0; b < BATCH; b++)
        for (int r = starts[b]; r < starts[b + 1]; r++) {
            p.ids[r] = (int32_t)(rapt__uniform(3, (uint64_t)r) * vocab);
            p.position[r] = r - starts[b];
        }
    size_t rows = (size_t)starts[BATCH];
    p.dy = random_floats(rows * (size_t)width, 4);
    p.y = floats(rows * (size_t)width);
    p.table_size = rapt__panels_size((size_t)vocab, (size_t)width);
    p.size = p.table_size + (size_t)(POSITIONS * width);
    p.gradients = floats(p.size);
    p.dtable = p.gradients;
    p.dpositions = p.gradients + p.table_size;
    return p;
}

static void drop(struct problem *p)
{
    free(p->table);
    free(p->panels);
    free(p->positions);
    free(p->dy);
    free(p->y);
    free(p->gradients);
}

static size_t outputs(const struct problem *p)
{
    return (size_t)(p->starts[BATCH] * p->e.table.in);
}

static void run_forward(const struct exec_context *exec, void *argument)
{
    const struct problem *p = argument;
    rapt__embed_forward(exec, &p->e, BATCH, p->ids, p->starts, p->with_past ? p->past : NULL, &p->d,
                        p->y);
}

/* Runs backward; uses y as dy and overwrites it. */
static void run_backward(const struct exec_context *exec, void *argument)
{
    const struct problem *p = argument;
    if (exec->team->rank == 0) memcpy(p->y, p->dy, outputs(p) * sizeof(float));
    rapt__team_barrier(exec->team);
    const struct embedding_gradients to = {.table = p->dtable,
                                           .positions = p->e.positions ? p->dpositions : NULL};
    rapt__embed_backward(exec, &p->e, BATCH, p->ids, p->starts, &p->d, p->y, &to);
}

struct reference { /* sum of dy * y */
    const struct problem *p;
    double *table, *positions, *y;
};

static double weighted_sum(const void *argument)
{
    const struct reference *j = argument;
    const struct problem *p = j->p;
    double sum = 0;
    oracle_embed(p->starts[BATCH], p->e.table.in, p->ids, p->position, (double)p->e.scale, j->table,
                 p->e.positions ? j->positions : NULL, j->y);
    for (size_t i = 0; i < outputs(p); i++) sum += (double)p->dy[i] * j->y[i];
    return sum;
}

static struct reference reference_of(const struct problem *p)
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

static void check(struct problem *p)
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
                struct problem p = make(vocabs[v], widths[w], all_starts[s], (v + w + s) % 3 > 0);
                check(&p);
                drop(&p);
            }
}

/* With `past`, computing one row of each sequence at a time gives the rows of all at once. */
static void positions_go_on_from_the_past(void **state)
{
    (void)state;
    struct problem p = make(5, 17, all_starts[2], true);
    run_exec(2, run_forward, &p);
    struct problem one = p;
    one.y = floats(17);
    one.with_past = true;
    for (int b = 0; b < BATCH; b++)
        for (int r = p.starts[b]; r < p.starts[b + 1]; r++) {
            for (int i = 0; i <= BATCH; i++) one.starts[i] = i > b;
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
    struct problem p = make(5, 130, all_starts[3], false);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_gradients_are_the_definition),
        cmocka_unit_test(positions_go_on_from_the_past),
        cmocka_unit_test(dropout_goes_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
