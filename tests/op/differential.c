/* differential.c - tests differences of two attentions against their definition in double and its
   difference quotients, with the same bits for any number of threads and every instruction set. */
#include "op/helpers.h"

struct problem {
    int rows;
    struct difference d;
    float *vectors, *gain, *maps, *dy;
    float *result; /* y, dmaps, dvectors, dgain, repeated maps and the gradient of that */
};

static size_t elements_of(const struct problem *p)
{
    return (size_t)p->rows * (size_t)p->d.heads * (size_t)p->d.width;
}

static size_t results_of(const struct problem *p)
{
    return 8 * elements_of(p) + 3 * (size_t)p->d.width;
}

static void run_difference(const struct exec_context *exec, void *argument)
{
    static float *raw, *inverse, *dy, *partial, *dlambda;
    struct problem *p = argument;
    size_t all = elements_of(p), width = (size_t)p->d.width, heads = (size_t)p->d.heads;
    float *dmaps = p->result + all, *dvectors = dmaps + 2 * all, *dgain = dvectors + 2 * width;
    float *twice = dgain + width, *once = twice + 4 * all;
    if (exec->team->rank == 0) {
        raw = floats(all), inverse = floats(all / width + 1), dlambda = floats((size_t)p->rows + 1);
        partial = floats(rapt__head_norm_partial(p->rows, p->d.width) + 1);
        dy = floats(all);
        memcpy(dy, p->dy, all * sizeof *dy);
        memset(dvectors, 0, 3 * width * sizeof *dvectors);
        memset(once, 0, all * sizeof *once);
    }
    rapt__team_barrier(exec->team);
    rapt__difference_forward(exec, &p->d, p->rows, p->maps, p->result, raw, inverse);
    rapt__difference_backward(exec, &p->d, p->rows, p->maps, raw, inverse, dy, dmaps, dvectors,
                              dgain, partial, dlambda);
    rapt__heads_repeat(exec, 2 * (int)heads, p->d.width, p->rows, p->maps,
                       (ptrdiff_t)(2 * heads * width), twice);
    rapt__heads_repeat_backward(exec, (int)heads, p->d.width, p->rows, p->maps, once,
                                (ptrdiff_t)(heads * width));
    rapt__team_barrier(exec->team);
    if (exec->team->rank == 0) free(raw), free(inverse), free(dy), free(partial), free(dlambda);
}

/* All inputs in double, in the order of gradients. */
struct judged {
    const struct problem *p;
    double *maps, *vectors, *gain;
};

static double lambda_of(const struct judged *j)
{
    int half = j->p->d.width / 2;
    double first = 0, second = 0;
    for (int i = 0; i < half; i++) {
        first += j->vectors[i] * j->vectors[half + i];
        second += j->vectors[2 * half + i] * j->vectors[3 * half + i];
    }
    return exp(first) - exp(second) + (double)j->p->d.initial;
}

/* Computes y of one head, counted through all rows. */
static void head_of(const struct judged *j, size_t head, double *y)
{
    int width = j->p->d.width, r = j->p->d.group, group = (int)head / r, member = (int)head % r;
    const double *first = j->maps + (2 * group * r + member) * width;
    const double *second = j->maps + ((2 * group + 1) * r + member) * width;
    double lambda = lambda_of(j), mean = 0;
    for (int i = 0; i < width; i++) {
        y[i] = first[i] - lambda * second[i];
        mean += y[i] * y[i] / width;
    }
    for (int i = 0; i < width; i++)
        y[i] *= (1 - (double)j->p->d.initial) * j->gain[i] / sqrt(mean + (double)j->p->d.epsilon);
}

static double objective(const void *argument)
{
    const struct judged *j = argument;
    size_t width = (size_t)j->p->d.width;
    double y[64], sum = 0;
    for (size_t h = 0; h < elements_of(j->p) / width; h++) {
        head_of(j, h, y);
        for (size_t i = 0; i < width; i++) sum += (double)j->p->dy[h * width + i] * y[i];
    }
    return sum;
}

