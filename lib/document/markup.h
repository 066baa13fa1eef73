/* markup.h - declarations shared by the document formats. A format reads a document block by block.
   A block is a piece of text, such as a paragraph, without its markup. No sentence extends beyond
   its block. block.c stores the text, the document offset of each of its bytes, and its marks,
   which are inline markup such as tags. html.c, markdown.c, markdown_inline.c, po.c, srt.c and
   xliff.c read the formats; inline.c and tags.c parse markup for them. words.c, ranges.c and
   place.c put the marks into a translation. */
#ifndef RAPT_LIB_MARKUP_H
#define RAPT_LIB_MARKUP_H

#include "base/base.h"
#include "text/text.h"

#include <rapt/document.h>
#include <string.h>

/* ---- bytes of text; letters and digits are those of ASCII ---- */

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool is_alphabetic(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool is_alphanumeric(char c)
{
    return is_digit(c) || is_alphabetic(c);
}

/* Returns text[at], or 0 at or after the end of the text. */
static inline char byte_at(rapt_text text, size_t at)
{
    return at < text.size ? text.bytes[at] : 0;
}

static inline bool begins_at(rapt_text text, size_t at, const char *word)
{
    const size_t size = strlen(word);
    return at <= text.size && text.size - at >= size && memcmp(text.bytes + at, word, size) == 0;
}

/* ---- block.c ---- */

enum { SPLITTER_BLOCK = 1 << 16 }; /* maximum number of bytes split into sentences at once */

/* An array of bytes that grows. After an allocation has failed, `failed` remains set and nothing is
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
    MARK_OPEN,  /* begins an element, for example <b> */
    MARK_CLOSE, /* ends an element */
    MARK_POINT, /* has no partner and no text, for example a comment or an image */
    MARK_GUARD, /* has no partner; its contents are part of the text but must not change */
    MARK_BREAK  /* a line break within a sentence; in the text, a space takes its place */
};
/* Markup in a block. */
struct mark {
    enum mark_kind kind;
    rapt_text name;     /* the name that the opening and closing tags of an element share; "%" for a
                           guard that is a placeholder without a number or name */
    rapt_span document; /* bytes of the mark in the document */
    rapt_span text;     /* bytes in the text of the block; empty except for guards and breaks */
    size_t partner;     /* index of the other tag of the element, or NO_PARTNER */
};
enum { MARKS_MAX = 512 }; /* maximum number of marks in a block */
#define NO_PARTNER ((size_t)-1)

/* A run of bytes in a block's text, and the bytes of the document that it came from. If both have
   the same size, they correspond byte by byte. */
struct text_origin {
    size_t text, text_size, document, document_size;
};

/* The place where the translation of an entry is written, if it does not replace the entry itself.
   An entry, such as a gettext message, consists of one or more blocks, which all have the same
   struct elsewhere. */
struct elsewhere {
    rapt_span original; /* bytes of the document that are copied, with sentences translated */
    rapt_span place;    /* bytes of the document that the copy replaces */
    rapt_span indent;   /* bytes of the document that are repeated before the copy */
    const char *before; /* text that is written directly before and after the copy */
    const char *after;
    bool given; /* if false, the block is translated in place */
};

/* A block. After an allocation has failed, text.failed remains set and nothing is added. */
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
/* Appends text that came from the bytes `from` of the document. */
void rapt__block_text(struct text_block *block, rapt_text text, rapt_span from);
/* Appends bytes of the document unchanged. */
void rapt__block_copy(struct text_block *block, rapt_span from);
/* Appends one space for white space in the document, unless the text is empty or already ends in a
   space. */
void rapt__block_space(struct text_block *block, rapt_span from);
/* Appends a mark. Pairs a closing tag with its opening tag. For a guard, also appends `text`, which
   the model reads. For a break, also appends a space as rapt__block_space does. */
void rapt__block_mark(struct text_block *block, enum mark_kind kind, rapt_span from, rapt_text name,
                      rapt_text text);
/* Turns opening and closing tags without a partner into points. */
void rapt__block_unpair(struct text_block *block);
/* Returns true if the block must end, because it has too much text or too many marks, or because an
   allocation has failed. */
bool rapt__block_full(const struct text_block *block);
/* Returns true if a span of the text has a letter outside of guards. */
bool rapt__block_has_letters(const struct text_block *block, rapt_span text);
/* Returns the bytes of the document that a sentence of the block's text came from. They include the
   tags of elements that lie within the sentence and begin or end where it does. Sets [*first,
   *last) to the marks of the sentence. */
rapt_span rapt__block_sentence(const struct text_block *block, rapt_span text, size_t *first,
                               size_t *last);
