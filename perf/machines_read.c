/* machines_read.c - reads the parts of a step from lines of perf_ranks, and refuses values that
   cannot have been measured. */
#define _POSIX_C_SOURCE 200809L
#include "machines.h"

#include "kit/program.h"
#include <stdlib.h>
#include <string.h>

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

bool is_power(int number)
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

int machines_read(struct prediction *p, const struct source *from)
{
    bool standard = strcmp(from->path, "-") == 0;
    FILE *file = standard ? stdin : fopen(from->path, "r");
    if (file == NULL) return failed("%s cannot be opened", from->path);
    int code = read_lines(p, from, file);
    if (!standard) fclose(file);
    return code;
}
