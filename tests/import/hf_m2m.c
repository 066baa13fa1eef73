/* hf_m2m.c - folders of NLLB-200 and M2M-100 as Hugging Face lays them out. Their tensors and
   settings are listed in golden/m2m.txt with the logits of transformers, which the imported models
   must give. Also tests the ids of both tokenizers, languages by token, code and name, and what is
   refused. exchange/encoder_decoders.py compares with larger models. */
#include "import/recorded.h"

enum { VOCAB = 213, FIRST = PIECES + 1 }; /* FIRST: id of NLLB's first language */

static const char vocab_json[] =
    "{\"<s>\": 0, \"<pad>\": 1, \"</s>\": 2, \"<unk>\": 3, \"\\u2581\": 4, \"\\u2581a\": 5, "
    "\"b\": 6, \"ab\": 7}";

static int read_all(void **state)
{
    (void)state;
    return read_records(RAPT_TESTS_DIR "/golden/m2m.txt", note) ? 0 : -1;
}

static void write_folder(char folder[256], const struct model *m, const struct change *c)
{
    static const struct change none;
    folder_make(folder, "m2m");
    write_tensors(folder, m, c ? c : &none);
    write_pieces(folder, PIECES);
    write_settings(folder, m, c ? c->setting : NULL);
}

static void clear(const char *folder)
{
    static const char *const files[] = {
        "model.safetensors",     "config.json", "sentencepiece.bpe.model",
        "tokenizer_config.json", "vocab.json",  "tokenizer.json"};
    folder_remove(folder, files, COUNT(files));
}

static const struct family family = {VOCAB, write_folder, clear};

static void test_logits(void **state)
{
    (void)state;
    judge_all(&family, 2);
}

/* Other names of the tied table, an output matrix that is equal to it, and stored sinusoids change
   nothing. */
static void test_other_files(void **state)
{
    (void)state;
    static const char table[] = "model.shared.weight";
    static const struct change changes[] = {
        {.shared = "model.encoder.embed_tokens.weight 213 8", .table = table, .without = table},
        {.shared = "lm_head.weight 213 8", .table = table},
        {.more = "model.encoder.embed_positions.weights 42 8"},
        {.more = "model.decoder.embed_positions.weights 42 8"},
        {.setting = "\"tie_word_embeddings\":true"},
    };
    judge_changed(&family, "scaled", changes, COUNT(changes));
}

/* ---- tokenizers and languages ---- */

static void test_nllb_tokenizer(void **state)
{
    (void)state;
    char folder[256];
    write_folder(folder, find_model("scaled"), NULL);
    rapt_translator *translator = load(folder, NULL, NULL);
    const rapt_tokenizer *t = rapt_translator_source(translator);
    check_ids(t, "ab  a", (const int32_t[]){4, 8, 5}, 3);
    check_ids(t, "zab", (const int32_t[]){4, 3, 8}, 3);
    check_ids(t, "ace_Latna zul_Latn", (const int32_t[]){FIRST + 1, 5, FIRST + 201}, 3);
    check_token(t, 0, "<s>", 0);
    check_token(t, 1, "<pad>", 0);
    check_token(t, 3, "<unk>", 0);
    check_token(t, 8, "ab", 2);
    check_token(t, FIRST, "ace_Arab", 0);
    check_token(t, FIRST + 202, "<mask>", 6);
    check_token(t, FIRST + 203, "", 0);
    rapt_translator_free(translator);
    folder_without_memory(folder);
    clear(folder);
}

