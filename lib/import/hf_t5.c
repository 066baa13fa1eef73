/* hf_t5.c - imports T5 (Raffel et al. 2020), mT5 (Xue et al. 2021), ByT5 (Xue et al. 2022) and
   MADLAD-400 (Kudugunta et al. 2023) from a Hugging Face folder: config.json, the weights and the
   vocabulary, which consists of pieces and extra ids. ByT5 has no SentencePiece file, so a
   SentencePiece model is created for it, with the pieces <pad>, </s>, <unk> and the 256 bytes.
   Models of version 1.0, whose output matrix is tied to the embeddings, multiply the decoder's
   output by width^-0.5. This factor becomes part of the gain of the decoder's last norm. Source:
   transformers 4.57, modeling_t5.py, tokenization_t5.py, tokenization_byt5.py. */
#include "import/hf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- names. T5's linear layers have no biases, so ours are filled with 0. ---- */

#define NO_BIAS(ours, theirs, part, parts)                                                         \
    HF_PART(ours ".weight", theirs ".weight", part, parts),                                        \
    {                                                                                              \
        ours ".bias", theirs ".bias", part, parts, IMPORT_OPTIONAL                                 \
    }
#define SELF(side)                                                                                 \
    NO_BIAS(side ".layers.#.self_attn.qkv", side ".block.#.layer.0.SelfAttention.q", 0, 3),        \
        NO_BIAS(side ".layers.#.self_attn.qkv", side ".block.#.layer.0.SelfAttention.k", 1, 3),    \
        NO_BIAS(side ".layers.#.self_attn.qkv", side ".block.#.layer.0.SelfAttention.v", 2, 3),    \
        NO_BIAS(side ".layers.#.self_attn.out", side ".block.#.layer.0.SelfAttention.o", 0, 1),    \
        HF_WHOLE(side ".layers.#.self_attn.norm.weight",                                           \
                 side ".block.#.layer.0.layer_norm.weight")
#define FEEDFORWARD(side, number)                                                                  \
    NO_BIAS(side ".layers.#.feedforward.in", side ".block.#.layer." number ".DenseReluDense.wi",   \
            0, 1),                                                                                 \
        NO_BIAS(side ".layers.#.feedforward.out",                                                  \
                side ".block.#.layer." number ".DenseReluDense.wo", 0, 1),                         \
        HF_WHOLE(side ".layers.#.feedforward.norm.weight",                                         \
                 side ".block.#.layer." number ".layer_norm.weight")
#define BIASES(side)                                                                               \
    {                                                                                              \
        side ".relative_bias.weight",                                                              \
            side ".block.0.layer.0.SelfAttention.relative_attention_bias.weight", 0, 1,            \
            IMPORT_TRANSPOSED                                                                      \
    }

static const struct import_row rows[] = {
    /* shared tables may be stored under any of their names */
    HF_WHOLE("embedding.weight", "shared.weight"),
    HF_WHOLE("embedding.weight", "encoder.embed_tokens.weight"),
    HF_WHOLE("embedding.weight", "decoder.embed_tokens.weight"),
    HF_WHOLE("encoder.embedding.weight", "shared.weight"),
    HF_WHOLE("encoder.embedding.weight", "encoder.embed_tokens.weight"),
    HF_WHOLE("encoder.embedding.weight", "decoder.embed_tokens.weight"),
    HF_WHOLE("decoder.embedding.weight", "shared.weight"),
    HF_WHOLE("decoder.embedding.weight", "encoder.embed_tokens.weight"),
    HF_WHOLE("decoder.embedding.weight", "decoder.embed_tokens.weight"),
    HF_WHOLE("output.weight", "lm_head.weight"),
    BIASES("encoder"),
    BIASES("decoder"),
    SELF("encoder"),
    FEEDFORWARD("encoder", "1"),
    HF_WHOLE("encoder.norm.weight", "encoder.final_layer_norm.weight"),
    SELF("decoder"),
    NO_BIAS("decoder.layers.#.cross_attn.q", "decoder.block.#.layer.1.EncDecAttention.q", 0, 1),
    NO_BIAS("decoder.layers.#.cross_attn.kv", "decoder.block.#.layer.1.EncDecAttention.k", 0, 2),
    NO_BIAS("decoder.layers.#.cross_attn.kv", "decoder.block.#.layer.1.EncDecAttention.v", 1, 2),
    NO_BIAS("decoder.layers.#.cross_attn.out", "decoder.block.#.layer.1.EncDecAttention.o", 0, 1),
    HF_WHOLE("decoder.layers.#.cross_attn.norm.weight",
             "decoder.block.#.layer.1.layer_norm.weight"),
    FEEDFORWARD("decoder", "2"),
    HF_WHOLE("decoder.norm.weight", "decoder.final_layer_norm.weight"),
};
/* Used for files that have the tied table only as lm_head.weight. */
static const struct import_row output_rows[] = {
    HF_WHOLE("embedding.weight", "lm_head.weight"),
};
/* In gated layers, the half that is activated comes first. */
static const struct import_row gated_rows[] = {
    NO_BIAS("encoder.layers.#.feedforward.in", "encoder.block.#.layer.1.DenseReluDense.wi_0", 0, 2),
    NO_BIAS("encoder.layers.#.feedforward.in", "encoder.block.#.layer.1.DenseReluDense.wi_1", 1, 2),
    NO_BIAS("decoder.layers.#.feedforward.in", "decoder.block.#.layer.2.DenseReluDense.wi_0", 0, 2),
    NO_BIAS("decoder.layers.#.feedforward.in", "decoder.block.#.layer.2.DenseReluDense.wi_1", 1, 2),
};

