/* translate.c - toy_translate translate: lines from standard input, translations to standard
   output, in order. Works in windows of lines, so memory does not grow with the input; a window
   ends where the input pauses, and is answered then. */
#define _POSIX_C_SOURCE 200809L
#include "kit/lines.h"
#include "toy.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW = 4096 };

static const char purpose[] =
    "Translates standard input line by line to standard output. An empty line gives an empty line; "
    "so does one that is not UTF-8 or has more tokens than the model has positions, with a message "
    "and exit status 1 at the end. Lines are answered as soon as the input pauses.\n\n"
    "--scores appends a tab and the score. --alignments appends a tab and, for each word of the "
    "translation, I-J: word J, from 0, attends most to word I of the source (Pharaoh format). "
    "--nbest N, N > 1, prints up to N lines per sentence: its number from 0 ||| the translation "
    "||| "
    "the score, and with --alignments ||| the alignment.";

static const char examples[] =
    "  toy_translate translate -m m.safetensors <input.txt >output.txt\n"
    "  echo \"A dog runs.\" | toy_translate translate -m m.safetensors --nbest 3";

struct job {
    rapt_translator *translator;
    bool scores, alignments;
    int nbest;
    size_t first; /* number of the window's first sentence, from 0 */
    bool wrong;   /* a line could not be translated */
    size_t count;
    struct lines lines;
    rapt_text texts[WINDOW];
};

static void print_alignment(const struct job *job, const rapt_translation *t)
{
    struct words source, target;
    if (t->alignment == NULL) return;
    words_make(&source, rapt_translator_source(job->translator), t->source, t->source_count);
    words_make(&target, rapt_translator_target(job->translator), t->target, t->target_count);
    size_t columns = (size_t)source.count;
    float *grid = xcalloc((size_t)target.count * columns, sizeof *grid);
    words_fold(&source, &target, t->alignment, grid);
    for (int w = 0; w + 1 < target.count && columns > 1; w++) {
        size_t best = 0;
        for (size_t s = 1; s + 1 < columns; s++)
            if (grid[(size_t)w * columns + s] > grid[(size_t)w * columns + best]) best = s;
        printf("%s%zu-%d", w > 0 ? " " : "", best, w);
    }
    free(grid);
    words_free(&source);
    words_free(&target);
}

static int callback(void *user, const rapt_translation *t)
{
    struct job *job = user;
    char *text = printable((rapt_text){t->text, t->size});
    if (t->status != RAPT_OK) {
        int positions = rapt_model_config(rapt_translator_model(job->translator))->positions;
        print_message(
            "standard input:%zu: more tokens than the model's %d positions; the line is left empty",
            job->first + t->sentence + 1, positions);
        job->wrong = true;
    }
    bool many = job->nbest > 1;
    if (many)
        printf("%zu ||| %s ||| %.4f", job->first + t->sentence, text, (double)t->score);
    else
        fputs(text, stdout);
    if (job->scores && !many) printf("\t%.4f", (double)t->score);
    if (job->alignments) {
        fputs(many ? " ||| " : "\t", stdout);
        print_alignment(job, t);
    }
    putchar('\n');
    free(text);
    return ferror(stdout) != 0;
}

/* Line `index` of the window; empty if it is blank or not UTF-8. */
static rapt_text text_of(struct job *job, size_t index)
{
    rapt_text text = lines_get(&job->lines, index);
    size_t bad = rapt_utf8_valid(text), blank = 0;
    if (bad < text.size) {
        print_message("standard input:%zu: byte %zu is not valid UTF-8; the line is left empty",
                      job->first + index + 1, bad + 1);
        job->wrong = true;
        text.size = 0;
    }
    while (blank < text.size && (text.bytes[blank] == ' ' || text.bytes[blank] == '\t')) blank++;
    if (blank == text.size) text.size = 0;
    return text;
}

static int run(struct job *job)
{
    int code = EXIT_OK;
    lines_open(&job->lines, STDIN_FILENO);
    while (code == EXIT_OK && (job->count = lines_next(&job->lines, WINDOW)) > 0) {
        rapt_message why = {""};
        for (size_t i = 0; i < job->count; i++) job->texts[i] = text_of(job, i);
        if (rapt_translate_many(job->translator, job->texts, job->count, job->alignments, callback,
                                job, &why) != RAPT_OK)
            code = failed("%s", why.text);
        if (finish_output() != EXIT_OK) code = EXIT_FAILED;
        job->first += job->count;
    }
    lines_close(&job->lines);
    if (job->lines.error != 0)
        return failed("standard input cannot be read: %s", strerror(job->lines.error));
    return code == EXIT_OK && job->wrong ? EXIT_FAILED : code;
}

int command_translate(int argc, char **argv)
{
    struct search search = search_default;
    struct job *job = xcalloc(1, sizeof *job);
    /* clang-format off */
    struct option_row rows[SEARCH_ROWS + 4] = {
        [SEARCH_ROWS] =
        {"Output", OPTION_GROUP, NULL, "", "", 0, 0, 0},
        {"nbest", OPTION_INTEGER, &search.nbest, "N", "translations per sentence", 1, 1024, 0},
        {"scores", OPTION_FLAG, &job->scores, "", "print the score of each", 0, 0, 0},
        {"alignments", OPTION_FLAG, &job->alignments, "", "print word alignments", 0, 0, 0},
    };
    /* clang-format on */
    search_rows(&search, rows);
    struct command command = {.name = "translate",
                              .arguments = "",
                              .purpose = purpose,
                              .examples = examples,
                              .rows = rows,
                              .count = sizeof rows / sizeof *rows};
    int code = options_read(&command, argc, argv);
    if (code == GO_ON && output_is_input())
        code = usage_error("translate: standard input and standard output are the same file");
    if (code == GO_ON) code = search_open(&search, command.name, &job->translator);
    job->nbest = search.nbest;
    if (job->translator != NULL) code = run(job);
    rapt_translator_free(job->translator);
    free(job);
    return code;
}
