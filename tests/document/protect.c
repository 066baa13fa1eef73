/* protect.c - text that a translation must not change, also if the model cannot write it. */
#include "../counting.h"
#include "document_help.h"

/* ---- protect: text that a translation must not change: what is recognized, and where it is put.
   ---- */

/* ---- what is recognized ---- */

/* Checks which parts of a text are protected; `wanted` has | after each. */
static void protects_with(const rapt_document_options *options, const char *text,
                          const char *wanted)
{
    struct protection p;
    const rapt_text all = {text, strlen(text)};
    char found[1000] = "";
    rapt_span span = {0, 0};
    assert_int_equal(rapt__protection_open(&p, options, NULL), RAPT_OK);
    while (rapt__protected_next(&p, all, span.end, all.size, &span)) {
        assert_true(strlen(found) + span.end - span.begin + 2 < sizeof found);
        strncat(found, text + span.begin, span.end - span.begin);
        strcat(found, "|");
    }
    assert_string_equal(found, wanted);
}

static void protects(const char *text, const char *wanted)
{
    const rapt_document_options options = {.size = sizeof options};
    protects_with(&options, text, wanted);
}

static void test_addresses(void **state)
{
    (void)state;
    protects("See https://a.org/b?c=1&d=%20#e, or (http://en.wikipedia.org/wiki/A_(b)).",
             "https://a.org/b?c=1&d=%20#e|http://en.wikipedia.org/wiki/A_(b)|");
    protects("<ftp://x.y/z> www.a.de! http:// www. a://b", "ftp://x.y/z|www.a.de|a://b|");
    protects("http://de.wikipedia.org/wiki/Gr\xC3\xB6\xC3\x9F"
             "e. \xE8\xAF\xB7\xE7\x9C\x8Bhttp://a.cn/x\xE3\x80\x82",
             "http://de.wikipedia.org/wiki/Gr\xC3\xB6\xC3\x9F"
             "e|http://a.cn/x|");
    protects("Write to Tom.O-x@mail.example.com. mailto:a@b.de @tom a@b a@.b",
             "Tom.O-x@mail.example.com|mailto:a@b.de|");
    protects("example.com/a?b=c.", "example.com/a?b=c|");
}

static void test_protect_names(void **state)
{
    (void)state;
    protects("Open readme.txt, src/main.c or /etc/fstab.", "readme.txt|src/main.c|/etc/fstab|");
    protects("~/.config/x ../a/b.c C and/or/not 1/2/3 /s", "~/.config/x|../a/b.c|");
    protects("Edit ~/.bashrc, ./run and .profile. We .did .NET so.there ~/ ./",
             "~/.bashrc|./run|.profile|.did|");
    protects("In C:\\Windows\\win.ini. or (d:\\a b) on \\\\srv\\c$ or \\n and \\\\ too",
             "C:\\Windows\\win.ini|d:\\a|\\\\srv\\c$|");
    protects("Ping 192.168.0.1:8080, 10.0.0.0/8. Not 1.2.3.4.5 or 1.2.3 or 1234.1.1.1",
             "192.168.0.1:8080|10.0.0.0/8|");
    protects("That is it.So we left.Then e.g. U.S.A. and Ph.D. i.e", "");
    protects("Call read_file() or main() with max_size; _no_ ___ a_ 3()",
             "read_file()|main()|max_size|");
    protects("Use ASP.NET. example.com", "ASP.NET|example.com|");
}

static void test_numbers(void **state)
{
    (void)state;
    protects("5 km, 1,200.5 kg, 20\xC2\xB0"
             "C and 7\xC2\xA0%.",
             "5 km|1,200.5 kg|20\xC2\xB0"
             "C|7\xC2\xA0%|");
    protects("5 kms, 3 men, 2 in 10, v2.0, 12 and 4 of 5 s", "");
    protects("$5 million, US$3, \xE2\x82\xAC 4,50 and 6 \xE2\x82\xAC; $ 7 $",
             "$5|$3|\xE2\x82\xAC 4,50|6 \xE2\x82\xAC|$ 7|");
    protects("5%\xE7\x9A\x84 100%ig 9 m/s", "5%|9 m/s|");
    /* signs, which belong to a number unless they follow a word */
    protects("It is -40 \xC2\xB0"
             "C (\xE2\x88\x92"
             "4 \xC2\xB0"
             "F), \xC2\xB1"
             "5 mm; -$3.50, +20% - 7 kg 5-10 m",
             "-40 \xC2\xB0"
             "C|\xE2\x88\x92"
             "4 \xC2\xB0"
             "F|\xC2\xB1"
             "5 mm|-$3.50|+20%|7 kg|10 m|");
    /* a placeholder that begins as a unit does */
    protects("9 ${HOME}, 9 %s, 9 %1$s and 9 $.", "${HOME}|%s|%1$s|9 $|");
}

