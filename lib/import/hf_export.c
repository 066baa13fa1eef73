/* hf_export.c - exports a model to a MarianMT folder for Hugging Face's transformers, with the
   names in hf.c: model.safetensors, config.json, generation_config.json, tokenizer_config.json,
   vocab.json, target_vocab.json if the names of the target differ, and the SentencePiece models.

   MarianMT needs a pad token that never occurs in a translation. If the vocabulary lacks such a
   token, one is added, with a row of zeros. This token also serves as the first input of a decoder
   that starts from zeros. Source: as in hf.c, and convert_marian_to_pytorch.py. */
#include "import/export.h"
#include "import/hf.h"

#include <string.h>

struct written_ids {
    bool added; /* `pad` is the id of an extra row at the end of the tables */
    int32_t pad, end, start;
};

/* ---- what MarianMT can represent ---- */

void rapt__export_check_hf(const struct exporting *e)
{
    static const enum config_field free_fields[] = {
        CONFIG_activation,      CONFIG_position,     CONFIG_tie,          CONFIG_output_bias,
        CONFIG_plain_embedding, CONFIG_norm_epsilon, CONFIG_decoder_start};
    if (e->config->position != RAPT_POSITION_CONCATENATED &&
        e->config->position != RAPT_POSITION_LEARNED)
        rapt__export_refuse(e, "position", "concatenated or learned");
    if (rapt__epsilon(e->config) != 1e-5f) rapt__export_refuse(e, "norm_epsilon", "1e-5");
    rapt__export_check(e, free_fields, sizeof free_fields / sizeof *free_fields);
}

/* Finds the ids of the special tokens. MarianMT uses one id for the pad tokens of both sides, so
   the vocabularies must agree on it. */
static void find_ids(const struct exporting *e, struct written_ids *ids)
{
    const rapt_tokenizer *t = e->target;
    rapt_decoder_start start = e->config->decoder_start;
    int32_t source_pad = rapt_tokenizer_special(e->source, RAPT_TOKEN_PAD);
    ids->pad = rapt_tokenizer_special(t, RAPT_TOKEN_PAD);
    ids->end = rapt_tokenizer_special(t, RAPT_TOKEN_END);
    ids->added = ids->pad < 0;
    if (ids->added) ids->pad = rapt_tokenizer_vocab(t);
    if (source_pad < 0) source_pad = rapt_tokenizer_vocab(e->source);
    if (source_pad != ids->pad ||
        (rapt_tokenizer_special(e->source, RAPT_TOKEN_PAD) < 0) != ids->added)
        rapt__export_refuse(e, "the pad token's id", "the same in both vocabularies");
    if (start == RAPT_DECODER_START_ZERO && !ids->added)
        rapt__export_refuse(e, "decoder_start", "pad, because the vocabulary has <pad>");
    if (start == RAPT_DECODER_START_UNKNOWN)
        rapt__export_refuse(e, "decoder_start", "begin, end, pad or zero");
    ids->start = start == RAPT_DECODER_START_BEGIN ? rapt_tokenizer_special(t, RAPT_TOKEN_BEGIN)
                 : start == RAPT_DECODER_START_END ? ids->end
                                                   : ids->pad;
    if (ids->start < 0) rapt__export_special(e, t, RAPT_TOKEN_BEGIN, "<s>");
}

static void check_names(const struct exporting *e, const rapt_tokenizer *t)
{
    rapt__export_special(e, t, RAPT_TOKEN_UNKNOWN, "<unk>");
    rapt__export_special(e, t, RAPT_TOKEN_END, "</s>");
    if (!rapt_tokenizer_file(t).size)
        rapt__export_refuse(e, rapt__export_key(e, t), "a SentencePiece model");
}

/* ---- the text files ---- */

static void write_ids(struct composer *c, const struct written_ids *ids, int length)
{
    rapt__compose(c,
                  "  \"bad_words_ids\": [[%d]],\n  \"decoder_start_token_id\": %d,\n"
                  "  \"eos_token_id\": %d,\n  \"forced_eos_token_id\": %d,\n"
                  "  \"max_length\": %d,\n  \"pad_token_id\": %d",
                  (int)ids->pad, (int)ids->start, (int)ids->end, (int)ids->end, length,
                  (int)ids->pad);
}

static rapt_status write_config(const struct exporting *e, const struct written_ids *ids)
{
    const rapt_config *c = e->config;
    struct composer text = {.allocator = e->model->allocator};
    const char *activation = NULL;
    for (int n = HF_ACTIVATIONS; n-- > 0;)
        if (rapt__hf_activations[n].activation == c->activation)
            activation = rapt__hf_activations[n].name;
    rapt__compose(&text, "{\n  \"activation_function\": \"%s\",\n", activation);
    rapt__compose(&text, "  \"architectures\": [\"MarianMTModel\"],\n");
    for (int n = 0; n < HF_SIZES; n++)
        rapt__compose(&text, "  \"%s\": %d,\n", rapt__hf_sizes[n].key,
                      rapt__config_get(c, (int)rapt__hf_sizes[n].field));
    for (int n = 0; n < HF_FLAGS; n++)
        rapt__compose(&text, "  \"%s\": %s,\n", rapt__hf_flags[n].key,
                      rapt__hf_flags[n].good ? "true" : "false");
    rapt__compose(&text,
                  "  \"is_encoder_decoder\": true,\n  \"model_type\": \"marian\",\n"
                  "  \"num_hidden_layers\": %d,\n  \"scale_embedding\": %s,\n"
                  "  \"share_encoder_decoder_embeddings\": %s,\n  \"tie_word_embeddings\": %s,\n"
                  "  \"torch_dtype\": \"float32\",\n  \"vocab_size\": %d,\n"
                  "  \"decoder_vocab_size\": %d,\n",
                  c->encoder_layers, c->plain_embedding ? "false" : "true",
                  c->tie == RAPT_TIE_ALL ? "true" : "false",
                  c->tie == RAPT_TIE_NONE ? "false" : "true", c->source_vocab + ids->added,
                  c->target_vocab + ids->added);
    write_ids(&text, ids, c->positions);
    rapt__compose(&text, "\n}\n");
    return rapt__compose_write(e, &text, "config.json");
}

