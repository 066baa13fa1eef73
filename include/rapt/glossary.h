/* glossary.h - glossaries: how words and phrases must be translated. */
#ifndef RAPT_GLOSSARY_H
#define RAPT_GLOSSARY_H

#include "text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A glossary is a list of entries. Where the source of an entry occurs in a sentence, the
   translation must contain its target; see rapt_translator_options.glossary.

   Both may have several forms, such as singular and plural: any form of the source is looked for,
   and any form of the target will do. A form occurs at the boundaries of words, except in scripts
   that are written without spaces. If several forms occur at the same place, the longest counts,
   and the next one is looked for after it. If forms differ only in case, that of the first entry
   counts.

   By default, a form is also found with a capital first letter and in capitals. The target may then
   begin with a capital, too, as it may at the beginning of a sentence. If the source is in
   capitals, the target may be, too. An entry with the rule "exact" is found, and required, exactly
   as it is written. One with the rule "nocase" is found in any case.

   An entry whose target is the same as its source makes the translation keep it, as a
   do-not-translate list of a document does (rapt_document_options). The list keeps its texts
   unconditionally and unchanged; a glossary finds the place where they read best.

   A glossary is immutable: any number of threads may share one. */
typedef struct rapt_glossary rapt_glossary;

/* Reads a glossary from a text in UTF-8. Each line is an entry: source, tab, target, and optionally
   another tab and a rule, exact or nocase. | separates forms; \ before | or \ stands for the
   character itself. Blanks around forms and empty lines are ignored. A form has at most 255 bytes.
   The text may come from an untrusted source and is not needed after the call. The caller must free
   *glossary.

   Returns RAPT_BAD_FILE if a line is not an entry, or if two entries with the same rule have the
   same source; *why gives the line. Returns RAPT_BAD_ARGUMENT if the text has 2^31 bytes or more,
   and RAPT_NO_MEMORY if an allocation fails. */
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
