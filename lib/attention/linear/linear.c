/* linear.c - the forward pass, and the public functions of rapt/linear_attention.h, which convert
   the caller's structs, check the arguments and run a team of threads. */
#include "attention/linear/linear.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#define READ(own, given, type, why) rapt__struct_read(own, sizeof *(own), given, #type, why)

enum { MAX_WIDTH = 1 << 16, WORKSPACE_ALIGNMENT = 64 };

const char *rapt_feature_map_name(rapt_feature_map map)
{
    static const char *const names[] = {"none", "elu"};
    _Static_assert(sizeof names / sizeof *names == RAPT_FEATURE_MAP_COUNT, "one name each");
    return (unsigned)map < RAPT_FEATURE_MAP_COUNT ? names[map] : NULL;
}

rapt_status rapt_linear_attention_init(rapt_linear_attention *a, size_t size, int batch, int heads,
                                       int rows, int key_width, int value_width)
{
    const rapt_linear_attention own = {.batch = batch,
                                       .heads = heads,
                                       .rows = rows,
                                       .key_width = key_width,
                                       .value_width = value_width,
                                       .q = rapt__stride_by_heads(heads, rows, key_width),
                                       .k = rapt__stride_by_heads(heads, rows, key_width),
                                       .v = rapt__stride_by_heads(heads, rows, value_width),
                                       .out = rapt__stride_by_heads(heads, rows, value_width),
                                       .gates = rapt__stride_by_heads(heads, rows, 1)};
    return rapt__struct_default(a, size, &own, sizeof own);
}

/* ---- checks ---- */

static rapt_status check_linear_sizes(const rapt_linear_attention *a, rapt_message *why)
{
    if (a->batch < 0) return rapt__bad_field(why, "batch", a->batch, "0 or more");
    if (a->heads < 1) return rapt__bad_field(why, "heads", a->heads, "1 or more");
    if (a->key_heads < 0 || (a->key_heads > 0 && a->heads % a->key_heads != 0))
        return rapt__bad_field(why, "key_heads", a->key_heads, "0 or a divisor of heads");
    if (a->rows < 0 || a->rows > ATTENTION_ROWS)
        return rapt__bad_field(why, "rows", a->rows, "0 to 2147483519");
    if (a->key_width < 1 || a->key_width > MAX_WIDTH)
        return rapt__bad_field(why, "key_width", a->key_width, "1 to 65536");
    if (a->value_width < 1 || a->value_width >= MAX_WIDTH)
        return rapt__bad_field(why, "value_width", a->value_width, "1 to 65535");
    if (a->batch > INT_MAX / a->heads)
        return rapt__bad_field(why, "batch times heads", (double)a->batch * a->heads,
                               "at most 2147483647");
    return rapt__starts_check("starts", a->starts, a->batch, a->rows, why);
}

static rapt_status check_linear_options(const rapt_linear_attention *a, rapt_message *why)
{
    if (!isfinite(a->scale)) return rapt__bad_field(why, "scale", (double)a->scale, "finite");
    if ((unsigned)a->feature_map >= RAPT_FEATURE_MAP_COUNT)
        return rapt__bad_field(why, "feature_map", a->feature_map, "a rapt_feature_map");
    if (a->normalized && a->feature_map == RAPT_FEATURE_MAP_NONE)
        return rapt__bad_field(why, "normalized", a->normalized, "0 unless feature_map is set");
    if (a->normalized && a->beta)
        return rapt__bad_field(why, "normalized", a->normalized, "0 if beta is given");
    if (a->threads < 0) return rapt__bad_field(why, "threads", a->threads, "0 or more");
    return RAPT_OK;
}

/* Return the number of sequences and the number of rows per sequence to which the strides apply. If
   starts are given, all rows count as a single sequence. */
static int batches(const rapt_linear_attention *a)
{
    return a->starts ? 1 : a->batch;
}
static int rows_together(const rapt_linear_attention *a)
{
    return a->starts ? a->starts[a->batch] : a->rows;
}
static bool has_rows(const rapt_linear_attention *a)
{
    return a->batch > 0 && rows_together(a) > 0;
}

