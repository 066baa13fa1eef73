/* translate.c - toy_translate translate: translates documents (documents.c), or lines in order.
   Lines are translated in windows, so that memory does not grow with the input. A window ends where
   the input pauses, and is translated at once. */
#define _POSIX_C_SOURCE 200809L
#include "commands.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char purpose[] =
    "Translates FILE or standard input to standard output or --output. Text is translated as soon "
    "as the input pauses; --output is replaced at the end.\n\n"
    "The sentences of the text are translated; everything else is kept byte for byte: line "
    "breaks, indentation, spaces between sentences, list markers, and lines without letters. A "
    "sentence ends at a line break, unless --unwrap is given. A sentence that is too long is cut "
    "at the end of a clause. A sentence that is not UTF-8 or cannot be translated is kept, with a "
    "message and exit status 1 at the end.\n\n"
    "Some parts of sentences are kept, too, and placed where their translations would be: URLs, "
    "e-mail addresses, file names, placeholders such as %s and {name}, code in backticks, numbers "
    "with units, emoji, and the words and phrases in --do-not-translate. If a translation repeats "
    "itself, is empty, or is too long for a short sentence, the sentence is translated again "
    "without that fault.\n\n"
    "With --glossary, translations should contain given phrases. Each line of the file is an "
    "entry: source, tab, target. Where the source occurs, the target should; | separates forms, "
    "such as bank|banks. A third column may contain exact, if case must match, or nocase, if case "
    "is ignored; otherwise a source also matches if it is capitalized or in capitals. Messages "
    "report how many terms are missing in the translations.\n\n"
    "Sentences in capitals are converted to sentence case, which models translate better, and "
    "their translations are put in capitals again. With --recase titles, the same is done for "
    "sentences in title case, such as The Big Dog Sleeps Here; a list of names, however, looks "
    "like a title.\n\n"
    "--quality writes a line of JSON for each sentence: bytes of source and target, its "
    "log_probability (the mean of the tokens), coverage (the share of source words that words of "
    "the translation come from), the faults of its first translation, the numbers of protected "
    "parts, of restored parts and of terms, and for each word of the translation its source word "
    "and log-probability.\n\n"
    "In all formats but text, documents have markup. Tags within a sentence enclose the "
    "translations of the words that they enclosed; attributes, comments, scripts and code are "
    "kept. The whole document is read before the first sentence is translated.\n\n"
    "With --lines, each line is a sentence, and each line of output a translation. An empty line "
    "gives an empty line. For a line that is not UTF-8 or is longer than the model supports, the "
    "text of --placeholder is printed, with a message and exit status 1 at the end. With "
    "--prefix, a translation begins with the words of a line of another file. A translation is "
    "followed by ||| and its score with --scores, and by ||| and its alignment with --alignments. "
    "With --nbest N, N > 1, there are up to N lines per sentence: its number from 0 ||| the "
    "translation ||| the score ||| the alignment. An alignment contains I-J for each word J of "
    "the translation, from 0, where I is the source word that it attends to most (Pharaoh "
    "format). A placeholder has neither score nor alignment. --json prints one object per "
    "translation with all of this, the tokens, and the words that did not occur in training.";

static const char examples[] =
    "  toy_translate translate -m m.safetensors input.txt -o output.txt\n"
    "  toy_translate translate -m m.safetensors --lines input.txt -o output.txt\n"
    "  echo \"Hi Tom.\" | toy_translate translate -m m.safetensors --lines --nbest 3";

/* Returns, for each target word, the source word that it attends to most, and sets *count to the
   number of target words, or to 0 if the source has no words. The caller frees the result. */
