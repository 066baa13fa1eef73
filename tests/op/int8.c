/* int8.c - products of 8-bit integers, and what observers see of their inputs. */
#define _GNU_SOURCE /* syscall, in tiles.h */
#include "kernel/int8.h"
#include "op/helpers.h"
#include "oracle/op.h"
#include "tiles.h"

/* ---- int8: products of 8-bit integers by a team: equal to their definition, bit for bit, for
   every form, any number of threads, any row alone or in a batch, and any other rows beside it.
   ---- */

struct shape {
    int rows, in, out;
    bool bias;
    enum activation activation;
    bool fine;
};
static const struct shape shapes[] = {
    {1, 1, 1, true, ACTIVATION_NONE, false},       {3, 17, 33, false, ACTIVATION_RELU, false},
    {1, 64, 700, true, ACTIVATION_NONE, false},    {53, 130, 257, true, ACTIVATION_SILU, false},
    {107, 96, 200, false, ACTIVATION_GELU, false}, {5, 515, 48, true, ACTIVATION_NONE, false},
    {4, 0, 20, true, ACTIVATION_NONE, false},      {0, 8, 20, true, ACTIVATION_NONE, false},
    {1, 1, 1, true, ACTIVATION_NONE, true},        {3, 17, 33, false, ACTIVATION_RELU, true},
    {53, 130, 257, true, ACTIVATION_SILU, true},   {5, 515, 48, true, ACTIVATION_NONE, true},
    {4, 0, 20, true, ACTIVATION_NONE, true},
};
static const int threads[] = {1, 2, 3, 7};

struct int8_problem {
    struct shape s;
    float *x, *w, *panels, *bias, *scale, *y;
    int8_t *weight;
    int x_row, y_row;
    size_t y_size;
};

static void *zeros(size_t bytes)
{
    void *memory = calloc(1, bytes + 1);
    assert_non_null(memory);
    return memory;
}

static struct int8_problem make_int8(const struct shape *s)
{
    size_t rows = (size_t)s->rows, in = (size_t)s->in, out = (size_t)s->out;
    struct int8_problem p = {.s = *s, .x_row = s->in + 3, .y_row = s->out + 5};
    p.x = random_floats(rows * (size_t)p.x_row, 1);
    p.w = random_floats(in * out, 2);
    p.panels = to_panels(p.w, s->out, s->in);
    p.bias = random_floats(out, 3);
    p.scale = floats(out);
    p.weight = zeros(rapt__int8_weight_bytes(s->out, s->in));
    p.y_size = rows * (size_t)p.y_row;
    p.y = floats(p.y_size);
    return p;
}

static void drop_int8(struct int8_problem *p)
{
    free(p->x), free(p->w), free(p->panels), free(p->bias), free(p->scale), free(p->y);
    free(p->weight);
}

static struct linear layer_of_int8(const struct int8_problem *p)
{
    return (struct linear){.bias = p->s.bias ? p->bias : NULL,
                           .in = p->s.in,
                           .out = p->s.out,
                           .bytes = p->weight,
                           .scale = p->scale,
                           .fine = p->s.fine};
}

static void pack(const struct exec_context *exec, void *argument)
{
    const struct int8_problem *p = argument;
    rapt__int8_pack(exec, p->panels, p->s.out, p->s.in, NULL, p->weight, p->scale);
}

static void multiply(const struct exec_context *exec, void *argument)
{
    const struct int8_problem *p = argument;
    const struct linear l = layer_of_int8(p);
    rapt__linear_forward(exec, &l, p->x, p->x_row, p->s.rows, p->y, p->y_row, p->s.activation,
                         p->y);
}

/* Sets y to what the definition says; the gaps between rows stay 0. */
static void define(const struct int8_problem *p, float *y)
{
    int in = p->s.in, out = p->s.out;
    int *q = zeros((size_t)in * sizeof *q), *rest = zeros((size_t)in * sizeof *rest);
    int *w = zeros((size_t)(in * out) * sizeof *w);
    float *t = floats((size_t)out);
    for (int n = 0; n < out; n++) oracle_quantize(in, p->w + n * in, w + n * in, t + n);
    for (int r = 0; r < p->s.rows; r++) {
        float s, u, *row = y + r * p->y_row;
        const float *x = p->x + r * p->x_row;
        oracle_quantize(in, x, q, &s);
        oracle_quantize_rest(in, x, q, rest, &u);
        for (int n = 0; n < out; n++) {
            row[n] = oracle_int8(in, q, s, w + n * in, t[n], p->s.bias ? p->bias[n] : 0);
            if (p->s.fine) row[n] = oracle_int8(in, rest, u, w + n * in, t[n], row[n]);
        }
        if (p->s.activation != ACTIVATION_NONE)
            rapt__kernels()->activate(p->s.activation, row, row, (size_t)out);
    }
    free(q), free(rest), free(w), free(t);
}

