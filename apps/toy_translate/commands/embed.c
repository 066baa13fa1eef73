/* embed.c - toy_translate embed: a vector for each line of text. */
#define _POSIX_C_SOURCE 200809L
#include "commands.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXTS_AT_ONCE = 1024 };

static const char purpose[] =
    "Prints the vector of each line of a file or of standard input, as numbers separated by "
    "spaces. The model is a sentence encoder (BERT, RoBERTa or MPNet) in a folder of Hugging Face, "
    "sentence-transformers or CTranslate2, or the encoder of a translator. Pooling, normalization "
    "and the maximum length are taken from the folder.";
static const char examples[] = "  toy_translate embed -m MiniLM sentences.txt\n"
                               "  toy_translate embed -m MiniLM --npy -o vectors.npy sentences.txt";

static void print_vector(const struct encoding *job, const float *vector, size_t line)
{
    if (!job->json) {
        for (size_t j = 0; j < job->width; j++)
            printf("%s%.9g", j > 0 ? " " : "", (double)vector[j]);
        putchar('\n');
        return;
    }
    json_t *list = json_array();
    for (size_t j = 0; j < job->width; j++) put_item(list, number((double)vector[j]));
    print_json(json_pack("{s:I, s:o}", "line", (json_int_t)line, "embedding", list));
}

/* Writes the header of a NumPy array [count][width] (format 1.0), padded to a multiple of 64
   bytes. */
static void print_npy_header(size_t count, size_t width)
{
    char *text =
        xasprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu), }", count, width);
    const size_t size = strlen(text), padded = (10 + size + 1 + 63) / 64 * 64 - 10;
    fwrite("\x93NUMPY\1\0", 1, 8, stdout);
    putchar((int)(padded & 255)), putchar((int)(padded >> 8));
    fputs(text, stdout);
    for (size_t i = size + 1; i < padded; i++) putchar(' ');
    putchar('\n');
    free(text);
}

/* Writes a float with its lowest byte first. */
static void print_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    for (int i = 0; i < 4; i++) putchar((int)(bits >> 8 * i & 255));
}

static int embed_texts(const struct encoding *job, const struct texts *texts)
{
    if (job->npy) print_npy_header(texts->count, job->width);
    for (size_t first = 0, count; first < texts->count; first += count) {
        count = texts->count - first < TEXTS_AT_ONCE ? texts->count - first : TEXTS_AT_ONCE;
        float *vectors = encoding_embed(job, texts->all + first, count);
        if (vectors == NULL) return EXIT_FAILED;
        for (size_t i = 0; i < count && !job->npy; i++)
            print_vector(job, vectors + i * job->width, first + i + 1);
        for (size_t i = 0; i < count * job->width && job->npy; i++) print_float(vectors[i]);
        free(vectors);
    }
    return finish_output();
}

static int embed_to(const struct encoding *job, const struct texts *texts)
{
    struct spool spool;
    if (job->output == NULL) return embed_texts(job, texts);
    int code = spool_begin(&spool);
    if (code != EXIT_OK) return code;
    code = embed_texts(job, texts);
    const int saved = spool_end(&spool, code == EXIT_OK ? job->output : NULL);
    return code == EXIT_OK ? saved : code;
}

int command_embed(int argc, char **argv)
{
    struct encoding job = {.batch_tokens = 2048};
    /* clang-format off */
    struct option_row rows[ENCODING_ROWS + 3] = {
        [ENCODING_ROWS] =
        {"output", OPTION_OUTPUT, &job.output, "FILE", "write the vectors to this file", 0, 0, 0},
        {"json", OPTION_FLAG, &job.json, "", "print JSON, one object per line", 0, 0, 0},
        {"npy", OPTION_FLAG, &job.npy, "", "write an array of NumPy (float32) instead of text", 0, 0, 0},
    };
    /* clang-format on */
    encoding_rows(&job, rows);
    struct command command = {.name = "embed",
                              .arguments = "[FILE]",
                              .max = 1,
                              .purpose = purpose,
                              .examples = examples,
                              .rows = rows,
                              .count = sizeof rows / sizeof *rows};
    int code = options_read(&command, argc, argv);
    if (code != GO_ON) return code;
    if (job.json && job.npy) return usage_error("embed: give --json or --npy, not both");
    return encoding_run(&job, &command, embed_to);
}

/* ---- what embed, similarity and rerank have in common: the options of an encoder, and reading
 * texts from lines ---- */

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
