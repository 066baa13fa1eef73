/* document.h - translates documents: finds the sentences of a text, translates them in batches, and
   keeps the text around them. */
#ifndef RAPT_DOCUMENT_H
#define RAPT_DOCUMENT_H

#include "translator.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The formats of documents. Everything outside of sentences is kept byte for byte, apart from the
   changes that are described below and under rapt_document_piece.text. Inline markup, such as the
   tags in a sentence, is placed around the translations of the words that it enclosed, as
   determined by the alignment. Without an alignment, markup keeps its relative position in the
   sentence. Tags are neither lost nor changed, and remain properly nested.

   RAPT_DOCUMENT_FORMAT_TEXT is plain text. A sentence ends at a tab and, unless unwrap is set, at a
   line break. Indentation, spaces between sentences, and quote, heading and list markers at the
   beginning of a line, such as ">", "#", "-", "*", "1." and "a)", are kept. In every format,
   sentences that have no letters outside protected text are kept too.

   RAPT_DOCUMENT_FORMAT_HTML is HTML in UTF-8, whose tags are parsed according to the HTML Standard;
   any sequence of bytes is accepted. A sentence ends at <br> and at the tags of paragraphs and
   other blocks. Scripts, styles, comments, attributes, <iframe>, <listing>, <noembed>, <noframes>,
   <pre>, <template>, <textarea>, <xmp>, everything after <plaintext>, and elements with
   translate="no" or the class notranslate are kept. <code>, <kbd>, <math>, <samp>, <svg>, <tt>,
   <var> and other kept elements within a sentence remain in it: the model reads the contents of
   such an element, if they are at most 124 bytes long, as part of the sentence, and the original
   element replaces their translation. With any other value of the translate attribute, such as
   "yes", an element such as <code> is translated. If the document ends within a tag or comment,
   everything from its < on is kept.

   RAPT_DOCUMENT_FORMAT_PO is a GNU gettext message file (.po) in UTF-8. Messages whose msgstr is
   empty, or that are marked as fuzzy, are translated, and the result is written to msgstr. No other
   byte of the file changes, so a fuzzy message remains marked as fuzzy. If a message has several
   plural forms, the first is translated from msgid and the rest from msgid_plural. If it has only
   one plural form, that form is translated from msgid_plural. The escapes \n, \t and \r end a
   sentence. Placeholders such as %s, %1$d, %(name)s and {name} are kept like <code> in HTML;
   placeholders without a number or name also keep their order. HTML tags and character references
   such as &amp; are treated as inline markup. If a message contains a single _ or & that marks an
   access key, as in _Open, E_xit or Save &As, the mark is placed before the translation of the word
   that contained it. Entries that cannot be parsed are kept.

   RAPT_DOCUMENT_FORMAT_SRT is a subtitle file in UTF-8, in SubRip or WebVTT format. Time codes and
   cue numbers are kept. A sentence ends at the end of its cue, or before a line that begins with a
   marker such as "- ". Any other line break in a sentence keeps its relative position: it replaces
   the nearest space in the translation or, in scripts without spaces, is placed between words. It
   is dropped if the translation has no such place.

   RAPT_DOCUMENT_FORMAT_XLIFF is XLIFF 1.2 or 2.0 in UTF-8, whose elements have no namespace prefix.
   The translation of a <source> is written to its <target> if the <target> is missing or contains
   only white space, if the state of the <target> is new or needs-translation, or if the state of
   the <segment> is initial. A missing <target> is added. <alt-trans>, <matches> and elements with
   translate="no" are kept, and so are elements with mtype="protected", <ph>, <it> and CDATA
   sections within a <source>. <bpt>, <bx> and <sc> are paired with <ept>, <ex> and <ec>. If the
   document is malformed, its first element is not <xliff>, or elements are nested more than 200
   levels deep, calls return RAPT_BAD_FILE without passing any piece to the callback.

   RAPT_DOCUMENT_FORMAT_MARKDOWN is CommonMark with GitHub's tables, task lists, footnotes and
   strikethrough; any sequence of bytes is accepted. The lines of a sentence are joined; a hard line
   break ends a sentence. Code blocks, front matter, link definitions, link destinations and
   templates such as {{ name }} and {% name %} are kept; code in backticks, autolinks such as
   <https://example.org>, and labels that are also the text of a link, as in [label], are kept like
   <code> in HTML. HTML in Markdown is parsed as HTML. */
