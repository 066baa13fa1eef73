/* transformer.h - creates, saves, loads and runs models: the Transformer of Vaswani et al. 2017, or
   only its encoder or decoder. A model consists of a configuration (config.h), parameters and
   metadata, which are constant at inference. A session holds the state of a run, such as
   activations and the keys and values of past tokens. */
#ifndef RAPT_TRANSFORMER_H
#define RAPT_TRANSFORMER_H

#include "config.h"
#include "file.h"
#include "precision.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- models (rapt_model, declared in precision.h) ---- */

/* Creates a model with random parameters. The caller must free *model. The same configuration and
   seed give bit-identical parameters. Returns RAPT_BAD_ARGUMENT if rapt_config_check rejects the
   configuration, and RAPT_NO_MEMORY if an allocation fails. */
RAPT_API rapt_status rapt_model_create(rapt_model **model, const rapt_config *config, uint64_t seed,
                                       const rapt_allocator *allocator, rapt_message *why);
/* Frees a model. NULL is allowed. */
RAPT_API void rapt_model_free(rapt_model *model);
/* Returns the configuration, owned by the model; NULL for NULL. Its `size` is the size of the
   library's version of the struct, so set `size` in a copy:

       rapt_config copy = *rapt_model_config(model);
       copy.size = sizeof copy; */
RAPT_API const rapt_config *rapt_model_config(const rapt_model *model);
/* Returns the total number of elements in all parameters; 0 for NULL. */
RAPT_API size_t rapt_model_parameters(const rapt_model *model);
/* Returns the number of bytes that the model's parameters, configuration and metadata take in
   memory, including those of a mapped file; 0 for NULL. */
RAPT_API size_t rapt_model_bytes(const rapt_model *model);

/* A key and its value in a model file; both are null-terminated UTF-8. Keys that begin with "rapt."
   belong to the library, all others to the caller. The library writes "rapt.config", "rapt.layout"
   and "rapt.trainer" itself and rejects them in a caller's metadata. Its other keys hold tokenizers
   ("rapt.tokenizer", or "rapt.source_tokenizer" and "rapt.target_tokenizer"), quantization scales
   ("rapt.scales") and settings (see translator.h and encoder.h). Their values are not checked when
   a model is saved. This struct will not grow. */
typedef struct rapt_metadata {
    const char *key;   /* unique in its file */
    const char *value; /* any text */
} rapt_metadata;

/* Saves a model as a safetensors file that includes its configuration and metadata. In the file,
   each element of `metadata` [count] adds a pair, replaces the value of an existing key or, if its
   value is NULL, removes the key. Pairs are written in a fixed order, so equal models give
   identical files. The file is replaced atomically, as described in file.h.

   Returns RAPT_NO_FILE if the file cannot be written, and RAPT_NO_MEMORY if an allocation fails.
   Returns RAPT_BAD_ARGUMENT if a key is NULL, is given twice or is written by the library itself,
   if a key or value is not UTF-8, or if count is negative. */
RAPT_API rapt_status rapt_model_save(const rapt_model *model, const char *path,
                                     const rapt_metadata *metadata, int count, rapt_message *why);
/* Options of rapt_model_save_with. */
typedef struct rapt_save_options { /* size-first, see base.h */
    size_t size;
    int packed;   /* if nonzero, use the library's own layout, see below */
    int reserved; /* must be 0 */
} rapt_save_options;
/* Saves a model with options; NULL means the defaults. Errors are the same as for rapt_model_save.
   Also returns RAPT_BAD_ARGUMENT if an option is out of range.

   A packed file can be mapped instead of read (see rapt_model_load_with). It then opens in
   milliseconds, whatever its size, and all processes that open it share its memory. It is a
   safetensors file in which a matrix of floats is [panels][columns][16]: element [p][c][i] is row
   16 p + i, column c. Other parameters are padded to multiples of 16 floats. The metadata key
   "rapt.layout" identifies a packed file. A model that is not in RAPT_PRECISION_F32 is always saved
   packed, with its matrices as they are in memory. */
RAPT_API rapt_status rapt_model_save_with(const rapt_model *model, const char *path,
                                          const rapt_save_options *options,
                                          const rapt_metadata *metadata, int count,
                                          rapt_message *why);
