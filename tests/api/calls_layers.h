/* calls_layers.h - one call of each public function of linear_attention.h, monotonic_attention.h
   and block.h, for calls.c. */
#ifndef RAPT_TESTS_API_CALLS_LAYERS_H
#define RAPT_TESTS_API_CALLS_LAYERS_H

#include "api/small_world.h"

/* ---- linear: one call of each public function of linear_attention.h, for calls.c. ---- */

enum { LINEAR_FLOATS = 2 * 3 * 4, LINEAR_BYTES = 1 << 20 };

static struct linear_world { /* 2 heads, 3 rows, vectors of 4 floats */
    rapt_linear_attention a;
    rapt_linear_attention_gradients d;
    float x[LINEAR_FLOATS], to[LINEAR_FLOATS], state[2 * 4 * 4];
    _Alignas(64) char workspace[LINEAR_BYTES];
} linear_world;

static struct linear_world *linear(void)
{
    struct linear_world *l = &linear_world;
    rapt_linear_attention_init(&l->a, sizeof l->a, 1, 2, 3, 4, 4);
    l->a.threads = 1;
    l->d = (rapt_linear_attention_gradients){.size = sizeof l->d, .q = l->to};
    return l;
}

static rapt_status linear_attention_init(struct world *w, int null, rapt_message *why)
{
    (void)w, (void)why;
    rapt_linear_attention a;
    return rapt_linear_attention_init(arg(null, 0, &a), sizeof a, 1, 2, 3, 4, 5);
}

static rapt_status linear_attention_check(struct world *w, int null, rapt_message *why)
{
    (void)w;
    return rapt_linear_attention_check(arg(null, 0, &linear()->a), why);
}

static rapt_status linear_attention_workspace(struct world *w, int null, rapt_message *why)
{
    (void)w, (void)why;
    size_t bytes = rapt_linear_attention_workspace(arg(null, 0, &linear()->a), 1);
    return found(bytes > 0 && bytes <= LINEAR_BYTES);
}

static rapt_status linear_attention_forward(struct world *w, int null, rapt_message *why)
{
    (void)w;
    struct linear_world *l = linear();
    return rapt_linear_attention_forward(
        arg(null, 0, &l->a), arg(null, 1, l->x), arg(null, 2, l->x), arg(null, 3, l->x),
        arg(null, 4, l->to), arg(null, 5, l->state), arg(null, 6, l->workspace), why);
}

static rapt_status linear_attention_backward(struct world *w, int null, rapt_message *why)
{
    (void)w;
    struct linear_world *l = linear();
    return rapt_linear_attention_backward(arg(null, 0, &l->a), arg(null, 1, l->x),
                                          arg(null, 2, l->x), arg(null, 3, l->x),
                                          arg(null, 4, l->x), arg(null, 5, l->state),
                                          arg(null, 6, &l->d), arg(null, 7, l->workspace), why);
}

static rapt_status linear_attention_step(struct world *w, int null, rapt_message *why)
{
    (void)w;
    struct linear_world *l = linear();
    return rapt_linear_attention_step(arg(null, 0, &l->a), arg(null, 1, l->x), arg(null, 2, l->x),
                                      arg(null, 3, l->x), arg(null, 4, l->state),
                                      arg(null, 5, l->to), arg(null, 6, l->workspace), why);
}

/* ---- monotonic: one call of each public function of monotonic_attention.h, for calls.c. ---- */

enum { MONOTONIC_FLOATS = 2 * 3 * 4, MONOTONIC_BYTES = 1 << 20 };

static struct monotonic_world { /* 2 heads, 3 queries and keys, vectors of 4 floats */
    rapt_monotonic_attention a;
    rapt_monotonic_attention_outputs outputs;
    rapt_monotonic_attention_gradients d;
    float x[MONOTONIC_FLOATS], to[MONOTONIC_FLOATS], alpha[2 * 3 * 3];
    int positions[2];
    _Alignas(64) char workspace[MONOTONIC_BYTES];
} monotonic_world;

