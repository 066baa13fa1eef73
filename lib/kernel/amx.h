/* amx.h - implements the operations of kernel/tiles.h, except the products, with AMX instructions.
   It is included by int8_amx.h and bf16_amx.h. The instructions are written in inline assembly
   because gcc's intrinsics do not tell the compiler which memory they read. */
#define TILE_INLINE static inline __attribute__((always_inline))

TILE_INLINE void tile_configure(const struct tile_shapes *shapes)
{
    __asm__ volatile("ldtilecfg %0" : : "m"(*shapes));
}
TILE_INLINE void tile_zero(int t)
{
    __asm__ volatile("tilezero %%tmm%c0" : : "i"(t));
}
TILE_INLINE void tile_load(int t, const void *p, ptrdiff_t row)
{
    __asm__ volatile("tileloadd (%1,%2,1), %%tmm%c0" : : "i"(t), "r"(p), "r"(row) : "memory");
}
/* The output is declared as characters, since the sums are integers or floats. */
TILE_INLINE void tile_store(int t, void *sums)
{
    __asm__ volatile("tilestored %%tmm%c1, (%2,%3,1)"
                     : "=m"(*(char(*)[TILE_SIZE])sums)
                     : "i"(t), "r"(sums), "r"((ptrdiff_t)TILE_BYTES));
}
TILE_INLINE void tile_release(void)
{
    __asm__ volatile("tilerelease");
}
