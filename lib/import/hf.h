/* hf.h - MarianMT's names in Hugging Face's transformers, shared by import and export. */
#ifndef RAPT_LIB_IMPORT_HF_H
#define RAPT_LIB_IMPORT_HF_H

#include "import/parts.h"

#define HF_ENCODER_POSITIONS "model.encoder.embed_positions.weight"
#define HF_ADDED_TOKENS      "added_tokens.json"
#define HF_DECODER_POSITIONS "model.decoder.embed_positions.weight"

extern const struct import_row rapt__hf_rows[]; /* [rapt__hf_row_count] */
extern const int rapt__hf_row_count;
extern const struct import_row rapt__hf_tied_rows[1]; /* also used with RAPT_TIE_OUTPUT */

enum { HF_SIZES = 8, HF_FLAGS = 4, HF_ACTIVATIONS = 4 };
/* Integers of config.json. Two keys for the same field must have equal values. */
extern const struct hf_size {
    const char *key;
    enum config_field field;
    int otherwise; /* value if the key is missing */
} rapt__hf_sizes[HF_SIZES];
/* Flags for which only one value is supported, which is also their default. */
extern const struct hf_flag {
    const char *key;
    bool good;
} rapt__hf_flags[HF_FLAGS];
/* Values of activation_function. Exports write the first name of an activation. */
extern const struct hf_activation {
    const char *name;
    rapt_activation activation;
} rapt__hf_activations[HF_ACTIVATIONS];

/* ---- hf_vocabulary.c ---- */
/* Makes a tokenizer from the names in a file and in added_tokens.json, with the same rules as
   rapt__import_names. */
rapt_status rapt__hf_names(struct import *i, const char *name, int vocab,
                           const rapt_tokenizer *pieces, rapt_tokenizer **tokenizer);

#endif
