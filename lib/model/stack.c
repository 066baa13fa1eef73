/* stack.c - runs an encoder or decoder, from token ids or vectors to the output of the last layer,
   and propagates the gradient of that output back to the parameters. Training and inference share
   this code. Also runs the pooler.

   A stack is a chain of sublayers f, each of which has two results, `sum` and `out`; those of the
   previous sublayer are called sum' and out'. With post-norm (Vaswani et al. 2017, section 3.1):

       sum = out' + dropout(f(out')),   out = norm(sum)

   With pre-norm, where out' is already the norm of sum':

       sum = sum' + dropout(f(out')),   out = next norm(sum)

   In both cases f reads out', and its result is added to the stream, which is out' with post-norm
   and sum' with pre-norm. The same code therefore serves both. */
#include "model/model.h"
#include "model/sublayer.h"

#include <math.h>

/* ---- the chain ---- */

struct chain {
    const rapt_config *config;
    const struct stack_offsets *offset;
    enum part parts[3];
    int parts_count;
    bool before; /* pre-norm */
    bool bare;   /* as in struct stack */
};

static struct chain chain_of(const struct stack *s)
{
    const rapt_model *m = s->model;
    struct chain chain = {.config = &m->config,
                          .offset = s->decoder ? &m->layout.decoder : &m->layout.encoder,
                          .before = m->config.norm_order == RAPT_NORM_ORDER_PRE,
                          .bare = s->bare};
    chain.parts_count = rapt__parts_of(chain.config, s->decoder, chain.parts);
    return chain;
}

/* Returns the norm of sublayer i, or the final norm of the stack if i is the number of
   sublayers. */
static const struct norm_offsets *norm_of(const struct chain *chain, int i)
{
    int layer = i / chain->parts_count;
    if (layer == chain->offset->count) return &chain->offset->last;
    const struct layer_offsets *l = &chain->offset->layers[layer];
    enum part part = chain->parts[i % chain->parts_count];
    return part == PART_RECURRENT     ? &l->recurrent.norm
           : part == PART_CROSS       ? &l->cross.norm
           : part == PART_FEEDFORWARD ? &l->feedforward.norm
                                      : &l->self.norm;
}

static struct norm norm_at(const struct chain *chain, const struct norm_offsets *p,
                           const float *block)
{
    return (struct norm){block + p->gain, p->bias ? block + p->bias : NULL, chain->config->width,
                         rapt__epsilon(chain->config)};
}

/* Returns the norm that produces the output of sublayer i, or NULL if the output is the stream
   itself. */
static const struct norm_offsets *norm_after(const struct chain *chain, int i)
{
    bool last = i + 1 == chain->offset->count * chain->parts_count;
    if (chain->bare && chain->before && last) return NULL;
    return norm_of(chain, chain->before ? i + 1 : i);
}

static const float *input_of(const struct chain *chain, const struct stack_memory *m, int i)
{
    if (i > 0) return m->sublayers[i - 1].out;
    return chain->before ? m->first : m->embedded;
}

static struct step step_at(const struct chain *chain, const struct stack *s, const struct pass *p,
                           int i)
{
    return (struct step){
        s, p, i / chain->parts_count, i, &s->memory->sublayers[i], input_of(chain, s->memory, i)};
}

static struct embedding embedding_of(const struct chain *chain, const struct stack *s)
{
    const rapt_config *c = chain->config;
    bool learned = c->position == RAPT_POSITION_LEARNED;
    const struct linear_offsets table = {.weight = chain->offset->table,
                                         .in = c->width,
                                         .out = s->decoder ? c->target_vocab : c->source_vocab};
    return (struct embedding){
        .table = rapt__linear_at(&s->model->layout, &table, s->block),
        .types = chain->offset->types ? s->block + chain->offset->types : NULL,
        .positions = learned ? s->block + chain->offset->positions : s->model->sinusoids,
        .scale = c->plain_embedding ? 1 : (float)sqrt((double)c->width),
        .first_is_zero = s->decoder && c->decoder_start == RAPT_DECODER_START_ZERO};
}

struct dropout rapt__site(const struct drop *drop, float share, bool decoder, int index,
                          enum site site)
{
    uint64_t word = ((uint64_t)(unsigned)(index + 1) * SITES + (unsigned)site) * 2 + decoder;
    return rapt__dropout(share, rapt__mix(drop->key, word));
}

static struct dropout residual_site(const struct stack *s, const struct pass *p, int i)
{
    return rapt__site(&p->drop, p->drop.share, s->decoder, i, SITE_RESIDUAL);
}

/* Embeds tokens or projects vectors, adds positions, and applies dropout unless d is NULL. */
static void embed_rows(const struct exec_context *c, const struct chain *chain,
                       const struct stack *s, const struct pass *p, const struct dropout *d,
                       float *y)
{
    const struct embedding e = embedding_of(chain, s);
    if (!p->vectors) {
        rapt__embed_forward(c, &e, p->rows.batch, p->ids, p->rows.starts,
                            p->caches ? p->caches->past : NULL, d, y);
        return;
    }
    const struct linear source =
        rapt__linear_at(&s->model->layout, &chain->offset->source, s->block);
    const struct positioning positioning = {e.positions, e.table.in};
    rapt__linear_forward(c, &source, p->vectors, source.in, p->rows.count, y, source.out,
                         ACTIVATION_NONE, NULL);
    rapt__positions_add(c, &positioning, p->rows.batch, p->rows.starts, d, y);
}

