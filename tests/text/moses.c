/* moses.c - words as Moses splits and joins them, merges within words, and tokenizers of both. The
   expected words and texts are those of sacremoses 0.1.1: MosesPunctNormalizer, MosesTokenizer and
   MosesDetokenizer. The test exchange/moses compares many more. */
#include "text/moses/moses.h"
#include "help.h"
#include "text/list.h"

enum { MAX = 400 };

/* ---- words ---- */

static const struct {
    const char *language, *text, *words;
} split[] = {
    /* clang-format off */
    {"en", "Hello, world! It's 5,300 (about 3 %) of \"all\".",
     "Hello , world ! It &apos;s 5,300 ( about 3 % ) of &quot; all . &quot;"},
    {"en", "Mr. Smith of No. 5 met Dr. No. He said \"yes\", e.g. at 5 p.m. in the U.S. today.",
     "Mr. Smith of No. 5 met Dr. No . He said &quot; yes , &quot; e.g. at 5 p.m. in the U.S. today ."},
    {"en", "No. Art. 7, pp. 8 no. x",
     "No . Art. 7 , pp. 8 no. x"},
    {"en", "dogs' 'tis the 1990's o'clock it''s `quoted' ``twice''",
     "dogs &apos; &apos; tis the 1990 &apos;s o &apos;clock it &quot; s &apos; quoted &apos; &quot; twice &quot;"},
    {"en", "wait... really?.. no. ....x . ..'",
     "wait ... really ? .. no . .... x . .. &apos;"},
    {"en", "a <b> & c|d [e] {f} http://x.org/a_b?c=d #tag me@x.org",
     "a &lt; b &gt; &amp; c &#124; d &#91; e &#93; { f } http : / / x.org / a _ b ? c = d # tag me @ x.org"},
    {"en", "it ends so.'",
     "it ends so . &apos;"},
    {"en", " a\u00A0\u3000b\001\011c\015 ",
     "a b c"},
    {"en", "x ( y ) . z ( ) ; q : r",
     "x ( y ) . z ( ) ; q : r"},
    {"en", "\u201Ea\u201C \u2018b\u2019 c\u2019d \u2013 \u2014 \u2026 \u00B4 \u00AB\u00A0e\u00A0\u00BB \u201Af\u201A",
     "&quot; a &quot; &apos; b &apos; c &apos;d - - ... &apos; &quot; e &quot; &apos; f&apos;"},
    {"en", "3\u00A0% n\u00BA\u00A04 x\u00A0: 20\u00A0\u00BAC 5\u00A0cm ?\u00A0! ,\u00A0; 7\u00A0? 8\u00A0!",
     "3 % n\u00BA 4 x : 20 \u00BAC 5 cm ? ! , ; 7 ? 8 !"},
    {"en", "1\u00A0000 \u0661\u00A0\u0662 5 %",
     "1.000 \u0661.\u0662 5 %"},
    {"de", "Er sagte: \"Ja,\" und ging.\" Dann z.B. am 3. Mai um 1\u00A0000 Uhr.\"  <",
     "Er sagte : &quot; Ja &quot; , und ging &quot; . Dann z.B. am 3. Mai um 1,000 Uhr &quot; . &lt;"},
    {"de", "Bzw. usw. und Prof. Dr. Meier. klein Gro\u00DF. \u00C4rger",
     "Bzw. usw. und Prof. Dr. Meier. klein Gro\u00DF . \u00C4rger"},
    {"fr", "L'amour qu'il d'\u00E9t\u00E9 'a' 9'b c'9 : \u00AB\u00A0oui\u00A0\u00BB ; 1\u00A0000 !",
     "L&apos; amour qu&apos; il d&apos; \u00E9t\u00E9 &apos; a &apos; 9 &apos; b c &apos; 9 : &quot; oui &quot; ; 1,000 !"},
    {"it", "dell'arte l' '80 un'",
     "dell&apos; arte l &apos; &apos; 80 un&apos;"},
    {"es", "\u00BFQu\u00E9? \u00A1S\u00ED! Sr. L\u00F3pez, \"no.\" a",
     "\u00BF Qu\u00E9 ? \u00A1 S\u00ED ! Sr. L\u00F3pez , &quot; no &quot; . a"},
    {"cs", "Ing. Nov\u00E1k m\u00E1 1\u00A0000 K\u010D. atd. Praha",
     "Ing. Nov\u00E1k m\u00E1 1,000 K\u010D. atd. Praha"},
    {"hu", "Aug. 5 Aug. x",
     "Aug. 5 Aug. x"},
    {"ru", "\u0442. \u0435. \u0433. \u041C\u043E\u0441\u043A\u0432\u0430, \u0443\u043B. \u041B\u0435\u043D\u0438\u043D\u0430.",
     "\u0442. \u0435. \u0433. \u041C\u043E\u0441\u043A\u0432\u0430 , \u0443\u043B. \u041B\u0435\u043D\u0438\u043D\u0430 ."},
    {"zh", "\u4F60\u597D\uFF0C\u4E16\u754C\u3002A\u3042\u30AB\uD55C\u3001",
     "\u4F60\u597D \uFF0C \u4E16\u754C\u3002A\u3042\u30AB \uD55C \u3001"},
    {"ja", "\u65E5\u672C\u8A9E\u306E\u30C6\u30B9\u30C8\u3001\u30FBABC\u3002",
     "\u65E5\u672C\u8A9E\u306E\u30C6\u30B9\u30C8\u3001\u30FBABC\u3002"},
    {"ko", "\uD55C\uAD6D\uC5B4 \uC2DC\uD5D8. \u3131",
     "\uD55C\uAD6D\uC5B4 \uC2DC\uD5D8 . \u3131"},
    {"en", "\u4F60\u597D \u3042 \uD55C",
     "\u4F60 \u597D \u3042 \uD55C"},
    {"hi", "\u0928\u092E\u0938\u094D\u0924\u0947, \u0915\u093C",
     "\u0928\u092E\u0938\u094D\u0924\u0947 , \u0915\u093C"},
    {"xx", "can't No. 5 it's \u0179. \u01C5. \u0345 \u00AA",
     "can &apos; t No. 5 it &apos; s \u0179 . \u01C5. \u0345 \u00AA"},
    {"en", "a\u00B2, \u2160,x \u00BD,5 5, ,5 5,",
     "a \u00B2 , \u2160 , x \u00BD , 5 5 , , 5 5 ,"},
    {"en", "\U0001F600\U0001D7CE, \u20AC5 \u0E01\u0E33",
     "\U0001F600 \U0001D7CE , \u20AC 5 \u0E01\u0E33"},
    {"en", "", ""},
    {"en", " \t", ""},
    /* clang-format on */
};

