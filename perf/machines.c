/* machines.c - predicts the time of a step on 8, 64 and 1,024 machines and its parts from lines of
   perf_ranks by the formulas of cluster.c. Prints where and why the efficiency falls below 0.8, and
   how far the formulas are from the measurements. */
#define _POSIX_C_SOURCE 200809L
#include "machines.h"

#include "kit/program.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char program_name[] = "perf_machines";

static const char purpose[] =
    "Predicts training steps on many machines from the measurements of perf_scaling --ranks --json "
    "on one: efficiency, where it falls below 0.8 and why, and the same formulas compared with the "
    "measured ranks.";
static const double enough = 0.8;

struct request {
    const char *measured, *model, *machines, *shards, *svg;
    double latency, bandwidth, message, copying, speed;
    bool json;
};

/* ---- reading the measurements; values that cannot have been measured are refused ---- */

/* Where to read lines of perf_ranks, and which. */
struct source {
    const char *path;  /* "-" for standard input */
    const char *model; /* read only lines of this model; NULL means all */
    double copying;    /* as in struct cluster, for the measured ranks; a negative value means 1 */
    bool json;
    void (*each)(const struct prediction *p, bool json); /* called for each model and transport */
};

static double real_of(const json_t *line, const char *key)
{
    return json_number_value(json_object_get(line, key));
}

static int integer_of(const json_t *line, const char *key)
{
    return (int)json_integer_value(json_object_get(line, key));
}

static const char *text_of(const json_t *line, const char *key)
{
    const char *text = json_string_value(json_object_get(line, key));
    return text != NULL ? text : "";
}

/* Reads the values measured with 1, 2, ... concurrent ranks. Those of one rank are required. */
static void read_together(struct cluster *c, const json_t *line)
{
    const json_t *shards = json_object_get(line, "shard_seconds_together");
    const json_t *steps = json_object_get(line, "step_seconds_together");
    const json_t *bandwidths = json_object_get(line, "bandwidth_together");
    size_t count = json_array_size(shards);
    c->together = 1;
    c->shard_of[0] = c->shard;
    c->step_of[0] = c->step;
    if (count < 1 || count > CLUSTER_SHARED || json_array_size(steps) != count) return;
    c->together = (int)count;
    for (size_t i = 0; i < count; i++) {
        c->shard_of[i] = json_number_value(json_array_get(shards, i));
        c->step_of[i] = json_number_value(json_array_get(steps, i));
        c->bandwidth_of[i] = json_number_value(json_array_get(bandwidths, i));
    }
}

static void read_inputs(struct prediction *p, const json_t *line)
{
    const json_t *shape = json_object_get(line, "shape");
    const char *names[] = {text_of(json_object_get(line, "environment"), "processor"),
                           text_of(line, "transport")};
    p->here = (struct cluster){.shards = integer_of(line, "shards"),
                               .bytes = real_of(line, "bytes"),
                               .shard = real_of(line, "shard_seconds"),
                               .spread = real_of(line, "shard_spread"),
                               .step = real_of(line, "step_seconds"),
                               .sum = real_of(line, "sum_seconds"),
                               .last = real_of(line, "last"),
                               .window = real_of(line, "window"),
                               .latency = real_of(line, "latency_seconds"),
                               .message = real_of(line, "message_seconds"),
                               .bandwidth = real_of(line, "bandwidth"),
                               .copying = 1,
                               .cores = integer_of(line, "cores")};
    read_together(&p->here, line);
    p->tokens = real_of(shape, "pairs") * real_of(shape, "length");
    snprintf(p->model, sizeof p->model, "%d+%d layers of %d, %.3g million parameters",
             integer_of(shape, "encoder_layers"), integer_of(shape, "decoder_layers"),
             integer_of(shape, "width"), p->here.bytes / 4e6);
    snprintf(p->processor, sizeof p->processor, "%s", names[0]);
    snprintf(p->transport, sizeof p->transport, "%s", names[1]);
}

