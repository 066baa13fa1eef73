/* written.c - writes a tokenizer as a printable string and reads it back:

       rapt-bpe 1 MERGES LEFT RIGHT LEFT RIGHT ... #SUM
       rapt-spm 1 SIZE BASE64 #SUM
       rapt-list 1 COUNT SIZE BASE64 SIZE BASE64 #SUM
       rapt-wordpiece 1 COUNT SIZE BASE64 KEEP #SUM
       rapt-bytelevel 1 COUNT SIZE BASE64 SPACE MERGES LEFT RIGHT LEFT RIGHT ... #SUM
       rapt-moses 1 COUNT SIZE BASE64 SIZE BASE64 SIZE BASE64 #SUM

   The first contains the merges of a byte-pair vocabulary, and the second contains the bytes of a
   SentencePiece file. The others contain COUNT null-terminated names, followed by a SentencePiece
   file (SIZE is 0 if there is none), WordPiece options, byte-level merges, or the language code of
   a Moses tokenizer and the file bpe.model. KEEP is the sum of 1 for keep_case, 2 for keep_accents
   and 4 for keep_han. SPACE is 1 if a space is put before text that does not begin with one.
   Numbers are decimal without leading zeros, separated by one space. SUM is the hash (rapt__hash)
   of everything before '#', written as eight lower-case hex digits; it detects any single-byte
   change. The string is untrusted input. */
#include "text/list.h"
#include "text/text.h"

#include <stdio.h>
#include <string.h>

/* ---- base64, RFC 4648, section 4; the decoder accepts only what the encoder produces ---- */

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t rapt__base64_size(size_t bytes)
{
    return rapt__ceil_div_size(bytes, 3) * 4;
}

void rapt__base64_write(const void *bytes, size_t size, char *text)
{
    const unsigned char *b = bytes;
    for (size_t i = 0; i < size; i += 3, text += 4) {
        uint32_t three = (uint32_t)b[i] << 16;
        if (i + 1 < size) three |= (uint32_t)b[i + 1] << 8;
        if (i + 2 < size) three |= b[i + 2];
        for (int digit = 0; digit < 4; digit++)
            text[digit] = alphabet[three >> (18 - 6 * digit) & 63];
        if (i + 1 >= size) text[2] = '=';
        if (i + 2 >= size) text[3] = '=';
    }
}

/* Maps each character to its value, or to 64 if it is not in the alphabet. */
static void fill_digits(unsigned char values[256])
{
    memset(values, 64, 256);
    for (unsigned i = 0; i < 64; i++) values[(unsigned char)alphabet[i]] = (unsigned char)i;
}

bool rapt__base64_read(const char *text, size_t size, void *bytes)
{
    unsigned char values[256], *b = bytes;
    fill_digits(values);
    for (size_t i = 0; i < size; i += 3, text += 4) {
        size_t left = size - i < 3 ? size - i : 3;
        uint32_t three = 0;
        for (size_t digit = 0; digit < 4; digit++) {
            unsigned value = values[(unsigned char)text[digit]];
            if (digit > left ? text[digit] != '=' : value == 64) return false;
            three = three << 6 | (digit > left ? 0 : value);
        }
        if (three & (0xFFFFFFu >> 8 * left)) return false; /* unused bits must be 0 */
        for (size_t k = 0; k < left; k++) b[i + k] = (unsigned char)(three >> (16 - 8 * k));
    }
    return true;
}

/* ---- writing ----

   The functions whose names begin with put_ write at text + at, or at `text` if they have no
   parameter `at`. If text is NULL, they write nothing. They return the offset after what they
   write. */

static const char head[] = "rapt-bpe 1 ", spm_head[] = "rapt-spm 1 ", list_head[] = "rapt-list 1 ",
                  wordpiece_head[] = "rapt-wordpiece 1 ", bytes_head[] = "rapt-bytelevel 1 ",
                  moses_head[] = "rapt-moses 1 ";
enum { HEAD_SIZE = sizeof head - 1, SUM_SIZE = 8, SHORTEST_MERGE = 4 /* "3 3 " */ };

