/* markup.h - what the formats of documents share. A format reads a document block by block. A block
   is a run of text that sentences do not leave, such as a paragraph, with its markup taken out:
   block.c stores the text, the place in the document of each of its bytes, and the marks (tags) in
   it. place.c puts the marks into a translation. tags.c reads tags. */
#ifndef RAPT_LIB_MARKUP_H
#define RAPT_LIB_MARKUP_H

#include "base/base.h"
#include "text/text.h"
#include <rapt/document.h>

/* ---- block.c ---- */

enum { SPLITTER_BLOCK = 1 << 16 }; /* maximum size of the text that is split at once, in bytes */

/* Growing memory for bytes. After an allocation has failed, `failed` remains set and nothing is
   added. */
struct buffer {
    const rapt_allocator *allocator;
    char *bytes;
    size_t size, capacity;
    bool failed;
};
void rapt__buffer_add(struct buffer *buffer, rapt_text text);
void rapt__buffer_free(struct buffer *buffer);

enum mark_kind {
    MARK_OPEN,  /* begins an element, such as <b> */
    MARK_CLOSE, /* ends one */
    MARK_POINT, /* stands by itself, such as a comment or an image */
    MARK_GUARD, /* stands by itself, and its contents are in the text but must not change */
    MARK_BREAK  /* a line break within a sentence, for which the text has a space */
};
/* Markup in a block. */
struct mark {
    enum mark_kind kind;
    rapt_text name;     /* of the element; that of its other tag is the same */
    rapt_span document; /* its bytes in the document */
    rapt_span text;     /* its place in the text of the block; empty unless a guard or a break */
    size_t partner;     /* index of the other tag of the element, or NO_PARTNER */
};
enum { MARKS_MAX = 512 }; /* of a block */
#define NO_PARTNER ((size_t)-1)

/* Bytes of a block's text, and those of the document that they came from. If the sizes are equal,
   the bytes are, too. */
struct text_origin {
    size_t text, text_size, document, document_size;
};

/* Where the translation of a block goes, if it does not replace the block itself. All blocks of an
   entry have the same. */
struct elsewhere {
    rapt_span original; /* bytes of the document that are written anew with translated sentences */
    rapt_span place;    /* bytes that the result replaces */
    rapt_span indent;   /* bytes of the document that are written before it */
    const char *before; /* and what else is written around it */
    const char *after;
    bool given; /* false: the block is translated where it is */
};

struct text_block {
    rapt_text document;
    struct buffer text;
    struct text_origin *origins;
    struct mark *marks;
    size_t origin_count, origin_capacity;
    size_t mark_count, mark_capacity;
    struct elsewhere elsewhere;
};
void rapt__block_clear(struct text_block *block);
void rapt__block_free(struct text_block *block);
/* Appends text that the bytes `from` of the document stand for. */
void rapt__block_text(struct text_block *block, rapt_text text, rapt_span from);
/* Appends bytes of the document as they are. */
void rapt__block_copy(struct text_block *block, rapt_span from);
/* Appends a space for white space of the document, unless the text ends in one or is empty. */
void rapt__block_space(struct text_block *block, rapt_span from);
/* Appends a mark and finds the other tag of its element. For a guard, `text` is what the model is
   to read. For a break, a space is appended. */
void rapt__block_mark(struct text_block *block, enum mark_kind kind, rapt_span from, rapt_text name,
                      rapt_text text);
/* Makes opening and closing tags that have no other tag in the block marks that stand by
   themselves, in a format of which tags are not a part. */
void rapt__block_unpair(struct text_block *block);
/* Returns true if the block has so much text or so many marks that it must end. */
bool rapt__block_full(const struct text_block *block);
/* Returns true if there is a letter outside of guards. */
bool rapt__block_has_letters(const struct text_block *block, rapt_span text);
/* Returns the bytes of the document that a sentence of the block's text came from, with the tags of
   elements that begin with it or end with it. Sets [*first, *last) to its marks. */
rapt_span rapt__block_sentence(const struct text_block *block, rapt_span text, size_t *first,
                               size_t *last);
/* Return `at`, or the beginning or end of the guard that contains it. */
size_t rapt__block_guard_begin(const struct text_block *block, size_t at);
size_t rapt__block_guard_end(const struct text_block *block, size_t at);

/* ---- tags.c: tags, comments and other markup of HTML and XML ---- */
enum tag_kind { TAG_NONE, TAG_OPEN, TAG_CLOSE, TAG_EMPTY, TAG_OTHER };
struct tag {
    enum tag_kind kind; /* TAG_EMPTY: an opening tag that ends in />; TAG_OTHER: comments, etc. */
    rapt_span span;
    rapt_text name;
    bool ended; /* false: the document ends before the tag does */
};
/* Reads the tag that begins at document[at], as the HTML Standard says (13.2.5, tokenization), or
   as XML does. kind is TAG_NONE if that is text. */
struct tag rapt__tag_read(rapt_text document, size_t at, bool xml);
/* Returns whether a tag has an attribute, and its value, without quotes. */
bool rapt__tag_attribute(rapt_text document, const struct tag *tag, const char *name,
                         rapt_text *value);
