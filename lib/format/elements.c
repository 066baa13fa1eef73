/* elements.c - the element types of tensor files and their conversions; reads an entry's scales,
   and reads its elements as floats, integers or bytes.

       F16  s eeeee mmmmmmmmmm   (-1)^s 2^(e-15) 1.m;  e = 0: (-1)^s 2^-14 0.m;  e = 31: inf, NaN
       BF16 the upper half of an F32

   Types are named as in safetensors. The bytes to convert are little-endian on every machine.
   The file is read here, not mapped, so that a file that shrinks while it is open causes an error
   instead of a signal. Sources: IEEE 754-2019, section 3.4; for names and sizes, the Dtype list of
   safetensors (Hugging Face, version 0.6). */
#include "tensors.h"

#include <math.h>
#include <string.h>

/* ---- types ---- */

static uint32_t little(const unsigned char *bytes, int count)
{
    uint32_t value = 0;
    for (int i = 0; i < count; i++) value |= (uint32_t)bytes[i] << 8 * i;
    return value;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void from_f32(const unsigned char *bytes, size_t count, float *data)
{
    for (size_t i = 0; i < count; i++) data[i] = float_of(little(bytes + 4 * i, 4));
}

static void from_bf16(const unsigned char *bytes, size_t count, float *data)
{
    for (size_t i = 0; i < count; i++) data[i] = float_of(little(bytes + 2 * i, 2) << 16);
}

/* Converts an F16 exactly. A subnormal F16 is an integer times 2^-24; as a float, the product is
   normal or 0. There are no branches, so compilers can vectorize the loop in from_f16. */
static float half(uint32_t bits)
{
    uint32_t rest = (bits & 0x7FFFu) << 13, add = rest < 31u << 23 ? 112u << 23 : 224u << 23;
    float tiny = (float)(int32_t)(bits & 0x3FF) * 0x1p-24f;
    uint32_t small, subnormal = 0u - (rest < 1u << 23);
    memcpy(&small, &tiny, sizeof small);
    return float_of((bits & 0x8000u) << 16 | (small & subnormal) | ((rest + add) & ~subnormal));
}

static void from_f16(const unsigned char *bytes, size_t count, float *data)
{
    for (size_t i = 0; i < count; i++)
        data[i] = half(bytes[2 * i] | (uint32_t)bytes[2 * i + 1] << 8);
}

/* Rounds to the nearest float. Values that are too large become infinite. */
static void from_f64(const unsigned char *bytes, size_t count, float *data)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = little(bytes + 8 * i, 4) | (uint64_t)little(bytes + 8 * i + 4, 4) << 32;
        double value;
        memcpy(&value, &bits, sizeof value);
        data[i] = (float)value;
    }
}

/* ---- integers: two's complement ---- */

static void from_i8(const unsigned char *bytes, size_t count, float *data)
{
    for (size_t i = 0; i < count; i++) data[i] = (float)((bytes[i] ^ 0x80) - 0x80);
}

static void from_i16(const unsigned char *bytes, size_t count, float *data)
{
    for (size_t i = 0; i < count; i++)
        data[i] = (float)((int)(little(bytes + 2 * i, 2) ^ 0x8000u) - 0x8000);
}

static void unsigned_8(const unsigned char *bytes, size_t count, int64_t *data)
{
    for (size_t i = 0; i < count; i++) data[i] = bytes[i];
}

static void unsigned_16(const unsigned char *bytes, size_t count, int64_t *data)
{
    for (size_t i = 0; i < count; i++) data[i] = little(bytes + 2 * i, 2);
}

static void unsigned_32(const unsigned char *bytes, size_t count, int64_t *data)
{
    for (size_t i = 0; i < count; i++) data[i] = little(bytes + 4 * i, 4);
}

static void signed_8(const unsigned char *bytes, size_t count, int64_t *data)
{
    for (size_t i = 0; i < count; i++) data[i] = (int64_t)(bytes[i] ^ 0x80) - 0x80;
}

static void signed_16(const unsigned char *bytes, size_t count, int64_t *data)
{
    for (size_t i = 0; i < count; i++)
        data[i] = (int64_t)(little(bytes + 2 * i, 2) ^ 0x8000) - 0x8000;
}

