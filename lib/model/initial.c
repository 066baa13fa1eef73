/* initial.c - fills a block of parameters with their initial values.

   Matrices are uniform in +-sqrt(6 / (in + out)) (Glorot and Bengio 2010, eq. 16). The packed
   projections of attention are drawn as if each D x D part were a matrix of its own, with gain
   1/sqrt 2. Tables are normal with standard deviation columns^-1/2, so that the elements of an
   embedding have unit variance after multiplication by sqrt(width). Matrices, vectors and filters
   of scores and localities are drawn like tables, which makes scores initially about as large as
   scaled dot products. Inverse temperatures of cosines start at 8, the parameters of sinks and of
   entmax at 0, and learned slopes at those of ALiBi. Biases of sigmoids start at -log 32, which
   makes the weights of 32 tokens sum to about 1. The vectors of lambda are normal with standard
   deviation 0.1 (Ye et al. 2024). The biases of decays of linear attention correspond to decays
   between 31/32 and 511/512, those of retention (Sun et al. 2023). The matrices of talking heads
   start as the identity, so that heads are initially independent. Offsets of monotonic attention
   start at -2, as in fairseq, so that with energy 0 a head reads on with probability 0.88. Each
   number depends only on the seed and on the indices of the parameter and the element. */
#include "model/model.h"

#include <math.h>

/* Returns the bias whose sigmoid is 1 - p, where p runs from 1/32 to 1/512 in equal ratios. */
static double initial_decay(int heads, int head)
{
    double p = rapt__exp(-rapt__log(32) - rapt__log(16) * head / (heads > 1 ? heads - 1 : 1));
    return rapt__log(1 / p - 1);
}

static double initial_draw(enum initial initial, const struct parameter *p, uint64_t key,
                           uint64_t index)
{
    double in = p->columns, out = p->rows;
    switch (initial) {
    case INITIAL_ZERO:
        return 0;
    case INITIAL_ONE:
        return 1;
    case INITIAL_XAVIER:
        return (2 * rapt__uniform(key, index) - 1) * sqrt(6 / (in + out));
    case INITIAL_ATTENTION:
        return (2 * rapt__uniform(key, index) - 1) * sqrt(1.5 / in);
    case INITIAL_INVERSE_TEMPERATURE:
        return 8;
    case INITIAL_SIGMOID_BIAS:
        return -rapt__log(32);
    case INITIAL_IDENTITY:
        return index / (size_t)p->columns == index % (size_t)p->columns;
    case INITIAL_LAMBDA:
        return rapt__normal(key, index) * 0.1;
    case INITIAL_DECAYS:
        return initial_decay(p->columns, (int)index);
    case INITIAL_STOP_OFFSET:
        return -2;
    case INITIAL_SLOPES:
        return rapt__slope(p->columns, (int)index);
    case INITIAL_TABLE:
        return rapt__normal(key, index) / sqrt(in);
    }
    return 0;
}

void rapt__parameters_init(const struct layout *layout, uint64_t seed, float *block)
{
    for (int i = 0; i < layout->count; i++) {
        const struct parameter *p = &layout->parameters[i];
        uint64_t key = rapt__mix(seed, (uint64_t)i);
        size_t count = rapt__parameter_count(p);
        for (size_t j = 0; j < count; j++) {
            float value = (float)initial_draw(p->initial, p, key, j);
            rapt__parameter_set(p, block, j, 1, &value);
        }
    }
}
