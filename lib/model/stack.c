/* stack.c - the layers of one side: the same lines in training and in use.

   A stack is a chain of sublayers f. With the norm after (Vaswani et al. 2017, section 3.1):
       sum = out' + dropout(f(out')),   out = norm(sum)
   with the norm before, where out' is already the norm of sum':
       sum = sum' + dropout(f(out')),   out = next norm(sum)
   so both are one step: f reads the last out, and adds to the stream, which is out' or sum'. */
#include "model/model.h"

#include <math.h>

/* Of a layer, in order. */
static int parts_of(const rapt_config *c, bool decoder, enum part parts[3])
{
    int n = 0;
    parts[n++] = PART_SELF;
    if (decoder && c->kind == RAPT_KIND_ENCODER_DECODER) parts[n++] = PART_CROSS;
    if (c->ffn_width) parts[n++] = PART_FEEDFORWARD;
    return n;
}

struct sublayer *rapt__sublayer_of(const struct stack *s, int layer, enum part part)
{
    enum part parts[3];
    int n = parts_of(&s->model->config, s->decoder, parts), i = 0;
    while (i < n && parts[i] != part) i++;
    return i < n ? &s->memory->sublayers[layer * n + i] : NULL;
}

/* Of the queries of cached attention: q', centers and lse, if `part` has them. */
static void queries_layout(struct sublayer *u, const rapt_attention *spec, size_t rows,
                           struct arena *arena)
{
    size_t H = (size_t)spec->heads;
    if (rapt__score_changes(spec, false))
        u->projected_q = rapt__arena_floats(arena, rows, H * (size_t)rapt__score_width(spec));
    if (rapt__locality_centered(spec)) u->centers = rapt__arena_floats(arena, rows, H);
    u->lse = rapt__arena_floats(arena, rows, H);
}

/* What attention over caches needs besides. */
static void cached_layout(struct sublayer *u, const rapt_config *c, enum part part, size_t rows,
                          size_t source_rows, struct arena *arena)
{
    const struct attention_use which = {.decoder = true, .cross = part == PART_CROSS};
    const rapt_attention spec = rapt__attention_of(c, &which);
    size_t H = (size_t)c->heads, W = (size_t)rapt__score_width(&spec);
    queries_layout(u, &spec, rows, arena);
    if (rapt__score_changes(&spec, true))
        u->projected_keys = rapt__arena_floats(arena, part == PART_CROSS ? source_rows : rows,
                                               (size_t)rapt__key_heads(c) * W);
    if (rapt__locality_centered(&spec))
        u->center_hidden = rapt__arena_floats(arena, rows, H * (size_t)spec.learned.center_hidden);
}

static bool normalizes_hard(const rapt_config *c, enum part part)
{
    rapt_normalizer normalizer = part == PART_CROSS ? c->cross_normalizer : c->self_normalizer;
    return rapt__normalizer_is_hard(normalizer);
}

static void sublayer_layout(struct sublayer *u, const rapt_config *c, enum part part, bool cached,
                            size_t rows, size_t source_rows, struct arena *arena)
{
    size_t D = (size_t)c->width, F = (size_t)c->ffn_width, H = (size_t)c->heads;
    size_t K = D / H, G = (size_t)rapt__key_heads(c) * K;
    if (part == PART_FEEDFORWARD) {
        u->hidden = rapt__arena_floats(arena, rows, F);
        u->active = rapt__arena_floats(arena, rows, F);
    } else {
        u->q = rapt__arena_floats(arena, rows, part == PART_SELF ? D + 2 * G : D);
        u->mixed = rapt__arena_floats(arena, rows, D);
        if (cached)
            cached_layout(u, c, part, rows, source_rows, arena);
        else
            u->lse = rapt__arena_floats(arena, rows, H);
        if (!cached && normalizes_hard(c, part))
            u->chosen = rapt__arena_take(arena, rows * H, sizeof(int));
    }
    if (part == PART_CROSS) u->kv = rapt__arena_floats(arena, source_rows, 2 * G);
    u->y = rapt__arena_floats(arena, rows, D);
    u->sum = rapt__arena_floats(arena, rows, D);
    u->out = rapt__arena_floats(arena, rows, D);
    u->saved.mean = rapt__arena_floats(arena, rows, 1);
    u->saved.inverse = rapt__arena_floats(arena, rows, 1);
}

