/* load.c - loads a model from a safetensors file, which is read from disk, from memory or through a
   caller's reader. Nothing in the file is trusted before it is checked, and the size of the file
   limits the memory that loading may use (base/memory.c). */
#include "model/model.h"

#include <rapt/precision.h>

#include <stdio.h>
#include <string.h>

/* Returns true if the tensor with this name holds the scales of a matrix of bytes. */
static bool is_scale(const rapt_model *m, const char *name)
{
    char matrix[sizeof m->layout.parameters->name];
    size_t size = strlen(name), end = strlen(".scale");
    if (m->layout.matrices != IN_BYTES || size <= end || size - end >= sizeof matrix) return false;
    snprintf(matrix, sizeof matrix, "%.*s", (int)(size - end), name);
    return strcmp(name + size - end, ".scale") == 0 && rapt_model_find(m, matrix) >= 0;
}

/* Returns true for the tensors of a model file, and for those that a trainer adds to a
   checkpoint. */
static bool known(const rapt_model *m, const char *name)
{
    return strncmp(name, "adam.", 5) == 0 || strncmp(name, "lora.", 5) == 0 ||
           rapt_model_find(m, name) >= 0 || is_scale(m, name);
}

/* Number of floats for sinusoids that even the smallest file may request. */
enum { FREE_OFFSETS = 1 << 20 };

rapt_status rapt__config_backed(const rapt_config *config, const struct tensor_file *file,
                                bool one_each, rapt_message *why)
{
    struct layout layout;
    struct arena counting = {0};
    size_t held = 0, positions = (size_t)config->positions * (size_t)config->width;
    rapt__layout_make(&layout, config, IN_PANELS, &counting);
    for (int i = 0; i < rapt__tensors_count(file); i++)
        held += (rapt__tensors_entry(file, i)->count + LANES) * LANES;
    bool few = one_each && layout.count > rapt__tensors_count(file);
    if (counting.overflow || few || layout.floats > held)
        return rapt__fail(why, RAPT_BAD_FILE,
                          "the configuration describes a larger model than the file holds");
    if (rapt__distances_sinusoids(config) > held + FREE_OFFSETS)
        return rapt__fail(why, RAPT_BAD_FILE,
                          "relative_distance is %d, too large for a file of this size",
                          config->relative_distance);
    if (positions > held + FREE_OFFSETS)
        return rapt__fail(why, RAPT_BAD_FILE, "positions is %d, too large for a file of this size",
                          config->positions);
    return RAPT_OK;
}

static rapt_status no_other_tensors(const rapt_model *m, const struct tensor_file *file,
                                    rapt_message *why)
{
    for (int i = 0; i < rapt__tensors_count(file); i++) {
        const char *name = rapt__tensors_entry(file, i)->name;
        if (!known(m, name))
            return rapt__fail(why, RAPT_BAD_FILE, "tensor %s is not a parameter of this model",
                              name);
    }
    return RAPT_OK;
}

static rapt_status load_plain(rapt_model *model, struct tensor_file *file,
                              const rapt_load_options *options, rapt_message *why)
{
    struct block_file block = {.prefix = "",
                               .range = options->non_finite ? ANY_VALUE : FINITE_VALUE};
    rapt_status status = rapt__blocks_match(model, &block, 1, file, why);
    if (!status) status = rapt__model_take_block(model, why);
    block.block = model->block;
    if (!status) status = rapt__blocks_load(model, &block, 1, file, why);
    if (status || options->non_finite) return status;
    return rapt__check_rounded(model, RAPT_BAD_FILE, why);
}

/* Loads the parameters and metadata of a model that has no block yet. `layout` is NULL if the file
   is not packed. A packed file is loaded in the precision in which it is stored, and the model is
   then converted if the options ask for another precision. */
static rapt_status load_rest(rapt_model *model, struct tensor_file *file,
                             const struct packed_layout *layout, const rapt_load_options *options,
                             rapt_message *why)
{
    rapt_status status = no_other_tensors(model, file, why);
    if (!status) status = rapt__metadata_copy(model, file);
    if (status) return status;
    if (!layout) return load_plain(model, file, options, why);
    status = rapt__packed_load(model, file, layout, options, why);
    return status ? status : rapt_model_set_precision(model, options->precision, 1, why);
}

/* Loads a model from an open file. Parameters and metadata are allocated with `allocator`, and
   everything else with `reading`, which enforces the budget. */
