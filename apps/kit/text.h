/* text.h - text of files: compressed files, lines, and characters of UTF-8. */
#ifndef KIT_TEXT_H
#define KIT_TEXT_H

#include <rapt/text.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- unpack.c: files compressed with gzip or zstd ----
   They are recognized by their first bytes when they are read, and by the suffix of the name, as in
   text.gz, when they are written. */

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
    bool full; /* the last call filled the caller's memory, so more bytes may already be decoded */
    uint64_t read, made; /* bytes read from the file, and bytes decoded from them */
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

/* ---- lines.c: lines from a file descriptor ----
   They are read in windows or blocks that end where the input pauses. Compressed text is
   decompressed, and lines that a person types can be edited. */

/* Reads lines that a person types at a terminal. They can be edited, and earlier lines can be
   recalled. */
struct editor;
/* Returns NULL unless file is standard input, both it and standard output are terminals, and the
   program was built with libedit. The caller closes the editor. */
struct editor *editor_open(int file);
void editor_close(struct editor *editor); /* NULL is allowed */
/* Asks for a line, which ends with a line feed unless it is the last. Returns NULL at the end of
   the input. The line is valid until the next call. */
const char *editor_line(struct editor *editor, size_t *size);

struct lines {
    struct unpack source;
    struct editor *editor; /* NULL unless a person types */
    int error;             /* errno of the failed read, or 0; unpack_error says what it means */
    bool ended, begun;     /* `begun` means that a window or block has been returned */
    char *bytes;           /* [size] from the window's first line on */
    size_t size, capacity;
    size_t *ends; /* [whole] offsets after the line feeds */
    size_t whole, ends_capacity, taken;
    size_t block; /* bytes that lines_block has returned */
};
void lines_open(struct lines *lines, int file); /* the caller keeps the descriptor */
void lines_close(struct lines *lines);
/* Waits for a line, then takes what else has arrived, at most `max` lines. Returns the number of
   lines, 0 at the end or after an error. */
size_t lines_next(struct lines *lines, size_t max);
/* Returns line `index` of the window without its end (LF and the CRs before it). The first line of
   all also loses its byte order mark. The line is valid until lines_next. */
rapt_text lines_get(const struct lines *lines, size_t index);

/* Waits for a line, then takes what else has arrived, byte for byte: whole lines, or whole
   paragraphs if `paragraphs` is true, of at most `max` bytes. A longer paragraph is cut after a
   line, and a longer line after a sentence or a word, if possible. Returns an empty text at the end
   or after an error. The text is valid until the next call. Read a file either in blocks or in
   windows, not in both. */
rapt_text lines_block(struct lines *lines, size_t max, bool paragraphs);
/* Waits for the end, then returns everything that has not been returned yet. The text is valid
   until the next call. */
rapt_text lines_rest(struct lines *lines);

/* ---- unicode.c: characters, and scripts that are written without spaces ---- */

/* Returns the character at *at and moves *at past it. In text that is not valid UTF-8 the result is
   arbitrary, but *at moves by at least one byte and not past the end. */
uint32_t unicode_next(rapt_text text, size_t *at);

/* Converts a common letter of the Latin, Greek, Cyrillic or Armenian script to upper case. Returns
   every other character unchanged. No result needs more bytes than the argument. */
uint32_t unicode_upper(uint32_t character);
/* Writes a character as UTF-8 and returns its size. */
size_t unicode_write(uint32_t character, char bytes[4]);

enum script {
    SCRIPT_SPACED,   /* a script with spaces between words, or a digit or a space */
    SCRIPT_HAN,      /* Chinese characters */
    SCRIPT_UNSPACED, /* another script without spaces: kana, Thai, Lao, Khmer, Burmese */
    SCRIPT_MARK      /* punctuation */
};
enum script script_of(uint32_t character);

#endif
