/* marian_write.c - writes F32 tensors and the text of model.yml as a Marian model.bin. With
   intgemm8, some matrices (see format.h) are quantized to 8 bits:

       scale = 127 / max|W| or the scale of the source
       stored: W x scale, rounded to nearest, ties to even; then the scale

   Every item is padded to a multiple of 256 bytes. Sources: see marian_read.c. */
#include "tensors.h"

#include <math.h>
#include <string.h>

/* Maximum number of floats that `fill` writes per call, except for a quantized matrix, which it
   writes whole. */
enum { CHUNK = 65536 };

#define MODEL_YML MARIAN_SPECIAL "model.yml"

struct marian_writing {
    const struct tensor_source *sources;
    int count;
    const char *text; /* text of model.yml; NULL if none */
    enum marian_precision precision;
    struct disk_target target;
    uint64_t at; /* number of bytes written */
    float *data; /* [capacity] */
    size_t capacity;
    rapt_message *why;
};

static bool narrow(const struct marian_writing *w, const struct tensor_source *source)
{
    return w->precision != MARIAN_FLOAT32 && source->rank == 2 &&
           rapt__marian_narrow(source->name) && rapt__source_elements(source) > 0;
}

static uint64_t padded(uint64_t size)
{
    return (size + MARIAN_ALIGNMENT - 1) / MARIAN_ALIGNMENT * MARIAN_ALIGNMENT;
}

static rapt_status put_marian(struct marian_writing *w, const void *data, size_t size)
{
    w->at += size;
    return rapt__disk_write(&w->target, data, size, w->why);
}

static rapt_status put_number(struct marian_writing *w, uint64_t value, size_t bytes)
{
    unsigned char little[8];
    for (int i = 0; i < 8; i++) little[i] = (unsigned char)(value >> 8 * i);
    return put_marian(w, little, bytes);
}

static rapt_status put_zeros(struct marian_writing *w, uint64_t count)
{
    static const char zeros[MARIAN_ALIGNMENT];
    return put_marian(w, zeros, (size_t)count);
}

/* ---- the header ---- */

static rapt_status put_item(struct marian_writing *w, const char *name, uint64_t type, int rank,
                            uint64_t size)
{
    rapt_status status = put_number(w, strlen(name) + 1, 8);
    if (status == RAPT_OK) status = put_number(w, type, 8);
    if (status == RAPT_OK) status = put_number(w, (uint64_t)rank, 8);
    return status == RAPT_OK ? put_number(w, padded(size), 8) : status;
}

static rapt_status put_items(struct marian_writing *w)
{
    rapt_status status = RAPT_OK;
    for (int i = 0; i < w->count && status == RAPT_OK; i++) {
        const struct tensor_source *s = &w->sources[i];
        size_t count = rapt__source_elements(s);
        if (narrow(w, s))
            status = put_item(w, s->name, w->precision == MARIAN_INTGEMM8 ? 0x10001 : 0x4101,
                              s->rank, (uint64_t)count + 4);
        else
            status = put_item(w, s->name, 0x404, s->rank, (uint64_t)count * 4);
    }
    if (status == RAPT_OK && w->text)
        status = put_item(w, MODEL_YML, 0x101, 1, strlen(w->text) + 1);
    return status;
}

static rapt_status put_names_and_shapes(struct marian_writing *w)
{
    rapt_status status = RAPT_OK;
    for (int i = 0; i < w->count && status == RAPT_OK; i++)
        status = put_marian(w, w->sources[i].name, strlen(w->sources[i].name) + 1);
    if (status == RAPT_OK && w->text) status = put_marian(w, MODEL_YML, sizeof MODEL_YML);
    for (int i = 0; i < w->count; i++)
        for (int d = 0; d < w->sources[i].rank && status == RAPT_OK; d++)
            status = put_number(w, w->sources[i].shape[d], 4);
    if (status == RAPT_OK && w->text) status = put_number(w, strlen(w->text) + 1, 4);
    return status;
}

static rapt_status put_header(struct marian_writing *w)
{
    rapt_status status = put_number(w, MARIAN_VERSION, 8);
    if (status == RAPT_OK) status = put_number(w, (uint64_t)w->count + (w->text != NULL), 8);
    if (status == RAPT_OK) status = put_items(w);
    if (status == RAPT_OK) status = put_names_and_shapes(w);
    uint64_t padding = padded(w->at + 8) - (w->at + 8);
    if (status == RAPT_OK) status = put_number(w, padding, 8);
    return status == RAPT_OK ? put_zeros(w, padding) : status;
}

/* ---- the data ---- */

static rapt_status put_floats(struct marian_writing *w, const struct tensor_source *source)
{
    size_t count = rapt__source_elements(source);
    rapt_status status = RAPT_OK;
    for (size_t first = 0; first < count && status == RAPT_OK; first += CHUNK) {
        size_t now = rapt__min_size(count - first, CHUNK);
        source->fill(source, first, now, w->data);
        rapt__to_little(w->data, now);
        status = put_marian(w, w->data, 4 * now);
    }
    return status == RAPT_OK ? put_zeros(w, padded(w->at) - w->at) : status;
}

