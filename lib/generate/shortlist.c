/* shortlist.c - applies a shortlist to the sources of a call: collects the target tokens that each
   source may use, and copies their rows of the output matrix into new panels. Products with these
   panels are bit-identical to those with the whole matrix. */
#include "generate/generate.h"

#include <limits.h>
#include <string.h>

rapt_status rapt__shortlist_check(const rapt_shortlist *shortlist, const rapt_config *config,
                                  rapt_message *why)
{
    int source = rapt_shortlist_source_vocab(shortlist),
        target = rapt_shortlist_target_vocab(shortlist);
    if (source == config->source_vocab && target == config->target_vocab) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT,
                      "the shortlist was made for vocabularies of %d and %d tokens, but the model "
                      "has %d and %d",
                      source, target, config->source_vocab, config->target_vocab);
}

struct listing { /* a struct listed_rows under construction */
    struct listed_rows *l;
    const rapt_session *session;
    const rapt_generate_options *options;
    const rapt_tokens *source;
    int32_t *columns; /* [vocab] the row of each token in `output`; -1 if not listed */
    int32_t *tokens;  /* [capacity] tokens of the sources so far, as in listed_rows */
    size_t capacity;
};

/* Adds a token to the ascending list own[*count] unless the list already contains it. */
static void insert(int32_t *own, int *count, int32_t token)
{
    int at = *count;
    while (at > 0 && own[at - 1] >= token) at--;
    if (at < *count && own[at] == token) return;
    memmove(own + at + 1, own + at, sizeof *own * (size_t)(*count - at));
    own[at] = token;
    ++*count;
}

/* Writes to own[vocab] the *count tokens that source b may use, in ascending order, including the
   end token and the tokens of the source's terms. */
static rapt_status list_source(const struct listing *g, int b, int32_t *own, int *count,
                               rapt_message *why)
{
    const rapt_tokens *s = g->source;
    const rapt_terms *t = g->options->terms;
    int vocab = g->session->model->config.target_vocab;
    rapt_status status =
        rapt_shortlist_tokens(g->options->shortlist, s->ids + s->starts[b],
                              (size_t)(s->starts[b + 1] - s->starts[b]), own, vocab, count, why);
    if (status) return status;
    insert(own, count, g->options->end);
    if (!t) return RAPT_OK;
    const int *starts = t->phrases->starts;
    for (int i = starts[t->terms[t->sources[b]]]; i < starts[t->terms[t->sources[b + 1]]]; i++)
        insert(own, count, t->phrases->ids[i]);
    return RAPT_OK;
}

/* Makes room for the whole vocabulary after the first `used` tokens. */
static rapt_status reserve_tokens(struct listing *g, size_t used, rapt_message *why)
{
    const rapt_allocator *allocator = &g->session->allocator;
    size_t vocab = (size_t)g->session->model->config.target_vocab;
    size_t capacity = 2 * g->capacity + vocab;
    if (g->tokens && g->capacity - used >= vocab) return RAPT_OK;
    int32_t *tokens = rapt__alloc(allocator, capacity * sizeof *tokens);
    if (!tokens) {
        rapt__fail(why, RAPT_NO_MEMORY, "no memory for the tokens of a shortlist");
        return RAPT_NO_MEMORY;
    }
    if (g->tokens) memcpy(tokens, g->tokens, used * sizeof *tokens);
    rapt__free(allocator, g->tokens, g->capacity * sizeof *tokens);
    g->tokens = tokens, g->capacity = capacity;
    return RAPT_OK;
}

/* Lists the tokens of all sources, sets *rows to the number of distinct tokens, and numbers them in
   g->columns. */
static rapt_status list_all(struct listing *g, int *rows, rapt_message *why)
{
    int vocab = g->session->model->config.target_vocab, count = 0;
    for (int t = 0; t < vocab; t++) g->columns[t] = -1;
    g->l->starts[0] = 0;
    rapt_status status = reserve_tokens(g, 0, why); /* allocates even if there are no sources */
    if (status) return status;
    for (int b = 0; b < g->source->batch; b++) {
        int first = g->l->starts[b];
        status = reserve_tokens(g, (size_t)first, why);
        if (!status) status = list_source(g, b, g->tokens + first, &count, why);
        if (!status && count > INT_MAX - first)
            status = rapt__fail(why, RAPT_NO_MEMORY, "shortlist: too many tokens for one call");
        if (status) return status;
        for (int i = 0; i < count; i++) g->columns[g->tokens[first + i]] = 0;
        g->l->starts[b + 1] = first + count;
    }
    *rows = 0;
    for (int t = 0; t < vocab; t++)
        if (g->columns[t] == 0) g->columns[t] = (*rows)++;
    return RAPT_OK;
}

struct copying { /* copied rows of the output matrix: floats, 16-bit floats or scaled bytes */
    const struct listed_rows *l;
    const struct linear *whole;
    float *weight, *bias, *scale;
    int8_t *bytes;
    uint16_t *half;
    int rows;
};

