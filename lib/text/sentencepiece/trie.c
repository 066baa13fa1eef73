/* trie.c - maps strings to values with a double array. The array is built from sorted keys; a stack
   holds ranges of keys that share a prefix. A search takes one step per byte, and each step reads
   one unit. Source: Aoe 1989; XOR variant: Yata, Darts-clone. */
#include "text/sentencepiece/sentencepiece.h"

#include <string.h>

enum {
    BLOCK = 256,      /* the children of a unit are in one block */
    OPEN_BLOCKS = 16, /* only the last OPEN_BLOCKS blocks are searched for free units */
    OPEN_UNITS = OPEN_BLOCKS * BLOCK,
    MAX_UNITS = 1 << 24,
    FREE_BASE = 1, /* a free unit has the label of a child of a base that is 1 modulo BLOCK; bases
                      that are 0 or 1 modulo BLOCK are never used */
    FIRST_BASE = 2
};

struct slot {                /* state of a unit in an open block */
    uint32_t next, previous; /* ring of free units through unit 0 */
    bool taken, is_base;
};
struct range { /* keys [first, last) have the same first `depth` bytes, which lead to `unit` */
    size_t first, last;
    uint32_t depth, unit;
};
struct builder {
    const rapt_allocator *allocator;
    struct trie_unit *units;
    struct slot *slots; /* [1 + OPEN_UNITS] the root's slot, then the slots of units in open
                           blocks */
    struct range *stack;
    size_t count, unit_capacity, depth, stack_capacity;
};

struct trie_key rapt__trie_key(const char *bytes, size_t size, int32_t value)
{
    struct trie_key key = {0, bytes, (uint32_t)size, value};
    for (size_t i = 0; i < 8; i++)
        key.front = key.front << 8 | (i < size ? (unsigned char)bytes[i] : 0);
    return key;
}

