/* records.h - shared by the tests of this folder and import/recorded.h; the counterpart of
   drawn.py. Reads records of numbers from a file and draws the inputs of both. */
#ifndef RAPT_TESTS_RECORDS_H
#define RAPT_TESTS_RECORDS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roundings.h"

struct record {
    char name[96];
    int count;
    double *data;
};
static struct record records[1024];
static int record_count;

/* Reads records: a line with a name and a count, then the numbers. Lines that begin with "case" are
   passed to `note`. Returns 0 if the file contains anything else. */
static inline int read_records(const char *path, void (*note)(char *line))
{
    FILE *f = fopen(path, "r");
    char name[96], line[512];
    if (!f) return 0;
    while (record_count < (int)(sizeof records / sizeof *records) && fscanf(f, "%95s", name) == 1) {
        struct record *r = records + record_count;
        if (strcmp(name, "case") == 0) {
            if (!note || !fgets(line, sizeof line, f)) return 0;
            note(line);
            continue;
        }
        memcpy(r->name, name, sizeof name);
        if (fscanf(f, "%d", &r->count) != 1 || r->count < 0) return 0;
        r->data = calloc((size_t)r->count + 1, sizeof *r->data);
        record_count++;
        for (int i = 0; i < r->count; i++)
            if (fscanf(f, "%lf", &r->data[i]) != 1) return 0;
    }
    int whole = feof(f);
    fclose(f);
    return whole && record_count > 0;
}

static inline int free_records(void **state)
{
    (void)state;
    for (int i = 0; i < record_count; i++) free(records[i].data);
    return 0;
}

static inline const struct record *find(const char *scope, const char *name)
{
    char full[192];
    snprintf(full, sizeof full, "%s.%s", scope, name);
    for (int i = 0; i < record_count; i++)
        if (strcmp(records[i].name, full) == 0) return &records[i];
    fail_msg("no record %s", full);
    return NULL;
}

static inline void compare(const char *scope, const char *name, const float *got, size_t count)
{
    const struct record *r = find(scope, name);
    double max = 0;
    assert_int_equal(r->count, count);
    for (size_t i = 0; i < count; i++)
        if (isfinite(r->data[i])) max = fmax(max, fabs(r->data[i]));
    for (size_t i = 0; i < count; i++)
        if (!within_roundings((double)got[i], r->data[i], 32, 0.1 + max))
            fail_msg("%s.%s[%zu]: got %.9g, PyTorch has %.9g", scope, name, i, (double)got[i],
                     r->data[i]);
}

/* Does what drawn() of drawn.py does, times scale, plus add. */
static inline void draw(const char *scope, const char *name, double scale, double add, float *data,
                        size_t count)
{
    uint32_t h = 2166136261u;
    char full[192];
    snprintf(full, sizeof full, "%s%s", scope, name);
    for (const char *c = full; *c; c++) h = (h ^ (unsigned char)*c) * 16777619u;
    for (size_t i = 0; i < count; i++) {
        uint32_t k = h + (uint32_t)i * 2654435769u;
        k = (k ^ (k >> 16)) * 2246822507u;
        k = (k ^ (k >> 13)) * 3266489909u;
        data[i] = (float)((((k ^ (k >> 16)) >> 8) * 0x1p-24 - 0.5) * scale + add);
    }
}

#endif
