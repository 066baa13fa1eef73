/* learn.c - the training loop of train and demo: batches, with validation and a checkpoint after
   each epoch.

   If steps or epochs limit the run, the result of an interrupted and resumed run is bit-identical
   to that of an uninterrupted one; if minutes limit it, the result depends on the clock. A batch
   whose loss or gradient is not finite is skipped with a message; ten in a row end the run. */
#include "learner.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKPOINT_SECONDS = 300, REPORT_STEPS = 100 };

/* `loss` and `valid` are the negative log-likelihoods per token of the training and the validation
   data. The epoch reported is that of the last step. */
static void report_loss(const struct learner *learner, double loss, double valid, bool done)
{
    const struct state *state = &learner->state;
    if (!learner->recipe->json) return;
    double seconds = elapsed(learner), here = seconds - learner->before;
    long long epoch = state->position > 0 ? state->epoch : state->epoch - 1;
    json_t *object = json_pack("{s:I, s:I, s:o, s:o, s:o, s:o}", "step", (json_int_t)state->step,
                               "epoch", (json_int_t)epoch, "loss", number(loss), "valid_loss",
                               number(valid), "tokens_per_second",
                               number((double)learner->tokens / here), "seconds", number(seconds));
    if (learner->recipe->coverage_loss > 0)
        json_object_set_new(object, "coverage_loss",
                            number(state->step > learner->first ? learner->coverage : NAN));
    if (done) json_object_set_new(object, "done", json_true());
    print_json(object);
}

static int skip_batch(struct learner *learner, const rapt_message *why)
{
    learner->state.bad++;
    print_message("step %lld: the batch is skipped: %s", learner->state.step + 1, why->text);
    if (learner->state.bad < BAD_BATCHES) return EXIT_OK;
    return failed("%d batches in a row had no finite loss; the last checkpoint, if any, is "
                  "unchanged; try a lower --rate or a longer --warmup",
                  BAD_BATCHES);
}

static double smoothed(double before, double now)
{
    return before > 0 ? 0.95 * before + 0.05 * now : now;
}

static int make_step(struct learner *learner)
{
    struct state *state = &learner->state;
    rapt_report counts = {.size = sizeof counts};
    rapt_message why = {""};
    learner->rate = rate_now(learner);
    rapt_trainer_set_rate(learner->trainer, (float)learner->rate);
    rapt_trainer_set_quantized(learner->trainer, quantized_now(learner));
    rapt_status status = RAPT_OK;
    int code = step_make(learner, &status, &counts, &why);
    if (code != EXIT_OK) return code;
    if (status != RAPT_OK && status != RAPT_NOT_FINITE)
        return failed("step %lld: %s", state->step + 1,
                      *why.text ? why.text : rapt_status_text(status));
    if (status == RAPT_OK) {
        state->bad = 0;
        state->loss += counts.likelihood;
        state->tokens += counts.tokens;
        learner->tokens += counts.tokens;
        learner->recent = smoothed(learner->recent, counts.likelihood / (double)counts.tokens);
        if (learner->recipe->coverage_loss > 0)
            learner->coverage =
                smoothed(learner->coverage,
                         counts.coverage / learner->recipe->coverage_loss / (double)counts.tokens);
    } else {
        code = skip_batch(learner, &why);
    }
    state->position++;
    state->step++;
    progress_count(&learner->progress, counts.tokens);
    return code;
}

static void show_progress(struct learner *learner)
{
    if (!leads(learner)) return;
    progress_show(learner);
    if (learner->state.step % REPORT_STEPS == 0) report_loss(learner, learner->recent, NAN, false);
}

/* Reports a validation, and records it for the checkpoint and the learning curve. */
static void record_validation(struct learner *learner, double train, double valid)
{
    const struct state *state = &learner->state;
    if (!leads(learner)) return;
    progress_validated(learner, valid, state->since == 0);
    history_add(&learner->history, (struct history_point){state->epoch, state->step, train, valid});
    curve_draw(learner);
}

