/* layout.h - where each parameter is stored in a block of floats, the heads and layer parts on
   which that depends, and access to parameters; part of the interface of the model layer
   (model.h). */
#ifndef RAPT_LIB_MODEL_LAYOUT_H
#define RAPT_LIB_MODEL_LAYOUT_H

#include "attention/attention.h"
#include <rapt/transformer.h>

/* IN_PANELS: panels of floats. IN_ROWS: floats, row by row. IN_BYTES: panels of bytes, followed by
   one scale per row (kernel/int8.h). IN_BF16, IN_F16: panels of 16-bit floats (kernel/half.h). */
enum layout_kind { IN_PANELS, IN_ROWS, IN_BYTES, IN_BF16, IN_F16 };

static inline bool rapt__in_halves(enum layout_kind kind)
{
    return kind == IN_BF16 || kind == IN_F16;
}

/* ---- parameters.c: the location of each parameter in a block of floats ----
   Offsets are in floats, so the same layout serves weights, gradients and moments. Offset 0 means
   that the model does not have the array, except for the first parameter, which is a table or
   `source`. */
struct linear_offsets {
    size_t weight, bias; /* [out][in] in panels, and [out] */
    int in, out;
    bool fine; /* in 8-bit arithmetic, each input is quantized as the sum of two 8-bit terms */
};
struct norm_offsets {
    size_t gain, bias; /* [D] each unless stated otherwise; RMSNorm has no bias */
};
struct score_offsets { /* learned arrays of the score, locality, normalizer and talking heads */
    size_t array[RAPT_ATTENTION_PARAMETER_COUNT];
    size_t talking_scores, talking_weights; /* [heads][heads] */
};
struct attention_offsets {       /* rows of qkv: queries, keys, values (struct head_rows) */
    struct linear_offsets qkv;   /* self-attention */
    struct linear_offsets q, kv; /* cross-attention */
    struct linear_offsets out;
    struct linear_offsets key_up, value_up; /* with latent_width, without bias */
    struct norm_offsets latent_norm;        /* with latent_width: gain [latent_width] */
    struct linear_offsets query_up;         /* with latent_query_width, without bias */
    struct norm_offsets latent_query_norm;  /* with latent_query_width: gain of that width */
    struct linear_offsets gate;             /* with output_gate; has no bias */
    struct linear_offsets forget; /* for forget gates, or for the decays of linear attention */
    struct linear_offsets rate;   /* for the delta rule; has no bias */
    struct norm_offsets norm;
    struct norm_offsets query_norm, key_norm; /* with query_key_norm: gains [width of a map] */
    size_t differential;                      /* [4][width of a map] lambda vectors; 0 if none */
    struct norm_offsets differential_norm;    /* gain [K] */
    struct norm_offsets output_norm;          /* for linear attention: gain [K] */
    struct score_offsets score;
    size_t distance_keys, distance_values; /* keys [distances][width of a map] with relative_bias
                                              shaw-keys or shaw; values [distances][K] with shaw */
    struct linear_offsets distance_key, distance_query; /* with deberta; distance_key also with
                                                           transformer-xl; no biases */
    size_t content_bias, position_bias;                 /* transformer-xl: [maps][width of a map] */
    size_t monotonic_offset;                            /* monotonic cross-attention: [heads] */
};
struct recurrent_offsets { /* decoder's recurrent unit, which replaces self-attention */
    struct linear_offsets input, forget; /* `input` has no bias */
    struct norm_offsets norm;
};
struct feedforward_offsets {
    struct linear_offsets in, out; /* if gated, `in` has 2F rows; the F rows whose outputs pass
                                      through the activation come first */
    struct norm_offsets norm;
};
struct layer_offsets {
    struct attention_offsets self, cross; /* `self` may be linear attention; `cross` exists only in
                                             the decoder of an encoder-decoder */
    struct recurrent_offsets recurrent;   /* takes the place of `self` in a decoder with SSRU */
    struct feedforward_offsets feedforward;
};
struct stack_offsets {       /* encoder or decoder */
    size_t table, positions; /* [vocab][D] in panels; [positions][D] in rows, only with learned
                                positions */
    size_t types;            /* [token_types][D] in rows; 0 if there are no types */
    /* replaces the table in an encoder that reads vectors; otherwise its `in` is 0 */
    struct linear_offsets source;
    size_t distances; /* with relative_bias deberta: [distances][D] in rows; otherwise 0 */
    size_t
        relative; /* learned relative biases: table [maps][buckets] or slopes [maps]; 0 if none */
    struct layer_offsets *layers;
    int count;
    struct norm_offsets embedded; /* with embedding_norm only: norm after the embedding */
    struct norm_offsets last;     /* pre-norm only: norm after the last layer */
};
struct layout {
    struct stack_offsets encoder, decoder;
    struct linear_offsets pooler; /* see model.h; its `in` is 0 if there is no pooler */
    struct linear_offsets output; /* projection to logits; weight may be one of the tables */
    struct parameter *parameters;
    int count;
    size_t floats;             /* size of the whole block; SIZE_MAX if it overflows */
    enum layout_kind matrices; /* how parameters that are IN_PANELS in parameters.def are stored */
};

