/* block.h - single layers of a Transformer, and the attention and feed-forward sublayers they
   consist of, forward and backward on plain arrays, for programs that build their own models.

   The caller owns the parameters, a single array that any number of blocks may share and any
   optimizer may update. A block owns the working memory of one call, in which forward stores the
   intermediate results that backward needs. */
#ifndef RAPT_BLOCK_H
#define RAPT_BLOCK_H

#include "transformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kinds of blocks. Each computes y [rows][width] from x [rows][width]. A layer applies its
   sublayers one after another. It adds each sublayer's input to its output, and normalizes before
   the sublayer or after the sum, according to config.norm_order. With RAPT_NORM_ORDER_PRE the last
   sum is not normalized. The other kinds are single sublayers, without a residual connection or a
   norm. The configuration may add features such as rotary embeddings. In the formulas, W' is the
   transpose of a matrix W, and the biases of projections are omitted. */
typedef enum rapt_block_kind {
    RAPT_BLOCK_KIND_ENCODER,          /* layer: self-attention, feed-forward */
    RAPT_BLOCK_KIND_DECODER,          /* layer: causal self-attention (or the recurrent unit that
                                         decoder_recurrence selects), cross-attention,
                                         feed-forward */
    RAPT_BLOCK_KIND_DECODER_ONLY,     /* layer: the same without cross-attention */
    RAPT_BLOCK_KIND_SELF_ATTENTION,   /* heads(x Wq', x Wk', x Wv') Wo' */
    RAPT_BLOCK_KIND_CAUSAL_ATTENTION, /* self-attention with a causal mask, or linear attention if
                                         decoder_recurrence selects it */
    RAPT_BLOCK_KIND_CROSS_ATTENTION,  /* heads(x Wq', z Wk', z Wv') Wo', where z is the source */
    RAPT_BLOCK_KIND_FEEDFORWARD       /* activation(x W1') W2', or the gated variant (ffn_gated) */
} rapt_block_kind;

/* The size of the largest call, for which a block reserves memory. */
typedef struct rapt_block_limits { /* size-first, see base.h */
    size_t size;
    int batch;       /* sequences per call, 1 or more */
    int rows;        /* total rows of all sequences of x, 1 or more. With location-aware or coverage
                        scores, self-attention needs memory for rows x rows floats per thread. With
                        these scores or monotonic attention, cross-attention needs rows x
                        source_rows floats per thread */
    int source_rows; /* total rows of all sources: 1 or more with cross-attention, else 0 */
    int threads;     /* maximum number of threads, see base.h */
} rapt_block_limits;

/* The rows of one call, and its settings. */
typedef struct rapt_block_rows { /* size-first, see base.h */
    size_t size;
    const int *starts;        /* [batch + 1] offsets: sequence b of x consists of rows starts[b] ..
                                 starts[b + 1] - 1 */
    const int *source_starts; /* [batch + 1], the same for the source; NULL without
                                 cross-attention */
    const float *source;      /* [source_starts[batch]][width]; NULL without cross-attention */
    int batch;                /* number of sequences, 0 to limits.batch */
    int learning;             /* 1 for training: dropout is active, SAMPLE and GUMBEL_SOFTMAX use
                                 noise, and backward may follow. 0 for inference */
    uint64_t seed;            /* seed for sampling and dropout in training */
    float dropout;            /* in layers, the fraction of each sublayer's output that is dropped
                                 in training, at least 0 and below 1 */
    float attention_dropout;  /* fraction of attention weights dropped in training, same range */
    float ffn_dropout;        /* fraction of hidden units of feed-forward layers dropped in
                                 training, same range */
    int reserved;             /* must be 0 */
    const float *reward;      /* [heads][rows] rewards for sampled keys, read by backward; NULL
                                 means 0 */
    const float *baseline;    /* [heads][rows], subtracted from the rewards; NULL means 0 */
} rapt_block_rows;

/* A layer or sublayer with the memory for one call. Only one thread at a time may compute with
   it. */
typedef struct rapt_block rapt_block;

