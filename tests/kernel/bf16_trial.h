/* bf16_trial.h - shared by the tests of products of bf16 numbers: numbers of every kind, and
   products of every shape, between fences, compared with their definition. */
#ifndef RAPT_TESTS_KERNEL_BF16_TRIAL_H
#define RAPT_TESTS_KERNEL_BF16_TRIAL_H

#include "kernel/trial.h"

#include "kernel/bf16.h"
#include "oracle/op.h"

enum { MAX_ROWS = BF16_ROWS, MAX_COLUMNS = 68, MAX_DEPTH = 99 };

/* ---- numbers ---- */

/* A float of any exponent; or one whose product with others is near 2^-126; or a special one. */
static inline float any_float(uint64_t key, size_t i)
{
    static const float special[] = {0,         -0.0f,      1,        INFINITY,  -INFINITY, NAN,
                                    0x1p-126f, -0x1p-130f, 0x1p127f, -0x1p-63f, 0x1p-62f,  2};
    double kind = uniform(key + 1, i);
    uint32_t bits = (uint32_t)(uniform(key, i) * 0x1p32);
    if (kind < 0.1) return special[bits % 12];
    if (kind < 0.5) return half_float_of(bits);
    uint32_t exponent = kind < 0.75 ? 61 + bits % 8 : 1 + bits % 30;
    return half_float_of((bits & 0x807fffff) | exponent << 23);
}

/* Kinds of numbers. Products of tiny ones are near 2^-126, and sums of huge ones overflow. */
enum numbers { PLAIN, SPECIAL, TINY, HUGE_ONES, ANY, NUMBERS };

static inline void fill_with(enum numbers numbers, float *x, size_t n, uint64_t key)
{
    fill(x, n, -1, 1, key);
    if (numbers == SPECIAL) sprinkle(x, n, key + 10);
    for (size_t i = 0; i < n; i++) {
        if (numbers == TINY) x[i] *= 0x1p-62f;
        if (numbers == HUGE_ONES) x[i] *= 0x1.8p63f;
        if (numbers == ANY) x[i] = any_float(key + 20, i);
    }
}

/* Fills starts of sums, whose magnitudes are those of products. */
static inline void fill_starts(enum numbers numbers, float *x, size_t n, uint64_t key)
{
    fill_with(numbers, x, n, key);
    for (size_t i = 0; i < n; i++) {
        if (numbers == TINY) x[i] *= 0x1p-62f;
        if (numbers == HUGE_ONES) x[i] *= 0x1p63f;
    }
}

/* Returns a sum of n products by the definition of its kind. */
static inline float oracle_sum(enum bf16_sums sums, int n, const float *a, int a_step,
                               const float *b, int b_step, float start)
{
    return (sums == BF16_TILES ? oracle_bf16_tiles : oracle_bf16_chain)(n, a, a_step, b, b_step,
                                                                        start);
}

/* ---- products of every shape ---- */

struct matrices { /* operands of a product, between fences */
    struct fenced a, b, bias, c;
};

static inline int make(void **state)
{
    struct matrices *m = calloc(1, sizeof *m);
    m->a = fenced_make(MAX_ROWS * BF16_DEPTH);
    m->b = fenced_make(MAX_COLUMNS * BF16_DEPTH);
    m->bias = fenced_make(MAX_COLUMNS);
    m->c = fenced_make((MAX_COLUMNS + LANES) * MAX_ROWS);
    *state = m;
    return 0;
}

static inline int drop(void **state)
{
    struct matrices *m = *state;
    fenced_free(&m->a), fenced_free(&m->b), fenced_free(&m->bias), fenced_free(&m->c);
    free(m);
    return 0;
}

struct shape {
    int rows, columns, depth;
    bool across; /* columns of a are adjacent floats, not rows */
    bool bias, add;
    bool divided; /* the first slice is a call of its own */
    enum numbers numbers;
};

enum { SHAPE_WIDTHS = 23, SHAPES = MAX_ROWS * SHAPE_WIDTHS };

/* Returns one of the shapes with all numbers of rows, a third of all numbers of columns, and depths
   around those of slices. */
