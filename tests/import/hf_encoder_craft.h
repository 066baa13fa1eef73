/* hf_encoder_craft.h - writes folders of encoders as transformers does, from our parameters. */
#ifndef RAPT_TESTS_HF_ENCODER_CRAFT_H
#define RAPT_TESTS_HF_ENCODER_CRAFT_H

#include "import/folder.h"

enum { WIDTH = 8, FFN = 12, LAYERS = 2, VOCAB = 9, POSITIONS = 10 };

static const char *const words = "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n\303\251\nE\n##b\ne\n";

enum family { BERT, DISTILBERT, ROBERTA, XLM_ROBERTA, MPNET };
struct kind {
    enum family family;
    bool bare, old; /* names without a prefix; names of TensorFlow */
    int classes;
    const char *more; /* an additional tensor, NULL: none */
};

/* Two rows of the table of positions are not used. */
static bool is_padded(const struct kind *k)
{
    return k->family != BERT && k->family != DISTILBERT;
}

static rapt_config config_of(const struct kind *k)
{
    return (rapt_config){.size = sizeof(rapt_config),
                         .kind = RAPT_KIND_ENCODER_ONLY,
                         .source_vocab = VOCAB,
                         .target_vocab = k->classes,
                         .positions = POSITIONS,
                         .width = WIDTH,
                         .heads = 2,
                         .ffn_width = FFN,
                         .encoder_layers = LAYERS,
                         .activation = RAPT_ACTIVATION_GELU,
                         .position = RAPT_POSITION_LEARNED,
                         .output_bias = k->classes > 0,
                         .plain_embedding = 1,
                         .norm_epsilon = 1e-12f,
                         .pooling = k->classes ? RAPT_POOLING_FIRST : RAPT_POOLING_MEAN,
                         .embedding_norm = 1,
                         .token_types = k->family == DISTILBERT || k->family == MPNET ? 0 : 2,
                         .relative_bias = k->family == MPNET ? RAPT_RELATIVE_BIAS_T5 : 0,
                         .relative_buckets = k->family == MPNET ? 4 : 0,
                         .relative_distance = k->family == MPNET ? 128 : 0,
                         .pooler = k->classes > 0};
}

/* ---- the file of tensors ---- */

struct names {
    const char *ours, *bert, *distil, *mpnet;
    int part, parts;
};
static const struct names names[] = {
    {"encoder.embedding.weight", "embeddings.word_embeddings.weight",
     "embeddings.word_embeddings.weight", "embeddings.word_embeddings.weight", 0, 1},
    {"encoder.types.weight", "embeddings.token_type_embeddings.weight", NULL, NULL, 0, 1},
    {"encoder.positions.weight", "embeddings.position_embeddings.weight",
     "embeddings.position_embeddings.weight", "embeddings.position_embeddings.weight", 0, 1},
    {"encoder.embedding_norm.weight", "embeddings.LayerNorm.weight", "embeddings.LayerNorm.weight",
     "embeddings.LayerNorm.weight", 0, 1},
    {"encoder.embedding_norm.bias", "embeddings.LayerNorm.bias", "embeddings.LayerNorm.bias",
     "embeddings.LayerNorm.bias", 0, 1},
    {"encoder.relative_bias.weight", NULL, NULL, "encoder.relative_attention_bias.weight", 0, 1},
    {"self_attn.qkv", "attention.self.query", "attention.q_lin", "attention.attn.q", 0, 3},
    {"self_attn.qkv", "attention.self.key", "attention.k_lin", "attention.attn.k", 1, 3},
    {"self_attn.qkv", "attention.self.value", "attention.v_lin", "attention.attn.v", 2, 3},
    {"self_attn.out", "attention.output.dense", "attention.out_lin", "attention.attn.o", 0, 1},
    {"self_attn.norm", "attention.output.LayerNorm", "sa_layer_norm", "attention.LayerNorm", 0, 1},
    {"feedforward.in", "intermediate.dense", "ffn.lin1", "intermediate.dense", 0, 1},
    {"feedforward.out", "output.dense", "ffn.lin2", "output.dense", 0, 1},
    {"feedforward.norm", "output.LayerNorm", "output_layer_norm", "output.LayerNorm", 0, 1},
    {"pooler", "pooler.dense", NULL, "classifier.dense", 0, 1},
    {"output", "classifier", "classifier", "classifier.out_proj", 0, 1},
};