static int *align_words(const struct job *job, const rapt_translation *t, int *count)
{
    struct words source, target;
    words_make(&source, rapt_translator_source(job->translator), t->source, t->source_count);
    words_make(&target, rapt_translator_target(job->translator), t->target, t->target_count);
    size_t columns = (size_t)source.count;
    float *grid = xcalloc((size_t)target.count * columns, sizeof *grid);
    int *best = xcalloc((size_t)target.count, sizeof *best);
    words_fold(&source, &target, t->alignment, grid);
    for (int w = 0; w + 1 < target.count; w++) {
        const float *row = grid + (size_t)w * columns;
        for (int s = 1; s + 1 < source.count; s++)
            if (row[s] > row[best[w]]) best[w] = s;
    }
    *count = columns > 1 ? target.count - 1 : 0;
    free(grid);
    words_free(&source);
    words_free(&target);
    return best;
}

static void print_alignment(const struct job *job, const rapt_translation *t)
{
    int count = 0, *best = t->alignment != NULL ? align_words(job, t, &count) : NULL;
    for (int w = 0; w < count; w++) printf("%s%d-%d", w > 0 ? " " : "", best[w], w);
    free(best);
}

static json_t *tokens_json(const rapt_tokenizer *tokenizer, const int32_t *ids, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++) {
        char *text = printable(rapt_tokenizer_token(tokenizer, ids[i]));
        put_item(list, json_string(text));
        free(text);
    }
    return list;
}

/* Returns the source words that did not occur in training, by the list in the model's file. */
static json_t *unseen_of(const struct job *job, const rapt_translation *t)
{
    struct words words;
    bool *unseen = unseen_find(&job->unseen, t->source, t->source_count, &words);
    json_t *list = unseen_json(&job->unseen, &words, unseen);
    free(unseen);
    words_free(&words);
    return list;
}

/* Returns NULL without a glossary, so that json_pack omits the member. */
static json_t *terms_json(const struct job *job, int terms)
{
    return job->glossary != NULL ? json_integer(terms) : NULL;
}

static void print_object(const struct job *job, const rapt_translation *t, const char *text)
{
    size_t sentence = job->first + t->sentence;
    if (t->status != RAPT_OK || job->invalid[t->sentence]) {
        print_json(json_pack("{s:I, s:s, s:s}", "sentence", (json_int_t)sentence, "translation",
                             job->placeholder, "error",
                             t->status != RAPT_OK ? "too many tokens" : "not UTF-8"));
        return;
    }
    int count = 0, *best = t->alignment != NULL ? align_words(job, t, &count) : NULL;
    json_t *pairs = json_array();
    for (int w = 0; w < count; w++) put_item(pairs, json_pack("[i, i]", best[w], w));
    free(best);
    print_json(json_pack(
        "{s:I, s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o*, s:o*}", "sentence", (json_int_t)sentence,
        "rank", t->rank, "translation", text, "score", number((double)t->score), "source_tokens",
        tokens_json(rapt_translator_source(job->translator), t->source, t->source_count),
        "target_tokens",
        tokens_json(rapt_translator_target(job->translator), t->target, t->target_count),
        "alignment", pairs, "unseen", unseen_of(job, t), "terms", terms_json(job, t->terms),
        "terms_met", terms_json(job, t->terms_met)));
}

/* Prints a line. If `good` is false, the text is the placeholder, which has no score. */
static void print_translation(const struct job *job, const rapt_translation *t, const char *text,
                              bool good)
{
    bool many = job->nbest > 1;
    if (many) printf("%zu ||| ", job->first + t->sentence);
    fputs(text, stdout);
    if (many || job->scores) fputs(" ||| ", stdout);
    if ((many || job->scores) && good) printf("%.4f", (double)t->score);
    if (job->alignments) {
        fputs(" ||| ", stdout);
        print_alignment(job, t);
    }
    putchar('\n');
}

void note_translation(struct job *job, const rapt_translation *t)
{
    unseen_add(&job->unseen, t->source, t->source_count);
    job->terms += (size_t)t->terms, job->terms_met += (size_t)t->terms_met;
    raw_add(&job->raw, rapt_translator_source(job->translator), t->source, t->source_count);
}