static void check(struct int8_problem *p, int members, const float *want)
{
    memset(p->y, 0, p->y_size * sizeof *p->y);
    run_exec(members, pack, p);
    run_exec(members, multiply, p);
    if (memcmp(p->y, want, p->y_size * sizeof *want) != 0)
        fail_msg("%d x %d x %d, %d threads: other bits", p->s.rows, p->s.in, p->s.out, members);
}

static void products_are_the_definition(void **state)
{
    rapt_isa used = rapt_isa_used();
    (void)state;
    for (int i = 0; i < COUNT(shapes); i++) {
        struct int8_problem p = make_int8(&shapes[i]);
        float *want = floats(p.y_size);
        define(&p, want); /* SCALAR has other bits of GELU and SiLU only */
        for (int isa = 0; rapt_isa_name((rapt_isa)isa); isa++) {
            bool smooth = p.s.activation == ACTIVATION_SILU || p.s.activation == ACTIVATION_GELU;
            if (isa == RAPT_ISA_SCALAR && smooth) continue;
            if (rapt_isa_use((rapt_isa)isa) != RAPT_OK) continue;
            for (int t = 0; t < COUNT(threads); t++) check(&p, threads[t], want);
        }
        rapt_isa_use(used);
        free(want);
        drop_int8(&p);
    }
}

/* A row has the same bits alone and next to rows that are larger, infinite or NaN. */
static void rows_are_independent(void **state)
{
    const struct shape s = {40, 65, 90, true, ACTIVATION_NONE, true};
    struct int8_problem p = make_int8(&s);
    float *want = floats(p.y_size);
    (void)state;
    define(&p, want);
    run_exec(1, pack, &p);
    for (int r = 0; r < s.rows; r++) {
        struct int8_problem one = p;
        one.s.rows = 1, one.x = p.x + r * p.x_row;
        run_exec(2, multiply, &one);
        assert_memory_equal(p.y, want + r * p.y_row, (size_t)s.out * sizeof *want);
    }
    for (int r = 1; r < s.rows; r += 2) p.x[r * p.x_row + r] = r % 3 ? INFINITY : NAN;
    run_exec(2, multiply, &p);
    for (int r = 0; r < s.rows; r++)
        for (int n = 0; n < s.out; n++) {
            float y = p.y[r * p.y_row + n];
            assert_true(r % 2 ? isnan(y) : y == want[r * p.y_row + n]);
        }
    free(want);
    drop_int8(&p);
}

/* ---- several layers, many rows ---- */

struct layers {
    struct linear layer[3];
    float *x, *y[3];
    int rows, y_row;
};

static void multiply_layers(const struct exec_context *exec, void *argument)
{
    const struct layers *l = argument;
    rapt__int8_forward(exec, l->layer, 3, l->x, l->layer->in, l->rows, l->y, l->y_row,
                       ACTIVATION_NONE, NULL);
}

/* Layers that share their quantized rows compute what each computes alone, also with more rows than
   the buffer holds at once; parts of a layer compute its columns. */
