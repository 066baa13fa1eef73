/* block.c - runs a block forward and backward over the caller's rows. A block is either a stack of
   one layer, without embeddings or a last norm, or one sublayer of a layer. */
#include "model/sublayer.h"

struct block_call {
    rapt_block *block;
    struct stack stack;
    struct pass pass;
    const float *in; /* x or dy */
    float *y;
    float *dx, *dsource, *dparameters;
};

static rapt_status check_block_starts(const char *name, const int *starts, int batch, int limit,
                                      rapt_message *why)
{
    if (!starts) return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", name);
    if (starts[0] != 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s[0] is %d, not 0", name, starts[0]);
    for (int i = 0; i < batch; i++)
        if (starts[i + 1] < starts[i])
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s[%d] is %d, less than %s[%d], which is %d",
                              name, i + 1, starts[i + 1], name, i, starts[i]);
    if (starts[batch] > limit)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s[%d] is %d; the block's limit is %d rows",
                          name, batch, starts[batch], limit);
    return RAPT_OK;
}

/* Checks the lengths of key sequences if attention learns a row for each position. */
static rapt_status check_positions(const rapt_block *b, bool cross, const int *starts, int batch,
                                   rapt_message *why)
{
    int positions = b->model.config.positions;
    if (!rapt__block_has_positions(b, cross)) return RAPT_OK;
    for (int i = 0; i < batch; i++)
        if (starts[i + 1] - starts[i] > positions)
            return rapt__fail(
                why, RAPT_BAD_ARGUMENT, "%s: sequence %d has %d rows, but the maximum is %d",
                cross ? "source_starts" : "starts", i, starts[i + 1] - starts[i], positions);
    return RAPT_OK;
}

static rapt_status check_drop(const rapt_block_rows *r, rapt_message *why)
{
    rapt_status status = rapt__share_check("dropout", r->dropout, why);
    if (!status) status = rapt__share_check("attention_dropout", r->attention_dropout, why);
    return status ? status : rapt__share_check("ffn_dropout", r->ffn_dropout, why);
}

static rapt_status check_block_rows(const rapt_block *b, const rapt_block_rows *r,
                                    rapt_message *why)
{
    bool source = rapt__block_reads_source(b);
    rapt_status status = rapt__int_check("batch", r->batch, 0, b->limits.batch, why);
    if (!status) status = rapt__int_check("learning", r->learning, 0, 1, why);
    if (!status) status = rapt__int_check("reserved", r->reserved, 0, 0, why);
    if (!status) status = check_drop(r, why);
    if (!status) status = check_block_starts("starts", r->starts, r->batch, b->limits.rows, why);
    if (!status && source)
        status = check_block_starts("source_starts", r->source_starts, r->batch,
                                    b->limits.source_rows, why);
    if (!status) status = check_positions(b, false, r->starts, r->batch, why);
    if (!status) status = check_positions(b, true, r->source_starts, r->batch, why);
    if (!status && source && r->source_starts[r->batch] > 0 && !r->source)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "source is NULL");
    if (!status && !source && (r->source || r->source_starts))
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "source and source_starts must be NULL: the block has no cross-attention");
    return status;
}

static rapt_status begin_call(struct block_call *c, rapt_block *b, const float *parameters,
                              const rapt_block_rows *rows, rapt_message *why)
{
    rapt_block_rows r;
    if (!b || !parameters)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", b ? "parameters" : "block");
    rapt_status status = rapt__block_aligned(parameters, why);
    if (!status) status = rapt__struct_read(&r, sizeof r, rows, "rapt_block_rows", why);
    if (!status) status = check_block_rows(b, &r, why);
    if (status) return status;
    c->block = b;
    c->stack = (struct stack){.model = &b->model,
                              .block = parameters,
                              .decoder = b->decoder,
                              .bare = true,
                              .memory = &b->memory,
                              .attention_workspace = b->attention_workspace,
                              .threads = b->limits.threads};
    c->pass = (struct pass){.rows = rapt__rows(r.batch, r.starts),
                            .states = r.source ? r.source : b->dsource, /* must not be NULL */
                            .learning = r.learning != 0,
                            .reward = r.reward,
                            .baseline = r.baseline};
    if (r.learning)
        c->pass.drop = (struct drop){r.dropout, r.attention_dropout, r.ffn_dropout, r.seed};
    if (rapt__block_reads_source(b)) c->pass.source = rapt__rows(r.batch, r.source_starts);
    return RAPT_OK;
}

