/* play.h - the script of pages and the data that it reads: the numbers of maps. */
#ifndef LESSONS_PLAY_H
#define LESSONS_PLAY_H

#include "page.h"

extern const unsigned char play_script[]; /* play.js */
extern const size_t play_script_count;

/* Writes the numbers of a map into its figure if its rows are distributions over a few words. */
void play_map(FILE *file, const struct block *map);
/* Writes the script at the end of a page that has such a map. */
void play_end(FILE *file, const struct page *page);

#endif