/* Writes the words of a text, separated by single spaces. */
static void words_of(const char *code, rapt_text text, char *to)
{
    struct moses_language language = {.code = code};
    rapt__moses_language(&language);
    struct moses_text t = {.allocator = rapt__allocator(NULL), .language = &language};
    assert_int_equal(rapt__moses_split(&t, text), RAPT_OK);
    size_t size = 0;
    for (size_t i = 0; i < t.now.count; i++) {
        const uint32_t c = t.now.at[i].code;
        assert_true(t.now.at[i].end <= text.size && size + 4 < MAX);
        if (c != ' ' || (size && to[size - 1] != ' ')) size += rapt__moses_spell(c, to + size);
    }
    while (size && to[size - 1] == ' ') size--;
    to[size] = 0;
    rapt__moses_text_free(&t);
}

static void test_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof split / sizeof *split; i++) {
        char got[MAX];
        words_of(split[i].language, text_of(split[i].text), got);
        if (strcmp(got, split[i].words) != 0)
            fail_msg("%s, \"%s\": \"%s\", not \"%s\"", split[i].language, split[i].text, got,
                     split[i].words);
    }
}

/* Bytes that are not UTF-8 are words. */
static void test_bytes(void **state)
{
    (void)state;
    char got[MAX];
    words_of("en", text_of("a\xFF\xE4\xB8 b."), got);
    assert_string_equal(got, "a \xFF \xE4 \xB8 b .");
}