static const struct hf_size sizes[] = {
    {"d_model", CONFIG_width, 512},
    {"num_heads", CONFIG_heads, 8},
    {"d_ff", CONFIG_ffn_width, 2048},
    {"num_layers", CONFIG_encoder_layers, 6},
    {"vocab_size", CONFIG_source_vocab, 32128},
    {"vocab_size", CONFIG_target_vocab, 32128},
    {"relative_attention_num_buckets", CONFIG_relative_buckets, 32},
    {"relative_attention_max_distance", CONFIG_relative_distance, 128},
    {"n_positions", CONFIG_positions, 512},
};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* ---- the configuration ---- */

/* Reads feed_forward_proj, the name of an activation, with "gated-" before it in gated layers. In
   "gated-gelu", "gelu" is the tanh approximation. */
static rapt_status read_feedforward(struct import *i, const struct import_settings *s)
{
    static const char gated[] = "gated-";
    const char *name = rapt__import_setting(s, "feed_forward_proj");
    if (!name) name = "relu";
    i->config.ffn_gated = strncmp(name, gated, sizeof gated - 1) == 0;
    const char *activation = name + (i->config.ffn_gated ? sizeof gated - 1 : 0);
    if (strcmp(name, "gated-gelu") == 0) activation = "gelu_new";
    return rapt__hf_set_activation(i, "feed_forward_proj", name, activation);
}

static rapt_status read_heads(struct import *i, const struct import_settings *s)
{
    rapt_config *c = &i->config;
    rapt_status status = rapt__import_whole(i, s, "d_kv", 64, &c->head_width);
    if (!status && c->head_width == 0)
        return rapt__import_bad(i, "config.json: d_kv is 0; it must be at least 1");
    if ((long long)c->head_width * c->heads == c->width) c->head_width = 0;
    return status;
}

struct t5_settings { /* properties of the model that are not in i->config */
    struct hf_ids ids;
    bool scaled;      /* the decoder's output is multiplied by width^-0.5 */
    bool only_output; /* the file has the tied table only as lm_head.weight */
};

static rapt_status read_t5_config(struct import *i, const struct import_settings *s,
                                  struct t5_settings *own)
{
    rapt_config *c = &i->config;
    rapt_status status = rapt__hf_read_sizes(i, s, sizes, SIZES);
    if (!status)
        status =
            rapt__import_whole(i, s, "num_decoder_layers", c->encoder_layers, &c->decoder_layers);
    if (!status) status = read_feedforward(i, s);
    if (!status) status = read_heads(i, s);
    if (!status) status = rapt__import_float(i, s, "layer_norm_epsilon", 1e-6f, &c->norm_epsilon);
    if (!status) status = rapt__hf_read_ids(i, s, (struct hf_ids){0, 1, -1}, &own->ids);
    c->self_score = c->cross_score = RAPT_SCORE_DOT;
    c->norm_order = RAPT_NORM_ORDER_PRE, c->norm_type = RAPT_NORM_TYPE_RMS;
    c->position = RAPT_POSITION_NONE, c->relative_bias = RAPT_RELATIVE_BIAS_T5;
    if (status) return status;
    c->decoder_start =
        own->ids.start == own->ids.pad ? RAPT_DECODER_START_PAD : RAPT_DECODER_START_UNKNOWN;
    c->plain_embedding = 1;
    return status;
}

/* ---- the output matrix ---- */

/* Sets *equal to whether two tensors have the same shape and values. */
static rapt_status compare_tensors(struct import *i, const struct tensor_entry *a,
                                   const struct tensor_entry *b, bool *equal)
{
    float x[1024], y[1024];
    rapt_status status = RAPT_OK;
    *equal = a->rank == b->rank && a->count == b->count && a->shape[0] == b->shape[0];
    for (size_t at = 0; at < a->count && *equal && !status; at += 1024) {
        const size_t count = rapt__min_size(a->count - at, 1024);
        status = rapt__tensors_read(i->file, a, at, count, x, i->why);
        if (!status) status = rapt__tensors_read(i->file, b, at, count, y, i->why);
        *equal = !status && memcmp(x, y, count * sizeof *x) == 0;
    }
    return status;
}