static size_t put_text(char *text, size_t at, const char *bytes)
{
    size_t size = strlen(bytes);
    if (text) memcpy(text + at, bytes, size);
    return at + size;
}

/* Writes a number and a space. */
static size_t put_decimal(char *text, size_t at, int32_t number)
{
    char digits[16];
    snprintf(digits, sizeof digits, "%d ", (int)number);
    return put_text(text, at, digits);
}

static size_t put_pairs(const rapt_tokenizer *tokenizer, char *text)
{
    size_t at = put_decimal(text, put_text(text, 0, head), tokenizer->merges);
    for (int m = 0; m < tokenizer->merges; m++) {
        at = put_decimal(text, at, tokenizer->left[m]);
        at = put_decimal(text, at, tokenizer->right[m]);
    }
    return at;
}

/* Writes the size of an array of bytes, the bytes in base64, and a space. */
static size_t put_bytes(char *text, size_t at, const void *bytes, size_t size)
{
    at = put_decimal(text, at, (int32_t)size);
    if (text) rapt__base64_write(bytes, size, text + at);
    return put_text(text, at + rapt__base64_size(size), " ");
}

static size_t put_spm(const struct spm *spm, char *text)
{
    return put_bytes(text, put_text(text, 0, spm_head), spm->file, spm->file_size);
}

static size_t put_merges(const struct bytelevel *b, char *text, size_t at)
{
    at = put_decimal(text, at, b->space_first);
    at = put_decimal(text, at, b->merges);
    for (int i = 0; i < 2 * b->merges; i++) at = put_decimal(text, at, b->pairs[i]);
    return at;
}

static size_t put_moses(const struct moses *m, char *text, size_t at)
{
    at = put_bytes(text, at, m->code, strlen(m->code));
    return put_bytes(text, at, m->file, m->file_size);
}

static size_t put_list(const struct list *list, char *text)
{
    const struct wordpiece *w = &list->wordpiece;
    size_t at = put_text(text, 0,
                         w->used            ? wordpiece_head
                         : list->bytes.used ? bytes_head
                         : list->moses      ? moses_head
                                            : list_head);
    at = put_decimal(text, at, list->count);
    at = put_bytes(text, at, list->joined, list->joined_size);
    if (list->bytes.used) return put_merges(&list->bytes, text, at);
    if (list->moses) return put_moses(list->moses, text, at);
    if (w->used) return put_decimal(text, at, w->keep_case + 2 * w->keep_accents + 4 * w->keep_han);
    return list->spm ? put_bytes(text, at, list->spm->file, list->spm->file_size)
                     : put_bytes(text, at, "", 0);
}

/* Writes the string without its terminating zero byte, or only determines its size if text is NULL.
   Returns the size. */
static size_t put_all(const rapt_tokenizer *tokenizer, char *text)
{
    char sum[SUM_SIZE + 2];
    size_t at = tokenizer->list  ? put_list(tokenizer->list, text)
                : tokenizer->spm ? put_spm(tokenizer->spm, text)
                                 : put_pairs(tokenizer, text);
    snprintf(sum, sizeof sum, "#%08lx", (unsigned long)(text ? rapt__hash(text, at) : 0));
    return put_text(text, at, sum);
}

rapt_status rapt_tokenizer_write(const rapt_tokenizer *tokenizer, char *text, size_t capacity,
                                 size_t *size, rapt_message *why)
{
    if (!tokenizer || !size)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", tokenizer ? "size" : "tokenizer");
    size_t needed = put_all(tokenizer, NULL);
    *size = needed + 1;
    if (!text) return RAPT_OK;
    if (capacity <= needed)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "capacity is %zu, but %zu bytes are needed",
                          capacity, *size);
    put_all(tokenizer, text);
    text[needed] = 0;
    return RAPT_OK;
}

/* Reads a number and the space after it. Returns false if the number is missing, exceeds max, has
   leading zeros, or has no space after it. */
