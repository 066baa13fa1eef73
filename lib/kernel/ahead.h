/* ahead.h - prefetches rows that will be read soon, a few at a time: rows of the next attention
   head with each register tile of the current one, or rows of the next chunk of linear attention
   while the current one is loaded. This made attention with 256 heads and 32 or 64 tokens per
   sequence 1.15 to 1.62 times as fast, while prefetching all rows at once gained little (Zen 3). */
#ifndef RAPT_LIB_AHEAD_H
#define RAPT_LIB_AHEAD_H

#include "base/util.h"

#include <stdint.h>

enum {
    AHEAD_PARTS = 8,
    AHEAD_ROWS = 128 /* maximum number of rows in a part */
};

struct rows_ahead {
    struct ahead_part {
        const float *x; /* the next row to prefetch */
        ptrdiff_t row;  /* distance between rows */
        int rows, width;
    } part[AHEAD_PARTS];
    int parts, at; /* number of parts, and index of the part to prefetch next */
    int each;      /* number of rows to prefetch with each tile */
};

/* Adds the rows of a short sequence. Ignores them if the list of parts is full. Ignores a long
   sequence too, because its rows would evict data that is being read. */
static inline void rapt__ahead_add(struct rows_ahead *ahead, const float *x, ptrdiff_t row,
                                   int rows, int width)
{
    if (rows > 0 && rows <= AHEAD_ROWS && ahead->parts < AHEAD_PARTS)
        ahead->part[ahead->parts++] = (struct ahead_part){x, row, rows, width};
}

/* Prefetches a row into L2 only, because in L1 it would evict data that is being read. Always
   inlined, because gcc 12 removes calls to functions that only prefetch. */
static inline __attribute__((always_inline)) void rapt__prefetch_row(const float *x, int width)
{
    enum { LINE = 16, SECOND_LEVEL = 2 };
    int n = 0;
    for (; n + LINE < width; n += 2 * LINE) {
        __builtin_prefetch(x + n, 0, SECOND_LEVEL);
        __builtin_prefetch(x + n + LINE, 0, SECOND_LEVEL);
    }
    if (n < width) __builtin_prefetch(x + n, 0, SECOND_LEVEL);
}

/* Spreads the remaining rows over `tiles` tiles. ahead may be NULL. */
static inline void rapt__ahead_spread(struct rows_ahead *ahead, int64_t tiles)
{
    int rows = 0;
    if (!ahead) return;
    for (int p = ahead->at; p < ahead->parts; p++) rows += ahead->part[p].rows;
    if (rows == 0) return;
    ahead->each = tiles > 0 ? (int)((rows + tiles - 1) / tiles) : rows;
}

/* Prefetches the rows assigned to one tile, or to one step of another loop. ahead may be NULL. */
static inline void rapt__ahead_tile(struct rows_ahead *ahead)
{
    for (int left = ahead ? ahead->each : 0; left > 0 && ahead->at < ahead->parts;) {
        struct ahead_part *part = ahead->part + ahead->at;
        const int take = rapt__min(left, part->rows), width = part->width;
        const ptrdiff_t row = part->row;
        const float *x = part->x;
        for (int r = 0; r < take; r++, x += row) rapt__prefetch_row(x, width);
        part->x = x, part->rows -= take, left -= take;
        if (part->rows == 0) ahead->at++;
    }
}

#endif