/* Lays out the lists and the copied rows. */
static void lay_out_listed(struct listed_rows *l, struct copying *c, int tokens,
                           struct arena *arena)
{
    int rows = c->rows, in = c->whole->in;
    l->rows = rapt__arena_take(arena, (size_t)rows, sizeof *l->rows);
    l->tokens = rapt__arena_take(arena, (size_t)tokens, sizeof *l->tokens);
    l->columns = rapt__arena_take(arena, (size_t)tokens, sizeof *l->columns);
    c->bias = rapt__arena_floats(arena, c->whole->bias ? (size_t)rows : 0, 1);
    if (c->whole->bytes) {
        c->bytes = rapt__arena_take(arena, rapt__int8_weight_bytes(rows, in), 1);
        c->scale = rapt__arena_floats(arena, (size_t)rows, 1);
    } else if (c->whole->half) {
        size_t size = rapt__panels_size((size_t)rows, (size_t)in);
        c->half = rapt__arena_take(arena, size, sizeof *c->half);
    } else {
        c->weight = rapt__arena_floats(arena, rapt__panels_size((size_t)rows, (size_t)in), 1);
    }
}

/* Copies one row of a panel [depth][16] to a row of another panel. */
static void copy_row(const float *from, float *to, int depth)
{
    for (ptrdiff_t k = 0; k < depth; k++) to[k * LANES] = from[k * LANES];
}

static void copy_half_row(const uint16_t *from, uint16_t *to, int depth)
{
    for (ptrdiff_t k = 0; k < depth; k++) to[k * LANES] = from[k * LANES];
}

static void work_on_rows(struct team *team, void *argument)
{
    const struct copying *c = argument;
    const struct exec_context exec = {.team = team, .kernels = rapt__kernels()};
    if (c->bytes) {
        rapt__int8_gather(&exec, c->whole, c->l->rows, c->rows, c->bytes, c->scale, c->bias);
        return;
    }
    const struct linear *whole = c->whole;
    int depth = c->whole->in, panels = rapt__ceil_div(c->rows, LANES);
    size_t panel = (size_t)depth * LANES;
    for (int p; (p = rapt__team_take(team)) < panels;)
        for (int row = p * LANES; row < rapt__min(c->rows, (p + 1) * LANES); row++) {
            size_t from = (size_t)c->l->rows[row], to = (size_t)row;
            from = from / LANES * panel + from % LANES, to = to / LANES * panel + to % LANES;
            if (whole->half)
                copy_half_row(whole->half + from, c->half + to, depth);
            else
                copy_row(whole->weight + from, c->weight + to, depth);
            if (c->bias) c->bias[row] = whole->bias[c->l->rows[row]];
        }
    rapt__team_barrier(team);
}

/* Allocates the result and fills it in, copying `rows` rows of the output matrix. */
static rapt_status fill_listed(struct listing *g, int rows, rapt_message *why)
{
    struct listed_rows *l = g->l;
    const rapt_model *m = g->session->model;
    const struct linear whole = rapt__linear_at(&m->layout, &m->layout.output, m->block);
    struct copying copying = {.l = l, .whole = &whole, .rows = rows};
    int tokens = l->starts[g->source->batch];
    lay_out_listed(l, &copying, tokens, &l->arena);
    rapt_status status = rapt__arena_reserve(&l->arena, &g->session->allocator);
    if (status) return rapt__fail(why, status, "no memory for %d rows of the output matrix", rows);
    lay_out_listed(l, &copying, tokens, &l->arena);
    for (int t = 0; t < m->config.target_vocab; t++)
        if (g->columns[t] >= 0) l->rows[g->columns[t]] = t;
    for (int i = 0; i < tokens; i++) {
        l->tokens[i] = g->tokens[i];
        l->columns[i] = g->columns[g->tokens[i]];
    }
    l->output = (struct linear){.weight = copying.weight,
                                .bias = copying.bias,
                                .in = whole.in,
                                .out = rows,
                                .half = copying.half,
                                .type = whole.type,
                                .bytes = copying.bytes,
                                .scale = copying.scale};
    rapt__team_run(g->session->limits.threads, work_on_rows, &copying);
    return RAPT_OK;
}

rapt_status rapt__listed_rows_make(struct listed_rows *l, const rapt_session *s,
                                   const rapt_generate_options *options, const rapt_tokens *source,
                                   rapt_message *why)
{
    size_t starts = ((size_t)source->batch + 1) * sizeof *l->starts;
    size_t bytes = (size_t)s->model->config.target_vocab * sizeof(int32_t);
    struct listing g = {.l = l,
                        .session = s,
                        .options = options,
                        .source = source,
                        .columns = rapt__alloc(&s->allocator, bytes)};
    int rows = 0;
    *l = (struct listed_rows){.starts = rapt__alloc(&s->allocator, starts),
                              .sources = source->batch};
    rapt_status status = RAPT_NO_MEMORY;
    if (g.columns && l->starts) {
        status = list_all(&g, &rows, why);
        if (!status) status = fill_listed(&g, rows, why);
    } else {
        rapt__fail(why, status, "no memory for the tokens of a shortlist");
    }
    rapt__free(&s->allocator, g.columns, bytes);
    rapt__free(&s->allocator, g.tokens, g.capacity * sizeof *g.tokens);
    if (status) rapt__listed_rows_free(l, s);
    return status;
}

void rapt__listed_rows_free(struct listed_rows *l, const rapt_session *s)
{
    rapt__free(&s->allocator, l->starts, ((size_t)l->sources + 1) * sizeof *l->starts);
    rapt__arena_free(&l->arena, &s->allocator);
    *l = (struct listed_rows){.starts = NULL};
}
