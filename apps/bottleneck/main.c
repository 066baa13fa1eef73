/* main.c - bottleneck: why attention at all. */
#include "bottleneck.h"
#include <pthread.h>
#include <stdlib.h>

const char program_name[] = "bottleneck";

static const char purpose[] =
    "Three models learn the same small language, English to French, from sentences of up to so\n"
    "many words, and then translate longer ones. The first squeezes a sentence into one vector\n"
    "between two recurrent networks; the second is the same with additive attention; the third\n"
    "is attention alone. Shown are their quality by the length of the sentence (Bahdanau, Cho and\n"
    "Bengio 2015, figure 2) and what French words attend to in a negation and an inversion.";

/* One thread each: they share the setup, which nobody changes. */
static void *learn(void *translator)
{
    translator_learn(translator);
    return NULL;
}

static void learn_all(struct translator translators[KINDS], const struct setup *setup)
{
    pthread_t threads[KINDS];
    for (int k = 0; k < KINDS; k++) {
        translator_create(&translators[k], (enum kind)k, setup);
        if (pthread_create(&threads[k], NULL, learn, &translators[k]) != 0)
            exit(failed("a thread cannot be started"));
    }
    for (int k = 0; k < KINDS; k++) pthread_join(threads[k], NULL);
}

static int run(const struct setup *setup, bool json, const char *path)
{
    /* "the cat does not see the queen", "the black cow picks the grey wolf up" */
    static const struct clause negation = {0, 0, -1, 0, true, 10, -1};
    static const struct clause inversion = {0, 13, 0, 9, false, 3, 3};
    struct translator translators[KINDS];
    struct report report = {.setup = setup};
    double start = now();
    learn_all(translators, setup);
    for (int k = 0; k < KINDS; k++) curve_measure(&report.curves[k], &translators[k]);
    example_make(&report.examples[0], "Negation", &negation, &translators[ATTENDING]);
    example_make(&report.examples[1], "Inversion", &inversion, &translators[ATTENDING]);
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
    struct setup setup = {.longest = 16,
                          .steps = 1000,
                          .batch = 32,
                          .embed = 32,
                          .align = 32,
                          .hidden = {52, 48},
                          .width = 52,
                          .layers = 1,
                          .rate = 4e-3F,
                          .tests = 64,
                          .seed = 1};
    bool quick = false, json = false;
    const char *path = NULL;
    struct option_row rows[] = {
        {"quick", OPTION_FLAG, &quick, "", "shorter sentences, and fewer", 0, 0, 0},
        {"longest", OPTION_INTEGER, &setup.longest, "N", "words of a training sentence", 8, 28, 0},
        {"steps", OPTION_INTEGER, &setup.steps, "N", "batches of 32 sentences", 1, 1000000, 0},
        {"seed", OPTION_SEED, &setup.seed, "N", "of sentences and first parameters", 0, 0, 0},
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
    if (quick && !option_given(&command, "longest")) setup.longest = 12;
    if (quick && !option_given(&command, "steps")) setup.steps = 400;
    setup.quiet = json;
    language_create(&setup.language);
    return run(&setup, json, path);
}
