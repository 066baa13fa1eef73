/* gemm_openblas.c - c = a b by OpenBLAS, for a team; the one file that knows OpenBLAS.

   OpenBLAS computes panels of c that depend on the shape alone, each by one member in one thread:
   so neither the size of the team nor the host's settings change a bit. Its OpenMP build starts
   no threads of its own where the caller's OpenMP thread count is 1, which is a setting of the
   calling thread and is put back; the serial build never does; the pthreads build would, and is
   not used. Weights are in panels, which OpenBLAS cannot read: they are copied to plain rows in
   the pack buffer first, a block of columns at a time. */
#include "op/gemm.h"

#if defined(RAPT_HAVE_OPENBLAS) && defined(_OPENMP)
#include <cblas.h>
#include <omp.h>

enum {
    BLAS_ROWS = 256,  /* of c in a unit of work */
    BLAS_MIN = 32768, /* products with fewer rows * columns are left to the built-in kernels */
};

bool rapt__openblas_present(void)
{
    return openblas_get_parallel() != 1;
}

/* Columns of a block: as many as fit into the pack buffer. */
static int blas_columns(int depth, int columns)
{
    int max = PACK_FLOATS / depth / LANES * LANES;
    return rapt__min(max, rapt__ceil_div(columns, LANES) * LANES);
}

/* Not for few rows, nor where a block of columns would be too narrow. */
bool rapt__gemm_openblas_serves(const struct gemm *g)
{
    int inner = g->form == GEMM_PANELS       ? g->depth
                : g->form == GEMM_TRANSPOSED ? g->columns
                                             : g->rows;
    return g->rows >= 32 && g->columns >= 32 && g->depth >= 32 &&
           (size_t)g->rows * (size_t)g->columns >= BLAS_MIN && inner <= PACK_FLOATS / (4 * LANES);
}

/* One sgemm in this thread. */
static void sgemm(enum CBLAS_TRANSPOSE left, enum CBLAS_TRANSPOSE right, int rows, int columns,
                  int depth, const float *a, ptrdiff_t a_row, const float *b, int b_row, float beta,
                  float *c, ptrdiff_t c_row)
{
    int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    cblas_sgemm(CblasRowMajor, left, right, rows, columns, depth, 1, a, (int)a_row, b, b_row, beta,
                c, (int)c_row);
    omp_set_num_threads(threads);
}

/* Columns [column, column + columns) of a matrix in panels [depth][16], as plain rows. */
static void unpack(const struct exec_context *exec, const float *panels, int depth, int column,
                   int columns, float *plain)
{
    int count = rapt__ceil_div(columns, LANES);
    ptrdiff_t row = (ptrdiff_t)count * LANES;
    for (int t; (t = rapt__team_take(exec->team)) < count;) {
        const float *from = panels + ((ptrdiff_t)column / LANES + t) * depth * LANES;
        for (int k = 0; k < depth; k++)
            for (int j = 0; j < LANES; j++) plain[k * row + t * LANES + j] = from[k * LANES + j];
    }
    rapt__team_barrier(exec->team);
}

/* The columns of one unit that are finished: bias and activation. */
static void blas_finish(const struct exec_context *exec, const struct gemm *g, int row, int rows,
                        int column, int columns)
{
    for (int r = row; r < row + rows; r++) {
        float *c = g->c + r * g->c_row + column;
        if (g->bias) exec->kernels->add(c, g->bias + column, (size_t)columns);
        if (g->activation != ACTIVATION_NONE)
            exec->kernels->activate(g->activation, c, g->activated + r * g->c_row + column,
                                    (size_t)columns);
    }
}

