/* answers.c - what becomes of protected text and tags in given answers of a model, such as one that
   alters a placeholder or writes it twice. */
#include "document_help.h"

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
    static struct word_list words;
    char text[500];
    float alignment[50 * 50] = {0};
    rapt_span spans[50];
    size_t size = 0;
    int tokens = 0;
    (void)why;
    assert_int_equal(count, 1);
    list_words(&words, texts[0]);
    for (const char *at = script->answer; *at; at++) {
        const size_t begin = size;
        while (*at != '|') text[size++] = *at++;
        alignment[tokens * (words.count + 1) + script->sources[tokens]] = 1;
        spans[tokens++] = (rapt_span){begin, size};
    }
    const rapt_translation t = {.text = text,
                                .size = size,
                                .source_count = words.count,
                                .target_count = tokens,
                                .alignment = alignment,
                                .source_spans = words.spans,
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_answers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
