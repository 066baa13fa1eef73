/* normalize.c - normalizes text and records the original offset of each byte. The longest matching
   rule of the charsmap is applied, and each byte that is not UTF-8 becomes U+FFFD. Spaces are
   trimmed and escaped, and a space is added before or after the text. Strings that are USER_DEFINED
   pieces remain unchanged. */
#include "text/sentencepiece/sentencepiece.h"

#include <string.h>

/* Returns true if a byte is ASCII, is not a space, and is left unchanged before every other ASCII
   byte and at the end. */
static bool is_plain(const struct spm_normalizer *n, unsigned char byte)
{
    size_t consumed;
    if (byte >= 0x80 || byte == ' ') return false;
    for (int next = 0; next < 0x80; next++) {
        const char pair[2] = {(char)byte, (char)next};
        if (n->untouched && rapt__trie_step(n->untouched, n->untouched->units, pair[0]))
            return false;
        if (n->map.count == 0) continue;
        if (rapt__charsmap_begins(&n->map, pair, 2)) return false;
        if (rapt__charsmap_match(&n->map, pair, 1, &consumed)) return false;
    }
    return true;
}

rapt_status rapt__spm_normalizer_create(struct spm_normalizer *n, const rapt_allocator *allocator,
                                        rapt_message *why)
{
    rapt_status status = RAPT_OK;
    if (n->rules.size > 0)
        status = rapt__charsmap_create(&n->map, n->rules.bytes, n->rules.size, allocator, why);
    for (int byte = 0; !status && byte < 256; byte++)
        n->plain[byte] = is_plain(n, (unsigned char)byte);
    return status;
}

size_t rapt__spm_normalizer_spread(const struct spm_normalizer *n, bool bytes)
{
    size_t longest = bytes ? 3 : 1, now = 0; /* U+FFFD */
    for (size_t i = 0; i < n->map.size; i++) {
        char byte = n->map.strings[i];
        bool counts = bytes || !rapt__utf8_continues(byte);
        now = byte == 0 ? 0 : now + (!counts ? 0 : bytes && byte == ' ' ? SPM_SPACE_SIZE : 1);
        longest = rapt__max_size(longest, now);
    }
    return longest;
}

/* ---- the output ---- */

void rapt__spm_normalized_free(struct spm_normalized *out)
{
    rapt__free(&out->allocator, out->bytes, out->capacity);
    rapt__free(&out->allocator, out->origin, out->capacity * sizeof *out->origin);
    out->bytes = NULL;
    out->origin = NULL;
}

/* Reserves memory for `more` bytes and a terminator. */
static rapt_status reserve(struct spm_normalized *out, size_t more, bool origins)
{
    size_t needed = out->size + more + 1;
    if (needed <= out->capacity) return RAPT_OK;
    if (needed > SPM_TEXT_MAX) return RAPT_BAD_ARGUMENT;
    struct spm_normalized grown = *out;
    grown.capacity = rapt__max_size(needed, 2 * out->capacity);
    grown.bytes = rapt__alloc(&out->allocator, grown.capacity);
    grown.origin =
        origins ? rapt__alloc(&out->allocator, grown.capacity * sizeof *out->origin) : NULL;
    if (!grown.bytes || (origins && !grown.origin)) {
        rapt__spm_normalized_free(&grown);
        return RAPT_NO_MEMORY;
    }
    if (out->size > 0) {
        memcpy(grown.bytes, out->bytes, out->size);
        if (origins) memcpy(grown.origin, out->origin, out->size * sizeof *out->origin);
    }
    rapt__spm_normalized_free(out);
    *out = grown;
    return RAPT_OK;
}

/* Appends bytes for which memory has been reserved. */
static void append_bytes(struct spm_normalized *out, const char *bytes, size_t size, size_t origin)
{
    memcpy(out->bytes + out->size, bytes, size);
    for (size_t i = 0; out->origin && i < size; i++) out->origin[out->size + i] = (uint32_t)origin;
    out->size += size;
}

static rapt_text space_of(const struct spm_normalizer *n)
{
    return n->escape_spaces ? (rapt_text){spm_space, SPM_SPACE_SIZE} : (rapt_text){" ", 1};
}

/* ---- the input ---- */

/* Returns what the beginning of a non-empty text becomes: a USER_DEFINED string, which is
   unchanged, the replacement by the longest rule that matches, or a character. Sets *consumed to
   the number of bytes that it stands for. */
static rapt_text prefix(const struct spm_normalizer *n, rapt_text text, size_t *consumed)
{
    uint32_t code;
    *consumed = n->untouched ? rapt__trie_longest(n->untouched, text.bytes, text.size) : 0;
    if (*consumed > 0) return (rapt_text){text.bytes, *consumed};
    const char *rule =
        n->map.count ? rapt__charsmap_match(&n->map, text.bytes, text.size, consumed) : NULL;
    if (rule) return (rapt_text){rule, strlen(rule)};
    *consumed = rapt__utf8_decode(text.bytes, text.size, &code);
    if (*consumed > 0) return (rapt_text){text.bytes, *consumed};
    *consumed = 1;
    return (rapt_text){"\xEF\xBF\xBD", 3};
}

