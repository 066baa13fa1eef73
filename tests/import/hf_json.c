/* hf_json.c - folders of BART and mBART-50 whose only vocabulary is tokenizer.json: the tokens are
   those that their usual files give, and what the library does not have is refused by name. Also
   damages the file in every way. exchange/json_tokens.py compares with tokenizers. */
#include "import/recorded.h"

static int read_all(void **state)
{
    (void)state;
    return read_records(RAPT_TESTS_DIR "/golden/bart.txt", note) ? 0 : -1;
}

/* ---- files ---- */

struct parts { /* of tokenizer.json */
    const char *added, *normalizer, *splitter;
    void (*put_model)(struct bytes *b, const char *more);
    const char *more; /* members of the model */
};

static void write_json(const char *folder, const struct parts *p)
{
    static struct bytes b;
    b.size = 0;
    put_text(&b, "{\"version\": \"1.0\", \"truncation\": {\"max_length\": 8}, \"added_tokens\": [");
    put_text(&b, p->added);
    put_text(&b, "], \"normalizer\": "), put_text(&b, p->normalizer);
    put_text(&b, ", \"pre_tokenizer\": "), put_text(&b, p->splitter);
    put_text(&b, ", \"decoder\": [{}], \"model\": ");
    p->put_model(&b, p->more);
    put_text(&b, "}");
    folder_write(folder, "tokenizer.json", &b);
}

static void write_folder(char folder[256], const char *model, const struct parts *p)
{
    static const struct change none = {.more = NULL};
    folder_make(folder, "json");
    write_tensors(folder, find_model(model), &none);
    write_settings(folder, find_model(model), NULL);
    write_json(folder, p);
}

static void clear(const char *folder)
{
    static const char *const files[] = {"model.safetensors", "config.json", "tokenizer.json"};
    folder_remove(folder, files, COUNT(files));
}

/* ---- mBART-50: Unigram ---- */

static void put_unigram(struct bytes *b, const char *more)
{
    static const char *const names[] = {"<s>",     "<pad>", "</s>", "<unk>", "\u2581",
                                        "\u2581a", "a",     "b",    "ab"};
    static const char languages[] =
        "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT "
        "lv_LV my_MM ne_NP nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN af_ZA az_AZ bn_IN fa_IR he_IL "
        "hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF pt_XX sv_SE sw_KE ta_IN te_IN "
        "th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI";
    char line[64];
    put_text(b, "{\"type\": \"Unigram\", \"unk_id\": 3, \"vocab\": [");
    for (int i = 0; i < COUNT(names); i++) {
        snprintf(line, sizeof line, "%s[\"%s\", %s]", i ? ", " : "", names[i],
                 i < 4 ? "0.0" : "-1");
        put_text(b, line);
    }
    for (const char *at = languages; at < languages + sizeof languages; at += 6) {
        snprintf(line, sizeof line, ", [\"%.5s\", 0.0]", at);
        put_text(b, line);
    }
    put_text(b, ", [\"<mask>\", 0.0]]"), put_text(b, more), put_text(b, "}");
}

#define ADDED(id, name, more) "{\"id\": " #id ", \"content\": \"" name "\"" more "}"
#define MBART_ADDED                                                                                \
    ADDED(0, "<s>", "")                                                                            \
    ", " ADDED(1, "<pad>", "") ", " ADDED(2, "</s>", "") ", " ADDED(3, "<unk>", "") ", " ADDED(    \
        9, "ar_AR", "") ", " ADDED(12, "en_XX", "") ", " ADDED(61, "<mask>", ", \"lstrip\": true")
#define STRIP "{\"type\": \"Strip\", \"strip_left\": false, \"strip_right\": true}"
#define REPLACE                                                                                    \
    "{\"type\": \"Replace\", \"pattern\": {\"Regex\": \" {2,}\"}, \"content\": \"\u2581\"}"
#define META(more)           "{\"type\": \"Metaspace\", \"replacement\": \"\u2581\"" more "}"
#define ALWAYS               ", \"prepend_scheme\": \"always\", \"split\": true"
#define SEQUENCE(key, steps) "{\"type\": \"Sequence\", \"" key "\": [" steps "]}"
#define NEW_NORMALIZER       SEQUENCE("normalizers", STRIP ", " REPLACE)

static const struct parts unigram = {MBART_ADDED, NEW_NORMALIZER, META(ALWAYS), put_unigram,
                                     ", \"byte_fallback\": false"};

