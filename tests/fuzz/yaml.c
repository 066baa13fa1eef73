/* yaml.c - any text as YAML. It must be refused with a reason or give keys, scalars and lists in
   order, in memory proportional to its size. */
#include "format/format.h"
#include "fuzz.h"

static void check_items(const struct yaml *yaml, size_t size)
{
    for (int i = 0; i < rapt__yaml_count(yaml); i++) {
        const struct yaml_item *item = rapt__yaml_at(yaml, i), *head = item;
        require(strlen(item->key) <= size, "the length of a key");
        if (item->index >= 0) {
            head = item - item->index - 1;
            require(item->value && strlen(item->value) <= size, "an element has a value");
            require(item->index < head->length && !strcmp(head->key, item->key), "its list");
        }
        require(rapt__yaml_find(yaml, item->key) == head, "a key is found");
        require(head->value || item == head || head->length > 0, "a list");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size > 1 << 13) return 0;
    uint8_t *exact = exact_copy(bytes, size);
    struct counted counted = counted_by(input_hash(bytes, size), 8);
    const rapt_allocator allocator = counted_allocator(&counted);
    rapt_message why = {""};
    struct yaml *yaml = NULL;
    rapt_status status = rapt__yaml_open(&yaml, exact, size, "text", &allocator, &why);
    free(exact); /* the reader has its own copy */
    require((status == RAPT_OK) == (yaml != NULL), "a file, or a status");
    require(status != RAPT_NO_MEMORY || may_lack_memory(&counted), "there was memory");
    require(status == RAPT_OK || status == RAPT_NO_MEMORY ||
                (status == RAPT_BAD_FILE && why.text[0]),
            "status, and a reason");
    require(counted.max <= 64 * size + 4096, "memory in proportion to the text");
    if (yaml) check_items(yaml, size);
    rapt__yaml_close(yaml);
    require(counted.now == 0, "all memory is given back");
    return 0;
}
