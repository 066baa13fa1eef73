/* sublayer.h - declarations shared by the files that implement stacks and blocks: the location of
   the queries, keys and values of an attention sublayer, its attention problem, and the steps that
   make up a sublayer. */
#ifndef RAPT_LIB_MODEL_SUBLAYER_H
#define RAPT_LIB_MODEL_SUBLAYER_H

#include "model/model.h"

#include <rapt/block.h>

/* The queries, keys and values of a sublayer, or their gradients. */
struct heads {
    float *q, *k, *v;              /* head 0 of row 0 */
    ptrdiff_t q_row, k_row, v_row; /* floats from one row to the next */
};
/* Locates queries, keys and values: all in q for self-attention; in q (queries) and kv (keys and
   values) for cross-attention. q and kv may be NULL. If `values` is not NULL, the values are there:
   with `differential`, each value twice; with latent_width, rows with the same stride as the
   keys. */
struct heads rapt__heads_at(const rapt_config *c, bool cross, float *q, float *kv, float *values);
/* Returns the inputs of attention: the projections in u, or u->latent_q and u->values if these
   exist. */
struct heads rapt__heads_of(const struct stack *s, bool cross, const struct sublayer *u);
const struct attention_offsets *rapt__offsets_of(const struct stack *s, int layer, bool cross);
/* attention_config.c: adapts an attention problem to training if p->learning is set. Sequences
   marked in p->expected use expected values instead of draws, and an annealed arg-max becomes a
   softmax. */
void rapt__attention_learning(rapt_attention *a, const struct pass *p);
/* Computes y = x W' + b for all rows, with a matrix of the layer. */
void rapt__sublayer_project(const struct exec_context *c, const struct step *s,
                            const struct linear_offsets *offset, const float *x, int rows,
                            float *y);
/* Propagates dy back through rapt__sublayer_project. Adds the gradients of W and b. Unless dx is
   NULL, sets dx to the gradient of x, or adds that gradient to dx if `add` is set. */
void rapt__sublayer_project_backward(const struct exec_context *c, const struct step *s,
                                     const struct linear_offsets *offset, const float *x,
                                     const float *dy, int rows, float *dx, bool add,
                                     float *gradients);
/* Returns the attention problem of a layer. The caller must set the fields that depend on the pass
   (see rapt__attention_of). */
rapt_attention rapt__attention_spec(const struct stack *s, int layer, bool cross, bool learning);

/* ---- heads.c: norms; without query_key_norm, these functions do nothing ---- */
/* Normalizes the queries of a sublayer and, in self-attention, its keys. */
void rapt__queries_normalize(const struct exec_context *c, const struct step *s, bool cross);
/* Normalizes the keys of cross-attention in u->kv. */
void rapt__source_keys_normalize(const struct exec_context *c, const struct stack *s, int layer,
                                 const struct sublayer *u, int rows);
/* Converts the gradients of the normalized queries and keys in the stack's dq and dkv, in place, to
   gradients of the queries and keys before the norms. Adds the gradients of the gains. */
void rapt__head_norms_backward(const struct exec_context *c, const struct step *s, bool cross,
                               float *gradients);

/* ---- heads.c: differential attention; without `differential`, these functions do nothing ---- */
/* Copies each value to u->values twice, from u->q in self-attention or from u->kv in
   cross-attention. */
void rapt__values_repeat(const struct exec_context *c, const struct stack *s, bool cross,
                         const struct sublayer *u, int rows);
/* Computes u->mixed from u->maps. */
void rapt__maps_subtract(const struct exec_context *c, const struct step *s, bool cross);
/* Computes the stack's dmaps from its dmixed (which is overwritten), clears its dvalues, and adds
   the gradients of the lambda vectors and of the norm. */
void rapt__maps_backward(const struct exec_context *c, const struct step *s, bool cross,
                         float *gradients);
/* Adds the stack's dvalues to the gradients of the values in its dq or dkv. */
void rapt__values_backward(const struct exec_context *c, const struct step *s, bool cross);

/* ---- latent.c: without latent_width, these functions do nothing ---- */
/* Normalizes the latent rows from which keys and values are computed, in u->q for self-attention or
   in u->kv for cross-attention. */
void rapt__latent_normalize(const struct exec_context *c, const struct stack *s, int layer,
                            bool cross, const struct sublayer *u, int rows);
/* Computes u->latent_q from u->q or, with latent_query_width, from u->queries, which it computes
   first. */
void rapt__latent_queries(const struct exec_context *c, const struct step *s, bool cross);
/* Computes u->mixed from u->maps. */
void rapt__latent_values(const struct exec_context *c, const struct step *s, bool cross);
/* Computes the stack's dmaps from its dmixed, clears its dvalues and dlatent_q, and adds the
   gradients of "value_up". */
void rapt__latent_values_backward(const struct exec_context *c, const struct step *s, bool cross,
                                  float *gradients);
