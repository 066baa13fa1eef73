/* additive.c - a query against keys through a hidden layer, and its gradients, against the
   definition in double. */
#include "kernel/trial.h"

enum { WIDTH = 75, PANELS = 3, KEYS = PANELS * LANES, ALL = WIDTH * KEYS };

static float q[WIDTH], v[WIDTH], keys[ALL], hidden[ALL], x[KEYS], dx[KEYS];
static float dq[WIDTH], dv[WIDTH], dkeys[ALL];

static size_t at(int n, int s, int width)
{
    return (size_t)((s / LANES * width + n) * LANES + s % LANES);
}

static void prepare(uint64_t seed)
{
    fill(q, WIDTH, -1, 1, seed);
    fill(v, WIDTH, -1, 1, seed + 1);
    fill(keys, ALL, -2, 2, seed + 2);
    fill(dx, KEYS, -1, 1, seed + 3);
    fill(dq, WIDTH, -1, 1, seed + 4);
    fill(dv, WIDTH, -1, 1, seed + 5);
    fill(dkeys, ALL, -1, 1, seed + 6);
}

static void check_gradients(const struct kernels *k, const struct additive *a)
{
    float dq0[WIDTH], dv0[WIDTH], dkeys0[ALL];
    const struct additive_gradients d = {dq, dv, dkeys, a->width * LANES, LANES};
    memcpy(dq0, dq, sizeof dq), memcpy(dv0, dv, sizeof dv), memcpy(dkeys0, dkeys, sizeof dkeys);
    k->additive_row_backward(a, dx, &d);
    for (int n = 0; n < a->width; n++) {
        double query = (double)dq0[n], vector = (double)dv0[n];
        for (int s = 0; s < a->panels * LANES; s++) {
            double h = tanh((double)q[n] + (double)keys[at(n, s, a->width)]);
            double g = (double)dx[s] * (double)v[n] * (1 - h * h);
            size_t i = at(n, s, a->width);
            if (dx[s] == 0) g = h = 0;
            query += g, vector += (double)dx[s] * h;
            close_to((double)dkeys[i], (double)dkeys0[i] + g, 1e-6);
        }
        close_to((double)dq[n], query, 1e-5);
        close_to((double)dv[n], vector, 1e-5);
    }
}

static void by_definition(void **state)
{
    static const int widths[] = {1, 2, 7, 31, 32, 33, 64, WIDTH};
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int i = 0; i < 8; i++)
            for (int panels = 0; panels <= PANELS; panels++) {
                struct additive a = {widths[i], panels, q, v, keys, NULL};
                float kept[KEYS];
                prepare((uint64_t)(i + panels));
                k->additive_row(&a, x);
                a.hidden = hidden;
                k->additive_row(&a, kept);
                assert_true(same_bits(x, kept, (size_t)(panels * LANES)));
                for (int s = 0; s < panels * LANES; s++) {
                    double want = 0;
                    for (int n = 0; n < a.width; n++)
                        want += (double)v[n] * tanh((double)q[n] + (double)keys[at(n, s, a.width)]);
                    close_to((double)x[s], want, 4e-6);
                }
                check_gradients(k, &a);
            }
}

/* If dx is 0 nothing is added, whatever the key holds. */
static void hidden_keys(void **state)
{
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;) {
        struct additive a = {WIDTH, PANELS, q, v, keys, hidden};
        prepare(3);
        for (int n = 0; n < WIDTH; n++) keys[at(n, 5, WIDTH)] = n % 2 ? NAN : INFINITY;
        dx[5] = 0;
        k->additive_row(&a, x);
        check_gradients(k, &a);
    }
}

/* Gradients of keys may be in plain rows. */
static void other_strides(void **state)
{
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;) {
        static float rows[ALL], panels[ALL];
        const struct additive a = {WIDTH, PANELS, q, v, keys, hidden};
        prepare(4);
        k->additive_row(&a, x);
        memset(rows, 0, sizeof rows), memset(panels, 0, sizeof panels);
        k->additive_row_backward(
            &a, dx, &(struct additive_gradients){dq, dv, panels, WIDTH * LANES, LANES});
        k->additive_row_backward(&a, dx, &(struct additive_gradients){dq, dv, rows, LANES, KEYS});
        for (int n = 0; n < WIDTH; n++)
            for (int s = 0; s < KEYS; s++)
                assert_true(rows[n * KEYS + s] == panels[at(n, s, WIDTH)]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_definition),
        cmocka_unit_test(hidden_keys),
        cmocka_unit_test(other_strides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