/* Returns true if the names of a tag and of its attributes are such as XML and Markdown allow. */
bool rapt__tag_is_strict(rapt_text document, const struct tag *tag);
/* Return true if the names are the same, except for the case of ASCII letters. */
bool rapt__names_equal(rapt_text a, rapt_text b);
bool rapt__same_name(rapt_text name, const char *word);
/* Returns true if a list of words, separated by single spaces, has the name. */
bool rapt__name_among(rapt_text name, const char *words);
/* Decodes the character reference at document[at]. Returns its size, or 0 if there is none. code
   becomes 0 if the name is not known. */
size_t rapt__reference_read(rapt_text document, size_t at, bool xml, uint32_t *code);
/* Appends a text with references for < > and &. */
void rapt__write_escaped(struct buffer *out, rapt_text text);

/* Returns true if the end of the bytes before `at` would be part of a tag or reference if a letter
   came next: if they end in a < or & that is text. */
bool rapt__tag_may_begin(rapt_text document, size_t at);
/* Appends an ASCII character as a reference, which does not become part of what is before it. */
void rapt__write_apart(struct buffer *out, char c);

/* ---- words.c: the words of a sentence and of its translation, and which belong together ---- */
/* A sentence to be written, with its marks. */
struct placed {
    rapt_text document;
    rapt_text source, target; /* the sentence and its translation, without markup */
    const struct mark *marks; /* [mark_count] with places and partners relative to the sentence */
    size_t mark_count;
    const rapt_translation *translation; /* its alignment is used if it has one; may be NULL */
    bool apart; /* its first character must not become part of a tag that is not one */
    void (*write)(struct buffer *out, rapt_text text); /* appends text as the format spells it */
};
/* Words are runs of letters and digits, single other characters, and in scripts without spaces
   between words the bytes between the ends of tokens. White space is in no word. */
struct word_spans {
    rapt_span *spans; /* [count] */
    size_t count;
};
enum { UNALIGNED = -1 };
struct word_pairs {
    struct word_spans source, target;
    int *aligned; /* [target.count] a source word, or UNALIGNED */
    bool guessed; /* the translation had no alignment */
};
/* Finds the words of a sentence and of its translation and pairs them by the alignment; without
   one, the i-th of m words belongs to the word in the same proportion. Punctuation and numbers
   belong to the same punctuation or number, if both sides have equally many of it. */
rapt_status rapt__words_pair(const struct placed *placed, struct word_pairs *pairs,
                             const rapt_allocator *allocator);
void rapt__words_free(struct word_pairs *pairs, const rapt_allocator *allocator);

/* ---- place.c ---- */
/* Appends the translation with the marks around the words that they were on. Returns
   RAPT_NO_MEMORY if an allocation fails. */
rapt_status rapt__place_marks(const struct placed *placed, struct buffer *out);

/* ---- formats ---- */
struct format_reader {
    rapt_text document;
    size_t at;               /* the document has been read up to here */
    size_t end;              /* of what is read as text and markup, such as a message */
    struct text_block block; /* the last one */
    size_t state[8];         /* what else a format has to remember; 0 at the beginning */
};
struct format {
    const char *name; /* as programs spell it */
    /* Reads the next block into reader->block. Sets *found to false at the end of the document.
       NULL: plain text, which has no markup and is read in place. */
    rapt_status (*next)(struct format_reader *reader, bool *found, rapt_message *why);
    void (*write)(struct buffer *out, rapt_text text);
};
/* Returns NULL if there is no such format. */
const struct format *rapt__format(int index);
rapt_status rapt__html_next(struct format_reader *reader, bool *found, rapt_message *why);
/* Reads a tag of HTML, and its element if that is kept. Returns true if it ends the block. */
bool rapt__html_tag(struct format_reader *reader, const struct tag *tag);
/* Returns true for elements that end a block or are not read as text and tags. */
bool rapt__html_is_block(const struct tag *tag);
rapt_status rapt__markdown_next(struct format_reader *reader, bool *found, rapt_message *why);
void rapt__markdown_write(struct buffer *out, rapt_text text);
rapt_status rapt__po_next(struct format_reader *reader, bool *found, rapt_message *why);
void rapt__po_write(struct buffer *out, rapt_text text);
rapt_status rapt__xliff_next(struct format_reader *reader, bool *found, rapt_message *why);
rapt_status rapt__srt_next(struct format_reader *reader, bool *found, rapt_message *why);
void rapt__write_plain(struct buffer *out, rapt_text text); /* appends text as it is */

/* ---- inline.c: what blocks of several formats contain. All begin at reader->at ---- */
bool rapt__markup_space(char c); /* true for a blank, tab or line break */
/* Reads white space, or text up to white space. Also ends before one of the characters `stops`,
   unless that is the first. */
void rapt__read_words(struct format_reader *reader, const char *stops);
/* Reads a mark that stands by itself, up to `end`. */
void rapt__read_point(struct format_reader *reader, size_t end);
/* Reads a character reference, or else an &, as text. */
void rapt__read_reference(struct format_reader *reader, bool xml);
/* Reads a tag or reference as a mark, in a format of which they are not a part. Returns false if
   there is none. */
bool rapt__read_loose_tag(struct format_reader *reader);
/* Reads a placeholder of printf, Python and the like, as a guard. Returns false if there is none.
 */
bool rapt__read_placeholder(struct format_reader *reader);

#endif
