/* draw.c - random pictures: the strokes of a digit at a random position, among strokes of
   clutter. */
#include "glimpse.h"
#include <math.h>
#include <string.h>

/* Each digit is a polyline on a grid 4 wide and 6 high: x, y as two characters, in halves; 'A' is
   10. */
static const char *const shapes[DIGITS] = {
    "2060828A6C2C0A022060",     "22404C2C6C", "0220608284480C8C",
    "00804575898A6C2C0A",       "6C600888",   "80000565878A6C0C",
    "602002060A2C6C8A88664607", "00802C",     "4614122060727446080A2C6C8A8846",
    "8466260402206082846C",
};

struct line {
    float x1, y1, x2, y2;
};

static float point(const char *shape, int at)
{
    char c = shape[at];
    return 0.5F * (float)(c <= '9' ? c - '0' : c - 'A' + 10);
}

static float distance(const struct line *l, float x, float y)
{
    float dx = l->x2 - l->x1, dy = l->y2 - l->y1, square = dx * dx + dy * dy;
    float along = square > 0 ? ((x - l->x1) * dx + (y - l->y1) * dy) / square : 0;
    along = along < 0 ? 0 : along > 1 ? 1 : along;
    float ax = x - l->x1 - along * dx, ay = y - l->y1 - along * dy;
    return sqrtf(ax * ax + ay * ay);
}

/* Draws with anti-aliasing: the ink falls off over one pixel. */
static void put_line(const struct setup *setup, struct picture *picture, const struct line *l)
{
    const float max_x = fmaxf(l->x1, l->x2) + 2, max_y = fmaxf(l->y1, l->y2) + 2;
    int left = (int)fmaxf(0, fminf(l->x1, l->x2) - 2), top = (int)fmaxf(0, fminf(l->y1, l->y2) - 2);
    for (int y = top; y < setup->side && (float)y < max_y; y++)
        for (int x = left; x < setup->side && (float)x < max_x; x++) {
            float ink = 1.3F - distance(l, (float)x + 0.5F, (float)y + 0.5F);
            float *at = &picture->ink[y * setup->side + x];
            *at = fmaxf(*at, fminf(1, ink));
        }
}

static float between(struct random *random, float min, float max)
{
    return min + (max - min) * random_unit(random);
}

/* Returns line i of a digit with its center at (x, y), in pixels. */
static struct line line_of(const char *shape, int i, float x, float y, float size, float slant)
{
    struct line l;
    float y1 = point(shape, 2 * i + 1) - 3, y2 = point(shape, 2 * i + 3) - 3;
    l.x1 = x + size * (point(shape, 2 * i) - 2 - slant * y1);
    l.x2 = x + size * (point(shape, 2 * i + 2) - 2 - slant * y2);
    l.y1 = y + size * y1;
    l.y2 = y + size * y2;
    return l;
}

/* Draws a stroke of a random digit, shortened and sometimes mirrored, away from (x, y). */
static void put_clutter(const struct setup *setup, struct picture *picture, struct random *random,
                        float x, float y)
{
    const char *shape = shapes[random_below(random, DIGITS)];
    struct line l = line_of(shape, random_below(random, (int)strlen(shape) / 2 - 1), 0, 0, 2, 0);
    float dx = l.x2 - l.x1, dy = l.y2 - l.y1, mirror = random_below(random, 2) ? 1.0F : -1.0F;
    float shrink = fminf(1, 5 / sqrtf(dx * dx + dy * dy)), margin = 3;
    for (int tries = 0; tries < 20; tries++) {
        l.x1 = between(random, margin, (float)setup->side - margin);
        l.y1 = between(random, margin, (float)setup->side - margin);
        l.x2 = l.x1 + shrink * mirror * dx;
        l.y2 = l.y1 + shrink * dy;
        if (fabsf((l.x1 + l.x2) / 2 - x) > 8.5F || fabsf((l.y1 + l.y2) / 2 - y) > 10.5F) break;
    }
    put_line(setup, picture, &l);
}

void picture_make(const struct setup *setup, enum stream stream, uint64_t index,
                  struct picture *picture)
{
    struct random random = random_from(setup->seed + 1000 * (uint64_t)stream, index);
    memset(picture, 0, sizeof *picture);
    picture->label = random_below(&random, setup->digits);
    const char *shape = shapes[picture->label];
    float size = between(&random, 1.8F, 2.2F), slant = between(&random, -0.15F, 0.2F);
    float x = between(&random, 6, (float)setup->side - 6);
    float y = between(&random, 8, (float)setup->side - 8);
    picture->x = x;
    picture->y = y;
    for (int i = 0; i + 1 < (int)strlen(shape) / 2; i++) {
        struct line l = line_of(shape, i, x, y, size, slant);
        put_line(setup, picture, &l);
    }
    for (int i = 0; i < setup->clutter; i++) put_clutter(setup, picture, &random, x, y);
}
