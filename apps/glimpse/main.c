/* main.c - glimpse: hard attention as a sequence of decisions. */
#include "glimpse.h"
#include <pthread.h>
#include <stdlib.h>

const char program_name[] = "glimpse";

static const char purpose[] =
    "A network reads digits in pictures full of loose strokes through a small window. It chooses\n"
    "where to look next, from a blurred view of the whole and all it has seen so far, by hard\n"
    "attention over a grid of places, learned by reward alone\n"
    "(REINFORCE; Mnih et al. 2014); the same network with random looks shows what choosing is\n"
    "worth. Where the gradient of the expected reward can be computed, the estimate is compared\n"
    "with it.";

static const struct setup whole = {.digits = DIGITS,
                                   .side = 60,
                                   .clutter = 8,
                                   .window = 14,
                                   .cells = 6,
                                   .blur = 10,
                                   .grid = 7,
                                   .pitch = 7,
                                   .glimpses = 4,
                                   .width = 64,
                                   .steps = 2500,
                                   .batch = 64,
                                   .rate = 2e-3F,
                                   .tests = 1024};
static const struct setup quick = {.digits = 5,
                                   .side = 48,
                                   .clutter = 5,
                                   .window = 12,
                                   .cells = 6,
                                   .blur = 8,
                                   .grid = 7,
                                   .pitch = 6,
                                   .glimpses = 3,
                                   .width = 32,
                                   .steps = 600,
                                   .batch = 64,
                                   .rate = 5e-3F,
                                   .tests = 512};

/* One thread for each looker: they share only the setup, which nobody changes. */
static void *learn(void *learner)
{
    learner_train(learner);
    learner_test(learner);
    return NULL;
}

static void learn_all(struct learner learners[LOOKERS], const struct setup *setup)
{
    pthread_t threads[LOOKERS];
    for (int k = 0; k < LOOKERS; k++) {
        learner_create(&learners[k], (enum looker)k, setup);
        if (pthread_create(&threads[k], NULL, learn, &learners[k]) != 0)
            exit(failed("a thread cannot be started"));
    }
    for (int k = 0; k < LOOKERS; k++) pthread_join(threads[k], NULL);
}

static json_t *pair(const double x[2])
{
    return json_pack("[f,f]", x[0], x[1]);
}

static void print_toy(const struct toy *toy, bool json)
{
    if (json) {
        print_json(json_pack("{s:s,s:i,s:o,s:o,s:o,s:o,s:o,s:f}", "part", "two places", "draws",
                             toy->draws, "exact", pair(toy->exact), "mean", pair(toy->mean[0]),
                             "standard_error", pair(toy->error[0]), "mean_with_baseline",
                             pair(toy->mean[1]), "standard_error_with_baseline",
                             pair(toy->error[1]), "worst_in_standard_errors", toy->worst));
        return;
    }
    printf("Two places, %d draws: the gradient of the expected reward with respect to the query\n"
           "  exact               %9.5f            %9.5f\n",
           toy->draws, toy->exact[0], toy->exact[1]);
    for (int with = 0; with < 2; with++)
        printf("  %s %9.5f +- %.5f %9.5f +- %.5f\n",
               with ? "with a baseline   " : "without a baseline", toy->mean[with][0],
               toy->error[with][0], toy->mean[with][1], toy->error[with][1]);
    printf("  the worst is %.2f standard errors off\n\n", toy->worst);
}

static void print_learner(const struct learner *l, bool json)
{
    if (!json) {
        printf("%s looking: %.1f %% of %d held-out pictures read rightly; %.1f %% of looks at the "
               "digit\n",
               looker_names[l->looker], 100 * l->right, l->setup->tests, 100 * l->landed);
        return;
    }
    json_t *curve = json_array();
    for (int i = 0; i < l->reports; i++)
        json_array_append_new(curve, json_pack("[f,f]", l->steps[i], l->share[i]));
    print_json(json_pack("{s:s,s:s,s:i,s:f,s:f,s:o}", "part", "looking", "looker",
                         looker_names[l->looker], "steps", l->setup->steps, "right", l->right,
                         "landed", l->landed, "curve", curve));
}

static int run(const struct setup *setup, bool json, const char *path)
{
    struct toy toy;
    struct learner learners[LOOKERS];
    const double start = now();
    int code = toy_run(&toy, 40000, setup->seed);
    if (code != EXIT_OK) return code;
    print_toy(&toy, json);
    learn_all(learners, setup);
    const double seconds = now() - start, margin = learners[LEARNED].right - learners[RANDOM].right;
    if (!json) print_message("learned and looked for %.0f seconds", seconds);
    for (int k = 0; k < LOOKERS; k++) print_learner(&learners[k], json);
    if (json)
        print_json(json_pack("{s:b,s:f,s:f}", "done", true, "margin", margin, "seconds", seconds));
    else
        printf("what choosing is worth: %.1f points of 100\n", 100 * margin);
    if (path != NULL) code = page_draw(path, &toy, learners);
    for (int k = 0; k < LOOKERS; k++) learner_free(&learners[k]);
    return interrupted() ? EXIT_INTERRUPTED : code == EXIT_OK ? finish_output() : code;
}

int main(int argc, char **argv)
{
    struct setup asked = {.glimpses = 0, .seed = 1};
    bool hurry = false, json = false;
    const char *path = NULL;
    struct option_row rows[] = {
        {"quick", OPTION_FLAG, &hurry, "", "five digits, smaller pictures, a smaller network", 0, 0,
         0},
        {"steps", OPTION_INTEGER, &asked.steps, "N", "batches of 64 pictures: 2500, quick 600", 1,
         1000000, 0},
        {"looks", OPTION_INTEGER, &asked.glimpses, "N", "at each picture: 4, quick 3", 2,
         MAX_GLIMPSES, 0},
        {"clutter", OPTION_INTEGER, &asked.clutter, "N",
         "loose strokes in each picture: 8, quick 5", 0, 40, 0},
        {"seed", OPTION_SEED, &asked.seed, "N", "of pictures, first parameters and draws", 0, 0, 0},
        {"svg", OPTION_STRING, &path, "FILE", "draw it", 0, 0, 0},
        {"json", OPTION_FLAG, &json, "", "print JSON objects, one per line", 0, 0, 0},
    };
    struct command command = {.name = "",
                              .arguments = "",
                              .purpose = purpose,
                              .rows = rows,
                              .count = sizeof rows / sizeof *rows};
    int code = options_read(&command, argc, argv);
    if (code != GO_ON) return code;
    struct setup setup = hurry ? quick : whole;
    if (option_given(&command, "steps")) setup.steps = asked.steps;
    if (option_given(&command, "looks")) setup.glimpses = asked.glimpses;
    if (option_given(&command, "clutter")) setup.clutter = asked.clutter;
    setup.seed = asked.seed;
    setup.quiet = json;
    watch_for_interrupts();
    return run(&setup, json, path);
}
