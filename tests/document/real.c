/* real.c - translates documents that are made from real text, and checks that nothing is lost. The
   documents are paragraphs of sentences in RAPT_DATA, with texts inserted that must not change, and
   pages of HTML. `real COUNT STUDENT FOLDER` translates COUNT documents with a student of Firefox
   and, for two of five, uses pages under FOLDER. By default, a few documents are translated by
   reversing their words, and also if STUDENT is empty. The program prints the share of the time
   that is spent outside of the model. */
#define _GNU_SOURCE /* nftw, getline, clock_gettime */
#include "real_text.h"
#include "reorder.h"

#include <ftw.h>
#include <sys/stat.h>
#include <time.h>

static const double least = 0.99; /* F1 */
static const char *const insertions[] = {"https://www.example.org/a_b/?c=1&d=%20e#f",
                                         "jane.doe@example.com",
                                         "report-2024.pdf",
                                         "{name}",
                                         "%1$s",
                                         "%d",
                                         "{{ user.name }}",
                                         "${HOME}",
                                         "/usr/share/doc/",
                                         "snake_case_name",
                                         "`git status`",
                                         "3.5 GHz",
                                         "-40 \xC2\xB0"
                                         "C",
                                         "\xE2\x82\xAC"
                                         "1,299.99",
                                         "\xF0\x9F\x98\x80",
                                         "\xE2\x86\x92"};

/* ---- what is counted ---- */

struct counts {
    size_t documents, sentences, bytes;
    size_t changed; /* documents with a changed byte outside of sentences */
    size_t refused; /* sentences that could not be translated */
    size_t tags, tags_lost, tags_added, unclosed;
    size_t kept, kept_lost, kept_added; /* occurrences of insertions */
    size_t guards, restored;
    size_t known, found, right; /* boundaries of sentences */
};
static struct counts counts;

struct clocks { /* seconds */
    double all;
    double model;  /* in the engine */
    double fits;   /* in the tokenizer, to find how much of a long sentence may be translated, and
                      which protected text the model cannot write */
    double checks; /* in check_piece */
};
static struct clocks clocks;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- the engine, whose time is measured ---- */

struct timed {
    rapt_take_fn *take;
    void *taker;
    double taken; /* seconds that take() needed */
};

static int take_timed(void *user, rapt_status status, rapt_text text, const rapt_translation *t)
{
    struct timed *timed = user;
    const double start = seconds();
    const int stop = timed->take(timed->taker, status, text, t);
    timed->taken += seconds() - start;
    return stop;
}

static rapt_status translate_timed(void *user, const rapt_text *sentences, size_t count,
                                   rapt_take_fn *take, void *taker, rapt_message *why)
{
    const rapt_document_engine *engine = user;
    struct timed timed = {.take = take, .taker = taker};
    const double start = seconds();
    rapt_status status = engine->translate(engine->user, sentences, count, take_timed, &timed, why);
    clocks.model += seconds() - start - timed.taken;
    return status;
}

static size_t fit_timed(void *user, rapt_text text, size_t max)
{
    const rapt_document_engine *engine = user;
    const double start = seconds();
    const size_t size = engine->fit ? engine->fit(engine->user, text, max) : text.size;
    clocks.fits += seconds() - start;
    return size;
}

/* ---- a document ---- */

struct run {
    struct record record;
    struct found found;
};

static size_t count_text(rapt_text text, const char *wanted)
{
    const size_t size = strlen(wanted);
    size_t count = 0;
    for (size_t at = 0; at + size <= text.size; at++)
        count += memcmp(text.bytes + at, wanted, size) == 0;
    return count;
}

static void check_insertions(rapt_text source, rapt_text target)
{
    for (int i = 0; i < COUNT(insertions); i++) {
        const size_t before = count_text(source, insertions[i]);
        const size_t after = count_text(target, insertions[i]);
        counts.kept += before;
        counts.kept_lost += before > after ? before - after : 0;
        counts.kept_added += after > before ? after - before : 0;
        if (after == before) continue;
        print_message("%s occurs %zu times, not %zu times: %.*s\n    %.*s\n", insertions[i], after,
                      before, (int)source.size, source.bytes, (int)target.size, target.bytes);
    }
}

