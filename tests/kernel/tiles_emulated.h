/* tiles_emulated.h - the operations of kernel/tiles.h in plain C, from the descriptions of
   LDTILECFG, TILEZERO, TILELOADD, TDPBSSD, TDPBF16PS, TILESTORED and TILERELEASE in Intel's manual,
   volume 2. Whatever makes the processor raise an exception is counted in tiles_faults. */
#include "kernel/tiles_state.h"
#include "oracle/op.h"

#include <stdbool.h>
#include <string.h>

static struct emulated_tile {
    int rows, bytes; /* 0: the tile has no shape */
    uint8_t data[16][64];
} emulated[8];

static inline void tile_release(void)
{
    memset(emulated, 0, sizeof emulated);
    tiles_configured = false;
}

/* The operand: byte 0 is the palette, 1 the first row, 2 to 15 are 0, then 16 sizes of rows as
   little-endian words, then 16 numbers of rows. Palette 1 has eight tiles of 16 rows of 64
   bytes. */
static inline void tile_configure(const void *operand)
{
    const uint8_t *bytes = operand;
    bool wrong = bytes[0] != 1;
    for (int i = 1; i < 16; i++) wrong |= bytes[i] != 0;
    tile_release();
    for (int t = 0; t < 16; t++) {
        int row = bytes[16 + 2 * t] | bytes[17 + 2 * t] << 8, rows = bytes[48 + t];
        wrong |= t >= 8 ? row || rows : row > 64 || rows > 16 || !row != !rows;
        if (t < 8) emulated[t].rows = rows, emulated[t].bytes = row;
    }
    tiles_faults += wrong;
    tiles_configured = true;
}

/* Returns a tile, which must have a shape. */
static inline struct emulated_tile *tile_at(int t)
{
    tiles_faults += !tiles_configured || emulated[t].rows == 0;
    return &emulated[t];
}

static inline void tile_zero(int t)
{
    memset(tile_at(t)->data, 0, sizeof emulated[t].data);
}

static inline void tile_load(int t, const void *p, ptrdiff_t row)
{
    struct emulated_tile *tile = tile_at(t);
    memset(tile->data, 0, sizeof tile->data);
    for (int m = 0; m < tile->rows; m++)
        memcpy(tile->data[m], (const char *)p + m * row, (size_t)tile->bytes);
}

static inline void tile_store(int t, void *sums)
{
    const struct emulated_tile *tile = tile_at(t);
    for (int m = 0; m < tile->rows; m++)
        memcpy((char *)sums + m * 64, tile->data[m], (size_t)tile->bytes);
}

/* Four products of signed bytes are added to a word of c, modulo 2^32. */
static inline uint32_t tile_dword(uint32_t word, const uint8_t *a, const uint8_t *b)
{
    for (int i = 0; i < 4; i++) {
        int x = a[i] < 128 ? a[i] : a[i] - 256, y = b[i] < 128 ? b[i] : b[i] - 256;
        word += (uint32_t)(x * y);
    }
    return word;
}

/* Counts a product c += a b and checks the shapes. */
static inline void tile_count(int c, int a, int b)
{
    const struct emulated_tile *to = tile_at(c), *left = tile_at(a), *right = tile_at(b);
    tiles_products++;
    tiles_faults += c == a || c == b || a == b; /* they must be different */
    tiles_faults += to->rows != left->rows || to->bytes != right->bytes;
    tiles_faults += left->bytes % 4 || right->bytes % 4 || left->bytes / 4 != right->rows;
}

static inline void tile_product(int c, int a, int b)
{
    struct emulated_tile *to = &emulated[c];
    const struct emulated_tile *left = &emulated[a], *right = &emulated[b];
    tile_count(c, a, b);
    for (int m = 0; m < to->rows; m++)
        for (int k = 0; k < left->bytes / 4; k++)
            for (int n = 0; n < to->bytes / 4; n++) {
                uint32_t word;
                memcpy(&word, &to->data[m][4 * n], sizeof word);
                word = tile_dword(word, &left->data[m][4 * k], &right->data[k][4 * n]);
                memcpy(&to->data[m][4 * n], &word, sizeof word);
            }
}

/* Returns 16 little-endian bits. */
static inline uint16_t tile_word(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

/* In each row of c, a pair of sums per column starts at zero. Each pair of a row of a times that of
   a row of b is added to them, the first product to the first sum. Their sum is added to c. */
static inline void tile_pairs(int c, int a, int b)
{
    struct emulated_tile *to = &emulated[c];
    const struct emulated_tile *left = &emulated[a], *right = &emulated[b];
    tile_count(c, a, b);
    for (int m = 0; m < to->rows; m++) {
        float sums[16][2] = {{0}};
        for (int k = 0; k < left->bytes / 4; k++)
            for (int n = 0; n < to->bytes / 4; n++)
                for (int i = 0; i < 2; i++)
                    sums[n][i] =
                        oracle_bf16_step(tile_word(&left->data[m][4 * k + 2 * i]),
                                         tile_word(&right->data[k][4 * n + 2 * i]), sums[n][i]);
        for (int n = 0; n < to->bytes / 4; n++) {
            float sum;
            memcpy(&sum, &to->data[m][4 * n], sizeof sum);
            sum = oracle_bf16_add(sum, oracle_bf16_add(sums[n][0], sums[n][1]));
            memcpy(&to->data[m][4 * n], &sum, sizeof sum);
        }
    }
}
