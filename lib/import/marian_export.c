/* marian_export.c - exports a model to a Marian folder: model.bin, which includes the
   configuration, and the vocabularies. The names of the tensors are those in the table of marian.c.
   A model that Marian cannot run is rejected, and the message names the fields that prevent it. */
#include "import/export.h"

#include <stdio.h>
#include <string.h>

/* ---- what Marian can represent ---- */

void rapt__export_check_marian(const struct exporting *e)
{
    static const enum config_field free_fields[] = {
        CONFIG_norm_order, CONFIG_activation,    CONFIG_position,
        CONFIG_tie,        CONFIG_output_bias,   CONFIG_norm_epsilon,
        CONFIG_norm_type,  CONFIG_decoder_start, CONFIG_decoder_recurrence};
    const rapt_config *c = e->config;
    if (c->activation != RAPT_ACTIVATION_RELU && c->activation != RAPT_ACTIVATION_SILU)
        rapt__export_refuse(e, "activation", "relu or silu");
    if (c->position != RAPT_POSITION_CONCATENATED_N1)
        rapt__export_refuse(e, "position", "concatenated-n1");
    if (c->decoder_start != RAPT_DECODER_START_ZERO)
        rapt__export_refuse(e, "decoder_start", "zero");
    if (rapt__decoder_is_linear(c)) rapt__export_refuse(e, "decoder_recurrence", "none or ssru");
    if (rapt__epsilon(c) != 1e-6f) rapt__export_refuse(e, "norm_epsilon", "1e-6");
    rapt__export_check(e, free_fields, sizeof free_fields / sizeof *free_fields);
}

/* Checks that the sizes are suitable for 8-bit matrix products. Marian's engine computes in blocks
   of 8 outputs and 16 inputs, and terminates the process for other sizes. A separate source
   vocabulary is only a table, so its size is not restricted. */
void rapt__export_check_bergamot(const struct exporting *e)
{
    rapt__export_check_marian(e);
    const rapt_config *c = e->config;
    const struct {
        const char *name;
        int value, unit;
    } sizes[] = {{"target_vocab", c->target_vocab, 8},
                 {"width", c->width, 16},
                 {"ffn_width", c->ffn_width, 16}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int unit = sizes[i].unit, below = sizes[i].value / unit * unit;
        char needed[100];
        snprintf(needed, sizeof needed, "a multiple of %d, such as %d or %d, not %d", unit,
                 below ? below : 2 * unit, below + unit, sizes[i].value);
        if (below != sizes[i].value) rapt__export_refuse(e, sizes[i].name, needed);
    }
}

/* ---- the configuration ---- */

void rapt__marian_settings(const rapt_config *c, char text[MARIAN_SETTINGS])
{
    bool pre = c->norm_order == RAPT_NORM_ORDER_PRE, rms = c->norm_type == RAPT_NORM_TYPE_RMS;
    const char *norm = rms ? "r" : "n", *none = "\"\"";
    char layer[16] = "last";
    if (c->alignment_layer && c->alignment_layer < c->decoder_layers)
        snprintf(layer, sizeof layer, "%d", c->alignment_layer);
    snprintf(text, MARIAN_SETTINGS,
             "bert-train-type-embeddings: true\nbert-type-vocab-size: 2\n"
             "dec-cell: %s\ndec-cell-base-depth: 2\ndec-cell-high-depth: 1\ndec-depth: %d\n"
             "dim-emb: %d\ndim-rnn: 1024\ndim-vocabs:\n  - %d\n  - %d\n"
             "enc-cell: gru\nenc-cell-depth: 1\nenc-depth: %d\nenc-type: bidirectional\n"
             "factors-combine: sum\nfactors-dim-emb: 0\ninput-types:\n  []\n"
             "layer-normalization: false\nlemma-dependency: \"\"\nlemma-dim-emb: 0\n"
             "output-omit-bias: %s\nright-left: false\nskip: false\n"
             "tied-embeddings: %s\ntied-embeddings-all: %s\ntied-embeddings-src: false\n"
             "transformer-aan-activation: swish\ntransformer-aan-depth: 2\n"
             "transformer-aan-nogate: false\ntransformer-decoder-autoreg: %s\n"
             "transformer-decoder-dim-ffn: 0\ntransformer-decoder-ffn-depth: 0\n"
             "transformer-depth-scaling: false\ntransformer-dim-aan: 2048\n"
             "transformer-dim-ffn: %d\ntransformer-ffn-activation: %s\n"
             "transformer-ffn-depth: 2\ntransformer-guided-alignment-layer: %s\n"
             "transformer-heads: %d\ntransformer-no-projection: false\n"
             "transformer-pool: false\ntransformer-postprocess: %s%s\n"
             "transformer-postprocess-emb: d\ntransformer-postprocess-top: %s\n"
             "transformer-preprocess: %s\ntransformer-tied-layers:\n  []\n"
             "transformer-train-position-embeddings: false\ntype: transformer\nulr: false\n"
             "ulr-dim-emb: 0\nulr-trainable-transformation: false\n"
             "version: v1.9.56 2021-01-01 00:00:00 +0000\n",
             c->decoder_recurrence ? "ssru" : "gru", c->decoder_layers, c->width, c->source_vocab,
             c->target_vocab, c->encoder_layers, c->output_bias ? "false" : "true",
             c->tie == RAPT_TIE_OUTPUT ? "true" : "false",
             c->tie == RAPT_TIE_ALL ? "true" : "false",
             c->decoder_recurrence ? "rnn" : "self-attention", c->ffn_width,
             c->activation == RAPT_ACTIVATION_SILU ? "swish" : "relu", layer, c->heads, "da",
             pre ? "" : norm, pre ? norm : none, pre ? norm : none);
}