static bool take_number(const char *text, size_t size, size_t *at, int32_t max, int32_t *number)
{
    size_t begin = *at;
    int32_t value = 0;
    for (; *at < size && text[*at] >= '0' && text[*at] <= '9'; ++*at) {
        int32_t digit = text[*at] - '0';
        if (digit > max || value > (max - digit) / 10) return false;
        value = 10 * value + digit;
    }
    size_t digits = *at - begin;
    if (digits == 0 || (digits > 1 && text[begin] == '0')) return false;
    if (*at == size || text[*at] != ' ') return false;
    ++*at;
    *number = value;
    return true;
}

/* Checks that the string ends with the hash of its body, and sets *body to the size of the body. */
static bool sum_is_right(const char *text, size_t size, size_t *body)
{
    char sum[SUM_SIZE + 2];
    if (size < SUM_SIZE + 1) return false;
    *body = size - SUM_SIZE - 1;
    snprintf(sum, sizeof sum, "#%08lx", (unsigned long)rapt__hash(text, *body));
    return memcmp(text + *body, sum, SUM_SIZE + 1) == 0;
}

/* Checks that a tokenizer whose parts end at `at` is not followed by other bytes. */
static rapt_status check_end(size_t body, size_t at, rapt_message *why)
{
    if (at == body) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_FILE, "the tokenizer ends at byte %zu, but has %zu bytes", at,
                      body);
}

static rapt_status read_merges(const char *text, size_t body, size_t at, int32_t *left,
                               int32_t *right, int32_t merges, rapt_message *why)
{
    for (int32_t m = 0; m < merges; m++)
        if (!take_number(text, body, &at, RAPT__VOCAB_MAX, &left[m]) ||
            !take_number(text, body, &at, RAPT__VOCAB_MAX, &right[m]))
            return rapt__fail(why, RAPT_BAD_FILE, "merge %d of the tokenizer cannot be read",
                              (int)m);
    return check_end(body, at, why);
}

static rapt_status create_pairs(rapt_tokenizer **tokenizer, const char *text, size_t body,
                                const rapt_allocator *allocator, rapt_message *why)
{
    size_t at = HEAD_SIZE;
    int32_t merges;
    if (!take_number(text, body, &at, RAPT__VOCAB_MAX - RAPT__TOKEN_MERGES, &merges) ||
        (body - at) / SHORTEST_MERGE < (size_t)merges)
        return rapt__fail(why, RAPT_BAD_FILE, "the tokenizer's number of merges is wrong");
    size_t bytes = ((size_t)merges + 1) * 2 * sizeof(int32_t);
    int32_t *left = rapt__alloc(allocator, bytes);
    if (!left) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a tokenizer");
    int32_t *right = left + merges + 1;
    rapt_status status = read_merges(text, body, at, left, right, merges, why);
    if (!status) status = rapt__tokenizer_build(tokenizer, left, right, merges, allocator, why);
    rapt__free(allocator, left, bytes);
    return status;
}

/* Reads what put_bytes wrote. Sets *bytes to a new array of *size + 1 bytes, which the caller frees
   even after a failure. */
static rapt_status take_bytes(const char *text, size_t body, size_t *at, char **bytes, size_t *size,
                              const rapt_allocator *allocator, rapt_message *why)
{
    int32_t number;
    bool good = take_number(text, body, at, SPM_TEXT_MAX, &number);
    size_t coded = good ? rapt__base64_size((size_t)number) : 0;
    if (!good || body - *at < coded + 1 || text[*at + coded] != ' ')
        return rapt__fail(why, RAPT_BAD_FILE, "the tokenizer's size is wrong");
    *size = (size_t)number;
    *bytes = rapt__alloc(allocator, *size + 1);
    if (!*bytes) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a tokenizer");
    if (!rapt__base64_read(text + *at, *size, *bytes))
        return rapt__fail(why, RAPT_BAD_FILE, "the tokenizer is not valid base64");
    *at += coded + 1;
    return RAPT_OK;
}

static rapt_status create_spm(rapt_tokenizer **tokenizer, const char *text, size_t body,
                              const rapt_allocator *allocator, rapt_message *why)
{
    size_t at = HEAD_SIZE, size = 0;
    char *bytes = NULL;
    rapt_status status = take_bytes(text, body, &at, &bytes, &size, allocator, why);
    if (!status && at != body)
        status = rapt__fail(why, RAPT_BAD_FILE, "the tokenizer's size is wrong");
    if (!status) status = rapt_tokenizer_load_memory(tokenizer, bytes, size, allocator, why);
    if (bytes) rapt__free(allocator, bytes, size + 1);
    return status;
}

