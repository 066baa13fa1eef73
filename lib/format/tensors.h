/* tensors.h - declarations shared by the readers and writers of tensor files: the representation of
   an open file, checks of tensors to write, and element types. The reader of a format fills in a
   struct tensor_file; tensors.c, elements.c and open.c use it from then on. */
#ifndef RAPT_LIB_FORMAT_TENSORS_H
#define RAPT_LIB_FORMAT_TENSORS_H

#include "disk.h"
#include "format.h"
#include <rapt/base.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Strings that never move and are all freed at once. A pool takes at most about four times the
   total size of its strings, plus 256 bytes. */
struct string_block;
struct string_pool { /* initialize with {0} */
    struct string_block *last;
    size_t total; /* size of all blocks in bytes */
};

void *rapt__pool_take(struct string_pool *pool, size_t size,
                      const rapt_allocator *allocator); /* returns NULL if out of memory */
void rapt__pool_free(struct string_pool *pool, const rapt_allocator *allocator);

/* Maximum size of a JSON header or index, and number of bytes before the header of a safetensors
   file. */
enum { HEADER_LIMIT = 100000000, PREFIX = 8 };

/* A source that contains the bytes of entries. */
struct tensor_part {
    struct disk_source source;
    uint64_t data_at; /* offset of the data, to which the offsets of entries are relative */
    void *memory;     /* [memory_size] bytes of the source, owned by the part; NULL if none */
    size_t memory_size;
};

struct tensor_file {
    rapt_allocator allocator;
    enum tensor_container container;
    struct tensor_part main;
    struct tensor_part *parts; /* [part_count] parts for entry->part 1, 2, ..; 0 is main */
    size_t part_count, part_capacity;
    char *header; /* [header_size] JSON; its front is overwritten with decoded strings */
    size_t header_size;
    struct string_pool pool; /* all other strings */
    size_t count, capacity;
    struct tensor_entry *entries; /* [count] sorted by name */
    size_t metadata_count, metadata_capacity;
    struct tensor_metadata *metadata; /* [metadata_count] sorted by key */
};

/* Reads the entries of a file that is empty except for its open main source. If it fails, the
   caller must free the file. */
typedef rapt_status tensor_reader(struct tensor_file *file, rapt_message *why);
tensor_reader rapt__safetensors_read, rapt__ct2_read, rapt__marian_read, rapt__shards_read,
    rapt__torch_legacy_read;

/* ---- tensors.c ---- */

/* Opens a source with a reader. On success the file owns the source. */
rapt_status rapt__tensors_open_source(struct tensor_file **file, const struct disk_source *source,
                                      tensor_reader *read, const rapt_allocator *allocator,
                                      rapt_message *why);
/* Makes room for `count` entries in total, for readers that know the number in advance. */
rapt_status rapt__tensors_reserve(struct tensor_file *file, size_t count, rapt_message *why);
/* Appends a copy of *entry. Its strings are not copied and must be owned by the file. */
rapt_status rapt__tensors_add(struct tensor_file *file, const struct tensor_entry *entry,
                              rapt_message *why);
/* Appends a part, which the file then owns. Sets *number to the part's number, which its entries
   must have in their field `part`. */
rapt_status rapt__tensors_add_part(struct tensor_file *file, const struct tensor_part *part,
                                   unsigned *number, rapt_message *why);
/* Adds the bytes of an entry, up to the first NUL, as metadata whose key is the entry's name.
   Returns RAPT_BAD_FILE if they are not UTF-8. */
rapt_status rapt__tensors_add_text(struct tensor_file *file, const struct tensor_entry *entry,
                                   rapt_message *why);
rapt_status rapt__tensors_add_metadata(struct tensor_file *file, const char *key, const char *value,
                                       rapt_message *why);
/* Returns the part that contains the entry's bytes. */
const struct tensor_part *rapt__tensors_part(const struct tensor_file *file,
                                             const struct tensor_entry *entry);
/* Copies text[size] to the pool and appends a terminating 0. If out of memory, returns NULL and
   sets *why. */
char *rapt__tensors_text(struct tensor_file *file, const char *text, size_t size,
                         rapt_message *why);
/* Sorts entries and metadata. Returns RAPT_BAD_FILE if a name is empty, or if a name or key occurs
   twice. */
rapt_status rapt__tensors_sort(struct tensor_file *file, rapt_message *why);
/* Finds the entry named name[size] in a sorted file. Returns NULL if there is none. */
struct tensor_entry *rapt__tensors_named(const struct tensor_file *file, const char *name,
                                         size_t size);