static void test_placeholders(void **state)
{
    (void)state;
    protects("%s has %1$d of %(n)s, {name}, {}, {{ x.y }} and ${HOME}.",
             "%s|%1$d|%(n)s|{name}|{}|{{ x.y }}|${HOME}|");
    protects("%r %1 of %12, {0:.2f}, {a[0].b!r:>10}, {{name}} %pB {:?}.",
             "%r|%1|%12|{0:.2f}|{a[0].b!r:>10}|{{name}}|%pB|{:?}|");
    protects("%123 {a!b} {a: b} $x", "");
    protects("50%d, 100 % so, %% and {a b} {{ c", "100 %|");
    protects("a <x id=\"1\"/> <b>c</b> a < b > c <a", "<x id=\"1\"/>|<b>|</b>|");
    protects("Run `ls -l` or ` x ` or ``.", "`ls -l`|");
}

static void test_symbols(void **state)
{
    (void)state;
    /* a face with a skin tone, a family, a flag, a key, and a heart in the form of an emoji */
    protects("a \xF0\x9F\x91\x8D\xF0\x9F\x8F\xBD b\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9",
             "\xF0\x9F\x91\x8D\xF0\x9F\x8F\xBD|\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9|");
    protects(
        "\xF0\x9F\x87\xA9\xF0\x9F\x87\xAA 1\xEF\xB8\x8F\xE2\x83\xA3 \xE2\x9D\xA4\xEF\xB8\x8F",
        "\xF0\x9F\x87\xA9\xF0\x9F\x87\xAA|1\xEF\xB8\x8F\xE2\x83\xA3|\xE2\x9D\xA4\xEF\xB8\x8F|");
    protects("\xF0\x9F\x8F\xB4\xF3\xA0\x81\xA7\xF3\xA0\x81\xBF.", /* a flag spelled by tags */
             "\xF0\x9F\x8F\xB4\xF3\xA0\x81\xA7\xF3\xA0\x81\xBF|");
    protects("\xC2\xA9 2024 \xE2\x80\x94 caf\xC3\xA9 \xE2\x80\x8D", "\xC2\xA9|");
}

/* ---- what the caller lists ---- */

static const rapt_text listed[] = {{"Red Hat", 7}, {"Yahoo! Inc", 10}, {"ISO-*", 5},
                                   {"v?.?", 4},    {"a\\*b", 4},       {"*\xC3\xA9", 3}};

static void test_patterns(void **state)
{
    (void)state;
    rapt_document_options options = {.size = sizeof options,
                                     .unprotected = 1,
                                     .protected_patterns = listed,
                                     .protected_pattern_count = COUNT(listed)};
    protects_with(&options, "Red Hats, Red Hat, red hat. Yahoo! Inc has ISO-9001, v1.2 and v1.25.",
                  "Red Hat|Yahoo! Inc|ISO-9001,|v1.2|");
    protects_with(&options, "a*b axb caf\xC3\xA9s caf\xC3\xA9 http://a.b", "a*b|caf\xC3\xA9|");
    options.unprotected = 0;
    protects_with(&options, "Red Hat http://a.b", "Red Hat|http://a.b|");
}

static void refuses(rapt_text pattern, const char *reason)
{
    const rapt_document_options options = {
        .size = sizeof options, .protected_patterns = &pattern, .protected_pattern_count = 1};
    const rapt_document_engine engine = {.size = sizeof engine, .translate = keep_sentences};
    rapt_message why = {""};
    assert_int_equal(rapt_document_translate_with(&engine, (rapt_text){"a", 1}, &options,
                                                  record_piece, NULL, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, reason)) fail_msg("%s", why.text);
}

static void test_refusals(void **state)
{
    (void)state;
    char much[256];
    memset(much, 'x', sizeof much);
    const rapt_document_options missing = {.size = sizeof missing, .protected_pattern_count = 1};
    struct protection p;
    refuses((rapt_text){"", 0}, "[0] is empty");
    refuses((rapt_text){much, sizeof much}, "is too long");
    refuses((rapt_text){"a*b*c*", 6}, "has too many stars");
    refuses((rapt_text){"\\\\*b*c*", 7}, "has too many stars");
    refuses((rapt_text){"\xFF", 1}, "is not valid UTF-8");
    refuses((rapt_text){NULL, 3}, "bytes is NULL");
    assert_int_equal(rapt__protection_open(&p, &missing, NULL), RAPT_BAD_ARGUMENT);
}

