/* transform.h - from a problem to its core: prepared queries and keys, relative bias and centers,
   and what their gradients need, in scratch. */
#ifndef RAPT_LIB_ATTENTION_PREPARE_H
#define RAPT_LIB_ATTENTION_PREPARE_H

#include "attention/score/score.h"

struct transformed {
    const rapt_attention *a;
    const struct score *score;
    const rapt_gradients *d;                          /* backward */
    struct projected projected;                       /* what is left to do */
    struct score_rows queries, keys;                  /* as given, and q', k' if those are others */
    float *query_panels, *key_panels, *center_panels; /* weights as the products read them */
    double *frequencies;                              /* of rotary positions */
    float *relative, *centers, *hidden;               /* see core; hidden: of the centers */
    float *dqueries, *dkeys, *drelative, *dcentres;   /* backward: gradients of what is prepared */
    void *rest;                                       /* scratch of the core */
};

/* Places everything in scratch (NULL: only counts) and returns how many floats that takes in
 *floats; false: more than fits. */
bool rapt__transformed_layout(const struct bounds *b, float *workspace, struct transformed *p,
                              size_t *floats);

/* Fills p and what it points to, for all or for one sequence and head. Called by all members,
   each with a p of its own. */
void rapt__transform(struct team *team, const rapt_attention *a, const float *q, const float *k,
                     struct score_choice only, void *workspace, struct transformed *p);
/* Where the core is to add gradients: to the caller's, or to those of prepared rows, as 0. */
struct projected_gradients rapt__transform_backward(struct team *team, struct transformed *p,
                                                    const rapt_gradients *d);
/* From those of prepared rows to the caller's. */
void rapt__finish(struct team *team, struct transformed *p);

#endif
