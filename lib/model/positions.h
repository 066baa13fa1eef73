/* positions.h - sinusoids, slopes and distance vectors; part of the interface of the model layer
   (model.h). */
#ifndef RAPT_LIB_MODEL_POSITIONS_H
#define RAPT_LIB_MODEL_POSITIONS_H

#include "base/base.h"

#include <rapt/transformer.h>

/* ---- position.c ---- */
double rapt__slope(int heads, int head); /* ALiBi slope of a head, counted from 0 */
/* Fills table [positions][width] with the sinusoids of positions first_position, first_position +
   1, ... */
void rapt__positions_fill(const rapt_config *config, float *table);

/* ---- distances.c: distance vectors, if relative_bias has them ---- */
int rapt__distances_before(const rapt_config *c); /* before and after of rapt_distances */
int rapt__distances_after(const rapt_config *c, bool decoder);
int rapt__distances_rows(const rapt_config *c, bool decoder); /* number of vectors; 0 if none */
size_t rapt__distances_floats(const rapt_config *c, bool decoder); /* of a layer's vectors */
size_t rapt__distances_sinusoids(const rapt_config *c); /* number of floats of model->distances */
void rapt__distances_sinusoids_fill(const rapt_config *c, float *to); /* to may be NULL */
/* Return the number of elements of model->distance_buckets, and fill it. A decoder uses only the
   first ones, up to distance 0. */
size_t rapt__distances_buckets(const rapt_config *c);
void rapt__distances_buckets_fill(const rapt_config *c, int *to); /* to may be NULL */
/* If the vectors are projections, sets a->distances to those in `arrays`
   [rapt__distances_floats]. */
void rapt__distances_use(const rapt_config *c, bool decoder, const float *arrays,
                         rapt_attention *a);

#endif
