/* main.c - caption: attention from words to the parts of a picture. */
#include "caption.h"

const char program_name[] = "caption";

static const char purpose[] =
    "A small attention-only model learns to say what a picture shows: two colored shapes and\n"
    "how they lie, \"a red square left of a blue circle\". It sees 25 patches of pixels, in no\n"
    "order but what it learns of their places, and looks at them anew for every word. Shown are\n"
    "captions of pairs of things that it has never seen together (10 of 78 pairs), and where it\n"
    "looked. Xu et al. 2015, \"Show, attend and tell\", do this with photographs and recurrence.";

static int run(const struct setup *setup, bool json, const char *path)
{
    static const int shown[EXAMPLES] = {14, 11, 22};
    struct example examples[EXAMPLES];
    struct result result;
    double start = now();
    struct model *model = learn(setup);
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
    struct setup setup = {.steps = 1500, .batch = 32, .tests = 512, .seed = 1};
    bool quick = false, json = false;
    const char *path = NULL;
    struct option_row rows[] = {
        {"quick", OPTION_FLAG, &quick, "", "learn from half as many scenes", 0, 0, 0},
        {"steps", OPTION_INTEGER, &setup.steps, "N", "batches of 32 scenes", 1, 1000000, 0},
        {"seed", OPTION_SEED, &setup.seed, "N", "of scenes and first parameters", 0, 0, 0},
        {"svg", OPTION_STRING, &path, "FILE", "draw it", 0, 0, 0},
        {"json", OPTION_FLAG, &json, "", "print one JSON object", 0, 0, 0},
    };
    struct command command = {.name = "",
                              .arguments = "",
                              .purpose = purpose,
                              .rows = rows,
                              .count = sizeof rows / sizeof *rows};
    int code = options_read(&command, argc, argv);
    if (code != GO_ON) return code;
    if (quick && !option_given(&command, "steps")) setup.steps = 750;
    setup.quiet = json;
    return run(&setup, json, path);
}
