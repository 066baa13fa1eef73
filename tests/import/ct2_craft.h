/* ct2_craft.h - writes folders of CTranslate2 in every version of the format, optionally with a
   change to the contents of the model. */
#ifndef RAPT_TESTS_IMPORT_CT2_CRAFT_H
#define RAPT_TESTS_IMPORT_CT2_CRAFT_H

#include "import/folder.h"

enum { F32 = 0, I8 = 1, I16 = 2, VERSION = 6 };

/* A variable that is added to a file, replaced or removed. */
struct change {
    const char *name; /* of a variable, or of an attribute of both sides; NULL: no change */
    int value;        /* of the integer that is added, or one of the constants below */
    float real;       /* not 0: added as a float instead */
};
enum {
    WITHOUT = -1, /* remove the variable */
    NARROW = -2,  /* store it as an 8-bit matrix with a scale per row */
};

static inline bool is_changed(const struct change *change, const char *name)
{
    const char *slash = strchr(name, '/');
    return change->name &&
           (strcmp(change->name, name) == 0 || (slash && strcmp(change->name, slash + 1) == 0));
}

/* Replaces the first occurrence of `from` in a text. */
static inline void replace(char *text, size_t size, const char *from, const char *to)
{
    char copy[200];
    char *at = strstr(text, from);
    if (!at) return;
    snprintf(copy, sizeof copy, "%.180s", at + strlen(from));
    snprintf(at, size - (size_t)(at - text), "%.30s%.180s", to, copy);
}

/* Replaces a name by that of OpenNMT-tf, which version 1 stores. */
static inline void oldest_name(char *name, size_t size)
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

static inline void put_string(struct bytes *b, const char *text)
{
    put_number(b, strlen(text) + 1, 2);
    put(b, text, strlen(text) + 1);
}

static inline void put_head(struct bytes *b, int version, const char *name, int rank, int rows,
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

static inline void put_whole(struct bytes *b, int version, const char *name, int value)
{
    put_head(b, version, name, 0, 1, 1, I16, 2);
    put_number(b, (uint64_t)value, 2);
}

static inline void put_real(struct bytes *b, int version, const char *name, float value)
{
    put_head(b, version, name, 0, 1, 1, F32, 4);
    put_floats(b, &value, 1);
}

/* CTranslate2's names of our parameters, without prefix and suffix. */
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

static inline void their_name(const char *ours, char *theirs, size_t size)
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
        {"encoder.embedding_norm.weight", "encoder/layernorm_embedding/gamma"},
        {"encoder.embedding_norm.bias", "encoder/layernorm_embedding/beta"},
        {"decoder.embedding_norm.weight", "decoder/layernorm_embedding/gamma"},
        {"decoder.embedding_norm.bias", "decoder/layernorm_embedding/beta"},
        {"encoder.relative_bias.weight", "encoder/layer_0/self_attention/relative_attention_bias"},
        {"decoder.relative_bias.weight", "decoder/layer_0/self_attention/relative_attention_bias"},
    };
    for (int i = 0; i < COUNT(others); i++)
        if (strcmp(others[i][0], ours) == 0) snprintf(theirs, size, "%s", others[i][1]);
}

/* Writes rows [first, first + rows) of a parameter. */
static inline void put_rows(struct bytes *b, int version, const char *name, const float *data,
                            rapt_tensor t, int first, int rows)
{
    int rank = t.rows == 1 ? 1 : 2, columns = t.rows == 1 ? rows : t.columns;
    size_t width = (size_t)(t.rows == 1 ? 1 : t.columns), count = (size_t)rows * width;
    put_head(b, version, name, rank, rows, columns, F32, (int)(count * sizeof *data));
    put_floats(b, data + (size_t)first * width, count);
}

/* Element i of an 8-bit matrix, and the scale of a row; neighboring rows may have equal scales. */
static inline int narrow_element(int i)
{
    return i * 7 % 255 - 127;
}
static inline float narrow_scale(int row)
{
    return ldexpf(1, row / 3);
}