/* ---- where it is put ---- */

struct counts {
    struct record record;
    int guards, restored;
};

static int count_guards(void *user, const rapt_document_piece *piece)
{
    struct counts *c = user;
    c->guards += piece->guards, c->restored += piece->restored;
    return record_piece(&c->record, piece);
}

/* Checks what a document becomes by an engine that reverses words, in capital letters. */
static void reverses(rapt_document_options options, const char *document, const char *wanted,
                     int guards, int restored)
{
    struct reordering how = {REVERSED, false};
    const rapt_document_engine engine = {
        .size = sizeof engine, .translate = reorder_sentences, .user = &how};
    const rapt_text text = {document, strlen(document)};
    struct counts c = {.record = {.document = text}};
    rapt_message why = {""};
    options.size = sizeof options;
    if (rapt__document_translate(&engine, text, &options, RULES, NULL, count_guards, &c, NULL,
                                 &why))
        fail_msg("%s", why.text);
    assert_string_equal(c.record.text, wanted);
    assert_int_equal(c.guards, guards);
    assert_int_equal(c.restored, restored);
    free(c.record.text);
}

static void test_places(void **state)
{
    (void)state;
    const rapt_document_options text = {.unwrap = 0}, unwrap = {.unwrap = 1},
                                html = {.format = RAPT_DOCUMENT_FORMAT_HTML},
                                off = {.unprotected = 1};
    reverses(text, "see http://a.org/x now", "NOW http://a.org/x SEE", 1, 1);
    reverses(off, "see http://a.org/x now", "NOW HTTP://A.ORG/X SEE", 0, 0);
    reverses(text, "%s is {n} of 7%", "7% OF {n} IS %s", 3, 0);
    reverses(text, "%s is %d", "%s IS %d", 2, 0);
    reverses(text, "http://a.org/x\n\nb c", "http://a.org/x\n\nC B", 0, 0);
    reverses(unwrap, "a\nhttp://a.org/x\nb\nc", "C B http://a.org/x A", 1, 1);
    reverses(html, "a <b>mail x@y.org</b> b &lt;i&gt;", "&lt;i&gt; B <b>x@y.org MAIL</b> A", 2, 2);
    reverses(html, "<p>x&amp;y http://a.org/?x&amp;y <a href='#'>z</a> http://b.org",
             "<p>http://b.org <a href='#'>Z</a> http://a.org/?x&amp;y X&amp;Y", 2, 2);
}

/* A translation whose words come from words of the source, both separated by blanks. */
struct crafted {
    const char *source, *target;
    int from[9]; /* the source word of each target word, or -1 */
    const char *wanted;
};

static rapt_status give_crafted(void *user, const rapt_text *texts, size_t count,
                                rapt_take_fn *take, void *taker, rapt_message *why)
{
    const struct crafted *c = user;
    const rapt_text target = {c->target, strlen(c->target)};
    struct word_list *lists = calloc(2, sizeof *lists);
    (void)why;
    assert_non_null(lists);
    assert_int_equal(count, 1);
    list_words(&lists[0], texts[0]);
    list_words(&lists[1], target);
    const int words = lists[0].count;
    float *alignment = calloc((size_t)(lists[1].count + 1) * (size_t)(words + 1), sizeof(float));
    assert_non_null(alignment);
    for (int w = 0; w < lists[1].count; w++)
        if (c->from[w] >= 0) alignment[w * (words + 1) + c->from[w]] = 1;
    const rapt_translation translation = {.text = target.bytes,
                                          .size = target.size,
                                          .source_count = words,
                                          .target_count = lists[1].count,
                                          .alignment = alignment,
                                          .source_spans = lists[0].spans,
                                          .target_spans = lists[1].spans};
    take(taker, RAPT_OK, target, &translation);
    free(alignment);
    free(lists);
    return RAPT_OK;
}

/* A guard that the model did not copy replaces only words that the model made of it. Words that
   are merely aligned to it are prose, which must not be lost. */
