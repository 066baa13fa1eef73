/* config_fields.c - the table of rapt_config's fields, generated from model/config.def, and
   functions that need only that table: names of enumerators, access by index, defaults,
   equality. */
#include "model/model.h"

#include <stddef.h>
#include <string.h>

/* ---- the names of enumerators; NULL for unknown values ---- */

typedef const char *const words[];
#define WORD(value) ((unsigned)(value) < sizeof all / sizeof *all ? all[value] : NULL)

static const char *word_rapt_kind(int value)
{
    static words all = {"encoder-decoder", "encoder-only", "decoder-only"};
    return WORD(value);
}

static const char *word_rapt_norm_order(int value)
{
    static words all = {"post", "pre"};
    return WORD(value);
}

static const char *word_rapt_activation(int value)
{
    static words all = {"relu", "gelu", "silu", "gelu-tanh"};
    return WORD(value);
}

static const char *word_rapt_position(int value)
{
    static words all = {"interleaved", "concatenated", "concatenated-n1", "learned", "none"};
    return WORD(value);
}

static const char *word_rapt_tie(int value)
{
    static words all = {"none", "output", "all"};
    return WORD(value);
}

static const char *word_rapt_rotary(int value)
{
    static words all = {"none", "pairs", "halves"};
    return WORD(value);
}

static const char *word_rapt_rotary_scaling(int value)
{
    static words all = {"none", "linear", "ntk", "yarn"};
    return WORD(value);
}

static const char *word_rapt_relative_bias(int value)
{
    static words all = {"none",      "alibi", "alibi-learned",  "t5",
                        "shaw-keys", "shaw",  "transformer-xl", "deberta"};
    return WORD(value);
}

static const char *word_rapt_norm_type(int value)
{
    static words all = {"layer", "rms"};
    return WORD(value);
}

static const char *word_rapt_pooling(int value)
{
    static words all = {"none", "first", "mean"};
    return WORD(value);
}

static const char *word_rapt_decoder_start(int value)
{
    static words all = {"begin", "end", "pad", "zero", "unknown"};
    return WORD(value);
}

static const char *word_rapt_recurrence(int value)
{
    static words all = {"none", "ssru", "linear", "gated", "delta", "gated-delta"};
    return WORD(value);
}

static const char *word_rapt_output_gate(int value)
{
    static words all = {"none", "head", "element"};
    return WORD(value);
}

static const char *word_rapt_cross_monotonic(int value)
{
    return value == 0 ? "none" : rapt_monotonic_name((rapt_monotonic)(value - 1));
}

static const char *word_rapt_score(int value)
{
    return rapt_score_name((rapt_score)value);
}

static const char *word_rapt_locality(int value)
{
    return rapt_locality_name((rapt_locality)value);
}

static const char *word_rapt_normalizer(int value)
{
    return rapt_normalizer_name((rapt_normalizer)value);
}

/* ---- the table ---- */

#define word_int   NULL
#define word_float NULL

static const rapt_config_field fields[] = {
#define CONFIG_FIELD(ctype, name, type, file, min, max, zero, meaning)                             \
    {#name,  RAPT_FIELD_TYPE_##type, offsetof(rapt_config, name), min, max, zero, word_##ctype,    \
     meaning},
#include "model/config.def"
};

#define CONFIG_FIELD(ctype, name, ...)                                                             \
    _Static_assert(sizeof(ctype) == sizeof(int), #name ": read and written as 4 bytes");           \
    _Static_assert(_Generic(((rapt_config *)0)->name, ctype : 1, default : 0),                     \
                   #name ": its type");                                                            \
    _Static_assert(offsetof(rapt_config, name) == sizeof(size_t) + sizeof(int) * CONFIG_##name,    \
                   #name ": its place in rapt_config");
#include "model/config.def"
_Static_assert(sizeof fields / sizeof *fields == RAPT_CONFIG_FIELDS, "a row for each field");
_Static_assert(offsetof(rapt_config, reserved) == sizeof(size_t) + sizeof(int) * RAPT_CONFIG_FIELDS,
               "config.def has a row for each field");
_Static_assert(sizeof(rapt_config) ==
                   offsetof(rapt_config, reserved) + sizeof(((rapt_config *)0)->reserved),
               "rapt_config ends without padding");

const rapt_config_field *rapt_config_field_at(int index)
{
    return index >= 0 && index < RAPT_CONFIG_FIELDS ? &fields[index] : NULL;
}

int rapt__config_get(const rapt_config *c, int field)
{
    int value;
    memcpy(&value, (const char *)c + fields[field].offset, sizeof value);
    return value;
}

float rapt__config_get_float(const rapt_config *c, int field)
{
    float value;
    memcpy(&value, (const char *)c + fields[field].offset, sizeof value);
    return value;
}

void rapt__config_set(rapt_config *c, int field, const void *value)
{
    memcpy((char *)c + fields[field].offset, value, sizeof(int));
}

int rapt__config_int(const rapt_config *c, enum config_field field)
{
    int value = rapt__config_get(c, (int)field);
    return value ? value : (int)fields[field].zero;
}

float rapt__config_float(const rapt_config *c, enum config_field field)
{
    float value = rapt__config_get_float(c, (int)field);
    return value > 0 ? value : (float)fields[field].zero;
}

rapt_config rapt__config_filled(const rapt_config *c)
{
    rapt_config all = *c;
    for (int i = 0; i < RAPT_CONFIG_FIELDS; i++) {
        bool is_float = fields[i].type == RAPT_FIELD_TYPE_FLOAT;
        float real = (float)fields[i].zero;
        int whole = (int)fields[i].zero;
        if (is_float ? rapt__config_get_float(c, i) == 0 : rapt__config_get(c, i) == 0)
            rapt__config_set(&all, i, is_float ? (void *)&real : (void *)&whole);
    }
    return all;
}

bool rapt__config_same(const rapt_config *a, const rapt_config *b)
{
    const rapt_config x = rapt__config_filled(a), y = rapt__config_filled(b);
    for (int i = 0; i < RAPT_CONFIG_FIELDS; i++)
        if (rapt__config_get(&x, i) != rapt__config_get(&y, i)) return false;
    return true;
}
