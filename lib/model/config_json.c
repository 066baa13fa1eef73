/* config_json.c - the configuration as a flat JSON object, the note "rapt.config" of a model
   file. One table serves reading, writing and comparing. */
#include "model/model.h"

#include <jansson.h>
#include <stddef.h>
#include <string.h>

enum { FORMAT_VERSION = 1 };

struct field {
    const char *name;
    size_t offset;
    const char *const *words; /* NULL: a number */
};

static const char *const kinds[] = {"encoder-decoder", "encoder-only", "decoder-only", NULL};
static const char *const scores[] = {"scaled-dot", "dot", NULL};
static const char *const norms[] = {"after", "before", NULL};
static const char *const activations[] = {"relu", "gelu", "silu", NULL};
static const char *const ties[] = {"none", "output", "all", NULL};
static const char *const positions[] = {"interleaved", "concatenated", "concatenated-n1",
                                        "learned",     "none",         NULL};

#define AT(name) offsetof(rapt_config, name)
/* clang-format off */
static const struct field fields[] = {
    {"kind",            AT(kind),            kinds},
    {"source_vocab",    AT(source_vocab),    NULL},
    {"target_vocab",    AT(target_vocab),    NULL},
    {"positions",       AT(positions),       NULL},
    {"width",           AT(width),           NULL},
    {"heads",           AT(heads),           NULL},
    {"key_heads",       AT(key_heads),       NULL},
    {"hidden",          AT(hidden),          NULL},
    {"encoder_layers",  AT(encoder_layers),  NULL},
    {"decoder_layers",  AT(decoder_layers),  NULL},
    {"self_score",      AT(self_score),      scores},
    {"cross_score",     AT(cross_score),     scores},
    {"norm",            AT(norm),            norms},
    {"activation",      AT(activation),      activations},
    {"position",        AT(position),        positions},
    {"tie",             AT(tie),             ties},
    {"output_bias",     AT(output_bias),     NULL},
    {"plain_embedding", AT(plain_embedding), NULL},
};
/* clang-format on */
enum { FIELDS = sizeof fields / sizeof *fields };
_Static_assert(sizeof(rapt_kind) == sizeof(int), "enumerations are read and written as int");

static int get(const rapt_config *c, const struct field *f)
{
    int value;
    memcpy(&value, (const char *)c + f->offset, sizeof value);
    return value;
}

static void set(rapt_config *c, const struct field *f, int value)
{
    memcpy((char *)c + f->offset, &value, sizeof value);
}

bool rapt__config_same(const rapt_config *a, const rapt_config *b)
{
    for (int i = 0; i < FIELDS; i++)
        if (get(a, &fields[i]) != get(b, &fields[i])) return false;
    return rapt__epsilon(a) == rapt__epsilon(b);
}

static json_t *to_json(const rapt_config *c)
{
    json_t *object = json_object();
    json_object_set_new(object, "version", json_integer(FORMAT_VERSION));
    for (int i = 0; i < FIELDS; i++) {
        int value = get(c, &fields[i]);
        json_object_set_new(object, fields[i].name,
                            fields[i].words ? json_string(fields[i].words[value])
                                            : json_integer(value));
    }
    json_object_set_new(object, "norm_epsilon", json_real((double)rapt__epsilon(c)));
    return object;
}

rapt_status rapt__config_write(const rapt_config *config, char *text, size_t capacity)
{
    json_t *object = to_json(config);
    size_t size = object ? json_dumpb(object, text, capacity - 1, JSON_COMPACT) : 0;
    bool whole = json_object_size(object) == FIELDS + 2;
    json_decref(object);
    if (!whole || size == 0 || size >= capacity) return RAPT_NO_MEMORY;
    text[size] = 0;
    return RAPT_OK;
}

/* The value of a field: a whole number, or the place of a word in its list; false: neither. */
static bool field_value(const struct field *f, const json_t *json, int *value)
{
    if (!f->words) {
        json_int_t number = json_integer_value(json);
        *value = (int)number;
        return json_is_integer(json) && number >= 0 && number <= INT32_MAX;
    }
    for (*value = 0; json_is_string(json) && f->words[*value]; ++*value)
        if (strcmp(f->words[*value], json_string_value(json)) == 0) return true;
    return false;
}

static rapt_status from_json(rapt_config *c, const json_t *object, rapt_message *why)
{
    const json_t *version = json_object_get(object, "version");
    if (!json_is_integer(version))
        return rapt__fail(why, RAPT_BAD_FILE, "rapt.config has no version number");
    if (json_integer_value(version) != FORMAT_VERSION)
        return rapt__fail(why, RAPT_BAD_FILE,
                          "the model is of version %lld, this library reads version %d",
                          (long long)json_integer_value(version), FORMAT_VERSION);
    for (int i = 0; i < FIELDS; i++) {
        int value;
        if (!field_value(&fields[i], json_object_get(object, fields[i].name), &value))
            return rapt__fail(why, RAPT_BAD_FILE, "rapt.config: %s is missing or wrong",
                              fields[i].name);
        set(c, &fields[i], value);
    }
    const json_t *epsilon = json_object_get(object, "norm_epsilon");
    if (!json_is_number(epsilon))
        return rapt__fail(why, RAPT_BAD_FILE, "rapt.config: norm_epsilon is missing or wrong");
    c->norm_epsilon = (float)json_number_value(epsilon);
    return RAPT_OK;
}

rapt_status rapt__config_read(rapt_config *config, const char *text, rapt_message *why)
{
    json_error_t error;
    rapt_config c = {0};
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!object) return rapt__fail(why, RAPT_BAD_FILE, "rapt.config: %s", error.text);
    rapt_status status = from_json(&c, object, why);
    json_decref(object);
    if (!status) status = rapt_config_check(&c, why);
    if (!status) *config = c;
    return status == RAPT_BAD_ARGUMENT ? RAPT_BAD_FILE : status;
}
