/* config_0_1.c - configurations as release 0.1 wrote them (version 1): pairs of name and value
   under their old names come in, pairs under today's go out. Floats stood there as integers of
   their bits. A file is of version 1 as a whole: today's names are not known in it. */
#include "model/config_json.h"

#include <string.h>

static const struct {
    const char *old, *name;
    bool bits;
} names[] = {
    {"hidden", "ffn_width", false},
    {"norm", "norm_order", false},
    {"self_reach", "self_locality", false},
    {"cross_reach", "cross_locality", false},
    {"self_weighing", "self_normalizer", false},
    {"cross_weighing", "cross_normalizer", false},
    {"centre_hidden", "center_hidden", false},
    {"location_taps", "location_filter_width", false},
    {"norm_epsilon_bits", "norm_epsilon", true},
    {"self_radius_bits", "self_radius", true},
    {"cross_radius_bits", "cross_radius", true},
    {"self_temperature_bits", "self_temperature", true},
    {"cross_temperature_bits", "cross_temperature", true},
};

static const struct {
    const char *name, *old, *word;
} words[] = {
    {"norm_order", "after", "post"},
    {"norm_order", "before", "pre"},
    {"self_normalizer", "soft", "softmax"},
    {"cross_normalizer", "soft", "softmax"},
    {"self_normalizer", "gumbel", "gumbel-softmax"},
    {"cross_normalizer", "gumbel", "gumbel-softmax"},
};

static void rename_field(struct config_pair *pair)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(pair->name, names[i].old) == 0) {
            pair->name = names[i].name;
            pair->bits = names[i].bits;
            return;
        }
        if (strcmp(pair->name, names[i].name) == 0) {
            pair->name = "a field of a newer version";
            return;
        }
    }
}

static void rename_word(struct config_pair *pair)
{
    for (size_t i = 0; pair->word && i < sizeof words / sizeof *words; i++)
        if (strcmp(pair->name, words[i].name) == 0 && strcmp(pair->word, words[i].old) == 0) {
            pair->word = words[i].word;
            return;
        }
}

void rapt__config_from_0_1(struct config_pairs *all)
{
    for (int i = 0; i < all->count; i++) {
        rename_field(&all->pair[i]);
        rename_word(&all->pair[i]);
    }
}

bool rapt__config_read_bits(rapt_config *c, int field, const struct config_pair *pair)
{
    uint64_t sum = 0;
    const char *at = pair->number;
    for (; at && *at >= '0' && *at <= '9' && sum <= UINT32_MAX; at++)
        sum = 10 * sum + (uint64_t)(*at - '0');
    if (!at || *at || sum > UINT32_MAX) return false;
    uint32_t bits = (uint32_t)sum;
    rapt__config_set(c, field, &bits);
    return true;
}