/* Returns the other project's name of a row, or NULL. RoBERTa has the classifier of MPNet. */
static const char *name_of(const struct kind *k, const struct names *row)
{
    const char *const theirs[] = {row->bert, row->distil, row->bert, row->bert, row->mpnet};
    const bool head = strncmp(row->mpnet ? row->mpnet : "", "classifier", 10) == 0;
    return is_padded(k) && head ? row->mpnet : theirs[k->family];
}

struct tensors {
    struct bytes header, data;
    size_t count;
};

static void add_tensor(struct tensors *t, const char *name, int rows, int columns,
                       const float *data)
{
    char line[400], shape[48];
    const size_t bytes = (size_t)(rows * columns) * sizeof *data;
    snprintf(shape, sizeof shape, rows ? "[%d, %d]" : "[%d]", rows ? rows : columns, columns);
    const size_t size = rows ? bytes : (size_t)columns * sizeof *data;
    snprintf(line, sizeof line,
             "%s\"%s\": {\"dtype\": \"F32\", \"shape\": %s, \"data_offsets\": [%zu, %zu]}",
             t->count++ ? ", " : "{", name, shape, t->data.size, t->data.size + size);
    put_text(&t->header, line);
    put(&t->data, data, size);
}

/* Writes the name of a tensor in the file: `theirs`, in a layer unless that is negative. */
static void spell(const struct kind *k, const char *theirs, int layer, const char *end, char *to)
{
    static const char *const prefixes[] = {"bert.", "distilbert.", "roberta.", "roberta.",
                                           "mpnet."};
    const char *prefix = prefixes[k->family];
    const char *layers = k->family == DISTILBERT ? "transformer.layer" : "encoder.layer";
    const bool head = strncmp(theirs, "classifier", 10) == 0;
    to += sprintf(to, "%s", k->bare || head ? "" : prefix);
    if (layer >= 0) to += sprintf(to, "%s.%d.", layers, layer);
    sprintf(to, "%s%s", theirs, end);
    char *norm = k->old ? strstr(to, "LayerNorm.") : NULL;
    if (norm)
        strcpy(norm, strcmp(norm, "LayerNorm.weight") == 0 ? "LayerNorm.gamma" : "LayerNorm.beta");
}

/* Adds one of our parameters under its names. */
static void add_parameter(struct tensors *t, const struct kind *k, const rapt_model *model,
                          int index)
{
    const rapt_tensor p = rapt_model_tensor(model, index);
    static float memory[4096 + 2 * WIDTH], *data = memory + 2 * WIDTH;
    char stem[64], name[200];
    int layer = -1;
    assert_int_equal(rapt_model_read(model, index, data, NULL), RAPT_OK);
    const bool layered = sscanf(p.name, "encoder.layers.%d.", &layer) == 1;
    snprintf(stem, sizeof stem, "%s", p.name + (layered ? strlen("encoder.layers.0.") : 0));
    char *end = strrchr(stem, '.');
    for (int n = 0; n < COUNT(names); n++) {
        const struct names *row = &names[n];
        const char *theirs = name_of(k, row);
        const bool whole = strcmp(row->ours, p.name) == 0;
        const size_t size = (size_t)(end - stem);
        if (!theirs || !(whole || (strlen(row->ours) == size && !strncmp(row->ours, stem, size))))
            continue;
        spell(k, theirs, layered ? layer : -1, whole ? "" : end, name);
        const bool vector = strcmp(end, ".bias") == 0 || strstr(row->ours, "norm");
        const int rows = vector ? 0 : p.rows / row->parts;
        const int columns = vector ? p.columns / row->parts : p.columns;
        const bool padded = is_padded(k) && strstr(theirs, "position_embeddings");
        if (strstr(theirs, "relative")) { /* stored as [buckets][heads] */
            float turned[64];
            for (int i = 0; i < rows * columns; i++)
                turned[i % columns * rows + i / columns] = data[i];
            add_tensor(t, name, columns, rows, turned);
            continue;
        }
        add_tensor(t, name, rows + (padded ? 2 : 0), columns,
                   data + (ptrdiff_t)row->part * (rows ? rows : 1) * columns -
                       (padded ? 2 * columns : 0));
    }
}

