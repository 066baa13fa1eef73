/* random.c - Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3",
   sections 3 and 4: ten rounds turn a key and a counter into 128 bits. */
#include "random.h"

void oracle_philox(uint64_t key, uint64_t low, uint64_t high, uint32_t words[4])
{
    uint32_t k[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
    uint32_t x[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)};
    for (int round = 0; round < 10; round++, k[0] += 0x9E3779B9u, k[1] += 0xBB67AE85u) {
        uint64_t left = 0xD2511F53ull * x[0], right = 0xCD9E8D57ull * x[2];
        uint32_t y[4] = {(uint32_t)(right >> 32) ^ x[1] ^ k[0], (uint32_t)right,
                         (uint32_t)(left >> 32) ^ x[3] ^ k[1], (uint32_t)left};
        for (int i = 0; i < 4; i++) x[i] = y[i];
    }
    for (int i = 0; i < 4; i++) words[i] = x[i];
}

uint64_t oracle_mix(uint64_t key, uint64_t word)
{
    uint32_t x[4];
    oracle_philox(key, word, UINT64_MAX, x);
    return (uint64_t)x[1] << 32 | x[0];
}

uint32_t oracle_element(uint64_t key, int row, int column)
{
    uint32_t x[4];
    oracle_philox(key, (uint64_t)(column / 64 * 16 + column % 16), (uint64_t)row, x);
    return x[column / 16 % 4];
}

double oracle_dropout(uint64_t key, float share, int row, int column)
{
    double s = (double)share;
    if (share == 0) return 1;
    return oracle_element(key, row, column) < (uint32_t)(s * 4294967296.0) ? 0 : 1 / (1 - s);
}
