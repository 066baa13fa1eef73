/* scaling.c - speed-up and efficiency: runs the other programs with 1, 2, 4, ... threads.

   Scaling is strong: the work is the same for any number of threads. Only `peak` shows weak
   scaling: each thread does as much as a single one would, which tells what the machine itself
   loses through clock rate, caches or shared cores. Speed-up is the rate relative to the smallest
   number of threads; efficiency is speed-up divided by the ideal one. */
#define _GNU_SOURCE
#include "bench.h"

#include "kit/program.h"
#include "kit/svg.h"

#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const char program_name[] = "perf_scaling";

enum { MAX_SERIES = 32 };

/* A series of rates by number of threads. */
struct series {
    char title[96], shape[160];
    int count, threads[BENCH_THREADS];
    double rate[BENCH_THREADS]; /* work per second, in any unit */
};

/* Returns the rate relative to the smallest number of threads; ideal is threads[i] / threads[0]. */
static double series_speed_up(const struct series *s, int i)
{
    return s->rate[i] / s->rate[0];
}
static double series_efficiency(const struct series *s, int i)
{
    return series_speed_up(s, i) * s->threads[0] / s->threads[i];
}

struct part {
    const char *program, *only;
    bool slow; /* skipped by --quick */
};

static const struct part parts[] = {
    {"peak", "peak", false},     {"attention", "scaling", false}, {"gemm", "scaling", false},
    {"train", "tiny", false},    {"train", "base", true},         {"translate", "greedy", false},
    {"translate", "beam", true},
};

struct scaling {
    struct bench *b;
    const char *folder; /* folder of the programs, with a slash at the end; "": search PATH */
    char threads[128];  /* "1,2,4" */
    char environment[320];
    struct series series[MAX_SERIES];
    int count;
};

/* ---- one of the other programs ---- */

static FILE *start(const struct scaling *s, const struct part *part, pid_t *child)
{
    char path[4096];
    int ends[2];
    posix_spawn_file_actions_t actions;
    snprintf(path, sizeof path, "%sperf_%s", s->folder, part->program);
    const char *argv[] = {path,
                          "--json",
                          "--threads",
                          s->threads,
                          "--only",
                          part->only,
                          s->b->check   ? "--check"
                          : s->b->quick ? "--quick"
                                        : NULL,
                          NULL};
    if (pipe(ends) || posix_spawn_file_actions_init(&actions)) bench_fail("cannot create a pipe");
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawnp(child, path, &actions, NULL, (char *const *)argv, environ)) {
        fprintf(stderr, "cannot run %s\n", path);
        bench_fail("perf_scaling needs the other benchmarks in its folder");
    }
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    return fdopen(ends[0], "r");
}

static void finish(const struct part *part, pid_t child, FILE *from)
{
    int status = 0;
    fclose(from);
    if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    fprintf(stderr, "perf_%s --only %s failed\n", part->program, part->only);
    bench_fail("a measurement failed");
}

/* ---- its lines ---- */

/* "B=1 H=8 causal": integers and true flags of a shape. */
static void shape_text(const json_t *shape, const char *pass, char *text, size_t size)
{
    const char *key;
    json_t *value;
    size_t used = (size_t)snprintf(text, size, "%s", pass);
    json_object_foreach((json_t *)shape, key, value)
    {
        if (used >= size) return;
        const char *gap = used ? " " : "";
        if (json_is_integer(value))
            used += (size_t)snprintf(text + used, size - used, "%s%s=%" JSON_INTEGER_FORMAT, gap,
                                     key, json_integer_value(value));
        else if (json_is_true(value))
            used += (size_t)snprintf(text + used, size - used, "%s%s", gap, key);
    }
}

/* Appends how the matrix products are computed, because each way is a series of its own. */
static void append_products(const json_t *line, char *text, size_t size)
{
    const char *backend = json_string_value(json_object_get(line, "backend"));
    size_t used = strlen(text);
    if (!backend || used >= size) return;
    snprintf(text + used, size - used, ", %s",
             strcmp(backend, "openblas") == 0 ? "OpenBLAS"
             : strcmp(backend, "bf16") == 0   ? "bf16"
                                              : "built-in");
}

