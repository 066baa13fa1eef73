/* projected.h - attention of projected queries and keys. A score turns rows of q and k into q' and
   k' such that one of two things is left to do:

       x[t][s] = scale q'[t].k'[s]                    all scores of the dot family
       x[t][s] = vector . tanh(q'[t] + k'[s] + L f)   additive; location-aware with L f

   then soft cap, bias, relative bias and masks, the normalizer, and the sum of values: by the flash
   path (flash/flash.h) for a softmax of dot products, else by the general path
   (general/general.h), one query at a time. */
#ifndef RAPT_LIB_ATTENTION_PROJECTED_H
#define RAPT_LIB_ATTENTION_PROJECTED_H

#include "attention/problem.h"

struct projected {
    const rapt_attention *a;         /* rows, masks, locality, normalizer, dropout, v and out */
    const float *q, *k;              /* q', k': heads as in a; NULL k': only if there are no keys */
    rapt_stride q_stride, k_stride;  /* used as a's are, batch strides not where starts are given */
    int width;                       /* floats of a row of q' and k' */
    float scale;                     /* of the dot product */
    bool additive;                   /* else a dot product */
    bool recurrent;                  /* additive with L f: reads the weights of the query before */
    const float *vector;             /* [H][width]: additive */
    const float *relative;           /* [H][relative_row]: added to x[t][s] from element */
    int relative_row, relative_zero; /*   s - position + relative_zero; NULL: none */
    const float *centers;            /* [H][query rows]: of local-p; NULL: not local-p */
    int *chosen; /* [H][query rows]: forward writes it, backward and weights read it; NULL: the
                    normalizer is not hard */
    const float *reward, *baseline; /* [H][query rows]: backward of sampled keys; NULL: 0 */
    float entropy;                  /* backward of sampled keys: weight of the entropy of p */
    const struct guide *guide;      /* backward, by the general path; NULL: none */
};

/* Added to, in the layout of what they belong to; NULL: not wanted. */
struct projected_gradients {
    float *q, *k, *v, *bias, *vector, *relative, *centers, *filters, *feature_weight;
};

/* Sizes of a problem, by which workspaces are laid out; of several problems, the maxima. */
struct bounds {
    const rapt_attention *a; /* which biases and masks there are */
    size_t heads, key_heads;
    size_t width, value_width; /* of projected queries and keys; of values */
    bool additive;
    size_t channels, filter_width; /* of a recurrent score; 0: it is none */
    size_t batch;
    size_t query_rows, key_rows;          /* of all sequences */
    size_t max_queries, max_keys;         /* of one, as the problem says */
    size_t longest_queries, longest_keys; /* of one, as they are */
    size_t team;                          /* members */
};

/* ---- problem.c ---- */
struct bounds rapt__bounds(const struct projected *c, int team_size);

/* ---- relative_sums.c: the sums that problem.h describes; NULL: there is no relative bias ---- */
float *rapt__relative_sums_layout(struct arena *arena, const struct bounds *b);

/* ---- mask.c ---- */
/* The relative bias of query t of head h: element s is that of key s. */
const float *rapt__relative_row(const struct projected *c, const struct sequence *b, int h, int t);

#endif
