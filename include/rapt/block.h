/* block.h - one layer of a Transformer, or one of its functions, on plain arrays, forward and
   backward: for models of the caller's own.

   Parameters are one array of the caller's: any number of blocks may compute with it, and an
   optimizer updates it as it likes. A block has the memory of one call: what forward leaves there,
   backward reads. It may be used by one thread at a time. */
#ifndef RAPT_BLOCK_H
#define RAPT_BLOCK_H

#include "transformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* x [rows][width] in, y [rows][width] out. Layers add what their functions f give to x and
   normalize, as norm_order says; with RAPT_NORM_ORDER_PRE nothing normalizes the last sum. */
typedef enum rapt_block_kind {
    RAPT_BLOCK_KIND_ENCODER, /* a layer: self-attention, feed-forward */
    RAPT_BLOCK_KIND_DECODER, /* a layer: causal self-attention, cross-attention, feed-forward */
    RAPT_BLOCK_KIND_DECODER_ONLY, /* a layer: causal self-attention, feed-forward */
    /* f alone, without sum and norm: */
    RAPT_BLOCK_KIND_SELF_ATTENTION,   /* heads(x Wq', x Wk', x Wv') Wo', biases added */
    RAPT_BLOCK_KIND_CAUSAL_ATTENTION, /* the same; a row sees itself and the rows before it */
    RAPT_BLOCK_KIND_CROSS_ATTENTION,  /* heads(x Wq', z Wk', z Wv') Wo', z: the source */
    RAPT_BLOCK_KIND_FEEDFORWARD       /* activation(x W1' + b1) W2' + b2, or gated */
} rapt_block_kind;

/* What a block has memory for. Set size to sizeof. */
typedef struct rapt_block_limits {
    size_t size;     /* sizeof(rapt_block_limits) */
    int batch;       /* sequences of a call, at least 1 */
    int rows;        /* of all sequences of x, at least 1; location-aware scores need rows x keys
                        floats of memory for each thread */
    int source_rows; /* of all sequences of the source; at least 1 with cross-attention, else 0 */
    int threads;     /* 0: as many as OpenMP would use */
} rapt_block_limits;

/* The rows of one call. Set size to sizeof; the rest is 0 by default. */
typedef struct rapt_block_rows {
    size_t size;              /* sizeof(rapt_block_rows) */
    const int *starts;        /* [batch + 1] sequence b of x has rows starts[b] .. starts[b + 1] */
    const int *source_starts; /* [batch + 1] its source; NULL without cross-attention */
    const float *source;      /* [source_starts[batch]][width]; NULL without cross-attention */
    int batch;                /* sequences */
    int learning;             /* 1: backward follows; sampled normalizers draw their keys, and
                                 elements are dropped. 0: as a model at inference */
    uint64_t seed;            /* of what is drawn and dropped while learning */
    float dropout;            /* shares dropped while learning, 0 to below 1: of what a function
                                 gives to the sum (layers), */
    float attention_dropout;  /*   of attention weights, */
    float ffn_dropout;        /*   of the hidden layer of feed-forward */
    int reserved;             /* 0 */
    const float *reward, *baseline; /* [heads][rows] for backward: rewards of sampled keys, NULL: 0;
                                       what is subtracted, NULL: 0 */
} rapt_block_rows;

/* A layer or function, and the memory of one call; made by rapt_block_create. One thread at a time
   may compute with it. */
typedef struct rapt_block rapt_block;

/* config: set size, width, heads, ffn_width and whatever a layer is to be; what concerns a whole
   model is ignored: kind, vocabularies, source_width, position, first_position, tie, output_bias,
   plain_embedding, numbers of layers, pooling, decoder_start, no_source_end, alignment_layer.
   Relative biases (relative_bias) are parameters of the block. Sequences may be as long as the
   limits; where a score is location, which learns a row for each position, those of its keys are at
   most config.positions long, which is ignored elsewhere.
   *block is the caller's to free. RAPT_BAD_ARGUMENT: a field or limit is out of range, named in
   *why. RAPT_NO_MEMORY. */
RAPT_API rapt_status rapt_block_create(rapt_block **block, rapt_block_kind kind,
                                       const rapt_config *config, const rapt_block_limits *limits,
                                       const rapt_allocator *allocator, rapt_message *why);
RAPT_API void rapt_block_free(rapt_block *block); /* NULL is allowed */

/* ---- parameters: an array of the caller's, 64-byte aligned, of rapt_block_floats floats ----
   Their order in it is the library's; matrices are read and written by number, as those of a model
   (rapt_model_tensor). Gradients are such an array of any alignment. These functions only read the
   block, and may be called from any thread. */
RAPT_API size_t rapt_block_floats(const rapt_block *block); /* 0: block is NULL */
/* Sets all of them, parameters[rapt_block_floats(block)]: matrices at random (Xavier), as those of
   a new model, gains 1, biases 0; equal seeds, equal bits. RAPT_BAD_ARGUMENT: an argument is NULL,
   or parameters are not aligned. */
RAPT_API rapt_status rapt_block_init(const rapt_block *block, uint64_t seed, float *parameters,
                                     rapt_message *why);
/* How many matrices and vectors there are. */
RAPT_API int rapt_block_tensors(const rapt_block *block);
/* "self_attn.qkv.weight", ...; the name is the block's. name NULL: no such index. */
RAPT_API rapt_tensor rapt_block_tensor(const rapt_block *block, int index);
RAPT_API int rapt_block_find(const rapt_block *block, const char *name); /* -1: not there */
/* One of them into data [rows][columns]. RAPT_BAD_ARGUMENT: no such index. */
RAPT_API rapt_status rapt_block_read(const rapt_block *block, const float *parameters, int index,
                                     float *data, rapt_message *why);
/* One of them from data [rows][columns]. RAPT_BAD_ARGUMENT: no such index. */
RAPT_API rapt_status rapt_block_write(const rapt_block *block, float *parameters, int index,
                                      const float *data, rapt_message *why);

/* ---- computing ---- */

/* x, y: [rows->starts[batch]][width], any alignment; y may be x. The same bits for any number of
   threads and any batch; while learning, what is dropped or sampled depends on the place in the
   batch. RAPT_BAD_ARGUMENT: more rows than the limits, a longer sequence than a
   location score has positions for, or an array is missing, or parameters are not aligned. */
RAPT_API rapt_status rapt_block_forward(rapt_block *block, const float *parameters,
                                        const rapt_block_rows *rows, const float *x, float *y,
                                        rapt_message *why);
/* After a forward with the same parameters and rows (learning 1), which must not have changed: from
   dy, the gradient of y, adds to dx [rows][width], dsource [source rows][width] and dparameters.
   dx, dsource NULL: not wanted. RAPT_BAD_ARGUMENT: the last forward had other numbers of sequences
   or rows, another dropout or seed, or learning 0, or parameters are not aligned. Other changes are
   not noticed. */
RAPT_API rapt_status rapt_block_backward(rapt_block *block, const float *parameters,
                                         const rapt_block_rows *rows, const float *dy, float *dx,
                                         float *dsource, float *dparameters, rapt_message *why);

#ifdef __cplusplus
}
#endif

#endif
