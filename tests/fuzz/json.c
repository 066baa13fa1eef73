/* json.c - compares the JSON reader with jansson: a text must be the same value for both or be
   refused by both. The reader does not know true, false and null; texts that contain one are read
   but not compared. */
#include "format/format.h"
#include "fuzz.h"
#include <errno.h>
#include <jansson.h>

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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
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
