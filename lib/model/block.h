/* block.h - a block: its configuration and layout, and the memory of one call. */
#ifndef RAPT_LIB_MODEL_BLOCK_H
#define RAPT_LIB_MODEL_BLOCK_H

#include "model/model.h"
#include <rapt/block.h>

struct rapt_block {
    rapt_allocator allocator;
    rapt_block_kind kind;
    rapt_block_limits limits;
    rapt_model model; /* configuration, layout and slopes; no parameters, no memory */
    enum part parts[3];
    int parts_count;
    bool decoder, alone;          /* causal, or with a source; one function without sum and norm */
    bool learned;                 /* the last forward left what backward reads */
    int batch, rows, source_rows; /*   of so many */
    struct drop drop;             /*   with this dropout */
    struct arena arena;
    struct stack_memory memory;
    float *dsource; /* [source rows][D] */
    float *partial, *pack;
    void *attention_workspace;
};

/* Whether it has cross-attention. */
bool rapt__block_reads_source(const rapt_block *block);
/* Whether self-attention, or else cross-attention, learns a row for each position of its keys:
   their sequences are at most config.positions long. */
bool rapt__block_has_positions(const rapt_block *block, bool cross);
/* RAPT_BAD_ARGUMENT: they are not aligned. */
rapt_status rapt__block_aligned(const float *parameters, rapt_message *why);

#endif
