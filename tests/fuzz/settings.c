/* settings.c - JSON, YAML, and the configuration of a model. */
#include "format/format.h"
#include "fuzz.h"
#include "model/model.h"

#include <errno.h>
#include <jansson.h>

/* ---- json: compares the JSON reader with jansson: a text must be the same value for both or be
   refused by both. The reader does not know true, false and null; texts that contain one are read
   but not compared. ---- */

static bool literal; /* whether one of these was met */

static json_t *read_value(struct json *json, int depth);

static json_t *read_array(struct json *json, int depth)
{
    json_t *array = json_array();
    rapt__json_want(json, '[');
    bool more = !rapt__json_next(json, ']');
    while (more && !json->error) {
        json_t *value = read_value(json, depth);
        if (value) json_array_append_new(array, value);
        more = rapt__json_next(json, ',');
        if (!more) rapt__json_want(json, ']');
    }
    return array;
}

static json_t *read_object(struct json *json, int depth)
{
    json_t *object = json_object();
    rapt__json_want(json, '{');
    bool more = !rapt__json_next(json, '}');
    while (more && !json->error) {
        const char *name = rapt__json_string(json);
        json_t *value = name && rapt__json_want(json, ':') ? read_value(json, depth) : NULL;
        if (value) json_object_set_new_nocheck(object, name, value);
        more = rapt__json_next(json, ',');
        if (!more) rapt__json_want(json, '}');
    }
    return object;
}

/* Reads a number as text, and as an integer if it is one. */
static json_t *read_number(struct json *json)
{
    struct json whole = *json;
    uint64_t value = 0;
    bool taken = rapt__json_number(&whole, &value);
    const char *text = rapt__json_number_text(json);
    if (!text) return NULL;
    bool digits = text[strspn(text, "0123456789")] == 0;
    errno = 0;
    unsigned long long same = strtoull(text, NULL, 10);
    require(taken == (digits && errno == 0), "which numbers are whole");
    require(!taken || value == same, "a whole number's value");
    require(!taken || whole.at == json->at, "where a whole number ends");
    if (text[strcspn(text, ".eE")]) return json_real(strtod(text, NULL));
    return json_integer((json_int_t)strtoll(text, NULL, 10));
}

static json_t *read_value(struct json *json, int depth)
{
    require(depth < 1 << 12, "an input is not that deep");
    require(json->used <= json->at && json->at <= json->size, "what is decoded fits");
    switch (rapt__json_peek(json)) {
    case '{':
        return read_object(json, depth + 1);
    case '[':
        return read_array(json, depth + 1);
    case '"':
        return json_string_nocheck(rapt__json_string(json));
    case 't':
    case 'f':
    case 'n':
        literal = true;
        break;
    default:
        break;
    }
    return read_number(json);
}

/* Tells whether jansson refused a number only because it exceeds jansson's types. */
static bool own_bound(const json_error_t *error)
{
    return json_error_code(error) == json_error_numeric_overflow;
}

int fuzz_json(const uint8_t *bytes, size_t size)
{
    if (size == 0 || size > 2000) return 0;
    unsigned char *text = exact_copy(bytes, size);
    struct json json = {.text = text, .size = size};
    json_error_t error;
    literal = false;
    json_t *own = rapt__json_peek(&json) == '{'   ? read_object(&json, 0)
                  : rapt__json_peek(&json) == '[' ? read_array(&json, 0)
                                                  : NULL;
    bool read = own && rapt__json_end(&json) && !json.error;
    if (!literal && !memchr(bytes, 0, size)) { /* jansson loses a 0 byte after a number */
        json_t *other = json_loadb((const char *)bytes, size, 0, &error);
        if (other || !own_bound(&error)) require(read == (other != NULL), "both read it, or none");
        if (read && other) require(json_equal(own, other), "both read the same");
        json_decref(other);
    }
    json_decref(own);
    free(text);
    return 0;
}

/* ---- yaml: any text as YAML. It must be refused with a reason or give keys, scalars and lists in
   order, in memory proportional to its size. ---- */

static void check_items(const struct yaml *yaml, size_t size)
{
    for (int i = 0; i < rapt__yaml_count(yaml); i++) {
        const struct yaml_item *item = rapt__yaml_at(yaml, i), *head = item;
        require(strlen(item->key) <= size, "the length of a key");
        if (item->index >= 0) {
            head = item - item->index - 1;
            require(item->value && strlen(item->value) <= size, "an element has a value");
            require(item->index < head->length && !strcmp(head->key, item->key), "its list");
        }
        require(rapt__yaml_find(yaml, item->key) == head, "a key is found");
        require(head->value || item == head || head->length > 0, "a list");
    }
}

