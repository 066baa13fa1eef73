/* po.c - what messages of gettext become, and which have a translation already. */
#include "markup_help.h"

static void becomes_po(const char *document, const char *wanted)
{
    reorders(RAPT_DOCUMENT_FORMAT_PO, (struct reordering){REVERSED, false}, document, wanted);
}

static void test_entries(void **state)
{
    (void)state;
    becomes_po("# one two\nmsgid \"one two\"\nmsgstr \"\"\n",
               "# one two\nmsgid \"one two\"\nmsgstr \"TWO ONE\"\n");
    becomes_po("msgid \"\"\nmsgstr \"\"\n\"Language: de\\n\"\n",
               "msgid \"\"\nmsgstr \"\"\n\"Language: de\\n\"\n");
    becomes_po("msgctxt \"c d\"\nmsgid \"a b\"\nmsgstr \"x\"\nmsgid \"e f\"\nmsgstr\t\"\"",
               "msgctxt \"c d\"\nmsgid \"a b\"\nmsgstr \"x\"\nmsgid \"e f\"\nmsgstr\t\"F E\"");
    becomes_po("#~ msgid \"a b\"\n#~ msgstr \"\"\n", "#~ msgid \"a b\"\n#~ msgstr \"\"\n");
    becomes_po("msgid \"12 %s\"\nmsgstr \"\"\n", "msgid \"12 %s\"\nmsgstr \"\"\n");
    becomes_po("msgid \"a b\"\nmsgstr \" \"\n", "msgid \"a b\"\nmsgstr \" \"\n");
}

/* A fuzzy translation is replaced; its mark remains, and does not affect the next entry. */
static void test_fuzzy(void **state)
{
    (void)state;
    becomes_po("#, c-format, fuzzy\n#| msgid \"old\"\nmsgid \"a b\"\nmsgstr \"\"\n\"x\"\n\"y\"\n"
               "msgid \"c d\"\nmsgstr \"z\"\n",
               "#, c-format, fuzzy\n#| msgid \"old\"\nmsgid \"a b\"\nmsgstr \"B A\"\n"
               "msgid \"c d\"\nmsgstr \"z\"\n");
}

static void test_plurals(void **state)
{
    (void)state;
    becomes_po("msgid \"%d file\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"\"\nmsgstr[1] \"\"\n"
               "msgstr[2] \"\"\n",
               "msgid \"%d file\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"FILE %d\"\n"
               "msgstr[1] \"FILES %d\"\nmsgstr[2] \"FILES %d\"\n");
    becomes_po("msgid \"%d file\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"\"\n",
               "msgid \"%d file\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"FILES %d\"\n");
    becomes_po("msgid \"a b\"\nmsgid_plural \"c d\"\nmsgstr[0] \"x\"\nmsgstr[1] \"\"\n",
               "msgid \"a b\"\nmsgid_plural \"c d\"\nmsgstr[0] \"x\"\nmsgstr[1] \"D C\"\n");
}

/* Lines of a message, and strings that are only broken in the file. */
static void test_strings(void **state)
{
    (void)state;
    becomes_po("msgid \"\"\n\"Use: x \"\n\"y\\n\"\n\"\\t a \\\"b\\\" c\\\\d\\n\"\nmsgstr \"\"\n",
               "msgid \"\"\n\"Use: x \"\n\"y\\n\"\n\"\\t a \\\"b\\\" c\\\\d\\n\"\nmsgstr \"\"\n"
               "\"Y X USE:\\n\"\n\"\\t C\\\\D \\\"B\\\" A\\n\"\n");
    becomes_po("msgid \"One two. Three four.\"\nmsgstr \"\"\n",
               "msgid \"One two. Three four.\"\nmsgstr \"TWO. ONE FOUR. THREE\"\n");
    becomes_po("msgid \"a\\x41 b\"\nmsgstr \"\"\n", "msgid \"a\\x41 b\"\nmsgstr \"B A\\x41\"\n");
}

static void test_placeholders(void **state)
{
    (void)state;
    becomes_po("msgid \"a %<PRIu64> <file> b %.\"\n\"*s %1 %(a %<b %{\"\nmsgstr \"\"\n",
               "msgid \"a %<PRIu64> <file> b %.\"\n\"*s %1 %(a %<b %{\"\nmsgstr \"%{ %<b %(a %1 "
               "%<PRIu64> <file>B %.\"\n\"*s A\"\n");
    becomes_po("msgid \"at %1$s and %2$-5.2lf\"\nmsgstr \"\"\n",
               "msgid \"at %1$s and %2$-5.2lf\"\nmsgstr \"%2$-5.2lf AND %1$s AT\"\n");
    becomes_po("msgid \"at %s and %d\"\nmsgstr \"\"\n", /* in their order */
               "msgid \"at %s and %d\"\nmsgstr \"%s AND %d AT\"\n");
    becomes_po("msgid \"see %(name)s, {x.y} %{z} 100%% b\"\nmsgstr \"\"\n",
               "msgid \"see %(name)s, {x.y} %{z} 100%% b\"\nmsgstr \"B 100%% %{z} {x.y} %(name)s, "
               "SEE\"\n");
    becomes_po("msgid \"<b>a</b> b &lt; <file> 5 % of {\"\nmsgstr \"\"\n",
               "msgid \"<b>a</b> b &lt; <file> 5 % of {\"\nmsgstr \"{ OF 5 % &lt;<file>5 B "
               "<b>A</b>\"\n");
}

