/* hf_json.h - the parts of tokenizer.json (Hugging Face's library `tokenizers`) that imports use.
   All texts point into the bytes of the file. */
#ifndef RAPT_LIB_IMPORT_HF_JSON_H
#define RAPT_LIB_IMPORT_HF_JSON_H

#include "import/hf.h"

enum { HF_JSON_STEPS = 8 };

/* A flag that may be missing or null. */
enum hf_maybe { HF_MISSING, HF_FALSE, HF_TRUE };

/* A step of a normalizer or a pre-tokenizer. A text is NULL if it is missing. */
struct hf_step {
    const char *type, *charsmap, *replacement, *scheme, *content;
    const char *pattern; /* text or regular expression that is replaced by `content` */
    enum hf_maybe lowercase, strip_accents, han, clean, space_first, regex, left, right;
};
struct hf_steps {
    struct hf_step all[HF_JSON_STEPS];
    int count;
};

struct hf_added { /* a token that is found in a text before the text is split */
    const char *name;
    int id;
    enum hf_maybe left, right, single; /* true if the token includes the spaces to its left,
                                          includes the spaces to its right, or matches only whole
                                          words */
};

struct hf_merge {
    char *left, *right;
};

struct hf_json {
    char *bytes; /* [size + 1] */
    size_t size;
    struct hf_steps normalizer, splitter;
    struct hf_added *added; /* [added_count] */
    size_t added_count, added_capacity;
    struct hf_merge *merges; /* [merge_count] */
    size_t merge_count, merge_capacity;
    rapt_text *names; /* [rows] names of the rows of the model's table; bytes is NULL in a row
                         without a token */
    float *scores;    /* [rows] scores of the rows, for Unigram */
    int rows;
    bool listed; /* the vocabulary is a list with scores */
    /* keys of "model": */
    const char *type, *unknown, *prefix, *suffix;
    int unknown_id, longest; /* -1 if missing */
    enum hf_maybe byte_fallback;
};

/* Reads tokenizer.json for a table of config.source_vocab rows. Names of further rows are ignored.
   The caller must call rapt__hf_json_free even after a failure. */
rapt_status rapt__hf_json_read(struct import *i, struct hf_json *json);
void rapt__hf_json_free(struct import *i, struct hf_json *json);

#endif
