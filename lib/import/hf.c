/* hf.c - imports a folder in the format of Hugging Face Transformers. The model_type in its
   config.json selects the importer: MarianMT is imported here (config.json, the weights, vocab.json
   and the SentencePiece models of both languages); T5 in hf_t5.c; BART, mBART, M2M-100 and NLLB-200
   in hf_fairseq.c; BERT and its relatives in hf_encoder.c. Source: transformers 4.57,
   modeling_marian.py, configuration_marian.py, tokenization_marian.py. */
#include "import/hf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- names of parameters and settings, shared with the export. Matrices are [out][in], with
   separate queries, keys and values. ---- */

#define LAYER(side)                                                                                \
    HF_LINEAR_PART(side ".layers.#.self_attn.qkv", "model." side ".layers.#.self_attn.q_proj", 0,  \
                   3),                                                                             \
        HF_LINEAR_PART(side ".layers.#.self_attn.qkv", "model." side ".layers.#.self_attn.k_proj", \
                       1, 3),                                                                      \
        HF_LINEAR_PART(side ".layers.#.self_attn.qkv", "model." side ".layers.#.self_attn.v_proj", \
                       2, 3),                                                                      \
        HF_LINEAR(side ".layers.#.self_attn.out", "model." side ".layers.#.self_attn.out_proj"),   \
        HF_LINEAR(side ".layers.#.self_attn.norm",                                                 \
                  "model." side ".layers.#.self_attn_layer_norm"),                                 \
        HF_LINEAR(side ".layers.#.feedforward.in", "model." side ".layers.#.fc1"),                 \
        HF_LINEAR(side ".layers.#.feedforward.out", "model." side ".layers.#.fc2"),                \
        HF_LINEAR(side ".layers.#.feedforward.norm", "model." side ".layers.#.final_layer_norm")

const struct import_row rapt__hf_rows[] = {
    /* tied tables may be stored under any of their names */
    HF_WHOLE("embedding.weight", "model.shared.weight"),
    HF_WHOLE("embedding.weight", "model.encoder.embed_tokens.weight"),
    HF_WHOLE("embedding.weight", "model.decoder.embed_tokens.weight"),
    HF_WHOLE("embedding.weight", "lm_head.weight"),
    HF_WHOLE("encoder.embedding.weight", "model.encoder.embed_tokens.weight"),
    HF_WHOLE("decoder.embedding.weight", "model.decoder.embed_tokens.weight"),
    HF_WHOLE("output.weight", "lm_head.weight"),
    HF_WHOLE("output.bias", "final_logits_bias"),
    LAYER("encoder"),
    LAYER("decoder"),
    HF_LINEAR("decoder.layers.#.cross_attn.q", "model.decoder.layers.#.encoder_attn.q_proj"),
    HF_LINEAR_PART("decoder.layers.#.cross_attn.kv", "model.decoder.layers.#.encoder_attn.k_proj",
                   0, 2),
    HF_LINEAR_PART("decoder.layers.#.cross_attn.kv", "model.decoder.layers.#.encoder_attn.v_proj",
                   1, 2),
    HF_LINEAR("decoder.layers.#.cross_attn.out", "model.decoder.layers.#.encoder_attn.out_proj"),
    HF_LINEAR("decoder.layers.#.cross_attn.norm", "model.decoder.layers.#.encoder_attn_layer_norm"),
};
const int rapt__hf_row_count = sizeof rapt__hf_rows / sizeof *rapt__hf_rows;

const struct import_row rapt__hf_position_rows[] = {
    HF_WHOLE("encoder.positions.weight", HF_ENCODER_POSITIONS),
    HF_WHOLE("decoder.positions.weight", HF_DECODER_POSITIONS),
};

const struct import_row rapt__hf_norm_rows[] = {
    HF_LINEAR("encoder.norm", "model.encoder.layer_norm"),
    HF_LINEAR("decoder.norm", "model.decoder.layer_norm"),
};

const struct import_row rapt__hf_tied_rows[] = {
    HF_WHOLE("decoder.embedding.weight", "lm_head.weight"),
};

