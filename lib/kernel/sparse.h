/* sparse.h - the keys that are visible to a query in sparse attention: those near its position,
   global keys, and keys in its blocks. The last two kinds are called far. */
#ifndef RAPT_LIB_SPARSE_H
#define RAPT_LIB_SPARSE_H

#include "kernel/kernel.h"

struct sparse_keys {
    bool given;         /* if false, all keys are visible, and the other fields are ignored */
    int near, near_end; /* keys near .. near_end - 1, those near the query's position, are
                           visible */
    const int *globals; /* [global_count] global keys, which are visible, in strictly increasing
                           order; NULL means keys 0 .. global_count - 1 */
    int global_count;
    const uint8_t *blocks; /* key s is visible if element s / block_keys is not 0; NULL means that
                              there are no blocks */
    int block_keys;
};

/* Returns the index of the first global key that is at least `key`. */
static inline int rapt__global_from(const struct sparse_keys *k, int64_t key)
{
    int low = 0, high = k->global_count;
    if (!k->globals) return key < 0 ? 0 : key < high ? (int)key : high;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (k->globals[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the global key with this index, or INT32_MAX if there is none. */
static inline int rapt__global_key(const struct sparse_keys *k, int index)
{
    if (index >= k->global_count) return INT32_MAX;
    return k->globals ? k->globals[index] : index;
}

/* Returns true if one of the keys first .. last is global. */
static inline bool rapt__any_global(const struct sparse_keys *k, int64_t first, int64_t last)
{
    int index = rapt__global_from(k, first);
    return index < k->global_count && rapt__global_key(k, index) <= last;
}

/* Returns the first far key in [key, end), or `end` if there is none. */
static inline int rapt__next_far(const struct sparse_keys *k, int key, int end)
{
    int next = rapt__min(end, rapt__global_key(k, rapt__global_from(k, key)));
    int64_t block = k->blocks ? key / k->block_keys : 0;
    for (int64_t s = key; k->blocks && s < next; s = ++block * k->block_keys)
        if (k->blocks[block]) return (int)s;
    return next;
}

/* One bit for each of SPARSE_KEYS adjacent keys; the first key is a multiple of LANES. */
enum { SPARSE_KEYS = 128, SPARSE_WORDS = SPARSE_KEYS / 64 };
struct sparse_bits {
    uint64_t words[SPARSE_WORDS];
};

/* Returns a word whose lowest n bits are set: none if n is negative, all if n is 64 or more. */
static inline uint64_t rapt__low_bits(int64_t n)
{
    return n <= 0 ? 0 : n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
}

/* Sets bits low .. high - 1, ignoring those outside 0 .. SPARSE_KEYS - 1. */
static inline void rapt__set_bits(struct sparse_bits *bits, int64_t low, int64_t high)
{
    for (int w = 0; w < SPARSE_WORDS; w++, low -= 64, high -= 64)
        bits->words[w] |= rapt__low_bits(high) & ~rapt__low_bits(low);
}

/* Returns the bits of the sixteen keys of a panel. */
static inline unsigned rapt__panel_bits(const struct sparse_bits *bits, int panel)
{
    enum { PANELS = 64 / LANES };
    return bits->words[panel / PANELS] >> panel % PANELS * LANES & 0xffff;
}

/* Returns the bits of the far keys in [key, end), a range of at most SPARSE_KEYS keys. Bits of
   later keys are unspecified. */
static inline struct sparse_bits rapt__far_bits(const struct sparse_keys *k, int key, int end)
{
    struct sparse_bits bits = {{0}};
    if (!k->globals) rapt__set_bits(&bits, 0, (int64_t)k->global_count - key);
    for (int i = rapt__global_from(k, key); k->globals && rapt__global_key(k, i) < end; i++)
        rapt__set_bits(&bits, k->globals[i] - key, k->globals[i] - key + 1);
    int64_t block = k->blocks ? key / k->block_keys : 0;
    for (int64_t s = block * k->block_keys; k->blocks && s < end; s += k->block_keys, block++)
        if (k->blocks[block]) rapt__set_bits(&bits, s - key, s - key + k->block_keys);
    return bits;
}

/* Adds the bits of the keys near the query. */
static inline void rapt__add_near(const struct sparse_keys *k, int key, struct sparse_bits *bits)
{
    rapt__set_bits(bits, (int64_t)k->near - key, (int64_t)k->near_end - key);
}

#endif
