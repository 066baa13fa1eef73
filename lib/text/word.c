/* word.c - pre-tokenization: finds where words end, both for learning and for encoding.

   A word is a run of letters, of digits or of other bytes, including one preceding space. Bytes of
   0x80 or more count as letters, except those of U+2000..U+207F (dashes, quotes), which count as
   other bytes. A word longer than RAPT__WORD_MAX bytes is split there, or up to three bytes earlier
   so that no character is cut. */
#include "text/text.h"

enum kind { SPACE, LETTER, DIGIT, MARK };

static enum kind kind_at(const char *bytes, size_t size, size_t at, size_t *length)
{
    unsigned char byte = (unsigned char)bytes[at];
    *length = 1;
    if (byte == ' ') return SPACE;
    if (byte >= '0' && byte <= '9') return DIGIT;
    if ((byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z')) return LETTER;
    if (byte < 0x80) return MARK;
    bool general_punctuation = byte == 0xE2 && size - at >= 3 &&
                               ((unsigned char)bytes[at + 1] & 0xFE) == 0x80 &&
                               rapt__utf8_continues(bytes[at + 2]);
    if (general_punctuation) *length = 3;
    return general_punctuation ? MARK : LETTER;
}

static size_t shortened(const char *bytes, size_t at)
{
    size_t end = at + RAPT__WORD_MAX;
    for (int back = 0; back < 4; back++)
        if (!rapt__utf8_continues(bytes[end - (size_t)back])) return end - (size_t)back;
    return end;
}

size_t rapt__word_end(const char *bytes, size_t size, size_t at)
{
    size_t end = bytes[at] == ' ' ? at + 1 : at, length;
    if (end == size) return end;
    enum kind kind = kind_at(bytes, size, end, &length);
    if (kind == SPACE) return end;
    do {
        end += length;
        if (end - at > RAPT__WORD_MAX) return shortened(bytes, at);
    } while (end < size && kind_at(bytes, size, end, &length) == kind);
    return end;
}
