/* format.h - interface of the file layer. The same functions read files of named tensors in every
   supported format (safetensors, CTranslate2, Marian, npz, PyTorch). Safetensors, Marian and
   CTranslate2 files can also be written. Other functions read zip files, vocabularies, Protocol
   Buffers, JSON, YAML and plain files. Nothing in a file is trusted. Files are replaced atomically.
   Every function that takes an allocator may also return RAPT_NO_MEMORY.

   This layer handles files, names and numbers; the layers above interpret them as models. */
#ifndef RAPT_LIB_FORMAT_H
#define RAPT_LIB_FORMAT_H

#include "format/disk.h"
#include "format/parsers.h"
#include <rapt/base.h>

enum { TENSOR_RANK = 8 }; /* maximum number of dimensions of a tensor */

/* The role of an entry. */
enum tensor_use {
    TENSOR_VALUES,
    TENSOR_ALIAS,  /* another name for the bytes of another entry */
    TENSOR_SCALES, /* scales of another entry, to which they are already attached */
    TENSOR_ALPHA   /* the alpha of a matrix (see `alpha` below), already attached to the matrix if
                      the file has it */
};

/* A tensor, whose elements are read in row-major order. If `scales` is 0, a stored integer q has
   the value q. Otherwise the tensor is quantized, and its values are computed in float, as they are
   in the engine that the file was written for:

       value = q x (1 / scale),   with one scale for each run of count / scales elements */
struct tensor_entry {
    const char *name;  /* UTF-8, not empty; owned by the file */
    const char *dtype; /* type of the stored elements: "F32", "F16", "BF16", "F64", "I8", "I16",
                          ... */
    int rank;
    size_t shape[TENSOR_RANK];
    size_t count;       /* product of the shape */
    size_t begin, end;  /* offsets in the data of `part`; end - begin is the size of the
                           elements in bytes */
    size_t scales;      /* number of scales, a divisor of count; 0 if not quantized */
    size_t scale_begin; /* if scales > 1: offset of the F32 scales in the data */
    float scale;        /* the scale, if scales == 1 */
    float alpha;   /* scale for quantizing the rows that this matrix multiplies; 0 if unknown */
    unsigned part; /* number of the file's part that contains the bytes; 0 is the main part */
    enum tensor_use use;
    bool transposed; /* matrix stored column by column; it is transposed when it is read */
    bool big_endian; /* elements are big-endian; they are converted when they are read */
};
struct tensor_metadata {
    const char *key, *value; /* UTF-8 */
};

/* An open file. Names, shapes and metadata are in memory; elements are read on demand. It is
   immutable once open, so threads may share it. Names and metadata keys are unique, shapes match
   offsets, and all offsets are within the file. Its size in memory is at most proportional to the
   size of the file, plus a few MB for a compressed file. */
struct tensor_file;

enum tensor_container {
    CONTAINER_SAFETENSORS,
    CONTAINER_CTRANSLATE2, /* metadata: binary_version, spec, revision */
    CONTAINER_MARIAN,      /* model.bin; metadata: its strings, such as special:model.yml */
    CONTAINER_NPZ,         /* NumPy arrays in a zip file; metadata: as for Marian */
    CONTAINER_PYTORCH,     /* a state dict written by torch.save, read without Python */
    CONTAINER_SHARDS       /* index of files in the same folder (safetensors, PyTorch); must be
                              opened by its path */
};

/* ---- safetensors_read.c: u64 n (little-endian), n bytes of JSON, data ---- */

/* JSON = {name: {"dtype": text, "shape": [..], "data_offsets": [begin, end]}, ..,
           "__metadata__": {text: text, ..}}
   "__metadata__" may be missing or null. The entries cover the data from the first to the last byte
   without gaps or overlaps. The header is at most 100 MB long. Source: the format section of the
   safetensors README (Hugging Face, 0.5).

   `path` must name a regular file, which may be compressed with gzip or zstd. Returns the errors of
   rapt__disk_open_inflated, RAPT_BAD_FILE if the file violates a rule of the format (*why says
   which), and RAPT_BAD_ARGUMENT if path is NULL. */
rapt_status rapt__tensors_open(struct tensor_file **file, const char *path,
                               const rapt_allocator *allocator, rapt_message *why);
