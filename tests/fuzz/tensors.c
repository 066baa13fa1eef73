/* tensors.c - laws that hold for a file of tensors, whatever its bytes, and the targets that read
   one; and zip files of folders, in which packages of models come. */
#define _GNU_SOURCE

#include "format/format.h"
#include "fuzz.h"
#include "temporary.h"

#include <unistd.h>

/* ---- laws: laws that hold for a file of tensors, whatever its bytes. It must open, or be refused
   with a reason, in limited memory. If it opens, its shapes, offsets and names must be consistent,
   and all of it can be read. ---- */

static void read_entry(const struct tensor_file *file, const struct tensor_entry *entry,
                       size_t size)
{
    float data[1000];
    size_t product = 1;
    require(entry->rank >= 0 && entry->rank <= TENSOR_RANK, "rank");
    for (int i = 0; i < entry->rank; i++) product *= entry->shape[i];
    require(product == entry->count && entry->count <= 2 * size, "count");
    require(entry->begin <= entry->end && entry->end <= size, "offsets");
    require(entry->scales == 0 || entry->count % entry->scales == 0, "scales");
    require(rapt__tensors_find(file, entry->name) == entry, "name");
    for (size_t first = 0; first < entry->count;) {
        size_t count = entry->count - first < 1000 ? entry->count - first : 1000;
        rapt_status status = rapt__tensors_read(file, entry, first, count, data, NULL);
        require(status == RAPT_OK || status == RAPT_BAD_FILE, "status of reading");
        int64_t whole[1000];
        rapt_status other = rapt__tensors_integers(file, entry, first, count, whole, NULL);
        require(other == RAPT_OK || other == RAPT_BAD_FILE, "status of reading whole numbers");
        if (status != RAPT_OK && other != RAPT_OK) return;
        first += count;
    }
}

/* Reads all entries, each of at most `size` bytes. */
static void read_all(const struct tensor_file *file, size_t size)
{
    for (int i = 0; i < rapt__tensors_count(file); i++) {
        const struct tensor_entry *entry = rapt__tensors_entry(file, i);
        read_entry(file, entry, size);
    }
    for (int i = 0; i < rapt__tensors_metadata_count(file); i++) {
        const struct tensor_metadata *entry = rapt__tensors_metadata_at(file, i);
        require(rapt__tensors_metadata(file, entry->key) == entry->value, "metadata");
    }
}

typedef rapt_status open_function(struct tensor_file **file, const void *bytes, size_t size,
                                  const rapt_allocator *allocator, rapt_message *why);

/* Opens and reads a file of one format, within a budget, as the callers of its reader do. It may
   use `factor` bytes of memory per byte of the file, and its entries may have at most that many
   bytes as well. */
static void check_by(open_function *open, const uint8_t *bytes, size_t size, size_t factor)
{
    struct budget budget;
    uint8_t *exact = exact_copy(bytes, size);
    struct counted counted = counted_by(input_hash(bytes, size), 12);
    const rapt_allocator under = counted_allocator(&counted),
                         allocator = rapt__budget_begin(&budget, &under);
    rapt_message why = {""};
    struct tensor_file *file = NULL;
    rapt_status status =
        rapt__budget_end(&budget, open(&file, exact, size, &allocator, &why), &why);
    require((status == RAPT_OK) == (file != NULL), "a file, or a status");
    require(status != RAPT_NO_MEMORY || may_lack_memory(&counted), "there was memory");
    require(status == RAPT_OK || status == RAPT_NO_MEMORY ||
                (status == RAPT_BAD_FILE && why.text[0]),
            "status, and a reason");
    require(status != RAPT_OK || why.text[0] == 0, "no reason on success");
    require(counted.max <= factor * size + 4096, "memory in proportion to the file");
    require(counted.max <= memory_limit(size), "memory within the limit");
    if (file) read_all(file, factor * size);
    rapt__tensors_close(file);
    require(counted.now == 0, "all memory is given back");
    free(exact);
}

