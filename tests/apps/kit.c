/* kit.c - tests the layers of the demonstrations against difference quotients, Adam, random
   numbers, that SVG is well-formed XML, and the shades of heat maps as text. */
#define _POSIX_C_SOURCE 200809L
#include "kit/heatmap.h"
#include "kit/layers.h"
#include "kit/program.h"
#include "kit/svg.h"
#include "quotient.h"
#include "temporary.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

const char program_name[] = "kit";

enum { MAX = 4096 };

static void fill(struct random *random, float *x, int count)
{
    for (int i = 0; i < count; i++) x[i] = random_normal(random);
}

/* A layer as difference quotients see it: y from x and parameters, gradients from dy. */
struct layer;
typedef void layer_forward(const struct layer *layer, const float *x, float *y);
typedef void layer_backward(const struct layer *layer, const float *x, const float *y,
                            const float *dy, float *dx);
struct layer {
    int rows, in, out;
    layer_forward *forward;
    layer_backward *backward;
    struct params params;
    struct linear linear;
    struct norm norm;
};

struct trial { /* a layer at x; dy is the gradient of its output */
    const struct layer *layer;
    const float *x, *dy;
};

/* Returns the sum of y dy, in double. */
static double dot(void *argument, double *magnitude)
{
    const struct trial *trial = argument;
    static float y[MAX];
    double sum = 0;
    memset(y, 0, sizeof y);
    trial->layer->forward(trial->layer, trial->x, y);
    *magnitude = 0;
    for (int i = 0; i < trial->layer->rows * trial->layer->out; i++) {
        double term = (double)y[i] * (double)trial->dy[i];
        sum += term;
        *magnitude += fabs(term);
    }
    return sum;
}

static void compare(struct trial *trial, float *number, float gradient)
{
    double quotient;
    if (!is_slope(dot, trial, number, 0x1p-7F, (double)gradient, &quotient))
        fail_msg("gradient %g, quotient %g", (double)gradient, quotient);
}

static void judge(struct layer *layer)
{
    static float x[MAX], y[MAX], dx[MAX], dy[MAX];
    struct random random = random_from(3, 1);
    struct trial trial = {layer, x, dy};
    int inputs = layer->rows * layer->in, outputs = layer->rows * layer->out;
    fill(&random, x, inputs);
    fill(&random, dy, outputs);
    /* No step of a quotient may cross the kink of ReLU. */
    for (int i = 0; i < inputs; i++) x[i] += x[i] > 0 ? 0.05F : -0.05F;
    memset(y, 0, sizeof y);
    memset(dx, 0, sizeof dx);
    layer->forward(layer, x, y);
    layer->backward(layer, x, y, dy, dx);
    for (int i = 0; i < inputs; i++) compare(&trial, x + i, dx[i]);
    for (size_t i = 0; i < layer->params.count; i++)
        compare(&trial, layer->params.value + i, layer->params.gradient[i]);
    float first = dx[0];
    layer->backward(layer, x, y, dy, dx);
    double bound = 8 * ROUNDING * fabs(2 * (double)first);
    assert_true(fabs((double)dx[0] - 2 * (double)first) <= bound); /* gradients accumulate */
}

static void linear_f(const struct layer *l, const float *x, float *y)
{
    linear_forward(&l->linear, l->rows, x, y);
}
static void linear_b(const struct layer *l, const float *x, const float *y, const float *dy,
                     float *dx)
{
    (void)y;
    linear_backward(&l->linear, l->rows, x, dy, dx);
}
static void norm_f(const struct layer *l, const float *x, float *y)
{
    norm_forward(&l->norm, l->rows, x, y);
}
static void norm_b(const struct layer *l, const float *x, const float *y, const float *dy,
                   float *dx)
{
    (void)y;
    norm_backward(&l->norm, l->rows, x, dy, dx);
}
static size_t size_of(const struct layer *l)
{
    return (size_t)l->rows * (size_t)l->in;
}
static void sigmoid_f(const struct layer *l, const float *x, float *y)
{
    sigmoid_forward(size_of(l), x, y);
}
static void sigmoid_b(const struct layer *l, const float *x, const float *y, const float *dy,
                      float *dx)
{
    (void)x;
    sigmoid_backward(size_of(l), y, dy, dx);
}
static void tanh_f(const struct layer *l, const float *x, float *y)
{
    tanh_forward(size_of(l), x, y);
}
static void tanh_b(const struct layer *l, const float *x, const float *y, const float *dy,
                   float *dx)
{
    (void)x;
    tanh_backward(size_of(l), y, dy, dx);
}
static void relu_f(const struct layer *l, const float *x, float *y)
{
    relu_forward(size_of(l), x, y);
}
static void relu_b(const struct layer *l, const float *x, const float *y, const float *dy,
                   float *dx)
{
    (void)x;
    relu_backward(size_of(l), y, dy, dx);
}

