/* play.h - the script of pages and the data that it reads: the numbers of maps, and a model with
   the library that runs it. */
#ifndef LESSONS_PLAY_H
#define LESSONS_PLAY_H

#include "page.h"

/* play.js, and the library compiled to WebAssembly and by gzip, with vectors of 128 bits and
   without. Their sizes are 0 if they could not be built. */
extern const unsigned char play_script[], play_simd[], play_plain[];
extern const size_t play_script_count, play_simd_count, play_plain_count;

/* The files of C of which pages quote lines, one after another, and a 0. */
extern const unsigned char quoted_code[];
extern const size_t quoted_code_count;

/* Writes the numbers of a map into its figure if its rows are distributions over a few words, or
   those of a drawing that shows a row of such a map. */
void play_picture(FILE *file, const struct page *page, const struct block *picture);
/* Writes the script at the end of a page with such a map, and the library if a map has a model. */
void play_end(FILE *file, const struct page *page);

/* Returns bytes in base64; the caller frees. */
char *play_base64(const unsigned char *bytes, size_t size);

#endif
