/* parts.h - the state of an import, and the declarations that the files of this layer share: tables
   of tensor names, JSON settings, decoding settings, vocabularies and folders. */
#ifndef RAPT_LIB_IMPORT_PARTS_H
#define RAPT_LIB_IMPORT_PARTS_H

#include "format/format.h"
#include "import/import.h"
#include "text/text.h"
#include <rapt/text.h>

/* Maximum size in bytes, including the terminating 0, of a path and of the name of a file in the
   folder; maximum number of files whose use is recorded. */
enum { IMPORT_PATH = 4096, IMPORT_FILE = 256, IMPORT_READ_FILES = 24 };
enum { IMPORT_TOKEN = 64 };    /* maximum size of the name of a token in settings */
enum { IMPORT_LANGUAGE = 16 }; /* maximum size of an Argos language code */

struct import_read_file { /* a file that was read */
    char name[IMPORT_FILE];
    rapt_file_use use;
};

/* The decoding settings in a model folder; see decoding.c. At most IMPORT_DECODING settings are
   kept, each with at most IMPORT_IDS tokens. */
enum { IMPORT_DECODING = 8, IMPORT_IDS = 16 };
struct import_decoding {
    struct {
        const char *key; /* key of the setting in the metadata */
        char text[12 * IMPORT_IDS];
    } kept[IMPORT_DECODING];
    int count;
    char ignored[400]; /* settings or values that are not supported, for human readers */
};

/* Memory for filling parameters; all of it except `rows` is for 8-bit matrices. */
struct import_converting {
    float *rows;              /* a piece of a tensor: whole panels of rows */
    float *factors, *scratch; /* see rapt__parameter_set_rows */
    int8_t *again;            /* a row that is quantized again, for comparison */
    float *again_scale;
};

struct import {
    char folder[IMPORT_PATH];     /* folder of the files, ending in '/', or "" */
    struct archive *archive;      /* the zip file that contains the folder; NULL if the folder is on
                                     disk */
    size_t archive_size;          /* number of bytes that the zip file's path and a '/' take at the
                                     beginning of `folder` */
    char model_name[IMPORT_FILE]; /* name of the file of tensors in the folder */
    const char *model_reason;     /* why this file was chosen */
    struct survey *survey;        /* contents of the folder (folder.c); NULL until it is listed */
    const struct yaml *decoder;   /* decoding settings in the folder of a Marian model; NULL if
                                     none */
    char decoder_name[IMPORT_FILE];
    struct import_read_file read_files[IMPORT_READ_FILES];
    int read_count;
    struct budget budget;
    rapt_allocator allocator; /* for reading, within the budget */
    rapt_allocator lasting;   /* for the model and its parameters, outside the budget */
    struct tensor_file *file;
    bool *used; /* [entries of the file] true if the import uses the entry or may ignore it */
    rapt_config config;
    rapt_model *model;
    rapt_precision precision; /* the precision that the caller requested */
    bool floats;              /* true if a matrix of a layer is not stored as 8-bit integers */
    struct import_converting converting;
    rapt_tokenizer *source, *target; /* if `target` is NULL, `source` serves both sides */
    char origin[160];                /* description of the imported file, for human readers */
    bool source_begin;               /* the begin token precedes a text */
    bool pair_twice;                 /* two end tokens separate the texts of a pair */
    bool source_language_last;       /* the language token follows the end of a source */
    bool language_starts;            /* the decoder starts with the target's language token */
    bool package;                    /* an Argos package: pieces are in ../sentencepiece.model or,
                                        if the languages below are set, merges are in
                                        ../bpe.model */
    char from_language[IMPORT_LANGUAGE], to_language[IMPORT_LANGUAGE]; /* codes, or "" */
    char first_token[IMPORT_TOKEN]; /* name of the first token of every translation, or "" */
    bool normalize;                 /* embeddings are divided by their L2 norm */
    int max_tokens;                 /* maximum number of tokens in a text, including special tokens;
                                       0 if there is no limit */
    float max_length_factor;        /* maximum number of target tokens per source token; 0 if
                                       unknown */
    struct import_decoding decoding;
    struct scale_text scales;  /* metadata SCALES_KEY */
    void (*spell)(char *name); /* changes name[IMPORT_NAME] to its spelling in the file; NULL if
                                  names need no change */
    rapt_message *why;
};

