/* learn.c - the training loop of train and demo: batches, validation and checkpoints every epoch.

   Bounded by steps or epochs, an interrupted and resumed run ends with the same bits as an
   uninterrupted one; bounded by minutes, the clock decides. A batch whose loss or gradient is not
   finite is skipped with a message; ten in a row end the run. */
#include "learner.h"
#include <math.h>
#include <stdlib.h>

enum { CHECKPOINT_SECONDS = 300, REPORT_STEPS = 100 };

static void report(const struct learner *learner, double loss, double valid, bool done)
{
    const struct state *state = &learner->state;
    if (!learner->recipe->json) return;
    double seconds = elapsed(learner), here = seconds - learner->before;
    json_t *object = json_pack("{s:I, s:I, s:o, s:o, s:o, s:o}", "step", (json_int_t)state->step,
                               "epoch", (json_int_t)state->epoch, "loss", number(loss),
                               "valid_loss", number(valid), "tokens_per_second",
                               number((double)learner->tokens / here), "seconds", number(seconds));
    if (done) json_object_set_new(object, "done", json_true());
    print_json(object);
}

static int skip(struct learner *learner, const rapt_message *why)
{
    learner->state.bad++;
    print_message("step %lld: not finite; the batch is skipped: %s", learner->state.step + 1,
                  why->text);
    if (learner->state.bad < BAD_BATCHES) return EXIT_OK;
    return failed(
        "%d batches in a row gave no finite loss; the last checkpoint, if any, is unchanged; try a "
        "lower --rate or a longer --warmup",
        BAD_BATCHES);
}

static int make_step(struct learner *learner)
{
    struct state *state = &learner->state;
    rapt_tokens source, target;
    rapt_report counts = {.size = sizeof counts};
    rapt_message why = {""};
    batches_get(&learner->batches, (size_t)state->position, &source, &target);
    rapt_trainer_set_rate(learner->trainer, (float)rate_now(learner));
    rapt_status status = rapt_train_gradient(learner->trainer, &source, &target, &counts, &why);
    if (status == RAPT_OK) status = rapt_train_step(learner->trainer, &counts, &why);
    if (status != RAPT_OK && status != RAPT_NOT_FINITE)
        return failed("step %lld: %s", state->step + 1,
                      *why.text ? why.text : rapt_status_text(status));
    int code = EXIT_OK;
    if (status == RAPT_OK) {
        state->bad = 0;
        state->loss += counts.loss;
        state->tokens += counts.tokens;
        learner->tokens += counts.tokens;
        double loss = counts.loss / (double)counts.tokens;
        learner->recent = learner->recent > 0 ? 0.95 * learner->recent + 0.05 * loss : loss;
    } else {
        code = skip(learner, &why);
    }
    state->position++;
    state->step++;
    progress_count(&learner->progress, counts.tokens);
    return code;
}

static void show(struct learner *learner)
{
    const struct state *state = &learner->state;
    double epochs =
        (double)(state->epoch - 1) + (double)state->position / (double)learner->batches.count;
    progress_show(&learner->progress, state->step, epochs, learner->recent, time_left(learner));
    if (state->step % REPORT_STEPS == 0) report(learner, learner->recent, NAN, false);
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
    print_message("epoch %lld: %lld steps, loss %.3f, validation loss %.3f%s", state->epoch,
                  state->step, loss, valid, state->since == 0 ? ", the best so far" : "");
    report(learner, loss, valid, false);
    state->epoch++;
    state->position = state->tokens = 0;
    state->loss = 0;
    batches_plan(&learner->batches, learner->recipe->seed, (int)state->epoch);
    return checkpoint_save(learner);
}

/* Within an epoch, where the recipe asks for it; only for runs without checkpoints. */
static int validate_between(struct learner *learner)
{
    struct state *state = &learner->state;
    double valid;
    int code = validate(learner, state, false, &valid);
    if (code != EXIT_OK) return code;
    learner->enough += valid < learner->recipe->enough;
    print_report("step %lld/%d  validation loss %.3f", state->step, learner->recipe->steps, valid);
    return EXIT_OK;
}

static bool over(const struct learner *learner)
{
    const struct recipe *recipe = learner->recipe;
    if (share_done(learner) >= 1 || learner->enough > 1) return true;
    return recipe->patience > 0 && learner->state.since >= recipe->patience;
}

/* Within an epoch: validates once more, on a copy of the state: a longer run that goes on from the
   checkpoint ends with the same bits as one that never stopped here. */
static int finish(struct learner *learner)
{
    struct state state = learner->state;
    double valid = state.best;
    int code = EXIT_OK;
    if (state.position > 0) {
        code = checkpoint_save(learner);
        if (code == EXIT_OK) code = validate(learner, &state, true, &valid);
    }
    if (code != EXIT_OK) return code;
    if (!isfinite(state.best)) return failed("no validation loss was finite; there is no model");
    report(learner, learner->recent > 0 ? learner->recent : NAN, state.best, true);
    print_message("%lld steps in %.0f s; best validation loss %.3f", state.step, elapsed(learner),
                  state.best);
    return EXIT_OK;
}

static int stopped(struct learner *learner)
{
    int code = checkpoint_save(learner);
    if (code != EXIT_OK) return code;
    if (learner->recipe->checkpoint)
        print_message("interrupted at step %lld; saved %s; --resume continues", learner->state.step,
                      learner->path);
    else
        print_message("interrupted");
    return EXIT_INTERRUPTED;
}

static int run(struct learner *learner)
{
    int code = EXIT_OK;
    while (code == EXIT_OK && !over(learner)) {
        if (interrupted()) return stopped(learner);
        code = make_step(learner);
        if (code == EXIT_OK) show(learner);
        if (code == EXIT_OK && learner->state.position == (long long)learner->batches.count)
            code = end_epoch(learner);
        else if (code == EXIT_OK && learner->recipe->valid_steps > 0 &&
                 learner->state.step % learner->recipe->valid_steps == 0)
            code = validate_between(learner);
        else if (code == EXIT_OK && now() - learner->written > CHECKPOINT_SECONDS)
            code = checkpoint_save(learner);
    }
    return code == EXIT_OK ? finish(learner) : code;
}

int learn(const struct recipe *recipe, const struct pairs *train, const struct pairs *valid,
          long long *steps)
{
    struct learner learner = {.recipe = recipe, .start = now()};
    watch_for_interrupts();
    int code = prepare(&learner, train, valid);
    if (code == EXIT_OK)
        print_message(
            "%zu pairs to train on, %zu to validate with; %zu parameters, vocabulary %d; %d "
            "threads",
            learner.train.count, learner.valid.count, rapt_model_parameters(learner.model),
            rapt_tokenizer_vocab(learner.vocabulary.target), recipe->threads);
    if (code == EXIT_OK) code = run(&learner);
    if (steps != NULL) *steps = learner.state.step;
    release(&learner);
    return code;
}
