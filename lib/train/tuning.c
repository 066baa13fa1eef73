/* tuning.c - applies options.tuning, which selects the parameters that a trainer changes, and
   trains low-rank adapters for matrices (Hu et al. 2021, LoRA): W = W0 + s B A with A [rank][in], B
   [out][rank] and a constant s.

   The model always contains W, and the backward pass computes the gradient dW as for any other
   matrix. A step computes the exact gradients of A and B from dW:

       dA = s B' dW        dB' = s A dW'        W = W0 + s (B')' A

   Apart from the factor s, these are the three products of a linear layer (op/linear.c) with
   weights dW, inputs A and output gradients B', on `rank` rows. The layers that lib/train calls
   therefore need no support for adapters. B is stored transposed. */
#include "train/train.h"

#include <math.h>
#include <string.h>

static rapt_tuning tuning_of(const rapt_train_options *o, int index)
{
    return o->tuning ? (rapt_tuning)o->tuning[index] : RAPT_TUNING_FULL;
}

/* ---- options ---- */

static rapt_status check_parameter(const rapt_train_options *o, const struct parameter *p,
                                   int index, rapt_message *why)
{
    if (o->tuning[index] > RAPT_TUNING_LORA)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "tuning[%d] (%s) is %d; it must be a rapt_tuning, 0 to %d", index,
                          p->name, o->tuning[index], RAPT_TUNING_LORA);
    if (o->tuning[index] != RAPT_TUNING_LORA) return RAPT_OK;
    if (p->kind != IN_PANELS)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "tuning[%d]: %s is not a matrix, so it cannot have an adapter", index,
                          p->name);
    if (o->lora_rank >= 1 && o->lora_rank <= rapt__min(p->rows, p->columns)) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT,
                      "lora_rank is %d; it must be from 1 to %d, the smaller side of %s",
                      o->lora_rank, rapt__min(p->rows, p->columns), p->name);
}

rapt_status rapt__tuning_check(const rapt_train_options *o, const rapt_model *model,
                               rapt_message *why)
{
    const struct layout *l = &model->layout;
    int trained = 0, adapted = 0;
    rapt_status status = rapt__int_check("lora_rank", o->lora_rank, 0, INT32_MAX, why);
    if (!status) status = rapt__float_check("lora_alpha", o->lora_alpha, 0, 1e6, why);
    for (int i = 0; !status && o->tuning && i < l->count; i++) {
        status = check_parameter(o, &l->parameters[i], i, why);
        trained += o->tuning[i] != RAPT_TUNING_FROZEN;
        adapted += o->tuning[i] == RAPT_TUNING_LORA;
    }
    if (status) return status;
    if (o->tuning && !trained)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "tuning: all %d parameters are frozen", l->count);
    if (adapted || (!o->lora_rank && o->lora_alpha == 0)) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT,
                      "%s is set, but no parameter has the tuning RAPT_TUNING_LORA",
                      o->lora_rank ? "lora_rank" : "lora_alpha");
}

/* ---- memory ---- */

static void count_tunings(const rapt_train_options *o, int parameters, int counts[TUNINGS])
{
    memset(counts, 0, TUNINGS * sizeof *counts);
    for (int i = 0; i < parameters; i++) counts[tuning_of(o, i)]++;
}

/* Appends a copy of p, at offset *floats, to a layout, and adds its size to *floats. */
static void append_parameter(struct layout *l, const struct parameter *p, size_t *floats)
{
    struct parameter own = *p;
    own.offset = *floats;
    if (l->parameters) l->parameters[l->count] = own;
    l->count++;
    *floats += rapt__parameter_floats(p);
}

/* Appends a parameter that is trained in full. Adjacent parameters share a range. */
static void append_trained(struct tuning *u, const struct parameter *p)
{
    size_t floats = rapt__parameter_floats(p), at = u->moments.floats;
    append_parameter(&u->moments, p, &u->moments.floats);
    if (!u->ranges) return;
    struct trained_range *last = u->ranges + u->range_count;
    if (u->range_count && last[-1].from + last[-1].floats == p->offset)
        last[-1].floats += floats;
    else
        *last = (struct trained_range){p->offset, at, floats}, u->range_count++;
}

