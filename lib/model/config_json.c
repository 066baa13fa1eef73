/* config_json.c - the configuration as a flat JSON object, the note "rapt.config" of a model
   file. One table serves reading, writing and comparing. Numbers are whole, so that no locale
   can change them: a float stands there as its bits. What a file does not need to hold is 0 where
   it is missing, and is written only if it is not 0. */
#include "model/model.h"

#include "format/format.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { FORMAT_VERSION = 1 };

struct field {
    const char *name;
    size_t offset;
    const char *(*word)(int value); /* NULL: a number, or the bits of a float */
    bool optional;
};

typedef const char *const words[];

/* The names of the values of an enumeration; NULL: no such value. */
static const char *kind_word(int value)
{
    static words kinds = {"encoder-decoder", "encoder-only", "decoder-only"};
    return (unsigned)value < sizeof kinds / sizeof *kinds ? kinds[value] : NULL;
}

static const char *norm_word(int value)
{
    static words norms = {"after", "before"};
    return (unsigned)value < sizeof norms / sizeof *norms ? norms[value] : NULL;
}

static const char *activation_word(int value)
{
    static words activations = {"relu", "gelu", "silu"};
    return (unsigned)value < sizeof activations / sizeof *activations ? activations[value] : NULL;
}

static const char *tie_word(int value)
{
    static words ties = {"none", "output", "all"};
    return (unsigned)value < sizeof ties / sizeof *ties ? ties[value] : NULL;
}

static const char *position_word(int value)
{
    static words positions = {"interleaved", "concatenated", "concatenated-n1", "learned", "none"};
    return (unsigned)value < sizeof positions / sizeof *positions ? positions[value] : NULL;
}

static const char *score_word(int value)
{
    return rapt_score_name((rapt_score)value);
}

static const char *locality_word(int value)
{
    return rapt_locality_name((rapt_locality)value);
}

static const char *normalizer_word(int value)
{
    return rapt_normalizer_name((rapt_normalizer)value);
}

#define AT(name) offsetof(rapt_config, name)
/* clang-format off */
static const struct field fields[] = {
    {"kind",                    AT(kind),                kind_word,       false},
    {"source_vocab",            AT(source_vocab),        NULL,            false},
    {"target_vocab",            AT(target_vocab),        NULL,            false},
    {"positions",               AT(positions),           NULL,            false},
    {"width",                   AT(width),               NULL,            false},
    {"heads",                   AT(heads),               NULL,            false},
    {"key_heads",               AT(key_heads),           NULL,            false},
    {"hidden",                  AT(ffn_width),              NULL,            false},
    {"encoder_layers",          AT(encoder_layers),      NULL,            false},
    {"decoder_layers",          AT(decoder_layers),      NULL,            false},
    {"self_score",              AT(self_score),          score_word,      false},
    {"cross_score",             AT(cross_score),         score_word,      false},
    {"norm",                    AT(norm_order),                norm_word,       false},
    {"activation",              AT(activation),          activation_word, false},
    {"position",                AT(position),            position_word,   false},
    {"tie",                     AT(tie),                 tie_word,        false},
    {"output_bias",             AT(output_bias),         NULL,            false},
    {"plain_embedding",         AT(plain_embedding),     NULL,            false},
    {"self_locality",              AT(self_locality),          locality_word,      true},
    {"cross_locality",             AT(cross_locality),         locality_word,      true},
    {"self_normalizer",           AT(self_normalizer),       normalizer_word,   true},
    {"cross_normalizer",          AT(cross_normalizer),      normalizer_word,   true},
    {"self_radius_bits",        AT(self_radius),         NULL,            true},
    {"cross_radius_bits",       AT(cross_radius),        NULL,            true},
    {"self_temperature_bits",   AT(self_temperature),    NULL,            true},
    {"cross_temperature_bits",  AT(cross_temperature),   NULL,            true},
    {"score_hidden",            AT(score_hidden),        NULL,            true},
    {"center_hidden",           AT(center_hidden),       NULL,            true},
    {"location_channels",       AT(location_channels),   NULL,            true},
    {"location_filter_width",           AT(location_filter_width),       NULL,            true},
};
/* clang-format on */
enum { FIELDS = sizeof fields / sizeof *fields };
_Static_assert(sizeof(rapt_kind) == sizeof(int) && sizeof(float) == sizeof(int),
               "enumerations and floats are read and written as int");

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

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Appends to text as printf would; false: it does not fit. */
static bool print(char *text, size_t capacity, const char *name, const char *word, long long number)
{
    size_t at = strlen(text);
    int n = word ? snprintf(text + at, capacity - at, ",\"%s\":\"%s\"", name, word)
                 : snprintf(text + at, capacity - at, ",\"%s\":%lld", name, number);
    return n > 0 && (size_t)n < capacity - at;
}