/* Checks a safetensors file, in which each byte of data belongs to exactly one entry. */
static void check_file(const uint8_t *bytes, size_t size)
{
    struct tensor_file *file = NULL;
    size_t sum = 0;
    check_by(rapt__tensors_open_memory, bytes, size, 10);
    if (size == 0 || rapt__tensors_open_memory(&file, bytes, size, NULL, NULL) != RAPT_OK) return;
    for (int i = 0; i < rapt__tensors_count(file); i++) {
        const struct tensor_entry *entry = rapt__tensors_entry(file, i);
        require(entry->end <= size, "offsets within the file");
        sum += entry->end - entry->begin;
    }
    require(sum < size, "sum of sizes");
    rapt__tensors_close(file);
}

/* ---- safetensors: reads any bytes as a safetensors file, with all its tensors. ---- */

int fuzz_safetensors(const uint8_t *bytes, size_t size)
{
    if (size <= 1 << 14) check_file(bytes, size);
    return 0;
}

/* ---- header: any text as the header of a safetensors file. The file has the correct length in
   front of it and, after it, as many bytes of data as the first two bytes of the input say. ---- */

int fuzz_header(const uint8_t *bytes, size_t size)
{
    if (size < 2 || size > 1 << 13) return 0;
    size_t header = size - 2, data = (size_t)(bytes[0] % 4 * 256 + bytes[1]);
    uint8_t *file = malloc(8 + header + data);
    require(file != NULL, "memory for the test itself");
    for (int i = 0; i < 8; i++) file[i] = (uint8_t)((uint64_t)header >> 8 * i);
    memcpy(file + 8, bytes + 2, header);
    for (size_t i = 0; i < data; i++) file[8 + header + i] = (uint8_t)(i * 37);
    check_file(file, 8 + header + data);
    free(file);
    return 0;
}

/* ---- containers: reads any bytes as a file of tensors of another project, with all its tensors.
   The first bytes determine the format, so the targets ct2, marian, npz and torch
   differ only in their seeds. ---- */

/* Returns how many bytes of memory a byte of the file may need. Deflate makes up to 1032 bytes of
   one, and a byte of a pickle may push a value of 32 bytes. */
static size_t expansion(const uint8_t *bytes, size_t size)
{
    if (size > 1 && memcmp(bytes, "PK", 2) == 0) return 1500;
    return size > 0 && bytes[0] == 0x80 ? 300 : 16;
}

int fuzz_containers(const uint8_t *bytes, size_t size)
{
    if (size <= 1 << 14)
        check_by(rapt__tensors_open_any_memory, bytes, size, expansion(bytes, size));
    return 0;
}

/* ---- pickle: any bytes as the pickle of a torch.save file with three storages. It must be refused
   with a reason or give entries within the storages, all of which are read. ---- */

enum { PICKLE_SPACE = 1 << 12 };

static uint8_t *put(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) *to++ = (uint8_t)(i < 8 ? value >> 8 * i : 0);
    return to;
}

/* Writes an entry of the zip directory, or the header in front of a member. */
static uint8_t *put_member(uint8_t *to, bool directory, const char *name, size_t size, size_t at)
{
    to = put(to, directory ? 0x02014B50 : 0x04034B50, 4);
    to = put(to, 0, directory ? 16 : 14); /* versions, flags, method (stored), time, checksum */
    to = put(put(to, size, 4), size, 4);
    to = put(to, strlen(name), 2);
    to = put(to, 0, directory ? 8 : 2);
    if (directory) to = put(put(to, 0, 4), at, 4);
    memcpy(to, name, strlen(name));
    return to + strlen(name);
}

