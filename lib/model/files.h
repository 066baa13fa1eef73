/* files.h - model files: the configuration as text, metadata and its keys, the scales of imported
   models, and blocks of parameters; part of the interface of the model layer (model.h). */
#ifndef RAPT_LIB_MODEL_FILES_H
#define RAPT_LIB_MODEL_FILES_H

#include "format/format.h"
#include "model/layout.h"

#include <rapt/transformer.h>

/* ---- config_fields.c: the configuration in a model file ---- */
enum { CONFIG_TEXT = 4096 }; /* bytes that suffice for any configuration as text */
rapt_status rapt__config_write(const rapt_config *config, char *text, size_t capacity);
/* load.c: returns RAPT_BAD_FILE if the configuration describes a larger model than the file can
   hold, that is, if the model's parameters or sinusoids have many more elements than all tensors of
   the file together or, with one_each, if the file has fewer tensors than the model has
   parameters. */
rapt_status rapt__config_backed(const rapt_config *config, const struct tensor_file *file,
                                bool one_each, rapt_message *why);
/* Returns RAPT_BAD_FILE if the text is not a configuration, or if rapt__config_check rejects it. */
rapt_status rapt__config_read(rapt_config *config, const char *text, size_t size,
                              rapt_message *why);

/* ---- metadata keys ---- */
#define CONFIG_KEY  "rapt.config"
#define TRAINER_KEY "rapt.trainer" /* a trainer's counters */
#define LAYOUT_KEY  "rapt.layout"  /* layout of a packed file */
#define SCALES_KEY  "rapt.scales"  /* lines that scales.c reads */
/* Metadata key for the maximum number of target tokens per source token, from the settings of an
   imported model. */
#define LENGTH_KEY "rapt.max_length_factor"
/* Metadata keys for other settings of an imported model. The first five become a translator's
   defaults (see rapt_translator_options_default). LIMIT_KEY is the maximum number of target tokens,
   including the end token. SUPPRESSED_KEY is a space-separated list of tokens that are never
   produced. FIRST_KEY is the first token of every translation, unless the caller names a target
   language. IGNORED_KEY lists, for human readers, the settings that are not supported. */
#define BEAMS_KEY      "rapt.beams"
#define PENALTY_KEY    "rapt.length_penalty"
#define LEAST_KEY      "rapt.min_length"
#define NGRAM_KEY      "rapt.no_repeat_ngram"
#define REPETITION_KEY "rapt.repetition_penalty"
#define LIMIT_KEY      "rapt.max_length"
#define SUPPRESSED_KEY "rapt.suppressed"
#define FIRST_KEY      "rapt.first_token"
#define IGNORED_KEY    "rapt.ignored_settings"
/* Metadata keys of text encoders. BEGIN_KEY, which translators also honor, means that each text is
   preceded by the begin token. TOKENS_KEY is the maximum number of tokens in a text, including
   special tokens. NORMALIZE_KEY means that embeddings are divided by their L2 norm. PAIR_KEY is the
   number of end tokens between the two texts of a pair; if the key is missing, the number is 1. */
#define BEGIN_KEY     "rapt.source_begin"
#define TOKENS_KEY    "rapt.max_tokens"
#define NORMALIZE_KEY "rapt.normalize"
#define PAIR_KEY      "rapt.pair_ends"
/* Metadata keys of multilingual translators. LANGUAGE_LAST_KEY means that the language token of a
   source follows the end token instead of preceding the text. LANGUAGE_START_KEY means that the
   language token of a target is the decoder's first input, not its first output. */
#define LANGUAGE_LAST_KEY  "rapt.source_language_last"
#define LANGUAGE_START_KEY "rapt.language_starts"

/* ---- metadata.c ---- */
/* Copies the metadata of a file, except the library's own entries, to a model that has no metadata
   yet. Returns RAPT_NO_MEMORY if an allocation fails. */
rapt_status rapt__metadata_copy(rapt_model *m, const struct tensor_file *file);
/* Replaces the metadata with the given entries, in this order, leaving out those whose value is
   NULL. The entries may be m's own. If the function returns RAPT_NO_MEMORY, the metadata is
   unchanged. */
rapt_status rapt__metadata_set(rapt_model *m, const rapt_metadata *metadata, int count);
/* Replaces or adds one entry, or removes it if value is NULL. Fails like rapt__metadata_set. */
rapt_status rapt__metadata_replace(rapt_model *m, const char *key, const char *value);
/* Returns RAPT_BAD_ARGUMENT if a caller may not pass these entries, for example because a key is
   given twice or reserved for the library. */
rapt_status rapt__metadata_check(const rapt_metadata *metadata, int count, rapt_message *why);
/* Fills `all` [count + m->notes.count] with the given entries whose value is not NULL, and with
   those entries of the model whose keys are not given, sorted by key. Returns the number of
   entries. */
int rapt__metadata_merge(const rapt_model *m, const rapt_metadata *metadata, int count,
                         struct tensor_metadata *all);

/* ---- scales.c ---- */
/* Indexes the lines of the metadata entry SCALES_KEY. Must be called whenever the metadata is set.
   Returns RAPT_NO_MEMORY if an allocation fails; damaged lines are reported only when scales are
   read. */
