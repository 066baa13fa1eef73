/* hf.h - the names of MarianMT that its reader and its writer share. */
#ifndef RAPT_LIB_IMPORT_HF_H
#define RAPT_LIB_IMPORT_HF_H

#include "import/parts.h"

#define HF_ENCODER_POSITIONS "model.encoder.embed_positions.weight"
#define HF_ADDED_TOKENS      "added_tokens.json"
#define HF_DECODER_POSITIONS "model.decoder.embed_positions.weight"

extern const struct import_row rapt__hf_rows[]; /* [rapt__hf_row_count] */
extern const int rapt__hf_row_count;
extern const struct import_row rapt__hf_tied_rows[1]; /* besides, of RAPT_TIE_OUTPUT */

enum { HF_SIZES = 8, HF_FLAGS = 4, HF_ACTIVATIONS = 4 };
/* Whole numbers of config.json; of two with the same field both have its value. */
extern const struct hf_size {
    const char *key;
    enum config_field field;
    int otherwise; /* what it is where it does not stand */
} rapt__hf_sizes[HF_SIZES];
/* Options with the one value that this library computes, which is also their default. */
extern const struct hf_flag {
    const char *key;
    bool good;
} rapt__hf_flags[HF_FLAGS];
/* activation_function; the first name of an activation is the one to write. */
extern const struct hf_activation {
    const char *name;
    rapt_activation activation;
} rapt__hf_activations[HF_ACTIVATIONS];

/* ---- hf_vocabulary.c ---- */
/* A tokenizer of the names in a file and in added_tokens.json, one for each row of the table, as
   rapt__import_names makes it. */
rapt_status rapt__hf_names(struct import *i, const char *name, int vocab,
                           const rapt_tokenizer *pieces, rapt_tokenizer **tokenizer);

#endif