static int check_piece(void *user, const rapt_document_piece *p)
{
    struct run *run = user;
    const double start = seconds();
    const rapt_text document = run->record.document;
    const rapt_text source = {document.bytes + p->original.begin,
                              p->original.end - p->original.begin};
    if (p->kind == RAPT_PIECE_SENTENCE) {
        check_insertions(source, (rapt_text){p->text, p->target.end - p->target.begin});
        counts.sentences++;
        counts.refused += p->status != RAPT_OK;
        counts.guards += (size_t)p->guards;
        counts.restored += (size_t)p->restored;
        count_boundary(&run->found, document, p->source.end);
    }
    const int stop = record_piece(&run->record, p);
    clocks.checks += seconds() - start;
    return stop;
}

static void check_tags(rapt_text document, rapt_text translation)
{
    struct tag_list source = {0}, target = {0};
    tag_list_read(&source, document);
    tag_list_read(&target, translation);
    const size_t unclosed = target.unclosed + target.depth, before = source.unclosed + source.depth;
    counts.unclosed += unclosed > before ? unclosed - before : 0;
    counts.tags += source.count;
    counts.tags_lost += tag_list_missing(&source, &target);
    counts.tags_added += tag_list_missing(&target, &source);
    free(source.items);
    free(target.items);
}

static int spells_timed(void *user, rapt_text text)
{
    const rapt_document_engine *engine = user;
    const double start = seconds();
    const int spells = !engine->spells || engine->spells(engine->user, text);
    clocks.fits += seconds() - start;
    return spells;
}

struct translation_of {          /* how documents are translated */
    rapt_translator *translator; /* NULL: by reversing their words */
    rapt_document_options options;
};

/* Returns the text of the translation, which the caller frees. */
static void translate_real(const struct translation_of *how, rapt_text document, struct run *run)
{
    struct reordering reversal = {.order = REVERSED};
    struct translator_engine e;
    rapt_document_engine inner = {
        .size = sizeof inner, .translate = reorder_sentences, .user = &reversal};
    rapt_message why = {""};
    const double start = seconds();
    run->record = (struct record){
        .document = document, .text = calloc(1, 1), .kept_equal = true, .kept_but_blanks = true};
    rapt_document_options options = how->options;
    if (how->translator) {
        if (rapt__engine_open(&e, how->translator, &options, &why)) fail_msg("%s", why.text);
        inner = e.engine;
        options = e.options;
    }
    const rapt_document_engine engine = {.size = sizeof engine,
                                         .translate = translate_timed,
                                         .fit = fit_timed,
                                         .user = &inner,
                                         .spells = spells_timed};
    if (rapt__document_translate(&engine, document, &options, false,
                                 how->translator ? &e.opaque : NULL, check_piece, run, NULL, &why))
        fail_msg("%s", why.text);
    if (how->translator) rapt__engine_close(&e);
    clocks.all += seconds() - start;
    assert_true(run->record.done == document.size);
    counts.documents++;
    counts.bytes += document.size;
    counts.changed += !run->record.kept_equal;
}

/* ---- documents of plain text ---- */

/* Copies paragraphs of text, with another layout before each of them, and adds their boundaries. */
static void lay_out(struct joined *document, const struct joined *from, size_t *at, size_t *end)
{
    static const char *const layouts[] = {"\n",    "\n\n", "\r\n\r\n", "\n  - ",     "\n> ",
                                          "\n1. ", "\n\t", "\n\n    ", "\n* * *\n\n"};
    enum { PARAGRAPHS = 2 };
    document->size = document->count = 0;
    for (int i = 0; i < PARAGRAPHS && *at < from->size; i++) {
        const char *line = from->text + *at;
        const char *stop = memchr(line, '\n', from->size - *at);
        const size_t size = stop ? (size_t)(stop - line) : from->size - *at;
        const char *layout = layouts[(*at + (size_t)i) % COUNT(layouts)];
        add_bytes(document, layout, strlen(layout));
        for (; *end < from->count && from->ends[*end] < *at + size; ++*end) {
            document->ends =
                realloc(document->ends, (document->count + 1) * sizeof *document->ends);
            assert_non_null(document->ends);
            document->ends[document->count++] = document->size + from->ends[*end] - *at;
        }
        add_bytes(document, line, size);
        *at += size + 1;
    }
    add_bytes(document, "\n\n", 2);
}

