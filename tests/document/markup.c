/* markup.c - laws for random documents with markup, whose words change their order: the tags
   that come out are those of the document, each is closed in the right order, and without tags
   the result is the translation of the document without tags. Also what becomes of protected
   text and tags in given answers of a model, such as one that alters a placeholder or writes it
   twice. */
#include "../counting.h"
#include "document_help.h"

enum { DOCUMENTS = 2000, BYTES = 1 << 14, DEPTH = 4 };

/* A document that is being made, with and without the tags within sentences. */
struct made {
    char full[BYTES], bare[BYTES];
    size_t full_size, bare_size;
    int tags; /* within sentences, so far; each has its number */
};

static void add(char *bytes, size_t *size, const char *text)
{
    assert_true(*size + strlen(text) < BYTES);
    strcpy(bytes + *size, text);
    *size += strlen(text);
}

static void add_tag(struct made *m, const char *text)
{
    add(m->full, &m->full_size, text);
}

static void add_text(struct made *m, const char *text)
{
    add(m->full, &m->full_size, text);
    add(m->bare, &m->bare_size, text);
}

/* ---- formats ---- */

/* How a format spells what the documents consist of. */
struct dialect {
    rapt_document_format format;
    const char *begin, *end; /* of the document */
    const char *paragraph_begin, *paragraph_end;
    const char *names;  /* of elements; each is one letter */
    const char *quote;  /* around the values of attributes */
    bool empty;         /* a tag that stands by itself ends in /> */
    bool references;    /* &amp; is text */
    const char *source; /* how a line begins that is kept and has its translation elsewhere */
};

static const struct dialect dialects[] = {
    {RAPT_DOCUMENT_FORMAT_HTML, "<!DOCTYPE html>\n<title>t</title>\n", "", "<p>", "</p>\n",
     "abiusq", "\"", false, true, NULL},
    {RAPT_DOCUMENT_FORMAT_PO, "# text\nmsgid \"\"\nmsgstr \"\"\n\"Language: de\"\n\n", "",
     "msgid \"", "\"\nmsgstr \"\"\n\n", "abiusq", "", false, false, "msgid "},
    {RAPT_DOCUMENT_FORMAT_XLIFF, "<?xml version=\"1.0\"?>\n<xliff>\n", "</xliff>\n", "<source>",
     "</source>\n", "gpmqrs", "\"", true, true, "<source>"},
    {RAPT_DOCUMENT_FORMAT_MARKDOWN, "# t\n\n", "", "", "\n\n", "abiusq", "\"", false, true, NULL},
    {RAPT_DOCUMENT_FORMAT_SRT, "", "", "1\n00:00:01,000 --> 00:00:02,000\n", "\n\n", "abius", "'",
     false, false, NULL},
};

/* ---- random documents ---- */

static const char *const words[] = {"one",   "two", "three", "four.",    "five!", "six,", "(seven)",
                                    "eight", "9",   "ten?",  "\xC3\xA9", "&amp;", "it's"};

/* Adds elements, words and tags by themselves. */
static void add_words(struct made *m, const struct dialect *d, uint64_t *random, int depth)
{
    for (int i = (int)(draw(random) % 6); i >= 0; i--) {
        char tag[40];
        const char name = d->names[draw(random) % strlen(d->names)];
        const uint64_t kind = draw(random) % 8;
        if (kind == 0) {
            snprintf(tag, sizeof tag, "<%s id=%s%d%s%s>", d->empty ? "x" : "img", d->quote,
                     m->tags++, d->quote, d->empty ? "/" : "");
            add_tag(m, tag);
        } else if (kind < 4 && depth < DEPTH) {
            snprintf(tag, sizeof tag, "<%c id=%s%d%s>", name, d->quote, m->tags++, d->quote);
            add_tag(m, tag);
            add_words(m, d, random, depth + 1);
            snprintf(tag, sizeof tag, "</%c>", name);
            add_tag(m, tag);
        } else {
            const char *word = words[draw(random) % COUNT(words)];
            add_text(m, *word == '&' && !d->references ? "eleven" : word);
            if (draw(random) % 8) add_text(m, " "); /* or the next tag splits a word */
        }
    }
}

static void make_document(struct made *m, const struct dialect *d, uint64_t *random)
{
    *m = (struct made){.tags = 0};
    add_text(m, d->begin);
    for (int i = 0; i < 4; i++) {
        add_text(m, d->paragraph_begin);
        add_text(m, "zero "); /* a message without a letter would not be translated */
        add_words(m, d, random, 0);
        add_text(m, d->paragraph_end);
    }
    add_text(m, d->end);
}

/* ---- the laws ---- */

