/* character.c - decodes the next character of arbitrary bytes, recognizes white space, and finds
   where text stops being valid UTF-8. */
#include "text/text.h"

uint32_t rapt__utf8_next(const char *bytes, size_t size, size_t *at)
{
    uint32_t character = 0;
    size_t length = rapt__utf8_decode(bytes + *at, size - *at, &character);
    if (length == 0) {
        character = 0xDC00u + (unsigned char)bytes[*at];
        length = 1;
    }
    *at += length;
    return character;
}

bool rapt__utf8_space(uint32_t c)
{
    if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

size_t rapt_utf8_valid(rapt_text text)
{
    size_t at = 0;
    while (text.bytes && at < text.size) {
        uint32_t character;
        size_t length = rapt__utf8_decode(text.bytes + at, text.size - at, &character);
        if (length == 0) return at;
        at += length;
    }
    return at;
}
