/* unicode.c - characters of UTF-8 text, scripts that are written without spaces, and files that are
   not UTF-8 text. */
#include "kit/program.h"
#include "kit/text.h"

/* ---- characters, and scripts that are written without spaces ---- */

uint32_t unicode_next(rapt_text text, size_t *at)
{
    unsigned char lead = (unsigned char)text.bytes[(*at)++];
    uint32_t value = lead < 0x80 ? lead : lead < 0xE0 ? lead & 0x1F : lead & 0x0F;
    if (lead >= 0xF0) value = lead & 0x07;
    while (*at < text.size && ((unsigned char)text.bytes[*at] & 0xC0) == 0x80)
        value = value << 6 | ((unsigned char)text.bytes[(*at)++] & 0x3F);
    return value;
}

uint32_t unicode_upper(uint32_t c)
{
    if (c < 0x80) return c >= 'a' && c <= 'z' ? c - 32 : c;
    if (c < 0x100) return c == 0xFF ? 0x178 : c >= 0xE0 && c != 0xF7 ? c - 32 : c;
    if (c == 0x131) return 'I';
    if ((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17E)) return c - (c % 2 == 0);
    if (c <= 0x137 || (c >= 0x14A && c <= 0x177)) return c - (c % 2 != 0);
    if (c == 0x3AC) return 0x386;
    if (c >= 0x3AD && c <= 0x3AF) return c - 37;
    if (c >= 0x3B1 && c <= 0x3CB) return c == 0x3C2 ? 0x3A3 : c - 32;
    if (c == 0x3CC) return 0x38C;
    if (c == 0x3CD || c == 0x3CE) return c - 63;
    if (c >= 0x430 && c <= 0x45F) return c < 0x450 ? c - 32 : c - 80;
    if ((c >= 0x460 && c <= 0x481) || (c >= 0x48A && c <= 0x4BF) || (c >= 0x4D0 && c <= 0x52F) ||
        (c >= 0x1E00 && c <= 0x1E95) || (c >= 0x1EA0 && c <= 0x1EFF))
        return c - (c % 2 != 0);
    if (c >= 0x4C1 && c <= 0x4CE) return c - (c % 2 == 0);
    return c >= 0x561 && c <= 0x586 ? c - 48 : c;
}

size_t unicode_write(uint32_t c, char bytes[4])
{
    const size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = size; i-- > 1; c >>= 6) bytes[i] = (char)(0x80 | (c & 0x3F));
    bytes[0] = (char)(leads[size] | c);
    return size;
}

/* The blocks of scripts that are written without spaces, and the common blocks of punctuation. */
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

/* ---- files that are not UTF-8 text, recognized by their first bytes: compressed files, and text
   in UTF-16 or UTF-32 ---- */

static const struct magic {
    const char *bytes; /* '?' stands for any byte */
    size_t size;
    const char *what, *command;
} magics[] = {
    {"\x1F\x8B", 2, "compressed by gzip", "gunzip -c"},
    {"\x28\xB5\x2F\xFD", 4, "compressed by zstd", "zstd -dc"},
    {"\xFD"
     "7zXZ",
     5, "compressed by xz", "xz -dc"},
    {"BZh?1AY&SY", 10, "compressed by bzip2", "bzip2 -dc"},
    {"PK\x03\x04", 4, "a zip archive", "unzip -p"},
    {"\xFF\xFE\0", 4, "text in UTF-32", "iconv -f UTF-32 -t UTF-8"},
    {"\0\0\xFE\xFF", 4, "text in UTF-32", "iconv -f UTF-32 -t UTF-8"},
    {"\xFF\xFE", 2, "text in UTF-16", "iconv -f UTF-16 -t UTF-8"},
    {"\xFE\xFF", 2, "text in UTF-16", "iconv -f UTF-16 -t UTF-8"},
};

static bool begins_with(const struct magic *magic, const char *bytes, size_t size)
{
    if (size < magic->size) return false;
    for (size_t i = 0; i < magic->size; i++)
        if (magic->bytes[i] != '?' && magic->bytes[i] != bytes[i]) return false;
    return true;
}

/* Returns the byte order, "LE" or "BE", if the bytes begin with four characters of ASCII in UTF-16
   without a byte order mark; otherwise NULL. */
static const char *unmarked(const char *bytes, size_t size)
{
    size_t zeros[2] = {0, 0};
    if (size < 8) return NULL;
    for (size_t i = 0; i < 8; i++) zeros[i % 2] += bytes[i] == 0;
    return zeros[0] == 0 && zeros[1] == 4 ? "LE" : zeros[0] == 4 && zeros[1] == 0 ? "BE" : NULL;
}

int text_check(const char *name, const char *bytes, size_t size)
{
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if (begins_with(&magics[i], bytes, size))
            return failed("%s: this is %s, but text in UTF-8 is needed; convert it with %s", name,
                          magics[i].what, magics[i].command);
    const char *order = unmarked(bytes, size);
    if (order == NULL) return EXIT_OK;
    return failed(
        "%s: this is text in UTF-16, but text in UTF-8 is needed; convert it with iconv -f "
        "UTF-16%s -t UTF-8",
        name, order);
}
