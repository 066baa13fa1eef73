/* hash.c - hashes: FNV-1a and SHA-256. */
#include "base/base.h"

#include <string.h>

/* ---- hash: FNV-1a, 32 bits (Fowler, Noll and Vo). Strings of the same length that differ in
   exactly one byte have different hashes, because each step is a bijection. ---- */

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
    /* The low bits of FNV-1a depend only on the low bits of the input bytes, so the final steps of
       MurmurHash3 mix in all other bits. */
    hash = (hash ^ hash >> 16) * 0x85EBCA6Bu;
    hash = (hash ^ hash >> 13) * 0xC2B2AE35u;
    return hash ^ hash >> 16;
}

/* ---- sha256: SHA-256 (FIPS 180-4), which is used to identify Mozilla's models. ---- */

/* Fractional parts of the cube roots of the first 64 primes. */
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, int bits)
{
    return x >> bits | x << (32 - bits);
}

static void take_block(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64], s[8];
    for (int t = 0; t < 16; t++, block += 4)
        w[t] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 |
               block[3];
    for (int t = 16; t < 64; t++) {
        const uint32_t x = w[t - 15], y = w[t - 2];
        w[t] = (turn(y, 17) ^ turn(y, 19) ^ y >> 10) + w[t - 7] +
               (turn(x, 7) ^ turn(x, 18) ^ x >> 3) + w[t - 16];
    }
    memcpy(s, state, sizeof s);
    for (int t = 0; t < 64; t++) {
        const uint32_t e = s[4], a = s[0],
                       first = s[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) +
                               ((e & s[5]) ^ (~e & s[6])) + constants[t] + w[t],
                       second = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) +
                                ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += first, s[0] = first + second;
    }
    for (int n = 0; n < 8; n++) state[n] += s[n];
}

void rapt__sha256_begin(struct sha256 *h)
{
    /* fractional parts of the square roots of the first 8 primes */
    *h = (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                   0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void rapt__sha256_add(struct sha256 *h, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t n = 0; n < size; n++) {
        h->block[h->size++ % 64] = at[n];
        if (h->size % 64 == 0) take_block(h->state, h->block);
    }
}

void rapt__sha256_end(struct sha256 *h, char text[SHA256_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    const uint64_t bits = 8 * h->size;
    rapt__sha256_add(h, "\x80", 1);
    while (h->size % 64 != 56) rapt__sha256_add(h, "", 1);
    for (int shift = 56; shift >= 0; shift -= 8)
        rapt__sha256_add(h, &(unsigned char){(unsigned char)(bits >> shift)}, 1);
    for (int n = 0; n < 64; n++) text[n] = digits[h->state[n / 8] >> (28 - n % 8 * 4) & 15];
    text[64] = 0;
}
