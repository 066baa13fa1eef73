/* hf.h - declarations shared by the imports of Hugging Face models. The export also uses the names
   and settings of MarianMT. */
#ifndef RAPT_LIB_IMPORT_HF_H
#define RAPT_LIB_IMPORT_HF_H

#include "import/parts.h"

#define HF_ENCODER_POSITIONS "model.encoder.embed_positions.weight"
#define HF_ADDED_TOKENS      "added_tokens.json"
#define HF_DECODER_POSITIONS "model.decoder.embed_positions.weight"

/* Rows for MarianMT and fairseq's models. There are rapt__hf_row_count of them. */
extern const struct import_row rapt__hf_rows[];
extern const int rapt__hf_row_count;
enum { HF_POSITION_ROWS = 2, HF_NORM_ROWS = 4 };
extern const struct import_row rapt__hf_position_rows[HF_POSITION_ROWS]; /* rows for MarianMT */
extern const struct import_row rapt__hf_norm_rows[HF_NORM_ROWS]; /* the final norm of each side */
extern const struct import_row rapt__hf_tied_rows[1]; /* added to rapt__hf_rows if the model has
                                                         RAPT_TIE_OUTPUT */

/* Rows of a table of names: a whole parameter, or one of several equal parts of its rows. HF_LINEAR
   and HF_LINEAR_PART stand for a weight and a bias. */
#define HF_PART(ours, theirs, part, parts)                                                         \
    {                                                                                              \
        ours, theirs, part, parts, 0                                                               \
    }
#define HF_WHOLE(ours, theirs) HF_PART(ours, theirs, 0, 1)
#define HF_LINEAR_PART(ours, theirs, part, parts)                                                  \
    HF_PART(ours ".weight", theirs ".weight", part, parts),                                        \
        HF_PART(ours ".bias", theirs ".bias", part, parts)
#define HF_LINEAR(ours, theirs) HF_LINEAR_PART(ours, theirs, 0, 1)

enum { HF_SIZES = 8, HF_FLAGS = 4, HF_ACTIVATIONS = 6 };
/* An integer in config.json. */
struct hf_size {
    const char *key;
    enum config_field field;
    int otherwise; /* value if the key is missing */
};
extern const struct hf_size rapt__hf_sizes[HF_SIZES]; /* sizes of MarianMT and fairseq's models */
/* A flag that is supported only with the value `good`, which is also its default. */
struct hf_flag {
    const char *key;
    bool good;
};
extern const struct hf_flag rapt__hf_flags[HF_FLAGS]; /* flags of MarianMT */
/* Names of activations in config.json. The export writes the first name of an activation. */
extern const struct hf_activation {
    const char *name;
    rapt_activation activation;
} rapt__hf_activations[HF_ACTIVATIONS];

/* ---- hf.c: i->config from the settings in config.json ---- */
/* Reads integers into fields of i->config. Two consecutive keys with the same field must have equal
   values. */
rapt_status rapt__hf_read_sizes(struct import *i, const struct import_settings *s,
                                const struct hf_size *sizes, int count);
/* Checks that each flag is missing, null or equal to its supported value. */
rapt_status rapt__hf_check_flags(struct import *i, const struct import_settings *s,
                                 const struct hf_flag *flags, int count);
/* Sets the activation from its name. `key` and `value` are the setting that contains the name, for
   messages. */
rapt_status rapt__hf_set_activation(struct import *i, const char *key, const char *value,
                                    const char *name);
/* Sets the activation to the one that the value of `key` names, or to "gelu" if the key is
   missing. */
rapt_status rapt__hf_read_activation(struct import *i, const struct import_settings *s,
                                     const char *key);

/* ---- hf.c: special tokens ---- */
struct hf_ids { /* ids in config.json */
    int pad, end;
    int start; /* the first input of the decoder */
};
/* Reads the ids. `otherwise` holds the defaults for missing keys; a negative start means the pad
   token. */
rapt_status rapt__hf_read_ids(struct import *i, const struct import_settings *s,
                              struct hf_ids otherwise, struct hf_ids *ids);
/* Checks that the decoder starts with token `id`, which config.json stores under `key`. */
rapt_status rapt__hf_check_start(struct import *i, const struct hf_ids *ids, const char *key,
                                 int id);
/* Checks that special token `which` (RAPT_TOKEN_...) of a vocabulary has the id that config.json
   stores under `key`. */
rapt_status rapt__hf_check_id(struct import *i, const rapt_tokenizer *t, int which, const char *key,
                              int id);
/* Checks the ids of the pad and end tokens. */
rapt_status rapt__hf_check_ids(struct import *i, const rapt_tokenizer *t, const struct hf_ids *ids);

/* ---- hf_encoder_names.c: the names of parameters and settings of BERT and its relatives ---- */
enum { HF_FAMILY_TABLES = 2 };
struct hf_family {
    const char *type, *prefix; /* model_type; prefix of tensor names in files with a head */
    const char *activation;    /* key of the activation in config.json */
    struct import_table tables[HF_FAMILY_TABLES];
    const struct hf_size *sizes;
    int size_count;
    const struct hf_flag *flags;
    int flag_count;
    bool padded;           /* the first two rows of the table of positions are not used */
    bool bucketed;         /* scores have biases that depend on distance, as in T5 */
    const char *no_pooler; /* tensor of an unsupported layer before the classifier, or NULL */
};
/* Returns the family with this model_type, or NULL. */
const struct hf_family *rapt__hf_family(const char *type);
/* Sets i->spell to a function that spells the names in f->tables as the file does. */
void rapt__hf_family_spelling(struct import *i, const struct hf_family *f);

