/* mix_code.c - pictures of a disk, mixed pixel by pixel and in a code of two numbers that
   an autoencoder learns. The first mixture shows two gray ghosts, the second one disk between the
   two. */
#include "kit/layers.h"
#include "kit/program.h"
#include "parts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 12, PIXELS = SIDE * SIDE, HIDDEN = 48, CODE = 2, BATCH = 32 };
static const float radius = 2.2F;

/* Draws a white disk with soft edges on black. */
static void draw_disk(float x, float y, float *pixels)
{
    for (int i = 0; i < PIXELS; i++) {
        float dx = (float)(i % SIDE) + 0.5F - x, dy = (float)(i / SIDE) + 0.5F - y;
        float inside = radius + 0.5F - sqrtf(dx * dx + dy * dy);
        pixels[i] = inside < 0 ? 0 : inside > 1 ? 1 : inside;
    }
}

static float draw_position(struct random *random)
{
    return radius + random_unit(random) * (SIDE - 2 * radius);
}

/* pixels -> tanh -> code -> tanh -> sigmoid */
struct coder {
    struct params params;
    struct linear in, code, out, pixels;
    float *hidden, *codes, *wide, *logits, *dlogits, *dwide, *dcodes, *dhidden; /* for a batch */
};

static void coder_create(struct coder *c, uint64_t seed)
{
    struct random random = random_from(seed, 43);
    params_create(&c->params, 2 * (PIXELS + 1) * HIDDEN + 4 * HIDDEN * CODE + 2 * PIXELS);
    linear_create(&c->in, &c->params, &random, PIXELS, HIDDEN, 1);
    linear_create(&c->code, &c->params, &random, HIDDEN, CODE, 1);
    linear_create(&c->out, &c->params, &random, CODE, HIDDEN, 1);
    linear_create(&c->pixels, &c->params, &random, HIDDEN, PIXELS, 1);
    float *memory = xcalloc(BATCH * (4 * HIDDEN + 2 * CODE + 2 * PIXELS), sizeof *memory);
    c->hidden = memory;
    c->dhidden = c->hidden + BATCH * HIDDEN;
    c->wide = c->dhidden + BATCH * HIDDEN;
    c->dwide = c->wide + BATCH * HIDDEN;
    c->codes = c->dwide + BATCH * HIDDEN;
    c->dcodes = c->codes + BATCH * CODE;
    c->logits = c->dcodes + BATCH * CODE;
    c->dlogits = c->logits + BATCH * PIXELS;
}

static void coder_free(struct coder *c)
{
    params_free(&c->params);
    free(c->hidden);
}

/* Sets codes [rows][CODE]. */
static void coder_encode(struct coder *c, int rows, const float *pixels, float *codes)
{
    memset(c->hidden, 0, (size_t)rows * HIDDEN * sizeof(float));
    memset(codes, 0, (size_t)rows * CODE * sizeof(float));
    linear_forward(&c->in, rows, pixels, c->hidden);
    tanh_forward((size_t)rows * HIDDEN, c->hidden, c->hidden);
    linear_forward(&c->code, rows, c->hidden, codes);
}

/* Sets pixels [rows][PIXELS]. */
static void coder_decode(struct coder *c, int rows, const float *codes, float *pixels)
{
    memset(c->wide, 0, (size_t)rows * HIDDEN * sizeof(float));
    memset(pixels, 0, (size_t)rows * PIXELS * sizeof(float));
    linear_forward(&c->out, rows, codes, c->wide);
    tanh_forward((size_t)rows * HIDDEN, c->wide, c->wide);
    linear_forward(&c->pixels, rows, c->wide, pixels);
    sigmoid_forward((size_t)rows * PIXELS, pixels, pixels);
}