/* Writes a short form of the shape of a model, which fits below a title. */
static void model_text(const json_t *shape, const json_t *line, char *text, size_t size)
{
    static const char *const keys[] = {"encoder_layers", "decoder_layers", "width", "pairs",
                                       "beam"};
    int n[5];
    for (int i = 0; i < 5; i++) n[i] = (int)json_integer_value(json_object_get(shape, keys[i]));
    int used = snprintf(text, size, "%d+%d layers of %d, batch %d", n[0], n[1], n[2], n[3]);
    if (n[4] > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, ", beam %d", n[4]);
    append_products(line, text, size);
}

static struct series *series_of(struct scaling *s, const json_t *line)
{
    struct series new = {0};
    const json_t *shape = json_object_get(line, "shape");
    const char *pass = json_string_value(json_object_get(line, "pass"));
    snprintf(new.title, sizeof new.title, "%s", json_string_value(json_object_get(line, "name")));
    if (json_object_get(shape, "encoder_layers"))
        model_text(shape, line, new.shape, sizeof new.shape);
    else if (strcmp(new.title, "peak") == 0)
        snprintf(new.shape, sizeof new.shape, "weak scaling: the same work per thread");
    else
        shape_text(shape, pass ? pass : "", new.shape, sizeof new.shape);
    for (int i = 0; i < s->count; i++)
        if (!strcmp(s->series[i].title, new.title) && !strcmp(s->series[i].shape, new.shape))
            return &s->series[i];
    if (s->count == MAX_SERIES) bench_fail("too many series");
    s->series[s->count] = new;
    return &s->series[s->count++];
}

static void print_line(struct bench *b, const struct series *s, int i, json_t *line)
{
    double seconds = json_real_value(json_object_get(line, "seconds"));
    b->lines++;
    if (!b->json) {
        printf("%-26s\t%7d\t%10s\t%8.2f\t%8.2f\t%10.3f\t%s\n", s->title, s->threads[i],
               bench_duration(seconds).text, s->rate[i], series_speed_up(s, i),
               series_efficiency(s, i), s->shape);
        return;
    }
    json_object_set_new(line, "scaling", json_string(strcmp(s->title, "peak") ? "strong" : "weak"));
    json_object_set_new(line, "speed_up", json_real(series_speed_up(s, i)));
    json_object_set_new(line, "efficiency", json_real(series_efficiency(s, i)));
    if (json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6)))
        bench_fail("a result could not be written");
    putchar('\n');
}

static void read_line(struct scaling *s, const char *text)
{
    json_t *line = json_loads(text, 0, NULL);
    if (!line) bench_fail("a program printed invalid JSON");
    struct series *series = series_of(s, line);
    int i = series->count;
    if (i < BENCH_THREADS) {
        series->threads[i] = (int)json_integer_value(json_object_get(line, "threads"));
        series->rate[i] = json_real_value(json_object_get(line, "gflops"));
        series->count++;
        print_line(s->b, series, i, line);
    }
    json_decref(line);
}

static void run_part(struct scaling *s, const struct part *part)
{
    char *text = NULL;
    size_t size = 0;
    pid_t child;
    FILE *from = start(s, part, &child);
    if (!from) bench_fail("out of memory");
    while (getline(&text, &size, from) > 0) read_line(s, text);
    free(text);
    finish(part, child, from);
    if (fflush(stdout) || ferror(stdout)) bench_fail("standard output cannot be written");
}

/* ---- the figure: a grid of charts, each with the number of threads on the x axis and the speed-up
   on the y axis; ideal scaling is a dashed line ---- */

enum { COLUMNS = 4, WIDTH = 264, HEIGHT = 236, TOP = 84, MARGIN = 20 };
enum { LEFT = 50, RIGHT = 46, ABOVE = 54, BELOW = 54, MAX_TICKS = 5 };

static const char ideal_color[] = "#888888";

