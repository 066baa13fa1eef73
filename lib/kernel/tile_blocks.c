/* tile_blocks.c - the code shared by the products of bytes and of bf16 pairs in AMX tiles: the
   shapes of the tiles, the order of loads and products, and the division of rows into blocks. It is
   included by int8_tiles.c and bf16_tiles.c, which define before it

     tiles_block            a block of rows and its buffers, a struct with these members:
       block                the product, which has `rows` and `columns`
       row, rows            the first row of the block, and the number of rows
       tall                 the number of tiles of rows: 1 or 2
     tiles_product(c,a,b)   tile_product or tile_pairs

   and after it the two functions that are declared here.

   Rows are processed in blocks of 32. A block of more than 16 rows has two tiles of rows, which are
   multiplied by two panels at a time. A smaller block has one, which is multiplied by four panels
   at a time. Both use four tiles of sums, which hide the latency of the instruction (52 cycles,
   although a new one can start every 16: Intel's optimization manual, chapter on AMX). */

/* Computes and stores the sums for a block and a few panels. */
static inline __attribute__((always_inline)) void tiles_sum(int tall, int panels, tiles_block *t,
                                                            int panel);
/* Writes results to the n columns of a panel, the p-th of those whose sums are stored. */
static inline __attribute__((always_inline)) void tiles_finish(int n, const tiles_block *t, int p,
                                                               int panel);

/* Sets the shapes of the tiles: tiles 0 to 3 hold sums, tiles 4 and 5 hold rows of the left factor,
   and tiles 6 and 7 hold columns of the right one. With two tiles of rows, tiles 0 and 1 hold the
   sums of the first, and tiles 2 and 3 hold those of the second. */
static void tiles_shape(const tiles_block *t)
{
    struct tile_shapes shapes = {.palette = 1};
    const int first = rapt__min(t->rows, TILE_ROWS), last = t->tall == 1 ? first : t->rows - first;
    const int rows[8] = {first, first, last, last, first, last, TILE_ROWS, TILE_ROWS};
    for (int i = 0; i < 8; i++) shapes.rows[i] = (uint8_t)rows[i], shapes.bytes[i] = TILE_BYTES;
    tile_configure(&shapes);
}

/* Adds one product of tiles to each tile of sums. The rows of `left` are `row` bytes apart, the
   second tile of rows begins `below` bytes after the first, and panels of `right` are `panel` bytes
   apart. Inlined, so that tall and panels are constants. */
static inline __attribute__((always_inline)) void tiles_step(int tall, int panels, const void *left,
                                                             ptrdiff_t row, ptrdiff_t below,
                                                             const void *right, ptrdiff_t panel)
{
    const char *a = left, *b = right;
    tile_load(4, a, row);
    tile_load(6, b, TILE_BYTES);
    tiles_product(0, 4, 6);
    if (panels > 1) {
        tile_load(7, b + panel, TILE_BYTES);
        tiles_product(1, 4, 7);
    }
    if (tall > 1) {
        tile_load(5, a + below, row);
        tiles_product(2, 5, 6);
    }
    if (tall > 1 && panels > 1) tiles_product(3, 5, 7);
    if (tall == 1 && panels > 2) {
        tile_load(6, b + 2 * panel, TILE_BYTES);
        tiles_product(2, 4, 6);
    }
    if (tall == 1 && panels > 3) {
        tile_load(7, b + 3 * panel, TILE_BYTES);
        tiles_product(3, 4, 7);
    }
}

/* Computes the products of a block and a few panels. */
static inline __attribute__((always_inline)) void tiles_multiply(int tall, int panels,
                                                                 tiles_block *t, int panel)
{
    tiles_sum(tall, panels, t, panel);
    for (int p = 0; p < panels; p++) {
        const int left = t->block->columns - (panel + p) * LANES;
        if (left >= LANES)
            tiles_finish(LANES, t, p, panel + p);
        else
            tiles_finish(left, t, p, panel + p);
    }
}

static void tiles_square(tiles_block *t, int panels)
{
    int p = 0;
    for (; p + 2 <= panels; p += 2) tiles_multiply(2, 2, t, p);
    if (p < panels) tiles_multiply(2, 1, t, p);
}

static void tiles_wide(tiles_block *t, int panels)
{
    int p = 0;
    for (; p + 4 <= panels; p += 4) tiles_multiply(1, 4, t, p);
    for (; p + 2 <= panels; p += 2) tiles_multiply(1, 2, t, p);
    if (p < panels) tiles_multiply(1, 1, t, p);
}

/* Begins the block of rows at `row`. */
static void tiles_begin(tiles_block *t, int row)
{
    t->row = row, t->rows = rapt__min(t->block->rows - row, TILES_BLOCK);
    t->tall = rapt__ceil_div(t->rows, TILE_ROWS);
    tiles_shape(t);
}

/* Multiplies the block by all panels. */
static void tiles_panels(tiles_block *t)
{
    const int panels = rapt__ceil_div(t->block->columns, LANES);
    if (t->tall == 2)
        tiles_square(t, panels);
    else
        tiles_wide(t, panels);
}
