/* base64.c - encodes bytes as printable text, four characters for three bytes, padded with '=', and
   decodes them. Source: RFC 4648, section 4. The decoder accepts only what the encoder produces. */
#include "text/text.h"

#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t rapt__base64_size(size_t bytes)
{
    return rapt__ceil_div_size(bytes, 3) * 4;
}

void rapt__base64_write(const void *bytes, size_t size, char *text)
{
    const unsigned char *b = bytes;
    for (size_t i = 0; i < size; i += 3, text += 4) {
        uint32_t three = (uint32_t)b[i] << 16;
        if (i + 1 < size) three |= (uint32_t)b[i + 1] << 8;
        if (i + 2 < size) three |= b[i + 2];
        for (int digit = 0; digit < 4; digit++)
            text[digit] = alphabet[three >> (18 - 6 * digit) & 63];
        if (i + 1 >= size) text[2] = '=';
        if (i + 2 >= size) text[3] = '=';
    }
}

/* Maps each character to its value, or to 64 if it is not in the alphabet. */
static void fill_values(unsigned char values[256])
{
    memset(values, 64, 256);
    for (unsigned i = 0; i < 64; i++) values[(unsigned char)alphabet[i]] = (unsigned char)i;
}

bool rapt__base64_read(const char *text, size_t size, void *bytes)
{
    unsigned char values[256], *b = bytes;
    fill_values(values);
    for (size_t i = 0; i < size; i += 3, text += 4) {
        size_t left = size - i < 3 ? size - i : 3;
        uint32_t three = 0;
        for (size_t digit = 0; digit < 4; digit++) {
            unsigned value = values[(unsigned char)text[digit]];
            if (digit > left ? text[digit] != '=' : value == 64) return false;
            three = three << 6 | (digit > left ? 0 : value);
        }
        if (three & (0xFFFFFFu >> 8 * left)) return false; /* unused bits must be 0 */
        for (size_t k = 0; k < left; k++) b[i + k] = (unsigned char)(three >> (16 - 8 * k));
    }
    return true;
}
