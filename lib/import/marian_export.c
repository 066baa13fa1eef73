/* marian_export.c - a model of ours into a folder as Marian reads it: model.bin with its
   configuration, by the table of marian.c the other way round, and the SentencePiece models of its
   tokenizers. What Marian does not compute is refused by the name of its field. */
#include "import/parts.h"

#include <rapt/file.h>
#include <stdio.h>
#include <string.h>

/* ---- what Marian can hold ---- */

static rapt_status refuse(const char *field, const char *needed, rapt_message *why)
{
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "Marian cannot hold this model: %s must be %s", field,
                      needed);
}

/* Fields that may have any value, or are checked below. */
static bool is_free(int field)
{
    static const enum config_field free_fields[] = {CONFIG_kind,
                                                    CONFIG_source_vocab,
                                                    CONFIG_target_vocab,
                                                    CONFIG_positions,
                                                    CONFIG_width,
                                                    CONFIG_heads,
                                                    CONFIG_key_heads,
                                                    CONFIG_ffn_width,
                                                    CONFIG_encoder_layers,
                                                    CONFIG_decoder_layers,
                                                    CONFIG_norm_order,
                                                    CONFIG_activation,
                                                    CONFIG_position,
                                                    CONFIG_tie,
                                                    CONFIG_output_bias,
                                                    CONFIG_norm_epsilon,
                                                    CONFIG_norm_type,
                                                    CONFIG_decoder_start,
                                                    CONFIG_decoder_recurrence};
    for (size_t i = 0; i < sizeof free_fields / sizeof *free_fields; i++)
        if ((int)free_fields[i] == field) return true;
    return false;
}

static rapt_status check(const rapt_config *c, rapt_message *why)
{
    if (c->kind != RAPT_KIND_ENCODER_DECODER) return refuse("kind", "encoder-decoder", why);
    if (c->source_vocab == 0) return refuse("source_vocab", "above 0", why);
    if (c->ffn_width == 0) return refuse("ffn_width", "above 0", why);
    if (rapt__key_heads(c) != c->heads) return refuse("key_heads", "heads", why);
    if (c->activation == RAPT_ACTIVATION_GELU) return refuse("activation", "relu or silu", why);
    if (c->position != RAPT_POSITION_CONCATENATED_N1)
        return refuse("position", "concatenated-n1", why);
    if (c->decoder_start != RAPT_DECODER_START_ZERO) return refuse("decoder_start", "zero", why);
    if (rapt__epsilon(c) != 1e-6f) return refuse("norm_epsilon", "1e-6", why);
    for (int i = 0; i < RAPT_CONFIG_FIELDS; i++)
        if (!is_free(i) && rapt__config_get(c, i))
            return refuse(rapt_config_field_at(i)->name, "its default", why);
    return RAPT_OK;
}

/* ---- its configuration ---- */

enum { SETTINGS = 4096 };

static void write_settings(const rapt_config *c, char text[SETTINGS])
{
    bool pre = c->norm_order == RAPT_NORM_ORDER_PRE, rms = c->norm_type == RAPT_NORM_TYPE_RMS;
    const char *norm = rms ? "r" : "n", *none = "\"\"";
    snprintf(text, SETTINGS,
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
             "transformer-ffn-depth: 2\ntransformer-guided-alignment-layer: last\n"
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
             c->activation == RAPT_ACTIVATION_SILU ? "swish" : "relu", c->heads, "da",
             pre ? "" : norm, pre ? norm : none, pre ? norm : none);
}

/* ---- its tensors ---- */

struct exported { /* part of a parameter, under its name there; p NULL: an alpha */
    const rapt_model *model;
    const struct parameter *p;
    const struct import_row *row;
    float alpha; /* its own, or of the part; 0: not known */
    char name[IMPORT_NAME];
};

static bool is_row_of(const struct import_row *row, const rapt_config *c, const char *pattern)
{
    bool pre = strstr(row->theirs, "_pre"), rms = strstr(row->theirs, "_rms_");
    bool norm = rms || strstr(row->theirs, "_ln_");
    if (strcmp(row->ours, pattern) != 0) return false;
    if (!norm) return true;
    bool in_layer = strchr(pattern, '#');
    return rms == (c->norm_type == RAPT_NORM_TYPE_RMS) &&
           pre == (in_layer && c->norm_order == RAPT_NORM_ORDER_PRE);
}

