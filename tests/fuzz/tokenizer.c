/* tokenizer.c - the text of a tokenizer: any bytes, after their correct checksum if the first byte
   says so, or numbers chosen by the input. It must be refused with a reason or be written as the
   same text, and decoding must invert encoding. */
#include "fuzz.h"
#include "text/text.h"

enum { TEXT = 1 << 13 };

static size_t put_number(char *text, size_t at, uint32_t number)
{
    return at + 16 < TEXT ? at + (size_t)snprintf(text + at, TEXT - at, "%u ", (unsigned)number)
                          : at;
}

/* Writes merges of tokens that already exist and, now and then, of any tokens. */
static size_t merges(struct feed *in, char *text, size_t at)
{
    uint32_t count = take_byte(in), claimed = take_flag(in) ? take_byte(in) : count;
    at = put_number(text, at, claimed);
    for (uint32_t m = 0; m < 2 * count; m++) {
        uint32_t token = take_byte(in), behind = 259 + m / 2;
        if (token >= 128) token = behind - 1 - (token - 128) % (m / 2 + 1);
        if (token == 127) token = take_u32(in) >> take_below(in, 32);
        at = put_number(text, at, token);
    }
    return at;
}

static size_t make_text(struct feed *in, char *text)
{
    int mode = take_below(in, 4);
    size_t at = 0;
    if (mode != 0) at = (size_t)snprintf(text, TEXT, "rapt-bpe 1 ");
    if (mode == 1) {
        at = merges(in, text, at);
    } else {
        size_t count = in->left < TEXT - 64 ? in->left : TEXT - 64;
        if (count) memcpy(text + at, in->at, count);
        at += count;
    }
    if (mode != 0 || take_flag(in))
        at += (size_t)snprintf(text + at, TEXT - at, "#%08lx", (unsigned long)rapt__hash(text, at));
    return at;
}

static void check_laws(const rapt_tokenizer *tokenizer, const char *text, size_t size)
{
    char *again = malloc(size + 1);
    int32_t ids[256];
    size_t needed = 0, count = 0, back = 0;
    require(again != NULL, "memory for the test itself");
    require(rapt_tokenizer_write(tokenizer, again, size, &needed, NULL) == RAPT_BAD_ARGUMENT,
            "too small by one byte");
    require(needed == size + 1, "the size it needs");
    require(rapt_tokenizer_write(tokenizer, again, needed, &needed, NULL) == RAPT_OK, "writing");
    require(memcmp(again, text, size) == 0 && again[size] == 0, "the same text again");
    size_t part = size < 256 ? size : 256;
    require(rapt_tokenizer_encode(tokenizer, (rapt_text){text, part}, ids, NULL, 256, &count,
                                  NULL) == RAPT_OK,
            "encoding");
    require(count <= part, "at most one token a byte");
    require(rapt_tokenizer_decode(tokenizer, ids, count, again, part, &back, NULL) == RAPT_OK,
            "decoding");
    require(back == part && memcmp(again, text, part) == 0, "the same bytes");
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static char text[TEXT];
    struct feed in = {bytes, size};
    if (size > 1 << 12) return 0;
    struct counted counted = counted_by(input_hash(bytes, size), 6);
    const rapt_allocator allocator = counted_allocator(&counted);
    size_t length = make_text(&in, text);
    char *exact = exact_copy(text, length);
    rapt_tokenizer *tokenizer = NULL;
    rapt_message why = {""};
    rapt_status status = rapt_tokenizer_create(&tokenizer, exact, length, &allocator, &why);
    require((status == RAPT_OK) == (tokenizer != NULL), "a tokenizer, or a status");
    require(status == RAPT_OK || why.text[0], "a reason");
    require(status != RAPT_OK || why.text[0] == 0, "no reason on success");
    require(status == RAPT_OK || status == RAPT_BAD_FILE || may_lack_memory(&counted), "status");
    require(counted.max <= 64 * length + 16384, "memory in proportion to the text");
    if (tokenizer) check_laws(tokenizer, exact, length);
    rapt_tokenizer_free(tokenizer);
    require(counted.now == 0, "all memory is given back");
    free(exact);
    return 0;
}