static void test_m2m_tokenizer(void **state)
{
    (void)state;
    char folder[256];
    write_folder(folder, find_model("scaled"), NULL);
    folder_text(folder, "vocab.json", vocab_json);
    rapt_translator *translator = load(folder, "de", "Chinese");
    const rapt_tokenizer *t = rapt_translator_source(translator);
    check_ids(t, "ab a", (const int32_t[]){4, 7, 5}, 3);
    check_ids(t, "b a__am__", (const int32_t[]){4, 6, 5, 9}, 4);
    check_token(t, 8, "__af__", 0);
    check_token(t, 107, "__zu__", 0);
    check_token(t, 108, "", 0);
    rapt_translator_free(translator);
    folder_text(folder, "tokenizer_config.json", "{\"language_codes\": \"wmt21\"}");
    translator = load(folder, "__en__", "German");
    check_token(rapt_translator_source(translator), 15, "__de__", 0);
    check_token(rapt_translator_source(translator), 16, "", 0);
    rapt_translator_free(translator);
    folder_without_memory(folder);
    clear(folder);
}

/* ---- tokenizer.json ---- */

#define NAMES                                                                                      \
    "\"<s>\": 0, \"<pad>\": 1, \"</s>\": 2, \"<unk>\": 3, \"\u2581\": 4, \"\u2581a\": 5, "         \
    "\"a\": 6, \"b\": 7, \"ab\": 8"
#define UNKNOWN ", \"unk_token\": \"<unk>\""
#define SPACES                                                                                     \
    "[{\"type\": \"WhitespaceSplit\"}, {\"type\": \"Metaspace\", \"replacement\": \"\u2581\", "    \
    "\"add_prefix_space\": true}]"

/* Writes a folder whose only vocabulary is tokenizer.json with these members of the model. */
static void write_json(char folder[256], const char *members)
{
    static const char head[] =
        "{\"added_tokens\": [{\"id\": 0, \"content\": \"<s>\"}, {\"id\": 1, \"content\": "
        "\"<pad>\"}, {\"id\": 2, \"content\": \"</s>\"}, {\"id\": 3, \"content\": \"<unk>\"}, "
        "{\"id\": 9, \"content\": \"ace_Arab\"}, {\"id\": 10, \"content\": \"ace_Latn\"}, "
        "{\"id\": 210, \"content\": \"zul_Latn\"}], \"normalizer\": null, \"pre_tokenizer\": "
        "{\"type\": \"Sequence\", \"pretokenizers\": " SPACES "}, \"model\": {\"type\": \"BPE\", ";
    char text[2000], path[300];
    write_folder(folder, find_model("scaled"), NULL);
    snprintf(path, sizeof path, "%s/sentencepiece.bpe.model", folder);
    assert_int_equal(unlink(path), 0);
    snprintf(text, sizeof text, "%s%s}}", head, members);
    folder_text(folder, "tokenizer.json", text);
}

/* The order of the merges decides between ▁a b and ▁ ab. */
static void test_json(void **state)
{
    (void)state;
    static const char *const merges[] = {
        "\"vocab\": {" NAMES "}" UNKNOWN ", \"merges\": [\"\u2581 a\", \"a b\"]",
        "\"vocab\": {" NAMES "}" UNKNOWN
        ", \"merges\": [[\"a\", \"b\"], [\"\u2581\", \"a\"]], \"fuse_unk\": true"};
    static const int32_t wanted[][3] = {{5, 7, 5}, {4, 8, 5}};
    for (int n = 0; n < 2; n++) {
        char folder[256];
        struct seen seen = {.source_count = 0};
        const rapt_text text = {"ab", 2};
        write_json(folder, merges[n]);
        rapt_translator *translator = load(folder, "ace_Latn", "zul_Latn");
        const rapt_tokenizer *t = rapt_translator_source(translator);
        check_ids(t, "ab  a ", wanted[n], 3);
        check_ids(t, "zza", (const int32_t[]){4, 3, 6}, 3);
        check_ids(t, "ace_Latnb", (const int32_t[]){10, 4, 7}, 3);
        check_token(t, 211, "", 0);
        rapt_translator_free(translator);
        folder_without_memory(folder);
        folder_text(folder, "tokenizer_config.json", "{\"legacy_behaviour\": true}");
        translator = load(folder, "ace_Latn", "zul_Latn");
        assert_int_equal(rapt_translate_many(translator, &text, 1, 0, see, &seen, NULL), RAPT_OK);
        /* the end precedes the language */
        assert_int_equal(seen.source[seen.source_count - 1], 2);
        rapt_translator_free(translator);
        clear(folder);
    }
}

