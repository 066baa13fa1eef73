/* hf.c - tests folders of Hugging Face's MarianMT with random weights: the logits must be those of
   the definition in double precision (oracle/marianmt.c). Uses side files of real models if
   RAPT_DATA has them. Unsupported settings are refused by name. */
#define _GNU_SOURCE /* symlink */
#include "import/folder.h"

#include "../skips.h"
#include "oracle/marianmt.h"

enum { TENSORS = 256, WIDTH = 16, HEADS = 2, FFN = 24, ENCODER = 2, DECODER = 3 };

struct weights { /* all weights of a model, by name */
    int count;
    struct {
        char name[256];
        int rows, columns;
        float *data;
    } all[TENSORS];
    struct marianmt_tensor tensors[TENSORS];
};

static void add(struct weights *w, const char *scope, const char *name, int rows, int columns,
                float around)
{
    assert_true(w->count < TENSORS);
    int i = w->count++;
    size_t size = (size_t)(rows * columns);
    snprintf(w->all[i].name, 256, "%s%s", scope, name);
    w->all[i].rows = rows, w->all[i].columns = columns;
    w->all[i].data = malloc(size * sizeof(float));
    for (size_t j = 0; j < size; j++)
        w->all[i].data[j] = around + 0.3f * small_uniform((uint64_t)i + 9, j);
    w->tensors[i] = (struct marianmt_tensor){w->all[i].name, w->all[i].data};
}

static void add_linear(struct weights *w, const char *scope, const char *name, int rows,
                       int columns)
{
    char full[128];
    snprintf(full, sizeof full, "%s.weight", name);
    add(w, scope, full, rows, columns, 0);
    snprintf(full, sizeof full, "%s.bias", name);
    add(w, scope, full, 1, rows, 0);
}

static void add_norm(struct weights *w, const char *scope, const char *name)
{
    char full[128];
    snprintf(full, sizeof full, "%s.weight", name);
    add(w, scope, full, 1, WIDTH, 1);
    snprintf(full, sizeof full, "%s.bias", name);
    add(w, scope, full, 1, WIDTH, 0);
}

static void add_attention(struct weights *w, const char *layer, const char *name)
{
    static const char *const parts[] = {"q_proj", "k_proj", "v_proj", "out_proj"};
    char scope[128], norm[64];
    snprintf(scope, sizeof scope, "%s%s.", layer, name);
    snprintf(norm, sizeof norm, "%s_layer_norm", name);
    for (int i = 0; i < 4; i++) add_linear(w, scope, parts[i], WIDTH, WIDTH);
    add_norm(w, layer, norm);
}

/* pad: the row that is zero. */
static struct weights *make_weights(int vocab, int pad)
{
    struct weights *w = calloc(1, sizeof *w);
    add(w, "", "model.shared.weight", vocab, WIDTH, 0);
    memset(w->all[0].data + pad * WIDTH, 0, WIDTH * sizeof(float));
    add(w, "", "final_logits_bias", 1, vocab, 0);
    w->all[1].data[pad] = 0;
    for (int side = 0; side < 2; side++)
        for (int l = 0; l < (side ? DECODER : ENCODER); l++) {
            char scope[64];
            snprintf(scope, sizeof scope, "model.%s.layers.%d.", side ? "decoder" : "encoder", l);
            add_attention(w, scope, "self_attn");
            if (side) add_attention(w, scope, "encoder_attn");
            add_linear(w, scope, "fc1", FFN, WIDTH);
            add_linear(w, scope, "fc2", WIDTH, FFN);
            add_norm(w, scope, "final_layer_norm");
        }
    return w;
}

static void free_weights(struct weights *w)
{
    for (int i = 0; i < w->count; i++) free(w->all[i].data);
    free(w);
}

