/* gates.c - activations and what they gate, forward and backward: feed-forward layers, outputs,
   logarithms of gates, and a recurrent unit. */
#include "op/helpers.h"
#include "oracle/op.h"

/* ---- activation: dx = dy activation'(x) against slopes of the definition. ---- */

struct activation_problem {
    int kind;
    size_t n;
    float *x, *dy, *dx;
};

static void run_activation(const struct exec_context *exec, void *argument)
{
    const struct activation_problem *p = argument;
    rapt__activate_backward(exec, activation_of(p->kind), p->x, p->dy, p->dx, p->n);
}

struct activation_point {
    int kind;
    double x;
};

static double at_activation(const void *argument)
{
    const struct activation_point *p = argument;
    return oracle_activation(p->kind, p->x);
}

static void gradients_are_slopes(void **state)
{
    static const size_t sizes[] = {0, 1, 7, 17, 130, 5000};
    (void)state;
    for (int kind = 0; kind < 3; kind++)
        for (int i = 0; i < COUNT(sizes); i++) {
            struct activation_problem p = {kind, sizes[i], NULL, NULL, NULL};
            p.x = random_floats(p.n, 1);
            p.dy = random_floats(p.n, 2);
            p.dx = random_floats(p.n, 3);
            for (size_t j = 0; j < p.n; j++) p.x[j] = 6 * p.x[j] + (p.x[j] < 0 ? -0.01f : 0.01f);
            assert_same_bits(run_activation, &p, p.dx, p.n);
            for (size_t j = 0; j < p.n; j++) {
                struct activation_point point = {kind, (double)p.x[j]};
                assert_near((double)p.dx[j],
                            (double)p.dy[j] * slope(at_activation, &point, &point.x), 4);
            }
            free(p.x);
            free(p.dy);
            free(p.dx);
        }
}

/* ---- gate: y = activation(x) gate and the gradients of both, against the definition and its
   slopes, with the same bits for any number of threads and every instruction set. ---- */

struct gate_problem {
    int kind, rows, width;
    float *x, *dy;
    float *result; /* y [rows][width], then dx [rows][2 width] */
};

static void gate_run(const struct exec_context *exec, void *argument)
{
    const struct gate_problem *p = argument;
    rapt__gate_forward(exec, activation_of(p->kind), p->x, p->rows, p->width, p->result);
    rapt__gate_backward(exec, activation_of(p->kind), p->x, p->dy, p->rows, p->width,
                        p->result + p->rows * p->width);
}

struct gate_point {
    int kind;
    double x, gate;
};

static double at_gate(const void *argument)
{
    const struct gate_point *p = argument;
    return oracle_activation(p->kind, p->x) * p->gate;
}

static void compare(const struct gate_problem *p, int r, int j)
{
    const float *x = p->x + 2 * r * p->width;
    const float *dx = p->result + p->rows * p->width + 2 * r * p->width;
    struct gate_point point = {p->kind, (double)x[j], (double)x[p->width + j]};
    double dy = (double)p->dy[r * p->width + j];
    assert_near((double)p->result[r * p->width + j], at_gate(&point), 4);
    assert_near((double)dx[j], dy * slope(at_gate, &point, &point.x), 8);
    assert_near((double)dx[p->width + j], dy * slope(at_gate, &point, &point.gate), 8);
}

static void gates_are_the_definition(void **state)
{
    (void)state;
    static const int all_rows[] = {0, 1, 9, 70}, widths[] = {1, 7, 16, 50};
    for (int kind = 0; kind < 3; kind++)
        for (int i = 0; i < COUNT(all_rows) * COUNT(widths); i++) {
            struct gate_problem p = {
                kind, all_rows[i % COUNT(all_rows)], widths[i / COUNT(all_rows)], NULL, NULL, NULL};
            size_t n = (size_t)(p.rows * p.width);
            p.x = random_floats(2 * n, 1);
            p.dy = random_floats(n, 2);
            p.result = random_floats(3 * n, 3);
            for (size_t j = 0; j < 2 * n; j++) p.x[j] = 3 * p.x[j] + (p.x[j] < 0 ? -0.01f : 0.01f);
            assert_same_bits(gate_run, &p, p.result, 3 * n);
            for (int r = 0; r < p.rows; r++)
                for (int j = 0; j < p.width; j++) compare(&p, r, j);
            free(p.x);
            free(p.dy);
            free(p.result);
        }
}

