/* prepare.h - from a problem to its core: prepared queries and keys, relative bias and centres,
   and what their gradients need, in scratch. */
#ifndef RAPT_LIB_ATTENTION_PREPARE_H
#define RAPT_LIB_ATTENTION_PREPARE_H

#include "attention/score.h"

struct prepared {
    const rapt_attention *a;
    const struct score *score;
    const rapt_gradients *d;                          /* backward */
    struct core core;                                 /* what is left to do */
    struct score_rows queries, keys;                  /* as given, and q', k' if those are others */
    float *query_panels, *key_panels, *centre_panels; /* weights as the products read them */
    double *frequencies;                              /* of rotary positions */
    float *relative, *centres, *hidden;               /* see core; hidden: of the centres */
    float *dqueries, *dkeys, *drelative, *dcentres;   /* backward: gradients of what is prepared */
    void *rest;                                       /* scratch of the core */
};

/* Places everything in scratch (NULL: only counts) and returns how many floats that takes in
 *floats; false: more than fits. */
bool rapt__prepared_layout(const struct bounds *b, float *scratch, struct prepared *p,
                           size_t *floats);

/* Fills p and what it points to, for all or for one sequence and head. Called by all members,
   each with a p of its own. */
void rapt__prepare(struct team *team, const rapt_attention *a, const float *q, const float *k,
                   struct score_choice only, void *scratch, struct prepared *p);
/* Where the core is to add gradients: to the caller's, or to those of prepared rows, as 0. */
struct core_gradients rapt__prepare_backward(struct team *team, struct prepared *p,
                                             const rapt_gradients *d);
/* From those of prepared rows to the caller's. */
void rapt__finish(struct team *team, struct prepared *p);

#endif
