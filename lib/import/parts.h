/* parts.h - what the files of this layer share: an import while it is going on, tensors by tables
   of names, settings in JSON, vocabularies. */
#ifndef RAPT_LIB_IMPORT_PARTS_H
#define RAPT_LIB_IMPORT_PARTS_H

#include "format/format.h"
#include "import/import.h"
#include <rapt/text.h>

/* Bytes of a path; of the name of a file in the folder; files that one model is read from. */
enum { IMPORT_PATH = 4096, IMPORT_FILE = 256, IMPORT_READ_FILES = 24 };

struct import_read_file { /* a file that was read */
    char name[IMPORT_FILE];
    rapt_file_use use;
};

struct import {
    char folder[IMPORT_PATH];     /* of its files, ending in '/'; or "" */
    char model_name[IMPORT_FILE]; /* of the file of tensors, in the folder */
    const char *model_reason;     /* why it is that one */
    struct yaml *decoder;         /* settings for decoding beside a model of Marian; NULL: none */
    char decoder_name[IMPORT_FILE];
    struct import_read_file read_files[IMPORT_READ_FILES];
    int read_count;
    rapt_allocator allocator;
    struct tensor_file *file;
    bool *used; /* [entries of the file] read, or known to mean nothing here */
    rapt_config config;
    rapt_model *model;
    rapt_tokenizer *source, *target; /* target NULL: source is both */
    char origin[160];                /* for people: what it was */
    float max_length_factor;         /* target tokens for each source token; 0: not known */
    char *scales; /* [scales_capacity] metadata SCALES_KEY, ending in 0; NULL: none */
    size_t scales_size, scales_capacity;
    void (*spell)(char *name); /* [160] as the file has it; NULL: it is the same */
    rapt_message *why;
};

/* ---- fill.c: tensors of the file by name; '#' in a name stands for the number of a layer ---- */
enum import_flags {
    IMPORT_OPTIONAL = 1,  /* what is not there is 0 */
    IMPORT_TRANSPOSED = 2 /* [columns][rows] */
};
struct import_row { /* one parameter of ours, or part `part` of `parts` of its rows */
    const char *ours, *theirs;
    int part, parts, flags;
};
struct import_table {
    const struct import_row *rows;
    int count;
    int first_layer; /* the number of theirs that is our 0 */
};
const struct tensor_entry *rapt__import_find(const struct import *i, const char *name, int layer);
void rapt__import_use(struct import *i, const struct tensor_entry *entry); /* NULL is allowed */
/* Every parameter of the model from the tables; of rows for the same part the first one that is
   there counts, and the others must be equal to it. RAPT_BAD_FILE: one is missing or of another
   shape, or a tensor is left that no row has used. */
rapt_status rapt__import_fill(struct import *i, const struct import_table *tables, int count);
/* A parameter's name with '#' for the number of its layer, which goes to *layer; and back. */
enum { IMPORT_NAME = 160 };
void rapt__import_pattern(const char *name, char pattern[IMPORT_NAME], int *layer);
void rapt__import_name(char to[IMPORT_NAME], const char *pattern, int layer);
/* A whole number, 1 element; not there: `otherwise`. Counts as used. */
rapt_status rapt__import_number(struct import *i, const char *name, int otherwise, int *value);

/* ---- scales.c: metadata SCALES_KEY ---- */
/* Rows [first, first + rows) of a parameter are an entry's; nothing is kept of one without scales.
 */
rapt_status rapt__import_keep_scales(struct import *i, const char *name, size_t first, size_t rows,
                                     const struct tensor_entry *entry);
rapt_status rapt__import_keep_scale(struct import *i, const char *name, size_t first, size_t rows,
                                    float scale, float alpha);

