/* hf_names.c - the names of MarianMT's parameters and options in Hugging Face Transformers, shared
   by import and export. Matrices are [out][in], with separate queries, keys and values. Source:
   transformers 4.57, modeling_marian.py, configuration_marian.py. */
#include "import/hf.h"

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
