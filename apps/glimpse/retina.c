/* retina.c - what one look gives: a small sharp window, and the wide surroundings blurred. Mnih et
   al. 2014, section 3.1: "the glimpse sensor". What falls outside the picture is empty. */
#include "glimpse.h"

int retina_width(const struct setup *setup)
{
    return setup->window * setup->window + setup->cells * setup->cells;
}

int place_middle(const struct setup *setup)
{
    return locations_of(setup) / 2; /* of an odd grid */
}

void place_points(const struct setup *setup, float *points)
{
    const int first = (setup->side - (setup->grid - 1) * setup->pitch) / 2;
    for (int i = 0; i < locations_of(setup); i++) {
        points[2 * i] = (float)(first + i % setup->grid * setup->pitch);
        points[2 * i + 1] = (float)(first + i / setup->grid * setup->pitch);
    }
}

/* The ink of a square of `size` pixels with this corner: of one pixel as it is, of a blurred square
   twice as a line through it would give, that both are of one size. */
static float ink_of(const struct setup *setup, const struct picture *picture, int left, int top,
                    int size)
{
    const int side = setup->side;
    int right = left + size < side ? left + size : side;
    int bottom = top + size < side ? top + size : side;
    float sum = 0;
    for (int y = top < 0 ? 0 : top; y < bottom; y++)
        for (int x = left < 0 ? 0 : left; x < right; x++) sum += picture->ink[y * side + x];
    return size > 1 ? sum / (2 * (float)size) : sum;
}

void retina_preview(const struct setup *setup, const struct picture *picture, const float *points,
                    float *marks)
{
    const int size = setup->blur;
    for (int i = 0; i < locations_of(setup) * MARKS; i++) {
        const float *point = points + i / MARKS * 2;
        int left = (int)point[0] - size / 2 + (i % MARKS % 3 - 1) * size;
        int top = (int)point[1] - size / 2 + (i % MARKS / 3 - 1) * size;
        marks[i] = ink_of(setup, picture, left, top, size);
    }
}

void retina_see(const struct setup *setup, const struct picture *picture, const float *point,
                float *x)
{
    const int counts[2] = {setup->window, setup->cells}, sizes[2] = {1, setup->blur};
    for (int layer = 0; layer < 2; layer++) {
        int many = counts[layer], size = sizes[layer];
        int left = (int)point[0] - many * size / 2, top = (int)point[1] - many * size / 2;
        for (int i = 0; i < many * many; i++)
            *x++ = ink_of(setup, picture, left + i % many * size, top + i / many * size, size);
    }
}
