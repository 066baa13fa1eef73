/* dot.c - the dot product, x = q . k (Luong, Pham and Manning 2015, section 3.1), and the scaled
   one, q . k / sqrt(K) (Vaswani et al. 2017, section 3.2.1): q' = q, k' = k. */
#include "attention/score/score.h"

const struct score rapt__score_scaled_dot = {
    .name = "scaled-dot", .scaled = true, .width = rapt__key_width};
const struct score rapt__score_dot = {.name = "dot", .width = rapt__key_width};
