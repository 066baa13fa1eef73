/* setup.c - the sizes of pictures, sensor and network, and the numbers of pixels that follow from
   them. */
#include "glimpse.h"

const char *const aim_names[AIMS] = {"read", "find"};

const struct setup setup_full = {.digits = DIGITS,
                                 .side = 60,
                                 .clutter = 8,
                                 .window = 14,
                                 .cells = 6,
                                 .blur = 10,
                                 .grid = 7,
                                 .pitch = 7,
                                 .glimpses = 4,
                                 .width = 64,
                                 .steps = 2500,
                                 .batch = 64,
                                 .rate = 2e-3F,
                                 .tests = 1024};
const struct setup setup_quick = {.digits = 5,
                                  .side = 48,
                                  .clutter = 5,
                                  .window = 12,
                                  .cells = 6,
                                  .blur = 8,
                                  .grid = 7,
                                  .pitch = 6,
                                  .glimpses = 3,
                                  .width = 32,
                                  .steps = 600,
                                  .batch = 64,
                                  .rate = 5e-3F,
                                  .tests = 512};

struct pixels pixels_of(const struct setup *s)
{
    return (struct pixels){.sharp = s->glimpses * s->window * s->window,
                           .blurred = s->glimpses * s->cells * s->cells,
                           .preview = locations_of(s) * PREVIEW_CELLS,
                           .there = s->side * s->side};
}