/* ---- output gate: tests gates of outputs against their definition in double and its difference
   quotients, with the same bits for any number of threads and every instruction set. ---- */

struct output_gate_problem {
    int rows;
    struct output_gate gate;
    float *z, *x, *dy;
    float *result; /* y, dx and dz */
};

static size_t gates_of(const struct output_gate_problem *p)
{
    return (size_t)p->rows * (size_t)p->gate.gates;
}

static void run_gate(const struct exec_context *exec, void *argument)
{
    const struct output_gate_problem *p = argument;
    size_t all = gates_of(p) * (size_t)p->gate.width;
    float *dx = p->result + all, *dz = dx + all;
    rapt__output_gate_forward(exec, &p->gate, p->rows, p->z, p->x, p->result);
    rapt__output_gate_backward(exec, &p->gate, p->rows, p->z, p->x, p->dy, dz, dx);
}

struct gated {
    double x, z, dy;
};

static double objective_output_gate(const void *argument)
{
    const struct gated *g = argument;
    return g->dy * g->x / (1 + exp(-g->z));
}

static void judge(struct output_gate_problem *p)
{
    size_t gates = gates_of(p), width = (size_t)p->gate.width, all = gates * width;
    p->x = random_floats(all, 1), p->dy = random_floats(all, 2), p->z = random_floats(gates, 3);
    for (size_t i = 0; i < gates; i++) p->z[i] *= 4;
    p->result = floats(2 * all + gates);
    assert_same_bits(run_gate, p, p->result, 2 * all + gates);
    for (size_t g = 0; g < gates; g++) {
        double dz = 0;
        for (size_t i = g * width; i < (g + 1) * width; i++) {
            struct gated one = {(double)p->x[i], (double)p->z[g], (double)p->dy[i]};
            assert_near((double)p->result[i], one.x / (1 + exp(-one.z)), 4);
            assert_near((double)p->result[all + i], slope(objective_output_gate, &one, &one.x), 8);
            dz += slope(objective_output_gate, &one, &one.z);
        }
        assert_near((double)p->result[2 * all + g], dz, OF_A_SUM((double)width) + 4);
    }
    free(p->x), free(p->dy), free(p->z), free(p->result);
}

/* More gates than are computed together, and widths with and without whole vectors. */
static void output_gates(void **state)
{
    (void)state;
    static const int all_rows[] = {0, 1, 9}, counts[] = {1, 5, 130}, widths[] = {1, 7, 64};
    for (int i = 0; i < COUNT(all_rows); i++)
        for (int j = 0; j < COUNT(counts); j++)
            for (int k = 0; k < COUNT(widths); k++) {
                struct output_gate_problem p = {.rows = all_rows[i],
                                                .gate = {counts[j], widths[k]}};
                judge(&p);
            }
}

/* ---- log sigmoid: tests logarithms of gates against their definition in double and its difference
   quotients, with the same bits for any number of threads and every instruction set. ---- */

struct log_sigmoid_problem {
    size_t n;
    float *z, *dy;
    float *result; /* y and dz */
};

static void run_log_sigmoid(const struct exec_context *exec, void *argument)
{
    const struct log_sigmoid_problem *p = argument;
    float *dz = p->result + p->n;
    rapt__log_sigmoid_forward(exec, p->z, p->n, p->result);
    rapt__copy(exec, p->dy, p->n, dz);
    rapt__log_sigmoid_backward(exec, p->z, dz, p->n, dz); /* in place */
}

static double objective_log_sigmoid(const void *argument)
{
    return -log1p(exp(-*(const double *)argument));
}

