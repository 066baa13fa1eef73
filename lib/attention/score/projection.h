/* projection.h - y = x W' + b, with a W [out][in] and b [out] of each head. */
#ifndef RAPT_LIB_ATTENTION_PROJECTION_H
#define RAPT_LIB_ATTENTION_PROJECTION_H

#include "attention/problem.h"

struct score_block;
struct score_rows;

struct projection {
    int heads, in, out;
    const float *weight, *bias; /* [heads][out][in]; [heads][out] or NULL */
    float *dweight, *dbias;     /* their gradients, added to; NULL: not wanted */
};

/* Floats of the panels that hold the weights of a head, turned or not. */
size_t rapt__projection_panels(int in, int out);

/* W as panels, for y; turned: for the gradient of x. Shared out, ends at a barrier. */
void rapt__projection_pack(struct team *team, const struct projection *p, bool transposed,
                           float *panels);
/* A block: y = x W' + b, or dx += y W. Bits of a row depend on that row alone. */
void rapt__project(const struct projection *p, const float *panels, const struct score_block *b);
void rapt__project_back(const struct projection *p, const float *panels,
                        const struct score_block *b);
/* dweight += dy' x, dbias += sum of dy, over all rows in their order; r->y holds dy. A row with
   dy = 0 is not looked at: it may be hidden and hold NaN. */
void rapt__projection_gradient(struct team *team, const struct projection *p,
                               const struct score_rows *r);

#endif
