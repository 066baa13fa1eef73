/* ct2_crafted.c - folders of CTranslate2 written here, of random models with every option that can
   be held: the same parameters to the bit; what cannot be held, is missing or damaged is refused by
   its name. */
#include "import/ct2_configs.h"

enum { F32 = 0, I8 = 1, I16 = 2, VERSION = 6 };

/* What a file has besides, or instead of, what the model says. */
struct change {
    const char *name; /* of a variable, or of an attribute of both halves; NULL: no change */
    int value;        /* of a whole number that is added, or one of: */
};
enum {
    WITHOUT = -1, /* the variable is left out */
    NARROW = -2,  /* it is a matrix in 8 bits, with a scale for each row */
};

static bool is_changed(const struct change *change, const char *name)
{
    const char *slash = strchr(name, '/');
    return change->name &&
           (strcmp(change->name, name) == 0 || (slash && strcmp(change->name, slash + 1) == 0));
}

/* Text with its first `from` replaced. */
static void replace(char *text, size_t size, const char *from, const char *to)
{
    char copy[200];
    char *at = strstr(text, from);
    if (!at) return;
    snprintf(copy, sizeof copy, "%.180s", at + strlen(from));
    snprintf(at, size - (size_t)(at - text), "%.30s%.180s", to, copy);
}

/* A name as OpenNMT-tf had it, which is what version 1 stores. */
static void oldest_name(char *name, size_t size)
{
    bool decoder = strncmp(name, "decoder", 7) == 0;
    replace(name, size, "embeddings_0/weight", "w_embs");
    replace(name, size, "embeddings/weight", "w_embs");
    if (decoder) replace(name, size, "/attention/", "/multi_head/");
    replace(name, size, "/self_attention/", decoder ? "/masked_multi_head/" : "/multi_head/");
    replace(name, size, "layer_norm", "LayerNorm");
    replace(name, size, "projection", "dense");
    replace(name, size, "linear_0", "conv1d");
    replace(name, size, "linear_", "conv1d_");
    replace(name, size, "weight", "kernel");
    replace(name, size, "", "transformer/");
    snprintf(name + strlen(name), size - strlen(name), ":0");
}

static void put_string(struct bytes *b, const char *text)
{
    put_number(b, strlen(text) + 1, 2);
    put(b, text, strlen(text) + 1);
}

static void put_head(struct bytes *b, int version, const char *name, int rank, int rows,
                     int columns, int type, int size)
{
    static const int sizes[] = {4, 1, 2};
    put_string(b, name);
    put_number(b, (uint64_t)rank, 1);
    if (rank == 2) put_number(b, (uint64_t)rows, 4);
    if (rank > 0) put_number(b, (uint64_t)columns, 4);
    put_number(b, (uint64_t)(version < 4 ? sizes[type] : type), 1);
    put_number(b, (uint64_t)(version < 4 ? size / sizes[type] : size), 4);
}

static void put_whole(struct bytes *b, int version, const char *name, int value)
{
    put_head(b, version, name, 0, 1, 1, I16, 2);
    put_number(b, (uint64_t)value, 2);
}

/* Their names of our parameters, without what comes before and behind. */
static const struct {
    const char *ours, *theirs;
} names[] = {
    {"self_attn.qkv", "self_attention/linear_0"},
    {"self_attn.out", "self_attention/linear_1"},
    {"self_attn.norm", "self_attention/layer_norm"},
    {"cross_attn.q", "attention/linear_0"},
    {"cross_attn.kv", "attention/linear_1"},
    {"cross_attn.out", "attention/linear_2"},
    {"cross_attn.norm", "attention/layer_norm"},
    {"feedforward.in", "ffn/linear_0"},
    {"feedforward.out", "ffn/linear_1"},
    {"feedforward.norm", "ffn/layer_norm"},
};