static void logarithms(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 16, 1003};
    for (int i = 0; i < COUNT(counts); i++) {
        struct log_sigmoid_problem p = {.n = counts[i], .result = floats(2 * counts[i])};
        p.z = random_floats(p.n, 1), p.dy = random_floats(p.n, 2);
        for (size_t j = 0; j < p.n; j++) p.z[j] *= 8;
        assert_same_bits(run_log_sigmoid, &p, p.result, 2 * p.n);
        for (size_t j = 0; j < p.n; j++) {
            double z = (double)p.z[j];
            assert_near((double)p.result[j], objective_log_sigmoid(&z), 1);
            assert_near((double)p.result[p.n + j],
                        (double)p.dy[j] * slope(objective_log_sigmoid, &z, &z), 8);
        }
        free(p.z), free(p.dy), free(p.result);
    }
}

/* Gates that are open or closed as far as floats can tell have finite logarithms. */
static void extremes(void **state)
{
    (void)state;
    float z[] = {100, 3e38f, -100, -3e38f, 0}, dy[] = {1, 1, 1, 1, 1};
    const float wanted[] = {0, 0, -100, -3e38f, -0x1.62e43p-1f}, slopes[] = {0, 0, 1, 1, 0.5f};
    struct log_sigmoid_problem p = {
        .n = COUNT(z), .z = z, .dy = dy, .result = floats(2 * COUNT(z))};
    assert_same_bits(run_log_sigmoid, &p, p.result, 2 * p.n);
    for (size_t j = 0; j < p.n; j++) {
        assert_near((double)p.result[j], (double)wanted[j], 1);
        assert_true(fabsf(p.result[p.n + j] - slopes[j]) <= 1e-40f);
    }
    free(p.result);
}

/* ---- recurrent: a simpler simple recurrent unit against its definition and difference quotients
   of it, with the same bits for any number of threads, every instruction set, and one call or
   several. ---- */

enum { BATCH = 4 };

struct ssru_problem {
    struct ssru s;
    int rows;
    float *x, *dy;
    float *
        result; /* cells, y, dcells [rows][width] each, dx [rows][2 width], states [batch][width] */
};

static size_t ssru_size(const struct ssru_problem *p)
{
    return (size_t)p->rows * (size_t)p->s.width;
}

static void run_ssru(const struct exec_context *exec, void *argument)
{
    const struct ssru_problem *p = argument;
    size_t n = ssru_size(p);
    float *cells = p->result, *y = cells + n, *dcells = y + n, *dx = dcells + n,
          *states = dx + 2 * n;
    struct ssru carried = p->s;
    rapt__ssru_forward(exec, &p->s, p->x, cells, y);
    rapt__activate_backward(exec, ACTIVATION_RELU, cells, p->dy, dcells, n);
    rapt__ssru_backward(exec, &p->s, p->x, cells, dcells, dx);
    rapt__fill(exec, states, (size_t)(BATCH * p->s.width), 0);
    carried.states = states;
    rapt__ssru_forward(exec, &carried, p->x, cells, y);
}

/* Returns the sum over rows [first, end) of dy max(c, 0) in one column, with x[at] changed by h. */
static double ssru_loss(const struct ssru_problem *p, int first, int end, int column, size_t at,
                        double h, double *cell)
{
    double c = 0, sum = 0;
    size_t w = (size_t)p->s.width;
    for (int r = first; r < end; r++) {
        size_t i = 2 * (size_t)r * w + (size_t)column;
        double x = (double)p->x[i] + (i == at ? h : 0);
        double z = (double)p->x[i + w] + (i + w == at ? h : 0), f = 1 / (1 + exp(-z));
        c = f * c + (1 - f) * x;
        if (cell) cell[r] = c;
        sum += (double)p->dy[(size_t)r * w + (size_t)column] * fmax(c, 0);
    }
    return sum;
}

