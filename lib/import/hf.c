/* hf.c - a folder of MarianMT as Hugging Face's transformers keeps it: config.json, the weights,
   vocab.json and the SentencePiece models of both languages. Matrices are [out][in], queries, keys
   and values apart. Source: transformers 4.57, modeling_marian.py, tokenization_marian.py,
   configuration_marian.py. */
#include "import/parts.h"

#include <stdio.h>
#include <string.h>

#define WHOLE(ours, theirs)                                                                        \
    {                                                                                              \
        ours, theirs, 0, 1, 0                                                                      \
    }
#define PART(ours, theirs, part, parts)                                                            \
    {                                                                                              \
        ours, theirs, part, parts, 0                                                               \
    }
#define LINEAR(ours, theirs)                                                                       \
    WHOLE(ours ".weight", theirs ".weight"), WHOLE(ours ".bias", theirs ".bias")
#define LINEAR_PART(ours, theirs, part, parts)                                                     \
    PART(ours ".weight", theirs ".weight", part, parts),                                           \
        PART(ours ".bias", theirs ".bias", part, parts)
#define LAYER(side)                                                                                \
    LINEAR_PART(side ".layers.#.self_attn.qkv", "model." side ".layers.#.self_attn.q_proj", 0, 3), \
        LINEAR_PART(side ".layers.#.self_attn.qkv", "model." side ".layers.#.self_attn.k_proj", 1, \
                    3),                                                                            \
        LINEAR_PART(side ".layers.#.self_attn.qkv", "model." side ".layers.#.self_attn.v_proj", 2, \
                    3),                                                                            \
        LINEAR(side ".layers.#.self_attn.out", "model." side ".layers.#.self_attn.out_proj"),      \
        LINEAR(side ".layers.#.self_attn.norm", "model." side ".layers.#.self_attn_layer_norm"),   \
        LINEAR(side ".layers.#.feedforward.in", "model." side ".layers.#.fc1"),                    \
        LINEAR(side ".layers.#.feedforward.out", "model." side ".layers.#.fc2"),                   \
        LINEAR(side ".layers.#.feedforward.norm", "model." side ".layers.#.final_layer_norm")

static const struct import_row rows[] = {
    /* what is tied may be stored under any of its names */
    WHOLE("embedding.weight", "model.shared.weight"),
    WHOLE("embedding.weight", "model.encoder.embed_tokens.weight"),
    WHOLE("embedding.weight", "model.decoder.embed_tokens.weight"),
    WHOLE("embedding.weight", "lm_head.weight"),
    WHOLE("encoder.embedding.weight", "model.encoder.embed_tokens.weight"),
    WHOLE("decoder.embedding.weight", "model.decoder.embed_tokens.weight"),
    WHOLE("output.weight", "lm_head.weight"),
    WHOLE("output.bias", "final_logits_bias"),
    LAYER("encoder"),
    LAYER("decoder"),
    LINEAR("decoder.layers.#.cross_attn.q", "model.decoder.layers.#.encoder_attn.q_proj"),
    LINEAR_PART("decoder.layers.#.cross_attn.kv", "model.decoder.layers.#.encoder_attn.k_proj", 0,
                2),
    LINEAR_PART("decoder.layers.#.cross_attn.kv", "model.decoder.layers.#.encoder_attn.v_proj", 1,
                2),
    LINEAR("decoder.layers.#.cross_attn.out", "model.decoder.layers.#.encoder_attn.out_proj"),
    LINEAR("decoder.layers.#.cross_attn.norm", "model.decoder.layers.#.encoder_attn_layer_norm"),
};
static const struct import_row tied_rows[] = {
    WHOLE("decoder.embedding.weight", "lm_head.weight"),
};

/* Sinusoids, which are computed anew. */
static void ignore_positions(struct import *i)
{
    static const char *const names[] = {"model.encoder.embed_positions.weight",
                                        "model.decoder.embed_positions.weight"};
    for (int n = 0; n < 2; n++) rapt__import_use(i, rapt__tensors_find(i->file, names[n]));
}

/* ---- the configuration ---- */

