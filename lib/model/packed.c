/* packed.c - model files that hold the block of parameters exactly as in memory, so that they can
   be mapped instead of read. Their metadata identifies them:

       "rapt.layout" = "panels 16", or "panels 16, finite" if the writer has checked every value

   A tensor of kind IN_PANELS is [panels][columns][16], where element [p][c][i] is row 16 p + i,
   column c of the matrix. Other tensors are the matrix row by row. Each is padded with zeros to
   whole vectors of 16. If the tensors are in the order of the layout and start at a multiple of 64
   bytes, they form the block and can be mapped. A file of another program may order them
   differently; it is then read instead. Names, shapes and offsets are always checked. If a mapped
   file says that its values are finite, this is not checked, since checking would read the whole
   file. */
#include "model/model.h"

#include <string.h>

static const char *const layouts[] = {"panels 16", "panels 16, finite"};
_Static_assert(LANES == 16, "the names of the layouts say 16");

struct tensor_source rapt__packed_source(const struct parameter *p)
{
    size_t floats = rapt__parameter_floats(p), columns = (size_t)p->columns;
    if (p->kind == IN_ROWS) return (struct tensor_source){.rank = 1, .shape = {floats}};
    return (struct tensor_source){.rank = 3, .shape = {floats / LANES / columns, columns, LANES}};
}

/* ---- values ---- */

/* Returns true if no value is infinite or NaN, that is, if no exponent has all of its bits set.
   There is no early exit, so that compilers can vectorize the loop. */
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

const char *rapt__packed_layout(const rapt_model *m)
{
    return layouts[rapt__finite_count(m->block, m->layout.floats) == m->layout.floats];
}

/* Returns RAPT_OK if all values are finite. If not, returns `otherwise`, and the message names the
   first value that is infinite or NaN: an element of a parameter's matrix, or of the padding after
   it. */
static rapt_status check_finite(const rapt_model *m, rapt_status otherwise, rapt_message *why)
{
    float row[256];
    if (rapt__finite_count(m->block, m->layout.floats) == m->layout.floats) return RAPT_OK;
    for (int i = 0; i < m->layout.count; i++) {
        const struct parameter *p = &m->layout.parameters[i];
        size_t all = rapt__parameter_count(p), floats = rapt__parameter_floats(p), bad = all;
        if (rapt__finite_count(m->block + p->offset, floats) == floats) continue;
        for (size_t first = 0, now; first < all && bad == all; first += now) {
            now = rapt__min_size(all - first, sizeof row / sizeof *row);
            rapt__parameter_get(p, m->block, first, now, row);
            size_t good = rapt__finite_count(row, now);
            if (good < now) bad = first + good;
        }
        if (bad == all && p->kind == IN_BYTES) continue; /* bytes are not floats */
        if (bad == all)
            return rapt__fail(why, otherwise, "tensor %s has padding that is infinite or NaN",
                              p->name);
        rapt__parameter_get(p, m->block, bad, 1, row);
        return rapt__fail(why, otherwise, "tensor %s: element %zu is %g; it must be finite",
                          p->name, bad, (double)row[0]);
    }
    return RAPT_OK;
}

rapt_status rapt_model_check(const rapt_model *model, rapt_message *why)
{
    if (!model) return rapt__fail(why, RAPT_BAD_ARGUMENT, "model is NULL");
    return check_finite(model, RAPT_NOT_FINITE, why);
}

/* ---- tensors of a file ---- */

/* Checks the tensors of a file, and sets *in_order if the data can be mapped as the block. Returns
   RAPT_BAD_FILE if a tensor is missing or has the wrong shape. */
static rapt_status check_tensors(const rapt_model *m, const struct tensor_file *file,
                                 bool *in_order, rapt_message *why)
{
    *in_order = true;
    for (int i = 0; i < m->layout.count; i++) {
        const struct parameter *p = &m->layout.parameters[i];
        const struct tensor_source packed = rapt__packed_source(p);
        const struct tensor_entry *e = rapt__tensors_find(file, p->name);
        if (!e) return rapt__fail(why, RAPT_BAD_FILE, "tensor %s is missing", p->name);
        size_t rank = (size_t)packed.rank * sizeof *packed.shape;
        if (e->rank != packed.rank || memcmp(e->shape, packed.shape, rank) != 0)
            return rapt__fail(why, RAPT_BAD_FILE,
                              "tensor %s must be %d x %d in panels of 16 according to the "
                              "configuration",
                              p->name, p->rows, p->columns);
        if (e->begin != 4 * p->offset || strcmp(e->dtype, "F32") != 0) *in_order = false;
    }
    return RAPT_OK;
}

/* Returns true on a little-endian machine. Files are little-endian and can be mapped only there. */
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

static rapt_status read_block(rapt_model *m, const struct tensor_file *file, rapt_message *why)
{
    rapt_status status = rapt__model_take_block(m, why);
    for (int i = 0; !status && i < m->layout.count; i++) {
        const struct parameter *p = &m->layout.parameters[i];
        const struct tensor_entry *e = rapt__tensors_find(file, p->name);
        status = rapt__tensors_read(file, e, 0, e->count, m->block + p->offset, why);
    }
    return status;
}

rapt_status rapt__packed_load(rapt_model *m, const struct tensor_file *file, const char *layout,
                              const rapt_load_options *options, rapt_message *why)
{
    bool in_order, mapped, believed = strcmp(layout, layouts[1]) == 0;
    if (!believed && strcmp(layout, layouts[0]) != 0)
        return rapt__fail(why, RAPT_BAD_FILE,
                          LAYOUT_KEY " is \"%.40s\", which this library does not know", layout);
    rapt_status status = check_tensors(m, file, &in_order, why);
    if (status) return status;
    mapped = in_order && !options->no_mapping && map(m, file);
    if (!mapped) status = read_block(m, file, why);
    if (status || options->non_finite || (mapped && believed)) return status;
    return check_finite(m, RAPT_BAD_FILE, why);
}
