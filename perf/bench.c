/* bench.c - options and result lines (table or JSON) of the benchmarks. */
#define _GNU_SOURCE
#include "bench.h"

#include "kit/program.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUICK_SECONDS = 12 }; /* after this, --quick starts no measurement; --check has no limit */

_Noreturn void bench_fail(const char *what)
{
    fprintf(stderr, "error: %s\n", what);
    exit(1);
}

static bool read_threads(struct bench *b, const char *text)
{
    b->thread_counts = 0;
    do {
        char *end;
        long count = strtol(text, &end, 10);
        if (end == text || count < 1 || count > 1024 || b->thread_counts == BENCH_THREADS)
            return false;
        b->threads[b->thread_counts++] = (int)count;
        text = end;
    } while (*text++ == ',');
    b->threads_given = true;
    return text[-1] == 0;
}

static bool is_translate(const struct bench *b)
{
    return strcmp(b->program, "perf_translate") == 0;
}

/* Returns true if the program can measure a model that the user gives. */
static bool takes_model(const struct bench *b)
{
    return is_translate(b) || strcmp(b->program, "perf_load") == 0;
}

static bool takes_precision(const struct bench *b)
{
    return strcmp(b->program, "perf_gemm") == 0 || is_translate(b);
}

static bool read_precision(struct bench *b, const char *text)
{
    for (int p = RAPT_PRECISION_F32; p <= RAPT_PRECISION_F16; p++) {
        b->precision = (rapt_precision)p;
        if (strcmp(rapt_precision_name(b->precision), text) == 0) return true;
    }
    return false;
}

static bool takes_rows(const struct bench *b)
{
    return strcmp(b->program, "perf_attention") == 0;
}

static bool read_rows(struct bench *b, const char *text)
{
    char *end;
    long rows = strtol(text, &end, 10);
    b->rows = rows > 0 && rows <= 1 << 20 ? (int)rows : 0;
    return takes_rows(b) && *end == 0 && b->rows > 0;
}

static int help(const struct bench *b, const char *purpose, const char *names)
{
    printf("usage: %s [OPTION]...\n\n%s\n\n"
           "  --threads 1,2   numbers of threads [1 and the number of processors]\n"
           "  --only NAME     run only: %s\n"
           "%s%s%s"
           "  --no-amx        multiply 8-bit integers without AMX\n"
           "  --quick         fewer shapes and samples: ends within 20 s\n"
           "  --json          one JSON object per result, nothing else on standard output\n"
           "  --check         one call on tiny shapes, for tests; the figures are meaningless\n"
           "  --help          show this\n"
           "  --version       show the version, and what figures depend on\n",
           b->program, purpose, names,
           takes_model(b)
               ? "  --model PATH    measure this model instead of one with random weights\n"
               : "",
           takes_rows(b) ? "  --rows N        queries and keys of kinds, linear and monotonic; "
                           "leaves out patterns\n"
                         : "",
           !takes_precision(b) ? ""
           : is_translate(b) ? "  --precision P   of the weights: f32, int8, bf16 or f16 [f32, or "
                               "that of --model]\n"
                             : "  --precision P   of the weights: f32, int8, bf16 or f16 [f32]\n");
    return 0;
}

static int refuse(const struct bench *b)
{
    fprintf(stderr, "%s --help shows the options\n", b->program);
    return 2;
}

/* Prints the environment as lines that begin with #. */
static void print_environment(FILE *to)
{
    json_t *all = bench_environment(), *value;
    const char *key;
    json_object_foreach(all, key, value) fprintf(to, "# %s: %s\n", key, json_string_value(value));
    json_decref(all);
}

static int print_bench_version(const struct bench *b)
{
    printf("%s %s\n", b->program, rapt_version());
    if (!b->no_amx) ask_for_tiles();
    print_environment(stdout);
    return 0;
}

