/* bf16_amx.h - implements the operations of kernel/tiles.h, except tile_product, with AMX
   instructions. */
#if !defined(__AMX_BF16__) && !defined(__AMXBF16__) /* clang 14 defines the second */
#error "compile with -mamx-tile -mamx-bf16"
#endif
#include "kernel/amx.h"

TILE_INLINE void tile_pairs(int c, int a, int b)
{
    __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(c), "i"(a), "i"(b));
}
