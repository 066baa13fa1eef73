/* marian_craft.h - writes folders of Marian models from random models. */
#ifndef RAPT_TESTS_IMPORT_MARIAN_CRAFT_H
#define RAPT_TESTS_IMPORT_MARIAN_CRAFT_H

#include "import/folder.h"

/* Marian's names of our parameters, without the prefix of side and layer; matrices are [in][out].
   parts: how many of Marian's matrices one of ours contains. */
static const struct {
    const char *ours, *theirs[3];
    int parts;
} names[] = {
    {"self_attn.qkv.weight", {"self_Wq", "self_Wk", "self_Wv"}, 3},
    {"self_attn.qkv.bias", {"self_bq", "self_bk", "self_bv"}, 3},
    {"self_attn.out.weight", {"self_Wo"}, 1},
    {"self_attn.out.bias", {"self_bo"}, 1},
    {"self_attn.norm.weight", {"self_Wo_ln_scale"}, 1},
    {"self_attn.norm.bias", {"self_Wo_ln_bias"}, 1},
    {"cross_attn.q.weight", {"context_Wq"}, 1},
    {"cross_attn.q.bias", {"context_bq"}, 1},
    {"cross_attn.kv.weight", {"context_Wk", "context_Wv"}, 2},
    {"cross_attn.kv.bias", {"context_bk", "context_bv"}, 2},
    {"cross_attn.out.weight", {"context_Wo"}, 1},
    {"cross_attn.out.bias", {"context_bo"}, 1},
    {"cross_attn.norm.weight", {"context_Wo_ln_scale"}, 1},
    {"cross_attn.norm.bias", {"context_Wo_ln_bias"}, 1},
    {"recurrent.input.weight", {"rnn_W"}, 1},
    {"recurrent.forget.weight", {"rnn_Wf"}, 1},
    {"recurrent.forget.bias", {"rnn_bf"}, 1},
    {"recurrent.norm.weight", {"rnn_ffn_ln_scale"}, 1},
    {"recurrent.norm.bias", {"rnn_ffn_ln_bias"}, 1},
    {"feedforward.in.weight", {"ffn_W1"}, 1},
    {"feedforward.in.bias", {"ffn_b1"}, 1},
    {"feedforward.out.weight", {"ffn_W2"}, 1},
    {"feedforward.out.bias", {"ffn_b2"}, 1},
    {"feedforward.norm.weight", {"ffn_ffn_ln_scale"}, 1},
    {"feedforward.norm.bias", {"ffn_ffn_ln_bias"}, 1},
};
static const struct {
    const char *ours, *theirs;
} single[] = {
    {"embedding.weight", "Wemb"},
    {"encoder.embedding.weight", "encoder_Wemb"},
    {"decoder.embedding.weight", "decoder_Wemb"},
    {"output.weight", "decoder_ff_logit_out_Wt"},
    {"output.bias", "decoder_ff_logit_out_b"},
    {"encoder.norm.weight", "encoder_top_ln_scale"},
    {"encoder.norm.bias", "encoder_top_ln_bias"},
    {"decoder.norm.weight", "decoder_top_ln_scale"},
    {"decoder.norm.bias", "decoder_top_ln_bias"},
};

enum { ITEMS = 128, F32 = 0x404, I8 = 0x101, INTGEMM8 = 0x10001, INTGEMM8_FORK = 0x4101 };

struct item {
    char name[64];
    int type, rows, columns;
    struct bytes *data;
};
struct marian_file {
    int count;
    struct item items[ITEMS];
};

static inline struct item *add(struct marian_file *f, const char *name, int type, int rows,
                               int columns)
{
    assert_true(f->count < ITEMS);
    struct item *item = &f->items[f->count++];
    snprintf(item->name, sizeof item->name, "%s", name);
    item->type = type, item->rows = rows, item->columns = columns;
    item->data = calloc(1, sizeof *item->data);
    return item;
}

static inline bool is_narrow(const char *name)
{
    const char *w = strstr(name, "_W");
    size_t left = w ? strlen(w) : 0;
    return left == 2 || left == 3 || strstr(name, "Wemb");
}

/* Writes x[rows][columns] in Marian's layout. In 8 bits, elements are quantized, and data receives
   their values. */
