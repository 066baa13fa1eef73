/* variant.c - the fields of the library's rapt_config as options of train and demo, as text that a
   resumed run must repeat, and as JSON. There is one option per field that is not set otherwise,
   and one for each pair self_X and cross_X. */
#include "training.h"
#include <stdlib.h>
#include <string.h>

/* Fields that the preset, the data or other options set, or that a translator of text does not
   use. */
static const char *const set_elsewhere[] = {
    "kind",    "source_vocab", "target_vocab",   "positions",       "width",
    "heads",   "ffn_width",    "encoder_layers", "decoder_layers",  "tie",
    "pooling", "source_width", "no_source_end",  "alignment_layer", "alignment_heads"};

static const char self[] = "self_", cross[] = "cross_";

static bool is_set_elsewhere(const char *name)
{
    for (size_t i = 0; i < sizeof set_elsewhere / sizeof *set_elsewhere; i++)
        if (strcmp(set_elsewhere[i], name) == 0) return true;
    return false;
}

/* Returns X for self_X and cross_X, or NULL. */
static const char *shared_name(const char *name)
{
    if (strncmp(name, self, strlen(self)) == 0) return name + strlen(self);
    return strncmp(name, cross, strlen(cross)) == 0 ? name + strlen(cross) : NULL;
}

/* Fields of the layers; the others belong to attention. */
static const char *const of_model[] = {"norm_order",    "activation",        "position",
                                       "output_bias",   "plain_embedding",   "norm_epsilon",
                                       "norm_type",     "ffn_gated",         "first_position",
                                       "decoder_start", "decoder_recurrence"};

static enum variant_part field_part(const char *name)
{
    for (size_t i = 0; i < sizeof of_model / sizeof *of_model; i++)
        if (strcmp(of_model[i], name) == 0) return VARIANT_MODEL;
    return VARIANT_ATTENTION;
}

/* Keeps a text for the rest of the program's life: names, choices and helps of options. */
static const char *retain(char *text)
{
    static char **texts;
    static size_t count;
    texts = xreallocarray(texts, count + 1, sizeof *texts);
    return texts[count++] = text;
}

/* Returns the name with - for _. The caller frees it. */
static char *option_name(const char *name)
{
    char *copy = xasprintf("%s", name);
    for (char *at = copy; *at; at++)
        if (*at == '_') *at = '-';
    return copy;
}

/* Returns all values of an enumeration, such as "post|pre". */
static const char *field_choices(const rapt_config_field *f)
{
    char *all = xasprintf("%s", f->word(0));
    for (int i = 1; f->word(i) != NULL; i++) {
        char *more = xasprintf("%s|%s", all, f->word(i));
        free(all);
        all = more;
    }
    return retain(all);
}

/* Returns the help of the option for both self_X and cross_X. */
static const char *both_help(const char *shared)
{
    char *name = option_name(shared),
         *help = xasprintf("sets --self-%s and --cross-%s", name, name);
    free(name);
    return retain(help);
}

/* Returns the meaning of the field as the help of an option: with the value that 0 stands for in
   brackets, and without the "1: " of a flag. */
static const char *help_of(const rapt_config_field *f)
{
    static const char zero[] = "; 0: ";
    if (f->type == RAPT_FIELD_TYPE_FLAG)
        return f->meaning + (strncmp(f->meaning, "1: ", 3) == 0 ? 3 : 0);
    if (f->type == RAPT_FIELD_TYPE_ENUM)
        return retain(xasprintf("%s [%s]", f->meaning, f->word(0)));
    const char *standard = strstr(f->meaning, zero);
    if (standard == NULL) return f->meaning;
    return retain(
        xasprintf("%.*s [%s]", (int)(standard - f->meaning), f->meaning, standard + strlen(zero)));
}

static struct option_row variant_row(const rapt_config_field *f, const char *name, const char *help,
                                     struct variant_value *value)
{
    struct option_row row = {.name = retain(option_name(name)), .help = help};
    row.min = f->min, row.max = f->max;
    switch (f->type) {
    case RAPT_FIELD_TYPE_FLAG:
        row.kind = OPTION_FLAG, row.value = &value->flag, row.argument = "";
        break;
    case RAPT_FIELD_TYPE_INT:
        row.kind = OPTION_INTEGER, row.value = &value->integer, row.argument = "N";
        break;
    case RAPT_FIELD_TYPE_FLOAT:
        row.kind = OPTION_REAL, row.value = &value->real, row.argument = "X";
        break;
    case RAPT_FIELD_TYPE_ENUM:
        row.kind = OPTION_CHOICE, row.value = &value->word, row.argument = field_choices(f);
    }
    return row;
}