/* Rounds x to the nearest integer from -127 to 127, ties to even, in any rounding mode. NaN becomes
   0. */
static signed char round_narrow(float x)
{
    if (!(x >= -127)) return x < -127 ? -127 : 0;
    if (x > 127) return 127;
    int whole = (int)x;
    float rest = fabsf(x - (float)whole);
    if (rest > 0.5f || (rest == 0.5f && whole % 2 != 0)) whole += x < 0 ? -1 : 1;
    return (signed char)whole;
}

/* Returns whether `scale` is positive and finite, and every element of x[count], multiplied by it,
   is within 0.001 of an integer from -127 to 127. */
static bool are_multiples(const float *x, size_t count, float scale)
{
    if (!(scale > 0 && scale < INFINITY)) return false;
    for (size_t i = 0; i < count; i++) {
        float q = x[i] * scale;
        if (!(fabsf(q) < 127.5f) || fabsf(q - (float)round_narrow(q)) > 1e-3f) return false;
    }
    return true;
}

static rapt_status put_narrow(struct marian_writing *w, const struct tensor_source *source)
{
    size_t rows = source->shape[0], columns = source->shape[1], count = rows * columns;
    float max = 0;
    source->fill(source, 0, count, w->data);
    for (size_t i = 0; i < count; i++)
        if (fabsf(w->data[i]) > max) max = fabsf(w->data[i]);
    float scale = max > 0 ? 127.0f / max : 1;
    if (are_multiples(w->data, count, source->scale)) scale = source->scale;
    const bool transposed = rapt__marian_transposed(source->name);
    rapt_status status = RAPT_OK;
    signed char chunk[1024];
    for (size_t done = 0, used = 0; done < count && status == RAPT_OK; used = 0) {
        for (; used < sizeof chunk && done < count; done++) {
            size_t from = transposed ? done % rows * columns + done / rows : done;
            chunk[used++] = round_narrow(w->data[from] * scale);
        }
        status = put_marian(w, chunk, used);
    }
    rapt__to_little(&scale, 1);
    if (status == RAPT_OK) status = put_marian(w, &scale, sizeof scale);
    return status == RAPT_OK ? put_zeros(w, padded(w->at) - w->at) : status;
}

static rapt_status put_all(struct marian_writing *w)
{
    rapt_status status = put_header(w);
    for (int i = 0; i < w->count && status == RAPT_OK; i++)
        status = narrow(w, &w->sources[i]) ? put_narrow(w, &w->sources[i])
                                           : put_floats(w, &w->sources[i]);
    if (status != RAPT_OK || !w->text) return status;
    status = put_marian(w, w->text, strlen(w->text) + 1);
    return status == RAPT_OK ? put_zeros(w, padded(w->at) - w->at) : status;
}

/* Checks that the tensors can be stored in the file, and sets w->capacity to the maximum number of
   floats that `fill` writes at once. */
static rapt_status check_tensors(struct marian_writing *w)
{
    rapt_status status = rapt__sources_check(w->sources, w->count, w->why);
    if (status != RAPT_OK) return status;
    w->capacity = CHUNK;
    for (int i = 0; i < w->count; i++) {
        const struct tensor_source *s = &w->sources[i];
        if (strncmp(s->name, MARIAN_SPECIAL, strlen(MARIAN_SPECIAL)) == 0)
            return rapt__fail(w->why, RAPT_BAD_ARGUMENT,
                              "tensor \"%s\": names that begin with \"special:\" are reserved",
                              rapt__shown(s->name).text);
        for (int d = 0; d < s->rank; d++)
            if (s->shape[d] > INT32_MAX)
                return rapt__fail(w->why, RAPT_BAD_ARGUMENT,
                                  "tensor \"%s\": dimension %d is %zu, more than 2^31 - 1",
                                  rapt__shown(s->name).text, d, s->shape[d]);
        if (narrow(w, s)) w->capacity = rapt__max_size(w->capacity, rapt__source_elements(s));
    }
    return RAPT_OK;
}

rapt_status rapt__marian_write(const char *path, const struct tensor_source *sources, int count,
                               const char *model_yml, enum marian_precision precision,
                               const rapt_allocator *allocator, rapt_message *why)
{
    struct marian_writing w = {
        .sources = sources, .count = count, .text = model_yml, .precision = precision, .why = why};
    if (!path) return rapt__fail(why, RAPT_BAD_ARGUMENT, "path is NULL");
    rapt_status status = check_tensors(&w);
    if (status != RAPT_OK) return status;
    w.data = rapt__alloc(allocator, w.capacity * sizeof *w.data);
    if (!w.data)
        return rapt__fail(why, RAPT_NO_MEMORY, "%s: out of memory", rapt__shown(path).text);
    status = rapt__disk_begin(&w.target, path, why);
    if (status == RAPT_OK) {
        status = put_all(&w);
        if (status == RAPT_OK)
            status = rapt__disk_commit(&w.target, why);
        else
            rapt__disk_cancel(&w.target);
    }
    rapt__free(allocator, w.data, w.capacity * sizeof *w.data);
    return status;
}
