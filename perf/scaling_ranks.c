/* scaling_ranks.c - runs perf_ranks under mpirun and prints a table of its lines, or the lines. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include "kit/program.h"
#include <stdlib.h>
#include <string.h>

#ifdef PERF_MPI
static const bool with_mpi = true;
#else
static const bool with_mpi = false;
#endif

/* Options of Open MPI that select a transport, valid for versions 4 and 5. */
static const struct {
    const char *name, *options;
} transports[] = {{"shared memory", "--mca pml ob1 --mca btl ^tcp"},
                  {"TCP", "--mca pml ob1 --mca btl self,tcp --mca btl_tcp_if_include lo"}};

/* Times of one model by one transport; 0 if not measured; [1]: without overlap. */
struct steps {
    double seconds[SCALING_RANKS + 1][2];
    char model[32];
};

static void print_steps(struct steps *s, const char *transport)
{
    for (int n = 1; n <= SCALING_RANKS; n++) {
        const double *t = s->seconds[n];
        if (t[0] <= 0) continue;
        double up = s->seconds[1][0] / t[0];
        char ratio[16] = "";
        if (n > 1) snprintf(ratio, sizeof ratio, "%.3f", t[1] / t[0]);
        printf("%-8s\t%-14s\t%5d\t%10s\t%16s\t%8s\t%8.2f\t%10.3f\n", s->model, transport, n,
               bench_duration(t[0]).text, n > 1 ? bench_duration(t[1]).text : "", ratio, up,
               up / n);
    }
    *s = (struct steps){0};
}

static void read_line(struct steps *s, const struct bench *b, const char *text,
                      const char *transport)
{
    json_t *line = json_loads(text, 0, NULL);
    if (!line) bench_fail("perf_ranks printed invalid JSON");
    const char *name = json_string_value(json_object_get(line, "name"));
    int ranks = (int)json_integer_value(json_object_get(line, "ranks"));
    bool step = name && strcmp(name, "rank_step") == 0 && ranks > 0 && ranks <= SCALING_RANKS;
    bool overlap = json_is_true(json_object_get(line, "overlap"));
    if (step) {
        snprintf(s->model, sizeof s->model, "%s",
                 json_string_value(json_object_get(line, "model")));
        s->seconds[ranks][!overlap] = json_real_value(json_object_get(line, "median_seconds"));
    }
    if (b->json)
        fputs(text, stdout);
    else if (!step)
        print_steps(s, transport); /* inputs follow steps */
    json_decref(line);
}

static bool run(const struct bench *b, const char *folder, int ranks, int transport)
{
    struct steps steps = {0};
    char *text = NULL, command[8192], threads[32] = "";
    size_t size = 0;
    int lines = 0;
    if (b->threads_given) snprintf(threads, sizeof threads, "--threads %d", b->threads[0]);
    snprintf(command, sizeof command,
             "mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 %s -n %d "
             "'%sperf_ranks' --json %s %s%s %s",
             transports[transport].options, ranks, folder, threads, b->only ? "--only " : "",
             b->only ? b->only : "",
             b->check   ? "--check"
             : b->quick ? "--quick"
                        : "");
    setenv("PERF_TRANSPORT", transports[transport].name, 1);
    FILE *from = popen(command, "r");
    if (!from) bench_fail("cannot start a process");
    for (; getline(&text, &size, from) > 0; lines++)
        read_line(&steps, b, text, transports[transport].name);
    free(text);
    return pclose(from) == 0 && lines > 0;
}

int scaling_ranks(struct bench *b, const char *folder, int ranks)
{
    if (!with_mpi) {
        fprintf(stderr, "%s: --ranks needs a build with MPI\n", b->program);
        return EXIT_FAILED;
    }
    b->header = "model   \ttransport     \tranks\t    median\t without overlap\t   ratio\tspeed-up"
                "\tefficiency";
    bench_show_header(b);
    for (int t = 0; t < (int)(sizeof transports / sizeof *transports); t++)
        if (!run(b, folder, ranks, t)) {
            fprintf(stderr, "%s: perf_ranks under mpirun failed\n", b->program);
            return EXIT_FAILED;
        }
    return fflush(stdout) || ferror(stdout) ? EXIT_FAILED : EXIT_OK;
}
