/* spm_reference.c - compares SentencePiece's own programs (Debian's package sentencepiece) with
   ours: the same ids for every line, the same text for these ids. By default it uses crafted models
   of every kind and random texts. `spm_reference FOLDER [N]` uses every model and every text under
   a folder, and N random texts per model (a quarter of a million by default). */
#define _GNU_SOURCE /* nftw, getline */

#include "../skips.h"
#include "help.h"
#include "spm_models.h"
#include "temporary.h"
#include "text/text.h"

#include <ftw.h>
#include <unistd.h>

/* ---- spm compare: runs lines and a SentencePiece model through spm_encode and spm_decode and
   through rapt_tokenizer_encode and _decode, and shows the first line that differs. ---- */

static bool reference_there(void)
{
    return system("command -v spm_encode >/dev/null && command -v spm_decode >/dev/null") == 0;
}

struct comparison {
    rapt_tokenizer *tokenizer;
    char folder[TEMPORARY]; /* holds the files */
    FILE *lines;
    size_t count;
};

static void comparison_path(const struct comparison *c, const char *name, char path[TEMPORARY + 32])
{
    snprintf(path, TEMPORARY + 32, "%s/%s", c->folder, name);
}

static FILE *comparison_open(const struct comparison *c, const char *name, const char *how)
{
    char path[TEMPORARY + 32];
    comparison_path(c, name, path);
    FILE *file = fopen(path, how);
    assert_non_null(file);
    return file;
}