static void backward_layout(struct stack_memory *m, const rapt_config *c, size_t rows,
                            size_t source_rows, struct arena *arena)
{
    size_t D = (size_t)c->width, G = (size_t)rapt__key_heads(c) * (D / (size_t)c->heads);
    m->dout = rapt__arena_floats(arena, rows, D);
    m->dstream = rapt__arena_floats(arena, rows, D);
    m->dy = rapt__arena_floats(arena, rows, D);
    m->dmixed = rapt__arena_floats(arena, rows, D);
    m->dq = rapt__arena_floats(arena, rows, D + 2 * G);
    m->dhidden = rapt__arena_floats(arena, rows, (size_t)c->ffn_width);
    m->dkv = rapt__arena_floats(arena, source_rows, 2 * G);
}

/* In use the sublayers of the first layer serve all layers, and what all parts have in common
   (y, sum, out) is shared by the parts too. Only the queries of cross-attention, their centers and
   their log-sum-exps are kept for every layer: alignments are made of them. */
static void share_layout(struct stack_memory *m, const rapt_config *c, bool decoder, int parts,
                         size_t rows, struct arena *arena)
{
    bool cross = decoder && c->kind == RAPT_KIND_ENCODER_DECODER;
    const struct attention_use which = {.decoder = true, .cross = true};
    const rapt_attention spec = rapt__attention_of(c, &which);
    for (int i = 1; i < m->count; i++) {
        bool keeps = cross && i >= parts && i % parts == PART_CROSS;
        struct sublayer own = {0};
        if (keeps) {
            if (!rapt__score_changes(&spec, false))
                own.q = rapt__arena_floats(arena, rows, (size_t)c->width);
            queries_layout(&own, &spec, rows, arena);
        }
        if (!m->sublayers) continue;
        struct sublayer *first = &m->sublayers[0], *u = &m->sublayers[i];
        if (i >= parts) *u = m->sublayers[i % parts];
        if (own.q) u->q = own.q;
        if (keeps) u->projected_q = own.projected_q, u->centers = own.centers, u->lse = own.lse;
        u->y = first->y, u->sum = first->sum, u->out = first->out, u->saved = first->saved;
    }
}

void rapt__stack_layout(struct stack_memory *m, const rapt_config *c, bool decoder, int rows,
                        int source_rows, bool keep, struct arena *arena)
{
    enum part parts[3];
    int n = parts_of(c, decoder, parts), layers = decoder ? c->decoder_layers : c->encoder_layers;
    size_t R = (size_t)rows, S = (size_t)source_rows, D = (size_t)c->width;
    m->count = n * layers;
    m->sublayers = rapt__arena_take(arena, (size_t)m->count, sizeof *m->sublayers);
    m->embedded = rapt__arena_floats(arena, R, D);
    m->first = rapt__arena_floats(arena, R, D);
    m->first_saved.mean = rapt__arena_floats(arena, R, 1);
    m->first_saved.inverse = rapt__arena_floats(arena, R, 1);
    for (int i = 0; i < (keep ? m->count : n); i++) {
        struct sublayer counted, *u = m->sublayers ? &m->sublayers[i] : &counted;
        *u = (struct sublayer){0};
        sublayer_layout(u, c, parts[i % n], decoder && !keep, R, S, arena);
    }
    if (keep)
        backward_layout(m, c, R, S, arena);
    else
        share_layout(m, c, decoder, n, R, arena);
}

/* ---- the chain ---- */

struct chain {
    const rapt_config *config;
    const struct stack_offsets *offset;
    enum part parts[3];
    int parts_count;
    bool before; /* the norm */
};

static struct chain chain_of(const struct stack *s)
{
    const rapt_model *m = s->model;
    struct chain chain = {.config = &m->config,
                          .offset = s->decoder ? &m->layout.decoder : &m->layout.encoder,
                          .before = m->config.norm_order == RAPT_NORM_ORDER_PRE};
    chain.parts_count = parts_of(chain.config, s->decoder, chain.parts);
    return chain;
}

/* The norm that belongs to sublayer i; behind the last one the stack's own. */
static const struct norm_offsets *norm_of(const struct chain *chain, int i)
{
    int layer = i / chain->parts_count;
    if (layer == chain->offset->count) return &chain->offset->last;
    const struct layer_offsets *l = &chain->offset->layers[layer];
    enum part part = chain->parts[i % chain->parts_count];
    return part == PART_SELF    ? &l->self.norm
           : part == PART_CROSS ? &l->cross.norm
                                : &l->feedforward.norm;
}

