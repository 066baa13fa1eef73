/* utf8.c - characters out of bytes. Source: RFC 3629, section 4. */
#include "text/text.h"

/* Of the character at bytes, its length and, in *character, its value; 0: not valid UTF-8. */
static size_t decode(const unsigned char *bytes, size_t size, uint32_t *character)
{
    unsigned lead = bytes[0];
    size_t length = lead < 0x80                   ? 1
                    : lead >= 0xC2 && lead < 0xE0 ? 2
                    : lead >= 0xE0 && lead < 0xF0 ? 3
                    : lead >= 0xF0 && lead < 0xF5 ? 4
                                                  : 0;
    if (length == 0 || length > size) return 0;
    uint32_t value = length == 1 ? lead : lead & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xC0) != 0x80) return 0;
        value = value << 6 | (bytes[i] & 0x3F);
    }
    if (length == 3 && (value < 0x800 || (value >= 0xD800 && value < 0xE000))) return 0;
    if (length == 4 && (value < 0x10000 || value > 0x10FFFF)) return 0;
    *character = value;
    return length;
}

uint32_t rapt__utf8_next(const char *bytes, size_t size, size_t *at)
{
    const unsigned char *here = (const unsigned char *)bytes + *at;
    uint32_t character = 0;
    size_t length = decode(here, size - *at, &character);
    if (length == 0) {
        character = 0xDC00u + here[0];
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
    while (at < text.size) {
        uint32_t character;
        size_t length = decode((const unsigned char *)text.bytes + at, text.size - at, &character);
        if (length == 0) return at;
        at += length;
    }
    return text.size;
}
