/* unicode.h - characters of UTF-8 text, and scripts that are written without spaces. */
#ifndef KIT_UNICODE_H
#define KIT_UNICODE_H

#include <rapt/text.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns the character at *at and moves *at past it. In text that is not valid UTF-8 the result is
   arbitrary, but *at moves by at least one byte and not past the end. */
uint32_t unicode_next(rapt_text text, size_t *at);

/* Returns a letter of the Latin, Greek, Cyrillic or Armenian script in upper case, and every other
   character as it is. A letter needs no more bytes in upper case. */
uint32_t unicode_upper(uint32_t character);
/* Writes a character as UTF-8 and returns its size. */
size_t unicode_write(uint32_t character, char bytes[4]);

enum script {
    SCRIPT_SPACED,   /* words are separated by spaces, or not a letter */
    SCRIPT_HAN,      /* Chinese characters */
    SCRIPT_UNSPACED, /* another script without spaces: kana, Thai, Lao, Khmer, Burmese */
    SCRIPT_MARK      /* punctuation */
};
enum script script_of(uint32_t character);

#endif