static int end_epoch(struct learner *learner)
{
    struct state *state = &learner->state;
    int code = EXIT_OK;
    double valid = NAN;
    average_add(&learner->average, learner->model);
    if (learner->recipe->checkpoint && learner->average.capacity > 0) {
        char *path = epoch_path(learner, state->epoch);
        code = model_save(learner, path);
        free(path);
    }
    if (code == EXIT_OK) code = validate(learner, state, false, &valid);
    if (code != EXIT_OK) return code;
    double loss = state->loss / (double)state->tokens;
    record_validation(learner, loss, valid);
    report_loss(learner, loss, valid, false);
    state->epoch++;
    state->position = state->tokens = 0;
    state->loss = 0;
    code = examples_epoch(&learner->train, (int)state->epoch);
    if (code != EXIT_OK) return code;
    batches_plan(&learner->batches, learner->recipe->seed, (int)state->epoch);
    return checkpoint_save(learner);
}

/* Validates within an epoch, if the recipe asks for it. Only runs without checkpoints do this. */
static int validate_between(struct learner *learner)
{
    struct state *state = &learner->state;
    double valid;
    int code = validate(learner, state, false, &valid);
    if (code != EXIT_OK) return code;
    learner->enough += valid < learner->recipe->enough;
    if (!leads(learner)) return EXIT_OK;
    progress_validated(learner, valid, state->since == 0);
    return EXIT_OK;
}

static bool out_of_patience(const struct learner *learner)
{
    return learner->recipe->patience > 0 && learner->state.since >= learner->recipe->patience;
}

static bool is_over(const struct learner *learner)
{
    return share_done(learner) >= 1 || learner->enough > 1 || out_of_patience(learner);
}

/* Reports why the run is over or has nothing to do, unless that is obvious. */
static void explain_end(const struct learner *learner, bool idle)
{
    static const char bounds[] = " --epochs, --steps or --minutes";
    bool patience = out_of_patience(learner), bound = share_done(learner) >= 1 || !patience;
    if (idle)
        print_report("nothing left to do: give a higher%s%s%s", patience ? " --patience" : "",
                     patience && bound ? ", and a higher" : "", bound ? bounds : "");
    else if (learner->enough > 1)
        print_report("stopped: the validation loss is low enough");
    else if (patience)
        print_report("stopped: no improvement for %lld epochs", learner->state.since);
}

/* Returns the number of steps after which the run ends, or 0 if neither steps nor epochs limit
   it. */
static long long planned_steps(const struct learner *learner)
{
    const struct recipe *recipe = learner->recipe;
    long long epochs = (long long)learner->batches.count * recipe->epochs, steps = recipe->steps;
    return steps > 0 && (epochs == 0 || steps < epochs) ? steps : epochs;
}

/* Returns true if the learning rate only rises in a run of this many steps. */
static bool only_warmup(const struct recipe *recipe, long long steps)
{
    return steps <= recipe->warmup && strcmp(recipe->schedule, "linear") != 0;
}

/* Reports the result and what to do next. */
static void report_result(const struct learner *learner, double best, bool idle)
{
    const struct recipe *recipe = learner->recipe;
    const struct state *state = &learner->state;
    char text[NUMBER_TEXT], time[TIME_TEXT];
    perplexity_text(best, text);
    time_text(elapsed(learner), time);
    explain_end(learner, idle);
    print_report("%lld steps in %s; best validation perplexity %s", state->step, time, text);
    if (planned_steps(learner) == 0 && only_warmup(recipe, state->step))
        print_report("all steps were warm-up; try a smaller --warmup or a longer run");
    if (!recipe->checkpoint) return;
    if (curve_exists(learner))
        print_report("the model is %s; its learning curve is %s.svg", recipe->out, recipe->out);
    else
        print_report("the model is %s", recipe->out);
    char *word = shell_word(recipe->out);
    print_report("next: toy_translate translate --model %s", word);
    free(word);
}

/* Ends the run. Within an epoch it validates once more, on a copy of the state, so that the result
   of a longer run that continues from the checkpoint is bit-identical to that of a run that never
   stopped here. */