static bool translate_text(const struct translation_of *how, const char *name, int column,
                           size_t count)
{
    struct joined all = {
        .between = " ", .insertions = insertions, .insertion_count = (size_t)COUNT(insertions)};
    struct joined document = {0};
    size_t at = 0, end = 0;
    if (!join(&all, name, column)) {
        skipped("document/real", "RAPT_DATA is not a folder with these sentences");
        return false;
    }
    for (size_t i = 0; i < count && at < all.size; i++) {
        struct run run = {.found = {0}};
        lay_out(&document, &all, &at, &end);
        run.found.ends = document.ends, run.found.end_count = document.count;
        translate_real(how, (rapt_text){document.text, document.size}, &run);
        counts.known += run.found.end_count;
        counts.found += run.found.count;
        counts.right += run.found.right;
        free(run.record.text);
    }
    joined_free(&all);
    joined_free(&document);
    return true;
}

/* ---- pages of HTML ---- */

static struct {
    char **paths;
    size_t count;
} pages;

static int visit_page(const char *path, const struct stat *status, int type, struct FTW *where)
{
    enum { LARGEST = 1 << 16 };
    const char *end = strrchr(path, '.');
    (void)where;
    if (type != FTW_F || !end || strcmp(end, ".html") != 0 || status->st_size > LARGEST) return 0;
    pages.paths = realloc(pages.paths, (pages.count + 1) * sizeof *pages.paths);
    assert_non_null(pages.paths);
    pages.paths[pages.count++] = strdup(path);
    return 0;
}

static int order_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static rapt_text read_page(const char *path)
{
    struct stat status;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &status), 0);
    char *bytes = malloc((size_t)status.st_size + 1);
    assert_non_null(bytes);
    const size_t size = fread(bytes, 1, (size_t)status.st_size, file);
    bytes[size] = 0;
    fclose(file);
    return (rapt_text){bytes, size};
}

/* Inserts a text after the first blank of each paragraph of a page that begins with words. */
static void insert_into(rapt_text page, size_t number, struct joined *out)
{
    const char *at = page.bytes, *end = at + page.size;
    out->size = 0;
    while (at < end) {
        const char *text = find_text(at, end, "<p ");
        text = text < end ? tag_end(text, end) : end;
        const size_t words = strcspn(text, " <&\n");
        add_bytes(out, at, (size_t)(text - at));
        at = text;
        if (words == 0 || text[words] != ' ') continue;
        /* The first insertion contains an &, which would have to be escaped. */
        const char *insertion = insertions[1 + number++ % (COUNT(insertions) - 1)];
        add_bytes(out, at, words + 1);
        add_bytes(out, insertion, strlen(insertion));
        at += words;
    }
    add_bytes(out, "", 1);
    out->size--;
}

static void translate_pages(struct translation_of how, const char *folder, size_t count)
{
    struct joined page = {0};
    how.options.format = RAPT_DOCUMENT_FORMAT_HTML;
    assert_int_equal(nftw(folder, visit_page, 8, FTW_PHYS), 0);
    assert_true(pages.count >= count);
    qsort(pages.paths, pages.count, sizeof *pages.paths, order_paths);
    for (size_t i = 0; i < count; i++) {
        struct run run = {.found = {0}};
        const rapt_text original = read_page(pages.paths[i * pages.count / count]);
        insert_into(original, i, &page);
        translate_real(&how, (rapt_text){page.text, page.size}, &run);
        check_tags((rapt_text){page.text, page.size},
                   (rapt_text){run.record.text, run.record.size});
        free(run.record.text);
        free((char *)original.bytes);
    }
    for (size_t i = 0; i < pages.count; i++) free(pages.paths[i]);
    free(pages.paths);
    joined_free(&page);
}

