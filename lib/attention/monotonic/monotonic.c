/* monotonic.c - the public functions of rapt/monotonic_attention.h, which convert the caller's
   structs, check the arguments and run a team of threads. */
#include "attention/monotonic/monotonic.h"

#include <math.h>

#define READ(own, given, type, why) rapt__struct_read(own, sizeof *(own), given, #type, why)

enum { WORKSPACE_ALIGNMENT = 64 };

const char *rapt_monotonic_name(rapt_monotonic mode)
{
    static const char *const names[] = {"hard", "chunk", "lookback"};
    _Static_assert(sizeof names / sizeof *names == RAPT_MONOTONIC_COUNT, "one name each");
    return (unsigned)mode < RAPT_MONOTONIC_COUNT ? names[mode] : NULL;
}

rapt_status rapt_monotonic_attention_init(rapt_monotonic_attention *a, size_t size, int batch,
                                          int heads, int queries, int keys, int width)
{
    const rapt_stride query = rapt__stride_by_heads(heads, queries, width);
    const rapt_stride key = rapt__stride_by_heads(heads, keys, width);
    const rapt_monotonic_attention own = {.batch = batch,
                                          .heads = heads,
                                          .queries = queries,
                                          .keys = keys,
                                          .key_width = width,
                                          .value_width = width,
                                          .q = query,
                                          .k = key,
                                          .v = key,
                                          .chunk_q = query,
                                          .chunk_k = key,
                                          .out = query,
                                          .weights = rapt__stride_by_heads(heads, queries, keys)};
    return rapt__struct_default(a, size, &own, sizeof own);
}

/* ---- checks ---- */

/* Return the number of sequences and the number of rows per sequence to which the strides apply. If
   starts are given, all rows count as a single sequence. */
static int query_batches(const struct monotonic_problem *m)
{
    return m->a->query_starts ? 1 : m->a->batch;
}
static int key_batches(const struct monotonic_problem *m)
{
    return m->a->key_starts ? 1 : m->a->batch;
}
static int queries_together(const struct monotonic_problem *m)
{
    return m->a->query_starts ? rapt__query_rows(&m->plain) : m->a->queries;
}
static int keys_together(const struct monotonic_problem *m)
{
    return m->a->key_starts ? rapt__key_rows(&m->plain) : m->a->keys;
}

static rapt_status check_monotonic_options(const rapt_monotonic_attention *a, rapt_message *why)
{
    if (a->queries > ATTENTION_ROWS)
        return rapt__bad_field(why, "queries", a->queries, "at most 2147483519");
    if (a->keys > ATTENTION_ROWS)
        return rapt__bad_field(why, "keys", a->keys, "at most 2147483519");
    if ((unsigned)a->mode >= RAPT_MONOTONIC_COUNT)
        return rapt__bad_field(why, "mode", a->mode, "a rapt_monotonic");
    if (a->mode == RAPT_MONOTONIC_CHUNK && a->chunk < 1)
        return rapt__bad_field(why, "chunk", a->chunk, "1 or more in chunk mode");
    if (!isfinite(a->scale)) return rapt__bad_field(why, "scale", (double)a->scale, "finite");
    if (!isfinite(a->chunk_scale))
        return rapt__bad_field(why, "chunk_scale", (double)a->chunk_scale, "finite");
    if (!(a->noise >= 0) || !isfinite(a->noise))
        return rapt__bad_field(why, "noise", (double)a->noise, "finite and 0 or more");
    return RAPT_OK;
}

static rapt_status check_key_counts(const rapt_monotonic_attention *a, rapt_message *why)
{
    for (int b = 0; a->key_counts && b < a->batch; b++) {
        int keys = a->key_starts ? a->key_starts[b + 1] - a->key_starts[b] : a->keys;
        if (a->key_counts[b] < 0 || a->key_counts[b] > keys)
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "key_counts[%d] is %d; it must be 0 to %d", b,
                              a->key_counts[b], keys);
    }
    return RAPT_OK;
}

static rapt_status check_monotonic_extents(const struct monotonic_problem *m, rapt_message *why)
{
    const rapt_monotonic_attention *a = m->a;
    rapt_status s = rapt__extent_check("weights", &a->weights, query_batches(m), a->heads,
                                       queries_together(m), a->keys, sizeof(float), why);
    if (s == RAPT_OK && m->soft)
        s = rapt__extent_check("chunk_q", &a->chunk_q, query_batches(m), a->heads,
                               queries_together(m), a->key_width, sizeof(float), why);
    if (s == RAPT_OK && m->soft)
        s = rapt__extent_check("chunk_k", &a->chunk_k, key_batches(m), m->key_heads,
                               keys_together(m), a->key_width, sizeof(float), why);
    return s;
}