/* Loads a model from a file that rapt_model_save or one of its variants wrote, or from a checkpoint
   that rapt_trainer_save wrote. The file must come from version 0.2 of the library or later. The
   caller must free *model. Returns RAPT_NO_FILE if the file cannot be read, RAPT_BAD_FILE if it is
   damaged, is not a model or contains a parameter that is infinite or NaN, and RAPT_NO_MEMORY if an
   allocation fails. */
RAPT_API rapt_status rapt_model_load(rapt_model **model, const char *path,
                                     const rapt_allocator *allocator, rapt_message *why);
/* Options of rapt_model_load_with. */
typedef struct rapt_load_options { /* size-first, see base.h */
    size_t size;
    int non_finite;           /* if nonzero, parameters may be infinite or NaN */
    int no_mapping;           /* if nonzero, a packed file is read into memory instead of mapped */
    rapt_precision precision; /* precision of the loaded model. Matrices are converted while they
                                 are read or, if the file is packed, afterwards. With F16 and
                                 non_finite, elements that are too large become infinite, but all
                                 elements of a packed file must be finite and within range */
} rapt_load_options;
/* Loads a model with options; NULL means the defaults. Errors are the same as for rapt_model_load.
   Also returns RAPT_BAD_ARGUMENT if an option is out of range, and RAPT_BAD_ARGUMENT or
   RAPT_BAD_FILE if the model cannot be converted to the precision (see rapt_model_set_precision).

   A packed file on disk is mapped read-only. Writing to the model, training it or converting it to
   another precision first copies the parameters and ends the mapping. While it is mapped, the file
   must not be truncated or changed in place, or the process may receive SIGBUS. Saving a model to
   the same path is safe, because the old file exists until the last process unmaps it (but on
   Windows a mapped file cannot be replaced). A file that cannot be mapped is read into memory, as
   with no_mapping.

   Sizes, names and offsets are always checked. If the metadata of a mapped file says that its
   writer found all values finite (the value of "rapt.layout" ends in ", finite"), they are not
   checked again; call rapt_model_check to check them. If a parameter is infinite or NaN, the
   results are meaningless, but memory stays safe. */
RAPT_API rapt_status rapt_model_load_with(rapt_model **model, const char *path,
                                          const rapt_load_options *options,
                                          const rapt_allocator *allocator, rapt_message *why);

/* Reads and checks all parameters. Returns RAPT_NOT_FINITE if one is infinite or NaN, or if a
   matrix of 8-bit integers has a negative scale or an element of -128; *why names it. */
RAPT_API rapt_status rapt_model_check(const rapt_model *model, rapt_message *why);

/* Loads a model, as rapt_model_load_with does, but from a file in memory: bytes [size], which are
   copied. */
RAPT_API rapt_status rapt_model_load_memory(rapt_model **model, const void *bytes, size_t size,
                                            const rapt_load_options *options,
                                            const rapt_allocator *allocator, rapt_message *why);
/* Loads a model, as rapt_model_load_with does, but from a file that is read through `reader`. */
RAPT_API rapt_status rapt_model_load_from(rapt_model **model, const rapt_reader *reader,
                                          const rapt_load_options *options,
                                          const rapt_allocator *allocator, rapt_message *why);
/* Writes the contents of the file that rapt_model_save would create to bytes [capacity]. *size
   receives the number of bytes needed; bytes may be NULL to query the size. Errors are the same as
   for rapt_model_save, except RAPT_NO_FILE. Also returns RAPT_BAD_ARGUMENT if bytes is not NULL and
   capacity is less than *size; then only *size is set. */
RAPT_API rapt_status rapt_model_save_memory(const rapt_model *model, void *bytes, size_t capacity,
                                            size_t *size, const rapt_metadata *metadata, int count,
                                            rapt_message *why);
/* Calls writer->write, in order, with the bytes of the file that rapt_model_save would create.
   Errors are the same as for rapt_model_save. Returns RAPT_NO_FILE if write fails. */
RAPT_API rapt_status rapt_model_save_to(const rapt_model *model, const rapt_writer *writer,
                                        const rapt_metadata *metadata, int count,
                                        rapt_message *why);

