/* file.c - saves blocks of floats, such as parameters or Adam's moments, to safetensors files and
   loads them. Tensors are saved either as plain matrices, in row-major order, or packed; packed.c
   loads packed files. */
#include "model/model.h"

#include <stdio.h>
#include <string.h>

enum { NAME = 96 };

struct named { /* where the data of a tensor comes from */
    char name[NAME];
    const struct parameter *parameter;
    const float *block;
    size_t offset; /* where a packed tensor begins in the block */
};

static void file_fill(const struct tensor_source *source, size_t first, size_t count, float *data)
{
    const struct named *n = source->user;
    rapt__parameter_get(n->parameter, n->block, first, count, data);
}

static void fill_packed(const struct tensor_source *source, size_t first, size_t count, float *data)
{
    const struct named *n = source->user;
    memcpy(data, n->block + n->offset + first, count * sizeof *data);
}

static struct tensor_source plain(const struct parameter *p)
{
    size_t rows = (size_t)p->rows, columns = (size_t)p->columns;
    if (p->kind == IN_ROWS && rows == 1)
        return (struct tensor_source){.rank = 1, .shape = {columns}};
    return (struct tensor_source){.rank = 2, .shape = {rows, columns}};
}

/* Describes the tensor that holds a piece of a packed parameter or, if `piece` is NULL, the whole
   parameter as a plain matrix. */
static struct tensor_source source_of(const struct parameter *p, const struct packed_piece *piece,
                                      const struct block_file *block, struct named *named)
{
    struct tensor_source source = plain(p);
    *named = (struct named){.parameter = p, .block = block->block};
    source.fill = file_fill;
    if (piece) {
        named->offset = piece->offset;
        source =
            (struct tensor_source){.rank = piece->rank, .fill = fill_packed, .dtype = piece->dtype};
        memcpy(source.shape, piece->shape, sizeof piece->shape);
    }
    snprintf(named->name, NAME, "%s%s%s", block->prefix, p->name, piece ? piece->suffix : "");
    source.name = named->name;
    source.user = named;
    return source;
}

static const struct layout *layout_of(const rapt_model *m, const struct block_file *block)
{
    return block->layout ? block->layout : &m->layout;
}

/* Describes all tensors of the blocks and returns how many there are. */
static int describe(const rapt_model *m, const struct block_file *blocks, int count, bool packed,
                    struct named *named, struct tensor_source *sources)
{
    int i = 0;
    for (int b = 0; b < count; b++)
        for (int p = 0; p < layout_of(m, &blocks[b])->count; p++) {
            const struct parameter *parameter = &layout_of(m, &blocks[b])->parameters[p];
            struct packed_piece pieces[PACKED_PIECES];
            int tensors = packed ? rapt__packed_pieces(parameter, pieces) : 1;
            for (int n = 0; n < tensors; n++, i++)
                sources[i] =
                    source_of(parameter, packed ? &pieces[n] : NULL, &blocks[b], &named[i]);
        }
    return i;
}

static rapt_status file_no_memory(const struct block_output *to, rapt_message *why)
{
    return rapt__fail(why, RAPT_NO_MEMORY, "%.400s: out of memory while writing",
                      to->writer ? "model" : to->path);
}

static rapt_status file_save(const rapt_model *m, const struct block_file *blocks, int count,
                             const struct block_output *to, const struct tensor_metadata *metadata,
                             int metadata_count, rapt_message *why)
{
    const rapt_allocator *a = &m->allocator;
    size_t max = 0;
    for (int b = 0; b < count; b++) max += (size_t)layout_of(m, &blocks[b])->count * PACKED_PIECES;
    size_t named_size = max * sizeof(struct named);
    size_t source_size = max * sizeof(struct tensor_source);
    struct named *named = rapt__alloc(a, named_size);
    struct tensor_source *sources = rapt__alloc(a, source_size);
    rapt_status status;
    if (named && sources) {
        int tensors = describe(m, blocks, count, to->packed, named, sources);
        status = to->writer ? rapt__tensors_write_to(to->writer, sources, tensors, metadata,
                                                     metadata_count, a, why)
                            : rapt__tensors_write(to->path, sources, tensors, metadata,
                                                  metadata_count, a, why);
    } else {
        status = file_no_memory(to, why);
    }
    rapt__free(a, named, named_size);
    rapt__free(a, sources, source_size);
    return status;
}

