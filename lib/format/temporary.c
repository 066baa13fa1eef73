/* temporary.c - composes and recognizes the names of temporary files. */
#include "format/temporary.h"

#include "base/base.h"

#include <stdio.h>
#include <string.h>

void rapt__temporary_name(char name[TEMPORARY_NAME], uint64_t random, uint64_t key)
{
    snprintf(name, TEMPORARY_NAME, ".rapt-%016llx%016llx.tmp", (unsigned long long)random,
             (unsigned long long)rapt__mix(key, random));
}

/* Reads the 16 hexadecimal digits of R and compares the name with the one composed from R. */
bool rapt__temporary_is_ours(const char *name, uint64_t key)
{
    static const char digits[] = "0123456789abcdef";
    char made[TEMPORARY_NAME];
    uint64_t random = 0;
    if (strncmp(name, ".rapt-", 6) != 0) return false;
    for (int i = 6; i < 6 + 16; i++) {
        const char *digit = name[i] ? strchr(digits, name[i]) : NULL;
        if (!digit) return false;
        random = random << 4 | (uint64_t)(digit - digits);
    }
    rapt__temporary_name(made, random, key);
    return strcmp(name, made) == 0;
}