static struct layer make(int rows, int in, int out, layer_forward *forward,
                         layer_backward *backward)
{
    struct layer layer = {.rows = rows, .in = in, .out = out};
    layer.forward = forward;
    layer.backward = backward;
    return layer;
}

/* Sizes on both sides of a tile's. */
static void test_linear(void **state)
{
    const int sizes[][3] = {{1, 1, 1}, {4, 8, 8}, {5, 9, 11}, {3, 4, 17}, {9, 3, 24}};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct random random = random_from(1, i);
        struct layer layer = make(sizes[i][0], sizes[i][1], sizes[i][2], linear_f, linear_b);
        params_create(&layer.params, MAX);
        linear_create(&layer.linear, &layer.params, &random, layer.in, layer.out, i % 2 == 0);
        judge(&layer);
        params_free(&layer.params);
    }
}

static void test_norm(void **state)
{
    struct layer layer = make(3, 10, 10, norm_f, norm_b);
    (void)state;
    params_create(&layer.params, MAX);
    norm_create(&layer.norm, &layer.params, layer.in);
    for (int j = 0; j < 10; j++) layer.norm.gain[j] = 1 + 0.1F * (float)j;
    judge(&layer);
    params_free(&layer.params);
}

static void test_activations(void **state)
{
    struct layer layers[] = {make(4, 9, 9, sigmoid_f, sigmoid_b), make(4, 9, 9, tanh_f, tanh_b),
                             make(4, 9, 9, relu_f, relu_b)};
    (void)state;
    for (size_t i = 0; i < 3; i++) judge(&layers[i]);
    for (float x = -90; x < 90; x += 0.37F) {
        float s, t;
        sigmoid_forward(1, &x, &s);
        tanh_forward(1, &x, &t);
        assert_true(fabs((double)s - 1 / (1 + exp(-(double)x))) <= ROUNDING);
        assert_true(fabs((double)t - tanh((double)x)) <= 2 * ROUNDING);
    }
}

static void test_embed(void **state)
{
    struct params params;
    struct random random = random_from(2, 0);
    struct embed embed;
    const int ids[] = {3, 0, 3};
    float y[15] = {0}, dy[15];
    (void)state;
    params_create(&params, MAX);
    embed_create(&embed, &params, &random, 4, 5);
    embed_forward(&embed, 3, ids, y);
    assert_memory_equal(y, embed.table + 15, 5 * sizeof *y);
    assert_memory_equal(y + 5, embed.table, 5 * sizeof *y);
    fill(&random, dy, 15);
    embed_backward(&embed, 3, ids, dy);
    assert_float_equal(embed.dtable[17], dy[2] + dy[12], 0);
    assert_float_equal(embed.dtable[2], dy[7], 0);
    assert_float_equal(embed.dtable[7], 0, 0);
    params_free(&params);
}

struct loss_trial {
    float x[15];
    const int *labels;
};

static double loss_of(void *argument, double *magnitude)
{
    struct loss_trial *trial = argument;
    float waste[15];
    return *magnitude = cross_entropy(3, 5, trial->x, trial->labels, waste, NULL);
}

static void test_loss(void **state)
{
    float dx[15];
    const int labels[] = {2, -1, 4};
    struct loss_trial trial = {.labels = labels};
    struct random random = random_from(4, 0);
    int correct = 0;
    (void)state;
    fill(&random, trial.x, 15);
    trial.x[14] = 3;
    cross_entropy(3, 5, trial.x, labels, dx, &correct);
    assert_in_range(correct, 1, 2); /* row 2 certainly */
    for (int i = 0; i < 15; i++) {
        double quotient;
        assert_true(is_slope(loss_of, &trial, &trial.x[i], 0x1p-5F, (double)dx[i], &quotient));
    }
    for (int j = 5; j < 10; j++) assert_float_equal(dx[j], 0, 0);
}

