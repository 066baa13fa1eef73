/* boundaries.c - finds the boundaries of real sentences, which are joined into paragraphs. The
   sentences are those of Tatoeba (the test and validation sets) and Multi30k (test 2016 and
   validation) in RAPT_DATA that end in a terminator. The rules and abbreviations were made with
   other text, the training sets. */
#define _GNU_SOURCE /* getline */
#include "document_help.h"

#include <sys/types.h>

enum { PARAGRAPH = 6 };           /* sentences */
static const double least = 0.99; /* F1 */

struct joined {
    char *text;
    size_t size, capacity;
    size_t *ends; /* [count] where sentences end, except the last of a paragraph */
    size_t count, sentences;
};

static void add_bytes(struct joined *j, const char *bytes, size_t size)
{
    if (j->size + size > j->capacity) {
        j->capacity = 2 * (j->size + size);
        j->text = realloc(j->text, j->capacity);
        assert_non_null(j->text);
    }
    memcpy(j->text + j->size, bytes, size);
    j->size += size;
}

static bool is_sentence(rapt_text text)
{
    size_t end = text.size;
    while (end > 0 && rapt__is_closer(rapt__character_before(text, end, &end))) text.size = end;
    return text.size > 1 && rapt__is_terminator(rapt__character_before(text, text.size, &end));
}

static void add_sentence(struct joined *j, rapt_text text)
{
    if (!is_sentence(text)) return;
    if (j->sentences % PARAGRAPH != 0) {
        j->ends = realloc(j->ends, (j->count + 1) * sizeof *j->ends);
        assert_non_null(j->ends);
        j->ends[j->count++] = j->size;
        add_bytes(j, " ", 1);
    } else if (j->sentences > 0) {
        add_bytes(j, "\n", 1);
    }
    add_bytes(j, text.bytes, text.size);
    j->sentences++;
}

/* Joins column `column` of a file in RAPT_DATA. Returns false if there is no such file. */
static bool join(struct joined *j, const char *name, int column)
{
    char path[DATA_PATH], *line = NULL;
    size_t capacity = 0;
    const char *data = getenv("RAPT_DATA");
    snprintf(path, sizeof path, "%s/%s", data ? data : ".", name);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    for (ssize_t size; (size = getline(&line, &capacity, file)) > 0;) {
        char *from = line, *end = NULL;
        line[strcspn(line, "\n")] = 0;
        for (int i = 0; i < column && from; i++) from = strchr(from, '\t'), from += from != NULL;
        if (!from) continue;
        end = strchr(from, '\t');
        add_sentence(j, (rapt_text){from, end ? (size_t)(end - from) : strlen(from)});
    }
    free(line);
    fclose(file);
    return true;
}

struct found {
    const struct joined *joined;
    size_t at;           /* in joined->ends */
    size_t right, count; /* boundaries */
};

static int compare_piece(void *user, const rapt_document_piece *p)
{
    struct found *f = user;
    const struct joined *j = f->joined;
    if (p->kind != RAPT_PIECE_SENTENCE) return 0;
    size_t end = p->source.end;
    if (end < j->size && j->text[end] != '\n') {
        while (f->at < j->count && j->ends[f->at] < end) f->at++;
        f->right += f->at < j->count && j->ends[f->at] == end;
        f->count++;
    }
    return 0;
}

static double score(const struct joined *j, const char *language, bool rules)
{
    const rapt_document_options options = {.size = sizeof options, .language = language};
    const rapt_document_engine engine = {.size = sizeof engine, .translate = keep_sentences};
    struct found f = {.joined = j};
    assert_int_equal(rapt__document_translate(&engine, (rapt_text){j->text, j->size}, &options,
                                              rules, NULL, compare_piece, &f, NULL, NULL),
                     RAPT_OK);
    double precision = (double)f.right / (double)f.count,
           recall = (double)f.right / (double)j->count;
    double f1 = 2 * precision * recall / (precision + recall);
    print_message("%s, %s: %zu boundaries, precision %.4f, recall %.4f, F1 %.4f\n",
                  *language ? language : "any language", rules ? "rules" : "ICU", j->count,
                  precision, recall, f1);
    return f1;
}

static void judge(const char *language, const char *const names[], int column)
{
    struct joined j = {.text = NULL};
    for (int i = 0; names[i]; i++)
        if (!join(&j, names[i], column)) {
            skipped("document/boundaries", "RAPT_DATA is not a folder with these sentences");
            free(j.text), free(j.ends);
            return;
        }
    assert_true(j.count > 1000);
    for (int rules = 0; rules < 2; rules++) {
        assert_true(score(&j, language, rules) >= least);
        assert_true(score(&j, "", rules) >= least);
    }
    free(j.text), free(j.ends);
}

static void test_tatoeba(void **state)
{
    (void)state;
    const char *const names[] = {"tatoeba-en-de/valid.tsv", "tatoeba-en-de/test.tsv", NULL};
    judge("en", names, 0);
    judge("de", names, 1);
}

static void test_multi30k(void **state)
{
    (void)state;
    judge("en", (const char *const[]){"multi30k/test_2016_flickr.en", "multi30k/val.en", NULL}, 0);
    judge("de", (const char *const[]){"multi30k/test_2016_flickr.de", "multi30k/val.de", NULL}, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tatoeba),
        cmocka_unit_test(test_multi30k),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
