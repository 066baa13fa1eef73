/* wordpiece.h - how BERT (Devlin et al. 2019) prepares text and splits it into words, which are
   then split into names of a list (list.h). */
#ifndef RAPT_LIB_TEXT_WORDPIECE_H
#define RAPT_LIB_TEXT_WORDPIECE_H

#include "text/text.h"

/* A character of prepared text. */
struct wordpiece_character {
    uint32_t code;
    bool apart; /* it is a word by itself: punctuation, or Chinese */
};
enum { WORDPIECE_GROWTH = 4 }; /* at most so many characters come from one of the original text */

/* Returns whether characters are known to the library, which needs utf8proc for them. */
bool rapt__wordpiece_available(void);
/* Returns whether a character separates words. */
bool rapt__wordpiece_space(uint32_t c);
/* Prepares a character of the original text: removes control characters and, unless they are kept,
   accents and capitals. Returns how many characters it becomes. */
size_t rapt__wordpiece_prepare(const struct wordpiece *w, uint32_t c,
                               struct wordpiece_character to[WORDPIECE_GROWTH]);

#endif
