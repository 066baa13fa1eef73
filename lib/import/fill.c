/* fill.c - fills the parameters of a model with the tensors of another project's file, according to
   tables of names. Shapes and values are checked, and every tensor, except scales and alphas, must
   be used or be marked by the importer as one to ignore. */
#include "import/parts.h"

#include <stdio.h>
#include <string.h>

void rapt__import_name(char to[IMPORT_NAME], const char *name, int layer)
{
    const char *mark = strchr(name, '#');
    if (mark)
        snprintf(to, IMPORT_NAME, "%.*s%d%s", (int)(mark - name), name, layer, mark + 1);
    else
        snprintf(to, IMPORT_NAME, "%s", name);
}

const struct tensor_entry *rapt__import_find(const struct import *i, const char *name, int layer)
{
    char full[IMPORT_NAME];
    rapt__import_name(full, name, layer);
    if (i->spell) i->spell(full);
    return rapt__tensors_find(i->file, full);
}

void rapt__import_use(struct import *i, const struct tensor_entry *entry)
{
    for (int n = 0; entry && n < rapt__tensors_count(i->file); n++)
        if (rapt__tensors_entry(i->file, n) == entry) i->used[n] = true;
}

rapt_status rapt__import_number(struct import *i, const char *name, int otherwise, int *value)
{
    const struct tensor_entry *e = rapt__import_find(i, name, 0);
    int64_t number = otherwise;
    *value = otherwise;
    if (!e) return RAPT_OK;
    rapt__import_use(i, e);
    if (e->count != 1) return rapt__import_bad(i, "tensor %s is not a single number", name);
    rapt_status status = rapt__tensors_integers(i->file, e, 0, 1, &number, i->why);
    if (status) return status;
    if (number < -(1 << 10) || number > 1 << 24)
        return rapt__import_bad(i, "tensor %s is %lld; it must be from -2^10 to 2^24", name,
                                (long long)number);
    *value = (int)number;
    return RAPT_OK;
}

/* ---- one tensor ---- */

/* The destination of a tensor: all rows of a parameter, or one of several equal parts of them. */
struct target {
    const struct parameter *p;
    size_t rows, columns, first; /* shape of the part, and index of its first element */
};

static struct target target_of(const struct parameter *p, const struct import_row *row)
{
    size_t rows = (size_t)(p->rows / row->parts), columns = (size_t)p->columns;
    if (p->rows == 1) rows = 1, columns = (size_t)(p->columns / row->parts);
    return (struct target){p, rows, columns, (size_t)row->part * rows * columns};
}

static bool fits(const struct tensor_entry *e, const struct target *t, int flags)
{
    const bool transposed = flags & IMPORT_TRANSPOSED;
    const size_t more = flags & IMPORT_OFFSET ? IMPORT_OFFSET_ROWS : 0;
    if (t->p->rows == 1) { /* a vector may be stored as a matrix of one row or column */
        size_t longest = 1;
        for (int d = 0; d < e->rank; d++) longest = rapt__max_size(longest, e->shape[d]);
        return e->count == t->columns && longest == e->count;
    }
    size_t rows = transposed ? t->columns : t->rows, columns = transposed ? t->rows : t->columns;
    return e->rank == 2 && e->shape[0] == rows + more && e->shape[1] == columns;
}

/* Transposes x[rows][columns] to y[columns][rows]. */
static void transpose(const float *x, size_t rows, size_t columns, float *y)
{
    enum { BLOCK = 16 };
    for (size_t r0 = 0; r0 < rows; r0 += BLOCK)
        for (size_t c0 = 0; c0 < columns; c0 += BLOCK)
            for (size_t r = r0; r < rapt__min_size(rows, r0 + BLOCK); r++)
                for (size_t c = c0; c < rapt__min_size(columns, c0 + BLOCK); c++)
                    y[c * rows + r] = x[r * columns + c];
}

static rapt_status check_finite(struct import *i, const struct tensor_entry *e, const float *x,
                                size_t first, size_t count)
{
    size_t good = rapt__finite_count(x, count);
    if (good == count) return RAPT_OK;
    return rapt__import_bad(i, "tensor %s: element %zu is %g, not finite", e->name, first + good,
                            (double)x[good]);
}

