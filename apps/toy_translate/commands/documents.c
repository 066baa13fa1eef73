/* documents.c - toy_translate translate without --lines: translates the sentences of a document and
   writes everything else as it is. Plain text is read in blocks of lines, so that memory does not
   grow with the input, and other formats as a whole. --quality also describes each sentence. */
#include "commands.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { BLOCK = 1 << 20 }; /* bytes */

struct block {
    struct job *job;
    rapt_text text;
    size_t line;    /* number of the line of the next piece, from 1 */
    size_t written; /* bytes of the block's translation so far */
};

static void report_piece(const struct block *block, const rapt_document_piece *piece)
{
    const struct job *job = block->job;
    if (piece->status == RAPT_BAD_FILE)
        print_message("%s:%zu: a sentence is not valid UTF-8; it is not translated", job->name,
                      block->line);
    else
        print_message("%s:%zu: a sentence has more tokens than the model's maximum of %d; it is "
                      "not translated",
                      job->name, block->line,
                      rapt_model_config(rapt_translator_model(job->translator))->positions);
}

static int write_piece(void *user, const rapt_document_piece *piece)
{
    enum { OFTEN = 64 }; /* sentences */
    struct block *block = user;
    struct job *job = block->job;
    const rapt_span source = piece->source;
    int code = write_output(piece->text, piece->target.end - piece->target.begin);
    block->written = piece->target.end;
    quality_add(&job->quality, piece);
    if (piece->status != RAPT_OK) report_piece(block, piece), job->wrong = true;
    if (piece->status == RAPT_OK && piece->translation) {
        note_translation(job, piece->translation);
        const int faults = piece->translation->faults;
        const bool bad = faults & (RAPT_FAULT_REPEATS | RAPT_FAULT_LONG | RAPT_FAULT_EMPTY);
        job->mended += bad;
        job->faulty += bad && faults & RAPT_FAULT_REMAINS;
    }
    block->line +=
        count_lines((rapt_text){block->text.bytes + source.begin, source.end - source.begin});
    job->bytes += (double)(source.end - source.begin);
    if (piece->kind == RAPT_PIECE_SENTENCE && ++job->first % OFTEN == 0)
        show_progress(job, "sentences");
    return code != EXIT_OK;
}

static int translate_block(struct block *block, rapt_document_options *options)
{
    struct job *job = block->job;
    options->first = job->first;
    rapt_message why = {""};
    int code = EXIT_OK;
    if (rapt_document_translate(job->translator, block->text, options, write_piece, block, &why) !=
        RAPT_OK)
        code = failed("%s: %s", job->name, why.text);
    job->quality.read += block->text.size, job->quality.written += block->written;
    block->written = 0;
    if (finish_output() != EXIT_OK) code = EXIT_FAILED;
    if (code == EXIT_OK) report_raw(job);
    return code;
}

/* Returns the format that files with this name usually have. */
static const char *format_of_file(const char *path)
{
    static const struct {
        const char *ending, *format;
    } rows[] = {{".html", "html"},        {".htm", "html"},    {".po", "po"},
                {".pot", "po"},           {".srt", "srt"},     {".vtt", "srt"},
                {".xlf", "xliff"},        {".xliff", "xliff"}, {".md", "markdown"},
                {".markdown", "markdown"}};
    const char *ending = strrchr(path, '.');
    for (size_t i = 0; ending != NULL && i < sizeof rows / sizeof *rows; i++)
        if (strcasecmp(ending, rows[i].ending) == 0) return rows[i].format;
    return "text";
}

/* Returns the format of the job's text: the one that --format names or, with "auto", that of the
   file. Says which, unless it is plain text. */
static rapt_document_format format_of(const struct job *job)
{
    const bool given = strcmp(job->format, "auto") != 0;
    const char *name = given ? job->format : format_of_file(job->name);
    int format = 0;
    if (!given && strcmp(name, "text") != 0)
        print_message("%s: read as %s; --format names another format", job->name, name);
    while (strcmp(rapt_document_format_name(format), name) != 0) format++;
    return (rapt_document_format)format;
}

void list_formats(char *names, size_t capacity)
{
    const char *name;
    size_t size = (size_t)snprintf(names, capacity, "auto");
    for (int i = 0; (name = rapt_document_format_name(i)) != NULL && size < capacity; i++)
        size += (size_t)snprintf(names + size, capacity - size, "|%s", name);
}

static rapt_text next_block(struct job *job, rapt_document_format format)
{
    if (format != RAPT_DOCUMENT_FORMAT_TEXT) return lines_rest(&job->lines);
    return lines_block(&job->lines, BLOCK, job->unwrap);
}

/* Reports how many translations had faults. */
static void report_faults(const struct job *job)
{
    if (job->mended == 0) return;
    print_message("%s: %zu of %zu translations repeated themselves or had a wrong length, and were "
                  "searched for again; %zu of them still have that fault",
                  job->name, job->mended, (size_t)job->first, job->faulty);
}

static rapt_document_recase recase_named(const char *name)
{
    if (strcmp(name, "titles") == 0) return RAPT_DOCUMENT_RECASE_TITLES;
    return strcmp(name, "none") == 0 ? RAPT_DOCUMENT_RECASE_NONE : RAPT_DOCUMENT_RECASE_CAPITALS;
}

