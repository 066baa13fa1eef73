/* trainer.c - source and target tokens in; loss, gradients and, by a step, new parameters out.
   Teacher forcing (the decoder's inputs are the labels before), label-smoothed cross-entropy, Adam.
 */
#include "run/trainer.h"

#include <math.h>
#include <string.h>

/* ---- one batch ---- */

/* What all members of the team work on. */
struct batch {
    rapt_trainer *trainer;
    struct stack encoder, decoder;
    struct pass source, target; /* count 0: that side is absent */
    bool gradient;
    float smoothing;
    struct loss sums, expected; /* of the batch; the same where all is expected */
};

static struct rows rows_of(int batch, const int *starts)
{
    return (struct rows){batch, starts[batch], starts, rapt__longest(batch, starts)};
}

static struct stack stack_of(rapt_trainer *t, bool decoder)
{
    return (struct stack){.model = t->model,
                          .block = t->model->block,
                          .decoder = decoder,
                          .memory = decoder ? &t->decoder : &t->encoder,
                          .attention_workspace = t->attention_workspace,
                          .threads = t->limits.threads,
                          .final = t->shards.early.ready ? rapt__shards_final : NULL,
                          .argument = t};
}

/* What a pass through the model is to leave: sums of losses, and gradients or not. */
struct aim {
    bool gradient;
    struct loss *sums;
};

static void loss_of(const struct exec_context *c, struct batch *b, const struct aim *aim,
                    const float *states, int rows, float *dstates)
{
    rapt_trainer *t = b->trainer;
    const struct linear_offsets *offset = &t->model->layout.output;
    struct linear output = rapt__linear_at(offset, t->model->block);
    float *dbias = aim->gradient && offset->bias ? t->gradients + offset->bias : NULL;
    rapt__loss(c, &output, states, rows, t->labels, b->smoothing, aim->sums,
               aim->gradient ? dstates : NULL, aim->gradient ? t->gradients + offset->weight : NULL,
               dbias, t->loss_workspace);
}

/* The loss of pooled rows; the gradient of all rows is the encoder's dout. */
static void pooled_loss(const struct exec_context *c, struct batch *b, const struct aim *aim,
                        const float *states)
{
    rapt_trainer *t = b->trainer;
    const rapt_config *config = &t->model->config;
    const struct rows *rows = &b->source.rows;
    const struct pool pool = {config->pooling == RAPT_POOLING_MEAN, rows->batch, config->width,
                              rows->starts};
    rapt__pool_forward(c, &pool, states, t->pooled);
    loss_of(c, b, aim, t->pooled, rows->batch, t->dpooled);
    if (aim->gradient) rapt__pool_backward(c, &pool, t->dpooled, t->encoder.dout);
}

/* Through both halves to the loss. Sets target->states, which it returns; NULL: no source. */
static const float *forward(const struct exec_context *c, struct batch *b, const struct aim *aim,
                            const struct pass *source, struct pass *target)
{
    rapt_trainer *t = b->trainer;
    bool decodes = t->model->config.kind != RAPT_KIND_ENCODER_ONLY;
    const float *states = NULL, *last = NULL;
    if (source->rows.count) last = states = rapt__stack_forward(c, &b->encoder, source);
    target->states = states;
    if (decodes) last = rapt__stack_forward(c, &b->decoder, target);
    if (t->model->config.pooling)
        pooled_loss(c, b, aim, states);
    else
        loss_of(c, b, aim, last, decodes ? target->rows.count : source->rows.count,
                decodes ? t->decoder.dout : t->encoder.dout);
    return states;
}

/* The losses of RAPT_BASELINE_EXPECTED. */
static void expect(const struct exec_context *c, struct batch *b)
{
    const struct aim aim = {false, &b->expected};
    struct pass source = b->source, target = b->target;
    source.expected = target.expected = b->trainer->all_expected;
    forward(c, b, &aim, &source, &target);
}