static void layers_share_rows(void **state)
{
    enum { INT8_ROWS = 5000, INT8_IN = 600 };
    struct layers l = {.rows = INT8_ROWS, .y_row = 40};
    struct int8_problem p =
        make_int8(&(struct shape){INT8_ROWS, INT8_IN, 40, true, ACTIVATION_NONE, true});
    (void)state;
    p.x_row = INT8_IN;
    run_exec(2, pack, &p);
    run_exec(2, multiply, &p);
    l.layer[0] = layer_of_int8(&p), l.x = p.x;
    l.layer[1] = rapt__linear_part(&l.layer[0], 16, 17);
    l.layer[2] = rapt__linear_part(&l.layer[0], 32, 8);
    for (int i = 0; i < 3; i++) l.y[i] = floats(INT8_ROWS * 40);
    run_exec(2, multiply_layers, &l);
    for (int r = 0; r < INT8_ROWS; r++) {
        const float *want = p.y + (ptrdiff_t)r * p.y_row;
        assert_memory_equal(l.y[0] + r * 40, want, 40 * sizeof *want);
        assert_memory_equal(l.y[1] + r * 40, want + 16, 17 * sizeof *want);
        assert_memory_equal(l.y[2] + r * 40, want + 32, 8 * sizeof *want);
    }
    for (int i = 0; i < 3; i++) free(l.y[i]);
    drop_int8(&p);
}

/* ---- weights ---- */

struct bytes { /* weights in plain rows, and in panels */
    int out, in, count;
    int8_t *rows, *packed;
    const int32_t *list;
    struct linear from;
    float *scale, *bias;
};

static void gather(const struct exec_context *exec, void *argument)
{
    const struct bytes *b = argument;
    rapt__int8_gather(exec, &b->from, b->list, b->count, b->packed, b->scale, b->bias);
}

static size_t place(int in, int n, int k)
{
    return (size_t)(n / LANES) * rapt__int8_panel(in) +
           (size_t)(k / 4 * 64 + n % LANES * 4 + k % 4);
}

/* Sets panels, which are 0, to all rows. */
static void put_panels(const struct bytes *b, int8_t *panels)
{
    for (int n = 0; n < b->out; n++)
        for (int k = 0; k < b->in; k++) panels[place(b->in, n, k)] = b->rows[n * b->in + k];
}

/* Checks that panels hold the rows of the list, and nothing else. */
static void check_panels(const struct bytes *b)
{
    int panels = rapt__ceil_div(b->count, LANES), depth = rapt__round_up(b->in, INT8_GROUP);
    for (int n = 0; n < panels * LANES; n++)
        for (int k = 0; k < depth; k++) {
            int row = n < b->count ? b->list[n] : -1;
            int want = row >= 0 && k < b->in ? b->rows[row * b->in + k] : 0;
            assert_int_equal(b->packed[place(b->in, n, k)], want);
        }
}

static void rows_are_gathered(void **state)
{
    static const int32_t list[] = {3, 0, 16, 17, 31, 32, 36, 5, 8, 15, 14, 13, 12, 11, 10, 9, 1, 2};
    float scale[37], bias[37], got_scale[COUNT(list)], got_bias[COUNT(list)];
    (void)state;
    for (int in = 1; in <= 40; in += 3)
        for (int t = 0; t < COUNT(threads); t++) {
            struct bytes b = {.out = 37, .in = in, .list = list};
            size_t size = rapt__int8_weight_bytes(b.out, in), all = (size_t)(b.out * in);
            int8_t *whole = zeros(size);
            b.rows = zeros(all);
            for (size_t i = 0; i < all; i++) b.rows[i] = (int8_t)(127 * random_float(4, i) + 0.5f);
            for (int n = 0; n < 37; n++) scale[n] = (float)n, bias[n] = (float)-n;
            put_panels(&b, whole);
            b.from = (struct linear){.bias = t % 2 ? bias : NULL,
                                     .in = in,
                                     .out = b.out,
                                     .bytes = whole,
                                     .scale = scale};
            b.scale = got_scale, b.bias = t % 2 ? got_bias : NULL;
            for (b.count = 1; b.count <= COUNT(list); b.count++) {
                b.packed = zeros(rapt__int8_weight_bytes(b.count, in));
                memset(b.packed, 99, rapt__int8_weight_bytes(b.count, in));
                run_exec(threads[t], gather, &b);
                check_panels(&b);
                for (int n = 0; n < b.count; n++) {
                    assert_true(got_scale[n] == scale[list[n]]);
                    assert_true(!b.bias || got_bias[n] == bias[list[n]]);
                }
                free(b.packed);
            }
            free(whole), free(b.rows);
        }
}