static inline void put_matrix(struct marian_file *f, const char *name, float *x, int rows,
                              int columns, int type)
{
    bool narrow = type != F32 && rows > 1 && is_narrow(name), turn = !strstr(name, "Wemb");
    struct item *item = add(f, name, narrow ? type : F32, rows, columns);
    float max = 0;
    for (int i = 0; i < rows * columns; i++) max = fmaxf(max, fabsf(x[i]));
    float scale = 127 / max;
    for (int i = 0; i < rows * columns; i++) {
        int at = narrow && turn ? i % rows * columns + i / rows : i; /* column by column */
        if (!narrow) {
            put_floats(item->data, &x[i], 1);
            continue;
        }
        int q = (int)nearbyintf(x[at] * scale);
        put(item->data, &(signed char){(signed char)q}, 1);
        x[at] = (float)q * (1 / scale);
    }
    if (narrow) put_floats(item->data, &scale, 1);
}

static inline float element(const float *data, rapt_tensor t, int row, int column)
{
    return data[row * t.columns + column];
}

/* Writes part `part` of `parts` of a parameter, transposed if it is a matrix of a layer. data
   receives the values that were written. */
static inline void put_part(struct marian_file *f, const char *name, float *data, rapt_tensor t,
                            int part, int parts, bool turn, int type)
{
    int rows = t.rows == 1 ? 1 : t.rows / parts,
        columns = t.rows == 1 ? t.columns / parts : t.columns;
    int first = t.rows == 1 ? 0 : part * rows, from = t.rows == 1 ? part * columns : 0;
    float *x = malloc((size_t)(rows * columns) * sizeof *x);
    turn = turn && t.rows > 1;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            x[turn ? c * rows + r : r * columns + c] = element(data, t, first + r, from + c);
    put_matrix(f, name, x, turn ? columns : rows, turn ? rows : columns, type);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            data[(first + r) * t.columns + from + c] = x[turn ? c * rows + r : r * columns + c];
    free(x);
}

static inline void put_parameter(struct marian_file *f, rapt_model *model, int index, int type)
{
    const rapt_tensor t = rapt_model_tensor(model, index);
    bool before = rapt_model_config(model)->norm_order == RAPT_NORM_ORDER_PRE;
    char side[16], name[64];
    int layer, at = 0;
    float *data = malloc(small_size(model, index) * sizeof *data);
    assert_int_equal(rapt_model_read(model, index, data, NULL), RAPT_OK);
    if (sscanf(t.name, "%15[a-z].layers.%d.%n", side, &layer, &at) == 2 && at) {
        for (int i = 0; i < COUNT(names); i++)
            for (int p = 0; strcmp(names[i].ours, t.name + at) == 0 && p < names[i].parts; p++) {
                const char *theirs = names[i].theirs[p];
                bool pre = before && strstr(theirs, "_ln_");
                if (pre &&
                    strncmp(theirs, "rnn_ffn_ln_", 11) == 0) /* input norm of the recurrence */
                    theirs = strstr(theirs, "scale") ? "rnn_ln_scale" : "rnn_ln_bias";
                snprintf(name, sizeof name, "%s_l%d_%s%s", side, layer + 1, theirs,
                         pre ? "_pre" : "");
                put_part(f, name, data, t, p, names[i].parts, true, type);
            }
    } else {
        for (int i = 0; i < COUNT(single); i++)
            if (strcmp(single[i].ours, t.name) == 0)
                put_part(f, single[i].theirs, data, t, 0, 1, false, type);
    }
    assert_int_equal(rapt_model_write(model, index, data, NULL), RAPT_OK);
    free(data);
}

/* line: replaces the setting with the same key, or is added; only a key and a colon: removes the
   setting; NULL: no change. */