static size_t make_archive(uint8_t *file, const uint8_t *pickle, size_t size)
{
    static const char *const names[] = {"m/data.pkl", "m/data/0", "m/data/1", "m/data/2"};
    const size_t sizes[] = {size, 24, 8, 8};
    size_t offsets[4];
    uint8_t *at = file;
    for (int i = 0; i < 4; i++) {
        offsets[i] = (size_t)(at - file);
        at = put_member(at, false, names[i], sizes[i], 0);
        for (size_t k = 0; k < sizes[i]; k++) *at++ = i == 0 ? pickle[k] : (uint8_t)(k * 37);
    }
    uint8_t *begin = at;
    for (int i = 0; i < 4; i++) at = put_member(at, true, names[i], sizes[i], offsets[i]);
    size_t length = (size_t)(at - begin);
    at = put(put(at, 0x06054B50, 8), 0x00040004, 4);
    at = put(put(at, length, 4), (uint64_t)(begin - file), 4);
    return (size_t)(put(at, 0, 2) - file);
}

int fuzz_pickle(const uint8_t *bytes, size_t size)
{
    static uint8_t file[PICKLE_SPACE + 1024];
    if (size < 1 || size > PICKLE_SPACE) return 0;
    check_by(rapt__tensors_open_any_memory, file, make_archive(file, bytes, size), 300);
    return 0;
}

/* ---- shards: any text as the index of two safetensors files. It must be refused with a reason or
   give their entries under the names in the index, in limited memory. ---- */

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

int fuzz_shards(const uint8_t *bytes, size_t size)
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

/* ---- archive: any bytes as a zip file of folders. It must be refused with a reason or give names
   that are relative paths without "..", whose files are read or refused with a reason, in memory
   bounded by the file's size. ---- */

struct visited {
    const struct archive *archive;
    const rapt_allocator *allocator;
    char folder[200]; /* "" or ending in '/' */
    size_t size;      /* of the zip file */
    bool lacks_memory;
};

static void read_file_of(struct visited *v, const char *path)
{
    struct disk_source source;
    rapt_message why = {""};
    rapt_status status = rapt__archive_read(v->archive, path, &source, v->allocator, &why);
    v->lacks_memory = v->lacks_memory || status == RAPT_NO_MEMORY;
    require(status == RAPT_OK || why.text[0], "a reason");
    require(status == RAPT_OK || status == RAPT_NO_MEMORY || status == RAPT_BAD_FILE, "status");
    if (status != RAPT_OK) return;
    require(source.size <= 4 * v->size + (4 << 20), "limited inflation");
    uint8_t last;
    if (source.size)
        require(rapt__disk_read(&source, source.size - 1, &last, 1, NULL) == RAPT_OK, "a byte");
    rapt__disk_close(&source);
}

static bool visit(void *user, const char *name)
{
    struct visited *v = user;
    char path[400];
    require(strcmp(name, "..") != 0 && !strchr(name, '/'), "a name within its folder");
    if (snprintf(path, sizeof path, "%s%s", v->folder, name) >= (int)sizeof v->folder - 1)
        return true;
    if (rapt__archive_has(v->archive, path)) read_file_of(v, path);
    struct visited below = *v;
    if (!name[0]) return true; /* of two slashes in a row */
    snprintf(below.folder, sizeof below.folder, "%.198s/", path);
    rapt__archive_list(v->archive, below.folder, visit, &below);
    v->lacks_memory = below.lacks_memory;
    return true;
}

int fuzz_archive(const uint8_t *bytes, size_t size)
{
    struct budget budget;
    struct counted counted = counted_by(input_hash(bytes, size), 20);
    const rapt_allocator under = counted_allocator(&counted),
                         allocator = rapt__budget_begin(&budget, &under);
    struct archive *archive = NULL;
    rapt_message why = {""};
    if (size > 1 << 15) return 0;
    rapt_status status = rapt__archive_open(&archive, memory_path(bytes, size), &allocator, &why);
    require((status == RAPT_OK) == (archive != NULL), "an archive, or a status");
    require(status == RAPT_OK || why.text[0], "a reason");
    struct visited all = {archive, &allocator, "", size, status == RAPT_NO_MEMORY};
    if (archive) rapt__archive_list(archive, "", visit, &all);
    require(!all.lacks_memory || budget.exceeded || may_lack_memory(&counted), "there was memory");
    require(counted.max <= memory_limit(size), "memory bounded by the file");
    rapt__archive_close(archive);
    require(counted.now == 0, "all memory is given back");
    return 0;
}