static rapt_status differs(struct import *i, const struct tensor_entry *e)
{
    return rapt__import_bad(i, "tensor %s differs from the one that it is tied to", e->name);
}

/* Checks that another tensor for the same part has the values that the part was filled with. If the
   part is stored in 16 bits, the tensor is rounded before it is compared. */
static rapt_status check_equal(struct import *i, const struct tensor_entry *e,
                               const struct target *t, size_t first, size_t all, const float *data)
{
    float own[256], given[256];
    const struct linear l = rapt__parameter_matrix(t->p, i->model->block);
    for (size_t at = 0; at < all; at += sizeof own / sizeof *own) {
        size_t count = rapt__min_size(all - at, sizeof own / sizeof *own);
        for (size_t n = 0; n < count; n++)
            given[n] = l.half ? half_widen(l.type, half_round(l.type, data[at + n])) : data[at + n];
        rapt__parameter_get(t->p, i->model->block, t->first + first + at, count, own);
        if (memcmp(own, given, count * sizeof *own) != 0) return differs(i, e);
    }
    return RAPT_OK;
}

/* ---- rows of an 8-bit matrix ---- */

/* Reads the factors for quantizing rows [first, first + count): the scales of the tensor if it has
   a single scale, or if it has one per row and is not stored column by column. Otherwise the
   factors are 0, which means that they are computed. */
static rapt_status read_factors(struct import *i, const struct tensor_entry *e,
                                const struct target *t, size_t first, size_t count)
{
    float *factors = i->converting.factors;
    bool by_rows = e->scales == t->rows && e->scales > 1 && !e->transposed;
    for (size_t n = 0; n < count; n++) factors[n] = e->scales == 1 ? e->scale : 0;
    return by_rows ? rapt__tensors_scales(i->file, e, first, count, factors, i->why) : RAPT_OK;
}

/* Checks that another tensor for the same rows has, after quantization, the values that the rows
   were filled with. */
static rapt_status check_equal_rows(struct import *i, const struct tensor_entry *e,
                                    const struct target *t, int first, int count, const float *data)
{
    struct import_converting *c = &i->converting;
    const struct linear all = rapt__parameter_matrix(t->p, i->model->block);
    const struct int8_rows again = {c->again, c->again_scale, t->p->columns};
    const struct linear same = {.in = all.in, .bytes = c->again, .scale = c->again_scale};
    float x[2][256];
    for (int n = 0; n < count; n++) {
        rapt__int8_set_rows(&again, 0, 1, data + (size_t)n * t->columns, c->factors + n,
                            c->scratch);
        for (int at = 0, now; at < all.in; at += now) {
            now = rapt__min(all.in - at, 256);
            rapt__int8_floats(&all, first + n, at, now, 1, x[0]);
            rapt__int8_floats(&same, 0, at, now, 1, x[1]);
            if (memcmp(x[0], x[1], (size_t)now * sizeof *x[0]) != 0) return differs(i, e);
        }
    }
    return RAPT_OK;
}

/* Quantizes rows [first, first + count) of a part and stores them or, if `again` is true, compares
   them. */
static rapt_status take_part_rows(struct import *i, const struct tensor_entry *e,
                                  const struct target *t, size_t first, size_t count,
                                  const float *data, bool again)
{
    int row = (int)(t->first / t->columns + first);
    rapt_status status = read_factors(i, e, t, first, count);
    if (status) return status;
    if (again) return check_equal_rows(i, e, t, row, (int)count, data);
    rapt__parameter_set_rows(t->p, i->model->block, row, (int)count, data, i->converting.factors,
                             i->converting.scratch);
    return RAPT_OK;
}

/* Returns true if a tensor of the file is quantized to 8-bit integers. */
static bool in_bytes(const struct tensor_entry *e)
{
    return e->scales > 0 && strcmp(e->dtype, "I8") == 0;
}

/* Marks a tensor as used and checks its shape. Sets i->floats if the tensor is a layer's matrix and
   is not stored as 8-bit integers; embedding tables do not count. */
