/* hf_export.c - tests the export of random models to Hugging Face's MarianMT. The files are read
   here, and with them the definition in double precision (oracle/marianmt.c) gives the logits of
   the model. Imported, the model is equal bit for bit. Anything that MarianMT does not support is
   refused by name. */
#include "import/folder.h"
#include "oracle/marianmt.h"

#include <jansson.h>

enum { TENSORS = 128, NAME = 100 };

/* clang-format off */
static const rapt_config configs[] = {
    {.size = sizeof(rapt_config), .source_vocab = 9, .target_vocab = 9, .positions = 20, .width = 16, .heads = 2, .ffn_width = 24,
     .encoder_layers = 2, .decoder_layers = 1, .position = RAPT_POSITION_CONCATENATED, .tie = RAPT_TIE_ALL, .output_bias = 1,
     .activation = RAPT_ACTIVATION_SILU, .decoder_start = RAPT_DECODER_START_PAD},
    {.size = sizeof(rapt_config), .source_vocab = 8, .target_vocab = 8, .positions = 12, .width = 8, .heads = 4, .ffn_width = 12,
     .encoder_layers = 1, .decoder_layers = 2, .position = RAPT_POSITION_CONCATENATED, .tie = RAPT_TIE_OUTPUT,
     .norm_epsilon = 1e-5f, .plain_embedding = 1, .decoder_start = RAPT_DECODER_START_END},
    {.size = sizeof(rapt_config), .source_vocab = 7, .target_vocab = 7, .positions = 12, .width = 4, .heads = 1, .ffn_width = 6,
     .encoder_layers = 1, .decoder_layers = 1, .position = RAPT_POSITION_CONCATENATED, .output_bias = 1,
     .activation = RAPT_ACTIVATION_GELU, .decoder_start = RAPT_DECODER_START_BEGIN},
    {.size = sizeof(rapt_config), .source_vocab = 6, .target_vocab = 6, .positions = 12, .width = 8, .heads = 2, .ffn_width = 6,
     .encoder_layers = 1, .decoder_layers = 1, .position = RAPT_POSITION_CONCATENATED, .tie = RAPT_TIE_ALL,
     .decoder_start = RAPT_DECODER_START_ZERO},
    {.size = sizeof(rapt_config), .source_vocab = 8, .target_vocab = 8, .positions = 10, .width = 8, .heads = 2, .ffn_width = 6,
     .encoder_layers = 1, .decoder_layers = 1, .position = RAPT_POSITION_LEARNED, .tie = RAPT_TIE_ALL,
     .decoder_start = RAPT_DECODER_START_PAD},
};
/* clang-format on */
static const int specials[] = {PIECES_PAD, PIECES_PAD, PIECES_PAD | PIECES_BEGIN, 0, PIECES_PAD};

static const char *const files[] = {"model.safetensors",      "config.json",          "vocab.json",
                                    "target_vocab.json",      "source.spm",           "target.spm",
                                    "generation_config.json", "tokenizer_config.json"};

/* ---- reading the folder ---- */

struct folder { /* config.json and all tensors */
    json_t *config;
    char *bytes;
    char names[TENSORS][NAME];
    struct marianmt_tensor tensors[TENSORS];
    struct marianmt m;
};

static char *read_file(const char *folder, const char *name, size_t *size)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*size + 1);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    bytes[*size] = 0;
    fclose(file);
    return bytes;
}

static json_t *read_json(const char *folder, const char *name)
{
    size_t size;
    char *text = read_file(folder, name, &size);
    json_t *json = json_loads(text, 0, NULL);
    if (!json) fail_msg("%s: %s", name, text);
    free(text);
    return json;
}

static int number(const struct folder *f, const char *key)
{
    const json_t *value = json_object_get(f->config, key);
    if (!value) fail_msg("config.json has no %s", key);
    return json_is_boolean(value) ? json_is_true(value) : (int)json_integer_value(value);
}

static void read_tensors(struct folder *f, const char *folder)
{
    size_t size, header = 0;
    f->bytes = read_file(folder, "model.safetensors", &size);
    for (int i = 8; i-- > 0;) header = header * 256 + (unsigned char)f->bytes[i];
    json_t *entries = json_loadb(f->bytes + 8, header, 0, NULL), *entry;
    const char *name;
    assert_non_null(entries);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(entries, "__metadata__"), "format")),
        "pt");
    int count = 0;
    json_object_foreach(entries, name, entry)
    {
        if (strcmp(name, "__metadata__") == 0) continue;
        assert_true(count < TENSORS && strlen(name) < NAME);
        json_int_t begin =
            json_integer_value(json_array_get(json_object_get(entry, "data_offsets"), 0));
        snprintf(f->names[count], NAME, "%s", name);
        f->tensors[count] = (struct marianmt_tensor){
            f->names[count], (const float *)(const void *)(f->bytes + 8 + header + begin)};
        count++;
    }
    f->m.tensors = f->tensors, f->m.count = count;
    json_decref(entries);
}

