/* judge.c - toy_translate score: prints the log-probability of given translations, one line per
   pair. */
#include "commands.h"
#include <math.h>
#include <stdlib.h>

static const char purpose[] =
    "Prints the log-probability (natural logarithm) of each target sentence given its source, "
    "including the end token. --normalize divides it by the number of target tokens, including the "
    "end token. --words appends a tab and the log-probability of each word. At the end, the "
    "perplexity per token of all pairs is printed on standard error.\n\n"
    "A skipped pair gives an empty line. A pair with too many tokens gives an empty line, a "
    "message, and exit status 1.";

static const char examples[] =
    "  toy_translate score -m m.safetensors --data test.tsv\n"
    "  toy_translate score -m m.safetensors --source a.en --target a.de --json";

struct judging {
    rapt_translator *translator;
    const struct pairs *pairs;
    bool normalize, words, json;
    double sum;       /* over all pairs */
    long long tokens; /* including end tokens */
    struct raw raw;   /* the targets */
    size_t line;      /* the last line of the pairs' file for which a result was printed */
    bool wrong;
};

/* Returns the log-probability of each word; the last is the end token. The caller frees it. */
static double *sums_of(const struct words *words, const rapt_text_score *s)
{
    double *sums = xcalloc((size_t)words->count, sizeof *sums);
    for (int t = 0; t < words->tokens; t++)
        sums[words->of_token[t]] += (double)s->log_probabilities[t];
    return sums;
}

static void print_words(const struct words *words, const double *sums)
{
    for (int w = 0; w < words->count; w++) {
        char *text = printable(words->texts[w]);
        printf("%s%s %.4f", w > 0 ? "  " : "\t", text, sums[w]);
        free(text);
    }
}

static json_t *pair_json(const struct words *words, const double *sums, size_t line,
                         const rapt_text_score *s)
{
    json_t *list = json_array();
    for (int w = 0; w < words->count; w++) {
        char *text = printable(words->texts[w]);
        put_item(list, json_pack("[s, o]", text, number(sums[w])));
        free(text);
    }
    return json_pack("{s:I, s:o, s:i, s:o}", "line", (json_int_t)line, "log_probability",
                     number(s->sum), "tokens", s->target_count + 1, "words", list);
}

/* Prints the result of a line that has no score. */
static void print_none(const struct judging *job, size_t line)
{
    if (job->json)
        print_json(json_pack("{s:I, s:n}", "line", (json_int_t)line, "log_probability"));
    else
        putchar('\n');
}

/* Prints the results of the lines before `end`, whose pairs were skipped. */
static void skip_to(struct judging *job, size_t end)
{
    while (++job->line < end) print_none(job, job->line);
}

static int score_callback(void *user, const rapt_text_score *s)
{
    struct judging *job = user;
    struct words words;
    size_t line = job->pairs->line[s->pair];
    skip_to(job, line);
    if (s->status != RAPT_OK) {
        print_message("%s:%zu: more tokens than the model supports; the line is left empty",
                      job->pairs->name, line);
        job->wrong = true;
        print_none(job, line);
        return 0;
    }
    job->sum += s->sum;
    job->tokens += s->target_count + 1;
    raw_add(&job->raw, rapt_translator_target(job->translator), s->target, s->target_count);
    words_make(&words, rapt_translator_target(job->translator), s->target, s->target_count);
    double *sums = sums_of(&words, s);
    if (job->json) {
        print_json(pair_json(&words, sums, line, s));
    } else {
        printf("%.4f", job->normalize ? s->sum / (s->target_count + 1) : s->sum);
        if (job->words) print_words(&words, sums);
        putchar('\n');
    }
    free(sums);
    words_free(&words);
    return ferror(stdout) != 0;
}

static int score_files(struct judging *job, const struct search *search, struct pairs *pairs)
{
    rapt_message why = {""};
    int code = search_open(search, "score", &job->translator);
    job->pairs = pairs;
    if (code == EXIT_OK &&
        rapt_translator_score(job->translator, pairs->source, pairs->target, pairs->count,
                              score_callback, job, &why) != RAPT_OK)
        code = failed("%s", why.text);
    if (code == EXIT_OK)
        raw_report(&job->raw, rapt_translator_target(job->translator), search->model,
                   "the scores are meaningless");
    if (code == EXIT_OK) skip_to(job, pairs->lines + 1);
    if (code == EXIT_OK) code = finish_output();
    if (code == EXIT_OK && job->tokens > 0)
        print_report("%zu %s, %lld tokens, perplexity %.4g", pairs->count,
                     pairs->count == 1 ? "pair" : "pairs", job->tokens,
                     exp(-job->sum / (double)job->tokens));
    search_close(job->translator);
    return code == EXIT_OK && job->wrong ? EXIT_FAILED : code;
}

int command_score(int argc, char **argv)
{
    struct judging job = {0};
    struct search search = search_default;
    struct pairs pairs = {0};
    struct pair_files files = {0};
    /* clang-format off */
    struct option_row rows[PAIR_ROWS + 9] = {
        [PAIR_ROWS] =
        model_row(&search.model),
        precision_row(&search.precision),
        {"normalize", OPTION_FLAG, &job.normalize, "", "print the mean log-probability per token", 0, 0, 0},
        {"words", OPTION_FLAG, &job.words, "", "also print the log-probability of each word", 0, 0, 0},
        source_language_row(&search.source_language),
        target_language_row(&search.target_language),
        batch_row(&search.batch_tokens),
        threads_row(&search.threads),
        {"json", OPTION_FLAG, &job.json, "", "print one JSON object per pair, with the words of the target", 0, 0, 0},
    };
    /* clang-format on */
    pair_rows(&files, rows);
    struct command command = {.name = "score",
                              .arguments = "",
                              .purpose = purpose,
                              .examples = examples,
                              .rows = rows,
                              .count = sizeof rows / sizeof *rows};
    int code = options_read(&command, argc, argv);
    if (code != GO_ON) return code;
    code = pair_files_check(&files, "score");
    if (code != EXIT_OK) return code;
    if (search.model == NULL) return usage_error("score: --model is missing");
    code = pairs_read(&pairs, &files);
    if (code == EXIT_OK) code = score_files(&job, &search, &pairs);
    pairs_free(&pairs);
    return code;
}
