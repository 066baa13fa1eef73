/* tune.c - fine-tuning: opens the model of --from, and decides by --freeze and --lora how each of
   its parameters is trained. */
#define _POSIX_C_SOURCE 200809L
#include "learner.h"
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* ---- the model ---- */

/* Fails if train does not support this kind of model. */
static int check_model(const char *path, const rapt_model *model)
{
    static const char *const kinds[] = {
        [RAPT_KIND_ENCODER_ONLY] = "only an encoder", [RAPT_KIND_DECODER_ONLY] = "only a decoder"};
    const rapt_config *c = rapt_model_config(model);
    if (c->kind != RAPT_KIND_ENCODER_DECODER)
        return failed(
            "--from %s: the model has %s; train needs a translator, which has both halves", path,
            kinds[c->kind]);
    if (c->source_width > 0) return failed("--from %s: the model reads vectors, not text", path);
    return EXIT_OK;
}

static int receive_none(void *user, const rapt_text_score *score)
{
    (void)user;
    (void)score;
    return 0;
}

/* Fails if the model does not have the languages, or needs languages that were not given. Scoring
   zero sentences checks the latter. */
static int check_languages(const struct recipe *recipe, const rapt_model *model)
{
    const char *path = recipe->from;
    const rapt_translator_options options = {.size = sizeof options,
                                             .batch = 1,
                                             .source_language = recipe->source_language,
                                             .target_language = recipe->target_language};
    rapt_translator *translator = NULL;
    rapt_message why = {""};
    rapt_status status =
        rapt_translator_create(&translator, model, NULL, NULL, &options, NULL, &why);
    const rapt_text none = {"", 0};
    if (status == RAPT_OK)
        status = rapt_translator_score(translator, &none, &none, 0, receive_none, NULL, &why);
    rapt_translator_free(translator);
    return status == RAPT_OK ? EXIT_OK : failed("--from %s: %s", path, why.text);
}

/* Converts matrices of 8 or 16 bits to floats. */
static int widen(const struct recipe *recipe, rapt_model *model)
{
    rapt_message why = {""};
    const rapt_precision stored = rapt_model_precision(model);
    if (stored == RAPT_PRECISION_F32) return EXIT_OK;
    print_report("%s is stored in %s; it is trained and written in floats (convert --precision %s "
                 "makes it small again)",
                 recipe->from, rapt_precision_name(stored), rapt_precision_name(stored));
    if (rapt_model_set_precision(model, RAPT_PRECISION_F32, recipe->threads, &why) == RAPT_OK)
        return EXIT_OK;
    return failed("--from %s: %s", recipe->from, why.text);
}

int tune_open(struct learner *learner)
{
    const char *path = learner->recipe->from;
    rapt_message why = {""};
    if (rapt_model_import(&learner->model, path, NULL, &why) != RAPT_OK)
        return failed("--from %s", why.text);
    int code = check_model(path, learner->model);
    if (code == EXIT_OK) code = vocabulary_load(&learner->vocabulary, learner->model);
    if (code == EXIT_OK) code = check_languages(learner->recipe, learner->model);
    return code == EXIT_OK ? widen(learner->recipe, learner->model) : code;
}

/* ---- how each parameter is trained ---- */

/* Returns true for the matrices of layers: those of attention, feed-forward layers, recurrent units
   and gates. */
static bool is_layer_matrix(const rapt_tensor *t)
{
    static const char end[] = ".weight";
    size_t size = strlen(t->name);
    return t->rows > 1 && strstr(t->name, ".layers.") != NULL && size > strlen(end) &&
           strcmp(t->name + size - strlen(end), end) == 0;
}

static int freeze_pattern(struct learner *learner, const char *pattern)
{
    const int count = rapt_model_tensors(learner->model);
    int found = 0;
    for (int i = 0; i < count; i++) {
        if (fnmatch(pattern, rapt_model_tensor(learner->model, i).name, 0) != 0) continue;
        learner->tuning[i] = RAPT_TUNING_FROZEN;
        found++;
    }
    if (found > 0) return EXIT_OK;
    return failed("--freeze %s: no parameter has such a name; names are %s, ..., %s", pattern,
                  rapt_model_tensor(learner->model, 0).name,
                  rapt_model_tensor(learner->model, count - 1).name);
}

static int freeze_all(struct learner *learner, const char *patterns)
{
    int code = EXIT_OK;
    while (patterns != NULL && code == EXIT_OK) {
        size_t size = strcspn(patterns, ",");
        char *pattern = xasprintf("%.*s", (int)size, patterns);
        code = freeze_pattern(learner, pattern);
        free(pattern);
        patterns = patterns[size] == ',' ? patterns + size + 1 : NULL;
    }
    return code;
}

int tune_choose(struct learner *learner)
{
    const struct recipe *recipe = learner->recipe;
    const int count = rapt_model_tensors(learner->model);
    if (recipe->freeze == NULL && recipe->lora == 0) return EXIT_OK;
    learner->tuning = xcalloc((size_t)count, sizeof *learner->tuning);
    for (int i = 0; i < count && recipe->lora > 0; i++) {
        const rapt_tensor t = rapt_model_tensor(learner->model, i);
        learner->tuning[i] = is_layer_matrix(&t) ? RAPT_TUNING_LORA : RAPT_TUNING_FROZEN;
    }
    return freeze_all(learner, recipe->freeze);
}

void tune_options(const struct learner *learner, rapt_train_options *options)
{
    options->tuning = learner->tuning;
    options->lora_rank = learner->recipe->lora;
    options->lora_alpha = (float)learner->recipe->lora_alpha;
    options->quantize_aware = learner->recipe->quantize_aware > 0;
    options->coverage_loss = (float)learner->recipe->coverage_loss;
}

struct tuned tune_count(const struct learner *learner)
{
    const size_t rank = (size_t)learner->recipe->lora;
    struct tuned sum = {0};
    for (int i = 0; i < rapt_model_tensors(learner->model); i++) {
        const rapt_tensor t = rapt_model_tensor(learner->model, i);
        const size_t rows = (size_t)t.rows, columns = (size_t)t.columns;
        const int tuning = learner->tuning != NULL ? learner->tuning[i] : RAPT_TUNING_FULL;
        if (tuning == RAPT_TUNING_FULL) sum.full += rows * columns;
        if (tuning != RAPT_TUNING_LORA) continue;
        sum.base += rows * columns;
        sum.adapters += rank * (rows + columns);
    }
    return sum;
}

static char *language_text(const char *name, const char *language)
{
    return language != NULL ? xasprintf(" %s %s", name, language) : xasprintf("%s", "");
}

char *tune_text(const struct recipe *recipe)
{
    const bool freezes = recipe->freeze != NULL;
    char lora[80] = "";
    if (recipe->lora > 0)
        snprintf(lora, sizeof lora, " lora %d lora-alpha %.9g", recipe->lora, recipe->lora_alpha);
    char *source = language_text("source-lang", recipe->source_language),
         *target = language_text("target-lang", recipe->target_language),
         *text = xasprintf("tuned 1%s%s%s%s%s", freezes ? " freeze " : "",
                           freezes ? recipe->freeze : "", lora, source, target);
    free(source);
    free(target);
    return text;
}
