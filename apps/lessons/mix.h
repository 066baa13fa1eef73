/* mix.h - the part of lesson 4 that trains: mixtures of pictures and of their codes. */
#ifndef LESSONS_MIX_H
#define LESSONS_MIX_H

#include "lesson.h"

void mix_codes(struct page *page, const struct lesson_options *options);

#endif
