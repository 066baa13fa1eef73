/* pictures.c - hard attention over a picture as a sequence of decisions (Mnih et al. 2014):
   what the glimpse sensor reads, and the same network under two rewards. */
#include "glimpse/glimpse.h"
#include "parts.h"
#include <math.h>
#include <stdlib.h>

/* The networks that are trained: one per reward, and one that reads at random places. A fourth
   network has no glimpses. */
enum { READS, FINDS, READS_RANDOMLY, VIEWERS };
/* The networks, and the same before training. */
struct glimpses {
    struct setup setups[VIEWERS];
    struct viewer viewers[VIEWERS];
    struct whole whole;
};
struct trained {
    struct viewer *viewer; /* or NULL */
    struct whole *whole;
};
enum { SIDE = 140, GAP = 12, SHOWN = 3 };

static void *train_viewer(void *argument)
{
    const struct trained *trained = argument;
    if (trained->viewer == NULL) return whole_train(trained->whole);
    viewer_train(trained->viewer);
    viewer_test(trained->viewer);
    return NULL;
}

/* Draws the sensor at the last glimpse of a picture. */
static void draw_sensor(struct svg *svg, const void *user)
{
    const struct viewer *l = user;
    const int last = l->setup->batch * (l->setup->glimpses - 1);
    sensor_draw(svg, l->setup, &l->pictures[0], l->network.fixation + 2 * last, GAP, GAP, SIDE,
                GAP);
}

static void draw_paths(struct svg *svg, const void *user)
{
    const struct viewer *l = user;
    for (int i = 0; i < SHOWN; i++) path_draw(svg, l, i, GAP + i * (SIDE + GAP), GAP, SIDE);
}

static void show_sensor(struct page *page, const struct glimpses *g, const struct glimpses *none)
{
    const struct viewer *l = &g->viewers[READS];
    const struct whole *whole = &g->whole;
    const struct setup *s = l->setup;
    const struct pixels pixels = pixels_of(s);
    const int read = pixels.sharp + pixels.blurred + pixels.preview;
    page_drawing(
        page, SHORT, "One glimpse, and the preview",
        "The window has the full resolution. Its surroundings and the preview are blurred.",
        3 * SIDE + 4 * GAP, SIDE + 40, draw_sensor, l);
    page_keep_colors(page);
    page_table(page, SHORT, "Numbers read from one picture", "what\tnumbers\t% of all pixels");
    page_row(page, "%d glimpses of %d x %d pixels\t%d\t%.0f", s->glimpses, s->window, s->window,
             pixels.sharp, 100.0 * pixels.sharp / pixels.there);
    page_row(page, "%d x %d averages around each\t%d\t%.0f", s->cells, s->cells, pixels.blurred,
             100.0 * pixels.blurred / pixels.there);
    page_row(page, "preview: %d averages at each of %d x %d points\t%d\t%.0f", PREVIEW_CELLS,
             s->grid, s->grid, pixels.preview, 100.0 * pixels.preview / pixels.there);
    page_row(page, "everything that is read\t%d\t%.0f", read, 100.0 * read / pixels.there);
    page_row(page, "without attention: every pixel\t%d\t100", pixels.there);
    page_paragraph(page, MORE,
                   "An average counts as one number, as if it came from a coarse receptor of the "
                   "eye. The program adds up %d pixels to compute it.",
                   s->blur * s->blur);
    page_table(page, SHORT, "The same training, digits in new pictures",
               "network\tnumbers read\tparameters\tright");
    page_row(page, "glimpses\t%d\t%zu\t%.1f %%", read, l->network.params.count, 100 * l->accuracy);
    page_row(page, "the whole picture\t%d\t%zu\t%.1f %%", pixels.there, whole->parameters,
             100 * whole->accuracy);
    page_paragraph(
        page, MORE,
        "The second network has a weight for every pair of a pixel and a hidden unit. It therefore "
        "has to learn each digit at each position separately, and for pictures twice as wide and "
        "high it would need four times as many weights. A convolutional network would share its "
        "weights between positions.");
    page_claim_learned(page, "glimpse: digits right, percentage points above the whole picture",
                       100 * (l->accuracy - whole->accuracy),
                       100 * (none->viewers[READS].accuracy - none->whole.accuracy), AT_LEAST, 10);
}

/* Returns by how many percentage points the first viewer has more digits right than the second. */
static double more_right(const struct glimpses *g, int first, int second)
{
    return 100 * (g->viewers[first].accuracy - g->viewers[second].accuracy);
}

static double finds_more(const struct glimpses *g)
{
    return 100 * (g->viewers[FINDS].last_rate - g->viewers[READS].last_rate);
}