static struct monotonic_world *monotonic(void)
{
    struct monotonic_world *m = &monotonic_world;
    rapt_monotonic_attention_init(&m->a, sizeof m->a, 1, 2, 3, 3, 4);
    m->a.threads = 1, m->a.mode = RAPT_MONOTONIC_LOOKBACK;
    m->outputs = (rapt_monotonic_attention_outputs){.size = sizeof m->outputs, .alpha = m->alpha};
    m->d = (rapt_monotonic_attention_gradients){.size = sizeof m->d, .q = m->to};
    memset(m->positions, 0, sizeof m->positions);
    return m;
}

static rapt_status monotonic_attention_init(struct world *w, int null, rapt_message *why)
{
    (void)w, (void)why;
    rapt_monotonic_attention a;
    return rapt_monotonic_attention_init(arg(null, 0, &a), sizeof a, 1, 2, 3, 4, 5);
}

static rapt_status monotonic_attention_check(struct world *w, int null, rapt_message *why)
{
    (void)w;
    return rapt_monotonic_attention_check(arg(null, 0, &monotonic()->a), why);
}

static rapt_status monotonic_attention_workspace(struct world *w, int null, rapt_message *why)
{
    (void)w, (void)why;
    size_t bytes = rapt_monotonic_attention_workspace(arg(null, 0, &monotonic()->a), 1);
    return found(bytes > 0 && bytes <= MONOTONIC_BYTES);
}

static rapt_status monotonic_attention_forward(struct world *w, int null, rapt_message *why)
{
    (void)w;
    struct monotonic_world *m = monotonic();
    return rapt_monotonic_attention_forward(
        arg(null, 0, &m->a), arg(null, 1, m->x), arg(null, 2, m->x), arg(null, 3, m->x),
        arg(null, 4, m->x), arg(null, 5, m->x), arg(null, 6, m->to), arg(null, 7, &m->outputs),
        arg(null, 8, m->workspace), why);
}

static rapt_status monotonic_attention_backward(struct world *w, int null, rapt_message *why)
{
    (void)w;
    struct monotonic_world *m = monotonic();
    return rapt_monotonic_attention_backward(
        arg(null, 0, &m->a), arg(null, 1, m->x), arg(null, 2, m->x), arg(null, 3, m->x),
        arg(null, 4, m->x), arg(null, 5, m->x), arg(null, 6, m->x), arg(null, 7, m->alpha),
        arg(null, 8, m->x), arg(null, 9, &m->d), arg(null, 10, m->workspace), why);
}

static rapt_status monotonic_attention_step(struct world *w, int null, rapt_message *why)
{
    (void)w;
    struct monotonic_world *m = monotonic();
    return rapt_monotonic_attention_step(arg(null, 0, &m->a), arg(null, 1, m->x),
                                         arg(null, 2, m->x), arg(null, 3, m->x), arg(null, 4, m->x),
                                         arg(null, 5, m->x), arg(null, 6, m->positions),
                                         arg(null, 7, m->to), arg(null, 8, m->workspace), why);
}

/* ---- block: one call of each public function of block.h, for calls.c. ---- */

enum { BLOCK_WIDTH = 4, BLOCK_ROWS = 2, BLOCK_FLOATS = 4096 };

/* A decoder layer, its parameters and the rows of one call. */
struct block_world {
    rapt_block *block;
    _Alignas(64) float parameters[BLOCK_FLOATS], gradients[BLOCK_FLOATS];
    rapt_block_rows rows;
    int starts[2];
    float x[BLOCK_ROWS * BLOCK_WIDTH], y[BLOCK_ROWS * BLOCK_WIDTH], d[BLOCK_ROWS * BLOCK_WIDTH];
};