/* ---- texts ---- */

static const struct {
    const char *language, *words, *text;
} joined[] = {
    /* clang-format off */
    {"en", "It &apos;s 5,300 ( about 3 % ) of &quot; all &quot; .",
     "It's 5,300 (about 3%) of \"all\"."},
    {"en", "the dogs &apos; house &apos; is &apos; mine &apos; , you &apos;re `` here ``",
     "the dogs' house 'is' mine ', you're ``here``"},
    {"en", "$ 5 [ a ] &#91; b &#93; &lt; c &gt; &amp;lt; d &#124; &bar; &bra; e &ket; \u00A1 f ! \u20AC 6 ? ! ...",
     "$5 [a] [b] < c > &lt; d | | [e] \u00A1f! \u20AC6?!..."},
    {"en", "well @-@ known a @-@ @-@ b @-@",
     "well-known a-@-@ b-"},
    {"fr", "l&apos; amour qu&apos; il est l\u00E0 ! &quot; oui &quot; ; c&apos; 5 ? !!",
     "l'amour qu'il est l\u00E0 ! \"oui\" ; c' 5 ?!!"},
    {"it", "dell&apos; arte un&apos;",
     "dell'arte un'"},
    {"ga", "d&apos; fhear",
     "d'fhear"},
    {"cs", "\u201E a \u201C \u201E b \u201C &quot; c \u201E",
     "\u201Ea\u201C \u201Eb\u201C \"c \u201E"},
    {"cs", "3 5 .",
     "3 5."},
    {"cs", "a 3 5 .",
     "a 35."},
    {"cs", "1 . 5 3 .",
     "1.53."},
    {"de", "\u201E a \u201C \u201E b \u201C &apos;&apos; c &apos;&apos; `\u201E d",
     "\u201Ea\u201C \u201Eb\u201C ''c'' `\u201Ed"},
    {"zh", "\u4F60 \u597D A \u4E16 \u754C , \u3001 b",
     "\u4F60\u597D A \u4E16\u754C, \u3001 b"},
    {"ko", "\uAC01 \uAC02 \uAC00",
     "\uAC01 \uAC02 \uAC00"},
    {"ja", "\uAC00 \uAC01 \uAC02 \u2E80 \u2E81",
     "\uAC00 \uAC01\uAC02 \u2E80 \u2E81"},
    {"en", "&apos;s &apos;\u00E9 x &apos;5",
     "'s'\u00E9 x '5"},
    {"fi", "EU : ssa",
     "EU: ssa"},
    {"en", "",
     ""},
    /* clang-format on */
};

static void join(const char *code, const char *words, size_t capacity, char *to, size_t *size)
{
    char bytes[MAX];
    struct moses m = {.allocator = rapt__allocator(NULL)};
    snprintf(m.code, sizeof m.code, "%s", code);
    const int count = snprintf(bytes, sizeof bytes, " %s ", words);
    assert_int_equal(rapt__moses_join(&m, bytes, (size_t)count, to, capacity, size), RAPT_OK);
}

static void test_joined(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof joined / sizeof *joined; i++) {
        char got[MAX], part[MAX];
        size_t size, again;
        join(joined[i].language, joined[i].words, MAX - 1, got, &size);
        got[size] = 0;
        if (strcmp(got, joined[i].text) != 0)
            fail_msg("%s, \"%s\": \"%s\", not \"%s\"", joined[i].language, joined[i].words, got,
                     joined[i].text);
        for (size_t capacity = 0; capacity < size; capacity++) {
            memset(part, '#', sizeof part);
            join(joined[i].language, joined[i].words, capacity, part, &again);
            assert_int_equal(again, size);
            assert_memory_equal(part, got, capacity);
            assert_int_equal(part[capacity], '#');
        }
    }
}