static void append_adapter(struct tuning *u, const struct parameter *p)
{
    struct parameter a = *p, b = *p;
    a.kind = b.kind = IN_ROWS;
    a.rows = b.rows = u->rank;
    b.columns = p->rows;
    a.initial = INITIAL_TABLE, b.initial = INITIAL_ZERO;
    append_parameter(&u->base, p, &u->base.floats);
    append_parameter(&u->a, &a, &u->floats);
    append_parameter(&u->b, &b, &u->floats);
    u->side = rapt__max(u->side, rapt__max(p->rows, p->columns));
}

void rapt__tuning_layout(rapt_trainer *t, struct arena *arena)
{
    const struct layout *l = &t->model->layout;
    const rapt_train_options *o = &t->options;
    struct tuning *u = &t->tuning;
    int counts[TUNINGS];
    count_tunings(o, l->count, counts);
    const size_t full = (size_t)counts[RAPT_TUNING_FULL], lora = (size_t)counts[RAPT_TUNING_LORA];
    const size_t each = sizeof(struct parameter);
    *u = (struct tuning){.rank = o->lora_rank};
    if (lora) u->scale = o->lora_alpha > 0 ? o->lora_alpha / (float)o->lora_rank : 1;
    u->moments.parameters = rapt__arena_take(arena, full, each);
    u->ranges = rapt__arena_take(arena, full, sizeof *u->ranges);
    u->base.parameters = rapt__arena_take(arena, lora, each);
    u->a.parameters = rapt__arena_take(arena, lora, each);
    u->b.parameters = rapt__arena_take(arena, lora, each);
    u->adapted = rapt__arena_take(arena, lora, sizeof *u->adapted);
    for (int i = 0; i < l->count; i++) {
        if (tuning_of(o, i) == RAPT_TUNING_FULL) append_trained(u, &l->parameters[i]);
        if (tuning_of(o, i) != RAPT_TUNING_LORA) continue;
        if (u->adapted) u->adapted[u->base.count] = i;
        append_adapter(u, &l->parameters[i]);
    }
    bool measured = o->tuning && o->products == RAPT_PRODUCTS_AUTO;
    size_t scratch = measured ? rapt__products_scratch(l) : 0;
    u->moment_floats = rapt__max_size(u->moments.floats, scratch);
    t->m = rapt__arena_floats(arena, u->moment_floats, 1);
    t->v = rapt__arena_floats(arena, u->moment_floats, 1);
    u->frozen = rapt__arena_floats(arena, u->base.floats, 1);
    u->adapters = rapt__arena_floats(arena, u->floats, 1);
    u->gradients = rapt__arena_floats(arena, u->floats, 1);
    u->m = rapt__arena_floats(arena, u->floats, 1);
    u->v = rapt__arena_floats(arena, u->floats, 1);
    u->scaled = rapt__arena_floats(arena, (size_t)u->rank, (size_t)u->side);
}

/* Mixed into the seed, so that adapters differ from the initial parameters of a model. */
enum { ADAPTERS = 0x6c6f7261 };

void rapt__tuning_begin(rapt_trainer *t)
{
    struct tuning *u = &t->tuning;
    for (int i = 0; i < u->base.count; i++) {
        const struct parameter *p = &u->base.parameters[i];
        const float *w = t->model->block + t->model->layout.parameters[u->adapted[i]].offset;
        memcpy(u->frozen + p->offset, w, rapt__parameter_floats(p) * sizeof *w);
    }
    rapt__tuning_bound(t);
    rapt__parameters_init(&u->a, rapt__mix(t->options.seed, ADAPTERS), u->adapters);
    t->state.lora_scale = u->scale;
}