static inline int put_narrow(struct bytes *b, int version, const char *name, rapt_tensor t)
{
    char of_scales[240];
    put_head(b, version, name, 2, t.rows, t.columns, I8, t.rows * t.columns);
    for (int i = 0; i < t.rows * t.columns; i++) put_number(b, (uint64_t)narrow_element(i), 1);
    snprintf(of_scales, sizeof of_scales, "%s_scale", name);
    put_head(b, version, of_scales, 1, 1, t.rows, F32, 4 * t.rows);
    for (int r = 0; r < t.rows; r++) put_floats(b, &(float){narrow_scale(r)}, 1);
    return 2;
}

/* Writes biases transposed, and frees them. */
static inline int put_biases(struct bytes *b, int version, const char *name, float *data,
                             rapt_tensor t)
{
    put_head(b, version, name, 2, t.columns, t.rows, F32, 4 * t.rows * t.columns);
    for (int column = 0; column < t.columns; column++)
        for (int row = 0; row < t.rows; row++) put_floats(b, &data[row * t.columns + column], 1);
    free(data);
    return 1;
}

/* Writes what each layer of T5 has beside its parameters. */
static inline int put_layers(struct bytes *b, int version, const rapt_config *c,
                             const struct change *change)
{
    static const char *const parts[] = {"encoder/layer_%d/self_attention/",
                                        "decoder/layer_%d/self_attention/",
                                        "decoder/layer_%d/attention/"};
    char part[80], name[160];
    int count = 0;
    if (!c->relative_bias) return 0;
    for (int p = 0; p < COUNT(parts); p++)
        for (int l = 0; l < (p ? c->decoder_layers : c->encoder_layers); l++) {
            snprintf(part, sizeof part, parts[p], l);
            snprintf(name, sizeof name, "%squeries_scale", part);
            if (!is_changed(change, name)) put_real(b, version, name, 1), count++;
            snprintf(name, sizeof name, "%srelative_attention_max_distance", part);
            if (p < 2 && !is_changed(change, name))
                put_whole(b, version, name, c->relative_distance), count++;
        }
    return count;
}

static inline int put_tensor(struct bytes *b, int version, const rapt_model *model, int index,
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
    if (strstr(name, "relative_attention_bias") && !is_changed(change, name))
        return put_biases(b, version, name, data, t);
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

static inline int put_attributes(struct bytes *b, int version, const rapt_config *c,
                                 const struct change *change)
{
    static const int activations[] = {0, 3, 2, 1};
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
        {"decoder/alignment_layer", c->alignment_layer - 1, true},
        {"decoder/alignment_heads", c->alignment_heads ? c->alignment_heads : 1, true},
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

static inline void put_model(struct bytes *b, int version, const rapt_model *model,
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
    count += put_layers(b, version, c, change);
    if (add && change->real != 0) put_real(b, version, change->name, change->real), count++;
    if (add && change->real == 0) put_whole(b, version, change->name, change->value), count++;
    struct bytes number = {.size = 0};
    put_number(&number, (uint64_t)count, 4);
    memcpy(b->data + at, number.data, 4);
    if (version < 3) return;
    const bool second =
        c->relative_bias && c->decoder_layers == 2 &&
        !is_changed(change, "decoder/layer_0/self_attention/relative_attention_bias");
    put_number(b, (c->tie == RAPT_TIE_ALL ? 2u : c->tie == RAPT_TIE_OUTPUT) + second, 4);
    if (second) put_string(b, "decoder/layer_1/self_attention/relative_attention_bias");
    if (second) put_string(b, "decoder/layer_0/self_attention/relative_attention_bias");
    if (c->tie == RAPT_TIE_NONE) return;
    put_string(b, "decoder/projection/weight");
    put_string(b, "decoder/embeddings/weight");
    if (c->tie != RAPT_TIE_ALL) return;
    put_string(b, "encoder/embeddings_0/weight");
    put_string(b, "decoder/embeddings/weight");
}

static inline void put_settings(struct bytes *b, const rapt_config *c)
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

/* Writes <s> </s> t2 t3 ..., without the last token, <unk>. */
static inline void put_names(struct bytes *b, int vocab, bool json)
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

static inline void write_folder(const char *folder, int version, const rapt_model *model,
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

static inline rapt_model *model_of(int i)
{
    return small_model(&ct2_configs[i], (uint64_t)i + 3);
}

#endif