/* The first step of Adam is rate times the sign of the gradient, and Adam converges on a
   quadratic. */
static void test_adam(void **state)
{
    struct params params;
    float *dx, *x;
    (void)state;
    params_create(&params, 2);
    x = params_take(&params, 2, &dx);
    x[0] = 1;
    x[1] = -2;
    for (int step = 0; step < 600; step++) {
        dx[0] = 2 * (x[0] - 3);
        dx[1] = 20 * (x[1] + 1);
        double norm = params_step(&params, 0.05F, 0.5F, step == 0 ? 1 : 0);
        if (step > 0) continue;
        assert_true(fabs(norm - sqrt(4 + 100)) <= 2 * ROUNDING * norm);
        assert_true(fabs((double)x[0] - 1.05) <= 2 * ROUNDING);
        assert_true(fabs((double)x[1] + 1.95) <= 4 * ROUNDING);
        assert_float_equal(dx[0], 0, 0);
    }
    assert_float_equal(x[0], 3, 1e-2);
    assert_float_equal(x[1], -1, 1e-2);
    params_free(&params);
}

static void test_random(void **state)
{
    struct random a = random_from(7, 1), b = a, c = random_from(7, 2);
    double mean = 0, square = 0;
    int counts[6] = {0}, equal = 0;
    (void)state;
    for (int i = 0; i < 60000; i++) {
        uint64_t x = random_bits(&a);
        assert_true(x == random_bits(&b));
        equal += x == random_bits(&c);
        counts[random_below(&a, 6)]++;
        double n = (double)random_normal(&a);
        mean += n;
        square += n * n;
        b = a;
    }
    assert_int_equal(equal, 0);
    for (int i = 0; i < 6; i++) assert_in_range(counts[i], 9600, 10400);
    assert_true(fabs(mean / 60000) < 0.02 && fabs(square / 60000 - 1) < 0.03);
}

static void test_svg(void **state)
{
    char folder[TEMPORARY], path[TEMPORARY + 8], text[8192] = "";
    struct svg svg;
    const rapt_text names[2] = {{"a<b", 3}, {"\xC3\xA9&", 3}};
    const float weights[4] = {0, 0.5F, 1, 0.05F};
    const float rows[8] = {0.25F, 0.25F, 0.25F, 0.25F, 0.1F, 0.2F, 0.5F, 0.2F};
    struct chart chart = {60, 60, 100, 80, {0, 0}, {10, 100}, {5, 50}, "t", NULL, {"x", "y"}};
    const double xs[2] = {0, 10}, ys[2] = {100, 0};
    (void)state;
    assert_non_null(temporary_folder(folder));
    snprintf(path, sizeof path, "%s/svg", folder);
    assert_int_equal(svg_open(&svg, path, 300, 200, "cats & \"dogs\""), EXIT_OK);
    chart_frame(&svg, &chart);
    chart_curve(&svg, &chart, 2, xs, ys, chart_colors[0]);
    shade_map(&svg, 200, 60, 24, 2, 2, names, names, weights);
    assert_int_equal(svg_close(&svg), EXIT_OK);
    FILE *again = fopen(path, "r");
    assert_non_null(again);
    assert_true(fread(text, 1, sizeof text - 1, again) > 500);
    fclose(again);
    assert_true(remove(path) == 0 && rmdir(folder) == 0);
    assert_int_equal(strncmp(text, "<svg xmlns=", 11), 0);
    assert_non_null(strstr(text, "role=\"img\" aria-label=\"cats &amp; &quot;dogs&quot;\""));
    assert_non_null(strstr(text, "<title>cats &amp; &quot;dogs&quot;</title>"));
    assert_non_null(strstr(text, "prefers-color-scheme: dark"));
    assert_non_null(strstr(text, "<title>x 10: y 0</title><circle"));
    assert_non_null(strstr(text, "<title>a&lt;b, a&lt;b: 0</title><rect"));
    assert_non_null(strstr(text, ">a&lt;b</text>"));
    assert_non_null(strstr(text, ">\xC3\xA9&amp;</text>"));
    assert_non_null(strstr(text, "points=\"60,60 160,140\"")); /* the corners of the frame */
    assert_non_null(strstr(text, "fill=\"#08306B\""));         /* weight 1 */
    assert_int_equal(svg_part_open(&svg, 200, 60), EXIT_OK);
    shade_map(&svg, 0, 0, 24, 2, 4, NULL, NULL, rows);
    char *part = svg_part_close(&svg);
    const char *darkest =
        strstr(part, "fill=\"#08306B\""); /* only the largest weight of the second row */
    assert_non_null(darkest);
    assert_null(strstr(darkest + 1, "fill=\"#08306B\""));
    free(part);
    assert_int_equal(svg_part_open(&svg, 200, 60), EXIT_OK);
    shade_map(&svg, 0, 0, 24, 1, 4, NULL, NULL, (const float[]){0.3F, -0.6F, -0.05F, 0});
    part = svg_part_close(&svg);
    assert_non_null(strstr(part, "fill=\"#7F2704\"")); /* the largest absolute weight */
    assert_non_null(strstr(part, ">\xE2\x88\x92"
                                 "60</text>"));
    free(part);
    assert_int_equal(svg_open(&svg, "missing/folder/x.svg", 1, 1, "x"), EXIT_OK);
    assert_int_equal(svg_close(&svg), EXIT_FAILED);
    assert_int_equal(svg_open(&svg, "/dev/full", 1, 1, "x"), EXIT_OK);
    assert_int_equal(svg_close(&svg), EXIT_FAILED);
}