typedef enum rapt_document_format {
    RAPT_DOCUMENT_FORMAT_TEXT,
    RAPT_DOCUMENT_FORMAT_HTML,
    RAPT_DOCUMENT_FORMAT_PO,
    RAPT_DOCUMENT_FORMAT_SRT,
    RAPT_DOCUMENT_FORMAT_XLIFF,
    RAPT_DOCUMENT_FORMAT_MARKDOWN,
    RAPT_DOCUMENT_FORMAT_LAST = RAPT_DOCUMENT_FORMAT_MARKDOWN
} rapt_document_format;

/* Returns the name of a format, such as "html" for RAPT_DOCUMENT_FORMAT_HTML, or NULL if the format
   is unknown. The name belongs to the library. Formats are numbered from 0 without gaps. */
RAPT_API const char *rapt_document_format_name(int format);

/* Which sentences are converted to sentence case before the model reads them. (In training, models
   have seen few sentences in capitals or title case.) In sentence case, all letters but the first
   of the sentence are in lower case, except in the word I (if the language is English or not given)
   and in glossary terms, which are spelled as in the glossary. The original case is then restored
   in the translation. Protected text and elements that are kept do not change. A sentence that fits
   into max_length only in its original case is not converted.

   A sentence, or a part of a sentence that was cut, counts as being in capitals if at least 9 in 10
   of its letters are capitals and it has at least 2 words, one of which has 4 letters or more
   (shorter words may be abbreviations). Words are separated by white space; words that contain
   digits are ignored. The translation is then written in capitals.

   A sentence is in title case if it has at least 4 words, each run of letters and apostrophes
   contains a capital or follows a hyphen, and the number of capitalized runs is more than half the
   number of words. (Well-Known is one word, but two runs.) A run is capitalized if it is a single
   capital letter, or begins with a capital and is not all in capitals. Runs of up to 3 letters need
   no capital if the options give a language other than German or Luxembourgish, which capitalize
   nouns. Runs with two or more capitals, such as NASA, are not changed. A word of the translation
   is capitalized if it translates a capitalized word, according to the alignment or, without one,
   its relative position. */
typedef enum rapt_document_recase {
    RAPT_DOCUMENT_RECASE_CAPITALS, /* sentences in capitals */
    RAPT_DOCUMENT_RECASE_TITLES,   /* also sentences in title case; not the default, because a list
                                      of names looks like a title */
    RAPT_DOCUMENT_RECASE_NONE,     /* none */
    RAPT_DOCUMENT_RECASE_LAST = RAPT_DOCUMENT_RECASE_NONE
} rapt_document_recase;

