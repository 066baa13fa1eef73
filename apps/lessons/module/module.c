/* module.c - runs a trained encoder-decoder inside a page, compiled to WebAssembly. It is given a
   configuration, parameters and token ids, and returns a translation, logits and attention weights.
   Functions that return an int return 0 or a rapt_status, after which module_message describes the
   error. */
#include <rapt/rapt.h>
#include <stdlib.h>
#include <string.h>

#ifdef __wasm__
#define EXPORT(name) __attribute__((export_name(#name)))
#else
#define EXPORT(name) /* analyzers compile this file for their own machine */
#endif

static struct {
    rapt_model *model;
    rapt_session *session;
    rapt_message why;
    int positions; /* the longest sequence, in tokens */
} module;

/* Allocates memory that the page fills or reads, or returns NULL. Nothing is freed: a page
   allocates a few arrays once. */
EXPORT(module_memory) void *module_memory(int bytes)
{
    return malloc((size_t)bytes);
}

EXPORT(module_message) const char *module_message(void)
{
    return module.why.text;
}

static void set_fields(rapt_config *config, const double *fields)
{
    for (int i = 0; i < RAPT_CONFIG_FIELDS; i++) {
        const rapt_config_field *field = rapt_config_field_at(i);
        char *member = (char *)config + field->offset;
        const float real = (float)fields[i];
        const int whole = (int)fields[i];
        if (field->type == RAPT_FIELD_TYPE_FLOAT)
            memcpy(member, &real, sizeof real);
        else
            memcpy(member, &whole, sizeof whole);
    }
}

static rapt_status set_parameters(const float *parameters)
{
    rapt_status status = RAPT_OK;
    for (int i = 0; i < rapt_model_tensors(module.model) && status == RAPT_OK; i++) {
        const rapt_tensor tensor = rapt_model_tensor(module.model, i);
        status = rapt_model_write(module.model, i, parameters, &module.why);
        parameters += (size_t)tensor.rows * (size_t)tensor.columns;
    }
    return status;
}

/* Creates the model and its session. fields: [RAPT_CONFIG_FIELDS] values in the order of
   rapt_config_field_at. parameters: all tensors, one after another, in the order of
   rapt_model_tensor. */
EXPORT(module_open) int module_open(const double *fields, const float *parameters)
{
    rapt_config config = {.size = sizeof config};
    set_fields(&config, fields);
    module.positions = config.positions;
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = 1,
                                .source_tokens = module.positions,
                                .target_length = module.positions,
                                .target_tokens = module.positions,
                                .threads = 1,
                                .alignments = 1,
                                .self_weights = 1};
    rapt_status status = rapt_model_create(&module.model, &config, 0, NULL, &module.why);
    if (status == RAPT_OK) status = set_parameters(parameters);
    if (status == RAPT_OK)
        status = rapt_session_create(&module.session, module.model, &limits, NULL, &module.why);
    return status;
}

/* Translates source [count], which ends with the end token, greedily into ids [positions], without
   begin and end. *written becomes their number. */
EXPORT(module_translate)
int module_translate(const int32_t *source, int count, int32_t *ids, int *written)
{
    const int starts[] = {0, count};
    const rapt_tokens tokens = {.batch = 1, .ids = source, .starts = starts};
    const rapt_generate_outputs outputs = {.size = sizeof outputs, .ids = ids, .counts = written};
    rapt_generate_options search;
    rapt_generate_options_default(&search, sizeof search, RAPT_TOKEN_BEGIN, RAPT_TOKEN_END);
    search.max_length = module.positions - 1;
    return rapt_generate(module.session, &tokens, &search, &outputs, &module.why);
}

/* Encodes source [count] and decodes target [targets], which begins with the begin token. *logits
   becomes [targets][target_vocab], which the session owns. Afterwards module_weights returns the
   weights of this pair. */
EXPORT(module_read)
int module_read(const int32_t *source, int count, const int32_t *target, int targets,
                const float **logits)
{
    const int starts[] = {0, count}, target_starts[] = {0, targets};
    const rapt_tokens sources = {.batch = 1, .ids = source, .starts = starts};
    const rapt_tokens written = {.batch = 1, .ids = target, .starts = target_starts};
    rapt_status status = rapt_encode(module.session, &sources, NULL, &module.why);
    if (status == RAPT_OK) status = rapt_decode(module.session, &written, logits, &module.why);
    return status;
}

/* Stores the weights of one attention as rapt_session_weights does; head -1 is the mean. */
EXPORT(module_weights) int module_weights(int which, int layer, int head, float *weights)
{
    return rapt_session_weights(module.session, (rapt_weights)which, layer, head, weights,
                                &module.why);
}
