/* export.h - declarations shared by the exports to other projects: checks of a configuration,
   tensors (using the tables of the imports in reverse), JSON and tokenizers. */
#ifndef RAPT_LIB_IMPORT_EXPORT_H
#define RAPT_LIB_IMPORT_EXPORT_H

#include "import/parts.h"

struct export_tensor {
    const struct parameter *p;    /* NULL for data or zeros */
    const struct import_row *row; /* describes which part of `p` the tensor holds */
    /* block: all parameters of the model. data: the elements if p is NULL; NULL for zeros. */
    const float *block, *data;
    size_t count; /* number of elements from `p` or `data`; the others are 0 */
    float alpha;  /* for Marian: alpha of the matrix; 0 if unknown */
    char name[IMPORT_NAME];
};

enum { EXPORT_FILES = 12, EXPORT_NAME = 64 };
struct export_plan { /* names of the files that an export writes */
    int count;
    char names[EXPORT_FILES][EXPORT_NAME];
};

/* Reasons why the other project cannot represent the model. */
struct export_reasons {
    int count;
    rapt_message message; /* as many of the reasons as fit */
};

struct exporting {
    const rapt_model *model;
    enum export_format format;
    const rapt_config *config; /* configuration of the model */
    const char *project;       /* name of the other project, for messages */
    const char *folder;
    const struct export_settings *settings;
    struct export_reasons *reasons;
    struct export_plan *plan;        /* if not NULL, names of files are added to it, and nothing is
                                        written */
    rapt_tokenizer *source, *target; /* tokenizers of the model; equal if it has only one, NULL if
                                        they are missing */
    struct export_tensor *tensors;   /* [count] tensors; `sources` has one entry for each */
    struct tensor_source *sources;
    int count, capacity;
    float none_alpha; /* alpha of Marian's output layer with a shortlist; 0 if unknown */
    rapt_message *why;
};

/* ---- what the project can represent ---- */

/* Adds a reason to the message "cannot export this model to PROJECT: FIELD must be NEEDED; FIELD
   must be NEEDED", unless the message already contains it or is full. */
void rapt__export_refuse(const struct exporting *e, const char *field, const char *needed);
/* If there are reasons, returns RAPT_BAD_ARGUMENT and a message with as many of them as fit. */
rapt_status rapt__export_refused(const struct exporting *e);
/* Refuses the model unless it is an encoder-decoder with feed-forward layers and as many key heads
   as query heads, and all other fields of its configuration, except sizes, alignment_layer,
   alignment_heads and the `count` fields in free_fields, are 0. The sizes of its vocabularies must
   already have been compared with the tokenizers. */
void rapt__export_check(const struct exporting *e, const enum config_field *free_fields, int count);

/* ---- tensors ---- */

/* Returns true if the writer needs a row of a table. `pattern` is our name for the parameter, with
   '#' in place of the layer number. */
typedef bool export_takes(const struct exporting *e, const struct import_row *row,
                          const char *pattern);
struct export_rows {
    const struct import_table *tables; /* [count]; the first row for a part is used, and the rows of
                                          a parameter's parts must be in order */
    int count;
    export_takes *takes; /* NULL if all rows are needed */
    int vector_rank;     /* if 2, vectors become matrices of one row */
    int more;            /* maximum number of tensors, except alphas, that the writer itself adds */
};
/* Fills e->tensors and e->sources with one tensor for each part of a parameter that the tables name
   and the writer needs. rapt__export frees them. */
rapt_status rapt__export_tensors(struct exporting *e, const struct export_rows *rows);
/* Adds a tensor [rows][columns] made by the writer. `data` is not copied; NULL means zeros. */
void rapt__export_add(struct exporting *e, const char *name, int rows, int columns,
                      const float *data);
/* Appends a row of zeros to the tensor with this name, or a zero element if it is a vector or a
   matrix that holds a vector as its only row. Does nothing if there is no such tensor. */
void rapt__export_extend(struct exporting *e, const char *name);
/* Returns the source of the tensor with this name, or NULL. */
struct tensor_source *rapt__export_find(const struct exporting *e, const char *name);

/* ---- files ---- */

