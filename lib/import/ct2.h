/* ct2.h - CTranslate2's names and attributes, shared by the import and the export, and functions
   shared by the import's source files. */
#ifndef RAPT_LIB_IMPORT_CT2_H
#define RAPT_LIB_IMPORT_CT2_H

#include "import/parts.h"

/* Fills in the tables of names for a configuration. Returns the number of tables. */
enum { CT2_TABLES = 3 };
int rapt__ct2_tables(const rapt_config *c, struct import_table tables[CT2_TABLES]);

/* How an integer attribute is used: before CT2_USES, the part of the configuration that it
   determines; after CT2_USES, how the import treats an attribute that the configuration does not
   depend on. */
enum ct2_use {
    CT2_HEADS,
    CT2_PRE_NORM,
    CT2_ACTIVATION,
    CT2_SCALED,
    CT2_ZERO_START,
    CT2_ALIGNMENT_LAYER, /* layer whose attention is returned; -1 means the last layer, -2 the one
                            before it, and so on */
    CT2_ALIGNMENT_HEADS, /* number of that layer's heads to average, starting with the first; 0
                            means all */
    CT2_USES,
    CT2_ANY, /* ignored by ct2.c: it has no effect here or is checked elsewhere */
    CT2_ONLY /* must have the value `otherwise` */
};
/* Supported values of the attribute "activation". */
enum { CT2_RELU = 0, CT2_GELU_TANH = 1, CT2_SWISH = 2, CT2_GELU = 3 };
enum { CT2_ACTIVATIONS = RAPT_ACTIVATION_GELU_TANH + 1, CT2_ATTRIBUTES = 13 };
extern const int rapt__ct2_activations[CT2_ACTIVATIONS]; /* indexed by rapt_activation */
extern const struct ct2_attribute {
    const char *name, *dtype;    /* name without "encoder/" or "decoder/"; `dtype` is NULL if the
                                    attribute is not written */
    bool of_encoder, of_decoder; /* true if exports write it for this side; if both are true, an
                                    import requires equal values */
    int otherwise;               /* value if the file lacks the attribute */
    enum ct2_use use;
} rapt__ct2_attributes[CT2_ATTRIBUTES];
/* Returns the value of an attribute for a configuration. */
int rapt__ct2_value(const rapt_config *c, const struct ct2_attribute *a);

/* ---- ct2_attention.c ---- */
/* Sets the configuration fields in which T5's attention differs from standard attention. Widths,
   layers and the number of heads must already be set. */
rapt_status rapt__ct2_attention(struct import *i);

/* ---- ct2_tokens.c ---- */
/* Sets the fields of i->config and of *i that describe special tokens. If `settings` is true, reads
   them, and norm_epsilon, from config.json; otherwise reads them from attributes in model.bin, as
   in versions before 6. The other fields must already be set. */
rapt_status rapt__ct2_tokens(struct import *i, bool settings);
/* Makes the tokenizers. rapt__ct2_tokens must have been called. */
rapt_status rapt__ct2_vocabularies(struct import *i);
/* Completes the configuration of an encoder such as BERT with the settings of CTranslate2 and
   sentence-transformers, and ignores its pooler. The other fields must already be set. */
rapt_status rapt__ct2_encoder(struct import *i);
/* Makes the tokenizer of an encoder. rapt__ct2_encoder must have been called. */
rapt_status rapt__ct2_encoder_vocabulary(struct import *i);

/* Name of the table of T5's attention biases [buckets][heads], without the prefix "encoder/layer_N"
   or "decoder/layer_N". */
#define CT2_BIASES "/self_attention/relative_attention_bias"

/* Name of the optional table of positions, which has one row per position, without the prefix
   "encoder" or "decoder". */
#define CT2_POSITIONS "/position_encodings/encodings"

#endif