static void test_json_refused(void **state)
{
    (void)state;
    static const struct {
        const char *members, *phrase;
    } all[] = {
        {"\"vocab\": {" NAMES "}, \"merges\": []", "the model has no unk_token"},
        {"\"vocab\": {" NAMES "}, \"unk_token\": \"?\"", "unk_token is not in the vocabulary"},
        {"\"vocab\": {" NAMES "}" UNKNOWN ", \"byte_fallback\": true", "or it has byte_fallback"},
        {"\"vocab\": {" NAMES "}" UNKNOWN ", \"end_of_word_suffix\": \"x\"", "end_of_word_suffix"},
        {"\"vocab\": {" NAMES "}" UNKNOWN ", \"merges\": [\"b b\"]", "merge 0 makes \"bb\""},
        {"\"vocab\": {" NAMES "}" UNKNOWN ", \"merges\": [\"a b\"]",
         "there is no merge that makes \"\u2581a\""},
        {"\"vocab\": {" NAMES ", \"abb\": 12, \"bb\": 13}" UNKNOWN
         ", \"merges\": [\"\u2581 a\", \"a b\", \"b b\", \"a bb\"]",
         "there are 4 merges, but 5 pairs of tokens form a token"},
        {"\"vocab\": {" NAMES ", \"abb\": 12, \"bb\": 13}" UNKNOWN
         ", \"merges\": [\"\u2581 a\", \"a b\", \"ab b\", \"b b\", \"a bb\"]",
         "the merges that form \"abb\" must be consecutive"},
        {"\"vocab\": {" NAMES ", \"bc\": 12}" UNKNOWN ", \"merges\": [\"\u2581 a\", \"a b\"]",
         "there is no merge that makes \"bc\""},
    };
    for (int n = 0; n < COUNT(all); n++) {
        char folder[256];
        write_json(folder, all[n].members);
        folder_refused(folder, all[n].phrase);
        clear(folder);
    }
}

/* The language of the source precedes its tokens, or follows its end in models that say so; that of
   the target is its first token. */
static void test_languages(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"ace_Latn", "zul_Latn"}, {"ACEHNESE", "zu"}, {"acehnese", "Zulu"}};
    char folder[256];
    struct seen seen;
    const rapt_text text = {"ab a", 4};
    write_folder(folder, find_model("scaled"), NULL);
    for (int last = 0; last < 2; last++) {
        folder_text(folder, "tokenizer_config.json",
                    last ? "{\"legacy_behaviour\": true}" : "{\"legacy_behaviour\": false}");
        for (int i = 0; i < COUNT(names); i++) {
            const int32_t before[] = {FIRST + 1, 4, 8, 5}, after[] = {4, 8, 5, 2};
            rapt_translator *t = load(folder, names[i][0], names[i][1]);
            seen = (struct seen){.source_count = 0};
            assert_int_equal(rapt_translate_many(t, &text, 1, 0, see, &seen, NULL), RAPT_OK);
            assert_int_equal(seen.source_count, 4);
            assert_memory_equal(seen.source, last ? after : before, sizeof before);
            assert_true(seen.target_count >= 1);
            assert_int_equal(seen.target[0], FIRST + 201);
            rapt_translator_free(t);
        }
    }
    clear(folder);
}

/* A prefix follows the language of the target. */
static void test_prefix(void **state)
{
    (void)state;
    char folder[256];
    struct seen seen;
    const rapt_text text = {"ab", 2}, prefix = {"b a ", 4};
    const int32_t wanted[] = {FIRST + 201, 4, 7, 5};
    const rapt_translator_options other = {.size = sizeof other, .source_language = "en"};
    rapt_translate_call call = {.size = sizeof call, .prefixes = &prefix};
    rapt_message why = {""};
    write_folder(folder, find_model("scaled"), NULL);
    rapt_translator *t = load(folder, "en", "zu");
    assert_int_equal(rapt_translate_many_with(t, &text, 1, &call, see, &seen, NULL), RAPT_OK);
    assert_true(seen.target_count >= 4);
    assert_memory_equal(seen.target, wanted, sizeof wanted);
    call.options = &other;
    assert_int_equal(rapt_translate_many_with(t, &text, 1, &call, see, &seen, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "options.source_language cannot change between calls"));
    rapt_translator_free(t);
    clear(folder);
}