/* Makes one step with a batch of disks; returns the squared error per pixel. */
static double coder_learn(struct coder *c, struct random *random, float rate)
{
    float pixels[BATCH * PIXELS];
    double error = 0;
    for (int b = 0; b < BATCH; b++) {
        float x = draw_position(random), y = draw_position(random);
        draw_disk(x, y, pixels + b * PIXELS);
    }
    coder_encode(c, BATCH, pixels, c->codes);
    coder_decode(c, BATCH, c->codes, c->logits);
    memset(c->dwide, 0, BATCH * HIDDEN * sizeof(float));
    memset(c->dcodes, 0, BATCH * CODE * sizeof(float));
    memset(c->dhidden, 0, BATCH * HIDDEN * sizeof(float));
    for (int i = 0; i < BATCH * PIXELS;
         i++) { /* the gradient of cross-entropy with respect to the logits */
        c->dlogits[i] = c->logits[i] - pixels[i];
        error += (double)c->dlogits[i] * (double)c->dlogits[i];
    }
    float *dwide = c->dwide, *dhidden = c->dhidden;
    linear_backward(&c->pixels, BATCH, c->wide, c->dlogits, dwide);
    float *before = xcalloc(BATCH * HIDDEN, sizeof *before);
    tanh_backward(BATCH * HIDDEN, c->wide, dwide, before);
    linear_backward(&c->out, BATCH, c->codes, before, c->dcodes);
    linear_backward(&c->code, BATCH, c->hidden, c->dcodes, dhidden);
    memset(before, 0, BATCH * HIDDEN * sizeof *before);
    tanh_backward(BATCH * HIDDEN, c->hidden, dhidden, before);
    linear_backward(&c->in, BATCH, pixels, before, NULL);
    free(before);
    params_step(&c->params, rate, 1.0F / BATCH, 5);
    return error / (BATCH * PIXELS);
}

/* Returns the root mean square distance from the nearest picture of a disk, divided by that of the
   disk from black. 0 means that it is such a picture, and 1 that it is as far from one as black. */
static double distance_from_pictures(const float *pixels)
{
    enum { TRIES = 29 };
    double nearest = INFINITY, disk = 0;
    float picture[PIXELS];
    for (int t = 0; t < TRIES * TRIES; t++) {
        float step = (SIDE - 2 * radius) / (TRIES - 1);
        double sum = 0, energy = 0;
        draw_disk(radius + step * (float)(t % TRIES), radius + step * (float)(t / TRIES), picture);
        for (int i = 0; i < PIXELS; i++) {
            double difference = (double)pixels[i] - (double)picture[i];
            sum += difference * difference;
            energy += (double)picture[i] * (double)picture[i];
        }
        if (sum < nearest) {
            nearest = sum;
            disk = energy;
        }
    }
    return sqrt(nearest / disk);
}

/* Two pictures and five mixtures of them, from the first to the second. */
enum { SHARES = 5, PAIRS = 60 };
struct mixtures {
    float raw[SHARES][PIXELS], decoded[SHARES][PIXELS];
    double raw_distance, distance; /* for those in the middle */
};

static void mix(struct coder *coder, const float positions[4], struct mixtures *m)
{
    float pair[2][PIXELS], codes[2][CODE], mixed[SHARES][CODE];
    draw_disk(positions[0], positions[1], pair[0]);
    draw_disk(positions[2], positions[3], pair[1]);
    coder_encode(coder, 2, pair[0], codes[0]);
    for (int s = 0; s < SHARES; s++) {
        float b = (float)s / (SHARES - 1), a = 1 - b;
        for (int i = 0; i < PIXELS; i++) m->raw[s][i] = a * pair[0][i] + b * pair[1][i];
        for (int i = 0; i < CODE; i++) mixed[s][i] = a * codes[0][i] + b * codes[1][i];
    }
    coder_decode(coder, SHARES, mixed[0], m->decoded[0]);
    m->raw_distance = distance_from_pictures(m->raw[SHARES / 2]);
    m->distance = distance_from_pictures(m->decoded[SHARES / 2]);
}

/* Mean distances of the mixtures of many pairs from pictures of a disk. */
struct distances {
    double raw, coded;
};

static struct distances mix_pairs(struct coder *coder, struct random random)
{
    struct distances mean = {0, 0};
    for (int pairs = 0; pairs < PAIRS;) {
        struct mixtures mixed;
        float positions[4];
        for (int i = 0; i < 4; i++) positions[i] = draw_position(&random);
        if (hypotf(positions[0] - positions[2], positions[1] - positions[3]) < 2 * radius) continue;
        mix(coder, positions, &mixed);
        mean.raw += mixed.raw_distance / PAIRS;
        mean.coded += mixed.distance / PAIRS;
        pairs++;
    }
    return mean;
}