/* The mark of an access key goes before the word that it was in, or stays at the beginning of a
   message. Other words keep theirs. */
static void test_keys(void **state)
{
    (void)state;
    becomes_po("msgid \"_Open File\"\nmsgstr \"\"\n",
               "msgid \"_Open File\"\nmsgstr \"_FILE OPEN\"\n");
    becomes_po("msgid \"Save &As\"\nmsgstr \"\"\n", "msgid \"Save &As\"\nmsgstr \"&AS SAVE\"\n");
    becomes_po("msgid \"Then E_xit\"\nmsgstr \"\"\n",
               "msgid \"Then E_xit\"\nmsgstr \"_EXIT THEN\"\n");
    becomes_po("msgid \"\"\n\"a \"\n\"_b\"\nmsgstr \"\"\n",
               "msgid \"\"\n\"a \"\n\"_b\"\nmsgstr \"\"\n\"_B A\"\n");
    becomes_po("msgid \"Use AT&T &lt; Max_Size\"\nmsgstr \"\"\n",
               "msgid \"Use AT&T &lt; Max_Size\"\nmsgstr \"&lt;Max_Size AT&T USE\"\n");
    becomes_po("msgid \"a_b or _c d\"\nmsgstr \"\"\n",
               "msgid \"a_b or _c d\"\nmsgstr \"D _C OR a_b\"\n");
    becomes_po("msgid \"see (_a) &amp; b _\"\nmsgstr \"\"\n",
               "msgid \"see (_a) &amp; b _\"\nmsgstr \"_ &amp;B (_A) SEE\"\n");
}

/* Entries that cannot be read are kept, and so are those after them that can. */
static void test_broken(void **state)
{
    (void)state;
    becomes_po("msgid \"a b\nmsgstr \"\"\nnonsense\nmsgid \"c d\"\nmsgstr \"\"\n",
               "msgid \"a b\nmsgstr \"\"\nnonsense\nmsgid \"c d\"\nmsgstr \"D C\"\n");
    becomes_po("msgid \"a b\"\nmsgstr \"\nmsgid \"c d\"\nmsgstr\nmsgstr[",
               "msgid \"a b\"\nmsgstr \"\nmsgid \"c d\"\nmsgstr\nmsgstr[");
    becomes_po("msgid \"a \xFF b\"\nmsgstr \"\"\n", "msgid \"a \xFF b\"\nmsgstr \"a \xFF b\"\n");
    becomes_po("msgid", "msgid");
    becomes_po("msgid \"a <b\" \nmsgstr \"\"\n>", "msgid \"a <b\" \nmsgstr \"<B A\"\n>");
}

/* The pieces say where a sentence is and where its translation goes. */
static int check_places(void *user, const rapt_document_piece *p)
{
    /* msgid "a\nb"   msgstr ""
       0123456789012345678901234 */
    static const rapt_span sources[] = {{0, 21},  {21, 21}, {21, 21}, {21, 21},
                                        {21, 21}, {21, 23}, {23, 24}};
    static const rapt_span originals[] = {{0, 21},  {6, 7},   {7, 8},  {8, 10},
                                          {10, 11}, {11, 12}, {23, 24}};
    const int i = (*(int *)user)++;
    assert_in_range(i, 0, COUNT(sources) - 1);
    assert_memory_equal(&p->source, &sources[i], sizeof p->source);
    assert_memory_equal(&p->original, &originals[i], sizeof p->original);
    assert_int_equal(p->kind, i == 2 || i == 4 ? RAPT_PIECE_SENTENCE : RAPT_PIECE_KEPT);
    return 0;
}

static void test_places(void **state)
{
    (void)state;
    const rapt_text text = {"msgid \"a\\nb\"\n\nmsgstr \"\"\n", 24};
    const rapt_document_options options = {.size = sizeof options,
                                           .format = RAPT_DOCUMENT_FORMAT_PO};
    const rapt_document_engine engine = {.size = sizeof engine, .translate = keep_sentences};
    int count = 0;
    assert_int_equal(
        rapt_document_translate_with(&engine, text, &options, check_places, &count, NULL, NULL),
        RAPT_OK);
    assert_int_equal(count, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries),      cmocka_unit_test(test_fuzzy),
        cmocka_unit_test(test_plurals),      cmocka_unit_test(test_strings),
        cmocka_unit_test(test_placeholders), cmocka_unit_test(test_keys),
        cmocka_unit_test(test_broken),       cmocka_unit_test(test_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
