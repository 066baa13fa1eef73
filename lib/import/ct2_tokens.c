/* ct2_tokens.c - reads the settings for special tokens, and the vocabularies, in a CTranslate2
   folder. The vocabularies are lists of names. Tokenizer files are read as well if they exist:
   source.spm, target.spm or Hugging Face's files in the folder, or an Argos package's files next to
   the folder.

   The folder of an encoder (BERT, DistilBERT, RoBERTa or XLM-RoBERTa) contains the names of tokens,
   but not the rules for splitting text into tokens. The rules, and the settings of
   sentence-transformers, are read from the files of the original model, which are in the same
   folder or its parent.

   Source: CTranslate2 4.8, src/models/sequence_to_sequence.cc, vocabulary.cc,
   src/layers/transformer.cc, specs/transformer_spec.py, converters/transformers.py. */
#include "import/ct2.h"
#include "import/hf.h"

#include <stdio.h>
#include <string.h>

/* ---- special tokens ---- */

/* The first function returns true for BART, whose sources begin with <s>; the second returns true
   for mBART, which normalizes before sublayers. */
static bool is_bart(const rapt_config *c)
{
    return c->embedding_norm && c->norm_order == RAPT_NORM_ORDER_POST;
}
static bool is_mbart(const rapt_config *c)
{
    return c->embedding_norm && c->norm_order == RAPT_NORM_ORDER_PRE;
}

/* Returns whether a model was converted from Hugging Face's transformers, judging by the first
   input of its decoder. `start` is the decoder_start_token, or NULL. A decoder that starts from
   zeros must have the start token "</s>". Any other decoder must start with the end or pad token,
   or belong to T5. Other converters store such a start token only together with add_source_eos. */
static bool is_from_hf(const rapt_config *c, const char *start)
{
    if (c->decoder_start == RAPT_DECODER_START_ZERO) return start && strcmp(start, "</s>") == 0;
    return c->decoder_start == RAPT_DECODER_START_END ||
           c->decoder_start == RAPT_DECODER_START_PAD || c->relative_bias;
}

/* Sets whether sources begin and end with special tokens. For models from Hugging Face, CTranslate2
   leaves it to its callers to add these tokens; our translators add them. */
static void frame_sources(struct import *i, bool source_end, const char *start)
{
    rapt_config *c = &i->config;
    c->no_source_end = !source_end && !is_from_hf(c, start);
    i->source_begin = is_bart(c);
}

/* ---- attributes and settings ---- */

/* Determines whether sources begin and end with special tokens, and which token targets begin with.
   Versions up to 5 store this in model.bin. */
static rapt_status read_tokens(struct import *i)
{
    rapt_config *c = &i->config;
    int source_begin, source_end, target_begin, user;
    rapt_status status = rapt__import_number(i, "with_source_bos", 0, &source_begin);
    if (!status) status = rapt__import_number(i, "with_source_eos", 0, &source_end);
    if (!status) status = rapt__import_number(i, "with_target_bos", 1, &target_begin);
    if (!status) status = rapt__import_number(i, "user_decoder_start_tokens", 0, &user);
    if (status) return status;
    if (source_begin) return rapt__import_bad(i, "with_source_bos is not supported");
    if (user) return rapt__import_bad(i, "user_decoder_start_tokens is not supported");
    if (!target_begin && !c->decoder_start) c->decoder_start = RAPT_DECODER_START_END;
    frame_sources(i, source_end, NULL);
    return RAPT_OK;
}

/* Checks that a special token has the usual name, by which tokenizers find it. */
static rapt_status check_name(struct import *i, const struct import_settings *s, const char *key,
                              const char *name)
{
    const char *text = rapt__import_setting(s, key);
    if (!text || strcmp(text, name) == 0) return RAPT_OK;
    return rapt__import_bad(i, "config.json: %s is \"%.60s\", not \"%s\"", key, text, name);
}

/* Sets the first input of the decoder. mBART-25 has no decoder_start_token, because its decoder
   starts with the target's language token. */
