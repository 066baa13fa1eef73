/* gemm.c - c = a b with a team: in bf16 if the context asks for it, by OpenBLAS if the context asks
   for it and the product is large enough, and otherwise by the built-in kernels. The choice depends
   only on the shape of the product. */
#include "op/gemm.h"

/* Returns true if the context asks for OpenBLAS for this product of a layer. */
static bool wanted(const struct products *p, const struct gemm *g)
{
    if (g->form == GEMM_PANELS)
        return rapt__products_take(p, PRODUCT_FORWARD, g->columns, g->depth);
    if (g->form == GEMM_TRANSPOSED)
        return rapt__products_take(p, PRODUCT_INPUT, g->depth, g->columns);
    return rapt__products_take(p, PRODUCT_WEIGHT, g->columns, g->rows);
}

void rapt__gemm(const struct exec_context *exec, const struct gemm *g)
{
    if (!g->half && exec->products && exec->products->bf16)
        rapt__gemm_bf16(exec, g);
    else if (!g->half && wanted(exec->products, g) && rapt__gemm_openblas_serves(g))
        rapt__gemm_openblas(exec, g);
    else
        rapt__gemm_builtin(exec, g);
}

void rapt__gemm_activate(const struct exec_context *exec, const struct gemm *g, const float *c,
                         int rows, int columns)
{
    if (g->activation == ACTIVATION_NONE) return;
    float *out = g->activated + (c - g->c);
    for (int r = 0; r < rows; r++)
        exec->kernels->activate(g->activation, c + r * g->c_row, out + r * g->c_row,
                                (size_t)columns);
}