/* Opens an uncompressed file that is in memory. The bytes belong to the caller and must outlive the
   file. Returns RAPT_BAD_FILE as above, and RAPT_BAD_ARGUMENT if bytes is NULL. */
rapt_status rapt__tensors_open_memory(struct tensor_file **file, const void *bytes, size_t size,
                                      const rapt_allocator *allocator, rapt_message *why);
/* Opens an uncompressed file that is read through a callback. *reader is copied; its function may
   be called until the file is closed. Returns RAPT_NO_FILE if a call to it fails, RAPT_BAD_FILE as
   above, and RAPT_BAD_ARGUMENT if reader->read is NULL. */
rapt_status rapt__tensors_open_reader(struct tensor_file **file, const rapt_reader *reader,
                                      const rapt_allocator *allocator, rapt_message *why);

/* ---- open.c: opens a file of any format, identified by its first bytes ---- */

/* These functions work like rapt__tensors_open and rapt__tensors_open_memory, but return
   RAPT_BAD_FILE if the file is in an unknown format or violates the rules of its format. */
rapt_status rapt__tensors_open_any(struct tensor_file **file, const char *path,
                                   const rapt_allocator *allocator, rapt_message *why);
rapt_status rapt__tensors_open_any_memory(struct tensor_file **file, const void *bytes, size_t size,
                                          const rapt_allocator *allocator, rapt_message *why);
/* Like rapt__tensors_open_any, but reads an open source, which the file owns if the call
   succeeds. */
rapt_status rapt__tensors_open_any_source(struct tensor_file **file,
                                          const struct disk_source *source,
                                          const rapt_allocator *allocator, rapt_message *why);
/* Returns true if the first bytes of a file are not those of a safetensors file. Returns false if
   the file cannot be opened or has fewer than 9 bytes. */
bool rapt__tensors_other(const char *path);
enum tensor_container rapt__tensors_container(const struct tensor_file *file);
/* Maps the data of a file on disk; an entry's bytes are at offset `begin` of the result. The caller
   must unmap *view, which remains valid after the file is closed. The file on disk must not be
   modified or truncated before *view is unmapped, or a signal may end the process; replacing the
   file is safe. Returns NULL if the file is in memory or compressed, comes from a reader, has
   several parts, or cannot be mapped. */
const void *rapt__tensors_map_data(const struct tensor_file *file, struct disk_view *view);
/* Returns the name of a format, for messages. */
const char *rapt__container_name(enum tensor_container container);

/* ---- archive.c: treats the members of a zip file as files in folders ---- */
struct archive;
/* Opens a zip file and adds its size to the allocator's budget. Returns RAPT_NO_FILE if it cannot
   be opened or read, and RAPT_BAD_FILE in the same cases as rapt__zip_read (zip.h), or if a
   member's name is an absolute path, has ".." as a component, or contains a colon or a
   backslash. */
rapt_status rapt__archive_open(struct archive **archive, const char *path,
                               const rapt_allocator *allocator, rapt_message *why);
void rapt__archive_close(struct archive *archive); /* NULL is allowed */
bool rapt__archive_has(const struct archive *archive, const char *name);
/* Visits the names in a folder, as rapt__disk_list does, each of them once, but skips names of
   DISK_NAME bytes or more. `folder` is "" or ends in '/' and has at most DISK_NAME bytes; a longer
   one is treated as empty. */
void rapt__archive_list(const struct archive *archive, const char *folder, disk_visit_fn *visit,
                        void *user);
/* Reads a member into memory and makes it a source, which the caller must close and which remains
   valid after the archive is closed. Returns RAPT_NO_FILE if there is no such member or it cannot
   be read, and RAPT_BAD_FILE if it is larger than four times the archive plus 4 MB, or if it cannot
   be inflated. */
rapt_status rapt__archive_read(const struct archive *archive, const char *name,
                               struct disk_source *source, const rapt_allocator *allocator,
                               rapt_message *why);

/* ---- tensors.c ---- */
void rapt__tensors_close(struct tensor_file *file); /* NULL is allowed */

int rapt__tensors_count(const struct tensor_file *file);
/* Entries are sorted by name (strcmp order). These two functions return NULL if the index is out of
   range or the name is unknown. */
const struct tensor_entry *rapt__tensors_entry(const struct tensor_file *file, int index);
const struct tensor_entry *rapt__tensors_find(const struct tensor_file *file, const char *name);

