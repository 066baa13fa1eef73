/* int8_amx.h - implements the operations of kernel/int8_tiles.h with AMX instructions. They are
   written in inline assembly because gcc's intrinsics do not tell the compiler which memory they
   read. */
#if !defined(__AMX_INT8__) && !defined(__AMXINT8__) /* clang 14 defines the second */
#error "compile with -mamx-tile -mamx-int8"
#endif

#define TILE_INLINE static inline __attribute__((always_inline))

TILE_INLINE void tile_configure(const struct tile_shapes *shapes)
{
    __asm__ volatile("ldtilecfg %0" : : "m"(*shapes));
}
TILE_INLINE void tile_zero(int t)
{
    __asm__ volatile("tilezero %%tmm%c0" : : "i"(t));
}
TILE_INLINE void tile_load(int t, const int8_t *p, ptrdiff_t row)
{
    __asm__ volatile("tileloadd (%1,%2,1), %%tmm%c0" : : "i"(t), "r"(p), "r"(row) : "memory");
}
TILE_INLINE void tile_product(int c, int a, int b)
{
    __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(c), "i"(a), "i"(b));
}
TILE_INLINE void tile_store(int t, int32_t sums[TILE_SUMS])
{
    __asm__ volatile("tilestored %%tmm%c1, (%2,%3,1)"
                     : "=m"(*(int32_t(*)[TILE_SUMS])sums)
                     : "i"(t), "r"(sums), "r"((ptrdiff_t)TILE_BYTES));
}
TILE_INLINE void tile_release(void)
{
    __asm__ volatile("tilerelease");
}
