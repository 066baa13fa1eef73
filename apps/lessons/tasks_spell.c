/* tasks_spell.c - spells a synthetic sound. Each letter lasts for a random number of frames, and
   the alignment never goes back. Three kinds of cross-attention are compared, on words as long as
   those of training and on longer ones:

   additive        by what a frame holds (Bahdanau et al. 2015), which repeated letters confuse
   local-m         the same, among the frames at the letter's place (Luong et al. 2015)
   location-aware  by what a frame holds and where the last letter was (Chorowski et al. 2015) */
#include "kit/layers.h"
#include "kit/random.h"
#include "learner.h"
#include "tasks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LETTERS = 8,
    BANDS = 12,   /* frequency bands of a frame */
    SHORTEST = 2, /* frames per letter */
    LONGEST = 4,
    STACK = 3, /* frames per row of the encoder, on average one letter */
    MAX = 13,  /* letters per word */
    FRAMES = MAX * LONGEST,
    ROWS = (FRAMES + STACK - 1) / STACK
};
struct sound {
    int count, letter[MAX];
    int frames, of[FRAMES]; /* of: the index of the letter that a frame belongs to */
    float band[FRAMES][BANDS];
};

/* rows of the encoder */
static int sound_rows(const struct sound *sound)
{
    return (sound->frames + STACK - 1) / STACK;
}

/* Two peaks over the bands, similar to the formants of vowels. */
static float loudness(int letter, int band)
{
    const float low = 1 + 1.3F * (float)(letter % 4), high = 7 + 2.5F * (float)(letter / 4);
    const float a = ((float)band - low) / 0.9F, b = ((float)band - high) / 0.9F;
    return expf(-a * a / 2) + expf(-b * b / 2);
}

/* No letter follows itself, since two short ones could not be told from a long one. */
static void sound_draw(struct sound *s, struct random *random, const int range[2])
{
    s->count = range[0] + random_below(random, range[1] - range[0] + 1);
    s->frames = 0;
    for (int i = 0; i < s->count; i++) {
        do s->letter[i] = random_below(random, LETTERS);
        while (i > 0 && s->letter[i] == s->letter[i - 1]);
        int left = SHORTEST + random_below(random, LONGEST - SHORTEST + 1);
        for (; left > 0; left--, s->frames++) {
            s->of[s->frames] = i;
            for (int b = 0; b < BANDS; b++)
                s->band[s->frames][b] = loudness(s->letter[i], b) + 0.2F * random_normal(random);
        }
    }
}

enum {
    BEGIN = LETTERS,
    END,
    IDS,
    BATCH = 32,
    TESTS = 192 /* a multiple of BATCH */
};
static const char letters[] = "abdefgio"; /* arbitrary names */
static const struct reader {
    const char *name;
    rapt_score score;
    rapt_locality locality;
} readers[] = {{"additive", RAPT_SCORE_ADDITIVE, RAPT_LOCALITY_GLOBAL},
               {"local-m", RAPT_SCORE_ADDITIVE, RAPT_LOCALITY_LOCAL_M},
               {"location-aware", RAPT_SCORE_LOCATION_AWARE, RAPT_LOCALITY_GLOBAL}};
enum { ADDITIVE, LOCAL, AWARE, READERS };
/* Letters of a word: as many as in training, and more. */
enum { KNOWN, LONGER, LENGTHS };
static const int lengths[LENGTHS][2] = {{4, 8}, {10, MAX}};

struct spell {
    struct learner learner[READERS];
    int steps;
    double exact[READERS][LENGTHS]; /* share of the words */
    double own[READERS][LENGTHS];   /* weight of a letter on its own frames */
    double even[LENGTHS];           /* the same if all weights were equal */
    struct sound shown;
    float weights[READERS][(MAX + 2) * ROWS]; /* [letters + 2][rows] of `shown` */
};

static void spell_put(struct learner *l, const struct sound *s)
{
    for (int first = 0; first < s->frames; first += STACK) {
        const int count = s->frames - first < STACK ? s->frames - first : STACK;
        memcpy(learner_vector(l), s->band[first], (size_t)count * sizeof *s->band);
    }
    learner_target(l, BEGIN);
    for (int i = 0; i < s->count; i++) learner_target(l, s->letter[i]);
    learner_target(l, END);
    learner_end(l);
}

