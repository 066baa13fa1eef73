/* int8_trial.h - shared by the tests of 8-bit kernels: iteration over the forms of this machine,
   and operands of a product between fences. */
#ifndef RAPT_TESTS_KERNEL_INT8_TRIAL_H
#define RAPT_TESTS_KERNEL_INT8_TRIAL_H

#include "kernel/trial.h"

#include "kernel/int8.h"
#include "oracle/op.h"

#ifdef RAPT_TESTS_VNNI256
extern const struct int8_kernels rapt__int8_vnni256;

/* The AVX-VNNI form, with the instructions of AVX-512. */
static inline const struct int8_kernels *vnni256(void)
{
    bool can = rapt__processor_dots(RAPT_ISA_AVX512) && __builtin_cpu_supports("avx512vl");
    return can ? &rapt__int8_vnni256 : NULL;
}
#else
static inline const struct int8_kernels *vnni256(void)
{
    return NULL;
}
#endif

/* Iterates over the forms of this machine: for (int i = 0; (k = form_at(&i)) != NULL;) */
static inline const struct int8_kernels *form_at(int *form)
{
    while (*form <= INT8_FORMS) {
        int i = (*form)++;
        const struct int8_kernels *k =
            i < INT8_FORMS ? rapt__int8_kernels_of((enum int8_form)i) : vnni256();
        if (k) return k;
    }
    return NULL;
}

/* Multiplies by a form, for which the rows of q are rearranged if it reads them in another way. */
static inline void multiply_by(const struct int8_kernels *k, const struct int8_block *b)
{
    const size_t padded = rapt__round_up_size((size_t)b->depth, LANES), row = 2 * padded;
    struct int8_block arranged = *b;
    if (k->q_size == 1) {
        k->gemm(b);
        return;
    }
    assert_int_equal(k->q_size, 2);
    int8_t *q = calloc((size_t)b->rows, row + 1);
    int32_t *sums = malloc((size_t)b->rows * sizeof *sums);
    for (int r = 0; r < b->rows; r++) {
        sums[r] = b->q_sum[r];
        if (b->depth) memcpy(q + (size_t)r * row + padded, b->q + r * b->q_row, (size_t)b->depth);
        k->arrange_row(q + (size_t)r * row, b->depth, &sums[r]);
    }
    arranged.q = q, arranged.q_row = (ptrdiff_t)row, arranged.q_sum = sums;
    k->gemm(&arranged);
    free(q);
    free(sums);
}

/* ---- operands of a product ---- */

enum { MAX_ROWS = 70, MAX_COLUMNS = 72, MAX_DEPTH = 300 };

struct matrices { /* operands of a product, between fences */
    struct fenced q, q_scale, q_sum, w, w_scale, bias, y;
};

static inline int make_matrices(void **state)
{
    struct matrices *m = calloc(1, sizeof *m);
    m->q = fenced_make(MAX_ROWS * (MAX_DEPTH + 3 * INT8_LINE) / 4);
    m->q_scale = fenced_make(MAX_ROWS);
    m->q_sum = fenced_make(MAX_ROWS);
    m->w = fenced_make((MAX_COLUMNS + LANES) * (MAX_DEPTH + INT8_GROUP) / 4);
    m->w_scale = fenced_make(MAX_COLUMNS);
    m->bias = fenced_make(MAX_COLUMNS);
    m->y = fenced_make(MAX_ROWS * MAX_COLUMNS);
    *state = m;
    return 0;
}

static inline int drop_matrices(void **state)
{
    struct matrices *m = *state;
    fenced_free(&m->q), fenced_free(&m->q_scale), fenced_free(&m->q_sum);
    fenced_free(&m->w), fenced_free(&m->w_scale), fenced_free(&m->bias), fenced_free(&m->y);
    free(m);
    return 0;
}

struct shape {
    int rows, columns, depth;
    bool bias;
    bool extreme; /* every number is 127 or -127 */
    bool add;     /* add the products to y, instead of to a bias */
};

static inline int number(const struct shape *s, uint64_t key, size_t i)
{
    double u = uniform(key, i);
    return s->extreme ? (u < 0.5 ? -127 : 127) : (int)(u * 255) - 127;
}

static inline int q_at(const struct shape *s, int r, int k)
{
    return number(s, 1, (size_t)(r * MAX_DEPTH + k));
}
static inline int w_at(const struct shape *s, int n, int k)
{
    return number(s, 2, (size_t)(n * MAX_DEPTH + k));
}

/* Describes the product. The rows of q are as close as they may be. */
static inline struct int8_block set_up(const struct matrices *m, const struct shape *s)
{
    size_t rows = (size_t)s->rows, columns = (size_t)s->columns;
    size_t padded = rapt__round_up_size((size_t)s->depth, INT8_GROUP);
    size_t panels = rapt__ceil_div_size(columns, LANES), panel = rapt__int8_panel(s->depth);
    int8_t *q = (int8_t *)fenced_floats(&m->q, rows * padded / 4, true);
    int8_t *w = (int8_t *)fenced_floats(&m->w, panels * panel / 4, true);
    float *q_scale = fenced_floats(&m->q_scale, rows, true);
    int32_t *q_sum = (int32_t *)fenced_floats(&m->q_sum, rows, true);
    float *w_scale = fenced_floats(&m->w_scale, columns, true);
    float *bias = fenced_floats(&m->bias, columns, true);

    fill(q_scale, rows, 0, 1, 3);
    fill(w_scale, columns, 0, 0.1, 4);
    fill(bias, columns, -1, 1, 5);
    memset(q, 0, rows * padded);
    memset(w, 0, panels * panel);
    for (int r = 0; r < s->rows; r++) {
        q_sum[r] = 0;
        for (int k = 0; k < s->depth; k++) {
            q[(size_t)r * padded + (size_t)k] = (int8_t)q_at(s, r, k);
            q_sum[r] += q_at(s, r, k);
        }
    }
    for (int n = 0; n < s->columns; n++)
        for (int k = 0; k < s->depth; k++)
            w[(size_t)(n / LANES) * panel + (size_t)(k / 4 * 64 + n % LANES * 4 + k % 4)] =
                (int8_t)w_at(s, n, k);
    return (struct int8_block){.rows = s->rows,
                               .columns = s->columns,
                               .depth = s->depth,
                               .q = q,
                               .q_row = (ptrdiff_t)padded,
                               .q_scale = q_scale,
                               .q_sum = q_sum,
                               .w = w,
                               .w_scale = w_scale,
                               .bias = s->bias && !s->add ? bias : NULL,
                               .add = s->add,
                               .y = fenced_floats(&m->y, rows * columns, true),
                               .y_row = s->columns};
}

#endif