/* Metadata strings are sorted by key and owned by the file. The last two functions return NULL if
   the index is out of range or the key is missing. */
int rapt__tensors_metadata_count(const struct tensor_file *file);
const struct tensor_metadata *rapt__tensors_metadata_at(const struct tensor_file *file, int index);
const char *rapt__tensors_metadata(const struct tensor_file *file, const char *key);

/* ---- elements.c ---- */

/* These functions read elements or scales [first, first + count) of an entry of `file` without
   allocating memory. They return RAPT_BAD_ARGUMENT if the range extends beyond the entry, and the
   errors of rapt__disk_read. Reading only part of a transposed entry accesses the disk for each
   column, so such an entry is best read in one call. */

/* Reads elements as floats: F32, F16, BF16, F64 (which is rounded), and I8 and I16 if the entry has
   scales. The values may be NaN or infinite. Returns RAPT_BAD_FILE for any other type, for integers
   without scales, or if a scale or its inverse is not positive and finite. */
rapt_status rapt__tensors_read(const struct tensor_file *file, const struct tensor_entry *entry,
                               size_t first, size_t count, float *data, rapt_message *why);
/* Reads elements of type I8 to I64, U8 to U32 and BOOL as integers, without applying scales.
   Returns RAPT_BAD_FILE for any other dtype. */
rapt_status rapt__tensors_integers(const struct tensor_file *file, const struct tensor_entry *entry,
                                   size_t first, size_t count, int64_t *data, rapt_message *why);
/* Reads the elements of an entry without applying scales. Its dtype must be I8, and it must not be
   transposed. */
rapt_status rapt__tensors_bytes(const struct tensor_file *file, const struct tensor_entry *entry,
                                size_t first, size_t count, int8_t *data, rapt_message *why);
/* Reads scales [first, first + count) of an entry. */
rapt_status rapt__tensors_scales(const struct tensor_file *file, const struct tensor_entry *entry,
                                 size_t first, size_t count, float *scales, rapt_message *why);

/* ---- safetensors_write.c ---- */
/* A tensor to write. fill(source, first, count, data) stores elements [first, first + count) in
   `data`. It is called once per chunk, in order, and may use `user` and `index`. */
struct tensor_source {
    const char *name;
    int rank;
    size_t shape[TENSOR_RANK];
    void (*fill)(const struct tensor_source *source, size_t first, size_t count, float *data);
    const void *user;
    size_t index;
    float scale; /* quantization scale: elements x scale are integers; 0 if unknown */
    /* The type, or NULL for F32. Only rapt__tensors_write and rapt__tensors_write_to support other
       types, which must have elements of 1, 2 or 4 bytes. The size of such a tensor must be a
       multiple of 4 bytes. `fill` is passed `first` and `count` in 4-byte words, and sets `data`
       to elements in the machine's byte order. */
    const char *dtype;
};

/* Writes a safetensors file to path atomically: a temporary file in the same folder, fsync, rename,
   fsync of the folder. On failure the temporary file is removed and the old file at path is
   unchanged. The only exception is a failure of the last fsync, when the new file is already in
   place; *why says so. A symbolic link at path is followed, and on POSIX systems the permissions of
   the old file are kept. Returns RAPT_NO_FILE if the file cannot be written or path names something
   other than a regular file, and RAPT_BAD_ARGUMENT if path is NULL or a reader would reject the
   tensors or the metadata. */
rapt_status rapt__tensors_write(const char *path, const struct tensor_source *sources, int count,
                                const struct tensor_metadata *metadata, int metadata_count,
                                const rapt_allocator *allocator, rapt_message *why);
/* Passes the bytes of a safetensors file to a writer, in order. Returns RAPT_NO_FILE if the writer
   fails, and RAPT_BAD_ARGUMENT if writer->write is NULL or a reader would reject the tensors or the
   metadata. */
rapt_status rapt__tensors_write_to(const rapt_writer *writer, const struct tensor_source *sources,
                                   int count, const struct tensor_metadata *metadata,
                                   int metadata_count, const rapt_allocator *allocator,
                                   rapt_message *why);