static void their_name(const char *ours, char *theirs, size_t size)
{
    char side[16], part[32], kind[16], last[16], whole[64];
    int layer;
    if (sscanf(ours, "%15[a-z].layers.%d.%31[a-z_].%15[a-z].%15s", side, &layer, part, kind,
               last) == 5) {
        bool norm = strcmp(kind, "norm") == 0, bias = strcmp(last, "bias") == 0;
        snprintf(whole, sizeof whole, "%s.%s", part, kind);
        for (int i = 0; i < COUNT(names); i++)
            if (strcmp(names[i].ours, whole) == 0)
                snprintf(theirs, size, "%s/layer_%d/%s/%s", side, layer, names[i].theirs,
                         norm   ? (bias ? "beta" : "gamma")
                         : bias ? "bias"
                                : "weight");
        return;
    }
    static const char *const others[][2] = {
        {"embedding.weight", "decoder/embeddings/weight"},
        {"encoder.embedding.weight", "encoder/embeddings_0/weight"},
        {"decoder.embedding.weight", "decoder/embeddings/weight"},
        {"output.weight", "decoder/projection/weight"},
        {"output.bias", "decoder/projection/bias"},
        {"encoder.norm.weight", "encoder/layer_norm/gamma"},
        {"encoder.norm.bias", "encoder/layer_norm/beta"},
        {"decoder.norm.weight", "decoder/layer_norm/gamma"},
        {"decoder.norm.bias", "decoder/layer_norm/beta"},
        {"encoder.positions.weight", "encoder/position_encodings/encodings"},
        {"decoder.positions.weight", "decoder/position_encodings/encodings"},
    };
    for (int i = 0; i < COUNT(others); i++)
        if (strcmp(others[i][0], ours) == 0) snprintf(theirs, size, "%s", others[i][1]);
}

/* Rows [first, first + rows) of a parameter. */
static void put_rows(struct bytes *b, int version, const char *name, const float *data,
                     rapt_tensor t, int first, int rows)
{
    int rank = t.rows == 1 ? 1 : 2, columns = t.rows == 1 ? rows : t.columns;
    size_t size = (size_t)rows * (size_t)(t.rows == 1 ? 1 : t.columns) * sizeof *data;
    put_head(b, version, name, rank, rows, columns, F32, (int)size);
    put(b, data + (size_t)first * (size_t)(t.rows == 1 ? 1 : t.columns), size);
}

/* Element i of a matrix in 8 bits, and the scale of a row: several have the same. */
static int narrow_element(int i)
{
    return i * 7 % 255 - 127;
}
static float narrow_scale(int row)
{
    return ldexpf(1, row / 3);
}

static int put_narrow(struct bytes *b, int version, const char *name, rapt_tensor t)
{
    char of_scales[240];
    put_head(b, version, name, 2, t.rows, t.columns, I8, t.rows * t.columns);
    for (int i = 0; i < t.rows * t.columns; i++) put_number(b, (uint64_t)narrow_element(i), 1);
    snprintf(of_scales, sizeof of_scales, "%s_scale", name);
    put_head(b, version, of_scales, 1, 1, t.rows, F32, 4 * t.rows);
    for (int r = 0; r < t.rows; r++) put(b, &(float){narrow_scale(r)}, sizeof(float));
    return 2;
}

static int put_tensor(struct bytes *b, int version, const rapt_model *model, int index,
                      const struct change *change)
{
    const rapt_tensor t = rapt_model_tensor(model, index);
    char name[220] = "", second[240];
    float *data = malloc(small_size(model, index) * sizeof *data);
    int rows = t.rows == 1 ? t.columns : t.rows, count = 0;
    bool gated = rapt_model_config(model)->ffn_gated && strstr(t.name, "feedforward.in");
    their_name(t.name, name, sizeof name);
    if (version == 1) oldest_name(name, sizeof name);
    assert_int_equal(rapt_model_read(model, index, data, NULL), RAPT_OK);
    if (!change->name || strcmp(change->name, name) != 0) {
        put_rows(b, version, name, data, t, 0, gated ? rows / 2 : rows), count++;
        if (gated) {
            const char *slash = strrchr(name, '/');
            snprintf(second, sizeof second, "%.*s_noact%s", (int)(slash - name), name, slash);
            put_rows(b, version, second, data, t, rows / 2, rows / 2), count++;
        }
    }
    if (change->value == NARROW && strcmp(change->name, name) == 0)
        count += put_narrow(b, version, name, t);
    free(data);
    return count;
}

