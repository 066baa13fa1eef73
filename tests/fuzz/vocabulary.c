/* vocabulary.c - any bytes as a vocabulary, in the form that the first byte selects. It must be
   refused with a reason or give tokens that are found under their ids, in memory proportional to
   its size. */
#include "format/format.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 1 || size > 1 << 13) return 0;
    uint8_t *exact = exact_copy(bytes + 1, size - 1);
    struct counted counted = counted_by(input_hash(bytes, size), 8);
    const rapt_allocator allocator = counted_allocator(&counted);
    rapt_message why = {""};
    struct vocabulary *v = NULL;
    rapt_status status = rapt__vocabulary_open_memory(
        &v, exact, size - 1, (enum vocabulary_form)(bytes[0] % 3), &allocator, &why);
    free(exact); /* the vocabulary has its own copy */
    require((status == RAPT_OK) == (v != NULL), "a file, or a status");
    require(status != RAPT_NO_MEMORY || may_lack_memory(&counted), "there was memory");
    require(status == RAPT_OK || status == RAPT_NO_MEMORY ||
                (status == RAPT_BAD_FILE && why.text[0]),
            "status, and a reason");
    require(counted.max <= 64 * size + 4096, "memory in proportion to the file");
    for (int i = 0; v && i < rapt__vocabulary_count(v); i++) {
        const char *token = rapt__vocabulary_token(v, i);
        require(token && token[0] && strlen(token) <= size, "a token");
        require(rapt__vocabulary_find(v, token) == i, "its number");
    }
    rapt__vocabulary_close(v);
    require(counted.now == 0, "all memory is given back");
    return 0;
}