static void show_rewards(struct page *page, const struct glimpses *g, const struct glimpses *none)
{
    static const char *const names[VIEWERS] = {"read: the right digit", "find: end at the digit",
                                               "read, random glimpses"};
    const struct viewer *viewers = g->viewers;
    const struct viewer *reads = &viewers[READS], *finds = &viewers[FINDS];
    page_drawing(page, SHORT, "Rewarded for reading", "Glimpses 1 to 3 of three pictures.",
                 SHOWN * SIDE + (SHOWN + 1) * GAP, SIDE + 2 * GAP, draw_paths, reads);
    page_keep_colors(page);
    page_drawing(page, SHORT, "Rewarded for finding", "Glimpses 1 to 3 of the same pictures.",
                 SHOWN * SIDE + (SHOWN + 1) * GAP, SIDE + 2 * GAP, draw_paths, finds);
    page_keep_colors(page);
    page_table(page, SHORT, "One network, two rewards",
               "reward\tdigits right\tlast glimpse at the digit");
    for (int i = 0; i < VIEWERS; i++)
        page_row(page, "%s\t%.1f %%\t%.1f %%", names[i], 100 * viewers[i].accuracy,
                 100 * viewers[i].last_rate);
    page_claim_learned(page, "glimpse: digits right, percentage points above random glimpses",
                       more_right(g, READS, READS_RANDOMLY),
                       more_right(none, READS, READS_RANDOMLY), AT_LEAST, 15);
    page_claim_learned(page, "glimpse: rewarded for finding, share of last glimpses at the digit",
                       finds->last_rate, none->viewers[FINDS].last_rate, AT_LEAST, 0.6);
    page_claim_learned(
        page, "glimpse: last glimpses at the digit, percentage points above the reading network",
        finds_more(g), finds_more(none), AT_LEAST, 20);
    page_claim_learned(
        page, "glimpse: digits right, rewarded for reading minus rewarded for finding, points",
        more_right(g, READS, FINDS), more_right(none, READS, FINDS), AT_LEAST, 40);
}

/* Trains all networks in parallel threads. */
static struct glimpses *glimpses_make(const struct lesson_options *options, int steps)
{
    struct glimpses *g = xcalloc(1, sizeof *g);
    struct trained trained[VIEWERS + 1] = {{.whole = &g->whole}};
    for (int i = 0; i < VIEWERS; i++) {
        g->setups[i] = setup_quick;
        g->setups[i].steps = steps;
        g->setups[i].aim = i == FINDS ? FIND : READ;
        g->setups[i].seed = options->seed, g->setups[i].quiet = true;
        viewer_create(&g->viewers[i], i == READS_RANDOMLY ? RANDOM : LEARNED, &g->setups[i]);
        trained[i + 1].viewer = &g->viewers[i];
    }
    g->whole.setup = &g->setups[READS];
    run_threads(train_viewer, trained, VIEWERS + 1, sizeof *trained, options->threads);
    return g;
}

static void glimpses_free(struct glimpses *g)
{
    for (int i = 0; i < VIEWERS; i++) viewer_free(&g->viewers[i]);
    free(g);
}

/* Compares the gradients of many draws with the exact one, where it is known. */
static void show_baseline(struct page *page, uint64_t seed)
{
    enum { DRAWS = 20000 };
    static const double first_of_key[2] = {1, -0.7}; /* of the keys in bandit_run */
    struct bandit bandit;
    if (bandit_run(&bandit, DRAWS, seed) != EXIT_OK) exit(EXIT_FAILED);
    const double by_formula = bandit.probability[0] * bandit.probability[1] *
                              (bandit.reward[0] - bandit.reward[1]) *
                              (first_of_key[0] - first_of_key[1]) / sqrt(2);
    page_paragraph(
        page, SHORT,
        "Does such an estimate find the gradient? Here is a choice without any picture: softmax "
        "draws one of two places, with the probabilities %.3f and %.3f. Their rewards are %.1f and "
        "%.1f, so the gradient of the expected reward with respect to the query can be computed. "
        "The formula below is that of its first element. The first elements of the two keys are "
        "%.1f and %.1f, and √2 comes from the scale, since the vectors have 2 elements.",
        bandit.probability[0], bandit.probability[1], bandit.reward[0], bandit.reward[1],
        first_of_key[0], first_of_key[1]);
    page_formula(page, SHORT,
                 "frac{∂E[r]}{∂q_1} = p_1 p_2 (r_1 − r_2) frac{k_{11} − k_{21}}{sqrt{2}}");
    page_table(page, SHORT, "A choice between two places, whose gradient is known",
               "estimate\tgradient\tstandard error");
    page_row(page, "exact\t%.4f\t", bandit.exact[0]);
    page_row(page, "mean of 20,000 draws\t%.4f\t%.5f", bandit.mean[0][0], bandit.error[0][0]);
    page_row(page, "mean of the same draws, with the baseline\t%.4f\t%.5f", bandit.mean[1][0],
             bandit.error[1][0]);
    page_claim(page, "REINFORCE: standard error with the baseline, divided by that without",
               bandit.error[1][0] / bandit.error[0][0], BELOW, 1);
    page_claim(page, "exact gradient: distance from the formula with the numbers of the page",
               fabs(bandit.exact[0] - by_formula), AT_MOST, 1e-6);
    page_claim(page, "REINFORCE: distance of the mean from the exact gradient, in standard errors",
               bandit.worst, AT_MOST, 4.5);
}