/* ---- the tensors ---- */

/* Tables list several names for each tensor of a norm. Returns true for the names that match the
   model's type and order of norms, and for all tensors that do not belong to a norm. */
static bool takes(const struct exporting *e, const struct import_row *row, const char *pattern)
{
    const rapt_config *c = e->config;
    bool pre = strstr(row->theirs, "_pre"), rms = strstr(row->theirs, "_rms_");
    bool norm = rms || strstr(row->theirs, "_ln_");
    if (!norm) return true;
    bool in_layer = strchr(pattern, '#');
    return rms == (c->norm_type == RAPT_NORM_TYPE_RMS) &&
           pre == (in_layer && c->norm_order == RAPT_NORM_ORDER_PRE);
}

/* ---- scales and alphas in the model's metadata; see model/scales.c ---- */

/* Returns the value that all rows share, or 0 if they differ. */
static float common(const float *of_rows, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (of_rows[i] != of_rows[0]) return 0;
    return of_rows[0];
}

/* Assigns the scales and alphas of parameter n to its parts among the first `count` tensors.
   `memory` has room for 2 floats per row of the parameter. */
static rapt_status take_scales(struct exporting *e, int n, int count, float *memory)
{
    const struct parameter *p = &e->model->layout.parameters[n];
    float *alphas = memory + p->rows;
    rapt_status status = rapt_model_scales(e->model, n, memory, alphas, e->why);
    for (int i = 0; i < count && !status; i++) {
        struct export_tensor *t = &e->tensors[i];
        if (t->p != p) continue;
        size_t rows = (size_t)(p->rows / t->row->parts), first = (size_t)t->row->part * rows;
        e->sources[i].scale = common(memory + first, rows);
        t->alpha = common(alphas + first, rows);
    }
    return status == RAPT_BAD_FILE ? RAPT_BAD_ARGUMENT : status;
}

static rapt_status take_all_scales(struct exporting *e, int count)
{
    const rapt_model *m = e->model;
    rapt_status status = RAPT_OK;
    if (!rapt_model_metadata(m, SCALES_KEY)) return RAPT_OK;
    for (int n = 0; n < m->layout.count && !status; n++) {
        if (m->layout.parameters[n].rows == 1) continue;
        size_t bytes = 2 * (size_t)m->layout.parameters[n].rows * sizeof(float);
        float *memory = rapt__alloc(&m->allocator, bytes);
        if (!memory) return rapt__fail(e->why, RAPT_NO_MEMORY, "no memory for scales");
        status = take_scales(e, n, count, memory);
        rapt__free(&m->allocator, memory, bytes);
    }
    return status;
}

static void add_alpha(struct exporting *e, const char *of, const float *alpha)
{
    char name[IMPORT_NAME];
    snprintf(name, sizeof name, "%.100s_QuantMultA", of);
    rapt__export_add(e, name, 1, 1, alpha);
    e->sources[e->count - 1].rank = 1;
}