static int finish_training(struct learner *learner)
{
    struct state state = learner->state;
    double valid = state.best;
    int code = EXIT_OK;
    if (state.position > 0) {
        code = checkpoint_save(learner);
        if (code == EXIT_OK) code = validate(learner, &state, true, &valid);
    }
    if (code != EXIT_OK) return code;
    if (!isfinite(state.best)) return failed("no validation loss was finite; no model was written");
    bool idle = state.step == learner->first && learner->recipe->resume;
    code = best_check(learner);
    if (code != EXIT_OK) return code;
    if (learner->recipe->checkpoint && !learner->recipe->keep_checkpoint && !idle && leads(learner))
        outputs_remove(learner->recipe->out);
    report_loss(learner, learner->recent > 0 ? learner->recent : NAN, state.best, true);
    report_result(learner, state.best, idle);
    return EXIT_OK;
}

/* Ends the run early: the process was asked to end, or a rank was lost. A launcher such as mpirun
   gives it little time. */
static int stop_early(struct learner *learner)
{
    bool whole = learner->state.position < (long long)learner->batches.count;
    if (learner->exchange.ranks->count > 1) ignore_interrupts();
    int code = whole ? checkpoint_save(learner) : EXIT_OK;
    if (code != EXIT_OK) return code;
    if (!whole)
        print_message("interrupted while validating after step %lld; continue from the previous "
                      "checkpoint with: toy_translate train --resume --out %s",
                      learner->state.step, learner->recipe->out);
    else if (learner->recipe->checkpoint)
        print_message(
            "interrupted at step %lld; continue with: toy_translate train --resume --out %s",
            learner->state.step, learner->recipe->out);
    else
        print_message("interrupted");
    return EXIT_INTERRUPTED;
}

/* Ends the run because the data of a step could not be read. What was learned before is saved. */
static int stop_unread(struct learner *learner, int code)
{
    if (checkpoint_save(learner) == EXIT_OK && learner->recipe->checkpoint && leads(learner))
        print_message("the checkpoint is from step %lld; continue with: toy_translate train "
                      "--resume --out %s",
                      learner->state.step, learner->recipe->out);
    return code;
}

/* If time limits the run, all ranks use the clock of rank 0, since the number of steps and the
   learning rate depend on it. */
static int agree_on_time(struct learner *learner)
{
    double times[2] = {elapsed(learner), learner->validation_seconds};
    if (learner->recipe->minutes <= 0 || learner->exchange.ranks->count < 2) return EXIT_OK;
    int code = exchange_from_first(&learner->exchange, times, sizeof times);
    learner->clock = times[0];
    learner->validation_seconds = times[1];
    return code;
}

/* Validates a model that was opened to be tuned, which is the best so far and becomes OUT. */
static int validate_first(struct learner *learner)
{
    struct state *state = &learner->state;
    double valid = NAN;
    int code = validate(learner, state, false, &valid);
    if (code != EXIT_OK || !leads(learner)) return code;
    progress_validated(learner, valid, state->since == 0);
    history_add(&learner->history, (struct history_point){0, 0, NAN, valid});
    report_loss(learner, NAN, valid, false);
    return EXIT_OK;
}

/* Begins the run once all ranks can. Removes what --force replaces. With several ranks it writes a
   checkpoint at once, since any of them may be lost. */
static int begin_training(struct learner *learner)
{
    const struct recipe *recipe = learner->recipe;
    bool several = learner->exchange.ranks->count > 1;
    int code = EXIT_OK;
    if (recipe->force && recipe->checkpoint && leads(learner)) outputs_remove(recipe->out);
    if (recipe->tuned && !recipe->resume) code = validate_first(learner);
    if (code != EXIT_OK) return code;
    code = several && !recipe->resume ? checkpoint_save(learner) : EXIT_OK;
    return code == EXIT_OK ? agree_on_time(learner) : code;
}

