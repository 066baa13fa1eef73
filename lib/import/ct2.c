/* ct2.c - a folder of CTranslate2: model.bin, its vocabularies and, from version 6 on, config.json.
   Weights lie there as ours do, [out][in], queries, keys and values in one matrix. Source:
   CTranslate2 4.8: transformer_spec.py, src/layers/transformer.cc, src/models. */
#include "import/parts.h"

#include <stdio.h>
#include <string.h>

enum { POSITIONS = 1024 }; /* of sinusoids, which have no end */

#define ALL(ours, theirs)                                                                          \
    {                                                                                              \
        ours, theirs, 0, 1, 0                                                                      \
    }
#define OPTIONAL(ours, theirs)                                                                     \
    {                                                                                              \
        ours, theirs, 0, 1, IMPORT_OPTIONAL                                                        \
    }
#define LINEAR(ours, theirs)                                                                       \
    ALL(ours ".weight", theirs "/weight"), OPTIONAL(ours ".bias", theirs "/bias")
#define NORM(ours, theirs)                                                                         \
    ALL(ours ".weight", theirs "/gamma"), OPTIONAL(ours ".bias", theirs "/beta")
#define SELF(side)                                                                                 \
    LINEAR(side ".layers.#.self_attn.qkv", side "/layer_#/self_attention/linear_0"),               \
        LINEAR(side ".layers.#.self_attn.out", side "/layer_#/self_attention/linear_1"),           \
        NORM(side ".layers.#.self_attn.norm", side "/layer_#/self_attention/layer_norm"),          \
        LINEAR(side ".layers.#.feedforward.out", side "/layer_#/ffn/linear_1"),                    \
        NORM(side ".layers.#.feedforward.norm", side "/layer_#/ffn/layer_norm"),                   \
        NORM(side ".norm", side "/layer_norm"),                                                    \
        ALL(side ".positions.weight", side "/position_encodings/encodings")

static const struct import_row rows[] = {
    ALL("embedding.weight", "decoder/embeddings/weight"),
    ALL("embedding.weight", "encoder/embeddings/weight"),
    ALL("embedding.weight", "encoder/embeddings_0/weight"),
    ALL("embedding.weight", "decoder/projection/weight"),
    ALL("encoder.embedding.weight", "encoder/embeddings/weight"),
    ALL("encoder.embedding.weight", "encoder/embeddings_0/weight"),
    ALL("decoder.embedding.weight", "decoder/embeddings/weight"),
    ALL("output.weight", "decoder/projection/weight"),
    OPTIONAL("output.bias", "decoder/projection/bias"),
    SELF("encoder"),
    SELF("decoder"),
    LINEAR("decoder.layers.#.cross_attn.q", "decoder/layer_#/attention/linear_0"),
    LINEAR("decoder.layers.#.cross_attn.kv", "decoder/layer_#/attention/linear_1"),
    LINEAR("decoder.layers.#.cross_attn.out", "decoder/layer_#/attention/linear_2"),
    NORM("decoder.layers.#.cross_attn.norm", "decoder/layer_#/attention/layer_norm"),
};
static const struct import_row tied_rows[] = {
    ALL("decoder.embedding.weight", "decoder/projection/weight"),
};
static const struct import_row plain_rows[] = {
    LINEAR("encoder.layers.#.feedforward.in", "encoder/layer_#/ffn/linear_0"),
    LINEAR("decoder.layers.#.feedforward.in", "decoder/layer_#/ffn/linear_0"),
};

#define HALF(ours, theirs, part)                                                                   \
    {ours ".weight", theirs "/weight", part, 2, 0},                                                \
    {                                                                                              \
        ours ".bias", theirs "/bias", part, 2, IMPORT_OPTIONAL                                     \
    }
static const struct import_row gated_rows[] = {
    HALF("encoder.layers.#.feedforward.in", "encoder/layer_#/ffn/linear_0", 0),
    HALF("encoder.layers.#.feedforward.in", "encoder/layer_#/ffn/linear_0_noact", 1),
    HALF("decoder.layers.#.feedforward.in", "decoder/layer_#/ffn/linear_0", 0),
    HALF("decoder.layers.#.feedforward.in", "decoder/layer_#/ffn/linear_0_noact", 1),
};

/* ---- the configuration ---- */

