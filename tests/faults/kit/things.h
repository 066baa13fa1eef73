/* things.h - what the library saves, in two versions each: model, checkpoint and plain bytes; a
   folder for them; and the bytes that are found there. */
#ifndef RAPT_TESTS_FAULTS_THINGS_H
#define RAPT_TESTS_FAULTS_THINGS_H

#include "calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rapt/rapt.h>

enum thing { MODEL, CHECKPOINT, BYTES, THINGS };
enum version { OLD, NEW, VERSIONS };
extern const char *const thing_names[THINGS];

struct bytes {
    unsigned char *data; /* [size], the caller's to free */
    size_t size;
};

extern char folder[64], path[96]; /* the file in it that is saved */

int things_create(void **state); /* group setup: also a new folder */
int things_free(void **state);   /* group teardown */

rapt_status thing_save(enum thing thing, enum version version, rapt_message *why);
/* Loads path as a thing of that kind, and nothing is kept; a trainer is left as it was. */
rapt_status thing_load(enum thing thing, rapt_message *why);
/* The bytes a save of it makes. */
const struct bytes *thing_bytes(enum thing thing, enum version version);

struct bytes bytes_of(const char *file); /* data NULL: it cannot be read */
bool path_has(const struct bytes *wanted);
void put(const struct bytes *bytes); /* writes them to path, plainly */
void clear_folder(void);
int entries(const char *of); /* files in a folder */

#endif