static int put_attributes(struct bytes *b, int version, const rapt_config *c,
                          const struct change *change)
{
    static const int activations[] = {0, 3, 2};
    const struct {
        const char *name;
        int value;
        bool wanted;
    } all[] = {
        {"encoder/num_heads", c->heads, true},
        {"decoder/num_heads", c->heads, true},
        {"encoder/pre_norm", c->norm_order == RAPT_NORM_ORDER_PRE, true},
        {"decoder/pre_norm", c->norm_order == RAPT_NORM_ORDER_PRE, true},
        {"encoder/activation", activations[c->activation], true},
        {"decoder/activation", activations[c->activation], true},
        {"encoder/scale_embeddings", !c->plain_embedding, version >= 4},
        {"decoder/scale_embeddings", !c->plain_embedding, version >= 4},
        {"encoder/embeddings/multiply_by_sqrt_depth", !c->plain_embedding, version < 4},
        {"decoder/embeddings/multiply_by_sqrt_depth", !c->plain_embedding, version < 4},
        {"decoder/start_from_zero_embedding", c->decoder_start == RAPT_DECODER_START_ZERO, true},
        {"decoder/alignment_layer", -1, true},
        {"decoder/alignment_heads", 1, version >= 6},
        {"decoder/alibi", 0, version >= 6},
        {"decoder/alibi_use_positive_positions", 0, version >= 6},
        {"decoder/scale_alibi", 0, version >= 6},
        {"encoder/embeddings_merge", 0, version >= 6},
        {"encoder/multi_query_attention", 0, version >= 6},
        {"with_source_eos", !c->no_source_end, version < 6},
        {"with_target_bos", c->decoder_start != RAPT_DECODER_START_END, version < 6},
    };
    int count = 0;
    for (int i = 0; i < COUNT(all); i++) {
        if (all[i].wanted && !is_changed(change, all[i].name))
            put_whole(b, version, all[i].name, all[i].value), count++;
    }
    return count;
}

static void put_model(struct bytes *b, int version, const rapt_model *model,
                      const struct change *change)
{
    const rapt_config *c = rapt_model_config(model);
    bool add = change->name && change->value >= 0;
    b->size = 0;
    put_number(b, (uint64_t)version, 4);
    if (version > 1) put_string(b, "TransformerSpec"), put_number(b, 7, 4);
    size_t at = b->size;
    put_number(b, 0, 4);
    int count = version > 1 ? put_attributes(b, version, c, change) : 0;
    for (int i = 0; i < rapt_model_tensors(model); i++)
        count += put_tensor(b, version, model, i, change);
    if (add) put_whole(b, version, change->name, change->value), count++;
    struct bytes number = {.size = 0};
    put_number(&number, (uint64_t)count, 4);
    memcpy(b->data + at, number.data, 4);
    if (version < 3) return;
    put_number(b, c->tie == RAPT_TIE_ALL ? 2 : c->tie == RAPT_TIE_OUTPUT, 4);
    if (c->tie == RAPT_TIE_NONE) return;
    put_string(b, "decoder/projection/weight");
    put_string(b, "decoder/embeddings/weight");
    if (c->tie != RAPT_TIE_ALL) return;
    put_string(b, "encoder/embeddings_0/weight");
    put_string(b, "decoder/embeddings/weight");
}

static void put_settings(struct bytes *b, const rapt_config *c)
{
    char text[400];
    snprintf(text, sizeof text,
             "{\"add_source_bos\": false, \"add_source_eos\": %s, \"bos_token\": \"<s>\",\n"
             " \"eos_token\": \"</s>\", \"unk_token\": \"<unk>\", \"list\": [1, {\"a\": \"b]\"}],\n"
             " \"decoder_start_token\": \"%s\", \"layer_norm_epsilon\": %s}\n",
             c->no_source_end ? "false" : "true",
             c->decoder_start == RAPT_DECODER_START_END ? "</s>" : "<s>",
             c->norm_epsilon == 1e-3f ? "0.001" : "null");
    b->size = 0;
    put_text(b, text);
}

/* <s> </s> t2 t3 ..., all but the last one, <unk>. */
static void put_names(struct bytes *b, int vocab, bool json)
{
    char name[32];
    b->size = 0;
    if (json) put_text(b, "[");
    for (int i = 0; i + 1 < vocab; i++) {
        snprintf(name, sizeof name, json ? "%s\"t%d\"" : "%st%d%s", json && i ? ", " : "", i, "\n");
        if (i == 0) snprintf(name, sizeof name, json ? "\"<s>\"" : "<s>\n");
        if (i == 1) snprintf(name, sizeof name, json ? ", \"</s>\"" : "</s>\n");
        put_text(b, name);
    }
    if (json) put_text(b, "]");
}

static const char *const files[] = {"model.bin",
                                    "config.json",
                                    "source_vocabulary.txt",
                                    "target_vocabulary.txt",
                                    "source_vocabulary.json",
                                    "target_vocabulary.json",
                                    "shared_vocabulary.json"};

