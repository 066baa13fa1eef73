/* marian.c - imports a Marian model: model.bin or model.npz, which contains its configuration, and
   the vocabularies in the same folder. This includes models from OPUS-MT and Firefox (Bergamot).
   The matrices of layers are [in][out], and layers are numbered from 1. An unsupported option that
   changes the results is rejected, and the message names it. Source: marian-nmt/marian-dev 1.12,
   transformer.h, layers/generic.h, rnn/cells.h; browsermt/marian-dev. */
#include "import/parts.h"

#include <stdio.h>
#include <string.h>

enum { POSITIONS = 1024 }; /* rows of our table of sinusoids; Marian has no limit */

#define PART(ours, theirs, part, parts)                                                            \
    {                                                                                              \
        ours, theirs, part, parts, IMPORT_TRANSPOSED                                               \
    }
#define VECTOR(ours, theirs, part, parts)                                                          \
    {                                                                                              \
        ours, theirs, part, parts, IMPORT_OPTIONAL                                                 \
    }
/* The tensors of a norm. The prefix of their names is `after` if the norm follows its sublayer, and
   `before` if it precedes it. */
#define NORMS(ours, after, before)                                                                 \
    {ours ".weight", after "_ln_scale", 0, 1, 0},                                                  \
        {ours ".weight", before "_ln_scale_pre", 0, 1, 0},                                         \
        {ours ".weight", after "_rms_scale", 0, 1, 0},                                             \
        {ours ".weight", before "_rms_scale_pre", 0, 1, 0},                                        \
        {ours ".bias", after "_ln_bias", 0, 1, 0},                                                 \
    {                                                                                              \
        ours ".bias", before "_ln_bias_pre", 0, 1, 0                                               \
    }
#define NORM(ours, theirs) NORMS(ours, theirs, theirs)
#define LAYER(side)                                                                                \
    PART(side ".layers.#.self_attn.qkv.weight", side "_l#_self_Wq", 0, 3),                         \
        PART(side ".layers.#.self_attn.qkv.weight", side "_l#_self_Wk", 1, 3),                     \
        PART(side ".layers.#.self_attn.qkv.weight", side "_l#_self_Wv", 2, 3),                     \
        VECTOR(side ".layers.#.self_attn.qkv.bias", side "_l#_self_bq", 0, 3),                     \
        VECTOR(side ".layers.#.self_attn.qkv.bias", side "_l#_self_bk", 1, 3),                     \
        VECTOR(side ".layers.#.self_attn.qkv.bias", side "_l#_self_bv", 2, 3),                     \
        PART(side ".layers.#.self_attn.out.weight", side "_l#_self_Wo", 0, 1),                     \
        VECTOR(side ".layers.#.self_attn.out.bias", side "_l#_self_bo", 0, 1),                     \
        NORM(side ".layers.#.self_attn.norm", side "_l#_self_Wo"),                                 \
        PART(side ".layers.#.feedforward.in.weight", side "_l#_ffn_W1", 0, 1),                     \
        VECTOR(side ".layers.#.feedforward.in.bias", side "_l#_ffn_b1", 0, 1),                     \
        PART(side ".layers.#.feedforward.out.weight", side "_l#_ffn_W2", 0, 1),                    \
        VECTOR(side ".layers.#.feedforward.out.bias", side "_l#_ffn_b2", 0, 1),                    \
        NORM(side ".layers.#.feedforward.norm", side "_l#_ffn_ffn"),                               \
        NORM(side ".norm", side "_top")

const struct import_row rapt__marian_rows[] = {
    {"embedding.weight", "Wemb", 0, 1, 0},
    {"encoder.embedding.weight", "encoder_Wemb", 0, 1, 0},
    {"encoder.embedding.weight", "Wemb", 0, 1, 0}, /* if only tied-embeddings-src is set */
    {"decoder.embedding.weight", "decoder_Wemb", 0, 1, 0},
    {"decoder.embedding.weight", "Wemb", 0, 1, 0},
    {"output.weight", "decoder_ff_logit_out_Wt", 0, 1, 0},
    {"output.weight", "decoder_ff_logit_out_W", 0, 1, IMPORT_TRANSPOSED},
    {"output.bias", "decoder_ff_logit_out_b", 0, 1, IMPORT_OPTIONAL},
    LAYER("encoder"),
    LAYER("decoder"),
    PART("decoder.layers.#.cross_attn.q.weight", "decoder_l#_context_Wq", 0, 1),
    VECTOR("decoder.layers.#.cross_attn.q.bias", "decoder_l#_context_bq", 0, 1),
    PART("decoder.layers.#.cross_attn.kv.weight", "decoder_l#_context_Wk", 0, 2),
    PART("decoder.layers.#.cross_attn.kv.weight", "decoder_l#_context_Wv", 1, 2),
    VECTOR("decoder.layers.#.cross_attn.kv.bias", "decoder_l#_context_bk", 0, 2),
    VECTOR("decoder.layers.#.cross_attn.kv.bias", "decoder_l#_context_bv", 1, 2),
    PART("decoder.layers.#.cross_attn.out.weight", "decoder_l#_context_Wo", 0, 1),
    VECTOR("decoder.layers.#.cross_attn.out.bias", "decoder_l#_context_bo", 0, 1),
    NORM("decoder.layers.#.cross_attn.norm", "decoder_l#_context_Wo"),
    PART("decoder.layers.#.recurrent.input.weight", "decoder_l#_rnn_W", 0, 1),
    PART("decoder.layers.#.recurrent.forget.weight", "decoder_l#_rnn_Wf", 0, 1),
    VECTOR("decoder.layers.#.recurrent.forget.bias", "decoder_l#_rnn_bf", 0, 1),
    NORMS("decoder.layers.#.recurrent.norm", "decoder_l#_rnn_ffn", "decoder_l#_rnn"),
};
const int rapt__marian_row_count = sizeof rapt__marian_rows / sizeof *rapt__marian_rows;