static rapt_text behind(rapt_text text, size_t consumed)
{
    return (rapt_text){text.bytes + consumed, text.size - consumed};
}

/* Returns the number of leading bytes that are left unchanged. The last of them is not counted if a
   byte beyond ASCII follows, since a rule might match both. */
static size_t plain_run(const struct spm_normalizer *n, rapt_text text)
{
    size_t size = 0;
    while (size < text.size && n->plain[(unsigned char)text.bytes[size]]) size++;
    if (size == text.size) return size;
    return size > 0 && (unsigned char)text.bytes[size] >= 0x80 ? size - 1 : size;
}

size_t rapt__spm_normalizer_most(const struct spm_normalizer *n, rapt_text text, bool bytes)
{
    const size_t space = bytes ? SPM_SPACE_SIZE : 1;
    size_t most = space; /* the space of dummy_prefix */
    for (size_t at = 0, consumed; at < text.size; at += consumed) {
        const rapt_text rest = behind(text, at);
        consumed = plain_run(n, rest);
        most += consumed;
        if (consumed > 0) continue;
        const rapt_text part = prefix(n, rest, &consumed);
        for (size_t i = 0; i < part.size; i++)
            most += part.bytes[i] == ' ' ? space : bytes || !rapt__utf8_continues(part.bytes[i]);
    }
    return most;
}

/* Appends the normalized form of a prefix. */
static rapt_status add_normalized(const struct spm_normalizer *n, struct spm_normalized *out,
                                  rapt_text part, size_t origin, bool origins)
{
    if (part.size > SPM_TEXT_MAX / SPM_SPACE_SIZE) return RAPT_BAD_ARGUMENT;
    rapt_status status = reserve(out, SPM_SPACE_SIZE * part.size, origins);
    if (status) return status;
    const rapt_text space = space_of(n);
    for (size_t i = 0, next; i < part.size; i = next) {
        for (next = i; next < part.size && part.bytes[next] != ' ';) next++;
        append_bytes(out, part.bytes + i, next - i, origin);
        if (next < part.size) append_bytes(out, space.bytes, space.size, origin), next++;
    }
    return RAPT_OK;
}

/* Appends bytes unchanged. */
static rapt_status keep(struct spm_normalized *out, rapt_text part, size_t origin, bool origins)
{
    rapt_status status = reserve(out, part.size, origins);
    if (status) return status;
    memcpy(out->bytes + out->size, part.bytes, part.size);
    for (size_t i = 0; origins && i < part.size; i++)
        out->origin[out->size + i] = (uint32_t)(origin + i);
    out->size += part.size;
    return RAPT_OK;
}

static rapt_status add_all(const struct spm_normalizer *n, struct spm_normalized *out,
                           rapt_text text, size_t at, bool origins)
{
    bool after_space = n->trim_spaces;
    rapt_status status = RAPT_OK;
    for (size_t consumed; !status && at < text.size; at += consumed) {
        const rapt_text rest = behind(text, at);
        consumed = plain_run(n, rest);
        if (consumed > 0) {
            status = keep(out, (rapt_text){rest.bytes, consumed}, at, origins);
            after_space = false;
            continue;
        }
        rapt_text part = prefix(n, rest, &consumed);
        while (after_space && part.size > 0 && part.bytes[0] == ' ') part = behind(part, 1);
        status = add_normalized(n, out, part, at, origins);
        if (part.size > 0) after_space = n->trim_spaces && part.bytes[part.size - 1] == ' ';
    }
    return status;
}

rapt_status rapt__spm_normalize(const struct spm_normalizer *n, rapt_text text, bool origins,
                                struct spm_normalized *out)
{
    const rapt_text space = space_of(n);
    size_t at = 0, end = text.size;
    if (text.size > SPM_TEXT_MAX) return RAPT_BAD_ARGUMENT;
    for (size_t consumed; n->trim_spaces && at < text.size; at += consumed) {
        const rapt_text part = prefix(n, behind(text, at), &consumed);
        if (part.size != 1 || part.bytes[0] != ' ') break;
    }
    if (at == text.size) return RAPT_OK;
    rapt_status status = reserve(out, text.size + text.size / 4 + 8, origins);
    if (status) return status;
    if (n->dummy_prefix && !n->suffix) append_bytes(out, space.bytes, space.size, at);
    status = add_all(n, out, text, at, origins);
    if (status) return status;
    while (n->trim_spaces && out->size >= space.size &&
           memcmp(out->bytes + out->size - space.size, space.bytes, space.size) == 0) {
        out->size -= space.size;
        if (origins) end = out->origin[out->size];
    }
    status = reserve(out, space.size, origins);
    if (status) return status;
    if (n->dummy_prefix && n->suffix) append_bytes(out, space.bytes, space.size, end);
    if (origins) out->origin[out->size] = (uint32_t)end;
    return RAPT_OK;
}