int fuzz_yaml(const uint8_t *bytes, size_t size)
{
    if (size > 1 << 13) return 0;
    uint8_t *exact = exact_copy(bytes, size);
    struct counted counted = counted_by(input_hash(bytes, size), 8);
    const rapt_allocator allocator = counted_allocator(&counted);
    rapt_message why = {""};
    struct yaml *yaml = NULL;
    rapt_status status = rapt__yaml_open(&yaml, exact, size, "text", &allocator, &why);
    free(exact); /* the reader has its own copy */
    require((status == RAPT_OK) == (yaml != NULL), "a file, or a status");
    require(status != RAPT_NO_MEMORY || may_lack_memory(&counted), "there was memory");
    require(status == RAPT_OK || status == RAPT_NO_MEMORY ||
                (status == RAPT_BAD_FILE && why.text[0]),
            "status, and a reason");
    require(counted.max <= 64 * size + 4096, "memory in proportion to the text");
    if (yaml) check_items(yaml, size);
    rapt__yaml_close(yaml);
    require(counted.now == 0, "all memory is given back");
    return 0;
}

/* ---- config: a model's configuration as JSON: any text, or names and values chosen by the input.
   It must be refused with a reason and change nothing, or pass its own check and stay the same when
   it is written and read again. ---- */

static const char *const values[] = {
    "0",
    "1",
    "2",
    "3",
    "8",
    "11",
    "12",
    "64",
    "512",
    "65536",
    "65537",
    "16777216",
    "2147483647",
    "4294967297",
    "-1",
    "-0",
    "0.5",
    "1e-5",
    "1e39",
    "1e-46",
    "99999999999999999999",
    "01",
    "1.",
    "\"\"",
    "true",
    "null",
    "{}",
    "[1]",
    "\"encoder-decoder\"",
    "\"encoder-only\"",
    "\"decoder-only\"",
    "\"post\"",
    "\"pre\"",
    "\"scaled-dot\"",
    "\"additive\"",
    "\"cosine\"",
    "\"location-aware\"",
    "\"coverage\"",
    "\"location\"",
    "\"general\"",
    "\"dot\"",
    "\"relu\"",
    "\"gelu\"",
    "\"silu\"",
    "\"interleaved\"",
    "\"concatenated\"",
    "\"learned\"",
    "\"none\"",
    "\"output\"",
    "\"all\"",
    "\"softmax\"",
    "\"argmax\"",
    "\"sample\"",
    "\"gumbel-softmax\"",
    "\"local-m\"",
    "\"local-p\"",
    "\"global\"",
    "\"post-norm\"",
    "\"sinusoidal\"",
    "1065353216",
    "2143289344",
};
enum { VALUES = sizeof values / sizeof *values, TEXT = 1 << 13 };

static size_t put(char *text, size_t at, const char *name, const char *value)
{
    if (at + 200 > TEXT) return at;
    return at +
           (size_t)snprintf(text + at, TEXT - at, "%s\"%s\":%s", at > 1 ? "," : "", name, value);
}

/* Writes a good configuration with fields omitted, changed or repeated. */
static void structured(struct feed *in, char *text)
{
    static const char *const good[] = {"\"encoder-decoder\"",
                                       "11",
                                       "13",
                                       "12",
                                       "8",
                                       "2",
                                       "0",
                                       "12",
                                       "1",
                                       "1",
                                       "\"scaled-dot\"",
                                       "\"dot\"",
                                       "\"post\"",
                                       "\"gelu\"",
                                       "\"interleaved\"",
                                       "\"none\"",
                                       "0",
                                       "1",
                                       "1e-5"};
    uint8_t version = take_byte(in);
    size_t at = 1;
    text[0] = '{';
    at = put(text, at, "version", version % 8 ? "2" : values[version / 8]);
    int required = (int)(sizeof good / sizeof *good);
    for (int i = 0; i < RAPT_CONFIG_FIELDS; i++) {
        uint8_t what = take_byte(in);
        const char *name = rapt_config_field_at(i)->name;
        const char *value = what < VALUES ? values[what] : i < required ? good[i] : NULL;
        if (what == 255) name = rapt_config_field_at(take_below(in, RAPT_CONFIG_FIELDS))->name;
        if (value && what != 254) at = put(text, at, name, value);
    }
    text[at] = '}';
    text[at + 1] = 0;
}

static void check(const char *text)
{
    rapt_config config, old, again = {.size = sizeof again};
    char written[CONFIG_TEXT];
    rapt_message why = {""};
    memset(&config, 0x5A, sizeof config);
    memcpy(&old, &config, sizeof old);
    rapt_status status = rapt__config_read(&config, text, strlen(text), &why);
    if (status) {
        require(status == RAPT_BAD_FILE && why.text[0], "refused with a reason");
        require(memcmp(&config, &old, sizeof old) == 0, "what is refused changes nothing");
        return;
    }
    require(why.text[0] == 0 && config.size == sizeof config, "no reason on success");
    require(rapt_config_check(&config, NULL) == RAPT_OK, "what is read passes the check");
    require(rapt__config_write(&config, written, sizeof written) == RAPT_OK, "it can be written");
    require(rapt__config_read(&again, written, strlen(written), &why) == RAPT_OK,
            "what is written can be read");
    config = rapt__config_filled(&config), again = rapt__config_filled(&again);
    require(memcmp(&config, &again, sizeof again) == 0, "and means the same");
}

int fuzz_config(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    if (size > 1 << 13) return 0;
    char *text;
    if (take_byte(&in) % 2) {
        text = malloc(TEXT);
        require(text != NULL, "memory for the test itself");
        structured(&in, text);
    } else {
        text = text_copy(in.at, in.left);
    }
    check(text);
    free(text);
    return 0;
}
