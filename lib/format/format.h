/* format.h - interface of the file layer: files of named tensors (safetensors, CTranslate2,
   Marian, npz, PyTorch), read by one set of calls whatever they are; safetensors and Marian
   written; Protocol Buffers, JSON and plain files read. Nothing in a file is trusted; files are
   replaced atomically.

   This layer knows files, names and numbers; it does not know what a model is. */
#ifndef RAPT_LIB_FORMAT_H
#define RAPT_LIB_FORMAT_H

#include "format/disk.h"
#include "format/json.h"
#include "format/protobuf.h"
#include "format/vocabulary.h"
#include "format/yaml.h"
#include <rapt/base.h>

enum { TENSOR_RANK = 8 }; /* the most dimensions a tensor may have */

/* What an entry is there for. */
enum tensor_use {
    TENSOR_VALUES,
    TENSOR_ALIAS,  /* the bytes of another entry, under one more name */
    TENSOR_SCALES, /* the scales of another entry, which has them already */
    TENSOR_ALPHA   /* the alpha of another entry, the same */
};

/* A tensor: elements in row-major order. What an element q of whole numbers stands for is q alone
   (scales is 0), or a real number as the engine that the file was written for computes it in float:

       value = q x (1 / scale),   one scale for every count / scales elements in order */
struct tensor_entry {
    const char *name;  /* UTF-8, not empty; owned by the file */
    const char *dtype; /* of what is stored: "F32", "F16", "BF16", "F64", "I8", "I16", ... */
    int rank;
    size_t shape[TENSOR_RANK];
    size_t count;       /* product of the shape */
    size_t begin, end;  /* bytes, relative to the data; end - begin is what count elements take */
    size_t scales;      /* how many; divides count. 0: of no scaled whole numbers */
    size_t scale_begin; /* of scales > 1: F32, relative to the data */
    float scale;        /* of scales == 1 */
    float alpha;        /* what rows that meet this matrix are multiplied with; 0: not known */
    unsigned part;      /* which of its files */
    enum tensor_use use;
    bool transposed; /* rank 2, stored column by column; calls that return elements undo it */
    bool big_endian; /* its elements are; the same */
};
struct tensor_metadata {
    const char *key, *value; /* UTF-8 */
};

/* An open file: what it holds in memory, the elements read on demand. Once open nothing in it
   changes, so threads may share it. After opening: names and metadata keys are unique, shapes and
   offsets agree and are within the file. It takes memory in proportion to its file. */
struct tensor_file;

enum tensor_container {
    CONTAINER_SAFETENSORS,
    CONTAINER_CTRANSLATE2, /* metadata: binary_version, spec, revision */
    CONTAINER_MARIAN,      /* model.bin; metadata: special:model.yml */
    CONTAINER_NPZ,         /* numpy's arrays in a zip file; metadata: special:model.yml */
    CONTAINER_PYTORCH,     /* a state dict as torch.save writes it, read without Python */
    CONTAINER_SHARDS       /* the index of files beside it: safetensors, PyTorch; only of a path */
};

/* ---- safetensors_read.c: n as u64 little-endian, n bytes of JSON, data ---- */

/* JSON = {name: {"dtype": text, "shape": [..], "data_offsets": [begin, end]}, ..,
           "__metadata__": {text: text, ..}}
   The data are covered from the first to the last byte without holes or overlaps; the header has
   at most 100 MB. Source: the format section of the safetensors README (Hugging Face, 0.5).

   path: a regular file. RAPT_NO_FILE: it cannot be opened or read. RAPT_BAD_FILE: it breaks a
   rule of the format; *why says which. */
rapt_status rapt__tensors_open(struct tensor_file **file, const char *path,
                               const rapt_allocator *allocator, rapt_message *why);
/* bytes stay the caller's and must outlive the file. */
rapt_status rapt__tensors_open_memory(struct tensor_file **file, const void *bytes, size_t size,
                                      const rapt_allocator *allocator, rapt_message *why);
/* The reader must stay usable until the file is closed; its struct is copied. */
rapt_status rapt__tensors_open_reader(struct tensor_file **file, const rapt_reader *reader,
                                      const rapt_allocator *allocator, rapt_message *why);

/* ---- open.c: files of any container, which their first bytes tell ---- */
rapt_status rapt__tensors_open_any(struct tensor_file **file, const char *path,
                                   const rapt_allocator *allocator, rapt_message *why);
rapt_status rapt__tensors_open_any_memory(struct tensor_file **file, const void *bytes, size_t size,
                                          const rapt_allocator *allocator, rapt_message *why);
/* Whether a file begins as no safetensors file does; not if it is too short or cannot be read. */
bool rapt__tensors_other(const char *path);
enum tensor_container rapt__tensors_container(const struct tensor_file *file);
/* The data of one file on a disk, mapped; *view outlives the file, which must not be changed or cut
   meanwhile (replacing it is no change): the process may end by a signal. Entries begin at `begin`
   there. NULL: it is in memory or a reader's, or cannot be mapped. */
const void *rapt__tensors_map_data(const struct tensor_file *file, struct disk_view *view);
const char *rapt__container_name(enum tensor_container container); /* for messages */

