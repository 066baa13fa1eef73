/* tensors.h - laws that hold for a file of tensors, whatever its bytes. It must open, or be refused
   with a reason, in limited memory. If it opens, its shapes, offsets and names
   must be consistent, and all of it can be read. */
#ifndef RAPT_TESTS_FUZZ_TENSORS_H
#define RAPT_TESTS_FUZZ_TENSORS_H

#include "format/format.h"
#include "fuzz.h"

static inline void read_entry(const struct tensor_file *file, const struct tensor_entry *entry,
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
static inline void read_all(const struct tensor_file *file, size_t size)
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
static inline void check_by(open_function *open, const uint8_t *bytes, size_t size, size_t factor)
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
static inline void check_file(const uint8_t *bytes, size_t size)
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

#endif