rapt_status rapt__blocks_save(const rapt_model *m, const struct block_file *blocks, int count,
                              const struct block_output *to, const rapt_metadata *metadata,
                              int metadata_count, const char *trainer, rapt_message *why)
{
    rapt_status status = rapt__metadata_check(metadata, metadata_count, why);
    if (status) return status;
    int own = 1;
    char layout[PACKED_LAYOUT];
    size_t max = (size_t)metadata_count + (size_t)m->notes.count + 3;
    struct tensor_metadata *all = rapt__alloc(&m->allocator, max * sizeof *all);
    if (!all) return file_no_memory(to, why);
    all[0] = (struct tensor_metadata){CONFIG_KEY, m->config_text};
    if (trainer) all[own++] = (struct tensor_metadata){TRAINER_KEY, trainer};
    if (to->packed) {
        rapt__packed_layout_write(m, layout);
        all[own++] = (struct tensor_metadata){LAYOUT_KEY, layout};
    }
    own += rapt__metadata_merge(m, metadata, metadata_count, all + own);
    status = file_save(m, blocks, count, to, all, own, why);
    rapt__free(&m->allocator, all, max * sizeof *all);
    return status;
}

rapt_status rapt_model_save(const rapt_model *model, const char *path,
                            const rapt_metadata *metadata, int count, rapt_message *why)
{
    return rapt_model_save_with(model, path, NULL, metadata, count, why);
}

rapt_status rapt_model_save_with(const rapt_model *model, const char *path,
                                 const rapt_save_options *options, const rapt_metadata *metadata,
                                 int count, rapt_message *why)
{
    rapt_save_options own = {.size = sizeof own};
    rapt_status status = RAPT_OK;
    if (!model || !path)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", model ? "path" : "model");
    if (options) status = rapt__struct_read(&own, sizeof own, options, "rapt_save_options", why);
    if (!status && own.reserved)
        status = rapt__fail(why, RAPT_BAD_ARGUMENT, "reserved is %d, not 0", own.reserved);
    if (status) return status;
    const struct block_file block = {.prefix = "", .block = model->block};
    const bool floats = model->layout.matrices == IN_PANELS;
    const struct block_output to = {.path = path, .packed = own.packed || !floats};
    return rapt__blocks_save(model, &block, 1, &to, metadata, count, NULL, why);
}

rapt_status rapt_model_save_to(const rapt_model *model, const rapt_writer *writer,
                               const rapt_metadata *metadata, int count, rapt_message *why)
{
    if (!model || !writer)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", model ? "writer" : "model");
    const struct block_file block = {.prefix = "", .block = model->block};
    const struct block_output to = {.writer = writer,
                                    .packed = model->layout.matrices != IN_PANELS};
    return rapt__blocks_save(model, &block, 1, &to, metadata, count, NULL, why);
}

struct memory { /* the destination of rapt_model_save_memory */
    char *bytes;
    size_t capacity, used; /* `used` also counts bytes that did not fit */
};

static int memory_append(void *user, const void *data, size_t count)
{
    struct memory *m = user;
    if (m->used <= m->capacity && count <= m->capacity - m->used)
        memcpy(m->bytes + m->used, data, count);
    return !rapt__plus(m->used, count, &m->used);
}

rapt_status rapt_model_save_memory(const rapt_model *model, void *bytes, size_t capacity,
                                   size_t *size, const rapt_metadata *metadata, int count,
                                   rapt_message *why)
{
    struct memory ask = {.bytes = NULL};
    const rapt_writer counts = {memory_append, &ask};
    if (!size) return rapt__fail(why, RAPT_BAD_ARGUMENT, "size is NULL");
    rapt_status status = rapt_model_save_to(model, &counts, metadata, count, why);
    if (status) return status;
    *size = ask.used;
    if (!bytes) return RAPT_OK;
    if (capacity < ask.used)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "capacity is %zu; the model needs %zu bytes",
                          capacity, ask.used);
    struct memory memory = {bytes, capacity, 0};
    const rapt_writer writer = {memory_append, &memory};
    return rapt_model_save_to(model, &writer, metadata, count, why);
}

static bool has_shape(const struct tensor_entry *e, const struct parameter *p)
{
    size_t rows = (size_t)p->rows, columns = (size_t)p->columns;
    if (e->rank == 1) return rows == 1 && e->shape[0] == columns;
    return e->rank == 2 && e->shape[0] == rows && e->shape[1] == columns;
}

static rapt_status check_values(const char *name, const float *data, size_t first, size_t count,
                                enum value_range range, rapt_message *why)
{
    size_t good = range == ANY_VALUE ? count : rapt__finite_count(data, count);
    for (size_t i = 0; range == FINITE_NOT_NEGATIVE && i < good; i++)
        if (data[i] < 0) good = i;
    if (good == count) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_FILE, "tensor %s: element %zu is %g; it must be %s", name,
                      first + good, (double)data[good],
                      range == FINITE_VALUE ? "finite" : "finite and not negative");
}

