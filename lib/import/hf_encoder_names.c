/* hf_encoder_names.c - names of parameters and settings of Hugging Face's encoders: BERT (Devlin et
   al. 2019), DistilBERT (Sanh et al. 2019), RoBERTa (Liu et al. 2019), XLM-RoBERTa (Conneau et al.
   2020) and MPNet (Song et al. 2020). Source: transformers 4.57, modeling_bert.py,
   modeling_distilbert.py, modeling_roberta.py, modeling_xlm_roberta.py, modeling_mpnet.py. */
#include "import/hf.h"

#include <stdio.h>
#include <string.h>

/* ---- parameters ---- */

#define PADDED_POSITIONS(theirs)                                                                   \
    {                                                                                              \
        "encoder.positions.weight", theirs, 0, 1, IMPORT_OFFSET                                    \
    }
/* The text classifier of RoBERTa and MPNet, or a token classifier. */
#define CLASSIFIER                                                                                 \
    HF_LINEAR("pooler", "classifier.dense"), HF_LINEAR("output", "classifier.out_proj"),           \
        HF_LINEAR("output", "classifier")

static const struct import_row bert_rows[] = {
    /* also used by RoBERTa, with another prefix */
    HF_WHOLE("encoder.embedding.weight", "bert.embeddings.word_embeddings.weight"),
    HF_WHOLE("encoder.types.weight", "bert.embeddings.token_type_embeddings.weight"),
    HF_LINEAR("encoder.embedding_norm", "bert.embeddings.LayerNorm"),
    HF_LINEAR_PART("encoder.layers.#.self_attn.qkv", "bert.encoder.layer.#.attention.self.query", 0,
                   3),
    HF_LINEAR_PART("encoder.layers.#.self_attn.qkv", "bert.encoder.layer.#.attention.self.key", 1,
                   3),
    HF_LINEAR_PART("encoder.layers.#.self_attn.qkv", "bert.encoder.layer.#.attention.self.value", 2,
                   3),
    HF_LINEAR("encoder.layers.#.self_attn.out", "bert.encoder.layer.#.attention.output.dense"),
    HF_LINEAR("encoder.layers.#.self_attn.norm", "bert.encoder.layer.#.attention.output.LayerNorm"),
    HF_LINEAR("encoder.layers.#.feedforward.in", "bert.encoder.layer.#.intermediate.dense"),
    HF_LINEAR("encoder.layers.#.feedforward.out", "bert.encoder.layer.#.output.dense"),
    HF_LINEAR("encoder.layers.#.feedforward.norm", "bert.encoder.layer.#.output.LayerNorm"),
};
static const struct import_row bert_own_rows[] = {
    HF_WHOLE("encoder.positions.weight", "bert.embeddings.position_embeddings.weight"),
    HF_LINEAR("pooler", "bert.pooler.dense"),
    HF_LINEAR("output", "classifier"),
};
static const struct import_row roberta_own_rows[] = {
    PADDED_POSITIONS("bert.embeddings.position_embeddings.weight"),
    CLASSIFIER,
};
static const struct import_row distilbert_rows[] = {
    HF_WHOLE("encoder.embedding.weight", "distilbert.embeddings.word_embeddings.weight"),
    HF_WHOLE("encoder.positions.weight", "distilbert.embeddings.position_embeddings.weight"),
    HF_LINEAR("encoder.embedding_norm", "distilbert.embeddings.LayerNorm"),
    HF_LINEAR_PART("encoder.layers.#.self_attn.qkv",
                   "distilbert.transformer.layer.#.attention.q_lin", 0, 3),
    HF_LINEAR_PART("encoder.layers.#.self_attn.qkv",
                   "distilbert.transformer.layer.#.attention.k_lin", 1, 3),
    HF_LINEAR_PART("encoder.layers.#.self_attn.qkv",
                   "distilbert.transformer.layer.#.attention.v_lin", 2, 3),
    HF_LINEAR("encoder.layers.#.self_attn.out", "distilbert.transformer.layer.#.attention.out_lin"),
    HF_LINEAR("encoder.layers.#.self_attn.norm", "distilbert.transformer.layer.#.sa_layer_norm"),
    HF_LINEAR("encoder.layers.#.feedforward.in", "distilbert.transformer.layer.#.ffn.lin1"),
    HF_LINEAR("encoder.layers.#.feedforward.out", "distilbert.transformer.layer.#.ffn.lin2"),
    HF_LINEAR("encoder.layers.#.feedforward.norm",
              "distilbert.transformer.layer.#.output_layer_norm"),
    HF_LINEAR("output", "classifier"),
};
static const struct import_row mpnet_rows[] = {
    HF_WHOLE("encoder.embedding.weight", "mpnet.embeddings.word_embeddings.weight"),
    PADDED_POSITIONS("mpnet.embeddings.position_embeddings.weight"),
    HF_LINEAR("encoder.embedding_norm", "mpnet.embeddings.LayerNorm"),
    {"encoder.relative_bias.weight", "mpnet.encoder.relative_attention_bias.weight", 0, 1,
     IMPORT_TRANSPOSED},
    HF_LINEAR_PART("encoder.layers.#.self_attn.qkv", "mpnet.encoder.layer.#.attention.attn.q", 0,
                   3),
    HF_LINEAR_PART("encoder.layers.#.self_attn.qkv", "mpnet.encoder.layer.#.attention.attn.k", 1,
                   3),
    HF_LINEAR_PART("encoder.layers.#.self_attn.qkv", "mpnet.encoder.layer.#.attention.attn.v", 2,
                   3),
    HF_LINEAR("encoder.layers.#.self_attn.out", "mpnet.encoder.layer.#.attention.attn.o"),
    HF_LINEAR("encoder.layers.#.self_attn.norm", "mpnet.encoder.layer.#.attention.LayerNorm"),
    HF_LINEAR("encoder.layers.#.feedforward.in", "mpnet.encoder.layer.#.intermediate.dense"),
    HF_LINEAR("encoder.layers.#.feedforward.out", "mpnet.encoder.layer.#.output.dense"),
    HF_LINEAR("encoder.layers.#.feedforward.norm", "mpnet.encoder.layer.#.output.LayerNorm"),
    CLASSIFIER,
};