static struct exec_context context_of(struct team *team, const rapt_block *b)
{
    return (struct exec_context){team, rapt__kernels(), b->pack, NULL, NULL};
}

static size_t floats_of(const struct block_call *call)
{
    return (size_t)call->pass.rows.count * (size_t)call->block->model.config.width;
}

/* Returns the step of a block that is a single sublayer; its input is in memory->embedded. */
static struct step step_of(const struct block_call *call)
{
    struct stack_memory *m = call->stack.memory;
    return (struct step){
        .stack = &call->stack, .pass = &call->pass, .u = &m->sublayers[0], .in = m->embedded};
}

static void work_forward(struct team *team, void *argument)
{
    struct block_call *call = argument;
    const rapt_block *b = call->block;
    const struct exec_context c = context_of(team, b);
    const float *last;
    if (b->alone) {
        const struct step step = step_of(call);
        rapt__copy(&c, call->in, floats_of(call), b->memory.embedded);
        rapt__sublayer_forward(&c, &step, b->parts[0]);
        last = step.u->y;
    } else {
        struct pass pass = call->pass;
        pass.vectors = call->in;
        last = rapt__stack_forward(&c, &call->stack, &pass);
    }
    rapt__copy(&c, last, floats_of(call), call->y);
}

rapt_status rapt_block_forward(rapt_block *block, const float *parameters,
                               const rapt_block_rows *rows, const float *x, float *y,
                               rapt_message *why)
{
    struct block_call call = {.in = x, .y = y};
    rapt_status status = begin_call(&call, block, parameters, rows, why);
    if (status) return status;
    int count = call.pass.rows.count;
    if (count > 0 && (!x || !y))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", x ? "y" : "x");
    block->learned = call.pass.learning;
    block->batch = call.pass.rows.batch, block->rows = count;
    block->source_rows = call.pass.source.count, block->drop = call.pass.drop;
    if (count > 0) rapt__team_run(block->limits.threads, work_forward, &call);
    return RAPT_OK;
}

static void work_backward(struct team *team, void *argument)
{
    struct block_call *call = argument;
    const rapt_block *b = call->block;
    const struct exec_context c = context_of(team, b);
    size_t source = (size_t)call->pass.source.count * (size_t)b->model.config.width;
    const float *dx = b->memory.dout;
    rapt__fill(&c, b->dsource, source, 0);
    if (b->alone) {
        const struct step step = step_of(call);
        rapt__sublayer_backward(&c, &step, b->parts[0], call->in, b->memory.dout, false, b->dsource,
                                call->dparameters);
    } else {
        rapt__copy(&c, call->in, floats_of(call), b->memory.dout);
        dx = rapt__stack_backward(&c, &call->stack, &call->pass, b->dsource, call->dparameters,
                                  b->partial);
    }
    if (call->dx) rapt__add(&c, dx, floats_of(call), call->dx);
    if (call->dsource && source > 0) rapt__add(&c, b->dsource, source, call->dsource);
}

static bool same_drop(const struct drop *a, const struct drop *b)
{
    return a->share == b->share && a->attention == b->attention && a->hidden == b->hidden &&
           a->key == b->key;
}

rapt_status rapt_block_backward(rapt_block *block, const float *parameters,
                                const rapt_block_rows *rows, const float *dy, float *dx,
                                float *dsource, float *dparameters, rapt_message *why)
{
    struct block_call call = {.in = dy, .dx = dx, .dsource = dsource, .dparameters = dparameters};
    rapt_status status = begin_call(&call, block, parameters, rows, why);
    if (status) return status;
    const struct pass *p = &call.pass;
    bool same = block->learned && p->learning && block->batch == p->rows.batch &&
                block->rows == p->rows.count && block->source_rows == p->source.count &&
                same_drop(&block->drop, &p->drop);
    if (!same)
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "call rapt_block_forward first, with learning = 1 and the same rows, dropout and seed");
    if (!dparameters || (p->rows.count > 0 && !dy))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", dparameters ? "dy" : "dparameters");
    if (p->rows.count > 0) rapt__team_run(block->limits.threads, work_backward, &call);
    return RAPT_OK;
}