/* Computes m->embedded. If the embedding is followed by a norm, dropout is applied after the
   norm. */
static void embed(const struct exec_context *c, const struct chain *chain, const struct stack *s,
                  const struct pass *p)
{
    struct stack_memory *m = s->memory;
    const struct dropout d = residual_site(s, p, -1);
    const int rows = p->rows.count, D = chain->config->width;
    if (chain->bare) {
        rapt__copy(c, p->vectors, (size_t)rows * (size_t)D, m->embedded);
    } else if (!chain->config->embedding_norm) {
        embed_rows(c, chain, s, p, &d, m->embedded);
    } else {
        struct norm n = norm_at(chain, &chain->offset->embedded, s->block);
        embed_rows(c, chain, s, p, NULL, m->raw);
        rapt__residual_norm_forward(c, &n, NULL, m->raw, NULL, rows, D, NULL, m->embedded,
                                    &m->embedded_saved);
        if (d.below) rapt__dropout_rows(c, &d, m->embedded, rows, D, m->embedded);
    }
}

static void embed_rows_backward(const struct exec_context *c, const struct chain *chain,
                                const struct stack *s, const struct pass *p,
                                const struct dropout *d, float *dy, float *gradients)
{
    const struct embedding e = embedding_of(chain, s);
    bool learned = chain->config->position == RAPT_POSITION_LEARNED;
    float *dpositions = learned ? gradients + chain->offset->positions : NULL;
    if (!p->vectors) {
        const struct embedding_gradients to = {gradients + chain->offset->table,
                                               gradients + chain->offset->types, dpositions};
        rapt__embed_backward(c, &e, p->rows.batch, p->ids, p->rows.starts, d, dy, &to);
        return;
    }
    const struct linear_offsets *offset = &chain->offset->source;
    const struct linear source = rapt__linear_at(&s->model->layout, offset, s->block);
    const struct positioning positioning = {e.positions, e.table.in};
    rapt__positions_backward(c, &positioning, p->rows.batch, p->rows.starts, d, dy, dpositions);
    rapt__linear_backward_weight(c, &source, p->vectors, source.in, dy, source.out, p->rows.count,
                                 gradients + offset->weight, gradients + offset->bias);
}

/* Adds the gradients of the embedding and its norm, given dy, the gradient of m->embedded.
   Overwrites dy. */
static void embed_backward(const struct exec_context *c, const struct chain *chain,
                           const struct stack *s, const struct pass *p, float *dy, float *gradients,
                           float *partial)
{
    const struct norm_offsets *offset = &chain->offset->embedded;
    const struct dropout d = residual_site(s, p, -1);
    const int rows = p->rows.count, D = chain->config->width;
    if (!chain->config->embedding_norm) {
        embed_rows_backward(c, chain, s, p, &d, dy, gradients);
        return;
    }
    const struct norm n = norm_at(chain, offset, s->block);
    if (d.below) rapt__dropout_rows(c, &d, dy, rows, D, dy);
    rapt__norm_backward(c, &n, &s->memory->embedded_saved, s->memory->raw, dy, NULL, rows, dy,
                        gradients + offset->gain, offset->bias ? gradients + offset->bias : NULL,
                        partial);
    embed_rows_backward(c, chain, s, p, NULL, dy, gradients);
}

const float *rapt__stack_forward(const struct exec_context *c, const struct stack *s,
                                 const struct pass *p)
{
    struct chain chain = chain_of(s);
    struct stack_memory *m = s->memory;
    int rows = p->rows.count, D = chain.config->width;
    struct dropout d;
    embed(c, &chain, s, p);
    if (chain.before) {
        struct norm n = norm_at(&chain, norm_of(&chain, 0), s->block);
        rapt__residual_norm_forward(c, &n, NULL, m->embedded, NULL, rows, D, NULL, m->first,
                                    &m->first_saved);
    }
    const float *stream = m->embedded;
    for (int i = 0; i < m->count; i++) {
        struct step step = step_at(&chain, s, p, i);
        rapt__sublayer_forward(c, &step, chain.parts[i % chain.parts_count]);
        const struct norm_offsets *after = norm_after(&chain, i);
        struct norm n = {0};
        if (after) n = norm_at(&chain, after, s->block);
        d = residual_site(s, p, i);
        rapt__residual_norm_forward(c, after ? &n : NULL, &d, stream, step.u->y, rows, D,
                                    step.u->sum, step.u->out, &step.u->saved);
        stream = chain.before ? step.u->sum : step.u->out;
    }
    return chain.bare ? stream : input_of(&chain, m, m->count);
}

/* Given the gradient of a norm's output in memory->dout, sets dx to the gradient of the norm's
   input x, plus `from` unless `from` is NULL. Adds the gradients of the gain and the bias. */