const struct hf_size rapt__hf_sizes[HF_SIZES] = {
    {"d_model", CONFIG_width, 1024},
    {"encoder_attention_heads", CONFIG_heads, 16},
    {"decoder_attention_heads", CONFIG_heads, 16},
    {"encoder_ffn_dim", CONFIG_ffn_width, 4096},
    {"decoder_ffn_dim", CONFIG_ffn_width, 4096},
    {"encoder_layers", CONFIG_encoder_layers, 12},
    {"decoder_layers", CONFIG_decoder_layers, 12},
    {"max_position_embeddings", CONFIG_positions, 1024},
};

const struct hf_flag rapt__hf_flags[HF_FLAGS] = {
    {"normalize_before", false},
    {"normalize_embedding", false},
    {"add_final_layer_norm", false},
    {"static_position_embeddings", true},
};

const struct hf_activation rapt__hf_activations[HF_ACTIVATIONS] = {
    {"gelu", RAPT_ACTIVATION_GELU},          {"relu", RAPT_ACTIVATION_RELU},
    {"swish", RAPT_ACTIVATION_SILU},         {"silu", RAPT_ACTIVATION_SILU},
    {"gelu_new", RAPT_ACTIVATION_GELU_TANH}, {"gelu_pytorch_tanh", RAPT_ACTIVATION_GELU_TANH},
};

/* ---- positions ---- */

/* Sets *equal to true if a position table matches the sinusoids computed from the configuration,
   otherwise to false. The shape of the table must already have been checked. Differences of up to
   2^-23 are ignored, because math libraries disagree in the last bits. */
static rapt_status compare_sinusoids(struct import *i, const struct tensor_entry *e, bool *equal)
{
    size_t bytes = 2 * e->count * sizeof(float);
    float *data = rapt__alloc(&i->allocator, bytes), *own = data ? data + e->count : NULL;
    if (!data)
        return rapt__fail(i->why, RAPT_NO_MEMORY, "out of memory while reading tensor %s", e->name);
    rapt_status status = rapt__tensors_read(i->file, e, 0, e->count, data, i->why);
    if (!status) rapt__positions_fill(&i->config, own);
    *equal = !status;
    for (size_t n = 0; n < e->count && *equal; n++) *equal = fabsf(data[n] - own[n]) <= 0x1p-23f;
    rapt__free(&i->allocator, data, bytes);
    return status;
}

/* Chooses the position encoding. transformers uses the tables in the file and computes sinusoids
   only if there are none. The tables of a 16-bit file are rounded, so they are imported as learned
   positions. */
static rapt_status choose_positions(struct import *i)
{
    static const char *const names[] = {HF_ENCODER_POSITIONS, HF_DECODER_POSITIONS};
    rapt_config *c = &i->config;
    bool equal = true;
    c->position = RAPT_POSITION_CONCATENATED;
    for (int n = 0; n < 2 && equal; n++) {
        const struct tensor_entry *e = rapt__tensors_find(i->file, names[n]);
        if (!e) continue;
        equal = c->width % 2 == 0 && e->rank == 2 && e->count > 0 &&
                e->shape[0] == (size_t)c->positions && e->shape[1] == (size_t)c->width;
        rapt_status status = equal ? compare_sinusoids(i, e, &equal) : RAPT_OK;
        if (status) return status;
    }
    if (!equal) c->position = RAPT_POSITION_LEARNED;
    for (int n = 0; n < 2 && equal; n++) rapt__import_use(i, rapt__tensors_find(i->file, names[n]));
    return RAPT_OK;
}

/* ---- the configuration ---- */

rapt_status rapt__hf_read_sizes(struct import *i, const struct import_settings *s,
                                const struct hf_size *sizes, int count)
{
    rapt_config *c = &i->config;
    for (int n = 0; n < count; n++) {
        const struct hf_size *own = &sizes[n], *before = n ? own - 1 : own;
        int value;
        rapt_status status = rapt__import_whole(i, s, own->key, own->otherwise, &value);
        if (status) return status;
        int other = rapt__config_get(c, (int)own->field);
        if (before != own && before->field == own->field && other != value)
            return rapt__import_bad(i, "config.json: %s is %d, but %s is %d; they must be equal",
                                    before->key, other, own->key, value);
        rapt__config_set(c, (int)own->field, &value);
    }
    return RAPT_OK;
}

