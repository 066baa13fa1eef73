/* yaml_judged.c - compares the YAML reader with PyYAML, which python3 runs if it is installed.
   Random documents as Marian writes them must be read with the same keys, texts and lists. Damaged
   ones must not be read as something else: they are refused, or read alike, or not YAML. */
#define _XOPEN_SOURCE 700

#include "../skips.h"
#include "../temporary.h"
#include "craft.h"

#include <sys/wait.h>

enum { DOCUMENTS = 4000, DOCUMENT = 2048 };

struct writer {
    char text[DOCUMENT];
    size_t size;
    uint64_t seed;
    bool crlf;
};

static unsigned below(struct writer *w, unsigned n)
{
    return (unsigned)((next_random(&w->seed) >> 33) % n);
}

static void put(struct writer *w, const char *text)
{
    size_t size = strlen(text);
    assert_true(w->size + size < DOCUMENT);
    memcpy(w->text + w->size, text, size);
    w->size += size;
}

static void put_one_of(struct writer *w, const char *const *words, unsigned count)
{
    put(w, words[below(w, count)]);
}
#define PUT_ONE(w, ...)                                                                            \
    put_one_of(w, (const char *const[]){__VA_ARGS__},                                              \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* ---- scalars ---- */

static void put_plain(struct writer *w, bool flow)
{
    PUT_ONE(w, "a", "Zb", "0", "1.5", "v1", "\xC3\xA9", "\xE2\x96\x81x", "_", "/p", "~", "True",
            "<s>", "-1", "a:b", "-b", "x");
    for (unsigned n = below(w, 4); n > 0; n--) {
        PUT_ONE(w, "a", " b", ".", "#", "-", "  c", "/", "'", "\"", "%", "=", "&", "*", "!", "\\n",
                "\xF0\x9F\x98\x80", " :c");
        if (!flow && below(w, 4) == 0) PUT_ONE(w, ",", "]", "{", ", d", "[");
    }
}

static void put_single(struct writer *w)
{
    put(w, "'");
    for (unsigned n = below(w, 5); n > 0; n--)
        PUT_ONE(w, "a", " ", "''", "\"", "\\", ": ", " #", ",", "]", "[", "{", "}", "\xC3\xA9",
                "- ");
    put(w, "'");
}

static void put_double(struct writer *w)
{
    put(w, "\"");
    for (unsigned n = below(w, 5); n > 0; n--)
        PUT_ONE(w, "a", " ", "'", ": ", " #", ",", "]", "{", "\xC3\xA9", "\\n", "\\t", "\\\"",
                "\\\\", "\\/", "\\x41", "\\u00e9", "\\u2581", "\\U0001F600", "\\a", "\\b", "\\v",
                "\\f", "\\r", "\\e", "\\ ", "\\N", "\\_");
    if (below(w, 8) == 0) PUT_ONE(w, "\\L", "\\P");
    put(w, "\"");
}

static void put_scalar(struct writer *w, bool flow)
{
    switch (below(w, 4)) {
    case 0:
        put_single(w);
        break;
    case 1:
        put_double(w);
        break;
    default:
        put_plain(w, flow);
    }
}

/* ---- documents ---- */

static void end_line(struct writer *w)
{
    PUT_ONE(w, "", "", "", " ", " # c", "  # [a: 'b");
    put(w, w->crlf ? "\r\n" : "\n");
    if (below(w, 12) == 0) PUT_ONE(w, "\n", "# comment\n", "  \n", "   # comment: x\n");
}

static void put_flow(struct writer *w)
{
    const unsigned count = below(w, 4);
    PUT_ONE(w, "[", "[ ");
    for (unsigned i = 0; i < count; i++) {
        put_scalar(w, true);
        if (i + 1 < count) PUT_ONE(w, ",", ", ", " , ");
    }
    if (count > 0) PUT_ONE(w, "", "", ",", " ,");
    PUT_ONE(w, "]", " ]");
}

static void put_block(struct writer *w)
{
    const char *indent = (const char *const[]){"", "  ", "    "}[below(w, 3)];
    end_line(w);
    for (unsigned n = 1 + below(w, 3); n > 0; n--) {
        put(w, indent);
        put(w, "- ");
        put_scalar(w, false);
        end_line(w);
    }
}

static void put_pair(struct writer *w, unsigned number)
{
    char key[32];
    snprintf(key, sizeof key,
             (const char *const[]){"k%u", "'k %u'", "\"k:%u\"", "k-%u b"}[below(w, 4)], number);
    put(w, key);
    PUT_ONE(w, ":", ":", " :");
    const unsigned kind = below(w, 6);
    if (kind > 1 && kind < 5) PUT_ONE(w, " ", "  ");
    if (kind == 0) {
        put_block(w);
        return;
    }
    if (kind == 2)
        put_flow(w);
    else if (kind == 3)
        PUT_ONE(w, "[]", "{}", "[ ]");
    else if (kind == 4)
        put_scalar(w, false);
    else if (kind == 5) {
        put(w, w->crlf ? "\r\n  " : "\n  ");
        put_flow(w);
    }
    end_line(w);
}

static void put_document(struct writer *w)
{
    w->size = 0;
    w->crlf = below(w, 4) == 0;
    if (below(w, 4) == 0) PUT_ONE(w, "---\n", "# head\n", "# head\n---\n");
    const unsigned pairs = below(w, 5);
    for (unsigned i = 0; i < pairs; i++) put_pair(w, i);
    if (pairs > 0 && below(w, 6) == 0) put(w, "...\n");
    if (below(w, 4) == 0)
        while (w->size > 0 && strchr("\r\n", w->text[w->size - 1])) w->size--;
}

/* Replaces, removes or inserts a few bytes. */
static void damage_document(struct writer *w)
{
    static const char bytes[] = "a:- #,[]{}'\"\\\n &*!|>%@`?~1\t\r.";
    for (unsigned n = 1 + below(w, 3); n > 0 && w->size > 0 && w->size + 2 < DOCUMENT; n--) {
        char *at = w->text + below(w, (unsigned)w->size), byte = bytes[below(w, sizeof bytes - 1)];
        size_t after = (size_t)(w->text + w->size - at);
        switch (below(w, 3)) {
        case 0:
            *at = byte;
            break;
        case 1:
            memmove(at, at + 1, after - 1);
            w->size--;
            break;
        default:
            memmove(at + 1, at, after);
            *at = byte;
            w->size++;
        }
    }
}

/* ---- the reader's result, in the form of yaml_judge.py ---- */

static void put_hex(char **to, const char *text)
{
    for (; *text; text++) *to += sprintf(*to, "%02x", (unsigned)(unsigned char)*text);
}

/* Writes a key with its text or list; returns the index after them. */
static int put_field(char **to, const struct yaml *yaml, int n)
{
    const struct yaml_item *item = rapt__yaml_at(yaml, n);
    put_hex(to, item->key);
    *(*to)++ = '=';
    if (item->value) {
        put_hex(to, item->value);
    } else {
        *(*to)++ = '[';
        for (int i = 1; i <= item->length; i++) {
            put_hex(to, rapt__yaml_at(yaml, n + i)->value);
            *(*to)++ = ',';
        }
        *(*to)++ = ']';
    }
    return n + 1 + item->length;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Returns whether the document was read; writes its line. */
static bool read_document(const struct writer *w, char *line, rapt_message *why)
{
    static char fields[4 * DOCUMENT];
    const char *sorted[DOCUMENT];
    size_t count = 0;
    char *at = fields;
    struct yaml *yaml = NULL;
    if (rapt__yaml_open(&yaml, w->text, w->size, "document", NULL, why)) return false;
    for (int n = 0; n < rapt__yaml_count(yaml);) {
        sorted[count++] = at;
        n = put_field(&at, yaml, n);
        *at++ = 0;
    }
    qsort(sorted, count, sizeof *sorted, by_text);
    for (size_t i = 0; i < count; i++) line += sprintf(line, "%s%s", i ? ";" : "", sorted[i]);
    if (count == 0) *line = 0;
    rapt__yaml_close(yaml);
    return true;
}

/* ---- the comparison ---- */

static bool judge(const char *documents, const char *results)
{
    char command[1024];
    snprintf(command, sizeof command, "python3 -B %s/format/yaml_judge.py %s %s", RAPT_TESTS_DIR,
             documents, results);
    int status = system(command);
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127)) {
        print_message("skipped: format/yaml_judged: python3 has no module yaml\n");
        return false;
    }
    assert_int_equal(status, 0);
    return true;
}