/* The element there is [column][row] of the part if it is transposed. */
static void fill(const struct tensor_source *source, size_t first, size_t count, float *data)
{
    const struct exported *e = (const struct exported *)source->user + source->index;
    size_t rows = source->shape[0], columns = source->shape[1];
    bool turn = e->row->flags & IMPORT_TRANSPOSED;
    size_t start = (size_t)e->row->part * rows * columns;
    for (size_t i = 0; i < count; i++) {
        size_t at = first + i;
        size_t own = turn ? at % columns * rows + at / columns : at;
        rapt__parameter_get(e->p, e->model->block, start + own, 1, data + i);
    }
}

/* One parameter's tensors, as far as there is memory for them; returns how many. */
static int describe(const rapt_model *m, const struct parameter *p, int at, struct exported *all,
                    struct tensor_source *sources)
{
    char pattern[IMPORT_NAME];
    int layer, part = 0;
    rapt__import_pattern(p->name, pattern, &layer);
    for (int r = 0; r < rapt__marian_row_count; r++) {
        const struct import_row *row = &rapt__marian_rows[r];
        if (row->part != part || !is_row_of(row, &m->config, pattern)) continue;
        size_t rows = p->rows == 1 ? 1 : (size_t)(p->rows / row->parts);
        size_t columns = (size_t)(p->rows == 1 ? p->columns / row->parts : p->columns);
        bool turn = (row->flags & IMPORT_TRANSPOSED) && p->rows > 1;
        if (sources) {
            all[at] = (struct exported){.model = m, .p = p, .row = row};
            rapt__import_name(all[at].name, row->theirs, layer + 1);
            sources[at] =
                (struct tensor_source){.name = all[at].name,
                                       .rank = 2,
                                       .shape = {turn ? columns : rows, turn ? rows : columns},
                                       .fill = fill,
                                       .user = all,
                                       .index = (size_t)at};
        }
        at++, part++;
        if (part == row->parts) break;
    }
    return at;
}

static int describe_all(const rapt_model *m, struct exported *all, struct tensor_source *sources)
{
    int count = 0;
    for (int n = 0; n < m->layout.count; n++)
        count = describe(m, &m->layout.parameters[n], count, all, sources);
    return count;
}

/* ---- the scales and alphas of the file that it is from ---- */

/* What all of these rows have; 0: they differ. */
static float common(const float *of_rows, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (of_rows[i] != of_rows[0]) return 0;
    return of_rows[0];
}

/* Scales and alphas of parameter n to those of `count` sources that are parts of it. memory: 2
   floats for each of its rows. */
static rapt_status take_scales(const rapt_model *m, int n, struct exported *all,
                               struct tensor_source *sources, int count, float *memory,
                               rapt_message *why)
{
    const struct parameter *p = &m->layout.parameters[n];
    float *alphas = memory + p->rows;
    rapt_status status = rapt_model_scales(m, n, memory, alphas, why);
    for (int i = 0; i < count && !status; i++) {
        if (all[i].p != p) continue;
        size_t rows = (size_t)(p->rows / all[i].row->parts),
               first = (size_t)all[i].row->part * rows;
        sources[i].scale = common(memory + first, rows);
        all[i].alpha = common(alphas + first, rows);
    }
    return status == RAPT_BAD_FILE ? RAPT_BAD_ARGUMENT : status;
}

static rapt_status take_all_scales(const rapt_model *m, struct exported *all,
                                   struct tensor_source *sources, int count, rapt_message *why)
{
    rapt_status status = RAPT_OK;
    if (!rapt_model_metadata(m, SCALES_KEY)) return RAPT_OK;
    for (int n = 0; n < m->layout.count && !status; n++) {
        if (m->layout.parameters[n].rows == 1) continue;
        size_t bytes = 2 * (size_t)m->layout.parameters[n].rows * sizeof(float);
        float *memory = rapt__alloc(&m->allocator, bytes);
        if (!memory) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for scales");
        status = take_scales(m, n, all, sources, count, memory, why);
        rapt__free(&m->allocator, memory, bytes);
    }
    return status;
}

static void fill_alpha(const struct tensor_source *source, size_t first, size_t count, float *data)
{
    const struct exported *e = (const struct exported *)source->user + source->index;
    (void)first;
    for (size_t i = 0; i < count; i++) data[i] = e->alpha;
}

