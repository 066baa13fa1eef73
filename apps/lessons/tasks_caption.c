/* tasks_caption.c - describes a picture of 16 patches, in the order of reading: "a red square
   and a blue cross". One pair of kinds in six occurs only in tests. */
#include "kit/layers.h"
#include "learner.h"
#include "tasks.h"
#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 4, /* patches */
    PATCHES = SIDE * SIDE,
    SIZE = 5, /* side of a patch in pixels */
    VALUES = SIZE * SIZE * 3,
    COLORS = 4,
    SHAPES = 3,
    A = 0,
    AND,
    COLOR,
    SHAPE = COLOR + COLORS,
    BEGIN = SHAPE + SHAPES,
    END,
    WORDS,
    MAX = 7, /* words of a caption */
    BATCH = 32,
    TESTS = 512
};
static const char *const words[WORDS] = {"a",      "and",   "red",      "green", "blue", "yellow",
                                         "square", "cross", "triangle", "begin", "(end)"};
static const float colors[COLORS][3] = {
    {0.9F, 0.1F, 0.1F}, {0.1F, 0.7F, 0.1F}, {0.1F, 0.3F, 0.9F}, {0.9F, 0.8F, 0.1F}};
static const char *const shapes[SHAPES] = {"######...##...##...######", "..#....#..#####..#....#..",
                                           "..#....#...#.#..#.#.#####"};

struct scene {
    int patch[2], color[2], shape[2]; /* of the objects, in the order of the caption */
    int count, word[MAX], of[MAX];    /* of: the object that a word describes; -1 means none */
    float pixels[PATCHES][VALUES];
};
struct caption {
    struct learner learner;
    int steps;
    double exact, named; /* share of exact captions in tests; weight on the patch of the object that
                            a word describes */
    struct scene shown;
    int32_t said[MAX + 2];
    int count;
    float weights[(MAX + 3) * PATCHES]; /* [count + 1][PATCHES] */
};

static bool caption_held_out(const struct scene *s)
{
    const int a = s->color[0] * SHAPES + s->shape[0], b = s->color[1] * SHAPES + s->shape[1];
    struct random hash = random_from((uint64_t)(a < b ? a : b), (uint64_t)(a < b ? b : a));
    return random_below(&hash, 6) == 0;
}

static void add_word(struct scene *s, int word, int object)
{
    s->of[s->count] = object;
    s->word[s->count++] = word;
}

static void paint(struct scene *s, struct random *random)
{
    for (int p = 0; p < PATCHES; p++)
        for (int i = 0; i < VALUES; i++) {
            float value = 0.5F + 0.2F * (random_unit(random) - 0.5F);
            for (int o = 0; o < 2; o++)
                if (p == s->patch[o] && shapes[s->shape[o]][i / 3] == '#')
                    value += colors[s->color[o]][i % 3] - 0.5F;
            s->pixels[p][i] = value;
        }
}

static void caption_draw(struct scene *s, struct random *random, bool test)
{
    do {
        for (int o = 0; o < 2; o++) {
            s->patch[o] = random_below(random, PATCHES);
            s->color[o] = random_below(random, COLORS), s->shape[o] = random_below(random, SHAPES);
        }
    } while (s->patch[0] >= s->patch[1] || caption_held_out(s) != test);
    s->count = 0;
    for (int o = 0; o < 2; o++) {
        add_word(s, A, -1);
        add_word(s, COLOR + s->color[o], o);
        add_word(s, SHAPE + s->shape[o], o);
        if (o == 0) add_word(s, AND, -1);
    }
    paint(s, random);
}

static void caption_put(struct learner *l, const struct scene *s)
{
    for (int p = 0; p < PATCHES; p++) {
        float *to = learner_vector(l);
        for (int i = 0; i < VALUES; i++) to[i] = 2 * s->pixels[p][i] - 1;
    }
    learner_target(l, BEGIN);
    for (int i = 0; i < s->count; i++) learner_target(l, s->word[i]);
    learner_target(l, END);
    learner_end(l);
}

static void *caption_create(const struct lesson_options *options, bool trained)
{
    struct caption *t = xcalloc(1, sizeof *t);
    struct learner_setup setup = {
        .batch = BATCH, .source_rows = PATCHES, .target_ids = MAX + 2, .rate = 0.005F};
    setup.steps = t->steps = !trained ? 0 : options->quick ? 600 : 1200, setup.seed = options->seed;
    setup.config = learner_config(RAPT_KIND_ENCODER_DECODER, 32, 2, 1, PATCHES);
    setup.config.source_width = VALUES, setup.config.target_vocab = WORDS;
    setup.config.position = RAPT_POSITION_LEARNED;
    learner_create(&t->learner, &setup);
    return t;
}