/* Returns the value of a key in the model's metadata, or NULL if there is no such key. The metadata
   comes from the model's file; rapt_model_import and rapt_model_calibrate add keys. The value
   belongs to the model, and is valid until rapt_model_calibrate or rapt_trainer_create changes the
   metadata. The value of "rapt.config", which every model has, is its configuration as JSON. */
RAPT_API const char *rapt_model_metadata(const rapt_model *model, const char *key);
/* Returns the number of key-value pairs in the metadata, without "rapt.config"; 0 for NULL. */
RAPT_API int rapt_model_metadata_count(const rapt_model *model);
/* Returns the pair with this index, or {NULL, NULL} if the index is out of range. Its strings
   belong to the model. */
RAPT_API rapt_metadata rapt_model_metadata_at(const rapt_model *model, int index);

/* A parameter of a model: a matrix [rows][columns], or a vector, which has one row. This struct
   will not grow. */
typedef struct rapt_tensor {
    const char *name; /* such as "encoder.layers.0.self_attn.qkv.weight", owned by the model or
                         block */
    int rows;         /* 1 or more */
    int columns;      /* 1 or more */
} rapt_tensor;
/* Returns the number of parameter tensors; 0 for NULL. */
RAPT_API int rapt_model_tensors(const rapt_model *model);
/* Describes a parameter tensor. Its name is NULL if the index is out of range. */
RAPT_API rapt_tensor rapt_model_tensor(const rapt_model *model, int index);
/* Returns the index of the parameter with this name, or -1 if the name is unknown. */
RAPT_API int rapt_model_find(const rapt_model *model, const char *name);
/* Copies a parameter, converted to floats, to data [rows][columns] in row-major order. Returns
   RAPT_BAD_ARGUMENT if the index is out of range. */
RAPT_API rapt_status rapt_model_read(const rapt_model *model, int index, float *data,
                                     rapt_message *why);
/* Copies the quantization scales of a parameter to scales [rows] and alphas [rows]. A model that
   was imported from a quantized file has scales: an element is q * (1 / scale), where q is an
   integer and |q| is at most 127 or 32767. alphas are the scales with which Bergamot quantizes the
   rows that it multiplies by the matrix; they come from Bergamot's files or from
   rapt_model_calibrate. Unknown values are 0. Either array may be NULL. Both are stored under the
   metadata key "rapt.scales"; training does not update them, and quantization-aware training
   removes them. Returns RAPT_BAD_ARGUMENT if the index is out of range, and RAPT_BAD_FILE if the
   metadata is damaged. */
RAPT_API rapt_status rapt_model_scales(const rapt_model *model, int index, float *scales,
                                       float *alphas, rapt_message *why);
/* Copies data [rows][columns], in row-major order, into a parameter. No session or trainer may use
   the model at the same time. Errors are the same as for rapt_model_read. Also returns
   RAPT_BAD_ARGUMENT if the model is not in RAPT_PRECISION_F32, and RAPT_NO_MEMORY if a mapped model
   cannot be copied to memory. */
RAPT_API rapt_status rapt_model_write(rapt_model *model, int index, const float *data,
                                      rapt_message *why);

/* ---- sessions ---- */

/* Sequences stored back to back without padding: sequence b is ids[starts[b]] .. ids[starts[b+1] -
   1], and starts[0] is 0. Set unused fields to 0. */
typedef struct rapt_tokens {
    int batch;            /* number of sequences */
    const int32_t *ids;   /* tokens of all sequences; NULL if vectors is set */
    const int *starts;    /* [batch + 1] */
    const float *vectors; /* replaces ids if the encoder reads vectors, see below */
} rapt_tokens;

/* A model whose encoder reads vectors (config.source_width) takes sources with `vectors` instead of
   `ids`: image patches, audio frames or your own embeddings. Row r of sequence b starts at
   vectors[(starts[b] + r) * source_width]. The model multiplies each row by "encoder.source.weight"
   [width][source_width], and adds "encoder.source.bias" and the positional embedding. A call
   returns RAPT_BAD_ARGUMENT if vectors are passed to a model that reads tokens, or tokens to one
   that reads vectors. */

/* The largest inputs that a session accepts and the optional results that it can return. Both
   determine how much memory it needs. */