/* Returns the size of the tag at text[0] that is one of those within sentences, or 0. */
static size_t inline_tag(const struct dialect *d, const char *text)
{
    const size_t slash = text[0] == '<' && text[1] == '/';
    const char name = text[0] == '<' ? text[1 + slash] : 0;
    const bool element = name && strchr(d->names, name) && (text[2 + slash] == ' ' || slash) &&
                         text[2 + slash] != 0 && strchr(" >", text[2 + slash]);
    const bool single = strncmp(text, "<img id", 7) == 0 || strncmp(text, "<x id", 5) == 0;
    return element || single ? strcspn(text, ">") + 1 : 0;
}

/* Checks the tags of a text: each element is closed, by its name, within those around it, and each
   number occurs once. */
static void check_tags(const struct dialect *d, const char *text, int tags)
{
    char open[BYTES];
    int depth = 0, seen = 0;
    char *found = calloc((size_t)tags + 1, 1);
    assert_non_null(found);
    for (size_t size; *text; text += size) {
        if ((size = inline_tag(d, text)) == 0) {
            size = 1;
        } else if (text[1] == '/') {
            assert_true(depth > 0 && open[--depth] == text[2]);
        } else {
            const int number = atoi(strchr(text, '=') + 1 + strlen(d->quote));
            assert_true(number < tags && !found[number]);
            found[number] = 1, seen++;
            if (strchr(d->names, text[1]) && text[2] == ' ') open[depth++] = text[1];
        }
    }
    assert_int_equal(depth, 0);
    assert_int_equal(seen, tags);
    free(found);
}

/* Removes lines whose translation is elsewhere. */
static void drop_sources(const struct dialect *d, char *text)
{
    char *out = text;
    while (*text) {
        const size_t size = strcspn(text, "\n") + (strchr(text, '\n') != NULL);
        const bool dropped = d->source && strncmp(text, d->source, strlen(d->source)) == 0;
        if (!dropped) memmove(out, text, size), out += size;
        text += size;
    }
    *out = 0;
}

/* Writes one space for several, and none at the edges of a paragraph. There may be one on each side
   of a tag. */
static void join_spaces(char *text)
{
    char *out = text, before = '\n';
    for (; *text; text++) {
        const bool drop = *text == ' ' && (strchr(" >\n\"", before) || strchr(" <\n\"", text[1]));
        if (!drop) before = *out++ = *text;
    }
    *out = 0;
}

/* Removes the tags within sentences. */
static void strip(const struct dialect *d, char *text)
{
    char *out = text;
    for (size_t size; *text;) {
        size = inline_tag(d, text);
        if (size == 0) *out++ = *text++;
        text += size;
    }
    *out = 0;
}

static void check_laws(const struct dialect *d)
{
    static const enum order orders[] = {IN_ORDER, REVERSED, SHUFFLED};
    struct made *m = calloc(1, sizeof *m);
    uint64_t random = 0x9E3779B97F4A7C15u;
    int tags = 0;
    assert_non_null(m);
    for (int i = 0; i < DOCUMENTS; i++) {
        const struct reordering how = {orders[i % 3], i % 4 == 3};
        make_document(m, d, &random);
        struct record full = reorder_document(d->format, how, (rapt_text){m->full, m->full_size});
        struct record bare = reorder_document(d->format, how, (rapt_text){m->bare, m->bare_size});
        drop_sources(d, full.text);
        drop_sources(d, bare.text);
        check_tags(d, full.text, m->tags);
        strip(d, full.text);
        join_spaces(full.text);
        join_spaces(bare.text);
        assert_string_equal(full.text, bare.text);
        tags += m->tags;
        free(full.text);
        free(bare.text);
    }
    assert_true(tags > 10 * DOCUMENTS); /* the documents are worth a test */
    free(m);
}

static void test_laws(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(dialects); i++) check_laws(&dialects[i]);
}

/* ---- failing allocations ---- */

static void test_memory(void **state)
{
    (void)state;
    for (int f = 0; f < COUNT(dialects); f++) {
        struct reordering how = {REVERSED, false};
        const rapt_document_options options = {.size = sizeof options,
                                               .format = dialects[f].format};
        const rapt_document_engine engine = {
            .size = sizeof engine, .translate = reorder_sentences, .user = &how};
        rapt_status status = RAPT_NO_MEMORY;
        char text[500];
        const int size = snprintf(text, sizeof text,
                                  "%s%sOne <b>two <i>three</i></b>. Four %%s <code>five</code> six "
                                  "&amp; <u>seven</u>%s%s",
                                  dialects[f].begin, dialects[f].paragraph_begin,
                                  dialects[f].paragraph_end, dialects[f].end);
        int n = 0;
        for (; status == RAPT_NO_MEMORY; n++) {
            struct counting counting = {.fails = n};
            const rapt_allocator allocator = counting_allocator(&counting);
            struct record r = {.document = {text, (size_t)size}, .text = calloc(1, 1)};
            rapt_message why = {""};
            status = rapt_document_translate_with(&engine, r.document, &options, record_piece, &r,
                                                  &allocator, &why);
            assert_true(counting.living == 0 && (status == RAPT_OK) == (why.text[0] == 0));
            free(r.text);
        }
        assert_true(status == RAPT_OK && n > 8);
    }
}

