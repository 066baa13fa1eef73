/* random.h - random numbers by their definition: Philox 4x32-10 (Salmon et al. 2011), and draws for
   element (row, column) under a key. */
#ifndef RAPT_ORACLE_RANDOM_H
#define RAPT_ORACLE_RANDOM_H

#include <stdint.h>

/* Computes four words for a counter of 128 bits, given as two halves. */
void oracle_philox(uint64_t key, uint64_t low, uint64_t high, uint32_t words[4]);
/* Derives a key: the first two words at counter (word, 2^64 - 1). */
uint64_t oracle_mix(uint64_t key, uint64_t word);
/* Returns the 32 bits of an element: word column/16 % 4 at counter (column/64 * 16 + column % 16,
   row). */
uint32_t oracle_element(uint64_t key, int row, int column);
/* Returns the factor of an element after dropout: 0 if its bits are below share * 2^32, else 1 / (1
   - share). */
double oracle_dropout(uint64_t key, float share, int row, int column);

#endif