static const struct tensor_entry *find_tensor(const struct tensor_file *file,
                                              const struct block_file *block,
                                              const struct parameter *p, char name[NAME])
{
    snprintf(name, NAME, "%s%s", block->prefix, p->name);
    return rapt__tensors_find(file, name);
}

static rapt_status match_parameter(const struct parameter *p, const struct block_file *block,
                                   const struct tensor_file *file, rapt_message *why)
{
    char name[NAME];
    const struct tensor_entry *e = find_tensor(file, block, p, name);
    if (!e) return rapt__fail(why, RAPT_BAD_FILE, "tensor %s is missing", name);
    if (has_shape(e, p)) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_FILE,
                      "tensor %s must be %d x %d according to the configuration", name, p->rows,
                      p->columns);
}

rapt_status rapt__blocks_match(const rapt_model *m, const struct block_file *blocks, int count,
                               const struct tensor_file *file, rapt_message *why)
{
    for (int b = 0; b < count; b++) {
        const struct layout *l = layout_of(m, &blocks[b]);
        for (int p = 0; p < l->count; p++) {
            rapt_status status = match_parameter(&l->parameters[p], &blocks[b], file, why);
            if (status) return status;
        }
    }
    return RAPT_OK;
}

/* The state of rapt__blocks_load. A matrix that becomes IN_BYTES is read and quantized LANES rows
   at a time. */
struct loading {
    const rapt_model *model;
    const struct block_file *to;
    struct tensor_file *file;
    float *rows, *factors, *scratch; /* [LANES][largest number of columns], [largest number of
                                        rows], and the scratch memory of rapt__parameter_set_rows;
                                        NULL if no matrix is IN_BYTES */
    rapt_message *why;
};

static rapt_status load_chunk(const struct loading *l, const struct tensor_entry *e,
                              const char *name, size_t first, size_t count, float *data)
{
    rapt_status status = rapt__tensors_read(l->file, e, first, count, data, l->why);
    return status ? status : check_values(name, data, first, count, l->to->range, l->why);
}

static rapt_status load_rows(const struct loading *l, int index, const struct tensor_entry *e,
                             const char *name)
{
    const struct parameter *p = &l->model->layout.parameters[index];
    rapt_status status = rapt_model_scales(l->model, index, l->factors, NULL, l->why);
    for (int row = 0, count; !status && row < p->rows; row += count) {
        size_t columns = (size_t)p->columns;
        count = rapt__min(p->rows - row, LANES);
        status = load_chunk(l, e, name, (size_t)row * columns, (size_t)count * columns, l->rows);
        if (!status)
            rapt__parameter_set_rows(p, l->to->block, row, count, l->rows, l->factors + row,
                                     l->scratch);
    }
    return status;
}

static rapt_status load_parameter(const struct loading *l, int index)
{
    char name[NAME];
    float chunk[4096];
    const struct parameter *p = &layout_of(l->model, l->to)->parameters[index];
    const struct tensor_entry *e = find_tensor(l->file, l->to, p, name);
    size_t max = sizeof chunk / sizeof *chunk;
    if (p->kind == IN_BYTES) return load_rows(l, index, e, name);
    for (size_t first = 0; first < e->count; first += max) {
        size_t count = e->count - first < max ? e->count - first : max;
        rapt_status status = load_chunk(l, e, name, first, count, chunk);
        if (status) return status;
        rapt__parameter_set(p, l->to->block, first, count, chunk);
    }
    return RAPT_OK;
}

rapt_status rapt__blocks_load(const rapt_model *m, const struct block_file *blocks, int count,
                              struct tensor_file *file, rapt_message *why)
{
    const struct row_sizes sizes = rapt__row_sizes(&m->layout);
    const size_t bytes = (LANES * sizes.columns + sizes.rows + sizes.scratch) * sizeof(float);
    float *memory = sizes.scratch ? rapt__alloc(&m->allocator, bytes) : NULL;
    struct loading l = {.model = m, .file = file, .rows = memory, .why = why};
    rapt_status status = RAPT_OK;
    if (memory) l.factors = memory + LANES * sizes.columns, l.scratch = l.factors + sizes.rows;
    if (sizes.scratch && !memory)
        status = rapt__fail(why, RAPT_NO_MEMORY, "not enough memory to convert a model");
    for (int b = 0; b < count; b++) {
        l.to = &blocks[b];
        int tensors = layout_of(m, l.to)->count;
        for (int p = 0; !status && p < tensors; p++) status = load_parameter(&l, p);
    }
    if (memory) rapt__free(&m->allocator, memory, bytes);
    return status;
}
