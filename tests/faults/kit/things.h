/* things.h - two versions of everything that the library saves (models, checkpoints, plain bytes),
   a folder for them, and access to the bytes of its files. */
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
    unsigned char *data; /* [size], freed by the caller */
    size_t size;
};

extern char folder[256], path[288]; /* path: the file in the folder that is saved */

int things_create(void **state); /* group setup; also creates the folder */
int things_free(void **state);   /* group teardown */

rapt_status thing_save(enum thing thing, enum version version, rapt_message *why);
/* Loads `path` as a thing of this kind and discards it. A trainer must be unchanged. */
rapt_status thing_load(enum thing thing, rapt_message *why);
/* The bytes that saving this thing writes. */
const struct bytes *thing_bytes(enum thing thing, enum version version);

struct bytes bytes_of(const char *file); /* data is NULL if the file cannot be read */
bool path_has(const struct bytes *wanted);
void put(const struct bytes *bytes); /* writes them to `path`, without the library */
void clear_folder(void);
int entries(const char *of); /* the number of files in a folder */

#endif