/* ---- tokenizers ---- */

static const char names[] =
    "<unk>\0<s>\0</s>\0l@@\0lo@@\0low\0er\0e@@\0r\0w@@\0w\0aa@@\0a@@\0a\0aa\0&@@\0apos@@\0;\0s\0"
    "b\0,\0.\0Low@@\0new@@\0-@@\0@@\0o@@\0p@@\0&quot;\0.@@";
enum { NAMES = 30 };

static rapt_status create(rapt_tokenizer **t, const char *language, const char *merges, size_t size,
                          const rapt_allocator *allocator, rapt_message *why)
{
    const struct list_source source = {.names = names,
                                       .size = sizeof names,
                                       .count = NAMES,
                                       .moses = {{merges, size}, text_of(language)}};
    return rapt__tokenizer_list(t, &source, allocator, why);
}

static rapt_tokenizer *made(const char *language, const char *merges)
{
    rapt_tokenizer *t = NULL;
    rapt_message why = {""};
    if (create(&t, language, merges, strlen(merges), NULL, &why)) fail_msg("%s", why.text);
    return t;
}

/* Writes the names of a text's tokens, each with the end of its bytes, and checks every smaller
   capacity. */
static void pieces_of(const rapt_tokenizer *t, rapt_text text, char *to)
{
    int32_t ids[MAX];
    size_t ends[MAX], count, again;
    rapt_message why = {""};
    if (rapt_tokenizer_encode(t, text, ids, ends, MAX, &count, &why)) fail_msg("%s", why.text);
    assert_true(count <= rapt_tokenizer_bound(t, text.size));
    *to = 0;
    for (size_t i = 0; i < count; i++) {
        const rapt_text name = rapt_tokenizer_name(t, ids[i]);
        to += sprintf(to, "%s%.*s %d", i ? " " : "", (int)name.size, name.bytes, (int)ends[i]);
    }
    for (size_t capacity = 0; capacity < count; capacity++) {
        refused(rapt_tokenizer_encode(t, text, ids, NULL, capacity, &again, &why), &why,
                "capacity");
        assert_int_equal(again, count);
    }
}

static void check_pieces(const char *merges, const char *text, const char *pieces)
{
    char got[8 * MAX];
    rapt_tokenizer *t = made("en", merges);
    pieces_of(t, text_of(text), got);
    if (strcmp(got, pieces) != 0) fail_msg("\"%s\": \"%s\", not \"%s\"", text, got, pieces);
    rapt_tokenizer_free(t);
}

/* The end of a word is part of its last character (version 0.2) or a symbol of its own (0.1). */
static void test_merges(void **state)
{
    (void)state;
    static const char second[] = "#version: 0.2\nl o\nlo w</w>\ne r</w>\na a\na a</w>\n";
    check_pieces(second, "low lower", "low 3 lo@@ 6 w@@ 7 er 9");
    check_pieces(second, "aa aaa aaaa", "aa 2 aa@@ 5 a 6 aa@@ 9 aa 11");
    check_pieces("l o\nlo w\nlow </w>\n", "low", "low 3");
    check_pieces("l o\r\nw </w>\r\nlo w</w>", "low w lo", "low 3 w 5 <unk> 8");
    check_pieces("#version: 0.1\nr </w>\ne r</w>\n", "er r", "er 2 r 4");
    /* all pairs of a rank come before those that they make, even if these have lower ranks */
    check_pieces("#version: 0.2\naa a\na a\n", "aaaaa", "aa@@ 2 aa@@ 4 a 5");
    /* only the first of equal merges counts */
    check_pieces("#version: 0.2\na a\naa a</w>\na a\n", "aaa", "<unk> 3");
    check_pieces("", "", "");
}

/* The pieces of a character that is written as several end where it ends, and so do characters
   that change places. */