static void *spell_create(const struct lesson_options *options, bool trained)
{
    struct spell *t = xcalloc(1, sizeof *t);
    t->steps = !trained ? 0 : options->quick ? 2000 : 2400;
    for (int m = 0; m < READERS; m++) {
        struct learner_setup setup = {.steps = t->steps,
                                      .batch = BATCH,
                                      .source_rows = ROWS,
                                      .target_ids = MAX + 2,
                                      .rate = 0.006F,
                                      .seed = options->seed};
        rapt_config *c = &setup.config;
        *c = learner_config(RAPT_KIND_ENCODER_DECODER, 32, 1, 1, ROWS);
        c->source_width = STACK * BANDS, c->target_vocab = IDS;
        c->position =
            RAPT_POSITION_NONE; /* relative positions, since words may be longer than in training */
        c->relative_bias = RAPT_RELATIVE_BIAS_T5, c->relative_buckets = c->relative_distance = 16;
        c->cross_score = readers[m].score, c->cross_locality = readers[m].locality;
        c->cross_radius = 2;
        learner_create(&t->learner[m], &setup);
    }
    return t;
}

/* Measures for each letter the weight on the rows that hold a frame of it, and their share of the
   rows. */
static void measure_weights(const struct sound *s, const float *weights, double *own, double *even)
{
    const int rows = sound_rows(s);
    for (int i = 0; i < s->count; i++)
        for (int row = 0; row < rows; row++) {
            bool mine = false;
            for (int f = row * STACK; f < (row + 1) * STACK && f < s->frames; f++)
                mine = mine || s->of[f] == i;
            *own += mine ? (double)weights[i * rows + row] / s->count : 0;
            *even += mine ? 1.0 / rows / s->count : 0;
        }
}

static void spell_test(struct spell *t, int m, int length)
{
    struct learner *l = &t->learner[m];
    struct random random = random_from(l->setup.seed, 2);
    struct sound *sounds = xcalloc(BATCH, sizeof *sounds);
    float *weights = xcalloc(BATCH * (MAX + 2) * ROWS, sizeof *weights);
    double even = 0;
    for (int done = 0; done < TESTS; done += BATCH) {
        int32_t out[BATCH * (MAX + 2)];
        int counts[BATCH];
        for (int b = 0; b < BATCH; b++)
            sound_draw(&sounds[b], &random, lengths[length]), spell_put(l, &sounds[b]);
        learner_generate(l, BEGIN, END, NULL, out, counts, NULL);
        learner_decode(l); /* the right letters are given, so that each one is at its place */
        learner_weights(l, RAPT_WEIGHTS_CROSS, 0, -1, weights);
        const float *at = weights;
        for (int b = 0; b < BATCH; b++) {
            const struct sound *s = &sounds[b];
            bool right = counts[b] == s->count;
            for (int i = 0; i < s->count && right; i++)
                right = out[b * (MAX + 2) + i] == s->letter[i];
            t->exact[m][length] += (double)right / TESTS;
            measure_weights(s, at, &t->own[m][length], &even);
            at += (s->count + 2) * sound_rows(s);
        }
        learner_clear(l);
    }
    t->own[m][length] /= TESTS;
    if (m == ADDITIVE) t->even[length] = even / TESTS;
    free(sounds), free(weights);
}

static void spell_train(void *task, int m)
{
    struct spell *t = task;
    struct learner *l = &t->learner[m];
    struct random random = random_from(l->setup.seed, 1), example = random_from(l->setup.seed, 3);
    struct sound sound;
    for (int step = 0; step < t->steps; step++) {
        for (int b = 0; b < BATCH; b++)
            sound_draw(&sound, &random, lengths[KNOWN]), spell_put(l, &sound);
        learner_step(l);
    }
    for (int length = 0; length < LENGTHS; length++) spell_test(t, m, length);
    sound_draw(&sound, &example, (const int[]){10, 10});
    spell_put(l, &sound);
    learner_decode(l);
    learner_weights(l, RAPT_WEIGHTS_CROSS, 0, -1, t->weights[m]);
    learner_clear(l);
    if (m == ADDITIVE) t->shown = sound;
}

static void draw_sound(struct svg *svg, const void *user)
{
    const struct sound *s = user;
    for (int f = 0; f < s->frames; f++)
        for (int b = 0; b < BANDS; b++) {
            char color[8];
            shade_color(fminf(1, fmaxf(0, s->band[f][b])), color);
            svg_rect(svg, 10 + 12 * f, 10 + 8 * (BANDS - 1 - b), 12, 8, color, "none");
        }
    for (int f = 0; f < s->frames; f++) {
        if (f > 0 && s->of[f] == s->of[f - 1]) continue;
        const double x = 10 + 12 * f;
        svg_line(svg, x, 10, x, 10 + 8 * BANDS + 18, "#D55E00", 1.5);
        svg_text(svg, x + 5, 10 + 8 * BANDS + 16, 14, SVG_LEFT, "#222222", "%c",
                 letters[s->letter[s->of[f]]]);
    }
}

