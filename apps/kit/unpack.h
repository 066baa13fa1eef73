/* unpack.h - reads files that may be compressed with gzip or zstd, recognized by their first bytes,
   and compresses what is written to names such as text.gz. */
#ifndef KIT_UNPACK_H
#define KIT_UNPACK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct span_in { /* bytes that have not been decoded */
    const unsigned char *bytes;
    size_t size;
};
struct span_out { /* room for decoded bytes */
    unsigned char *bytes;
    size_t size;
};
enum unpacked { UNPACKED_WRONG = -1, UNPACKED_WITHIN, UNPACKED_END };

/* A compression format. Its functions are NULL if the program was built without its library. */
struct packing {
    const char *name, *suffix;
    void *(*open)(void); /* returns NULL if memory runs out */
    /* Decodes, and advances both spans. Returns UNPACKED_END when a member of the file has
       ended. */
    enum unpacked (*decode)(void *state, struct span_in *in, struct span_out *out);
    void (*close)(void *state);
    /* Compresses bytes. Returns memory that the caller frees, or NULL if memory runs out. */
    char *(*pack)(const char *bytes, size_t size, size_t *packed);
};
extern const struct packing packing_gzip, packing_zstd;

/* Returns the format of the suffix of a name, or NULL. */
const struct packing *packing_of(const char *name);
/* Returns true if a file that begins with these bytes is compressed in a format that this program
   reads. */
bool is_packed(const char *bytes, size_t size);

/* A file that is being read. */
struct unpack {
    int file;
    bool begun, within;            /* `within` means that a member has not ended */
    const struct packing *packing; /* NULL: the file is not compressed */
    void *state;
    unsigned char *in; /* bytes that have been read, of which [at, size) are not decoded */
    size_t at, size;
    bool full; /* the last call filled the caller's memory, so there may be more without reading */
    uint64_t read, made; /* bytes of the file, and of what it inflates to */
    const char *wrong;   /* what is wrong with compressed bytes, or NULL */
};
void unpack_open(struct unpack *unpack, int file); /* the caller keeps the descriptor */
void unpack_close(struct unpack *unpack);
/* Works like read(). Also returns -1 if the file is damaged, is cut off, or inflates to more than
   100 times its size plus 16 MB. */
ssize_t unpack_read(struct unpack *unpack, void *bytes, size_t size);
/* Returns true if unpack_read may return bytes without reading from the file. */
bool unpack_ready(const struct unpack *unpack);
/* Returns the reason why unpack_read returned -1 with this errno, `error`. */
const char *unpack_error(const struct unpack *unpack, int error);
/* Returns the size of the text divided by that of the file, so far. */
double unpack_ratio(const struct unpack *unpack);

#endif