/* Returns the workspace size in bytes for forward, step and, if `backward` is true, backward.
   Returns 0 if the size overflows size_t. */
static size_t count_monotonic_workspace(const struct monotonic_problem *m, bool backward)
{
    int team = rapt__team_size(m->a->threads);
    size_t forward = rapt__monotonic_forward_workspace(m, team);
    size_t step = rapt__monotonic_step_workspace(m, team);
    size_t more = backward ? rapt__monotonic_backward_workspace(m, team) : step;
    if (!forward || !step || !more) return 0;
    return rapt__max_size(forward, rapt__max_size(step, more));
}

static rapt_status check_monotonic(const rapt_monotonic_attention *a, rapt_message *why)
{
    rapt_status s = check_monotonic_options(a, why);
    if (s) return s;
    struct monotonic_problem m = rapt__monotonic(a);
    m.plain.mask.key_counts = NULL; /* checked below, under its own name */
    s = rapt__attention_check(&m.plain, why);
    if (s == RAPT_OK) s = check_key_counts(a, why);
    if (s == RAPT_OK) s = check_monotonic_extents(&m, why);
    if (s == RAPT_OK && !count_monotonic_workspace(&m, true))
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "the problem is too large: the size of its workspace overflows");
    return s;
}

static rapt_status read_monotonic(rapt_monotonic_attention *own,
                                  const rapt_monotonic_attention *given, rapt_message *why)
{
    rapt_status s = READ(own, given, rapt_monotonic_attention, why);
    return s ? s : check_monotonic(own, why);
}

size_t rapt__monotonic_workspace(const rapt_monotonic_attention *a, bool learning)
{
    const struct monotonic_problem m = rapt__monotonic(a);
    const int team = rapt__team_size(a->threads);
    return learning ? count_monotonic_workspace(&m, true)
                    : rapt__monotonic_step_workspace(&m, team);
}

rapt_status rapt_monotonic_attention_check(const rapt_monotonic_attention *a, rapt_message *why)
{
    rapt_monotonic_attention own;
    return read_monotonic(&own, a, why);
}

size_t rapt_monotonic_attention_workspace(const rapt_monotonic_attention *a, int backward)
{
    rapt_monotonic_attention own;
    if (read_monotonic(&own, a, NULL)) return 0;
    const struct monotonic_problem m = rapt__monotonic(&own);
    return count_monotonic_workspace(&m, backward != 0);
}

static rapt_status missing_monotonic(const char *array, rapt_message *why)
{
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", array);
}

/* Checks the arrays of a call. `last` is `out` or `dout`, and `name` is its name. Arrays without
   rows may be NULL. */
static rapt_status check_monotonic_arrays(const struct monotonic_call *c, const float *last,
                                          const char *name, rapt_message *why)
{
    const struct monotonic_problem m = rapt__monotonic(&c->a);
    bool queries = c->a.batch > 0 && queries_together(&m) > 0;
    bool keys = c->a.batch > 0 && keys_together(&m) > 0;
    if (!c->workspace) return missing_monotonic("workspace", why);
    if ((uintptr_t)c->workspace % WORKSPACE_ALIGNMENT != 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "workspace: the address is not a multiple of %d bytes",
                          WORKSPACE_ALIGNMENT);
    if (queries && !c->q) return missing_monotonic("q", why);
    if (keys && !c->k) return missing_monotonic("k", why);
    if (keys && !c->v) return missing_monotonic("v", why);
    if (m.soft && queries && !c->chunk_q) return missing_monotonic("chunk_q", why);
    if (m.soft && keys && !c->chunk_k) return missing_monotonic("chunk_k", why);
    return queries && !last ? missing_monotonic(name, why) : RAPT_OK;
}

/* Checks that no stride between different rows of alpha or weights is 0, if they are requested. */
static rapt_status check_monotonic_outputs(const struct monotonic_call *c, rapt_message *why)
{
    const struct monotonic_problem m = rapt__monotonic(&c->a);
    if (c->a.keys == 0 || (!c->outputs.alpha && !c->outputs.weights)) return RAPT_OK;
    if (!rapt__rows_repeat(&c->a.weights, query_batches(&m), c->a.heads, queries_together(&m)))
        return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT,
                      "outputs: a stride of weights is 0, so rows would share the same memory");
}

