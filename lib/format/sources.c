/* sources.c - checks tensors before they are written, and converts their elements to
   little-endian. */
#include "tensors.h"

#include <assert.h>
#include <string.h>

size_t rapt__source_elements(const struct tensor_source *source)
{
    size_t count = 1;
    for (int i = 0; i < source->rank; i++) count *= source->shape[i];
    return count;
}

size_t rapt__source_element_bytes(const struct tensor_source *source)
{
    return source->dtype ? rapt__dtype_find(source->dtype)->bits / 8 : sizeof(float);
}

rapt_status rapt__source_check(const struct tensor_source *source, size_t *total, rapt_message *why)
{
    size_t bytes = rapt__source_element_bytes(source);
    if (!source->name || !source->fill)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "the name or fill function of a tensor is NULL");
    const struct shown name = rapt__shown(source->name);
    if (source->rank < 0 || source->rank > TENSOR_RANK)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "tensor \"%s\" has rank %d, not 0 to 8",
                          name.text, source->rank);
    bool fits = true, empty = false;
    for (int i = 0; i < source->rank; i++) {
        size_t size = source->shape[i];
        if (size == 0)
            empty = true;
        else if (!rapt__times(bytes, size, &bytes))
            fits = false;
    }
    assert(empty || bytes % sizeof(float) == 0);
    if (!fits || !rapt__plus(*total, empty ? 0 : bytes, total))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "tensor \"%s\" has a size that overflows",
                          name.text);
    return RAPT_OK;
}

/* Compares every pair of names, because there are few. */
rapt_status rapt__sources_check(const struct tensor_source *sources, int count, rapt_message *why)
{
    size_t total = 0;
    if (count < 0 || (count && !sources))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "a count is negative, or a list is NULL");
    for (int i = 0; i < count; i++) {
        rapt_status status = rapt__source_check(&sources[i], &total, why);
        if (status != RAPT_OK) return status;
        if (!sources[i].name[0] || !rapt__is_utf8(sources[i].name))
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "the name of tensor %d is empty or not UTF-8",
                              i);
        for (int k = 0; k < i; k++)
            if (strcmp(sources[i].name, sources[k].name) == 0)
                return rapt__fail(why, RAPT_BAD_ARGUMENT, "tensor \"%s\" occurs twice",
                                  rapt__shown(sources[i].name).text);
    }
    return RAPT_OK;
}

/* Converts words of two 16-bit elements to little-endian. */
static void pairs_to_little(float *data, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t pair[2];
        memcpy(pair, &data[i], sizeof pair);
        unsigned char bytes[4] = {(unsigned char)pair[0], (unsigned char)(pair[0] >> 8),
                                  (unsigned char)pair[1], (unsigned char)(pair[1] >> 8)};
        memcpy(&data[i], bytes, sizeof bytes);
    }
}

void rapt__elements_to_little(float *words, size_t count, size_t element)
{
    if (element == sizeof *words) rapt__to_little(words, count);
    if (element == 2) pairs_to_little(words, count);
}

void rapt__to_little(float *data, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &data[i], sizeof bits);
        unsigned char bytes[4] = {(unsigned char)bits, (unsigned char)(bits >> 8),
                                  (unsigned char)(bits >> 16), (unsigned char)(bits >> 24)};
        memcpy(&data[i], bytes, sizeof bytes);
    }
}
