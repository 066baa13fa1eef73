/* normalize.c - normalizes text and records the original offset of each byte. At each position, the
   longest matching rule of the charsmap is applied, and each byte that is not part of valid UTF-8
   becomes U+FFFD. Depending on the model's options, spaces are trimmed and escaped, and a space is
   added before or after the text. Strings that are USER_DEFINED pieces remain unchanged. */
#include "text/sentencepiece/sentencepiece.h"

#include <string.h>

/* ---- charsmap: the normalization rules of a file ----

       size of the trie in bytes as a little-endian u32, trie, null-terminated replacements

   The trie is a Darts-clone double array whose units are little-endian u32. A unit at p with bit 31
   set is a value, an offset into the replacements. Otherwise bits 0..7 are a label, bit 8 means
   that a key ends here (its value is the unit at the base), and bits 10..30 are an offset, which is
   shifted left by 8 if bit 9 is set. The base is p ^ offset, and the child for byte c is the unit
   at base ^ c, provided that it has the label c.

   After creation no search can leave the map: every base and its 256 possible children are in the
   array; every value is an offset within the replacements; and no unit that is reachable from the
   root can be reached from itself, so that a search takes at most as many steps as there are
   units. */

enum { BLOCK = 256 };
static const uint32_t is_value = 1u << 31, none = UINT32_MAX;

static uint32_t offset_of(uint32_t unit)
{
    return unit >> 10 << ((unit & 1u << 9) >> 6);
}

static bool has_value(uint32_t unit)
{
    return unit >> 8 & 1;
}

static uint32_t value_of(const struct charsmap *map, uint32_t base)
{
    return map->units[base] & ~is_value;
}

/* Checks that every search stays within the arrays. */
static bool in_bounds(const struct charsmap *map)
{
    for (size_t p = 0; p < map->count; p++) {
        if (map->units[p] & is_value) continue;
        size_t base = p ^ offset_of(map->units[p]);
        if ((base | (BLOCK - 1)) >= map->count) return false;
        if (has_value(map->units[p]) && value_of(map, (uint32_t)base) >= map->size) return false;
    }
    return true;
}

/* ---- absence of cycles ---- */

struct visit {      /* indexed by base */
    uint32_t child; /* the next child to examine, or `none` */
    uint32_t below; /* the base from which this base was reached; `none` for the root */
    enum { NEW, OPEN, DONE } state;
};

/* Returns true if no base that is reachable from the root can be reached from itself. Searches
   depth first from the root: `below` holds the path back to the root, and next[p] is the child
   after p. */
static bool acyclic(const struct charsmap *map, struct visit *visits, uint32_t *next)
{
    for (size_t p = 0; p < map->count; p++)
        visits[p] = (struct visit){.child = none, .below = none};
    for (uint32_t p = 0; p < map->count; p++) {
        if (map->units[p] & is_value) continue;
        struct visit *parent = &visits[p ^ (map->units[p] & 0xFF)];
        next[p] = parent->child;
        parent->child = p;
    }
    uint32_t at = offset_of(map->units[0]);
    visits[at].state = OPEN;
    while (at != none) {
        uint32_t child = visits[at].child;
        if (child == none) {
            visits[at].state = DONE;
            at = visits[at].below;
            continue;
        }
        visits[at].child = next[child];
        uint32_t base = child ^ offset_of(map->units[child]);
        if (visits[base].state == OPEN) return false;
        if (visits[base].state == DONE) continue;
        visits[base].state = OPEN;
        visits[base].below = at;
        at = base;
    }
    return true;
}

static rapt_status check_ways(const struct charsmap *map, const rapt_allocator *allocator,
                              rapt_message *why)
{
    size_t visit_bytes = map->count * sizeof(struct visit), bytes = map->count * sizeof(uint32_t);
    struct visit *visits = rapt__alloc(allocator, visit_bytes);
    uint32_t *next = rapt__alloc(allocator, bytes);
    rapt_status status = RAPT_OK;
    if (!visits || !next)
        status = rapt__fail(why, RAPT_NO_MEMORY, "no memory for normalization rules");
    else if (!acyclic(map, visits, next))
        status = rapt__fail(why, RAPT_BAD_FILE, "the normalization rules contain a cycle");
    rapt__free(allocator, visits, visit_bytes);
    rapt__free(allocator, next, bytes);
    return status;
}

/* ---- creation from the file ---- */

static uint32_t read_u32(const char *bytes)
{
    const unsigned char *b = (const unsigned char *)bytes;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

rapt_status rapt__charsmap_create(struct charsmap *map, const char *bytes, size_t size,
                                  const rapt_allocator *allocator, rapt_message *why)
{
    *map = (struct charsmap){0};
    uint32_t trie = size > 4 ? read_u32(bytes) : 0;
    if (trie == 0 || trie % 4 != 0 || trie >= size - 4 || bytes[size - 1] != 0)
        return rapt__fail(why, RAPT_BAD_FILE,
                          "the normalization rules are truncated or have a wrong size");
    size_t units = trie / 4, count = rapt__round_up_size(units, BLOCK);
    map->units = rapt__alloc(allocator, count * sizeof *map->units);
    if (!map->units) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for normalization rules");
    map->count = count;
    map->strings = bytes + 4 + trie;
    map->size = size - 4 - trie;
    for (size_t p = 0; p < count; p++)
        map->units[p] = p < units ? read_u32(bytes + 4 + 4 * p) : UINT32_MAX;
    rapt_status status = RAPT_OK;
    if (map->units[0] & is_value || !in_bounds(map))
        status =
            rapt__fail(why, RAPT_BAD_FILE, "the normalization rules point outside their arrays");
    if (!status) status = check_ways(map, allocator, why);
    if (status) rapt__charsmap_free(map, allocator);
    return status;
}

void rapt__charsmap_free(struct charsmap *map, const rapt_allocator *allocator)
{
    rapt__free(allocator, map->units, map->count * sizeof *map->units);
    *map = (struct charsmap){0};
}

bool rapt__charsmap_begins(const struct charsmap *map, const char *bytes, size_t size)
{
    uint32_t base = offset_of(map->units[0]);
    for (size_t i = 0; i < size; i++) {
        uint32_t label = (unsigned char)bytes[i], at = base ^ label;
        if ((map->units[at] & (is_value | 0xFF)) != label) return false;
        base = at ^ offset_of(map->units[at]);
    }
    return true;
}

const char *rapt__charsmap_match(const struct charsmap *map, const char *text, size_t size,
                                 size_t *consumed)
{
    const char *found = NULL;
    uint32_t base = offset_of(map->units[0]);
    for (size_t i = 0; i < size; i++) {
        uint32_t label = (unsigned char)text[i], at = base ^ label, unit = map->units[at];
        if ((unit & (is_value | 0xFF)) != label) break;
        base = at ^ offset_of(unit);
        if (!has_value(unit)) continue;
        found = map->strings + value_of(map, base);
        *consumed = i + 1;
    }
    return found;
}

/* ---- normalization ---- */

/* Returns true if a byte is ASCII, is not a space, and is left unchanged before every ASCII byte
   and at the end. */
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

/* Reserves memory for `more` bytes and for the last element of `origin`. */
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
   unchanged; the replacement given by the longest matching rule; a character; or U+FFFD. Sets
   *consumed to the number of bytes that the result stands for. */
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
   non-ASCII byte follows, since a rule might match both. */
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

/* Appends a part that `prefix` returned, with its spaces escaped if the options require it. */
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