typedef struct rapt_limits { /* size-first, see base.h */
    size_t size;
    int batch; /* source sequences (or prompts, for decoder-only models) per call, 1 or more */
    int beams; /* target sequences per source, at most 1024; 0 means 1 */
    int source_tokens; /* total tokens of all source sequences, 1 or more; ignored for decoder-only
                          models */
    int target_length; /* maximum length of a target in tokens, 1 to config.positions; ignored for
                          encoder-only models. rapt_generate and rapt_score_targets may exceed it
                          without needing more memory, up to a limit that rapt_generate defines */
    int target_tokens; /* total tokens per call to rapt_decode; 0 means batch * beams, which is
                          enough for rapt_generate */
    int threads;       /* maximum number of threads, see base.h */
    int alignments;    /* if nonzero, rapt_generate can return alignments, which needs memory for at
                          least target_length * beams * source_tokens floats */
    int self_weights;  /* if nonzero, rapt_session_weights can return self-attention weights. The
                          session then encodes all sequences at once and stores the queries and keys
                          of every layer, which needs more memory */
    int bf16_cache;    /* if nonzero, the decoder's keys and values are rounded to bf16 when they
                          are cached, which halves their memory and changes results slightly.
                          Results still do not depend on batching, the number of threads or the
                          instruction set. Recurrent states and the keys and values of monotonic
                          attention remain floats */
    /* BUILTIN, BF16 or BF16_TILES: how products with matrices of floats or bf16 are computed. On
       processors with vdpbf16ps (for BF16) or tdpbf16ps (for BF16_TILES), products of many rows are
       faster than with BUILTIN. Products of few rows are slower on every processor. */
    rapt_products products;
} rapt_limits;

/* The state of one run of a model. Only one thread at a time may use a session. Any number of
   sessions may share a model. */
typedef struct rapt_session rapt_session;
/* Returns the number of bytes that rapt_session_create allocates, or 0 if an argument is invalid or
   the number overflows. */
RAPT_API size_t rapt_session_bytes(const rapt_model *model, const rapt_limits *limits);
/* Creates a session, which the caller must free. The model is not copied and must outlive the
   session; limits are copied. Returns RAPT_BAD_ARGUMENT if a limit is out of range (*why names it),
   and RAPT_NO_MEMORY if an allocation fails. */
RAPT_API rapt_status rapt_session_create(rapt_session **session, const rapt_model *model,
                                         const rapt_limits *limits, const rapt_allocator *allocator,
                                         rapt_message *why);
/* Frees a session. NULL is allowed. */
RAPT_API void rapt_session_free(rapt_session *session);

/* Encodes source sequences, discards all targets and begins limits.beams new ones for each source.
   *encoder_output is set to the output of the encoder, [source tokens][width], which belongs to the
   session and is valid until the session's next call. encoder_output may be NULL.

   A decoder-only model has no source: set only source->batch, the number of targets to begin. Pass
   a prompt to rapt_decode, or to rapt_generate as a prefix.

   Returns RAPT_BAD_ARGUMENT if there are more sequences or tokens than the limits allow, a sequence
   is longer than config.positions, `starts` does not begin with 0 or decreases, a token is outside
   the vocabulary (*why names its index), or tokens are passed to a decoder-only model. */
RAPT_API rapt_status rapt_encode(rapt_session *session, const rapt_tokens *source,
                                 const float **encoder_output, rapt_message *why);
/* Runs an encoder-only model: encodes the source, pools the result if config.pooling is set, and
   computes logits with the output matrix. *logits is set to an array [source tokens][target_vocab],
   or [source sequences][target_vocab] if config.pooling is set. It belongs to the session and is
   valid until the session's next call. The pooled vector of an empty sequence is 0. Errors are the
   same as for rapt_encode. Also returns RAPT_BAD_ARGUMENT for other kinds of models, and if
   target_vocab is 0. */
RAPT_API rapt_status rapt_classify(rapt_session *session, const rapt_tokens *source,
                                   const float **logits, rapt_message *why);
/* Computes one vector per source sequence: encodes the source, as rapt_encode does, and pools the
   encoder's output. If the model has a decoder, also begins new targets. `pooling` replaces the
   configuration's pooling and must not be RAPT_POOLING_NONE. *embeddings is set to an array [source
   sequences][width]. It belongs to the session and is valid until the session's next call. The
   vector of an empty sequence is 0. Errors are the same as for rapt_encode. Also returns
   RAPT_BAD_ARGUMENT if the model is decoder-only or `pooling` is invalid. */
