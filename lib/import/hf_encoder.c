/* hf_encoder.c - imports Hugging Face's encoders (BERT and its relatives), with or without a
   classifier: config.json, the weights and a vocabulary. Other heads are ignored. Without a
   classifier, the files that sentence-transformers adds to an encoder are read as well. Sources:
   sentence-transformers 5, models/; transformers 4.57, the files named in hf_encoder_names.c,
   tokenization_bert_fast.py, tokenization_mpnet_fast.py, tokenization_roberta_fast.py,
   tokenization_xlm_roberta_fast.py. */
#include "import/hf.h"

#include <stdio.h>
#include <string.h>

/* ---- the files of sentence-transformers. modules.json lists the steps from a text to its vector,
   each with its folder. config.json in the folder of the Pooling step specifies how the rows of the
   encoder's output are pooled. sentence_bert_config.json limits how many tokens of a text are read.
   Without modules.json, rows are averaged, as sentence-transformers does by default. ---- */

static rapt_status read_pooling(struct import *i, const char *folder)
{
    static const char *const others[] = {
        "pooling_mode_max_tokens", "pooling_mode_mean_sqrt_len_tokens",
        "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken"};
    char name[IMPORT_FILE];
    struct import_settings s;
    bool first = false, mean = false, other = false;
    snprintf(name, sizeof name, "%.200s/config.json", folder);
    rapt_status status = rapt__import_settings(i, name, &s);
    if (status) return status;
    status = rapt__import_flag(i, &s, "pooling_mode_cls_token", false, &first);
    if (!status) status = rapt__import_flag(i, &s, "pooling_mode_mean_tokens", false, &mean);
    for (size_t n = 0; n < sizeof others / sizeof *others && !status; n++) {
        status = rapt__import_flag(i, &s, others[n], false, &other);
        if (!status && other)
            status = rapt__import_bad(i, "%s: %s is true, which is not supported", name, others[n]);
    }
    rapt__import_settings_free(i, &s);
    if (status) return status;
    if (first == mean)
        return rapt__import_bad(i, "%s: %s pooling mode is true; exactly one must be", name,
                                first ? "more than one" : "no");
    i->config.pooling = first ? RAPT_POOLING_FIRST : RAPT_POOLING_MEAN;
    return RAPT_OK;
}

struct module {
    const char *type, *path; /* NULL until known */
};

/* Returns whether this name is the last component of the module's type, the dotted name of a Python
   class. */
static bool is_module(const struct module *m, const char *name)
{
    const char *dot = strrchr(m->type, '.');
    return strcmp(dot ? dot + 1 : m->type, name) == 0;
}

/* Reads one element of modules.json. Returns false if it is not a JSON object with a type and a
   path. */
static bool take_module(struct json *j, struct module *m)
{
    *m = (struct module){NULL, NULL};
    if (!rapt__json_want(j, '{')) return false;
    do {
        const char *key = rapt__json_string(j);
        if (!key || !rapt__json_want(j, ':')) return false;
        const char **to = strcmp(key, "type") == 0   ? &m->type
                          : strcmp(key, "path") == 0 ? &m->path
                                                     : NULL;
        if (to ? !(*to = rapt__json_string(j)) : !rapt__json_skip(j)) return false;
    } while (rapt__json_next(j, ','));
    return rapt__json_want(j, '}') && m->type && m->path;
}

static rapt_status use_module(struct import *i, const struct module *m)
{
    if (is_module(m, "Pooling") && strpbrk(m->path, "/\\"))
        return rapt__import_bad(i, "modules.json: path %.60s is not a folder name", m->path);
    if (is_module(m, "Pooling")) return read_pooling(i, m->path);
    if (is_module(m, "Normalize")) return i->normalize = true, RAPT_OK;
    if (is_module(m, "Transformer") && !m->path[0]) return RAPT_OK;
    return rapt__import_bad(i, "modules.json: module %.60s is not supported", m->type);
}

static rapt_status read_modules(struct import *i)
{
    char *bytes;
    size_t size;
    rapt_status status = rapt__import_read(i, "modules.json", &bytes, &size);
    if (status) return status;
    struct json j = {.text = (unsigned char *)bytes, .size = size};
    bool good = rapt__json_want(&j, '[');
    do {
        struct module m;
        good = good && take_module(&j, &m);
        if (good) status = use_module(i, &m);
    } while (good && !status && rapt__json_next(&j, ','));
    if (!status && !(good && rapt__json_want(&j, ']') && rapt__json_end(&j)))
        status = rapt__import_bad(i, "modules.json is not a list of modules");
    if (!status) rapt__import_record(i, "modules.json", RAPT_FILE_USE_SETTINGS);
    rapt__free(&i->allocator, bytes, size + 1);
    return status;
}

