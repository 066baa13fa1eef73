/* hf_fairseq.c - imports BART, mBART, M2M-100 and NLLB-200, which were trained with fairseq, from
   Hugging Face folders: config.json, the weights and a vocabulary.

   BART (Lewis et al. 2020), mBART-25 (Liu et al. 2020) and mBART-50 (Tang et al. 2020) have a norm
   after the embeddings, and learned positions, whose tables begin with two unused rows. mBART
   normalizes before sublayers. In mBART-25 the language token follows the end of a source, and the
   decoder starts with the target's language token; in mBART-50 the language token precedes a
   source, and the decoder starts with the end token.

   M2M-100 (Fan et al. 2021) and NLLB-200 (Costa-jussa et al. 2022) share one architecture, with
   norms before sublayers and sinusoidal positions.

   Source: transformers 4.57, modeling_bart.py, modeling_mbart.py, modeling_m2m_100.py. */
#include "import/hf.h"
#include "text/text.h"

#include <stdio.h>
#include <string.h>

/* ---- BART and mBART: names ---- */

#define POSITIONS(side, theirs)                                                                    \
    {                                                                                              \
        side ".positions.weight", theirs, 0, 1, IMPORT_OFFSET                                      \
    }
static const struct import_row embedding_rows[] = {
    POSITIONS("encoder", HF_ENCODER_POSITIONS),
    POSITIONS("decoder", HF_DECODER_POSITIONS),
    HF_LINEAR("encoder.embedding_norm", "model.encoder.layernorm_embedding"),
    HF_LINEAR("decoder.embedding_norm", "model.decoder.layernorm_embedding"),
};

/* Removes the prefix "model.", which is missing in files without an output matrix. */
static void spell_without_model(char name[IMPORT_NAME])
{
    static const char model[] = "model.";
    const size_t size = sizeof model - 1;
    if (strncmp(name, model, size) == 0) memmove(name, name + size, strlen(name + size) + 1);
}

static void choose_bart_spelling(struct import *i)
{
    if (!rapt__tensors_find(i->file, HF_ENCODER_POSITIONS)) i->spell = spell_without_model;
}

/* Ignores version numbers, which old files contain. */
static void ignore_versions(struct import *i)
{
    static const char *const names[] = {"model.encoder.version", "model.decoder.version"};
    for (int n = 0; n < 2; n++) rapt__import_use(i, rapt__import_find(i, names[n], 0));
}

/* ---- BART and mBART: the configuration ---- */

/* Checks flags in old configurations. All BART models have the same flags, and so do all mBART
   models. */
static rapt_status check_kind(struct import *i, const struct import_settings *s, bool mbart)
{
    const struct hf_flag flags[] = {{"normalize_before", mbart},
                                    {"add_final_layer_norm", mbart},
                                    {"normalize_embedding", true},
                                    {"static_position_embeddings", false}};
    return rapt__hf_check_flags(i, s, flags, sizeof flags / sizeof *flags);
}

/* Sets *older to whether the model is mBART-25, which has the same model_type as mBART-50. The name
   of the tokenizer distinguishes them; without a name, a decoder that starts with the end token
   belongs to mBART-50. */
static rapt_status find_age(struct import *i, const struct import_settings *s, bool *older)
{
    static const char file[] = "tokenizer_config.json", key[] = "tokenizer_class";
    struct import_settings own = {0};
    rapt_status status = RAPT_OK;
    if (rapt__import_has(i, file)) status = rapt__import_settings(i, file, &own);
    if (status) return status;
    const char *name = rapt__import_setting(&own, key);
    if (!name) name = rapt__import_setting(s, key);
    const char *start = rapt__import_setting(s, "decoder_start_token_id"),
               *end = rapt__import_setting(s, "eos_token_id");
    *older =
        name ? strncmp(name, "MBart50", 7) != 0 : !start || strcmp(start, end ? end : "2") != 0;
    rapt__import_settings_free(i, &own);
    return RAPT_OK;
}

/* Checks the first input of the decoder. In mBART-25 it is a language token; translations are in
   that language unless the caller names another. */
