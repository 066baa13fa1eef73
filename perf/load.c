/* load.c - benchmark of opening a model file of 240 MB: plain, which is read and rearranged in
   memory; packed, which is mapped; and packed, but read instead of mapped. The file is in the
   system's page cache, as after a first opening. A base model with random weights and no tokenizer
   is written to TMPDIR, or /tmp, and removed. With --model, opening a folder of Hugging Face
   alternates with reading its model.safetensors into new memory, for comparison. */
#define _GNU_SOURCE /* mkstemp */
#include "bench.h"

#include <rapt/translator.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
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

/* ---- a folder of Hugging Face ---- */

/* Reads a file into new memory, and stores its size. */
static double read_once(const char *path, size_t *size)
{
    struct stat about;
    double start = bench_now();
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &about) != 0)
        bench_fail("--model: the folder has no model.safetensors");
    *size = (size_t)about.st_size;
    char *bytes = malloc(*size);
    if (bytes == NULL) bench_fail("no memory for the file");
    for (size_t at = 0; at < *size;) {
        ssize_t count = read(file, bytes + at, *size - at);
        if (count <= 0) bench_fail("the file cannot be read");
        at += (size_t)count;
    }
    double seconds = bench_now() - start;
    close(file);
    free(bytes);
    return seconds;
}

static double import_once(const char *folder)
{
    rapt_message why = {""};
    rapt_model *model;
    double start = bench_now();
    check_load(rapt_model_import(&model, folder, NULL, &why), &why);
    double seconds = bench_now() - start;
    rapt_model_free(model);
    return seconds;
}

/* Alternates between opening and reading, so that other activity on the machine affects both. */
static void measure_folder(struct bench *b)
{
    static const char *const names[] = {"read", "open"};
    double seconds[2][LOADS];
    char file[4096];
    size_t size = 0;
    const int count = b->check ? 1 : LOADS;
    snprintf(file, sizeof file, "%s/model.safetensors", b->model);
    read_once(file, &size); /* brings the file into the page cache */
    for (int i = 0; i < count; i++) {
        seconds[0][i] = read_once(file, &size);
        seconds[1][i] = import_once(b->model);
    }
    const struct timing read = bench_summary(seconds[0], count);
    for (int n = 0; n < 2; n++) {
        const struct timing time = bench_summary(seconds[n], count);
        bench_line(
            b, &(struct result){.name = names[n],
                                .shape = json_pack("{s:i}", "file_mb", (int)((double)size * 1e-6)),
                                .threads = 1,
                                .time = time,
                                .more = json_pack("{s:f, s:f}", "gbytes_per_second",
                                                  (double)size * 1e-9 / time.fastest,
                                                  "times_reading", time.fastest / read.fastest)});
    }
}

static char model_file[4096];

/* Removes the file, even if the benchmark fails. */
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
    if (b.model) {
        measure_folder(&b);
        return bench_end(&b);
    }
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
