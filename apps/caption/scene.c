/* scene.c - random pictures of two objects as patches of pixels, and their reference captions.

   The caption names the left object first or, if their vertical distance is greater, the upper one.
   The model therefore has to compare positions before it emits the first word. */
#include "caption.h"
#include <stdlib.h>

const char *const caption_words[WORDS] = {"(begin)", "(end)",  "a",       "left", "of",
                                          "above",   "red",    "green",   "blue", "yellow",
                                          "square",  "circle", "triangle"};
enum { A = 2, LEFT, OF, ABOVE, FIRST_COLOR, FIRST_SHAPE = FIRST_COLOR + COLORS };
enum { RADIUS = 5, STEP = 3, POSITIONS = (SIZE - 2 * RADIUS - 1) / STEP + 1 };

static const float colors[COLORS][3] = {
    {0.84F, 0.15F, 0.16F}, {0.17F, 0.63F, 0.17F}, {0.12F, 0.40F, 0.85F}, {0.95F, 0.77F, 0.06F}};

const char *scene_color(int color)
{
    static const char *const names[COLORS] = {"#D62728", "#2CA02C", "#1F66D9", "#F2C40F"};
    return names[color];
}

static bool inside(const struct object *object, int x, int y)
{
    int dx = x - object->x, dy = y - object->y;
    if (abs(dx) > RADIUS || abs(dy) > RADIUS) return false;
    if (object->shape == 1) return dx * dx + dy * dy <= RADIUS * RADIUS + 2;
    if (object->shape == 2) return 2 * abs(dx) <= dy + RADIUS; /* apex up */
    return true;
}

int scene_object(const struct scene *scene, int x, int y)
{
    if (inside(&scene->objects[0], x, y)) return 0;
    return inside(&scene->objects[1], x, y) ? 1 : -1;
}

bool scene_covers(const struct scene *scene, int object, int patch)
{
    int count = 0;
    for (int i = 0; i < PIXELS * PIXELS; i++)
        count += scene_object(scene, patch % SIDE * PIXELS + i % PIXELS,
                              patch / SIDE * PIXELS + i / PIXELS) == object;
    return 10 * count >= PIXELS * PIXELS;
}

void scene_paint(const struct scene *scene, struct random *noise, float *patches)
{
    for (int patch = 0; patch < PATCHES; patch++)
        for (int i = 0; i < PIXELS * PIXELS; i++) {
            int object = scene_object(scene, patch % SIDE * PIXELS + i % PIXELS,
                                      patch / SIDE * PIXELS + i / PIXELS);
            for (int c = 0; c < 3; c++) {
                float color = object < 0 ? 0.5F : colors[scene->objects[object].color][c];
                *patches++ = 2 * (color - 0.5F) + 0.2F * (random_unit(noise) - 0.5F);
            }
        }
}

static void append_object(struct scene *scene, int object)
{
    scene->words[scene->count++] = A;
    scene->named[scene->count] = object;
    scene->words[scene->count++] = FIRST_COLOR + scene->objects[object].color;
    scene->named[scene->count] = object;
    scene->words[scene->count++] = FIRST_SHAPE + scene->objects[object].shape;
}

static void scene_describe(struct scene *scene)
{
    for (int i = 0; i < MAX_WORDS; i++) scene->words[i] = 0, scene->named[i] = -1;
    scene->count = 0;
    append_object(scene, 0);
    scene->words[scene->count++] = scene->above ? ABOVE : LEFT;
    if (!scene->above) scene->words[scene->count++] = OF;
    append_object(scene, 1);
    scene->words[scene->count] = END;
}

/* About one pair of objects in six, selected by a hash, occurs only in tests, in either order. */
static bool is_held_out(const struct object *objects)
{
    int a = objects[0].color * SHAPES + objects[0].shape;
    int b = objects[1].color * SHAPES + objects[1].shape;
    struct random hash = random_from((uint64_t)(a < b ? a : b), (uint64_t)(a < b ? b : a));
    return random_below(&hash, 6) == 0;
}

void scene_draw(struct scene *scene, struct random *random, bool held_out)
{
    struct object *objects = scene->objects;
    int dx, dy;
    do {
        for (int i = 0; i < 2; i++)
            objects[i] = (struct object){random_below(random, COLORS), random_below(random, SHAPES),
                                         RADIUS + STEP * random_below(random, POSITIONS),
                                         RADIUS + STEP * random_below(random, POSITIONS)};
        dx = abs(objects[1].x - objects[0].x), dy = abs(objects[1].y - objects[0].y);
        /* The objects are disjoint, and one of the distances is clearly larger. */
    } while ((dx < 2 * RADIUS + 3 && dy < 2 * RADIUS + 3) || abs(dx - dy) < 5 ||
             is_held_out(objects) != held_out);
    scene->above = dy > dx;
    if (scene->above ? objects[0].y > objects[1].y : objects[0].x > objects[1].x) {
        struct object first = objects[1];
        objects[1] = objects[0];
        objects[0] = first;
    }
    scene_describe(scene);
}