static void make_document(struct writer *w, int n)
{
    w->seed = (uint64_t)n * 0x9E3779B97F4A7C15u + 1;
    put_document(w);
    if (n % 2) damage_document(w);
}

static void compare(FILE *results)
{
    static struct writer w;
    static char own[4 * DOCUMENT], line[8 * DOCUMENT];
    int same = 0, refused = 0;
    for (int n = 0; n < DOCUMENTS; n++) {
        rapt_message why = {""};
        make_document(&w, n);
        assert_non_null(fgets(line, sizeof line, results));
        line[strcspn(line, "\n")] = 0;
        bool is_read = read_document(&w, own, &why);
        if (!is_read && n % 2 == 0) fail_msg("%d: %s\n%.*s", n, why.text, (int)w.size, w.text);
        if (is_read && strcmp(own, line) != 0 && (n % 2 == 0 || strcmp(line, "error") != 0))
            fail_msg("%d:\n%.*s\nhere:   %s\nPyYAML: %s", n, (int)w.size, w.text, own, line);
        *(is_read ? &same : &refused) += 1;
    }
    assert_true(same > DOCUMENTS / 2 && refused > DOCUMENTS / 10);
}

static void test_judged(void **state)
{
    static struct writer w;
    char documents[TEMPORARY + 16], results[TEMPORARY + 16];
    snprintf(documents, sizeof documents, "%s/documents", (const char *)*state);
    snprintf(results, sizeof results, "%s/results", (const char *)*state);
    FILE *file = fopen(documents, "wb");
    assert_non_null(file);
    for (int n = 0; n < DOCUMENTS; n++) {
        make_document(&w, n);
        fwrite(w.text, 1, w.size, file), fputc(0, file);
    }
    assert_int_equal(fclose(file), 0);
    bool judged = judge(documents, results);
    file = judged ? fopen(results, "r") : NULL;
    if (file) compare(file), fclose(file);
    remove(documents), remove(results);
    if (!judged) skip();
    assert_non_null(file);
}

static int make_folder(void **state)
{
    static char folder[TEMPORARY];
    return (*state = temporary_folder(folder)) ? 0 : -1;
}

static int remove_folder(void **state)
{
    return rmdir(*state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_judged)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