static void compare_column(const struct ssru_problem *p, int b, int column)
{
    double cell[64];
    size_t n = ssru_size(p), w = (size_t)p->s.width;
    int first = p->s.starts[b], end = p->s.starts[b + 1];
    ssru_loss(p, first, end, column, SIZE_MAX, 0, cell);
    for (int r = first; r < end; r++) {
        size_t i = (size_t)r * w + (size_t)column;
        assert_near((double)p->result[i], cell[r], 8);
        assert_near((double)p->result[n + i], fmax(cell[r], 0), 8);
        for (size_t gate = 0; gate < 2; gate++) {
            size_t at = 2 * (size_t)r * w + gate * w + (size_t)column;
            double up = ssru_loss(p, first, end, column, at, 1e-5, NULL),
                   down = ssru_loss(p, first, end, column, at, -1e-5, NULL);
            assert_near((double)p->result[3 * n + at], (up - down) / 2e-5, 64);
        }
    }
    float last = p->result[5 * n + (size_t)b * w + (size_t)column];
    float wanted = end > first ? p->result[(size_t)(end - 1) * w + (size_t)column] : 0;
    assert_true(last == wanted);
}

static struct ssru_problem make_ssru(const int *starts, int width)
{
    struct ssru_problem p = {.s = {BATCH, width, starts, NULL}, .rows = starts[BATCH]};
    size_t n = ssru_size(&p);
    p.x = random_floats(2 * n, 1);
    p.dy = random_floats(n, 2);
    p.result = random_floats(5 * n + (size_t)(BATCH * width), 3);
    for (size_t j = 0; j < 2 * n; j++) p.x[j] = 3 * p.x[j];
    return p;
}

static void drop_ssru(struct ssru_problem *p)
{
    free(p->x);
    free(p->dy);
    free(p->result);
}

static const int all_starts[][BATCH + 1] = {
    {0, 0, 0, 0, 0}, {0, 1, 1, 2, 2}, {0, 7, 7, 15, 16}, {0, 30, 31, 33, 50}};
static const int widths[] = {1, 7, 16, 50};

static void unit_is_the_definition(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(all_starts) * COUNT(widths); i++) {
        struct ssru_problem p =
            make_ssru(all_starts[i % COUNT(all_starts)], widths[i / COUNT(all_starts)]);
        assert_same_bits(run_ssru, &p, p.result, 5 * ssru_size(&p) + (size_t)(BATCH * p.s.width));
        for (int b = 0; b < BATCH; b++)
            for (int j = 0; j < p.s.width; j++) compare_column(&p, b, j);
        drop_ssru(&p);
    }
}

struct parts { /* the last problem in two calls, of which the first ends before row `cut` */
    const struct ssru_problem *p;
    int cut;
    float *cells, *y, *states;
};

static void run_parts(const struct exec_context *exec, void *argument)
{
    const struct parts *t = argument;
    const struct ssru_problem *p = t->p;
    size_t w = (size_t)p->s.width;
    int starts[BATCH + 1] = {0};
    struct ssru s = {1, p->s.width, starts, t->states};
    starts[1] = t->cut;
    rapt__ssru_forward(exec, &s, p->x, t->cells, t->y);
    starts[1] = p->s.starts[1] - t->cut;
    rapt__ssru_forward(exec, &s, p->x + 2 * (size_t)t->cut * w, t->cells + (size_t)t->cut * w,
                       t->y + (size_t)t->cut * w);
}

static void parts_give_the_same_bits(void **state)
{
    (void)state;
    struct ssru_problem p = make_ssru(all_starts[3], 50);
    size_t n = 30 * 50;
    run_exec(1, run_ssru, &p);
    for (int cut = 0; cut <= 30; cut += 5) {
        struct parts t = {&p, cut, floats(n), floats(n), floats(50)};
        run_exec(2, run_parts, &t);
        assert_memory_equal(t.cells, p.result, n * sizeof(float));
        assert_memory_equal(t.y, p.result + ssru_size(&p), n * sizeof(float));
        free(t.cells);
        free(t.y);
        free(t.states);
    }
    drop_ssru(&p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_slopes),
        cmocka_unit_test(gates_are_the_definition),
        cmocka_unit_test(output_gates),
        cmocka_unit_test(logarithms),
        cmocka_unit_test(extremes),
        cmocka_unit_test(unit_is_the_definition),
        cmocka_unit_test(parts_give_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