enum initial {
    INITIAL_ZERO,
    INITIAL_ONE,
    INITIAL_XAVIER,
    INITIAL_ATTENTION,
    INITIAL_TABLE,
    INITIAL_SLOPES,
    INITIAL_INVERSE_TEMPERATURE,
    INITIAL_SIGMOID_BIAS,
    INITIAL_LAMBDA,
    INITIAL_DECAYS,
    INITIAL_IDENTITY,
    INITIAL_STOP_OFFSET
};
struct parameter {
    char name[64];
    int rows, columns;
    enum layout_kind kind;
    enum initial initial;
    size_t offset;
};

/* The parts of a layer, in the order in which a layer runs them. */
enum part { PART_SELF, PART_LINEAR, PART_RECURRENT, PART_CROSS, PART_FEEDFORWARD, PARTS };
struct layer_parts {
    bool has[PARTS];
    bool alone; /* a single part without its norm, for a rapt_block */
};

/* stack_layout.c: lists the parts of a layer in order and returns how many there are. */
int rapt__parts_of(const rapt_config *c, bool decoder, enum part parts[3]);

/* ---- config.c: the heads of an attention sublayer ---- */
/* A map is an attention map, that is, one set of attention weights. A head has one map or, with
   `differential`, two. Return the number of maps, the number of keys per token (several maps may
   share a key), and the width of a map's queries and keys. */
int rapt__maps(const rapt_config *config);
int rapt__key_maps(const rapt_config *config);
int rapt__map_width(const rapt_config *config);
/* Numbers of floats in a token's queries, keys and values. */
struct head_rows {
    int q, k, v;
};
/* K is the width of a head. Without latent_width, q is heads * K, and k and v are key_heads * K.
   With latent_width, q is heads * (P + K), or latent_query_width if that is set; k is P +
   latent_width; and v is 0, since the latent row is also the value. In monotonic cross-attention
   with a softmax, q and v are twice as large: the queries of the softmax follow the others in q,
   and the keys of the softmax follow the values in v. */
struct head_rows rapt__head_rows(const rapt_config *c, bool cross);
/* Returns heads * (P + K), the number of floats in a token's queries with latent_width. */
int rapt__latent_queries_row(const rapt_config *c, bool cross);
/* Returns P, the number of rotated floats at the beginning of each query and, in the key, before
   the latent row. P is 0 without latent_width, without rotary embeddings, or in cross-attention. */
int rapt__latent_rotary(const rapt_config *c, bool cross);

/* Makes the layout of a model's parameters, with its arrays in an arena. If the arena only counts
   (lib/base/base.h), the arrays are NULL. `matrices` is as in struct layout. */
void rapt__layout_make(struct layout *layout, const rapt_config *config, enum layout_kind matrices,
                       struct arena *arena);
/* Does the same for a single layer, without an embedding, last norm or output. */
void rapt__layer_layout_make(struct layout *layout, const rapt_config *config, bool decoder,
                             const struct layer_parts *parts, struct arena *arena);
size_t rapt__parameter_count(const struct parameter *p); /* rows * columns */
/* Returns the number of floats that a parameter takes up in the block, padded to whole vectors, or
   SIZE_MAX if it overflows. */
size_t rapt__parameter_floats(const struct parameter *p);
/* Returns a parameter as a matrix in a block, without a bias. All pointers are NULL if the
   parameter is IN_ROWS. */
struct linear rapt__parameter_matrix(const struct parameter *p, const float *block);
/* Copy elements [first, first + count) of a parameter, counted in row-major order, from a block to
   data, or from data to a block. Elements that are not floats in the block are converted.
   rapt__parameter_set does not support IN_BYTES. */
void rapt__parameter_get(const struct parameter *p, const float *block, size_t first, size_t count,
                         float *data);
void rapt__parameter_set(const struct parameter *p, float *block, size_t first, size_t count,
                         const float *data);
/* Sets rows [first, first + count) of a parameter of any kind from data [count][columns]. `factors`
   [count] and `scratch` are used only for IN_BYTES, where they are passed to
   rapt__int8_set_rows. */
void rapt__parameter_set_rows(const struct parameter *p, float *block, int first, int count,
                              const float *data, const float *factors, float *scratch);
/* Sets rows of an IN_BYTES parameter with rapt__int8_set_integers, and returns its result. */
bool rapt__parameter_set_integers(const struct parameter *p, float *block, int first, int count,
                                  const int8_t *rows, const float *factors);
struct row_sizes { /* maxima over the parameters of a layout */
    size_t rows, columns;
    size_t scratch; /* floats that rapt__parameter_set_rows needs; 0 if no parameter is IN_BYTES */
};
struct row_sizes rapt__row_sizes(const struct layout *layout);
int rapt__ffn_rows(const rapt_config *c); /* rows of a feed-forward layer's first matrix */
/* Sets all parameters to their initial values. Leaves padding unchanged. */
void rapt__parameters_init(const struct layout *layout, uint64_t seed, float *block);

#endif