static void read_step(struct prediction *p, const json_t *line)
{
    int ranks = integer_of(line, "ranks"), i = 0;
    double seconds = real_of(line, "median_seconds");
    if (ranks < 1 || ranks > CLUSTER_SHARED || !(seconds > 0)) return;
    while (i < p->measured_count && p->measured[i].ranks != ranks) i++;
    if (i == MEASURED) return;
    if (i == p->measured_count) p->measured[p->measured_count++] = (struct measured){ranks, 0, 0};
    if (json_is_true(json_object_get(line, "overlap")))
        p->measured[i].seconds = seconds;
    else
        p->measured[i].without = seconds;
}

static bool is_power(int number)
{
    return number > 0 && (number & (number - 1)) == 0;
}

static bool is_usable(const struct cluster *c)
{
    return is_power(c->shards) && c->shards <= 1024 && c->shard > 0 && c->bytes > 0 &&
           c->cores > 0 && c->cores <= CLUSTER_SHARED;
}

/* Inputs follow the steps of their model. */
static int read_lines(struct prediction *p, const struct source *from, FILE *file)
{
    char *text = NULL;
    size_t size = 0;
    struct prediction next = {0};
    while (getline(&text, &size, file) > 0) {
        json_t *line = json_loads(text, 0, NULL);
        const char *name = text_of(line, "name");
        bool wanted = from->model == NULL || strcmp(text_of(line, "model"), from->model) == 0;
        if (wanted && strcmp(name, "rank_step") == 0) read_step(&next, line);
        if (wanted && strcmp(name, "rank_inputs") == 0) {
            read_inputs(&next, line);
            *p = next;
            next = (struct prediction){0};
            if (from->copying >= 0) p->here.copying = from->copying;
            if (is_usable(&p->here)) from->each(p, from->json);
        }
        json_decref(line);
    }
    free(text);
    if (is_usable(&p->here)) return EXIT_OK;
    return failed("%s: no valid line of rank_inputs%s%s", from->path,
                  from->model != NULL ? " of " : "", from->model != NULL ? from->model : "");
}

/* Reads the file and leaves the data of its last model and transport in *p. Returns 0, or an exit
   code after a message. */
static int read_measurements(struct prediction *p, const struct source *from)
{
    bool standard = strcmp(from->path, "-") == 0;
    FILE *file = standard ? stdin : fopen(from->path, "r");
    if (file == NULL) return failed("%s cannot be opened", from->path);
    int code = read_lines(p, from, file);
    if (!standard) fclose(file);
    return code;
}

/* ---- measurements compared with the formulas ---- */

static void put_terms(json_t *line, const double terms[TERMS])
{
    static const char *const keys[TERMS] = {"shards", "wait",   "records", "scatter",
                                            "sum",    "gather", "step"};
    json_t *object = json_object();
    for (int i = 0; i < TERMS; i++) put_member(object, keys[i], number(terms[i]));
    put_member(line, "terms", object);
}

/* Prints the results of the formulas next to the measurements on one machine. */
static void say_check(const struct prediction *p, bool json)
{
    double terms[TERMS], worst = 0;
    if (!json)
        printf(
            "# %s; ranks on one machine by %s\nranks\tmeasured ms\twithout overlap\ttimes\tspeed-up"
            "\tcomputed ms\tdeviation\n",
            p->model, p->transport);
    for (int i = 0; i < p->measured_count; i++) {
        const struct measured *m = &p->measured[i];
        if (m->ranks > p->here.shards || m->seconds <= 0) continue;
        double seconds = cluster_time(&p->here, m->ranks, terms);
        double off = seconds / m->seconds - 1;
        worst = fmax(worst, fabs(off));
        if (json) {
            json_t *line =
                json_pack("{s:s, s:s, s:i, s:f, s:f, s:f, s:f}", "name", "check", "transport",
                          p->transport, "ranks", m->ranks, "measured", m->seconds, "without",
                          m->without, "seconds", seconds, "deviation", off);
            put_terms(line, terms);
            print_json(line);
        } else {
            printf("%d\t%.4g\t%.4g\t%.3f\t%.2f\t%.4g\t%+.1f %%\n", m->ranks, m->seconds * 1e3,
                   m->without * 1e3, m->without / m->seconds, p->measured[0].seconds / m->seconds,
                   seconds * 1e3, 100 * off);
        }
    }
    if (!json) printf("# largest deviation: %.1f %%\n", 100 * worst);
}