/* Returns the bytes of the document that the span `text` of the block's text came from. */
rapt_span rapt__block_origin(const struct text_block *block, rapt_span text);
/* Returns the span of the guard that a cut at `at` would divide, or the empty span at `at` if there
   is none. */
rapt_span rapt__block_guard(const struct text_block *block, size_t at);

/* ---- parts.c: guards for protected text ----
   Functions that return a status return RAPT_NO_MEMORY if an allocation fails. */
struct mark_list {
    const rapt_allocator *allocator;
    struct mark *items; /* [count] */
    size_t count, capacity;
};
rapt_status rapt__marks_add(struct mark_list *list, const struct mark *mark);
/* Appends marks [first, last) of a block, with places and partners relative to the sentence whose
   span in the block is `text`. */
rapt_status rapt__marks_add_block(struct mark_list *list, const struct text_block *block,
                                  rapt_span text, size_t first, size_t last);

struct protection; /* document.h */
struct guarding {
    const struct protection *protection;
    const struct text_block *block; /* the block of the text; NULL if the text is part of the
                                       document */
    size_t base;                    /* place of the text in the block or document */
};
/* Adds guards for the protected text in a sentence. The sentence's other marks begin at index
   `first` of the list. */
rapt_status rapt__guards_add(const struct guarding *g, rapt_text text, struct mark_list *list,
                             size_t first);
/* Appends a text as the model sees it: long guards are truncated, and guards that the model cannot
   write are replaced. Adjusts the places of the marks. Returns false, and appends nothing, if the
   model sees the text unchanged. The text must not be in the buffer. */
bool rapt__guards_show(const rapt_document_engine *engine, rapt_text text, struct mark *marks,
                       size_t count, struct buffer *out);

/* ---- tags.c: tags, comments and other markup of HTML and XML ---- */
enum tag_kind { TAG_NONE, TAG_OPEN, TAG_CLOSE, TAG_EMPTY, TAG_OTHER };
struct tag {
    enum tag_kind kind; /* TAG_EMPTY: an opening tag that ends in />; TAG_OTHER: comments, etc. */
    rapt_span span;
    rapt_text name;
    bool ended; /* false if the document ends within the tag */
};
/* Reads the tag at document[at] as the HTML Standard (13.2.5, tokenization) or, if `xml`, the XML
   specification prescribes. kind is TAG_NONE if the document has text there. */
struct tag rapt__tag_read(rapt_text document, size_t at, bool xml);
/* Returns true if a tag has this attribute, and sets *value to its value without quotes. */
bool rapt__tag_attribute(rapt_text document, const struct tag *tag, const char *name,
                         rapt_text *value);
/* Returns true if Markdown allows the names of a tag and of its attributes. */
bool rapt__tag_is_strict(rapt_text document, const struct tag *tag);
/* Return true if two names are equal, ignoring the case of ASCII letters. */
bool rapt__names_equal(rapt_text a, rapt_text b);
bool rapt__same_name(rapt_text name, const char *word);
/* Returns true if a list contains the word. `list` holds words separated by single spaces, or is
   NULL. If any_case is set, the case of ASCII letters is ignored. No list contains an empty
   word. */
bool rapt__list_has(const char *list, rapt_text word, bool any_case);
/* Returns true if a list contains the name, ignoring case. */
bool rapt__name_among(rapt_text name, const char *names);
/* Decodes the character reference at document[at]. Returns its size, or 0 if there is none.
   Sets *code to 0 if the name is unknown or the number does not denote a printable character. */
size_t rapt__reference_read(rapt_text document, size_t at, bool xml, uint32_t *code);
/* Appends text, with character references for < > and &. */
void rapt__write_escaped(struct buffer *out, rapt_text text);

/* Returns true if a letter written at `at` could turn a < or & that is text into the beginning of a
   tag or character reference. */
bool rapt__tag_may_begin(rapt_text document, size_t at);
/* Appends an ASCII character as a character reference, which cannot become part of a preceding tag
   or character reference. */
void rapt__write_apart(struct buffer *out, char c);

/* ---- recase.c: the case of a sentence ---- */
/* Sentences in capitals and in title case are converted to sentence case before the model reads
   them. */
enum letter_case { CASE_USUAL, CASE_CAPITALS, CASE_TITLE };

