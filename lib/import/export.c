/* export.c - exports a model in another project's format; defines the functions that all exports
   share: checks of the configuration, tensors under the other project's names, tokenizers, and
   small text files. */
#include "import/export.h"

#include <assert.h>
#include <rapt/file.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void rapt__export_refuse(const struct exporting *e, const char *field, const char *needed)
{
    enum { MORE = 12 }; /* number of bytes reserved for "; and more" */
    struct export_reasons *reasons = e->reasons;
    char reason[200], *text = reasons->message.text;
    size_t used = reasons->count ? strlen(text) : 0, space = sizeof reasons->message.text;
    int size = snprintf(reason, sizeof reason, "%s must be %s", field, needed);
    if (!reasons->count++)
        snprintf(text, space, "cannot export this model to %s: %s", e->project, reason);
    else if (strstr(text, reason) || strstr(text, "; and more"))
        return; /* both vocabularies may lack the same token */
    else if (used + (size_t)size + MORE < space)
        snprintf(text + used, space - used, "; %s", reason);
    else
        snprintf(text + used, space - used, "; and more");
}

rapt_status rapt__export_refused(const struct exporting *e)
{
    if (!e->reasons->count) return RAPT_OK;
    return rapt__fail(e->why, RAPT_BAD_ARGUMENT, "%s", e->reasons->message.text);
}

static bool is_of(int field, const enum config_field *fields, int count)
{
    for (int i = 0; i < count; i++)
        if ((int)fields[i] == field) return true;
    return false;
}

void rapt__export_check(const struct exporting *e, const enum config_field *free_fields, int count)
{
    static const enum config_field sizes[] = {
        CONFIG_kind,           CONFIG_source_vocab,    CONFIG_target_vocab,
        CONFIG_positions,      CONFIG_width,           CONFIG_heads,
        CONFIG_key_heads,      CONFIG_ffn_width,       CONFIG_encoder_layers,
        CONFIG_decoder_layers, CONFIG_alignment_layer, CONFIG_alignment_heads};
    const rapt_config *c = e->config;
    if (c->kind != RAPT_KIND_ENCODER_DECODER) rapt__export_refuse(e, "kind", "encoder-decoder");
    if (c->ffn_width == 0) rapt__export_refuse(e, "ffn_width", "above 0");
    if (!c->latent_width && rapt__key_heads(c) != c->heads)
        rapt__export_refuse(e, "key_heads", "equal to heads");
    for (int i = 0; i < RAPT_CONFIG_FIELDS; i++)
        if (!is_of(i, sizes, sizeof sizes / sizeof *sizes) && !is_of(i, free_fields, count) &&
            rapt__config_get(c, i))
            rapt__export_refuse(e, rapt_config_field_at(i)->name, "left at its default");
}

/* ---- tensors ---- */

/* Reads elements [first, first + count) of a tensor that has this shape and holds a part of a
   parameter. If the tensor is transposed, its element [row][column] is element [column][row] of the
   part. */
static void fill_parameter(const struct export_tensor *t, const size_t *shape, size_t first,
                           size_t count, float *data)
{
    bool turn = (t->row->flags & IMPORT_TRANSPOSED) && t->p->rows > 1;
    size_t rows = shape[0], columns = shape[1], start = (size_t)t->row->part * t->count;
    if (!turn) {
        rapt__parameter_get(t->p, t->block, start + first, count, data);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = first + i;
        rapt__parameter_get(t->p, t->block, start + at % columns * rows + at / columns, 1,
                            data + i);
    }
}

static void fill_tensor(const struct tensor_source *source, size_t first, size_t count, float *data)
{
    const struct export_tensor *t = (const struct export_tensor *)source->user + source->index;
    size_t held = first < t->count ? rapt__min_size(t->count - first, count) : 0;
    if (held && t->p) fill_parameter(t, source->shape, first, held, data);
    if (held && !t->p) memcpy(data, t->data + first, held * sizeof *data);
    memset(data + held, 0, (count - held) * sizeof *data);
}

/* Adds a tensor of zeros. If memory has not been allocated yet, only counts the tensor and returns
   NULL. */