/* ---- tensors.c ---- */
void rapt__tensors_close(struct tensor_file *file); /* NULL is allowed */

int rapt__tensors_count(const struct tensor_file *file);
/* In the order of their names (as strcmp has it). NULL: no such index, no such name. */
const struct tensor_entry *rapt__tensors_entry(const struct tensor_file *file, int index);
const struct tensor_entry *rapt__tensors_find(const struct tensor_file *file, const char *name);

/* Its strings of metadata, in the order of their keys, owned by the file. NULL: not there. */
int rapt__tensors_metadata_count(const struct tensor_file *file);
const struct tensor_metadata *rapt__tensors_metadata_at(const struct tensor_file *file, int index);
const char *rapt__tensors_metadata(const struct tensor_file *file, const char *key);

/* ---- elements.c: elements [first, first + count) of an entry of this file. Allocates nothing.
   RAPT_BAD_ARGUMENT: the entry has fewer. Parts of a transposed entry cost what the whole does:
   read it at once. ---- */

/* As float: F32, F16, BF16, F64, NaN and infinity included, and whole numbers that have scales.
   RAPT_BAD_FILE, and the dtype is named: whole numbers without scales, other dtypes; a scale is
   not above 0 and finite. */
rapt_status rapt__tensors_read(const struct tensor_file *file, const struct tensor_entry *entry,
                               size_t first, size_t count, float *data, rapt_message *why);
/* As they are stored: whole numbers of up to 64 bits, signed or not, and BOOL. RAPT_BAD_FILE: any
   other dtype. */
rapt_status rapt__tensors_integers(const struct tensor_file *file, const struct tensor_entry *entry,
                                   size_t first, size_t count, int64_t *data, rapt_message *why);
/* Scales [first, first + count) of an entry's. */
rapt_status rapt__tensors_scales(const struct tensor_file *file, const struct tensor_entry *entry,
                                 size_t first, size_t count, float *scales, rapt_message *why);

/* ---- safetensors_write.c ---- */
struct tensor_source { /* one F32 tensor to write; fill is called once per chunk, in order */
    const char *name;
    int rank;
    size_t shape[TENSOR_RANK];
    void (*fill)(const struct tensor_source *source, size_t first, size_t count, float *data);
    const void *user;
    size_t index;
    float scale; /* of whole numbers that its elements are multiples of; 0: not known */
};

/* Writes path atomically: a temporary file beside it, fsync, rename, fsync of the folder. On
   any failure the temporary file is removed and the old file at path is untouched (the one
   exception: the last fsync of the folder, when the new file is in place already; *why says so).
   A symbolic link at path is followed, the permissions of an old file are kept, anything but a
   regular file is refused. RAPT_BAD_ARGUMENT: names or metadata that a reader would refuse. */
rapt_status rapt__tensors_write(const char *path, const struct tensor_source *sources, int count,
                                const struct tensor_metadata *metadata, int metadata_count,
                                const rapt_allocator *allocator, rapt_message *why);
/* The same bytes to a writer, from the first to the last. */
rapt_status rapt__tensors_write_to(const rapt_writer *writer, const struct tensor_source *sources,
                                   int count, const struct tensor_metadata *metadata,
                                   int metadata_count, const rapt_allocator *allocator,
                                   rapt_message *why);

/* ---- marian_write.c ---- */
enum marian_precision {
    MARIAN_FLOAT32,
    MARIAN_INTGEMM8,         /* as Marian 1.10 and later store it */
    MARIAN_INTGEMM8_BERGAMOT /* as Bergamot and Firefox do */
};
/* A Marian model.bin, replaced as rapt__tensors_write does; model_yml (NULL: none) is the text of
   special:model.yml. Scales are those of the sources, where all their elements are multiples in
   range. With intgemm8 matrices whose names end in _W, _Wx or hold Wemb are stored in 8
   bits; alphas are tensors of the caller's, "<name>_QuantMultA" [1]. Of those matrices fill is
   called once, for all elements. RAPT_BAD_ARGUMENT: what a reader would refuse. */
rapt_status rapt__marian_write(const char *path, const struct tensor_source *sources, int count,
                               const char *model_yml, enum marian_precision precision,
                               const rapt_allocator *allocator, rapt_message *why);

/* ---- ct2_write.c ---- */
struct ct2_scalar { /* a whole number of "I8", "I16" or "I32" */
    const char *name, *dtype;
    int value;
};
struct ct2_alias { /* one more name of a tensor */
    const char *name, *of;
};
struct ct2_contents {
    const char *spec;
    int revision;
    const struct tensor_source *sources; /* [source_count] of less than 4 GB each */
    int source_count;
    const struct ct2_scalar *scalars; /* [scalar_count] */
    int scalar_count;
    const struct ct2_alias *aliases; /* [alias_count] */
    int alias_count;
};
/* A model.bin of version 6, replaced as rapt__tensors_write does. */
rapt_status rapt__ct2_write(const char *path, const struct ct2_contents *contents,
                            const rapt_allocator *allocator, rapt_message *why);

#endif