/* ---- the configuration ---- */

/* Options that, if present, must have one of these values; `type` must be present. The functions
   below read the options on which the configuration depends. All other options are ignored. */
static const struct {
    const char *key, *good, *too; /* `too` is a second supported value, or NULL */
} options[] = {
    {"type", "transformer", NULL},
    {"transformer-no-projection", "false", NULL},
    {"transformer-no-bias", "false", NULL},
    {"transformer-no-affine", "false", NULL},
    {"transformer-rnn-projection", "false", NULL},
    {"transformer-pool", "false", NULL},
    {"transformer-attention-mask", "none", "default"},
    {"transformer-train-position-embeddings", "false", NULL},
    {"transformer-train-positions", "false", NULL},
    {"transformer-disable-position-embeddings", "false", NULL},
    {"transformer-ffn-depth", "2", NULL},
    {"transformer-decoder-ffn-depth", "0", "2"},
    {"transformer-postprocess-emb", "d", ""},
    {"layer-normalization", "false", NULL},
    {"right-left", "false", NULL}, /* true if targets are generated from right to left */
    {"lemma-dim-emb", "0", NULL},
    {"factors-dim-emb", "0", NULL},
    {"ulr", "false", NULL},
    {"bert-train-type-embeddings", "false", "true"},
};

const char *rapt__import_option(const struct yaml *y, const char *key)
{
    static const char *const words[][3] = {{"true", "True", "TRUE"}, {"false", "False", "FALSE"}};
    const struct yaml_item *item = rapt__yaml_find(y, key);
    if (!item || !item->value || item->quoted) return item ? item->value : NULL;
    for (int n = 0; n < 6; n++)
        if (strcmp(item->value, words[n / 3][n % 3]) == 0) return words[n / 3][0];
    return item->value;
}

static rapt_status refuse(struct import *i, const char *key, const char *value)
{
    return rapt__import_bad(i, "%s: %.60s is not supported", key, value);
}

static rapt_status check_options(struct import *i, const struct yaml *y)
{
    for (size_t n = 0; n < sizeof options / sizeof *options; n++) {
        const char *value = rapt__import_option(y, options[n].key);
        bool good = !value || strcmp(value, options[n].good) == 0 ||
                    (options[n].too && strcmp(value, options[n].too) == 0);
        if (!good) return refuse(i, options[n].key, value);
    }
    const struct yaml_item *tied = rapt__yaml_find(y, "transformer-tied-layers");
    if (tied && tied->length > 0) return refuse(i, "transformer-tied-layers", "a list of layers");
    const struct yaml_item *inputs = rapt__yaml_find(y, "input-types");
    if (inputs && inputs->length > 0) return refuse(i, "input-types", "a list");
    return rapt__import_option(y, "type") ? RAPT_OK
                                          : rapt__import_bad(i, "special:model.yml has no type");
}

/* Reads an integer, or uses `otherwise` if the key is missing. If `otherwise` is negative, a
   missing key is an error. */
static rapt_status number(struct import *i, const struct yaml *y, const char *key, int otherwise,
                          int *value)
{
    const char *text = rapt__import_option(y, key), *at = text;
    int sum = 0;
    *value = otherwise;
    if (!text && otherwise < 0) return rapt__import_bad(i, "special:model.yml has no %s", key);
    if (!text) return RAPT_OK;
    for (; *at >= '0' && *at <= '9' && sum < 1 << 24; at++) sum = 10 * sum + (*at - '0');
    if (*at || at == text) return refuse(i, key, text);
    *value = sum;
    return RAPT_OK;
}