static struct export_tensor *add_tensor(struct exporting *e, const char *name, int rank,
                                        size_t rows, size_t columns)
{
    int at = e->count++;
    if (!e->tensors) return NULL;
    struct export_tensor *t = &e->tensors[at];
    *t = (struct export_tensor){0};
    snprintf(t->name, sizeof t->name, "%s", name);
    e->sources[at] = (struct tensor_source){.name = t->name,
                                            .rank = rank,
                                            .shape = {rank == 2 ? rows : columns, columns},
                                            .fill = fill_tensor,
                                            .user = e->tensors,
                                            .index = (size_t)at};
    return t;
}

static void take_row(struct exporting *e, const struct parameter *p, const struct import_row *row,
                     const char *name, int vector_rank)
{
    bool vector = p->rows == 1, turn = (row->flags & IMPORT_TRANSPOSED) && !vector;
    size_t rows = vector ? 1 : (size_t)(p->rows / row->parts);
    size_t columns = (size_t)(vector ? p->columns / row->parts : p->columns);
    struct export_tensor *t =
        add_tensor(e, name, vector ? vector_rank : 2, turn ? columns : rows, turn ? rows : columns);
    if (t) t->p = p, t->row = row, t->block = e->model->block, t->count = rows * columns;
}

/* Adds the tensors that hold the parts of one parameter. */
static void take_parameter(struct exporting *e, const struct export_rows *r,
                           const struct parameter *p)
{
    char pattern[IMPORT_NAME], name[IMPORT_NAME];
    int layer, part = 0, parts = 1;
    rapt__import_pattern(p->name, pattern, &layer);
    for (int t = 0; t < r->count; t++)
        for (int n = 0; n < r->tables[t].count && part < parts; n++) {
            const struct import_row *row = &r->tables[t].rows[n];
            if (row->part != part || strcmp(row->ours, pattern) != 0) continue;
            if (r->takes && !r->takes(e, row, pattern)) continue;
            rapt__import_name(name, row->theirs, layer + r->tables[t].first_layer);
            take_row(e, p, row, name, r->vector_rank);
            parts = row->parts, part++;
        }
}

static void take_all(struct exporting *e, const struct export_rows *rows)
{
    e->count = 0;
    for (int n = 0; n < e->model->layout.count; n++)
        take_parameter(e, rows, &e->model->layout.parameters[n]);
}

rapt_status rapt__export_tensors(struct exporting *e, const struct export_rows *rows)
{
    const rapt_allocator *allocator = &e->model->allocator;
    take_all(e, rows);
    e->capacity = 2 * e->count + 1 + rows->more; /* an alpha per tensor, and one for "none" */
    e->tensors = rapt__alloc(allocator, (size_t)e->capacity * sizeof *e->tensors);
    e->sources = rapt__alloc(allocator, (size_t)e->capacity * sizeof *e->sources);
    if (!e->tensors || !e->sources)
        return rapt__fail(e->why, RAPT_NO_MEMORY, "%.200s: out of memory while writing", e->folder);
    take_all(e, rows);
    return RAPT_OK;
}

void rapt__export_add(struct exporting *e, const char *name, int rows, int columns,
                      const float *data)
{
    struct export_tensor *t = add_tensor(e, name, 2, (size_t)rows, (size_t)columns);
    if (!t) return;
    t->data = data;
    t->count = data ? (size_t)rows * (size_t)columns : 0;
}

struct tensor_source *rapt__export_find(const struct exporting *e, const char *name)
{
    for (int n = 0; n < e->count; n++)
        if (strcmp(e->sources[n].name, name) == 0) return &e->sources[n];
    return NULL;
}

void rapt__export_extend(struct exporting *e, const char *name)
{
    struct tensor_source *s = rapt__export_find(e, name);
    if (!s) return;
    const struct parameter *p = e->tensors[s->index].p;
    s->shape[s->rank == 2 && (p ? p->rows == 1 : s->shape[0] == 1)]++;
}

static void free_tensors(struct exporting *e)
{
    const rapt_allocator *allocator = &e->model->allocator;
    size_t count = (size_t)e->capacity;
    if (e->tensors) rapt__free(allocator, e->tensors, count * sizeof *e->tensors);
    if (e->sources) rapt__free(allocator, e->sources, count * sizeof *e->sources);
}

/* ---- tokenizers ---- */

/* Opens a tokenizer for a table of `vocab` rows. If the tokenizer is missing or has another size,
   adds a reason to refuse the model and leaves *t NULL. */
