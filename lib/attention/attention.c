/* attention.c - the public functions of rapt/attention.h that check problems, lay out their learned
   arrays, or compute attention. They convert the caller's structs to this version's, check the
   arguments, and run a team of threads. */
#include "attention/score/score.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#define READ(own, given, type, why) rapt__struct_read(own, sizeof *(own), given, #type, why)

static rapt_status read_problem(rapt_attention *own, const rapt_attention *given, rapt_message *why)
{
    rapt_status status = READ(own, given, rapt_attention, why);
    return status ? status : rapt__attention_check(own, why);
}

rapt_status rapt_attention_check(const rapt_attention *a, rapt_message *why)
{
    rapt_attention own;
    return read_problem(&own, a, why);
}

size_t rapt_attention_workspace(const rapt_attention *a)
{
    rapt_attention own;
    if (read_problem(&own, a, NULL) != RAPT_OK) return 0;
    return rapt__attention_workspace(&own, rapt__team_size(own.threads));
}

enum { WORKSPACE_ALIGNMENT = 64 };

struct call { /* arguments of forward, backward or weights */
    rapt_attention a;
    rapt_attention_saved saved;
    rapt_reinforce reinforce;
    rapt_gradients d;
    const float *q, *k, *v, *out, *dout;
    float *to;
    int sequence, head, first, rows;
    void *workspace;
};

static rapt_status missing_array(const char *array, rapt_message *why)
{
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", array);
}

/* Checks the workspace, q, k and v. An array without rows may be NULL. */
static rapt_status check_inputs(const struct call *c, rapt_message *why)
{
    bool queries = rapt__query_rows(&c->a) > 0, keys = rapt__key_rows(&c->a) > 0;
    if (!c->workspace) return missing_array("workspace", why);
    if ((uintptr_t)c->workspace % WORKSPACE_ALIGNMENT != 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "workspace: the address is not a multiple of %d bytes",
                          WORKSPACE_ALIGNMENT);
    if (queries && !c->q) return missing_array("q", why);
    if (keys && !c->k && !rapt__score(c->a.score)->keyless) return missing_array("k", why);
    if (keys && !c->v) return missing_array("v", why);
    return RAPT_OK;
}

/* Checks that saved.chosen is given if the normalizer is hard and, for calls that follow forward,
   that lse or statistics is given. */
static rapt_status check_saved(const struct call *c, bool after, rapt_message *why)
{
    if (rapt__query_rows(&c->a) == 0) return RAPT_OK;
    if (after && !c->saved.lse && !c->saved.statistics)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "saved.lse and saved.statistics are both NULL; give one of them");
    if (!rapt__normalizer_is_hard(c->a.normalizer) || c->saved.chosen) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "saved.chosen is NULL, but %s needs it",
                      rapt_normalizer_name(c->a.normalizer));
}

static void forward_member(struct team *team, void *argument)
{
    const struct call *c = argument;
    rapt__attention_forward(team, &c->a, c->q, c->k, c->v, c->to, &c->saved, c->workspace);
}

rapt_status rapt_attention_forward(const rapt_attention *a, const float *q, const float *k,
                                   const float *v, float *out, const rapt_attention_saved *saved,
                                   void *workspace, rapt_message *why)
{
    struct call c = {.q = q, .k = k, .v = v, .to = out, .workspace = workspace};
    rapt_status status = read_problem(&c.a, a, why);
    if (!status && saved) status = READ(&c.saved, saved, rapt_attention_saved, why);
    if (!status) status = check_inputs(&c, why);
    if (!status && rapt__query_rows(&c.a) > 0 && !out) status = missing_array("out", why);
    if (!status) status = check_saved(&c, false, why);
    if (!status) rapt__team_run(c.a.threads, forward_member, &c);
    return status;
}