int translate_documents(struct job *job)
{
    struct phrases phrases = {0};
    rapt_document_options options = {.size = sizeof options,
                                     .format = format_of(job),
                                     .unwrap = job->unwrap,
                                     .max_length = job->max_length,
                                     .language = job->language,
                                     .unprotected = job->unprotected,
                                     .unmended = job->unmended,
                                     .alignments = job->quality.name != NULL,
                                     .log_probabilities = job->quality.name != NULL,
                                     .recase = recase_named(job->recase),
                                     .glossary = job->glossary};
    struct block block = {.job = job, .line = 1};
    int code = phrases_read(&phrases, job->do_not_translate);
    options.protected_patterns = phrases.list, options.protected_pattern_count = phrases.count;
    while (code == EXIT_OK && (block.text = next_block(job, options.format)).size > 0) {
        if (!job->lines.begun) code = text_check(job->name, block.text.bytes, block.text.size);
        if (code == EXIT_OK) code = translate_block(&block, &options);
        if (job->dialog) unseen_report(&job->unseen);
    }
    if (code == EXIT_OK) report_faults(job);
    phrases_free(&phrases);
    return code;
}

/* ---- --quality: a JSON object per sentence with confidence, alignment and guards ---- */

int quality_open(struct quality *quality)
{
    if (quality->name == NULL) return EXIT_OK;
    quality->file = tmpfile();
    return quality->file != NULL ? EXIT_OK : failed("a temporary file: %s", strerror(errno));
}

int quality_close(struct quality *quality, bool complete)
{
    int code = EXIT_OK;
    if (quality->file == NULL) return EXIT_OK;
    if (complete) code = spool_save(quality->file, quality->name);
    fclose(quality->file);
    quality->file = NULL;
    return code;
}

static json_t *span_json(rapt_span span)
{
    return json_pack("[I, I]", (json_int_t)span.begin, (json_int_t)span.end);
}

/* Returns a span, moved by `before` bytes, as JSON. */
static json_t *later_json(rapt_span span, size_t before)
{
    return span_json((rapt_span){before + span.begin, before + span.end});
}

static json_t *spans_json(const rapt_span *spans, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++) put_item(list, span_json(spans[i]));
    return list;
}

static json_t *words_json(const rapt_translation *t)
{
    json_t *list = json_array();
    for (int i = 0; i < t->target_word_count; i++) {
        const int source = t->word_sources[i];
        put_item(list, json_pack("{s:o, s:o, s:o}", "span", span_json(t->target_words[i]), "source",
                                 source < 0 ? json_null() : json_integer(source), "log_probability",
                                 number((double)t->word_log_probabilities[i])));
    }
    return list;
}

static json_t *faults_json(int faults)
{
    static const struct {
        int bit;
        const char *name;
    } known[] = {{RAPT_FAULT_REPEATS, "repeats"},
                 {RAPT_FAULT_LONG, "long"},
                 {RAPT_FAULT_EMPTY, "empty"},
                 {RAPT_FAULT_LOST, "lost"},
                 {RAPT_FAULT_REMAINS, "remains"}};
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (faults & known[i].bit) put_item(list, json_string(known[i].name));
    return list;
}

/* Returns a text unchanged, or made printable if it is not UTF-8, as JSON. */
static json_t *text_json(rapt_text text)
{
    if (rapt_utf8_valid(text) == text.size) return json_stringn(text.bytes, text.size);
    char *valid = printable(text);
    json_t *string = json_string(valid);
    free(valid);
    return string;
}

/* Adds the members that describe a translated sentence. */
static void put_translation(json_t *object, const rapt_document_piece *piece)
{
    const rapt_translation *t = piece->translation;
    const int words = t->source_word_count;
    put_member(object, "read", json_stringn(piece->read.bytes, piece->read.size));
    put_member(object, "translation", text_json((rapt_text){t->text, t->size}));
    put_member(object, "log_probability", number((double)t->mean_log_probability));
    put_member(object, "coverage",
               words > 0 ? number((double)t->source_words_covered / words) : json_null());
    put_member(object, "source_words", spans_json(t->source_words, words));
    put_member(object, "words", words_json(t));
    put_member(object, "ended", json_boolean(t->ended));
    put_member(object, "faults", faults_json(t->faults));
    put_member(object, "protected", json_integer(piece->guards));
    put_member(object, "restored", json_integer(piece->restored));
    put_member(object, "terms", json_integer(t->terms));
    put_member(object, "terms_met", json_integer(t->terms_met));
    put_member(object, "recased", json_boolean(piece->recased));
}

void quality_add(struct quality *quality, const rapt_document_piece *piece)
{
    if (quality->file == NULL || piece->kind != RAPT_PIECE_SENTENCE) return;
    json_t *object =
        json_pack("{s:I, s:o, s:o, s:b}", "sentence", (json_int_t)quality->count++, "source",
                  later_json(piece->original, quality->read), "target",
                  later_json(piece->target, quality->written), "continued", piece->continued);
    if (object == NULL) exit(failed("out of memory"));
    if (piece->status != RAPT_OK)
        put_member(object, "error",
                   json_string(piece->status == RAPT_BAD_FILE ? "not UTF-8" : "too many tokens"));
    else if (piece->translation != NULL)
        put_translation(object, piece);
    write_json(object, quality->file);
}
