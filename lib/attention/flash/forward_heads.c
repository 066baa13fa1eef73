/* forward_heads.c - flash forward of a pair (a sequence and a key head) with few queries and few
   keys, one query head at a time, on plain rows (kernel/flash_head.c). If the width of values is
   not a multiple of 16, the kernel reads padded copies of them and writes padded outputs, which are
   copied back. */
#include "attention/flash/forward.h"

#include <string.h>

float *rapt__flash_forward_rows(struct arena *part, const struct bounds *b)
{
    size_t rows = b->longest_queries < ATTEND_BLOCK ? b->longest_queries : ATTEND_BLOCK;
    if (b->value_width % LANES == 0) rows = 0;
    return rapt__arena_floats(part, rows, rapt__round_up_size(b->value_width, LANES));
}

/* Computes the output of query head h of a pair whose keys and values are in *head. Returns false,
   without writing anything, if keys may be hidden and a value is infinite or NaN; the caller then
   takes another path. */
static bool attend_one_head(const struct flash_forward *f, const struct sequence *b, int h,
                            struct attend_head *head)
{
    const rapt_attention *a = f->a;
    size_t at = (size_t)h * (size_t)rapt__query_rows(a) + (size_t)b->query_first;
    float *out = f->out ? f->out + rapt__query_at(&a->out, b, h, 0) : NULL;
    bool padded = out && a->value_width % LANES != 0;
    rapt__flash_head_queries(f->c, b, h, 0, head);
    head->out = padded ? f->pair.out : out;
    if (padded) head->out_row = rapt__padded(a->value_width);
    if (f->lse) head->lse = f->lse + at;
    if (f->statistics) head->statistics = f->statistics + at * STATISTICS;
    if (!f->kernels->attend_head(head)) return false;
    for (int t = 0; t < b->queries && padded; t++)
        memcpy(out + t * a->out.row, head->out + t * head->out_row,
               (size_t)a->value_width * sizeof *out);
    return true;
}

bool rapt__flash_forward_heads(const struct flash_forward *f, const struct sequence *b, int g)
{
    float low[ATTEND_BLOCK], high[ATTEND_BLOCK];
    const rapt_attention *a = f->a;
    struct attend_head head;
    if (b->queries > ATTEND_BLOCK || !rapt__flash_head(f->c, b, g, low, high, &head)) return false;
    head.workspace = f->mine.kernel, head.ahead = f->ahead;
    if (f->out)
        head.v = rapt__flash_whole_rows(f->v + rapt__key_at(&a->v, b, g, 0), &head.v_row,
                                        b->existing, a->value_width, f->pair.values);
    for (int h = g * f->group; h < (g + 1) * f->group; h++)
        if (!attend_one_head(f, b, h, &head)) return false;
    return true;
}
