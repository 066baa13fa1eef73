/* ct2_export.c - exports a model to a folder in CTranslate2's format, with the names in ct2.c:
   model.bin of version 6, config.json and the vocabularies. The SentencePiece models are also
   written, although CTranslate2 does not read them, because they are needed to tokenize text.
   Source: as in ct2.c, and model_spec.py. */
#include "import/ct2.h"
#include "import/export.h"

#include <stdio.h>
#include <string.h>

enum { REVISION = 7 };

/* ---- what CTranslate2 can represent ---- */

void rapt__export_check_ct2(const struct exporting *e)
{
    static const enum config_field free_fields[] = {
        CONFIG_norm_order,  CONFIG_activation,      CONFIG_position,      CONFIG_tie,
        CONFIG_output_bias, CONFIG_plain_embedding, CONFIG_norm_epsilon,  CONFIG_norm_type,
        CONFIG_ffn_gated,   CONFIG_first_position,  CONFIG_decoder_start, CONFIG_no_source_end};
    const rapt_config *c = e->config;
    if (c->position == RAPT_POSITION_NONE)
        rapt__export_refuse(e, "position", "sinusoids or learned");
    /* the import would mistake such a model for one from Hugging Face, whose sources end with the
       end token */
    if (c->no_source_end &&
        (c->decoder_start == RAPT_DECODER_START_END || c->decoder_start == RAPT_DECODER_START_PAD))
        rapt__export_refuse(e, "no_source_end", "0 if the decoder starts with </s> or <pad>");
    rapt__export_check(e, free_fields, sizeof free_fields / sizeof *free_fields);
}

/* Returns true if CTranslate2 computes these positions itself, without a table. */
static bool own_positions(const rapt_config *c)
{
    return c->position == RAPT_POSITION_CONCATENATED_N1 && c->first_position == 1;
}

/* ---- model.bin ---- */

struct ct2_lists {
    struct ct2_scalar scalars[2 * CT2_ATTRIBUTES];
    char names[2 * CT2_ATTRIBUTES][64];
    int scalar_count, alias_count;
    struct ct2_alias aliases[2];
};

static void list_scalars(const struct exporting *e, struct ct2_lists *l)
{
    for (int n = 0; n < 2 * CT2_ATTRIBUTES; n++) {
        const struct ct2_attribute *a = &rapt__ct2_attributes[n / 2];
        if (!(n % 2 ? a->of_decoder : a->of_encoder)) continue;
        int at = l->scalar_count++;
        snprintf(l->names[at], sizeof l->names[at], "%s/%s", n % 2 ? "decoder" : "encoder",
                 a->name);
        l->scalars[at] = (struct ct2_scalar){l->names[at], a->dtype, rapt__ct2_value(e->config, a)};
    }
}

static void list_aliases(const struct exporting *e, struct ct2_lists *l)
{
    static const char table[] = "decoder/embeddings/weight";
    if (e->config->tie == RAPT_TIE_NONE) return;
    l->aliases[l->alias_count++] = (struct ct2_alias){"decoder/projection/weight", table};
    if (e->config->tie == RAPT_TIE_ALL)
        l->aliases[l->alias_count++] = (struct ct2_alias){"encoder/embeddings_0/weight", table};
}

static rapt_status write_model(struct exporting *e)
{
    const rapt_config *c = e->config;
    struct import_table tables[CT2_TABLES];
    struct ct2_lists l = {.scalar_count = 0};
    char path[2 * IMPORT_PATH];
    const struct export_rows rows = {tables, rapt__ct2_tables(c, tables), NULL, 1, .more = 2};
    if (rapt__export_plans(e, "model.bin")) return RAPT_OK;
    rapt_status status = rapt__export_tensors(e, &rows);
    if (status) return status;
    if (e->model->sinusoids && !own_positions(c)) {
        rapt__export_add(e, "encoder" CT2_POSITIONS, c->positions, c->width, e->model->sinusoids);
        rapt__export_add(e, "decoder" CT2_POSITIONS, c->positions, c->width, e->model->sinusoids);
    }
    list_scalars(e, &l);
    list_aliases(e, &l);
    const struct ct2_contents contents = {.spec = "TransformerSpec",
                                          .revision = REVISION,
                                          .sources = e->sources,
                                          .source_count = e->count,
                                          .scalars = l.scalars,
                                          .scalar_count = l.scalar_count,
                                          .aliases = l.aliases,
                                          .alias_count = l.alias_count};
    rapt__export_path(e, "model.bin", path);
    return rapt__ct2_write(path, &contents, &e->model->allocator, e->why);
}

/* ---- the text files ---- */

/* Rejects a target vocabulary with unnamed rows: CTranslate2 cannot exclude them from
   translations. */