/* more: additional names that are stored with the bytes of the first tensor. */
static void write_weights(const char *folder, const struct weights *w, const char *more)
{
    enum { PIECE = 1024 };
    static struct bytes header, size, data;
    char path[600], line[300];
    size_t at = 0;
    header.size = size.size = 0;
    put_text(&header, "{\"__metadata__\": {\"format\": \"pt\"}");
    for (int i = 0; i < w->count + (more != NULL); i++) {
        int n = i < w->count ? i : 0;
        size_t bytes = (size_t)(w->all[n].rows * w->all[n].columns) * sizeof(float);
        bool vector = w->all[n].rows == 1 && strcmp(w->all[n].name, "final_logits_bias") != 0;
        char shape[48];
        snprintf(shape, sizeof shape, vector ? "[%d]" : "[%d, %d]",
                 vector ? w->all[n].columns : w->all[n].rows, w->all[n].columns);
        snprintf(line, sizeof line,
                 ", \"%s\": {\"dtype\": \"F32\", \"shape\": %s, \"data_offsets\": [%zu, %zu]}",
                 i < w->count ? w->all[n].name : more, shape, at, at + bytes);
        put_text(&header, line);
        at += bytes;
    }
    put_text(&header, "}");
    put_number(&size, header.size, 8);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fwrite(size.data, 1, size.size, file);
    fwrite(header.data, 1, header.size, file);
    for (int i = 0; i < w->count + (more != NULL); i++) {
        int n = i < w->count ? i : 0;
        size_t count = (size_t)(w->all[n].rows * w->all[n].columns);
        for (size_t from = 0; from < count; from += PIECE) {
            data.size = 0;
            put_floats(&data, w->all[n].data + from, count - from < PIECE ? count - from : PIECE);
            assert_int_equal(fwrite(data.data, 1, data.size, file), data.size);
        }
    }
    assert_int_equal(fclose(file), 0);
}

/* line: replaces the setting with the same key, or is added; NULL: no change. */
static void write_settings(const char *folder, int vocab, int end, int pad, const char *activation,
                           const char *line)
{
    static struct bytes b;
    char text[1500];
    snprintf(text, sizeof text,
             "\"activation_function\": \"%s\"\n\"add_final_layer_norm\": false\n"
             "\"bad_words_ids\": [[%d]]\n\"d_model\": %d\n\"decoder_attention_heads\": %d\n"
             "\"decoder_ffn_dim\": %d\n\"decoder_layers\": %d\n\"decoder_start_token_id\": %d\n"
             "\"encoder_attention_heads\": %d\n\"encoder_ffn_dim\": %d\n\"encoder_layers\": %d\n"
             "\"eos_token_id\": %d\n\"id2label\": {\"0\": \"LABEL_0\"}\n"
             "\"max_position_embeddings\": 64\n\"model_type\": \"marian\"\n"
             "\"normalize_before\": false\n\"pad_token_id\": %d\n\"scale_embedding\": true\n"
             "\"static_position_embeddings\": true\n\"vocab_size\": %d\n",
             activation, pad, WIDTH, HEADS, FFN, DECODER, pad, HEADS, FFN, ENCODER, end, pad,
             vocab);
    b.size = 0;
    put_text(&b, "{\n");
    size_t key = line ? strcspn(line, ":") + 1 : 0;
    for (const char *at = text, *stop; *at; at = stop + 1) {
        stop = strchr(at, '\n');
        if (key && strncmp(at, line, key) == 0) continue;
        put(&b, at, (size_t)(stop - at));
        put_text(&b, stop[1] || line ? ",\n" : "\n");
    }
    if (line) put_text(&b, line);
    put_text(&b, "}\n");
    folder_write(folder, "config.json", &b);
}

/* Two pieces besides the unknown one are enough to tokenize text. */
static const char pieces[] = "\x0A\x09\x0A\x05<unk>\x18\x02"
                             "\x0A\x08\x0A\x01"
                             "a\x15\x00\x00\x80\xBF"
                             "\x0A\x0B\x0A\x04\xE2\x96\x81"
                             "a\x15\x00\x00\x80\xBF";
enum { VOCAB = 9, PAD = VOCAB - 1 };

