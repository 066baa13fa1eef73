/* spm_reference.c - compares SentencePiece's own programs (Debian's package sentencepiece) with
   ours: the same ids for every line, the same text for these ids. By default it uses crafted models
   of every kind and random texts. `spm_reference FOLDER [N]` uses every model and every text under
   a folder, and N random texts per model (a quarter of a million by default). */
#define _GNU_SOURCE /* nftw, getline */
#include "../skips.h"
#include "spm_compare.h"
#include "spm_models.h"

#include <ftw.h>

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