/* Reads max_seq_length, the maximum number of tokens in a text. It matters only if it is less than
   config.positions. */
static rapt_status read_limit(struct import *i)
{
    const char *name = "sentence_bert_config.json";
    struct import_settings s;
    int limit;
    if (!rapt__import_has(i, name)) return RAPT_OK;
    rapt_status status = rapt__import_settings(i, name, &s);
    if (status) return status;
    status = rapt__import_whole(i, &s, "max_seq_length", 0, &limit);
    rapt__import_settings_free(i, &s);
    if (!status && limit > 0 && limit < i->config.positions) i->max_tokens = limit;
    return status;
}

rapt_status rapt__import_sentence(struct import *i)
{
    i->config.pooling = RAPT_POOLING_MEAN;
    rapt_status status = rapt__import_has(i, "modules.json") ? read_modules(i) : RAPT_OK;
    return status ? status : read_limit(i);
}

/* ---- heads ---- */

/* Ignores position_ids, a buffer that older versions stored; heads for pre-training and for
   question answering; and a pooler that is not used. */
static void ignore_heads(struct import *i)
{
    static const char *const ignored[] = {"cls.", "vocab_", "qa_outputs.", "lm_head."};
    for (int n = 0; n < rapt__tensors_count(i->file); n++) {
        const char *name = rapt__tensors_entry(i->file, n)->name;
        bool none = strstr(name, "embeddings.position_ids") != NULL;
        for (size_t h = 0; h < sizeof ignored / sizeof *ignored; h++)
            none = none || strncmp(name, ignored[h], strlen(ignored[h])) == 0;
        i->used[n] = i->used[n] || none || (!i->config.pooler && strstr(name, "pooler.dense."));
    }
}

/* Sets up the output layer for the head. A text classifier reads the first row of the encoder's
   output; a token classifier reads all rows. Without a classifier there is no output layer. */
static rapt_status read_head(struct import *i, const struct hf_family *f,
                             const struct import_settings *s)
{
    rapt_config *c = &i->config;
    const char *last = "classifier.out_proj.weight";
    const struct tensor_entry *e = rapt__import_find(i, last, 0);
    if (!e) e = rapt__import_find(i, "classifier.weight", 0);
    const char *architecture = rapt__import_only(s, "architectures");
    const bool tokens = architecture && strstr(architecture, "ForTokenClassification");
    c->tie = RAPT_TIE_NONE;
    if (!e) return RAPT_OK;
    if (f->no_pooler && rapt__import_find(i, f->no_pooler, 0))
        return rapt__import_bad(i, "tensor %s belongs to a layer that is not supported",
                                f->no_pooler);
    if (e->rank != 2 || e->shape[0] > 1 << 24)
        return rapt__import_bad(i, "tensor %s is not a matrix of at most 2^24 rows, one per class",
                                e->name);
    c->target_vocab = (int)e->shape[0];
    c->output_bias = 1;
    c->pooling = tokens ? RAPT_POOLING_NONE : RAPT_POOLING_FIRST;
    c->pooler = !tokens;
    return RAPT_OK;
}

/* ---- vocabularies ---- */

static rapt_status read_words(struct import *i)
{
    rapt_wordpiece_options o = {.size = sizeof o};
    struct import_settings s = {0};
    bool lower = true, strip = true, han = true;
    rapt_status status = RAPT_OK;
    if (rapt__import_has(i, "tokenizer_config.json"))
        status = rapt__import_settings(i, "tokenizer_config.json", &s);
    if (status) return status;
    status = rapt__import_flag(i, &s, "do_lower_case", true, &lower);
    if (!status) status = rapt__import_flag(i, &s, "strip_accents", lower, &strip);
    if (!status) status = rapt__import_flag(i, &s, "tokenize_chinese_chars", true, &han);
    rapt__import_settings_free(i, &s);
    o.keep_case = !lower, o.keep_accents = !strip, o.keep_han = !han;
    if (!status)
        status = rapt__import_wordpiece(i, "vocab.txt", i->config.source_vocab, &o, &i->source);
    return status;
}

static bool has_pieces(const struct import *i)
{
    return rapt__import_has(i, "sentencepiece.bpe.model");
}