static rapt_status write_generation(const struct exporting *e, const struct written_ids *ids)
{
    struct composer text = {.allocator = e->model->allocator};
    rapt__compose(&text, "{\n");
    write_ids(&text, ids, e->config->positions);
    rapt__compose(&text, ",\n  \"renormalize_logits\": true\n}\n");
    return rapt__compose_write(e, &text, "generation_config.json");
}

static rapt_status write_tokenizer(const struct exporting *e, bool separate)
{
    struct composer text = {.allocator = e->model->allocator};
    rapt__compose(&text,
                  "{\n  \"eos_token\": \"</s>\",\n  \"model_max_length\": %d,\n"
                  "  \"pad_token\": \"<pad>\",\n  \"separate_vocabs\": %s,\n"
                  "  \"sp_model_kwargs\": {},\n  \"tokenizer_class\": \"MarianTokenizer\",\n"
                  "  \"unk_token\": \"<unk>\"\n}\n",
                  e->config->positions, separate ? "true" : "false");
    return rapt__compose_write(e, &text, "tokenizer_config.json");
}

static rapt_status write_names(const struct exporting *e, const rapt_tokenizer *t,
                               const struct written_ids *ids, const char *name)
{
    struct composer text = {.allocator = e->model->allocator};
    int vocab = rapt_tokenizer_vocab(t);
    rapt__compose(&text, "{");
    for (int32_t id = 0; id < vocab; id++) {
        rapt_text name_of = rapt_tokenizer_name(t, id);
        if (name_of.size == 0) continue; /* an id without a token */
        rapt__compose(&text, text.size > 1 ? ",\n" : "\n");
        rapt__compose_string(&text, name_of);
        rapt__compose(&text, ": %d", (int)id);
    }
    if (ids->added) rapt__compose(&text, ",\n\"<pad>\": %d", vocab);
    rapt__compose(&text, "\n}\n");
    return rapt__compose_write(e, &text, name);
}

static rapt_status write_vocabularies(const struct exporting *e, const struct written_ids *ids)
{
    bool separate = !rapt__same_names(e->source, e->target);
    rapt_status status = rapt__export_pieces(e, e->source, "source.spm");
    if (!status) status = rapt__export_pieces(e, e->target, "target.spm");
    if (!status) status = write_names(e, e->source, ids, "vocab.json");
    if (!status && separate) status = write_names(e, e->target, ids, "target_vocab.json");
    return status ? status : write_tokenizer(e, separate);
}

/* ---- the tensors ---- */

/* Writes the tensors. If the model has no output bias, a bias of zeros is written. */
static rapt_status write_model(struct exporting *e, const struct written_ids *ids)
{
    static const char *const tables[] = {"model.shared.weight", "model.encoder.embed_tokens.weight",
                                         "model.decoder.embed_tokens.weight", "lm_head.weight",
                                         "final_logits_bias"};
    const struct tensor_metadata format = {"format", "pt"};
    const struct import_table all[] = {{rapt__hf_rows, rapt__hf_row_count, 0},
                                       {rapt__hf_position_rows, HF_POSITION_ROWS, 0}};
    char path[2 * IMPORT_PATH];
    if (rapt__export_plans(e, "model.safetensors")) return RAPT_OK;
    rapt_status status =
        rapt__export_tensors(e, &(struct export_rows){all, 2, NULL, .vector_rank = 1, .more = 1});
    if (status) return status;
    struct tensor_source *bias = rapt__export_find(e, tables[4]);
    if (bias)
        bias->rank = 2, bias->shape[1] = bias->shape[0], bias->shape[0] = 1;
    else
        rapt__export_add(e, tables[4], 1, e->config->target_vocab, NULL);
    for (int n = 0; ids->added && n < 5; n++) rapt__export_extend(e, tables[n]);
    rapt__export_path(e, "model.safetensors", path);
    return rapt__tensors_write(path, e->sources, e->count, &format, 1, &e->model->allocator,
                               e->why);
}

rapt_status rapt__export_hf(struct exporting *e)
{
    struct written_ids ids = {0};
    check_names(e, e->source);
    check_names(e, e->target);
    find_ids(e, &ids);
    rapt_status status = rapt__export_refused(e);
    if (!status) status = write_vocabularies(e, &ids);
    if (!status) status = write_model(e, &ids);
    if (!status) status = write_generation(e, &ids);
    return status ? status : write_config(e, &ids);
}
