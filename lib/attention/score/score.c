/* score.c - two tables: the scores (scores.def), with their properties and scales, and the learned
   arrays of scores, localities and normalizers (attention/learned.def), with their shapes. */
#include "attention/score/score.h"

#include <math.h>

static const struct score *const scores[RAPT_SCORE_COUNT] = {
#define SCORE(enumerator, name) [enumerator] = &rapt__score_##name,
#include "attention/score/scores.def"
};

const char *rapt_score_name(rapt_score score)
{
    return (unsigned)score < RAPT_SCORE_COUNT ? scores[score]->name : NULL;
}

const struct score_choice rapt__all_rows = {-1, -1};

const struct score *rapt__score(rapt_score score)
{
    return scores[score];
}

bool rapt__score_is_additive(rapt_score score)
{
    return rapt__score(score)->additive;
}

bool rapt__score_is_plain(rapt_score score)
{
    const struct score *s = scores[score];
    const struct score_side *q = &s->queries, *k = &s->keys;
    return !s->additive && !q->weights && !q->rows && !k->weights && !k->rows;
}

bool rapt__score_has_positions(rapt_score score)
{
    return (unsigned)score < RAPT_SCORE_COUNT && scores[score]->keyless;
}

bool rapt__score_recurrent(const rapt_attention *a)
{
    return scores[a->score]->features;
}

bool rapt__score_has_coverage(rapt_score score)
{
    static const rapt_attention none;
    const struct score *s = rapt__score(score);
    return s->features && s->features(&none, NULL).summed;
}

float rapt__score_scale(rapt_score score, float scale, int key_width)
{
    if (scores[score]->scaleless) return 1;
    if (scale != 0) return scale;
    return scores[score]->scaled ? (float)(1 / sqrt((double)key_width)) : 1;
}

/* ---- learned arrays: their shapes, and which of them a problem reads or requires ---- */

#define BY(kind) (1u << (kind))
static const struct {
    const char *name;
    unsigned scores, localities, normalizers;
    enum { REQUIRED, OPTIONAL } need;
    enum learned_gradient gradient;
} learned_arrays[RAPT_ATTENTION_PARAMETER_COUNT] = {
#define ATTENTION_PARAMETER(enumerator, name, scores, localities, normalizers, need, gradient,     \
                            rows, columns, initial)                                                \
    [enumerator] = {name, scores, localities, normalizers, need, LEARNED_FROM_##gradient},
#include "attention/learned.def"
};

_Static_assert((int)RAPT_ATTENTION_PARAMETER_COUNT <= (int)RAPT_ATTENTION_PARAMETER_CAPACITY,
               "the public structs have room for all arrays");

const char *rapt_attention_parameter_name(rapt_attention_parameter array)
{
    return (unsigned)array < RAPT_ATTENTION_PARAMETER_COUNT ? learned_arrays[array].name : NULL;
}

bool rapt__learned_read(const rapt_attention *a, int i)
{
    return (learned_arrays[i].scores & BY(a->score)) ||
           (learned_arrays[i].localities & BY(a->locality)) ||
           (learned_arrays[i].normalizers & BY(a->normalizer));
}

bool rapt__learned_missing(const rapt_attention *a, int i)
{
    return rapt__learned_read(a, i) && learned_arrays[i].need == REQUIRED &&
           !a->parameters.array[i] && rapt__learned_shape(a, i).rows > 0;
}

bool rapt__learned_wanted(const rapt_gradients *d, enum learned_gradient from)
{
    for (int i = 0; i < RAPT_ATTENTION_PARAMETER_COUNT; i++)
        if (learned_arrays[i].gradient == from && d->parameters[i]) return true;
    return false;
}

struct learned_shape rapt__learned_shape(const rapt_attention *a, int i)
{
    const rapt_attention_parameters *l = &a->parameters;
    const int64_t H = a->heads, G = rapt__key_heads_of(a), Q = rapt__query_width(a),
                  K = a->key_width, W = rapt__score(a->score)->width(a), hidden = l->hidden,
                  positions = l->positions, channels = l->channels, filter_width = l->filter_width,
                  center_hidden = l->center_hidden;
    const struct learned_shape shapes[] = {
#define ATTENTION_PARAMETER(enumerator, name, scores, localities, normalizers, need, gradient,     \
                            rows, columns, initial)                                                \
    [enumerator] = {rows, columns},
#include "attention/learned.def"
    };
    return shapes[i];
}