/* Integers are stored as if they had been converted to floats and quantized again. */
static void integers_are_stored(void **state)
{
    enum { OUT = 37 };
    static const int ins[] = {1, 4, 30, 64, 128, 129, 516};
    static const float rejected[] = {0, -1, 0x1p-101f, 0x1p101f, INFINITY, NAN};
    (void)state;
    for (int i = 0; i < COUNT(ins); i++)
        for (int first = 0; first < 20; first += 7) {
            const int in = ins[i], count = OUT - first - (first + i) % 3;
            const size_t size = rapt__int8_weight_bytes(OUT, in), all = (size_t)(count * in);
            float scales[2][OUT] = {{0}}, factors[OUT], *x = floats(all),
                  *scratch = floats(rapt__int8_scratch(in));
            int8_t *rows = zeros(all), *weight[2] = {zeros(size), zeros(size)};
            for (int n = 0; n < count; n++) {
                factors[n] = n == 0   ? 0x1p-100f
                             : n == 1 ? 0x1p100f
                                      : 1 + 1e4f * fabsf(random_float(7, (size_t)n));
                for (int k = 0, at = n * in; k < in; k++, at++) {
                    rows[at] = (int8_t)(127.9f * random_float(8, (size_t)at));
                    if (k == n % in) rows[at] = n % 2 ? 127 : -127;
                    if (n == 2) rows[at] = 0;
                    x[at] = (float)rows[at] * (1 / factors[n]);
                }
            }
            const struct int8_rows want = {weight[0], scales[0], in},
                                   got = {weight[1], scales[1], in};
            rapt__int8_set_rows(&want, first, count, x, factors, scratch);
            assert_true(rapt__int8_set_integers(&got, first, count, rows, factors));
            assert_memory_equal(weight[0], weight[1], size);
            assert_memory_equal(scales[0], scales[1], sizeof scales[0]);
            rows[all - 1] = -128;
            assert_false(rapt__int8_set_integers(&got, first, count, rows, factors));
            rows[all - 1] = 1;
            for (int r = 0; r < COUNT(rejected); r++) {
                factors[count - 1] = rejected[r];
                assert_false(rapt__int8_set_integers(&got, first, count, rows, factors));
            }
            assert_memory_equal(weight[0], weight[1], size);
            free(x), free(scratch), free(rows), free(weight[0]), free(weight[1]);
        }
}

static void floats_are_packed_by_rows(void **state)
{
    static const int ins[] = {1, 4, 30, 129};
    (void)state;
    for (int i = 0; i < COUNT(ins); i++) {
        struct int8_problem p =
            make_int8(&(struct shape){1, ins[i], 43, false, ACTIVATION_NONE, false});
        struct bytes b = {.out = 43, .in = ins[i]};
        size_t size = rapt__int8_weight_bytes(43, ins[i]);
        int *q = zeros((size_t)ins[i] * sizeof *q);
        float scale;
        b.rows = zeros((size_t)(43 * ins[i]));
        b.packed = zeros(size);
        p.panels[panel_index(ins[i], 20, 0)] = p.w[20 * ins[i]] = NAN;
        p.panels[panel_index(ins[i], 40, 0)] = p.w[40 * ins[i]] = -INFINITY;
        run_exec(2, pack, &p);
        for (int n = 0; n < 43; n++) {
            oracle_quantize(ins[i], p.w + n * ins[i], q, &scale);
            for (int k = 0; k < ins[i]; k++) b.rows[n * ins[i] + k] = (int8_t)q[k];
            assert_true(isnan(scale) ? isnan(p.scale[n]) : p.scale[n] == scale);
        }
        put_panels(&b, b.packed);
        assert_memory_equal(p.weight, b.packed, size);
        free(q), free(b.rows), free(b.packed);
        drop_int8(&p);
    }
}

/* ---- observe: tests that an observer sees the inputs of layers: each layer once, in every form of
   weights, with the largest magnitude of exactly the rows that the layer multiplies. ---- */

enum { OBSERVE_ROWS = 37, OBSERVE_IN = 21, OUT = 40, GAP = 3, LAYERS = 3, FORMS = 3 };

