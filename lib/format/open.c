/* open.c - opens a file of tensors: identifies its format by its first bytes and calls the reader
   for that format.

       safetensors   n as u64, '{'                    2 <= n <= 10^8
       Git LFS       "version h"                      a pointer: "version https://git-lfs..."
       CTranslate2   version as u32, a nonzero u32    1 <= version <= 64
       Marian        version as u64                   1, or 2 if encrypted (not supported)
       zip           "PK", 3, 4                       npz, or PyTorch if it contains a pickle
       pickle        0x80, 2 to 5                     PyTorch before 1.6
       index         '{'                              index of a sharded model */
#include "tensors.h"
#include "zip.h"

#include <string.h>

enum {
    FIRST_BYTES = 9, /* number of bytes examined */
    VERSION_MAX = 64 /* largest version recognized as CTranslate2's; its reader rejects versions
                        that it does not know */
};

static const char *const names[] = {
    [CONTAINER_SAFETENSORS] = "safetensors", [CONTAINER_CTRANSLATE2] = "CTranslate2",
    [CONTAINER_MARIAN] = "Marian",           [CONTAINER_NPZ] = "npz",
    [CONTAINER_PYTORCH] = "PyTorch",         [CONTAINER_SHARDS] = "shards",
};

const char *rapt__container_name(enum tensor_container container)
{
    return names[container];
}

/* Reads a zip file as a PyTorch file if it contains a pickle, otherwise as an npz file. */
static rapt_status read_zip(struct tensor_file *file, rapt_message *why)
{
    struct zip zip;
    rapt_status status =
        rapt__zip_read(&zip, &file->main.source, &file->pool, &file->allocator, why);
    if (status != RAPT_OK) return status;
    const struct zip_member *pickle = rapt__torch_pickle(&zip);
    file->container = pickle ? CONTAINER_PYTORCH : CONTAINER_NPZ;
    status = pickle ? rapt__torch_read(file, &zip, pickle, why) : rapt__npz_read(file, &zip, why);
    rapt__zip_free(&zip, &file->allocator);
    return status;
}

static rapt_status recognize(const struct disk_source *source, tensor_reader **read,
                             rapt_message *why)
{
    unsigned char first[FIRST_BYTES] = {0};
    size_t size = source->size < FIRST_BYTES ? (size_t)source->size : FIRST_BYTES;
    rapt_status status = rapt__disk_read(source, 0, first, size, why);
    if (status != RAPT_OK) return status;
    uint32_t low = 0, high = 0;
    for (int i = 0; i < 4; i++) low |= (uint32_t)first[i] << 8 * i;
    for (int i = 0; i < 4; i++) high |= (uint32_t)first[4 + i] << 8 * i;
    if (low == 1 && high == 0)
        *read = rapt__marian_read;
    else if (high == 0 && first[8] == '{')
        *read = rapt__safetensors_read;
    else if (low == 2 && high == 0)
        *read = rapt__marian_read;
    else if (low >= 1 && low <= VERSION_MAX && high > 0)
        *read = rapt__ct2_read;
    else if (memcmp(first, "PK\3\4", 4) == 0)
        *read = read_zip;
    else if (first[0] == 0x80 && first[1] >= 2 && first[1] <= 5)
        *read = rapt__torch_legacy_read;
    else if (memcmp(first, "version h", FIRST_BYTES) == 0)
        return rapt__fail(why, RAPT_BAD_FILE,
                          "%s is a Git LFS pointer; download the file itself (git lfs pull)",
                          source->label.text);
    else if (first[0] == '{')
        *read = rapt__shards_read;
    else
        return rapt__fail(why, RAPT_BAD_FILE,
                          "%s is not a model or tensor file in a format that rapt reads",
                          source->label.text);
    return RAPT_OK;
}

rapt_status rapt__torch_file_read(struct tensor_file *file, rapt_message *why)
{
    const struct disk_source *source = &file->main.source;
    tensor_reader *read = NULL;
    rapt_status status = recognize(source, &read, why);
    if (status != RAPT_OK) return status;
    if (read == read_zip || read == rapt__torch_legacy_read) status = read(file, why);
    if (status != RAPT_OK || file->container == CONTAINER_PYTORCH) return status;
    return rapt__fail(why, RAPT_BAD_FILE, "%s was not written by torch.save", source->label.text);
}

rapt_status rapt__tensors_open_path(struct tensor_file **file, const char *path,
                                    tensor_reader *read, const rapt_allocator *allocator,
                                    rapt_message *why)
{
    struct disk_source source;
    if (!path) return rapt__fail(why, RAPT_BAD_ARGUMENT, "path is NULL");
    rapt_status status = rapt__disk_open_inflated(&source, path, allocator, why);
    if (status != RAPT_OK) return status;
    if (!read) status = recognize(&source, &read, why);
    if (status == RAPT_OK) status = rapt__tensors_open_source(file, &source, read, allocator, why);
    if (status != RAPT_OK) rapt__disk_close(&source);
    return status;
}

rapt_status rapt__tensors_open_any(struct tensor_file **file, const char *path,
                                   const rapt_allocator *allocator, rapt_message *why)
{
    return rapt__tensors_open_path(file, path, NULL, allocator, why);
}

bool rapt__tensors_other(const char *path)
{
    struct disk_source source;
    tensor_reader *read = NULL;
    if (rapt__disk_open(&source, path, NULL)) return false;
    bool other = source.size >= FIRST_BYTES;
    if (other && recognize(&source, &read, NULL) == RAPT_OK) other = read != rapt__safetensors_read;
    rapt__disk_close(&source);
    return other;
}

const void *rapt__tensors_map_data(const struct tensor_file *file, struct disk_view *view)
{
    if (file->part_count > 0) return NULL;
    if (rapt__disk_view(&file->main.source, view, NULL) != RAPT_OK) return NULL;
    return view->bytes + file->main.data_at;
}

rapt_status rapt__tensors_open_any_source(struct tensor_file **file,
                                          const struct disk_source *source,
                                          const rapt_allocator *allocator, rapt_message *why)
{
    tensor_reader *read = NULL;
    rapt_status status = recognize(source, &read, why);
    if (status != RAPT_OK) return status;
    return rapt__tensors_open_source(file, source, read, allocator, why);
}

rapt_status rapt__tensors_open_any_memory(struct tensor_file **file, const void *bytes, size_t size,
                                          const rapt_allocator *allocator, rapt_message *why)
{
    struct disk_source source = {.file = -1, .bytes = bytes, .size = size};
    source.label = rapt__shown("model in memory");
    if (!bytes) return rapt__fail(why, RAPT_BAD_ARGUMENT, "bytes is NULL");
    rapt__budget_add(allocator, size);
    return rapt__tensors_open_any_source(file, &source, allocator, why);
}
