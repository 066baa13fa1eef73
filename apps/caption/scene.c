/* scene.c - pictures of two things, and what is to be said about them.

   The caption names first what is further left or, if they lie more above each other than beside,
   further up. So who writes it must compare places before the first word. */
#include "caption.h"
#include <stdlib.h>

const char *const words[WORDS] = {"(begin)", "(end)",  "a",       "left", "of",
                                  "above",   "red",    "green",   "blue", "yellow",
                                  "square",  "circle", "triangle"};
enum { A = 2, LEFT, OF, ABOVE, FIRST_COLOR, FIRST_SHAPE = FIRST_COLOR + COLORS };
enum { RADIUS = 5, STEP = 3, POSITIONS = (SIZE - 2 * RADIUS - 1) / STEP + 1 };

static const float colors[COLORS][3] = {
    {0.84F, 0.15F, 0.16F}, {0.17F, 0.63F, 0.17F}, {0.12F, 0.40F, 0.85F}, {0.95F, 0.77F, 0.06F}};

const char *color_of(int color)
{
    static const char *const names[COLORS] = {"#D62728", "#2CA02C", "#1F66D9", "#F2C40F"};
    return names[color];
}

static bool inside(const struct thing *thing, int x, int y)
{
    int dx = x - thing->x, dy = y - thing->y;
    if (abs(dx) > RADIUS || abs(dy) > RADIUS) return false;
    if (thing->shape == 1) return dx * dx + dy * dy <= RADIUS * RADIUS + 2;
    if (thing->shape == 2) return 2 * abs(dx) <= dy + RADIUS; /* its point is up */
    return true;
}

int thing_at(const struct scene *scene, int x, int y)
{
    if (inside(&scene->things[0], x, y)) return 0;
    return inside(&scene->things[1], x, y) ? 1 : -1;
}

bool covers(const struct scene *scene, int thing, int patch)
{
    int count = 0;
    for (int i = 0; i < PIXELS * PIXELS; i++)
        count += thing_at(scene, patch % SIDE * PIXELS + i % PIXELS,
                          patch / SIDE * PIXELS + i / PIXELS) == thing;
    return 10 * count >= PIXELS * PIXELS;
}

void scene_paint(const struct scene *scene, struct random *noise, float *patches)
{
    for (int patch = 0; patch < PATCHES; patch++)
        for (int i = 0; i < PIXELS * PIXELS; i++) {
            int thing = thing_at(scene, patch % SIDE * PIXELS + i % PIXELS,
                                 patch / SIDE * PIXELS + i / PIXELS);
            for (int c = 0; c < 3; c++) {
                float ground = thing < 0 ? 0.5F : colors[scene->things[thing].color][c];
                *patches++ = 2 * (ground - 0.5F) + 0.2F * (random_unit(noise) - 0.5F);
            }
        }
}

static void say_thing(struct scene *scene, int thing)
{
    scene->words[scene->count++] = A;
    scene->named[scene->count] = thing;
    scene->words[scene->count++] = FIRST_COLOR + scene->things[thing].color;
    scene->named[scene->count] = thing;
    scene->words[scene->count++] = FIRST_SHAPE + scene->things[thing].shape;
}

static void describe(struct scene *scene)
{
    for (int i = 0; i < MAX_WORDS; i++) scene->words[i] = 0, scene->named[i] = -1;
    scene->count = 0;
    say_thing(scene, 0);
    scene->words[scene->count++] = scene->above ? ABOVE : LEFT;
    if (!scene->above) scene->words[scene->count++] = OF;
    say_thing(scene, 1);
    scene->words[scene->count] = END;
}

/* One pair of things in six, by lot, is never seen while learning, in either order. */
static bool is_held_out(const struct thing *things)
{
    int a = things[0].color * SHAPES + things[0].shape;
    int b = things[1].color * SHAPES + things[1].shape;
    struct random lot = random_from((uint64_t)(a < b ? a : b), (uint64_t)(a < b ? b : a));
    return random_below(&lot, 6) == 0;
}

void scene_draw(struct scene *scene, struct random *random, bool held_out)
{
    struct thing *things = scene->things;
    int dx, dy;
    do {
        for (int i = 0; i < 2; i++)
            things[i] = (struct thing){random_below(random, COLORS), random_below(random, SHAPES),
                                       RADIUS + STEP * random_below(random, POSITIONS),
                                       RADIUS + STEP * random_below(random, POSITIONS)};
        dx = abs(things[1].x - things[0].x), dy = abs(things[1].y - things[0].y);
        /* Apart, and clearly more beside than above each other or the other way. */
    } while ((dx < 2 * RADIUS + 3 && dy < 2 * RADIUS + 3) || abs(dx - dy) < 5 ||
             is_held_out(things) != held_out);
    scene->above = dy > dx;
    if (scene->above ? things[0].y > things[1].y : things[0].x > things[1].x) {
        struct thing first = things[1];
        things[1] = things[0];
        things[0] = first;
    }
    describe(scene);
}