/* ---- words.c: the words of a sentence and of its translation, in pairs ---- */
/* A sentence with its marks, and the translation that is to receive them. */
struct placed {
    rapt_text document;
    rapt_text source, target; /* the sentence and its translation, without markup */
    const struct mark *marks; /* [mark_count] with places and partners relative to the sentence */
    size_t mark_count;
    const rapt_translation *translation; /* the translation, whose alignment is used if it has one;
                                            may be NULL */
    bool apart; /* the first character is written as a character reference (rapt__tag_may_begin) */
    enum letter_case letters; /* case to give the translation */
    const char *capitals;     /* [source.size] as in struct recased; NULL for CASE_USUAL */
    bool dotless; /* set by rapt__place_marks if `letters` is not CASE_USUAL: the target has a
                     dotless i or a capital I with a dot, as in Turkish */
    void (*write)(struct buffer *out, rapt_text text); /* appends text, escaped as the format
                                                          requires */
    int lost; /* set by rapt__place_marks to the number of guards that are not in the translation */
};
/* A word is a run of letters and digits, possibly with single hyphens, apostrophes, full stops or
   commas between them, or any other single character except white space. In scripts without spaces
   between words, the edges of tokens separate words; without tokens, each character is a word. The
   edges of a guard that is part of a longer word separate words, too. */
struct word_spans {
    rapt_span *spans; /* [count] */
    size_t count;
};
enum { NOT_ALIGNED = -1 };
struct word_pairs {
    struct word_spans source, target;
    int *aligned; /* [target.count] index of the source word of each target word, or NOT_ALIGNED */
    bool guessed; /* the translation had no alignment */
};
/* Finds the words of a sentence and of its translation, and gives each target word a source word:
   by the alignment or, without one, by relative position. Punctuation marks, numbers and guards are
   paired with equal ones where possible. Returns RAPT_NO_MEMORY if an allocation fails. */
rapt_status rapt__words_pair(const struct placed *placed, struct word_pairs *pairs,
                             const rapt_allocator *allocator);
void rapt__words_free(struct word_pairs *pairs, const rapt_allocator *allocator);
struct word_run {
    size_t first, last;
};
/* Returns the run of words, [first, last), that begins with `word` and spells exactly `contents`,
   or an empty run if there is none. */
struct word_run rapt__words_copy(const struct word_spans *words, rapt_text text, size_t word,
                                 rapt_text contents);
/* Returns true if `word` follows at *at in `text`, ignoring white space and the case of ASCII
   letters. If so, moves *at to its end. */
bool rapt__word_follows(rapt_text text, size_t *at, rapt_text word);

/* Appends bytes `span` of the target, with the letter case of the source restored (recase.c). */
void rapt__case_restore(const struct placed *placed, const struct word_pairs *pairs, rapt_span span,
                        struct buffer *out);

/* ---- place.c and ranges.c ---- */
/* Appends the translation, with the marks around the translations of the words that they enclosed
   in the source. Returns RAPT_NO_MEMORY if an allocation fails. */
rapt_status rapt__place_marks(struct placed *placed, struct buffer *out);

/* ---- formats ---- */
struct format_reader {
    rapt_text document;
    size_t at;               /* the document has been read up to here */
    size_t end;              /* end of the text that is being read, such as a message */
    struct text_block block; /* the last block that was read */
    size_t state[9];         /* state of the format's reader; 0 at the beginning */
};
struct format {
    const char *name; /* name of the format in command-line options, such as "html" */
    /* Reads the next block into reader->block. Sets *found to false at the end of the document.
       Returns RAPT_NO_MEMORY if an allocation fails and, for XLIFF, RAPT_BAD_FILE if the document
       is malformed. NULL for plain text, which is split without blocks. */
    rapt_status (*next)(struct format_reader *reader, bool *found, rapt_message *why);
    /* Appends the text of a translation, escaped as the format requires. */
    void (*write)(struct buffer *out, rapt_text text);
};
/* Returns NULL if the format is unknown. */
const struct format *rapt__format(int index);
rapt_status rapt__html_next(struct format_reader *reader, bool *found, rapt_message *why);
/* Reads an HTML tag, or a whole element if the element is kept. Returns true if it ends the
   block. */
bool rapt__html_tag(struct format_reader *reader, const struct tag *tag);
/* Returns true for a tag that ends a block, and for a tag of an element whose contents are not
   parsed. */
bool rapt__html_is_block(const struct tag *tag);
rapt_status rapt__markdown_next(struct format_reader *reader, bool *found, rapt_message *why);
void rapt__markdown_write(struct buffer *out, rapt_text text);
rapt_status rapt__po_next(struct format_reader *reader, bool *found, rapt_message *why);
void rapt__po_write(struct buffer *out, rapt_text text);
rapt_status rapt__xliff_next(struct format_reader *reader, bool *found, rapt_message *why);
rapt_status rapt__srt_next(struct format_reader *reader, bool *found, rapt_message *why);
void rapt__write_plain(struct buffer *out, rapt_text text); /* appends text unchanged */