static bool is_true(const struct yaml *y, const char *key)
{
    const char *value = rapt__import_option(y, key);
    return value && strcmp(value, "true") == 0;
}

/* Copies the operations around a sublayer to `text`, except dropout (d), which inference does not
   use. Returns `text`. */
static const char *operations(const struct yaml *y, const char *key, const char *otherwise,
                              char text[16])
{
    const char *value = rapt__import_option(y, key);
    size_t n = 0;
    for (const char *at = value ? value : otherwise; *at && n < 15; at++)
        if (*at != 'd') text[n++] = *at;
    text[n] = 0;
    return text;
}

/* Determines the type of the norms and where they are placed: either after each sublayer, or before
   each sublayer and at the end of the stack. */
static rapt_status read_norms(struct import *i, const struct yaml *y)
{
    static const struct {
        const char *before, *after, *top;
        rapt_norm_order order;
        rapt_norm_type type;
    } all[] = {
        {"", "an", "", RAPT_NORM_ORDER_POST, RAPT_NORM_TYPE_LAYER},
        {"n", "a", "n", RAPT_NORM_ORDER_PRE, RAPT_NORM_TYPE_LAYER},
        {"", "ar", "", RAPT_NORM_ORDER_POST, RAPT_NORM_TYPE_RMS},
        {"r", "a", "r", RAPT_NORM_ORDER_PRE, RAPT_NORM_TYPE_RMS},
    };
    char before[16], after[16], top[16];
    operations(y, "transformer-preprocess", "", before);
    operations(y, "transformer-postprocess", "dan", after);
    operations(y, "transformer-postprocess-top", "", top);
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        if (strcmp(before, all[n].before) == 0 && strcmp(after, all[n].after) == 0 &&
            strcmp(top, all[n].top) == 0) {
            i->config.norm_order = all[n].order;
            i->config.norm_type = all[n].type;
            return RAPT_OK;
        }
    return rapt__import_bad(i,
                            "transformer-preprocess: \"%s\", transformer-postprocess: \"%s\", "
                            "transformer-postprocess-top: \"%s\" are not supported together",
                            before, after, top);
}

static rapt_status read_decoder(struct import *i, const struct yaml *y)
{
    const char *kind = rapt__import_option(y, "transformer-decoder-autoreg"),
               *cell = rapt__import_option(y, "dec-cell");
    i->config.decoder_recurrence = RAPT_RECURRENCE_NONE;
    if (!kind || strcmp(kind, "self-attention") == 0) return RAPT_OK;
    if (strcmp(kind, "rnn") != 0) return refuse(i, "transformer-decoder-autoreg", kind);
    if (!cell || strcmp(cell, "ssru") != 0) return refuse(i, "dec-cell", cell ? cell : "gru");
    i->config.decoder_recurrence = RAPT_RECURRENCE_SSRU;
    return RAPT_OK;
}

/* Reads the activation. Marian's gelu is x / (1 + e^(-1.702 x)), which is not supported. */
static rapt_status read_activation(struct import *i, const struct yaml *y)
{
    const char *name = rapt__import_option(y, "transformer-ffn-activation");
    i->config.activation = RAPT_ACTIVATION_SILU;
    if (!name || strcmp(name, "swish") == 0) return RAPT_OK;
    i->config.activation = RAPT_ACTIVATION_RELU;
    return strcmp(name, "relu") == 0 ? RAPT_OK : refuse(i, "transformer-ffn-activation", name);
}

/* Returns the number of rows of a table, or 0 if it is missing, is not a matrix or has more than
   2^24 rows. */
static int rows_of(const struct import *i, const char *name)
{
    const struct tensor_entry *e = rapt__tensors_find(i->file, name);
    return e && e->rank == 2 && e->shape[0] <= 1 << 24 ? (int)e->shape[0] : 0;
}

/* Determines which tables are tied, and the sizes of the vocabularies. The output matrix is Wemb if
   all tables are tied, or decoder_Wemb if only the decoder's are. */
static rapt_status read_tables(struct import *i, const struct yaml *y)
{
    rapt_config *c = &i->config;
    bool all = is_true(y, "tied-embeddings-all"), source = is_true(y, "tied-embeddings-src"),
         output = is_true(y, "tied-embeddings");
    c->tie = all || (source && output) ? RAPT_TIE_ALL : output ? RAPT_TIE_OUTPUT : RAPT_TIE_NONE;
    bool one = rows_of(i, "Wemb") > 0;
    c->source_vocab = rows_of(i, one ? "Wemb" : "encoder_Wemb");
    c->target_vocab = rows_of(i, one ? "Wemb" : "decoder_Wemb");
    c->output_bias = rapt__tensors_find(i->file, "decoder_ff_logit_out_b") != NULL;
    if (one || c->tie != RAPT_TIE_ALL) return RAPT_OK;
    return rapt__import_bad(i, "tensor Wemb is missing");
}