/* y = x W': blocks of outputs. */
static void blas_panels(const struct exec_context *exec, const struct gemm *g)
{
    int block = blas_columns(g->depth, g->columns), units = rapt__ceil_div(g->rows, BLAS_ROWS);
    for (int n = 0; n < g->columns; n += block) {
        int columns = rapt__min(g->columns - n, block);
        unpack(exec, g->b, g->depth, n, columns, exec->pack);
        for (int t; (t = rapt__team_take(exec->team)) < units;) {
            int row = t * BLAS_ROWS, rows = rapt__min(g->rows - row, BLAS_ROWS);
            sgemm(CblasNoTrans, CblasNoTrans, rows, columns, g->depth, g->a + row * g->a_row,
                  g->a_row, exec->pack, rapt__ceil_div(columns, LANES) * LANES, g->add ? 1 : 0,
                  g->c + row * g->c_row + n, g->c_row);
            blas_finish(exec, g, row, rows, n, columns);
        }
        rapt__team_barrier(exec->team);
    }
}

/* dx = dy W: blocks of outputs, which are the depth here. */
static void blas_transposed(const struct exec_context *exec, const struct gemm *g)
{
    int block = blas_columns(g->columns, g->depth), units = rapt__ceil_div(g->rows, BLAS_ROWS);
    for (int k = 0; k < g->depth; k += block) {
        int depth = rapt__min(g->depth - k, block);
        unpack(exec, g->b, g->columns, k, depth, exec->pack);
        for (int t; (t = rapt__team_take(exec->team)) < units;) {
            int row = t * BLAS_ROWS, rows = rapt__min(g->rows - row, BLAS_ROWS);
            sgemm(CblasNoTrans, CblasTrans, rows, g->columns, depth, g->a + row * g->a_row + k,
                  g->a_row, exec->pack, rapt__ceil_div(depth, LANES) * LANES,
                  g->add || k > 0 ? 1 : 0, g->c + row * g->c_row, g->c_row);
        }
        rapt__team_barrier(exec->team);
    }
}

/* c (panels) += rows of a plain block. */
static void add_to_panels(const struct gemm *g, int row, int rows, int column, int columns,
                          const float *plain, ptrdiff_t plain_row)
{
    for (int n = 0; n < columns; n += LANES) {
        float *c = g->c + row * g->c_row + (column + n) / LANES * g->c_panel;
        int count = rapt__min(columns - n, LANES);
        for (int r = 0; r < rows; r++)
            for (int j = 0; j < count; j++) {
                float start = g->add ? c[r * g->c_row + j] : 0;
                c[r * g->c_row + j] = start + plain[r * plain_row + n + j];
            }
    }
}

/* dW = dy' x: a unit is computed in its own part of the pack buffer, then added to the panels. */
static void blas_rows(const struct exec_context *exec, const struct gemm *g)
{
    int block = blas_columns(g->rows, g->columns), units = rapt__ceil_div(g->rows, BLAS_ROWS);
    for (int n = 0; n < g->columns; n += block) {
        int columns = rapt__min(g->columns - n, block);
        for (int t; (t = rapt__team_take(exec->team)) < units;) {
            int row = t * BLAS_ROWS, rows = rapt__min(g->rows - row, BLAS_ROWS);
            float *plain = exec->pack + (ptrdiff_t)row * block;
            sgemm(CblasTrans, CblasNoTrans, rows, columns, g->depth, g->a + row, g->a_step,
                  g->b + n, (int)g->b_row, 0, plain, block);
            add_to_panels(g, row, rows, n, columns, plain, block);
        }
        rapt__team_barrier(exec->team);
    }
}

void rapt__gemm_openblas(const struct exec_context *exec, const struct gemm *g)
{
    if (g->form == GEMM_PANELS)
        blas_panels(exec, g);
    else if (g->form == GEMM_TRANSPOSED)
        blas_transposed(exec, g);
    else
        blas_rows(exec, g);
}
#else
bool rapt__openblas_present(void)
{
    return false;
}

bool rapt__gemm_openblas_serves(const struct gemm *g)
{
    (void)g;
    return false;
}

void rapt__gemm_openblas(const struct exec_context *exec, const struct gemm *g)
{
    (void)exec, (void)g;
}
#endif