static void write_folder(const char *folder, int version, const rapt_model *model,
                         const struct change *change)
{
    static struct bytes b;
    const rapt_config *c = rapt_model_config(model);
    put_model(&b, version, model, change);
    folder_write(folder, "model.bin", &b);
    put_settings(&b, c);
    if (version >= 6) folder_write(folder, "config.json", &b);
    bool json = version >= 6;
    put_names(&b, c->source_vocab, json);
    if (c->tie == RAPT_TIE_ALL) {
        folder_write(folder, "shared_vocabulary.json", &b);
        put_names(&b, c->source_vocab, true);
        folder_write(folder, "shared_vocabulary.json", &b);
        return;
    }
    folder_write(folder, json ? "source_vocabulary.json" : "source_vocabulary.txt", &b);
    put_names(&b, c->target_vocab, json);
    folder_write(folder, json ? "target_vocabulary.json" : "target_vocabulary.txt", &b);
}

static rapt_model *model_of(int i)
{
    return small_model(&ct2_configs[i], (uint64_t)i + 3);
}

static void test_parameters(void **state)
{
    (void)state;
    char folder[256];
    const struct change none = {NULL, 0};
    for (int i = 0; i < COUNT(ct2_configs); i++)
        for (int version = i == CT2_OLDEST      ? 1
                           : ct2_configs[i].tie ? 3
                                                : 2;
             version <= VERSION; version++) {
            if (version < 6 && ct2_configs[i].norm_epsilon == 1e-3f) continue;
            rapt_model *model = model_of(i);
            write_folder(folder_make(folder, "ct2"), version, model, &none);
            folder_is(folder, model);
            if (version == VERSION) folder_without_memory(folder);
            folder_remove(folder, files, COUNT(files));
            rapt_model_free(model);
        }
}

/* A scale for each row, which rapt_model_scales tells. */
static void test_row_scales(void **state)
{
    (void)state;
    char folder[256];
    const struct change narrow = {"encoder/layer_0/ffn/linear_0/weight", NARROW};
    rapt_model *model = model_of(0);
    write_folder(folder_make(folder, "ct2-rows"), VERSION, model, &narrow);
    rapt_model *read = folder_import(folder);
    int index = rapt_model_find(read, "encoder.layers.0.feedforward.in.weight");
    const rapt_tensor t = rapt_model_tensor(read, index);
    float *x = malloc(small_size(read, index) * sizeof *x), scales[12], alphas[12];
    assert_int_equal(t.rows, COUNT(scales));
    assert_int_equal(rapt_model_read(read, index, x, NULL), RAPT_OK);
    assert_int_equal(rapt_model_scales(read, index, scales, alphas, NULL), RAPT_OK);
    for (int r = 0; r < t.rows; r++) {
        assert_true(scales[r] == narrow_scale(r) && alphas[r] == 0);
        for (int i = r * t.columns; i < (r + 1) * t.columns; i++)
            assert_true(x[i] * scales[r] == (float)narrow_element(i));
    }
    folder_without_memory(folder);
    folder_remove(folder, files, COUNT(files));
    rapt_model_free(read);
    rapt_model_free(model);
    free(x);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        struct change change;
        const char *phrase;
    } all[] = {
        {{"decoder/num_heads", 3}, "num_heads is 2 in the encoder and 3 in the decoder"},
        {{"encoder/pre_norm", 0}, "pre_norm"},
        {{"encoder/activation", 2}, "activation is 2 in the encoder"},
        {{"activation", 7}, "activation is 7, which is not supported"},
        {{"num_heads", 0xFFFB}, "tensor num_heads is -5"},
        {{"decoder/scale_embeddings", 0}, "scale_embeddings"},
        {{"alibi", 1}, "alibi is 1"},
        {{"sliding_window", 7}, "sliding_window is 7"},
        {{"decoder/project_in/weight", 1}, "tensor decoder/project_in/weight"},
        {{"encoder/layer_1/ffn/linear_1/weight", WITHOUT},
         "encoder.layers.1.feedforward.out.weight"},
        {{"encoder/layer_1/ffn/linear_1/weight", 5}, "has not the shape"},
        {{"decoder/layer_norm/gamma", WITHOUT}, "decoder.norm.weight"},
        {{"encoder/layer_0/ffn/linear_0/weight", WITHOUT}, "encoder/layer_0/ffn/linear_0/weight"},
        {{"decoder/embeddings/weight", WITHOUT}, "target_vocab"},
    };
    char folder[256];
    rapt_model *model = model_of(0);
    folder_make(folder, "ct2-refused");
    for (int i = 0; i < COUNT(all); i++) {
        write_folder(folder, VERSION, model, &all[i].change);
        folder_refused(folder, all[i].phrase);
        folder_refused(folder, folder);
    }
    folder_remove(folder, files, COUNT(files));
    rapt_model_free(model);
}

