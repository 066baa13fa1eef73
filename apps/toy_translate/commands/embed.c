/* embed.c - toy_translate embed, similarity and rerank: print a vector for each line of text, how
   similar two texts are, and how well texts answer a query. */
#define _POSIX_C_SOURCE 200809L
#include "commands.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the options of an encoder, and reading texts from lines ---- */

struct encoding {
    const char *model, *pooling, *normalize, *precision, *output, *query; /* NULL if not given */
    int max_tokens, batch_tokens, threads,
        top; /* max_tokens 0 means the model's; top 0 means all */
    bool json, npy;
    rapt_encoder *encoder;
    size_t width; /* of a vector */
};
enum { ENCODING_ROWS = 7 };
typedef int encoding_fn(const struct encoding *job, const struct texts *texts);

enum { WINDOW = 1024 };

static void encoding_rows(struct encoding *job, struct option_row rows[ENCODING_ROWS])
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

/* Opens job->encoder, reads the command's file or standard input, and calls `work`. */
static int encoding_run(struct encoding *job, const struct command *command, encoding_fn *work)
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

/* Returns the vectors of texts [count][width], or NULL after a message. The caller frees them. */
static float *encoding_embed(const struct encoding *job, const rapt_text *texts, size_t count)
{
    rapt_message why = {""};
    float *vectors = xcalloc(count * job->width, sizeof *vectors);
    if (rapt_encoder_embed(job->encoder, texts, count, vectors, &why) == RAPT_OK) return vectors;
    failed("%s", why.text);
    free(vectors);
    return NULL;
}

/* ---- embed ---- */

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

static const char similarity_purpose[] =
    "Prints the cosine of the vectors of two texts. Each line of the file or of standard input "
    "contains two texts, separated by a tab. With --query each line contains one text, and the "
    "lines are printed with their cosine to the query, the most similar first.";
static const char similarity_examples[] =
    "  printf 'A cat.\\tA kitten.\\n' | toy_translate similarity -m MiniLM\n"
    "  toy_translate similarity -m MiniLM --query 'lost my key' --top 3 faq.txt";
static const char rerank_purpose[] =
    "Prints the lines of a file or of standard input with their scores as answers to a query, the "
    "best first. The model is a cross-encoder: a folder of Hugging Face with a classifier of one "
    "class, which reads query and text together.";
static const char rerank_examples[] =
    "  toy_translate rerank -m ms-marco --query 'how big is Berlin?' texts.txt";

/* ---- lines by score ---- */

struct scored {
    double score;
    size_t line; /* from 0 */
};

