/* parts.h - parts of lessons that have files of their own. */
#ifndef LESSONS_PARTS_H
#define LESSONS_PARTS_H

#include "lesson.h"

/* Lesson three_problems: longer sentences. */
void show_longer(struct page *page, const struct lesson_options *options);

/* Lesson mix: trains mixtures of pictures and of their codes; prototype 4 as a translator. */
void mix_codes(struct page *page, const struct lesson_options *options);
void show_prototype_4(struct page *page, const struct lesson_options *options);

/* Lesson every_score: the additive score as a sum of two products, and which state of the decoder
   asks: the names of the models in which it is the one before the step and the one after it. */
void show_additive(struct page *page, const char *before, const char *after);
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