/* Options for the calls below. */
typedef struct rapt_document_options { /* size-first, see base.h */
    size_t size;
    rapt_document_format format; /* format of the document */
    /* If nonzero, the lines of a paragraph of plain text are joined. A paragraph ends at a tab, at
       a line without letters, and before a line with a quote, heading or list marker. Other formats
       ignore this field. */
    int unwrap;
    /* Maximum length of a sentence in source tokens, up to 2^30 and reduced to what
       config.positions allows. A sentence that the model reads in sentence case is measured in
       sentence case. A longer sentence is cut at the end of a clause if possible, and otherwise
       between words or characters. 0 means 128. */
    int max_length;
    /* If nonzero, all translations have alignments, as in rapt_translate_many. If 0, only the
       translations for which the library itself needs an alignment have one. */
    int alignments;
    /* Language of the document as an ISO 639 code such as "en". The rest of a language tag such as
       "en-GB" is ignored. The language selects the list of abbreviations after which a sentence
       does not end, and affects `recase`. NULL, "" or a language without such a list selects the
       lists of all languages. */
    const char *language;
    /* Sequence number that sampling uses for the document's first sentence. Set it to continue the
       numbering of an earlier document; see rapt_translate_call.first. rapt_document_translate_with
       ignores this field. */
    uint64_t first;
    /* By default, certain parts of a sentence are protected: in the translation, they replace, byte
       for byte, what the model wrote for them. Protected parts are URLs, e-mail and IP addresses,
       file and host names, names with underscores or followed by (), placeholders (%s, %1$d,
       {name}, {{ name }}, ${name}), XML tags, code in backticks, numbers with units, amounts of
       money, emoji and other symbols. The model reads at most the first 124 bytes of a protected
       part. If the model's vocabulary cannot spell them and no word touches the part, the model
       reads a name such as X1 instead. If the translation of a sentence lacks a protected part, the
       sentence is translated again with the part as a term; see rapt_translate_call.copy. If a
       placeholder occurs more times in the translation than in the sentence, the surplus
       occurrences are dropped. If this field is nonzero, only matches of protected_patterns are
       protected. */
    int unprotected;
    size_t protected_pattern_count; /* length of protected_patterns */
    /* Patterns of additional words and phrases to protect. They match only whole words. * matches
       up to 255 bytes of characters other than white space, ? matches one such character, and \
       removes the special meaning of the next character. Matching is case-sensitive. A pattern is 1
       to 255 bytes of UTF-8 and contains at most 2 unescaped asterisks. Patterns without * or ?
       form a do-not-translate list. The strings must remain valid during the call. May be NULL if
       the count is 0. */
    const rapt_text *protected_patterns;
    /* If 0, a sentence whose translation has a fault is translated again, as with
       rapt_translate_call.mend and rapt_translate_call.copy, and rapt_translation.faults is set.
       rapt_document_translate_with ignores this field. */
    int unmended;
    /* Glossary of the document, as in rapt_translate_call.glossary. Terms are not searched for in
       protected text or in elements that are kept. rapt_document_translate_with uses the glossary
       only for `recase`. */
    const rapt_glossary *glossary;
    /* If nonzero, translations have log-probabilities; see rapt_translate_call.log_probabilities.
       rapt_document_translate_with ignores this field. */
    int log_probabilities;
    rapt_document_recase recase; /* which sentences are converted to sentence case */
} rapt_document_options;

/* Kinds of pieces. */
typedef enum rapt_piece_kind {
    RAPT_PIECE_KEPT,    /* bytes of the document that are not translated */
    RAPT_PIECE_SENTENCE /* a sentence, or a part of one that was cut */
} rapt_piece_kind;

/* A piece of a document. The pieces passed to the callback follow each other without gaps, both in
   the document and in the translated document. The translated document is the concatenation of the
   texts of all pieces. Pointers are valid during the callback. Later versions may append fields. */
typedef struct rapt_document_piece {
    rapt_piece_kind kind; /* the kind of the piece */
    /* RAPT_OK; RAPT_BAD_FILE if a sentence is not valid UTF-8; RAPT_BAD_ARGUMENT if it has too many
       tokens; or the status that an engine passed. After an error, `text` is the text of the
       document. */
    rapt_status status;
    rapt_span source; /* bytes of the document that the piece replaces; may be empty */
    rapt_span target; /* bytes of the piece in the translated document */
    /* [target.end - target.begin] bytes without a terminator. The text of a kept piece consists of
       the bytes of `original`, with two exceptions. First, the tags that are written around the
       text of a missing or empty <target> in XLIFF are not in the document. Second, if the source
       and target languages differ in whether they separate sentences with spaces, a space is
       inserted between two sentences on one line, or between the parts of a sentence that was cut,
       where the translation needs one and the document has none; a space between parts is removed
       where the translation needs none. */
    const char *text;
    /* The translation of a sentence. Its `text` is what the model wrote; in the text of the piece,
       markup, escapes, protected parts, case and line breaks have been restored. Its `sentence` is
       the index, from 0, of this sentence or part of a cut sentence; sentences that are not valid
       UTF-8 are not counted. NULL for kept pieces, for sentences that are not valid UTF-8, and if
       the engine passes NULL. */
    const rapt_translation *translation;
    int continued; /* 1 if the sentence was cut and this is not its first part */
    /* The bytes of the document that were translated or copied. They differ from `source` only if
       the format has a separate place for translations. */
    rapt_span original;
    /* In a sentence, the number of parts that must not change: protected text and elements such as
       <code>. */
    int guards;
    /* The number of these parts that were inserted because the translation still lacked them. A
       part replaces words of the translation only if they spell most of the part, or are in the
       same kind of brackets as the part, such as {nome} for {name}. Otherwise it is inserted next
       to the words aligned to it or to its neighbors, and no word is lost. */
    int restored;
    /* The sentence as the model read it: without markup, on one line, with protected parts
       shortened or replaced by names, and possibly converted to sentence case. The spans in
       `translation` refer to this string and to the text of the translation. Not terminated; empty
       for kept pieces and sentences that are not valid UTF-8. */
    rapt_text read;
    int recased; /* 1 if the sentence was converted to sentence case (see recase) */
} rapt_document_piece;
/* Receives a piece. A nonzero result stops the call, which then returns RAPT_OK. */
typedef int rapt_document_fn(void *user, const rapt_document_piece *piece);