rapt_status rapt__scales_index(rapt_model *model);
void rapt__scales_free(rapt_model *model); /* frees the index */
struct scale_text {                        /* the value of SCALES_KEY while it is being built */
    char *text;                            /* [capacity] null-terminated; NULL if it has no lines */
    size_t size, capacity;
};
struct scale_rows { /* rows [first, first + count) of a parameter */
    const char *name;
    size_t first, count;
    const float *scales; /* [count], or [1] if `same`; 0 means unknown */
    bool same;           /* all rows have the same scale */
    float alpha;         /* 0 means unknown */
};
/* Appends lines for these rows. Rows whose scale and alpha are both unknown may be left out.
   Returns RAPT_NO_MEMORY if an allocation fails. */
rapt_status rapt__scales_append(struct scale_text *t, const rapt_allocator *allocator,
                                const struct scale_rows *rows, rapt_message *why);
/* Replaces all alphas. `alphas` holds one alpha for each parameter of the model, 0 if it is
   unknown. `none` is the alpha of the output layer with a shortlist, which is stored under the name
   "none" as in Marian's files. Scales do not change. After an error, the model is unchanged. */
rapt_status rapt__scales_set_alphas(rapt_model *model, const float *alphas, float none,
                                    rapt_message *why);
/* Works like rapt_model_scales, but for one row with a name that need not be that of a parameter,
   such as "none". */
rapt_status rapt__scales_named(const rapt_model *model, const char *name, float *scale,
                               float *alpha, rapt_message *why);

/* ---- file.c: a model file whose tensors come from several blocks, such as Adam's moments ---- */
enum value_range { FINITE_VALUE, FINITE_NOT_NEGATIVE, ANY_VALUE };
struct block_file {
    const char *prefix; /* prefix of the tensors' names: "", "adam.m.", ... */
    float *block;
    enum value_range range;      /* the values that loading accepts; saving does not check them */
    const struct layout *layout; /* the block's layout; NULL means the model's */
};
struct block_output { /* where blocks are saved: to the writer or, if it is NULL, at path */
    const char *path;
    const rapt_writer *writer;
    bool packed; /* see packed.c; only for a single block without a prefix */
};
/* Saves blocks. `trainer` is the value of TRAINER_KEY, or NULL. */
rapt_status rapt__blocks_save(const rapt_model *model, const struct block_file *blocks, int count,
                              const struct block_output *to, const rapt_metadata *metadata,
                              int metadata_count, const char *trainer, rapt_message *why);
/* Returns RAPT_BAD_FILE unless the file has a tensor of the right shape for each parameter. */
rapt_status rapt__blocks_match(const rapt_model *model, const struct block_file *blocks, int count,
                               const struct tensor_file *file, rapt_message *why);
/* Loads blocks from a file that rapt__blocks_match accepts. Returns RAPT_NO_MEMORY if an allocation
   fails, or RAPT_BAD_FILE if the file cannot be read, a value is out of range or, for IN_BYTES
   parameters, the metadata entry SCALES_KEY is damaged. */
rapt_status rapt__blocks_load(const rapt_model *model, const struct block_file *blocks, int count,
                              struct tensor_file *file, rapt_message *why);

/* ---- packed.c: files that hold the block exactly as in memory ---- */
/* A tensor that holds a parameter or, if the parameter consists of bytes and scales, either the
   bytes or the scales. */
struct packed_piece {
    const char *suffix; /* appended to the name of the parameter */
    const char *dtype;
    int rank;
    size_t shape[4];
    size_t offset, floats; /* location and size in the block, in units of 4 bytes */
};
enum { PACKED_PIECES = 2 };
/* Lists the tensors of a parameter in the order in which the block stores them. Returns the number
   of tensors. */
int rapt__packed_pieces(const struct parameter *p, struct packed_piece pieces[PACKED_PIECES]);
struct packed_layout { /* the value of LAYOUT_KEY */
    enum layout_kind matrices;
    bool finite; /* true if all values passed rapt_model_check when the file was written */
};
/* Parses the value of LAYOUT_KEY. Returns RAPT_BAD_FILE if it is unknown. */
rapt_status rapt__packed_layout_read(struct packed_layout *layout, const char *text,
                                     rapt_message *why);
enum { PACKED_LAYOUT = 32 };
/* Writes the value of LAYOUT_KEY for a model. */
void rapt__packed_layout_write(const rapt_model *m, char text[PACKED_LAYOUT]);
/* Gives a block to a model that has none: maps the file if that is possible and the options allow
   it, otherwise reads it. `layout` is the file's layout; the model's matrices must already be laid
   out in the same way. Returns RAPT_NO_MEMORY if an allocation fails, or RAPT_BAD_FILE if a tensor
   or value is invalid. */
rapt_status rapt__packed_load(rapt_model *m, const struct tensor_file *file,
                              const struct packed_layout *layout, const rapt_load_options *options,
                              rapt_message *why);
/* Returns the index of the first value that is infinite or NaN, or count if all are finite. */
size_t rapt__finite_count(const float *x, size_t count);

#endif
