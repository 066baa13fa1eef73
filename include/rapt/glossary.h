/* glossary.h - glossaries, which specify the translations of words and phrases. */
#ifndef RAPT_GLOSSARY_H
#define RAPT_GLOSSARY_H

#include "text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A glossary is a list of entries, each with a source and a target. Where the source of an entry
   occurs in a sentence, the translation should contain the target; see
   rapt_translator_options.glossary.

   Both sides of an entry may have several forms, such as singular and plural. Any form of the
   source is matched, and any form of the target is accepted. A form matches only whole words,
   except in scripts that are written without spaces. If several forms match at the same position,
   the longest is used, and matching continues after it. If forms that differ only in case or in the
   rules of their entries (see below) match the same words, the form of the first entry is used.

   By default, a form also matches if it is written with a capital first letter or in capitals. With
   the rule "nocase", it matches in any case. An entry with the rule "exact" is matched, and
   required, exactly as it is written. Without this rule, the case of the target may change with the
   case of the source. The target may be capitalized if the match is capitalized or in capitals and
   the form is not, or if the match begins the sentence. It may be in capitals if the match is and
   the form is not.

   An entry whose target is the same as its source keeps a word or phrase untranslated. The model
   chooses its position. It is not guaranteed to appear in the translation. A do-not-translate list
   (protected_patterns of rapt_document_options) guarantees that its strings are kept.

   A glossary is immutable: any number of threads may share one. */
typedef struct rapt_glossary rapt_glossary;

/* Reads a glossary from UTF-8 text. Each line is an entry: source, tab, target, and optionally
   another tab and a rule, exact or nocase. | separates forms; within a form, \| stands for | and \\
   for \. Empty lines, and spaces around forms, are ignored. A form is 1 to 255 bytes long. The text
   is treated as untrusted, and is not needed after the call. The caller must free *glossary.

   Returns RAPT_BAD_FILE if a line is not valid UTF-8 or not an entry, or if the same source form
   occurs twice with the same rule; *why names the line. Returns RAPT_BAD_ARGUMENT if the text has
   2^31 bytes or more, and RAPT_NO_MEMORY if an allocation fails. */
RAPT_API rapt_status rapt_glossary_create(rapt_glossary **glossary, rapt_text text,
                                          const rapt_allocator *allocator, rapt_message *why);
/* Returns the number of entries; 0 for NULL. */
RAPT_API size_t rapt_glossary_count(const rapt_glossary *glossary);
/* Frees a glossary. NULL is allowed. */
RAPT_API void rapt_glossary_free(rapt_glossary *glossary);

#ifdef __cplusplus
}
#endif
#endif
