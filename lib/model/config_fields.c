/* config_fields.c - the names of enumerators; the table of rapt_config's fields, generated from
   model/config.def; and the functions that use the table: access by index, defaults, equality, and
   the configuration as text. */
#include "format/format.h"
#include "model/model.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
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
        if (i == CONFIG_relative_buckets && c->relative_bias == RAPT_RELATIVE_BIAS_DEBERTA)
            continue; /* 0 means that each distance has its own vector */
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

/* ---- the configuration as one flat JSON object, the metadata entry "rapt.config" of a file ----

       {"version":2,"kind":"encoder-decoder","width":128,..,"norm_epsilon":1e-5}

   Enumerators are written by name, and floats are written as the shortest decimal text that reads
   back exactly. The version and the REQUIRED fields (model/config.def) must occur exactly once, and
   OPTIONAL fields may occur at most once. Unknown fields are rejected. */

enum { FORMAT_VERSION = 2, CONFIG_PAIRS = 2 * RAPT_CONFIG_FIELDS };

struct config_pair {
    const char *name;
    const char *word, *number; /* the value: one of the two is set, the other is NULL */
};
struct config_pairs {
    int count;
    struct config_pair pair[CONFIG_PAIRS];
};

enum presence { REQUIRED, OPTIONAL };
static const enum presence presence[] = {
#define CONFIG_FIELD(ctype, name, type, file, ...) file,
#include "model/config.def"
};

/* ---- writing ---- */

static void print_value(const rapt_config *c, int i, char *text, size_t capacity)
{
    const rapt_config_field *f = rapt_config_field_at(i);
    int value = rapt__config_get(c, i);
    if (f->type == RAPT_FIELD_TYPE_FLOAT)
        rapt__float_write(rapt__config_get_float(c, i), text);
    else if (f->word)
        snprintf(text, capacity, "\"%s\"", f->word(value));
    else
        snprintf(text, capacity, "%d", value);
}

rapt_status rapt__config_write(const rapt_config *config, char *text, size_t capacity)
{
    const rapt_config filled = rapt__config_filled(config);
    size_t end = (size_t)snprintf(text, capacity, "{\"version\":%d", FORMAT_VERSION);
    for (int i = 0; i < RAPT_CONFIG_FIELDS; i++) {
        char value[64];
        if (presence[i] == OPTIONAL && rapt__config_get(config, i) == 0) continue;
        print_value(presence[i] == REQUIRED ? &filled : config, i, value, sizeof value);
        end += (size_t)snprintf(text + end, capacity - end, ",\"%s\":%s",
                                rapt_config_field_at(i)->name, value);
        if (end + 1 >= capacity) return RAPT_NO_MEMORY;
    }
    memcpy(text + end, "}", 2);
    return RAPT_OK;
}

/* ---- reading ---- */

static rapt_status no_object(rapt_message *why)
{
    return rapt__fail(why, RAPT_BAD_FILE, "rapt.config is not a flat JSON object");
}

static rapt_status config_bad(const char *name, rapt_message *why)
{
    return rapt__fail(why, RAPT_BAD_FILE, "rapt.config: %.60s is missing, invalid or given twice",
                      name);
}

static bool read_pair(struct json *json, struct config_pair *pair)
{
    pair->name = rapt__json_string(json);
    if (!pair->name || !rapt__json_want(json, ':')) return false;
    pair->word = rapt__json_peek(json) == '"' ? rapt__json_string(json) : NULL;
    pair->number = pair->word || json->error ? NULL : rapt__json_number_text(json);
    return true;
}

/* Reads names and values without interpreting them. A value that is neither a string nor a number
   is an error; the message names its field. */
static rapt_status read_pairs(struct json *json, struct config_pairs *all, rapt_message *why)
{
    if (!rapt__json_want(json, '{')) return no_object(why);
    do {
        if (all->count == CONFIG_PAIRS) return no_object(why);
        struct config_pair *pair = &all->pair[all->count++];
        if (!read_pair(json, pair)) return no_object(why);
        if (!pair->word && !pair->number) return config_bad(pair->name, why);
    } while (rapt__json_next(json, ','));
    return rapt__json_want(json, '}') && rapt__json_end(json) ? RAPT_OK : no_object(why);
}