/* ---- answers of a model ---- */

struct seen {
    struct record record;
    int restored;
};

static int note_piece(void *user, const rapt_document_piece *piece)
{
    struct seen *seen = user;
    seen->restored += piece->restored;
    return record_piece(&seen->record, piece);
}

/* An engine with one answer, whose tokens end with |, and the source word of each token. */
struct scripted {
    const char *answer;
    const int *sources;
};

static rapt_status answer(void *user, const rapt_text *texts, size_t count, rapt_take_fn *take,
                          void *taker, rapt_message *why)
{
    const struct scripted *script = user;
    static struct word_list listed;
    char text[500];
    float alignment[50 * 50] = {0};
    rapt_span spans[50];
    size_t size = 0;
    int tokens = 0;
    (void)why;
    assert_int_equal(count, 1);
    list_words(&listed, texts[0]);
    for (const char *at = script->answer; *at; at++) {
        const size_t begin = size;
        while (*at != '|') text[size++] = *at++;
        alignment[tokens * (listed.count + 1) + script->sources[tokens]] = 1;
        spans[tokens++] = (rapt_span){begin, size};
    }
    const rapt_translation t = {.text = text,
                                .size = size,
                                .source_count = listed.count,
                                .target_count = tokens,
                                .alignment = alignment,
                                .source_spans = listed.spans,
                                .target_spans = spans};
    take(taker, RAPT_OK, (rapt_text){text, size}, &t);
    return RAPT_OK;
}

/* Checks what a document becomes if the model gives this answer. */
static void answers(rapt_document_format format, const char *document, struct scripted script,
                    const char *wanted, int restored)
{
    const rapt_document_options options = {.size = sizeof options, .format = format};
    const rapt_document_engine engine = {
        .size = sizeof engine, .translate = answer, .user = &script};
    struct seen c = {.record = {.document = {document, strlen(document)}, .text = calloc(1, 1)}};
    rapt_message why = {""};
    if (rapt_document_translate_with(&engine, c.record.document, &options, note_piece, &c, NULL,
                                     &why))
        fail_msg("%s", why.text);
    assert_string_equal(c.record.text, wanted);
    assert_int_equal(c.restored, restored);
    free(c.record.text);
}

static void test_answers(void **state)
{
    (void)state;
    const rapt_document_format text = RAPT_DOCUMENT_FORMAT_TEXT;
    /* most of a placeholder, at which the model attends to another word */
    answers(text, "Delete %(dog)s and %(cats)s.",
            (struct scripted){"Apague |%(cats) |e |%(dog)s|.|", (const int[]){0, 2, 2, 1, 3}},
            "Apague %(cats)s e %(dog)s.", 1);
    /* the same, in a translation that was forced to contain the whole placeholder */
    answers(text, "Delete the %(cats)s.",
            (struct scripted){"%(cats)s |apague |%(cats)|.|", (const int[]){2, 0, 1, 2}},
            "apague %(cats)s.", 0);
    /* a placeholder that the model writes too often */
    answers(text, "The file %s ends.",
            (struct scripted){"O |%s |ficheiro |%s |acaba.|", (const int[]){0, 0, 1, 2, 3}},
            "O ficheiro %s acaba.", 0);
    answers(text, "The %s, the %s.",
            (struct scripted){"O |%s|, |o |%s|.|", (const int[]){0, 1, 1, 2, 3, 3}}, "O %s, o %s.",
            0);
    /* without a space after the punctuation, which is then part of a word */
    answers(text, "Use %s,set it.",
            (struct scripted){"Use |%|s,|defina|.|", (const int[]){0, 1, 1, 1, 2}},
            "Use %s,defina.", 0);
    /* but addresses may occur twice */
    answers(text, "See a.org now.",
            (struct scripted){"Veja |a.org|, |a.org|.|", (const int[]){0, 1, 1, 1, 2}},
            "Veja a.org, a.org.", 0);
    /* a word of another element comes between the words of a link, one of which has a tag */
    answers(RAPT_DOCUMENT_FORMAT_HTML, "<p>The <a>quick <b>brown</b></a> fox",
            (struct scripted){"A |veloz |raposa |parda|", (const int[]){0, 1, 3, 2}},
            "<p>A <a>veloz raposa <b>parda</b></a>", 0);
    /* one token of a placeholder in an element attends to another word */
    answers(RAPT_DOCUMENT_FORMAT_HTML, "<p>It has <b>%d</b> lines",
            (struct scripted){"Tem |linhas |%|d|", (const int[]){0, 3, 2, 3}},
            "<p>Tem linhas <b>%d</b>", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_laws),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