bool rapt__hf_has_tokenizer(const struct import *i)
{
    return rapt__import_has(i, "vocab.txt") || has_pieces(i) || rapt__import_has(i, "vocab.json") ||
           rapt__import_has(i, "tokenizer.json");
}

/* If the begin token is named <s>, two end tokens separate the texts of a pair. */
rapt_status rapt__hf_encoder_vocabulary(struct import *i)
{
    rapt_status status;
    if (rapt__import_has(i, "vocab.txt"))
        status = read_words(i);
    else if (has_pieces(i))
        status = rapt__hf_languages(i, HF_LANGUAGES_NONE, NULL);
    else
        status = rapt__import_has(i, "vocab.json") ? rapt__hf_merges(i) : rapt__hf_json(i, NULL);
    if (status) return status;
    const int32_t begin = rapt_tokenizer_special(i->source, RAPT_TOKEN_BEGIN);
    const rapt_text name = rapt_tokenizer_name(i->source, begin);
    i->pair_twice = name.size == 3 && memcmp(name.bytes, "<s>", 3) == 0;
    return RAPT_OK;
}

static rapt_status read_vocabulary(struct import *i)
{
    if (rapt__hf_has_tokenizer(i)) return rapt__hf_encoder_vocabulary(i);
    return rapt__import_bad(i, "its folder has none of vocab.txt, sentencepiece.bpe.model, "
                               "vocab.json and tokenizer.json");
}

/* ---- the configuration ---- */

/* Excludes the first two rows of the table from config.positions. Positions of RoBERTa, XLM-RoBERTa
   and MPNet begin after the id of the pad token, which is 1 in all of these models, so these rows
   are not used. */
static rapt_status skip_padding(struct import *i, const struct import_settings *s)
{
    rapt_config *c = &i->config;
    int pad = 1;
    rapt_status status = rapt__import_whole(i, s, "pad_token_id", 1, &pad);
    if (status) return status;
    if (pad != IMPORT_OFFSET_ROWS - 1)
        return rapt__import_bad(i, "config.json: pad_token_id is %d, not 1", pad);
    if (c->positions <= IMPORT_OFFSET_ROWS)
        return rapt__import_bad(i,
                                "config.json: max_position_embeddings is %d; it must be above 2, "
                                "because 2 positions are not used",
                                c->positions);
    c->positions -= IMPORT_OFFSET_ROWS;
    return RAPT_OK;
}

static rapt_status read_encoder_config(struct import *i, const struct hf_family *f,
                                       const struct import_settings *s)
{
    rapt_config *c = &i->config;
    const char *positions = rapt__import_setting(s, "position_embedding_type");
    if (positions && strcmp(positions, "absolute") != 0)
        return rapt__import_bad(
            i, "config.json: position_embedding_type is %.60s, which is not supported", positions);
    rapt_status status = rapt__hf_read_sizes(i, s, f->sizes, f->size_count);
    if (!status) status = rapt__hf_check_flags(i, s, f->flags, f->flag_count);
    if (!status) status = rapt__hf_read_activation(i, s, f->activation);
    if (!status) status = rapt__import_float(i, s, "layer_norm_eps", 1e-12f, &c->norm_epsilon);
    if (!status && f->padded) status = skip_padding(i, s);
    if (f->bucketed) c->relative_bias = RAPT_RELATIVE_BIAS_T5, c->relative_distance = 128;
    c->kind = RAPT_KIND_ENCODER_ONLY;
    c->position = RAPT_POSITION_LEARNED;
    c->embedding_norm = c->plain_embedding = 1;
    i->source_begin = true;
    return status;
}

bool rapt__import_is_encoder(const char *type)
{
    return rapt__hf_family(type) != NULL;
}

rapt_status rapt__import_encoder(struct import *i, const struct import_settings *s)
{
    const struct hf_family *f = rapt__hf_family(rapt__import_setting(s, "model_type"));
    rapt__hf_family_spelling(i, f);
    snprintf(i->origin, sizeof i->origin, "%s (Hugging Face), %s", f->type,
             rapt__container_name(rapt__tensors_container(i->file)));
    rapt_status status = read_encoder_config(i, f, s);
    if (!status) status = read_head(i, f, s);
    if (!status && !i->config.target_vocab) status = rapt__import_sentence(i);
    if (status) return status;
    ignore_heads(i);
    status = rapt__import_match(i, f->tables, HF_FAMILY_TABLES);
    if (!status) status = read_vocabulary(i);
    return status ? status : rapt__import_fill(i, f->tables, HF_FAMILY_TABLES);
}