static void test_prose(void **state)
{
    (void)state;
    struct crafted cases[] = {
        {"{name} or read", "ou leia", {0, 2}, "{name} ou leia"},
        {"{name} or read", "{nome} ou leia", {0, 1, 2}, "{name} ou leia"},
        {"{name} or read", "{ nome } ou leia", {0, 0, 0, 0, 2}, "{name} ou leia"},
        {"{name} or read", "{ ou leia }", {0, 0, 2, 0}, "{name} { ou leia }"},
        {"{name} or read", "name ou leia", {0, 0, 2}, "{name} ou leia"},
        {"{name} or read", "n ou leia", {0, 0, 2}, "{name} n ou leia"},
        {"read or {name}", "leia name", {0, 1}, "leia name {name}"},
        {"$5 or more", "5 ou mais", {0, 0, 2}, "$5 ou mais"},
        {"see http://a.org/x or y",
         "veja http : // A. ORG ou y",
         {0, 1, 1, 1, 1, 1, 1, 3},
         "veja http://a.org/x ou y"},
        {"see http://a.org/x or y", "veja a ou y", {0, 1, 1, 3}, "veja http://a.org/x a ou y"},
        {"with %s more", "s mais", {1, 2}, "%s s mais"},
        {"like `3 x 5` it", "gosta 3 ou 5", {0, 1, 1, 1}, "gosta `3 x 5` 3 ou 5"},
        {"it is {a} {b}", "ele {x} {y}", {0, 2, 3}, "ele {a} {b}"},
        {"7 is {name}", "5 7", {2, 0}, "{name} 5 7"},
        /* the beginning of the first address, but also the whole second one */
        {"http://a.org/xy or http://a.org/x",
         "ou http://a.org/x",
         {1, 2},
         "http://a.org/xy ou http://a.org/x"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        struct crafted *c = &cases[i];
        const rapt_document_engine engine = {
            .size = sizeof engine, .translate = give_crafted, .user = c};
        const rapt_text text = {c->source, strlen(c->source)};
        struct record r = {.document = text};
        rapt_message why = {""};
        if (rapt__document_translate(&engine, text, NULL, RULES, NULL, record_piece, &r, NULL,
                                     &why))
            fail_msg("%s", why.text);
        assert_string_equal(r.text, c->wanted);
        free(r.text);
    }
}

/* The model sees only the beginning of a long address, and all of it comes back. */
static void test_protect_long(void **state)
{
    (void)state;
    char url[1000], document[1100], wanted[1100];
    const rapt_document_options text = {.max_length = 30}, unwrap = {.unwrap = 1};
    memcpy(url, "http://a.org/", 13);
    memset(url + 13, 'x', sizeof url - 14);
    memcpy(url + 123, "\xC3\xA9", 2); /* the model sees 124 bytes at most, but whole characters */
    url[sizeof url - 1] = 0;
    snprintf(document, sizeof document, "see %s now", url);
    snprintf(wanted, sizeof wanted, "NOW %s SEE", url);
    reverses(unwrap, document, wanted, 1, 1);
    snprintf(document, sizeof document, "a b c d %s e f", url);
    snprintf(wanted, sizeof wanted, "D C B A %s F E", url);
    reverses(text, document, wanted, 0, 0);
}

/* Sentences do not end within protected text. */
static void test_ends(void **state)
{
    (void)state;
    const rapt_document_options text = {.protected_patterns = listed,
                                        .protected_pattern_count = COUNT(listed)};
    reverses(text, "We like Yahoo! Inc there. So do I.", "THERE. INC Yahoo! Inc LIKE WE I. DO SO",
             1, 1);
    reverses(text, "Run `a. B` now.", "NOW. B` `a. B` RUN", 1, 1);
}

static void test_memory(void **state)
{
    (void)state;
    struct counting counting = {.fails = -1};
    const rapt_allocator allocator = counting_allocator(&counting);
    char document[400] = "<b>a</b> x@y.org http://a.org/";
    const size_t size = strlen(document);
    memset(document + size, 'z', 200);
    struct reordering how = {REVERSED, false};
    const rapt_document_engine engine = {
        .size = sizeof engine, .translate = reorder_sentences, .user = &how};
    const rapt_document_options options = {.size = sizeof options,
                                           .format = RAPT_DOCUMENT_FORMAT_HTML};
    const rapt_text text = {document, size + 200};
    rapt_status status = RAPT_NO_MEMORY;
    for (int n = 0; status == RAPT_NO_MEMORY; n++) {
        struct counts c = {.record = {.document = text}};
        rapt_message why = {""};
        counting.calls = 0, counting.fails = n;
        status = rapt__document_translate(&engine, text, &options, RULES, NULL, count_guards, &c,
                                          &allocator, &why);
        assert_true(counting.living == 0 && (status == RAPT_OK) == (why.text[0] == 0));
        assert_true(status != RAPT_OK || (c.record.done == text.size && c.guards == 2));
        free(c.record.text);
    }
    assert_int_equal(status, RAPT_OK);
}

/* ---- unspelled: protected text that the model cannot write: what the model sees in its place, and
   that it comes back. ---- */

/* An engine that changes the order of words and can write only ASCII letters, digits and blanks. */
struct limited {
    struct reordering how; /* must come first */
    char seen[400];        /* the sentences, with | after each */
};

static int spells(void *user, rapt_text text)
{
    (void)user;
    for (size_t i = 0; i < text.size; i++) {
        const char c = text.bytes[i], low = (char)(c | 0x20);
        if (c != ' ' && !(c >= '0' && c <= '9') && !(low >= 'a' && low <= 'z')) return 0;
    }
    return 1;
}

static rapt_status look(void *user, const rapt_text *texts, size_t count, rapt_take_fn *take,
                        void *taker, rapt_message *why)
{
    struct limited *limited = user;
    for (size_t i = 0; i < count; i++) {
        assert_true(strlen(limited->seen) + texts[i].size + 2 < sizeof limited->seen);
        strncat(limited->seen, texts[i].bytes, texts[i].size);
        strcat(limited->seen, "|");
    }
    return reorder_sentences(user, texts, count, take, taker, why);
}

/* Checks what the model sees of a document, and what the document becomes. */
static void shows(rapt_document_format format, enum order order, const char *document,
                  const char *seen, const char *wanted)
{
    struct limited limited = {{order, false}, ""};
    const rapt_document_engine engine = {
        .size = sizeof engine, .translate = look, .user = &limited, .spells = spells};
    const rapt_document_options options = {.size = sizeof options, .format = format};
    const rapt_text text = {document, strlen(document)};
    struct record r = {.document = text};
    rapt_message why = {""};
    if (rapt__document_translate(&engine, text, &options, RULES, NULL, record_piece, &r, NULL,
                                 &why))
        fail_msg("%s", why.text);
    assert_string_equal(limited.seen, seen);
    assert_string_equal(r.text, wanted);
    free(r.text);
}

static void test_unspelled_names(void **state)
{
    (void)state;
    const rapt_document_format text = RAPT_DOCUMENT_FORMAT_TEXT, html = RAPT_DOCUMENT_FORMAT_HTML;
    shows(text, REVERSED, "use {name} now", "use X1 now|", "NOW {name} USE");
    shows(text, REVERSED, "mail a.b@c.org", "mail X1|", "a.b@c.org MAIL");
    shows(text, REVERSED, "good \xF0\x9F\x98\x80 day", "good X1 day|", "DAY \xF0\x9F\x98\x80 GOOD");
    shows(text, REVERSED, "{a} or {b}", "X1 or X2|", "{b} OR {a}");
    shows(text, REVERSED, "X1 or {b} or {b}", "X1 or X2 or X3|", "{b} OR {b} OR X1");
    shows(text, REVERSED, "%s is %d", "X1 is X2|", "%s IS %d"); /* these keep their order */
    shows(html, REVERSED, "<p>run <code>a_b</code> &amp; {x} now", "run X1 & X2 now|",
          "<p>NOW {x} &amp; <code>a_b</code> RUN");
}

/* Text that can be written, perhaps with other white space, is shown. */
static void test_shown(void **state)
{
    (void)state;
    const rapt_document_format text = RAPT_DOCUMENT_FORMAT_TEXT;
    shows(text, REVERSED, "it has 5kg {x}", "it has 5kg X1|", "{x} 5kg HAS IT");
    shows(text, IN_ORDER, "it has 5\xC2\xA0kg", "it has 5 kg|", "IT HAS 5\xC2\xA0kg");
    shows(text, REVERSED, "go{name} on", "go{name} on|", "ON go{name}"); /* within a word */
    shows(text, REVERSED, "{a} {b}", "", "{a} {b}");                     /* without other letters */
}

/* The model sees a name in place of a long address, and all of it comes back. */
static void test_unspelled_long(void **state)
{
    (void)state;
    char document[500], wanted[500], url[301];
    memset(url, 'x', sizeof url);
    memcpy(url, "http://a.org/", 13);
    url[sizeof url - 1] = 0;
    snprintf(document, sizeof document, "see %s now", url);
    snprintf(wanted, sizeof wanted, "NOW %s SEE", url);
    shows(RAPT_DOCUMENT_FORMAT_TEXT, REVERSED, document, "see X1 now|", wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_protect_names),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_placeholders),
        cmocka_unit_test(test_symbols),
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_prose),
        cmocka_unit_test(test_protect_long),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_unspelled_names),
        cmocka_unit_test(test_shown),
        cmocka_unit_test(test_unspelled_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