int open_glossary(struct job *job)
{
    rapt_message why = {""};
    char *bytes = NULL;
    size_t size = 0;
    if (job->glossary_file == NULL) return EXIT_OK;
    int code = file_read(job->glossary_file, &bytes, &size);
    if (code == EXIT_OK &&
        rapt_glossary_create(&job->glossary, (rapt_text){bytes, size}, NULL, &why) != RAPT_OK)
        code = failed("%s: %s", job->glossary_file, why.text);
    free(bytes);
    return code;
}

void report_terms(const struct job *job)
{
    if (job->glossary == NULL) return;
    print_report("%s: %zu of %zu terms are in the translations", job->glossary_file, job->terms_met,
                 job->terms);
}

void report_raw(struct job *job)
{
    raw_report(&job->raw, rapt_translator_source(job->translator), job->model,
               "the translation is arbitrary");
}

static int translation_callback(void *user, const rapt_translation *t)
{
    struct job *job = user;
    if (t->rank >= job->nbest) return 0; /* --best-of */
    bool bad = t->status != RAPT_OK || job->invalid[t->sentence];
    char *text = bad ? xasprintf("%s", job->placeholder) : printable((rapt_text){t->text, t->size});
    if (t->status != RAPT_OK) {
        int positions = rapt_model_config(rapt_translator_model(job->translator))->positions;
        print_message(
            "%s:%zu: more tokens than the model's maximum of %d%s; the line is not translated",
            job->name, job->first + t->sentence + 1, positions,
            job->prefixes.name != NULL ? ", or a prefix that is longer than a translation may be"
                                       : "");
        job->wrong = true;
    }
    if (job->json)
        print_object(job, t, text);
    else
        print_translation(job, t, text, !bad);
    if (t->rank == 0 && !bad) note_translation(job, t);
    free(text);
    return ferror(stdout) != 0;
}

/* Returns line `index` of the window, or an empty text if it is blank or not UTF-8. */
static rapt_text text_of(struct job *job, size_t index)
{
    rapt_text text = lines_get(&job->lines, index);
    size_t bad = rapt_utf8_valid(text), blank = 0;
    job->invalid[index] = bad < text.size;
    if (bad < text.size) {
        print_message("%s:%zu: byte %zu is not valid UTF-8; the line is not translated", job->name,
                      job->first + index + 1, bad + 1);
        job->wrong = true;
        text.size = 0;
    }
    if (text.size > 0 && !job->returns && memchr(text.bytes, '\r', text.size) != NULL) {
        print_message(
            "%s:%zu: a carriage return within the line; if lines end with CR only, convert "
            "them with tr '\\r' '\\n'",
            job->name, job->first + index + 1);
        job->returns = true;
    }
    while (blank < text.size && (text.bytes[blank] == ' ' || text.bytes[blank] == '\t')) blank++;
    if (blank == text.size) text.size = 0;
    return text;
}

static int translate_window(struct job *job)
{
    rapt_message why = {""};
    int code = prefixes_next(&job->prefixes, job->count);
    if (code != EXIT_OK) return code;
    for (size_t i = 0; i < job->count; i++) {
        job->texts[i] = text_of(job, i);
        job->bytes += (double)job->texts[i].size + 1;
    }
    const rapt_translate_call call = {.size = sizeof call,
                                      .alignments = job->alignments || job->json,
                                      .prefixes =
                                          job->prefixes.name != NULL ? job->prefixes.texts : NULL,
                                      .first = job->first,
                                      .glossary = job->glossary};
    if (rapt_translate_many_with(job->translator, job->texts, job->count, &call,
                                 translation_callback, job, &why) != RAPT_OK)
        code = failed("%s", why.text);
    if (finish_output() != EXIT_OK) code = EXIT_FAILED;
    if (code == EXIT_OK) report_raw(job);
    job->first += job->count;
    return code;
}

/* Prepares to show progress if messages go to a terminal, but neither input nor output is one. */
static void begin_progress(struct job *job, int input)
{
    struct stat about;
    job->progress = !isatty(input) && !isatty(STDOUT_FILENO) && isatty(STDERR_FILENO);
    job->start = now();
    if (fstat(input, &about) == 0 && S_ISREG(about.st_mode)) job->all = (double)about.st_size;
}