static void test_ends(void **state)
{
    (void)state;
    static const char merges[] =
        "#version: 0.2\na p\nap o\napo s\n& q\n&q u\n&qu o\n&quo t\n&quot ;</w>\n";
    check_pieces(merges, "a's", "a 1 &@@ 2 apos@@ 2 <unk> 2 s 3");
    check_pieces(merges, " a\xC2\xA0 b ,a\xE2\x80\xA6", "a 2 b 6 , 8 a 9 .@@ 12 .@@ 12 . 12");
    check_pieces(merges,
                 "\xE2\x80\x9C"
                 "a\xE2\x80\x9D, b",
                 "&quot; 3 a 4 , 8 &quot; 8 b 10");
}

static void check_decoded(const rapt_tokenizer *t, const char *pieces, const char *text)
{
    int32_t ids[MAX];
    char bytes[MAX];
    size_t count = 0, size = 0;
    for (const char *at = pieces; *at; at += strcspn(at, " "), at += *at == ' ')
        ids[count++] = rapt_tokenizer_find(t, (rapt_text){at, strcspn(at, " ")});
    assert_int_equal(rapt_tokenizer_decode(t, ids, count, bytes, MAX, &size, NULL), RAPT_OK);
    assert_int_equal(size, strlen(text));
    assert_memory_equal(bytes, text, size);
}

static void test_decoded(void **state)
{
    (void)state;
    rapt_tokenizer *t = made("en", "#version: 0.2\n");
    check_decoded(t, "<s> lo@@ w , Low@@ er . </s>", "low, Lower.");
    check_decoded(t, "a &@@ apos@@ ; s &quot; b &quot; <unk>", "a 's \"b\" <unk>");
    check_decoded(t, "lo@@", "lo@@"); /* unfinished */
    check_decoded(t, "", "");
    const int32_t ids[] = {rapt_tokenizer_find(t, text_of("Low@@")),
                           rapt_tokenizer_find(t, text_of("er"))};
    size_t size;
    assert_int_equal(rapt__tokenizer_extent(t, ids, 1, &size), RAPT_OK);
    assert_int_equal(size, 3);
    assert_int_equal(rapt__tokenizer_extent(t, ids, 2, &size), RAPT_OK);
    assert_int_equal(size, 5);
    const rapt_text surface = rapt_tokenizer_token(t, 28), piece = rapt_tokenizer_token(t, 4);
    assert_int_equal(surface.size, 1);
    assert_memory_equal(surface.bytes, "\"", 1);
    assert_int_equal(piece.size, 2);
    assert_memory_equal(piece.bytes, "lo", 2);
    rapt_tokenizer_free(t);
}

static void test_written(void **state)
{
    (void)state;
    static char text[4096], again[4096];
    char phrase[80], got[8 * MAX], wanted[8 * MAX];
    size_t size, same;
    rapt_tokenizer *t = made("fr", "#version: 0.2\nl o\nlo w</w>\n"), *back = NULL;
    rapt_message why = {""};
    assert_int_equal(rapt_tokenizer_write(t, text, sizeof text, &size, NULL), RAPT_OK);
    assert_int_equal(strncmp(text, "rapt-moses 1 30 ", 16), 0);
    if (rapt_tokenizer_create(&back, text, size - 1, NULL, &why)) fail_msg("%s", why.text);
    assert_int_equal(rapt_tokenizer_write(back, again, sizeof again, &same, NULL), RAPT_OK);
    assert_string_equal(text, again);
    pieces_of(t, text_of("l'a low"), wanted);
    pieces_of(back, text_of("l'a low"), got);
    assert_string_equal(got, wanted);
    rapt_tokenizer_free(back);
    rapt_tokenizer_free(t);
    size = (size_t)(strrchr(text, '#') - text); /* the checksum, which is the last line */
    text[size++] = 'x';
    snprintf(text + size, 16, "#%08lx", (unsigned long)rapt__hash(text, size));
    back = NULL;
    assert_int_equal(rapt_tokenizer_create(&back, text, strlen(text), NULL, &why), RAPT_BAD_FILE);
    snprintf(phrase, sizeof phrase, "ends at byte %zu, but has %zu bytes", size - 1, size);
    if (!strstr(why.text, phrase)) fail_msg("%s", why.text);
    assert_null(back);
}