/* ---- the tests ---- */

static const char *arguments[3]; /* COUNT, STUDENT and FOLDER, or NULL */

static void load_student(struct translation_of *how, const char *folder)
{
    char path[DATA_PATH];
    rapt_message why = {""};
    rapt_translator_options options;
    rapt_translator_options_default(&options, sizeof options, NULL);
    options.beams = options.threads = 1;
    snprintf(path, sizeof path, "%s/lex.50.50.enpt.s2t.bin", folder);
    if (rapt_translator_load(&how->translator, folder, &options, NULL, &why) ||
        rapt_translator_load_shortlist(how->translator, path, &why))
        fail_msg("%s", why.text);
}

static void report(void)
{
    const struct counts *c = &counts;
    const struct found found = {.end_count = c->known, .right = c->right, .count = c->found};
    double precision, recall, f1 = f1_of(&found, &precision, &recall);
    print_message("%zu documents, %zu bytes, %zu sentences, of which %zu were not translated\n"
                  "documents with changed bytes outside of sentences: %zu\n"
                  "tags: %zu, lost %zu, added %zu, not closed %zu\n"
                  "inserted texts: %zu, lost %zu, added %zu\n"
                  "protected parts: %zu, put back because the model changed them: %zu\n"
                  "boundaries: %zu, precision %.4f, recall %.4f, F1 %.4f\n",
                  c->documents, c->bytes, c->sentences, c->refused, c->changed, c->tags,
                  c->tags_lost, c->tags_added, c->unclosed, c->kept, c->kept_lost, c->kept_added,
                  c->guards, c->restored, c->known, precision, recall, f1);
    const double all = clocks.all - clocks.checks;
    print_message(
        "time: %.1f s, of which %.2f %% outside of the model, and of these %.2f %% in the "
        "tokenizer\n",
        all, 100 * (all - clocks.model) / all, 100 * clocks.fits / all);
    assert_int_equal(c->changed, 0);
    assert_int_equal(c->refused, 0);
    assert_int_equal(c->tags_lost, 0);
    assert_int_equal(c->tags_added, 0);
    assert_int_equal(c->unclosed, 0);
    assert_int_equal(c->kept_lost, 0);
    assert_int_equal(c->kept_added, 0);
    assert_true(f1 >= least);
}

static void test_real(void **state)
{
    static const struct {
        const char *name;
        int column;
        const char *language;
    } files[] = {{"tatoeba-en-de/test.tsv", 0, "en"},
                 {"tatoeba-en-de/valid.tsv", 0, "en"},
                 {"tatoeba-en-de/valid.tsv", 1, "de"},
                 {"multi30k/val.en", 0, "en"},
                 {"multi30k/test_2016_flickr.en", 0, "en"}};
    (void)state;
    const size_t count = arguments[0] ? (size_t)strtoul(arguments[0], NULL, 10) : 30;
    struct translation_of how = {.options = {.size = sizeof how.options}};
    if (arguments[1] && *arguments[1]) load_student(&how, arguments[1]);
    const size_t of_pages = arguments[2] ? count * 2 / 5 : 0;
    bool complete = true;
    for (int i = 0; i < COUNT(files) && complete; i++) {
        how.options.language = files[i].language;
        complete =
            translate_text(&how, files[i].name, files[i].column, (count - of_pages) / COUNT(files));
    }
    how.options.language = "en";
    if (complete && of_pages > 0) translate_pages(how, arguments[2], of_pages);
    if (complete) report();
    rapt_translator_free(how.translator);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_real)};
    for (int i = 1; i < argc && i <= COUNT(arguments); i++) arguments[i - 1] = argv[i];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
