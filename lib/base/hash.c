/* hash.c - FNV-1a, 32 bits (Fowler, Noll and Vo). Starting from 2166136261, computes hash = (hash
   XOR byte) * 16777619 mod 2^32 for each byte. Strings of the same length that differ in exactly
   one byte have different hashes. */
#include "base/base.h"

static const uint32_t basis = 2166136261u, prime = 16777619u;

static uint32_t hash_on(uint32_t hash, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) hash = (hash ^ bytes[i]) * prime;
    return hash;
}

uint32_t rapt__hash(const void *bytes, size_t size)
{
    return hash_on(basis, bytes, size);
}

uint32_t rapt__hash_from(const void *table, const void *bytes, size_t size)
{
    uint64_t address = (uint64_t)(uintptr_t)table;
    uint32_t hash =
        hash_on(basis ^ (uint32_t)(address >> 4) ^ (uint32_t)(address >> 24), bytes, size);
    /* The low bits of FNV-1a depend only on low bits of the input. The final steps of MurmurHash3
       mix all bits into them. */
    hash = (hash ^ hash >> 16) * 0x85EBCA6Bu;
    hash = (hash ^ hash >> 13) * 0xC2B2AE35u;
    return hash ^ hash >> 16;
}