static void work_on_batch(struct team *team, void *argument)
{
    struct batch *b = argument;
    rapt_trainer *t = b->trainer;
    struct exec_context c = {team, rapt__kernels(), t->pack, &t->products};
    bool decodes = t->model->config.kind != RAPT_KIND_ENCODER_ONLY;
    struct pass target = b->target;
    const struct aim aim = {b->gradient, &b->sums};
    if (b->gradient && t->options.baseline == RAPT_BASELINE_EXPECTED) expect(&c, b);
    const float *states = forward(&c, b, &aim, &b->source, &target);
    if (!b->gradient) return;
    if (t->losses) {
        if (team->rank == 0) rapt__rewards_fill(t, &b->source.rows, &b->target.rows);
        rapt__team_barrier(team);
    }
    if (decodes) {
        size_t states_size = (size_t)b->source.rows.count * (size_t)t->model->config.width;
        if (states) rapt__fill(&c, t->encoder.dout, states_size, 0);
        rapt__stack_backward(&c, &b->decoder, &target, t->encoder.dout, t->gradients, t->partial);
    }
    if (states) rapt__stack_backward(&c, &b->encoder, &b->source, NULL, t->gradients, t->partial);
}

/* Inputs are all tokens but the last, labels all but the first, of begin, y1 .. yn, end; begin and
   end are in target, or the options have them. */
static void split_target(rapt_trainer *t, const rapt_tokens *target)
{
    const rapt_train_options *o = &t->options;
    int n = 0;
    t->input_starts[0] = 0;
    for (int b = 0; b < target->batch; b++) {
        int first = target->starts[b], end = target->starts[b + 1];
        if (o->frame) t->inputs[n] = o->begin;
        for (int i = first; o->frame && i < end; i++) {
            t->labels[n++] = target->ids[i];
            t->inputs[n] = target->ids[i];
        }
        if (o->frame) t->labels[n++] = o->end;
        for (int i = first; !o->frame && i + 1 < end; i++, n++) {
            t->inputs[n] = target->ids[i];
            t->labels[n] = target->ids[i + 1];
        }
        t->input_starts[b + 1] = n;
    }
}

static struct drop drop_of(const rapt_trainer *t, bool training, int shard)
{
    if (!training) return (struct drop){0};
    const rapt_train_options *o = &t->options;
    return (struct drop){o->dropout, o->attention_dropout, o->ffn_dropout,
                         rapt__mix(o->seed, (uint64_t)(t->state.calls + shard))};
}

static struct batch prepare(rapt_trainer *t, const rapt_tokens *source, const rapt_tokens *target,
                            bool gradient, int shard)
{
    static const int none[1] = {0};
    struct batch b = {.trainer = t, .gradient = gradient};
    rapt_kind kind = t->model->config.kind;
    b.encoder = stack_of(t, false);
    b.decoder = stack_of(t, true);
    b.smoothing = t->options.label_smoothing;
    b.source.drop = b.target.drop = drop_of(t, gradient, shard);
    b.source.learning = b.target.learning = gradient;
    b.source.reward = t->encoder_reward, b.source.baseline = t->encoder_baseline;
    b.target.reward = t->decoder_reward, b.target.baseline = t->decoder_baseline;
    b.sums.rows = t->losses, b.expected.rows = t->expected_losses;
    if (t->expected && gradient) rapt__expected_draw(t, target->batch, b.source.drop.key);
    b.source.expected = b.target.expected = t->expected;
    b.source.entropy = b.target.entropy = t->options.reward_entropy;
    b.source.anneal = b.target.anneal = rapt__anneal_now(t);
    b.source.rows = b.target.rows = (struct rows){0, 0, none, 0};
    if (kind != RAPT_KIND_DECODER_ONLY) {
        b.source.ids = source->ids;
        b.source.vectors = rapt__vectors_of(&t->model->config, source);
        b.source.rows = rows_of(source->batch, source->starts);
    }
    if (kind == RAPT_KIND_ENCODER_ONLY) {
        size_t count = (size_t)target->starts[target->batch];
        if (count) memcpy(t->labels, target->ids, sizeof *t->labels * count);
        return b;
    }
    split_target(t, target);
    b.target.ids = t->inputs;
    b.target.rows = rows_of(target->batch, t->input_starts);
    b.target.source = b.source.rows;
    if (gradient) b.target.guide = rapt__guide_of(t, b.target.rows.count);
    return b;
}

