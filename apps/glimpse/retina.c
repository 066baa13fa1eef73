/* retina.c - the glimpse sensor of Mnih et al. 2014, section 3.1: a small window at full resolution
   and a wider one that is blurred. Pixels outside the picture are 0. */
#include "glimpse.h"

int retina_width(const struct setup *setup)
{
    return setup->window * setup->window + setup->cells * setup->cells;
}

int location_center(const struct setup *setup)
{
    return locations_of(setup) / 2; /* the middle of an odd grid */
}

void location_coordinates(const struct setup *setup, float *points)
{
    const int first = (setup->side - (setup->grid - 1) * setup->pitch) / 2;
    for (int i = 0; i < locations_of(setup); i++) {
        points[2 * i] = (float)(first + i % setup->grid * setup->pitch);
        points[2 * i + 1] = (float)(first + i / setup->grid * setup->pitch);
    }
}

/* Returns the ink in a square of `size` pixels with this corner. A blurred square is scaled so that
   a line through it gives 1/2, the magnitude of a pixel. */
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
                    float *previews)
{
    const int size = setup->blur;
    for (int i = 0; i < locations_of(setup) * PREVIEW_CELLS; i++) {
        const float *point = points + i / PREVIEW_CELLS * 2;
        int left = (int)point[0] - size / 2 + (i % PREVIEW_CELLS % 3 - 1) * size;
        int top = (int)point[1] - size / 2 + (i % PREVIEW_CELLS / 3 - 1) * size;
        previews[i] = ink_of(setup, picture, left, top, size);
    }
}

void retina_sample(const struct setup *setup, const struct picture *picture, const float *point,
                   float *x)
{
    const int counts[2] = {setup->window, setup->cells}, sizes[2] = {1, setup->blur};
    for (int layer = 0; layer < 2; layer++) {
        int count = counts[layer], size = sizes[layer];
        int left = (int)point[0] - count * size / 2, top = (int)point[1] - count * size / 2;
        for (int i = 0; i < count * count; i++)
            *x++ = ink_of(setup, picture, left + i % count * size, top + i / count * size, size);
    }
}
