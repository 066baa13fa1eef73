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
