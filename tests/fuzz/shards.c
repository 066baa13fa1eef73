/* shards.c - any text as the index of two safetensors files. It must be refused with a reason or
   give their entries under the names in the index, in limited memory. */
#define _XOPEN_SOURCE 700

#include "temporary.h"
#include "tensors.h"

#include <unistd.h>

static char folder[TEMPORARY], paths[3][TEMPORARY + 16];

static void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    require(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0, "a written file");
}

/* Writes a file with one F32 tensor of shape [1] whose name is one letter. */
static void write_shard(const char *path, char name)
{
    char bytes[128] = {0};
    int size = sprintf(bytes + 8,
                       "{\"%c\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", name);
    bytes[0] = (char)size;
    write_bytes(path, bytes, 8 + (size_t)size + 4);
}

static void remove_files(void)
{
    for (int i = 0; i < 3; i++) unlink(paths[i]);
    rmdir(folder);
}

static void make_files(void)
{
    require(temporary_folder(folder) != NULL, "a folder");
    static const char *const names[] = {"index.json", "a", "b"};
    for (int i = 0; i < 3; i++) snprintf(paths[i], sizeof paths[i], "%s/%s", folder, names[i]);
    write_shard(paths[1], 'x');
    write_shard(paths[2], 'y');
    atexit(remove_files);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size > 1 << 12) return 0;
    if (!paths[0][0]) make_files();
    write_bytes(paths[0], bytes, size);
    struct counted counted = counted_by(input_hash(bytes, size), 12);
    const rapt_allocator allocator = counted_allocator(&counted);
    rapt_message why = {""};
    struct tensor_file *file = NULL;
    rapt_status status = rapt__tensors_open_any(&file, paths[0], &allocator, &why);
    require((status == RAPT_OK) == (file != NULL), "a file, or a status");
    require(status != RAPT_NO_MEMORY || may_lack_memory(&counted), "there was memory");
    require(status == RAPT_OK || why.text[0], "a reason");
    require(counted.max <= memory_limit(size), "memory in proportion to the files");
    if (file) read_all(file, 1 << 12);
    require(!file || rapt__tensors_count(file) <= 2 ||
                rapt__tensors_container(file) != CONTAINER_SHARDS,
            "no more tensors than there are");
    rapt__tensors_close(file);
    require(counted.now == 0, "all memory is given back");
    return 0;
}