/* Receives the translation of a sentence from an engine. If status is not RAPT_OK, the sentence is
   kept. translation may be NULL. A nonzero result means that no further sentences are needed. */
typedef int rapt_take_fn(void *taker, rapt_status status, rapt_text text,
                         const rapt_translation *translation);
/* Translates sentences [count], and calls take(taker, ...) once for each of them, in order, until
   it returns nonzero. Returns RAPT_OK, or an error with a message. */
typedef rapt_status rapt_sentences_fn(void *user, const rapt_text *sentences, size_t count,
                                      rapt_take_fn *take, void *taker, rapt_message *why);
/* Returns the size in bytes of the longest prefix of text that has at most `max` tokens. */
typedef size_t rapt_fit_fn(void *user, rapt_text text, size_t max);
/* Returns nonzero if the model can read a text and write it unchanged. */
typedef int rapt_spells_fn(void *user, rapt_text text);

/* Functions that translate the sentences of a document for rapt_document_translate_with. */
typedef struct rapt_document_engine { /* size-first, see base.h */
    size_t size;
    rapt_sentences_fn *translate; /* translates sentences; must not be NULL */
    rapt_fit_fn *fit;             /* NULL means that every character counts as a token */
    void *user;                   /* passed to all functions */
    /* Protected text for which this function returns 0 is replaced by a name such as X1 before the
       sentence is translated, if the function accepts the name and no word touches the text. NULL
       means that the model can write every text. */
    rapt_spells_fn *spells;
} rapt_document_engine;

/* Translates a document with a translator. The document is split into sentences, without the white
   space around them. They are translated in batches, and callback receives the pieces in order,
   each as soon as it is ready. options may be NULL for the defaults. Allocates memory for the
   duration of the call; the amount depends on the longest sentences, not on the size of the
   document.

   Sentences are found by simple rules and, if the library was built with ICU, also by ICU (UAX
   #29). For several languages, lists of abbreviations determine where a full stop does not end a
   sentence. Any sequence of bytes is accepted as a document, except in XLIFF. Sentences that are
   not valid UTF-8 are kept and reported in the status of their pieces. ICU itself may crash or hang
   if an allocation fails when the process first uses it.

   Returns RAPT_BAD_ARGUMENT if an option is out of range or the translator's options name no
   languages for a multilingual model, RAPT_NO_MEMORY if an allocation fails, and RAPT_BAD_FILE if
   ICU cannot read its data or an XLIFF document is malformed. Even after an error, the pieces that
   callback has received are correct. callback must return normally; see base.h. */
RAPT_API rapt_status rapt_document_translate(rapt_translator *translator, rapt_text document,
                                             const rapt_document_options *options,
                                             rapt_document_fn *callback, void *user,
                                             rapt_message *why);

/* Works like rapt_document_translate, but calls engine->translate to translate sentences.
   max_length is in tokens as counted by engine->fit; 0 means no limit. Even then, a sentence is cut
   after about 64 KB or, in formats with markup, after 512 tags, comments and line breaks.
   options.alignments is ignored. If engine->translate fails, the call ends with its status and
   message. If it returns RAPT_OK before it has translated all sentences, the call stops and returns
   RAPT_OK.

   Returns RAPT_BAD_ARGUMENT if an option is out of range or engine->translate is NULL,
   RAPT_NO_MEMORY if an allocation fails, and RAPT_BAD_FILE if ICU cannot read its data or an XLIFF
   document is malformed. */
RAPT_API rapt_status rapt_document_translate_with(
    const rapt_document_engine *engine, rapt_text document, const rapt_document_options *options,
    rapt_document_fn *callback, void *user, const rapt_allocator *allocator, rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