/* Orders by decreasing score, with NaN last, and equal scores by line. */
static int by_score(const void *a, const void *b)
{
    const struct scored *x = a, *y = b;
    if (isnan(x->score) != isnan(y->score)) return isnan(x->score) ? 1 : -1;
    if (x->score > y->score || x->score < y->score) return x->score > y->score ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

static void print_scored(const struct encoding *job, const struct scored *s, rapt_text text)
{
    if (job->json) {
        char *shown = printable(text);
        print_json(json_pack("{s:I, s:o, s:s}", "line", (json_int_t)s->line + 1, "score",
                             number(s->score), "text", shown));
        free(shown);
        return;
    }
    printf("%.6f\t", s->score);
    fwrite(text.bytes, 1, text.size, stdout);
    putchar('\n');
}

/* Prints the lines, the highest score first, at most job->top unless that is 0. */
static int print_ranking(const struct encoding *job, const struct texts *texts,
                         struct scored *scored)
{
    size_t count = texts->count;
    if (count > 0) qsort(scored, count, sizeof *scored, by_score);
    if (job->top > 0 && (size_t)job->top < count) count = (size_t)job->top;
    for (size_t i = 0; i < count; i++) print_scored(job, &scored[i], texts->all[scored[i].line]);
    return finish_output();
}

/* ---- similarity ---- */

static double cosine(const float *x, const float *y, size_t width)
{
    double both = 0, xx = 0, yy = 0;
    for (size_t j = 0; j < width; j++) {
        both += (double)x[j] * (double)y[j];
        xx += (double)x[j] * (double)x[j], yy += (double)y[j] * (double)y[j];
    }
    return xx > 0 && yy > 0 ? both / sqrt(xx * yy) : 0;
}

static int rank_by_cosine(const struct encoding *job, const struct texts *texts)
{
    const rapt_text query = {job->query, strlen(job->query)};
    float *vectors = encoding_embed(job, texts->all, texts->count),
          *asked = encoding_embed(job, &query, 1);
    struct scored *scored = xcalloc(texts->count, sizeof *scored);
    int code = vectors != NULL && asked != NULL ? EXIT_OK : EXIT_FAILED;
    for (size_t i = 0; code == EXIT_OK && i < texts->count; i++)
        scored[i] = (struct scored){cosine(asked, vectors + i * job->width, job->width), i};
    if (code == EXIT_OK) code = print_ranking(job, texts, scored);
    free(scored);
    free(vectors);
    free(asked);
    return code;
}

/* Divides each line at its first tab. */
static int split_pairs(const struct texts *lines, rapt_text *halves)
{
    for (size_t i = 0; i < lines->count; i++) {
        const rapt_text line = lines->all[i];
        const char *tab = line.size > 0 ? memchr(line.bytes, '\t', line.size) : NULL;
        if (tab == NULL)
            return failed("line %zu has no tab between two texts; with --query a line has one text",
                          i + 1);
        const size_t size = (size_t)(tab - line.bytes);
        halves[2 * i] = (rapt_text){line.bytes, size};
        halves[2 * i + 1] = (rapt_text){tab + 1, line.size - size - 1};
    }
    return EXIT_OK;
}

static int print_cosines(const struct encoding *job, const struct texts *lines)
{
    rapt_text *halves = xcalloc(2 * lines->count, sizeof *halves);
    int code = split_pairs(lines, halves);
    float *vectors = code == EXIT_OK ? encoding_embed(job, halves, 2 * lines->count) : NULL;
    if (vectors == NULL) code = EXIT_FAILED;
    for (size_t i = 0; code == EXIT_OK && i < lines->count; i++) {
        const float *first = vectors + 2 * i * job->width;
        const double score = cosine(first, first + job->width, job->width);
        if (job->json)
            print_json(json_pack("{s:I, s:o}", "line", (json_int_t)i + 1, "score", number(score)));
        else
            printf("%.6f\n", score);
    }
    free(vectors);
    free(halves);
    return code == EXIT_OK ? finish_output() : code;
}

int command_similarity(int argc, char **argv)
{
    struct encoding job = {.batch_tokens = 2048};
    /* clang-format off */
    struct option_row rows[ENCODING_ROWS + 3] = {
        [ENCODING_ROWS] =
        {"query", OPTION_TEXT, &job.query, "TEXT", "compare every line with this text", 0, 0, 0},
        {"top", OPTION_INTEGER, &job.top, "N", "with --query, print only the N most similar lines; 0: all", 0, 1 << 30, 0},
        {"json", OPTION_FLAG, &job.json, "", "print JSON, one object per line", 0, 0, 0},
    };
    /* clang-format on */
    encoding_rows(&job, rows);
    struct command command = {.name = "similarity",
                              .arguments = "[FILE]",
                              .max = 1,
                              .purpose = similarity_purpose,
                              .examples = similarity_examples,
                              .rows = rows,
                              .count = sizeof rows / sizeof *rows};
    int code = options_read(&command, argc, argv);
    if (code != GO_ON) return code;
    if (job.top > 0 && job.query == NULL) return usage_error("similarity: --top needs --query");
    return encoding_run(&job, &command, job.query != NULL ? rank_by_cosine : print_cosines);
}

/* ---- rerank ---- */

static int rank_by_classifier(const struct encoding *job, const struct texts *texts)
{
    const int classes = rapt_model_config(rapt_encoder_model(job->encoder))->target_vocab;
    rapt_message why = {""};
    if (classes != 1)
        return failed("%s: rerank needs a classifier of one class, and the model has %d%s",
                      job->model, classes, classes == 0 ? "; try similarity --query" : "");
    rapt_text *queries = xcalloc(texts->count, sizeof *queries);
    float *logits = xcalloc(texts->count, sizeof *logits);
    struct scored *scored = xcalloc(texts->count, sizeof *scored);
    int code = EXIT_OK;
    for (size_t i = 0; i < texts->count; i++)
        queries[i] = (rapt_text){job->query, strlen(job->query)};
    if (rapt_encoder_classify(job->encoder, queries, texts->all, texts->count, logits, &why))
        code = failed("%s", why.text);
    for (size_t i = 0; i < texts->count; i++) scored[i] = (struct scored){(double)logits[i], i};
    if (code == EXIT_OK) code = print_ranking(job, texts, scored);
    free(scored);
    free(logits);
    free(queries);
    return code;
}

int command_rerank(int argc, char **argv)
{
    struct encoding job = {.batch_tokens = 2048};
    /* clang-format off */
    struct option_row rows[] = {
        model_row(&job.model),
        {"query", OPTION_TEXT, &job.query, "TEXT", "the query", 0, 0, 0},
        {"top", OPTION_INTEGER, &job.top, "N", "print only the N best lines; 0: all", 0, 1 << 30, 0},
        {"max-tokens", OPTION_INTEGER, &job.max_tokens, "N", "truncate query and text to N tokens [the model's setting]", 0, 1 << 24, 0},
        batch_row(&job.batch_tokens),
        threads_row(&job.threads),
        {"json", OPTION_FLAG, &job.json, "", "print JSON, one object per line", 0, 0, 0},
    };
    /* clang-format on */
    struct command command = {.name = "rerank",
                              .arguments = "[FILE]",
                              .max = 1,
                              .purpose = rerank_purpose,
                              .examples = rerank_examples,
                              .rows = rows,
                              .count = sizeof rows / sizeof *rows};
    int code = options_read(&command, argc, argv);
    if (code != GO_ON) return code;
    if (job.query == NULL) return usage_error("rerank: --query is missing");
    return encoding_run(&job, &command, rank_by_classifier);
}
