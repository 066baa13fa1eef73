/* settings.c - reads a JSON object of settings and finds its values by key. struct import_setting
   describes what is stored for a list; nested objects are skipped. Nothing in the file is
   trusted. */
#include "import/parts.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { SETTINGS_MAX = 4096 }; /* maximum number of keys in a file */

/* Adds a token of a list, or sets id_count to -1 if the text is not a token or the list has too
   many tokens. */
static void add_id(struct import_setting *s, const char *text)
{
    size_t size = strlen(text);
    bool good = s->id_count >= 0 && s->id_count < IMPORT_IDS && size <= 9;
    if (!good || strspn(text, "0123456789") != size)
        s->id_count = -1;
    else
        s->ids[s->id_count++] = (int)strtol(text, NULL, 10);
}

/* Reads an element of a list. *text becomes the text of a nonnegative number, which may be the only
   element of an inner list. Any other element is skipped, and *text becomes NULL. */
static bool take_element(struct json *j, const char **text)
{
    *text = NULL;
    int c = rapt__json_peek(j);
    if (c >= '0' && c <= '9') return (*text = rapt__json_number_text(j)) != NULL;
    if (c != '[') return rapt__json_skip(j);
    if (!rapt__json_want(j, '[') || rapt__json_next(j, ']')) return !j->error;
    c = rapt__json_peek(j);
    if (c >= '0' && c <= '9') {
        if (!(*text = rapt__json_number_text(j))) return false;
        if (rapt__json_next(j, ']')) return true;
    } else if (!rapt__json_skip(j)) {
        return false;
    }
    *text = NULL;
    while (rapt__json_next(j, ','))
        if (!rapt__json_skip(j)) return false;
    return rapt__json_want(j, ']');
}

/* Reads a list. Stores the text of its only element and all tokens, as struct import_setting
   describes. */
static bool take_list(struct json *j, struct import_setting *s)
{
    s->list = true, s->id_count = 0;
    if (!rapt__json_want(j, '[')) return false;
    if (rapt__json_next(j, ']')) return true;
    do {
        const char *text = NULL;
        int c = rapt__json_peek(j);
        bool first = s->length++ == 0, string = first && c == '"';
        if (string ? !(s->text = rapt__json_string(j)) : !take_element(j, &text)) return false;
        if (first && c != '[' && !string) s->text = text;
        s->string |= string;
        add_id(s, text ? text : "none");
    } while (rapt__json_next(j, ','));
    if (s->length > 1) s->text = NULL;
    return rapt__json_want(j, ']');
}

static bool take_value(struct json *j, struct import_setting *s)
{
    int c = rapt__json_peek(j);
    s->id_count = -1;
    s->string = c == '"';
    if (c == '[') return take_list(j, s);
    if (c == '{') return rapt__json_skip(j);
    if (s->string)
        s->text = rapt__json_string(j);
    else if (c == 't' || c == 'f' || c == 'n')
        s->text = rapt__json_word(j);
    else
        s->text = rapt__json_number_text(j);
    return s->text != NULL;
}

static rapt_status add_setting(struct import *i, struct import_settings *s,
                               struct import_setting one)
{
    if (s->count == s->capacity) {
        void *grown = rapt__grown(&i->allocator, s->all, &s->capacity, sizeof *s->all);
        if (!grown) return rapt__fail(i->why, RAPT_NO_MEMORY, "no memory for settings");
        s->all = grown;
    }
    s->all[s->count++] = one;
    return RAPT_OK;
}

static rapt_status read_one(struct import *i, const char *name, struct json *j,
                            struct import_settings *s)
{
    struct import_setting one = {.key = NULL};
    bool good = (one.key = rapt__json_string(j)) && rapt__json_want(j, ':') && take_value(j, &one);
    if (!good) return rapt__import_bad(i, "%s is not a JSON object", name);
    if (s->count == SETTINGS_MAX)
        return rapt__import_bad(i, "%s has more than %d keys", name, (int)SETTINGS_MAX);
    for (size_t n = 0; n < s->count; n++)
        if (strcmp(s->all[n].key, one.key) == 0)
            return rapt__import_bad(i, "%s has the key %.60s twice", name, one.key);
    return add_setting(i, s, one);
}

static rapt_status read_all(struct import *i, const char *name, struct import_settings *s)
{
    struct json j = {.text = (unsigned char *)s->bytes, .size = s->size};
    bool good = rapt__json_want(&j, '{');
    rapt_status status = RAPT_OK;
    bool more = good && rapt__json_peek(&j) != '}';
    for (; more && !status; more = !status && rapt__json_next(&j, ','))
        status = read_one(i, name, &j, s);
    if (status) return status;
    good = good && rapt__json_want(&j, '}') && rapt__json_end(&j);
    return good ? RAPT_OK : rapt__import_bad(i, "%s is not a JSON object", name);
}

