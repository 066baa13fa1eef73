/* ct2.h - the names of CTranslate2 that its reader and its writer share. */
#ifndef RAPT_LIB_IMPORT_CT2_H
#define RAPT_LIB_IMPORT_CT2_H

#include "import/parts.h"

/* The tables of names for a configuration; returns how many. */
enum { CT2_TABLES = 3 };
int rapt__ct2_tables(const rapt_config *c, struct import_table tables[CT2_TABLES]);

/* Whole numbers of the file, by what of the configuration they say. */
enum ct2_use {
    CT2_HEADS,
    CT2_PRE_NORM,
    CT2_ACTIVATION,
    CT2_SCALED,
    CT2_ZERO_START,
    CT2_ALIGNMENT_LAYER, /* the layer whose weights are shown; -1: the last one */
    CT2_ALIGNMENT_HEADS, /* the mean of so many, the first ones */
    CT2_USES,
    CT2_ANY, /* changes nothing here */
    CT2_ONLY /* only `otherwise` is supported */
};
enum {
    CT2_RELU = 0,
    CT2_SWISH = 2,
    CT2_GELU = 3
}; /* values of activation; 1 is an approximation */
enum { CT2_ATTRIBUTES = 14 };
extern const struct ct2_attribute {
    const char *name, *dtype;    /* behind "encoder/", "decoder/"; dtype NULL: it is not written */
    bool of_encoder, of_decoder; /* where it is written */
    int otherwise;               /* what it is where it does not stand */
    enum ct2_use use;
} rapt__ct2_attributes[CT2_ATTRIBUTES];
/* What a configuration says. */
int rapt__ct2_value(const rapt_config *c, const struct ct2_attribute *a);

/* What has no table of its own may be given one: sinusoids, by rows. */
#define CT2_POSITIONS "/position_encodings/encodings"

#endif
