/* main.c - caption: options and output of the program. */
#include "caption.h"
#include <string.h>

const char program_name[] = "caption";

static const char purpose[] =
    "A small attention-only encoder-decoder learns to caption pictures of two colored shapes "
    "and their relative position, such as \"a red square left of a blue circle\". Its input "
    "is 25 patches of pixels with learned position embeddings; cross-attention weights the "
    "patches anew for every word: softly in one model, and in a second one by looking at one "
    "patch per head, drawn while it learns. Shows captions of pairs of objects that never occur "
    "together in training (10 of 78 pairs) and the attention weights of each word. Xu et al. "
    "2015, \"Show, attend and tell\", do this with photographs and a recurrent decoder.";

static int caption_run(const struct caption_setup *setup, bool json, const char *path)
{
    struct caption_study study;
    caption_study_make(&study, setup);
    if (json)
        caption_print_json(&study);
    else
        caption_print(&study);
    int code = path != NULL ? caption_draw(&study, path) : EXIT_OK;
    return code == EXIT_OK ? finish_output() : code;
}

/* Finds the normalizer of that name. */
static rapt_normalizer normalizer_of(const char *name)
{
    int i = 0;
    while (strcmp(rapt_normalizer_name((rapt_normalizer)i), name) != 0) i++;
    return (rapt_normalizer)i;
}

int main(int argc, char **argv)
{
    enum { OWN = 2 };
    struct caption_setup setup = {.steps = 1500, .batch = 32, .tests = 512};
    struct demo_options options = {.seed = 1};
    const char *normalizer = "sample";
    struct option_row rows[OWN + DEMO_ROWS] = {
        {"steps", OPTION_INTEGER, &setup.steps, "N", "training steps, 32 scenes each", 1, 1000000,
         0},
        {"normalizer", OPTION_CHOICE, &normalizer, "softmax|sample|gumbel-softmax|argmax",
         "normalizer of the second model; softmax: train only one", 0, 0, 0}};
    demo_rows(&options, "half as many training steps", "of scenes and initial parameters",
              rows + OWN);
    struct command command = demo_command(purpose, rows, OWN + DEMO_ROWS);
    int code = options_read(&command, argc, argv);
    if (code != GO_ON) return code;
    if (options.quick && !option_given(&command, "steps")) setup.steps = 750;
    setup.normalizer = normalizer_of(normalizer);
    setup.seed = options.seed;
    setup.quiet = options.json;
    setup.threads = options.threads;
    return caption_run(&setup, options.json, options.svg);
}
