/* calls_block.h - one call of each public function of block.h, for calls.c. */
#ifndef RAPT_TESTS_API_CALLS_BLOCK_H
#define RAPT_TESTS_API_CALLS_BLOCK_H

#include "api/small_world.h"

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