/* ---- inline.c: functions shared by several formats. The readers begin at reader->at ---- */
bool rapt__markup_space(char c); /* true for a space, tab or line break */
/* Reads a run of white space, or of other characters, up to about 512 bytes long. After its first
   byte, the run also ends before any of the characters in `stops`. */
void rapt__read_words(struct format_reader *reader, const char *stops);
/* Reads the bytes up to `end` as a point. */
void rapt__read_point(struct format_reader *reader, size_t end);
/* Reads a character reference, or an & that is text. Unknown references and those to invisible
   characters become points. */
void rapt__read_reference(struct format_reader *reader, bool xml);
/* Reads a tag as a mark, or a character reference as a point, for a format whose syntax has
   neither. Returns false if there is none. */
bool rapt__read_loose_tag(struct format_reader *reader);
/* Reads a printf, Python or similar placeholder as a guard. Returns false if there is none. */
bool rapt__read_placeholder(struct format_reader *reader);
/* Returns the size of the placeholder at text[at], or 0. Sets *numbered to false if the placeholder
   takes the next argument, otherwise to true. */
size_t rapt__placeholder_size(rapt_text text, size_t at, bool *numbered);

/* ---- markdown.c and markdown_inline.c ---- */

/* Indices in reader->state. */
enum {
    MARKDOWN_HTML,   /* TITLE_END of html.c */
    MARKDOWN_END,    /* the end of the text (a paragraph, heading or cell) that is being read, or
                        0 */
    MARKDOWN_ROW,    /* the end of the table row that is being read, or 0 */
    MARKDOWN_TABLE,  /* 1 if the last line was part of a table */
    MARKDOWN_LIST,   /* the indentation of the text of the last list item, or 0 */
    MARKDOWN_TEXT,   /* 1 if the last line was neither empty nor indented code */
    MARKDOWN_DEFINES /* 2 if the document defines links, 1 if it does not, 0 if that is not known
                        yet */
};

/* Reads text, inline markup or an HTML tag at reader->at. Returns true at the end of the block. */
bool rapt__markdown_inline(struct format_reader *reader);

/* ---- place.c and ranges.c: the marks of one sentence ---- */

/* A mark, or the two marks of an element. If the sentence contains only one tag of an element, the
   element begins or ends outside of the sentence. Marks are numbered from 1. `open` is 0 if the
   element begins before the sentence, and `close` is placer.outside if it ends after the
   sentence. */
struct node {
    size_t open, close;  /* numbers of the node's marks */
    size_t first, last;  /* [first, last) source words of the node */
    size_t parent;       /* index of a node */
    size_t begin, end;   /* [begin, end) target words of the node */
    rapt_span span;      /* bytes of the node in the target */
    enum mark_kind kind; /* MARK_OPEN for elements */
    bool empty, dropped; /* empty: the node has no target words; dropped: the node is not written */
    bool copied;         /* the node is a guard whose contents are in the target */
};

struct placer {
    const struct placed *in;
    const rapt_allocator *allocator;
    struct buffer *out;
    struct buffer recased; /* a part of the target, converted to the case of the source */
    struct word_pairs pairs;
    struct node *nodes; /* [count] parents before their children */
    size_t *order;      /* [count] nodes sorted by parent and place */
    size_t count, capacity, outside;
    signed char *class; /* [source words] whether each belongs to the node being placed, to a
                           sibling, or to neither */
    bool *taken;   /* [target words] true for words of the siblings of the node being placed or,
                      during the search for surplus words, for words of any guard */
    bool *surplus; /* [target words] true for words that are not written */
    bool has_surplus;
    bool closed;       /* true if the last bytes written were a closing tag or a guard */
    size_t unnumbered; /* mark number of the last unnumbered placeholder that has been written */
    size_t last_break; /* the target word that follows the last break */
};

static inline const struct mark *placed_mark(const struct placer *p, size_t mark)
{
    return &p->in->marks[mark - 1];
}

/* Returns the contents of a guard as the model read them. */
static inline rapt_text guard_contents(const struct placer *p, const struct node *guard)
{
    const rapt_span text = placed_mark(p, guard->open)->text;
    return (rapt_text){p->in->source.bytes + text.begin, text.end - text.begin};
}

/* Returns true if the node is a guard that a program replaces with an argument, such as %s. */
bool rapt__is_placeholder(const struct placer *p, const struct node *n);
/* Sets the range of target words of an element or guard, within the range of its parent. Nodes must
   be placed in order. */
void rapt__place_words(struct placer *p, size_t index);

#endif