static int by_bytes(const void *context, const void *x, const void *y)
{
    const struct trie_key *a = x, *b = y;
    (void)context;
    if (a->front != b->front) return a->front < b->front ? -1 : 1;
    int order = memcmp(a->bytes, b->bytes, rapt__min_size(a->size, b->size));
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

/* ---- free units ---- */

static struct slot *slot_of(const struct builder *b, uint32_t unit)
{
    return &b->slots[unit ? 1 + unit % OPEN_UNITS : 0];
}

static void unlink_slot(struct builder *b, uint32_t unit)
{
    struct slot *slot = slot_of(b, unit);
    slot_of(b, slot->next)->previous = slot->previous;
    slot_of(b, slot->previous)->next = slot->next;
    slot->taken = true;
}

static bool reserve(struct builder *b)
{
    if (!b->slots) b->slots = rapt__alloc(b->allocator, (1 + OPEN_UNITS) * sizeof *b->slots);
    if (!b->slots) return false;
    while (b->unit_capacity < b->count + BLOCK) {
        void *units = rapt__grown(b->allocator, b->units, &b->unit_capacity, sizeof *b->units);
        if (!units) return false;
        b->units = units;
    }
    return true;
}

/* Drops the free units of a block, so that a new block can use its slots. */
static void close_block(struct builder *b, uint32_t first)
{
    for (uint32_t unit = first; unit < first + BLOCK; unit++)
        if (!slot_of(b, unit)->taken) unlink_slot(b, unit);
}

static bool add_block(struct builder *b)
{
    if (b->count + BLOCK > MAX_UNITS || !reserve(b)) return false;
    struct slot *head = &b->slots[0];
    uint32_t first = (uint32_t)b->count;
    if (first >= OPEN_UNITS) close_block(b, first - OPEN_UNITS);
    for (uint32_t unit = first; unit < first + BLOCK; unit++) {
        b->units[unit] = (struct trie_unit){(unit ^ FREE_BASE) & 0xFF, -1};
        if (unit == 0) {
            *head = (struct slot){.taken = true};
            continue;
        }
        *slot_of(b, unit) = (struct slot){.previous = head->previous};
        slot_of(b, head->previous)->next = unit;
        head->previous = unit;
    }
    b->count += BLOCK;
    return true;
}

static bool fits(const struct builder *b, uint32_t base, const unsigned char *labels, int count)
{
    if (base % BLOCK < FIRST_BASE || slot_of(b, base)->is_base) return false;
    for (int i = 0; i < count; i++)
        if (slot_of(b, base ^ labels[i])->taken) return false;
    return true;
}

/* Returns a base for which all these children are free, or 0 if out of memory or if there are too
   many units. */
static uint32_t find_base(struct builder *b, const unsigned char *labels, int count)
{
    for (uint32_t unit = b->slots[0].next; unit != 0; unit = slot_of(b, unit)->next)
        if (fits(b, unit ^ labels[0], labels, count)) return unit ^ labels[0];
    return add_block(b) ? (uint32_t)b->count - BLOCK + FIRST_BASE : 0;
}

/* ---- building ---- */

static bool push_range(struct builder *b, struct range range)
{
    if (b->depth == b->stack_capacity) {
        void *stack = rapt__grown(b->allocator, b->stack, &b->stack_capacity, sizeof *b->stack);
        if (!stack) return false;
        b->stack = stack;
    }
    b->stack[b->depth++] = range;
    return true;
}

static bool insert(struct builder *b, const struct trie_key *keys, struct range range)
{
    unsigned char labels[BLOCK];
    size_t starts[BLOCK + 1];
    int count = 0;
    if (keys[range.first].size == range.depth)
        b->units[range.unit].value = keys[range.first++].value;
    for (size_t i = range.first; i < range.last; i++) {
        unsigned char label = (unsigned char)keys[i].bytes[range.depth];
        if (count > 0 && labels[count - 1] == label) continue;
        labels[count] = label;
        starts[count++] = i;
    }
    if (count == 0) return true;
    starts[count] = range.last;
    uint32_t base = find_base(b, labels, count);
    if (base == 0) return false;
    slot_of(b, base)->is_base = true;
    b->units[range.unit].link |= base << 8;
    for (int i = 0; i < count; i++) {
        uint32_t child = base ^ labels[i];
        unlink_slot(b, child);
        b->units[child].link = labels[i];
        if (!push_range(b, (struct range){starts[i], starts[i + 1], range.depth + 1, child}))
            return false;
    }
    return true;
}

static bool build(struct builder *b, const struct trie_key *keys, size_t count)
{
    if (!add_block(b)) return false;
    if (count > 0 && !push_range(b, (struct range){0, count, 0, 0})) return false;
    while (b->depth > 0)
        if (!insert(b, keys, b->stack[--b->depth])) return false;
    return true;
}

rapt_status rapt__trie_build(struct trie *trie, struct trie_key *keys, size_t count,
                             const rapt_allocator *allocator, rapt_message *why)
{
    struct builder b = {.allocator = allocator};
    rapt__sort(keys, count, sizeof *keys, by_bytes, NULL);
    for (size_t i = 1; i < count; i++)
        if (by_bytes(NULL, &keys[i - 1], &keys[i]) == 0)
            return rapt__fail(why, RAPT_BAD_FILE, "pieces %d and %d are the same",
                              (int)rapt__min(keys[i - 1].value, keys[i].value),
                              (int)rapt__max(keys[i - 1].value, keys[i].value));
    bool built = build(&b, keys, count);
    if (built) trie->units = rapt__alloc(allocator, b.count * sizeof *trie->units);
    if (trie->units) {
        trie->count = b.count;
        memcpy(trie->units, b.units, b.count * sizeof *trie->units);
    }
    rapt__free(allocator, b.units, b.unit_capacity * sizeof *b.units);
    rapt__free(allocator, b.slots, (1 + OPEN_UNITS) * sizeof *b.slots);
    rapt__free(allocator, b.stack, b.stack_capacity * sizeof *b.stack);
    if (trie->units) return RAPT_OK;
    if (b.count + BLOCK > MAX_UNITS)
        return rapt__fail(why, RAPT_BAD_FILE, "there are too many pieces, or they are too long");
    return rapt__fail(why, RAPT_NO_MEMORY, "no memory for %zu pieces", count);
}

void rapt__trie_free(struct trie *trie, const rapt_allocator *allocator)
{
    rapt__free(allocator, trie->units, trie->count * sizeof *trie->units);
}

/* ---- searching ---- */

const struct trie_unit *rapt__trie_walk(const struct trie *trie, const struct trie_unit *from,
                                        const char *bytes, size_t size)
{
    for (size_t i = 0; from && i < size; i++) from = rapt__trie_step(trie, from, bytes[i]);
    return from;
}

int32_t rapt__trie_find(const struct trie *trie, const char *bytes, size_t size)
{
    const struct trie_unit *unit = rapt__trie_walk(trie, trie->units, bytes, size);
    return unit ? unit->value : -1;
}

size_t rapt__trie_longest(const struct trie *trie, const char *text, size_t size)
{
    const struct trie_unit *unit = trie->units;
    size_t longest = 0;
    for (size_t i = 0; i < size && (unit = rapt__trie_step(trie, unit, text[i])); i++)
        if (unit->value >= 0) longest = i + 1;
    return longest;
}