static void check_targets(const struct exporting *e)
{
    char needed[80];
    for (int32_t id = 0; id < rapt_tokenizer_vocab(e->target); id++) {
        if (rapt_tokenizer_name(e->target, id).size) continue;
        snprintf(needed, sizeof needed, "a vocabulary with a token for every row, including row %d",
                 (int)id);
        rapt__export_refuse(e, rapt__export_key(e, e->target), needed);
        return;
    }
}

/* Returns true if the decoder's first input is a separate begin token. A vocabulary without a begin
   token uses the end token instead. */
static bool begins(const struct exporting *e)
{
    return e->config->decoder_start == RAPT_DECODER_START_BEGIN &&
           rapt_tokenizer_special(e->target, RAPT_TOKEN_BEGIN) !=
               rapt_tokenizer_special(e->target, RAPT_TOKEN_END);
}

/* Returns the token that targets begin with. If the decoder starts from zeros, only our own import
   uses the token: "</s>" means that sources end with the end token. */
static const char *start_of(const struct exporting *e)
{
    if (e->config->decoder_start == RAPT_DECODER_START_ZERO)
        return e->config->no_source_end ? "<unk>" : "</s>";
    if (e->config->decoder_start == RAPT_DECODER_START_PAD) return "<pad>";
    if (e->config->decoder_start == RAPT_DECODER_START_UNKNOWN) return "<unk>";
    return begins(e) ? "<s>" : "</s>";
}

static rapt_status write_config(const struct exporting *e)
{
    const rapt_config *c = e->config;
    struct composer text = {.allocator = e->model->allocator};
    char epsilon[FLOAT_TEXT] = "null";
    rapt__compose(&text,
                  "{\n  \"add_source_bos\": false,\n  \"add_source_eos\": %s,\n"
                  "  \"bos_token\": \"<s>\",\n  \"decoder_start_token\": \"%s\",\n"
                  "  \"eos_token\": \"</s>\",\n",
                  c->no_source_end ? "false" : "true", start_of(e));
    if (rapt__epsilon(c) != (c->norm_type == RAPT_NORM_TYPE_RMS ? 1e-6f : 1e-5f))
        rapt__float_write(rapt__epsilon(c), epsilon);
    rapt__compose(&text,
                  "  \"layer_norm_epsilon\": %s,\n  \"multi_query_attention\": false,\n"
                  "  \"unk_token\": \"<unk>\"\n}\n",
                  epsilon);
    return rapt__compose_write(e, &text, "config.json");
}

static rapt_status write_names(const struct exporting *e, const rapt_tokenizer *t, const char *side)
{
    struct composer text = {.allocator = e->model->allocator};
    char name[64];
    int vocab = rapt_tokenizer_vocab(t);
    rapt__compose(&text, "[");
    for (int32_t id = 0; id < vocab; id++) {
        rapt__compose(&text, id ? ",\n  " : "\n  ");
        if (rapt_tokenizer_name(t, id).size)
            rapt__compose_string(&text, rapt_tokenizer_name(t, id));
        else
            rapt__compose(&text, "\"<unused %d>\"", (int)id); /* every row needs a name */
    }
    rapt__compose(&text, "\n]\n");
    snprintf(name, sizeof name, "%s_vocabulary.json", side);
    return rapt__compose_write(e, &text, name);
}

static void check_names(const struct exporting *e, const rapt_tokenizer *t)
{
    rapt__export_special(e, t, RAPT_TOKEN_UNKNOWN, "<unk>");
    if (t == e->target || !e->config->no_source_end)
        rapt__export_special(e, t, RAPT_TOKEN_END, "</s>");
    if (t == e->target && e->config->decoder_start == RAPT_DECODER_START_PAD)
        rapt__export_special(e, t, RAPT_TOKEN_PAD, "<pad>");
    if (t == e->target && begins(e)) rapt__export_special(e, t, RAPT_TOKEN_BEGIN, "<s>");
}

static rapt_status write_vocabularies(const struct exporting *e)
{
    bool same = rapt__same_names(e->source, e->target);
    rapt_status status = write_names(e, e->source, same ? "shared" : "source");
    if (!status && !same) status = write_names(e, e->target, "target");
    if (!status) status = rapt__export_pieces_if(e, e->source, "source.spm");
    if (!status) status = rapt__export_pieces_if(e, e->target, "target.spm");
    return status;
}

rapt_status rapt__export_ct2(struct exporting *e)
{
    check_names(e, e->source);
    check_names(e, e->target);
    check_targets(e);
    rapt_status status = rapt__export_refused(e);
    if (!status) status = write_vocabularies(e);
    if (!status) status = write_config(e);
    return status ? status : write_model(e);
}