/* Checks that no array whose gradient is requested has a stride of 0 between different rows. */
static rapt_status check_monotonic_gradients(const struct monotonic_call *c, rapt_message *why)
{
    const rapt_monotonic_attention *a = &c->a;
    const struct monotonic_problem m = rapt__monotonic(a);
    const int queries = queries_together(&m), keys = keys_together(&m);
    const struct {
        const char *name;
        const float *gradient;
        const rapt_stride *stride;
        int batch, heads, rows;
    } arrays[] = {
        {"q", c->d.q, &a->q, query_batches(&m), a->heads, queries},
        {"k", c->d.k, &a->k, key_batches(&m), m.key_heads, keys},
        {"v", c->d.v, &a->v, key_batches(&m), m.key_heads, keys},
        {"chunk_q", m.soft ? c->d.chunk_q : NULL, &a->chunk_q, query_batches(&m), a->heads,
         queries},
        {"chunk_k", m.soft ? c->d.chunk_k : NULL, &a->chunk_k, key_batches(&m), m.key_heads, keys}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if (arrays[i].gradient &&
            rapt__rows_repeat(arrays[i].stride, arrays[i].batch, arrays[i].heads, arrays[i].rows))
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "gradients: a stride of %s is 0, so rows would share one gradient",
                              arrays[i].name);
    return RAPT_OK;
}

static rapt_status check_positions(const struct monotonic_call *c, rapt_message *why)
{
    const struct monotonic_problem m = rapt__monotonic(&c->a);
    if (c->a.batch > 0 && !c->positions) return missing_monotonic("positions", why);
    for (int i = 0; i < c->a.batch * c->a.heads; i++) {
        int existing = rapt__sequence(&m.plain, i / c->a.heads).existing;
        if (c->positions[i] < 0 || c->positions[i] > existing)
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "positions[%d] is %d; it must be 0 to %d", i,
                              c->positions[i], existing);
    }
    return RAPT_OK;
}

/* ---- calls ---- */

rapt_status rapt_monotonic_attention_forward(const rapt_monotonic_attention *a, const float *q,
                                             const float *k, const float *v, const float *chunk_q,
                                             const float *chunk_k, float *out,
                                             const rapt_monotonic_attention_outputs *outputs,
                                             void *workspace, rapt_message *why)
{
    struct monotonic_call c = {.q = q,
                               .k = k,
                               .v = v,
                               .chunk_q = chunk_q,
                               .chunk_k = chunk_k,
                               .out = out,
                               .workspace = workspace};
    rapt_status s = read_monotonic(&c.a, a, why);
    if (s == RAPT_OK && outputs)
        s = READ(&c.outputs, outputs, rapt_monotonic_attention_outputs, why);
    if (s == RAPT_OK) s = check_monotonic_arrays(&c, out, "out", why);
    if (s == RAPT_OK) s = check_monotonic_outputs(&c, why);
    if (s == RAPT_OK) rapt__team_run(c.a.threads, rapt__monotonic_forward, &c);
    return s;
}

rapt_status rapt_monotonic_attention_backward(const rapt_monotonic_attention *a, const float *q,
                                              const float *k, const float *v, const float *chunk_q,
                                              const float *chunk_k, const float *dout,
                                              const float *dalpha, const float *ddelays,
                                              const rapt_monotonic_attention_gradients *d,
                                              void *workspace, rapt_message *why)
{
    struct monotonic_call c = {.q = q,
                               .k = k,
                               .v = v,
                               .chunk_q = chunk_q,
                               .chunk_k = chunk_k,
                               .dout = dout,
                               .dalpha = dalpha,
                               .ddelays = ddelays,
                               .workspace = workspace};
    rapt_status s = read_monotonic(&c.a, a, why);
    if (s == RAPT_OK) s = READ(&c.d, d, rapt_monotonic_attention_gradients, why);
    if (s == RAPT_OK) s = check_monotonic_arrays(&c, dout, "dout", why);
    if (s == RAPT_OK) s = check_monotonic_gradients(&c, why);
    if (s == RAPT_OK) rapt__team_run(c.a.threads, rapt__monotonic_backward, &c);
    return s;
}

rapt_status rapt_monotonic_attention_step(const rapt_monotonic_attention *a, const float *q,
                                          const float *k, const float *v, const float *chunk_q,
                                          const float *chunk_k, int *positions, float *out,
                                          void *workspace, rapt_message *why)
{
    struct monotonic_call c = {.q = q,
                               .k = k,
                               .v = v,
                               .chunk_q = chunk_q,
                               .chunk_k = chunk_k,
                               .out = out,
                               .positions = positions,
                               .workspace = workspace};
    rapt_status s = read_monotonic(&c.a, a, why);
    if (s == RAPT_OK) s = check_monotonic_arrays(&c, out, "out", why);
    if (s == RAPT_OK) s = check_positions(&c, why);
    if (s == RAPT_OK) rapt__team_run(c.a.threads, rapt__monotonic_step, &c);
    return s;
}