static int run_training(struct learner *learner)
{
    int code = begin_training(learner);
    while (code == EXIT_OK && !is_over(learner)) {
        if (interrupted()) return stop_early(learner);
        code = make_step(learner);
        if (code == EXIT_OK) show_progress(learner);
        if (code == EXIT_OK && learner->state.position == (long long)learner->batches.count)
            code = end_epoch(learner);
        else if (code == EXIT_OK && learner->recipe->valid_steps > 0 &&
                 learner->state.step % learner->recipe->valid_steps == 0)
            code = validate_between(learner);
        else if (code == EXIT_OK && now() - learner->written > CHECKPOINT_SECONDS)
            code = checkpoint_save(learner);
        if (code == EXIT_OK) code = agree_on_time(learner);
    }
    if (code == EXIT_INTERRUPTED) return stop_early(learner);
    if (learner->unread) return stop_unread(learner, code);
    return code == EXIT_OK ? finish_training(learner) : code;
}

static void announce(const struct learner *learner)
{
    const struct recipe *recipe = learner->recipe;
    const struct state *state = &learner->state;
    char text[NUMBER_TEXT];
    print_report("%zu training pairs, %zu validation %s", learner->train.count,
                 learner->valid.count, learner->valid.count == 1 ? "pair" : "pairs");
    print_report("%zu parameters, vocabulary %d; %d %s", rapt_model_parameters(learner->model),
                 rapt_tokenizer_vocab(learner->vocabulary.target), recipe->threads,
                 recipe->threads == 1 ? "thread" : "threads");
    const struct tuned tuned = tune_count(learner);
    if (learner->tuning != NULL)
        print_report("of these, %zu are trained%s", tuned.full + tuned.adapters,
                     tuned.adapters > 0 ? ", counting adapters" : "");
    if (strcmp(rapt_trainer_products(learner->trainer), "built-in") != 0)
        print_report("matrix products by %s", rapt_trainer_products(learner->trainer));
    if (recipe->quantize_aware == 1)
        print_report("the run is trained and validated in 8-bit arithmetic");
    else if (recipe->quantize_aware > 0)
        print_report("the last %g %% of the run are trained, and all of it is validated, in 8-bit "
                     "arithmetic",
                     100 * recipe->quantize_aware);
    memory_report(learner);
    if (planned_steps(learner) > 0 && only_warmup(recipe, planned_steps(learner)))
        print_report("all %lld steps are warm-up; try --warmup %lld or a longer run",
                     planned_steps(learner), planned_steps(learner) / 5 + 1);
    const struct exchange *x = &learner->exchange;
    if (x->ranks->count > 1)
        print_report("%d ranks; this one tokenized %zu of %zu pairs and computes %d of %d shards "
                     "in %.1f MB, of which %.1f MB are for messages",
                     x->ranks->count, learner->train.own, learner->train.count, x->end - x->first,
                     x->shards, 1e-6 * (double)(learner->bytes + x->bytes),
                     1e-6 * (double)x->bytes);
    if (!recipe->resume) return;
    perplexity_text(state->best, text);
    print_report("resuming at step %lld, epoch %lld; best validation perplexity %s", state->step,
                 state->epoch, isfinite(state->best) ? text : "none yet");
}

int learn(const struct recipe *recipe, struct data *data, long long *steps)
{
    struct ranks alone = {.count = 1}, *ranks = recipe->ranks != NULL ? recipe->ranks : &alone;
    struct learner learner = {
        .recipe = recipe, .start = now(), .clock = -1, .exchange = {.ranks = ranks}};
    watch_for_interrupts();
    int code = agree(ranks, prepare(&learner, data), &learner);
    size_t floats;
    if (code == EXIT_OK) rapt_trainer_gradients(learner.trainer, &floats, NULL);
    if (code == EXIT_OK) exchange_create(&learner.exchange, ranks, recipe->shards, floats);
    if (code == EXIT_OK) announce(&learner);
    if (code == EXIT_OK) code = run_training(&learner);
    if (steps != NULL) *steps = learner.state.step;
    release(&learner);
    return code;
}
