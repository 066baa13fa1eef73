/* pictures.h - the two parts of lesson 9. Each appends steps to the page and returns an exit code.
 */
#ifndef PICTURES_H
#define PICTURES_H

#include "lesson.h"

lesson_fn pictures_caption; /* captions by soft and by hard attention to the same picture */
lesson_fn pictures_glimpse; /* glimpses by hard attention, under two rewards */

#endif