static rapt_status open_tokenizer(const struct exporting *e, const char *key, int vocab,
                                  rapt_tokenizer **t)
{
    const char *text = rapt_model_metadata(e->model, key);
    char needed[100];
    if (!text) {
        rapt__export_refuse(e, key, "in the model's metadata");
        return RAPT_OK;
    }
    rapt_status status = rapt_tokenizer_create(t, text, strlen(text), &e->model->allocator, e->why);
    if (status || rapt_tokenizer_vocab(*t) == vocab) return status;
    snprintf(needed, sizeof needed,
             "a vocabulary of %d tokens, one per row of the embeddings, not %d", vocab,
             rapt_tokenizer_vocab(*t));
    rapt__export_refuse(e, key, needed);
    rapt_tokenizer_free(*t);
    *t = NULL;
    return RAPT_OK;
}

static rapt_status open_tokenizers(struct exporting *e)
{
    const rapt_config *c = e->config;
    rapt_status status;
    if (rapt_model_metadata(e->model, "rapt.tokenizer")) {
        status = open_tokenizer(e, "rapt.tokenizer", c->source_vocab, &e->source);
        e->target = e->source;
        if (c->source_vocab != c->target_vocab)
            rapt__export_refuse(e, "source_vocab",
                                "equal to target_vocab, because there is only one tokenizer");
        return status;
    }
    status = open_tokenizer(e, "rapt.source_tokenizer", c->source_vocab, &e->source);
    if (!status) status = open_tokenizer(e, "rapt.target_tokenizer", c->target_vocab, &e->target);
    return status;
}

const char *rapt__export_key(const struct exporting *e, const rapt_tokenizer *t)
{
    if (e->source == e->target) return "rapt.tokenizer";
    return t == e->target ? "rapt.target_tokenizer" : "rapt.source_tokenizer";
}

rapt_status rapt__export_pieces(const struct exporting *e, const rapt_tokenizer *t,
                                const char *name)
{
    const rapt_text file = rapt_tokenizer_file(t);
    return rapt__export_file(e, name, file.bytes, file.size);
}

rapt_status rapt__export_pieces_if(const struct exporting *e, const rapt_tokenizer *t,
                                   const char *name)
{
    return rapt_tokenizer_file(t).size ? rapt__export_pieces(e, t, name) : RAPT_OK;
}

void rapt__export_special(const struct exporting *e, const rapt_tokenizer *t, int which,
                          const char *name)
{
    const rapt_text text = {name, strlen(name)};
    char needed[64];
    int32_t id = rapt_tokenizer_special(t, which);
    if (id >= 0 && id == rapt_tokenizer_find(t, text)) return;
    snprintf(needed, sizeof needed, "a vocabulary with the token %.20s", name);
    rapt__export_refuse(e, rapt__export_key(e, t), needed);
}

bool rapt__same_names(const rapt_tokenizer *a, const rapt_tokenizer *b)
{
    int vocab = rapt_tokenizer_vocab(a);
    if (vocab != rapt_tokenizer_vocab(b)) return false;
    for (int32_t id = 0; id < vocab; id++) {
        rapt_text x = rapt_tokenizer_name(a, id), y = rapt_tokenizer_name(b, id);
        if (x.size != y.size || (x.size && memcmp(x.bytes, y.bytes, x.size) != 0)) return false;
    }
    return true;
}

rapt_status rapt__export_is_pieces(const struct exporting *e, const rapt_tokenizer *t, bool *is)
{
    const rapt_text file = rapt_tokenizer_file(t);
    rapt_tokenizer *pieces;
    *is = false;
    if (file.size == 0) return RAPT_OK;
    rapt_status status =
        rapt_tokenizer_load_memory(&pieces, file.bytes, file.size, &e->model->allocator, e->why);
    if (status) return status;
    *is = rapt__same_names(t, pieces);
    rapt_tokenizer_free(pieces);
    return RAPT_OK;
}

/* ---- the complete export ---- */

