/* safetensors.c - any bytes opened as a safetensors file, and all of it read.

   Searching: clang -DRAPT_FUZZER -fsanitize=fuzzer,address,undefined. Without RAPT_FUZZER the
   program replays the files it is given, or, given none, damages a few files it knows. */
#include "format/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void require(int holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

struct counted {
    size_t now, max;
};

static void *counted_alloc(void *user, size_t bytes)
{
    struct counted *c = user;
    c->now += bytes;
    if (c->now > c->max) c->max = c->now;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void counted_free(void *user, void *memory, size_t bytes)
{
    ((struct counted *)user)->now -= bytes;
    free(memory);
}

static void read_entry(const struct tensor_file *file, const struct tensor_entry *entry,
                       size_t size)
{
    float data[1000];
    size_t product = 1;
    require(entry->rank >= 0 && entry->rank <= TENSOR_RANK, "rank");
    for (int i = 0; i < entry->rank; i++) product *= entry->shape[i];
    require(product == entry->count && entry->count <= 2 * size, "count");
    require(entry->begin <= entry->end && entry->end <= size, "offsets");
    require(rapt__tensors_find(file, entry->name) == entry, "name");
    for (size_t first = 0; first < entry->count;) {
        size_t count = entry->count - first < 1000 ? entry->count - first : 1000;
        rapt_status status = rapt__tensors_read(file, entry, first, count, data, NULL);
        require(status == RAPT_OK || status == RAPT_BAD_FILE, "status of reading");
        if (status != RAPT_OK) return;
        first += count;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct counted counted = {0};
    const rapt_allocator allocator = {counted_alloc, counted_free, &counted};
    rapt_message why = {""};
    struct tensor_file *file = NULL;
    uint8_t empty = 0;
    rapt_status status =
        rapt__tensors_open_memory(&file, bytes ? bytes : &empty, size, &allocator, &why);
    require(status == RAPT_OK || (status == RAPT_BAD_FILE && why.text[0] && !file), "status");
    require(counted.max <= 10 * size + 4096, "memory in proportion to the file");
    if (file) {
        size_t sum = 0;
        for (int i = 0; i < rapt__tensors_count(file); i++) {
            const struct tensor_entry *entry = rapt__tensors_entry(file, i);
            read_entry(file, entry, size);
            sum += entry->end - entry->begin;
        }
        require(sum < size, "sum of sizes");
        for (int i = 0; i < rapt__tensors_metadata_count(file); i++) {
            const struct tensor_metadata *entry = rapt__tensors_metadata_at(file, i);
            require(rapt__tensors_metadata(file, entry->key) == entry->value, "note");
        }
    }
    rapt__tensors_close(file);
    require(counted.now == 0, "all memory is given back");
    return 0;
}

#ifndef RAPT_FUZZER
static const char *const headers[] = {
    "{}",
    "{\"__metadata__\":{\"k\":\"v\\u00e9\"},\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_"
    "offsets\":[0,8]}}",
    "{\"b\":{\"dtype\":\"BF16\",\"shape\":[1,2],\"data_offsets\":[4,8]},"
    "\"a\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,4]}}",
    "{\"\\ud83d\\ude00\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]}}  ",
    "{\"a\":{\"dtype\":\"F4\",\"shape\":[16],\"data_offsets\":[0,8]}}",
};

static int replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) return perror(path), 1;
    long size = ftell(file);
    uint8_t *bytes = malloc((size_t)size + 1);
    rewind(file);
    if (!bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size) return perror(path), 1;
    fclose(file);
    LLVMFuzzerTestOneInput(bytes, (size_t)size);
    free(bytes);
    return 0;
}

static uint32_t next_random(uint32_t *state) /* xorshift32 (Marsaglia 2003) */
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static void damage_all(void)
{
    uint32_t seed = 3;
    for (size_t round = 0; round < 50000; round++) {
        const char *header = headers[round % (sizeof headers / sizeof *headers)];
        size_t n = strlen(header), size = 8 + n + (n > 2 ? 8 : 0);
        uint8_t *bytes = calloc(1, size);
        require(bytes != NULL, "memory");
        bytes[0] = (uint8_t)n;
        memcpy(bytes + 8, header, n);
        for (uint32_t i = next_random(&seed) % 4; i > 0; i--)
            bytes[next_random(&seed) % size] = (uint8_t)(next_random(&seed) >> 8);
        LLVMFuzzerTestOneInput(bytes, size - (round % 7 == 0 ? next_random(&seed) % size : 0));
        free(bytes);
    }
}

int main(int count, char **arguments)
{
    int result = 0;
    if (count < 2) damage_all();
    for (int i = 1; i < count; i++) result |= replay(arguments[i]);
    return result;
}
#endif
