/* trainer.c - implements rapt_train_gradient, rapt_train_evaluate and rapt_train_step. An Adam step
   updates all trained parameters and moments or, if a result would not be finite, none of them. */
#include "train/train.h"

#include <math.h>
#include <string.h>

/* ---- the gradient and the report of a batch ---- */

static void add_loss(rapt_report *sums, const struct loss *loss)
{
    sums->loss += loss->loss;
    sums->likelihood += loss->likelihood;
    sums->tokens += loss->tokens;
    sums->correct += loss->correct;
}

static rapt_status check_report(const rapt_report *report, rapt_message *why)
{
    return report ? rapt__struct_check(report, "rapt_report", why) : RAPT_OK;
}

/* Returns an error if gradients of shards are waiting for a step. */
static rapt_status check_shards(const rapt_trainer *t, rapt_message *why)
{
    if (!t->shards.count) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT,
                      "shards have been computed: call rapt_train_shards_step or "
                      "rapt_train_shards_discard first");
}

rapt_status rapt__report_write(rapt_report *report, const rapt_report *own, rapt_message *why)
{
    return report ? rapt__struct_write(report, own, sizeof *own, "rapt_report", why) : RAPT_OK;
}

/* Adds the gradient of a batch, or only evaluates the batch, and writes its report. */
static rapt_status run_batch(rapt_trainer *t, const rapt_tokens *source, const rapt_tokens *target,
                             bool gradient, rapt_report *report, rapt_message *why)
{
    if (!t) return rapt__fail(why, RAPT_BAD_ARGUMENT, "trainer is NULL");
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
        t->tokens += sums.tokens, t->added = true, t->state.calls++;
        add_loss(&t->sums, &sums);
        t->sums.alignment += t->alignment_loss;
        t->sums.coverage += t->coverage_sum;
        rapt__mean_loss_update(t, sums.loss, sums.tokens);
    }
    rapt_report one = {.size = sizeof one, .step = t->state.steps};
    add_loss(&one, &sums);
    one.alignment = gradient ? t->alignment_loss : 0;
    one.coverage = gradient ? t->coverage_sum : 0;
    return rapt__report_write(report, &one, why);
}

rapt_status rapt_train_gradient(rapt_trainer *trainer, const rapt_tokens *source,
                                const rapt_tokens *target, rapt_report *report, rapt_message *why)
{
    return run_batch(trainer, source, target, true, report, why);
}

rapt_status rapt_train_evaluate(rapt_trainer *trainer, const rapt_tokens *source,
                                const rapt_tokens *target, rapt_report *report, rapt_message *why)
{
    return run_batch(trainer, source, target, false, report, why);
}

void rapt__trainer_discard(rapt_trainer *t)
{
    memset(t->gradients, 0, t->model->layout.floats * sizeof(float));
    t->tokens = 0, t->added = false;
    t->sums = (rapt_report){0};
    t->state.calls++;
}

/* ---- steps ---- */

/* Returns the learning rate of a step. `rate` is the peak; steps are numbered from 1. The inverse
   square root schedule, rate * min(step / warmup, sqrt(warmup / step)), is eq. 3 of Vaswani et al.
   2017 if rate = (width * warmup)^-1/2. */
static float schedule_rate(const rapt_train_options *o, float rate, long long step)
{
    double s = (double)step, warmup = o->warmup > 0 ? o->warmup : 1;
    if (o->warmup > 0 && s <= warmup) return (float)(rate * s / warmup);
    if (o->schedule == RAPT_SCHEDULE_INVERSE_SQRT) return (float)(rate * sqrt(warmup / s));
    if (o->schedule == RAPT_SCHEDULE_LINEAR) {
        double left = o->steps > warmup ? (o->steps - s) / (o->steps - warmup) : 0;
        return (float)(rate * (left > 0 ? left : 0));
    }
    return rate;
}

struct step_work {
    rapt_trainer *trainer;
    struct adam adam;
    double squares;          /* sum of the squared gradients of one part */
    double norm;             /* norm of the gradient of the mean loss, before clipping */
    struct adam_range range; /* range of parameters and moments after the step */
};

/* Bounds the magnitudes of parameters p and moments m after a step, given their bounds before it
   and `largest`, a bound on the magnitude of a gradient g:

       |m'| <= beta1 |m| + (1 - beta1) |g|
       |p'| <= (1 + decay) |p| + rate correct1 |m'| / min(epsilon, 1)

   For adapters, no bound is known. The bounds returned are infinite unless they prove that all
   results and intermediate results are finite. The factor `rounded` and the limit `far`, which is
   well below the largest float, allow for rounding. |g| <= 1e18 keeps its square, and therefore the
   second moment, finite. */
static struct adam_range bounds_after_step(const rapt_trainer *t, const struct adam *a,
                                           double largest)
{
    static const double far = 1e37, rounded = 1 + 1e-6;
    const struct adam_range unknown = {(double)INFINITY, (double)INFINITY};
    struct adam_range r;
    double beta1 = (double)a->beta1, epsilon = (double)a->epsilon;
    r.moment = (beta1 * t->moment_bound + (1 - beta1) * largest) * rounded;
    double step = (double)a->rate * (double)a->correct1 * r.moment;
    if (epsilon < 1) step /= epsilon;
    double bound = t->tuning.base.count ? (double)INFINITY : t->model->bound;
    r.parameter = (bound * (1 + (double)a->decay) + step) * rounded;
    return largest <= 1e18 && step < far && r.parameter < far ? r : unknown;
}

