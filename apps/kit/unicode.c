/* unicode.c - characters of UTF-8 text, and scripts that are written without spaces. */
#include "kit/unicode.h"

uint32_t unicode_next(rapt_text text, size_t *at)
{
    unsigned char lead = (unsigned char)text.bytes[(*at)++];
    uint32_t value = lead < 0x80 ? lead : lead < 0xE0 ? lead & 0x1F : lead & 0x0F;
    if (lead >= 0xF0) value = lead & 0x07;
    while (*at < text.size && ((unsigned char)text.bytes[*at] & 0xC0) == 0x80)
        value = value << 6 | ((unsigned char)text.bytes[(*at)++] & 0x3F);
    return value;
}

/* The blocks of these scripts, and the common blocks of punctuation. */
static const struct {
    uint32_t first, last;
    enum script script;
} ranges[] = {
    {0x00A1, 0x00A9, SCRIPT_MARK},     {0x00AB, 0x00B4, SCRIPT_MARK},
    {0x00B6, 0x00B9, SCRIPT_MARK},     {0x00BB, 0x00BF, SCRIPT_MARK},
    {0x060C, 0x060C, SCRIPT_MARK},     {0x061B, 0x061F, SCRIPT_MARK},
    {0x06D4, 0x06D4, SCRIPT_MARK},     {0x0964, 0x0965, SCRIPT_MARK},
    {0x0E01, 0x0E4E, SCRIPT_UNSPACED}, {0x0E81, 0x0EDF, SCRIPT_UNSPACED},
    {0x1000, 0x109F, SCRIPT_UNSPACED}, {0x1780, 0x17D3, SCRIPT_UNSPACED},
    {0x2000, 0x206F, SCRIPT_MARK},     {0x20A0, 0x20CF, SCRIPT_MARK},
    {0x2190, 0x2BFF, SCRIPT_MARK},     {0x2E00, 0x2E7F, SCRIPT_MARK},
    {0x2E80, 0x2FDF, SCRIPT_HAN},      {0x3000, 0x3004, SCRIPT_MARK},
    {0x3005, 0x3007, SCRIPT_HAN},      {0x3008, 0x3020, SCRIPT_MARK},
    {0x3021, 0x3029, SCRIPT_HAN},      {0x3030, 0x3030, SCRIPT_MARK},
    {0x3041, 0x30FA, SCRIPT_UNSPACED}, {0x30FB, 0x30FB, SCRIPT_MARK},
    {0x30FC, 0x30FF, SCRIPT_UNSPACED}, {0x31F0, 0x31FF, SCRIPT_UNSPACED},
    {0x3400, 0x4DBF, SCRIPT_HAN},      {0x4E00, 0x9FFF, SCRIPT_HAN},
    {0xF900, 0xFAFF, SCRIPT_HAN},      {0xFE10, 0xFE19, SCRIPT_MARK},
    {0xFE30, 0xFE6F, SCRIPT_MARK},     {0xFF01, 0xFF0F, SCRIPT_MARK},
    {0xFF1A, 0xFF20, SCRIPT_MARK},     {0xFF3B, 0xFF40, SCRIPT_MARK},
    {0xFF5B, 0xFF65, SCRIPT_MARK},     {0xFF66, 0xFF9F, SCRIPT_UNSPACED},
    {0x1F000, 0x1FAFF, SCRIPT_MARK},   {0x20000, 0x3FFFD, SCRIPT_HAN},
};

enum script script_of(uint32_t character)
{
    if (character < 0x80) {
        bool letter = (character | 0x20) >= 'a' && (character | 0x20) <= 'z';
        return letter || character <= ' ' || (character >= '0' && character <= '9') ? SCRIPT_SPACED
                                                                                    : SCRIPT_MARK;
    }
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (character >= ranges[i].first && character <= ranges[i].last) return ranges[i].script;
    return SCRIPT_SPACED;
}