static rapt_status use_start(struct import *i, const char *start)
{
    rapt_config *c = &i->config;
    if (c->decoder_start == RAPT_DECODER_START_ZERO) return RAPT_OK;
    if (!start && is_mbart(c)) {
        i->source_language_last = i->language_starts = true;
        start = "</s>";
    }
    if (!start) return rapt__import_bad(i, "config.json has no decoder_start_token");
    if (strcmp(start, "</s>") == 0)
        c->decoder_start = RAPT_DECODER_START_END;
    else if (strcmp(start, "<pad>") == 0 || strcmp(start, "<blank>") == 0)
        c->decoder_start = RAPT_DECODER_START_PAD;
    else if (strcmp(start, "<unk>") == 0)
        c->decoder_start = RAPT_DECODER_START_UNKNOWN;
    else if (strcmp(start, "<s>") != 0)
        return rapt__import_bad(i, "config.json: decoder_start_token \"%.60s\" is not supported",
                                start);
    return RAPT_OK;
}

static bool is_same(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

static rapt_status use_settings(struct import *i, const struct import_settings *s)
{
    rapt_config *c = &i->config;
    bool source_begin, source_end;
    const char *start = rapt__import_setting(s, "decoder_start_token");
    rapt_status status = rapt__import_flag(i, s, "add_source_bos", false, &source_begin);
    if (!status) status = rapt__import_flag(i, s, "add_source_eos", false, &source_end);
    if (!status && !is_same(rapt__import_setting(s, "bos_token"), start))
        status = check_name(i, s, "bos_token", "<s>");
    if (!status) status = check_name(i, s, "eos_token", "</s>");
    if (!status) status = check_name(i, s, "unk_token", "<unk>");
    if (status) return status;
    if (source_begin) return rapt__import_bad(i, "config.json: add_source_bos is not supported");
    status = use_start(i, start);
    if (status) return status;
    frame_sources(i, source_end, start);
    return rapt__import_float(i, s, "layer_norm_epsilon", c->norm_epsilon, &c->norm_epsilon);
}

static rapt_status read_token_settings(struct import *i)
{
    struct import_settings s;
    rapt_status status = rapt__import_settings(i, "config.json", &s);
    if (status) return status;
    status = use_settings(i, &s);
    rapt__import_settings_free(i, &s);
    return status;
}

rapt_status rapt__ct2_tokens(struct import *i, bool settings)
{
    return settings ? read_token_settings(i) : read_tokens(i);
}

/* ---- vocabularies ---- */

/* Returns the name of the SentencePiece model for one side, usually `side` itself, or of the model
   for both sides. Returns NULL if there is none. */
static const char *find_pieces(const struct import *i, const char *side)
{
    static const char *const both[] = {"sentencepiece.bpe.model", "spiece.model"};
    if (i->package) return i->from_language[0] ? NULL : "../sentencepiece.model";
    if (rapt__import_has(i, side)) return side;
    for (int n = 0; n < 2; n++)
        if (rapt__import_has(i, both[n])) return both[n];
    return NULL;
}

/* Reads a vocabulary and the merges of an Argos package. Moses splits text into words by the rules
   of a language, and the merges are applied within these words. */
static rapt_status read_moses(struct import *i, const char *name, const char *language, int vocab,
                              rapt_tokenizer **tokenizer)
{
    static const char merges[] = "../bpe.model";
    char *bytes;
    size_t size;
    rapt_status status = rapt__import_read(i, merges, &bytes, &size);
    if (status) return status;
    const struct moses_source moses = {{bytes, size}, {language, strlen(language)}};
    status = rapt__import_moses(i, name, vocab, &moses, tokenizer);
    rapt__free(&i->allocator, bytes, size + 1);
    if (!status) rapt__import_record(i, merges, RAPT_FILE_USE_VOCABULARY);
    return status;
}

/* Makes a tokenizer from the vocabulary `name`.json or, if there is no such file, `name`.txt. Texts
   are split by the merges of an Argos package or by a SentencePiece model, which may be part of a
   package or may have been copied to the folder by a converter. Without either, they are split at
   spaces. */
static rapt_status read_vocabulary(struct import *i, const char *name, const char *side, int vocab,
                                   rapt_tokenizer **tokenizer)
{
    char file[80];
    rapt_tokenizer *pieces = NULL;
    snprintf(file, sizeof file, "%s.json", name);
    if (!rapt__import_has(i, file)) snprintf(file, sizeof file, "%s.txt", name);
    const bool target = strcmp(side, "target.spm") == 0;
    if (i->from_language[0])
        return read_moses(i, file, target ? i->to_language : i->from_language, vocab, tokenizer);
    const char *spm = find_pieces(i, side);
    rapt_status status = spm ? rapt__import_pieces(i, spm, &pieces) : RAPT_OK;
    if (!status) status = rapt__import_names(i, file, vocab, pieces, tokenizer);
    rapt_tokenizer_free(pieces);
    return status;
}

/* Makes i->source from transformers' tokenizer files: BART's vocab.json and merges.txt or, if there
   is no SentencePiece model, tokenizer.json. If these files are missing, i->source remains NULL. */
static rapt_status read_hf_tokenizer(struct import *i)
{
    const rapt_config *c = &i->config;
    if (is_bart(c) && rapt__import_has(i, "merges.txt") && rapt__import_has(i, "vocab.json"))
        return rapt__hf_merges(i);
    if (find_pieces(i, "source.spm") || !rapt__import_has(i, "tokenizer.json")) return RAPT_OK;
    return rapt__hf_json(i, c->relative_bias || is_mbart(c) ? "Unigram" : "BPE");
}

static rapt_status read_lists(struct import *i)
{
    const rapt_config *c = &i->config;
    bool shared = rapt__import_has(i, "shared_vocabulary.json") ||
                  rapt__import_has(i, "shared_vocabulary.txt");
    if (shared && c->source_vocab != c->target_vocab)
        return rapt__import_bad(i, "the vocabulary is shared, but the tables have %d and %d rows",
                                c->source_vocab, c->target_vocab);
    if (shared && is_from_hf(c, NULL)) {
        rapt_status status = read_hf_tokenizer(i);
        if (status || i->source) return status;
    }
    const char *source = shared ? "shared_vocabulary" : "source_vocabulary";
    const char *target = shared ? "shared_vocabulary" : "target_vocabulary";
    rapt_status status = read_vocabulary(i, source, "source.spm", c->source_vocab, &i->source);
    const bool two = !shared || i->from_language[0] || rapt__import_has(i, "target.spm");
    if (status || !two) return status;
    return read_vocabulary(i, target, "target.spm", c->target_vocab, &i->target);
}

/* Stores the id of the first token of every translation, if an Argos package names one. */
static rapt_status use_first_token(struct import *i)
{
    char id[16];
    const rapt_text name = {i->first_token, strlen(i->first_token)};
    if (!name.size) return RAPT_OK;
    const int32_t token = rapt_tokenizer_find(i->target ? i->target : i->source, name);
    if (token < 0)
        return rapt__import_bad(
            i, "metadata.json: target_prefix is %s, which is not in the target's vocabulary",
            i->first_token);
    snprintf(id, sizeof id, "%d", (int)token);
    rapt__import_first_token(i, id);
    return RAPT_OK;
}

rapt_status rapt__ct2_vocabularies(struct import *i)
{
    rapt_status status = read_lists(i);
    return status ? status : use_first_token(i);
}

/* ---- encoders: the files of the original model ---- */

/* Calls `read` with i->folder temporarily set to the folder that contains the tokenizer's files:
   the model's folder or, if only its parent has them, the parent. */
static rapt_status with_tokenizer(struct import *i, rapt_status (*read)(struct import *i))
{
    const size_t size = strlen(i->folder);
    if (!rapt__hf_has_tokenizer(i) && !i->archive && size + 4 <= sizeof i->folder) {
        memcpy(i->folder + size, "../", 4);
        if (!rapt__hf_has_tokenizer(i)) i->folder[size] = 0;
    }
    rapt_status status = read(i);
    i->folder[size] = 0;
    return status;
}

static rapt_status read_encoder_tokenizer(struct import *i)
{
    if (rapt__hf_has_tokenizer(i)) return rapt__hf_encoder_vocabulary(i);
    return rapt__import_bad(i,
                            "its vocabulary has no rules for splitting texts; copy the original "
                            "model's tokenizer.json, or vocab.txt and tokenizer_config.json, into "
                            "its folder");
}

/* ---- encoders: the configuration ---- */

static rapt_status read_encoder_settings(struct import *i)
{
    struct import_settings s;
    rapt_config *c = &i->config;
    rapt_status status = rapt__import_settings(i, "config.json", &s);
    if (status) return status;
    status = rapt__import_float(i, &s, "layer_norm_epsilon", c->norm_epsilon, &c->norm_epsilon);
    rapt__import_settings_free(i, &s);
    return status;
}

/* Checks that the embeddings of tokens and of token types are added rather than concatenated. */
static rapt_status check_merge(struct import *i)
{
    enum { CONCATENATED, ADDED };
    int merge;
    rapt_status status = rapt__import_number(i, "encoder/embeddings_merge", CONCATENATED, &merge);
    if (status || !i->config.token_types || merge == ADDED) return status;
    return rapt__import_bad(
        i, "encoder/embeddings_merge is %d, not %d: its embeddings are not added", merge, ADDED);
}

/* Ignores the pooler, as the importer for Hugging Face encoders does for models without a
   classifier: the vector of a text is the average of its tokens' vectors, unless the files of
   sentence-transformers specify otherwise. */
static void ignore_pooler(struct import *i)
{
    for (int n = 0; n < rapt__tensors_count(i->file); n++)
        i->used[n] |= strncmp(rapt__tensors_entry(i->file, n)->name, "pooler_", 7) == 0;
}

rapt_status rapt__ct2_encoder(struct import *i)
{
    i->source_begin = true;
    ignore_pooler(i);
    rapt_status status = check_merge(i);
    if (!status) status = read_encoder_settings(i);
    return status ? status : with_tokenizer(i, rapt__import_sentence);
}

/* ---- encoders: the vocabulary ---- */

/* Checks that the vocabulary gives the rows of the table the same names as the tokenizer, because
   the tokenizer's files might belong to another model. Rows without a name in the tokenizer may
   have any name, because they are never produced. */
static rapt_status compare_encoder_names(struct import *i, const char *file,
                                         const struct vocabulary *v)
{
    const int rows = i->config.source_vocab, count = rapt__vocabulary_count(v);
    if (count != rows)
        return rapt__import_bad(i, "%s has %d names, but the model's table has %d rows", file,
                                count, rows);
    for (int id = 0; id < rows; id++) {
        const char *name = rapt__vocabulary_token(v, id);
        const rapt_text own = rapt_tokenizer_name(i->source, id);
        if (!own.size || (own.size == strlen(name) && memcmp(own.bytes, name, own.size) == 0))
            continue;
        return rapt__import_bad(i, "%s: token %d is \"%.60s\", but \"%.*s\" in the tokenizer", file,
                                id, name, (int)rapt__min_size(own.size, 60), own.bytes);
    }
    return RAPT_OK;
}

static rapt_status check_encoder_names(struct import *i)
{
    struct vocabulary *v;
    const char *file = "vocabulary.json";
    if (!rapt__import_has(i, file)) file = "vocabulary.txt";
    rapt_status status = rapt__import_open_names(i, file, &v);
    if (status) return status;
    status = compare_encoder_names(i, file, v);
    rapt__vocabulary_close(v);
    return status;
}

rapt_status rapt__ct2_encoder_vocabulary(struct import *i)
{
    rapt_status status = with_tokenizer(i, read_encoder_tokenizer);
    return status ? status : check_encoder_names(i);
}