/* ---- fill.c: reads tensors by name; '#' in a name stands for a layer number ---- */
enum import_flags {
    IMPORT_OPTIONAL = 1,   /* filled with 0 if missing */
    IMPORT_TRANSPOSED = 2, /* stored as [columns][rows] */
    IMPORT_OFFSET = 4      /* preceded by IMPORT_OFFSET_ROWS rows that are not used */
};
enum { IMPORT_OFFSET_ROWS = 2 };
/* Names of a parameter or, if parts > 1, of one of the `parts` equal parts into which its rows (or,
   if it is a vector, its elements) are divided. */
struct import_row {
    const char *ours, *theirs;
    int part, parts, flags;
};
struct import_table {
    const struct import_row *rows;
    int count;
    int first_layer; /* the other project's number for our layer 0 */
};
/* Returns the entry of a tensor, or NULL if the file does not have it. */
const struct tensor_entry *rapt__import_find(const struct import *i, const char *name, int layer);
/* Marks an entry as used. NULL is allowed. */
void rapt__import_use(struct import *i, const struct tensor_entry *entry);
/* Creates i->model for i->config, in the requested precision but without memory for its parameters,
   and checks that the file has a tensor for each parameter that is not optional. Returns
   RAPT_BAD_FILE if the configuration is invalid, if a tensor is missing or has the wrong shape, or
   if a tensor, other than scales and alphas, is neither named by a row nor marked as used. Returns
   RAPT_BAD_ARGUMENT if the model is too wide for the precision. */
rapt_status rapt__import_match(struct import *i, const struct import_table *tables, int count);
/* Fills the parameters of a matched model. If several rows for the same part name existing tensors,
   the first is used and the others must be equal to it. Returns RAPT_BAD_FILE if they differ, or if
   a value is not finite or is too large for the precision. The memory for the parameters is outside
   the budget for reading, so everything else, such as vocabularies, must already have been read and
   checked. */
rapt_status rapt__import_fill(struct import *i, const struct import_table *tables, int count);
/* Multiplies the output of a filled model's decoder by a factor, which becomes part of the gain of
   the last norm. That norm must be an RMSNorm. */
void rapt__import_scale_output(struct import *i, float factor);
/* The first function replaces the layer number in the name of one of our parameters with '#' and
   sets *layer to the number, or to 0 if the name has none. The second replaces '#' with the
   number. */
enum { IMPORT_NAME = 160 };
void rapt__import_pattern(const char *name, char pattern[IMPORT_NAME], int *layer);
void rapt__import_name(char to[IMPORT_NAME], const char *pattern, int layer);
/* Stores an alpha in the metadata SCALES_KEY, under a name that does not belong to a parameter. */
rapt_status rapt__import_keep_alpha(struct import *i, const char *name, float alpha);
/* Reads a tensor of one integer and marks it as used. If it is missing, the value is `otherwise`.
   Returns RAPT_BAD_FILE if it is not one integer from -2^10 to 2^24. */
rapt_status rapt__import_number(struct import *i, const char *name, int otherwise, int *value);

/* ---- settings.c: a JSON object by key ---- */
struct import_setting {
    const char *key;
    const char *text;  /* text of a string, number, true, false or null, or of the only element of a
                          list if that is a string or a nonnegative number; NULL for an object or
                          any other list */
    bool string, list; /* string: the value, or the first element of a list, is a string; list: the
                          value is a list */
    int length;        /* number of elements of a list */
    /* Tokens (integers of at most 9 digits) in a list of at most IMPORT_IDS elements, each of which
       is a token or a list of one token. id_count is -1 for any other value. */
    int ids[IMPORT_IDS], id_count;
};
struct import_settings {
    char *bytes; /* [size + 1] contents of the file; the settings point into them */
    size_t size;
    struct import_setting *all; /* [count], allocated for [capacity] */
    size_t count, capacity;
};
/* Reads the settings in a file in the folder, and records its use. Returns RAPT_NO_FILE if it does
   not exist, and RAPT_BAD_FILE if it is not a JSON object of at most 4096 different keys. After a
   failure there is nothing to free. */
rapt_status rapt__import_settings(struct import *i, const char *name, struct import_settings *s);
void rapt__import_settings_free(struct import *i, struct import_settings *s);
/* Returns the text of a setting that is a string, a number, true or false. Returns NULL if it is
   anything else or missing. */
const char *rapt__import_setting(const struct import_settings *s, const char *key);
/* Reads an integer from 0 to INT_MAX, which may be in quotes. If the key is missing or null, the
   value is `otherwise`. Returns RAPT_BAD_FILE if the value is anything else. */