static void caption_test(struct caption *t)
{
    struct learner *l = &t->learner;
    struct random random = random_from(l->setup.seed, 2);
    struct scene *scenes = xcalloc(BATCH, sizeof *scenes);
    float *weights = xcalloc(BATCH * (MAX + 2) * PATCHES, sizeof *weights);
    double named = 0, objects = 0;
    for (int done = 0; done < TESTS; done += BATCH) {
        int32_t out[BATCH * (MAX + 2)];
        int counts[BATCH];
        for (int b = 0; b < BATCH; b++)
            caption_draw(&scenes[b], &random, true), caption_put(l, &scenes[b]);
        learner_generate(l, BEGIN, END, NULL, out, counts, NULL);
        learner_decode(l);
        learner_weights(l, RAPT_WEIGHTS_CROSS, 0, -1, weights);
        const float *at = weights;
        for (int b = 0; b < BATCH; b++) {
            const struct scene *s = &scenes[b];
            bool right = counts[b] == s->count;
            for (int i = 0; i < s->count; i++) {
                right = right && out[b * (MAX + 2) + i] == s->word[i];
                if (s->of[i] < 0) continue;
                named += (double)at[i * PATCHES + s->patch[s->of[i]]], objects++;
            }
            t->exact += (double)right / TESTS;
            at += (s->count + 2) * PATCHES;
        }
        learner_clear(l);
    }
    t->named = named / objects;
    free(scenes), free(weights);
}

static void caption_train(void *task, int model)
{
    struct caption *t = task;
    struct learner *l = &t->learner;
    struct random random = random_from(l->setup.seed, 1), example = random_from(l->setup.seed, 4);
    (void)model;
    for (int step = 0; step < t->steps; step++) {
        for (int b = 0; b < BATCH; b++)
            caption_draw(&t->shown, &random, false), caption_put(l, &t->shown);
        learner_step(l);
    }
    caption_test(t);
    caption_draw(&t->shown, &example, true);
    caption_put(l, &t->shown);
    learner_generate(l, BEGIN, END, NULL, t->said, &t->count, t->weights);
}

/* Draws the picture, and the weights of its patches for each word. */
static void draw_weights(struct svg *svg, const void *user)
{
    enum { PIXEL = 5, PATCH = PIXEL * SIZE, ALL = PATCH * SIDE, STEP = ALL + 16 };
    const struct caption *t = user;
    char color[8];
    for (int p = 0; p < PATCHES; p++)
        for (int i = 0; i < SIZE * SIZE; i++) {
            const float *rgb = &t->shown.pixels[p][3 * i];
            int c[3];
            for (int k = 0; k < 3; k++)
                c[k] = rgb[k] < 0 ? 0 : rgb[k] > 1 ? 255 : (int)(255 * rgb[k]);
            snprintf(color, sizeof color, "#%02X%02X%02X", c[0] & 255, c[1] & 255, c[2] & 255);
            svg_rect(svg, 10 + p % SIDE * PATCH + i % SIZE * PIXEL,
                     10 + p / SIDE * PATCH + i / SIZE * PIXEL, PIXEL, PIXEL, color, "none");
        }
    for (int w = 0; w < t->count; w++) {
        const double x = 10 + (w + 1) % 4 * STEP, y = 10 + (w + 1) / 4 * (STEP + 14);
        for (int p = 0; p < PATCHES; p++) {
            shade_color(t->weights[w * PATCHES + p], color);
            svg_rect(svg, x + p % SIDE * PATCH, y + p / SIDE * PATCH, PATCH, PATCH, color,
                     "#DDDDDD");
        }
        svg_text(svg, x + ALL / 2, y + ALL + 16, 14, SVG_MIDDLE, "#222222", "%s",
                 words[t->said[w]]);
    }
}

static void caption_show(struct page *page, void *task, void *untrained)
{
    const struct caption *none = untrained;
    static const char *const names[PATCHES] = {"a1", "a2", "a3", "a4", "b1", "b2", "b3", "b4",
                                               "c1", "c2", "c3", "c4", "d1", "d2", "d3", "d4"};
    const struct caption *t = task;
    const char *rows[MAX + 3];
    page_step(page, "Picture \u2192 caption");
    page_paragraph(
        page, SHORT,
        "The encoder reads 16 patches of pixels, which are vectors instead of words, and the "
        "decoder attends to them. No picture in training had both of these: %s %s, %s %s.",
        words[COLOR + t->shown.color[0]], words[SHAPE + t->shown.shape[0]],
        words[COLOR + t->shown.color[1]], words[SHAPE + t->shown.shape[1]]);
    page_drawing(page, MORE, "The picture, and what each word attends to",
                 "Weights of the patches, word by word.", 480, 280, draw_weights, t);
    page_keep_colors(page);
    for (int i = 0; i < t->count; i++) rows[i] = words[t->said[i]];
    rows[t->count] = "(end)";
    page_map(page, SHORT, "Cross-attention: words over patches", t->count + 1, PATCHES, rows, names,
             t->weights);
    page_claim_learned(page, "caption: exact captions of pairs that were not in training", t->exact,
                       none->exact, AT_LEAST, 0.8);
    page_claim_learned(page,
                       "caption: weight on the object that a word names, divided by equal weights",
                       t->named * PATCHES, none->named * PATCHES, AT_LEAST, 4);
}

static void caption_free(void *task)
{
    learner_free(&((struct caption *)task)->learner);
    free(task);
}

const struct task task_caption = {"caption\tpatches of pixels\ttext\tencoder-decoder\tgenerative",
                                  1,
                                  caption_create,
                                  caption_train,
                                  caption_show,
                                  caption_free};