static inline void put_settings(struct bytes *b, const rapt_config *c, const char *line)
{
    char text[2000];
    bool before = c->norm_order == RAPT_NORM_ORDER_PRE, recurrent = c->decoder_recurrence;
    snprintf(
        text, sizeof text,
        "bert-train-type-embeddings: true\n"
        "dec-cell: %s\ndec-depth: %d\ndim-emb: %d\ndim-vocabs:\n  - %d\n  - %d\nenc-depth: %d\n"
        "input-types:\n  []\nlayer-normalization: false\nlemma-dim-emb: 0\n"
        "tied-embeddings: %s\ntied-embeddings-all: %s\ntied-embeddings-src: false\n"
        "transformer-decoder-autoreg: %s\ntransformer-dim-ffn: %d\n"
        "transformer-ffn-activation: %s\ntransformer-ffn-depth: 2\n"
        "transformer-guided-alignment-layer: %s\ntransformer-heads: %d\n"
        "transformer-no-projection: false\ntransformer-postprocess: %s\n"
        "transformer-postprocess-emb: d\ntransformer-postprocess-top: %s\n"
        "transformer-preprocess: %s\ntransformer-tied-layers:\n  []\n"
        "type: transformer\nulr: false\nversion: v1.9.56\n",
        recurrent ? "ssru" : "gru", c->decoder_layers, c->width, c->source_vocab, c->target_vocab,
        c->encoder_layers, c->tie == RAPT_TIE_OUTPUT ? "true" : "false",
        c->tie == RAPT_TIE_ALL ? "true" : "false", recurrent ? "rnn" : "self-attention",
        c->ffn_width, c->activation == RAPT_ACTIVATION_SILU ? "swish" : "relu",
        c->alignment_layer < c->decoder_layers ? "1" : "last", c->heads, before ? "da" : "dan",
        before ? "n" : "\"\"", before ? "n" : "\"\"");
    bool left_out = false; /* a list is removed with its key */
    for (const char *at = text, *end; *at; at = end + 1) {
        end = strchr(at, '\n');
        size_t key = line ? strcspn(line, ":") + 1 : 0;
        left_out = at[0] == ' ' ? left_out : key && strncmp(at, line, key) == 0;
        if (!left_out) put(b, at, (size_t)(end + 1 - at));
    }
    if (line && line[strlen(line) - 1] != ':') put_text(b, line), put_text(b, "\n");
    put_number(b, 0, 1);
}

/* Writes the whole file. */
static inline void put_file(struct bytes *b, const struct marian_file *f)
{
    b->size = 0;
    put_number(b, 1, 8);
    put_number(b, (uint64_t)f->count, 8);
    for (int i = 0; i < f->count; i++) {
        put_number(b, strlen(f->items[i].name) + 1, 8);
        put_number(b, (uint64_t)f->items[i].type, 8);
        put_number(b, f->items[i].rows ? 2 : 1, 8);
        put_number(b, (f->items[i].data->size + 255) / 256 * 256, 8);
    }
    for (int i = 0; i < f->count; i++) put(b, f->items[i].name, strlen(f->items[i].name) + 1);
    for (int i = 0; i < f->count; i++) {
        if (f->items[i].rows) put_number(b, (uint64_t)f->items[i].rows, 4);
        put_number(b, (uint64_t)f->items[i].columns, 4);
    }
    size_t padding = 255 - (b->size + 8 + 255) % 256;
    put_number(b, padding, 8);
    for (size_t i = 0; i < padding; i++) put_number(b, 0, 1);
    for (int i = 0; i < f->count; i++) {
        put(b, f->items[i].data->data, f->items[i].data->size);
        while (b->size % 256) put_number(b, 0, 1);
    }
}

/* Writes a vocabulary, tokens by number: </s>, <unk>, t2 .. */
static inline void write_vocabulary(const char *folder, const char *name, int vocab)
{
    static struct bytes b;
    char line[32];
    b.size = 0;
    put_text(&b, "</s>: 0\n<unk>: 1\n");
    for (int i = 2; i < vocab; i++) {
        snprintf(line, sizeof line, "\"t%d\": %d\n", i, i);
        put_text(&b, line);
    }
    folder_write(folder, name, &b);
}

/* Writes a folder. The model receives the values that were written. without: a tensor that is left
   out. */
static inline void write_folder(const char *folder, rapt_model *model, int type, const char *line,
                                const char *without)
{
    static struct bytes b;
    struct marian_file *f = calloc(1, sizeof *f);
    const rapt_config *c = rapt_model_config(model);
    for (int i = 0; i < rapt_model_tensors(model); i++) put_parameter(f, model, i, type);
    if (type != F32) put_matrix(f, "none_QuantMultA", &(float){20}, 1, 1, F32);
    put_settings(add(f, "special:model.yml", I8, 0, 0)->data, c, line);
    f->items[f->count - 1].columns = (int)f->items[f->count - 1].data->size;
    for (int i = 0; without && i < f->count; i++)
        if (strcmp(f->items[i].name, without) == 0) f->items[i].name[0] = '?';
    put_file(&b, f);
    folder_write(folder, "model.intgemm.bin", &b);
    for (int i = 0; i < f->count; i++) free(f->items[i].data);
    free(f);
    if (c->tie == RAPT_TIE_ALL) {
        write_vocabulary(folder, "vocab.yml", c->source_vocab);
        return;
    }
    write_vocabulary(folder, "vocab.src.yml", c->source_vocab);
    write_vocabulary(folder, "vocab.trg.yml", c->target_vocab);
}

#endif