static int glimpse(struct page *page, const struct lesson_options *options,
                   const struct patches_read *read)
{
    page_step(page, "People do not attend softly");
    page_paragraph(
        page, SHORT,
        "Soft attention is a computation and not a model of the eye. It processes every patch in "
        "full and weighs them afterwards: the soft network above read all %d patches before it "
        "wrote the first word, and gave more than 1 %% of a word's weight to %.1f of them. With "
        "hard attention it was %.1f, but the encoder had read them all there, too. A person does "
        "not see the whole scene sharply and then choose. The eye is sharp only in a small center "
        "and sees the rest blurred. So we look at one place after another, and what we have seen "
        "so far decides where we look next. The next network works like that.",
        PICTURE_PATCHES, read->soft, read->hard);
    page_step(page, "A sensor with a small window");
    page_paragraph(
        page, SHORT,
        "A picture shows a digit among clutter, and a sensor reads one small window of it in full "
        "resolution. Hard attention over a grid of points chooses where to look next: the key of "
        "each point comes from a blurred preview, and the query from all glimpses so far. Three "
        "such networks are trained, and one that reads all pixels, which takes some seconds.");
    page_step(page, "Glimpses are decisions, which a reward can teach");
    page_formula(page, SHORT, "\u2207 E[r] = E[(r - b) \u2207 log p(location)]");
    page_paragraph(
        page, MORE,
        "The choice itself has no gradient, but the expected reward has one (REINFORCE). The "
        "baseline b, which is the reward that the network expects, reduces the variance.");
    struct glimpses *g = glimpses_make(options, options->quick ? 400 : 500);
    struct glimpses *none = glimpses_make(options, 0);
    show_baseline(page, options->seed);
    for (int i = 0; i < VIEWERS; i++) viewer_run(&g->viewers[i], 0);
    show_sensor(page, g, none);
    show_glimpse_network(page);
    page_step(page, "Another reward, another task");
    page_paragraph(
        page, SHORT,
        "The same network can learn two tasks. In the first, to read, it is told the right digit, "
        "and its choice of places is rewarded with the probability that it gives to this digit. In "
        "the second, to find, it learns from the reward only: 1 if the last glimpse is at the "
        "digit, whichever digit that is, and 0 otherwise.");
    show_rewards(page, g, none);
    glimpses_free(g);
    glimpses_free(none);
    return EXIT_OK;
}

int lesson_pictures(struct page *page, const struct lesson_options *options)
{
    struct patches_read read;
    const int code = pictures_caption(page, options, &read);
    return code == EXIT_OK ? glimpse(page, options, &read) : code;
}

/* ---- the network of glimpses as a drawing, and what a convolutional network would read instead:
 * the work of both by the size of the picture ---- */

static const char gray[] = "#777777", ink[] = "#222222";

/* Draws a box with a name that may have an index. */
static void put_box(struct svg *svg, double x, double y, double width, const char *color,
                    const char *name, const char *index, const char *what)
{
    svg_rect(svg, x, y, width, 44, "white", color);
    svg_text(svg, x + width / 2 - 3, y + 19, 14, SVG_MIDDLE, color, "%s", name);
    svg_text(svg, x + width / 2 + 2, y + 23, 10, SVG_LEFT, color, "%s", index);
    svg_text(svg, x + width / 2, y + 36, 11, SVG_MIDDLE, ink, "%s", what);
}