static struct norm norm_at(const struct chain *chain, const struct norm_offsets *p,
                           const float *block)
{
    return (struct norm){block + p->gain, block + p->bias, chain->config->width,
                         rapt__epsilon(chain->config)};
}

/* The norm that makes out of sublayer i. */
static const struct norm_offsets *norm_after(const struct chain *chain, int i)
{
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
    return (struct embedding){.table = s->block + chain->offset->table,
                              .positions = learned ? s->block + chain->offset->positions
                                                   : s->model->sinusoids,
                              .vocab = s->decoder ? c->target_vocab : c->source_vocab,
                              .width = c->width,
                              .scale = c->plain_embedding ? 1 : (float)sqrt((double)c->width)};
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

const float *rapt__stack_forward(const struct exec_context *c, const struct stack *s,
                                 const struct pass *p)
{
    struct chain chain = chain_of(s);
    struct stack_memory *m = s->memory;
    int rows = p->rows.count, D = chain.config->width;
    struct embedding e = embedding_of(&chain, s);
    struct dropout d = residual_site(s, p, -1);
    rapt__embed_forward(c, &e, p->rows.batch, p->ids, p->rows.starts,
                        p->caches ? p->caches->past : NULL, &d, m->embedded);
    if (chain.before) {
        struct norm n = norm_at(&chain, norm_of(&chain, 0), s->block);
        rapt__residual_norm_forward(c, &n, NULL, m->embedded, NULL, rows, D, NULL, m->first,
                                    &m->first_saved);
    }
    const float *stream = m->embedded;
    for (int i = 0; i < m->count; i++) {
        struct step step = step_at(&chain, s, p, i);
        rapt__sublayer_forward(c, &step, chain.parts[i % chain.parts_count]);
        struct norm n = norm_at(&chain, norm_after(&chain, i), s->block);
        d = residual_site(s, p, i);
        rapt__residual_norm_forward(c, &n, &d, stream, step.u->y, rows, D, step.u->sum, step.u->out,
                                    &step.u->saved);
        stream = chain.before ? step.u->sum : step.u->out;
    }
    return input_of(&chain, m, m->count);
}

/* Back through a norm whose input was x: dx = from + gradient. */
static void back_through(const struct exec_context *c, const struct chain *chain,
                         const struct stack *s, const struct norm_offsets *offset,
                         const struct norm_saved *saved, const float *x, const float *from,
                         int rows, float *dx, float *gradients, float *partial)
{
    struct norm n = norm_at(chain, offset, s->block);
    rapt__norm_backward(c, &n, saved, x, s->memory->dout, from, rows, dx, gradients + offset->gain,
                        gradients + offset->bias, partial);
}

/* One sublayer, from the gradients of out (and, norm before, of the stream) to those before it. */
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
    back_through(c, chain, s, norm_after(chain, i), &step.u->saved, step.u->sum, from, rows, dsum,
                 gradients, partial);
    struct dropout d = residual_site(s, p, i);
    const float *dy = dsum;
    if (d.below) {
        rapt__dropout_rows(c, &d, dsum, rows, chain->config->width, m->dy);
        dy = m->dy;
    }
    rapt__sublayer_backward(c, &step, chain->parts[i % chain->parts_count], dy, m->dout,
                            !chain->before, dstates, gradients);
}

void rapt__stack_backward(const struct exec_context *c, const struct stack *s, const struct pass *p,
                          float *dstates, float *gradients, float *partial)
{
    struct chain chain = chain_of(s);
    struct stack_memory *m = s->memory;
    for (int i = m->count - 1; i >= 0; i--)
        step_backward(c, &chain, s, p, i, dstates, gradients, partial);
    float *dembedded = m->dout;
    if (chain.before) {
        back_through(c, &chain, s, norm_of(&chain, 0), &m->first_saved, m->embedded, m->dstream,
                     p->rows.count, m->dstream, gradients, partial);
        dembedded = m->dstream;
    }
    struct embedding e = embedding_of(&chain, s);
    struct dropout d = residual_site(s, p, -1);
    bool learned = chain.config->position == RAPT_POSITION_LEARNED;
    rapt__embed_backward(c, &e, p->rows.batch, p->ids, p->rows.starts, &d, dembedded,
                         gradients + chain.offset->table,
                         learned ? gradients + chain.offset->positions : NULL);
}