static rapt_status check_linear_extents(const rapt_linear_attention *a, rapt_message *why)
{
    int key_heads = a->key_heads ? a->key_heads : a->heads;
    const struct {
        const char *name;
        const rapt_stride *stride;
        int heads, width;
    } arrays[] = {{"q", &a->q, a->heads, a->key_width},
                  {"k", &a->k, key_heads, a->key_width},
                  {"v", &a->v, key_heads, a->value_width},
                  {"out", &a->out, a->heads, a->value_width},
                  {"gates", &a->gates, key_heads, a->log_decay || a->beta}};
    rapt_status s = RAPT_OK;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays && s == RAPT_OK; i++)
        if (arrays[i].width)
            s = rapt__extent_check(arrays[i].name, arrays[i].stride, batches(a), arrays[i].heads,
                                   rows_together(a), arrays[i].width, sizeof(float), why);
    if (s == RAPT_OK && rapt__rows_repeat(&a->out, batches(a), a->heads, rows_together(a)))
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "out: a stride is 0, so rows would share the same memory");
    return s;
}

struct forward_memory { /* memory of a thread */
    struct chunk chunk;
    float *state; /* [key_width][value_ld] */
};

static void lay_out_forward(struct arena *part, const void *what, void *to)
{
    const struct linear_problem *l = what;
    struct forward_memory *f = to;
    rapt__chunk_layout(part, l, &f->chunk);
    f->state = rapt__arena_floats(part, (size_t)l->width, (size_t)l->value_ld);
}

static bool states_fit(const struct linear_problem *l)
{
    size_t n = rapt__linear_state_size(l);
    return rapt__times(n, sizeof(float), &n) && rapt__times(n, (size_t)l->a->batch, &n) &&
           rapt__times(n, (size_t)l->key_heads, &n);
}

size_t rapt__linear_workspace(const rapt_linear_attention *a, bool backward)
{
    const struct linear_problem l = rapt__linear(a);
    int team = rapt__team_size(a->threads);
    struct arena arena = {0};
    struct forward_memory forward;
    rapt__arena_parts(&arena, (size_t)team, lay_out_forward, &l, &forward, NULL);
    size_t step = rapt__linear_step_workspace(&l, team);
    size_t more = backward ? rapt__linear_backward_workspace(&l, team) : step;
    if (arena.overflow || !states_fit(&l) || !step || !more) return 0;
    return rapt__max_size(arena.used, rapt__max_size(step, more));
}

static rapt_status check_linear(const rapt_linear_attention *a, rapt_message *why)
{
    rapt_status s = check_linear_sizes(a, why);
    if (s == RAPT_OK) s = check_linear_options(a, why);
    if (s == RAPT_OK) s = check_linear_extents(a, why);
    if (s == RAPT_OK && !rapt__linear_workspace(a, true))
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "the problem is too large: the size of its workspace or states overflows");
    return s;
}

static rapt_status read_linear(rapt_linear_attention *own, const rapt_linear_attention *given,
                               rapt_message *why)
{
    rapt_status s = READ(own, given, rapt_linear_attention, why);
    return s ? s : check_linear(own, why);
}

rapt_status rapt_linear_attention_check(const rapt_linear_attention *a, rapt_message *why)
{
    rapt_linear_attention own;
    return read_linear(&own, a, why);
}

size_t rapt_linear_attention_workspace(const rapt_linear_attention *a, int backward)
{
    rapt_linear_attention own;
    return read_linear(&own, a, NULL) == RAPT_OK ? rapt__linear_workspace(&own, backward != 0) : 0;
}

static rapt_status missing_linear(const char *array, rapt_message *why)
{
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", array);
}

/* Checks the arrays of a call. `last` is `out` or `dout`, and `name` is its name. Arrays without
   rows may be NULL. */
