/* nothing_but.h - the parts of lesson 8: a recurrent network that attends to its own past; what a
   trained Transformer attends to and predicts, layer by layer; sinusoids. */
#ifndef LESSONS_NOTHING_BUT_H
#define LESSONS_NOTHING_BUT_H

#include "lesson.h"

void read_own_past(struct page *page, const struct lesson_options *options);
void see_inside(struct page *page, const struct lesson_options *options);
void draw_sinusoids(struct page *page);

#endif