/* Computes the gradients of the queries, in the stack's dq, from dlatent_q. Adds dvalues to the
   gradients of the latent rows in dq or dkv, and then propagates those gradients through the norm.
   Adds the gradients of the norms, "key_up" and "query_up". */
void rapt__latent_backward(const struct exec_context *c, const struct step *s, bool cross,
                           float *gradients);

/* ---- heads.c: output gates ---- */
/* Without output_gate, returns u->mixed. With it, computes and returns u->gated. */
const float *rapt__outputs_gate(const struct exec_context *c, const struct step *s, bool cross);
/* With output_gate, computes the stack's dmixed from its dgated, sets din to the gradient that
   passes through the gates (or adds it if `add` is set), and returns true, so that the caller adds
   later gradients to din. Adds the gradients of the gates' weights. Without output_gate, only
   returns `add`. */
bool rapt__outputs_gate_backward(const struct exec_context *c, const struct step *s, bool cross,
                                 float *din, bool add, float *gradients);

/* ---- heads.c: forget gates and decays; without them, these functions do nothing ---- */
/* Computes u->log_forget from the input of the sublayer. */
void rapt__forget_gates_forward(const struct exec_context *c, const struct step *s);
/* Propagates the stack's dforget, the gradient of u->log_forget, to the parameters of the gates
   and, as rapt__outputs_gate_backward does, to din. Overwrites dforget. Returns true, or `add` if
   there are no gates. */
bool rapt__forget_gates_backward(const struct exec_context *c, const struct step *s, float *din,
                                 bool add, float *gradients);

/* ---- positions.c ---- */
/* If the distance vectors of a layer are projections, computes them and stores them in `arrays`
   [rapt__distances_floats]. */
void rapt__distances_project(const struct exec_context *c, const struct stack *s, int layer,
                             float *arrays);
/* Makes to->distances point to the gradients of the parameters or, for projections, to the stack's
   ddistances, which it clears. */
void rapt__distances_gradients(const struct exec_context *c, const struct step *s, float *gradients,
                               rapt_gradients *to);
/* Propagates the stack's ddistances to the parameters. */
void rapt__distances_project_backward(const struct exec_context *c, const struct step *s,
                                      float *gradients);

/* ---- recurrence.c: rapt__sublayer_forward and _backward for linear attention ---- */
void rapt__linear_sublayer_forward(const struct exec_context *c, const struct step *s);
void rapt__linear_sublayer_backward(const struct exec_context *c, const struct step *s,
                                    const float *dy, float *din, bool add, float *gradients);

/* ---- monotonic.c: rapt__sublayer_forward and _backward, rapt__cross_append and
   rapt__decoder_weights for monotonic cross-attention ---- */
void rapt__monotonic_sublayer_forward(const struct exec_context *c, const struct step *s);
void rapt__monotonic_sublayer_backward(const struct exec_context *c, const struct step *s,
                                       const float *dy, float *din, bool add, float *dstates,
                                       float *gradients);
void rapt__monotonic_append(const struct exec_context *c, const struct stack *s, int layer,
                            const struct cache_state *state, const float *states, int rows,
                            const int *starts);
void rapt__monotonic_stop_weights(const struct stack *s, const struct rows *rows,
                                  const struct stack_caches *caches, int layer, int head,
                                  int sequence, int row, float share, float *weights);

/* ---- recurrence.c: rapt__sublayer_forward and _backward for the recurrent unit ---- */
void rapt__recurrent_forward(const struct exec_context *c, const struct step *s);
void rapt__recurrent_backward(const struct exec_context *c, const struct step *s, const float *dy,
                              float *din, bool add, float *gradients);

/* ---- cached.c ---- */
void rapt__attend_cached(const struct exec_context *c, const struct step *s, bool cross);

/* ---- block.c and block_memory.c ---- */

struct rapt_block {
    rapt_allocator allocator;
    rapt_block_kind kind;
    rapt_block_limits limits;
    rapt_model model; /* configuration, layout and tables derived from them; no parameters */
    enum part parts[3];
    int parts_count;
    bool decoder;                 /* with causal or cross-attention */
    bool alone;                   /* a single sublayer, without a residual sum or norm */
    bool learned;                 /* true if the last forward pass stored what backward needs */
    int batch, rows, source_rows; /* numbers of sequences and rows in that pass */
    struct drop drop;             /* dropout of that pass */
    struct arena arena;
    struct stack_memory memory;
    float *dsource; /* [source rows][D] */
    float *partial, *pack;
    void *attention_workspace;
};

bool rapt__block_reads_source(const rapt_block *block);
/* Returns true if the score of self-attention (or of cross-attention, if `cross`) learns a row for
   each key position. Sequences may then have at most config.positions keys. */
bool rapt__block_has_positions(const rapt_block *block, bool cross);
/* Returns RAPT_BAD_ARGUMENT unless parameters are aligned to 64 bytes. */
rapt_status rapt__block_aligned(const float *parameters, rapt_message *why);

#endif