static void test_unigram(void **state)
{
    (void)state;
    /* as transformers has written it at different times */
    const struct parts all[] = {
        unigram,
        {MBART_ADDED, "null",
         SEQUENCE("pretokenizers",
                  "{\"type\": \"WhitespaceSplit\"}, " META(", \"add_prefix_space\": true")),
         put_unigram, ""},
    };
    for (int i = 0; i < COUNT(all); i++) {
        char folder[256];
        write_folder(folder, "mbart", &all[i]);
        rapt_translator *translator = load(folder, "en", "ar");
        const rapt_tokenizer *t = rapt_translator_source(translator);
        check_ids(t, "ab  a ", (const int32_t[]){4, 8, 5}, 3);
        check_ids(t, "ar_ARa sl_SIzz", (const int32_t[]){9, 5, 60, 4, 3}, 5);
        check_token(t, 61, "<mask>", 6);
        check_token(t, 62, "", 0);
        rapt_translator_free(translator);
        folder_without_memory(folder);
        clear(folder);
    }
}

/* ---- BART: byte pairs ---- */

static void put_pairs(struct bytes *b, const char *more)
{
    put_text(b, "{\"type\": \"BPE\", \"dropout\": null, \"vocab\": {\"<s>\": 0, \"<pad>\": 1, "
                "\"</s>\": 2, \"<unk>\": 3");
    put_byte_names(b, 4);
    put_text(b, ", \"ab\": 260, \"\\u0120a\": 261, \"\\u0120ab\": 262, \"<mask>\": 263, "
                "\"late\": 280}");
    put_text(b, more), put_text(b, "}");
}

#define BART_ADDED                                                                                 \
    ADDED(0, "<s>", "")                                                                            \
    ", " ADDED(1, "<pad>", "") ", " ADDED(2, "</s>", "") ", " ADDED(                               \
        263, "<mask>", ", \"lstrip\": true, \"rstrip\": false, \"single_word\": false")
#define BYTE_LEVEL(more) "{\"type\": \"ByteLevel\"" more "}"
#define OLD_MERGES       ", \"merges\": [\"\\u0120 a\", \"a b\", \"\\u0120a b\"]"
#define NEW_MERGES       ", \"merges\": [[\"\\u0120\", \"a\"], [\"a\", \"b\"], [\"\\u0120a\", \"b\"]]"

static const struct parts pairs = {BART_ADDED, "null", BYTE_LEVEL(", \"use_regex\": true"),
                                   put_pairs, OLD_MERGES};

static void test_pairs(void **state)
{
    (void)state;
    struct parts p = pairs;
    for (int i = 0; i < 3; i++) {
        char folder[256];
        p.more = i == 1 ? NEW_MERGES : OLD_MERGES;
        if (i == 2) p.splitter = BYTE_LEVEL(", \"add_prefix_space\": true");
        write_folder(folder, "bart", &p);
        rapt_translator *translator = load(folder, NULL, NULL);
        const rapt_tokenizer *t = rapt_translator_source(translator);
        if (i == 2)
            check_ids(t, "ab <mask>z", (const int32_t[]){262, 263, 4 + ' ', 4 + 'z'}, 4);
        else
            check_ids(t, "ab ab <mask>z", (const int32_t[]){260, 262, 263, 4 + 'z'}, 4);
        check_token(t, 279, "", 0);
        rapt_translator_free(translator);
        folder_without_memory(folder);
        clear(folder);
    }
}

/* ---- what is refused ---- */

struct wrong {
    struct parts parts; /* what differs; NULL: the same */
    const char *phrase;
};

static void refuse_json(const char *model, const struct parts *usual, const struct wrong *all,
                        int count)
{
    char folder[256];
    write_folder(folder, model, usual);
    for (int i = 0; i < count; i++) {
        struct parts p = *usual;
        if (all[i].parts.added) p.added = all[i].parts.added;
        if (all[i].parts.normalizer) p.normalizer = all[i].parts.normalizer;
        if (all[i].parts.splitter) p.splitter = all[i].parts.splitter;
        if (all[i].parts.put_model) p.put_model = all[i].parts.put_model;
        if (all[i].parts.more) p.more = all[i].parts.more;
        write_json(folder, &p);
        folder_refused(folder, all[i].phrase);
    }
    clear(folder);
}

static void put_more(struct bytes *b, const char *more)
{
    put_text(b, more);
}