static rapt_status check_repeats(const struct call *c, rapt_message *why)
{
    const rapt_attention *a = &c->a;
    int key_heads = rapt__key_heads_of(a), batch_q = a->query_starts ? 1 : a->batch;
    int batch_k = a->key_starts ? 1 : a->batch;
    int queries = a->query_starts ? rapt__query_rows(a) : a->queries;
    int keys = a->key_starts ? rapt__key_rows(a) : a->keys;
    const char *array = NULL;
    if (c->d.q && rapt__rows_repeat(&a->q, batch_q, a->heads, queries)) array = "q";
    if (c->d.k && rapt__rows_repeat(&a->k, batch_k, key_heads, keys)) array = "k";
    if (c->d.v && rapt__rows_repeat(&a->v, batch_k, key_heads, keys)) array = "v";
    if (c->d.log_forget && rapt__rows_repeat(&a->log_forget_stride, batch_k, a->heads, keys))
        array = "log_forget";
    if (!array) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT,
                      "gradients.%s: a stride of %s is 0, so rows would share one gradient", array,
                      array);
}

/* Checks that each requested gradient belongs to an array of the problem. The gradient of an array
   that is given but ignored may be requested; nothing is added to it. */
static rapt_status check_wanted_gradients(const struct call *c, rapt_message *why)
{
    const rapt_attention *a = &c->a;
    const rapt_gradients *d = &c->d;
    const char *array = NULL;
    for (int i = 0; i < RAPT_ATTENTION_PARAMETER_CAPACITY; i++)
        if (d->parameters[i] && !a->parameters.array[i])
            array = i < RAPT_ATTENTION_PARAMETER_COUNT
                        ? rapt_attention_parameter_name((rapt_attention_parameter)i)
                        : "an array from a later version";
    if (d->bias && !a->mask.bias) array = "bias";
    if (d->slopes && !a->relative.slopes) array = "slopes";
    if (d->table && !a->relative.table) array = "table";
    if (d->log_forget && !a->log_forget) array = "log_forget";
    const rapt_distance_gradients *x = &d->distances;
    const rapt_distances *y = &a->distances;
    if (x->keys && !y->keys) array = "distances.keys";
    if (x->queries && !y->queries) array = "distances.queries";
    if (x->values && !y->values) array = "distances.values";
    if (x->content_bias && !y->content_bias) array = "distances.content_bias";
    if (x->position_bias && !y->position_bias) array = "distances.position_bias";
    if (d->talking_scores && !a->talking_scores) array = "talking_scores";
    if (d->talking_weights && !a->talking_weights) array = "talking_weights";
    if (!array) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT,
                      "gradient of %s: the problem does not have this array", array);
}

static void backward_member(struct team *team, void *argument)
{
    const struct call *c = argument;
    const struct weight_losses none = {NULL, NULL};
    rapt__attention_backward(team, &c->a, c->q, c->k, c->v, c->out, &c->saved, c->dout,
                             &c->reinforce, &none, &c->d, c->workspace);
}

rapt_status rapt_attention_backward(const rapt_attention *a, const float *q, const float *k,
                                    const float *v, const float *out,
                                    const rapt_attention_saved *saved, const float *dout,
                                    const rapt_reinforce *reinforce, const rapt_gradients *d,
                                    void *workspace, rapt_message *why)
{
    struct call c = {.q = q, .k = k, .v = v, .out = out, .dout = dout, .workspace = workspace};
    rapt_status status = read_problem(&c.a, a, why);
    if (!status) status = READ(&c.saved, saved, rapt_attention_saved, why);
    if (!status && reinforce) status = READ(&c.reinforce, reinforce, rapt_reinforce, why);
    if (!status) status = READ(&c.d, d, rapt_gradients, why);
    if (!status) status = check_inputs(&c, why);
    if (!status) status = check_saved(&c, true, why);
    if (status) return status;
    bool queries = rapt__query_rows(&c.a) > 0;
    if (queries && !out) return missing_array("out", why);
    if (queries && !dout) return missing_array("dout", why);
    if (queries && c.a.normalizer == RAPT_NORMALIZER_SAMPLE && !c.reinforce.reward)
        return missing_array("reinforce.reward", why);
    if (!isfinite(c.reinforce.entropy))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "reinforce.entropy is not finite");
    status = check_wanted_gradients(&c, why);
    if (!status) status = check_repeats(&c, why);
    if (!status) rapt__team_run(c.a.threads, backward_member, &c);
    return status;
}