/* Creates a block, which the caller must free. config and limits are copied. In config, set size,
   width, heads, ffn_width and any other field that describes a layer. These fields are ignored:
   kind, source_vocab, target_vocab, source_width, position, first_position, tie, output_bias,
   plain_embedding, encoder_layers, decoder_layers, pooling, decoder_start, no_source_end,
   alignment_layer, alignment_heads, embedding_norm, token_types and pooler. decoder_recurrence is
   also ignored, except by decoder layers and, if it selects linear attention, by causal attention.
   forget_gate is ignored by kinds without causal self-attention, and monotonic and monotonic_chunk
   are ignored by kinds without cross-attention. Learned relative biases are parameters of the
   block.

   Sequences may be as long as the limits allow. config.positions is ignored, with two exceptions.
   With location scores, which learn one row per position, it is the maximum number of keys per
   sequence. With RAPT_ROTARY_SCALING_YARN it is the default for rotary_positions, so one of the two
   must be set.

   Returns RAPT_BAD_ARGUMENT if kind, a field or a limit is out of range, or if fields cannot be
   combined (*why names them), and RAPT_NO_MEMORY if an allocation fails. */
RAPT_API rapt_status rapt_block_create(rapt_block **block, rapt_block_kind kind,
                                       const rapt_config *config, const rapt_block_limits *limits,
                                       const rapt_allocator *allocator, rapt_message *why);
/* Frees a block. NULL is allowed. */
RAPT_API void rapt_block_free(rapt_block *block);

/* ---- parameters ----

   The parameters of a block are an array of rapt_block_floats floats, owned by the caller and
   aligned to 64 bytes. Its layout is private to the library: read and write its matrices by index,
   as with rapt_model_read and rapt_model_write. Gradients have the same layout, but need not be
   aligned. The functions in this section do not change the block, so any thread may call them at
   any time, provided that no other thread uses an array while a function writes to it. */

/* Returns the number of floats in the parameters; 0 if block is NULL. */
RAPT_API size_t rapt_block_floats(const rapt_block *block);
/* Initializes parameters [rapt_block_floats(block)] like those of a new model. The same seed gives
   bit-identical parameters. Returns RAPT_BAD_ARGUMENT if an argument is NULL or parameters is not
   aligned. */
RAPT_API rapt_status rapt_block_init(const rapt_block *block, uint64_t seed, float *parameters,
                                     rapt_message *why);
/* Returns the number of tensors (matrices and vectors); 0 if block is NULL. */
RAPT_API int rapt_block_tensors(const rapt_block *block);
/* Describes a tensor, such as "self_attn.qkv.weight". The name is owned by the block; it is NULL if
   the index is out of range. */
RAPT_API rapt_tensor rapt_block_tensor(const rapt_block *block, int index);
/* Returns the index of the tensor with this name, or -1 if the name is unknown. */
RAPT_API int rapt_block_find(const rapt_block *block, const char *name);
/* Copies a tensor of `parameters` to data [rows][columns]. Returns RAPT_BAD_ARGUMENT if the index
   is out of range. */
RAPT_API rapt_status rapt_block_read(const rapt_block *block, const float *parameters, int index,
                                     float *data, rapt_message *why);
/* Copies data [rows][columns] into a tensor of `parameters`. Returns RAPT_BAD_ARGUMENT if the index
   is out of range. */
RAPT_API rapt_status rapt_block_write(const rapt_block *block, float *parameters, int index,
                                      const float *data, rapt_message *why);

/* ---- computing ---- */

/* Computes y [rows->starts[batch]][width] from x of the same shape. Neither needs to be aligned,
   and y may be x. Results are bit-identical for any number of threads and, at inference, in any
   batch. In training, dropout and samples depend on a row's position in the batch.

   Returns RAPT_BAD_ARGUMENT if there are more sequences or rows than the limits allow, if a field
   of rows is out of range, if `starts` or `source_starts` does not begin with 0 or decreases, if a
   sequence has too many keys for location scores, if a required array is NULL, if a source is given
   to a block without cross-attention, or if parameters is not aligned. */
RAPT_API rapt_status rapt_block_forward(rapt_block *block, const float *parameters,
                                        const rapt_block_rows *rows, const float *x, float *y,
                                        rapt_message *why);
/* Adds gradients to dx [rows][width], dsource [source rows][width] and dparameters, given dy, the
   gradient of y. In the last call to rapt_block_forward on this block, rows->learning must have
   been 1. Pass the same parameters and rows as in that call, unchanged. dx and dsource may be NULL.

   Errors are the same as for rapt_block_forward. Also returns RAPT_BAD_ARGUMENT if there was no
   such call, if the number of sequences or rows, the dropout or the seed has changed since, or if
   dy or dparameters is NULL. Other changes are not detected. */
RAPT_API rapt_status rapt_block_backward(rapt_block *block, const float *parameters,
                                         const rapt_block_rows *rows, const float *dy, float *dx,
                                         float *dsource, float *dparameters, rapt_message *why);

#ifdef __cplusplus
}
#endif

#endif
