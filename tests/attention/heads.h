/* heads.h - a problem of one key head and a short sequence, with everything that attention head by
   head supports, and the same problem in tiles. */
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

/* WIDTH is a whole number of vectors, NARROW is not. Rows are a float longer than the width. */
enum { QUERIES = 76, KEYS = 40, WIDTH = 48, NARROW = 43, ROW = WIDTH + 1, BUCKETS = 8, HEADS = 2 };
/* A head of more than 128 queries takes tiles. Adding this many changes no lane in which gradients
   of distances are summed. */
enum { MORE = 96, ROWS = QUERIES + HEADS * MORE };
enum { NEAR = 11, VECTORS = (NEAR + 1 + NEAR / 2) * HEADS * WIDTH }; /* at most */
enum { SMALL = 0x3c }; /* each byte of a gradient before it is added to: 0.0115 */

struct problem {
    float q[ROWS][ROW], k[KEYS][ROW], v[KEYS][ROW], dout[ROWS][ROW];
    float bias[ROWS][KEYS], slope[HEADS], table[HEADS][BUCKETS];
    float scale, cap, dropout;
    uint8_t allowed[ROWS][KEYS];
    rapt_mask mask; /* bias and allowed are those above unless NULL */
    float log_forget[HEADS][KEYS];
    bool sloped, bucketed, forgetful;
    float vectors[2][VECTORS]; /* keys and queries of distances */
    int near;                  /* largest distance of a key before the position; 0: no vectors */
    int width, value_width;    /* at most WIDTH */
    int keys;                  /* at most KEYS */
    int heads; /* query heads, at most HEADS: each has its part of q, dout, bias and allowed */
};
struct results {
    float out[ROWS][ROW], lse[ROWS], statistics[ROWS][2];
    float dq[ROWS][ROW], dk[KEYS][ROW], dv[KEYS][ROW];
    float dbias[ROWS][KEYS], dslope[HEADS], dtable[HEADS][BUCKETS], dlog_forget[HEADS][KEYS];
    float dvectors[2][VECTORS];
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
    struct problem p = {.scale = scale,
                        .dropout = dropout,
                        .width = WIDTH,
                        .value_width = WIDTH,
                        .keys = KEYS,
                        .heads = 1};
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
    assert_int_equal(rapt_attention_init(&a, sizeof a, 1, p->heads, queries, p->keys, p->width),
                     RAPT_OK);
    a.key_heads = 1;
    a.scale = p->scale, a.dropout = p->dropout, a.cap = p->cap, a.threads = 1, a.mask = p->mask;
    a.q.row = a.k.row = a.v.row = a.out.row = ROW;
    a.q.head = a.out.head = (ptrdiff_t)queries * ROW;
    a.mask.bias_stride.head = queries * a.mask.bias_stride.row;
    a.mask.allowed_stride.head = queries * a.mask.allowed_stride.row;
    a.value_width = p->value_width;
    if (a.mask.bias) a.mask.bias = p->bias[first];
    if (a.mask.allowed) a.mask.allowed = p->allowed[first];
    if (p->sloped) a.relative.slopes = p->slope;
    if (p->bucketed) a.relative.table = p->table[0];
    if (p->forgetful) a.log_forget = p->log_forget[0];
    if (p->near > 0) {
        a.distances.before = p->near, a.distances.after = p->near / 2;
        a.distances.keys = p->vectors[0], a.distances.queries = p->vectors[1];
    }
    a.log_forget_stride = (rapt_stride){0, KEYS, 1};
    a.relative.buckets = BUCKETS, a.relative.distance = KEYS / 2, a.relative.bidirectional = 1;
    return a;
}

_Alignas(64) static unsigned char workspace[1 << 21];

static rapt_attention_saved saved_of(struct results *r, int first)
{
    return (rapt_attention_saved){.size = sizeof(rapt_attention_saved),
                                  .lse = r->lse + first,
                                  .statistics = r->statistics[first]};
}

