/* attend.h - attention of a few queries to a few keys by rapt_attention_forward. */
#ifndef LESSONS_ATTEND_H
#define LESSONS_ATTEND_H

#include <rapt/attention.h>

/* Softmax attention with the score `scale` q . k (0: 1 / sqrt(width)). q [queries][width], k
   [keys][width], v [keys][value_width]; out [queries][value_width], weights [queries][keys], NULL
   if not wanted. Ends the program if the library refuses. */
struct attended {
    int queries, keys, width, value_width;
    float scale;
    const float *q, *k, *v;
};
void attend(const struct attended *a, float *out, float *weights);

#endif
