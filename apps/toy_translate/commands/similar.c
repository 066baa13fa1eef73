/* similar.c - toy_translate similarity and rerank: how alike two texts are, and how well texts
   answer a query. */
#include "commands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Divides each line at its tab. */
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