/* ---- predictions ---- */

/* Reads a list such as "8,64,1024". Returns its length, or 0 if the text is not such a list. */
static int read_list(const char *text, int *list, int capacity, int max)
{
    int count = 0;
    for (;; text++) {
        char *end;
        long value = strtol(text, &end, 10);
        if (end == text || value < 1 || value > max || count == capacity) return 0;
        list[count++] = (int)value;
        if (*end == 0) return count;
        if (*end != ',') return 0;
        text = end;
    }
}

static struct cluster cluster_of(const struct prediction *p, const struct request *r, int shards)
{
    struct cluster c = p->here;
    c.shards = shards;
    c.cores = 0;
    c.shard /= r->speed, c.step /= r->speed, c.sum /= r->speed;
    c.copying = r->copying > 0 ? r->copying : 0;
    c.latency = r->latency, c.bandwidth = r->bandwidth, c.message = r->message;
    return c;
}

/* Adds the given interconnect, or two common ones if none is given. */
static void add_links(struct prediction *p, const struct request *request, const int *shards)
{
    const double usual[LINKS][2] = {{30e-6, 1.25e9}, {3e-6, 12.5e9}};
    bool given = request->bandwidth > 0;
    int links = given ? 1 : LINKS;
    p->links = links;
    for (int l = 0; l < links; l++) {
        struct request r = *request;
        if (!given) r.bandwidth = usual[l][1];
        if (r.latency <= 0) r.latency = usual[given ? 0 : l][0];
        for (int b = 0; b < p->batches; b++) p->cluster[l][b] = cluster_of(p, &r, shards[b]);
        snprintf(p->link[l], sizeof p->link[l], "%.3g Gbit/s, %.3g us", r.bandwidth * 8e-9,
                 r.latency * 1e6);
    }
}

static int plan(struct prediction *p, const struct request *request)
{
    int shards[BATCHES] = {0};
    p->counts = read_list(request->machines, p->machines, COUNTS, 1024);
    p->batches = read_list(request->shards, shards, BATCHES, 1024);
    if (p->counts == 0)
        return usage_error("--machines '%s': give a list of numbers up to 1024", request->machines);
    for (int b = 0; b < p->batches; b++)
        if (!is_power(shards[b])) p->batches = 0;
    if (p->batches == 0)
        return usage_error("--shards '%s': give at most three powers of two up to 1024",
                           request->shards);
    add_links(p, request, shards);
    return EXIT_OK;
}

/* ---- output ---- */

static void say_step(const struct prediction *p, int l, int b, int machines, bool json)
{
    const struct cluster *c = &p->cluster[l][b];
    double terms[TERMS], seconds = cluster_time(c, machines, terms);
    double efficiency = cluster_efficiency(c, machines), tokens = p->tokens * c->shards;
    const char *why = cluster_names[cluster_excess(c, machines)];
    if (json) {
        json_t *line = json_pack("{s:s, s:s, s:i, s:i, s:f, s:f, s:f, s:s}", "name", "machines",
                                 "link", p->link[l], "shards", c->shards, "machines", machines,
                                 "seconds", seconds, "efficiency", efficiency, "tokens_per_second",
                                 tokens / seconds, "excess", why);
        put_terms(line, terms);
        print_json(line);
        return;
    }
    printf("%-20s\t%6d\t%8d\t%10.4g\t%10.3f\t%12.0f", p->link[l], c->shards, machines,
           seconds * 1e3, efficiency, tokens / seconds);
    for (int i = 0; i < TERMS; i++) printf("\t%.3g", terms[i] * 1e3);
    printf("\t%s\n", efficiency < enough ? why : "");
}