static inline struct shape shape_at(int i)
{
    static const int depths[] = {1, 2, 3, 16, 17, 30, 31, 32, 33, 62, 63, 64, 65, 96, MAX_DEPTH};
    const int rows = i / SHAPE_WIDTHS + 1, columns = i % SHAPE_WIDTHS * 3 + (rows + 1) % 3;
    const double u = uniform(99, (size_t)i);
    return (struct shape){.rows = rows,
                          .columns = rapt__min(rapt__max(columns, 1), MAX_COLUMNS),
                          .depth = depths[i % 15],
                          .across = i / 15 % 2 == 0,
                          .bias = i % 2 == 0,
                          .add = i % 5 < 2,
                          .divided = i % 3 == 0,
                          .numbers = (enum numbers)(u < 0.2 ? PLAIN : u * NUMBERS)};
}

/* Computes a product with one call, or with two, the second of which begins at the second slice. */
static inline void multiply(const struct bf16_kernels *k, struct bf16_block b, bool divided)
{
    const int depth = b.depth, first = 2 * BF16_SLICE;
    if (divided && depth > first) {
        b.depth = first;
        k->gemm(&b);
        b.depth = depth - first;
        b.a += first * b.a_step, b.b += BF16_SLICE * LANES, b.bias = NULL, b.add = true;
    }
    k->gemm(&b);
}

struct product {
    struct shape s;
    struct bf16_block block; /* without the pairs of b, which each form packs */
    const float *b;
    float want[MAX_ROWS * MAX_COLUMNS];
};

/* Draws the operands of a product and computes it by the definition. */
static inline void draw_product(const struct matrices *m, const struct shape *s,
                                enum bf16_sums sums, struct product *p)
{
    const int rows = s->rows, columns = s->columns, depth = s->depth;
    const size_t a_size = (size_t)(rows * depth), b_size = (size_t)(columns * depth),
                 c_size = (size_t)(rows * columns);
    float *a = fenced_floats(&m->a, a_size, true), *b = fenced_floats(&m->b, b_size, true);
    float *c = fenced_floats(&m->c, c_size, true);
    float *bias = fenced_floats(&m->bias, (size_t)columns, true);
    const int a_row = s->across ? 1 : depth, a_step = s->across ? rows : 1;
    fill_with(s->numbers, a, a_size, 1), fill_with(s->numbers, b, b_size, 2);
    fill_starts(s->numbers, c, c_size, 3), fill_starts(s->numbers, bias, (size_t)columns, 4);
    p->s = *s, p->b = b;
    p->block = (struct bf16_block){.rows = rows,
                                   .columns = columns,
                                   .depth = depth,
                                   .a = a,
                                   .a_row = a_row,
                                   .a_step = a_step,
                                   .b_panel = (ptrdiff_t)rapt__ceil_div(depth, 2) * LANES,
                                   .c = c,
                                   .c_row = columns,
                                   .c_panel = LANES,
                                   .bias = s->bias && !s->add ? bias : NULL,
                                   .add = s->add};
    for (int i = 0; i < rows * columns; i++)
        p->want[i] =
            oracle_sum(sums, depth, a + i / columns * a_row, a_step, b + i % columns, columns,
                       s->add    ? c[i]
                       : s->bias ? bias[i % columns]
                                 : 0);
}

/* Compares the result of a form with the definition. */
static inline void check_product(const struct matrices *m, const struct product *p,
                                 const struct bf16_kernels *k)
{
    static uint32_t packed[(MAX_COLUMNS + LANES) * (BF16_DEPTH + 1)];
    struct bf16_block block = p->block;
    const int rows = block.rows, columns = block.columns, depth = block.depth;
    const size_t size = (size_t)(rows * columns);
    for (int n = 0; n < columns; n += LANES)
        k->pack(p->b + n, columns, rapt__min(columns - n, LANES), depth,
                packed + n / LANES * block.b_panel);
    block.b = packed;
    fill_starts(p->s.numbers, block.c, size, 3);
    multiply(k, block, p->s.divided);
    for (size_t i = 0; i < size; i++)
        if (memcmp(block.c + i, p->want + i, sizeof *block.c) != 0)
            fail_msg("%s: %d x %d x %d, numbers %d, element %zu: %a, not %a", k->name, rows,
                     columns, depth, (int)p->s.numbers, i, (double)block.c[i], (double)p->want[i]);
    fenced_check(&m->c, size, true);
}

#endif