static rapt_status check_sources(const rapt_trainer *t, const rapt_tokens *source, int batch,
                                 rapt_message *why)
{
    const rapt_config *c = &t->model->config;
    const struct token_limits limits = {.what = "source",
                                        .vocab = c->source_vocab,
                                        .vectors = c->source_width > 0,
                                        .batch = t->limits.batch,
                                        .tokens = t->limits.source_tokens,
                                        .length = c->positions};
    rapt_status status = rapt__tokens_check(source, &limits, why);
    if (status) return status;
    if (source->batch != batch)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%d source and %d target sequences",
                          source->batch, batch);
    for (int b = 0; b < batch; b++)
        if (source->starts[b + 1] == source->starts[b])
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "source sequence %d is empty", b);
    return RAPT_OK;
}

/* Labels of an encoder-only model: one for each source token, or sequence; negative: none. */
static rapt_status check_labels(const rapt_trainer *t, const rapt_tokens *source,
                                const rapt_tokens *target, rapt_message *why)
{
    bool pools = t->model->config.pooling != RAPT_POOLING_NONE;
    for (int b = 0; b <= target->batch; b++) {
        int wanted = pools ? b : source->starts[b];
        if (target->starts[b] != wanted)
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "target: starts[%d] is %d, with one label for each source %s it is "
                              "%d",
                              b, target->starts[b], pools ? "sequence" : "token", wanted);
    }
    int count = target->starts[target->batch];
    if (count > 0 && !target->ids)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "target: its ids are NULL");
    for (int i = 0; i < count; i++)
        if (target->ids[i] >= t->model->config.target_vocab)
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "target: label ids[%d] is %d, the vocabulary has %d", i,
                              (int)target->ids[i], t->model->config.target_vocab);
    return RAPT_OK;
}

/* Of a model with a decoder. */
static rapt_status check_targets(const rapt_trainer *t, const rapt_tokens *target,
                                 rapt_message *why)
{
    const rapt_config *c = &t->model->config;
    const struct token_limits limits = {.what = "target",
                                        .vocab = c->target_vocab,
                                        .batch = t->limits.batch,
                                        .tokens = t->limits.target_tokens,
                                        .length = c->positions +
                                                  1, /* the last token is a label, not an input */
                                        .extra = t->options.frame ? 2 : 0,
                                        .begin_and_end = true};
    rapt_status status = rapt__tokens_check(target, &limits, why);
    for (int b = 0; !status && !t->options.frame && b < target->batch; b++)
        if (target->starts[b + 1] - target->starts[b] < 2)
            return rapt__fail(
                why, RAPT_BAD_ARGUMENT,
                "target: sequence %d has %d tokens, and is to be begin, y1 .. yn, end: "
                "write them, or set options.frame",
                b, target->starts[b + 1] - target->starts[b]);
    return status;
}

static rapt_status check(const rapt_trainer *t, const rapt_tokens *source,
                         const rapt_tokens *target, rapt_message *why)
{
    const rapt_config *c = &t->model->config;
    if (!target || !target->starts)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s: NULL", target ? "target.starts" : "target");
    rapt_status status = RAPT_OK;
    if (c->kind != RAPT_KIND_DECODER_ONLY) status = check_sources(t, source, target->batch, why);
    if (status) return status;
    if (c->kind == RAPT_KIND_ENCODER_ONLY) return check_labels(t, source, target, why);
    return check_targets(t, target, why);
}

static void add_loss(rapt_report *sums, const struct loss *loss)
{
    sums->loss += loss->loss;
    sums->likelihood += loss->likelihood;
    sums->tokens += loss->tokens;
    sums->correct += loss->correct;
}

/* Of the caller; NULL: none is wanted. */
static rapt_status check_report(const rapt_report *report, rapt_message *why)
{
    return report ? rapt__struct_check(report, "rapt_report", why) : RAPT_OK;
}