static struct comparison comparison_of(const void *model, size_t size)
{
    struct comparison c = {.folder = ""};
    rapt_message why = {""};
    rapt_status status = rapt_tokenizer_load_memory(&c.tokenizer, model, size, NULL, &why);
    if (status) print_error("%s\n", why.text);
    assert_int_equal(status, RAPT_OK);
    assert_non_null(temporary_folder(c.folder));
    FILE *file = comparison_open(&c, "model", "wb");
    assert_int_equal(fwrite(model, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    c.lines = comparison_open(&c, "lines", "wb");
    return c;
}

/* Adds a line, which must not contain a line break. */
static void comparison_add(struct comparison *c, const char *line, size_t size)
{
    assert_int_equal(fwrite(line, 1, size, c->lines), size);
    assert_true(fputc('\n', c->lines) == '\n');
    c->count++;
}

static void comparison_command(const struct comparison *c, const char *program, const char *in,
                               const char *out)
{
    char command[6 * TEMPORARY];
    snprintf(command, sizeof command, "%s --model=%s/model %s < %s/%s > %s/%s 2>> %s/errors",
             program, c->folder,
             strstr(program, "encode") ? "--output_format=id" : "--input_format=id", c->folder, in,
             c->folder, out, c->folder);
    int code = system(command);
    if (code != 0) print_error("%s: %d\n", command, code);
    assert_int_equal(code, 0);
}

struct comparison_line { /* one line of a file */
    char *bytes;
    size_t capacity;
    ssize_t size;
};
static bool comparison_next(struct comparison_line *line, FILE *file)
{
    line->size = getline(&line->bytes, &line->capacity, file);
    if (line->size > 0 && line->bytes[line->size - 1] == '\n') line->bytes[--line->size] = 0;
    return line->size >= 0;
}

static void comparison_differs(const char *what, size_t number, const struct comparison_line *line,
                               const char *theirs, const char *ours)
{
    print_error("%s, line %zu, ", what, number);
    for (ssize_t i = 0; i < line->size; i++) print_error("%02X", (unsigned char)line->bytes[i]);
    print_error("\n  theirs: %s\n  ours:   %s\n", theirs, ours);
    fail();
}

/* Encodes a text and formats the ids like spm_encode. Also checks the bound and the ends. */
static void comparison_ids(const rapt_tokenizer *t, rapt_text text, char **out, size_t *capacity)
{
    size_t bound = rapt_tokenizer_bound(t, text.size), count = 0, size = 0;
    int32_t *ids = malloc(bound * sizeof *ids);
    size_t *ends = malloc(bound * sizeof *ends);
    assert_true(ids && ends);
    assert_int_equal(rapt_tokenizer_encode(t, text, ids, ends, bound, &count, NULL), RAPT_OK);
    assert_true(count <= rapt__tokenizer_most(t, text) && rapt__tokenizer_most(t, text) <= bound);
    if (*capacity < 8 * count + 1) {
        *capacity = 16 * count + 64;
        *out = realloc(*out, *capacity);
        assert_non_null(*out);
    }
    (*out)[0] = 0;
    for (size_t i = 0; i < count; i++) {
        assert_true(ends[i] <= text.size && (i == 0 || ends[i] >= ends[i - 1]));
        size += (size_t)sprintf(*out + size, i ? " %d" : "%d", (int)ids[i]);
    }
    free(ids);
    free(ends);
}

/* Compares the ids of all lines and writes the ids of nonempty ones to "ids". */
static void comparison_encode(const struct comparison *c, const char *what)
{
    struct comparison_line line = {0}, ref = {0};
    FILE *lines = comparison_open(c, "lines", "rb"), *theirs = comparison_open(c, "encoded", "rb");
    FILE *ids = comparison_open(c, "ids", "wb");
    char *ours = NULL;
    size_t capacity = 0, number = 0;
    for (; comparison_next(&line, lines); number++) {
        assert_true(comparison_next(&ref, theirs));
        comparison_ids(c->tokenizer, (rapt_text){line.bytes, (size_t)line.size}, &ours, &capacity);
        if (strcmp(ours, ref.bytes) != 0)
            comparison_differs(what, number + 1, &line, ref.bytes, ours);
        if (ours[0]) fprintf(ids, "%s\n", ours);
    }
    assert_int_equal(number, c->count);
    assert_false(comparison_next(&ref, theirs));
    free(line.bytes);
    free(ref.bytes);
    free(ours);
    fclose(lines);
    fclose(theirs);
    assert_int_equal(fclose(ids), 0);
}

/* Appends sequences of ids that no text gives. */
static void comparison_any_ids(const struct comparison *c, size_t lines)
{
    FILE *ids = comparison_open(c, "ids", "ab");
    uint64_t seed = 5;
    size_t vocab = (size_t)rapt_tokenizer_vocab(c->tokenizer);
    for (size_t i = 0; i < lines; i++) {
        size_t few = vocab < 400 || below(&seed, 2) ? rapt__min_size(vocab, 300) : vocab;
        for (size_t n = below(&seed, 12) + 1; n > 0; n--)
            fprintf(ids, n > 1 ? "%zu " : "%zu\n", below(&seed, few));
    }
    assert_int_equal(fclose(ids), 0);
}

static void comparison_decode(const struct comparison *c, const char *what)
{
    struct comparison_line line = {0}, ref = {0};
    FILE *lines = comparison_open(c, "ids", "rb"), *theirs = comparison_open(c, "decoded", "rb");
    for (size_t number = 1; comparison_next(&line, lines); number++) {
        size_t count = 0, size = 0;
        int32_t *ids = malloc(((size_t)line.size + 1) * sizeof *ids);
        assert_non_null(ids);
        for (char *at = line.bytes; *at;) ids[count++] = (int32_t)strtol(at, &at, 10);
        rapt_tokenizer_decode(c->tokenizer, ids, count, NULL, 0, &size, NULL);
        char *ours = malloc(size + 1);
        assert_non_null(ours);
        assert_int_equal(rapt_tokenizer_decode(c->tokenizer, ids, count, ours, size, &size, NULL),
                         RAPT_OK);
        ours[size] = 0;
        /* A text may itself contain line breaks. */
        for (size_t at = 0;; at++) {
            char *end = memchr(ours + at, '\n', size - at);
            size_t part = (end ? (size_t)(end - ours) : size) - at;
            assert_true(comparison_next(&ref, theirs));
            if ((size_t)ref.size != part || memcmp(ref.bytes, ours + at, part) != 0)
                comparison_differs(what, number, &line, ref.bytes, ours);
            at += part;
            if (!end) break;
        }
        free(ours);
        free(ids);
    }
    assert_false(comparison_next(&ref, theirs));
    free(line.bytes);
    free(ref.bytes);
    fclose(lines);
    fclose(theirs);
}

/* Runs the comparison. If `any`, also decodes ids in random order. */
static void comparison_run(struct comparison *c, const char *what, bool any)
{
    assert_int_equal(fclose(c->lines), 0);
    c->lines = NULL;
    comparison_command(c, "spm_encode", "lines", "encoded");
    comparison_encode(c, what);
    if (any) comparison_any_ids(c, 2000);
    comparison_command(c, "spm_decode", "ids", "decoded");
    comparison_decode(c, what);
}

static void comparison_free(struct comparison *c)
{
    static const char *const files[] = {"model", "lines", "encoded", "ids", "decoded", "errors"};
    char path[TEMPORARY + 32];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        comparison_path(c, files[i], path);
        remove(path);
    }
    assert_int_equal(rmdir(c->folder), 0);
    rapt_tokenizer_free(c->tokenizer);
}

enum { PARTS = 60 };

static int random_lines = 250000; /* for each model of a folder */

static void add_random(struct comparison *c, uint64_t seed, int lines)
{
    char line[PARTS * HARD_PART];
    for (int i = 0; i < lines; i++) {
        size_t parts = below(&seed, 4) ? 8 : PARTS;
        comparison_add(c, line, hard_text(&seed, parts, line));
    }
}

static void test_crafted(void **state)
{
    static struct craft model;
    char what[32];
    (void)state;
    if (!reference_there()) {
        skipped("SentencePiece's own programs", "apt install sentencepiece");
        return;
    }
    for (size_t i = 0; i < CRAFTED_MODELS; i++) {
        craft_model(&model, i);
        struct comparison c = comparison_of(model.bytes, model.size);
        add_random(&c, i, 2000);
        snprintf(what, sizeof what, "crafted model %zu", i);
        comparison_run(&c, what, true);
        comparison_free(&c);
    }
}

/* ---- all models and texts of a folder ---- */

static struct {
    char **paths;
    size_t count;
} models, texts;

static bool ends_in(const char *path, const char *end)
{
    size_t size = strlen(path), tail = strlen(end);
    return size > tail && strcmp(path + size - tail, end) == 0;
}

static int visit(const char *path, const struct stat *status, int type, struct FTW *where)
{
    static const char *const of_texts[] = {".txt", ".tsv", ".en", ".de"};
    char ***paths = NULL;
    size_t *count = NULL;
    (void)status;
    (void)where;
    if (type != FTW_F) return 0;
    if (ends_in(path, ".spm") || ends_in(path, ".model"))
        paths = &models.paths, count = &models.count;
    for (size_t i = 0; i < sizeof of_texts / sizeof *of_texts; i++)
        if (ends_in(path, of_texts[i])) paths = &texts.paths, count = &texts.count;
    if (!paths) return 0;
    *paths = realloc(*paths, (*count + 1) * sizeof **paths);
    assert_non_null(*paths);
    (*paths)[(*count)++] = strdup(path);
    return 0;
}

static char *whole(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

/* The reference does not know the options encode_case and decode_case and ignores them; the library
   refuses them. Sets them to 0, so that the rest of such a model is compared. */
static void drop_case(char *bytes, size_t size)
{
    struct protobuf m = {bytes, size, 0, NULL};
    struct protobuf_field f, g;
    while (rapt__protobuf_next(&m, &f)) {
        if (f.number != 3 && f.number != 5) continue;
        struct protobuf spec = {f.bytes, f.size, 0, NULL};
        for (size_t at = 0; rapt__protobuf_next(&spec, &g); at = spec.at)
            if (g.number == 7 || g.number == 8) bytes[f.bytes - bytes + (ptrdiff_t)at + 1] = 0;
    }
}

static void compare_model(const char *path)
{
    size_t size, text_size;
    char *model = whole(path, &size);
    struct comparison_line line = {0};
    drop_case(model, size);
    struct comparison c = comparison_of(model, size);
    for (size_t i = 0; i < texts.count; i++) {
        FILE *text = fopen(texts.paths[i], "rb");
        assert_non_null(text);
        while (comparison_next(&line, text)) comparison_add(&c, line.bytes, (size_t)line.size);
        fclose(text);
    }
    text_size = c.count;
    add_random(&c, size, random_lines);
    comparison_run(&c, path, true);
    printf("%s: %zu lines of texts, %d of random characters: equal\n", path, text_size,
           random_lines);
    comparison_free(&c);
    free(line.bytes);
    free(model);
}

static void test_folder(void **state)
{
    (void)state;
    for (size_t i = 0; i < models.count; i++) compare_model(models.paths[i]);
}

static int compare_folder(const char *folder)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folder),
    };
    if (reference_there()) nftw(folder, visit, 16, FTW_PHYS);
    if (models.count == 0) {
        skipped("SentencePiece's own programs on real models",
                reference_there() ? "there is no folder of them" : "apt install sentencepiece");
        return 0;
    }
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t i = 0; i < models.count; i++) free(models.paths[i]);
    for (size_t i = 0; i < texts.count; i++) free(texts.paths[i]);
    free(models.paths);
    free(texts.paths);
    return failures;
}

int main(int count, char **arguments)
{
    if (count > 2) random_lines = atoi(arguments[2]);
    if (count > 1) return compare_folder(arguments[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crafted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