static void signed_32(const unsigned char *bytes, size_t count, int64_t *data)
{
    for (size_t i = 0; i < count; i++)
        data[i] = (int64_t)(little(bytes + 4 * i, 4) ^ 0x80000000u) - 0x80000000ll;
}

static void signed_64(const unsigned char *bytes, size_t count, int64_t *data)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = little(bytes + 8 * i, 4) | (uint64_t)little(bytes + 8 * i + 4, 4) << 32;
        memcpy(&data[i], &bits, sizeof bits);
    }
}

static const struct dtype dtypes[] = {
    {"F32", 32, from_f32, NULL},    {"F16", 16, from_f16, NULL},
    {"BF16", 16, from_bf16, NULL},  {"F64", 64, from_f64, NULL},
    {"I8", 8, from_i8, signed_8},   {"I16", 16, from_i16, signed_16},
    {"BOOL", 8, NULL, unsigned_8},  {"U8", 8, NULL, unsigned_8},
    {"U16", 16, NULL, unsigned_16}, {"U32", 32, NULL, unsigned_32},
    {"I32", 32, NULL, signed_32},   {"I64", 64, NULL, signed_64},
    {"U64", 64, NULL, NULL},        {"F8_E5M2", 8, NULL, NULL},
    {"F8_E4M3", 8, NULL, NULL},     {"F8_E8M0", 8, NULL, NULL},
    {"F8_E5M2FNUZ", 8, NULL, NULL}, {"F8_E4M3FNUZ", 8, NULL, NULL},
    {"F6_E2M3", 6, NULL, NULL},     {"F6_E3M2", 6, NULL, NULL},
    {"F4", 4, NULL, NULL},          {"C64", 64, NULL, NULL},
};

const struct dtype *rapt__dtype_find(const char *name)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(dtypes[i].name, name) == 0) return &dtypes[i];
    return NULL;
}

/* ---- reading ---- */

enum {
    CHUNK = 16384,       /* bytes converted at a time; a multiple of every element size */
    SPREAD = 1024,       /* elements converted at a time if they are not adjacent in the output */
    BLOCK = 4096,        /* elements converted at a time if whole columns are read */
    SCALES_AT_ONCE = 64, /* scales read at a time */
};

static rapt_status read_at(const struct tensor_file *file, const struct tensor_entry *entry,
                           size_t at, void *data, size_t size, rapt_message *why)
{
    const struct tensor_part *part = rapt__tensors_part(file, entry);
    return rapt__disk_read(&part->source, part->data_at + at, data, size, why);
}

static rapt_status check_range(const struct tensor_file *file, const struct tensor_entry *entry,
                               size_t has, size_t first, size_t count, rapt_message *why)
{
    if (first <= has && count <= has - first) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT,
                      "%s: tensor \"%s\" has %zu elements, too few to read %zu starting at %zu",
                      file->main.source.label.text, rapt__shown(entry->name).text, has, count,
                      first);
}

/* ---- scales ---- */

rapt_status rapt__tensors_scales(const struct tensor_file *file, const struct tensor_entry *entry,
                                 size_t first, size_t count, float *scales, rapt_message *why)
{
    rapt_status status = check_range(file, entry, entry->scales, first, count, why);
    if (status != RAPT_OK || count == 0) return status;
    if (entry->scales == 1) {
        *scales = entry->scale;
        return RAPT_OK;
    }
    const struct dtype *dtype = rapt__dtype_find("F32");
    unsigned char bytes[4 * SCALES_AT_ONCE];
    for (size_t done = 0; done < count && status == RAPT_OK; done += SCALES_AT_ONCE) {
        size_t now = rapt__min_size(count - done, SCALES_AT_ONCE);
        status = read_at(file, entry, entry->scale_begin + 4 * (first + done), bytes, 4 * now, why);
        if (status == RAPT_OK) dtype->to_float(bytes, now, scales + done);
    }
    return status;
}

/* A cache of consecutive scales, for a call that reads an entry in order. */
struct scale_window {
    float scales[SCALES_AT_ONCE];
    size_t first, count;
};

