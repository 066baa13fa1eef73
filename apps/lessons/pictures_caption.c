/* pictures_caption.c - captions of the same picture by soft and by hard attention (Xu et
   al. 2015, "Show, attend and tell", figures 2 and 3): where each one looks for each word, and how
   well it describes. */
#include "caption/caption.h"
#include "parts.h"
#include <stdlib.h>

enum { COLUMNS = 4, WIDE = 440, PICTURE = 5, OBJECTS = 3 };
_Static_assert((int)PICTURE_PATCHES == (int)PATCHES, "parts.h repeats the number of patches");
static const char *const titles[KINDS] = {"Soft: a mixture of all patches",
                                          "Hard: one patch per head"};

struct drawn {
    const struct caption_example *example;
    int kind;
};

static double height_of(const struct caption_view *view)
{
    int rows = (caption_length(view->out) + COLUMNS - 1) / COLUMNS;
    return rows * (CAPTION_SIZE + CAPTION_HEAD + 6) + 6.0;
}

static void draw_picture(struct svg *svg, const void *user)
{
    const struct caption_example *example = user;
    caption_draw_scene(svg, &example->scene, 10, 10, PICTURE, NULL);
}

static void draw_view(struct svg *svg, const void *user)
{
    const struct drawn *d = user;
    caption_draw_view(svg, &d->example->scene, &d->example->views[d->kind], 10, 0, COLUMNS);
}

/* Sums the weights of each word over the patches of each object and over the others:
   [words][OBJECTS]. */
static void sum_by_object(const struct scene *scene, const struct caption_view *view, float *sums)
{
    for (int t = 0; t < caption_length(view->out); t++)
        for (int p = 0; p < PATCHES; p++) {
            int object = scene_covers(scene, 0, p) ? 0 : scene_covers(scene, 1, p) ? 1 : 2;
            sums[t * OBJECTS + object] += view->weights[t * PATCHES + p];
        }
}

static void show_view(struct page *page, const struct caption_example *example, int kind)
{
    static const char *const names[OBJECTS] = {"first object", "second object", "elsewhere"};
    const struct caption_view *view = &example->views[kind];
    const char *words[MAX_WORDS];
    float sums[MAX_WORDS * OBJECTS] = {0};
    int count = caption_length(view->out);
    for (int t = 0; t < count; t++) words[t] = caption_words[view->out[t]];
    sum_by_object(&example->scene, view, sums);
    char *title = xasprintf("%s, weights by object", titles[kind]);
    page_map(page, SHORT, title, count, OBJECTS, words, names, sums);
    free(title);
    const struct drawn drawn = {example, kind};
    page_drawing(page, MORE, titles[kind],
                 "the picture, once for each word of the caption, bright where the word attends "
                 "to, with the largest weight of a patch in %",
                 WIDE, height_of(view), draw_view, &drawn);
    page_keep_colors(page);
}

/* Returns the first example that every network describes clearly, or the first of all if they
   describe none clearly. */
static const struct caption_example *choose_example(const struct caption_study *study, bool *clear)
{
    for (int i = 0; i < CANDIDATES; i++)
        if (caption_is_clear(study, &study->examples[i])) {
            *clear = true;
            return &study->examples[i];
        }
    *clear = false;
    return study->examples;
}

static void show_results(struct page *page, const struct caption_study *study)
{
    page_table(page, SHORT,
               "Captions of 512 pictures with pairs that were never together in training",
               "attention\texact\tweight at color\tat shape\tuniform\tpatches");
    for (int kind = 0; kind < KINDS; kind++) {
        const struct caption_result *r = &study->results[kind];
        page_row(page, "%s\t%.1f %%\t%.2f\t%.2f\t%.2f\t%.1f", kind == SOFT ? "soft" : "hard",
                 100 * r->exact, r->colors, r->shapes, r->chance, r->read);
    }
    page_paragraph(page, SHORT,
                   "The columns \"weight at color\" and \"at shape\" say how much of a word's "
                   "weight lies on the object that the word describes. \"Uniform\" is the same "
                   "share if all patches had the same weight. \"Patches\" says how many of the 25 "
                   "patches have more than 1 %% of such a word's weight. Softmax gives every patch "
                   "some weight, but the other patches add next to nothing. Since the patches have "
                   "attended to each other in the encoder, a gray patch may hold what is next to "
                   "it.");
}