static void draw_network(struct svg *svg, const void *user)
{
    const double back[] = {352, 96, 362, 96, 362, 250, 58, 250};
    (void)user;
    svg_text(svg, 10, 22, 12, SVG_LEFT, gray, "one step t");
    put_box(svg, 10, 174, 96, chart_colors[0], "sensor", "", "window at l(t)");
    svg_arrow(svg, 106, 196, 132, 196, gray, 1.5);
    put_box(svg, 132, 174, 96, chart_colors[0], "f", "g", "what and where");
    svg_arrow(svg, 228, 196, 254, 196, gray, 1.5);
    put_box(svg, 254, 174, 98, chart_colors[2], "f", "h", "all glimpses");
    svg_arrow(svg, 292, 174, 292, 104, gray, 1.5);
    put_box(svg, 232, 60, 120, chart_colors[1], "f", "l", "next place l(t+1)");
    svg_arrow(svg, 262, 174, 190, 104, gray, 1.5);
    put_box(svg, 96, 60, 112, chart_colors[3], "f", "a", "answer: the digit");
    put_box(svg, 380, 60, 84, gray, "preview", "", "of the picture");
    svg_arrow(svg, 380, 76, 352, 76, gray, 1.5);
    svg_text(svg, 292, 22, 12, SVG_MIDDLE, chart_colors[2], "reward: where to look");
    svg_arrow(svg, 292, 28, 292, 60, chart_colors[2], 1.5);
    svg_polyline(svg, 4, back, chart_colors[1], 1.5, 0);
    svg_arrow(svg, 58, 250, 58, 218, chart_colors[1], 1.5);
    svg_arrow(svg, 180, 250, 180, 218, chart_colors[1], 1.5);
    svg_text(svg, 218, 268, 12, SVG_MIDDLE, chart_colors[1], "l(t+1), the place of the next step");
}

/* Returns the multiplications of filters of 3 x 3 at every pixel that has all neighbors. */
static double convolve(int side, int filters)
{
    return 9.0 * filters * (side - 2) * (side - 2);
}

/* Returns the multiplications of the sensor's first layer for all glimpses. */
static double look(const struct setup *setup)
{
    return (double)setup->glimpses * retina_width(setup) * 2 * setup->width;
}

static void show_cost(struct page *page)
{
    enum { FILTERS = 16, SIDES = 3 };
    double pixels[SIDES], counts[2][SIDES];
    page_table(page, SHORT, "Multiplications of the first layer, in thousands",
               "picture\tpixels\tconvolution\tglimpses");
    for (int i = 0; i < SIDES; i++) {
        struct setup setup = setup_quick;
        setup.side = MAX_SIDE >> (SIDES - 1 - i);
        pixels[i] = setup.side * setup.side;
        counts[0][i] = convolve(setup.side, FILTERS) / 1000;
        counts[1][i] = look(&setup) / 1000;
        page_row(page, "%d x %d\t%.0f\t%.0f\t%.0f", setup.side, setup.side, pixels[i], counts[0][i],
                 counts[1][i]);
    }
    const int glimpses = setup_quick.glimpses, numbers = retina_width(&setup_quick);
    const int hidden = 2 * setup_quick.width;
    page_chart(page, MORE, "Work by the size of the picture", "pixels", "thousand multiplications");
    page_curve(page, "convolution, 16 filters of 3 x 3", SIDES, pixels, counts[0]);
    page_curve(page, "3 glimpses", SIDES, pixels, counts[1]);
    page_paragraph(
        page, SHORT,
        "A convolutional network applies its filters at every pixel that is not at the border, so "
        "its work grows almost in proportion to the pixels. From the smallest picture to the "
        "largest, the pixels increase by a factor of %.0f and the work by a factor of %.1f, since "
        "the border matters less. Each filter multiplies 9 numbers at each such pixel, and there "
        "are %d filters. Each of the %d glimpses has %d numbers (%d from the window and the rest "
        "from its surroundings), which the first layer turns into %d. That makes %d · %d · %d "
        "multiplications, however large the picture is. At %.0f pixels this is more work than the "
        "convolution, since the glimpses together read %d numbers, more than the picture has. "
        "Glimpses pay off for large pictures. The preview, which is not counted here, grows with "
        "the grid of places. We compare only work here, not quality.",
        pixels[SIDES - 1] / pixels[0], counts[0][SIDES - 1] / counts[0][0], FILTERS, glimpses,
        numbers, setup_quick.window * setup_quick.window, hidden, glimpses, numbers, hidden,
        pixels[0], glimpses * numbers);
}

void show_glimpse_network(struct page *page)
{
    page_paragraph(
        page, SHORT,
        "The network consists of four functions, called f_g, f_h, f_l and f_a as by Mnih et al., "
        "whose f_h was a recurrent network. The sensor reads a window at the place l(t), and f_g "
        "encodes what it saw and where. Then f_h attends to all glimpses so far. From its result "
        "and the preview, f_l chooses the next place; after the last glimpse, f_a gives the "
        "answer. Only f_l needs the reward, since the choice of a place has no gradient; it is "
        "trained by REINFORCE.");
    page_drawing(page, SHORT, "The network of glimpses",
                 "The sensor and the place l(t) lead to f_g and then to f_h. From there f_l, which "
                 "also reads the preview and learns from the reward, leads back to the sensor with "
                 "the next place, and f_a leads to the answer.",
                 474, 280, draw_network, NULL);
    show_cost(page);
}
