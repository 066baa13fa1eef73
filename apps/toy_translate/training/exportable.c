/* exportable.c - checks before the first step that the project for which a model is trained
   supports such a model. */
#include "training.h"
#include <stdlib.h>
#include <string.h>

rapt_export export_format(const char *name)
{
    static const struct {
        const char *name;
        rapt_export format;
    } formats[] = {{"bergamot", RAPT_EXPORT_BERGAMOT},
                   {"firefox", RAPT_EXPORT_FIREFOX},
                   {"hf", RAPT_EXPORT_HF},
                   {"ct2", RAPT_EXPORT_CT2}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].name, name) == 0) return formats[i].format;
    return RAPT_EXPORT_MARIAN;
}

/* Makes a model with the vocabulary in its metadata. */
static rapt_status make_copy(rapt_model **copy, const rapt_config *config,
                             const struct vocabulary *vocabulary, rapt_message *why)
{
    rapt_metadata pairs[2];
    rapt_model *bare = NULL;
    size_t size = 0;
    char *bytes = NULL;
    int count = vocabulary_metadata(vocabulary, pairs);
    rapt_status status = rapt_model_create(&bare, config, 1, NULL, why);
    if (!status) status = rapt_model_save_memory(bare, NULL, 0, &size, pairs, count, why);
    if (!status) bytes = xcalloc(size, 1);
    if (!status) status = rapt_model_save_memory(bare, bytes, size, &size, pairs, count, why);
    if (!status) status = rapt_model_load_memory(copy, bytes, size, NULL, NULL, why);
    free(bytes);
    rapt_model_free(bare);
    return status;
}

/* The number of layers does not matter, so the copy that is checked has one on each side. Nor do
   the languages, which are not known yet. */
int export_check(const char *project, const rapt_config *config,
                 const struct vocabulary *vocabulary)
{
    const rapt_export_options options = {.size = sizeof options,
                                         .source_language = "source",
                                         .target_language = "target",
                                         .check_only = 1};
    rapt_config small = *config;
    rapt_model *copy = NULL;
    rapt_message why = {""};
    small.encoder_layers = small.decoder_layers = 1;
    if (small.alignment_layer > 1) small.alignment_layer = 1;
    rapt_status status = make_copy(&copy, &small, vocabulary, &why);
    if (!status)
        status = rapt_model_export_with(copy, export_format(project), NULL, &options, &why);
    rapt_model_free(copy);
    return status == RAPT_OK ? EXIT_OK : failed("--for %s: %s", project, why.text);
}
