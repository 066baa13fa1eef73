/* bf16_pack.c - rounds floats to bf16 numbers and packs panels of pairs, as defined in bf16.h. It
   is included by bf16_gemm.c and bf16_tiles.c. */

/* Rounds sixteen even and sixteen odd elements and joins them into pairs. */
static inline void bf16_join(const float *restrict even, const float *restrict odd,
                             uint32_t *restrict to)
{
    for (int n = 0; n < LANES; n++) to[n] = bf16_round(even[n]) | bf16_round(odd[n]) << 16;
}

/* Writes sixteen pairs for every two rows of x. */
static void bf16_pack(const float *x, ptrdiff_t ld, int columns, int depth, uint32_t *panel)
{
    float rows[2][LANES] = {{0}};
    for (int k = 0; k < depth; k += 2, panel += LANES, x += 2 * ld) {
        const bool odd = k + 1 < depth;
        if (columns == LANES && odd) {
            bf16_join(x, x + ld, panel);
            continue;
        }
        memcpy(rows[0], x, sizeof *x * (size_t)columns);
        if (odd) memcpy(rows[1], x + ld, sizeof *x * (size_t)columns);
        if (!odd) memset(rows[1], 0, sizeof rows[1]);
        bf16_join(rows[0], rows[1], panel);
    }
}