RAPT_API rapt_status rapt_embed(rapt_session *session, const rapt_tokens *source,
                                rapt_pooling pooling, const float **embeddings, rapt_message *why);
/* Appends tokens to the targets of the last rapt_encode (limits.beams targets for each source), and
   predicts the tokens that follow. The number of tokens for a target may be 0. *logits is set to an
   array [tokens][target_vocab]. It belongs to the session and is valid until the session's next
   call. logits may be NULL. The results of a call with n tokens are bit-identical to those of n
   calls with one token each. Returns RAPT_BAD_ARGUMENT if target->batch is not the number of
   targets, there are more tokens than the limits allow, a target becomes longer than
   limits.target_length, `starts` does not begin with 0 or decreases, or a token is outside the
   vocabulary. Also returns RAPT_BAD_ARGUMENT if the model has no decoder, or if neither rapt_encode
   nor rapt_embed has been called since the session was created or since the last rapt_generate or
   rapt_score_targets. */
RAPT_API rapt_status rapt_decode(rapt_session *session, const rapt_tokens *target,
                                 const float **logits, rapt_message *why);
/* Reorders targets, as a beam search does: the new target i continues the old target parents[i],
   which must belong to the same source. parents is [number of targets]. The attention weights of
   the last rapt_decode are lost. Returns RAPT_BAD_ARGUMENT if a parent is out of range or belongs
   to another source, or if the last call was rapt_generate or rapt_score_targets, whose targets
   cannot be continued. */
RAPT_API rapt_status rapt_session_reorder(rapt_session *session, const int *parents,
                                          rapt_message *why);

/* Copies the cross-attention weights of a layer and head for the tokens in the last rapt_decode. A
   layer or head of -1 means the mean over all layers or heads. weights is [tokens][source tokens];
   its rows are stored back to back, each as long as its own source. A row with at least one visible
   key sums to 1, except with differential attention, local-p, sink-softmax, sigmoid or talking
   heads. Returns RAPT_BAD_ARGUMENT if the model has no cross-attention, if the layer or head is out
   of range, or if rapt_session_reorder, rapt_generate or rapt_score_targets has been called since
   the last rapt_decode. */
RAPT_API rapt_status rapt_session_alignment(rapt_session *session, int layer, int head,
                                            float *weights, rapt_message *why);

/* The attention whose weights rapt_session_weights returns. There is one row per query; the rows of
   all sequences are stored back to back. */
typedef enum rapt_weights {
    RAPT_WEIGHTS_ENCODER, /* self-attention of the source tokens of the last rapt_encode; each row
                             is as long as its source */
    RAPT_WEIGHTS_DECODER, /* self-attention of the tokens in the last rapt_decode; each row is as
                             long as its target is now, and is 0 at tokens after its query */
    RAPT_WEIGHTS_CROSS    /* cross-attention of the tokens in the last rapt_decode, as returned
                             by rapt_session_alignment */
} rapt_weights;
/* Copies the attention weights of a layer and head. A layer or head of -1 means the mean over all
   layers or heads. weights is [queries][keys], with each row as long as its own sequence. With
   config.differential, the weights of a head are p - lambda p2, and with config.talking_heads they
   are mixed; in both cases they may be negative. With config.monotonic, cross-attention uses hard
   stops (monotonic_attention.h), so its weights are 0 after the token at which the head stopped.
   The weights are recomputed from the session's queries and keys, and are bit-identical to those
   from rapt_attention_weights. This takes one product of queries and keys per layer and head. With
   location-aware and coverage scores, the weights of all rows of the last call are recomputed; with
   talking heads, the weights of all heads are. Returns RAPT_BAD_ARGUMENT if self-attention is
   requested but limits.self_weights is 0, if the model does not have this attention, layer or head,
   or if weights of the last rapt_decode are requested after rapt_session_reorder, rapt_generate or
   rapt_score_targets. */
RAPT_API rapt_status rapt_session_weights(rapt_session *session, rapt_weights which, int layer,
                                          int head, float *weights, rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