rapt_status rapt__import_whole(struct import *i, const struct import_settings *s, const char *key,
                               int otherwise, int *value);
/* Reads the id of a token as rapt__import_whole reads an integer. The id may also be the only
   element of a list. */
rapt_status rapt__import_id(struct import *i, const struct import_settings *s, const char *key,
                            int otherwise, int *value);
/* Reads true or false, as rapt__import_whole reads an integer. */
rapt_status rapt__import_flag(struct import *i, const struct import_settings *s, const char *key,
                              bool otherwise, bool *value);
/* Reads a finite number as rapt__import_whole reads an integer. */
rapt_status rapt__import_float(struct import *i, const struct import_settings *s, const char *key,
                               float otherwise, float *value);
/* Returns the string of a setting that is a list of one string. Returns NULL if the setting is
   anything else or missing. */
const char *rapt__import_only(const struct import_settings *s, const char *key);
/* Returns the tokens in a list of tokens or of lists of one token. *count is 0 if the key is
   missing or null, and -1 if the value is something else or has more than IMPORT_IDS tokens. */
const int *rapt__import_tokens(const struct import_settings *s, const char *key, int *count);

/* ---- marian.c ---- */
/* Returns the value of a key, or NULL if the key is missing or its value is a list. An unquoted
   True or TRUE is returned as "true", and an unquoted False or FALSE as "false". */
const char *rapt__import_option(const struct yaml *y, const char *key);

/* ---- decoding.c ---- */
/* These functions store settings in i->decoding. The first one takes them from i->decoder, unless
   that is NULL. */
void rapt__import_marian_decoding(struct import *i);
/* Stores the settings that Argos Translate passes to CTranslate2. */
void rapt__import_argos_decoding(struct import *i);
/* Stores the id (in decimal) of the first token of every translation, such as its language. */
void rapt__import_first_token(struct import *i, const char *id);
/* Stores the settings in generation_config.json or, if that file does not exist, those in `config`,
   which are the settings of config.json. `pad` and `end` are the ids of the pad and end tokens.
   Returns RAPT_BAD_FILE if generation_config.json is damaged. */
rapt_status rapt__import_hf_decoding(struct import *i, const struct import_settings *config,
                                     int pad, int end);

/* ---- vocabulary.c ---- */
/* Opens a file in the folder. A member of i->archive is read into memory, and so is a compressed
   file on disk. The caller must close the source. Returns the errors of rapt__archive_read or
   rapt__disk_open_inflated, which include RAPT_NO_FILE if the file does not exist. */
rapt_status rapt__import_source(struct import *i, const char *name, struct disk_source *source);
/* Opens a file of token names in the folder, and records its use. The caller must close the
   vocabulary. */
rapt_status rapt__import_open_names(struct import *i, const char *name, struct vocabulary **v);
/* Reads a file in the folder, as rapt__import_source does, into *size + 1 bytes of memory, the last
   of which is 0. The caller must free them. Returns the errors of rapt__import_source, and
   RAPT_BAD_FILE if there are more than 2^28 bytes. */
rapt_status rapt__import_read(struct import *i, const char *name, char **bytes, size_t *size);
/* Makes a tokenizer from the names in a file. There must be one name for each of the `vocab` rows
   of the table; if only the last is missing and no other is <unk>, the last row is named <unk>.
   `pieces` is the SentencePiece tokenizer that splits texts, or NULL to split them at spaces.
   Returns RAPT_NO_FILE if the file does not exist, and RAPT_BAD_FILE if it is damaged or no
   tokenizer can be made from its names. */
rapt_status rapt__import_names(struct import *i, const char *name, int vocab,
                               const rapt_tokenizer *pieces, rapt_tokenizer **tokenizer);
/* Like rapt__import_names, but texts are split by BPE over Moses-tokenized words. */
rapt_status rapt__import_moses(struct import *i, const char *name, int vocab,
                               const struct moses_source *moses, rapt_tokenizer **tokenizer);
/* Makes a WordPiece tokenizer from the names in a file. Names beyond the table are ignored, and
   rows without a name are never produced. Returns RAPT_NO_FILE if the file does not exist. */
rapt_status rapt__import_wordpiece(struct import *i, const char *name, int vocab,
                                   const rapt_wordpiece_options *options,
                                   rapt_tokenizer **tokenizer);
