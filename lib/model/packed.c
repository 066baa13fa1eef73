/* packed.c - model files that hold the block of parameters exactly as it is in memory, so that they
   can be mapped instead of read. Their metadata identifies them:

       "rapt.layout" = "panels 16", "int8 panels 16", "bf16 panels 16" or "f16 panels 16",
                       followed by ", finite" if all values passed rapt_model_check

   A matrix is stored in one of these formats:

       floats    F32 [panels][columns][16]; element [p][c][i] is row 16 p + i, column c
       16 bits   BF16 or F16 [n][16]: the same elements in the same order; n is even
       bytes     I8 [panels][groups][16][4]; element [p][g][i][k] is row 16 p + i, column 4 g + k,
                 from -127 to 127. Another tensor, whose name ends in ".scale", holds the
                 scale of each row

   Other parameters are stored row by row, as one-dimensional tensors. Every tensor is padded with
   zeros to a multiple of 16 elements. If the tensors are in the order of the layout and start at a
   multiple of 64 bytes, they form the block and can be mapped. Otherwise, for example if another
   program wrote the file, they are read. Names, shapes and offsets are always checked. If a mapped
   file says that its values are finite, they are not checked, since checking would read the whole
   file. */
#include "kernel/int8.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

static const struct {
    enum layout_kind matrices;
    const char *name;
} packed_layouts[] = {{IN_PANELS, "panels 16"},
                      {IN_BYTES, "int8 panels 16"},
                      {IN_BF16, "bf16 panels 16"},
                      {IN_F16, "f16 panels 16"}};
enum { LAYOUTS = sizeof packed_layouts / sizeof *packed_layouts };
_Static_assert(LANES == 16 && INT8_GROUP == 4, "the layouts are documented with these sizes");
static const char checked[] = ", finite"; /* follows the name */

rapt_status rapt__packed_layout_read(struct packed_layout *layout, const char *text,
                                     rapt_message *why)
{
    for (int i = 0; i < LAYOUTS; i++) {
        size_t size = strlen(packed_layouts[i].name);
        if (strncmp(text, packed_layouts[i].name, size) != 0) continue;
        *layout =
            (struct packed_layout){packed_layouts[i].matrices, strcmp(text + size, checked) == 0};
        if (layout->finite || !text[size]) return RAPT_OK;
    }
    return rapt__fail(why, RAPT_BAD_FILE,
                      LAYOUT_KEY " is \"%.40s\", which this library does not support", text);
}

int rapt__packed_pieces(const struct parameter *p, struct packed_piece pieces[PACKED_PIECES])
{
    size_t floats = rapt__parameter_floats(p), columns = (size_t)p->columns;
    size_t panels = rapt__ceil_div_size((size_t)p->rows, LANES);
    struct packed_piece whole = {
        .suffix = "", .dtype = "F32", .rank = 1, .offset = p->offset, .floats = floats};
    whole.shape[0] = floats;
    pieces[0] = whole;
    if (p->kind == IN_ROWS) return 1;
    if (p->kind == IN_PANELS) {
        pieces[0].rank = 3;
        pieces[0].shape[0] = panels, pieces[0].shape[1] = columns, pieces[0].shape[2] = LANES;
        return 1;
    }
    if (rapt__in_halves(p->kind)) {
        pieces[0].dtype = p->kind == IN_F16 ? "F16" : "BF16", pieces[0].rank = 2;
        pieces[0].shape[0] = 2 * floats / LANES, pieces[0].shape[1] = LANES;
        return 1;
    }
    pieces[0].dtype = "I8", pieces[0].rank = 4;
    pieces[0].floats = rapt__int8_weight_bytes(p->rows, p->columns) / sizeof(float);
    pieces[0].shape[0] = panels, pieces[0].shape[2] = LANES, pieces[0].shape[3] = INT8_GROUP;
    pieces[0].shape[1] = rapt__ceil_div_size(columns, INT8_GROUP);
    whole.suffix = ".scale";
    whole.offset += pieces[0].floats;
    whole.shape[0] = whole.floats -= pieces[0].floats;
    pieces[1] = whole;
    return 2;
}

/* ---- values ---- */

/* Returns true if no value is infinite or NaN, that is, if no exponent has all of its bits set. The
   loop has no early exit, so that compilers can vectorize it. */
static bool part_finite(const float *x, size_t count)
{
    const uint32_t exponent = 0x7F800000;
    uint32_t found = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        found |= (bits & exponent) == exponent;
    }
    return !found;
}

size_t rapt__finite_count(const float *x, size_t count)
{
    enum { PART = 1024 };
    for (size_t first = 0; first < count; first += PART) {
        size_t now = rapt__min_size(count - first, PART), i = first;
        if (part_finite(x + first, now)) continue;
        while (part_finite(x + i, 1)) i++;
        return i;
    }
    return count;
}