static void weights_of(struct team *team, void *argument)
{
    const struct call *c = argument;
    rapt__attention_weights(team, &c->a, c->q, c->k, &c->saved, c->sequence, c->head, c->first,
                            c->rows, c->to, c->workspace);
}

static rapt_status check_range(const struct call *c, rapt_message *why)
{
    const rapt_attention *a = &c->a;
    if (c->sequence < 0 || c->sequence >= a->batch)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "sequence is %d, but the batch has %d sequences",
                          c->sequence, a->batch);
    if (c->head < 0 || c->head >= a->heads)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "head is %d, but there are %d heads", c->head,
                          a->heads);
    if (c->first < 0 || c->rows < 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "first is %d and rows is %d, but both must be 0 or more", c->first,
                          c->rows);
    int queries = rapt__sequence(a, c->sequence).queries;
    if (c->first <= queries && c->rows <= queries - c->first) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT,
                      "%d rows starting at row %d exceed the %d queries of the sequence", c->rows,
                      c->first, queries);
}

rapt_status rapt_attention_weights(const rapt_attention *a, const float *q, const float *k,
                                   const rapt_attention_saved *saved, int sequence, int head,
                                   int first, int rows, float *weights, void *workspace,
                                   rapt_message *why)
{
    struct call c = {.q = q,
                     .k = k,
                     .sequence = sequence,
                     .head = head,
                     .first = first,
                     .rows = rows,
                     .to = weights,
                     .workspace = workspace};
    rapt_status status = read_problem(&c.a, a, why);
    if (!status) status = READ(&c.saved, saved, rapt_attention_saved, why);
    if (!status) status = check_range(&c, why);
    if (status || rows == 0 || rapt__sequence(&c.a, sequence).keys == 0) return status;
    c.v = c.q; /* not read, but check_inputs requires it */
    status = check_inputs(&c, why);
    if (!status) status = check_saved(&c, true, why);
    if (!status && !weights) status = missing_array("weights", why);
    if (!status) rapt__team_run(c.a.threads, weights_of, &c);
    return status;
}

/* ---- learned arrays ---- */

static rapt_status lay_out_learned(const rapt_attention *a, rapt_attention_parameters_layout *l,
                                   rapt_message *why)
{
    for (int i = 0; i < RAPT_ATTENTION_PARAMETER_COUNT; i++) {
        if (!rapt__learned_read(a, i)) continue;
        const struct learned_shape s = rapt__learned_shape(a, i);
        size_t floats;
        if (s.rows > INT_MAX || !rapt__times((size_t)s.rows, (size_t)s.columns, &floats) ||
            floats > PTRDIFF_MAX / sizeof(float) / 2 - l->floats - LANES)
            return rapt__fail(
                why, RAPT_BAD_ARGUMENT, "%s has %lld rows, so the size of the block overflows",
                rapt_attention_parameter_name((rapt_attention_parameter)i), (long long)s.rows);
        l->rows[i] = (int)s.rows, l->columns[i] = (int)s.columns;
        l->offset[i] = l->floats;
        l->floats += rapt__round_up_size(floats, LANES);
    }
    return RAPT_OK;
}

rapt_status rapt_attention_parameters_lay_out(const rapt_attention *a,
                                              rapt_attention_parameters_layout *layout,
                                              rapt_message *why)
{
    rapt_attention own;
    rapt_attention_parameters_layout l = {.size = sizeof l};
    rapt_status status = rapt__struct_read(&own, sizeof own, a, "rapt_attention", why);
    if (!status) status = rapt__struct_check(layout, "rapt_attention_parameters_layout", why);
    if (!status) status = rapt__shapes_check(&own, why);
    if (!status) status = lay_out_learned(&own, &l, why);
    return status
               ? status
               : rapt__struct_write(layout, &l, sizeof l, "rapt_attention_parameters_layout", why);
}
