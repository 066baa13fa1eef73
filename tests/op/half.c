/* half.c - products with 16-bit weights have the same bits as products with the same weights in
   floats, for any shape, number of threads and part of a layer. */
#include "op/helpers.h"

#include "kernel/half.h"

static const struct shape {
    int rows, in, out;
    bool bias;
} shapes[] = {{1, 1, 1, true},       {3, 17, 33, false},    {1, 700, 1200, true},
              {15, 1100, 90, true},  {16, 1100, 90, false}, {53, 515, 257, true},
              {107, 2048, 48, true}, {60, 512, 200, true},  {4, 0, 20, true},
              {0, 8, 20, true}};
static const int threads[] = {1, 2, 3, 7};

struct problem {
    struct linear layer;
    const float *x;
    float *y;
    int rows;
};

static void multiply(const struct exec_context *exec, void *argument)
{
    const struct problem *p = argument;
    rapt__linear_forward(exec, &p->layer, p->x, p->layer.in, p->rows, p->y, p->layer.out,
                         ACTIVATION_RELU, p->y);
}

static void check(const struct shape *s, enum half_type type)
{
    size_t rows = (size_t)s->rows, in = (size_t)s->in, out = (size_t)s->out;
    size_t size = rapt__panels_size(out, in);
    float *x = random_floats(rows * in, 1), *w = random_floats(out * in, 2);
    float *bias = random_floats(out, 3), *panels = to_panels(w, s->out, s->in);
    float *want = floats(rows * out), *got = floats(rows * out);
    uint16_t *half = calloc(size + 1, sizeof *half);
    assert_non_null(half);
    for (size_t i = 0; i < size; i++) {
        half[i] = half_round(type, panels[i]);
        panels[i] = half_widen(type, half[i]);
    }
    struct problem p = {
        {.weight = panels, .bias = s->bias ? bias : NULL, .in = s->in, .out = s->out},
        x,
        want,
        s->rows};
    run_exec(1, multiply, &p);
    p.layer.weight = NULL, p.layer.half = half, p.layer.type = type, p.y = got;
    for (int t = 0; t < COUNT(threads); t++) {
        memset(got, 0, rows * out * sizeof *got);
        run_exec(threads[t], multiply, &p);
        if (memcmp(got, want, rows * out * sizeof *got) != 0)
            fail_msg("%d x %d x %d, %d threads: other bits", s->rows, s->in, s->out, threads[t]);
    }
    if (s->out > 32) {
        p.layer = rapt__linear_part(&p.layer, 16, 17);
        run_exec(2, multiply, &p);
        for (size_t r = 0; r < rows; r++)
            assert_memory_equal(got + r * 17, want + r * out + 16, 17 * sizeof *got);
    }
    free(x), free(w), free(bias), free(panels), free(want), free(got), free(half);
}

static void same_as_floats(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(shapes); i++)
        for (int type = HALF_BF16; type <= HALF_F16; type++)
            check(&shapes[i], (enum half_type)type);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_floats)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