static void test_side_files(void **state)
{
    (void)state;
    static const struct {
        const char *file, *text, *phrase;
    } all[] = {
        {"config.json", "{", "config.json"},
        {"config.json", "[]", "config.json"},
        {"config.json", "{\"a\": 1, \"a\": 1}", "a twice"},
        {"config.json", "{\"a\": tru}", "config.json is no JSON object"},
        {"config.json", "{\"add_source_bos\": true}", "add_source_bos"},
        {"config.json", "{\"add_source_eos\": 1}", "add_source_eos is 1"},
        {"config.json", "{\"eos_token\": \"<e>\"}", "eos_token is \"<e>\""},
        {"config.json", "{\"decoder_start_token\": \"<d>\"}", "decoder_start_token"},
        {"config.json", "{\"layer_norm_epsilon\": \"x\"}", "layer_norm_epsilon"},
        {"config.json", "{\"layer_norm_epsilon\": 2}", "norm_epsilon"},
        {"target_vocabulary.json", "[\"</s>\"]", "has 1 names, the model's table 7"},
        {"target_vocabulary.json", "{}", "target_vocabulary.json"},
        {"source_vocabulary.json",
         "[\"</s>\", \"a\", \"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\"]", "second"},
    };
    char folder[256];
    const struct change none = {NULL, 0};
    rapt_model *model = model_of(0);
    folder_make(folder, "ct2-side");
    for (int i = 0; i < COUNT(all); i++) {
        write_folder(folder, VERSION, model, &none);
        folder_text(folder, all[i].file, all[i].text);
        folder_refused(folder, all[i].phrase);
    }
    write_folder(folder, VERSION, model, &none);
    char path[300];
    snprintf(path, sizeof path, "%s/target_vocabulary.json", folder);
    unlink(path);
    rapt_model *read;
    rapt_message why = {""};
    assert_int_equal(rapt_model_import(&read, folder, NULL, &why), RAPT_NO_FILE);
    assert_non_null(strstr(why.text, "target_vocabulary.txt"));
    folder_text(folder, "shared_vocabulary.json", "[]");
    folder_refused(folder, "one shared vocabulary, but tables of 9 and 7 rows");
    folder_remove(folder, files, COUNT(files));
    folder_make(folder, "ct2-side");
    folder_refused(folder, "model.bin");
    rmdir(folder);
    rapt_model_free(model);
}

/* Parameters that are not finite, and every cut of the file. */
static void test_damage(void **state)
{
    (void)state;
    char folder[256];
    static struct bytes b, cut;
    const struct change none = {NULL, 0};
    rapt_model *model = model_of(2);
    float *x = malloc(small_size(model, 0) * sizeof *x);
    write_folder(folder_make(folder, "ct2-damage"), VERSION, model, &none);
    put_model(&b, VERSION, model, &none);
    for (size_t size = 0; size < b.size; size += 1 + b.size / 97) {
        rapt_model *read;
        cut = b;
        cut.size = size;
        folder_write(folder, "model.bin", &cut);
        assert_int_equal(rapt_model_import(&read, folder, NULL, NULL), RAPT_BAD_FILE);
    }
    memcpy(b.data + 6, "WhisperAnySpecs", 15); /* behind the version and its length */
    folder_write(folder, "model.bin", &b);
    folder_refused(folder, "its kind is WhisperAnySpecs, not that of a translator");
    assert_int_equal(rapt_model_read(model, 0, x, NULL), RAPT_OK);
    x[2] = INFINITY;
    assert_int_equal(rapt_model_write(model, 0, x, NULL), RAPT_OK);
    write_folder(folder, VERSION, model, &none);
    folder_refused(folder, "element 2 is inf");
    folder_remove(folder, files, COUNT(files));
    rapt_model_free(model);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters), cmocka_unit_test(test_row_scales),
        cmocka_unit_test(test_refusals),   cmocka_unit_test(test_side_files),
        cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
