/* hash.h - the FNV-1a hash (Fowler, Noll and Vo): fast, not cryptographic. */
#ifndef KIT_HASH_H
#define KIT_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_EMPTY UINT64_C(0xCBF29CE484222325) /* of no bytes */
#define HASH_PRIME UINT64_C(0x100000001B3)

/* Continues the hash of earlier bytes, or HASH_EMPTY. */
static inline uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++) hash = (hash ^ bytes[i]) * HASH_PRIME;
    return hash;
}

#endif