/* Checks that the bytes are `count` null-terminated names. */
static bool are_names(const char *bytes, size_t size, int32_t count)
{
    size_t ends = 0;
    for (size_t i = 0; i < size; i++) ends += bytes[i] == 0;
    return size > 0 && ends == (size_t)count && bytes[size - 1] == 0;
}

/* Reads the number of names and the names, which the caller frees even after a failure. */
static rapt_status take_names(const char *text, size_t body, size_t *at, struct list_source *source,
                              char **names, const rapt_allocator *allocator, rapt_message *why)
{
    int32_t count = 0;
    if (!take_number(text, body, at, 1 << 24, &count))
        return rapt__fail(why, RAPT_BAD_FILE, "the tokenizer's number of names is wrong");
    rapt_status status = take_bytes(text, body, at, names, &source->size, allocator, why);
    if (!status && !are_names(*names, source->size, count))
        status =
            rapt__fail(why, RAPT_BAD_FILE,
                       "the tokenizer does not contain the %d names that it announces", (int)count);
    source->names = *names, source->count = count;
    return status;
}

static rapt_status take_keep(const char *text, size_t body, size_t *at, struct wordpiece *w,
                             rapt_message *why)
{
    int32_t keep;
    if (!take_number(text, body, at, 7, &keep))
        return rapt__fail(why, RAPT_BAD_FILE, "the tokenizer's options are wrong");
    *w = (struct wordpiece){true, keep & 1, keep & 2, keep & 4};
    return RAPT_OK;
}

/* Reads byte-level merges into a new array of *size bytes, which the caller frees even after a
   failure. */
static rapt_status take_merges(const char *text, size_t body, size_t *at, struct list_merges *m,
                               char **pairs, size_t *size, const rapt_allocator *allocator,
                               rapt_message *why)
{
    enum { SHORTEST = 4 }; /* "0 0 " */
    int32_t space, count;
    if (!take_number(text, body, at, 1, &space) || !take_number(text, body, at, 1 << 28, &count) ||
        (body - *at) / SHORTEST < (size_t)count)
        return rapt__fail(why, RAPT_BAD_FILE, "the tokenizer's number of merges is wrong");
    *size = 2 * (size_t)count * sizeof(int32_t);
    *pairs = rapt__alloc(allocator, *size);
    if (!*pairs && *size) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a tokenizer");
    int32_t *ids = (int32_t *)(void *)*pairs;
    for (int32_t i = 0; i < 2 * count; i++)
        if (!take_number(text, body, at, 1 << 24, &ids[i]))
            return rapt__fail(why, RAPT_BAD_FILE, "merge %d of the tokenizer cannot be read",
                              (int)(i / 2));
    *m = (struct list_merges){true, space, ids, count};
    return RAPT_OK;
}

/* The data that follow the names of a list. */
enum names_kind { NAMES_PIECES, NAMES_WORDPIECE, NAMES_MERGES };

/* Creates a list whose names begin at `at`. */
static rapt_status create_names(rapt_tokenizer **tokenizer, const char *text, size_t body,
                                size_t at, enum names_kind kind, const rapt_allocator *allocator,
                                rapt_message *why)
{
    struct list_source source = {.count = 0};
    char *names = NULL, *rest = NULL; /* pieces or merges */
    size_t size = 0;
    rapt_status status = take_names(text, body, &at, &source, &names, allocator, why);
    if (!status && kind == NAMES_WORDPIECE)
        status = take_keep(text, body, &at, &source.wordpiece, why);
    if (!status && kind == NAMES_PIECES)
        status = take_bytes(text, body, &at, &rest, &size, allocator, why);
    if (!status && kind == NAMES_MERGES)
        status = take_merges(text, body, &at, &source.merges, &rest, &size, allocator, why);
    if (!status) status = check_end(body, at, why);
    if (kind == NAMES_PIECES && size) source.pieces = (rapt_text){rest, size};
    if (!status) status = rapt__tokenizer_list(tokenizer, &source, allocator, why);
    if (names) rapt__free(allocator, names, source.size + 1);
    if (rest) rapt__free(allocator, rest, kind == NAMES_PIECES ? size + 1 : size);
    return status == RAPT_BAD_ARGUMENT ? RAPT_BAD_FILE : status;
}