/* An attribute of both halves, which may stand once for both; they must agree. */
static rapt_status attribute(struct import *i, const char *name, int otherwise, int *value)
{
    char full[80];
    int common, halves[2];
    static const char *const sides[] = {"encoder", "decoder"};
    rapt_status status = rapt__import_number(i, name, otherwise, &common);
    for (int n = 0; n < 2 && !status; n++) {
        snprintf(full, sizeof full, "%s/%s", sides[n], name);
        status = rapt__import_number(i, full, common, &halves[n]);
    }
    if (status) return status;
    *value = halves[0];
    if (halves[0] == halves[1]) return RAPT_OK;
    return rapt__import_bad(i, "%s is %d in the encoder and %d in the decoder", name, halves[0],
                            halves[1]);
}

/* An attribute that changes nothing here. */
static void ignore(struct import *i, const char *name)
{
    static const char *const sides[] = {"", "encoder/", "decoder/"};
    char full[80];
    for (int n = 0; n < 3; n++) {
        snprintf(full, sizeof full, "%s%s", sides[n], name);
        rapt__import_use(i, rapt__tensors_find(i->file, full));
    }
}

/* An attribute that only one value of is supported. */
static rapt_status only(struct import *i, const char *name, int good)
{
    int value;
    rapt_status status = attribute(i, name, good, &value);
    if (status || value == good) return status;
    return rapt__import_bad(i, "%s is %d, which is not supported", name, value);
}

static rapt_status scaled(struct import *i, const char *side, int *yes)
{
    char name[80];
    const struct tensor_entry *e;
    snprintf(name, sizeof name, "%s/embeddings/multiply_by_sqrt_depth", side);
    rapt_status status = rapt__import_number(i, name, 1, yes);
    if (status) return status;
    snprintf(name, sizeof name, "%s/scale_embeddings", side);
    e = rapt__tensors_find(i->file, name);
    if (e && e->dtype[0] == 'F') return rapt__import_bad(i, "%s is a number of its own", name);
    return rapt__import_number(i, name, *yes, yes);
}

static rapt_status read_embeddings(struct import *i)
{
    int source, target;
    rapt_status status = scaled(i, "encoder", &source);
    if (!status) status = scaled(i, "decoder", &target);
    if (status) return status;
    i->config.plain_embedding = !source;
    if (source == target) return RAPT_OK;
    return rapt__import_bad(i, "scale_embeddings is %d in the encoder and %d in the decoder",
                            source, target);
}

static int layers_of(const struct import *i, const char *pattern)
{
    int count = 0;
    while (count < 1024 && rapt__import_find(i, pattern, count)) count++;
    return count;
}

static bool there(const struct import *i, const char *name)
{
    return rapt__tensors_find(i->file, name) != NULL;
}

/* Rows of a table; 0: there is none, or it is no matrix. */
static int rows_of(const struct import *i, const char *name)
{
    const struct tensor_entry *e = rapt__tensors_find(i->file, name);
    return e && e->rank == 2 && e->shape[0] <= 1 << 24 ? (int)e->shape[0] : 0;
}

static rapt_status read_sizes(struct import *i)
{
    rapt_config *c = &i->config;
    const struct tensor_entry *in =
        rapt__tensors_find(i->file, "encoder/layer_0/ffn/linear_0/weight");
    if (!in || in->rank != 2 || in->shape[0] > 1 << 20 || in->shape[1] > 1 << 16)
        return rapt__import_bad(i, "tensor encoder/layer_0/ffn/linear_0/weight is not there");
    c->width = (int)in->shape[1], c->ffn_width = (int)in->shape[0];
    c->encoder_layers = layers_of(i, "encoder/layer_#/self_attention/linear_0/weight");
    c->decoder_layers = layers_of(i, "decoder/layer_#/self_attention/linear_0/weight");
    c->source_vocab = rows_of(i, "encoder/embeddings/weight");
    if (!c->source_vocab) c->source_vocab = rows_of(i, "encoder/embeddings_0/weight");
    c->target_vocab = rows_of(i, "decoder/embeddings/weight");
    c->ffn_gated = there(i, "encoder/layer_0/ffn/linear_0_noact/weight");
    c->output_bias = there(i, "decoder/projection/bias");
    bool centered = there(i, "encoder/layer_0/self_attention/layer_norm/beta");
    c->norm_type = centered ? RAPT_NORM_TYPE_LAYER : RAPT_NORM_TYPE_RMS;
    c->norm_epsilon = centered ? 1e-5f : 1e-6f;
    c->positions = rows_of(i, "encoder/position_encodings/encodings");
    c->position = c->positions ? RAPT_POSITION_LEARNED : RAPT_POSITION_CONCATENATED_N1;
    c->first_position = !c->positions;
    if (!c->positions) c->positions = POSITIONS;
    return RAPT_OK;
}

