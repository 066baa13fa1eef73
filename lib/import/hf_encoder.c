/* hf_encoder.c - imports encoders of Hugging Face's transformers, BERT and DistilBERT, with or
   without a classifier: config.json, the weights and vocab.txt. Pre-training heads are ignored.
   Source: transformers 4.57, modeling_bert.py, modeling_distilbert.py,
   tokenization_bert_fast.py. */
#include "import/hf.h"

#include <stdio.h>
#include <string.h>

/* ---- names ---- */

static const struct import_row bert_rows[] = {
    HF_WHOLE("encoder.embedding.weight", "bert.embeddings.word_embeddings.weight"),
    HF_WHOLE("encoder.types.weight", "bert.embeddings.token_type_embeddings.weight"),
    HF_WHOLE("encoder.positions.weight", "bert.embeddings.position_embeddings.weight"),
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
    HF_LINEAR("pooler", "bert.pooler.dense"),
    HF_LINEAR("output", "classifier"),
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
static const struct hf_size bert_sizes[] = {
    {"hidden_size", CONFIG_width, 768},
    {"num_attention_heads", CONFIG_heads, 12},
    {"intermediate_size", CONFIG_ffn_width, 3072},
    {"num_hidden_layers", CONFIG_encoder_layers, 12},
    {"max_position_embeddings", CONFIG_positions, 512},
    {"vocab_size", CONFIG_source_vocab, 30522},
    {"type_vocab_size", CONFIG_token_types, 2},
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

#define COUNTED(array) array, sizeof(array) / sizeof *(array)
static const struct family {
    const char *type, *prefix; /* model_type; prefix of the names of tensors in files with a head */
    const char *activation;    /* key of the activation in config.json */
    const struct import_row *rows;
    int row_count;
    const struct hf_size *sizes;
    int size_count;
    const struct hf_flag *flags;
    int flag_count;
    const char *no_pooler; /* tensor of a layer between the first row and the classifier that is not
                              BERT's pooler; NULL if there is none */
} families[] = {
    {"bert", "bert.", "hidden_act", COUNTED(bert_rows), COUNTED(bert_sizes), COUNTED(bert_flags),
     NULL},
    {"distilbert", "distilbert.", "activation", COUNTED(distilbert_rows), COUNTED(distilbert_sizes),
     COUNTED(distilbert_flags), "pre_classifier.weight"},
};
#undef COUNTED

static const struct family *family_of(const char *type)
{
    for (size_t n = 0; n < sizeof families / sizeof *families; n++)
        if (strcmp(families[n].type, type) == 0) return &families[n];
    return NULL;
}

bool rapt__import_is_encoder(const char *type)
{
    return family_of(type) != NULL;
}

/* Removes the prefix "bert." or "distilbert.", which is missing in files without a head. */
static void spell_bare(char name[IMPORT_NAME])
{
    for (size_t n = 0; n < sizeof families / sizeof *families; n++) {
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

static void choose_spelling(struct import *i, const struct family *f)
{
    char name[IMPORT_NAME];
    snprintf(name, sizeof name, "%sembeddings.word_embeddings.weight", f->prefix);
    const bool bare = !rapt__tensors_find(i->file, name);
    snprintf(name, sizeof name, "%sembeddings.LayerNorm.gamma", bare ? "" : f->prefix);
    const bool old = rapt__tensors_find(i->file, name) != NULL;
    i->spell = bare && old ? spell_bare_old : bare ? spell_bare : old ? spell_old : NULL;
}

/* ---- heads ---- */

/* Ignores a buffer that older versions stored, pre-training heads, and a pooler that is not
   used. */
static void ignore_heads(struct import *i)
{
    static const char *const ignored[] = {"cls.", "vocab_", "qa_outputs."};
    for (int n = 0; n < rapt__tensors_count(i->file); n++) {
        const char *name = rapt__tensors_entry(i->file, n)->name;
        bool none = strstr(name, "embeddings.position_ids") != NULL;
        for (size_t h = 0; h < sizeof ignored / sizeof *ignored; h++)
            none = none || strncmp(name, ignored[h], strlen(ignored[h])) == 0;
        i->used[n] = i->used[n] || none || (!i->config.pooler && strstr(name, "pooler.dense."));
    }
}

/* Sets up the output for the head. A classifier of texts reads the first row; a classifier of
   tokens reads all rows. Without a classifier there is no output. */
static rapt_status read_head(struct import *i, const struct family *f,
                             const struct import_settings *s)
{
    rapt_config *c = &i->config;
    const struct tensor_entry *e = rapt__import_find(i, "classifier.weight", 0);
    const char *architecture = rapt__import_only(s, "architectures");
    const bool tokens = architecture && strstr(architecture, "ForTokenClassification");
    c->tie = RAPT_TIE_NONE;
    if (!e) return RAPT_OK;
    if (f->no_pooler && rapt__import_find(i, f->no_pooler, 0))
        return rapt__import_bad(i, "tensor %s belongs to a layer that is not supported",
                                f->no_pooler);
    if (e->rank != 2 || e->shape[0] > 1 << 24)
        return rapt__import_bad(i, "tensor %s is not a matrix of classes", e->name);
    c->target_vocab = (int)e->shape[0];
    c->output_bias = 1;
    c->pooling = tokens ? RAPT_POOLING_NONE : RAPT_POOLING_FIRST;
    c->pooler = !tokens;
    return RAPT_OK;
}

/* ---- the vocabulary ---- */

static rapt_status read_words(struct import *i)
{
    rapt_wordpiece_options o = {.size = sizeof o};
    struct import_settings s = {0};
    bool lower = true, strip = true, han = true;
    rapt_status status = RAPT_OK;
    if (rapt__import_has(i, "tokenizer_config.json"))
        status = rapt__import_settings(i, "tokenizer_config.json", &s);
    if (status) return status;
    status = rapt__import_flag(i, &s, "do_lower_case", true, &lower);
    if (!status) status = rapt__import_flag(i, &s, "strip_accents", lower, &strip);
    if (!status) status = rapt__import_flag(i, &s, "tokenize_chinese_chars", true, &han);
    rapt__import_settings_free(i, &s);
    o.keep_case = !lower, o.keep_accents = !strip, o.keep_han = !han;
    if (!status)
        status = rapt__import_wordpiece(i, "vocab.txt", i->config.source_vocab, &o, &i->source);
    return status;
}

static rapt_status read_encoder_config(struct import *i, const struct family *f,
                                       const struct import_settings *s)
{
    rapt_config *c = &i->config;
    const char *positions = rapt__import_setting(s, "position_embedding_type");
    if (positions && strcmp(positions, "absolute") != 0)
        return rapt__import_bad(
            i, "config.json: position_embedding_type is %.60s, which is not supported", positions);
    rapt_status status = rapt__hf_read_sizes(i, s, f->sizes, f->size_count);
    if (!status) status = rapt__hf_check_flags(i, s, f->flags, f->flag_count);
    if (!status) status = rapt__hf_read_activation(i, s, f->activation);
    if (!status) status = rapt__import_float(i, s, "layer_norm_eps", 1e-12f, &c->norm_epsilon);
    c->kind = RAPT_KIND_ENCODER_ONLY;
    c->position = RAPT_POSITION_LEARNED;
    c->embedding_norm = c->plain_embedding = 1;
    i->source_begin = true;
    return status;
}

rapt_status rapt__import_encoder(struct import *i, const struct import_settings *s)
{
    const struct family *f = family_of(rapt__import_setting(s, "model_type"));
    const struct import_table table = {f->rows, f->row_count, 0};
    choose_spelling(i, f);
    snprintf(i->origin, sizeof i->origin, "%s of Hugging Face, %s", f->type,
             rapt__container_name(rapt__tensors_container(i->file)));
    rapt_status status = read_encoder_config(i, f, s);
    if (!status) status = read_head(i, f, s);
    if (!status && !i->config.target_vocab) status = rapt__import_sentence(i);
    if (status) return status;
    ignore_heads(i);
    status = rapt__import_match(i, &table, 1);
    if (!status)
        status = rapt__hf_only_json(i, "vocab.txt") ? rapt__hf_json(i, "WordPiece") : read_words(i);
    return status ? status : rapt__import_fill(i, &table, 1);
}