void show_progress(const struct job *job, const char *what)
{
    char left[TIME_TEXT] = "";
    double seconds = now() - job->start, all = job->all * unpack_ratio(&job->lines.source);
    if (!job->progress) return;
    if (all > job->bytes) time_text(seconds * (all - job->bytes) / job->bytes, left);
    print_progress("%zu %s, %.0f per second%s%s%s", job->first, what, (double)job->first / seconds,
                   *left ? ", " : "", left, *left ? " left" : "");
}

static int translate_lines(struct job *job)
{
    int code = EXIT_OK;
    while (code == EXIT_OK && (job->count = lines_next(&job->lines, TRANSLATE_WINDOW)) > 0) {
        if (!job->lines.begun) code = text_check(job->name, job->lines.bytes, job->lines.size);
        if (code == EXIT_OK) code = translate_window(job);
        if (job->dialog) unseen_report(&job->unseen);
        show_progress(job, "lines");
    }
    return code == EXIT_OK ? prefixes_end(&job->prefixes) : code;
}

static int translate_from(struct job *job, int input)
{
    job->dialog = isatty(input) && isatty(STDERR_FILENO);
    int code = quality_open(&job->quality);
    if (code != EXIT_OK) return code;
    begin_progress(job, input);
    lines_open(&job->lines, input);
    if (job->dialog) print_report("Type a sentence; Ctrl-D ends.");
    code = job->by_lines ? translate_lines(job) : translate_documents(job);
    clear_progress();
    lines_close(&job->lines);
    const int closed = quality_close(&job->quality, code == EXIT_OK && job->lines.error == 0);
    if (code == EXIT_OK) code = closed;
    unseen_report(&job->unseen);
    report_terms(job);
    if (job->lines.error != 0)
        return failed("cannot read %s: %s", job->name,
                      unpack_error(&job->lines.source, job->lines.error));
    job->complete = code == EXIT_OK;
    return code == EXIT_OK && job->wrong ? EXIT_FAILED : code;
}

/* If the output is a file, it is replaced only when every line has been answered. */
static int translate_to(struct job *job, int input)
{
    struct spool spool;
    if (job->output == NULL) return translate_from(job, input);
    int code = spool_begin(&spool);
    if (code != EXIT_OK) return code;
    code = translate_from(job, input);
    int saved = spool_end(&spool, job->complete ? job->output : NULL);
    return code == EXIT_OK ? saved : code;
}

/* Returns GO_ON, or fails if an output is also the input or the other output. path is NULL for
   standard input. */
static int check_outputs(const struct job *job, const char *path)
{
    const char *names[] = {"output", "quality"}, *files[] = {job->output, job->quality.name};
    for (int i = 0; i < 2; i++)
        if (files[i] != NULL && (path != NULL ? file_same(path, files[i]) : is_input(files[i])))
            return usage_error("translate: --%s %s is the same file as the input", names[i],
                               files[i]);
    if (files[0] == NULL || files[1] == NULL) return GO_ON;
    if (strcmp(files[0], files[1]) != 0 && !file_same(files[0], files[1])) return GO_ON;
    return usage_error("translate: --output and --quality are the same file");
}

static int translate_input(struct job *job, const char *path)
{
    int input = STDIN_FILENO;
    if (path != NULL && strcmp(path, "-") == 0) path = NULL;
    int code = check_outputs(job, path);
    if (code != GO_ON) return code;
    if (path == NULL) {
        job->name = "standard input";
        if (!output_is_input()) return translate_to(job, input);
        return usage_error("translate: standard input and standard output are the same file");
    }
    input = file_open(path);
    job->name = path;
    if (input < 0)
        return failed(
            "%s: %s; the argument is the name of a file; to translate a sentence, pass it "
            "to standard input",
            path, strerror(errno));
    code = is_output(path) ? usage_error("translate: %s: standard output is the same file", path)
                           : translate_to(job, input);
    close(input);
    return code;
}