/* Tables that are the bytes of another one. */
static bool same_bytes(const struct import *i, const char *a, const char *b)
{
    const struct tensor_entry *x = rapt__tensors_find(i->file, a),
                              *y = rapt__tensors_find(i->file, b);
    return x && y && x->begin == y->begin && x->end == y->end;
}

static rapt_tie ties_of(const struct import *i)
{
    static const char decoder[] = "decoder/embeddings/weight";
    bool output = same_bytes(i, decoder, "decoder/projection/weight");
    bool source = same_bytes(i, decoder, "encoder/embeddings/weight") ||
                  same_bytes(i, decoder, "encoder/embeddings_0/weight");
    return output && source ? RAPT_TIE_ALL : output ? RAPT_TIE_OUTPUT : RAPT_TIE_NONE;
}

static rapt_status read_activation(struct import *i)
{
    enum { RELU, GELU_TANH, SWISH, GELU };
    int value;
    rapt_status status = attribute(i, "activation", RELU, &value);
    i->config.activation = value == SWISH  ? RAPT_ACTIVATION_SILU
                           : value == GELU ? RAPT_ACTIVATION_GELU
                                           : RAPT_ACTIVATION_RELU;
    if (status || value == RELU || value == SWISH || value == GELU) return status;
    return rapt__import_bad(i, "activation is %d, which is not supported", value);
}

static rapt_status read_config(struct import *i)
{
    rapt_config *c = &i->config;
    int pre = 1, zero = 0, heads = strstr(rapt__tensors_metadata(i->file, "spec"), "Big") ? 16 : 8;
    rapt_status status = read_sizes(i);
    if (!status) status = attribute(i, "num_heads", heads, &c->heads);
    if (!status) status = attribute(i, "pre_norm", 1, &pre);
    if (!status) status = read_activation(i);
    if (!status) status = read_embeddings(i);
    if (!status) status = rapt__import_number(i, "decoder/start_from_zero_embedding", 0, &zero);
    ignore(i, "alignment_layer"); /* which weights to show */
    ignore(i, "alignment_heads");
    ignore(i, "embeddings_merge"); /* there is one vocabulary */
    if (!status) status = only(i, "alibi", 0);
    if (!status) status = only(i, "alibi_use_positive_positions", 1);
    if (!status) status = only(i, "scale_alibi", 0);
    if (!status) status = only(i, "scale_outputs", 0);
    if (!status) status = only(i, "multi_query_attention", 0);
    if (!status) status = only(i, "sliding_window", 0);
    c->norm_order = pre ? RAPT_NORM_ORDER_PRE : RAPT_NORM_ORDER_POST;
    c->decoder_start = zero ? RAPT_DECODER_START_ZERO : RAPT_DECODER_START_BEGIN;
    c->tie = ties_of(i);
    return status;
}

/* ---- what says how text becomes tokens ---- */

/* Whether sources begin and end with special tokens, and what targets begin with; in the file up to
   version 5. */
static rapt_status read_tokens(struct import *i)
{
    rapt_config *c = &i->config;
    int source_begin, source_end, target_begin, user;
    rapt_status status = rapt__import_number(i, "with_source_bos", 0, &source_begin);
    if (!status) status = rapt__import_number(i, "with_source_eos", 0, &source_end);
    if (!status) status = rapt__import_number(i, "with_target_bos", 1, &target_begin);
    if (!status) status = rapt__import_number(i, "user_decoder_start_tokens", 0, &user);
    if (status) return status;
    if (source_begin) return rapt__import_bad(i, "with_source_bos is not supported");
    if (user) return rapt__import_bad(i, "user_decoder_start_tokens is not supported");
    c->no_source_end = !source_end;
    if (!target_begin && !c->decoder_start) c->decoder_start = RAPT_DECODER_START_END;
    return RAPT_OK;
}

/* The special tokens are known by their usual names. */
static rapt_status check_name(struct import *i, const struct import_settings *s, const char *key,
                              const char *name)
{
    const char *text = rapt__import_setting(s, key);
    if (!text || strcmp(text, name) == 0) return RAPT_OK;
    return rapt__import_bad(i, "config.json: %s is \"%.60s\", not \"%s\"", key, text, name);
}

