/* heads.h - a problem of one key head and a short sequence, with everything that attention head by
   head supports, and the same in tiles. */
#ifndef RAPT_TESTS_HEADS_H
#define RAPT_TESTS_HEADS_H

#include <rapt/rapt.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Rows are a float longer than the width. In tiles values are as wide as that: with a width that is
   no whole number of vectors no head is attended to alone. The last float is 0. */
enum { QUERIES = 76, KEYS = 40, WIDTH = 48, ROW = WIDTH + 1, BUCKETS = 8, HEADS = 2 };
enum { SMALL = 0x3c }; /* each byte of a gradient before it is added to: 0.0115 */

struct problem {
    float q[QUERIES][ROW], k[KEYS][ROW], v[KEYS][ROW], dout[QUERIES][ROW];
    float bias[QUERIES][KEYS], slope[HEADS], table[HEADS][BUCKETS];
    float scale, cap, dropout;
    uint8_t allowed[QUERIES][KEYS];
    rapt_mask mask; /* bias and allowed not NULL: those above */
    bool sloped, bucketed, tiles;
    int keys;  /* at most KEYS */
    int heads; /* query heads, at most HEADS: each has its part of q, dout, bias and allowed */
};
struct results {
    float out[QUERIES][ROW], lse[QUERIES], statistics[QUERIES][2];
    float dq[QUERIES][ROW], dk[KEYS][ROW], dv[KEYS][ROW];
    float dbias[QUERIES][KEYS], dslope[HEADS], dtable[HEADS][BUCKETS];
};

static void fill(float *x, int rows, int width, int row, uint64_t seed)
{
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < width; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            x[r * row + i] = (float)(int32_t)(seed >> 32) * 0x1p-31f;
        }
}

static struct problem make(float scale, float dropout, bool causal)
{
    struct problem p = {.scale = scale, .dropout = dropout, .keys = KEYS, .heads = 1};
    p.mask.causal = causal, p.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
    fill(p.q[0], QUERIES, WIDTH, ROW, 1);
    fill(p.k[0], KEYS, WIDTH, ROW, 2);
    fill(p.v[0], KEYS, WIDTH, ROW, 3);
    fill(p.dout[0], QUERIES, WIDTH, ROW, 4);
    return p;
}

static rapt_attention attention_of(const struct problem *p, int first, int count)
{
    rapt_attention a;
    int queries = count / p->heads;
    assert_int_equal(rapt_attention_init(&a, sizeof a, 1, p->heads, queries, p->keys, WIDTH),
                     RAPT_OK);
    a.key_heads = 1;
    a.scale = p->scale, a.dropout = p->dropout, a.cap = p->cap, a.threads = 1, a.mask = p->mask;
    a.q.row = a.k.row = a.v.row = a.out.row = ROW;
    a.q.head = a.out.head = (ptrdiff_t)queries * ROW;
    a.mask.bias_stride.head = queries * a.mask.bias_stride.row;
    a.mask.allowed_stride.head = queries * a.mask.allowed_stride.row;
    a.value_width = p->tiles ? ROW : WIDTH;
    if (a.mask.bias) a.mask.bias = p->bias[first];
    if (a.mask.allowed) a.mask.allowed = p->allowed[first];
    if (p->sloped) a.relative.slopes = p->slope;
    if (p->bucketed) a.relative.table = p->table[0];
    a.relative.buckets = BUCKETS, a.relative.distance = KEYS / 2, a.relative.bidirectional = 1;
    return a;
}

/* Queries [first, first + count), as a call of their own. */
static void run(const struct problem *p, int first, int count, bool backward, struct results *r)
{
    _Alignas(64) static unsigned char workspace[1 << 21];
    const rapt_attention a = attention_of(p, first, count);
    const rapt_attention_saved saved = {
        .size = sizeof saved, .lse = r->lse + first, .statistics = r->statistics[first]};
    const rapt_gradients d = {.size = sizeof d,
                              .q = r->dq[first],
                              .k = r->dk[0],
                              .v = r->dv[0],
                              .bias = a.mask.bias ? r->dbias[first] : NULL,
                              .slopes = p->sloped ? r->dslope : NULL,
                              .table = p->bucketed ? r->dtable[0] : NULL};
    rapt_message why = {.text = ""};
    assert_true(rapt_attention_workspace(&a) <= sizeof workspace);
    if (rapt_attention_forward(&a, p->q[first], p->k[0], p->v[0], r->out[first], &saved, workspace,
                               &why))
        fail_msg("%s", why.text);
    if (!backward) return;
    memset(r->dq, SMALL, sizeof *r - offsetof(struct results, dq));
    assert_int_equal(rapt_attention_backward(&a, p->q[first], p->k[0], p->v[0], r->out[first],
                                             &saved, p->dout[first], NULL, &d, workspace, NULL),
                     RAPT_OK);
}

#endif
