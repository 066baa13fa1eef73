/* state.c - the text of a training state in a checkpoint of toy_translate: any bytes, or fields
   with values chosen by the input. It must be refused with a reason and change nothing, or have
   every field in the range of state.def and stay the same when it is written and read again. */
#include "fuzz.h"
#include "training/state_text.h"
#include <math.h>

enum { TEXT = 1 << 12 };

static const char *const names[] = {
#define STATE(ctype, name, kind, min, max) #name,
#include "training/state.def"
    "data",
    "options",
};
enum { NAMES = sizeof names / sizeof *names };

/* Writes a good state in which a field may be missing, repeated or changed. */
static void structured(struct feed *in, char *text)
{
    static const char *const good[NAMES] = {
        "3",          "2", "9", "1.5", "1", "0", "0.0", "12.25", "77", "\"00000000000000ff\"",
        "\"width 8\""};
    static const char *const values[] = {"0",
                                         "1",
                                         "-1",
                                         "9",
                                         "10",
                                         "1000000000",
                                         "1000000001",
                                         "1000000000000000001",
                                         "1e300",
                                         "1.1e300",
                                         "1e999",
                                         "-0.0",
                                         "null",
                                         "true",
                                         "\"\"",
                                         "[]",
                                         "9223372036854775807",
                                         "9223372036854775808",
                                         "-9223372036854775808",
                                         "1.0",
                                         "1e9",
                                         "\"00000000000000FF\"",
                                         "\"ffffffffffffffff\"",
                                         "\"\\u0000\"",
                                         "\"\\u00e9 1\""};
    size_t at = 0;
    for (int i = 0; i < NAMES; i++) {
        uint8_t what = take_byte(in);
        const char *value = what < sizeof values / sizeof *values ? values[what] : good[i];
        if (what == 255) continue;
        const char *name = names[what == 254 ? take_below(in, NAMES) : i];
        at += (size_t)snprintf(text + at, TEXT - at, "%s\"%s\":%s", at ? "," : "{", name, value);
    }
    snprintf(text + at, TEXT - at, "%s}", at ? "" : "{");
}

static void check_ranges(const struct state *s)
{
    const double values[] = {
#define STATE(ctype, name, kind, min, max) (double)s->name,
#include "training/state.def"
    };
    static const double lowest[] = {
#define STATE(ctype, name, kind, min, max) min,
#include "training/state.def"
    };
    static const double highest[] = {
#define STATE(ctype, name, kind, min, max) max,
#include "training/state.def"
    };
    for (int i = 0; i < NAMES - 2; i++) {
        bool none = strcmp(names[i], "best") == 0 && values[i] == (double)INFINITY;
        require(none || (values[i] >= lowest[i] && values[i] <= highest[i]),
                "a field in its range");
    }
}

static void check(const char *text, size_t size)
{
    struct state state, old, again = {0};
    struct state_reason why = {""};
    char *options = NULL, *other = NULL;
    memset(&state, 0x11, sizeof state);
    old = state;
    bool good = state_parse(&state, &options, text, size, &why);
    require(good == (options != NULL) && good == !why.text[0], "a state, or a reason");
    if (!good) {
        require(memcmp(&state, &old, sizeof old) == 0, "what is refused changes nothing");
        return;
    }
    check_ranges(&state);
    char *written = state_text(&state, options);
    require(written && state_parse(&again, &other, written, strlen(written), &why), "read again");
    require(memcmp(&state, &again, sizeof again) == 0 && strcmp(options, other) == 0, "the same");
    free(written);
    free(options);
    free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static char text[TEXT];
    struct feed in = {bytes, size};
    if (size > TEXT) return 0;
    bool fields = take_byte(&in) % 2;
    if (fields) structured(&in, text);
    size_t length = fields ? strlen(text) : in.left;
    char *exact = exact_copy(fields ? (const uint8_t *)text : in.at, length);
    check(exact, length);
    free(exact);
    return 0;
}