static rapt_status check_linear_arrays(const struct linear_call *c, const float *last,
                                       const char *name, rapt_message *why)
{
    if (!c->workspace) return missing_linear("workspace", why);
    if ((uintptr_t)c->workspace % WORKSPACE_ALIGNMENT != 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "workspace: the address is not a multiple of %d bytes",
                          WORKSPACE_ALIGNMENT);
    if (!has_rows(&c->a)) return RAPT_OK;
    if (!c->q) return missing_linear("q", why);
    if (!c->k) return missing_linear("k", why);
    if (!c->v) return missing_linear("v", why);
    return last ? RAPT_OK : missing_linear(name, why);
}

/* ---- forward ---- */

/* Writes the outputs of one query head to `out`, for the chunk that begins at row `first`, and
   normalizes them if required. */
static void store_out(const struct linear_problem *l, const struct linear_item *item, int first,
                      const struct chunk *c, float *out)
{
    const rapt_stride *s = &l->a->out;
    float *to = out + rapt__linear_at(s, item, first);
    for (int r = 0; r < c->rows; r++, to += s->row) {
        const float *from = c->out + (ptrdiff_t)r * l->value_ld;
        float factor = l->a->normalized ? rapt__chunk_inverse(l, from) : 1;
        for (int i = 0; i < l->a->value_width; i++) to[i] = factor * from[i];
    }
}

/* Lists what is prefetched while a chunk is loaded: the rows that it will write, and the rows of
   the next chunk, which begins at row `first`. If query heads share keys, only the queries and
   outputs of the first of these heads are listed. With one head of width 64, 65,536 rows take 0.88
   times as long as without prefetching (Zen 5). */
static void forward_ahead(const struct linear_problem *l, const struct linear_item *item,
                          const struct linear_call *call, int first, struct chunk *c)
{
    const rapt_linear_attention *a = l->a;
    const struct linear_item query = rapt__linear_query_item(l, item, 0);
    c->ahead = (struct rows_ahead){.parts = 0};
    rapt__chunk_ahead(l, &query, call->out, &a->out, a->value_width, first - CHUNK_ROWS, c);
    rapt__chunk_ahead(l, item, call->k, &a->k, a->key_width, first, c);
    rapt__chunk_ahead(l, item, call->v, &a->v, a->value_width, first, c);
    rapt__chunk_ahead(l, &query, call->q, &a->q, a->key_width, first, c);
    rapt__ahead_spread(&c->ahead, 2 * c->rows);
}

static void forward_item(const struct linear_problem *l, const struct linear_item *item,
                         const struct linear_call *call, struct forward_memory *f)
{
    size_t size = (size_t)l->width * (size_t)l->value_ld, at = rapt__linear_state_at(l, item);
    struct chunk *c = &f->chunk;
    if (l->a->initial_state)
        rapt__linear_copy(l->a->initial_state + at, l->values, l->width, l->values, f->state,
                          l->value_ld);
    else
        memset(f->state, 0, size * sizeof *f->state);
    for (int first = 0; first < item->rows; first += CHUNK_ROWS) {
        c->rows = rapt__min(item->rows - first, CHUNK_ROWS);
        forward_ahead(l, item, call, first + CHUNK_ROWS, c);
        rapt__chunk_load(l, item, call->k, first, c);
        rapt__chunk_solve(l, item, call->v, first, f->state, c);
        for (int i = 0; i < l->group; i++) {
            const struct linear_item query = rapt__linear_query_item(l, item, i);
            rapt__chunk_weights(l, &query, call->q, first, c);
            rapt__chunk_read(l, f->state, c);
            store_out(l, &query, first, c, call->out);
        }
        rapt__chunk_advance(l, c, f->state);
    }
    for (int r = 0; r < l->width && call->state; r++)
        memcpy(call->state + at + (size_t)r * (size_t)l->values,
               f->state + (size_t)r * (size_t)l->value_ld, (size_t)l->values * sizeof(float));
}