static void judge(struct problem *p)
{
    size_t all = elements_of(p), width = (size_t)p->d.width, n = results_of(p);
    p->maps = random_floats(2 * all, 1), p->dy = random_floats(all, 2);
    p->vectors = random_floats(2 * width, 3), p->gain = random_floats(width, 4);
    for (size_t i = 0; i < 2 * width; i++) p->vectors[i] *= 0.3f;
    p->d.vectors = p->vectors, p->d.gain = p->gain;
    p->result = floats(n);
    assert_same_bits(run_difference, p, p->result, n);
    struct judged j = {p, doubles(p->maps, 2 * all), doubles(p->vectors, 2 * width),
                       doubles(p->gain, width)};
    const float *gradient = p->result + all, *twice = gradient + 2 * all + 3 * width;
    double y[64], near = 64 + OF_A_SUM((double)all);
    assert_near((double)rapt__difference_lambda(&p->d), lambda_of(&j), 8);
    for (size_t h = 0; h < all / width; h++) {
        head_of(&j, h, y);
        for (size_t i = 0; i < width; i++) assert_near((double)p->result[h * width + i], y[i], 64);
    }
    for (size_t i = 0; i < 2 * all; i++)
        assert_near((double)gradient[i], slope(objective, &j, &j.maps[i]), near);
    for (size_t i = 0; i < 2 * width; i++)
        assert_near((double)gradient[2 * all + i], slope(objective, &j, &j.vectors[i]), 8 * near);
    for (size_t i = 0; i < width; i++)
        assert_near((double)gradient[2 * all + 2 * width + i], slope(objective, &j, &j.gain[i]),
                    near);
    for (size_t i = 0; i < 4 * all; i++)
        assert_true(twice[i] == p->maps[i / (2 * width) * width + i % width]);
    for (size_t i = 0; i < all; i++) {
        size_t at = i / width * 2 * width + i % width;
        assert_true(twice[4 * all + i] == p->maps[at] + p->maps[at + width]);
    }
    free(j.maps), free(j.vectors), free(j.gain);
    free(p->maps), free(p->dy), free(p->vectors), free(p->gain), free(p->result);
}

/* More rows than a chunk of the norm has, and widths with and without whole vectors. */
static void differences(void **state)
{
    (void)state;
    static const int all_rows[] = {0, 1, 9, 70}, heads[] = {1, 6}, widths[] = {2, 6, 32};
    for (int i = 0; i < COUNT(all_rows); i++)
        for (int j = 0; j < COUNT(heads); j++)
            for (int k = 0; k < COUNT(widths); k++) {
                if (all_rows[i] == 70 && widths[k] == 32) continue; /* quotients are slow */
                struct problem p = {.rows = all_rows[i],
                                    .d = {.heads = heads[j],
                                          .width = widths[k],
                                          .group = heads[j] > 1 ? 1 + k : 1,
                                          .initial = 0.2f + 0.1f * (float)k,
                                          .epsilon = 0.01f}};
                judge(&p);
            }
}

/* Where both attentions are fully masked, the output is 0, and so are the gradients of lambda. */
static void fully_masked(void **state)
{
    (void)state;
    enum { WIDTH = 4 };
    float vectors[2 * WIDTH] = {0.5f}, gain[WIDTH] = {1, 1, 1, 1}, maps[2 * WIDTH] = {0};
    float dy[WIDTH] = {1, 2, 3, 4};
    struct problem p = {.rows = 1,
                        .d = {.vectors = vectors,
                              .gain = gain,
                              .heads = 1,
                              .width = WIDTH,
                              .group = 1,
                              .initial = 0.2f,
                              .epsilon = 1e-5f},
                        .maps = maps,
                        .dy = dy};
    p.result = floats(results_of(&p));
    assert_same_bits(run_difference, &p, p.result, results_of(&p));
    for (int i = 0; i < WIDTH; i++) assert_true(p.result[i] == 0);
    for (int i = 0; i < 3 * WIDTH; i++) assert_true(p.result[3 * WIDTH + i] == 0);
    for (int i = 0; i < 2 * WIDTH; i++) assert_true(isfinite(p.result[WIDTH + i]));
    free(p.result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(differences),
                                       cmocka_unit_test(fully_masked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
