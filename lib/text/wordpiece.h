/* wordpiece.h - prepares text and splits it into words as BERT does (Devlin et al. 2019).
   list_words.c splits the words into names of a list. */
#ifndef RAPT_LIB_TEXT_WORDPIECE_H
#define RAPT_LIB_TEXT_WORDPIECE_H

#include "text/text.h"

/* A character of prepared text. */
struct wordpiece_character {
    uint32_t code;
    bool apart; /* true if the character is a separate word: punctuation or Chinese */
};
/* Maximum number of characters that come from one character of the original text. */
enum { WORDPIECE_GROWTH = 4 };

/* Returns true if the library was built with utf8proc, which WordPiece needs. */
bool rapt__wordpiece_available(void);
/* Returns true if a character separates words. */
bool rapt__wordpiece_space(uint32_t c);
/* Prepares a character of the original text: removes it if it is a control, format or private
   character or not valid; removes accents and converts to lower case, unless the options in w
   preserve these. Returns the number of resulting characters. */
size_t rapt__wordpiece_prepare(const struct wordpiece *w, uint32_t c,
                               struct wordpiece_character to[WORDPIECE_GROWTH]);

#endif