/* ---- settings ---- */

#define BERT_SIZES                                                                                 \
    {"hidden_size", CONFIG_width, 768}, {"num_attention_heads", CONFIG_heads, 12},                 \
        {"intermediate_size", CONFIG_ffn_width, 3072},                                             \
        {"num_hidden_layers", CONFIG_encoder_layers, 12},                                          \
    {                                                                                              \
        "max_position_embeddings", CONFIG_positions, 512                                           \
    }
static const struct hf_size bert_sizes[] = {
    BERT_SIZES,
    {"vocab_size", CONFIG_source_vocab, 30522},
    {"type_vocab_size", CONFIG_token_types, 2},
};
static const struct hf_size roberta_sizes[] = {
    BERT_SIZES,
    {"vocab_size", CONFIG_source_vocab, 50265},
    {"type_vocab_size", CONFIG_token_types, 2},
};
static const struct hf_size mpnet_sizes[] = {
    BERT_SIZES,
    {"vocab_size", CONFIG_source_vocab, 30527},
    {"relative_attention_num_buckets", CONFIG_relative_buckets, 32},
};
static const struct hf_size distilbert_sizes[] = {
    {"dim", CONFIG_width, 768},
    {"n_heads", CONFIG_heads, 12},
    {"hidden_dim", CONFIG_ffn_width, 3072},
    {"n_layers", CONFIG_encoder_layers, 6},
    {"max_position_embeddings", CONFIG_positions, 512},
    {"vocab_size", CONFIG_source_vocab, 30522},
};
static const struct hf_flag bert_flags[] = {{"is_decoder", false}, {"add_cross_attention", false}};
static const struct hf_flag distilbert_flags[] = {{"sinusoidal_pos_embds", false}};

/* ---- families ---- */

#define TABLE(rows)                                                                                \
    {                                                                                              \
        rows, COUNT(rows), 0                                                                       \
    }