int variant_rows(struct variant *v, enum variant_part part, struct option_row rows[VARIANT_ROWS])
{
    int count = 0;
    for (int i = 0; i < RAPT_CONFIG_FIELDS; i++) {
        const rapt_config_field *f = rapt_config_field_at(i);
        const char *shared = shared_name(f->name);
        if (is_set_elsewhere(f->name) || field_part(f->name) != part) continue;
        if (shared && strncmp(f->name, self, strlen(self)) == 0)
            rows[count++] = variant_row(f, shared, both_help(shared), &v->both[i]);
        rows[count++] = variant_row(f, f->name, help_of(f), &v->own[i]);
    }
    return count;
}

bool is_variant(const char *option)
{
    bool found = false;
    for (int i = 0; i < RAPT_CONFIG_FIELDS; i++) {
        const char *field = rapt_config_field_at(i)->name;
        char *name = option_name(field);
        found = found || (!is_set_elsewhere(field) && strcmp(name, option) == 0);
        free(name);
    }
    return found;
}

/* Sets the field from its own option, or else from the option for both. */
static void apply_field(const rapt_config_field *f, const struct variant_value *own,
                        const struct variant_value *both, rapt_config *c)
{
    const char *word = own->word != NULL ? own->word : both->word;
    int integer = own->flag ? 1 : own->integer != 0 ? own->integer : both->integer;
    float real = (float)(own->real != 0 ? own->real : both->real);
    for (int i = 0; word != NULL && f->word(i) != NULL; i++)
        if (strcmp(f->word(i), word) == 0) integer = i;
    char *field = (char *)c + f->offset;
    if (real != 0) memcpy(field, &real, sizeof real);
    if (integer != 0 || word != NULL) memcpy(field, &integer, sizeof integer);
}

void variant_apply(const struct variant *v, rapt_config *c)
{
    static const struct variant_value none;
    for (int i = 0; i < RAPT_CONFIG_FIELDS; i++) {
        const rapt_config_field *f = rapt_config_field_at(i);
        const struct variant_value *both = &none;
        const char *shared = shared_name(f->name);
        for (int j = 0; shared != NULL && j < RAPT_CONFIG_FIELDS; j++) {
            const char *other = shared_name(rapt_config_field_at(j)->name);
            if (other != NULL && strcmp(other, shared) == 0) {
                both = &v->both[j]; /* the first field of the pair holds the option */
                break;
            }
        }
        apply_field(f, &v->own[i], both, c);
    }
}

static int value_bits(const rapt_config_field *f, const rapt_config *c)
{
    int bits;
    memcpy(&bits, (const char *)c + f->offset, sizeof bits);
    return bits;
}

/* Returns the fewest digits that read back as the same number. */
static char *float_text(float x)
{
    char text[32];
    int digits = 1;
    do snprintf(text, sizeof text, "%.*g", digits, (double)x);
    while (strtof(text, NULL) != x && digits++ < 9);
    return xasprintf("%s", text);
}

/* Returns the value as text. The caller frees it. */
static char *value_text(const rapt_config_field *f, const rapt_config *c)
{
    int integer = value_bits(f, c);
    float real;
    memcpy(&real, (const char *)c + f->offset, sizeof real);
    if (f->type == RAPT_FIELD_TYPE_FLOAT) return float_text(real);
    return f->word != NULL ? xasprintf("%s", f->word(integer)) : xasprintf("%d", integer);
}

/* Returns " name value" for all fields that are not 0, or "". */
char *variant_text(const rapt_config *c)
{
    char *text = xasprintf("%s", "");
    for (int i = 0; i < RAPT_CONFIG_FIELDS; i++) {
        const rapt_config_field *f = rapt_config_field_at(i);
        if (is_set_elsewhere(f->name) || value_bits(f, c) == 0) continue;
        char *name = option_name(f->name), *value = value_text(f, c);
        char *more = xasprintf("%s %s %s", text, name, value);
        free(text);
        free(name);
        free(value);
        text = more;
    }
    return text;
}

json_t *variant_describe(const rapt_config *c)
{
    json_t *object = json_object();
    bool good = object != NULL;
    for (int i = 0; i < RAPT_CONFIG_FIELDS; i++) {
        const rapt_config_field *f = rapt_config_field_at(i);
        char *value = value_text(f, c);
        bool standard = value_bits(f, c) == 0;
        json_t *item = f->word != NULL ? json_string(value)
                       : f->type == RAPT_FIELD_TYPE_FLOAT
                           ? json_real(standard ? f->zero : strtod(value, NULL))
                           : json_integer(standard ? (json_int_t)f->zero : value_bits(f, c));
        good = json_object_set_new(object, f->name, item) == 0 && good;
        free(value);
    }
    if (good) return object;
    json_decref(object);
    return NULL;
}

/* ---- options of train for hard and monotonic attention, as fields of rapt_train_options, and as
   text that a resumed run must repeat ---- */