static rapt_status create_moses(rapt_tokenizer **tokenizer, const char *text, size_t body,
                                const rapt_allocator *allocator, rapt_message *why)
{
    struct list_source source = {.count = 0};
    char *names = NULL, *code = NULL, *file = NULL;
    size_t at = sizeof moses_head - 1, code_size = 0, size = 0;
    rapt_status status = take_names(text, body, &at, &source, &names, allocator, why);
    if (!status) status = take_bytes(text, body, &at, &code, &code_size, allocator, why);
    if (!status) status = take_bytes(text, body, &at, &file, &size, allocator, why);
    if (!status) status = check_end(body, at, why);
    source.moses = (struct moses_source){{file, size}, {code, code_size}};
    if (!status) status = rapt__tokenizer_list(tokenizer, &source, allocator, why);
    if (names) rapt__free(allocator, names, source.size + 1);
    if (code) rapt__free(allocator, code, code_size + 1);
    if (file) rapt__free(allocator, file, size + 1);
    return status == RAPT_BAD_ARGUMENT ? RAPT_BAD_FILE : status;
}

static rapt_status create_list(rapt_tokenizer **tokenizer, const char *text, size_t body,
                               const rapt_allocator *allocator, rapt_message *why)
{
    return create_names(tokenizer, text, body, sizeof list_head - 1, NAMES_PIECES, allocator, why);
}

static rapt_status create_wordpiece(rapt_tokenizer **tokenizer, const char *text, size_t body,
                                    const rapt_allocator *allocator, rapt_message *why)
{
    return create_names(tokenizer, text, body, sizeof wordpiece_head - 1, NAMES_WORDPIECE,
                        allocator, why);
}

static rapt_status create_bytelevel(rapt_tokenizer **tokenizer, const char *text, size_t body,
                                    const rapt_allocator *allocator, rapt_message *why)
{
    return create_names(tokenizer, text, body, sizeof bytes_head - 1, NAMES_MERGES, allocator, why);
}

typedef rapt_status create_fn(rapt_tokenizer **tokenizer, const char *text, size_t body,
                              const rapt_allocator *allocator, rapt_message *why);

static bool begins_with(const char *text, size_t size, const char *with)
{
    return size >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

rapt_status rapt_tokenizer_create(rapt_tokenizer **tokenizer, const char *text, size_t size,
                                  const rapt_allocator *allocator, rapt_message *why)
{
    if (!tokenizer || !text)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", text ? "tokenizer" : "text");
    static const struct {
        const char *head;
        create_fn *create;
    } kinds[] = {{head, create_pairs},           {spm_head, create_spm},
                 {list_head, create_list},       {wordpiece_head, create_wordpiece},
                 {bytes_head, create_bytelevel}, {moses_head, create_moses}};
    size_t body, kind = 0, count = sizeof kinds / sizeof *kinds;
    while (kind < count && !begins_with(text, size, kinds[kind].head)) kind++;
    if (kind == count)
        return rapt__fail(why, RAPT_BAD_FILE,
                          "the tokenizer does not begin with \"%s\", \"%s\", \"%s\", \"%s\", "
                          "\"%s\" or \"%s\"",
                          head, spm_head, list_head, wordpiece_head, bytes_head, moses_head);
    if (!sum_is_right(text, size, &body))
        return rapt__fail(why, RAPT_BAD_FILE, "the tokenizer is damaged: its checksum is wrong");
    struct budget budget;
    const rapt_allocator reading = rapt__budget_begin(&budget, allocator);
    rapt__budget_add(&reading, size);
    rapt_status status = kinds[kind].create(tokenizer, text, body, &reading, why);
    return rapt__tokenizer_kept(tokenizer, &budget, status, why);
}
