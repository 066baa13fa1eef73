/* document.h - translates documents: finds the sentences of a text, translates them in batches, and
   keeps everything around them byte for byte. */
#ifndef RAPT_DOCUMENT_H
#define RAPT_DOCUMENT_H

#include "translator.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The formats of documents. In all of them, everything outside of sentences is kept byte for byte.
   Tags and other marks within a sentence are put around the translations of the words that they
   enclosed. The alignment of the translation determines these words; without an alignment, marks
   keep their relative positions in the sentence. No mark is lost or changed, and marks remain
   properly nested.

   RAPT_DOCUMENT_FORMAT_TEXT is plain text. Sentences do not cross line breaks, unless unwrap is
   set, or tabs. Indentation, blanks between sentences, and quotation and list marks at the
   beginning of a line (>, #, -, *, 1., a) and the like) are kept. Lines and sentences without
   letters are kept, too.

   RAPT_DOCUMENT_FORMAT_HTML is HTML in UTF-8, read according to the HTML Standard; any bytes are
   valid. Sentences do not cross the tags of paragraphs and other blocks, nor <br>. Scripts, styles,
   comments, attributes, <pre>, <svg>, <textarea> and elements with translate="no" or the class
   notranslate are kept. So are <code>, <kbd>, <math>, <samp>, <tt> and <var>. If the contents of
   such an element have at most 124 bytes, the model reads them as part of the sentence, and the
   original element replaces what the model wrote for them. If the document ends within a tag or
   comment, its < and everything after it are kept.

   RAPT_DOCUMENT_FORMAT_PO is a file of messages of GNU gettext in UTF-8. A message without a
   translation, or with one that is marked as fuzzy, is translated into its msgstr. No other byte of
   the file changes, so a fuzzy message remains marked. If a message has several plural forms, the
   first is translated from msgid and the rest from msgid_plural; a single one is translated from
   msgid_plural. A \n, \t or \r ends a sentence. Placeholders such as %s, %1$d, %(name)s and {name}
   are kept as <code> is in HTML; those without a number or name also keep their order. Tags and
   references are kept as marks. So is the _ or & of the only access key of a message, as in _Open,
   E_xit or Save &As: it goes before the word that it was in. Entries that cannot be read are
   kept.

   RAPT_DOCUMENT_FORMAT_SRT is a file of subtitles in UTF-8, SubRip or WebVTT. Time codes and
   numbers are kept. Sentences do not cross cues, nor line breaks before a line that begins with a
   mark such as "- ". Any other line break is moved to the space nearest to its relative position in
   the source, and dropped if there is none.

   RAPT_DOCUMENT_FORMAT_XLIFF is XLIFF 1.2 or 2.0 in UTF-8, whose elements have no namespace prefix.
   A <source> whose <target> is missing or blank, or whose state is new, needs-translation or
   initial, is translated into the <target>, which is added if necessary. <alt-trans>, <matches> and
   elements with translate="no" are kept, and so are <ph>, <it> and CDATA sections within a source.
   <bpt>, <bx> and <sc> are paired with <ept>, <ex> and <ec>. Calls return RAPT_BAD_FILE, before the
   first piece, if elements are not closed in order or the first is not <xliff>.

   RAPT_DOCUMENT_FORMAT_MARKDOWN is CommonMark with the tables, footnotes and strikethrough of
   GitHub; any bytes are valid. Lines of a paragraph are joined within a sentence. Blocks of code,
   the front matter, definitions and addresses of links, and templates such as {{ name }} are kept;
   code in backticks and labels of links are kept as <code> is in HTML. HTML in Markdown is read as
   HTML. */
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

/* Selects sentences that the model reads in normal case, because it has seen few sentences in
   capitals or in title case. All letters but the first become lower case, except the English word
   I; terms of a glossary are written as in the glossary. The case of the sentence is then restored
   in the translation. Protected text and elements that are kept do not change, and neither do
   sentences that would become too long.

   A sentence, or a part of one that was cut, is in capitals if at least 9 of 10 letters are
   capitals and white space separates at least two words, one of which has 4 letters or more;
   shorter words may be abbreviations. Words with digits do not count. Its translation is written in
   capitals.

   A sentence is in title case if it has at least 4 words, all of them have a capital or follow a
   hyphen, and most are a capital followed by lower-case letters. If the options name a language
   that does not capitalize nouns as German does, words of up to 3 letters need no capital. Words
   with two capitals, such as NASA, are not changed. In the translation, the words that come from
   capitalized words get a capital letter; the alignment determines these, or, without one, the
   relative positions do. */
typedef enum rapt_document_recase {
    RAPT_DOCUMENT_RECASE_CAPITALS, /* sentences in capitals */
    RAPT_DOCUMENT_RECASE_TITLES, /* these and sentences in title case; not the default, since names
                                    in a row look like titles */
    RAPT_DOCUMENT_RECASE_NONE,   /* none */
    RAPT_DOCUMENT_RECASE_LAST = RAPT_DOCUMENT_RECASE_NONE
} rapt_document_recase;

/* Options of the calls below. */
typedef struct rapt_document_options { /* size-first, see base.h */
    size_t size;
    rapt_document_format format; /* of the document */
    /* If nonzero, the lines of a paragraph are joined. A paragraph of text ends at an empty line,
       at a line without letters, and before a list mark. */
    int unwrap;
    /* Length of the longest sentence, in tokens of the source. A longer sentence is cut at the end
       of a clause if there is one, and otherwise between words or characters. 0 means 128. The
       model's positions limit it, too. */
    int max_length;
    /* If nonzero, translations have alignments, as in rapt_translate_many. */
    int alignments;
    /* Language of the document as an ISO 639 code such as "en". The rest of a language tag such as
       "en-GB" is ignored. The language selects the list of abbreviations after which a sentence
       does not end. NULL, "" or an unknown language selects the lists of all languages. */
    const char *language;
    /* Number of the document's first sentence for sampling, as if it continued another document;
       see rapt_translate_call. */
    uint64_t first;
    /* By default, some text of a sentence is protected: it comes back byte for byte, in place of
       what the model wrote for it. These are URLs, e-mail addresses, names of files and hosts,
       names with underscores, placeholders (%s, %1$d, {name}, {{ name }}, ${name}), XML tags, code
       in backticks, numbers with units, amounts of money, emoji and other symbols. The model sees
       at most the first 124 bytes of each such text, or a name such as X1 if its vocabulary cannot
       spell the text. A sentence whose translation lacks such a text is translated again with the
       text as a term, see rapt_translate_call.copy. If nonzero, only matches of protected_patterns
       are protected. */
    int unprotected;
    size_t protected_pattern_count; /* length of protected_patterns */
    /* Further texts that are protected: words and phrases, which match only whole words. * matches
       any number of characters other than white space, ? matches one such character, and \ before a
       character removes its special meaning. The case of letters matters. A pattern has 1 to 255
       bytes of UTF-8 and at most 2 stars. A list of patterns without * is a do-not-translate list.
       The texts must remain valid during the call. May be NULL if the count is 0. */
    const rapt_text *protected_patterns;
    /* By default, sentences whose translation has a fault are translated again, as with
       rapt_translate_call.mend and copy, and `faults` of the translation is set. If nonzero, they
       are not translated again. rapt_document_translate_with ignores this field. */
    int unmended;
    /* Used as rapt_translate_call.glossary; terms within protected text and elements that are kept
       are not looked for. rapt_document_translate_with uses it only for `recase`. */
    const rapt_glossary *glossary;
    /* If nonzero, translations have log-probabilities, as with rapt_translate_call.
       rapt_document_translate_with ignores this. */
    int log_probabilities;
    rapt_document_recase recase; /* sentences that the model reads in normal case */
} rapt_document_options;

/* Kinds of pieces. */
typedef enum rapt_piece_kind {
    RAPT_PIECE_KEPT,    /* bytes of the document that are not translated */
    RAPT_PIECE_SENTENCE /* a sentence, or a part of one that was cut */
} rapt_piece_kind;

/* A piece of a document. The pieces of a call follow each other without gaps, both in the document
   and in the translated document, which consists of their texts. Pointers are valid during the
   callback. Later versions may append fields. */
typedef struct rapt_document_piece {
    rapt_piece_kind kind; /* whether it is a sentence */
    /* RAPT_BAD_FILE if a sentence is not valid UTF-8, RAPT_BAD_ARGUMENT if it has too many tokens.
       Its text is then the text of the document. */
    rapt_status status;
    rapt_span source; /* its bytes in the document */
    rapt_span target; /* its bytes in the translated document */
    /* [target.end - target.begin] bytes without a terminator. The text of a kept piece is that of
       `original`, with two exceptions. The tags around a new <target> of XLIFF are not in the
       document. Between two sentences on one line, or between the parts of one that was cut, the
       languages may differ in whether they write spaces. A blank is then inserted where the
       translation needs one and the document has none; a blank between parts is removed where the
       translation needs none. */
    const char *text;
    /* The translation of a sentence; its `text` may differ from that of the piece in white space
       and case. Its field `sentence` counts the sentences of the document that are valid UTF-8,
       from 0. NULL for kept pieces, for sentences that are not valid UTF-8, and if the engine gives
       none. */
    const rapt_translation *translation;
    int continued; /* 1 if the sentence was cut and this is not its first part */
    /* The bytes of the document that the piece was made from; the same as source, unless the format
       has a separate place for translations. */
    rapt_span original;
    /* In a sentence, the number of parts that must not change: protected text, and elements such as
       <code>. */
    int guards;
    /* The number of these parts that were still missing in the translation and were inserted next
       to the words that are aligned to them. They replace such a word only if it spells most of the
       part or is within the part's brackets, as {nome} is for {name}. All other words remain. */
    int restored;
    /* The sentence as it was given to the model: without markup, in one line, with what the model
       sees of protected texts, and possibly in normal case. The spans in `translation` are in this
       text and in the text of the translation. Not terminated; empty for kept pieces and sentences
       that are not valid UTF-8. */
    rapt_text read;
    int recased; /* 1 if the model has read the sentence in normal case (recase) */
} rapt_document_piece;
/* Receives a piece. A nonzero result stops the call, which then returns RAPT_OK. */
typedef int rapt_document_fn(void *user, const rapt_document_piece *piece);

/* Receives the translation of a sentence. If status is not RAPT_OK, the sentence is kept.
   translation may be NULL. A nonzero result ends the translation of further sentences. */
typedef int rapt_take_fn(void *taker, rapt_status status, rapt_text text,
                         const rapt_translation *translation);
/* Translates sentences [count], and calls take(taker, ...) once for each of them, in order. */
typedef rapt_status rapt_sentences_fn(void *user, const rapt_text *sentences, size_t count,
                                      rapt_take_fn *take, void *taker, rapt_message *why);
/* Returns the size of the longest beginning of text that has at most `max` tokens. */
typedef size_t rapt_fit_fn(void *user, rapt_text text, size_t max);
/* Returns nonzero if the model can read a text and write it as it is. */
typedef int rapt_spells_fn(void *user, rapt_text text);

/* Translates the sentences of a document. */
typedef struct rapt_document_engine { /* size-first, see base.h */
    size_t size;
    rapt_sentences_fn *translate; /* translates sentences; must not be NULL */
    rapt_fit_fn *fit;             /* NULL: every character is a token */
    void *user;                   /* passed to all functions */
    /* Protected text that the model cannot write is replaced by a name such as X1 before the
       sentence is translated. NULL: the model can write every text. */
    rapt_spells_fn *spells;
} rapt_document_engine;

/* Translates a document with a translator. The document is split into sentences, without the white
   space around them; they are translated in batches, and callback receives the pieces in order,
   each as soon as it is known. options may be NULL. Allocates memory for the duration of the call,
   in an amount that depends on the longest sentences and not on the size of the document.

   Sentences are found by ICU (UAX #29) if the library was built with it, and otherwise by simple
   rules. For several languages, lists of abbreviations determine where a full stop does not end a
   sentence. Any bytes are a valid document: sentences that are not UTF-8 are kept and reported in
   the status of their pieces. ICU itself may crash or hang if one of its allocations fails while it
   is used for the first time in the process.

   Returns RAPT_BAD_ARGUMENT if an option is out of range, RAPT_NO_MEMORY if an allocation fails,
   and RAPT_BAD_FILE if ICU cannot read its data or the document violates its format. Pieces that
   callback has received are then still correct. The callbacks must return. */
RAPT_API rapt_status rapt_document_translate(rapt_translator *translator, rapt_text document,
                                             const rapt_document_options *options,
                                             rapt_document_fn *callback, void *user,
                                             rapt_message *why);

/* Works like rapt_document_translate, but calls engine->translate for the sentences. max_length is
   in tokens as engine->fit counts them; 0 means that sentences are never cut. alignments is
   ignored. If engine->translate fails, the call ends with its status and message. If it returns
   RAPT_OK before it has translated all sentences, the call stops and returns RAPT_OK.

   Returns RAPT_BAD_ARGUMENT if an option is out of range or engine->translate is NULL,
   RAPT_NO_MEMORY if an allocation fails, and RAPT_BAD_FILE if ICU cannot read its data or the
   document violates its format. */
RAPT_API rapt_status rapt_document_translate_with(
    const rapt_document_engine *engine, rapt_text document, const rapt_document_options *options,
    rapt_document_fn *callback, void *user, const rapt_allocator *allocator, rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