/* Makes a tokenizer from a SentencePiece model in the folder, and records its use. */
rapt_status rapt__import_pieces(struct import *i, const char *name, rapt_tokenizer **tokenizer);
/* Makes i->source, and i->target if it differs, from the vocabularies in the folder of a Marian
   model. Either i->decoder names these files, or they are recognized by their own names. */
rapt_status rapt__import_vocabularies(struct import *i);
/* Returns whether a file with this name is a SentencePiece model (.spm), decoder.yml, which names
   vocabularies, or a list of token names (.yml, .yaml, .json or .txt, with "vocab" in its name). */
bool rapt__import_is_vocabulary(const char *name);

/* ---- folder.c ---- */
/* Visits the names in a folder. The path of a folder in a zip file begins with that of the zip
   file. Returns RAPT_BAD_FILE or RAPT_NO_MEMORY if the folder cannot be listed. */
rapt_status rapt__import_list(struct import *i, const char *folder, disk_visit_fn *visit,
                              void *user);
/* Returns whether a name ends with `end`, not counting a final ".gz" or ".zst". */
bool rapt__import_ends(const char *name, const char *end);
/* Returns whether a file is compressed and the folder also has an uncompressed copy of it. */
bool rapt__import_is_twin(const struct import *i, const char *name);
/* Finds the file that a path names in the model's folder, plain or compressed, and sets `found` to
   its name. Folders in the path, separated by / or \, are ignored. Returns false if the file does
   not exist. */
bool rapt__import_locate(const struct import *i, const char *path, char found[IMPORT_FILE]);
/* Returns whether a file with this name in the folder of a model may be read as its tensors or
   vocabulary. */
bool rapt__import_reads(const char *name);
/* Chooses the file of tensors in i->folder, stores its name in i->model_name, and sets
   i->model_reason. `path` is the path that the caller gave, for messages. Returns RAPT_BAD_FILE if
   there is no such file, or if the choice among several is ambiguous. */
rapt_status rapt__import_choose(struct import *i, const char *path);
/* Sets i->decoder and i->decoder_name if the folder has decoding settings for the model. Returns
   the errors of rapt__import_read, and RAPT_BAD_FILE if decoder.yml or a *.decoder.yml file is
   damaged. */
rapt_status rapt__import_decoder(struct import *i);
void rapt__import_survey_free(struct import *i); /* frees the survey, including i->decoder */
/* The first function records the use of a file in the folder or, if its name begins with "../",
   next to the folder. For a file in an inner folder, it records the use of that folder. The second
   calls `file`, unless that is NULL, for every file in the folder and every recorded file next to
   it. */
void rapt__import_record(struct import *i, const char *name, rapt_file_use use);
rapt_status rapt__import_report(struct import *i, rapt_file_fn *file, void *user);

/* ---- import.c ---- */
/* Sets the message and returns RAPT_BAD_FILE. rapt__import puts the path before the message unless
   the message already names a file. */
rapt_status rapt__import_bad(struct import *i, const char *format, ...)
    __attribute__((format(RAPT__PRINTF, 2, 3)));
bool rapt__import_is_folder(const char *path);
/* Returns whether the folder has a file with this name, which may begin with "../". */
bool rapt__import_has(const struct import *i, const char *name);

/* ---- nested.c: models in inner folders, and in zip files ---- */
/* If i->folder is a folder of Hugging Face's cache or an Argos package, changes it to the inner
   folder that contains the model, and reads the settings of the package. Returns RAPT_BAD_FILE if
   the inner folder is missing or the package is damaged or not supported. */
rapt_status rapt__import_enter(struct import *i);
/* Returns whether a path ends in .argosmodel and does not name a folder. */
bool rapt__import_is_archive(const char *path);
/* Opens the zip file at `path` as i->archive and sets i->folder to the folder of the package in it.
   Returns the errors of rapt__archive_open, and RAPT_BAD_FILE unless there is exactly one
   package. */
rapt_status rapt__import_archive(struct import *i, const char *path);
/* Sets `member` to the name that a file in the folder has in the archive. `name` may begin with
   "../". */
void rapt__import_member(const struct import *i, const char *name, char member[IMPORT_PATH]);

/* ---- one function per project, which makes i->model, i->source and, if it differs, i->target from
   i->file and the other files of the folder ---- */
rapt_status rapt__import_ct2(struct import *i);
rapt_status rapt__import_marian(struct import *i);
extern const struct import_row rapt__marian_rows[]; /* [rapt__marian_row_count] */
extern const int rapt__marian_row_count;
rapt_status rapt__import_hf(struct import *i);

#endif