static bool finite_range(const struct adam_range *r)
{
    return isfinite(r->parameter) && isfinite(r->moment);
}

/* Returns the sum of the squared gradients of all parts. */
static double sum_squares(const struct exec_context *c, struct step_work *w)
{
    double squares = 0;
    for (int i = 0; i < rapt__trained_parts(w->trainer); i++) {
        const struct trained_part part = rapt__trained_part(w->trainer, i);
        rapt__square_sum(c, part.g, part.floats, w->trainer->step_partial, &w->squares);
        squares += w->squares;
    }
    return squares;
}

/* Computes the results of a step without storing them, and returns bounds on the magnitudes of
   parameters and moments. The bound on parameters includes the matrices W0 + s B A. */
static struct adam_range try_step(const struct exec_context *c, struct step_work *w,
                                  const struct adam *adam)
{
    const rapt_trainer *t = w->trainer;
    const struct tuning *u = &t->tuning;
    struct adam_range all = {0, 0};
    for (int i = 0; i < rapt__trained_parts(t); i++) {
        const struct trained_part x = rapt__trained_part(t, i);
        rapt__adam_range(c, adam, x.p, x.g, x.m, x.v, x.floats, t->step_partial, &w->range);
        all.parameter = fmax(all.parameter, w->range.parameter);
        all.moment = fmax(all.moment, w->range.moment);
    }
    rapt__team_barrier(c->team);
    double merged = u->frozen_bound + (double)u->scale * u->rank * all.parameter * all.parameter;
    if (u->base.count)
        all.parameter = merged < 1e37 ? fmax(all.parameter, merged) : (double)INFINITY;
    return all;
}

/* Clips the gradient, applies it unless a result would not be finite, and zeroes it. If the bounds
   do not prove that all results are finite, try_step first computes them. */
static void work_on_step(struct team *team, void *argument)
{
    struct step_work *w = argument;
    rapt_trainer *t = w->trainer;
    struct exec_context c = {team, rapt__kernels(), t->pack, NULL, NULL};
    rapt__adapter_gradients(&c, t);
    struct adam adam = w->adam;
    double norm = sqrt(sum_squares(&c, w)) * (double)adam.gradient_scale;
    double clip = t->options.clip_norm;
    bool clipped = clip > 0 && norm > clip;
    if (clipped) adam.gradient_scale *= (float)(clip / norm);
    /* 1.01 allows for the rounding of sums in float, and 1e-20 for squares that underflow. */
    struct adam_range range = bounds_after_step(t, &adam, (clipped ? clip : norm) * 1.01 + 1e-20);
    if (isfinite(norm) && !finite_range(&range)) range = try_step(&c, w, &adam);
    bool good = isfinite(norm) && finite_range(&range);
    for (int i = 0; good && i < rapt__trained_parts(t); i++) {
        const struct trained_part x = rapt__trained_part(t, i);
        rapt__adam(&c, &adam, x.p, x.g, x.m, x.v, x.floats);
    }
    if (good) rapt__adapters_merge(&c, t);
    if (team->rank == 0) w->norm = norm, w->range = range;
    rapt__fill(&c, t->gradients, t->model->layout.floats, 0);
}

rapt_status rapt__step_check(const rapt_trainer *t, rapt_message *why)
{
    if (t->tokens <= 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "no token contributed a gradient: train on a batch with labels first");
    return rapt__rate_check(t->state.rate, why);
}

rapt_status rapt__trainer_step(rapt_trainer *t, rapt_report *report, rapt_message *why)
{
    const rapt_train_options *o = &t->options;
    double step = (double)(t->state.steps + 1);
    float rate = schedule_rate(o, t->state.rate, t->state.steps + 1);
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
    t->tokens = 0, t->added = false;
    t->sums = (rapt_report){0};
    if (!isfinite(w.norm))
        return rapt__fail(why, RAPT_NOT_FINITE, "the norm of the gradient is %g", w.norm);
    if (!finite_range(&w.range))
        return rapt__fail(
            why, RAPT_NOT_FINITE,
            "a parameter or moment would become infinite or NaN: rate %g, epsilon %g, "
            "weight_decay %g, norm of the gradient %g",
            (double)rate, (double)o->epsilon, (double)o->weight_decay, w.norm);
    /* The range excludes frozen parameters. */
    const bool whole = t->tuning.moments.count == t->model->layout.count;
    t->model->bound = whole ? w.range.parameter : (double)INFINITY;
    t->moment_bound = w.range.moment;
    own.gradient_norm = w.norm;
    own.rate = (double)rate;
    own.step = ++t->state.steps;
    return rapt__report_write(report, &own, why);
}

rapt_status rapt_train_step(rapt_trainer *trainer, rapt_report *report, rapt_message *why)
{
    if (!trainer) return rapt__fail(why, RAPT_BAD_ARGUMENT, "trainer is NULL");
    rapt_status status = check_report(report, why);
    if (!status) status = check_shards(trainer, why);
    if (!status) status = rapt__step_check(trainer, why);
    return status ? status : rapt__trainer_step(trainer, report, why);
}