/* Adds the gradients of queries [first, first + count), whose forward results are in *r. */
static void add_gradients(const struct problem *p, int first, int count, struct results *r)
{
    const rapt_attention a = attention_of(p, first, count);
    const rapt_attention_saved saved = saved_of(r, first);
    const rapt_gradients d = {.size = sizeof d,
                              .q = r->dq[first],
                              .k = r->dk[0],
                              .v = r->dv[0],
                              .bias = a.mask.bias ? r->dbias[first] : NULL,
                              .slopes = p->sloped ? r->dslope : NULL,
                              .table = p->bucketed ? r->dtable[0] : NULL,
                              .log_forget = p->forgetful ? r->dlog_forget[0] : NULL,
                              .distances.keys = p->near ? r->dvectors[0] : NULL,
                              .distances.queries = p->near ? r->dvectors[1] : NULL};
    assert_int_equal(rapt_attention_backward(&a, p->q[first], p->k[0], p->v[0], r->out[first],
                                             &saved, p->dout[first], NULL, &d, workspace, NULL),
                     RAPT_OK);
}

/* Computes queries [first, first + count) in a separate call. */
static void run(const struct problem *p, int first, int count, bool backward, struct results *r)
{
    const rapt_attention a = attention_of(p, first, count);
    const rapt_attention_saved saved = saved_of(r, first);
    rapt_message why = {.text = ""};
    assert_true(rapt_attention_workspace(&a) <= sizeof workspace);
    if (rapt_attention_forward(&a, p->q[first], p->k[0], p->v[0], r->out[first], &saved, workspace,
                               &why))
        fail_msg("%s", why.text);
    if (!backward) return;
    memset(r->dq, SMALL, sizeof *r - offsetof(struct results, dq));
    add_gradients(p, first, count, r);
}

/* Makes row t of each head row first + t of a head with MORE more queries: copies of the head's
   first one whose outputs have no gradient. */
static void add_queries(const struct problem *p, int first, struct problem *more)
{
    int queries = QUERIES / p->heads, all = queries + MORE;
    *more = *p;
    for (int i = 0; i < p->heads * all; i++) {
        int t = i % all - first, head = i / all * queries;
        bool there = t >= 0 && t < queries;
        int from = head + (there ? t : 0);
        memcpy(more->q[i], p->q[from], sizeof p->q[0]);
        memcpy(more->dout[i], p->dout[from], sizeof p->dout[0]);
        memcpy(more->bias[i], p->bias[from], sizeof p->bias[0]);
        memcpy(more->allowed[i], p->allowed[from], sizeof p->allowed[0]);
        if (!there) memset(more->dout[i], 0, sizeof more->dout[i]);
    }
}

/* Computes all queries, forward and backward, in tiles. If positions do not count from the last
   key, which would renumber the queries, dropout is the same. */
static void run_tiles(const struct problem *p, struct results *r)
{
    static struct problem more;
    static struct results wide;
    bool right = p->mask.causal_alignment == RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT;
    int queries = QUERIES / p->heads, all = queries + MORE, first = right ? MORE : 0;
    assert_false(right && p->dropout > 0);
    add_queries(p, first, &more);
    run(&more, 0, p->heads * all, true, &wide);
    *r = wide;
    memset(r->out[QUERIES], 0, (ROWS - QUERIES) * sizeof r->out[0]);
    memset(r->lse + QUERIES, 0, (ROWS - QUERIES) * sizeof r->lse[0]);
    memset(r->statistics[QUERIES], 0, (ROWS - QUERIES) * sizeof r->statistics[0]);
    memset(r->dq[QUERIES], SMALL, (ROWS - QUERIES) * sizeof r->dq[0]);
    memset(r->dbias[QUERIES], SMALL, (ROWS - QUERIES) * sizeof r->dbias[0]);
    for (int i = 0; i < QUERIES; i++) {
        int from = i / queries * all + first + i % queries;
        memcpy(r->out[i], wide.out[from], sizeof r->out[i]);
        r->lse[i] = wide.lse[from];
        memcpy(r->statistics[i], wide.statistics[from], sizeof r->statistics[i]);
        memcpy(r->dq[i], wide.dq[from], sizeof r->dq[i]);
        if (p->mask.bias_stride.row) memcpy(r->dbias[i], wide.dbias[from], sizeof r->dbias[i]);
    }
}

#endif
