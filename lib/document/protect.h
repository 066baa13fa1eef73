/* protect.h - shared by the files that find protected text. Every search is bounded, so that the
   time is proportional to the size of the text. */
#ifndef RAPT_LIB_PROTECT_H
#define RAPT_LIB_PROTECT_H

#include "document/document.h"

#include <string.h>

enum { PROTECTED_URL = 2048, PROTECTED_NAME = 255 }; /* maximum sizes in bytes */

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool is_alphabetic(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool is_alphanumeric(char c)
{
    return is_digit(c) || is_alphabetic(c);
}

static inline char byte_at(rapt_text text, size_t at)
{
    return at < text.size ? text.bytes[at] : 0;
}

static inline bool begins_at(rapt_text text, size_t at, const char *word)
{
    const size_t size = strlen(word);
    return at <= text.size && text.size - at >= size && memcmp(text.bytes + at, word, size) == 0;
}

/* ---- addresses.c ---- */
/* These functions return the end of the address or name that begins at `at`, or `at` if there is
   none. */
size_t rapt__url_end(rapt_text text, size_t at);
size_t rapt__mail_end(rapt_text text, size_t at);
/* Finds the path of a file, or the name of a file or host with a known ending. */
size_t rapt__path_end(rapt_text text, size_t at);
/* Finds the name of a hidden file, such as .bashrc. */
size_t rapt__hidden_end(rapt_text text, size_t at);
/* Finds a path of Windows, which begins with a drive or a server. */
size_t rapt__windows_path_end(rapt_text text, size_t at);
/* Finds an IPv4 address, perhaps with a port or the length of a prefix. */
size_t rapt__number_address_end(rapt_text text, size_t at);
/* Finds an identifier of a program: a name that contains an underscore or is followed by (). */
size_t rapt__identifier_end(rapt_text text, size_t at);

#endif