void rapt__linear_attention_forward(struct team *team, void *argument)
{
    const struct linear_call *call = argument;
    struct linear_problem l = rapt__linear(&call->a);
    struct arena arena = rapt__arena_over(call->workspace, SIZE_MAX, team->rank);
    struct forward_memory f;
    l.far = rapt__linear_far(&l, 1);
    rapt__arena_parts(&arena, (size_t)team->size, lay_out_forward, &l, &f, NULL);
    rapt__workspace_begin(team);
    for (int t; (t = rapt__team_take(team)) < call->a.batch * l.key_heads;) {
        const struct linear_item item = rapt__linear_item(&l, t);
        forward_item(&l, &item, call, &f);
    }
    rapt__team_barrier(team);
    rapt__workspace_end(team, &arena);
}

rapt_status rapt_linear_attention_forward(const rapt_linear_attention *a, const float *q,
                                          const float *k, const float *v, float *out,
                                          float *final_state, void *workspace, rapt_message *why)
{
    struct linear_call c = {
        .q = q, .k = k, .v = v, .out = out, .state = final_state, .workspace = workspace};
    rapt_status s = read_linear(&c.a, a, why);
    if (s == RAPT_OK) s = check_linear_arrays(&c, out, "out", why);
    if (s == RAPT_OK) rapt__team_run(c.a.threads, rapt__linear_attention_forward, &c);
    return s;
}

/* ---- backward and step ---- */

/* Checks that each requested gradient belongs to an array of the problem, and that no stride
   between different rows of this array is 0. */
static rapt_status check_linear_gradients(const struct linear_call *c, rapt_message *why)
{
    const rapt_linear_attention *a = &c->a;
    const rapt_linear_attention_gradients *d = &c->d;
    int key_heads = a->key_heads ? a->key_heads : a->heads, rows = rows_together(a);
    const char *absent = d->log_decay && !a->log_decay           ? "log_decay"
                         : d->beta && !a->beta                   ? "beta"
                         : d->initial_state && !a->initial_state ? "initial_state"
                                                                 : NULL;
    if (absent)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "gradient of %s: the problem does not have this array", absent);
    const char *array = NULL;
    if (d->q && rapt__rows_repeat(&a->q, batches(a), a->heads, rows)) array = "q";
    if (d->k && rapt__rows_repeat(&a->k, batches(a), key_heads, rows)) array = "k";
    if (d->v && rapt__rows_repeat(&a->v, batches(a), key_heads, rows)) array = "v";
    if ((d->log_decay || d->beta) && rapt__rows_repeat(&a->gates, batches(a), key_heads, rows))
        array = "gates";
    if (!array) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT,
                      "gradients: a stride of %s is 0, so rows would share one gradient", array);
}

rapt_status rapt_linear_attention_backward(const rapt_linear_attention *a, const float *q,
                                           const float *k, const float *v, const float *dout,
                                           const float *dfinal_state,
                                           const rapt_linear_attention_gradients *d,
                                           void *workspace, rapt_message *why)
{
    struct linear_call c = {
        .q = q, .k = k, .v = v, .dout = dout, .dstate = dfinal_state, .workspace = workspace};
    rapt_status s = read_linear(&c.a, a, why);
    if (s == RAPT_OK) s = READ(&c.d, d, rapt_linear_attention_gradients, why);
    if (s == RAPT_OK) s = check_linear_arrays(&c, dout, "dout", why);
    if (s == RAPT_OK) s = check_linear_gradients(&c, why);
    if (s == RAPT_OK) rapt__team_run(c.a.threads, rapt__linear_attention_backward, &c);
    return s;
}

rapt_status rapt_linear_attention_step(const rapt_linear_attention *a, const float *q,
                                       const float *k, const float *v, float *state, float *out,
                                       void *workspace, rapt_message *why)
{
    struct linear_call c = {
        .q = q, .k = k, .v = v, .out = out, .state = state, .workspace = workspace};
    rapt_status s = read_linear(&c.a, a, why);
    if (s == RAPT_OK) s = check_linear_arrays(&c, out, "out", why);
    if (s == RAPT_OK && c.a.batch > 0 && !state) s = missing_linear("state", why);
    if (s == RAPT_OK) rapt__team_run(c.a.threads, rapt__linear_attention_step, &c);
    return s;
}