static struct folder *read_folder(const char *folder)
{
    static const char *const activations[] = {"swish", "relu", "gelu"};
    struct folder *f = calloc(1, sizeof *f);
    f->config = read_json(folder, "config.json");
    const char *name = json_string_value(json_object_get(f->config, "activation_function"));
    while (strcmp(activations[f->m.activation], name) != 0) f->m.activation++;
    f->m.width = number(f, "d_model"), f->m.heads = number(f, "encoder_attention_heads");
    f->m.ffn_width = number(f, "decoder_ffn_dim");
    f->m.encoder_layers = number(f, "encoder_layers");
    f->m.decoder_layers = number(f, "decoder_layers");
    f->m.vocab = number(f, "decoder_vocab_size"), f->m.scaled = number(f, "scale_embedding");
    read_tensors(f, folder);
    return f;
}

static void free_folder(struct folder *f)
{
    json_decref(f->config);
    free(f->bytes);
    free(f);
}

/* ---- tests ---- */

static const int32_t sources[] = {3, 2, 4, 5, 0};
enum { S = COUNT(sources), T = 5 };

static void logits_of(const rapt_model *model, const int32_t *target, float *logits)
{
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = 1,
                                .source_tokens = S,
                                .target_length = T,
                                .target_tokens = T,
                                .threads = 1};
    const int s_starts[] = {0, S}, t_starts[] = {0, T};
    const rapt_tokens from = {.batch = 1, .ids = sources, .starts = s_starts},
                      to = {.batch = 1, .ids = target, .starts = t_starts};
    rapt_session *session;
    const float *all;
    assert_int_equal(rapt_session_create(&session, model, &limits, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_encode(session, &from, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_decode(session, &to, &all, NULL), RAPT_OK);
    memcpy(logits, all, sizeof *logits * (size_t)(T * rapt_model_config(model)->target_vocab));
    rapt_session_free(session);
}

/* Compares the model's logits with those of the folder, whose first target token is the one that it
   names. */
static void judge_logits(const rapt_model *model, const char *folder)
{
    struct folder *f = read_folder(folder);
    int own = rapt_model_config(model)->target_vocab, vocab = f->m.vocab;
    int32_t target[T] = {(int32_t)number(f, "decoder_start_token_id"), 5, 2, 3, 1};
    double *wanted = calloc((size_t)(T * vocab), sizeof *wanted);
    float *logits = calloc((size_t)(T * own), sizeof *logits);
    marianmt_logits(&f->m, sources, S, target, T, wanted);
    if (target[0] >= own) target[0] = 0; /* zeros, for any token */
    logits_of(model, target, logits);
    for (int t = 0; t < T; t++)
        for (int n = 0; n < own; n++)
            if (fabs((double)logits[t * own + n] - wanted[t * vocab + n]) > 1e-4)
                fail_msg("row %d, token %d: %.7f, not %.7f", t, n, (double)logits[t * own + n],
                         wanted[t * vocab + n]);
    free(wanted);
    free(logits);
    free_folder(f);
}

/* Every name has the id of its row, and the texts say which tokens are special. */
static void judge_texts(const rapt_model *model, const char *folder)
{
    struct folder *f = read_folder(folder);
    json_t *names = read_json(folder, "vocab.json"),
           *generation = read_json(folder, "generation_config.json"),
           *tokenizer = read_json(folder, "tokenizer_config.json");
    int vocab = number(f, "vocab_size"), pad = number(f, "pad_token_id");
    assert_int_equal(json_object_size(names), vocab);
    assert_int_equal(json_integer_value(json_object_get(names, "<pad>")), pad);
    assert_int_equal(pad, vocab - 1);
    assert_int_equal(json_integer_value(json_object_get(names, "</s>")), 0);
    assert_int_equal(json_integer_value(json_object_get(names, "<unk>")), 1);
    assert_int_equal(json_integer_value(json_object_get(names, "t4")), 4);
    assert_int_equal(number(f, "eos_token_id"), 0);
    assert_int_equal(number(f, "forced_eos_token_id"), 0);
    assert_int_equal(number(f, "max_position_embeddings"), rapt_model_config(model)->positions);
    const json_t *bad = json_object_get(generation, "bad_words_ids");
    assert_int_equal(json_integer_value(json_array_get(json_array_get(bad, 0), 0)), pad);
    assert_true(json_is_true(json_object_get(generation, "renormalize_logits")));
    assert_true(json_is_false(json_object_get(tokenizer, "separate_vocabs")));
    json_decref(names);
    json_decref(generation);
    json_decref(tokenizer);
    free_folder(f);
}

/* The parameters are read back bit for bit, except for the pad token's. */
static void judge_again(const rapt_model *model, const char *folder)
{
    rapt_model *read = folder_import(folder);
    int own = rapt_model_config(model)->target_vocab, vocab = rapt_model_config(read)->target_vocab;
    int pad = vocab - 1;
    float a[T * 16], b[T * 16];
    int32_t target[T] = {(int32_t)pad, 5, 2, 3, 1};
    logits_of(read, target, b);
    if (pad >= own) target[0] = 0;
    logits_of(model, target, a);
    for (int t = 0; t < T; t++)
        for (int n = 0; n < own; n++)
            if (n != pad) assert_true(a[t * own + n] == b[t * vocab + n]);
    rapt_model_free(read);
}

static void test_folders(void **state)
{
    (void)state;
    char folder[256];
    for (int i = 0; i < COUNT(configs); i++) {
        rapt_message why = {""};
        rapt_model *model = pieces_model(&configs[i], (uint64_t)i + 2, specials[i]);
        folder_make(folder, "hf-export");
        if (rapt_model_export(model, RAPT_EXPORT_HF, folder, &why)) fail_msg("%s", why.text);
        judge_logits(model, folder);
        judge_texts(model, folder);
        judge_again(model, folder);
        folder_remove(folder, files, COUNT(files));
        rapt_model_free(model);
    }
}

/* Vocabularies of the same size with different names. */
static void test_separate(void **state)
{
    (void)state;
    char folder[256];
    static char bytes[1 << 18];
    size_t size;
    char *source = pieces_text(8, PIECES_PAD), *target = pieces_text(8, PIECES_PAD | PIECES_BEGIN);
    const rapt_metadata pairs[] = {{"rapt.source_tokenizer", source},
                                   {"rapt.target_tokenizer", target}};
    rapt_model *plain = small_model(&configs[1], 3), *model;
    assert_int_equal(rapt_model_save_memory(plain, bytes, sizeof bytes, &size, pairs, 2, NULL),
                     RAPT_OK);
    assert_int_equal(rapt_model_load_memory(&model, bytes, size, NULL, NULL, NULL), RAPT_OK);
    folder_make(folder, "hf-separate");
    assert_int_equal(rapt_model_export(model, RAPT_EXPORT_HF, folder, NULL), RAPT_OK);
    json_t *names = read_json(folder, "target_vocab.json"),
           *tokenizer = read_json(folder, "tokenizer_config.json");
    assert_int_equal(json_integer_value(json_object_get(names, "<s>")), 2);
    assert_true(json_is_true(json_object_get(tokenizer, "separate_vocabs")));
    json_decref(names);
    json_decref(tokenizer);
    judge_logits(model, folder);
    judge_again(model, folder);
    folder_remove(folder, files, COUNT(files));
    rapt_model_free(model);
    rapt_model_free(plain);
    free(source);
    free(target);
}

static void test_memory(void **state)
{
    (void)state;
    char folder[256];
    folder_make(folder, "export-memory-HF");
    export_without_memory(&configs[3], 0, RAPT_EXPORT_HF, folder);
    folder_remove(folder, files, COUNT(files));
}

static void test_refusals(void **state)
{
    (void)state;
#define REFUSE(field, value)                                                                       \
    do {                                                                                           \
        rapt_config c = configs[1];                                                                \
        c.field = value;                                                                           \
        export_refused(&c, PIECES_PAD, RAPT_EXPORT_HF, #field);                                    \
    } while (0)
    REFUSE(position, RAPT_POSITION_CONCATENATED_N1);
    REFUSE(position, RAPT_POSITION_NONE);
    REFUSE(first_position, 1);
    REFUSE(norm_epsilon, 1e-6f);
    REFUSE(norm_order, RAPT_NORM_ORDER_PRE);
    REFUSE(norm_type, RAPT_NORM_TYPE_RMS);
    REFUSE(key_heads, 2);
    REFUSE(ffn_width, 0);
    REFUSE(ffn_gated, 1);
    REFUSE(head_width, 3);
    REFUSE(rotary_scaling, RAPT_ROTARY_SCALING_YARN);
    REFUSE(query_key_norm, 1);
    REFUSE(output_gate, RAPT_OUTPUT_GATE_HEAD);
    REFUSE(differential, 1);
    REFUSE(forget_gate, 1);
    REFUSE(relative_bias, RAPT_RELATIVE_BIAS_DEBERTA);
    REFUSE(talking_heads, 1);
    REFUSE(monotonic, RAPT_CROSS_MONOTONIC_HARD);
    REFUSE(no_source_end, 1);
    REFUSE(self_score, RAPT_SCORE_COSINE);
    REFUSE(decoder_recurrence, RAPT_RECURRENCE_SSRU);
    REFUSE(decoder_start, RAPT_DECODER_START_ZERO);
    REFUSE(decoder_start, RAPT_DECODER_START_UNKNOWN);
#undef REFUSE
    rapt_config c = configs[1];
    c.source_vocab = 9;
    export_refused(&c, PIECES_PAD, RAPT_EXPORT_HF, "pad token's id");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folders), cmocka_unit_test(test_separate),
        cmocka_unit_test(test_memory), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