/* Returns GO_ON, or fails if an option for lines is given without --lines, or one for documents
   with it. */
static int check_mode(const struct command *command, const struct job *job)
{
    static const char *const of_lines[] = {"prefix",     "nbest",       "scores",
                                           "alignments", "placeholder", "json"};
    static const char *const of_documents[] = {"format",     "language",      "max-length-break",
                                               "unwrap",     "no-protection", "do-not-translate",
                                               "no-mending", "recase",        "quality"};
    enum { OF_LINES = sizeof of_lines / sizeof *of_lines };
    enum { OF_DOCUMENTS = sizeof of_documents / sizeof *of_documents };
    for (int i = 0; i < OF_LINES && !job->by_lines; i++)
        if (option_given(command, of_lines[i]))
            return usage_error("translate: --%s needs --lines", of_lines[i]);
    for (int i = 0; i < OF_DOCUMENTS && job->by_lines; i++)
        if (option_given(command, of_documents[i]))
            return usage_error("translate: --%s does not work with --lines", of_documents[i]);
    return GO_ON;
}

/* Returns GO_ON, or fails if options of sampling do not fit together. */
static int check_sampling(const struct command *command, const struct search *search, int best_of)
{
    static const char *const names[] = {"top-k", "top-p", "seed", "best-of"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names) && search->temperature == 0; i++)
        if (option_given(command, names[i]))
            return usage_error("translate: --%s needs --temperature", names[i]);
    if (search->temperature > 0 && option_given(command, "glossary"))
        return usage_error("translate: --glossary does not work with --temperature");
    if (search->temperature > 0 && search->shortlist)
        return usage_error("translate: --shortlist does not work with --temperature");
    if (best_of > 0 && best_of < search->nbest)
        return usage_error("translate: --nbest %d is more than --best-of %d", search->nbest,
                           best_of);
    return GO_ON;
}

static int check_placeholder(const struct job *job)
{
    const rapt_text placeholder = {job->placeholder, strlen(job->placeholder)};
    if (rapt_utf8_valid(placeholder) < placeholder.size)
        return usage_error("translate: --placeholder is not UTF-8");
    if (strpbrk(job->placeholder, "\r\n") != NULL)
        return usage_error("translate: --placeholder contains a line break");
    return GO_ON;
}