rapt_status rapt__import_settings(struct import *i, const char *name, struct import_settings *s)
{
    *s = (struct import_settings){0};
    rapt_status status = rapt__import_read(i, name, &s->bytes, &s->size);
    if (!status) status = read_all(i, name, s);
    if (!status) rapt__import_record(i, name, RAPT_FILE_USE_SETTINGS);
    if (status) rapt__import_settings_free(i, s);
    return status;
}

void rapt__import_settings_free(struct import *i, struct import_settings *s)
{
    if (s->bytes) rapt__free(&i->allocator, s->bytes, s->size + 1);
    rapt__free(&i->allocator, s->all, s->capacity * sizeof *s->all);
    *s = (struct import_settings){0};
}

/* Returns the setting with this key, or NULL if it is missing or null. */
static const struct import_setting *find(const struct import_settings *s, const char *key)
{
    for (size_t n = 0; n < s->count; n++)
        if (strcmp(s->all[n].key, key) == 0) {
            const struct import_setting *one = &s->all[n];
            return one->text && !one->string && strcmp(one->text, "null") == 0 ? NULL : one;
        }
    return NULL;
}

const char *rapt__import_setting(const struct import_settings *s, const char *key)
{
    const struct import_setting *one = find(s, key);
    return one && !one->list ? one->text : NULL;
}

const int *rapt__import_tokens(const struct import_settings *s, const char *key, int *count)
{
    const struct import_setting *one = find(s, key);
    *count = one ? one->id_count : 0;
    return one ? one->ids : NULL;
}

static rapt_status read_whole(struct import *i, const char *key, const char *text, int *value)
{
    const char *digits = text + (*text == '-');
    const size_t count = strspn(digits, "0123456789");
    long long sum = 0;
    if (count == 0 || digits[count])
        return rapt__import_bad(i, "%s is %.60s, not an integer", key, *text ? text : "\"\"");
    for (size_t n = 0; n < count && sum <= INT_MAX; n++) sum = 10 * sum + (digits[n] - '0');
    if (*text == '-' || sum > INT_MAX)
        return rapt__import_bad(i, "%s is %.60s; it must be an integer from 0 to %d", key, text,
                                INT_MAX);
    *value = (int)sum;
    return RAPT_OK;
}

static rapt_status not_scalar(struct import *i, const struct import_setting *one, const char *key,
                              const char *wanted)
{
    return rapt__import_bad(i, "%s is %s, not %s", key, one->list ? "a list" : "an object", wanted);
}

rapt_status rapt__import_whole(struct import *i, const struct import_settings *s, const char *key,
                               int otherwise, int *value)
{
    const struct import_setting *one = find(s, key);
    *value = otherwise;
    if (!one) return RAPT_OK;
    if (one->list || !one->text) return not_scalar(i, one, key, "an integer");
    return read_whole(i, key, one->text, value);
}

rapt_status rapt__import_id(struct import *i, const struct import_settings *s, const char *key,
                            int otherwise, int *value)
{
    const struct import_setting *one = find(s, key);
    if (!one || !one->list) return rapt__import_whole(i, s, key, otherwise, value);
    if (one->text && !one->string) return read_whole(i, key, one->text, value);
    if (one->length == 0)
        return rapt__import_bad(i, "%s is an empty list; it must have one token", key);
    if (one->length == 1)
        return rapt__import_bad(i, "the element of the list %s is not a token", key);
    return rapt__import_bad(i, "%s is a list of %d elements, but only one token is supported", key,
                            one->length);
}

rapt_status rapt__import_flag(struct import *i, const struct import_settings *s, const char *key,
                              bool otherwise, bool *value)
{
    const struct import_setting *one = find(s, key);
    *value = otherwise;
    if (!one) return RAPT_OK;
    if (one->list || !one->text) return not_scalar(i, one, key, "true or false");
    *value = strcmp(one->text, "true") == 0;
    if (*value || strcmp(one->text, "false") == 0) return RAPT_OK;
    return rapt__import_bad(i, "%s is %.60s, not true or false", key, one->text);
}

rapt_status rapt__import_float(struct import *i, const struct import_settings *s, const char *key,
                               float otherwise, float *value)
{
    const struct import_setting *one = find(s, key);
    *value = otherwise;
    if (!one) return RAPT_OK;
    if (one->list || !one->text) return not_scalar(i, one, key, "a number");
    if (rapt__float_read(one->text, value)) return RAPT_OK;
    return rapt__import_bad(i, "%s is %.60s, not a number", key, one->text);
}

const char *rapt__import_only(const struct import_settings *s, const char *key)
{
    const struct import_setting *one = find(s, key);
    return one && one->list && one->string ? one->text : NULL;
}
