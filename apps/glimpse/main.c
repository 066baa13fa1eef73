/* main.c - glimpse: options and output of the program. */
#include "glimpse.h"
#include <stdlib.h>
#include <string.h>

const char program_name[] = "glimpse";

static const char purpose[] =
    "Trains a network to classify a digit in a cluttered picture through a few small "
    "glimpses. A policy chooses the location of the next glimpse by hard attention over a "
    "grid of locations, given a blurred preview and all glimpses so far, and is trained by "
    "REINFORCE (Mnih et al. 2014). The same network with random locations is the comparison. "
    "Only the reward says what to do: with --task find it is a last glimpse at the digit, "
    "whichever "
    "digit that is. "
    "On a two-armed bandit the gradient estimate is compared with the exact gradient.";

static void *glimpse_train(void *viewer)
{
    viewer_train(viewer);
    viewer_test(viewer);
    return NULL;
}

static json_t *pair(const double x[2])
{
    return json_pack("[f,f]", x[0], x[1]);
}

static void print_bandit(const struct bandit *bandit, bool json)
{
    if (json) {
        print_json(json_pack("{s:s,s:i,s:o,s:o,s:o,s:o,s:o,s:f}", "part", "bandit", "draws",
                             bandit->draws, "exact", pair(bandit->exact), "mean",
                             pair(bandit->mean[0]), "standard_error", pair(bandit->error[0]),
                             "mean_with_baseline", pair(bandit->mean[1]),
                             "standard_error_with_baseline", pair(bandit->error[1]),
                             "worst_in_standard_errors", bandit->worst));
        return;
    }
    printf("Two-armed bandit, %d draws: gradient of the expected reward by the query\n"
           "  exact               %9.5f            %9.5f\n",
           bandit->draws, bandit->exact[0], bandit->exact[1]);
    for (int with = 0; with < 2; with++)
        printf("  %s %9.5f +- %.5f %9.5f +- %.5f\n",
               with ? "with a baseline   " : "without a baseline", bandit->mean[with][0],
               bandit->error[with][0], bandit->mean[with][1], bandit->error[with][1]);
    printf("  largest deviation: %.2f standard errors\n\n", bandit->worst);
}

static void print_viewer(const struct viewer *l, bool json)
{
    if (!json) {
        printf("%s policy: accuracy %.1f %% on %d held-out pictures;\n"
               "  %.1f %% of glimpses at the digit, %.1f %% of the last ones\n",
               policy_names[l->policy], 100 * l->accuracy, l->setup->tests, 100 * l->hit_rate,
               100 * l->last_rate);
        return;
    }
    json_t *curve = json_array();
    for (int i = 0; i < l->reports; i++)
        json_array_append_new(curve, json_pack("[f,f]", l->steps[i], l->success_curve[i]));
    print_json(json_pack("{s:s,s:s,s:s,s:i,s:f,s:f,s:f,s:o}", "part", "looking", "task",
                         aim_names[l->setup->aim], "policy", policy_names[l->policy], "steps",
                         l->setup->steps, "accuracy", l->accuracy, "hit_rate", l->hit_rate,
                         "last_rate", l->last_rate, "curve", curve));
}

static int glimpse_run(const struct setup *setup, const struct demo_options *options)
{
    const bool json = options->json;
    const char *path = options->svg;
    struct bandit bandit;
    struct viewer viewers[POLICIES];
    const struct pixels pixels = pixels_of(setup);
    const double start = now();
    int code = bandit_run(&bandit, 40000, setup->seed);
    if (code != EXIT_OK) return code;
    print_bandit(&bandit, json);
    for (int k = 0; k < POLICIES; k++) viewer_create(&viewers[k], (enum policy)k, setup);
    run_threads(glimpse_train, viewers, POLICIES, sizeof *viewers, threads_used(options->threads));
    const double seconds = now() - start,
                 margin = viewer_success(&viewers[LEARNED]) - viewer_success(&viewers[RANDOM]);
    if (!json) print_message("trained and tested in %.0f seconds", seconds);
    for (int k = 0; k < POLICIES; k++) print_viewer(&viewers[k], json);
    if (json)
        print_json(json_pack("{s:b,s:f,s:i,s:i,s:i,s:i,s:f}", "done", true, "margin", margin,
                             "pixels_sharp", pixels.sharp, "pixels_blurred", pixels.blurred,
                             "pixels_preview", pixels.preview, "pixels_there", pixels.there,
                             "seconds", seconds));
    else
        printf("learned minus random policy: %.1f percentage points\n"
               "read of a picture of %d pixels: %d pixels and %d averages by %d glimpses,\n"
               "  %d averages as preview\n",
               100 * margin, pixels.there, pixels.sharp, pixels.blurred, setup->glimpses,
               pixels.preview);
    if (path != NULL) code = figure_write(path, &bandit, viewers);
    for (int k = 0; k < POLICIES; k++) viewer_free(&viewers[k]);
    return interrupted() ? EXIT_INTERRUPTED : code == EXIT_OK ? finish_output() : code;
}

int main(int argc, char **argv)
{
    enum { OWN = 4 };
    const char *task = aim_names[READ];
    struct setup asked = {0};
    struct demo_options options = {.seed = 1};
    struct option_row rows[OWN + DEMO_ROWS] = {
        {"steps", OPTION_INTEGER, &asked.steps, "N",
         "training steps, 64 pictures each: 2500, quick 600", 1, 1000000, 0},
        {"glimpses", OPTION_INTEGER, &asked.glimpses, "N", "per picture: 4, quick 3", 2,
         MAX_GLIMPSES, 0},
        {"clutter", OPTION_INTEGER, &asked.clutter, "N", "clutter strokes per picture: 8, quick 5",
         0, 40, 0},
        {"task", OPTION_CHOICE, &task, "read|find",
         "what is rewarded: the right digit, or a last glimpse at it", 0, 0, 0},
    };
    demo_rows(&options, "5 digits, smaller pictures and network",
              "of pictures, initial parameters and draws", rows + OWN);
    struct command command = demo_command(purpose, rows, OWN + DEMO_ROWS);
    int code = options_read(&command, argc, argv);
    if (code != GO_ON) return code;
    struct setup setup = options.quick ? setup_quick : setup_full;
    if (option_given(&command, "steps")) setup.steps = asked.steps;
    if (option_given(&command, "glimpses")) setup.glimpses = asked.glimpses;
    if (option_given(&command, "clutter")) setup.clutter = asked.clutter;
    setup.aim = strcmp(task, aim_names[FIND]) == 0 ? FIND : READ;
    setup.seed = options.seed;
    setup.quiet = options.json;
    watch_for_interrupts();
    return glimpse_run(&setup, &options);
}
