/* state.c - the state of the training loop as JSON, in the metadata of its checkpoint. */
#include "learner.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The options that a resumed run must repeat: "name value name value ...". */
char *options_text(const struct recipe *recipe)
{
    rapt_config config;
    recipe_config(recipe, &config);
    char *variant = variant_text(&config);
    char *text = xasprintf(
        "layers %d width %d heads %d ffn-width %d vocab %d separate %d dropout %.9g smoothing "
        "%.9g rate %.9g warmup %d schedule %s batch-tokens %d average %d seed %llu%s",
        config.encoder_layers, config.width, config.heads, config.ffn_width, recipe->vocab,
        recipe->separate, recipe->dropout, recipe->smoothing, recipe->rate, recipe->warmup,
        recipe->schedule, recipe->batch_tokens, recipe->average, (unsigned long long)recipe->seed,
        variant);
    free(variant);
    return text;
}

/* The length of the first "name value" of such a list. */
static size_t entry(const char *list)
{
    size_t name = strcspn(list, " ");
    return list[name] == 0 ? name : name + 1 + strcspn(list + name + 1, " ");
}

/* Reports the first option that differs; the lists are not equal. */
static int differs(const char *path, const char *was, const char *is)
{
    size_t old = entry(was), new = entry(is);
    while (old == new &&memcmp(was, is, old) == 0) {
        was += was[old] ? old + 1 : old;
        is += is[new] ? new + 1 : new;
        old = entry(was);
        new = entry(is);
    }
    return failed("--resume: %s was made with %.*s, not %.*s", path, (int)old, was, (int)new, is);
}

char *state_write(const struct learner *learner)
{
    const struct state *state = &learner->state;
    char data[32];
    snprintf(data, sizeof data, "%016llx", (unsigned long long)state->data);
    double seconds = learner->recipe->minutes > 0 ? elapsed(learner) : 0;
    json_t *object =
        json_pack("{s:i, s:I, s:I, s:o, s:i, s:i, s:f, s:f, s:I, s:s, s:s}", "epoch", state->epoch,
                  "position", (json_int_t)state->position, "step", (json_int_t)state->step, "best",
                  number(state->best), "since", state->since, "bad", state->bad, "seconds", seconds,
                  "loss", state->loss, "tokens", (json_int_t)state->tokens, "data", data, "options",
                  learner->options);
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(object);
    return text;
}

int state_read(struct learner *learner, const char *text)
{
    struct state *state = &learner->state;
    const char *data = "", *options = "";
    json_t *best = NULL;
    json_int_t position = -1, step = -1, tokens = 0;
    json_t *object = text != NULL ? json_loads(text, 0, NULL) : NULL;
    int wrong =
        json_unpack(object, "{s:i, s:I, s:I, s:o, s:i, s:i, s:F, s:F, s:I, s:s, s:s}", "epoch",
                    &state->epoch, "position", &position, "step", &step, "best", &best, "since",
                    &state->since, "bad", &state->bad, "seconds", &state->seconds, "loss",
                    &state->loss, "tokens", &tokens, "data", &data, "options", &options);
    state->position = position;
    state->step = step;
    state->tokens = tokens;
    state->best = json_is_number(best) ? json_number_value(best) : INFINITY;
    int code = EXIT_OK;
    if (wrong || state->epoch < 1 || position < 0 || step < 0)
        code = failed("%s: it is not a checkpoint of toy_translate train", learner->path);
    else if (strtoull(data, NULL, 16) != state->data)
        code = failed("--resume: %s was trained on other sentence pairs", learner->path);
    else {
        char *was = options_upgrade(options);
        if (strcmp(was, learner->options) != 0)
            code = differs(learner->path, was, learner->options);
        free(was);
    }
    learner->before = state->seconds;
    json_decref(object);
    return code;
}
