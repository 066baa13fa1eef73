/* hf_m2m.c - imports M2M-100 (Fan et al. 2021) and NLLB-200 (Costa-jussa et al. 2022), which has
   the same architecture, from a folder of Hugging Face's transformers: config.json, the weights,
   and the files that hf_languages.c reads. Source: transformers 4.57, modeling_m2m_100.py. */
#include "import/hf.h"

#include <stdio.h>

/* ---- the configuration ---- */

static rapt_status read_m2m_config(struct import *i, const struct import_settings *s,
                                   struct hf_ids *ids)
{
    rapt_config *c = &i->config;
    bool tied, scaled;
    rapt_status status = rapt__hf_read_sizes(i, s, rapt__hf_sizes, HF_SIZES);
    if (!status) status = rapt__import_whole(i, s, "vocab_size", 128112, &c->source_vocab);
    if (!status && rapt__import_setting(s, "activation_function"))
        status = rapt__hf_read_activation(i, s, "activation_function");
    if (!status) status = rapt__import_flag(i, s, "tie_word_embeddings", true, &tied);
    if (!status) status = rapt__import_flag(i, s, "scale_embedding", true, &scaled);
    if (!status) status = rapt__hf_read_ids(i, s, (struct hf_ids){1, 2, 2}, ids);
    if (!status) status = rapt__hf_check_start(i, ids, "eos_token_id", ids->end);
    if (status) return status;
    c->target_vocab = c->source_vocab;
    c->tie = tied ? RAPT_TIE_ALL : RAPT_TIE_NONE;
    c->plain_embedding = !scaled;
    c->norm_order = RAPT_NORM_ORDER_PRE;
    c->position = RAPT_POSITION_CONCATENATED_N1;
    c->first_position = ids->pad + 1; /* fairseq counts positions from there */
    c->decoder_start = RAPT_DECODER_START_END;
    c->norm_epsilon = 1e-5f;
    return RAPT_OK;
}

/* Ignores tables of sinusoids, which old files contain. */
static void ignore_positions(struct import *i)
{
    static const char *const names[] = {"model.encoder.embed_positions.weights",
                                        "model.decoder.embed_positions.weights"};
    for (int n = 0; n < 2; n++) rapt__import_use(i, rapt__import_find(i, names[n], 0));
}

rapt_status rapt__import_m2m(struct import *i, const struct import_settings *s)
{
    struct hf_ids ids = {0, 0, 0};
    snprintf(i->origin, sizeof i->origin, "M2M-100 (Hugging Face), %s",
             rapt__container_name(rapt__tensors_container(i->file)));
    rapt_status status = read_m2m_config(i, s, &ids);
    if (!status) status = rapt__import_hf_decoding(i, s, ids.pad, ids.end);
    const struct import_table tables[] = {
        {rapt__hf_rows, rapt__hf_row_count, 0},
        {rapt__hf_norm_rows, HF_NORM_ROWS, 0},
    };
    const int count = sizeof tables / sizeof *tables;
    ignore_positions(i);
    if (!status) status = rapt__import_match(i, tables, count);
    if (!status) status = rapt__hf_languages(i, HF_LANGUAGES_M2M, &ids);
    return status ? status : rapt__import_fill(i, tables, count);
}
