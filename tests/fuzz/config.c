/* config.c - a model's configuration as JSON: any text, or names and values chosen by the input. It
   must be refused with a reason and change nothing, or pass its own check and stay the same when it
   is written and read again. */
#include "fuzz.h"
#include "model/model.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
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
