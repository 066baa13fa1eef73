/* config_json.h - a configuration between JSON and fields: what config_json.c and config_0_1.c
 * share. */
#ifndef RAPT_LIB_MODEL_CONFIG_JSON_H
#define RAPT_LIB_MODEL_CONFIG_JSON_H

#include "model/model.h"

enum { CONFIG_PAIRS = 2 * RAPT_CONFIG_FIELDS }; /* of an object, at most */

struct config_pair {
    const char *name;
    const char *word, *number; /* the value: one of them, the other is NULL */
    bool bits;                 /* the number is a float as an integer of its bits (release 0.1) */
};
struct config_pairs {
    int count;
    struct config_pair pair[CONFIG_PAIRS];
};

/* ---- config_0_1.c ---- */
/* Gives fields and words of release 0.1 today's names, and marks floats that stand there as bits.
 */
void rapt__config_from_0_1(struct config_pairs *all);
/* Reads such a float into a field; false: it is none. */
bool rapt__config_read_bits(rapt_config *c, int field, const struct config_pair *pair);

#endif