/* ---- hf_encoder.c: BERT and its relatives ---- */
rapt_status rapt__import_encoder(struct import *i, const struct import_settings *s);
/* Returns whether rapt__import_encoder imports this model_type. */
bool rapt__import_is_encoder(const char *type);
/* Sets i->config.pooling, i->normalize and i->max_tokens as specified by the files that
   sentence-transformers adds to an encoder. */
rapt_status rapt__import_sentence(struct import *i);
/* Returns whether the folder has a file from which rapt__hf_encoder_vocabulary makes a
   tokenizer. */
bool rapt__hf_has_tokenizer(const struct import *i);
/* Makes i->source from the tokenizer's files, at least one of which must be in the folder, and sets
   i->pair_twice. */
rapt_status rapt__hf_encoder_vocabulary(struct import *i);

/* ---- hf_t5.c ---- */
rapt_status rapt__import_t5(struct import *i, const struct import_settings *s);

/* ---- hf_fairseq.c ---- */
rapt_status rapt__import_m2m(struct import *i, const struct import_settings *s);
rapt_status rapt__import_bart(struct import *i, const struct import_settings *s);

/* ---- hf_t5.c: the pieces of T5's vocabulary ---- */
enum { HF_BYTE_EXTRA = 125 }; /* number of extra ids in ByT5 */
/* Creates a SentencePiece tokenizer from spiece.model or, for ByT5, with the pieces <pad>, </s>,
   <unk> and the bytes. *extra receives the number of extra ids after the pieces, and *ascending
   whether they are in ascending order. */
rapt_status rapt__hf_t5_pieces(struct import *i, const struct import_settings *config,
                               rapt_tokenizer **pieces, int *extra, bool *ascending);

/* ---- hf_pieces.c: writes SentencePiece models ---- */
enum { PIECES_UNIGRAM = 1, PIECES_PAIRS = 2, PIECES_CHARACTER = 4 };
enum { PIECE_NORMAL = 1, PIECE_UNKNOWN = 2, PIECE_CONTROL = 3, PIECE_BYTE = 6 };
struct pieces_writer {
    unsigned char *bytes; /* if NULL, bytes are only counted */
    size_t size;          /* number of bytes so far */
};
struct pieces_options {
    int kind; /* PIECES_... */
    bool byte_fallback, dummy_prefix, trim_spaces, escape_spaces;
    rapt_text rules; /* a precompiled charsmap of normalization rules; may be empty */
};
/* Appends a piece. `type` is PIECE_... */
void rapt__pieces_put(struct pieces_writer *w, rapt_text text, float score, int type);
/* Appends the options. Must be called once, after the last piece. */
void rapt__pieces_finish(struct pieces_writer *w, const struct pieces_options *options);

/* ---- hf_json.c: the parts of tokenizer.json (Hugging Face's `tokenizers` library) that imports
   use; all texts point into the bytes of the file ---- */
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
    enum hf_maybe left, right, single; /* left, right: whether the token includes the spaces on that
                                          side; single: whether it matches only whole words */
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
    rapt_text *names; /* [rows] names of the rows of the model's table; `bytes` is NULL for a row
                         without a token */
    float *scores;    /* [rows] scores of the rows; 0 if the file has none */
    int rows;
    bool listed; /* the vocabulary is a list with scores */
    /* keys of "model": */
    const char *type, *unknown, *prefix, *suffix;
    int unknown_id, longest; /* -1 if missing */
    enum hf_maybe byte_fallback;
};

/* Reads tokenizer.json for a table of config.source_vocab rows. Names beyond the table are ignored.
   The caller must call rapt__hf_json_free even after a failure. */
rapt_status rapt__hf_json_read(struct import *i, struct hf_json *json);
void rapt__hf_json_free(struct import *i, struct hf_json *json);

/* ---- hf_json_make.c ---- */
/* Returns true if the folder has tokenizer.json, but not the file `usual`, which would be
   preferred. */
bool rapt__hf_only_json(const struct import *i, const char *usual);
/* Makes i->source from tokenizer.json. `type` is the required type of its model, "WordPiece", "BPE"
   or "Unigram", or NULL to accept any of them. Names beyond the table are ignored, and rows without
   a name are never produced. */
rapt_status rapt__hf_json(struct import *i, const char *type);

/* ---- hf_languages.c: vocabularies of multilingual translators ---- */
enum hf_languages {
    HF_LANGUAGES_NONE, /* XLM-RoBERTa */
    HF_LANGUAGES_M2M,  /* M2M-100, whose token names are in vocab.json, or NLLB-200 */
    HF_LANGUAGES_MBART25,
    HF_LANGUAGES_MBART50
};
/* Makes i->source from sentencepiece.bpe.model and the language tokens, or from tokenizer.json if
   there is no such model. Sets i->source_language_last if the language token follows the source
   text, and i->language_starts if the decoder starts with a language token. Checks the ids of the
   pad and end tokens, unless `ids` is NULL. */
rapt_status rapt__hf_languages(struct import *i, enum hf_languages languages,
                               const struct hf_ids *ids);

/* ---- hf_vocabulary.c ---- */
/* Makes a tokenizer from the names in a file and, if it exists, in added_tokens.json, like
   rapt__import_names. With added_tokens.json, every row of the table must have a name. */
rapt_status rapt__hf_names(struct import *i, const char *name, int vocab,
                           const rapt_tokenizer *pieces, rapt_tokenizer **tokenizer);
/* Makes i->source from the names in vocab.json and the byte-level merges in merges.txt, as in
   GPT-2, RoBERTa and BART. Names beyond the table are ignored, and rows without a name are never
   produced. Returns RAPT_BAD_FILE if the folder has added_tokens.json, which is not supported with
   merges. */
rapt_status rapt__hf_merges(struct import *i);

#endif