static rapt_status use_settings(struct import *i, const struct import_settings *s)
{
    rapt_config *c = &i->config;
    bool source_begin, source_end;
    const char *start = rapt__import_setting(s, "decoder_start_token");
    const char *epsilon = rapt__import_setting(s, "layer_norm_epsilon");
    rapt_status status = rapt__import_flag(i, s, "add_source_bos", false, &source_begin);
    if (!status) status = rapt__import_flag(i, s, "add_source_eos", false, &source_end);
    if (!status) status = check_name(i, s, "bos_token", "<s>");
    if (!status) status = check_name(i, s, "eos_token", "</s>");
    if (!status) status = check_name(i, s, "unk_token", "<unk>");
    if (status) return status;
    if (source_begin) return rapt__import_bad(i, "config.json: add_source_bos is not supported");
    c->no_source_end = !source_end;
    if (!start || strcmp(start, "</s>") == 0) {
        if (!c->decoder_start) c->decoder_start = RAPT_DECODER_START_END;
    } else if (strcmp(start, "<s>") != 0) {
        return rapt__import_bad(i, "config.json: decoder_start_token is \"%.60s\"", start);
    }
    if (epsilon && !rapt__float_read(epsilon, &c->norm_epsilon))
        return rapt__import_bad(i, "config.json: layer_norm_epsilon is %.60s", epsilon);
    return RAPT_OK;
}

static rapt_status read_settings(struct import *i)
{
    struct import_settings s;
    rapt_status status = rapt__import_settings(i, "config.json", &s);
    if (status) return status;
    status = use_settings(i, &s);
    rapt__import_settings_free(i, &s);
    return status;
}

/* The vocabulary of that name, as text or JSON. */
static rapt_status read_vocabulary(struct import *i, const char *name, int vocab,
                                   rapt_tokenizer **tokenizer)
{
    char file[80];
    snprintf(file, sizeof file, "%s.json", name);
    if (rapt__import_has(i, file)) return rapt__import_names(i, file, vocab, NULL, tokenizer);
    snprintf(file, sizeof file, "%s.txt", name);
    return rapt__import_names(i, file, vocab, NULL, tokenizer);
}

static rapt_status read_vocabularies(struct import *i)
{
    const rapt_config *c = &i->config;
    bool shared = rapt__import_has(i, "shared_vocabulary.json") ||
                  rapt__import_has(i, "shared_vocabulary.txt");
    if (shared && c->source_vocab != c->target_vocab)
        return rapt__import_bad(i, "one shared vocabulary, but tables of %d and %d rows",
                                c->source_vocab, c->target_vocab);
    if (shared) return read_vocabulary(i, "shared_vocabulary", c->source_vocab, &i->source);
    rapt_status status = read_vocabulary(i, "source_vocabulary", c->source_vocab, &i->source);
    if (!status) status = read_vocabulary(i, "target_vocabulary", c->target_vocab, &i->target);
    return status;
}

rapt_status rapt__import_ct2(struct import *i)
{
    const char *spec = rapt__tensors_metadata(i->file, "spec");
    const char *version = rapt__tensors_metadata(i->file, "binary_version");
    const char *revision = rapt__tensors_metadata(i->file, "revision");
    if (!spec || strncmp(spec, "Transformer", 11) != 0 || strstr(spec, "Decoder") ||
        strstr(spec, "Encoder"))
        return rapt__import_bad(i, "its kind is %.60s, not that of a translator",
                                spec ? spec : "unknown");
    snprintf(i->origin, sizeof i->origin, "CTranslate2 model.bin, version %.8s, %.60s %.8s",
             version ? version : "?", spec, revision ? revision : "?");
    rapt_status status = read_config(i);
    if (!status && version && strcmp(version, "6") >= 0) status = read_settings(i);
    if (!status && (!version || strcmp(version, "6") < 0)) status = read_tokens(i);
    if (!status) status = rapt__import_make(i);
    const struct import_table tables[] = {
        {rows, sizeof rows / sizeof *rows, 0},
        i->config.ffn_gated
            ? (struct import_table){gated_rows, sizeof gated_rows / sizeof *gated_rows, 0}
            : (struct import_table){plain_rows, sizeof plain_rows / sizeof *plain_rows, 0},
        {tied_rows, i->config.tie == RAPT_TIE_OUTPUT, 0},
    };
    if (!status) status = rapt__import_fill(i, tables, sizeof tables / sizeof *tables);
    return status ? status : read_vocabularies(i);
}
