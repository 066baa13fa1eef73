/* embedder.c - embeds the lines of a file again and again, for embed.py.

   usage: compare_embedder FOLDER LINES VECTORS THREADS

   Writes the vectors to the file VECTORS (float32) and prints "ready". After that, each line of
   standard input makes it embed all lines once more and print the seconds that it took. */
#include "bench.h"

#include <rapt/encoder.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct embedder {
    rapt_encoder *encoder;
    char *bytes;
    rapt_text *lines; /* [count] */
    size_t count;
    float *vectors; /* [count][width] */
};

static void expect_ok(rapt_status status, const rapt_message *why)
{
    if (status) bench_fail(why->text[0] ? why->text : rapt_status_text(status));
}

static FILE *open_file(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);
    if (!file) bench_fail(path);
    return file;
}

static void read_lines(struct embedder *e, const char *path)
{
    FILE *file = open_file(path, "rb");
    if (fseek(file, 0, SEEK_END)) bench_fail(path);
    const size_t size = (size_t)ftell(file);
    rewind(file);
    e->bytes = bench_alloc(size + 1);
    if (fread(e->bytes, 1, size, file) != size) bench_fail(path);
    fclose(file);
    for (size_t i = 0; i < size; i++) e->count += e->bytes[i] == '\n';
    e->lines = bench_alloc((e->count + 1) * sizeof *e->lines);
    const char *at = e->bytes;
    for (size_t i = 0; i < e->count; i++) {
        const char *end = memchr(at, '\n', size - (size_t)(at - e->bytes));
        e->lines[i] = (rapt_text){at, (size_t)(end - at)};
        at = end + 1;
    }
}

static void embed(struct embedder *e)
{
    rapt_message why = {""};
    expect_ok(rapt_encoder_embed(e->encoder, e->lines, e->count, e->vectors, &why), &why);
}

static void start(struct embedder *e, char **argv)
{
    rapt_message why = {""};
    const rapt_encoder_options options = {.size = sizeof options, .threads = atoi(argv[4])};
    expect_ok(rapt_encoder_load(&e->encoder, argv[1], &options, NULL, &why), &why);
    read_lines(e, argv[2]);
    const size_t width = (size_t)rapt_model_config(rapt_encoder_model(e->encoder))->width;
    e->vectors = bench_floats(e->count * width);
    embed(e);
    FILE *file = open_file(argv[3], "wb");
    if (fwrite(e->vectors, sizeof *e->vectors, e->count * width, file) != e->count * width ||
        fclose(file))
        bench_fail(argv[3]);
}

int main(int argc, char **argv)
{
    struct embedder e = {.encoder = NULL};
    char line[8];
    if (argc != 5) bench_fail("usage: compare_embedder FOLDER LINES VECTORS THREADS");
    start(&e, argv);
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        const double begin = bench_now();
        embed(&e);
        printf("%.9f\n", bench_now() - begin);
        fflush(stdout);
    }
    rapt_encoder_free(e.encoder);
    bench_free(e.vectors);
    bench_free(e.lines);
    bench_free(e.bytes);
    return 0;
}