struct seen {
    const struct linear *layers[LAYERS];
    float largest[LAYERS];
    int count;
};
struct observe_problem {
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

static struct linear layer_of_observe(const struct observe_problem *p)
{
    struct linear l = {.in = OBSERVE_IN, .out = OUT};
    if (p->form == 0) l.weight = p->panels;
    if (p->form == 1) l.half = p->half, l.type = HALF_BF16;
    if (p->form == 2) l.bytes = p->bytes, l.scale = p->scale;
    return l;
}

static void run(const struct exec_context *given, void *argument)
{
    struct observe_problem *p = argument;
    const struct observer observer = {see, &p->seen};
    struct exec_context exec = *given;
    const struct linear layer = layer_of_observe(p), layers[LAYERS] = {layer, layer, layer};
    float *y[LAYERS] = {p->y, p->y + OBSERVE_ROWS * OUT, p->y + 2 * OBSERVE_ROWS * OUT};
    exec.observer = &observer;
    if (p->layers == 1)
        rapt__linear_forward(&exec, &layer, p->x, OBSERVE_IN + GAP, p->rows, p->y, OUT,
                             ACTIVATION_NONE, NULL);
    else
        rapt__linears_forward(&exec, layers, p->layers, p->x, OBSERVE_IN + GAP, p->rows, y, OUT);
}

static struct observe_problem make_observe(void)
{
    struct observe_problem p = {.rows = OBSERVE_ROWS, .layers = 1};
    p.x = random_floats(OBSERVE_ROWS * (OBSERVE_IN + GAP), 1);
    float *w = random_floats(OBSERVE_IN * OUT, 2);
    p.panels = to_panels(w, OUT, OBSERVE_IN);
    p.y = floats(LAYERS * OBSERVE_ROWS * OUT);
    p.scale = floats(OUT + LANES);
    p.bytes = calloc(1, rapt__int8_weight_bytes(OUT, OBSERVE_IN));
    p.half = calloc(rapt__panels_size(OUT, OBSERVE_IN), sizeof *p.half);
    for (int i = 0; i < OUT + LANES; i++) p.scale[i] = 1;
    for (int r = 0; r < OBSERVE_ROWS; r++)
        for (int i = OBSERVE_IN; i < OBSERVE_IN + GAP; i++)
            p.x[r * (OBSERVE_IN + GAP) + i] = 1e6f; /* must not be read */
    free(w);
    return p;
}

static void drop_observe(struct observe_problem *p)
{
    free(p->x), free(p->panels), free(p->y), free(p->scale), free(p->bytes), free(p->half);
}

static float largest_of(const struct observe_problem *p)
{
    float largest = 0;
    for (int r = 0; r < p->rows; r++)
        for (int i = 0; i < OBSERVE_IN; i++)
            largest = fmaxf(largest, fabsf(p->x[r * (OBSERVE_IN + GAP) + i]));
    return largest;
}

static void test_layers(void **state)
{
    (void)state;
    struct observe_problem p = make_observe();
    p.x[5 * (OBSERVE_IN + GAP) + 7] = -30;
    for (p.form = 0; p.form < FORMS; p.form++)
        for (p.layers = 1; p.layers <= LAYERS; p.layers += 2)
            for (p.rows = 0; p.rows <= OBSERVE_ROWS; p.rows += OBSERVE_ROWS - 4) {
                p.seen.count = 0;
                run_exec(2, run, &p);
                assert_int_equal(p.seen.count, p.rows ? p.layers : 0);
                for (int i = 0; i < p.seen.count; i++) {
                    assert_true(p.seen.largest[i] == largest_of(&p));
                    assert_true(i == 0 || p.seen.layers[i] == p.seen.layers[i - 1] + 1);
                }
            }
    drop_observe(&p);
}

static void test_not_finite(void **state)
{
    (void)state;
    struct observe_problem p = make_observe();
    const float values[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < COUNT(values); i++) {
        p.x[(OBSERVE_ROWS - 1) * (OBSERVE_IN + GAP) + i] = values[i];
        p.seen.count = 0;
        run_exec(2, run, &p);
        assert_int_equal(p.seen.count, 1);
        assert_true(isinf(p.seen.largest[0]) && p.seen.largest[0] > 0);
    }
    drop_observe(&p);
}

int main(void)
{
    ask_for_tiles();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_the_definition),
        cmocka_unit_test(rows_are_independent),
        cmocka_unit_test(layers_share_rows),
        cmocka_unit_test(rows_are_gathered),
        cmocka_unit_test(integers_are_stored),
        cmocka_unit_test(floats_are_packed_by_rows),
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
