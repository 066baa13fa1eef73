/* ct2_names.c - CTranslate2's names of parameters and attributes, shared by import and export. Its
   weights have the same layout as ours: [out][in], with queries, keys and values of self-attention
   in one matrix, and keys and values of cross-attention in another.
   Source: CTranslate2 4.8: transformer_spec.py, attention_spec.py, src/layers/transformer.cc. */
#include "import/ct2.h"

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
        NORM(side ".embedding_norm", side "/layernorm_embedding"),                                 \
        ALL(side ".positions.weight", side CT2_POSITIONS),                                         \
    {                                                                                              \
        side ".relative_bias.weight", side "/layer_#" CT2_BIASES, 0, 1, IMPORT_TRANSPOSED          \
    }

static const struct import_row rows[] = {
    ALL("embedding.weight", "decoder/embeddings/weight"),
    ALL("embedding.weight", "encoder/embeddings_0/weight"),
    ALL("embedding.weight", "encoder/embeddings/weight"), /* in older files */
    ALL("embedding.weight", "decoder/projection/weight"),
    ALL("encoder.embedding.weight", "encoder/embeddings_0/weight"),
    ALL("encoder.embedding.weight", "encoder/embeddings/weight"),
    ALL("encoder.types.weight", "encoder/embeddings_1/weight"),
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

int rapt__ct2_tables(const rapt_config *c, struct import_table tables[CT2_TABLES])
{
    tables[0] = (struct import_table){rows, sizeof rows / sizeof *rows, 0};
    tables[1] = (struct import_table){plain_rows, sizeof plain_rows / sizeof *plain_rows, 0};
    if (c->ffn_gated)
        tables[1] = (struct import_table){gated_rows, sizeof gated_rows / sizeof *gated_rows, 0};
    tables[2] = (struct import_table){tied_rows, 1, 0};
    return c->tie == RAPT_TIE_OUTPUT ? 3 : 2;
}

const struct ct2_attribute rapt__ct2_attributes[CT2_ATTRIBUTES] = {
    {"num_heads", "I16", true, true, 8, CT2_HEADS},
    {"pre_norm", "I8", true, true, 1, CT2_PRE_NORM},
    {"activation", "I8", true, true, CT2_RELU, CT2_ACTIVATION},
    {"scale_embeddings", "I8", true, true, 1, CT2_SCALED},
    {"start_from_zero_embedding", "I8", false, true, 0, CT2_ZERO_START},
    {"embeddings_merge", "I8", true, false, 0, CT2_ANY}, /* used only with several vocabularies */
    {"alignment_layer", "I16", false, true, -1, CT2_ALIGNMENT_LAYER},
    {"alignment_heads", "I16", false, true, 1, CT2_ALIGNMENT_HEADS},
    {"alibi", "I8", false, true, 0, CT2_ONLY},
    {"alibi_use_positive_positions", "I8", false, true, 0, CT2_ANY}, /* used only with alibi */
    {"scale_alibi", "I8", false, true, 0, CT2_ANY},
    {"multi_query_attention", "I8", true, false, 0, CT2_ONLY},
    {"sliding_window", NULL, false, false, 0, CT2_ONLY},
};

const int rapt__ct2_activations[CT2_ACTIVATIONS] = {[RAPT_ACTIVATION_RELU] = CT2_RELU,
                                                    [RAPT_ACTIVATION_GELU] = CT2_GELU,
                                                    [RAPT_ACTIVATION_SILU] = CT2_SWISH,
                                                    [RAPT_ACTIVATION_GELU_TANH] = CT2_GELU_TANH};

int rapt__ct2_value(const rapt_config *c, const struct ct2_attribute *a)
{
    switch (a->use) {
    case CT2_HEADS:
        return c->heads;
    case CT2_PRE_NORM:
        return c->norm_order == RAPT_NORM_ORDER_PRE;
    case CT2_ACTIVATION:
        return rapt__ct2_activations[c->activation];
    case CT2_SCALED:
        return !c->plain_embedding;
    case CT2_ZERO_START:
        return c->decoder_start == RAPT_DECODER_START_ZERO;
    case CT2_ALIGNMENT_LAYER:
        return c->alignment_layer - 1;
    case CT2_ALIGNMENT_HEADS:
        return c->alignment_layer ? rapt__config_int(c, CONFIG_alignment_heads) : c->heads;
    default:
        return a->otherwise;
    }
}