static void show_maps(struct page *page, const struct spell *t)
{
    char names[MAX + 1][8], numbers[ROWS][16];
    const char *row_names[MAX + 1], *column_names[ROWS];
    const int rows = sound_rows(&t->shown);
    for (int i = 0; i <= t->shown.count; i++) {
        if (i < t->shown.count)
            snprintf(names[i], sizeof *names, "%c", letters[t->shown.letter[i]]);
        row_names[i] = i < t->shown.count ? names[i] : "(end)";
    }
    for (int i = 0; i < rows; i++) {
        snprintf(numbers[i], sizeof *numbers, "%d", i + 1);
        column_names[i] = numbers[i];
    }
    for (int m = 0; m < READERS; m++) {
        char title[64];
        snprintf(title, sizeof title, "%s (rows: letters, columns: groups of %d frames)",
                 readers[m].name, STACK);
        page_map(page, m == AWARE ? SHORT : MORE, title, t->shown.count + 1, rows, row_names,
                 column_names, t->weights[m]);
    }
}

static void spell_show(struct page *page, void *task, void *untrained)
{
    const struct spell *none = untrained;
    const struct spell *t = task;
    page_step(page, "Sound \u2192 letters");
    page_paragraph(
        page, SHORT,
        "The sounds are synthetic: for each letter the program makes a pattern of frequency bands "
        "and adds noise. No speech was recorded. The input consists of frames with %d bands, and a "
        "letter lasts for %d to %d frames. The words of training have %d to %d letters. The test "
        "also has words of %d to %d letters, which are new lengths. Three kinds of cross-attention "
        "are compared: \"additive\" is global and compares what the frames hold, \"local-m\" reads "
        "only a few frames around the letter's own place, which moves on by one group of frames "
        "with each letter, and \"location-aware\" also knows where the last letter was read.",
        BANDS, SHORTEST, LONGEST, lengths[KNOWN][0], lengths[KNOWN][1], lengths[LONGER][0],
        lengths[LONGER][1]);
    page_drawing(page, MORE, "A word of ten letters", "loudness of 12 bands, frame by frame",
                 20 + 12 * t->shown.frames, 10 + 8 * BANDS + 26, draw_sound, &t->shown);
    show_maps(page, t);
    page_table(page, SHORT, "Words read exactly, and the weight of a letter on its own frames",
               "cross-attention\texact\tlonger\tweight\tlonger");
    for (int m = 0; m < READERS; m++)
        page_row(page, "%s\t%.1f %%\t%.1f %%\t%.2f\t%.2f", readers[m].name,
                 100 * t->exact[m][KNOWN], 100 * t->exact[m][LONGER], t->own[m][KNOWN],
                 t->own[m][LONGER]);
    page_row(page, "equal weights\t\u2013\t\u2013\t%.2f\t%.2f", t->even[KNOWN], t->even[LONGER]);
    page_claim_learned(page, "spell: exact words, location-aware", t->exact[AWARE][KNOWN],
                       none->exact[AWARE][KNOWN], AT_LEAST, 0.7);
    page_claim_learned(
        page, "spell: longer words, location-aware minus additive, percentage points",
        100 * (t->exact[AWARE][LONGER] - t->exact[ADDITIVE][LONGER]),
        100 * (none->exact[AWARE][LONGER] - none->exact[ADDITIVE][LONGER]), AT_LEAST, 30);
    page_claim_learned(page, "spell: longer words, location-aware minus local-m, percentage points",
                       100 * (t->exact[AWARE][LONGER] - t->exact[LOCAL][LONGER]),
                       100 * (none->exact[AWARE][LONGER] - none->exact[LOCAL][LONGER]), AT_LEAST,
                       10);
    page_claim_learned(
        page, "spell: weight on a letter's own frames, location-aware, divided by equal weights",
        t->own[AWARE][LONGER] / t->even[LONGER], none->own[AWARE][LONGER] / none->even[LONGER],
        AT_LEAST, 4);
}

static void spell_free(void *task)
{
    struct spell *t = task;
    for (int m = 0; m < READERS; m++) learner_free(&t->learner[m]);
    free(t);
}

const struct task task_spell = {"spell\tsound\tletters\tencoder-decoder\tgenerative",
                                READERS,
                                spell_create,
                                spell_train,
                                spell_show,
                                spell_free};
