/* ct2.c - imports a CTranslate2 model folder: the configuration and the parameters in model.bin.
   ct2_attention.c reads the settings of T5's attention, and ct2_tokens.c reads special tokens,
   vocabularies, and the settings and tokenizers of encoders. Source: CTranslate2 4.8,
   src/models/transformer.cc, src/layers/transformer.cc, transformer_spec.py, attention_spec.py. */
#include "import/ct2.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { POSITIONS = 1024 }; /* rows of our table of sinusoids; CTranslate2 has no limit */

/* ---- names of parameters and attributes, shared with the export. Weights have the same layout as
   ours: [out][in], with one matrix for the queries, keys and values of self-attention, and one for
   the keys and values of cross-attention. ---- */

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

static const struct import_row ct2_rows[] = {
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
    tables[0] = (struct import_table){ct2_rows, sizeof ct2_rows / sizeof *ct2_rows, 0};
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
    {"embeddings_merge", "I8", true, false, 0, CT2_ANY}, /* see check_merge in ct2_tokens.c */
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

/* ---- version 1 ---- */

/* Replaces a name with its spelling in files of version 1, which use OpenNMT-tf's names. */
static void spell_v1(char name[IMPORT_NAME])
{
    static const struct {
        const char *side, *from, *to;
    } all[] = {
        {"encoder/", "/self_attention/", "/multi_head/"},
        {"decoder/", "/self_attention/", "/masked_multi_head/"},
        {"decoder/", "/attention/", "/multi_head/"},
        {"", "linear_0", "conv1d"},
        {"", "linear_", "conv1d_"},
        {"", "layer_norm", "LayerNorm"},
        {"", "projection", "dense"},
        {"", "embeddings/weight", "w_embs"},
        {"", "weight", "kernel"},
    };
    char old[IMPORT_NAME];
    for (size_t n = 0; n < sizeof all / sizeof *all; n++) {
        const char *at = strstr(name, all[n].from);
        if (!at || strncmp(name, all[n].side, strlen(all[n].side)) != 0) continue;
        memcpy(old, name, sizeof old);
        snprintf(name, IMPORT_NAME, "%.*s%s%s", (int)(at - name), old, all[n].to,
                 old + (at - name) + strlen(all[n].from));
    }
    memcpy(old, name, sizeof old);
    snprintf(name, IMPORT_NAME, "transformer/%.140s:0", old);
}

/* ---- the configuration ---- */

/* Determines whether embeddings are scaled. The file stores either a flag or the scaling factor. */
static rapt_status read_scaled(struct import *i, const char *name, int otherwise, int *value)
{
    const struct tensor_entry *e = rapt__import_find(i, name, 0);
    float scale, wanted = sqrtf((float)i->config.width);
    if (!e || e->count != 1 || strchr(e->dtype, 'F') == NULL)
        return rapt__import_number(i, name, otherwise, value);
    rapt__import_use(i, e);
    rapt_status status = rapt__tensors_read(i->file, e, 0, 1, &scale, i->why);
    if (status) return status;
    *value = scale != 1;
    if (scale == 1 || fabsf(scale - wanted) <= 1e-6f * wanted) return RAPT_OK;
    return rapt__import_bad(i, "tensor %s is %g, neither 1 nor the square root of %d", name,
                            (double)scale, i->config.width);
}

typedef rapt_status read_attribute(struct import *i, const char *name, int otherwise, int *value);

static bool is_encoder(const struct import *i)
{
    return i->config.kind == RAPT_KIND_ENCODER_ONLY;
}

/* Reads an attribute that is stored either once or separately for the encoder and the decoder. In
   an encoder-decoder, separate values must agree. */
static rapt_status attribute(struct import *i, const char *name, read_attribute *read,
                             int otherwise, int *value)
{
    char full[80];
    int common, halves[2];
    static const char *const sides[] = {"encoder", "decoder"};
    rapt_status status = read(i, name, otherwise, &common);
    for (int n = 0; n < 2 && !status; n++) {
        snprintf(full, sizeof full, "%s/%s", sides[n], name);
        status = read(i, full, common, &halves[n]);
    }
    if (status) return status;
    *value = halves[0];
    if (halves[0] == halves[1] || is_encoder(i)) return RAPT_OK;
    return rapt__import_bad(i, "%s is %d in the encoder and %d in the decoder", name, halves[0],
                            halves[1]);
}

static bool there(const struct import *i, const char *name)
{
    return rapt__import_find(i, name, 0) != NULL;
}

/* Reads an attribute of the encoder, the decoder or the whole model. If its use is CT2_ONLY, it
   must have its default value. */
static rapt_status one_sided(struct import *i, const struct ct2_attribute *a, int *value)
{
    char full[80];
    rapt_status status = rapt__import_number(i, a->name, a->otherwise, value);
    for (int n = 0; n < 2 && !status; n++) {
        snprintf(full, sizeof full, "%s/%s", n ? "decoder" : "encoder", a->name);
        if (there(i, full)) status = rapt__import_number(i, full, a->otherwise, value);
        if (status || a->use != CT2_ONLY || *value == a->otherwise) continue;
        return rapt__import_bad(i, "%s is %d, which is not supported", a->name, *value);
    }
    return status;
}

/* Reads all attributes, and stores in `values` those that the configuration depends on. */
static rapt_status read_attributes(struct import *i, int *values)
{
    static const char older[] = "embeddings/multiply_by_sqrt_depth";
    const char *spec = rapt__tensors_metadata(i->file, "spec");
    rapt_status status = RAPT_OK;
    for (int n = 0; n < CT2_ATTRIBUTES && !status; n++) {
        const struct ct2_attribute *a = &rapt__ct2_attributes[n];
        int value = a->otherwise;
        read_attribute *read = a->use == CT2_SCALED ? read_scaled : rapt__import_number;
        if (a->use == CT2_HEADS && strstr(spec, "Big")) value = 16;
        if (a->use == CT2_SCALED) status = attribute(i, older, read, value, &value);
        if (!status && a->of_encoder && a->of_decoder)
            status = attribute(i, a->name, read, value, &value);
        else if (!status)
            status = one_sided(i, a, &value);
        if (a->use < CT2_USES) values[a->use] = value;
    }
    return status;
}

static int layers_of(const struct import *i, const char *pattern)
{
    int count = 0;
    while (count < 1024 && rapt__import_find(i, pattern, count)) count++;
    return count;
}

/* Returns the number of rows of a table, or 0 if it is missing, is not a matrix or has more than
   2^24 rows. */
static int rows_of(const struct import *i, const char *name)
{
    const struct tensor_entry *e = rapt__import_find(i, name, 0);
    return e && e->rank == 2 && e->shape[0] <= 1 << 24 ? (int)e->shape[0] : 0;
}

static rapt_status read_sizes(struct import *i)
{
    rapt_config *c = &i->config;
    const struct tensor_entry *in = rapt__import_find(i, "encoder/layer_#/ffn/linear_0/weight", 0);
    if (!in || in->rank != 2 || in->shape[0] > 1 << 20 || in->shape[1] > 1 << 16)
        return rapt__import_bad(
            i, "tensor encoder/layer_0/ffn/linear_0/weight is missing, not a matrix, or too large");
    c->width = (int)in->shape[1], c->ffn_width = (int)in->shape[0];
    c->encoder_layers = layers_of(i, "encoder/layer_#/self_attention/linear_0/weight");
    c->decoder_layers = layers_of(i, "decoder/layer_#/self_attention/linear_0/weight");
    c->source_vocab = rows_of(i, "encoder/embeddings_0/weight");
    if (is_encoder(i)) c->token_types = rows_of(i, "encoder/embeddings_1/weight");
    if (!c->source_vocab) c->source_vocab = rows_of(i, "encoder/embeddings/weight");
    c->target_vocab = rows_of(i, "decoder/embeddings/weight");
    c->ffn_gated = there(i, "encoder/layer_0/ffn/linear_0_noact/weight");
    c->output_bias = there(i, "decoder/projection/bias");
    bool centered = there(i, "encoder/layer_0/self_attention/layer_norm/beta");
    c->norm_type = centered ? RAPT_NORM_TYPE_LAYER : RAPT_NORM_TYPE_RMS;
    c->norm_epsilon = centered ? 1e-5f : 1e-6f;
    c->embedding_norm = there(i, "encoder/layernorm_embedding/gamma");
    c->positions = rows_of(i, "encoder" CT2_POSITIONS);
    c->position = c->positions ? RAPT_POSITION_LEARNED : RAPT_POSITION_CONCATENATED_N1;
    c->first_position = !c->positions;
    if (!c->positions) c->positions = POSITIONS;
    return RAPT_OK;
}

/* Returns whether both tables are in the file and share their bytes. */
static bool same_bytes(const struct import *i, const char *a, const char *b)
{
    const struct tensor_entry *x = rapt__import_find(i, a, 0), *y = rapt__import_find(i, b, 0);
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

/* Rejects an activation with a message that names it. Source: CTranslate2 4.8,
   include/ctranslate2/ops/activation.h. */
static rapt_status refuse_activation(struct import *i, int activation)
{
    static const char *const names[] = {
        [4] = "GELU approximated by x * sigmoid(1.702 x)", [5] = "tanh", [6] = "sigmoid"};
    const int count = (int)(sizeof names / sizeof *names);
    const char *name = activation >= 0 && activation < count ? names[activation] : NULL;
    if (!name)
        return rapt__import_bad(i, "activation is %d, which CTranslate2 4.8 does not define",
                                activation);
    return rapt__import_bad(i, "its activation is %s, which is not supported", name);
}

/* Sets the layer and the heads from which alignments are computed. A negative layer counts from the
   end; 0 heads means all. */
static rapt_status use_alignment(struct import *i, int layer, int heads)
{
    rapt_config *c = &i->config;
    int from_first = layer < 0 ? c->decoder_layers + layer : layer;
    if (from_first < 0 || from_first >= c->decoder_layers)
        return rapt__import_bad(i, "decoder/alignment_layer is %d, but the decoder has %d layers",
                                layer, c->decoder_layers);
    c->alignment_layer = from_first + 1;
    c->alignment_heads = heads == 1 ? 0 : heads ? heads : c->heads;
    return RAPT_OK;
}

/* Reads the factor by which T5 1.0 multiplies the decoder's output. Later versions of T5 have no
   such factor, and their output matrix is not tied to the embeddings. If transformers 5 wrote the
   model, the converter stores the factor even for later versions of T5, because transformers 5 sets
   tie_word_embeddings for every T5. In that case the factor is ignored. */
static rapt_status read_factor(struct import *i, float *factor)
{
    static const char name[] = "decoder/scale_outputs";
    const rapt_config *c = &i->config;
    const struct tensor_entry *e = rapt__import_find(i, name, 0);
    *factor = 1;
    if (!e) return RAPT_OK;
    rapt__import_use(i, e);
    if (e->count != 1) return rapt__import_bad(i, "tensor %s is not a single number", name);
    rapt_status status = rapt__tensors_read(i->file, e, 0, 1, factor, i->why);
    if (status || *factor == 1) return status;
    const bool t5 = c->relative_bias == RAPT_RELATIVE_BIAS_T5 &&
                    c->norm_type == RAPT_NORM_TYPE_RMS && c->norm_order == RAPT_NORM_ORDER_PRE;
    if (!t5 || rapt__finite_count(factor, 1) == 0)
        return rapt__import_bad(i, "%s is %g; it must be 1 or, for T5, finite", name,
                                (double)*factor);
    if (c->tie == RAPT_TIE_NONE && fabsf(*factor * sqrtf((float)c->width) - 1) <= 1e-6f)
        *factor = 1;
    return RAPT_OK;
}

static rapt_status read_config(struct import *i, float *factor)
{
    rapt_config *c = &i->config;
    int values[CT2_USES];
    rapt_status status = read_sizes(i);
    if (!status) status = read_attributes(i, values);
    if (status) return status;
    int activation = 0;
    while (activation < CT2_ACTIVATIONS &&
           rapt__ct2_activations[activation] != values[CT2_ACTIVATION])
        activation++;
    if (activation == CT2_ACTIVATIONS) return refuse_activation(i, values[CT2_ACTIVATION]);
    c->heads = values[CT2_HEADS];
    c->activation = (rapt_activation)activation;
    c->plain_embedding = !values[CT2_SCALED];
    c->norm_order = values[CT2_PRE_NORM] ? RAPT_NORM_ORDER_PRE : RAPT_NORM_ORDER_POST;
    c->decoder_start = values[CT2_ZERO_START] ? RAPT_DECODER_START_ZERO : RAPT_DECODER_START_BEGIN;
    c->tie = ties_of(i);
    status = rapt__ct2_attention(i);
    if (!status) status = read_factor(i, factor);
    return status || is_encoder(i)
               ? status
               : use_alignment(i, values[CT2_ALIGNMENT_LAYER], values[CT2_ALIGNMENT_HEADS]);
}

rapt_status rapt__import_ct2(struct import *i)
{
    const char *spec = rapt__tensors_metadata(i->file, "spec");
    const char *version = rapt__tensors_metadata(i->file, "binary_version");
    const char *revision = rapt__tensors_metadata(i->file, "revision");
    bool oldest = version && strcmp(version, "1") == 0; /* version 1 has no spec */
    if (oldest) i->spell = spell_v1;
    const bool encoder = spec && strcmp(spec, "TransformerEncoderSpec") == 0;
    if (!spec || (!oldest && strncmp(spec, "Transformer", 11) != 0) || strstr(spec, "Decoder") ||
        (strstr(spec, "Encoder") && !encoder))
        return rapt__import_bad(i, "it is a %.60s, not a Transformer with an encoder",
                                spec ? spec : "model of unknown kind");
    if (encoder) i->config.kind = RAPT_KIND_ENCODER_ONLY;
    snprintf(i->origin, sizeof i->origin, "CTranslate2 model.bin, version %.8s, %.60s %.8s",
             version ? version : "?", oldest ? "Transformer" : spec, revision ? revision : "?");
    rapt__make_printable(i->origin);
    float factor = 1; /* multiplies the decoder's output */
    rapt_status status = read_config(i, &factor);
    if (!status)
        status = encoder ? rapt__ct2_encoder(i)
                         : rapt__ct2_tokens(i, version && strcmp(version, "6") >= 0);
    struct import_table tables[CT2_TABLES];
    int count = rapt__ct2_tables(&i->config, tables);
    if (!status) status = rapt__import_match(i, tables, count);
    if (!status) status = encoder ? rapt__ct2_encoder_vocabulary(i) : rapt__ct2_vocabularies(i);
    if (!status) status = rapt__import_fill(i, tables, count);
    if (!status && factor != 1) rapt__import_scale_output(i, factor);
    return status;
}