static void draw_speedup(struct svg *svg, const struct series *s, double left, double top)
{
    const int last = s->count - 1;
    double threads[BENCH_THREADS], speed_up[BENCH_THREADS], max_threads = 1, max_speed_up = 1;
    for (int i = 0; i < s->count; i++) {
        double ideal = (double)s->threads[i] / s->threads[0];
        threads[i] = s->threads[i];
        speed_up[i] = series_speed_up(s, i);
        if (threads[i] > max_threads) max_threads = threads[i];
        if (ideal > max_speed_up) max_speed_up = ideal;
        if (speed_up[i] > max_speed_up) max_speed_up = speed_up[i];
    }
    struct chart chart = {
        .x = left + LEFT,
        .y = top + ABOVE,
        .width = WIDTH - LEFT - RIGHT,
        .height = HEIGHT - ABOVE - BELOW,
        .to = {max_threads, max_speed_up},
        .step = {fmax(1, chart_step(max_threads, MAX_TICKS)), chart_step(max_speed_up, MAX_TICKS)},
        .title = s->title,
        .subtitle = s->shape,
        .labels = {"threads", "speed-up"}};
    chart_frame(svg, &chart);
    svg_dashed_line(svg, chart_x(&chart, threads[0]), chart_y(&chart, 1),
                    chart_x(&chart, threads[last]), chart_y(&chart, threads[last] / threads[0]),
                    ideal_color, 1.5);
    chart_curve(svg, &chart, s->count, threads, speed_up, chart_colors[0]);
    svg_text(svg, chart_x(&chart, threads[last]) + 8, chart_y(&chart, speed_up[last]) + 4, 12,
             SVG_LEFT, chart_colors[0], "%.2f", speed_up[last]);
}

static bool draw_figure(const char *path, const char *environment, const struct series *series,
                        int count)
{
    struct svg svg;
    int rows = (count + COLUMNS - 1) / COLUMNS, columns = count < COLUMNS ? count : COLUMNS;
    if (columns < 3) columns = 3; /* the width of the title */
    if (svg_open(&svg, path, 2 * MARGIN + columns * WIDTH, TOP + rows * HEIGHT + MARGIN,
                 "Speed-up by number of threads") != 0)
        return false;
    svg_text(&svg, MARGIN, 32, 18, SVG_LEFT, "#222222", "Speed-up by number of threads");
    svg_text(&svg, MARGIN, 51, 11, SVG_LEFT, "#444444", "%s", environment);
    svg_dashed_line(&svg, MARGIN, 68, MARGIN + 24, 68, ideal_color, 1.5);
    svg_text(&svg, MARGIN + 32, 72, 13, SVG_LEFT, "#222222", "ideal");
    chart_legend(&svg, MARGIN + 84, 72, chart_colors[0],
                 "measured; the number is the speed-up with the most threads");
    for (int i = 0; i < count; i++)
        draw_speedup(&svg, &series[i], MARGIN + i % COLUMNS * WIDTH, TOP + i / COLUMNS * HEIGHT);
    return svg_close(&svg) == 0;
}

/* ---- the program ---- */

/* Chooses 1, 2, 4, ... and the number of processors that this process may use. */
static void choose_threads(struct bench *b)
{
    int all = rapt__team_size(0), max = b->check ? 2 : all;
    if (b->threads_given) return;
    b->thread_counts = 0;
    for (int n = 1; n < max; n *= 2) b->threads[b->thread_counts++] = n;
    b->threads[b->thread_counts++] = max;
}

static void list_threads(const struct bench *b, char *text, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < b->thread_counts && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%d", i ? "," : "", b->threads[i]);
}

/* Describes what the figures depend on. Call it before the measurements, which would count as
   load. */
static void describe(char *text, size_t size)
{
    char date[16] = "";
    time_t now = time(NULL);
    struct tm day;
    json_t *e = bench_environment();
    if (gmtime_r(&now, &day)) strftime(date, sizeof date, "%Y-%m-%d", &day);
    snprintf(text, size, "%s, %s, commit %s, %s, load of other programs %s",
             json_string_value(json_object_get(e, "processor")),
             json_string_value(json_object_get(e, "isa")),
             json_string_value(json_object_get(e, "commit")), date,
             json_string_value(json_object_get(e, "load")));
    json_decref(e);
}