static bool read_whole(const char *text, int *value)
{
    long long sum = 0;
    for (; *text >= '0' && *text <= '9' && sum <= INT_MAX; text++) sum = 10 * sum + (*text - '0');
    *value = (int)(sum <= INT_MAX ? sum : 0);
    return *text == 0 && sum <= INT_MAX;
}

static bool read_value(rapt_config *c, int i, const struct config_pair *pair)
{
    const rapt_config_field *f = rapt_config_field_at(i);
    int value = 0;
    float real;
    if (f->type == RAPT_FIELD_TYPE_FLOAT) {
        if (!pair->number || !rapt__float_read(pair->number, &real)) return false;
        rapt__config_set(c, i, &real);
        return true;
    }
    if (f->word) {
        if (!pair->word) return false;
        while (f->word(value) && strcmp(f->word(value), pair->word) != 0) value++;
        if (!f->word(value)) return false;
    } else if (!pair->number || !read_whole(pair->number, &value)) {
        return false;
    }
    rapt__config_set(c, i, &value);
    return true;
}

/* Returns the only pair with this name, or NULL if no pair or more than one has it. */
static const struct config_pair *config_find_pair(const struct config_pairs *all, const char *name)
{
    const struct config_pair *found = NULL;
    for (int i = 0; i < all->count; i++)
        if (strcmp(all->pair[i].name, name) == 0) {
            if (found) return NULL;
            found = &all->pair[i];
        }
    return found;
}

static int field_of(const char *name)
{
    for (int i = 0; i < RAPT_CONFIG_FIELDS; i++)
        if (strcmp(rapt_config_field_at(i)->name, name) == 0) return i;
    return -1;
}

static rapt_status read_fields(rapt_config *c, const struct config_pairs *all, rapt_message *why)
{
    bool seen[RAPT_CONFIG_FIELDS] = {false};
    for (int p = 0; p < all->count; p++) {
        const struct config_pair *pair = &all->pair[p];
        int i = field_of(pair->name);
        if (strcmp(pair->name, "version") == 0) continue;
        if (i < 0)
            return rapt__fail(why, RAPT_BAD_FILE, "rapt.config: unknown field %.60s", pair->name);
        if (seen[i] || !read_value(c, i, pair)) return config_bad(pair->name, why);
        seen[i] = true;
    }
    for (int i = 0; i < RAPT_CONFIG_FIELDS; i++)
        if (!seen[i] && presence[i] == REQUIRED)
            return config_bad(rapt_config_field_at(i)->name, why);
    return RAPT_OK;
}

static rapt_status config_read_all(rapt_config *c, struct json *json, rapt_message *why)
{
    struct config_pairs all = {0};
    int version;
    rapt_status status = read_pairs(json, &all, why);
    if (status) return status;
    const struct config_pair *pair = config_find_pair(&all, "version");
    if (!pair || !pair->number || !read_whole(pair->number, &version))
        return config_bad("version", why);
    if (version != FORMAT_VERSION)
        return rapt__fail(why, RAPT_BAD_FILE,
                          "the model file has version %d, but this library reads version %d%s",
                          version, FORMAT_VERSION,
                          version == 1 ? "; load and save it with rapt 0.2 first" : "");
    return read_fields(c, &all, why);
}

rapt_status rapt__config_read(rapt_config *config, const char *text, size_t size, rapt_message *why)
{
    unsigned char copy[CONFIG_TEXT];
    if (size >= sizeof copy) return rapt__fail(why, RAPT_BAD_FILE, "rapt.config is too long");
    memcpy(copy, text, size);
    copy[size] = 0;
    struct json json = {.text = copy, .size = size};
    rapt_config read = {.size = sizeof read};
    rapt_status status = config_read_all(&read, &json, why);
    if (!status) status = rapt__config_check(&read, why);
    if (!status) *config = read;
    return status == RAPT_BAD_ARGUMENT ? RAPT_BAD_FILE : status;
}
