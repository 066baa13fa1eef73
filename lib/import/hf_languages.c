/* hf_languages.c - creates the vocabularies of multilingual translators (NLLB-200, mBART-25,
   mBART-50 and M2M-100) and of XLM-RoBERTa, which has no language tokens. Pieces are in
   sentencepiece.bpe.model, and the token names of M2M-100 are in vocab.json. These files do not
   contain the language tokens, whose ids follow those of the pieces or names. If
   sentencepiece.bpe.model is missing, tokenizer.json, which contains all tokens, is read instead.
   Source: transformers 4.57, tokenization_m2m_100.py, tokenization_nllb.py, tokenization_mbart.py,
   tokenization_mbart50.py. */
#include "import/hf.h"
#include "text/text.h"

#include <stdio.h>
#include <string.h>

enum { LANGUAGE_NAME = 16 }; /* capacity for a name such as "__en__" */

/* The languages of M2M-100 and of the WMT 2021 translators, in the order of their tokens. */
static const char m2m_languages[] =
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu "
    "ha he hi hr ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms "
    "my ne nl no ns oc or pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur "
    "uz vi wo xh yi yo zh zu";
static const char wmt21_languages[] = "en ha is ja cs ru zh de";

static rapt_text text_of(const char *string)
{
    return (rapt_text){string, strlen(string)};
}

/* Names the rows of the embedding table of NLLB, mBART or XLM-RoBERTa. The rows belong to fairseq's
   special tokens, the pieces after the first three (with ids one higher than in the SentencePiece
   model), the languages, and the mask. */
static rapt_status name_fairseq(struct import *i, enum hf_languages languages,
                                const rapt_tokenizer *pieces, rapt_text *names)
{
    static const char *const specials[] = {"<s>", "<pad>", "</s>", "<unk>"};
    static const int counts[] = {[HF_LANGUAGES_NONE] = 0,
                                 [HF_LANGUAGES_M2M] = NLLB_LANGUAGES,
                                 [HF_LANGUAGES_MBART25] = MBART25_LANGUAGES,
                                 [HF_LANGUAGES_MBART50] = MBART_LANGUAGES};
    const bool mbart = languages != HF_LANGUAGES_M2M;
    const int known = rapt_tokenizer_vocab(pieces), vocab = i->config.source_vocab,
              count = counts[languages];
    if (known < 3 || (long long)known + 2 + count > vocab)
        return rapt__import_bad(
            i,
            "sentencepiece.bpe.model has %d pieces, which with %d languages need %d rows, but "
            "the model's table has %d rows",
            known, count, known + 2 + count, vocab);
    for (int id = 0; id < 4; id++) names[id] = text_of(specials[id]);
    for (int id = 4; id <= known; id++) names[id] = rapt_tokenizer_name(pieces, id - 1);
    for (int n = 0; n < count; n++)
        names[known + 1 + n] =
            text_of(mbart ? rapt__mbart_languages[n] : rapt__language_table[n].code);
    names[known + 1 + count] = text_of("<mask>");
    return RAPT_OK;
}

/* Names the rows of M2M-100's embedding table: first the tokens in vocab.json, then the languages.
   `spelled` has LANGUAGE_NAME bytes for each row. */
static rapt_status name_m2m(struct import *i, const struct vocabulary *v, const char *languages,
                            rapt_text *names, char *spelled)
{
    const int known = rapt__vocabulary_count(v), vocab = i->config.source_vocab;
    int id = 0;
    for (; id < known && id < vocab; id++) names[id] = text_of(rapt__vocabulary_token(v, id));
    for (const char *at = languages; *at && id < vocab; id++, spelled += LANGUAGE_NAME) {
        const int size = (int)strcspn(at, " ");
        snprintf(spelled, LANGUAGE_NAME, "__%.*s__", size, at);
        names[id] = text_of(spelled);
        at += size + (at[size] == ' ');
        if (!*at) return RAPT_OK;
    }
    return rapt__import_bad(
        i, "vocab.json has %d names, which leaves too few rows for the languages", known);
}

/* Chooses the list of languages according to tokenizer_config.json, which also specifies whether
   the language token follows the source text. */
static rapt_status read_languages(struct import *i, const char **languages)
{
    static const char file[] = "tokenizer_config.json";
    struct import_settings s = {0};
    rapt_status status = RAPT_OK;
    *languages = m2m_languages;
    if (rapt__import_has(i, file)) status = rapt__import_settings(i, file, &s);
    if (status) return status;
    const char *set = rapt__import_setting(&s, "language_codes");
    if (set && strcmp(set, "wmt21") == 0)
        *languages = wmt21_languages;
    else if (set && strcmp(set, "m2m100") != 0)
        status =
            rapt__import_bad(i, "%s: language_codes is %.60s, which is not supported", file, set);
    if (!status)
        status = rapt__import_flag(i, &s, "legacy_behaviour", false, &i->source_language_last);
    rapt__import_settings_free(i, &s);
    return status;
}

static rapt_status name_rows(struct import *i, enum hf_languages languages,
                             const rapt_tokenizer *pieces, rapt_text *names, char *spelled)
{
    static const char file[] = "vocab.json";
    struct vocabulary *v = NULL;
    const char *listed;
    const int vocab = i->config.source_vocab;
    rapt_status status = read_languages(i, &listed);
    for (int id = 0; id < vocab; id++) names[id] = (rapt_text){"", 0};
    if (!status && (languages != HF_LANGUAGES_M2M || !rapt__import_has(i, file))) {
        status = name_fairseq(i, languages, pieces, names);
    } else if (!status) {
        status = rapt__import_open_names(i, file, &v);
        if (!status) status = name_m2m(i, v, listed, names, spelled);
    }
    if (!status)
        status =
            rapt_tokenizer_create_list(&i->source, names, vocab, pieces, &i->allocator, i->why);
    rapt__vocabulary_close(v);
    return status == RAPT_BAD_ARGUMENT ? RAPT_BAD_FILE : status;
}

static const char pieces_name[] = "sentencepiece.bpe.model";

static rapt_status read_pieces(struct import *i, enum hf_languages languages)
{
    const size_t bytes = (size_t)i->config.source_vocab * (sizeof(rapt_text) + LANGUAGE_NAME);
    rapt_tokenizer *pieces = NULL;
    rapt_status status = rapt__import_pieces(i, pieces_name, &pieces);
    if (status) return status;
    rapt_text *names = rapt__alloc(&i->allocator, bytes);
    status = names
                 ? name_rows(i, languages, pieces, names, (char *)(names + i->config.source_vocab))
                 : rapt__fail(i->why, RAPT_NO_MEMORY, "no memory for a vocabulary");
    rapt__free(&i->allocator, names, bytes);
    rapt_tokenizer_free(pieces);
    return status;
}

rapt_status rapt__hf_languages(struct import *i, enum hf_languages languages,
                               const struct hf_ids *ids)
{
    const bool json = rapt__hf_only_json(i, pieces_name);
    const char *unused;
    rapt_status status = json ? read_languages(i, &unused) : read_pieces(i, languages);
    if (!status && json)
        status = rapt__hf_json(i, languages == HF_LANGUAGES_M2M ? "BPE" : "Unigram");
    if (languages == HF_LANGUAGES_MBART25) i->source_language_last = i->language_starts = true;
    return status || !ids ? status : rapt__hf_check_ids(i, i->source, ids);
}