static int check_part(void *user, const rapt_document_piece *p)
{
    assert_int_equal(p->status, RAPT_OK);
    *(int *)user += p->kind == RAPT_PIECE_SENTENCE;
    return 0;
}

/* A sentence of a document is cut to the model's positions, of which its language takes one. */
static void test_document(void **state)
{
    (void)state;
    char folder[256], text[600];
    int parts = 0;
    const rapt_document_options options = {.size = sizeof options, .max_length = 10000};
    rapt_message why = {""};
    for (int i = 0; i < 600; i++) text[i] = i % 2 ? ' ' : 'a';
    write_folder(folder, find_model("scaled"), NULL);
    rapt_translator *t = load(folder, "en", "zu");
    if (rapt_document_translate(t, (rapt_text){text, 600}, &options, check_part, &parts, &why))
        fail_msg("%s", why.text);
    assert_true(parts > 1);
    rapt_translator_free(t);
    clear(folder);
}

struct expected { /* a score */
    const int32_t *ids;
    const float *logs;
    int count, calls;
};

static int check_score(void *user, const rapt_text_score *s)
{
    struct expected *e = user;
    double sum = 0;
    e->calls++;
    assert_int_equal(s->target_count, e->count);
    assert_memory_equal(s->target, e->ids, sizeof *e->ids * (size_t)e->count);
    for (int i = 0; i <= e->count; i++) {
        assert_true(s->log_probabilities[i] == e->logs[i]);
        sum += (double)e->logs[i];
    }
    assert_true(fabs(s->sum - sum) <= 1e-5);
    return 0;
}

/* A target's score is that of its tokens and its end after the language, which is given. The
   source has the language before its tokens, or `last`. */
