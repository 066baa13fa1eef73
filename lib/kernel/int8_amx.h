/* int8_amx.h - implements the operations of kernel/tiles.h, except tile_pairs, with AMX
   instructions. */
#if !defined(__AMX_INT8__) && !defined(__AMXINT8__) /* clang 14 defines the second */
#error "compile with -mamx-tile -mamx-int8"
#endif
#include "kernel/amx.h"

TILE_INLINE void tile_product(int c, int a, int b)
{
    __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(c), "i"(a), "i"(b));
}