rapt_status rapt__export(const rapt_model *model, enum export_format format, const char *folder,
                         const struct export_settings *settings, rapt_message *why)
{
    static const struct {
        const char *project;
        export_check *check;
        export_write *write;
    } all[] = {
        [EXPORT_MARIAN] = {"Marian", rapt__export_check_marian, rapt__export_marian},
        [EXPORT_BERGAMOT] = {"8-bit Marian", rapt__export_check_bergamot, rapt__export_bergamot},
        [EXPORT_FIREFOX] = {"Firefox", rapt__export_check_firefox, rapt__export_firefox},
        [EXPORT_HF] = {"Hugging Face MarianMT", rapt__export_check_hf, rapt__export_hf},
        [EXPORT_CT2] = {"CTranslate2", rapt__export_check_ct2, rapt__export_ct2},
    };
    struct export_plan plan = {0};
    struct export_reasons reasons = {0};
    struct exporting e = {.model = model,
                          .format = format,
                          .config = &model->config,
                          .project = all[format].project,
                          .folder = folder,
                          .settings = settings,
                          .reasons = &reasons,
                          .plan = &plan,
                          .why = why};
    if (folder && strlen(folder) >= IMPORT_PATH)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%.200s: the path is too long", folder);
    rapt_status status = open_tokenizers(&e);
    if (!status) all[format].check(&e);
    if (!status && (!e.source || !e.target)) status = rapt__export_refused(&e);
    if (!status) status = all[format].write(&e);
    if (!status && folder) status = rapt__export_check_folder(&e, &plan);
    e.plan = NULL;
    if (!status && !settings->check_only) status = all[format].write(&e);
    free_tensors(&e);
    if (e.target != e.source) rapt_tokenizer_free(e.target);
    rapt_tokenizer_free(e.source);
    return status;
}

/* ---- text files ---- */

/* Makes room for `size` more bytes. Returns false if out of memory. */
static bool make_room(struct composer *c, size_t size)
{
    while (!c->failed && c->capacity - c->size < size) {
        void *grown = rapt__grown(&c->allocator, c->text, &c->capacity, 1);
        if (grown)
            c->text = grown;
        else
            c->failed = true;
    }
    return !c->failed;
}

static void append_text(struct composer *c, const char *bytes, size_t size)
{
    if (!make_room(c, size) || size == 0) return;
    memcpy(c->text + c->size, bytes, size);
    c->size += size;
}

void rapt__compose(struct composer *c, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    size_t size = (size_t)vsnprintf(NULL, 0, format, arguments);
    if (make_room(c, size + 1)) {
        vsnprintf(c->text + c->size, size + 1, format, again);
        c->size += size;
    }
    va_end(again);
    va_end(arguments);
}

void rapt__compose_string(struct composer *c, rapt_text text)
{
    append_text(c, "\"", 1);
    for (size_t at = 0; at < text.size; at++) {
        unsigned char byte = (unsigned char)text.bytes[at];
        if (byte < 0x20 || byte == 0x7F) {
            rapt__compose(c, "\\u%04x", (unsigned)byte);
            continue;
        }
        if (byte == '"' || byte == '\\') append_text(c, "\\", 1);
        append_text(c, text.bytes + at, 1);
    }
    append_text(c, "\"", 1);
}

bool rapt__export_plans(const struct exporting *e, const char *name)
{
    if (!e->plan) return false;
    assert(e->plan->count < EXPORT_FILES);
    snprintf(e->plan->names[e->plan->count++], EXPORT_NAME, "%s", name);
    return true;
}

void rapt__export_path(const struct exporting *e, const char *name, char path[2 * IMPORT_PATH])
{
    snprintf(path, (size_t)2 * IMPORT_PATH, "%s/%s", e->folder, name);
}

rapt_status rapt__export_file(const struct exporting *e, const char *name, const void *data,
                              size_t size)
{
    char path[2 * IMPORT_PATH];
    if (rapt__export_plans(e, name)) return RAPT_OK;
    rapt__export_path(e, name, path);
    return rapt_file_write(path, data, size, e->why);
}

rapt_status rapt__compose_write(const struct exporting *e, struct composer *c, const char *name)
{
    rapt_status status =
        c->failed ? rapt__fail(e->why, RAPT_NO_MEMORY, "%s: out of memory while writing", name)
                  : rapt__export_file(e, name, c->text, c->size);
    rapt__free(&c->allocator, c->text, c->capacity);
    *c = (struct composer){.allocator = c->allocator};
    return status;
}