/* Gradients of rapt_train_gradient would be added to those of shards. */
static rapt_status check_shards(const rapt_trainer *t, rapt_message *why)
{
    if (!t->shards.count) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "shards wait for rapt_train_shards_step");
}

static rapt_status write_report(rapt_report *report, const rapt_report *own, rapt_message *why)
{
    return report ? rapt__struct_write(report, own, sizeof *own, "rapt_report", why) : RAPT_OK;
}

rapt_status rapt__trainer_batch(rapt_trainer *t, const rapt_tokens *source,
                                const rapt_tokens *target, bool gradient, int shard,
                                struct loss *sums, rapt_message *why)
{
    rapt_status status = check(t, source, target, why);
    if (!status && gradient) status = rapt__alignment_check(t, source, target, why);
    if (status) return status;
    struct batch b = prepare(t, source, target, gradient, shard);
    rapt__team_run(t->limits.threads, work_on_batch, &b);
    if (gradient) rapt__guide_end(t, b.target.rows.count);
    if (!isfinite(b.expected.loss)) b.sums.loss = b.expected.loss; /* no baseline: no gradient */
    *sums = b.sums;
    return RAPT_OK;
}

static rapt_status run(rapt_trainer *t, const rapt_tokens *source, const rapt_tokens *target,
                       bool gradient, rapt_report *report, rapt_message *why)
{
    if (!t) return rapt__fail(why, RAPT_BAD_ARGUMENT, "trainer: NULL");
    struct loss sums;
    rapt_status status = check_report(report, why);
    if (!status && gradient) status = check_shards(t, why);
    if (!status) status = rapt__trainer_batch(t, source, target, gradient, 0, &sums, why);
    if (status) return status;
    if (!isfinite(sums.loss)) {
        if (gradient) rapt__trainer_discard(t);
        return rapt__fail(why, RAPT_NOT_FINITE, "the loss is %g", sums.loss);
    }
    if (gradient) {
        t->tokens += sums.tokens, t->state.calls++;
        add_loss(&t->sums, &sums);
        t->sums.alignment += t->alignment_loss;
        rapt__mean_loss_update(t, sums.loss, sums.tokens);
    }
    rapt_report one = {.size = sizeof one, .step = t->state.steps};
    add_loss(&one, &sums);
    one.alignment = gradient ? t->alignment_loss : 0;
    return write_report(report, &one, why);
}

rapt_status rapt_train_gradient(rapt_trainer *trainer, const rapt_tokens *source,
                                const rapt_tokens *target, rapt_report *report, rapt_message *why)
{
    return run(trainer, source, target, true, report, why);
}

rapt_status rapt_train_evaluate(rapt_trainer *trainer, const rapt_tokens *source,
                                const rapt_tokens *target, rapt_report *report, rapt_message *why)
{
    return run(trainer, source, target, false, report, why);
}

void rapt__trainer_discard(rapt_trainer *t)
{
    memset(t->gradients, 0, t->model->layout.floats * sizeof(float));
    t->tokens = 0;
    t->sums = (rapt_report){0};
    t->state.calls++;
}

/* ---- the step ---- */

struct step_work {
    rapt_trainer *trainer;
    struct adam adam;
    double squares, norm;    /* of the gradient of the mean loss */
    struct adam_range range; /* of parameters and moments after the step */
};

/* Bounds of what a step makes of parameters and moments, from bounds before it and of the gradient,
   `largest`: |m'| <= beta1 |m| + (1 - beta1) |g|, and the step is at most rate |m'| / epsilon.
   Infinite if they do not show that every result and intermediate result is finite. Roundings are
   covered by the last factors, and by `far`, which is far below the largest float; |g| <= 1e18
   makes its square and so the second moment finite. */
static struct adam_range bounds_after(const rapt_trainer *t, const struct adam *a, double largest)
{
    static const double far = 1e37, rounded = 1 + 1e-6;
    const struct adam_range unknown = {(double)INFINITY, (double)INFINITY};
    struct adam_range r;
    double beta1 = (double)a->beta1, epsilon = (double)a->epsilon;
    r.moment = (beta1 * t->moment_bound + (1 - beta1) * largest) * rounded;
    double step = (double)a->rate * (double)a->correct1 * r.moment;
    if (epsilon < 1) step /= epsilon;
    r.parameter = (t->model->bound * (1 + (double)a->decay) + step) * rounded;
    return largest <= 1e18 && step < far && r.parameter < far ? r : unknown;
}