static rapt_status match_part(struct import *i, const struct import_row *row,
                              const struct parameter *p, const struct tensor_entry *e)
{
    const struct target t = target_of(p, row);
    rapt__import_use(i, e);
    if (p->kind == IN_PANELS && strstr(p->name, ".layers.") && !in_bytes(e)) i->floats = true;
    if (fits(e, &t, row->flags)) return RAPT_OK;
    return rapt__import_bad(i, "tensor %s does not have the shape of %s, %zu x %zu", e->name,
                            p->name, t.rows, t.columns);
}

/* Stores elements [first, first + count) of a part, given in our layout, or compares them if
   `again` is true. In an 8-bit matrix, these elements must form whole rows. */
static rapt_status take(struct import *i, const struct tensor_entry *e, const struct target *t,
                        size_t first, size_t count, const float *data, bool again)
{
    if (t->p->kind == IN_BYTES)
        return take_part_rows(i, e, t, first / t->columns, count / t->columns, data, again);
    if (again) return check_equal(i, e, t, first, count, data);
    rapt__parameter_set(t->p, i->model->block, t->first + first, count, data);
    return RAPT_OK;
}

/* ---- scales: metadata SCALES_KEY; see model/scales.c ---- */

enum { SCALES_AT_ONCE = 4096 }; /* number of scales read at a time */

rapt_status rapt__import_keep_alpha(struct import *i, const char *name, float alpha)
{
    const struct scale_rows rows = {
        .name = name, .count = 1, .scales = &(float){0}, .same = true, .alpha = alpha};
    return rapt__scales_append(&i->scales, &i->lasting, &rows, i->why);
}

/* Stores the scales and the alpha of an entry, which holds rows [first, first + count) of a
   parameter. The entry is ignored unless it has a single scale, or has one per row and is not
   stored column by column. */
static rapt_status keep_scales(struct import *i, const char *name, size_t first, size_t count,
                               const struct tensor_entry *e)
{
    float scales[SCALES_AT_ONCE] = {e->scale};
    struct scale_rows rows = {.name = name, .scales = scales, .alpha = e->alpha};
    rapt_status status = RAPT_OK;
    rows.same = e->scales == 1;
    if (!rows.same && (e->scales != count || e->transposed)) return RAPT_OK;
    for (size_t done = 0; done < count && !status; done += rows.count) {
        rows.first = first + done;
        rows.count = rows.same ? count : rapt__min_size(count - done, SCALES_AT_ONCE);
        if (!rows.same) status = rapt__tensors_scales(i->file, e, done, rows.count, scales, i->why);
        if (!status) status = rapt__scales_append(&i->scales, &i->lasting, &rows, i->why);
    }
    return status;
}

/* ---- pieces of tensors ---- */

/* Returns the number of elements to read at a time: whole panels of rows with `columns` elements
   each. */
static size_t piece_of(size_t columns)
{
    enum { SOME = 32768 };
    size_t panel = LANES * columns;
    return panel < SOME ? SOME / panel * panel : panel;
}

/* Copies elements [first, first + count) of a tensor of 8-bit integers to an 8-bit matrix. These
   elements must form whole rows. Sets *done to false if they have to be converted to floats and
   back. */
static rapt_status copy_integers(struct import *i, const struct tensor_entry *e,
                                 const struct target *t, size_t first, size_t count, bool *done)
{
    struct import_converting *c = &i->converting;
    int8_t *bytes = (int8_t *)c->rows;
    const int row = (int)((t->first + first) / t->columns), rows = (int)(count / t->columns);
    *done = false;
    if (t->p->kind != IN_BYTES || !in_bytes(e)) return RAPT_OK;
    rapt_status status = read_factors(i, e, t, first / t->columns, (size_t)rows);
    if (!status) status = rapt__tensors_bytes(i->file, e, first, count, bytes, i->why);
    if (!status)
        *done = rapt__parameter_set_integers(t->p, i->model->block, row, rows, bytes, c->factors);
    return status;
}

/* Fills a part in pieces that stay in the cache. Allocating memory for a whole tensor would cause
   page faults, which take more time than reading the file. */
