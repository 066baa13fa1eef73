/* forward.h - declarations shared by the files of flash forward. A pair is one sequence and key
   head. */
#ifndef RAPT_LIB_ATTENTION_FLASH_FORWARD_H
#define RAPT_LIB_ATTENTION_FLASH_FORWARD_H

#include "attention/flash/flash.h"

enum {
    PACKED_KEYS = 4096, /* a pair with more keys is packed part by part */
    PART_KEYS = 512,    /* number of keys in a part */
    SET_CALLS = 8 /* number of calls of the kernel, of ATTEND_ROWS rows each, that read a part in
                     turn */
};

/* Memory of one member: the packed keys and values of a pair or of a part of it, and workspace of
   the kernel. */
struct packed_pair {
    float *keys, *values;
    unsigned char *non_finite;
    float *out;              /* used by rapt__flash_forward_heads */
    float *kernel;           /* workspace of one call, or of SET_CALLS calls if there are more than
                                PACKED_KEYS keys */
    struct attend_row *rows; /* [ATTEND_ROWS] for each of these calls */
    struct visible_keys *visible; /* the same number of structs; used if there are more than
                                     PACKED_KEYS keys */
};

struct flash_forward {
    const struct projected *c;
    const rapt_attention *a;
    const struct kernels *kernels;
    const float *v;
    float *out, *lse, *statistics; /* if out is NULL, only statistics are computed */
    int key_heads, group;          /* group: number of query heads per key head */
    bool far;                      /* result of rapt__flash_rows_far */
    struct packed_pair pair;       /* memory of this member, or of member 0 for a shared pair */
    struct packed_pair mine;
    struct rows_ahead *ahead; /* rows of this member's next pair, to prefetch; may be NULL */
};

/* ---- forward_rows.c ---- */
/* Packs the existing keys among [first, end) of a pair and, unless only statistics are computed,
   their values. Key `base` is the first in the memory `to`. first and base must be multiples of
   16. */
void rapt__flash_pack(const struct flash_forward *f, const struct sequence *b, int g, int first,
                      int end, int base, const struct packed_pair *to);
/* Returns the largest number of rows in whole tiles that one call can compute. */
static inline int rapt__flash_call_rows(const struct flash_forward *f)
{
    return ATTEND_ROWS / f->kernels->tile_rows * f->kernels->tile_rows;
}
/* Computes the outputs of rows [first, first + rows), at most ATTEND_ROWS, of all query heads that
   share key head g, head by head. The pair must have been packed in f->pair. */
void rapt__flash_forward_call(const struct flash_forward *f, const struct sequence *b, int g,
                              int first, int rows);
/* Computes all rows of a pair, at most ATTEND_ROWS, in one call. The keys and values have not been
   packed; the kernel packs them block by block. */
void rapt__flash_forward_plain(const struct flash_forward *f, const struct sequence *b, int g,
                               int rows);
/* Works like rapt__flash_forward_call for at most SET_CALLS * rapt__flash_call_rows rows of a pair
   with more than PACKED_KEYS keys. */
void rapt__flash_forward_set(const struct flash_forward *f, const struct sequence *b, int g,
                             int first, int rows);

/* ---- heads.c ---- */
/* Lays out the padded rows of outputs of a member, [queries][padded value width]. Returns NULL if
   the width of values is a multiple of 16, so that rows need no padding. */
float *rapt__flash_forward_rows(struct arena *part, const struct bounds *b);
/* Computes the outputs of a pair with few queries and keys, one query head at a time, without
   packing keys. Returns false if the pair must be computed in another way; some outputs may then
   have been written. */
bool rapt__flash_forward_heads(const struct flash_forward *f, const struct sequence *b, int g);

#endif
