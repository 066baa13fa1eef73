/* main.c - caption: cross-attention from words to image patches; options and output. */
#include "caption.h"

const char program_name[] = "caption";

static const char purpose[] =
    "A small attention-only encoder-decoder learns to caption pictures of two colored shapes "
    "and their relative position, such as \"a red square left of a blue circle\". Its input "
    "is 25 patches of pixels with learned position embeddings; cross-attention weights the "
    "patches anew for every word. Shows captions of pairs of objects that never occur "
    "together in training (10 of 78 pairs) and the attention weights of each word. Xu et al. "
    "2015, \"Show, attend and tell\", do this with photographs and a recurrent decoder.";

static int run(const struct setup *setup, bool json, const char *path)
{
    static const int shown[EXAMPLES] = {14, 11, 22};
    struct example examples[EXAMPLES];
    struct result result;
    double start = now();
    struct model *model = train(setup);
    measure(&result, model, setup);
    for (int i = 0; i < EXAMPLES; i++) example_make(&examples[i], model, setup, shown[i]);
    result.seconds = now() - start;
    model_free(model);
    if (json)
        print_result_json(&result, examples);
    else
        print_result(&result, examples);
    int code = path != NULL ? draw_result(&result, examples, path) : EXIT_OK;
    return code == EXIT_OK ? finish_output() : code;
}

int main(int argc, char **argv)
{
    enum { OWN = 1 };
    struct setup setup = {.steps = 1500, .batch = 32, .tests = 512};
    struct demo_options options = {.seed = 1};
    struct option_row rows[OWN + DEMO_ROWS] = {{"steps", OPTION_INTEGER, &setup.steps, "N",
                                                "training steps, 32 scenes each", 1, 1000000, 0}};
    demo_rows(&options, "half as many training steps", "of scenes and initial parameters",
              rows + OWN);
    struct command command = demo_command(purpose, rows, OWN + DEMO_ROWS);
    int code = options_read(&command, argc, argv);
    if (code != GO_ON) return code;
    if (options.quick && !option_given(&command, "steps")) setup.steps = 750;
    setup.seed = options.seed;
    setup.quiet = options.json;
    return run(&setup, options.json, options.svg);
}
