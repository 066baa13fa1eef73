/* decoding.c - reads the decoding settings in a model folder: Marian's, which folder.c finds, or
   Hugging Face's, which are in generation_config.json or, if that file is missing (older models),
   in config.json. Argos Translate's settings are constants. Settings that rapt supports become
   metadata, from which translators take their defaults. Settings that would change translations but
   are not supported are listed under the metadata key IGNORED_KEY. Sources: Marian 1.12,
   src/common/config_parser.cpp; transformers 5.24, generation/configuration_utils.py. */
#include "import/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A setting that rapt supports. */
struct followed {
    const char *name, *key;
    int less; /* subtracted from the value; 1 if the setting counts the decoder's first input */
    int max;  /* maximum value if the setting is a count; 0 if it may be any number */
};
/* A setting that is not supported and changes translations unless it is missing or has the value
   `neutral`. */
struct unfollowed {
    const char *name, *neutral;
};

/* Appends a setting to the list of ignored settings, or "..." once if the list is full. */
static void add_ignored(struct import *i, const char *name, const char *value)
{
    static const char more[] = ", ...";
    struct import_decoding *d = &i->decoding;
    size_t used = strlen(d->ignored), room = sizeof d->ignored - used;
    if (strlen(name) + strlen(value) + 4 + sizeof more > room) {
        const bool listed =
            used >= sizeof more && strcmp(d->ignored + used + 1 - sizeof more, more) == 0;
        if (!listed) snprintf(d->ignored + used, room, "%s", used ? more : more + 2);
        return;
    }
    snprintf(d->ignored + used, room, "%s%s%s%s", used ? ", " : "", name, *value ? " " : "", value);
    rapt__make_printable(d->ignored + used);
}

static void keep(struct import *i, const char *key, const char *text)
{
    struct import_decoding *d = &i->decoding;
    int n = 0;
    while (n < d->count && strcmp(d->kept[n].key, key) != 0) n++;
    if (n == IMPORT_DECODING) return;
    d->kept[n].key = key;
    snprintf(d->kept[n].text, sizeof d->kept[n].text, "%s", text);
    if (n == d->count) d->count++;
}

/* Reads an integer from 0 to max. Returns false if the text is anything else. */
static bool read_count(const char *text, int max, int *value)
{
    char *end;
    bool digits = text[0] >= '0' && text[0] <= '9';
    long number = digits ? strtol(text, &end, 10) : -1;
    if (!digits || *end || number > max) return false;
    *value = (int)number;
    return true;
}

static void follow(struct import *i, const struct followed *f, const char *text)
{
    char number[FLOAT_TEXT];
    int count = 0;
    float value = 0;
    bool good = f->max ? read_count(text, f->max, &count) : rapt__float_read(text, &value);
    if (!good) {
        add_ignored(i, f->name, text);
        return;
    }
    if (f->max) value = (float)rapt__max(count - f->less, 0);
    if (f->max && value == 0)
        return; /* 0 leaves the default: it means no minimum or n-gram limit, and is not a valid
                   maximum or beam size */
    rapt__float_write(value, number);
    keep(i, f->key, number);
}

/* Returns whether two values are the same word or number. */
static bool same(const char *a, const char *b)
{
    float x, y;
    return strcmp(a, b) == 0 || (rapt__float_read(a, &x) && rapt__float_read(b, &y) && x == y);
}

/* ---- Marian ---- */

void rapt__import_marian_decoding(struct import *i)
{
    static const struct followed followed[] = {{"beam-size", BEAMS_KEY, 0, 1024},
                                               {"normalize", PENALTY_KEY, 0, 0}};
    static const struct unfollowed unfollowed[] = {
        {"word-penalty", "0"},        {"skip-cost", "false"},    {"allow-unk", "false"},
        {"max-length-crop", "false"}, {"force-decode", "false"}, {"output-sampling", "false"},
        {"best-deep", "false"},
    };
    if (!i->decoder) return;
    for (size_t n = 0; n < sizeof followed / sizeof *followed; n++) {
        const char *value = rapt__import_option(i->decoder, followed[n].name);
        if (value) follow(i, &followed[n], value);
    }
    for (size_t n = 0; n < sizeof unfollowed / sizeof *unfollowed; n++) {
        const struct yaml_item *item = rapt__yaml_find(i->decoder, unfollowed[n].name);
        const char *value = rapt__import_option(i->decoder, unfollowed[n].name);
        bool list = item && !value && item->length > 0;
        if (list || (value && !same(value, unfollowed[n].neutral)))
            add_ignored(i, unfollowed[n].name, list ? "" : value);
    }
}