static void write_vocabulary(const char *folder)
{
    static struct bytes b;
    folder_text(folder, "vocab.json",
                "{\"</s>\": 0, \"<unk>\": 1, \"a\": 2, \"\\u2581a\": 3, \"b\": 4, \"c\": 5, "
                "\">>x<<\": 6, \"d\": 7, \"<pad>\": 8}");
    b.size = 0;
    put(&b, pieces, sizeof pieces - 1);
    folder_write(folder, "source.spm", &b);
    folder_write(folder, "target.spm", &b);
}

static const char *const files[] = {"model.safetensors", "config.json", "vocab.json", "source.spm",
                                    "target.spm"};

/* Compares a session's logits with the definition's. The pad token must have probability 0. */
static void judge_logits(const rapt_model *model, const struct weights *w, const char *activation,
                         int vocab, int pad)
{
    static const int32_t source[] = {3, 2, 7, 4, 0};
    const int32_t target[] = {(int32_t)pad, 5, 2, 2, 6, 1};
    enum { S = COUNT(source), T = COUNT(target) };
    const struct marianmt m = {WIDTH,
                               HEADS,
                               FFN,
                               ENCODER,
                               DECODER,
                               vocab,
                               activation[0] == 'r' ? MARIANMT_RELU : MARIANMT_SWISH,
                               1,
                               w->tensors,
                               w->count};
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = 1,
                                .source_tokens = S,
                                .target_length = T,
                                .target_tokens = T,
                                .threads = 1};
    const int s_starts[] = {0, S}, t_starts[] = {0, T};
    const rapt_tokens from = {.batch = 1, .ids = source, .starts = s_starts},
                      to = {.batch = 1, .ids = target, .starts = t_starts};
    double *wanted = calloc((size_t)(T * vocab), sizeof *wanted);
    rapt_session *session;
    const float *logits;
    marianmt_logits(&m, source, S, target, T, wanted);
    assert_int_equal(rapt_session_create(&session, model, &limits, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_encode(session, &from, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_decode(session, &to, &logits, NULL), RAPT_OK);
    for (int i = 0; i < T * vocab; i++) {
        if (i % vocab == pad)
            assert_true(logits[i] < -1e8f);
        else if (fabs((double)logits[i] - wanted[i]) > 2e-5)
            fail_msg("logit %d: %.7f, not %.7f", i, (double)logits[i], wanted[i]);
    }
    rapt_session_free(session);
    free(wanted);
}

static void test_logits(void **state)
{
    (void)state;
    static const char *const activations[] = {"swish", "relu"};
    static const char *const more[] = {NULL, "lm_head.weight", "model.encoder.embed_tokens.weight",
                                       "model.decoder.embed_tokens.weight"};
    char folder[256];
    struct weights *w = make_weights(VOCAB, PAD);
    folder_make(folder, "hf");
    write_vocabulary(folder);
    for (int i = 0; i < COUNT(more); i++) {
        write_weights(folder, w, more[i]);
        write_settings(folder, VOCAB, 0, PAD, activations[i % 2], NULL);
        rapt_model *model = folder_import(folder);
        judge_logits(model, w, activations[i % 2], VOCAB, PAD);
        rapt_model_free(model);
    }
    write_settings(folder, VOCAB, 0, PAD, "swish", "\"eos_token_id\": [0]");
    rapt_model_free(folder_import(folder));
    char path[300]; /* of the weights only */
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    rapt_model_free(folder_import(path));
    folder_without_memory(folder);
    folder_remove(folder, files, COUNT(files));
    free_weights(w);
}

/* Tokens that were added to the tokenizer and to the tables. */
static void test_added_tokens(void **state)
{
    (void)state;
    static const struct {
        const char *added, *phrase;
    } rows[] = {
        {"{\"<x>\": 9, \"<y z>\": 10}", NULL},
        {"{\"<y z>\": 10, \"<x>\": 9, \"<pad>\": 8}", NULL},
        {"{\"<x>\": 9}",
         "vocab.json and added_tokens.json have 10 names, but the model's table has 11 rows"},
        {"{\"<x>\": 10}", "have 10 names, but the model's table has 11 rows"},
        {"{\"<x>\": 9, \"<y z>\": 11}", "<y z> has the id 11, but the model's table has 11 rows"},
        {"{\"<x>\": 9, \"<y z>\": 9}", "<y z> has the id 9, which belongs to <x>"},
        {"{\"<x>\": 9, \"<y z>\": 10, \"w\": 2}", "w has the id 2, which belongs to a"},
        {"{\"<x>\": 9, \"a\": 10}", "names 2 and 10 are both"},
        {"{\"<x>\": 9, \"<y z>\": \"x\"}", "not an integer"},
        {"{\"<x>\": 9, \"<y z>\": null}", "the model's table has 11 rows"},
        {"[\"<x>\"]", "added_tokens.json is not a JSON object"},
    };
    char folder[256], path[600];
    struct weights *w = make_weights(VOCAB + 2, PAD);
    folder_make(folder, "hf-added");
    write_vocabulary(folder);
    write_weights(folder, w, NULL);
    write_settings(folder, VOCAB + 2, 0, PAD, "relu", NULL);
    folder_refused(folder, "vocab.json has 9 names, but the model's table has 11 rows");
    for (int i = 0; i < COUNT(rows); i++) {
        folder_text(folder, "added_tokens.json", rows[i].added);
        if (rows[i].phrase) {
            folder_refused(folder, rows[i].phrase);
            continue;
        }
        rapt_translator *t = NULL;
        rapt_message why = {""};
        if (rapt_translator_load(&t, folder, NULL, NULL, &why)) fail_msg("%s", why.text);
        judge_logits(rapt_translator_model(t), w, "relu", VOCAB + 2, PAD);
        const rapt_tokenizer *target = rapt_translator_target(t);
        rapt_text name = rapt_tokenizer_name(target, 10);
        assert_int_equal(name.size, 5);
        assert_memory_equal(name.bytes, "<y z>", 5);
        rapt_translator_free(t);
        if (i == 0) folder_without_memory(folder);
        assert_int_equal(folder_vocabularies(folder), 3); /* vocab.json and the pieces */
    }
    snprintf(path, sizeof path, "%s/added_tokens.json", folder);
    unlink(path);
    folder_remove(folder, files, COUNT(files));
    free_weights(w);
}

static void add_positions(struct weights *w, float error)
{
    enum { POSITIONS = 64 };
    for (int side = 0; side < 2; side++) {
        add(w, side ? "model.decoder." : "model.encoder.", "embed_positions.weight", POSITIONS,
            WIDTH, 0);
        float *table = w->all[w->count - 1].data;
        for (int p = 0; p < POSITIONS; p++)
            for (int j = 0; j < WIDTH; j++) {
                double angle = p / pow(10000, 2.0 * (j % (WIDTH / 2)) / WIDTH);
                table[p * WIDTH + j] =
                    (float)(j < WIDTH / 2 ? sin(angle) : cos(angle)) +
                    error * small_uniform((uint64_t)side, (uint64_t)(p * WIDTH + j));
            }
    }
}

/* The positions that are added are those in the file: sinusoids computed in double, or rounded
   ones, which must not be recomputed. */
static void test_positions(void **state)
{
    (void)state;
    static const float errors[] = {0, 0x1p-12f, 0.1f};
    char folder[256];
    folder_make(folder, "hf-positions");
    write_vocabulary(folder);
    write_settings(folder, VOCAB, 0, PAD, "relu", NULL);
    for (int i = 0; i < COUNT(errors); i++) {
        struct weights *w = make_weights(VOCAB, PAD);
        add_positions(w, errors[i]);
        write_weights(folder, w, NULL);
        rapt_model *model = folder_import(folder);
        assert_int_equal(rapt_model_config(model)->position,
                         i ? RAPT_POSITION_LEARNED : RAPT_POSITION_CONCATENATED);
        judge_logits(model, w, "relu", VOCAB, PAD);
        rapt_model_free(model);
        if (i == 1) folder_without_memory(folder);
        if (i == 0) { /* another shape */
            w->all[w->count - 1].rows = 32;
            write_weights(folder, w, NULL);
            folder_refused(folder, "model.decoder.embed_positions.weight does not have the shape");
        }
        if (i == 2) { /* only one of the two tables */
            w->count--;
            write_weights(folder, w, NULL);
            folder_refused(folder, "decoder.positions.weight");
            free(w->all[w->count].data);
        }
        free_weights(w);
    }
    folder_remove(folder, files, COUNT(files));
}

/* With the side files of a real model, tokens are found by name and every id is in its place. */
static void judge_real(const char *name, int vocab, int end, int unknown, const char *language,
                       int language_id)
{
    char folder[256], from[DATA_PATH], to[600], side[100];
    static const char *const sides[] = {"vocab.json", "source.spm", "target.spm"};
    snprintf(side, sizeof side, "opus-mt-hf/%s/vocab.json", name);
    if (!data_path("import/hf", side, from)) return;
    folder_make(folder, name);
    for (int i = 0; i < COUNT(sides); i++) {
        snprintf(side, sizeof side, "opus-mt-hf/%s/%s", name, sides[i]);
        assert_true(data_path("import/hf", side, from));
        snprintf(to, sizeof to, "%s/%s", folder, sides[i]);
        unlink(to);
        assert_int_equal(symlink(from, to), 0);
    }
    int pad = vocab - 1;
    struct weights *w = make_weights(vocab, pad);
    write_weights(folder, w, NULL);
    write_settings(folder, vocab, end, pad, "relu", NULL);
    rapt_translator *t = NULL;
    rapt_message why = {""};
    if (rapt_translator_load(&t, folder, NULL, NULL, &why)) fail_msg("%s", why.text);
    const rapt_tokenizer *source = rapt_translator_source(t), *target = rapt_translator_target(t);
    assert_int_equal(rapt_tokenizer_special(target, RAPT_TOKEN_END), end);
    assert_int_equal(rapt_tokenizer_special(target, RAPT_TOKEN_UNKNOWN), unknown);
    assert_int_equal(rapt_target_begin(rapt_translator_model(t), target), pad);
    judge_logits(rapt_translator_model(t), w, "relu", vocab, pad);
    int32_t ids[64];
    size_t count, size;
    char text[200], line[200];
    snprintf(line, sizeof line, "%sThe dog is small.", language);
    assert_int_equal(
        rapt_tokenizer_encode(source, (rapt_text){line, strlen(line)}, ids, NULL, 64, &count, NULL),
        RAPT_OK);
    if (language_id >= 0) assert_int_equal(ids[0], language_id);
    for (size_t i = 0; i < count; i++) assert_int_not_equal(ids[i], unknown);
    size_t skip = language_id >= 0;
    assert_int_equal(
        rapt_tokenizer_decode(target, ids + skip, count - skip, text, 199, &size, NULL), RAPT_OK);
    text[size] = 0;
    assert_string_equal(text, "The dog is small.");
    rapt_translator_free(t);
    folder_remove(folder, files, COUNT(files));
    free_weights(w);
}

static void test_real_vocabularies(void **state)
{
    (void)state;
    judge_real("en-mg", 54688, 0, 1, "", -1);
    judge_real("en-pt", 54776, 44670, 52024, ">>por<< ", 39141);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *line, *phrase;
    } all[] = {
        {"\"model_type\": \"pegasus\"", "model_type is pegasus"},
        {"\"model_type\": null", "model_type is missing or not a string"},
        {"\"model_type\": [\"marian\"]", "model_type is missing or not a string"},
        {"\"normalize_before\": true", "normalize_before"},
        {"\"add_final_layer_norm\": true", "add_final_layer_norm"},
        {"\"normalize_embedding\": true", "normalize_embedding"},
        {"\"static_position_embeddings\": false", "static_position_embeddings"},
        {"\"activation_function\": \"tanh\"", "activation_function is tanh"},
        {"\"decoder_ffn_dim\": 25", "decoder_ffn_dim is 25"},
        {"\"encoder_attention_heads\": 4", "encoder_attention_heads is 4"},
        {"\"decoder_start_token_id\": 3", "decoder_start_token_id is 3, but 0 in the vocabulary"},
        {"\"eos_token_id\": 2", "eos_token_id is 2, but 0 in the vocabulary"},
        {"\"d_model\": \"x\"", "d_model is x, not an integer"},
        {"\"d_model\": \"\"", "d_model is \"\", not an integer"},
        {"\"d_model\": 2147483648",
         "d_model is 2147483648; it must be an integer from 0 to 2147483647"},
        {"\"d_model\": 99999999999",
         "d_model is 99999999999; it must be an integer from 0 to 2147483647"},
        {"\"d_model\": -16", "d_model is -16; it must be an integer from 0 to 2147483647"},
        {"\"d_model\": 16.0", "d_model is 16.0, not an integer"},
        {"\"d_model\": \"-\"", "d_model is -, not an integer"},
        {"\"d_model\": [16]", "d_model is a list, not an integer"},
        {"\"d_model\": {}", "d_model is an object, not an integer"},
        {"\"eos_token_id\": [2]", "eos_token_id is 2, but 0 in the vocabulary"},
        {"\"eos_token_id\": []", "eos_token_id is an empty list; it must have one token"},
        {"\"eos_token_id\": [0, 2]",
         "eos_token_id is a list of 2 elements, but only one token is supported"},
        {"\"eos_token_id\": [[0]]", "the element of the list eos_token_id is not a token"},
        {"\"eos_token_id\": [\"0\"]", "the element of the list eos_token_id is not a token"},
        {"\"eos_token_id\": [0", "config.json is not a JSON object"},
        {"\"eos_token_id\": [0.5]", "eos_token_id is 0.5, not an integer"},
        {"\"normalize_before\": [true]", "normalize_before is a list, not true or false"},
        {"\"scale_embedding\": {}", "scale_embedding is an object, not true or false"},
        {"\"normalize_before\": maybe", "config.json is not a JSON object"},
        {"\"normalize_before\": never", "config.json is not a JSON object"},
        {"\"vocab_size\": 10", "shape"},
        {"\"max_position_embeddings\": 131072", "positions is 131072, too large"},
        {"\"tie_word_embeddings\": false", "tie_word_embeddings"},
        {"\"share_encoder_decoder_embeddings\": false", "encoder.embedding.weight"},
        {"\"encoder_layers\": 1", "model.encoder.layers.1."},
        {"\"decoder_layers\": 4", "decoder.layers.3."},
    };
    char folder[256];
    struct weights *w = make_weights(VOCAB, PAD);
    folder_make(folder, "hf-refused");
    write_vocabulary(folder);
    write_weights(folder, w, NULL);
    for (int i = 0; i < COUNT(all); i++) {
        write_settings(folder, VOCAB, 0, PAD, "relu", all[i].line);
        folder_refused(folder, all[i].phrase);
    }
    write_settings(folder, VOCAB, 0, PAD, "relu", NULL);
    folder_text(folder, "model.safetensors",
                "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n");
    folder_refused(folder, "model.safetensors is a Git LFS pointer");
    static struct bytes empty;
    put_number(&empty, 2, 8);
    put_text(&empty, "{}");
    folder_write(folder, "model.safetensors", &empty);
    folder_refused(folder, "there are no tensors in it");
    w->all[0].data[3] += 1;
    write_weights(folder, w, "model.layernorm_embedding.weight");
    folder_refused(folder, "model.layernorm_embedding.weight");
    add(w, "", "lm_head.weight", VOCAB, WIDTH, 0);
    write_weights(folder, w, NULL);
    folder_refused(folder, "tensor lm_head.weight differs from the one that it is tied to");
    folder_remove(folder, files, COUNT(files));
    free_weights(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logits),       cmocka_unit_test(test_positions),
        cmocka_unit_test(test_added_tokens), cmocka_unit_test(test_real_vocabularies),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
