/* gemm_openblas.c - c = a b, computed by a team with OpenBLAS. This is the only file that uses
   OpenBLAS.

   OpenBLAS is loaded when first requested, so that programs that never request it do not map it. It
   then stays loaded. Loading it takes hundreds of megabytes of address space, and OpenBLAS hangs if
   less is available.

   Each thread of the team calls OpenBLAS for parts of c. The size of a part depends only on the
   shape of the product, so the results depend neither on the size of the team nor on the host's
   settings. OpenBLAS must not start threads of its own. Its serial build never starts any. Its
   OpenMP build starts none if the calling thread's OpenMP thread count is 1; each call sets this
   count. Its pthreads build would start some, so it is rejected.

   OpenBLAS cannot read weights in panels, so they are first copied to row-major order in the pack
   buffer, block by block. Gradients of weights are computed there in row-major order and then added
   to panels. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "op/gemm.h"

#if defined(RAPT_HAVE_OPENBLAS) && defined(_OPENMP)
#include <dlfcn.h>
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

/* RAPT_OPENBLAS_PATH is the path that CMake found; libopenblas.so.0 is the soname that OpenBLAS
   builds share. */
#ifndef RAPT_OPENBLAS_PATH
#define RAPT_OPENBLAS_PATH "libopenblas.so.0"
#endif
static const char *const openblas_names[] = {RAPT_OPENBLAS_PATH, "libopenblas.so.0"};
enum { OPENBLAS_NAMES = sizeof openblas_names / sizeof *openblas_names };

/* The CBLAS interface with 32-bit dimensions (Lawson et al. 1979; netlib's cblas.h). */
enum cblas_order { CBLAS_ROW_MAJOR = 101 };
enum cblas_transpose { CBLAS_AS_IT_IS = 111, CBLAS_TRANSPOSED = 112 };
typedef void cblas_sgemm_fn(enum cblas_order order, enum cblas_transpose left,
                            enum cblas_transpose right, int rows, int columns, int depth,
                            float alpha, const float *a, int a_row, const float *b, int b_row,
                            float beta, float *c, int c_row);
typedef int get_parallel_fn(void);
enum { PARALLEL_PTHREADS = 1 }; /* result of openblas_get_parallel */

/* sgemm is NULL until OpenBLAS is loaded, and does not change after that. */
static struct {
    pthread_mutex_t mutex;
    _Atomic(cblas_sgemm_fn *) sgemm;
} openblas = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Returns true if 640 MB of address space is left. OpenBLAS takes 300 MB in its constructor, and
   the rest for its buffers. */
static bool openblas_has_space(void)
{
    const size_t bytes = (size_t)640 << 20;
    void *space = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return space != MAP_FAILED && munmap(space, bytes) == 0;
}

/* Looks up a function in a loaded library. Stores its address with memcpy, because C has no
   conversion from object pointers to function pointers. */
static bool find_function(void *library, const char *name, void *function, size_t size)
{
    void *address = dlsym(library, name);
    memcpy(function, &address, size);
    return address != NULL;
}

/* Loads a library and returns its sgemm if a team may call it; the library then stays loaded.
   Otherwise returns NULL and explains why. */
static cblas_sgemm_fn *open_openblas(const char *name, rapt_message *why)
{
    get_parallel_fn *parallel;
    cblas_sgemm_fn *sgemm;
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *reason = dlerror();
        rapt__fail(why, RAPT_BAD_ARGUMENT, "%s", reason ? reason : name);
        return NULL;
    }
    if (!find_function(library, "cblas_sgemm", &sgemm, sizeof sgemm) ||
        !find_function(library, "openblas_get_parallel", &parallel, sizeof parallel))
        rapt__fail(why, RAPT_BAD_ARGUMENT, "%s: not an OpenBLAS library", name);
    else if (parallel() == PARALLEL_PTHREADS)
        rapt__fail(why, RAPT_BAD_ARGUMENT,
                   "%s starts its own threads: install the OpenMP or serial build of OpenBLAS",
                   name);
    else
        return sgemm;
    dlclose(library);
    return NULL;
}

/* Loads OpenBLAS, and otherwise explains why under each of its names. The caller must hold the
   mutex. */
static rapt_status load_openblas(rapt_message *why)
{
    cblas_sgemm_fn *sgemm = NULL;
    rapt_message reasons[OPENBLAS_NAMES];
    if (atomic_load(&openblas.sgemm)) return RAPT_OK;
    if (!openblas_has_space())
        return rapt__fail(why, RAPT_NO_MEMORY,
                          "OpenBLAS needs 640 MB of address space: raise the limit (ulimit -v)");
    for (int i = 0; i < OPENBLAS_NAMES && !sgemm; i++)
        sgemm = open_openblas(openblas_names[i], &reasons[i]);
    atomic_store(&openblas.sgemm, sgemm);
    if (sgemm) return RAPT_OK;
    const bool differ = strcmp(reasons[0].text, reasons[1].text) != 0;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "OpenBLAS cannot be loaded: %s%s%s", reasons[0].text,
                      differ ? "; " : "", differ ? reasons[1].text : "");
}

rapt_status rapt__openblas_load(rapt_message *why)
{
    if (atomic_load_explicit(&openblas.sgemm, memory_order_acquire)) return RAPT_OK;
    int number = errno;
    rapt_message reason;
    pthread_mutex_lock(&openblas.mutex);
    rapt_status status = load_openblas(&reason);
    pthread_mutex_unlock(&openblas.mutex);
    errno = number;
    return status ? rapt__fail(why, status, "%s", reason.text) : RAPT_OK;
}

enum {
    BLAS_ROWS = 256,  /* number of rows of c per unit of work */
    BLAS_MIN = 32768, /* products with rows * columns below this are left to the built-in kernels */
};

