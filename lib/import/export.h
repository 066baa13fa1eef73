/* export.h - what the writers of other projects' folders share: checks of a configuration, tensors
   by the tables of their readers the other way round, texts in JSON, tokenizers. */
#ifndef RAPT_LIB_IMPORT_EXPORT_H
#define RAPT_LIB_IMPORT_EXPORT_H

#include "import/parts.h"

struct export_tensor {
    const struct parameter *p;    /* NULL: data, or zeros */
    const struct import_row *row; /* of which part of p it is */
    const float *block, *data;
    size_t count; /* elements; behind them come zeros */
    float alpha;  /* of Marian: the scale of the other factor; 0: not known */
    char name[IMPORT_NAME];
};

enum { EXPORT_FILES = 8, EXPORT_NAME = 32 };
struct export_plan { /* the files that an export writes */
    int count;
    char names[EXPORT_FILES][EXPORT_NAME];
};

struct exporting {
    const rapt_model *model;
    enum export_format format;
    const rapt_config *config; /* the model's */
    const char *project;       /* for messages */
    const char *folder;
    struct export_plan *plan;        /* not NULL: gets the names of files, and none is written */
    rapt_tokenizer *source, *target; /* the model's; one, if they are one */
    struct export_tensor *tensors;   /* [count] and their sources */
    struct tensor_source *sources;
    int count, capacity;
    float none_alpha; /* of Marian's output layer */
    rapt_message *why;
};

/* ---- what the project can hold ---- */

/* RAPT_BAD_ARGUMENT: "PROJECT cannot hold this model: FIELD must be NEEDED". */
rapt_status rapt__export_refuse(const struct exporting *e, const char *field, const char *needed);
/* An encoder-decoder with feed-forward layers and as many key heads as heads; every field but its
   sizes and those given [count] is 0. That its vocabularies are those of its tokenizers is known.
 */
rapt_status rapt__export_check(const struct exporting *e, const enum config_field *free_fields,
                               int count);

/* ---- tensors ---- */

/* Whether a row is one of those that the writer takes, of its parameter's name with '#'. */
typedef bool export_takes(const struct exporting *e, const struct import_row *row,
                          const char *pattern);
struct export_rows {
    const struct import_table *tables; /* [count] of several rows for one part the first is taken */
    int count;
    export_takes *takes; /* NULL: all */
    int vector_rank;     /* 2: vectors are matrices of one row */
    int more;            /* tensors that the writer adds itself, at most */
};
/* Fills sources from all parameters. */
rapt_status rapt__export_tensors(struct exporting *e, const struct export_rows *rows);
/* A tensor [rows][columns] (rank 2) of the writer's own; data: the caller's, NULL for zeros. */
void rapt__export_add(struct exporting *e, const char *name, int rows, int columns,
                      const float *data);
/* The same parameter with one more row, or element, of zeros. */
void rapt__export_extend(struct exporting *e, const char *name);
/* The source of that name; NULL: there is none. */
struct tensor_source *rapt__export_find(const struct exporting *e, const char *name);

/* ---- marian_scales.c ---- */
/* Scales of the tensors, and alphas behind them: those of the file that the model is from. */
rapt_status rapt__export_scales(struct exporting *e);

/* ---- files ---- */

struct composer { /* a text that grows */
    rapt_allocator allocator;
    char *text; /* [size] */
    size_t size, capacity;
    bool failed; /* there was no memory */
};
void rapt__compose(struct composer *c, const char *format, ...)
    __attribute__((format(RAPT__PRINTF, 2, 3)));               /* at most 1000 bytes */
void rapt__compose_string(struct composer *c, rapt_text text); /* of JSON, in quotes; UTF-8 */
/* Writes it as a file of the folder, and frees it. */
rapt_status rapt__compose_write(const struct exporting *e, struct composer *c, const char *name);
rapt_status rapt__export_file(const struct exporting *e, const char *name, const void *data,
                              size_t size);
/* While files are planned: adds the name, and is true. */
bool rapt__export_plans(const struct exporting *e, const char *name);
/* The path of a file in the folder. */
void rapt__export_path(const struct exporting *e, const char *name, char path[2 * IMPORT_PATH]);

/* ---- tokenizers ---- */

/* The key of the metadata that a tokenizer is from, for messages. */
const char *rapt__export_key(const struct exporting *e, const rapt_tokenizer *t);
/* The SentencePiece model it was made of, which must be there. */
rapt_status rapt__export_pieces(const struct exporting *e, const rapt_tokenizer *t,
                                const char *name);
/* Its SentencePiece model, where it has one; nothing else. */
rapt_status rapt__export_pieces_if(const struct exporting *e, const rapt_tokenizer *t,
                                   const char *name);
/* Whether its ids are those of its SentencePiece model; else they are those of a list of names. */
rapt_status rapt__export_is_pieces(const struct exporting *e, const rapt_tokenizer *t, bool *is);
/* RAPT_BAD_ARGUMENT: a special token is not there, or has another name. */
rapt_status rapt__export_special(const struct exporting *e, const rapt_tokenizer *t, int which,
                                 const char *name);
bool rapt__same_names(const rapt_tokenizer *a, const rapt_tokenizer *b);

/* ---- others.c ---- */
/* RAPT_BAD_ARGUMENT: the folder has a file of another model that would stay beside those of the
   plan and be read with them, or a model of another format in the place of one. */
rapt_status rapt__export_check_folder(const struct exporting *e, const struct export_plan *plan);

/* ---- the whole ---- */

/* What a project writes, once folder and tokenizers are there; called twice, with a plan first. */
typedef rapt_status export_write(struct exporting *e);
export_write rapt__export_hf, rapt__export_ct2, rapt__export_marian, rapt__export_bergamot;

#endif