rapt_status rapt__config_write(const rapt_config *config, char *text, size_t capacity)
{
    text[0] = 0;
    bool fits = print(text, capacity, "version", NULL, FORMAT_VERSION);
    for (int i = 0; i < FIELDS; i++) {
        int value = get(config, &fields[i]);
        const char *word = fields[i].word ? fields[i].word(value) : NULL;
        if (fields[i].optional && value == 0) continue;
        fits = fits && print(text, capacity, fields[i].name, word, value);
    }
    fits = fits && print(text, capacity, "norm_epsilon_bits", NULL, bits_of(rapt__epsilon(config)));
    size_t end = strlen(text);
    if (!fits || end + 2 > capacity) return RAPT_NO_MEMORY;
    text[0] = '{';
    memcpy(text + end, "}", 2);
    return RAPT_OK;
}

/* What has been read so far. */
struct reading {
    struct json json;
    rapt_config config;
    bool seen[FIELDS + 2]; /* the fields; then version, then norm_epsilon_bits */
};

static rapt_status bad(const char *name, rapt_message *why)
{
    return rapt__fail(why, RAPT_BAD_FILE, "rapt.config: %.60s is missing, wrong or there twice",
                      name);
}

/* The value of a field: a whole number, or a word of its list. */
static bool read_field(struct reading *r, const struct field *f)
{
    uint64_t number = 0;
    if (!f->word) {
        if (!rapt__json_number(&r->json, &number) || number > INT32_MAX) return false;
        set(&r->config, f, (int)number);
        return true;
    }
    const char *word = rapt__json_string(&r->json);
    for (int i = 0; word && f->word(i); i++)
        if (strcmp(f->word(i), word) == 0) {
            set(&r->config, f, i);
            return true;
        }
    return false;
}

static bool once(struct reading *r, int i)
{
    bool first = !r->seen[i];
    r->seen[i] = true;
    return first;
}

static rapt_status read_version(struct reading *r, rapt_message *why)
{
    uint64_t version;
    if (!once(r, FIELDS) || !rapt__json_number(&r->json, &version)) return bad("version", why);
    if (version != FORMAT_VERSION)
        return rapt__fail(why, RAPT_BAD_FILE,
                          "the model is of version %llu, this library reads version %d",
                          (unsigned long long)version, FORMAT_VERSION);
    return RAPT_OK;
}

static rapt_status read_epsilon(struct reading *r, rapt_message *why)
{
    uint64_t bits;
    if (!once(r, FIELDS + 1) || !rapt__json_number(&r->json, &bits) || bits > UINT32_MAX)
        return bad("norm_epsilon_bits", why);
    uint32_t low = (uint32_t)bits;
    memcpy(&r->config.norm_epsilon, &low, sizeof low);
    return RAPT_OK;
}

static rapt_status read_pair(struct reading *r, rapt_message *why)
{
    const char *name = rapt__json_string(&r->json);
    if (!name || !rapt__json_want(&r->json, ':'))
        return rapt__fail(why, RAPT_BAD_FILE, "rapt.config is not a JSON object");
    if (strcmp(name, "version") == 0) return read_version(r, why);
    if (strcmp(name, "norm_epsilon_bits") == 0) return read_epsilon(r, why);
    for (int i = 0; i < FIELDS; i++)
        if (strcmp(name, fields[i].name) == 0)
            return once(r, i) && read_field(r, &fields[i]) ? RAPT_OK : bad(name, why);
    return rapt__fail(why, RAPT_BAD_FILE, "rapt.config: %.60s is not known here", name);
}

static rapt_status read_object(struct reading *r, rapt_message *why)
{
    rapt_status status = RAPT_OK;
    if (!rapt__json_want(&r->json, '{'))
        return rapt__fail(why, RAPT_BAD_FILE, "rapt.config is not a JSON object");
    do status = read_pair(r, why);
    while (!status && rapt__json_next(&r->json, ','));
    if (status) return status;
    if (!rapt__json_want(&r->json, '}') || !rapt__json_end(&r->json))
        return rapt__fail(why, RAPT_BAD_FILE, "rapt.config is not a JSON object");
    for (int i = 0; i < FIELDS; i++)
        if (!r->seen[i] && !fields[i].optional) return bad(fields[i].name, why);
    if (!r->seen[FIELDS]) return bad("version", why);
    return r->seen[FIELDS + 1] ? RAPT_OK : bad("norm_epsilon_bits", why);
}

rapt_status rapt__config_read(rapt_config *config, const char *text, rapt_message *why)
{
    unsigned char copy[CONFIG_TEXT];
    size_t size = strlen(text);
    if (size >= sizeof copy) return rapt__fail(why, RAPT_BAD_FILE, "rapt.config is too long");
    memcpy(copy, text, size + 1);
    struct reading r = {.json = {.text = copy, .size = size}};
    rapt_status status = read_object(&r, why);
    if (!status) status = rapt_config_check(&r.config, why);
    if (!status) *config = r.config;
    return status == RAPT_BAD_ARGUMENT ? RAPT_BAD_FILE : status;
}