/* Sets the scales of the tensors and adds their alphas, if the model's metadata contains them. */
static rapt_status export_scales(struct exporting *e)
{
    int parts = e->count;
    rapt_status status = take_all_scales(e, parts);
    if (!status) status = rapt__scales_named(e->model, "none", NULL, &e->none_alpha, e->why);
    for (int i = 0; i < parts && !status; i++)
        if (e->tensors[i].alpha > 0) add_alpha(e, e->tensors[i].name, &e->tensors[i].alpha);
    if (!status && e->none_alpha > 0) add_alpha(e, "none", &e->none_alpha);
    return status;
}

static rapt_status write_model(struct exporting *e, enum marian_precision precision,
                               const char *name)
{
    char settings[MARIAN_SETTINGS], path[2 * IMPORT_PATH];
    const struct import_table table = {rapt__marian_rows, rapt__marian_row_count, 1};
    if (rapt__export_plans(e, name)) return RAPT_OK;
    rapt_status status =
        rapt__export_tensors(e, &(struct export_rows){&table, 1, takes, .vector_rank = 2});
    if (status) return status;
    if (precision != MARIAN_FLOAT32) status = export_scales(e);
    if (status) return status;
    rapt__marian_settings(e->config, settings);
    rapt__export_path(e, name, path);
    return rapt__marian_write(path, e->sources, e->count, settings, precision, &e->model->allocator,
                              e->why);
}

/* ---- the vocabularies ---- */

/* Writes a list of names, as in OPUS-MT's models, and the SentencePiece model that tokenizes text,
   if there is one. */
static rapt_status write_list(const struct exporting *e, const rapt_tokenizer *t, const char *name,
                              const char *pieces)
{
    struct composer c = {.allocator = e->model->allocator};
    for (int32_t id = 0; id < rapt_tokenizer_vocab(t); id++) {
        if (rapt_tokenizer_name(t, id).size == 0) continue; /* a row without a name */
        rapt__compose_string(&c, rapt_tokenizer_name(t, id));
        rapt__compose(&c, ": %d\n", (int)id);
    }
    rapt_status status = rapt__compose_write(e, &c, name);
    return status ? status : rapt__export_pieces_if(e, t, pieces);
}

static void check_names(const struct exporting *e, const rapt_tokenizer *t)
{
    rapt__export_special(e, t, RAPT_TOKEN_END, "</s>");
    rapt__export_special(e, t, RAPT_TOKEN_UNKNOWN, "<unk>");
}

/* Writes the SentencePiece model whose ids the tokenizer uses, or a list of names if there is no
   such model and the folder may contain lists. */
static rapt_status write_vocabulary(const struct exporting *e, const rapt_tokenizer *t,
                                    const struct marian_names *names, int side)
{
    const char *list = names->lists[side];
    bool is_pieces = true; /* if lists are not allowed, the ids have already been checked */
    rapt_status status = list ? rapt__export_is_pieces(e, t, &is_pieces) : RAPT_OK;
    if (status) return status;
    if (is_pieces) return rapt__export_pieces(e, t, names->pieces[side]);
    return write_list(e, t, list, side == MARIAN_TARGET ? "target.spm" : "source.spm");
}

rapt_status rapt__marian_export(struct exporting *e, enum marian_precision precision,
                                const struct marian_names *names)
{
    bool one = e->source == e->target;
    check_names(e, e->source);
    check_names(e, e->target);
    rapt_status status = rapt__export_refused(e);
    if (!status) status = write_vocabulary(e, e->source, names, one ? MARIAN_BOTH : MARIAN_SOURCE);
    if (!status && !one) status = write_vocabulary(e, e->target, names, MARIAN_TARGET);
    return status ? status : write_model(e, precision, names->model);
}

static const struct marian_names own_names = {
    "model.bin",
    {"vocab.spm", "vocab.src.spm", "vocab.trg.spm"},
    {"vocab.yml", "vocab.src.yml", "vocab.trg.yml"},
};

rapt_status rapt__export_marian(struct exporting *e)
{
    return rapt__marian_export(e, MARIAN_FLOAT32, &own_names);
}

rapt_status rapt__export_bergamot(struct exporting *e)
{
    return rapt__marian_export(e, MARIAN_INTGEMM8_BERGAMOT, &own_names);
}
