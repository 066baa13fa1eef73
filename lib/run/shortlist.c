/* shortlist.c - a shortlist and the sources of a call in; the target tokens of each source, and the
   rows of the output matrix that all of them need, out. Rows are copied into panels of their own,
   where each product has the bits that it has in the whole matrix. */
#include "run/run.h"

#include <string.h>

rapt_status rapt__shortlist_check(const rapt_shortlist *shortlist, const rapt_config *config,
                                  rapt_message *why)
{
    int source = rapt_shortlist_source_vocab(shortlist),
        target = rapt_shortlist_target_vocab(shortlist);
    if (source == config->source_vocab && target == config->target_vocab) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT,
                      "shortlist: it is for vocabularies of %d and %d tokens, the model has %d and "
                      "%d",
                      source, target, config->source_vocab, config->target_vocab);
}

struct listing { /* while it is made */
    struct listed_rows *l;
    const rapt_session *session;
    const rapt_shortlist *shortlist;
    const rapt_tokens *source;
    int32_t end;
    int32_t *own;     /* [vocab] tokens of one source */
    int32_t *columns; /* [vocab] the row in the output that a token is; -1: none */
};

/* The tokens of source b to g->own, ascending, the end among them; *count: how many. */
static rapt_status list(const struct listing *g, int b, int *count, rapt_message *why)
{
    const rapt_tokens *s = g->source;
    int vocab = g->session->model->config.target_vocab, at;
    rapt_status status =
        rapt_shortlist_tokens(g->shortlist, s->ids + s->starts[b],
                              (size_t)(s->starts[b + 1] - s->starts[b]), g->own, vocab, count, why);
    if (status) return status;
    for (at = *count; at > 0 && g->own[at - 1] >= g->end;) at--;
    if (at < *count && g->own[at] == g->end) return RAPT_OK;
    memmove(g->own + at + 1, g->own + at, sizeof *g->own * (size_t)(*count - at));
    g->own[at] = g->end;
    ++*count;
    return RAPT_OK;
}

/* What the sources need: starts, and which tokens are in columns. */
static rapt_status measure(struct listing *g, int *rows, rapt_message *why)
{
    int vocab = g->session->model->config.target_vocab, count = 0;
    for (int t = 0; t < vocab; t++) g->columns[t] = -1;
    g->l->starts[0] = 0;
    for (int b = 0; b < g->source->batch; b++) {
        rapt_status status = list(g, b, &count, why);
        if (status) return status;
        for (int i = 0; i < count; i++) g->columns[g->own[i]] = 0;
        g->l->starts[b + 1] = g->l->starts[b] + count;
    }
    *rows = 0;
    for (int t = 0; t < vocab; t++)
        if (g->columns[t] == 0) g->columns[t] = (*rows)++;
    return RAPT_OK;
}

static void lay_out(struct listed_rows *l, const struct linear *whole, int rows, int tokens,
                    float **weight, float **bias, struct arena *arena)
{
    l->rows = rapt__arena_take(arena, (size_t)rows, sizeof *l->rows);
    l->tokens = rapt__arena_take(arena, (size_t)tokens, sizeof *l->tokens);
    l->columns = rapt__arena_take(arena, (size_t)tokens, sizeof *l->columns);
    *weight = rapt__arena_floats(arena, rapt__panels_size((size_t)rows, (size_t)whole->in), 1);
    *bias = rapt__arena_floats(arena, whole->bias ? (size_t)rows : 0, 1);
}

struct copying {
    const struct listed_rows *l;
    const struct linear *whole;
    float *weight, *bias;
    int rows;
};

/* One row of panels [depth][16] to another. */
static void copy_row(const float *from, float *to, int depth)
{
    for (int k = 0; k < depth; k++) to[k * LANES] = from[k * LANES];
}

static void work_on_rows(struct team *team, void *argument)
{
    const struct copying *c = argument;
    int depth = c->whole->in, panels = rapt__ceil_div(c->rows, LANES);
    size_t panel = (size_t)depth * LANES;
    for (int p; (p = rapt__team_take(team)) < panels;)
        for (int row = p * LANES; row < rapt__min(c->rows, (p + 1) * LANES); row++) {
            size_t from = (size_t)c->l->rows[row], to = (size_t)row;
            copy_row(c->whole->weight + from / LANES * panel + from % LANES,
                     c->weight + to / LANES * panel + to % LANES, depth);
            if (c->bias) c->bias[row] = c->whole->bias[from];
        }
    rapt__team_barrier(team);
}

static rapt_status fill(struct listing *g, int rows, rapt_message *why)
{
    struct listed_rows *l = g->l;
    const rapt_model *m = g->session->model;
    const struct linear whole = rapt__linear_at(&m->layout.output, m->block);
    struct copying copying = {.l = l, .whole = &whole, .rows = rows};
    int count;
    lay_out(l, &whole, rows, l->starts[g->source->batch], &copying.weight, &copying.bias,
            &l->arena);
    rapt_status status = rapt__arena_reserve(&l->arena, &g->session->allocator);
    if (status) return rapt__fail(why, status, "no memory for %d rows of the output", rows);
    lay_out(l, &whole, rows, l->starts[g->source->batch], &copying.weight, &copying.bias,
            &l->arena);
    for (int t = 0; t < m->config.target_vocab; t++)
        if (g->columns[t] >= 0) l->rows[g->columns[t]] = t;
    for (int b = 0; b < g->source->batch; b++) {
        status = list(g, b, &count, why);
        if (status) return status;
        for (int i = 0; i < count; i++) {
            l->tokens[l->starts[b] + i] = g->own[i];
            l->columns[l->starts[b] + i] = g->columns[g->own[i]];
        }
    }
    l->output = (struct linear){copying.weight, copying.bias, whole.in, rows};
    rapt__team_run(g->session->limits.threads, work_on_rows, &copying);
    return RAPT_OK;
}

rapt_status rapt__listed_rows_make(struct listed_rows *l, const rapt_session *s,
                                   const rapt_shortlist *shortlist, const rapt_tokens *source,
                                   int32_t end, rapt_message *why)
{
    size_t vocab = (size_t)s->model->config.target_vocab;
    size_t starts = ((size_t)source->batch + 1) * sizeof *l->starts;
    size_t bytes = 2 * vocab * sizeof(int32_t);
    struct listing g = {l, s, shortlist, source, end, rapt__alloc(&s->allocator, bytes), NULL};
    int rows = 0;
    *l = (struct listed_rows){.starts = rapt__alloc(&s->allocator, starts),
                              .sources = source->batch};
    rapt_status status = RAPT_NO_MEMORY;
    if (g.own && l->starts) {
        g.columns = g.own + vocab;
        status = measure(&g, &rows, why);
        if (!status) status = fill(&g, rows, why);
    } else {
        rapt__fail(why, status, "no memory for the tokens of a shortlist");
    }
    rapt__free(&s->allocator, g.own, bytes);
    if (status) rapt__listed_rows_free(l, s);
    return status;
}

void rapt__listed_rows_free(struct listed_rows *l, const rapt_session *s)
{
    rapt__free(&s->allocator, l->starts, ((size_t)l->sources + 1) * sizeof *l->starts);
    rapt__arena_free(&l->arena, &s->allocator);
    *l = (struct listed_rows){.starts = NULL};
}
