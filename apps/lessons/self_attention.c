/* self_attention.c - a sequence attends to itself: first in a recurrent network, then instead of
   one; what a trained head looks up; why positions have to be added. */
#include "kit/program.h"
#include "parts.h"

int lesson_self_attention(struct page *page, const struct lesson_options *options)
{
    read_own_past(page, options);
    show_pronoun(page, options);
    draw_sinusoids(page);
    return EXIT_OK;
}