static rapt_status block_create(struct world *w, int null, rapt_message *why)
{
    const rapt_config c = {
        .size = sizeof c, .width = BLOCK_WIDTH, .heads = 2, .ffn_width = BLOCK_WIDTH};
    const rapt_block_limits l = {
        .size = sizeof l, .batch = 1, .rows = BLOCK_ROWS, .source_rows = BLOCK_ROWS, .threads = 1};
    rapt_block *made = NULL;
    rapt_status status =
        rapt_block_create(arg(null, 0, &made), RAPT_BLOCK_KIND_DECODER, arg(null, 1, &c),
                          arg(null, 2, &l), arg(null, 3, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    rapt_block_free(made);
    return status;
}

static struct block_world *block_world(void)
{
    static struct block_world b;
    const rapt_config c = {
        .size = sizeof c, .width = BLOCK_WIDTH, .heads = 2, .ffn_width = BLOCK_WIDTH};
    const rapt_block_limits l = {
        .size = sizeof l, .batch = 1, .rows = BLOCK_ROWS, .source_rows = BLOCK_ROWS, .threads = 1};
    b = (struct block_world){.starts = {0, BLOCK_ROWS}};
    b.rows = (rapt_block_rows){.size = sizeof b.rows,
                               .starts = b.starts,
                               .source_starts = b.starts,
                               .source = b.x,
                               .batch = 1,
                               .learning = 1};
    assert_int_equal(rapt_block_create(&b.block, RAPT_BLOCK_KIND_DECODER, &c, &l, NULL, NULL),
                     RAPT_OK);
    assert_true(rapt_block_floats(b.block) <= BLOCK_FLOATS);
    assert_int_equal(rapt_block_init(b.block, 1, b.parameters, NULL), RAPT_OK);
    return &b;
}

static rapt_status block_end(struct block_world *b, rapt_status status)
{
    rapt_block_free(b->block);
    return status;
}

static rapt_status block_free(struct world *w, int null, rapt_message *why)
{
    (void)w, (void)why;
    struct block_world *b = block_world();
    rapt_block_free(arg(null, 0, b->block));
    if (null == 0) rapt_block_free(b->block);
    return RAPT_OK;
}

static rapt_status block_floats(struct world *w, int null, rapt_message *why)
{
    (void)w, (void)why;
    struct block_world *b = block_world();
    return block_end(b, found(rapt_block_floats(arg(null, 0, b->block)) > 0));
}

static rapt_status block_init(struct world *w, int null, rapt_message *why)
{
    (void)w;
    struct block_world *b = block_world();
    return block_end(b,
                     rapt_block_init(arg(null, 0, b->block), 2, arg(null, 1, b->parameters), why));
}

static rapt_status block_tensors(struct world *w, int null, rapt_message *why)
{
    (void)w, (void)why;
    struct block_world *b = block_world();
    return block_end(b, found(rapt_block_tensors(arg(null, 0, b->block)) > 0));
}

static rapt_status block_tensor(struct world *w, int null, rapt_message *why)
{
    (void)w, (void)why;
    struct block_world *b = block_world();
    return block_end(b, found(rapt_block_tensor(arg(null, 0, b->block), 0).name != NULL));
}

static rapt_status block_find(struct world *w, int null, rapt_message *why)
{
    (void)w, (void)why;
    struct block_world *b = block_world();
    int index = rapt_block_find(arg(null, 0, b->block), arg(null, 1, "self_attn.out.bias"));
    return block_end(b, found(index >= 0));
}

static rapt_status block_read(struct world *w, int null, rapt_message *why)
{
    (void)w;
    struct block_world *b = block_world();
    return block_end(b, rapt_block_read(arg(null, 0, b->block), arg(null, 1, b->parameters), 0,
                                        arg(null, 2, b->gradients), why));
}

static rapt_status block_write(struct world *w, int null, rapt_message *why)
{
    (void)w;
    struct block_world *b = block_world();
    return block_end(b, rapt_block_write(arg(null, 0, b->block), arg(null, 1, b->parameters), 0,
                                         arg(null, 2, b->gradients), why));
}

static rapt_status block_forward(struct world *w, int null, rapt_message *why)
{
    (void)w;
    struct block_world *b = block_world();
    return block_end(b, rapt_block_forward(arg(null, 0, b->block), arg(null, 1, b->parameters),
                                           arg(null, 2, &b->rows), arg(null, 3, b->x),
                                           arg(null, 4, b->y), why));
}

static rapt_status block_backward(struct world *w, int null, rapt_message *why)
{
    (void)w;
    struct block_world *b = block_world();
    assert_int_equal(rapt_block_forward(b->block, b->parameters, &b->rows, b->x, b->y, NULL),
                     RAPT_OK);
    return block_end(b, rapt_block_backward(arg(null, 0, b->block), arg(null, 1, b->parameters),
                                            arg(null, 2, &b->rows), arg(null, 3, b->y),
                                            arg(null, 4, b->d), arg(null, 5, b->d),
                                            arg(null, 6, b->gradients), why));
}

#endif
