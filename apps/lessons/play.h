/* play.h - the script of pages and the data that it reads: the numbers of maps, and a model with
   the library that runs it. */
#ifndef LESSONS_PLAY_H
#define LESSONS_PLAY_H

#include "page.h"

/* play.js, and the library compiled to WebAssembly, whose size is 0 if it could not be built. */
extern const unsigned char play_script[], play_module[];
extern const size_t play_script_count, play_module_count;

/* Writes the numbers of a map into its figure if its rows are distributions over a few words. */
void play_map(FILE *file, const struct block *map);
/* Writes the script at the end of a page that has such a map, and the library if one has a model.
 */
void play_end(FILE *file, const struct page *page);

/* Returns bytes in base64; the caller frees. */
char *play_base64(const unsigned char *bytes, size_t size);

#endif