static void put_picture(struct svg *svg, double x, double y, const float *pixels)
{
    const double cell = 6;
    for (int i = 0; i < PIXELS; i++) {
        char color[8];
        int gray = (int)(255 * pixels[i] + 0.5F) & 255;
        snprintf(color, sizeof color, "#%02X%02X%02X", gray, gray, gray);
        svg_rect(svg, x + i % SIDE * cell, y + i / SIDE * cell, cell, cell, color, color);
    }
}

static void draw_mixtures(struct svg *svg, const void *user)
{
    const struct mixtures *m = user;
    for (int s = 0; s < SHARES; s++) {
        double x = 8 + s * 92;
        svg_text(svg, x + 39, 18, 13, SVG_MIDDLE, "#222222", "%.2f, %.2f",
                 1 - (double)s / (SHARES - 1), (double)s / (SHARES - 1));
        put_picture(svg, x, 48, m->raw[s]);
        put_picture(svg, x, 160, m->decoded[s]);
    }
    svg_text(svg, 8, 41, 13, SVG_LEFT, "#222222", "mixtures of the pixels");
    svg_text(svg, 8, 153, 13, SVG_LEFT, "#222222", "mixtures of the codes, decoded");
}

void mix_codes(struct page *page, const struct lesson_options *options)
{
    static const float far_apart[4] = {2.6F, 3.2F, 9.4F, 8.8F};
    const int steps = options->quick ? 800 : 2000;
    struct coder coder, untrained;
    struct mixtures shown, before;
    struct random random = random_from(options->seed, 44);
    double error = 0;
    page_step(page, "Mix codes, not pictures");
    page_paragraph(page, SHORT,
                   "A mixture of raw items may be meaningless: half of one picture plus half of "
                   "another shows two gray ghosts. An autoencoder learns to describe a picture of "
                   "a disk by two numbers, and to draw the picture from them. A mixture of two "
                   "such codes is drawn as one disk, somewhere between the two.");
    coder_create(&coder, options->seed);
    for (int step = 0; step < steps; step++)
        error = coder_learn(&coder, &random, 0.01F * schedule_factor(step, steps, 20, 0));
    coder_create(&untrained, options->seed);
    mix(&coder, far_apart, &shown);
    mix(&untrained, far_apart, &before);
    const struct distances all = mix_pairs(&coder, random), none = mix_pairs(&untrained, random);
    page_formula(page, MORE, "x̂ = D(∑_i a_i E(x_i)) text{ instead of } ∑_i a_i x_i");
    page_drawing(page, MORE, "Two pictures, mixed by weights from 1, 0 to 0, 1",
                 "In the upper row one disk becomes gray while the other appears. In the lower row "
                 "one disk moves.",
                 470, 250, draw_mixtures, &shown);
    page_keep_colors(page);
    page_table(page, SHORT, "Half and half: distance to the nearest picture of a disk",
               "mixture of\tthe pair shown\tmean of 60 pairs");
    page_row(page, "pixels\t%.0f %%\t%.0f %%", 100 * shown.raw_distance, 100 * all.raw);
    page_row(page, "codes, decoded\t%.0f %%\t%.0f %%", 100 * shown.distance, 100 * all.coded);
    page_paragraph(page, MORE,
                   "Distances are in per cent of the distance between a disk and a black picture. "
                   "When nothing is mixed, the decoder draws with a mean squared error of %.4f per "
                   "pixel.",
                   error);
    page_claim_learned(page,
                       "mixed pixels are further from a picture than mixed codes, by a factor of",
                       all.raw / all.coded, none.raw / none.coded, AT_LEAST, 3);
    page_claim_learned(page, "distance of the mixed codes of the pair shown from a picture",
                       shown.distance, before.distance, AT_MOST, 0.25);
    coder_free(&untrained);
    coder_free(&coder);
}