/* Checks that the scales of a matrix of bytes are finite and not negative, and that no byte is
   -128, which the kernels of some instruction sets cannot multiply. Returns `otherwise` if not. */
static rapt_status check_bytes(const struct parameter *p, const float *block, rapt_status otherwise,
                               rapt_message *why)
{
    const struct linear l = rapt__parameter_matrix(p, block);
    size_t bytes = rapt__int8_weight_bytes(p->rows, p->columns), lowest = 0;
    for (int n = 0; n < p->rows; n++)
        if (!(l.scale[n] >= 0 && rapt__finite_count(l.scale + n, 1)))
            return rapt__fail(why, otherwise,
                              "tensor %s: the scale of row %d is %g; it must be finite and not "
                              "negative",
                              p->name, n, (double)l.scale[n]);
    for (size_t i = 0; i < bytes; i++) lowest += l.bytes[i] == INT8_MIN;
    if (!lowest) return RAPT_OK;
    return rapt__fail(why, otherwise,
                      "tensor %s has the value -128 in %zu of %zu bytes; the smallest allowed is "
                      "-127",
                      p->name, lowest, bytes);
}

/* Checks that the elements of a parameter of floats or 16-bit floats are finite and, for floats,
   that the padding is finite too. Returns `otherwise` if not. */
static rapt_status check_floats(const struct parameter *p, const float *block,
                                rapt_status otherwise, rapt_message *why)
{
    float row[256];
    size_t all = rapt__parameter_count(p), floats = rapt__parameter_floats(p), bad = all;
    const bool halves = rapt__in_halves(p->kind);
    if (!halves && rapt__finite_count(block + p->offset, floats) == floats) return RAPT_OK;
    for (size_t first = 0, now; first < all && bad == all; first += now) {
        now = rapt__min_size(all - first, sizeof row / sizeof *row);
        rapt__parameter_get(p, block, first, now, row);
        size_t good = rapt__finite_count(row, now);
        if (good < now) bad = first + good;
    }
    if (bad == all && halves) return RAPT_OK;
    if (bad == all)
        return rapt__fail(why, otherwise, "tensor %s has padding that is infinite or NaN", p->name);
    rapt__parameter_get(p, block, bad, 1, row);
    return rapt__fail(why, otherwise, "tensor %s: element %zu is %g; it must be finite", p->name,
                      bad, (double)row[0]);
}

/* Checks the values of all parameters with check_bytes and check_floats. Returns `otherwise` if a
   parameter fails; the message describes the first one that does. */
static rapt_status check_finite(const rapt_model *m, rapt_status otherwise, rapt_message *why)
{
    rapt_status status = RAPT_OK;
    for (int i = 0; !status && i < m->layout.count; i++) {
        const struct parameter *p = &m->layout.parameters[i];
        status = p->kind == IN_BYTES ? check_bytes(p, m->block, otherwise, why)
                                     : check_floats(p, m->block, otherwise, why);
    }
    return status;
}

void rapt__packed_layout_write(const rapt_model *m, char text[PACKED_LAYOUT])
{
    int i = 0;
    while (packed_layouts[i].matrices != m->layout.matrices) i++;
    bool finite = !check_finite(m, RAPT_NOT_FINITE, NULL);
    snprintf(text, PACKED_LAYOUT, "%s%s", packed_layouts[i].name, finite ? checked : "");
}

rapt_status rapt_model_check(const rapt_model *model, rapt_message *why)
{
    if (!model) return rapt__fail(why, RAPT_BAD_ARGUMENT, "model is NULL");
    return check_finite(model, RAPT_NOT_FINITE, why);
}

/* ---- tensors of a file ---- */

static const struct tensor_entry *entry_of(const struct tensor_file *file,
                                           const struct parameter *p,
                                           const struct packed_piece *piece)
{
    char name[sizeof p->name + 16];
    snprintf(name, sizeof name, "%s%s", p->name, piece->suffix);
    return rapt__tensors_find(file, name);
}

static rapt_status check_piece(const struct parameter *p, const struct packed_piece *piece,
                               const struct tensor_entry *e, rapt_message *why)
{
    const size_t rank = (size_t)piece->rank * sizeof *piece->shape;
    if (!e) return rapt__fail(why, RAPT_BAD_FILE, "tensor %s%s is missing", p->name, piece->suffix);
    if (e->rank != piece->rank || memcmp(e->shape, piece->shape, rank) != 0)
        return rapt__fail(why, RAPT_BAD_FILE,
                          "tensor %s%s does not have the shape of a %d x %d parameter in a packed "
                          "file",
                          p->name, piece->suffix, p->rows, p->columns);
    bool bytes = strcmp(piece->dtype, "I8") == 0;
    if (bytes != (strcmp(e->dtype, "I8") == 0))
        return rapt__fail(why, RAPT_BAD_FILE, "tensor %s%s has type %s; it must be %s", p->name,
                          piece->suffix, e->dtype, piece->dtype);
    return RAPT_OK;
}

