/* initial.c - fills a block of parameters with their initial values.

   Matrices: uniform in +-sqrt(6 / (in + out)) (Glorot and Bengio 2010, eq. 16); the packed
   projections of attention with the deviation over sqrt 2, as if each D x D part were drawn
   with gain 1/sqrt 2. Tables: normal with deviation width^-1/2, so that after the factor
   sqrt(width) a token has unit variance. The arrays of
   scores and localities are drawn like a table, so that scores start about as large as scaled dot
   products. Inverse temperatures of cosines start at 8, slopes at those of ALiBi. Each number is a
   function of seed, parameter and element only. */
#include "model/model.h"

#include <math.h>

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
