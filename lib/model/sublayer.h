/* sublayer.h - attention sublayers: where their queries, keys and values lie, and their problem;
   what the files of a stack share. */
#ifndef RAPT_LIB_MODEL_SUBLAYER_H
#define RAPT_LIB_MODEL_SUBLAYER_H

#include "model/model.h"

/* Where queries, keys and values of a sublayer lie. */
struct heads {
    float *q, *k, *v; /* values or gradients */
    ptrdiff_t q_row, k_row;
};
/* kv: of cross-attention; may be NULL. */
struct heads rapt__heads_at(const rapt_config *c, bool cross, float *q, float *kv);
const struct attention_offsets *rapt__offsets_of(const struct stack *s, int layer, bool cross);
/* What training does to the problem of a sublayer: expected values for draws, a softmax for the
   arg-max. attention_config.c */
void rapt__attention_learning(rapt_attention *a, const struct pass *p);
/* The problem of a layer, all but the rows. */
rapt_attention rapt__attention_spec(const struct stack *s, int layer, bool cross, bool learning);

/* ---- recurrent.c: forward and backward as those of rapt__sublayer_forward and _backward ---- */
void rapt__recurrent_forward(const struct exec_context *c, const struct step *s);
void rapt__recurrent_backward(const struct exec_context *c, const struct step *s, const float *dy,
                              float *din, bool add, float *gradients);

/* ---- cached.c ---- */
void rapt__attend_cached(const struct exec_context *c, const struct step *s, bool cross);

#endif