static void check_scores(const char *folder, bool last)
{
    const rapt_text source = {"ab", 2}, target = {"b a", 3};
    const int32_t first[] = {FIRST + 46, 4, 8, 2}, after[] = {4, 8, 2, FIRST + 46},
                  to[] = {FIRST + 201, 4, 7, 5};
    float logs[5];
    const rapt_tokens s = {.batch = 1, .ids = last ? after : first, .starts = (const int[]){0, 4}},
                      t = {.batch = 1, .ids = to, .starts = (const int[]){0, 4}};
    const rapt_limits limits = {
        .size = sizeof limits, .batch = 1, .source_tokens = 4, .target_length = 5};
    struct expected e = {to + 1, logs + 1, 3, 0};
    rapt_session *session;
    rapt_translator *translator = load(folder, "en", "zu");
    const rapt_model *model = rapt_translator_model(translator);
    assert_int_equal(rapt_session_create(&session, model, &limits, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_score_targets(session, &s, &t, 2, 2, logs, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_translator_score(translator, &source, &target, 1, check_score, &e, NULL),
                     RAPT_OK);
    assert_int_equal(e.calls, 1);
    rapt_session_free(session);
    rapt_translator_free(translator);
}

static void test_scores(void **state)
{
    (void)state;
    char folder[256];
    write_folder(folder, find_model("scaled"), NULL);
    check_scores(folder, false);
    folder_text(folder, "tokenizer_config.json", "{\"legacy_behaviour\": true}");
    check_scores(folder, true);
    clear(folder);
}

static int none(void *user, const rapt_translation *t)
{
    (void)user, (void)t;
    fail_msg("translated");
    return 0;
}

static int no_score(void *user, const rapt_text_score *s)
{
    (void)user, (void)s;
    fail_msg("scored");
    return 0;
}

static void test_languages_refused(void **state)
{
    (void)state;
    char folder[256];
    rapt_message why = {""};
    const rapt_text text = {"a", 1};
    write_folder(folder, find_model("scaled"), NULL);
    languages_refused(folder, "Germann", "en",
                      "source_language is Germann, which the model does "
                      "not have; similar: German (deu_Latn)");
    languages_refused(folder, "en", "Chin", "similar: Chinese (zho_Hans), ");
    languages_refused(folder, "en", "eng_Latm", "similar: English (eng_Latn)");
    languages_refused(folder, "", "en", "source_language is ");
    languages_refused(folder, "Breton", "en", "source_language is Breton");
    languages_refused(folder, "xxxxxxxxxxxxxxxx", "en", "which the model does not have");
    rapt_translator *t = load(folder, "en", NULL);
    assert_int_equal(rapt_translate_many(t, &text, 1, 0, none, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "target_language is not set"));
    assert_int_equal(rapt_translator_score(t, &text, &text, 1, no_score, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "target_language is not set"));
    rapt_translator_free(t);
    folder_text(folder, "vocab.json", vocab_json);
    languages_refused(folder, "Acehnese", "en", "source_language is Acehnese");
    languages_refused(folder, "Bretn", "en", "similar: Breton (br)");
    clear(folder);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct refusal all[] = {
        {{.setting = "\"activation_function\":\"tanh\""}, "activation_function is tanh"},
        {{.setting = "\"decoder_attention_heads\":4"}, "they must be equal"},
        {{.setting = "\"decoder_start_token_id\":0"}, "decoder_start_token_id is 0"},
        {{.setting = "\"scale_embedding\":1"}, "scale_embedding is 1"},
        {{.setting = "\"pad_token_id\":3"}, "pad_token_id is 3"},
        {{.setting = "\"tie_word_embeddings\":false"}, "missing"},
        {{.setting = "\"vocab_size\":212"}, "shape"},
        {{.setting = "\"encoder_ffn_dim\":16"}, "they must be equal"},
        {{.without = "model.decoder.layer_norm.bias"}, "decoder.norm.bias is missing"},
        {{.more = "final_logits_bias 213"}, "final_logits_bias belongs to a layer"},
    };
    char folder[256];
    refuse_changed(&family, "scaled", all, COUNT(all));
    write_folder(folder, find_model("scaled"), NULL);
    write_pieces(folder, PIECES + 2);
    folder_refused(folder, "need 214 rows, but the model's table has 213 rows");
    folder_text(folder, "tokenizer_config.json", "{\"language_codes\": \"x\"}");
    folder_refused(folder, "language_codes is x");
    folder_text(folder, "tokenizer_config.json", "{");
    folder_refused(folder, "not a JSON object");
    clear(folder);
}

static void test_m2m_refused(void **state)
{
    (void)state;
    static struct bytes b;
    char folder[256], name[32];
    write_folder(folder, find_model("scaled"), NULL);
    b.size = 0;
    put_text(&b, "{\"<s>\": 0, \"<pad>\": 1, \"</s>\": 2, \"<unk>\": 3");
    for (int i = 4; i < 120; i++) {
        snprintf(name, sizeof name, ", \"x%d\": %d", i, i);
        put_text(&b, name);
    }
    put_text(&b, "}");
    folder_write(folder, "vocab.json", &b);
    folder_refused(folder, "vocab.json has 120 names, which leaves too few rows for the languages");
    clear(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logits),         cmocka_unit_test(test_other_files),
        cmocka_unit_test(test_nllb_tokenizer), cmocka_unit_test(test_m2m_tokenizer),
        cmocka_unit_test(test_languages),      cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_scores),         cmocka_unit_test(test_languages_refused),
        cmocka_unit_test(test_refused),        cmocka_unit_test(test_m2m_refused),
        cmocka_unit_test(test_document),       cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_refused),
    };
    return cmocka_run_group_tests(tests, read_all, free_records);
}
