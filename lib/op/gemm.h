/* gemm.h - the matrix products of linear.c: c = a b, computed by a team, with b in one of three
   layouts. */
#ifndef RAPT_LIB_OP_GEMM_H
#define RAPT_LIB_OP_GEMM_H

#include "op/op.h"

enum gemm_form {
    GEMM_PANELS,     /* b is in panels [depth][16]: y = x W' */
    GEMM_TRANSPOSED, /* the transpose of b is in panels [columns][16]: dx = dy W */
    GEMM_ROWS        /* b is row-major with rows b_row apart: dW' = x' dy */
};

/* The product c[r][n] = start + sum over k of a[r][k] b[k][n], where start is c[r][n] if `add`,
   otherwise bias[n], or 0 if bias is NULL. */
struct gemm {
    int rows, columns, depth;
    const float *a;          /* a[r][k] is at a[r*a_row + k*a_step] */
    ptrdiff_t a_row, a_step; /* one of them is 1: a_row with GEMM_ROWS, otherwise a_step */
    enum gemm_form form;
    const float *b;
    const uint16_t *half; /* panels of 16-bit floats, used in place of b, which is then NULL */
    enum half_type type;  /* type of `half` */
    ptrdiff_t b_row;
    float *c; /* c[r][n] is at c[r*c_row + (n/16)*c_panel + n%16] */
    ptrdiff_t c_row, c_panel;
    const float *bias;
    bool add;
    enum activation activation; /* applied to c, which must then be row-major (c_panel 16) */
    float *activated;           /* receives activation(c), in the layout of c; may be c; not used
                                   with ACTIVATION_NONE */
};

/* These four functions end at a barrier. */
void rapt__gemm(const struct exec_context *exec,
                const struct gemm *g); /* calls one of the next three functions */
void rapt__gemm_bf16(const struct exec_context *exec, const struct gemm *g);
void rapt__gemm_builtin(const struct exec_context *exec, const struct gemm *g);
void rapt__gemm_openblas(const struct exec_context *exec, const struct gemm *g);
/* Returns true if OpenBLAS is loaded, can compute this shape and is worth its overhead. */
bool rapt__gemm_openblas_serves(const struct gemm *g);

/* Applies the activation of g, if there is one, to the finished block [rows][columns] at c, which
   is within g->c. Does all of its work on the calling thread. */
void rapt__gemm_activate(const struct exec_context *exec, const struct gemm *g, const float *c,
                         int rows, int columns);

/* ---- gemm.c: decides what the built-in product copies and how it is divided ---- */
enum {
    GEMM_UNIT_ROWS = 52,   /* maximum number of rows in a unit */
    GEMM_FEW_ROWS = 16,    /* if a has fewer rows, it is read in place, over the whole depth */
    GEMM_DEPTH = 512,      /* depth of a block */
    GEMM_COPY_DEPTH = 256, /* depth of a copy of a, which takes 52 KB of a thread's stack */
};

/* How a unit reads a: in place, from a copy, or from a copy packed tile by tile. */
enum gemm_left { GEMM_LEFT_IN_PLACE, GEMM_LEFT_COPY, GEMM_LEFT_TILES };

/* The division of a block of c into units. */
struct gemm_partition {
    /* rows and panels of a unit, and the number of units in each direction */
    int rows, row_parts, panels, panel_parts;
    enum gemm_left left;
    int max_tile; /* as in struct gemm_block */
};

bool rapt__gemm_packs(const struct gemm *g); /* returns true if b is packed block by block */
/* Returns the number of panels per unit, among max, max - 2, ... down to 4, that minimizes the work
   of the busiest thread. max must be at least 4. */
int rapt__gemm_even_panels(int members, int row_parts, int panels, int max);
/* Divides a product of `rows` rows and `panels` panels, in which the rows of a are packed or
   quantized. Units have 4 to max_panels panels, where a max_panels below 8 counts as 8. In a team,
   each thread gets several units if possible, and the threads get nearly equal shares. */
struct gemm_partition rapt__gemm_units(int members, int rows, int panels, int max_panels);
struct gemm_partition rapt__gemm_partition(const struct exec_context *exec, const struct gemm *g,
                                           int columns);

#endif