/* Reads the layer from which alignments are computed. The alignments are the weights of the layer's
   first head, which this library also uses by default. */
static rapt_status read_alignment(struct import *i, const struct yaml *y)
{
    static const char key[] = "transformer-guided-alignment-layer";
    const char *text = rapt__import_option(y, key);
    i->config.alignment_layer = i->config.decoder_layers;
    if (!text || strcmp(text, "last") == 0) return RAPT_OK;
    rapt_status status = number(i, y, key, -1, &i->config.alignment_layer);
    if (!status && i->config.alignment_layer < 1) return refuse(i, key, text);
    return status;
}

static rapt_status read_config(struct import *i, const struct yaml *y)
{
    rapt_config *c = &i->config;
    int other;
    rapt_status status = check_options(i, y);
    if (!status) status = number(i, y, "dim-emb", -1, &c->width);
    if (!status) status = number(i, y, "transformer-heads", -1, &c->heads);
    if (!status) status = number(i, y, "transformer-dim-ffn", -1, &c->ffn_width);
    if (!status) status = number(i, y, "transformer-decoder-dim-ffn", 0, &other);
    if (!status && other && other != c->ffn_width)
        status = refuse(i, "transformer-decoder-dim-ffn",
                        rapt__import_option(y, "transformer-decoder-dim-ffn"));
    if (!status) status = number(i, y, "enc-depth", -1, &c->encoder_layers);
    if (!status) status = number(i, y, "dec-depth", -1, &c->decoder_layers);
    if (!status) status = read_norms(i, y);
    if (!status) status = read_alignment(i, y);
    if (!status) status = read_decoder(i, y);
    if (!status) status = read_activation(i, y);
    if (!status) status = read_tables(i, y);
    c->position = RAPT_POSITION_CONCATENATED_N1;
    c->positions = POSITIONS;
    c->norm_epsilon = 1e-6f;
    c->decoder_start = RAPT_DECODER_START_ZERO;
    return status;
}

static rapt_status read_settings(struct import *i)
{
    struct yaml *y;
    const char *text = rapt__tensors_metadata(i->file, "special:model.yml");
    if (!text) return rapt__import_bad(i, "special:model.yml is missing");
    rapt_status status =
        rapt__yaml_open(&y, text, strlen(text), "special:model.yml", &i->allocator, i->why);
    if (status) return status;
    const char *version = rapt__import_option(y, "version");
    snprintf(i->origin, sizeof i->origin, "Marian %.40s", version ? version : "");
    rapt__make_printable(i->origin);
    status = read_config(i, y);
    rapt__yaml_close(y);
    return status;
}

/* Marks the alphas as used, because they are already attached to their tensors. The alpha "none"
   belongs to the output layer when a shortlist is used, so it is stored separately, under this
   name. */
static rapt_status take_alphas(struct import *i)
{
    static const char suffix[] = "_QuantMultA", none[] = "none_QuantMultA";
    const struct tensor_entry *e = rapt__tensors_find(i->file, none);
    for (int n = 0; n < rapt__tensors_count(i->file); n++) {
        const char *name = rapt__tensors_entry(i->file, n)->name;
        size_t size = strlen(name), end = sizeof suffix - 1;
        if (size >= end && strcmp(name + size - end, suffix) == 0) i->used[n] = true;
    }
    float alpha = 0;
    rapt_status status = RAPT_OK;
    if (!e || e->count != 1) return RAPT_OK;
    status = rapt__tensors_read(i->file, e, 0, 1, &alpha, i->why);
    if (status || !(alpha > 0)) return status;
    return rapt__import_keep_alpha(i, "none", alpha);
}

/* Reads the limit on the length of translations from the decoding settings. */
static rapt_status read_max_length(struct import *i)
{
    static const char key[] = "max-length-factor";
    const char *text = i->decoder ? rapt__import_option(i->decoder, key) : NULL;
    if (!text) return RAPT_OK;
    float factor;
    if (!rapt__float_read(text, &factor) || !(factor > 0 && factor <= 1000))
        return rapt__import_bad(i, "%s: %s is %.60s; it must be above 0 and at most 1000",
                                i->decoder_name, key, text);
    i->max_length_factor = factor;
    return RAPT_OK;
}

rapt_status rapt__import_marian(struct import *i)
{
    const struct import_table table = {rapt__marian_rows, rapt__marian_row_count, 1};
    rapt_status status = read_settings(i);
    if (!status) status = rapt__import_decoder(i);
    if (!status) status = read_max_length(i);
    if (!status) rapt__import_marian_decoding(i);
    if (!status) status = take_alphas(i);
    if (!status) status = rapt__import_match(i, &table, 1);
    if (!status) status = rapt__import_vocabularies(i);
    return status ? status : rapt__import_fill(i, &table, 1);
}