static void test_unigram_refused(void **state)
{
    (void)state;
    static const struct wrong all[] = {
        {{.normalizer = "{\"type\": \"NFKC\"}"}, "normalizer NFKC is not supported"},
        {{.normalizer = "{\"x\": 1}"}, "normalizer without a type is not supported"},
        {{.normalizer = SEQUENCE("normalizers", STRIP)}, "spaces are not handled"},
        {{.normalizer = "null"}, "spaces are not handled"},
        {{.normalizer = SEQUENCE("normalizers", STRIP ", {\"type\": \"Replace\", \"pattern\": "
                                                      "{\"String\": \"x\"}, \"content\": \" \"}")},
         "normalizer Replace is not supported"},
        {{.normalizer =
              SEQUENCE("normalizers", "{\"type\": \"Precompiled\", "
                                      "\"precompiled_charsmap\": \"abc\"}, " STRIP ", " REPLACE)},
         "precompiled_charsmap is not base64"},
        {{.normalizer =
              SEQUENCE("normalizers", "{\"type\": \"Precompiled\", "
                                      "\"precompiled_charsmap\": \"ab!=\"}, " STRIP ", " REPLACE)},
         "precompiled_charsmap is not base64"},
        {{.normalizer = SEQUENCE("normalizers", STRIP ", " STRIP ", " STRIP ", " STRIP ", " STRIP
                                                      ", " STRIP ", " STRIP ", " STRIP ", " STRIP)},
         "a normalizer or pre-tokenizer has more than 8 steps"},
        {{.normalizer = SEQUENCE("normalizers", "null")}, "'{' expected"},
        {{.splitter = META(", \"prepend_scheme\": \"first\"")}, "pre_tokenizer Metaspace"},
        {{.splitter = META(", \"add_prefix_space\": false")}, "pre_tokenizer Metaspace"},
        {{.splitter = "{\"type\": \"Whitespace\"}"}, "pre_tokenizer Whitespace is not supported"},
        {{.splitter = "[1]"}, "spaces are not handled"},
        {{.more = ", \"byte_fallback\": true"}, "or it has byte_fallback"},
        {{.more = ", \"unk_id\": null"}, "no scores or unk_id"},
        {{.more = ", \"type\": \"BPE\""}, "the model is BPE, not Unigram"},
        {{.more = ", \"type\": 1"}, "the model is of no type, not Unigram"},
        {{.added = ADDED(4, "x", "")}, "\u2581 and x both have the id 4"},
        {{.added = "{\"id\": 1}"}, "the value before this byte does not have the expected form"},
        {{.added = "{\"id\": -1, \"content\": \"x\"}"},
         "the value before this byte does not have the expected form"},
        {{.put_model = put_more, .more = "{\"type\": \"Unigram\", \"vocab\": [[\"x\", \"y\"]]}"},
         "tokenizer.json: byte "},
        {{.put_model = put_more, .more = "{\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": []}"},
         "the model has no"},
        {{.put_model = put_more, .more = "3"}, "'{' expected"},
    };
    refuse_json("mbart", &unigram, all, COUNT(all));
}

static void test_pairs_refused(void **state)
{
    (void)state;
    static const struct wrong all[] = {
        {{.normalizer = "{\"type\": \"NFC\"}"}, "normalizer NFC is not supported"},
        {{.splitter = "null"}, "there is no pre_tokenizer ByteLevel"},
        {{.splitter = SEQUENCE("pretokenizers", BYTE_LEVEL("") ", {\"type\": \"Digits\"}")},
         "pre_tokenizer Digits is not supported"},
        {{.splitter = BYTE_LEVEL(", \"use_regex\": false")}, "use_regex"},
        {{.more = ", \"merges\": [\"ab\"]"},
         "the value before this byte does not have the expected form"},
        {{.more = ", \"merges\": [[\"a\"]]"}, "tokenizer.json: byte "},
        {{.more = ", \"merges\": [\"a bb\"]"}, "merge 0: \"bb\" is not in the vocabulary"},
        {{.more = ", \"merges\": [\"a c\"]"}, "merge 0 makes \"ac\", which is not in"},
        {{.more = ", \"end_of_word_suffix\": \"</w>\""}, "end_of_word_suffix"},
        {{.added = ADDED(0, "<s>", ", \"lstrip\": true")}, "added token <s> is not supported"},
        {{.added = ADDED(263, "<mask>", "")}, "added token <mask> is not supported"},
        {{.added = ADDED(264, "<ent>", "")}, "added token <ent> is not supported"},
        {{.more = ", \"vocab\": {\"z\": \"x\"}"},
         "the value before this byte does not have the expected form"},
        {{.more = ", \"vocab\": {\"z\": 0}"}, "<s> and z both have the id 0"},
        {{.more = ", \"vocab\": {\"z\": 99999999999}"},
         "the value before this byte does not have the expected form"},
    };
    refuse_json("bart", &pairs, all, COUNT(all));
}

/* A file that ends early, at any byte, or has a wrong byte is refused or opened, without a crash.
 */
static void test_damaged(void **state)
{
    (void)state;
    static struct bytes whole, b;
    char folder[256], path[300];
    write_folder(folder, "mbart", &unigram);
    snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    whole.size = fread(whole.data, 1, sizeof whole.data, f);
    fclose(f);
    for (size_t size = 0; size < whole.size; size += 1 + size / 16) {
        b = whole;
        b.size = size;
        folder_write(folder, "tokenizer.json", &b);
        folder_refused(folder, "tokenizer.json: byte ");
        b = whole;
        b.data[size] = (unsigned char)(size * 7);
        folder_write(folder, "tokenizer.json", &b);
        rapt_model *model = NULL;
        const rapt_status status = rapt_model_import(&model, folder, NULL, NULL);
        assert_true(status == RAPT_BAD_FILE || status == RAPT_OK);
        rapt_model_free(model);
    }
    clear(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unigram),         cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_unigram_refused), cmocka_unit_test(test_pairs_refused),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, read_all, free_records);
}