static rapt_status fill_piecewise(struct import *i, const struct tensor_entry *e,
                                  const struct target *t, bool again)
{
    float *data = i->converting.rows;
    const size_t piece = piece_of(t->columns);
    const size_t all = t->rows * t->columns, skipped = e->count - all; /* see IMPORT_OFFSET */
    for (size_t first = 0; first < all; first += piece) {
        size_t count = rapt__min_size(all - first, piece);
        bool done = false;
        rapt_status status = RAPT_OK;
        if (!again && skipped == 0) status = copy_integers(i, e, t, first, count, &done);
        if (done) continue;
        if (!status) status = rapt__tensors_read(i->file, e, skipped + first, count, data, i->why);
        if (!status) status = check_finite(i, e, data, skipped + first, count);
        if (!status) status = take(i, e, t, first, count, data, again);
        if (status) return status;
    }
    return RAPT_OK;
}

/* Fills a part in one piece. This is necessary if a matrix is stored column by column, because its
   rows cannot be read one after another. `turn` means that the file's matrix is the transpose of
   ours. */
static rapt_status fill_whole(struct import *i, const struct tensor_entry *e,
                              const struct target *t, bool turn, bool again)
{
    size_t bytes = (turn ? 2 : 1) * e->count * sizeof(float);
    float *data = rapt__alloc(&i->lasting, bytes), *ours = data;
    if (!data)
        return rapt__fail(i->why, RAPT_NO_MEMORY, "out of memory while reading tensor %s", e->name);
    rapt_status status = rapt__tensors_read(i->file, e, 0, e->count, data, i->why);
    if (!status) status = check_finite(i, e, data, 0, e->count);
    if (!status && turn) {
        ours = data + e->count;
        transpose(data, e->shape[0], e->shape[1], ours);
    }
    if (!status) status = take(i, e, t, 0, e->count, ours, again);
    rapt__free(&i->lasting, data, bytes);
    return status;
}

/* Fills a part. `again` means that the part has already been filled and that the tensor must be
   equal to it. */
static rapt_status fill_part(struct import *i, const struct import_row *row,
                             const struct parameter *p, const struct tensor_entry *e, bool again)
{
    const struct target t = target_of(p, row);
    bool transposed = row->flags & IMPORT_TRANSPOSED;
    bool turn = transposed && p->rows > 1;
    rapt_status status =
        turn || e->transposed ? fill_whole(i, e, &t, turn, again) : fill_piecewise(i, e, &t, again);
    if (!status && !again && p->rows > 1)
        status = keep_scales(i, p->name, (size_t)row->part * t.rows, t.rows, e);
    return status;
}

/* ---- the tables ---- */

void rapt__import_pattern(const char *name, char pattern[IMPORT_NAME], int *layer)
{
    static const char mark[] = ".layers.";
    const char *at = strstr(name, mark);
    *layer = 0;
    snprintf(pattern, IMPORT_NAME, "%s", name);
    if (!at) return;
    at += strlen(mark);
    size_t front = (size_t)(at - name);
    for (; *at >= '0' && *at <= '9'; at++) *layer = 10 * *layer + (*at - '0');
    snprintf(pattern + front, IMPORT_NAME - front, "#%s", at);
}

/* Matches a parameter with the tensors in a table or, if `fill` is true, fills it with their
   values. Bit k of *found is set once part k has been found or may be missing; *parts receives the
   total number of parts. */
static rapt_status take_rows(struct import *i, const struct import_table *table,
                             const struct parameter *p, bool fill, unsigned *found, int *parts)
{
    char pattern[IMPORT_NAME];
    int layer;
    rapt__import_pattern(p->name, pattern, &layer);
    for (int r = 0; r < table->count; r++) {
        const struct import_row *row = &table->rows[r];
        if (strcmp(row->ours, pattern) != 0) continue;
        *parts = row->parts;
        const struct tensor_entry *e =
            rapt__import_find(i, row->theirs, layer + table->first_layer);
        unsigned bit = 1u << row->part;
        rapt_status status = !e     ? RAPT_OK
                             : fill ? fill_part(i, row, p, e, *found & bit)
                                    : match_part(i, row, p, e);
        if (status) return status;
        if (e || row->flags & IMPORT_OPTIONAL) *found |= bit;
    }
    return RAPT_OK;
}