/* Returns the embedding table, under the first of its names that is in the file, or NULL. */
static const struct tensor_entry *find_table(const struct import *i)
{
    static const char *const names[] = {"shared.weight", "encoder.embed_tokens.weight",
                                        "decoder.embed_tokens.weight"};
    const struct tensor_entry *e = NULL;
    for (int n = 0; n < 3 && !e; n++) e = rapt__import_find(i, names[n], 0);
    return e;
}

/* Sets config.tie according to the tensors, because transformers 5 writes tie_word_embeddings: true
   even for models with a separate output matrix. Unless scale_decoder_outputs is given, the
   decoder's output is scaled if the output matrix is tied according to both the tensors and the
   settings. An output matrix that is equal to the table is marked as used, because the tied model
   has no parameter for it. */
static rapt_status read_output(struct import *i, const struct import_settings *s,
                               struct t5_settings *own)
{
    const struct tensor_entry *matrix = rapt__import_find(i, "lm_head.weight", 0),
                              *table = find_table(i);
    bool equal = true, tied = true;
    rapt_status status = matrix && table ? compare_tensors(i, matrix, table, &equal) : RAPT_OK;
    own->only_output = !table;
    if (table && equal) rapt__import_use(i, matrix);
    i->config.tie = equal ? RAPT_TIE_ALL : RAPT_TIE_NONE;
    if (!status) status = rapt__import_flag(i, s, "tie_word_embeddings", true, &tied);
    if (status) return status;
    return rapt__import_flag(i, s, "scale_decoder_outputs", equal && tied, &own->scaled);
}

/* ---- the vocabulary ---- */

enum { EXTRA_NAME = 24 }; /* capacity for a name such as "<extra_id_99>" */

/* Names the rows of the table: the pieces, then the extra ids. Further rows have no name. `spelled`
   has EXTRA_NAME bytes for each row. */
static void name_rows(const rapt_tokenizer *pieces, int extra, bool ascending, rapt_text *names,
                      int count, char *spelled)
{
    const int known = rapt_tokenizer_vocab(pieces);
    for (int id = 0; id < count; id++, spelled += EXTRA_NAME) {
        const int place = id - known, number = ascending ? place : extra - 1 - place;
        names[id] = (rapt_text){"", 0};
        if (id < known)
            names[id] = rapt_tokenizer_name(pieces, id);
        else if (place < extra)
            names[id] = (rapt_text){spelled,
                                    (size_t)snprintf(spelled, EXTRA_NAME, "<extra_id_%d>", number)};
    }
}

static rapt_status make_vocabulary(struct import *i, const rapt_tokenizer *pieces, int extra,
                                   bool ascending)
{
    const int count = i->config.source_vocab;
    const size_t bytes = (size_t)count * (sizeof(rapt_text) + EXTRA_NAME);
    if (rapt_tokenizer_vocab(pieces) > count)
        return rapt__import_bad(i,
                                "the vocabulary has %d pieces, but the model's table has %d rows",
                                rapt_tokenizer_vocab(pieces), count);
    rapt_text *names = rapt__alloc(&i->allocator, bytes);
    if (!names) return rapt__fail(i->why, RAPT_NO_MEMORY, "no memory for a vocabulary");
    name_rows(pieces, extra, ascending, names, count, (char *)(names + count));
    rapt_status status =
        rapt_tokenizer_create_list(&i->source, names, count, pieces, &i->allocator, i->why);
    rapt__free(&i->allocator, names, bytes);
    return status == RAPT_BAD_ARGUMENT ? RAPT_BAD_FILE : status;
}

/* Checks the ids of the pad and end tokens. As input, the pad token is used only to start the
   decoder. If the decoder starts with another token and the vocabulary has no <pad>, the id of the
   pad token is therefore not checked. */
static rapt_status check_t5_ids(struct import *i, const struct hf_ids *ids)
{
    if (i->config.decoder_start == RAPT_DECODER_START_PAD ||
        rapt_tokenizer_special(i->source, RAPT_TOKEN_PAD) >= 0)
        return rapt__hf_check_ids(i, i->source, ids);
    return rapt__hf_check_id(i, i->source, RAPT_TOKEN_END, "eos_token_id", ids->end);
}