/* ---- Argos Translate ---- */

/* Source: translate.py of Argos Translate. */
void rapt__import_argos_decoding(struct import *i)
{
    keep(i, BEAMS_KEY, "4");
    keep(i, PENALTY_KEY, "0.2");
    add_ignored(i, "replace_unknowns", "true");
}

/* ---- Hugging Face ---- */

void rapt__import_first_token(struct import *i, const char *id)
{
    keep(i, FIRST_KEY, id);
}

/* Stores the tokens that must not be generated. bad_words_ids is a list of lists, which is
   supported only if there are at most IMPORT_IDS inner lists, each with one token. The pad token
   and ids beyond the vocabulary are omitted. */
static void suppress(struct import *i, const struct import_settings *s, int pad)
{
    const char *name = "bad_words_ids";
    char text[sizeof i->decoding.kept[0].text] = "";
    int count;
    const int *ids = rapt__import_tokens(s, name, &count);
    if (count < 0) add_ignored(i, name, "");
    for (int n = 0; n < count; n++)
        if (ids[n] != pad && ids[n] < i->config.target_vocab)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", *text ? " " : "",
                     ids[n]);
    if (*text) keep(i, SUPPRESSED_KEY, text);
}

/* Stores the token that is forced at the beginning of a translation. */
static void force_first(struct import *i, const struct import_settings *s)
{
    const char *name = "forced_bos_token_id", *text = rapt__import_setting(s, name);
    int id;
    if (text && read_count(text, i->config.target_vocab - 1, &id))
        keep(i, FIRST_KEY, text);
    else if (text)
        add_ignored(i, name, text);
}

static void read_hf(struct import *i, const struct import_settings *s, int pad, int end)
{
    static const struct followed followed[] = {
        {"num_beams", BEAMS_KEY, 0, 1024},
        {"length_penalty", PENALTY_KEY, 0, 0},
        {"max_length", LIMIT_KEY, 1, 1 << 24},
        {"max_new_tokens", LIMIT_KEY, 0, 1 << 24},
        {"min_length", LEAST_KEY, 1, 1 << 24},
        {"min_new_tokens", LEAST_KEY, 0, 1 << 24},
        {"no_repeat_ngram_size", NGRAM_KEY, 0, 1 << 24},
        {"repetition_penalty", REPETITION_KEY, 0, 0},
    };
    static const struct unfollowed unfollowed[] = {
        {"early_stopping", "false"},
        {"do_sample", "false"},
        {"num_beam_groups", "1"},
        {"diversity_penalty", "0"},
        {"encoder_repetition_penalty", "1"},
        {"encoder_no_repeat_ngram_size", "0"},
        {"penalty_alpha", "0"},
        {"guidance_scale", "1"},
    };
    char ends[16];
    keep(i, BEAMS_KEY, "1"); /* transformers omits settings that have their default values */
    keep(i, PENALTY_KEY, "1");
    for (size_t n = 0; n < sizeof followed / sizeof *followed; n++) {
        const char *text = rapt__import_setting(s, followed[n].name);
        if (text) follow(i, &followed[n], text);
    }
    for (size_t n = 0; n < sizeof unfollowed / sizeof *unfollowed; n++) {
        const char *text = rapt__import_setting(s, unfollowed[n].name);
        if (text && !same(text, unfollowed[n].neutral)) add_ignored(i, unfollowed[n].name, text);
    }
    snprintf(ends, sizeof ends, "%d", end);
    const char *forced = rapt__import_setting(s, "forced_eos_token_id");
    if (forced && strcmp(forced, ends) != 0) add_ignored(i, "forced_eos_token_id", forced);
    force_first(i, s);
    suppress(i, s, pad);
}

rapt_status rapt__import_hf_decoding(struct import *i, const struct import_settings *config,
                                     int pad, int end)
{
    static const char file[] = "generation_config.json";
    struct import_settings s;
    if (!rapt__import_has(i, file)) {
        read_hf(i, config, pad, end);
        return RAPT_OK;
    }
    rapt_status status = rapt__import_settings(i, file, &s);
    if (status) return status;
    read_hf(i, &s, pad, end);
    rapt__import_settings_free(i, &s);
    return RAPT_OK;
}
