/* exp2_row.c - vf_exp2 of a row, in place. The kernels use it only inside attention, so no function
   of their table exposes it by itself. The build compiles this file once per instruction set,
   exactly as it compiles lib/kernel/table.c. */
#include "kernel/kernel.h"
#include "kernel/simd.h"

#include "kernel/exp2_row.h"

#define EXP2_JOIN(isa) exp2_row_##isa
#define EXP2_NAME(isa) EXP2_JOIN(isa)

void EXP2_NAME(RAPT_ISA)(float *x, size_t n)
{
    for (size_t i = 0; i < n; i += 16)
        vf_store_partial(x + i, vf_exp2(vf_load_partial(x + i, n - i, 0)), n - i);
}