/* Computes 1 / scale for scale number `index`. */
static rapt_status inverse(const struct tensor_file *file, const struct tensor_entry *entry,
                           struct scale_window *window, size_t index, float *factor,
                           rapt_message *why)
{
    if (index < window->first || index - window->first >= window->count) {
        size_t count = rapt__min_size(entry->scales - index, SCALES_AT_ONCE);
        rapt_status status = rapt__tensors_scales(file, entry, index, count, window->scales, why);
        if (status != RAPT_OK) return status;
        window->first = index;
        window->count = count;
    }
    float scale = window->scales[index - window->first];
    *factor = 1.0f / scale;
    if (scale > 0 && isfinite(scale) && isfinite(*factor)) return RAPT_OK;
    return rapt__fail(
        why, RAPT_BAD_FILE,
        "%s: tensor \"%s\": scale %zu is %g; it and its inverse must be positive and finite",
        file->main.source.label.text, rapt__shown(entry->name).text, index, (double)scale);
}

/* Multiplies data[count], the stored elements [first, first + count), by the inverses of their
   scales. */
static rapt_status apply_scales(const struct tensor_file *file, const struct tensor_entry *entry,
                                struct scale_window *window, size_t first, size_t count,
                                float *data, rapt_message *why)
{
    if (entry->scales == 0) return RAPT_OK;
    size_t share = entry->count / entry->scales, done = 0;
    while (done < count) {
        size_t index = (first + done) / share;
        size_t until = rapt__min_size((index + 1) * share - first, count);
        float factor;
        rapt_status status = inverse(file, entry, window, index, &factor, why);
        if (status != RAPT_OK) return status;
        for (; done < until; done++) data[done] *= factor;
    }
    return RAPT_OK;
}

/* ---- elements, as floats or integers ---- */

/* The arguments of one call. The output is either floats or integers; the other pointer is NULL. */
struct element_reading {
    const struct tensor_file *file;
    const struct tensor_entry *entry;
    const struct dtype *dtype;
    float *floats;
    int64_t *integers;
    struct scale_window window;
    rapt_message *why;
};

/* Reverses the bytes of each of `count` elements of `size` bytes. */
static void reverse(unsigned char *bytes, size_t count, size_t size)
{
    for (unsigned char *element = bytes; count-- > 0; element += size)
        for (size_t i = 0; i < size / 2; i++) {
            unsigned char byte = element[i];
            element[i] = element[size - 1 - i];
            element[size - 1 - i] = byte;
        }
}

/* Reads the stored F32 elements [first, first + count) directly into `data`. */
static rapt_status read_floats(struct element_reading *r, size_t first, size_t count, float *data)
{
    const size_t at = r->entry->begin + first * sizeof *data;
    rapt_status status = read_at(r->file, r->entry, at, data, count * sizeof *data, r->why);
    if (status != RAPT_OK) return status;
    rapt__to_little(data, count);
    return apply_scales(r->file, r->entry, &r->window, first, count, data, r->why);
}

/* Converts the stored elements [first, first + count) and writes them to every `step`-th element of
   the output, starting at element `to`. */
static rapt_status convert(struct element_reading *r, size_t first, size_t count, size_t to,
                           size_t step)
{
    if (r->floats && step == 1 && r->dtype->to_float == from_f32 && !r->entry->big_endian)
        return read_floats(r, first, count, r->floats + to);
    unsigned char bytes[CHUNK];
    float floats[SPREAD] = {0};
    int64_t integers[SPREAD] = {0};
    size_t size = r->dtype->bits / 8, max = step == 1 ? CHUNK / size : SPREAD;
    rapt_status status = RAPT_OK;
    for (size_t now; count > 0 && status == RAPT_OK; first += now, count -= now) {
        now = rapt__min_size(count, max);
        status =
            read_at(r->file, r->entry, r->entry->begin + first * size, bytes, now * size, r->why);
        if (status != RAPT_OK) return status;
        if (r->entry->big_endian) reverse(bytes, now, size);
        if (r->integers) {
            int64_t *data = step == 1 ? r->integers + to : integers;
            r->dtype->to_integer(bytes, now, data);
            for (size_t i = 0; step > 1 && i < now; i++) r->integers[to + i * step] = data[i];
        } else {
            float *data = step == 1 ? r->floats + to : floats;
            r->dtype->to_float(bytes, now, data);
            status = apply_scales(r->file, r->entry, &r->window, first, now, data, r->why);
            for (size_t i = 0; step > 1 && i < now; i++) r->floats[to + i * step] = data[i];
        }
        to += now * step;
    }
    return status;
}

