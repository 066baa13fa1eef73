/* state.c - what a resumed run continues from: the state of the training loop and the options that
   it must repeat, in the metadata of the checkpoint. */
#include "learner.h"
#include <stdlib.h>
#include <string.h>

/* Present if validation pairs were taken from the training pairs by data.c. */
#define SPLIT " split spread"

/* Returns the sizes of a new model. The caller frees the text. */
static char *new_text(const struct recipe *recipe, const rapt_config *c)
{
    return xasprintf("layers %d width %d heads %d ffn-width %d vocab %d separate %d",
                     c->encoder_layers, c->width, c->heads, c->ffn_width, recipe->vocab,
                     recipe->separate);
}

/* Returns the options that a resumed run must repeat: "name value name value ...". */
char *options_text(const struct recipe *recipe, bool split)
{
    rapt_config config;
    recipe_config(recipe, &config);
    char *model = recipe->tuned ? tune_text(recipe) : new_text(recipe, &config);
    char *variant = variant_text(&config), *hard = hard_text(&recipe->hard), shards[32] = "",
         products[32] = "", aware[48] = "", guided[80] = "", layer[40] = "", coverage[48] = "",
         *kinds = noise_text(&recipe->noise);
    char *noise = xasprintf("%s%s", *kinds ? " augment " : "", kinds);
    if (recipe->shards > 0) snprintf(shards, sizeof shards, " shards %d", recipe->shards);
    if (trains_in_bf16(recipe))
        snprintf(products, sizeof products, " precision %s", recipe->precision);
    else if (recipe->products != NULL && strcmp(recipe->products, "builtin") != 0)
        snprintf(products, sizeof products, " products %s", recipe->products);
    if (recipe->quantize_aware > 0)
        snprintf(aware, sizeof aware, " quantize-aware %.9g", recipe->quantize_aware);
    if (recipe->guided != NULL)
        snprintf(guided, sizeof guided, " guided-alignment-weight %.9g", recipe->guided_weight);
    if (config.alignment_layer > 0)
        snprintf(layer, sizeof layer, " guided-alignment-layer %d", config.alignment_layer);
    if (recipe->coverage_loss > 0)
        snprintf(coverage, sizeof coverage, " coverage-loss %.9g", recipe->coverage_loss);
    char *text = xasprintf(
        "%s dropout %.9g smoothing %.9g rate %.9g warmup %d schedule %s batch-tokens %d average %d "
        "seed %llu%s%s%s%s%s%s%s%s%s%s",
        model, recipe->dropout, recipe->smoothing, recipe->rate, recipe->warmup, recipe->schedule,
        recipe->batch_tokens, recipe->average, (unsigned long long)recipe->seed, split ? SPLIT : "",
        shards, products, aware, guided, layer, coverage, noise, variant, hard);
    free(model);
    free(variant);
    free(hard);
    free(kinds);
    free(noise);
    return text;
}

/* Returns the length of the first "name value" of a list of options. */
static size_t entry_size(const char *list)
{
    size_t name = strcspn(list, " ");
    return list[name] == 0 ? name : name + 1 + strcspn(list + name + 1, " ");
}

/* Returns the entry of the list with the same name as `wanted`, or NULL. */
static const char *same_name(const char *list, const char *wanted)
{
    size_t name = strcspn(wanted, " ") + 1;
    for (; *list; list += entry_size(list), list += strspn(list, " "))
        if (strncmp(list, wanted, name) == 0) return list;
    return NULL;
}

char *options_difference(const char *was, const char *is)
{
    for (const char *at = was; *at; at += entry_size(at), at += strspn(at, " ")) {
        const char *now = same_name(is, at);
        if (now == NULL) return xasprintf("with %.*s", (int)entry_size(at), at);
        if (entry_size(now) != entry_size(at) || memcmp(now, at, entry_size(at)) != 0)
            return xasprintf("with %.*s, not %.*s", (int)entry_size(at), at, (int)entry_size(now),
                             now);
    }
    while (*is && same_name(was, is)) is += entry_size(is), is += strspn(is, " ");
    return *is ? xasprintf("without %.*s", (int)entry_size(is), is) : NULL;
}

/* Reports how two lists of options differ. The difference may be only in spaces. */
static int report_difference(const char *path, const char *was, const char *is)
{
    if (strstr(is, SPLIT) != NULL && strstr(was, SPLIT) == NULL)
        return failed(
            "--resume: %s is from a version of toy_translate that took the last pairs for "
            "validation; this one takes pairs from the whole file. Finish that run with "
            "the earlier version, or begin a new one",
            path);
    char *how = options_difference(was, is);
    int code = how != NULL ? failed("--resume: %s was made %s", path, how)
                           : failed("--resume: %s: the list of options is damaged", path);
    free(how);
    return code;
}

char *state_write(const struct learner *learner)
{
    struct state state = learner->state;
    state.seconds = learner->recipe->minutes > 0 ? elapsed(learner) : 0;
    return state_text(&state, learner->options);
}

int state_open(struct state *state, char **options, const char *path, const char *text)
{
    struct state_reason why;
    if (text == NULL) return failed("%s: not a checkpoint of toy_translate train", path);
    if (state_parse(state, options, text, strlen(text), &why)) return EXIT_OK;
    return failed("%s: the training state is damaged: %s", path, why.text);
}

int state_read(struct learner *learner, const char *text)
{
    struct state state = {0};
    char *options = NULL;
    int code = state_open(&state, &options, learner->path, text);
    if (code != EXIT_OK) return code;
    if (state.data != learner->state.data)
        code = failed("--resume: %s was trained on different sentence pairs or word alignments",
                      learner->path);
    else if (strcmp(options, learner->options) != 0)
        code = report_difference(learner->path, options, learner->options);
    free(options);
    if (code != EXIT_OK) return code;
    learner->state = state;
    learner->before = state.seconds;
    learner->first = state.step;
    return EXIT_OK;
}
