/* tiles_state.h - what the emulation of tiles (tiles_emulated.h) reports to tests. */
#ifndef RAPT_TESTS_KERNEL_TILES_STATE_H
#define RAPT_TESTS_KERNEL_TILES_STATE_H

#include <stdbool.h>
#include <stdint.h>

extern bool tiles_configured;        /* tiles have shapes now */
extern long tiles_faults;            /* operations that would raise an exception */
extern unsigned long tiles_products; /* products of tiles */

#endif