static int read_options(struct bench *b, int argc, char **argv, const char *purpose,
                        const char *names)
{
    static const struct option options[] = {
        {"threads", required_argument, NULL, 't'}, {"only", required_argument, NULL, 'o'},
        {"model", required_argument, NULL, 'm'},   {"precision", required_argument, NULL, 'p'},
        {"rows", required_argument, NULL, 'r'},    {"quick", no_argument, NULL, 'q'},
        {"json", no_argument, NULL, 'j'},          {"no-amx", no_argument, NULL, 'a'},
        {"check", no_argument, NULL, 'c'},         {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},       {0}};
    for (int code; (code = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (code == 'h') return help(b, purpose, names);
        if (code == 'v') return print_bench_version(b);
        if (code == 't' && !read_threads(b, optarg)) {
            fprintf(
                stderr,
                "--threads: '%s' is not a list of at most %d numbers from 1 to 1024, such as 1,2\n",
                optarg, BENCH_THREADS);
            return refuse(b);
        }
        if (code == 'o') b->only = optarg;
        if (code == 'm') b->model = optarg;
        if (code == 'm' && !takes_model(b)) {
            fprintf(stderr, "%s: --model is an option of perf_load and perf_translate only\n",
                    b->program);
            return refuse(b);
        }
        if (code == 'p' && (!takes_precision(b) || !read_precision(b, optarg))) {
            fprintf(stderr,
                    "%s --precision %s: perf_gemm and perf_translate measure f32, int8, bf16 and "
                    "f16\n",
                    b->program, optarg);
            return refuse(b);
        }
        if (code == 'r' && !read_rows(b, optarg)) {
            fprintf(stderr, "%s --rows %s: perf_attention takes a number from 1 to 1048576\n",
                    b->program, optarg);
            return refuse(b);
        }
        if (code == 'a') b->no_amx = true;
        if (code == 'q') b->quick = true;
        if (code == 'j') b->json = true;
        if (code == 'c') b->check = b->quick = true;
        if (code == '?') return refuse(b);
    }
    if (optind == argc) return BENCH_GO_ON;
    fprintf(stderr, "%s takes only options, not '%s'\n", b->program, argv[optind]);
    return refuse(b);
}

int bench_begin(struct bench *b, int argc, char **argv, const char *purpose, const char *names)
{
    const char *slash = strrchr(argv[0], '/');
    *b = (struct bench){.program = slash ? slash + 1 : argv[0], .start = bench_now()};
    b->header =
        "name                      \tthreads\t   fastest\t    median\t GFLOP/s\tof peak\tshape";
    int processors = rapt__team_size(0);
    guard_process();
    b->threads[b->thread_counts++] = 1;
    if (processors > 1) b->threads[b->thread_counts++] = processors;
    const int code = read_options(b, argc, argv, purpose, names);
    if (!b->no_amx) ask_for_tiles();
    return code;
}

void bench_show_header(struct bench *b)
{
    int processors = rapt__team_size(0);
    if (b->begun) return;
    b->begun = true;
    bench_warn();
    for (int i = 0; i < b->thread_counts; i++)
        if (b->threads[i] > processors)
            fprintf(stderr, "warning: --threads %d: the library uses no more than %d here\n",
                    b->threads[i], processors);
    print_environment(b->json ? stderr : stdout);
    if (!b->json) puts(b->header);
}

int bench_end(const struct bench *b)
{
    if (b->cut_short)
        fprintf(
            stderr,
            "%s: the time limit of --quick is reached; the remaining measurements are skipped\n",
            b->program);
    if (b->lines > 0 || b->cut_short) return 0;
    fprintf(stderr, "%s: nothing matches --only '%s'\n", b->program, b->only ? b->only : "");
    return refuse(b);
}

bool bench_wants(struct bench *b, const char *name, const char *other)
{
    if (b->only && strcmp(b->only, name) != 0 && strcmp(b->only, other) != 0) return false;
    bool late = b->quick && !b->check && bench_now() - b->start > QUICK_SECONDS;
    if (late) b->cut_short = true;
    if (!late) bench_show_header(b);
    return !late;
}

/* Appends "key=value" to text. */
static void append(char *text, size_t size, const json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        size_t used = strlen(text);
        if (used > 0) used += (size_t)snprintf(text + used, size - used, " ");
        if (used >= size) return;
        if (json_is_string(value))
            snprintf(text + used, size - used, "%s", json_string_value(value));
        else if (json_is_real(value))
            snprintf(text + used, size - used, "%s=%.4g", key, json_real_value(value));
        else if (json_is_integer(value))
            snprintf(text + used, size - used, "%s=%" JSON_INTEGER_FORMAT, key,
                     json_integer_value(value));
        else if (json_is_true(value))
            snprintf(text + used, size - used, "%s", key);
    }
}

struct duration bench_duration(double seconds)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    struct duration duration;
    double value = 1e9 * seconds;
    int unit = 0;
    while (unit < 3 && value >= 999.5) value /= 1000, unit++;
    snprintf(duration.text, sizeof duration.text, "%.3g %s", value, units[unit]);
    return duration;
}

static void print_row(const struct result *r, double rate, double peak)
{
    char shape[256] = "", more[256] = "";
    append(shape, sizeof shape, r->shape);
    if (r->more) append(more, sizeof more, r->more);
    printf("%-26s\t%7d\t%10s\t%10s\t%8.2f\t%7.3f\t%s\t%s\n", r->name, r->threads,
           bench_duration(r->time.fastest).text, bench_duration(r->time.median).text, rate,
           rate / peak, shape, more);
}

static void print_object(const struct result *r, double rate, double peak)
{
    json_t *line = json_pack("{s:s, s:O, s:i, s:f, s:f, s:f, s:f, s:f, s:i}", "name", r->name,
                             "shape", r->shape, "threads", r->threads, "seconds", r->time.fastest,
                             "gflops", rate, "peak_gflops", peak, "of_peak", rate / peak,
                             "median_seconds", r->time.median, "runs", r->time.runs);
    json_t *environment = bench_environment();
    if (!line || (r->more && json_object_update(line, r->more)) ||
        json_object_set_new(line, "environment", environment) ||
        json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6)))
        bench_fail("a result could not be written");
    putchar('\n');
    json_decref(line);
}

void bench_line(struct bench *b, const struct result *r)
{
    double rate = r->operations / r->time.fastest * 1e-9;
    double peak = r->peak > 0 ? r->peak : bench_peak(r->threads);
    if (b->json)
        print_object(r, rate, peak);
    else
        print_row(r, rate, peak);
    if (fflush(stdout) || ferror(stdout)) bench_fail("standard output cannot be written");
    b->lines++;
    json_decref(r->shape);
    json_decref(r->more);
}