static void add_alpha(const rapt_model *m, const char *name, float alpha, int at,
                      struct exported *all, struct tensor_source *sources)
{
    all[at] = (struct exported){.model = m, .alpha = alpha};
    snprintf(all[at].name, sizeof all[at].name, "%.100s_QuantMultA", name);
    sources[at] = (struct tensor_source){.name = all[at].name,
                                         .rank = 1,
                                         .shape = {1},
                                         .fill = fill_alpha,
                                         .user = all,
                                         .index = (size_t)at};
}

/* Alphas behind the `*count` sources, and that of none. */
static rapt_status add_alphas(const rapt_model *m, struct exported *all,
                              struct tensor_source *sources, int *count, rapt_message *why)
{
    int parts = *count;
    float none = 0;
    rapt_status status = take_all_scales(m, all, sources, parts, why);
    if (!status) status = rapt__scales_named(m, "none", NULL, &none, why);
    for (int i = 0; i < parts && !status; i++)
        if (all[i].alpha > 0) add_alpha(m, all[i].name, all[i].alpha, (*count)++, all, sources);
    if (!status && none > 0) add_alpha(m, "none", none, (*count)++, all, sources);
    return status;
}

static rapt_status write_model(const rapt_model *m, const char *path, bool narrow,
                               rapt_message *why)
{
    char settings[SETTINGS];
    int count = describe_all(m, NULL, NULL);
    size_t all_size = (2 * (size_t)count + 1) * sizeof(struct exported);
    size_t source_size = (2 * (size_t)count + 1) * sizeof(struct tensor_source);
    struct exported *all = rapt__alloc(&m->allocator, all_size);
    struct tensor_source *sources = rapt__alloc(&m->allocator, source_size);
    rapt_status status = RAPT_NO_MEMORY;
    if (all && sources) {
        describe_all(m, all, sources);
        write_settings(&m->config, settings);
        status = narrow ? add_alphas(m, all, sources, &count, why) : RAPT_OK;
    } else {
        rapt__fail(why, status, "no memory to write %.200s", path);
    }
    if (!status)
        status = rapt__marian_write(path, sources, count, settings,
                                    narrow ? MARIAN_INTGEMM8_BERGAMOT : MARIAN_FLOAT32,
                                    &m->allocator, why);
    if (all) rapt__free(&m->allocator, all, all_size);
    if (sources) rapt__free(&m->allocator, sources, source_size);
    return status;
}

/* ---- its vocabularies ---- */

static rapt_status write_vocabulary(const rapt_model *m, const char *key, const char *folder,
                                    const char *name, rapt_message *why)
{
    char path[2 * IMPORT_PATH];
    rapt_tokenizer *t;
    const char *text = rapt_model_metadata(m, key);
    if (!text)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "the model has no tokenizer: no metadata %s",
                          key);
    rapt_status status = rapt_tokenizer_create(&t, text, strlen(text), &m->allocator, why);
    if (status) return status;
    const rapt_text file = rapt_tokenizer_file(t);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (file.size)
        status = rapt_file_write(path, file.bytes, file.size, why);
    else
        status = rapt__fail(why, RAPT_BAD_ARGUMENT,
                            "Marian cannot hold this model: %s is no SentencePiece model", key);
    rapt_tokenizer_free(t);
    return status;
}

rapt_status rapt__export_marian(const rapt_model *model, const char *folder, bool narrow,
                                rapt_message *why)
{
    char path[2 * IMPORT_PATH];
    rapt_status status = check(&model->config, why);
    if (!status && strlen(folder) >= IMPORT_PATH)
        status = rapt__fail(why, RAPT_BAD_ARGUMENT, "folder: its path is too long");
    if (!status && rapt_model_metadata(model, "rapt.tokenizer")) {
        status = write_vocabulary(model, "rapt.tokenizer", folder, "vocab.spm", why);
    } else if (!status) {
        status = write_vocabulary(model, "rapt.source_tokenizer", folder, "vocab.src.spm", why);
        if (!status)
            status = write_vocabulary(model, "rapt.target_tokenizer", folder, "vocab.trg.spm", why);
    }
    if (status) return status;
    snprintf(path, sizeof path, "%s/model.bin", folder);
    return write_model(model, path, narrow, why);
}