/* Computes entry->count from the shape. Returns false if the product of the nonzero dimensions, or
   this product times `bits`, overflows. */
bool rapt__tensors_count_shape(struct tensor_entry *entry, unsigned bits);

/* Fails with RAPT_BAD_FILE and the message "file: tensor "name" what", where `what` begins with a
   verb. */
rapt_status rapt__tensors_bad(const struct tensor_file *file, const char *name, const char *what,
                              rapt_message *why);
/* Returns true if a null-terminated string is UTF-8. */
bool rapt__is_utf8(const char *text);
rapt_status rapt__tensors_no_memory(const struct tensor_file *file, rapt_message *why);

/* ---- safetensors_write.c: tensors to write, in any format ---- */
/* Returns the number of elements of a checked source. */
size_t rapt__source_elements(const struct tensor_source *source);
/* Returns the size of an element of a source in bytes. */
size_t rapt__source_element_bytes(const struct tensor_source *source);
/* Returns RAPT_BAD_ARGUMENT if the name or `fill` is NULL, the rank is out of range, or the size
   overflows; otherwise adds the size in bytes to *total. */
rapt_status rapt__source_check(const struct tensor_source *source, size_t *total,
                               rapt_message *why);
/* Checks all sources, and checks that their names are nonempty, UTF-8 and distinct. */
rapt_status rapt__sources_check(const struct tensor_source *sources, int count, rapt_message *why);
void rapt__to_little(float *data, size_t count); /* converts to little-endian or back, in place */
/* Converts `count` 4-byte words to little-endian, in place. The words consist of elements of
   `element` bytes (1, 2 or 4). */
void rapt__elements_to_little(float *words, size_t count, size_t element);

/* ---- marian_read.c: type codes of Marian's files, the names of quantized matrices, and names with
   a special meaning ---- */

enum {
    MARIAN_VERSION = 1,
    MARIAN_ALIGNMENT = 256, /* alignment of the data, and of every tensor that the writer stores */
    MARIAN_HEADER = 32      /* size of an item's header in bytes: four u64 */
};

struct marian_type {
    uint64_t code;
    const char *dtype; /* NULL if the memory layout is processor-specific */
    const char *name;  /* Marian's name for the type */
    bool scaled;       /* the elements are followed by their scale, a float */
};
const struct marian_type *rapt__marian_type(uint64_t code); /* returns NULL for an unknown code */

/* Return whether Marian's converter quantizes a matrix with this name, and whether it stores the
   quantized matrix column by column. */
bool rapt__marian_narrow(const char *name);
bool rapt__marian_transposed(const char *name);

/* Attaches the alphas (see MARIAN_ALPHA) to their matrices in a sorted file. Returns RAPT_BAD_FILE
   if an alpha is not a single positive and finite number. */
rapt_status rapt__marian_alphas(struct tensor_file *file, rapt_message *why);

/* The name of a matrix, followed by this suffix, is the name of its alpha, the scale for quantizing
   the rows that the matrix multiplies. */
#define MARIAN_ALPHA "_QuantMultA"
/* Prefix of the names of items that are strings, not tensors. */
#define MARIAN_SPECIAL "special:"

/* ---- ct2.c ---- */
int rapt__ct2_type(const char *dtype); /* returns the code of a type in model.bin of version 4 or
                                          later, or -1 if it has none */

/* ---- open.c ---- */
tensor_reader rapt__torch_file_read; /* reads only files written by torch.save */

/* Opens the file at a path with the given reader. If the reader is NULL, the first bytes of the
   file identify the format and its reader. */
rapt_status rapt__tensors_open_path(struct tensor_file **file, const char *path,
                                    tensor_reader *read, const rapt_allocator *allocator,
                                    rapt_message *why);

/* ---- safetensors_read.c ---- */

/* Parses file->header into entries and metadata. data_size is the number of bytes after the
   header. */
rapt_status rapt__header_parse(struct tensor_file *file, size_t data_size, rapt_message *why);

/* ---- elements.c: the element types of files, their names, sizes and conversions ---- */

struct dtype {
    const char *name;
    unsigned bits; /* bits of one element */
    /* Conversions, or NULL if not supported. Integers are converted to float only if the tensor has
       scales. */
    void (*to_float)(const unsigned char *bytes, size_t count, float *data);
    void (*to_integer)(const unsigned char *bytes, size_t count, int64_t *data);
};
const struct dtype *rapt__dtype_find(const char *name); /* returns NULL for an unknown name */

#endif
