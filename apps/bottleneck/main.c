/* main.c - bottleneck: translation quality by sentence length, with a fixed context vector, with
   additive attention and with a Transformer; options and output. */
#include "bottleneck.h"
#include <stdlib.h>

const char program_name[] = "bottleneck";

static const char purpose[] =
    "Trains three models on the same synthetic English-French sentence pairs of limited "
    "length and translates longer sentences: a GRU encoder-decoder with one fixed context "
    "vector, the same with additive attention, and an attention-only Transformer. Prints BLEU "
    "by sentence length (Bahdanau, Cho and Bengio 2015, figure 2) and the attention weights "
    "of a negation and of an inversion.";

static void *train(void *translator)
{
    translator_train(translator);
    return NULL;
}

static int run(const struct setup *setup, bool json, const char *path)
{
    /* "the cat does not see the queen", "the black cow picks the grey wolf up" */
    static const struct clause negation = {0, 0, -1, 0, true, 10, -1};
    static const struct clause inversion = {0, 13, 0, 9, false, 3, 3};
    struct translator translators[KINDS];
    struct report report = {.setup = setup};
    double start = now();
    for (int k = 0; k < KINDS; k++) translator_create(&translators[k], (enum kind)k, setup);
    run_threads(train, translators, KINDS, sizeof *translators);
    for (int k = 0; k < KINDS; k++) curve_measure(&report.curves[k], &translators[k]);
    example_make(&report.examples[0], "Negation", &negation, &translators[WITH_ATTENTION]);
    example_make(&report.examples[1], "Inversion", &inversion, &translators[WITH_ATTENTION]);
    report.seconds = now() - start;
    if (json)
        report_json(&report);
    else
        report_print(&report);
    int code = path != NULL ? report_svg(&report, path) : EXIT_OK;
    for (int k = 0; k < KINDS; k++) translator_free(&translators[k]);
    for (int i = 0; i < EXAMPLES; i++) example_free(&report.examples[i]);
    return code == EXIT_OK ? finish_output() : code;
}

int main(int argc, char **argv)
{
    enum { OWN = 2 };
    struct setup setup = {.max_words = 16,
                          .steps = 1000,
                          .batch = 32,
                          .embed = 32,
                          .alignment_width = 32,
                          .hidden = {52, 48},
                          .width = 52,
                          .layers = 1,
                          .rate = 4e-3F,
                          .tests = 64};
    struct demo_options options = {.seed = 1};
    struct option_row rows[OWN + DEMO_ROWS] = {
        {"max-words", OPTION_INTEGER, &setup.max_words, "N", "English words of a training sentence",
         8, 28, 0},
        {"steps", OPTION_INTEGER, &setup.steps, "N", "training steps, 32 sentences each", 1,
         1000000, 0},
    };
    demo_rows(&options, "sentences of at most 12 words, 400 steps",
              "of sentences and initial parameters", rows + OWN);
    struct command command = demo_command(purpose, rows, OWN + DEMO_ROWS);
    int code = options_read(&command, argc, argv);
    if (code != GO_ON) return code;
    if (options.quick && !option_given(&command, "max-words")) setup.max_words = 12;
    if (options.quick && !option_given(&command, "steps")) setup.steps = 400;
    setup.seed = options.seed;
    setup.quiet = options.json;
    language_create(&setup.language);
    return run(&setup, options.json, options.svg);
}
