/* block.h - a block: its configuration and layout, and the memory of one call. Shared by block.c
   and block_memory.c. */
#ifndef RAPT_LIB_MODEL_BLOCK_H
#define RAPT_LIB_MODEL_BLOCK_H

#include "model/model.h"
#include <rapt/block.h>

struct rapt_block {
    rapt_allocator allocator;
    rapt_block_kind kind;
    rapt_block_limits limits;
    rapt_model model; /* configuration, layout and slopes, but no parameters */
    enum part parts[3];
    int parts_count;
    bool decoder;                 /* causal, or with cross-attention */
    bool alone;                   /* a single function, without residual sum and norm */
    bool learned;                 /* true if the last forward pass stored what backward needs */
    int batch, rows, source_rows; /* number of sequences and of rows in that pass */
    struct drop drop;             /* dropout of that pass */
    struct arena arena;
    struct stack_memory memory;
    float *dsource; /* [source rows][D] */
    float *partial, *pack;
    void *attention_workspace;
};

bool rapt__block_reads_source(const rapt_block *block);
/* Returns true if the score of self-attention (or of cross-attention, if `cross`) learns a row for
   each position of its keys. Sequences may then have at most config.positions keys. */
bool rapt__block_has_positions(const rapt_block *block, bool cross);
/* Returns RAPT_BAD_ARGUMENT unless parameters are aligned to 64 bytes. */
rapt_status rapt__block_aligned(const float *parameters, rapt_message *why);

#endif
