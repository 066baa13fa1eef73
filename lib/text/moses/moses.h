/* moses.h - splits text into words and joins words into text as the scripts of Moses (Koehn et al.
   2007) do, and splits words by byte-pair encoding as subword-nmt does (Sennrich, Haddow and Birch
   2016). Argos Translate packages that contain the file bpe.model use both. The results match those
   of sacremoses 0.1, a Python port of Moses' scripts, bugs included.

   Text becomes words in three steps: punctuation is normalized, words are separated by spaces, and
   special characters are written as in XML ("&apos;"). These steps are substitutions (rules.c),
   except that the code in words.c separates full stops and runs of dots. Merges split each word
   into pieces (merges.c). A piece that does not end its word is followed by "@@", and is looked up
   in a list of names (text/list_moses.c). Decoding joins pieces into words (text/list_moses.c),
   and words into text (words.c). */
#ifndef RAPT_LIB_TEXT_MOSES_H
#define RAPT_LIB_TEXT_MOSES_H

#include "text/sentencepiece/sentencepiece.h"
#include "text/text.h"

/* ---- rules.c: classes of characters and abbreviations ---- */

enum moses_class { /* a set of bits */
                   MOSES_ALPHA = 1,
                   MOSES_ALNUM = 2, /* in Moses' class of letters and digits, but not in its class
                                       of letters */
                   MOSES_SIGN = 4,  /* viramas and nuktas, which count as letters when text is
                                       split */
                   MOSES_LOWER = 8,
                   MOSES_NUMBER = 16,
                   MOSES_CURRENCY = 32,
                   MOSES_DIGIT = 64, /* decimal digits */
                   MOSES_HAN = 128,  /* Chinese characters that are not in MOSES_ALPHA */
                   MOSES_KANA = 256,
                   MOSES_HANGUL = 512
};
/* Returns the classes of a character. */
unsigned rapt__moses_classes(uint32_t c);

/* The parts of the scripts that depend on the language. */
struct moses_language {
    const char *code;             /* such as "en" */
    unsigned letters;             /* classes of letters, for splitting */
    const char *always, *numeric; /* abbreviations, see prefixes.def */
};
/* Fills in everything but the code. An unknown language gets the English abbreviations. */
void rapt__moses_language(struct moses_language *language);
/* Returns true if a list of words separated by spaces contains a word. */
bool rapt__moses_listed(const char *list, rapt_text word);

/* ---- rules.c: substitutions ---- */

struct moses_character {
    uint32_t code; /* a byte that is not UTF-8 has the code that rapt__utf8_next returns for it */
    uint32_t end;  /* offset in the original text after the bytes that the character comes from */
};
/* The code of a dot in a run of at least two. It keeps later steps from taking the dot for a full
   stop. */
enum { MOSES_DOT = 0x110000 };
struct moses_buffer {
    struct moses_character *at;
    size_t count, capacity;
};
/* A text that is being rewritten. */
struct moses_text {
    rapt_allocator allocator;
    const struct moses_language *language;
    struct moses_buffer now, next; /* the text, and room for its next version */
    bool failed;                   /* an allocation failed */
};
/* Appends a character to t->next. */
void rapt__moses_put(struct moses_text *t, uint32_t code, uint32_t end);
/* Makes t->next the text. */
void rapt__moses_swap(struct moses_text *t);
/* Removes white space from both ends. */
void rapt__moses_trim(struct moses_text *t);
/* Each of these functions applies the substitutions of one step to the text. In this order, they
   normalize punctuation, make symbols separate words, separate commas and apostrophes from words,
   and write special characters as in XML. */
void rapt__moses_normalize(struct moses_text *t);
void rapt__moses_separate(struct moses_text *t);
void rapt__moses_separate_commas(struct moses_text *t);
void rapt__moses_escape(struct moses_text *t);

/* ---- words.c: splitting ---- */

/* Maximum size of a text in bytes, and maximum number of bytes that one byte can become ("'"
   becomes "&apos;"). */
enum { MOSES_TEXT_MAX = 1 << 28, MOSES_GROWTH = 6 };
/* Writes a character as bytes and returns how many there are. */
size_t rapt__moses_spell(uint32_t code, char to[4]);

/* Sets t->now to the words of a text, separated by spaces. Before the call, *t must be zero except
   for its allocator and language; the caller frees it even after a failure. Returns RAPT_NO_MEMORY
   if an allocation fails. */
rapt_status rapt__moses_split(struct moses_text *t, rapt_text text);
void rapt__moses_text_free(struct moses_text *t);

/* ---- merges.c ---- */

enum { MOSES_CODE = 16 }; /* maximum size of a language code, including the terminating NUL */
struct moses {
    rapt_allocator allocator;
    char code[MOSES_CODE];
    struct moses_language language;
    char *file; /* [file_size] the bytes of bpe.model */
    size_t file_size;
    struct trie merges; /* maps the two parts of a merge, separated by a space, to its rank */
    bool end_apart;     /* version 0.1: the end of a word is a separate symbol */
};
/* Creates the tokenizer for a language from untrusted merges, which are copied. Returns
   RAPT_BAD_FILE if they cannot be read (*why names the line) or are too large, or if the language
   code is empty or too long. Returns RAPT_NO_MEMORY if an allocation fails. */
rapt_status rapt__moses_create(struct moses **moses, const struct moses_source *source,
                               const rapt_allocator *allocator, rapt_message *why);
void rapt__moses_free(struct moses *moses); /* accepts NULL */

struct moses_word {     /* a word that is being split into pieces */
    char *bytes;        /* [4 * count + 4] the word, followed by "</w>" */
    uint32_t *start;    /* [count + 2] offsets in `bytes` of the symbols before merging */
    uint32_t *next;     /* [count + 2] the first character of the next symbol */
    uint32_t *previous; /* [count + 2] the first character of the previous symbol */
    uint64_t *heap;     /* [3 * count + 6] rank << 32 | first character; the smallest is the root */
    uint64_t *round;    /* [count + 2] the candidates of one rank */
    size_t size;        /* bytes of the word without "</w>" */
    size_t symbols;     /* number of symbols before merging */
    size_t candidates;  /* number of items in heap */
};
/* Splits a word of `count` characters (at least 1) into pieces, and sets w->next for the first
   character of each piece. */
void rapt__moses_divide(const struct moses *m, const struct moses_character *word, size_t count,
                        struct moses_word *w);

/* ---- words.c: joining ---- */

/* Replaces "&apos;" and the like with the characters that they stand for, and returns the new
   size. */
size_t rapt__moses_unescape(char *bytes, size_t size);
/* Joins the words in bytes [size], which are separated by spaces, and overwrites `bytes`. Writes at
   most `capacity` bytes of text and sets *written to the size of the text. Returns RAPT_NO_MEMORY
   if an allocation fails. */
rapt_status rapt__moses_join(const struct moses *m, char *bytes, size_t size, char *to,
                             size_t capacity, size_t *written);

#endif
