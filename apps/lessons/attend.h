/* attend.h - attention of a few queries over a few keys by rapt_attention_forward, as lessons use
   it. */
#ifndef LESSONS_ATTEND_H
#define LESSONS_ATTEND_H

#include <rapt/attention.h>

/* Dot products times `scale` (0: 1 / sqrt(width)), softmax. q [queries][width], k [keys][width],
   v [keys][value_width]; out [queries][value_width], weights [queries][keys], NULL: not wanted.
   Exits if the library refuses. */
struct attended {
    int queries, keys, width, value_width;
    float scale;
    const float *q, *k, *v;
};
void attend(const struct attended *a, float *out, float *weights);

#endif
