/* gemm.c - c = a b by a team: gives a product to OpenBLAS where the context asks for it and the
   shape is worth it, else to the built-in kernels. The choice depends on the shape alone. */
#include "op/gemm.h"

void rapt__gemm(const struct exec_context *exec, const struct gemm *g)
{
    if (exec->openblas && rapt__gemm_openblas_serves(g))
        rapt__gemm_openblas(exec, g);
    else
        rapt__gemm_builtin(exec, g);
}