/* Both halves have one value for it. */
static rapt_status both(struct import *i, const struct import_settings *s, const char *what,
                        int otherwise, int *value)
{
    char key[64];
    int other = 0;
    snprintf(key, sizeof key, "encoder_%s", what);
    rapt_status status = rapt__import_whole(i, s, key, otherwise, value);
    snprintf(key, sizeof key, "decoder_%s", what);
    if (!status) status = rapt__import_whole(i, s, key, otherwise, &other);
    if (status || *value == other) return status;
    return rapt__import_bad(i, "config.json: encoder_%s is %d, but decoder_%s %d", what, *value,
                            what, other);
}

static rapt_status read_sizes(struct import *i, const struct import_settings *s)
{
    rapt_config *c = &i->config;
    rapt_status status = rapt__import_whole(i, s, "d_model", 1024, &c->width);
    if (!status) status = both(i, s, "attention_heads", 16, &c->heads);
    if (!status) status = both(i, s, "ffn_dim", 4096, &c->ffn_width);
    if (!status) status = rapt__import_whole(i, s, "encoder_layers", 12, &c->encoder_layers);
    if (!status) status = rapt__import_whole(i, s, "decoder_layers", 12, &c->decoder_layers);
    if (!status) status = rapt__import_whole(i, s, "vocab_size", 58101, &c->source_vocab);
    if (!status)
        status = rapt__import_whole(i, s, "decoder_vocab_size", c->source_vocab, &c->target_vocab);
    if (!status) status = rapt__import_whole(i, s, "max_position_embeddings", 1024, &c->positions);
    return status;
}

/* Options with the one value that this library computes. */
static rapt_status check_flags(struct import *i, const struct import_settings *s)
{
    static const struct {
        const char *key;
        bool good;
    } flags[] = {{"normalize_before", false},
                 {"normalize_embedding", false},
                 {"add_final_layer_norm", false},
                 {"static_position_embeddings", true}};
    bool value;
    for (size_t n = 0; n < sizeof flags / sizeof *flags; n++) {
        rapt_status status = rapt__import_flag(i, s, flags[n].key, flags[n].good, &value);
        if (status) return status;
        if (value != flags[n].good)
            return rapt__import_bad(i, "config.json: %s is %s, which is not supported",
                                    flags[n].key, value ? "true" : "false");
    }
    return RAPT_OK;
}

static rapt_status read_ties(struct import *i, const struct import_settings *s)
{
    bool shared, tied, plain;
    rapt_status status = rapt__import_flag(i, s, "share_encoder_decoder_embeddings", true, &shared);
    if (!status) status = rapt__import_flag(i, s, "tie_word_embeddings", true, &tied);
    if (!status) status = rapt__import_flag(i, s, "scale_embedding", false, &plain);
    if (status) return status;
    i->config.plain_embedding = !plain;
    i->config.tie = !tied ? RAPT_TIE_NONE : shared ? RAPT_TIE_ALL : RAPT_TIE_OUTPUT;
    if (tied || !shared) return RAPT_OK;
    return rapt__import_bad(i, "config.json: tie_word_embeddings is false, but the tables of "
                               "encoder and decoder are one");
}

static rapt_status read_activation(struct import *i, const struct import_settings *s)
{
    static const struct {
        const char *name;
        rapt_activation activation;
    } all[] = {{"gelu", RAPT_ACTIVATION_GELU},
               {"relu", RAPT_ACTIVATION_RELU},
               {"silu", RAPT_ACTIVATION_SILU},
               {"swish", RAPT_ACTIVATION_SILU}};
    const char *name = rapt__import_setting(s, "activation_function");
    if (!name) name = "gelu";
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        if (strcmp(all[n].name, name) == 0) {
            i->config.activation = all[n].activation;
            return RAPT_OK;
        }
    return rapt__import_bad(i, "config.json: activation_function is %.60s, which is not supported",
                            name);
}

struct ids { /* of special tokens, as config.json has them */
    int pad, end, start;
};