struct composer { /* a growing string */
    rapt_allocator allocator;
    char *text; /* [size] */
    size_t size, capacity;
    bool failed; /* out of memory */
};
/* Appends a formatted text. */
void rapt__compose(struct composer *c, const char *format, ...)
    __attribute__((format(RAPT__PRINTF, 2, 3)));
void rapt__compose_string(struct composer *c, rapt_text text); /* appends UTF-8 as a JSON string */
/* Writes the string as rapt__export_file does, and frees it even after a failure. */
rapt_status rapt__compose_write(const struct exporting *e, struct composer *c, const char *name);
/* Writes a file in the folder or, if e->plan is set, only adds its name to the plan. */
rapt_status rapt__export_file(const struct exporting *e, const char *name, const void *data,
                              size_t size);
/* If e->plan is set, adds the name to the plan and returns true. */
bool rapt__export_plans(const struct exporting *e, const char *name);
/* Composes the path of a file in the folder. */
void rapt__export_path(const struct exporting *e, const char *name, char path[2 * IMPORT_PATH]);

/* ---- tokenizers ---- */

/* Returns the metadata key of the tokenizer e->source or e->target, for messages. */
const char *rapt__export_key(const struct exporting *e, const rapt_tokenizer *t);
/* Writes the SentencePiece model of a tokenizer, which must have one. */
rapt_status rapt__export_pieces(const struct exporting *e, const rapt_tokenizer *t,
                                const char *name);
/* Like rapt__export_pieces, but writes nothing if the tokenizer has no SentencePiece model. */
rapt_status rapt__export_pieces_if(const struct exporting *e, const rapt_tokenizer *t,
                                   const char *name);
/* Sets *is to whether the tokenizer has a SentencePiece model and uses the ids of that model rather
   than those of a list. */
rapt_status rapt__export_is_pieces(const struct exporting *e, const rapt_tokenizer *t, bool *is);
/* Refuses the model if a special token is missing or has another name. */
void rapt__export_special(const struct exporting *e, const rapt_tokenizer *t, int which,
                          const char *name);
/* Returns whether two vocabularies have the same names in the same order. */
bool rapt__same_names(const rapt_tokenizer *a, const rapt_tokenizer *b);

/* ---- others.c ---- */
/* Checks the folder before files are written; a missing folder is accepted. Returns
   RAPT_BAD_ARGUMENT if the folder has a file of another model that would remain and be read
   together with the new files, or if the export would replace a model of another format. Returns
   RAPT_NO_FILE if the folder cannot be listed, and RAPT_NO_MEMORY if an allocation fails. */
rapt_status rapt__export_check_folder(const struct exporting *e, const struct export_plan *plan);

/* ---- marian_export.c: exports in Marian's format, which differ in file names and precision
   ---- */

/* The vocabularies of a folder: one for both sides, or one for each. */
enum marian_side { MARIAN_BOTH, MARIAN_SOURCE, MARIAN_TARGET, MARIAN_SIDES };
struct marian_names { /* names of the files that an export writes */
    const char *model;
    const char *pieces[MARIAN_SIDES]; /* SentencePiece models */
    const char *lists[MARIAN_SIDES];  /* lists of names; NULL if lists are not allowed */
};
enum { MARIAN_SETTINGS = 4096 };
/* Composes special:model.yml, the configuration in Marian's files. */
void rapt__marian_settings(const rapt_config *config, char text[MARIAN_SETTINGS]);
/* Checks the vocabularies, then writes them and the model, or plans them if e->plan is set. */
rapt_status rapt__marian_export(struct exporting *e, enum marian_precision precision,
                                const struct marian_names *names);

/* ---- the complete export ---- */

/* Refuses a configuration that a project cannot represent. The tokenizers may be NULL. */
typedef void export_check(const struct exporting *e);
export_check rapt__export_check_hf, rapt__export_check_ct2, rapt__export_check_marian,
    rapt__export_check_bergamot, rapt__export_check_firefox;
/* Checks the vocabularies and writes the files of a project. The function is called after the
   export_check of the project, with the tokenizers open: first with e->plan set, to collect the
   names of the files, and then, unless check_only is set, without a plan, to write them. */
typedef rapt_status export_write(struct exporting *e);
export_write rapt__export_hf, rapt__export_ct2, rapt__export_marian, rapt__export_bergamot,
    rapt__export_firefox;

#endif