static rapt_status nothing_left(struct import *i)
{
    for (int n = 0; n < rapt__tensors_count(i->file); n++) {
        const struct tensor_entry *e = rapt__tensors_entry(i->file, n);
        bool helps = e->use == TENSOR_SCALES || e->use == TENSOR_ALPHA;
        if (!i->used[n] && !helps)
            return rapt__import_bad(i, "tensor %s belongs to a layer that is not supported",
                                    e->name);
    }
    return RAPT_OK;
}

/* Matches every parameter with its tensors or, if `fill` is true, fills it with their values. */
static rapt_status with_tensors(struct import *i, const struct import_table *tables, int count,
                                bool fill)
{
    for (int n = 0; n < i->model->layout.count; n++) {
        const struct parameter *p = &i->model->layout.parameters[n];
        unsigned found = 0;
        int parts = 1;
        for (int t = 0; t < count; t++) {
            rapt_status status = take_rows(i, &tables[t], p, fill, &found, &parts);
            if (status) return status;
        }
        if (found != (1u << parts) - 1)
            return rapt__import_bad(i, "the tensor for %s is missing", p->name);
    }
    return RAPT_OK;
}

/* Replaces a matched model with one in the requested precision, unless its matrices remain
   floats. */
static rapt_status choose_precision(struct import *i)
{
    rapt_model *model = NULL;
    const enum layout_kind stored = i->floats ? IN_PANELS : IN_BYTES,
                           matrices = rapt__matrices_of(i->precision, stored);
    rapt_status status = rapt__check_depths(&i->model->layout, matrices, i->why);
    if (status || matrices == IN_PANELS) return status;
    status = rapt__model_make_bare(&model, &i->config, matrices, &i->allocator, i->why);
    if (status) return status;
    model->allocator = i->lasting;
    rapt_model_free(i->model);
    i->model = model;
    return RAPT_OK;
}

rapt_status rapt__import_match(struct import *i, const struct import_table *tables, int count)
{
    rapt_status status = rapt__config_check(&i->config, i->why);
    if (!status) status = rapt__config_backed(&i->config, i->file, false, i->why);
    if (!status)
        status = rapt__model_make_bare(&i->model, &i->config, IN_PANELS, &i->allocator, i->why);
    if (status) return status == RAPT_BAD_ARGUMENT ? RAPT_BAD_FILE : status;
    i->model->allocator = i->lasting;
    status = with_tensors(i, tables, count, false);
    if (!status) status = nothing_left(i);
    return status ? status : choose_precision(i);
}

/* Lays out the memory for filling parameters. 8-bit matrices need more of it. */
static void lay_out_converting(struct import *i, struct arena *arena)
{
    struct import_converting *c = &i->converting;
    const struct row_sizes sizes = rapt__row_sizes(&i->model->layout);
    c->rows = rapt__arena_floats(arena, rapt__max_size(piece_of(1), piece_of(sizes.columns)), 1);
    if (!sizes.scratch) return;
    c->factors = rapt__arena_floats(arena, sizes.rows, 1);
    c->scratch = rapt__arena_floats(arena, sizes.scratch, 1);
    c->again = rapt__arena_take(arena, rapt__int8_weight_bytes(1, (int)sizes.columns), 1);
    c->again_scale = rapt__arena_floats(arena, LANES, 1);
}

rapt_status rapt__import_fill(struct import *i, const struct import_table *tables, int count)
{
    struct arena arena = {0};
    rapt_status status = rapt__model_take_block(i->model, i->why);
    if (status) return status;
    lay_out_converting(i, &arena);
    status = rapt__arena_reserve(&arena, &i->lasting);
    if (status) return rapt__fail(i->why, status, "out of memory while quantizing");
    lay_out_converting(i, &arena);
    status = with_tensors(i, tables, count, true);
    rapt__arena_free(&arena, &i->lasting);
    if (!status) status = rapt__check_rounded(i->model, RAPT_BAD_FILE, i->why);
    return status;
}

void rapt__import_scale_output(struct import *i, float factor)
{
    float *gain =
        i->model->block + i->model->layout.decoder.last.gain; /* floats in every precision */
    for (int j = 0; j < i->config.width; j++) gain[j] *= factor;
}
