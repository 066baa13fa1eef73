/* hash.c - FNV-1a of bytes, 32 bits (Fowler, Noll and Vo): hash = (hash XOR byte) 16777619 mod
   2^32, from 2166136261. Two strings that differ in one byte alone have different hashes. */
#include "base/base.h"

uint32_t rapt__hash(const void *bytes, size_t size)
{
    const unsigned char *b = bytes;
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < size; i++) hash = (hash ^ b[i]) * 16777619u;
    return hash;
}