static rapt_status read_t5_vocabulary(struct import *i, const struct import_settings *s,
                                      const struct t5_settings *own)
{
    rapt_tokenizer *pieces = NULL;
    int extra = 0;
    bool ascending = false;
    const bool json = rapt__hf_only_json(i, "spiece.model");
    rapt_status status =
        json ? rapt__hf_json(i, "Unigram") : rapt__hf_t5_pieces(i, s, &pieces, &extra, &ascending);
    if (!status && !json) status = make_vocabulary(i, pieces, extra, ascending);
    rapt_tokenizer_free(pieces);
    if (!status) status = check_t5_ids(i, &own->ids);
    if (status || i->config.decoder_start == RAPT_DECODER_START_PAD) return status;
    return rapt__hf_check_id(i, i->source, RAPT_TOKEN_UNKNOWN, "decoder_start_token_id",
                             own->ids.start);
}

/* Ignores a table that old files contain although cross-attention has no biases. */
static void ignore_unused(struct import *i)
{
    static const char unused[] =
        "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight";
    rapt__import_use(i, rapt__import_find(i, unused, 0));
}

rapt_status rapt__import_t5(struct import *i, const struct import_settings *s)
{
    struct t5_settings own = {.scaled = false};
    snprintf(i->origin, sizeof i->origin, "T5 (Hugging Face), %s",
             rapt__container_name(rapt__tensors_container(i->file)));
    rapt_status status = read_t5_config(i, s, &own);
    if (!status) status = rapt__import_hf_decoding(i, s, own.ids.pad, own.ids.end);
    if (!status) status = read_output(i, s, &own);
    const struct import_table tables[] = {
        {rows, sizeof rows / sizeof *rows, 0},
        {output_rows, own.only_output, 0},
        {gated_rows, i->config.ffn_gated ? (int)(sizeof gated_rows / sizeof *gated_rows) : 0, 0},
    };
    const int count = sizeof tables / sizeof *tables;
    ignore_unused(i);
    if (!status) status = rapt__import_match(i, tables, count);
    if (!status) status = read_t5_vocabulary(i, s, &own);
    if (!status) status = rapt__import_fill(i, tables, count);
    if (!status && own.scaled)
        rapt__import_scale_output(i, (float)(1 / sqrt((double)i->config.width)));
    return status;
}

/* ---- a SentencePiece model of bytes ---- */

static void write_bytes(struct pieces_writer *w)
{
    /* no piece has type NORMAL, so every character is split into its bytes */
    static const struct pieces_options options = {.kind = PIECES_CHARACTER, .byte_fallback = true};
    w->size = 0;
    rapt__pieces_put(w, (rapt_text){"<pad>", 5}, 0, PIECE_CONTROL);
    rapt__pieces_put(w, (rapt_text){"</s>", 4}, 0, PIECE_CONTROL);
    rapt__pieces_put(w, (rapt_text){"<unk>", 5}, 0, PIECE_UNKNOWN);
    for (int byte = 0; byte < 256; byte++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)byte);
        rapt__pieces_put(w, (rapt_text){name, 6}, 0, PIECE_BYTE);
    }
    rapt__pieces_finish(w, &options);
}

static rapt_status make_bytes(struct import *i, rapt_tokenizer **pieces)
{
    struct pieces_writer w = {.bytes = NULL};
    write_bytes(&w);
    const size_t size = w.size;
    w.bytes = rapt__alloc(&i->allocator, size);
    if (!w.bytes) return rapt__fail(i->why, RAPT_NO_MEMORY, "no memory for a vocabulary");
    write_bytes(&w);
    rapt_status status = rapt_tokenizer_load_memory(pieces, w.bytes, size, &i->allocator, i->why);
    rapt__free(&i->allocator, w.bytes, size);
    return status;
}

/* ---- the pieces: spiece.model or bytes ---- */

/* Returns whether the tokenizer of a folder is ByT5's, according to the settings of
   tokenizer_config.json or, if these do not name it, of config.json. */
static bool is_byt5(const struct import_settings *tokenizer, const struct import_settings *config)
{
    const char *name = rapt__import_setting(tokenizer, "tokenizer_class");
    if (!name) name = rapt__import_setting(config, "tokenizer_class");
    return name && strcmp(name, "ByT5Tokenizer") == 0;
}

rapt_status rapt__hf_t5_pieces(struct import *i, const struct import_settings *config,
                               rapt_tokenizer **pieces, int *extra, bool *ascending)
{
    static const char file[] = "tokenizer_config.json";
    struct import_settings s = {0};
    rapt_status status = RAPT_OK;
    if (rapt__import_has(i, file)) status = rapt__import_settings(i, file, &s);
    if (status) return status;
    *ascending = is_byt5(&s, config);
    status = rapt__import_whole(i, &s, "extra_ids", *ascending ? HF_BYTE_EXTRA : 100, extra);
    rapt__import_settings_free(i, &s);
    if (status) return status;
    if (!*ascending) return rapt__import_pieces(i, "spiece.model", pieces);
    if (!*extra) *extra = HF_BYTE_EXTRA; /* transformers always writes 0 */
    return make_bytes(i, pieces);
}
