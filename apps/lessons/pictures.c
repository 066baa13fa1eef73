/* pictures.c - lesson 9: attention over pictures. */
#include "pictures.h"

int lesson_pictures(struct page *page, const struct lesson_options *options)
{
    int code = pictures_caption(page, options);
    return code == 0 ? pictures_glimpse(page, options) : code;
}
