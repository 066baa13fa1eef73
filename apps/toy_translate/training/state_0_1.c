/* state_0_1.c - the options in a checkpoint of release 0.1, in the words of today: in "hidden 256
   ... self-keys local-m ... self-weighing soft ... radius 4", out "ffn-width 256 ... self-locality
   local-m ... self-normalizer softmax ... self-radius 4 cross-radius 4". */
#include "learner.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sets the field of that name to the value with that word; false: there is none. */
static bool set_word(rapt_config *config, const char *name, const char *word)
{
    if (strcmp(word, "soft") == 0) word = "softmax";
    if (strcmp(word, "gumbel") == 0) word = "gumbel-softmax";
    for (int i = 0; i < RAPT_CONFIG_FIELDS; i++) {
        const rapt_config_field *f = rapt_config_field_at(i);
        if (strcmp(f->name, name) != 0) continue;
        for (int value = 0; value <= (int)f->max; value++)
            if (strcmp(f->word(value), word) == 0) {
                memcpy((char *)config + f->offset, &value, sizeof value);
                return true;
            }
    }
    return false;
}

/* What 0.1 wrote of attention other than the default, as variant_text writes it; NULL: it is not
   that. */
static char *attention_text(const char *list)
{
    enum { WORDS = 6 };
    static const char *const names[WORDS] = {"self_score",      "cross_score",
                                             "self_locality",   "cross_locality",
                                             "self_normalizer", "cross_normalizer"};
    char words[WORDS][24];
    rapt_config c = {.size = sizeof c};
    if (sscanf(
            list,
            " self-score %23s cross-score %23s self-keys %23s cross-keys %23s self-weighing %23s "
            "cross-weighing %23s radius %f temperature %f score-hidden %d",
            words[0], words[1], words[2], words[3], words[4], words[5], &c.self_radius,
            &c.self_temperature, &c.score_hidden) != WORDS + 3)
        return NULL;
    for (int i = 0; i < WORDS; i++)
        if (!set_word(&c, names[i], words[i])) return NULL;
    c.cross_radius = c.self_radius, c.cross_temperature = c.self_temperature;
    return variant_text(&c);
}

char *options_upgrade(const char *options)
{
    const char *hidden = strstr(options, " hidden "), *attention = strstr(options, " self-score ");
    if (hidden == NULL) return xasprintf("%s", options);
    const char *rest = hidden + strlen(" hidden ");
    if (attention == NULL)
        return xasprintf("%.*s ffn-width %s", (int)(hidden - options), options, rest);
    char *more = attention_text(attention);
    char *text = more == NULL ? xasprintf("%s", options)
                              : xasprintf("%.*s ffn-width %.*s%s", (int)(hidden - options), options,
                                          (int)(attention - rest), rest, more);
    free(more);
    return text;
}