int command_translate(int argc, char **argv)
{
    struct search search = search_default;
    int best_of = 0;
    struct job *job = xcalloc(1, sizeof *job);
    char formats[100];
    list_formats(formats, sizeof formats);
    job->placeholder = "", job->format = "auto", job->recase = "capitals";
    /* clang-format off */
    struct option_row rows[SEARCH_ROWS + 27] = {
        [SEARCH_ROWS] =
        {"Sampling", OPTION_GROUP, NULL, "", "", 0, 0, 0},
        {"temperature", OPTION_REAL, &search.temperature, "T",
         "sample translations at this temperature instead of searching for the most likely; 0: search", 0, 1000, 0},
        {"top-k", OPTION_INTEGER, &search.top_k, "K", "sample from the K most likely tokens; 0: from all", 0, 1 << 24, 0},
        {"top-p", OPTION_REAL, &search.top_p, "P",
         "sample from the most likely tokens whose probabilities together reach P; 0: from all", 0, 1, 0},
        {"seed", OPTION_SEED, &search.seed, "N", "random seed of sampling", 0, 0, 0},
        {"best-of", OPTION_INTEGER, &best_of, "N", "sample N translations and print the best by score", 1, 1024, 0},
        {"Text", OPTION_GROUP, NULL, "", "", 0, 0, 0},
        {"lines", OPTION_FLAG, &job->by_lines, "", "translate line by line; every line is a sentence", 0, 0, 0},
        {"prefix", OPTION_INPUT, &job->prefixes.name, "FILE", "begin each translation with a line of this file, which has one for each line of the text", 0, 0, 0},
        {"format", OPTION_CHOICE, &job->format, formats, "format of the text; auto: that of the file's name", 0, 0, 0},
        {"language", OPTION_TEXT, &job->language, "CODE", "language of the text, such as en, for its abbreviations [any]", 0, 0, 0},
        {"max-length-break", OPTION_INTEGER, &job->max_length, "N",
         "cut sentences of more than N tokens [128, or the model's maximum]", 1, 1 << 24, 0},
        {"unwrap", OPTION_FLAG, &job->unwrap, "", "join the lines of a paragraph, which ends at an empty line", 0, 0, 0},
        {"no-protection", OPTION_FLAG, &job->unprotected, "", "let addresses, placeholders, numbers with units and symbols be translated", 0, 0, 0},
        {"do-not-translate", OPTION_INPUT, &job->do_not_translate, "FILE",
         "keep these words and phrases, one per line; * matches any characters, ? matches one", 0, 0, 0},
        {"glossary", OPTION_INPUT, &job->glossary_file, "FILE",
         "prefer translations that contain these phrases: source, tab, target, and optionally tab, exact or nocase", 0, 0, 0},
        {"recase", OPTION_CHOICE, &job->recase, "capitals|titles|none",
         "sentences to convert to sentence case: sentences in capitals, also sentences in title case, or none", 0, 0, 0},
        {"suppress", OPTION_INPUT, &job->suppress, "FILE",
         "never produce these words and phrases, one per line, as the tokenizer spells them", 0, 0, 0},
        {"no-mending", OPTION_FLAG, &job->unmended, "", "keep translations that repeat themselves, are empty, or are too long for a short sentence", 0, 0, 0},
        {"Output", OPTION_GROUP, NULL, "", "", 0, 0, 0},
        {"output", OPTION_OUTPUT, &job->output, "FILE", "write the translations to this file", 0, 0, 0},
        {"quality", OPTION_OUTPUT, &job->quality.name, "FILE",
         "write the confidence of sentences and words to this file, as JSON, one object per sentence", 0, 0, 0},
        {"nbest", OPTION_INTEGER, &search.nbest, "N", "number of translations per sentence", 1, 1024, 0},
        {"scores", OPTION_FLAG, &job->scores, "", "also print scores", 0, 0, 0},
        {"alignments", OPTION_FLAG, &job->alignments, "", "also print word alignments", 0, 0, 0},
        {"placeholder", OPTION_TEXT, &job->placeholder, "TEXT", "print this for lines that cannot be translated", 0, 0, 0},
        {"json", OPTION_FLAG, &job->json, "", "print JSON, one object per translation", 0, 0, 0},
    };
    /* clang-format on */
    search_rows(&search, rows);
    struct command command = {.name = "translate",
                              .arguments = "[FILE]",
                              .max = 1,
                              .purpose = purpose,
                              .examples = examples,
                              .rows = rows,
                              .count = sizeof rows / sizeof *rows};
    int code = options_read(&command, argc, argv);
    if (code == GO_ON) code = check_mode(&command, job);
    if (code == GO_ON) code = check_placeholder(job);
    if (code == GO_ON) code = check_sampling(&command, &search, best_of);
    if (code == GO_ON) {
        job->nbest = search.nbest, job->model = search.model;
        if (best_of > 0) search.nbest = best_of;
        code = open_glossary(job);
        if (code == EXIT_OK) code = phrases_read(&job->suppressed, job->suppress);
        search.suppressed = job->suppressed.list, search.suppressed_count = job->suppressed.count;
        if (code == EXIT_OK) code = prefixes_open(&job->prefixes);
        if (code == EXIT_OK) code = search_open(&search, command.name, &job->translator);
        if (code == EXIT_OK) search_report(&search, job->translator);
        if (code == EXIT_OK) unseen_open(&job->unseen, job->translator);
        if (code == EXIT_OK)
            code = translate_input(job, command.rest_count > 0 ? command.rest[0] : NULL);
    }
    search_close(job->translator);
    rapt_glossary_free(job->glossary);
    unseen_free(&job->unseen);
    prefixes_close(&job->prefixes);
    phrases_free(&job->suppressed);
    free(job);
    return code;
}