/* ---- marian_write.c ---- */
enum marian_precision {
    MARIAN_FLOAT32,
    MARIAN_INTGEMM8,         /* as Marian 1.10 and later store it */
    MARIAN_INTGEMM8_BERGAMOT /* as Bergamot and Firefox store it */
};
/* Writes a Marian model.bin of F32 tensors atomically, like rapt__tensors_write. model_yml is the
   text of special:model.yml, or NULL if there is none. With intgemm8, a matrix is stored as 8-bit
   integers if its name contains Wemb, or has at most one character after its first _W. `fill` is
   called once for all elements of such a matrix. The matrix gets the scale of its source if every
   element is, up to rounding errors, 1 / scale times an integer from -127 to 127; otherwise the
   scale is 127 divided by the largest absolute value, or 1 if all are 0. If the alpha of the matrix
   is known, the caller must add it as a tensor of one element named "<name>_QuantMultA". Returns
   RAPT_NO_FILE if the file cannot be written, and RAPT_BAD_ARGUMENT if path is NULL or a name or
   shape cannot be stored. */
rapt_status rapt__marian_write(const char *path, const struct tensor_source *sources, int count,
                               const char *model_yml, enum marian_precision precision,
                               const rapt_allocator *allocator, rapt_message *why);

/* ---- ct2.c ---- */
struct ct2_scalar { /* an integer; dtype is "I8", "I16" or "I32" */
    const char *name, *dtype;
    int value;
};
struct ct2_alias { /* another name for the tensor named by `of` */
    const char *name, *of;
};
struct ct2_contents {
    const char *spec;
    int revision;
    const struct tensor_source *sources; /* [source_count] tensors of less than 4 GB each */
    int source_count;
    const struct ct2_scalar *scalars; /* [scalar_count] */
    int scalar_count;
    const struct ct2_alias *aliases; /* [alias_count] */
    int alias_count;
};
/* Writes a model.bin of version 6 with F32 tensors atomically, like rapt__tensors_write. Returns
   RAPT_NO_FILE if the file cannot be written, and RAPT_BAD_ARGUMENT if the name, shape or size of a
   tensor cannot be stored. Scalars and aliases are not checked. */
rapt_status rapt__ct2_write(const char *path, const struct ct2_contents *contents,
                            const rapt_allocator *allocator, rapt_message *why);

/* ---- vocabulary.c: maps between the tokens and numbers of a vocabulary file (Marian's vocab.yml,
   Hugging Face's or CTranslate2's vocab.json, or a file with one token per line) ---- */

enum vocabulary_form {
    VOCABULARY_LINES, /* the token with number i is in line i + 1 */
    VOCABULARY_YAML,  /* "token: number" on one line, or "? token" and ": number" on two; or {token:
                         number, ..}. A file that begins with '[', or with '{' followed by '"' or
                         '}', is read as JSON */
    VOCABULARY_JSON   /* {token: number, ..}, or [token, ..] */
};
struct vocabulary;

/* Reads a vocabulary from a source, which stays open. The suffix of `name`, not counting .gz or
   .zst, determines its format: JSON for .json, YAML for .yml or .yaml, and otherwise lines. Returns
   RAPT_BAD_FILE if the file is damaged or has no tokens; if a token occurs twice, is empty, is not
   UTF-8 or contains a NUL byte; or if the numbers are not 0 .. count - 1, each exactly once. A
   token "<extra_id_N>" may occur more than once: it keeps the lowest of its numbers, and the other
   numbers get the token "". Memory use is at most proportional to the file's size. */
rapt_status rapt__vocabulary_open_source(struct vocabulary **vocabulary,
                                         const struct disk_source *source, const char *name,
                                         const rapt_allocator *allocator, rapt_message *why);
/* Reads a vocabulary from bytes in memory, which are copied. Returns RAPT_BAD_ARGUMENT if bytes is
   NULL, and RAPT_BAD_FILE in the same cases as rapt__vocabulary_open_source. */
rapt_status rapt__vocabulary_open_memory(struct vocabulary **vocabulary, const void *bytes,
                                         size_t size, enum vocabulary_form form,
                                         const rapt_allocator *allocator, rapt_message *why);
void rapt__vocabulary_close(struct vocabulary *vocabulary); /* NULL is allowed */

int rapt__vocabulary_count(const struct vocabulary *vocabulary);
const char *rapt__vocabulary_token(const struct vocabulary *vocabulary,
                                   int id); /* returns NULL if id is out of range */
int rapt__vocabulary_find(const struct vocabulary *vocabulary,
                          const char *token); /* returns -1 if the token is unknown */

#endif