static rapt_status read_vocab_sizes(struct import *i, const struct import_settings *s)
{
    rapt_config *c = &i->config;
    rapt_status status = rapt__import_whole(i, s, "vocab_size", 58101, &c->source_vocab);
    if (status) return status;
    return rapt__import_whole(i, s, "decoder_vocab_size", c->source_vocab, &c->target_vocab);
}

rapt_status rapt__hf_check_flags(struct import *i, const struct import_settings *s,
                                 const struct hf_flag *flags, int count)
{
    for (int n = 0; n < count; n++) {
        bool value;
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
    return rapt__import_bad(i, "config.json: tie_word_embeddings is false, but "
                               "share_encoder_decoder_embeddings is true");
}

rapt_status rapt__hf_set_activation(struct import *i, const char *key, const char *value,
                                    const char *name)
{
    for (int n = 0; n < HF_ACTIVATIONS; n++)
        if (strcmp(rapt__hf_activations[n].name, name) == 0) {
            i->config.activation = rapt__hf_activations[n].activation;
            return RAPT_OK;
        }
    return rapt__import_bad(i, "config.json: %s is %.60s, which is not supported", key, value);
}

rapt_status rapt__hf_read_activation(struct import *i, const struct import_settings *s,
                                     const char *key)
{
    const char *name = rapt__import_setting(s, key);
    if (!name) name = "gelu";
    return rapt__hf_set_activation(i, key, name, name);
}

static rapt_status read_config(struct import *i, const struct import_settings *s,
                               struct hf_ids *ids)
{
    rapt_config *c = &i->config;
    rapt_status status = rapt__hf_read_sizes(i, s, rapt__hf_sizes, HF_SIZES);
    if (!status) status = read_vocab_sizes(i, s);
    if (!status) status = rapt__hf_check_flags(i, s, rapt__hf_flags, HF_FLAGS);
    if (!status) status = read_ties(i, s);
    if (!status) status = rapt__hf_read_activation(i, s, "activation_function");
    if (!status) status = rapt__hf_read_ids(i, s, (struct hf_ids){58100, 0, -1}, ids);
    if (status) return status;
    c->decoder_start = ids->start == ids->pad   ? RAPT_DECODER_START_PAD
                       : ids->start == ids->end ? RAPT_DECODER_START_END
                                                : RAPT_DECODER_START_BEGIN;
    c->output_bias = 1;
    c->norm_epsilon = 1e-5f;
    return RAPT_OK;
}

/* ---- special tokens ---- */

rapt_status rapt__hf_read_ids(struct import *i, const struct import_settings *s,
                              struct hf_ids otherwise, struct hf_ids *ids)
{
    rapt_status status = rapt__import_id(i, s, "pad_token_id", otherwise.pad, &ids->pad);
    if (!status) status = rapt__import_id(i, s, "eos_token_id", otherwise.end, &ids->end);
    if (status) return status;
    const int start = otherwise.start < 0 ? ids->pad : otherwise.start;
    return rapt__import_id(i, s, "decoder_start_token_id", start, &ids->start);
}

rapt_status rapt__hf_check_start(struct import *i, const struct hf_ids *ids, const char *key,
                                 int id)
{
    if (ids->start == id) return RAPT_OK;
    return rapt__import_bad(i, "config.json: decoder_start_token_id is %d, not %s %d", ids->start,
                            key, id);
}

rapt_status rapt__hf_check_id(struct import *i, const rapt_tokenizer *t, int which, const char *key,
                              int id)
{
    const int32_t own = rapt_tokenizer_special(t, which);
    if (own == id) return RAPT_OK;
    return rapt__import_bad(i, "config.json: %s is %d, but %d in the vocabulary", key, id,
                            (int)own);
}

rapt_status rapt__hf_check_ids(struct import *i, const rapt_tokenizer *t, const struct hf_ids *ids)
{
    rapt_status status = rapt__hf_check_id(i, t, RAPT_TOKEN_END, "eos_token_id", ids->end);
    return status ? status : rapt__hf_check_id(i, t, RAPT_TOKEN_PAD, "pad_token_id", ids->pad);
}

/* ---- the vocabularies ---- */

static rapt_status read_side(struct import *i, const char *names, const char *model, int vocab,
                             rapt_tokenizer **tokenizer)
{
    rapt_tokenizer *pieces = NULL;
    rapt_status status = rapt__import_pieces(i, model, &pieces);
    if (!status) status = rapt__hf_names(i, names, vocab, pieces, tokenizer);
    rapt_tokenizer_free(pieces);
    return status;
}

/* Excludes the pad token from translations. The logit of its row of zeros would be 0, which is
   often the largest logit. The bias of the token is therefore set so low that its probability
   becomes 0. */
static void exclude_pad(struct import *i, int pad)
{
    static const float never = -1e9f;
    const struct layout *l = &i->model->layout;
    for (int n = 0; n < l->count; n++)
        if (strcmp(l->parameters[n].name, "output.bias") == 0)
            rapt__parameter_set(&l->parameters[n], i->model->block, (size_t)pad, 1, &never);
}

static rapt_status read_vocabularies(struct import *i, const struct hf_ids *ids)
{
    const rapt_config *c = &i->config;
    const char *other =
        rapt__import_has(i, "target_vocab.json") ? "target_vocab.json" : "vocab.json";
    rapt_status status = read_side(i, "vocab.json", "source.spm", c->source_vocab, &i->source);
    if (!status) status = read_side(i, other, "target.spm", c->target_vocab, &i->target);
    if (!status) status = rapt__hf_check_ids(i, i->target, ids);
    if (!status && c->decoder_start == RAPT_DECODER_START_BEGIN)
        status =
            rapt__hf_check_id(i, i->target, RAPT_TOKEN_BEGIN, "decoder_start_token_id", ids->start);
    return status;
}

static rapt_status import_marianmt(struct import *i, const struct import_settings *s)
{
    struct hf_ids ids = {0, 0, 0};
    rapt_status status = read_config(i, s, &ids);
    if (!status) status = rapt__import_hf_decoding(i, s, ids.pad, ids.end);
    snprintf(i->origin, sizeof i->origin, "MarianMT (Hugging Face), %s",
             rapt__container_name(rapt__tensors_container(i->file)));
    if (!status) status = choose_positions(i);
    const struct import_table tables[] = {
        {rapt__hf_rows, rapt__hf_row_count, 0},
        {rapt__hf_position_rows, HF_POSITION_ROWS, 0},
        {rapt__hf_tied_rows, i->config.tie == RAPT_TIE_OUTPUT, 0},
    };
    const int count = sizeof tables / sizeof *tables;
    if (!status) status = rapt__import_match(i, tables, count);
    if (!status) status = read_vocabularies(i, &ids);
    if (!status) status = rapt__import_fill(i, tables, count);
    if (!status) exclude_pad(i, ids.pad);
    return status;
}

rapt_status rapt__import_hf(struct import *i)
{
    struct import_settings s;
    rapt_status status = rapt__import_settings(i, "config.json", &s);
    if (status) return status;
    const char *type = rapt__import_setting(&s, "model_type");
    if (!type)
        status = rapt__import_bad(i, "config.json: model_type is missing or not a string");
    else if (strcmp(type, "marian") == 0)
        status = import_marianmt(i, &s);
    else if (strcmp(type, "t5") == 0 || strcmp(type, "mt5") == 0)
        status = rapt__import_t5(i, &s);
    else if (strcmp(type, "m2m_100") == 0)
        status = rapt__import_m2m(i, &s);
    else if (strcmp(type, "bart") == 0 || strcmp(type, "mbart") == 0)
        status = rapt__import_bart(i, &s);
    else if (rapt__import_is_encoder(type))
        status = rapt__import_encoder(i, &s);
    else
        status =
            rapt__import_bad(i, "config.json: model_type is %.60s, which is not supported", type);
    rapt__import_settings_free(i, &s);
    return status;
}