static rapt_status read_config(struct import *i, const struct import_settings *s, struct ids *ids)
{
    rapt_config *c = &i->config;
    const char *type = rapt__import_setting(s, "model_type");
    if (!type || strcmp(type, "marian") != 0)
        return rapt__import_bad(i, "config.json: model_type is %.60s, not marian",
                                type ? type : "not there");
    rapt_status status = read_sizes(i, s);
    if (!status) status = check_flags(i, s);
    if (!status) status = read_ties(i, s);
    if (!status) status = read_activation(i, s);
    if (!status) status = rapt__import_whole(i, s, "pad_token_id", 58100, &ids->pad);
    if (!status) status = rapt__import_whole(i, s, "eos_token_id", 0, &ids->end);
    if (!status) status = rapt__import_whole(i, s, "decoder_start_token_id", ids->pad, &ids->start);
    if (status) return status;
    if (ids->start != ids->pad && ids->start != ids->end)
        return rapt__import_bad(i,
                                "config.json: decoder_start_token_id is %d, neither that of the "
                                "pad nor of the end token",
                                ids->start);
    c->decoder_start = ids->start == ids->pad ? RAPT_DECODER_START_PAD : RAPT_DECODER_START_END;
    c->position = RAPT_POSITION_CONCATENATED;
    c->output_bias = 1;
    c->norm_epsilon = 1e-5f;
    return RAPT_OK;
}

/* ---- the vocabularies ---- */

static rapt_status read_side(struct import *i, const char *names, const char *model, int vocab,
                             rapt_tokenizer **tokenizer)
{
    rapt_tokenizer *pieces = NULL;
    rapt_status status = rapt__import_pieces(i, model, &pieces);
    if (!status) status = rapt__import_names(i, names, vocab, pieces, tokenizer);
    rapt_tokenizer_free(pieces);
    return status;
}

static rapt_status check_id(struct import *i, const rapt_tokenizer *t, int which, const char *key,
                            int id)
{
    int32_t own = rapt_tokenizer_special(t, which);
    if (own == id) return RAPT_OK;
    return rapt__import_bad(i, "config.json: %s is %d, in the vocabulary it is %d", key, id,
                            (int)own);
}

/* The pad token is nothing that a translation may have. Its logit would be that of a row of zeros,
   often above all others, so its bias makes it one that softmax takes for nothing. */
static void exclude_pad(struct import *i, int pad)
{
    static const float never = -1e9f;
    const struct layout *l = &i->model->layout;
    for (int n = 0; n < l->count; n++)
        if (strcmp(l->parameters[n].name, "output.bias") == 0)
            rapt__parameter_set(&l->parameters[n], i->model->block, (size_t)pad, 1, &never);
}

static rapt_status read_vocabularies(struct import *i, const struct ids *ids)
{
    const rapt_config *c = &i->config;
    const char *other =
        rapt__import_has(i, "target_vocab.json") ? "target_vocab.json" : "vocab.json";
    rapt_status status = read_side(i, "vocab.json", "source.spm", c->source_vocab, &i->source);
    if (!status) status = read_side(i, other, "target.spm", c->target_vocab, &i->target);
    if (!status) status = check_id(i, i->target, RAPT_TOKEN_END, "eos_token_id", ids->end);
    if (!status) status = check_id(i, i->target, RAPT_TOKEN_PAD, "pad_token_id", ids->pad);
    if (!status) exclude_pad(i, ids->pad);
    return status;
}

rapt_status rapt__import_hf(struct import *i)
{
    struct import_settings s;
    struct ids ids = {0, 0, 0};
    rapt_status status = rapt__import_settings(i, "config.json", &s);
    if (status) return status;
    status = read_config(i, &s, &ids);
    rapt__import_settings_free(i, &s);
    snprintf(i->origin, sizeof i->origin, "MarianMT of Hugging Face, %s",
             rapt__container_name(rapt__tensors_container(i->file)));
    if (!status) status = rapt__import_make(i);
    ignore_positions(i);
    const struct import_table tables[] = {
        {rows, sizeof rows / sizeof *rows, 0},
        {tied_rows, i->config.tie == RAPT_TIE_OUTPUT, 0},
    };
    if (!status) status = rapt__import_fill(i, tables, sizeof tables / sizeof *tables);
    return status ? status : read_vocabularies(i, &ids);
}