static void back_through(const struct exec_context *c, const struct chain *chain,
                         const struct stack *s, const struct norm_offsets *offset,
                         const struct norm_saved *saved, const float *x, const float *from,
                         int rows, float *dx, float *gradients, float *partial)
{
    struct norm n = norm_at(chain, offset, s->block);
    rapt__norm_backward(c, &n, saved, x, s->memory->dout, from, rows, dx, gradients + offset->gain,
                        offset->bias ? gradients + offset->bias : NULL, partial);
}

/* Replaces the gradient of sublayer i's output in dout with the gradient of its input. With
   pre-norm, also updates the gradient of the stream in dstream. Adds the gradients of the
   parameters. */
static void step_backward(const struct exec_context *c, const struct chain *chain,
                          const struct stack *s, const struct pass *p, int i, float *dstates,
                          float *gradients, float *partial)
{
    struct stack_memory *m = s->memory;
    struct step step = step_at(chain, s, p, i);
    int rows = p->rows.count;
    bool last = i == m->count - 1;
    float *dsum = chain->before ? m->dstream : m->dout;
    const float *from = chain->before && !last ? m->dstream : NULL;
    const struct norm_offsets *after = norm_after(chain, i);
    if (after)
        back_through(c, chain, s, after, &step.u->saved, step.u->sum, from, rows, dsum, gradients,
                     partial);
    else
        rapt__copy(c, m->dout, (size_t)rows * (size_t)chain->config->width, dsum);
    struct dropout d = residual_site(s, p, i);
    const float *dy = dsum;
    if (d.below) {
        rapt__dropout_rows(c, &d, dsum, rows, chain->config->width, m->dy);
        dy = m->dy;
    }
    rapt__sublayer_backward(c, &step, chain->parts[i % chain->parts_count], dy, m->dout,
                            !chain->before, dstates, gradients);
}

/* Returns the offset of a layer's first parameter. The block starts with the parameters that do not
   belong to a layer, followed by the layers of the encoder and then those of the decoder. */
static size_t layer_start(const struct chain *chain, int layer)
{
    const struct layer_offsets *l = &chain->offset->layers[layer];
    return chain->parts[0] == PART_RECURRENT ? l->recurrent.input.weight : l->self.qkv.weight;
}

/* Reports the gradients that have become final once the backward pass has completed sublayer i.
   With pre-norm, the gradients of the norm before sublayer i are not final yet. */
static void tell_final(const struct exec_context *c, const struct chain *chain,
                       const struct stack *s, int i)
{
    int layer = i / chain->parts_count + (chain->before ? 1 : 0);
    if (s->final && i % chain->parts_count == 0 && layer < chain->offset->count)
        s->final(c->team, s->argument, layer_start(chain, layer));
}

const float *rapt__stack_backward(const struct exec_context *c, const struct stack *s,
                                  const struct pass *p, float *dstates, float *gradients,
                                  float *partial)
{
    struct chain chain = chain_of(s);
    struct stack_memory *m = s->memory;
    for (int i = m->count - 1; i >= 0; i--) {
        step_backward(c, &chain, s, p, i, dstates, gradients, partial);
        tell_final(c, &chain, s, i);
    }
    float *dembedded = m->dout;
    if (chain.before) {
        back_through(c, &chain, s, norm_of(&chain, 0), &m->first_saved, m->embedded, m->dstream,
                     p->rows.count, m->dstream, gradients, partial);
        dembedded = m->dstream;
    }
    if (chain.bare) return dembedded;
    embed_backward(c, &chain, s, p, dembedded, gradients, partial);
    return NULL;
}

/* ---- the pooler: a dense layer between the pooled rows and the output matrix, as in BERT (Devlin
   et al. 2019) ---- */

void rapt__pooler_forward(const struct exec_context *c, const rapt_model *model, const float *x,
                          int rows, float *y)
{
    const struct linear l = rapt__linear_at(&model->layout, &model->layout.pooler, model->block);
    size_t begin, end, width = (size_t)l.out;
    rapt__linear_forward(c, &l, x, l.in, rows, y, l.out, ACTIVATION_NONE, NULL);
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (size_t r = begin; r < end; r++) c->kernels->tanh_row(y + r * width, width);
    rapt__team_barrier(c->team);
}

void rapt__pooler_backward(const struct exec_context *c, const rapt_model *model, const float *x,
                           const float *y, int rows, float *dy, float *dx, float *gradients)
{
    const struct linear_offsets *offset = &model->layout.pooler;
    const struct linear l = rapt__linear_at(&model->layout, offset, model->block);
    size_t begin, end, width = (size_t)l.out;
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (size_t i = begin * width; i < end * width; i++) dy[i] *= 1 - y[i] * y[i];
    rapt__team_barrier(c->team);
    rapt__linear_backward_input(c, &l, dy, l.out, rows, dx, l.in, false);
    rapt__linear_backward_weight(c, &l, x, l.in, dy, l.out, rows, gradients + offset->weight,
                                 gradients + offset->bias);
}
