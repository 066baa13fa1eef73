/* pictures.c - lesson 9: attention over pictures. */
#include "pictures.h"

int lesson_pictures(struct page *page, const struct lesson_options *options)
{
    return pictures_glimpse(page, options);
}