/* ---- settings.c: a JSON object by key ---- */
struct import_setting {
    const char *key;
    const char *text; /* of a string, number, true, false or null, or of the one number of a list;
                         NULL: an object or another array */
    bool string, list;
    int length; /* of a list */
};
struct import_settings {
    char *bytes; /* of the file, into which the texts point */
    size_t size;
    struct import_setting *all; /* [count] of memory for [capacity] */
    size_t count, capacity;
};
/* RAPT_NO_FILE: there is no such file in the folder, and nothing to free. */
rapt_status rapt__import_settings(struct import *i, const char *name, struct import_settings *s);
void rapt__import_settings_free(struct import *i, struct import_settings *s);
/* The text of a setting; NULL: it is not there, is null, or no plain value. */
const char *rapt__import_setting(const struct import_settings *s, const char *key);
/* A whole number; not there: `otherwise`. RAPT_BAD_FILE: it is something else. */
rapt_status rapt__import_whole(struct import *i, const struct import_settings *s, const char *key,
                               int otherwise, int *value);
/* The number of a token, which may be a list of one; not there: `otherwise`. */
rapt_status rapt__import_id(struct import *i, const struct import_settings *s, const char *key,
                            int otherwise, int *value);
/* true or false; not there: `otherwise`. */
rapt_status rapt__import_flag(struct import *i, const struct import_settings *s, const char *key,
                              bool otherwise, bool *value);

/* ---- vocabulary.c ---- */
/* All bytes of a file in the folder, [*size + 1] with a 0 behind them, which the caller frees. */
rapt_status rapt__import_read(struct import *i, const char *name, char **bytes, size_t *size);
/* A tokenizer of the names in a file, which must have as many as the table has rows; one fewer: the
   last one is <unk>. pieces: NULL, or a SentencePiece tokenizer. RAPT_NO_FILE: it is not there. */
rapt_status rapt__import_names(struct import *i, const char *name, int vocab,
                               const rapt_tokenizer *pieces, rapt_tokenizer **tokenizer);
rapt_status rapt__import_pieces(struct import *i, const char *name,
                                rapt_tokenizer **tokenizer); /* a SentencePiece model */
/* Those beside a model of Marian: one for both sides, or two. i->decoder says which they are, or
   their names do. */
rapt_status rapt__import_vocabularies(struct import *i);
/* Whether a file of that name is one of vocabularies: a SentencePiece model, a list of names with
   "vocab" in its name, or decoder.yml. */
bool rapt__import_is_vocabulary(const char *name);

/* ---- folder.c ---- */
/* Visits the names in a folder. RAPT_NO_MEMORY, RAPT_BAD_FILE: it cannot be listed. */
rapt_status rapt__import_list(struct import *i, const char *folder, disk_visit_fn *visit,
                              void *user);
/* Whether a name ends so, or so and with ".gz". */
bool rapt__import_ends(const char *name, const char *end);
/* Whether a compressed file is beside the same one that is not. */
bool rapt__import_is_twin(const struct import *i, const char *name);
/* Whether a file of that name in a folder may be read as tensors or vocabulary of its model. */
bool rapt__import_reads(const char *name);
/* Chooses i->model_name in a folder. */
rapt_status rapt__import_choose(struct import *i, const char *path);
/* Opens i->decoder, if there are settings for the model. */
rapt_status rapt__import_decoder(struct import *i);
/* Remembers that a file was read; reports all files of the folder (file NULL: none). */
void rapt__import_record(struct import *i, const char *name, rapt_file_use use);
rapt_status rapt__import_report(struct import *i, rapt_file_fn *file, void *user);

/* ---- import.c ---- */
/* "why" with the file's name before it. */
rapt_status rapt__import_bad(struct import *i, const char *format, ...)
    __attribute__((format(RAPT__PRINTF, 2, 3)));
/* Whether the folder has a file of that name. */
bool rapt__import_has(const struct import *i, const char *name);
/* The model of i->config, once that is known. */
rapt_status rapt__import_make(struct import *i);

/* ---- one file per project: i->file is open; makes config, model and tokenizers ---- */
rapt_status rapt__import_ct2(struct import *i);
rapt_status rapt__import_marian(struct import *i);
extern const struct import_row rapt__marian_rows[]; /* [rapt__marian_row_count] */
extern const int rapt__marian_row_count;
rapt_status rapt__import_hf(struct import *i);

#endif
