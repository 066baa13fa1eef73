/* state_text.c - the state of the training loop as JSON, and back. The text comes from a file and
   is not trusted: parsing gives a state with every field in its range, or the reason why not. */
#define _POSIX_C_SOURCE 200809L
#include "state_text.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { WHOLE, REAL, REAL_OR_NULL }; /* null means infinite */

static const struct field {
    const char *name;
    enum kind kind;
    size_t offset; /* in struct state */
    double min, max;
} fields[] = {
#define STATE(ctype, name, kind, min, max) {#name, kind, offsetof(struct state, name), min, max},
#include "state.def"
};
enum { FIELDS = sizeof fields / sizeof *fields };

static json_t *value_of(const struct field *f, const struct state *state)
{
    long long whole;
    double real;
    const char *from = (const char *)state + f->offset;
    if (f->kind == WHOLE) {
        memcpy(&whole, from, sizeof whole);
        return json_integer(whole);
    }
    memcpy(&real, from, sizeof real);
    return isfinite(real) ? json_real(real) : json_null();
}

char *state_text(const struct state *state, const char *options)
{
    char data[32];
    json_t *object = json_object();
    for (int i = 0; i < FIELDS; i++)
        json_object_set_new(object, fields[i].name, value_of(&fields[i], state));
    snprintf(data, sizeof data, "%016llx", (unsigned long long)state->data);
    json_object_set_new(object, "data", json_string(data));
    json_object_set_new(object, "options", json_string(options));
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(object);
    return text;
}

static bool refuse_state(struct state_reason *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why->text, sizeof why->text, format, arguments);
    va_end(arguments);
    return false;
}

/* Refuses a value. The message shows it as it is in the file, perhaps shortened. */
static bool refuse_value(const struct field *f, const json_t *value, struct state_reason *why)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9));
    refuse_state(why, "%s is %.40s, but must be %s from %g to %g", f->name,
                 text != NULL ? text : "?", f->kind == WHOLE ? "a whole number" : "a number",
                 f->min, f->max);
    free(text);
    return false;
}

static bool read_field(const struct field *f, const json_t *object, struct state *state,
                       struct state_reason *why)
{
    const json_t *value = json_object_get(object, f->name);
    char *to = (char *)state + f->offset;
    if (value == NULL) return refuse_state(why, "%s is missing", f->name);
    bool right = f->kind == WHOLE ? json_is_integer(value) : json_is_number(value);
    bool null = f->kind == REAL_OR_NULL && json_is_null(value);
    double number = null ? (double)INFINITY : json_number_value(value);
    long long whole = json_integer_value(value);
    bool inside = f->kind == WHOLE ? whole >= (long long)f->min && whole <= (long long)f->max
                                   : number >= f->min && number <= f->max;
    if (!null && !(right && inside)) return refuse_value(f, value, why);
    if (f->kind == WHOLE)
        memcpy(to, &whole, sizeof whole);
    else
        memcpy(to, &number, sizeof number);
    return true;
}

static bool read_data(const json_t *object, struct state *state, struct state_reason *why)
{
    static const char digits[] = "0123456789abcdef";
    const char *data = json_string_value(json_object_get(object, "data"));
    if (data == NULL || strlen(data) != 16 || strspn(data, digits) != 16)
        return refuse_state(why, "data is missing or not a hash");
    state->data = strtoull(data, NULL, 16);
    return true;
}

/* Refuses a state whose fields contradict each other. */
static bool fields_agree(const struct state *s, struct state_reason *why)
{
    if (s->step < s->epoch - 1 + s->position)
        return refuse_state(why, "step is %lld, too small for epoch %lld and position %lld",
                            s->step, s->epoch, s->position);
    if (s->since >= s->epoch)
        return refuse_state(why, "since is %lld, but epoch is %lld", s->since, s->epoch);
    return true;
}

bool state_parse(struct state *state, char **options, const char *text, size_t size,
                 struct state_reason *why)
{
    struct state read = *state;
    json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    bool good = json_is_object(object) || refuse_state(why, "not a JSON object");
    for (int i = 0; good && i < FIELDS; i++) good = read_field(&fields[i], object, &read, why);
    good = good && read_data(object, &read, why) && fields_agree(&read, why);
    const char *list = json_string_value(json_object_get(object, "options"));
    if (good && list == NULL) good = refuse_state(why, "options is missing");
    char *copy = good ? strdup(list) : NULL;
    json_decref(object);
    if (good && copy == NULL) good = refuse_state(why, "out of memory");
    if (!good) return false;
    *state = read;
    *options = copy;
    return true;
}