void rapt__tuning_bound(rapt_trainer *t)
{
    struct tuning *u = &t->tuning;
    u->frozen_bound = 0;
    for (size_t i = 0; i < u->base.floats; i++) {
        double magnitude = fabs((double)u->frozen[i]);
        if (!(magnitude <= u->frozen_bound)) u->frozen_bound = magnitude;
    }
}

/* ---- steps ---- */

int rapt__trained_parts(const rapt_trainer *t)
{
    return t->tuning.range_count + (t->tuning.base.count > 0);
}

struct trained_part rapt__trained_part(const rapt_trainer *t, int index)
{
    const struct tuning *u = &t->tuning;
    if (index == u->range_count)
        return (struct trained_part){u->adapters, u->gradients, u->m, u->v, u->floats};
    const struct trained_range *r = &u->ranges[index];
    return (struct trained_part){t->model->block + r->from, t->gradients + r->from, t->m + r->at,
                                 t->v + r->at, r->floats};
}

/* Sets u->scaled to s times x [floats]. */
static void scale_rows(const struct exec_context *c, const struct tuning *u, const float *x,
                       size_t floats)
{
    size_t begin, end;
    rapt__team_share(c->team, floats, LANES, &begin, &end);
    for (size_t i = begin; i < end; i++) u->scaled[i] = u->scale * x[i];
    rapt__team_barrier(c->team);
}

void rapt__adapter_gradients(const struct exec_context *c, rapt_trainer *t)
{
    const struct tuning *u = &t->tuning;
    for (int i = 0; i < u->base.count; i++) {
        const struct parameter *p = &t->model->layout.parameters[u->adapted[i]];
        const struct linear dw = rapt__parameter_matrix(p, t->gradients);
        const size_t a = u->a.parameters[i].offset, b = u->b.parameters[i].offset;
        scale_rows(c, u, u->adapters + a, (size_t)u->rank * (size_t)p->columns);
        rapt__linear_forward(c, &dw, u->scaled, p->columns, u->rank, u->gradients + b, p->rows,
                             ACTIVATION_NONE, NULL);
        scale_rows(c, u, u->adapters + b, (size_t)u->rank * (size_t)p->rows);
        rapt__linear_backward_input(c, &dw, u->scaled, p->rows, u->rank, u->gradients + a,
                                    p->columns, false);
    }
}

void rapt__adapters_merge(const struct exec_context *c, rapt_trainer *t)
{
    const struct tuning *u = &t->tuning;
    for (int i = 0; i < u->base.count; i++) {
        const struct parameter *p = &t->model->layout.parameters[u->adapted[i]];
        const struct linear w = rapt__parameter_matrix(p, t->model->block);
        const size_t a = u->a.parameters[i].offset, b = u->b.parameters[i].offset;
        float *to = t->model->block + p->offset;
        rapt__copy(c, u->frozen + u->base.parameters[i].offset, rapt__parameter_floats(p), to);
        scale_rows(c, u, u->adapters + b, (size_t)u->rank * (size_t)p->rows);
        rapt__linear_backward_weight(c, &w, u->adapters + a, p->columns, u->scaled, p->rows,
                                     u->rank, to, NULL);
    }
}

rapt_status rapt_trainer_read_adapter(const rapt_trainer *t, int index, float *a, float *b,
                                      rapt_message *why)
{
    if (!t) return rapt__fail(why, RAPT_BAD_ARGUMENT, "trainer is NULL");
    const struct tuning *u = &t->tuning;
    int i = 0;
    while (i < u->base.count && u->adapted[i] != index) i++;
    if (i == u->base.count)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "parameter %d has no adapter", index);
    const struct parameter *pa = &u->a.parameters[i], *pb = &u->b.parameters[i];
    const float *bs = u->adapters + pb->offset;
    if (a) rapt__parameter_get(pa, u->adapters, 0, rapt__parameter_count(pa), a);
    for (int row = 0; b && row < pb->columns; row++)
        for (int k = 0; k < u->rank; k++)
            b[(size_t)row * (size_t)u->rank + (size_t)k] =
                bs[(size_t)k * (size_t)pb->columns + (size_t)row];
    return RAPT_OK;
}