static void draw_scaling(const struct scaling *s, const char *path)
{
    if (!draw_figure(path, s->environment, s->series, s->count))
        bench_fail("the figure cannot be written");
}

/* Removes "--svg FILE" from the arguments. Returns FILE, or NULL if absent. */
static const char *take_svg(int *argc, char **argv)
{
    for (int i = 1; i + 1 < *argc; i++) {
        if (strcmp(argv[i], "--svg") != 0) continue;
        const char *path = argv[i + 1];
        for (int j = i; j + 2 <= *argc; j++) argv[j] = argv[j + 2];
        *argc -= 2;
        return path;
    }
    return NULL;
}

/* Removes "--crowded" from the arguments. Returns whether it was present. */
static bool take_crowded(int *argc, char **argv)
{
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], "--crowded") != 0) continue;
        for (int j = i; j + 1 <= *argc; j++) argv[j] = argv[j + 1];
        --*argc;
        return true;
    }
    return false;
}

/* Removes "--ranks" or "--ranks N" from the arguments. Returns N (4 if not given), or 0 if
   absent. */
static int take_ranks(int *argc, char **argv)
{
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], "--ranks") != 0) continue;
        char *end = NULL;
        long ranks = i + 1 < *argc ? strtol(argv[i + 1], &end, 10) : 0;
        bool given = end != NULL && end != argv[i + 1];
        int taken = given ? 2 : 1;
        if (given && (*end || ranks < 1 || ranks > SCALING_RANKS)) return -1;
        for (int j = i; j + taken <= *argc; j++) argv[j] = argv[j + taken];
        *argc -= taken;
        return given ? (int)ranks : 4;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static struct scaling s;
    struct bench b;
    const char *svg = take_svg(&argc, argv), *slash = strrchr(argv[0], '/');
    static char folder[4096];
    int ranks = take_ranks(&argc, argv);
    bool crowded = take_crowded(&argc, argv);
    if (ranks < 0) {
        fprintf(stderr, "--ranks: a number from 1 to %d\n", SCALING_RANKS);
        return EXIT_USAGE;
    }
    int code = bench_begin(
        &b, argc, argv,
        "Measures speed-up and efficiency by number of threads, with the other programs of its\n"
        "folder.\n\n"
        "  --svg FILE      write a figure\n"
        "  --crowded       instead: 2 threads beside 1 (ratio) while a process of its own keeps "
        "one\n"
        "                  of two processors busy\n"
        "  --ranks N       instead: training steps of 1 to N [4] ranks of this machine, by shared\n"
        "                  memory and by TCP, with and without overlap; perf_machines reads the "
        "JSON",
        "peak, attention, gemm, train, translate; with --crowded attention_forward,\n"
        "                  attention_backward, train_step, generate; short, long, model");
    if (code != BENCH_GO_ON) return code;
    if (slash) snprintf(folder, sizeof folder, "%.*s", (int)(slash + 1 - argv[0]), argv[0]);
    if (ranks > 0) return scaling_ranks(&b, folder, ranks);
    if (crowded) return scaling_crowded(&b);
    s.b = &b, s.folder = folder;
    describe(s.environment, sizeof s.environment);
    choose_threads(&b);
    list_threads(&b, s.threads, sizeof s.threads);
    b.header =
        "name                      \tthreads\t   fastest\t GFLOP/s\tspeed-up\tefficiency\tshape";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!(b.quick && parts[i].slow) && bench_wants(&b, parts[i].program, parts[i].only))
            run_part(&s, &parts[i]);
    if (svg && b.thread_counts < 2)
        fprintf(stderr, "%s: no figure: a speed-up needs two numbers of threads\n", b.program);
    else if (svg && s.count > 0)
        draw_scaling(&s, svg);
    return bench_end(&b);
}
