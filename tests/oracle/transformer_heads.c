/* transformer_heads.c - what changes the queries, keys or outputs of the heads of attention row by
   row, in double. */
#include "transformer_layers.h"

#include <math.h>
#include <stddef.h>

/* Henry et al. 2020, section 3, normalize queries and keys. The norm is that of Zhang and Sennrich
   2019, equation 4: x_i becomes x_i g_i / sqrt(mean of x^2 + epsilon). */
void oracle_norm_heads(const rapt_config *c, const double *gain, int heads, int row, int rows,
                       double *x)
{
    int K = oracle_head_width(c);
    double epsilon = c->norm_epsilon > 0 ? (double)c->norm_epsilon : 1e-5;
    for (int r = 0; r < rows && gain; r++)
        for (int h = 0; h < heads; h++) {
            double *head = x + (ptrdiff_t)r * row + h * K, mean = 0;
            for (int i = 0; i < K; i++) mean += head[i] * head[i] / K;
            for (int i = 0; i < K; i++) head[i] *= gain[i] / sqrt(mean + epsilon);
        }
}