/* Returns the number of columns in a block, a multiple of 16 for which the block fits in the pack
   buffer. */
static int blas_columns(int depth, int columns)
{
    int max = PACK_FLOATS / depth / LANES * LANES;
    return rapt__min(max, rapt__ceil_div(columns, LANES) * LANES);
}

/* The product must be large enough, the pack buffer must have room for at least four panels, and
   OpenBLAS must be loaded. */
bool rapt__gemm_openblas_serves(const struct gemm *g)
{
    int inner = g->form == GEMM_PANELS       ? g->depth
                : g->form == GEMM_TRANSPOSED ? g->columns
                                             : g->rows;
    return g->rows >= 32 && g->columns >= 32 && g->depth >= 32 &&
           (size_t)g->rows * (size_t)g->columns >= BLAS_MIN && inner <= PACK_FLOATS / (4 * LANES) &&
           atomic_load_explicit(&openblas.sgemm, memory_order_acquire);
}

/* Calls sgemm on this thread. */
static void sgemm(enum cblas_transpose left, enum cblas_transpose right, int rows, int columns,
                  int depth, const float *a, ptrdiff_t a_row, const float *b, int b_row, float beta,
                  float *c, ptrdiff_t c_row)
{
    int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    cblas_sgemm_fn *product = atomic_load_explicit(&openblas.sgemm, memory_order_acquire);
    product(CBLAS_ROW_MAJOR, left, right, rows, columns, depth, 1, a, (int)a_row, b, b_row, beta, c,
            (int)c_row);
    omp_set_num_threads(threads);
}

/* Copies columns [column, column + columns) of a matrix in panels [depth][16] to row-major order,
   padded to whole panels. */
static void unpack(const struct exec_context *exec, const float *panels, int depth, int column,
                   int columns, float *plain)
{
    int count = rapt__ceil_div(columns, LANES);
    ptrdiff_t row = (ptrdiff_t)count * LANES;
    for (int t; (t = rapt__team_take(exec->team)) < count;) {
        const float *from = panels + ((ptrdiff_t)column / LANES + t) * depth * LANES;
        for (int k = 0; k < depth; k++)
            for (int j = 0; j < LANES; j++)
                plain[k * row + t * LANES + j] = from[(ptrdiff_t)k * LANES + j];
    }
    rapt__team_barrier(exec->team);
}

/* Applies the bias and the activation to the finished columns of one unit. */
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

/* Computes y = x W' in blocks of outputs. */
static void blas_panels(const struct exec_context *exec, const struct gemm *g)
{
    int block = blas_columns(g->depth, g->columns), units = rapt__ceil_div(g->rows, BLAS_ROWS);
    for (int n = 0; n < g->columns; n += block) {
        int columns = rapt__min(g->columns - n, block);
        unpack(exec, g->b, g->depth, n, columns, exec->pack);
        for (int t; (t = rapt__team_take(exec->team)) < units;) {
            int row = t * BLAS_ROWS, rows = rapt__min(g->rows - row, BLAS_ROWS);
            sgemm(CBLAS_AS_IT_IS, CBLAS_AS_IT_IS, rows, columns, g->depth, g->a + row * g->a_row,
                  g->a_row, exec->pack, rapt__ceil_div(columns, LANES) * LANES, g->add ? 1 : 0,
                  g->c + row * g->c_row + n, g->c_row);
            blas_finish(exec, g, row, rows, n, columns);
        }
        rapt__team_barrier(exec->team);
    }
}

/* Computes dx = dy W in blocks of outputs, which are the depth of this product. */
static void blas_transposed(const struct exec_context *exec, const struct gemm *g)
{
    int block = blas_columns(g->columns, g->depth), units = rapt__ceil_div(g->rows, BLAS_ROWS);
    for (int k = 0; k < g->depth; k += block) {
        int depth = rapt__min(g->depth - k, block);
        unpack(exec, g->b, g->columns, k, depth, exec->pack);
        for (int t; (t = rapt__team_take(exec->team)) < units;) {
            int row = t * BLAS_ROWS, rows = rapt__min(g->rows - row, BLAS_ROWS);
            sgemm(CBLAS_AS_IT_IS, CBLAS_TRANSPOSED, rows, g->columns, depth,
                  g->a + row * g->a_row + k, g->a_row, exec->pack,
                  rapt__ceil_div(depth, LANES) * LANES, g->add || k > 0 ? 1 : 0,
                  g->c + row * g->c_row, g->c_row);
        }
        rapt__team_barrier(exec->team);
    }
}

/* Adds a row-major block to c, which is in panels, or stores it if !g->add. */
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

/* Computes dW = dy' x. Each unit is computed in its own part of the pack buffer and then added to
   the panels. */
static void blas_rows(const struct exec_context *exec, const struct gemm *g)
{
    int block = blas_columns(g->rows, g->columns), units = rapt__ceil_div(g->rows, BLAS_ROWS);
    for (int n = 0; n < g->columns; n += block) {
        int columns = rapt__min(g->columns - n, block);
        for (int t; (t = rapt__team_take(exec->team)) < units;) {
            int row = t * BLAS_ROWS, rows = rapt__min(g->rows - row, BLAS_ROWS);
            float *plain = exec->pack + (ptrdiff_t)row * block;
            sgemm(CBLAS_TRANSPOSED, CBLAS_AS_IT_IS, rows, columns, g->depth, g->a + row, g->a_step,
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
rapt_status rapt__openblas_load(rapt_message *why)
{
    return rapt__fail(why, RAPT_BAD_ARGUMENT,
                      "this library was built without OpenBLAS or without OpenMP");
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