static void check_refused(const char *language, const char *merges, const char *phrase)
{
    rapt_tokenizer *none = NULL;
    rapt_message why = {""};
    assert_int_equal(create(&none, language, merges, strlen(merges), NULL, &why), RAPT_BAD_FILE);
    if (!strstr(why.text, phrase)) fail_msg("\"%s\", not \"%s\"", why.text, phrase);
    assert_null(none);
}

static void test_refused(void **state)
{
    (void)state;
    rapt_message why = {""};
    size_t count;
    check_refused("", "a b\n", "the language code must have 1 to 15 bytes");
    check_refused("abcdefghijklmnop", "a b\n", "the language code must have 1 to 15 bytes");
    check_refused("en", "#version: 0.3\n", "line 1: the version is neither 0.1 nor 0.2");
    check_refused("en", "#version: 0.2\na b\na\n",
                  "bpe.model, line 3: a merge must be two symbols");
    check_refused("en", "a b\n\n", "bpe.model, line 2: a merge must be two symbols");
    check_refused("en", "a b c\n", "bpe.model, line 1: a merge must be two symbols");
    rapt_tokenizer *t = made("en", "");
    refused(rapt_tokenizer_encode(t, (rapt_text){"", ((size_t)1 << 28) + 1}, NULL, NULL, 0, &count,
                                  &why),
            &why, "the text has more than 2^28 bytes");
    rapt_tokenizer_free(t);
    /* without an unknown token */
    const struct list_source source = {
        .names = "a\0b", .size = 4, .count = 2, .moses = {text_of("a b\n"), text_of("en")}};
    int32_t ids[4];
    assert_int_equal(rapt__tokenizer_list(&t, &source, NULL, NULL), RAPT_OK);
    refused(rapt_tokenizer_encode(t, text_of("a c b"), ids, NULL, 4, &count, &why), &why,
            "\"c\" is not in the vocabulary");
    rapt_tokenizer_free(t);
}

/* Encodes and decodes, and returns the first status that is not RAPT_OK. */
static rapt_status use(const rapt_tokenizer *t)
{
    int32_t ids[64];
    char bytes[64];
    size_t count, size;
    rapt_status status =
        rapt_tokenizer_encode(t, text_of("low, (lower) aaa"), ids, NULL, 64, &count, NULL);
    return status ? status : rapt_tokenizer_decode(t, ids, count, bytes, sizeof bytes, &size, NULL);
}

static void test_memory(void **state)
{
    (void)state;
    static const char merges[] = "#version: 0.2\nl o\nlo w</w>\n";
    rapt_tokenizer *t = NULL;
    struct counting c = {.fails = 0};
    const rapt_allocator allocator = {counting_alloc, counting_free, &c};
    for (long fails = 0; !t; fails++) {
        c = (struct counting){.fails = fails};
        const rapt_status status = create(&t, "en", merges, sizeof merges - 1, &allocator, NULL);
        assert_int_equal(status, t ? RAPT_OK : RAPT_NO_MEMORY);
        if (!t) assert_int_equal(c.living, 0);
    }
    const long kept = c.living;
    rapt_status status = RAPT_NO_MEMORY;
    for (long more = 0; status; more++) {
        c.fails = c.calls + more;
        status = use(t);
        assert_true(status == RAPT_OK || status == RAPT_NO_MEMORY);
        assert_true(status == RAPT_OK || more < 100);
        assert_int_equal(c.living, kept);
        if (more == 0) assert_int_equal(status, RAPT_NO_MEMORY);
    }
    c.fails = -1;
    rapt_tokenizer_free(t);
    assert_int_equal(c.living, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split),   cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_joined),  cmocka_unit_test(test_merges),
        cmocka_unit_test(test_ends),    cmocka_unit_test(test_decoded),
        cmocka_unit_test(test_written), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
