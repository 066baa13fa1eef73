/* charsmap.c - the normalization rules of a SentencePiece file:

       size of the trie in bytes as u32 little-endian, trie, 0-terminated replacements

   The trie is a Darts-clone double array whose units are little-endian u32. A unit at p with bit 31
   set is a value, an offset into the replacements. Otherwise bits 0..7 are a label, bit 8 means
   that a key ends here (its value is the unit at the base), and bits 10..30 are an offset, which is
   shifted left by 8 if bit 9 is set. The base is p ^ offset, and the child for byte c is the unit
   at base ^ c, provided that it has the label c.

   After creation no search can leave the map: every base, with all 256 children, is in the array;
   every value is within the replacements; and no unit that is reachable from the root can be
   reached from itself, so that a search takes at most as many steps as there are units. */
#include "text/sentencepiece/sentencepiece.h"

#include <string.h>

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
        return rapt__fail(why, RAPT_BAD_FILE, "the sizes of the normalization rules are wrong");
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