static void write_model(const char *folder, const struct kind *k, const rapt_model *model)
{
    static struct tensors t;
    static struct bytes file;
    const float some[64] = {1};
    t.header.size = t.data.size = t.count = file.size = 0;
    for (int i = 0; i < rapt_model_tensors(model); i++) add_parameter(&t, k, model, i);
    if (k->more) add_tensor(&t, k->more, 0, 8, some);
    put_text(&t.header, "}");
    put_number(&file, t.header.size, 8);
    put(&file, t.header.data, t.header.size);
    put(&file, t.data.data, t.data.size);
    folder_write(folder, "model.safetensors", &file);
}

/* line: a setting that replaces the one with its key, or is added; NULL: no change. */
static void write_config(const char *folder, const struct kind *k, const char *line)
{
    static const char *const bert =
        "\"model_type\": \"bert\"\n\"hidden_size\": 8\n\"num_attention_heads\": 2\n"
        "\"intermediate_size\": 12\n\"num_hidden_layers\": 2\n\"max_position_embeddings\": 10\n"
        "\"vocab_size\": 9\n\"type_vocab_size\": 2\n\"hidden_act\": \"gelu\"\n";
    static const char *const distil =
        "\"model_type\": \"distilbert\"\n\"dim\": 8\n\"n_heads\": 2\n\"hidden_dim\": 12\n"
        "\"n_layers\": 2\n\"max_position_embeddings\": 10\n\"vocab_size\": 9\n";
    static const char *const padded =
        "\"model_type\": \"%s\"\n\"hidden_size\": 8\n\"num_attention_heads\": 2\n"
        "\"intermediate_size\": 12\n\"num_hidden_layers\": 2\n\"max_position_embeddings\": 12\n"
        "\"vocab_size\": 9\n\"type_vocab_size\": 2\n\"hidden_act\": \"gelu\"\n"
        "\"relative_attention_num_buckets\": 4\n\"pad_token_id\": 1\n";
    static const char *const types[] = {"", "", "roberta", "xlm-roberta", "mpnet"};
    static struct bytes b;
    const size_t key = line ? strcspn(line, ":") : 0;
    char text[600];
    b.size = 0;
    if (is_padded(k))
        snprintf(text, sizeof text, padded, types[k->family]);
    else
        snprintf(text, sizeof text, "%s", k->family == DISTILBERT ? distil : bert);
    put_text(&b, "{\"x\": [\"y\"]");
    for (char *at = strtok(text, "\n"); at; at = strtok(NULL, "\n")) {
        if (line && strncmp(at, line, key) == 0) continue;
        put_text(&b, ", ");
        put_text(&b, at);
    }
    if (line) put_text(&b, ", "), put_text(&b, line);
    put_text(&b, "}");
    folder_write(folder, "config.json", &b);
}

static const char *const files[] = {
    "model.safetensors",     "config.json",           "vocab.txt", "modules.json",
    "tokenizer_config.json", "1_Pooling/config.json", "1_Pooling", "sentence_bert_config.json",
    "tokenizer.json"};

static void clear(const char *folder)
{
    char pooling[300];
    snprintf(pooling, sizeof pooling, "%s/1_Pooling", folder);
    folder_remove(pooling, (const char *const[]){"config.json"}, 1);
    folder_remove(folder, files, COUNT(files));
}

static rapt_model *write_folder(char folder[256], const struct kind *k)
{
    const rapt_config c = config_of(k);
    folder_make(folder, "encoder");
    rapt_model *model = small_model(&c, 11);
    write_model(folder, k, model);
    write_config(folder, k, NULL);
    folder_text(folder, "vocab.txt", words);
    return model;
}

#endif
