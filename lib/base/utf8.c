/* utf8.c - decodes and encodes UTF-8. Overlong forms, surrogates and values above U+10FFFF are
   invalid. Source: RFC 3629, sections 3 and 4. */
#include "base/base.h"

#include <string.h>

size_t rapt__utf8_decode(const void *bytes, size_t size, uint32_t *code)
{
    const unsigned char *b = bytes;
    if (size == 0) return 0;
    unsigned lead = b[0];
    size_t length = lead < 0x80                   ? 1
                    : lead >= 0xC2 && lead < 0xE0 ? 2
                    : lead >= 0xE0 && lead < 0xF0 ? 3
                    : lead >= 0xF0 && lead < 0xF5 ? 4
                                                  : 0;
    if (length == 0 || length > size) return 0;
    uint32_t value = length == 1 ? lead : lead & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (!rapt__utf8_continues(b[i])) return 0;
        value = value << 6 | (b[i] & 0x3F);
    }
    if (length == 3 && (value < 0x800 || (value >= 0xD800 && value < 0xE000))) return 0;
    if (length == 4 && (value < 0x10000 || value > 0x10FFFF)) return 0;
    *code = value;
    return length;
}

size_t rapt__utf8_encode(uint32_t code, void *bytes)
{
    unsigned char *b = bytes;
    if (code < 0x80) {
        b[0] = (unsigned char)code;
        return 1;
    }
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length; i-- > 1; code >>= 6) b[i] = (unsigned char)(0x80 | (code & 0x3F));
    b[0] = (unsigned char)((0xF00u >> length & 0xF0) | code);
    return length;
}

void rapt__make_printable(char *text)
{
    for (size_t size = strlen(text); size > 0;) {
        uint32_t code = 0;
        size_t length = rapt__utf8_decode(text, size, &code);
        bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
        for (size_t i = 0; i < length && control; i++) text[i] = '?';
        if (length == 0) text[0] = '?', length = 1;
        text += length, size -= length;
    }
}
