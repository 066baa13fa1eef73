/* int8_forms.h - shared by the tests of 8-bit kernels: iteration over the forms of this machine. */
#ifndef RAPT_TESTS_KERNEL_INT8_FORMS_H
#define RAPT_TESTS_KERNEL_INT8_FORMS_H

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

#endif
