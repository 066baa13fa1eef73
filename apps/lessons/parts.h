/* parts.h - parts of lessons that have files of their own. */
#ifndef LESSONS_PARTS_H
#define LESSONS_PARTS_H

#include "lesson.h"

/* Lesson mix: trains mixtures of pictures and of their codes; prototype 4 as a translator. */
void mix_codes(struct page *page, const struct lesson_options *options);
void show_prototype_4(struct page *page, const struct lesson_options *options);

/* Lesson pick_one: a word that depends on two items, of which hard attention reads one. */
void show_one_item(struct page *page, const struct lesson_options *options);

/* Lesson every_score: global and local attention; every score, locality and normalizer. */
void show_localities(struct page *page, uint64_t seed);

/* Lesson self_attention: a recurrent network that attends to its own past; what "it" stands for;
   positions. */
void read_own_past(struct page *page, const struct lesson_options *options);
void show_pronoun(struct page *page, const struct lesson_options *options);
void draw_sinusoids(struct page *page);

/* Lesson block: masks. */
void show_masks(struct page *page, uint64_t seed);

/* Lesson pictures. Draws the glimpse network and compares its multiplications with those of a
   convolution. */
void show_glimpse_network(struct page *page);
/* Captions by soft and by hard attention to the same picture. */
enum { PICTURE_PATCHES = 25 };
struct patches_read { /* mean number of patches that a word uses */
    double soft, hard;
};
int pictures_caption(struct page *page, const struct lesson_options *options,
                     struct patches_read *read);

#endif
