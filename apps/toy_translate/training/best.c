/* best.c - the mean of the last epochs, and OUT, the best model so far. */
#define _POSIX_C_SOURCE 200809L
#include "learner.h"
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- checkpoint averaging ----
   The mean of the parameters at the end of the last epochs (Vaswani et al. 2017, section 6.1),
   summed oldest first, in double precision. */

static void copy_out(const rapt_model *model, float *data)
{
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        rapt_tensor tensor = rapt_model_tensor(model, i);
        rapt_model_read(model, i, data, NULL);
        data += (size_t)tensor.rows * (size_t)tensor.columns;
    }
}

static void copy_in(rapt_model *model, const float *data)
{
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        rapt_tensor tensor = rapt_model_tensor(model, i);
        rapt_model_write(model, i, data, NULL);
        data += (size_t)tensor.rows * (size_t)tensor.columns;
    }
}

void average_create(struct average *average, const rapt_model *model, int epochs)
{
    *average = (struct average){.capacity = epochs > 1 ? epochs : 0};
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        rapt_tensor tensor = rapt_model_tensor(model, i);
        average->size += (size_t)tensor.rows * (size_t)tensor.columns;
    }
    average->epochs = xcalloc((size_t)average->capacity, sizeof *average->epochs);
    if (average->capacity > 0) average->raw = xcalloc(average->size, sizeof *average->raw);
}

void average_add(struct average *average, const rapt_model *model)
{
    if (average->capacity == 0) return;
    int slot = (average->first + average->count) % average->capacity;
    if (average->count < average->capacity)
        average->count++;
    else
        average->first = (average->first + 1) % average->capacity;
    if (average->epochs[slot] == NULL)
        average->epochs[slot] = xcalloc(average->size, sizeof *average->epochs[slot]);
    copy_out(model, average->epochs[slot]);
}

bool average_last(const struct average *average, rapt_model *model)
{
    if (average->count == 0) return false;
    copy_in(model, average->epochs[(average->first + average->count - 1) % average->capacity]);
    return true;
}

void average_apply(struct average *average, rapt_model *model)
{
    copy_out(model, average->raw);
    float *mean = xcalloc(average->size, sizeof *mean);
    for (size_t i = 0; i < average->size; i++) {
        double sum = (double)average->epochs[average->first][i]; /* -0 remains -0 */
        for (int e = 1; e < average->count; e++)
            sum += (double)average->epochs[(average->first + e) % average->capacity][i];
        mean[i] = (float)(sum / average->count);
    }
    copy_in(model, mean);
    free(mean);
}

void average_undo(struct average *average, rapt_model *model)
{
    copy_in(model, average->raw);
}

void average_free(struct average *average)
{
    for (int e = 0; e < average->capacity; e++) free(average->epochs[e]);
    free(average->epochs);
    free(average->raw);
    *average = (struct average){0};
}

/* ---- OUT, the best model so far ----
   A run that ends within an epoch validates once more and may find a better model than at the end
   of any epoch. A longer run that continues from its checkpoint must behave as if it had never
   stopped there. Therefore OUT.checkpoint.best holds the best model of the epochs while OUT is from
   within an epoch, until the next validation decides which of them becomes OUT. A resumed run needs
   OUT, since it may find no better model and its checkpoint does not contain the best one. */

static char *kept_path(const struct learner *learner)
{
    return xasprintf("%s.best", learner->path);
}

/* Does nothing if `from` is missing or is not a model. */
static int copy_model(const char *from, const char *to)
{
    rapt_model *model = NULL;
    rapt_message why = {""};
    if (rapt_model_load(&model, from, NULL, NULL) != RAPT_OK) return EXIT_OK;
    rapt_status status = rapt_model_save(model, to, NULL, 0, &why);
    rapt_model_free(model);
    return status == RAPT_OK ? EXIT_OK : failed("%s", why.text);
}

int best_save(const struct learner *learner, bool within_epoch)
{
    if (!leads(learner)) return EXIT_OK;
    const char *out = learner->recipe->out;
    char *kept = kept_path(learner);
    int code = EXIT_OK;
    bool keep = within_epoch && learner->recipe->checkpoint && isfinite(learner->state.best);
    if (keep && access(kept, F_OK) != 0) code = copy_model(out, kept);
    if (code == EXIT_OK) code = model_save(learner, out);
    if (code == EXIT_OK && !within_epoch && learner->recipe->checkpoint) unlink(kept);
    free(kept);
    return code;
}

int best_restore(const struct learner *learner)
{
    if (!learner->recipe->checkpoint || !leads(learner)) return EXIT_OK; /* nothing was kept */
    char *kept = kept_path(learner);
    int code = isfinite(learner->state.best) ? copy_model(kept, learner->recipe->out) : EXIT_OK;
    if (code == EXIT_OK) unlink(kept);
    free(kept);
    return code;
}

int best_check(const struct learner *learner)
{
    rapt_model *model = NULL;
    rapt_message why = {""};
    if (!learner->recipe->checkpoint || !leads(learner)) return EXIT_OK;
    rapt_status status = rapt_model_load(&model, learner->recipe->out, NULL, &why);
    rapt_model_free(model);
    return status == RAPT_OK ? EXIT_OK : failed("cannot read the best model: %s", why.text);
}

/* Writes OUT again if the last epoch gave the best model: its parameters or their mean, whichever
   had the known loss. Writes nothing if these parameters are not available. */
static int rebuild_best(struct learner *learner)
{
    const struct state state = learner->state;
    const struct ranks alone = {.count = 1}, *all = learner->exchange.ranks;
    struct state before = state;
    double loss;
    if (state.since > 0) return EXIT_OK;
    if (state.position > 0 && !average_last(&learner->average, learner->model)) return EXIT_OK;
    before.best = nextafter(state.best, INFINITY);
    learner->state.epoch--;
    learner->state.step -= state.position;
    learner->exchange.ranks = &alone; /* validates without the other ranks */
    int code = validate(learner, &before, false, &loss);
    learner->exchange.ranks = all;
    learner->state = state;
    return code == EXIT_OK ? checkpoint_load(learner) : code;
}

int best_find(struct learner *learner)
{
    const char *out = learner->recipe->out;
    if (!isfinite(learner->state.best) || !leads(learner)) return EXIT_OK;
    if (access(out, F_OK) == 0) return best_check(learner);
    char *kept = kept_path(learner);
    int code = copy_model(kept, out);
    free(kept);
    if (code == EXIT_OK && access(out, F_OK) != 0) code = rebuild_best(learner);
    if (code != EXIT_OK || access(out, F_OK) == 0) return code;
    return failed("--resume: %s, the best model so far, is missing, and %s does not contain it; "
                  "restore it, or start again with --force",
                  out, learner->path);
}