/* Reads all floats of a rows x columns matrix that is stored as columns x rows. BLOCK / rows
   columns are read at a time, so each row of the output is written in runs. Requires 0 < rows <=
   BLOCK. */
static rapt_status convert_columns(const struct element_reading *r)
{
    float block[BLOCK];
    struct element_reading part = *r;
    size_t rows = r->entry->shape[0], columns = r->entry->shape[1], max = BLOCK / rows;
    rapt_status status = RAPT_OK;
    part.floats = block;
    for (size_t c = 0, now; c < columns && status == RAPT_OK; c += now) {
        now = rapt__min_size(columns - c, max);
        status = convert(&part, c * rows, now * rows, 0, 1);
        for (size_t row = 0; status == RAPT_OK && row < rows; row++)
            for (size_t i = 0; i < now; i++)
                r->floats[row * columns + c + i] = block[i * rows + row];
    }
    return status;
}

/* Reads elements [first, first + count) of a rows x columns matrix that is stored as columns x
   rows. From each column, only the rows with elements in that range are read. */
static rapt_status convert_transposed(struct element_reading *r, size_t first, size_t count)
{
    size_t rows = r->entry->shape[0], columns = r->entry->shape[1];
    rapt_status status = RAPT_OK;
    if (r->floats && count > 0 && count == r->entry->count && rows <= BLOCK)
        return convert_columns(r);
    for (size_t c = 0; c < columns && status == RAPT_OK; c++) {
        size_t low = first > c ? rapt__ceil_div_size(first - c, columns) : 0;
        size_t high = first + count > c ? rapt__ceil_div_size(first + count - c, columns) : 0;
        if (low < high)
            status = convert(r, c * rows + low, high - low, low * columns + c - first, columns);
    }
    return status;
}

static rapt_status read_elements(struct element_reading *r, size_t first, size_t count)
{
    const struct tensor_entry *entry = r->entry;
    rapt_status status = check_range(r->file, entry, entry->count, first, count, r->why);
    if (status != RAPT_OK) return status;
    r->dtype = rapt__dtype_find(entry->dtype);
    if (r->integers ? !r->dtype->to_integer
                    : !r->dtype->to_float || (r->dtype->to_integer && entry->scales == 0))
        return rapt__fail(r->why, RAPT_BAD_FILE,
                          "%s: tensor \"%s\": elements of type %s cannot be read as %s",
                          r->file->main.source.label.text, rapt__shown(entry->name).text,
                          entry->dtype, r->integers ? "integers" : "floats");
    return entry->transposed ? convert_transposed(r, first, count) : convert(r, first, count, 0, 1);
}

rapt_status rapt__tensors_read(const struct tensor_file *file, const struct tensor_entry *entry,
                               size_t first, size_t count, float *data, rapt_message *why)
{
    struct element_reading r = {.file = file, .entry = entry, .floats = data, .why = why};
    return read_elements(&r, first, count);
}

rapt_status rapt__tensors_bytes(const struct tensor_file *file, const struct tensor_entry *entry,
                                size_t first, size_t count, int8_t *data, rapt_message *why)
{
    rapt_status status = check_range(file, entry, entry->count, first, count, why);
    return status ? status : read_at(file, entry, entry->begin + first, data, count, why);
}

rapt_status rapt__tensors_integers(const struct tensor_file *file, const struct tensor_entry *entry,
                                   size_t first, size_t count, int64_t *data, rapt_message *why)
{
    int64_t none = 0;
    struct element_reading r = {.file = file, .entry = entry, .why = why};
    r.integers = data ? data : &none;
    return read_elements(&r, first, count);
}
