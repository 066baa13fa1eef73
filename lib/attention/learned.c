/* learned.c - the list of learned arrays of scores, localities and normalizers
   (attention/learned.def) as a table: which arrays a problem reads, which of them it requires, and
   their shapes. */
#include "attention/score/score.h"

#define BY(kind) (1u << (kind))
static const struct {
    const char *name;
    unsigned scores, localities, normalizers;
    enum { REQUIRED, OPTIONAL } need;
    enum learned_gradient gradient;
} table[RAPT_ATTENTION_PARAMETER_COUNT] = {
#define ATTENTION_PARAMETER(enumerator, name, scores, localities, normalizers, need, gradient,     \
                            rows, columns, initial)                                                \
    [enumerator] = {name, scores, localities, normalizers, need, LEARNED_FROM_##gradient},
#include "attention/learned.def"
};

_Static_assert((int)RAPT_ATTENTION_PARAMETER_COUNT <= (int)RAPT_ATTENTION_PARAMETER_CAPACITY,
               "the public structs have room for all arrays");

const char *rapt_attention_parameter_name(rapt_attention_parameter array)
{
    return (unsigned)array < RAPT_ATTENTION_PARAMETER_COUNT ? table[array].name : NULL;
}

bool rapt__learned_read(const rapt_attention *a, int i)
{
    return (table[i].scores & BY(a->score)) || (table[i].localities & BY(a->locality)) ||
           (table[i].normalizers & BY(a->normalizer));
}

bool rapt__learned_missing(const rapt_attention *a, int i)
{
    return rapt__learned_read(a, i) && table[i].need == REQUIRED && !a->parameters.array[i] &&
           rapt__learned_shape(a, i).rows > 0;
}

bool rapt__learned_wanted(const rapt_gradients *d, enum learned_gradient from)
{
    for (int i = 0; i < RAPT_ATTENTION_PARAMETER_COUNT; i++)
        if (table[i].gradient == from && d->parameters[i]) return true;
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
