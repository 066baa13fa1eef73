/* adam.c - one step of Adam, and many, against the definition in double. */
#include "kernel/trial.h"

enum { N = 203 };

struct moments {
    double p, m, v;
};

static void step(const struct adam *a, struct moments *x, double g)
{
    g *= (double)a->gradient_scale;
    x->m = (double)a->beta1 * x->m + (1 - (double)a->beta1) * g;
    x->v = (double)a->beta2 * x->v + (1 - (double)a->beta2) * g * g;
    double change = (double)a->rate * (double)a->correct1 * x->m /
                    (sqrt((double)a->correct2 * x->v) + (double)a->epsilon);
    x->p = x->p - (double)a->decay * x->p - change;
}

static void one_step(void **state)
{
    static const struct adam steps[] = {
        {1e-3f, 0.9f, 0.98f, 1e-9f, 10, 50, 0, 1},
        {0.1f, 0.9f, 0.999f, 1e-8f, 1.2f, 3, 1e-3f, 0.03f},
        {0, 0.9f, 0.999f, 1e-8f, 1, 1, 0, 1},
        {1e-2f, 0, 0, 1e-8f, 1, 1, 0, 1},
    };
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int j = 0; j < 4; j++) {
            float p[N], g[N], m[N], v[N], old[3][N];
            fill(p, N, -1, 1, 1), fill(g, N, -1, 1, 2), fill(m, N, -1, 1, 3), fill(v, N, 0, 1, 4);
            memcpy(old[0], p, sizeof p), memcpy(old[1], m, sizeof m), memcpy(old[2], v, sizeof v);
            k->adam_span(steps + j, p, g, m, v, N);
            for (int i = 0; i < N; i++) {
                struct moments x = {(double)old[0][i], (double)old[1][i], (double)old[2][i]};
                step(steps + j, &x, (double)g[i]);
                /* in ulp of the greatest term, since terms of different sign may cancel */
                double change = fabs(x.p - (double)old[0][i]);
                close_to((double)m[i], x.m, 2 * ulp(fmax(fabs((double)old[1][i]), fabs(x.m))));
                close_to((double)v[i], x.v, 2 * ulp(x.v));
                close_to((double)p[i], x.p,
                         ulp(x.p) + 4 * ulp(change) + ulp((double)old[1][i]) * change);
            }
        }
}

/* After ten thousand steps the error is at most 1e-5 of the sum of all changes. */
static void many_steps(void **state)
{
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;) {
        float p[N], g[N], m[N] = {0}, v[N] = {0};
        struct moments x[N] = {{0, 0, 0}};
        double moved[N] = {0};
        fill(p, N, -1, 1, 1);
        for (int i = 0; i < N; i++) x[i].p = (double)p[i];
        for (int t = 1; t <= 10000; t++) {
            struct adam a = {1e-3f, 0.9f, 0.98f, 1e-9f, 0, 0, 1e-6f, 0.5f};
            a.correct1 = (float)(1 / (1 - pow((double)a.beta1, t)));
            a.correct2 = (float)(1 / (1 - pow((double)a.beta2, t)));
            fill(g, N, -1, 1.2, (uint64_t)(t + 10));
            k->adam_span(&a, p, g, m, v, N);
            for (int i = 0; i < N; i++) {
                double before = x[i].p;
                step(&a, x + i, (double)g[i]);
                moved[i] += fabs(x[i].p - before);
            }
        }
        for (int i = 0; i < N; i++) close_to((double)p[i], x[i].p, 1e-5 * (1 + moved[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_step),
        cmocka_unit_test(many_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
