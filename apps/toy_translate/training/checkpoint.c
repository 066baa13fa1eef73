/* checkpoint.c - OUT.checkpoint: parameters, Adam moments and counters as the library saves them,
   with the state of the loop as metadata; with --average also OUT.checkpoint.N, the parameters at
   the end of epoch N. Files are replaced atomically: temporary file, fsync, rename. */
#define _POSIX_C_SOURCE 200809L
#include "learner.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { KEYS = 8 };
/* Removes the scales of the 8-bit matrices from which a model was opened; they no longer apply. */
static const rapt_metadata no_scales = {"rapt.scales", NULL};

int model_save(const struct learner *learner, const char *path)
{
    if (!leads(learner)) return EXIT_OK;
    rapt_message why = {""};
    rapt_metadata metadata[KEYS];
    char *facts = facts_text(learner, learner->valid_loss);
    int count = vocabulary_metadata(&learner->vocabulary, metadata);
    metadata[count++] = (rapt_metadata){TRAINING_KEY, facts};
    metadata[count++] = (rapt_metadata){WORDS_KEY, learner->words};
    /* Removes metadata that came from a checkpoint: */
    metadata[count++] = (rapt_metadata){STATE_KEY, NULL};
    metadata[count++] = (rapt_metadata){COMMAND_KEY, NULL};
    metadata[count++] = (rapt_metadata){HISTORY_KEY, NULL};
    metadata[count++] = no_scales;
    rapt_status status = rapt_model_save(learner->model, path, metadata, count, &why);
    free(facts);
    return status == RAPT_OK ? EXIT_OK : failed("%s", why.text);
}

char *epoch_path(const struct learner *learner, long long epoch)
{
    return xasprintf("%s.%lld", learner->path, epoch);
}

int checkpoint_save(struct learner *learner)
{
    if (!learner->recipe->checkpoint || !leads(learner)) return EXIT_OK;
    rapt_message why = {""};
    rapt_metadata metadata[KEYS];
    char *state = state_write(learner), *history = history_text(&learner->history);
    int count = vocabulary_metadata(&learner->vocabulary, metadata);
    metadata[count++] = (rapt_metadata){STATE_KEY, state};
    metadata[count++] = (rapt_metadata){COMMAND_KEY, learner->recipe->command};
    metadata[count++] = (rapt_metadata){HISTORY_KEY, history};
    metadata[count++] = no_scales;
    rapt_status status = rapt_trainer_save(learner->trainer, learner->path, metadata, count, &why);
    free(state);
    free(history);
    if (status != RAPT_OK) return failed("%s", why.text);
    learner->written = now();
    long long old = learner->state.epoch - 1 - learner->average.capacity;
    if (learner->average.capacity > 0 && old > 0) {
        char *path = epoch_path(learner, old);
        unlink(path);
        free(path);
    }
    return EXIT_OK;
}

/* Fails if the recipe names a vocabulary that differs from that of the checkpoint. */
static int check_vocabulary(const struct learner *learner)
{
    const struct recipe *recipe = learner->recipe;
    struct vocabulary given;
    if (recipe->sentencepiece == NULL) return EXIT_OK;
    int code = vocabulary_open(&given, recipe->sentencepiece, recipe->sentencepiece_target);
    if (code == EXIT_OK && !vocabulary_same(&given, &learner->vocabulary))
        code =
            failed("--resume: %s was made with a different vocabulary from that of --sentencepiece",
                   learner->path);
    vocabulary_free(&given);
    return code;
}

int checkpoint_open(struct learner *learner)
{
    rapt_message why = {""};
    if (rapt_model_load(&learner->model, learner->path, NULL, &why) != RAPT_OK)
        return failed("--resume: %s", why.text);
    int code = state_read(learner, rapt_model_metadata(learner->model, STATE_KEY));
    const char *history = rapt_model_metadata(learner->model, HISTORY_KEY);
    if (code == EXIT_OK && history != NULL && !history_parse(&learner->history, history))
        code = failed("%s: the history of validations is damaged", learner->path);
    if (code == EXIT_OK) code = vocabulary_load(&learner->vocabulary, learner->model);
    return code == EXIT_OK ? check_vocabulary(learner) : code;
}

static int load_epoch(struct learner *learner, long long epoch)
{
    rapt_model *model = NULL;
    rapt_message why = {""};
    char *path = epoch_path(learner, epoch);
    rapt_status done = rapt_model_load(&model, path, NULL, &why);
    free(path);
    if (done != RAPT_OK) return failed("--resume: %s", why.text);
    bool alike = memcmp(rapt_model_config(model), rapt_model_config(learner->model),
                        sizeof(rapt_config)) == 0; /* a rapt_config has no padding */
    if (alike) average_add(&learner->average, model);
    rapt_model_free(model);
    return alike ? EXIT_OK
                 : failed("--resume: the parameters of epoch %lld belong to another model", epoch);
}

int checkpoint_load(struct learner *learner)
{
    rapt_message why = {""};
    rapt_status status = rapt_trainer_load(learner->trainer, learner->path, &why);
    return status == RAPT_OK ? EXIT_OK : failed("--resume: %s", why.text);
}

int checkpoint_continue(struct learner *learner)
{
    int code = checkpoint_load(learner);
    long long capacity = learner->average.capacity, epoch = learner->state.epoch;
    for (long long e = epoch > capacity ? epoch - capacity : 1;
         capacity > 0 && e < epoch && code == EXIT_OK; e++)
        code = load_epoch(learner, e);
    return code;
}

/* ---- how a model was trained, as metadata of its file: JSON with the options, a digest of the
   data, and the progress of training. Equal runs must write identical files, so there is a date
   only if SOURCE_DATE_EPOCH sets one (reproducible-builds.org) ---- */

/* Returns a date such as "2026-11-22", or NULL. */
static json_t *date_json(void)
{
    const char *text = getenv("SOURCE_DATE_EPOCH");
    if (text == NULL || *text == 0 || strlen(text) > 11 || text[strspn(text, "0123456789")] != 0)
        return NULL;
    time_t seconds = (time_t)strtoll(text, NULL, 10);
    struct tm parts;
    char day[32];
    if (gmtime_r(&seconds, &parts) == NULL) return NULL;
    return strftime(day, sizeof day, "%Y-%m-%d", &parts) > 0 ? json_string(day) : NULL;
}

char *facts_text(const struct learner *learner, double valid)
{
    const struct state *state = &learner->state;
    const char *products = rapt_trainer_products(learner->trainer);
    char digest[32];
    snprintf(digest, sizeof digest, "%016llx", (unsigned long long)state->data);
    json_t *object =
        json_pack("{s:s, s:s, s:s*, s:s, s:I, s:I, s:I, s:I, s:o, s:o*}", "version", rapt_version(),
                  "options", learner->options, "products",
                  strcmp(products, "built-in") != 0 ? products : NULL, "data", digest,
                  "train_pairs", (json_int_t)learner->train.count, "valid_pairs",
                  (json_int_t)learner->valid.count, "epoch", (json_int_t)state->epoch, "step",
                  (json_int_t)state->step, "valid_loss", number(valid), "date", date_json());
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(object);
    if (text == NULL) exit(failed("out of memory"));
    return text;
}