/* Checks the points of the head of an arrow. */
static void check_arrow(double x, double y, const char *head)
{
    struct svg svg;
    assert_int_equal(svg_part_open(&svg, 200, 200), EXIT_OK);
    svg_arrow(&svg, 100, 100, x, y, "black", 4); /* a head of length 12 and width 12 */
    char *part = svg_part_close(&svg), *points = xasprintf("<polygon points=\"%s\"", head);
    assert_int_equal(strstr(part, points) != NULL, *head != 0);
    free(part), free(points);
}

/* The tip of an arrow is its second point, and its head lies along the line. */
static void test_arrow(void **state)
{
    (void)state;
    check_arrow(140, 100, "140,100 128,94 128,106");
    check_arrow(60, 100, "60,100 72,106 72,94");
    check_arrow(100, 140, "100,140 106,128 94,128");
    check_arrow(100, 60, "100,60 94,72 106,72");
    check_arrow(130, 140, "130,140 127.6,126.8 118,134");
    check_arrow(100, 100, "");
}

/* The largest weight of a row has the darkest shade, unless all weights are equal. A negative one
   is a minus. */
static void test_heatmap(void **state)
{
    static const rapt_text names[] = {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}};
    static const float weights[] = {0.25F, 0.25F, 0.25F, 0.25F, 0.28F, 0.24F, 0.24F,
                                    0.24F, 0.9F,  0.1F,  0,     0,     0,     0,
                                    0,     0,     0.5F,  -0.5F, 0,     0};
    static const char wanted[] = "  a    b    c    d   \n"
                                 "a ▓▓▓▓ ▓▓▓▓"
                                 " ▓▓▓▓ ▓▓▓▓\n"
                                 "b ▓▓▓▓ ▓▓▓▓"
                                 " ▓▓▓▓ ▓▓▓▓\n"
                                 "c ████ ░░░░"
                                 "  ·    ·  \n"
                                 "d  ·    ·    ·    ·  \n"
                                 "e ████  -    ·    ·  \n";
    const struct heatmap map = {5, 4, names, names, weights};
    char text[1024] = "";
    (void)state;
    FILE *file = fmemopen(text, sizeof text, "w");
    assert_non_null(file);
    heatmap_print(file, &map, (struct heatmap_style){.width = 80});
    assert_int_equal(fclose(file), 0);
    assert_string_equal(text, wanted);
    for (int columns = 1; columns < 9;
         columns++) { /* equal weights have half of the darkest shade */
        float row[9];
        for (int c = 0; c < columns; c++) row[c] = 1 / (float)columns;
        assert_true(columns < 3 ? heatmap_full(columns, row) == 1
                                : heatmap_full(columns, row) == 2 / (float)columns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear),      cmocka_unit_test(test_norm),
        cmocka_unit_test(test_activations), cmocka_unit_test(test_embed),
        cmocka_unit_test(test_loss),        cmocka_unit_test(test_adam),
        cmocka_unit_test(test_random),      cmocka_unit_test(test_svg),
        cmocka_unit_test(test_arrow),       cmocka_unit_test(test_heatmap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