static rapt_status load_open(rapt_model **model, struct tensor_file *file,
                             const rapt_load_options *options, const rapt_allocator *reading,
                             const rapt_allocator *allocator, rapt_message *why)
{
    rapt_config config;
    struct packed_layout layout = {IN_PANELS, false};
    enum layout_kind matrices = rapt__matrices_of(options->precision, IN_PANELS);
    const char *packed = rapt__tensors_metadata(file, LAYOUT_KEY);
    const char *text = rapt__tensors_metadata(file, CONFIG_KEY);
    if (!text)
        return rapt__fail(why, RAPT_BAD_FILE,
                          "not a rapt model: the metadata does not contain " CONFIG_KEY "");
    rapt_status status = rapt__config_read(&config, text, strlen(text), why);
    if (!status) status = rapt__config_backed(&config, file, true, why);
    if (!status && packed) status = rapt__packed_layout_read(&layout, packed, why);
    if (packed) matrices = layout.matrices;
    if (!status) status = rapt__model_make_bare(model, &config, matrices, reading, why);
    if (status) return status;
    (*model)->allocator = rapt__allocator(allocator);
    status = rapt__check_depths(&(*model)->layout, matrices, why);
    if (!status) status = load_rest(*model, file, packed ? &layout : NULL, options, why);
    if (!status) return RAPT_OK;
    rapt_model_free(*model);
    *model = NULL;
    return status;
}

/* The source of a model: exactly one of path, reader and bytes is set. */
struct model_source {
    const char *path;
    const rapt_reader *reader;
    const void *bytes;
    size_t size;
};

static rapt_status open_source(struct tensor_file **file, const struct model_source *from,
                               const rapt_allocator *allocator, rapt_message *why)
{
    if (from->path) return rapt__tensors_open(file, from->path, allocator, why);
    if (from->reader) return rapt__tensors_open_reader(file, from->reader, allocator, why);
    return rapt__tensors_open_memory(file, from->bytes, from->size, allocator, why);
}

static rapt_status model_load(rapt_model **model, const struct model_source *from,
                              const rapt_load_options *options, const rapt_allocator *allocator,
                              rapt_message *why)
{
    struct tensor_file *file;
    rapt_model *loaded = NULL;
    rapt_load_options own = {.size = sizeof own};
    const char *name = from->path ? from->path : "the model";
    rapt_status status = RAPT_OK;
    if (options) status = rapt__struct_read(&own, sizeof own, options, "rapt_load_options", why);
    if (!status) status = rapt__precision_check(own.precision, why);
    struct budget budget;
    const rapt_allocator reading = rapt__budget_begin(&budget, allocator);
    if (!status) status = open_source(&file, from, &reading, why);
    if (status) return rapt__budget_end(&budget, status, why);
    rapt_message reason = {"out of memory while loading"};
    status = load_open(&loaded, file, &own, &reading, allocator, &reason);
    rapt__tensors_close(file);
    status = rapt__budget_end(&budget, status, &reason);
    if (status) return rapt__fail(why, status, "%.200s: %.300s", name, reason.text);
    *model = loaded;
    return RAPT_OK;
}

rapt_status rapt_model_load_with(rapt_model **model, const char *path,
                                 const rapt_load_options *options, const rapt_allocator *allocator,
                                 rapt_message *why)
{
    if (!model || !path)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", model ? "path" : "model");
    return model_load(model, &(const struct model_source){.path = path}, options, allocator, why);
}

rapt_status rapt_model_load_memory(rapt_model **model, const void *bytes, size_t size,
                                   const rapt_load_options *options,
                                   const rapt_allocator *allocator, rapt_message *why)
{
    if (!model || !bytes)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", model ? "bytes" : "model");
    const struct model_source from = {.bytes = bytes, .size = size};
    return model_load(model, &from, options, allocator, why);
}

rapt_status rapt_model_load_from(rapt_model **model, const rapt_reader *reader,
                                 const rapt_load_options *options, const rapt_allocator *allocator,
                                 rapt_message *why)
{
    if (!model || !reader)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", model ? "reader" : "model");
    return model_load(model, &(const struct model_source){.reader = reader}, options, allocator,
                      why);
}

rapt_status rapt_model_load(rapt_model **model, const char *path, const rapt_allocator *allocator,
                            rapt_message *why)
{
    return rapt_model_load_with(model, path, NULL, allocator, why);
}