static rapt_status use_bart_start(struct import *i, const struct import_settings *s,
                                  const struct hf_ids *ids, bool older)
{
    const char *start = rapt__import_setting(s, "decoder_start_token_id");
    if (!older) return rapt__hf_check_start(i, ids, "eos_token_id", ids->end);
    if (!start) return RAPT_OK;
    if (ids->start == ids->end)
        return rapt__import_bad(i,
                                "config.json: decoder_start_token_id is %d, the end token, but "
                                "mBART-25 starts with a language token",
                                ids->start);
    rapt__import_first_token(i, start);
    return RAPT_OK;
}

static rapt_status read_bart_config(struct import *i, const struct import_settings *s, bool mbart,
                                    struct hf_ids *ids)
{
    rapt_config *c = &i->config;
    bool tied, scaled;
    rapt_status status = rapt__hf_read_sizes(i, s, rapt__hf_sizes, HF_SIZES);
    if (!status) status = rapt__import_whole(i, s, "vocab_size", 50265, &c->source_vocab);
    if (!status) status = check_kind(i, s, mbart);
    if (!status) status = rapt__hf_read_activation(i, s, "activation_function");
    if (!status) status = rapt__import_flag(i, s, "tie_word_embeddings", true, &tied);
    if (!status) status = rapt__import_flag(i, s, "scale_embedding", false, &scaled);
    if (!status) status = rapt__hf_read_ids(i, s, (struct hf_ids){1, 2, 2}, ids);
    if (status) return status;
    c->target_vocab = c->source_vocab;
    c->tie = tied ? RAPT_TIE_ALL : RAPT_TIE_NONE;
    c->plain_embedding = !scaled;
    c->output_bias = rapt__import_find(i, "final_logits_bias", 0) != NULL;
    c->norm_order = mbart ? RAPT_NORM_ORDER_PRE : RAPT_NORM_ORDER_POST;
    c->position = RAPT_POSITION_LEARNED;
    c->embedding_norm = 1;
    c->decoder_start = RAPT_DECODER_START_END;
    c->norm_epsilon = 1e-5f;
    return RAPT_OK;
}

/* Checks that the token that mBART-25's decoder starts with is a language token. */
static rapt_status check_language(struct import *i, int id)
{
    const rapt_text name = rapt_tokenizer_name(i->source, id);
    if (name.size && rapt__language_token(name, true) == name.size) return RAPT_OK;
    return rapt__import_bad(
        i, "config.json: decoder_start_token_id is %d, neither a language nor eos_token_id", id);
}

static rapt_status read_bart_vocabulary(struct import *i, bool mbart, bool older,
                                        const struct hf_ids *ids)
{
    rapt_status status;
    if (mbart) {
        status = rapt__hf_languages(i, older ? HF_LANGUAGES_MBART25 : HF_LANGUAGES_MBART50, ids);
        const bool given = older && ids->start != ids->end;
        return status || !given ? status : check_language(i, ids->start);
    }
    i->source_begin = true;
    status = rapt__hf_only_json(i, "vocab.json") ? rapt__hf_json(i, "BPE") : rapt__hf_merges(i);
    return status ? status : rapt__hf_check_ids(i, i->source, ids);
}

rapt_status rapt__import_bart(struct import *i, const struct import_settings *s)
{
    struct hf_ids ids = {0, 0, 0};
    bool older = false;
    const bool mbart = strcmp(rapt__import_setting(s, "model_type"), "mbart") == 0;
    const struct import_table tables[] = {
        {rapt__hf_rows, rapt__hf_row_count, 0},
        {embedding_rows, sizeof embedding_rows / sizeof *embedding_rows, 0},
        {rapt__hf_norm_rows, mbart ? HF_NORM_ROWS : 0, 0},
    };
    const int count = sizeof tables / sizeof *tables;
    snprintf(i->origin, sizeof i->origin, "BART (Hugging Face), %s",
             rapt__container_name(rapt__tensors_container(i->file)));
    choose_bart_spelling(i);
    rapt_status status = read_bart_config(i, s, mbart, &ids);
    if (!status && mbart) status = find_age(i, s, &older);
    if (!status) status = rapt__import_hf_decoding(i, s, ids.pad, ids.end);
    if (!status) status = use_bart_start(i, s, &ids, older);
    ignore_versions(i);
    if (!status) status = rapt__import_match(i, tables, count);
    if (!status) status = read_bart_vocabulary(i, mbart, older, &ids);
    return status ? status : rapt__import_fill(i, tables, count);
}

/* ---- M2M-100 and NLLB-200 ---- */

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
