/* encoding.c - what embed, similarity and rerank have in common: the options of an encoder, and
   reading texts from lines. */
#define _POSIX_C_SOURCE 200809L
#include "commands.h"
#include "kit/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW = 1024 };

void encoding_rows(struct encoding *job, struct option_row rows[ENCODING_ROWS])
{
    /* clang-format off */
    const struct option_row own[ENCODING_ROWS] = {
        model_row(&job->model),
        {"pooling", OPTION_CHOICE, &job->pooling, "mean|first", "the vector of a text is the mean of its rows or the first [the model's setting]", 0, 0, 0},
        {"normalize", OPTION_CHOICE, &job->normalize, "yes|no", "divide vectors by their norm [the model's setting]", 0, 0, 0},
        {"max-tokens", OPTION_INTEGER, &job->max_tokens, "N", "truncate texts to N tokens [the model's setting]", 0, 1 << 24, 0},
        precision_row(&job->precision),
        batch_row(&job->batch_tokens),
        threads_row(&job->threads),
    };
    /* clang-format on */
    memcpy(rows, own, sizeof own);
}

/* Opens job->encoder, which the caller frees. */
static int open_encoder(struct encoding *job, const char *command)
{
    const rapt_encoder_options o = {
        .size = sizeof o,
        .pooling = job->pooling == NULL                 ? RAPT_POOLING_NONE
                   : strcmp(job->pooling, "first") == 0 ? RAPT_POOLING_FIRST
                                                        : RAPT_POOLING_MEAN,
        .normalize = job->normalize == NULL               ? RAPT_NORMALIZE_MODEL
                     : strcmp(job->normalize, "yes") == 0 ? RAPT_NORMALIZE_YES
                                                          : RAPT_NORMALIZE_NO,
        .max_tokens = job->max_tokens,
        .batch_tokens = job->batch_tokens,
        .threads = threads_used(job->threads),
        .precision = precision_of(job->precision)};
    rapt_message why = {""};
    if (job->model == NULL) return usage_error("%s: --model is missing", command);
    if (rapt_encoder_load(&job->encoder, job->model, &o, NULL, &why) != RAPT_OK)
        return failed("%s", why.text);
    job->width = (size_t)rapt_model_config(rapt_encoder_model(job->encoder))->width;
    return EXIT_OK;
}

static void add_text(struct texts *texts, rapt_text line)
{
    if (texts->count == texts->capacity) {
        texts->capacity = texts->capacity ? 2 * texts->capacity : 64;
        texts->all = xreallocarray(texts->all, texts->capacity, sizeof *texts->all);
    }
    char *copy = xcalloc(line.size + 1, 1);
    if (line.size > 0) memcpy(copy, line.bytes, line.size);
    texts->all[texts->count++] = (rapt_text){copy, line.size};
}

int texts_read(struct texts *texts, const char *path)
{
    if (path != NULL && strcmp(path, "-") == 0) path = NULL;
    const int file = path == NULL ? STDIN_FILENO : file_open(path);
    struct lines lines;
    if (file < 0) return failed("%s: %s", path, strerror(errno));
    const char *name = path != NULL ? path : "standard input";
    int code = EXIT_OK;
    lines_open(&lines, file);
    for (size_t count; code == EXIT_OK && (count = lines_next(&lines, WINDOW)) > 0;) {
        if (!lines.begun) code = text_check(name, lines.bytes, lines.size);
        for (size_t i = 0; i < count; i++) add_text(texts, lines_get(&lines, i));
    }
    const int error = lines.error;
    lines_close(&lines);
    if (path != NULL) close(file);
    return error == 0 ? code : failed("%s: %s", name, unpack_error(&lines.source, error));
}

void texts_free(struct texts *texts)
{
    for (size_t i = 0; i < texts->count; i++) free((void *)(uintptr_t)texts->all[i].bytes);
    free(texts->all);
}

int encoding_run(struct encoding *job, const struct command *command, encoding_fn *work)
{
    struct texts texts = {0};
    int code = open_encoder(job, command->name);
    if (code == EXIT_OK)
        code = texts_read(&texts, command->rest_count > 0 ? command->rest[0] : NULL);
    if (code == EXIT_OK) code = work(job, &texts);
    texts_free(&texts);
    rapt_encoder_free(job->encoder);
    return code;
}

float *encoding_embed(const struct encoding *job, const rapt_text *texts, size_t count)
{
    rapt_message why = {""};
    float *vectors = xcalloc(count * job->width, sizeof *vectors);
    if (rapt_encoder_embed(job->encoder, texts, count, vectors, &why) == RAPT_OK) return vectors;
    failed("%s", why.text);
    free(vectors);
    return NULL;
}
