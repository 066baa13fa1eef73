/* sentencepiece.c - any bytes as a SentencePiece model that encodes a text. Input: the size of the
   text in a byte, the text, the model. The model must be refused with a reason or give ids within
   its bound, with increasing ends. It must decode any of its ids, and give the same ids after it
   was written and created again. */
#include "fuzz.h"
#include <rapt/text.h>

static void check_written(const rapt_tokenizer *t, rapt_text text, const int32_t *ids, size_t count)
{
    rapt_tokenizer *again = NULL;
    size_t size = 0, same = 0;
    require(rapt_tokenizer_write(t, NULL, 0, &size, NULL) == RAPT_OK, "its size");
    char *string = malloc(size);
    int32_t *others = malloc((count + 1) * sizeof *others);
    require(string && others, "memory for the test itself");
    require(rapt_tokenizer_write(t, string, size, &size, NULL) == RAPT_OK, "writing");
    require(rapt_tokenizer_create(&again, string, size - 1, NULL, NULL) == RAPT_OK, "creating");
    require(rapt_tokenizer_encode(again, text, others, NULL, count, &same, NULL) == RAPT_OK,
            "as many tokens again");
    require(same == count, "as many tokens");
    require(count == 0 || memcmp(others, ids, count * sizeof *ids) == 0, "the same tokens");
    rapt_tokenizer_free(again);
    free(string);
    free(others);
}

static void check_decode(const rapt_tokenizer *t, const int32_t *ids, size_t count,
                         const struct counted *counted)
{
    size_t size = 0;
    char bytes[64];
    rapt_status status = rapt_tokenizer_decode(t, ids, count, bytes, sizeof bytes, &size, NULL);
    require(status == RAPT_OK || status == RAPT_BAD_ARGUMENT || may_lack_memory(counted),
            "decoding");
    require(status != RAPT_OK || size <= sizeof bytes, "what is decoded fits");
}

static void check_text(const rapt_tokenizer *t, rapt_text text, const struct counted *counted)
{
    size_t bound = rapt_tokenizer_bound(t, text.size), count = 0;
    int vocab = rapt_tokenizer_vocab(t);
    if (bound > 1 << 20) return; /* skip rules that lengthen the text too much */
    int32_t *ids = malloc((bound + 1) * sizeof *ids);
    size_t *ends = malloc((bound + 1) * sizeof *ends);
    require(ids && ends, "memory for the test itself");
    rapt_status status = rapt_tokenizer_encode(t, text, ids, ends, bound, &count, NULL);
    require(status == RAPT_OK || may_lack_memory(counted), "encoding");
    for (size_t i = 0; i < count; i++) {
        require(ids[i] >= 0 && ids[i] < vocab, "an id");
        require(ends[i] <= text.size && (i == 0 || ends[i] >= ends[i - 1]), "ends that rise");
    }
    if (status == RAPT_OK) check_decode(t, ids, count, counted);
    if (counted->fail_at < 0) check_written(t, text, ids, count);
    for (size_t i = 0; i < bound && i < 16; i++) ids[i] = (int32_t)i % vocab;
    check_decode(t, ids, bound < 16 ? bound : 16, counted);
    free(ids);
    free(ends);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    struct counted counted = counted_by(input_hash(bytes, size), 40);
    const rapt_allocator allocator = counted_allocator(&counted);
    size_t part = take_byte(&in);
    if (part > in.left) part = in.left;
    char *text = exact_copy(in.at, part), *model = exact_copy(in.at + part, in.left - part);
    rapt_tokenizer *t = NULL;
    rapt_message why = {""};
    rapt_status status = rapt_tokenizer_load_memory(&t, model, in.left - part, &allocator, &why);
    require((status == RAPT_OK) == (t != NULL), "a tokenizer, or a status");
    require((status == RAPT_OK) == (why.text[0] == 0), "a reason");
    require(status == RAPT_OK || status == RAPT_BAD_FILE || may_lack_memory(&counted), "status");
    require(counted.max <= 256 * size + (1 << 20), "memory in proportion to the model");
    if (t) check_text(t, (rapt_text){text, part}, &counted);
    rapt_tokenizer_free(t);
    require(counted.now == 0, "all memory is given back");
    free(text);
    free(model);
    return 0;
}
