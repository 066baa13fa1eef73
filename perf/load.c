/* load.c - benchmark of opening a model file of 240 MB: plain, which is read and rearranged in
   memory; packed, which is mapped; and packed but read. The file is in the cache of the system, as
   it is after the first time. A base model with random weights and no tokenizer is written to
   TMPDIR, or /tmp, and removed. */
#define _GNU_SOURCE /* mkstemp */
#include "bench.h"

#include <rapt/transformer.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LOADS = 10, VOCAB = 32000, CHECKED = 100 };

static const struct way {
    const char *label;
    int packed, no_mapping;
} ways[] = {{"plain", 0, 0}, {"packed", 1, 0}, {"packed_read", 1, 1}};

static void check_load(rapt_status status, const rapt_message *why)
{
    if (status) bench_fail(why->text[0] ? why->text : rapt_status_text(status));
}

static rapt_model *make_model(int vocab)
{
    rapt_config config = {.size = sizeof config};
    rapt_message why = {""};
    rapt_model *model;
    check_load(rapt_config_preset(&config, vocab == VOCAB ? "base" : "tiny", vocab, &why), &why);
    check_load(rapt_model_create(&model, &config, 1, NULL, &why), &why);
    return model;
}

static double load_once(const char *path, const struct way *way)
{
    const rapt_load_options options = {.size = sizeof options, .no_mapping = way->no_mapping};
    rapt_message why = {""};
    rapt_model *model;
    double start = bench_now();
    check_load(rapt_model_load_with(&model, path, &options, NULL, &why), &why);
    double seconds = bench_now() - start;
    rapt_model_free(model);
    return seconds;
}

static void measure_load(struct bench *b, const rapt_model *model, const char *path,
                         const struct way *way)
{
    const rapt_save_options options = {.size = sizeof options, .packed = way->packed};
    double seconds[LOADS];
    int count = b->check ? 1 : LOADS;
    rapt_message why = {""};
    check_load(rapt_model_save_with(model, path, &options, NULL, 0, &why), &why);
    for (int i = 0; i < count; i++) seconds[i] = load_once(path, way);
    struct timing time = bench_summary(seconds, count);
    double bytes = 4 * (double)rapt_model_parameters(model);
    bench_line(
        b, &(struct result){
               .name = "load",
               .shape = json_pack("{s:i, s:b, s:b}", "weights_mb", (int)(bytes * 1e-6), "packed",
                                  way->packed, "mapped", way->packed && !way->no_mapping),
               .threads = 1,
               .time = time,
               .more = json_pack("{s:f}", "gbytes_per_second", bytes * 1e-9 / time.fastest)});
}

static char model_file[4096];

/* Also runs if the benchmark fails. */
static void remove_file(void)
{
    unlink(model_file);
}

int main(int argc, char **argv)
{
    struct bench b;
    int code = bench_begin(&b, argc, argv, "Measures opening a model file of 240 MB.",
                           "load, plain, packed, packed_read");
    if (code != BENCH_GO_ON) return code;
    const char *folder = getenv("TMPDIR");
    snprintf(model_file, sizeof model_file, "%s/rapt-perf-XXXXXX", folder ? folder : "/tmp");
    int file = mkstemp(model_file);
    if (file < 0) bench_fail("cannot create a file in TMPDIR or /tmp");
    close(file);
    atexit(remove_file);
    rapt_model *model = make_model(b.check ? CHECKED : VOCAB);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (bench_wants(&b, "load", ways[i].label)) measure_load(&b, model, model_file, &ways[i]);
    rapt_model_free(model);
    return bench_end(&b);
}