static bool finite_range(const struct adam_range *r)
{
    return isfinite(r->parameter) && isfinite(r->moment);
}

static void work_on_step(struct team *team, void *argument)
{
    struct step_work *w = argument;
    rapt_trainer *t = w->trainer;
    struct exec_context c = {team, rapt__kernels(), t->pack, NULL};
    size_t n = t->model->layout.floats;
    float *p = t->model->block, *g = t->gradients;
    rapt__square_sum(&c, g, n, t->step_partial, &w->squares);
    struct adam adam = w->adam;
    double norm = sqrt(w->squares) * (double)adam.gradient_scale, clip = t->options.clip_norm;
    bool clipped = clip > 0 && norm > clip;
    if (clipped) adam.gradient_scale *= (float)(clip / norm);
    /* squares that underflow, and sums in float */
    struct adam_range range = bounds_after(t, &adam, (clipped ? clip : norm) * 1.01 + 1e-20);
    if (isfinite(norm) && !finite_range(&range)) {
        rapt__adam_range(&c, &adam, p, g, t->m, t->v, n, t->step_partial, &w->range);
        range = w->range;
        rapt__team_barrier(team);
    }
    if (isfinite(norm) && finite_range(&range)) rapt__adam(&c, &adam, p, g, t->m, t->v, n);
    if (team->rank == 0) w->norm = norm, w->range = range;
    rapt__fill(&c, g, n, 0);
}

rapt_status rapt__step_check(const rapt_trainer *t, rapt_message *why)
{
    if (t->tokens <= 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "no gradient of any token: call rapt_train_gradient first");
    return rapt__rate_check(t->state.rate, why);
}

rapt_status rapt__trainer_step(rapt_trainer *t, rapt_report *report, rapt_message *why)
{
    const rapt_train_options *o = &t->options;
    double step = (double)(t->state.steps + 1);
    float rate = rapt__schedule_rate(o, t->state.rate, t->state.steps + 1);
    struct step_work w = {.trainer = t};
    w.adam = (struct adam){.rate = rate,
                           .beta1 = o->beta1,
                           .beta2 = o->beta2,
                           .epsilon = o->epsilon,
                           .correct1 = (float)(1 / (1 - rapt__pow((double)o->beta1, step))),
                           .correct2 = (float)(1 / (1 - rapt__pow((double)o->beta2, step))),
                           .decay = rate * o->weight_decay,
                           .gradient_scale = (float)(1 / (double)t->tokens)};
    rapt__team_run(t->limits.threads, work_on_step, &w);
    rapt_report own = t->sums;
    t->tokens = 0;
    t->sums = (rapt_report){0};
    if (!isfinite(w.norm))
        return rapt__fail(why, RAPT_NOT_FINITE, "the norm of the gradient is %g", w.norm);
    if (!finite_range(&w.range))
        return rapt__fail(why, RAPT_NOT_FINITE,
                          "a parameter would become infinite or NaN: rate %g, epsilon %g, "
                          "weight_decay %g, norm of the gradient %g",
                          (double)rate, (double)o->epsilon, (double)o->weight_decay, w.norm);
    t->model->bound = w.range.parameter, t->moment_bound = w.range.moment;
    own.gradient_norm = w.norm;
    own.rate = (double)rate;
    own.step = ++t->state.steps;
    return write_report(report, &own, why);
}

rapt_status rapt_train_step(rapt_trainer *trainer, rapt_report *report, rapt_message *why)
{
    if (!trainer) return rapt__fail(why, RAPT_BAD_ARGUMENT, "trainer: NULL");
    rapt_status status = check_report(report, why);
    if (!status) status = check_shards(trainer, why);
    if (!status) status = rapt__step_check(trainer, why);
    return status ? status : rapt__trainer_step(trainer, report, why);
}