/* Appends the lecture's table with the measurements. */
static void show_kinds(struct page *page, const struct caption_study *study)
{
    page_table(page, SHORT, "Soft and hard attention", "\tsoft\thard");
    page_row(page, "subregions\tall, %.1f per word above 1 %%\tone per head, %.1f different ones",
             study->results[SOFT].read, study->results[HARD].read);
    page_row(page, "choice\tdeterministic\tstochastic in training");
    page_row(page, "gradient\tdifferentiable\tnone: learns from rewards");
}

/* Returns the weight on the object that a word describes, divided by uniform. It is measured at
   right words; a model that writes none describes nothing, and has 0. */
static double aimed(const struct caption_result *result)
{
    return result->chance > 0 ? (result->colors + result->shapes) / (2 * result->chance) : 0;
}

static void judge_captions(struct page *page, const struct caption_study *study,
                           const struct caption_setup *setup)
{
    static const struct {
        const char *exact, *aimed;
        double bound;
    } claims[KINDS] = {
        {"soft attention: share of exact captions",
         "soft: weight on the object that a word describes, divided by uniform", 0.7},
        {"hard attention: share of exact captions",
         "hard: weight on the object that a word describes, divided by uniform", 0.6}};
    static struct caption_study untrained;
    struct caption_setup none = *setup;
    none.steps = 0;
    caption_study_make(&untrained, &none);
    for (int kind = 0; kind < KINDS; kind++) {
        const struct caption_result *learned = &study->results[kind];
        const struct caption_result *before = &untrained.results[kind];
        page_claim_learned(page, claims[kind].exact, learned->exact, before->exact, AT_LEAST,
                           claims[kind].bound);
        page_claim_learned(page, claims[kind].aimed, aimed(learned), aimed(before), AT_LEAST, 2);
    }
}

int pictures_caption(struct page *page, const struct lesson_options *options,
                     struct patches_read *read)
{
    const struct caption_setup setup = {.normalizer = RAPT_NORMALIZER_SAMPLE,
                                        .steps = options->quick ? 750 : 1500,
                                        .batch = 32,
                                        .tests = 512,
                                        .seed = options->seed,
                                        .quiet = true};
    static struct caption_study study;
    page_step(page, "Soft and hard attention to the same picture");
    page_paragraph(page, SHORT,
                   "Two networks see the 25 patches of a picture and describe it. For each word "
                   "the soft one mixes all patches, and the hard one draws one patch in each of "
                   "its two heads. Attention to places in a picture is called spatial. Attention "
                   "to words or sounds, which follow each other in time, is called temporal.");
    page_formula(page, SHORT, "text{soft: } c = ∑_s a_s v_s");
    page_formula(page, SHORT, "text{hard: } P(c = v_s) = a_s");
    page_paragraph(page, MORE,
                   "Drawing has no gradient, so the hard network is trained with rewards "
                   "(REINFORCE). The reward is how likely the right word becomes, compared with "
                   "what the mixture would have given. During training the network sees the "
                   "mixture in three of four pictures. After training it takes the patch with the "
                   "largest weight.");
    caption_study_make(&study, &setup);
    bool clear;
    const struct caption_example *example = choose_example(&study, &clear);
    char caption[128];
    caption_spell(caption, sizeof caption, example->scene.words);
    page_drawing(page, MORE, caption, "the picture to be described", SIZE * PICTURE + 20,
                 SIZE * PICTURE + 20, draw_picture, example);
    page_keep_colors(page);
    page_paragraph(
        page, SHORT, "The picture shows %s. %s This is where each word looks:", caption,
        clear ? "It is the first unseen picture that both networks describe exactly and in which "
                "each color and shape word has its largest weight on its object."
              : "The encoder of these networks may have carried an object to any patch, so that a "
                "word need not look at the object itself.");
    page_paragraph(page, MORE,
                   "The number beside a word is the largest weight of a patch, in per cent.");
    for (int kind = 0; kind < KINDS; kind++) show_view(page, example, kind);
    show_results(page, &study);
    show_kinds(page, &study);
    judge_captions(page, &study, &setup);
    *read = (struct patches_read){study.results[SOFT].read, study.results[HARD].read};
    return EXIT_OK;
}