#define COUNT(array) (int)(sizeof(array) / sizeof *(array))
static const struct hf_family families[] = {
    {
        .type = "bert",
        .prefix = "bert.",
        .activation = "hidden_act",
        .tables = {TABLE(bert_rows), TABLE(bert_own_rows)},
        .sizes = bert_sizes,
        .size_count = COUNT(bert_sizes),
        .flags = bert_flags,
        .flag_count = COUNT(bert_flags),
    },
    {.type = "distilbert",
     .prefix = "distilbert.",
     .activation = "activation",
     .tables = {TABLE(distilbert_rows)},
     .sizes = distilbert_sizes,
     .size_count = COUNT(distilbert_sizes),
     .flags = distilbert_flags,
     .flag_count = COUNT(distilbert_flags),
     .no_pooler = "pre_classifier.weight"},
    {.type = "roberta",
     .prefix = "roberta.",
     .activation = "hidden_act",
     .tables = {TABLE(bert_rows), TABLE(roberta_own_rows)},
     .sizes = roberta_sizes,
     .size_count = COUNT(roberta_sizes),
     .flags = bert_flags,
     .flag_count = COUNT(bert_flags),
     .padded = true},
    {.type = "xlm-roberta",
     .prefix = "roberta.",
     .activation = "hidden_act",
     .tables = {TABLE(bert_rows), TABLE(roberta_own_rows)},
     .sizes = roberta_sizes,
     .size_count = COUNT(roberta_sizes),
     .flags = bert_flags,
     .flag_count = COUNT(bert_flags),
     .padded = true},
    {.type = "mpnet",
     .prefix = "mpnet.",
     .activation = "hidden_act",
     .tables = {TABLE(mpnet_rows)},
     .sizes = mpnet_sizes,
     .size_count = COUNT(mpnet_sizes),
     .padded = true,
     .bucketed = true},
};
enum { FAMILIES = sizeof families / sizeof *families };

const struct hf_family *rapt__hf_family(const char *type)
{
    for (int n = 0; n < FAMILIES; n++)
        if (strcmp(families[n].type, type) == 0) return &families[n];
    return NULL;
}

/* ---- spelling ---- */

/* Removes the prefix, such as "bert.", which is missing in files without a head. */
static void spell_bare(char name[IMPORT_NAME])
{
    for (int n = 0; n < FAMILIES; n++) {
        const size_t size = strlen(families[n].prefix);
        if (strncmp(name, families[n].prefix, size) != 0) continue;
        memmove(name, name + size, strlen(name + size) + 1);
        return;
    }
}

/* Replaces the names of a norm's parameters with those of TensorFlow, which old files use. */
static void spell_old(char name[IMPORT_NAME])
{
    static const char *const names[][2] = {{"LayerNorm.weight", "LayerNorm.gamma"},
                                           {"LayerNorm.bias", "LayerNorm.beta"}};
    for (int n = 0; n < 2; n++) {
        char *at = strstr(name, names[n][0]);
        if (at && !at[strlen(names[n][0])]) memcpy(at, names[n][1], strlen(names[n][1]) + 1);
    }
}

static void spell_bare_old(char name[IMPORT_NAME])
{
    spell_bare(name);
    spell_old(name);
}

/* Replaces the prefix "bert." with "roberta.". */
static void spell_roberta(char name[IMPORT_NAME])
{
    static const char ours[] = "bert.", theirs[] = "roberta.";
    const size_t size = strlen(name), old = sizeof ours - 1, new = sizeof theirs - 1;
    if (strncmp(name, ours, old) != 0 || size - old + new >= IMPORT_NAME) return;
    memmove(name + new, name + old, size - old + 1);
    memcpy(name, theirs, new);
}

static void spell_roberta_old(char name[IMPORT_NAME])
{
    spell_roberta(name);
    spell_old(name);
}

void rapt__hf_family_spelling(struct import *i, const struct hf_family *f)
{
    char name[IMPORT_NAME];
    snprintf(name, sizeof name, "%sembeddings.word_embeddings.weight", f->prefix);
    const bool bare = !rapt__tensors_find(i->file, name);
    snprintf(name, sizeof name, "%sembeddings.LayerNorm.gamma", bare ? "" : f->prefix);
    const bool old = rapt__tensors_find(i->file, name) != NULL;
    if (bare)
        i->spell = old ? spell_bare_old : spell_bare;
    else if (strcmp(f->prefix, "roberta.") == 0)
        i->spell = old ? spell_roberta_old : spell_roberta;
    else
        i->spell = old ? spell_old : NULL;
}
