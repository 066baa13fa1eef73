/* observe.c - tests that an observer sees the inputs of layers: each layer once, in every form of
   weights, with the largest magnitude of exactly the rows that the layer multiplies. */
#include "op/helpers.h"

enum { ROWS = 37, IN = 21, OUT = 40, GAP = 3, LAYERS = 3, FORMS = 3 };

struct seen {
    const struct linear *layers[LAYERS];
    float largest[LAYERS];
    int count;
};
struct problem {
    int rows, form, layers;
    float *x, *panels, *y, *scale;
    int8_t *bytes;
    uint16_t *half;
    struct seen seen;
};

static void see(void *user, const struct linear *l, float largest)
{
    struct seen *seen = user;
    assert_true(seen->count < LAYERS);
    seen->layers[seen->count] = l;
    seen->largest[seen->count++] = largest;
}

static struct linear layer_of(const struct problem *p)
{
    struct linear l = {.in = IN, .out = OUT};
    if (p->form == 0) l.weight = p->panels;
    if (p->form == 1) l.half = p->half, l.type = HALF_BF16;
    if (p->form == 2) l.bytes = p->bytes, l.scale = p->scale;
    return l;
}

static void run(const struct exec_context *given, void *argument)
{
    struct problem *p = argument;
    const struct observer observer = {see, &p->seen};
    struct exec_context exec = *given;
    const struct linear layer = layer_of(p), layers[LAYERS] = {layer, layer, layer};
    float *y[LAYERS] = {p->y, p->y + ROWS * OUT, p->y + 2 * ROWS * OUT};
    exec.observer = &observer;
    if (p->layers == 1)
        rapt__linear_forward(&exec, &layer, p->x, IN + GAP, p->rows, p->y, OUT, ACTIVATION_NONE,
                             NULL);
    else
        rapt__linears_forward(&exec, layers, p->layers, p->x, IN + GAP, p->rows, y, OUT);
}

static struct problem make(void)
{
    struct problem p = {.rows = ROWS, .layers = 1};
    p.x = random_floats(ROWS * (IN + GAP), 1);
    float *w = random_floats(IN * OUT, 2);
    p.panels = to_panels(w, OUT, IN);
    p.y = floats(LAYERS * ROWS * OUT);
    p.scale = floats(OUT + LANES);
    p.bytes = calloc(1, rapt__int8_weight_bytes(OUT, IN));
    p.half = calloc(rapt__panels_size(OUT, IN), sizeof *p.half);
    for (int i = 0; i < OUT + LANES; i++) p.scale[i] = 1;
    for (int r = 0; r < ROWS; r++)
        for (int i = IN; i < IN + GAP; i++) p.x[r * (IN + GAP) + i] = 1e6f; /* must not be read */
    free(w);
    return p;
}

static void drop(struct problem *p)
{
    free(p->x), free(p->panels), free(p->y), free(p->scale), free(p->bytes), free(p->half);
}

static float largest_of(const struct problem *p)
{
    float largest = 0;
    for (int r = 0; r < p->rows; r++)
        for (int i = 0; i < IN; i++) largest = fmaxf(largest, fabsf(p->x[r * (IN + GAP) + i]));
    return largest;
}

static void test_layers(void **state)
{
    (void)state;
    struct problem p = make();
    p.x[5 * (IN + GAP) + 7] = -30;
    for (p.form = 0; p.form < FORMS; p.form++)
        for (p.layers = 1; p.layers <= LAYERS; p.layers += 2)
            for (p.rows = 0; p.rows <= ROWS; p.rows += ROWS - 4) {
                p.seen.count = 0;
                run_exec(2, run, &p);
                assert_int_equal(p.seen.count, p.rows ? p.layers : 0);
                for (int i = 0; i < p.seen.count; i++) {
                    assert_true(p.seen.largest[i] == largest_of(&p));
                    assert_true(i == 0 || p.seen.layers[i] == p.seen.layers[i - 1] + 1);
                }
            }
    drop(&p);
}

static void test_not_finite(void **state)
{
    (void)state;
    struct problem p = make();
    const float values[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < COUNT(values); i++) {
        p.x[(ROWS - 1) * (IN + GAP) + i] = values[i];
        p.seen.count = 0;
        run_exec(2, run, &p);
        assert_int_equal(p.seen.count, 1);
        assert_true(isinf(p.seen.largest[0]) && p.seen.largest[0] > 0);
    }
    drop(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_layers),
                                       cmocka_unit_test(test_not_finite)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
