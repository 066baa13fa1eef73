/* encoding.c - recognizes files that are not UTF-8 text by their first bytes: compressed ones, and
   text in UTF-16 or UTF-32. */
#include "kit/program.h"

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

/* Returns the byte order of UTF-16 without a mark, if the first characters are ASCII, or NULL. */
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