void hard_rows(struct hard *h, struct option_row rows[HARD_ROWS])
{
    /* clang-format off */
    const struct option_row own[HARD_ROWS] = {
        {"baseline", OPTION_CHOICE, &h->baseline, "mean|expected", "baseline of the rewards for sampled keys: their running mean, or the loss with expected values [mean]", 0, 0, 0},
        {"expected-share", OPTION_REAL, &h->expected_share, "P", "share of sentences that use expected values instead of sampled keys", 0, 1, 0},
        {"reward-scale", OPTION_REAL, &h->reward_scale, "X", "factor of the rewards for sampled keys [1]", 0, 1e6, 0},
        {"reward-decay", OPTION_REAL, &h->reward_decay, "P", "weight losses N tokens later by (1 - P)^N in the rewards", 0, 1, 0},
        {"reward-entropy", OPTION_REAL, &h->reward_entropy, "X", "factor of an additional reward for the entropy of the sampling weights", -1e6, 1e6, 0},
        {"anneal", OPTION_REAL, &h->anneal, "X", "train an arg-max as a softmax of the scores times a factor that grows from 1 to X", 0, 1e6, 0},
        {"anneal-steps", OPTION_INTEGER, &h->anneal_steps, "N", "number of steps after which the factor is X", 0, 1000000000, 0},
        {"monotonic-noise", OPTION_REAL, &h->monotonic_noise, "X", "standard deviation of the noise that teaches --monotonic where to stop", 0, 1e6, 0},
    };
    /* clang-format on */
    memcpy(rows, own, sizeof own);
}

static bool expects(const struct hard *h)
{
    return h->baseline != NULL && strcmp(h->baseline, "expected") == 0;
}

int hard_check(const struct hard *h, const rapt_config *c)
{
    const struct {
        const char *option;
        bool given;
        rapt_normalizer needed;
    } uses[] = {
        {"baseline expected", expects(h), RAPT_NORMALIZER_SAMPLE},
        {"expected-share", h->expected_share != 0, RAPT_NORMALIZER_SAMPLE},
        {"reward-scale", h->reward_scale != 0, RAPT_NORMALIZER_SAMPLE},
        {"reward-decay", h->reward_decay != 0, RAPT_NORMALIZER_SAMPLE},
        {"reward-entropy", h->reward_entropy != 0, RAPT_NORMALIZER_SAMPLE},
        {"anneal", h->anneal != 0, RAPT_NORMALIZER_ARGMAX},
    };
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (uses[i].given && c->self_normalizer != uses[i].needed &&
            c->cross_normalizer != uses[i].needed)
            return usage_error("train: --%s needs --self-normalizer or --cross-normalizer %s",
                               uses[i].option, rapt_normalizer_name(uses[i].needed));
    if ((h->anneal != 0) != (h->anneal_steps != 0))
        return usage_error("train: --anneal and --anneal-steps must be given together");
    if (h->anneal != 0 && h->anneal < 1)
        return usage_error("train: --anneal %g is less than 1", h->anneal);
    if (h->monotonic_noise != HARD_NOISE && !c->monotonic)
        return usage_error("train: --monotonic-noise needs --monotonic");
    return EXIT_OK;
}

void hard_apply(const struct hard *h, rapt_train_options *options)
{
    options->baseline = expects(h) ? RAPT_BASELINE_EXPECTED : RAPT_BASELINE_MEAN;
    options->expected_share = (float)h->expected_share;
    options->reward_scale = (float)h->reward_scale;
    options->reward_decay = (float)h->reward_decay;
    options->reward_entropy = (float)h->reward_entropy;
    options->anneal = (float)h->anneal, options->anneal_steps = h->anneal_steps;
    options->monotonic_noise = (float)h->monotonic_noise;
}

/* With ten digits, no integer option is written with an exponent, which option_set would refuse. */
static char *append_option(char *text, const char *name, double value)
{
    if (value == 0) return text;
    char *more = xasprintf("%s %s %.10g", text, name, value);
    free(text);
    return more;
}

char *hard_text(const struct hard *h)
{
    char *text = xasprintf("%s", expects(h) ? " baseline expected" : "");
    text = append_option(text, "expected-share", h->expected_share);
    text = append_option(text, "reward-scale", h->reward_scale);
    text = append_option(text, "reward-decay", h->reward_decay);
    text = append_option(text, "reward-entropy", h->reward_entropy);
    text = append_option(text, "anneal", h->anneal);
    text = append_option(text, "anneal-steps", h->anneal_steps);
    if (h->monotonic_noise == HARD_NOISE) return text;
    char *whole = xasprintf("%s monotonic-noise %.9g", text, h->monotonic_noise);
    free(text);
    return whole;
}
