/* tiles.h - the operations on tiles that int8_tiles.c and bf16_tiles.c use. RAPT_TILES_HEADER names
   the file that implements them: kernel/int8_amx.h, kernel/bf16_amx.h or, in tests, an emulation in
   plain C. Only the emulation has both products.

   A processor with AMX has eight tiles, numbered 0 to 7. A tile is a matrix with up to 16 rows of
   up to 64 bytes each. Tile numbers are constants after inlining.

     tile_configure(c)     sets the shapes of all tiles; must come first
     tile_zero(t)          sets a tile to 0
     tile_load(t,p,row)    loads a tile whose rows are `row` bytes apart
     tile_product(c,a,b)   adds the product of byte tiles a and b to the tile of sums c:
                           c[m][n] += sum over k and i of a[m][4 k + i] b[k][4 n + i]
     tile_pairs(c,a,b)     adds the product of tiles a and b of bf16 pairs to the tile c of floats:
                           a slice of BF16_TILES (kernel/bf16.h), but a NaN may have other bits;
                           a[m][k] is the k-th pair of row m, and b[k][n] that of column n
     tile_store(t,sums)    stores a tile of sums as rows of 16
     tile_release()        clears the shapes, after which the thread has no tile state

   Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18, and
   volume 2, TDPBSSD, TDPBF16PS and LDTILECFG. */
#ifndef RAPT_LIB_TILES_H
#define RAPT_LIB_TILES_H

#include <stddef.h>
#include <stdint.h>

enum {
    TILE_ROWS = 16,
    TILE_BYTES = 64, /* number of bytes in a row of a tile */
    TILE_SIZE = TILE_ROWS * TILE_BYTES,
    TILE_SUMS = TILE_SIZE / 4,   /* number of 32-bit sums in a tile */
    TILES_BLOCK = 2 * TILE_ROWS, /* maximum number of rows in a block */
    TILES_PANELS = 4             /* maximum number of panels multiplied at a time */
};

/* The operand of tile_configure, as the processor defines it. Only the first eight elements of the
   arrays are used; the others are 0. */
struct tile_shapes {
    uint8_t palette; /* 1 */
    uint8_t start_row, reserved[14];
    uint16_t bytes[16]; /* number of bytes in a row of each tile */
    uint8_t rows[16];
};

_Static_assert(sizeof(struct tile_shapes) == 64, "the processor reads 64 bytes");

#include RAPT_TILES_HEADER

#endif
