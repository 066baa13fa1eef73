/* shortlist_binary.c - reads and writes binary shortlists:

       u64 magic, checksum, first, best, number of starts = source tokens + 1, number of tokens
       starts as u64, non-decreasing; target tokens as u32

   All numbers are little-endian. The checksum covers the complete u64 words that follow it, so if
   the number of tokens is odd, it does not cover the last token. Source: marian-dev 1.12,
   data/shortlist.cpp, common/hash.h. */
#include "text/shortlist.h"

#include <rapt/file.h>
#include <string.h>

/* Number of bytes before the starts, and before the data that the checksum covers. */
enum { HEAD = 48, COVERED = 16 };
static const uint64_t magic = 0xF11A48D5013417F5;

static uint64_t number(const unsigned char *bytes, int size)
{
    uint64_t x = 0;
    for (int i = size; i-- > 0;) x = x << 8 | bytes[i];
    return x;
}

static void put_little_endian(unsigned char *bytes, uint64_t x, int size)
{
    for (int i = 0; i < size; i++) bytes[i] = (unsigned char)(x >> 8 * i);
}

static uint64_t checksum(const unsigned char *bytes, size_t size)
{
    uint64_t sum = 0;
    for (size_t at = COVERED; at + 8 <= size; at += 8)
        sum ^= number(bytes + at, 8) + 0x9e3779b9u + (sum << 6) + (sum >> 2);
    return sum;
}

bool rapt__shortlist_is_binary(const void *bytes, size_t size)
{
    return size >= 8 && number(bytes, 8) == magic;
}

static rapt_status check_head(const unsigned char *bytes, size_t size, int source_vocab,
                              rapt_message *why)
{
    if (size < HEAD) return rapt__fail(why, RAPT_BAD_FILE, "it ends after %zu bytes", size);
    uint64_t starts = number(bytes + 32, 8), tokens = number(bytes + 40, 8), left = size - HEAD;
    if (starts > left / 8 || tokens > left / 4 || starts * 8 + tokens * 4 != left)
        return rapt__fail(why, RAPT_BAD_FILE,
                          "its size does not match its %llu starts and %llu tokens",
                          (unsigned long long)starts, (unsigned long long)tokens);
    if (checksum(bytes, size) != number(bytes + 8, 8))
        return rapt__fail(why, RAPT_BAD_FILE, "its checksum is wrong");
    if (starts != (uint64_t)source_vocab + 1)
        return rapt__fail(why, RAPT_BAD_FILE, "it is for %llu source tokens, not for %d",
                          (unsigned long long)starts - (starts > 0), source_vocab);
    return RAPT_OK;
}

static rapt_status take_starts(rapt_shortlist *s, const unsigned char *at, rapt_message *why)
{
    for (int i = 0; i <= s->source_vocab; i++, at += 8) {
        s->starts[i] = number(at, 8);
        if (s->starts[i] > s->count || (i && s->starts[i] < s->starts[i - 1]))
            return rapt__fail(why, RAPT_BAD_FILE,
                              "start %d is %llu, which is out of order or too large", i,
                              (unsigned long long)s->starts[i]);
    }
    return RAPT_OK;
}

static rapt_status take_lists(rapt_shortlist *s, const unsigned char *at, rapt_message *why)
{
    for (size_t i = 0; i < s->count; i++, at += 4) {
        uint64_t token = number(at, 4);
        if (token >= (uint64_t)s->target_vocab)
            return rapt__fail(why, RAPT_BAD_FILE, "token %zu is %llu; the vocabulary has %d", i,
                              (unsigned long long)token, s->target_vocab);
        s->lists[i] = (int32_t)token;
    }
    return RAPT_OK;
}

rapt_status rapt__shortlist_read(rapt_shortlist **shortlist, const unsigned char *bytes,
                                 size_t size, const rapt_tokenizer *source,
                                 const rapt_tokenizer *target, const rapt_allocator *allocator,
                                 rapt_message *why)
{
    rapt_shortlist *s = NULL;
    rapt_status status = check_head(bytes, size, rapt_tokenizer_vocab(source), why);
    if (status) return status;
    status =
        rapt__shortlist_make(&s, source, target, (size_t)number(bytes + 40, 8), allocator, why);
    if (status) return status;
    s->first = number(bytes + 16, 8), s->best = number(bytes + 24, 8);
    status = take_starts(s, bytes + HEAD, why);
    if (!status) status = take_lists(s, bytes + HEAD + 8 * ((size_t)s->source_vocab + 1), why);
    if (status)
        rapt_shortlist_free(s);
    else
        *shortlist = s;
    return status;
}

static void write_bytes(const rapt_shortlist *s, unsigned char *bytes, size_t size)
{
    unsigned char *at = bytes + HEAD;
    put_little_endian(bytes, magic, 8);
    put_little_endian(bytes + 16, s->first, 8);
    put_little_endian(bytes + 24, s->best, 8);
    put_little_endian(bytes + 32, (uint64_t)s->source_vocab + 1, 8);
    put_little_endian(bytes + 40, s->count, 8);
    for (int i = 0; i <= s->source_vocab; i++, at += 8) put_little_endian(at, s->starts[i], 8);
    for (size_t i = 0; i < s->count; i++, at += 4) put_little_endian(at, (uint64_t)s->lists[i], 4);
    put_little_endian(bytes + 8, checksum(bytes, size), 8);
}

rapt_status rapt_shortlist_write(const rapt_shortlist *s, const char *path, rapt_message *why)
{
    if (!s || !path)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", s ? "path" : "shortlist");
    size_t size = HEAD + 8 * ((size_t)s->source_vocab + 1) + 4 * s->count;
    unsigned char *bytes = rapt__alloc(&s->allocator, size);
    if (!bytes) return rapt__fail(why, RAPT_NO_MEMORY, "no memory to write %.200s", path);
    write_bytes(s, bytes, size);
    rapt_status status = rapt_file_write(path, bytes, size, why);
    rapt__free(&s->allocator, bytes, size);
    return status;
}
