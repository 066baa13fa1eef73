/* parts.h - parts of lessons 4, 6, 8 and 9 that have files of their own. */
#ifndef LESSONS_PARTS_H
#define LESSONS_PARTS_H

#include "lesson.h"

/* Lesson 4: trains mixtures of pictures and of their codes. */
void mix_codes(struct page *page, const struct lesson_options *options);

/* Lesson 6: global and local attention, and all combinations of score, locality and normalizer. */
void show_localities(struct page *page, uint64_t seed);

/* Lesson 8: a recurrent network that attends to its own past; what a trained Transformer attends to
   and predicts, layer by layer; masks; sinusoids. */
void read_own_past(struct page *page, const struct lesson_options *options);
void see_inside(struct page *page, const struct lesson_options *options);
void show_masks(struct page *page, uint64_t seed);
void draw_sinusoids(struct page *page);

/* Lesson 9: captions by soft and by hard attention to the same picture. */
int pictures_caption(struct page *page, const struct lesson_options *options);

#endif
