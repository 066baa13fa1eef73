/* open.c - a file of tensors goes in, its container is recognized by its first bytes, and its
   reader opens it.

       safetensors   n as u64, '{'                    2 <= n <= 10^8
       CTranslate2   version as u32, then a length    1 <= version <= 6
       Marian        version as u64                   1 */
#include "tensors.h"

enum { FIRST_BYTES = 9 }; /* examined */

static const struct {
    const char *name;
    tensor_reader *read;
} containers[] = {
    [CONTAINER_SAFETENSORS] = {"safetensors", rapt__safetensors_read},
    [CONTAINER_CTRANSLATE2] = {"CTranslate2", rapt__ct2_read},
    [CONTAINER_MARIAN] = {"Marian", rapt__marian_read},
};

const char *rapt__container_name(enum tensor_container container)
{
    return containers[container].name;
}

static rapt_status recognize(const struct disk_source *source, enum tensor_container *container,
                             rapt_message *why)
{
    unsigned char first[FIRST_BYTES] = {0};
    size_t size = source->size < FIRST_BYTES ? (size_t)source->size : FIRST_BYTES;
    rapt_status status = rapt__disk_read(source, 0, first, size, why);
    if (status != RAPT_OK) return status;
    uint32_t low = 0, high = 0;
    for (int i = 0; i < 4; i++) low |= (uint32_t)first[i] << 8 * i;
    for (int i = 0; i < 4; i++) high |= (uint32_t)first[4 + i] << 8 * i;
    if (high == 0 && first[8] == '{')
        *container = CONTAINER_SAFETENSORS;
    else if (low == 1 && high == 0)
        *container = CONTAINER_MARIAN;
    else if (low >= 1 && low <= 6 && high > 0)
        *container = CONTAINER_CTRANSLATE2;
    else
        return rapt__fail(why, RAPT_BAD_FILE, "%s: is no file of tensors that rapt knows",
                          source->label.text);
    return RAPT_OK;
}

static rapt_status open_any(struct tensor_file **file, const struct disk_source *source,
                            const rapt_allocator *allocator, rapt_message *why)
{
    enum tensor_container container = CONTAINER_SAFETENSORS;
    rapt_status status = recognize(source, &container, why);
    if (status == RAPT_OK)
        status =
            rapt__tensors_open_source(file, source, containers[container].read, allocator, why);
    if (status == RAPT_OK) (*file)->container = container;
    return status;
}

rapt_status rapt__tensors_open_any(struct tensor_file **file, const char *path,
                                   const rapt_allocator *allocator, rapt_message *why)
{
    struct disk_source source;
    if (!path) return rapt__fail(why, RAPT_BAD_ARGUMENT, "no path was given");
    rapt_status status = rapt__disk_open(&source, path, why);
    if (status != RAPT_OK) return status;
    status = open_any(file, &source, allocator, why);
    if (status != RAPT_OK) rapt__disk_close(&source);
    return status;
}

rapt_status rapt__tensors_open_any_memory(struct tensor_file **file, const void *bytes, size_t size,
                                          const rapt_allocator *allocator, rapt_message *why)
{
    struct disk_source source = {.file = -1, .bytes = bytes, .size = size};
    source.label = rapt__shown("model in memory");
    if (!bytes) return rapt__fail(why, RAPT_BAD_ARGUMENT, "no bytes were given");
    return open_any(file, &source, allocator, why);
}