/* Checks the tensors of a file, and sets *in_order to true if their data can be mapped as the
   block. Returns RAPT_BAD_FILE if a tensor is missing or has the wrong shape, or if a matrix is
   stored as bytes instead of floats or vice versa. */
static rapt_status check_tensors(const rapt_model *m, const struct tensor_file *file,
                                 bool *in_order, rapt_message *why)
{
    struct packed_piece pieces[PACKED_PIECES];
    *in_order = true;
    for (int i = 0; i < m->layout.count; i++) {
        const struct parameter *p = &m->layout.parameters[i];
        int count = rapt__packed_pieces(p, pieces);
        for (int n = 0; n < count; n++) {
            const struct tensor_entry *e = entry_of(file, p, &pieces[n]);
            rapt_status status = check_piece(p, &pieces[n], e, why);
            if (status) return status;
            if (e->begin != 4 * pieces[n].offset || strcmp(e->dtype, pieces[n].dtype) != 0)
                *in_order = false;
        }
    }
    return RAPT_OK;
}

/* Returns true on a little-endian machine. Files are little-endian, so other machines cannot map
   them. */
static bool is_little(void)
{
    const uint32_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

/* Maps the block of a file. Returns false if the file must be read instead. */
static bool map(rapt_model *m, const struct tensor_file *file)
{
    const void *data = is_little() ? rapt__tensors_map_data(file, &m->map) : NULL;
    if (data && (uintptr_t)data % ((uintptr_t)4 * LANES) == 0) {
        m->block = (float *)(uintptr_t)data;
        return true;
    }
    if (data) rapt__disk_unmap(&m->map);
    return false;
}

static rapt_status read_bytes(const struct tensor_file *file, const struct tensor_entry *e,
                              int8_t *to, rapt_message *why)
{
    enum { CHUNK = 1024 };
    int64_t chunk[CHUNK];
    rapt_status status = RAPT_OK;
    for (size_t first = 0, now; !status && first < e->count; first += now) {
        now = rapt__min_size(e->count - first, CHUNK);
        status = rapt__tensors_integers(file, e, first, now, chunk, why);
        for (size_t i = 0; !status && i < now; i++) to[first + i] = (int8_t)chunk[i];
    }
    return status;
}

static rapt_status read_halves(const struct tensor_file *file, const struct tensor_entry *e,
                               const struct parameter *p, uint16_t *to, rapt_message *why)
{
    const enum half_type type = p->kind == IN_F16 ? HALF_F16 : HALF_BF16;
    float chunk[1024];
    rapt_status status = RAPT_OK;
    for (size_t first = 0, now; !status && first < e->count; first += now) {
        now = rapt__min_size(e->count - first, sizeof chunk / sizeof *chunk);
        status = rapt__tensors_read(file, e, first, now, chunk, why);
        for (size_t i = 0; !status && i < now; i++) to[first + i] = half_round(type, chunk[i]);
    }
    return status;
}

static rapt_status read_block(rapt_model *m, const struct tensor_file *file, rapt_message *why)
{
    struct packed_piece pieces[PACKED_PIECES];
    rapt_status status = rapt__model_take_block(m, why);
    for (int i = 0; !status && i < m->layout.count; i++) {
        const struct parameter *p = &m->layout.parameters[i];
        int count = rapt__packed_pieces(p, pieces);
        for (int n = 0; !status && n < count; n++) {
            const struct tensor_entry *e = entry_of(file, p, &pieces[n]);
            float *to = m->block + pieces[n].offset;
            status = strcmp(pieces[n].dtype, "I8") == 0 ? read_bytes(file, e, (int8_t *)to, why)
                     : rapt__in_halves(p->kind) ? read_halves(file, e, p, (uint16_t *)to, why)
                                                : rapt__tensors_read(file, e, 0, e->count, to, why);
        }
    }
    return status;
}

rapt_status rapt__packed_load(rapt_model *m, const struct tensor_file *file,
                              const struct packed_layout *layout, const rapt_load_options *options,
                              rapt_message *why)
{
    bool in_order;
    rapt_status status = check_tensors(m, file, &in_order, why);
    if (status) return status;
    const bool mapped = in_order && !options->no_mapping && map(m, file);
    if (!mapped) status = read_block(m, file, why);
    if (status || options->non_finite || (mapped && layout->finite)) return status;
    return check_finite(m, RAPT_BAD_FILE, why);
}