static void say_limit(const struct prediction *p, int l, int b, bool json)
{
    const struct cluster *c = &p->cluster[l][b];
    int limit = cluster_limit(c, enough);
    const char *why = limit > 0 ? cluster_names[cluster_excess(c, limit)] : NULL;
    if (json)
        print_json(json_pack("{s:s, s:s, s:i, s:i, s:s?}", "name", "limit", "link", p->link[l],
                             "shards", c->shards, "machines", limit, "excess", why));
    else if (limit > 0)
        printf("# %s, %d shards: efficiency below %g from %d machines on: %s\n", p->link[l],
               c->shards, enough, limit, why);
    else
        printf("# %s, %d shards: efficiency above %g up to %d machines\n", p->link[l], c->shards,
               enough, c->shards);
}

static void say_all(const struct prediction *p, bool json)
{
    if (!json) {
        printf("# %s; a machine computes as one rank here\n", p->model);
        printf("%-20s\t%6s\t%8s\t%10s\t%10s\t%12s", "interconnect", "shards", "machines", "step ms",
               "efficiency", "tokens/s");
        for (int i = 0; i < TERMS; i++) printf("\t%s", cluster_names[i]);
        printf("\tbelow %g because of\n", enough);
    }
    for (int l = 0; l < p->links; l++)
        for (int b = 0; b < p->batches; b++) {
            for (int i = 0; i < p->counts; i++)
                if (p->machines[i] <= p->cluster[l][b].shards)
                    say_step(p, l, b, p->machines[i], json);
            say_limit(p, l, b, json);
        }
}

int main(int argc, char **argv)
{
    static struct prediction p;
    struct request r = {.measured = "-",
                        .machines = "1,8,64,1024",
                        .shards = "64,1024",
                        .message = 1e-6,
                        .speed = 1};
    struct option_row rows[] = {
        {"measured", OPTION_INPUT, &r.measured, "FILE",
         "lines of perf_scaling --ranks --json; - means standard input", 0, 0, false},
        {"model", OPTION_CHOICE, &r.model, "tiny|base|check",
         "read only lines of this model [the last one in the file]", 0, 0, false},
        {"machines", OPTION_TEXT, &r.machines, "N,N", "numbers of machines, to 1024", 0, 0, false},
        {"shards", OPTION_TEXT, &r.shards, "N,N",
         "numbers of shards per step, which determine the global batch", 0, 0, false},
        {"latency", OPTION_REAL, &r.latency, "S",
         "latency of the interconnect per message, in seconds; 0: a usual one", 0, 10, false},
        {"bandwidth", OPTION_REAL, &r.bandwidth, "B",
         "bandwidth of the interconnect in bytes per second, each way; 0: two usual interconnects",
         0, 1e15, false},
        {"message", OPTION_REAL, &r.message, "S",
         "time that a message takes the processor, in seconds", 0, 1, false},
        {"copying", OPTION_REAL, &r.copying, "F",
         "part of a transfer during which nothing is computed [0; 1 for ranks of one machine]", 0,
         1, false},
        {"speed", OPTION_REAL, &r.speed, "X",
         "speed of a machine, relative to one rank that was measured", 1e-3, 1e6, false},
        {"svg", OPTION_OUTPUT, &r.svg, "FILE", "write a figure", 0, 0, false},
        {"json", OPTION_FLAG, &r.json, "", "one JSON object per line", 0, 0, false}};
    struct command command = {.name = "",
                              .arguments = "",
                              .purpose = purpose,
                              .rows = rows,
                              .count = (int)(sizeof rows / sizeof *rows)};
    int code = options_read(&command, argc, argv);
    if (code != GO_ON) return code;
    if (!option_given(&command, "copying")) r.copying = -1;
    code =
        read_measurements(&p, &(struct source){r.measured, r.model, r.copying, r.json, say_check});
    if (code == EXIT_OK) code = plan(&p, &r);
    if (code == EXIT_OK) say_all(&p, r.json);
    if (code == EXIT_OK && r.svg != NULL) code = machines_figure(r.svg, &p);
    return code == EXIT_OK ? finish_output() : code;
}
