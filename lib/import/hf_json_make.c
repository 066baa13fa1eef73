/* hf_json_make.c - makes tokenizers from the contents of tokenizer.json: WordPiece (BERT),
   byte-level BPE (GPT-2), and SentencePiece's Unigram and BPE, for which a SentencePiece model is
   composed in memory. A step that our tokenizers do not support is rejected with a message that
   names the step. Source: tokenizers 0.23; convert_slow_tokenizer.py of transformers 4.57. */
#include "import/hf.h"
#include "text/text.h"

#include <stdio.h>
#include <string.h>

static const char file[] = "tokenizer.json";

bool rapt__hf_only_json(const struct import *i, const char *usual)
{
    return !rapt__import_has(i, usual) && rapt__import_has(i, file);
}

static bool is(const char *text, const char *wanted)
{
    return text && strcmp(text, wanted) == 0;
}

static rapt_status no_memory(struct import *i)
{
    return rapt__fail(i->why, RAPT_NO_MEMORY, "no memory for a vocabulary");
}

/* Fails with RAPT_BAD_FILE and a message that names an unsupported step. */
static rapt_status bad_step(struct import *i, const char *where, const struct hf_step *s)
{
    return rapt__import_bad(i, "%s: %s %.60s is not supported", file, where,
                            s->type ? s->type : "without a type");
}

/* Checks that there is exactly one step, of this type, or no step if `type` is NULL. */
static rapt_status check_only(struct import *i, const char *where, const struct hf_steps *steps,
                              const char *type)
{
    for (int n = 0; n < steps->count; n++)
        if (n > 0 || !type || !is(steps->all[n].type, type))
            return bad_step(i, where, &steps->all[n]);
    if (type && steps->count == 0)
        return rapt__import_bad(i, "%s: there is no %s %s", file, where, type);
    return RAPT_OK;
}

/* Checks that all added tokens are among these names and that none matches only whole words. No
   token may include the spaces around it, except "<mask>", which must include the spaces before
   it. */
static rapt_status check_added(struct import *i, const struct hf_json *json,
                               const char *const *names, int count)
{
    for (size_t n = 0; n < json->added_count; n++) {
        const struct hf_added *a = &json->added[n];
        const bool left = (a->left == HF_TRUE) == is(a->name, "<mask>");
        bool known = left && a->right != HF_TRUE && a->single != HF_TRUE;
        int at = 0;
        while (at < count && !is(a->name, names[at])) at++;
        if (!known || at == count)
            return rapt__import_bad(i, "%s: the added token %.60s is not supported", file, a->name);
    }
    return RAPT_OK;
}

/* Returns true if a text is neither missing nor equal to `wanted`. */
static bool differs(const char *text, const char *wanted)
{
    return text && strcmp(text, wanted) != 0;
}

/* ---- WordPiece ---- */

static rapt_status make_words(struct import *i, const struct hf_json *json)
{
    static const char *const added[] = {"[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]",
                                        "<s>",   "<pad>", "</s>",  "<unk>", "<mask>"};
    const struct hf_step *s = &json->normalizer.all[0];
    rapt_wordpiece_options o = {.size = sizeof o};
    rapt_status status = check_only(i, "normalizer", &json->normalizer, "BertNormalizer");
    if (!status) status = check_only(i, "pre_tokenizer", &json->splitter, "BertPreTokenizer");
    if (!status) status = check_added(i, json, added, sizeof added / sizeof *added);
    if (status) return status;
    if (s->clean == HF_FALSE) return rapt__import_bad(i, "%s: clean_text is false", file);
    if (differs(json->unknown, "[UNK]") || differs(json->prefix, "##") ||
        (json->longest >= 0 && json->longest != 100))
        return rapt__import_bad(i,
                                "%s: unk_token, continuing_subword_prefix or "
                                "max_input_chars_per_word differs from BERT's",
                                file);
    o.keep_case = s->lowercase == HF_FALSE;
    o.keep_accents = s->strip_accents == HF_MISSING ? o.keep_case : s->strip_accents == HF_FALSE;
    o.keep_han = s->han == HF_FALSE;
    return rapt_tokenizer_create_wordpiece(&i->source, json->names, json->rows, &o, &i->allocator,
                                           i->why);
}

/* ---- byte-level BPE ---- */

static rapt_status check_byte_pairs(struct import *i, const struct hf_json *json)
{
    static const char *const added[] = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"};
    rapt_status status = check_only(i, "normalizer", &json->normalizer, NULL);
    if (!status) status = check_only(i, "pre_tokenizer", &json->splitter, "ByteLevel");
    if (!status) status = check_added(i, json, added, sizeof added / sizeof *added);
    if (status) return status;
    if (json->splitter.all[0].regex == HF_FALSE || differs(json->prefix, "") ||
        differs(json->suffix, "") || json->byte_fallback == HF_TRUE)
        return rapt__import_bad(i,
                                "%s: use_regex, continuing_subword_prefix, end_of_word_suffix or "
                                "byte_fallback differs from GPT-2's",
                                file);
    return RAPT_OK;
}

/* Stores the ids of the two tokens of each merge in `pairs`, which has 2 * json->merge_count
   elements. */
static rapt_status find_pairs(struct import *i, const struct hf_json *json,
                              const rapt_tokenizer *names, int32_t *pairs)
{
    for (size_t m = 0; m < json->merge_count; m++)
        for (int n = 0; n < 2; n++) {
            const char *name = n ? json->merges[m].right : json->merges[m].left;
            const int32_t id = rapt_tokenizer_find(names, (rapt_text){name, strlen(name)});
            if (id < 0)
                return rapt__import_bad(i, "%s: merge %zu: \"%.60s\" is not in the vocabulary",
                                        file, m, name);
            pairs[2 * m + (size_t)n] = id;
        }
    return RAPT_OK;
}

/* Joins the names of the rows, each terminated by a zero byte, and returns their total size. If
   `to` is NULL, only returns the size. */
static size_t join_rows(const struct hf_json *json, char *to)
{
    size_t at = 0;
    for (int id = 0; id < json->rows; id++) {
        const rapt_text name = json->names[id];
        if (to && name.size) memcpy(to + at, name.bytes, name.size);
        if (to) to[at + name.size] = 0;
        at += name.size + 1;
    }
    return at;
}

static rapt_status make_byte_pairs(struct import *i, const struct hf_json *json)
{
    const size_t names_size = join_rows(json, NULL),
                 pairs_size = 2 * json->merge_count * sizeof(int32_t);
    rapt_tokenizer *known = NULL;
    char *names = NULL;
    int32_t *pairs = NULL;
    rapt_status status = check_byte_pairs(i, json);
    if (status) return status;
    status =
        rapt_tokenizer_create_list(&known, json->names, json->rows, NULL, &i->allocator, i->why);
    if (!status) names = rapt__alloc(&i->allocator, names_size);
    if (!status) pairs = rapt__alloc(&i->allocator, pairs_size);
    if (!status && (!names || (!pairs && pairs_size))) status = no_memory(i);
    if (!status) status = find_pairs(i, json, known, pairs);
    rapt_tokenizer_free(known);
    if (!status) {
        const struct list_source source = {.names = names,
                                           .size = join_rows(json, names),
                                           .count = json->rows,
                                           .merges = {true,
                                                      json->splitter.all[0].space_first == HF_TRUE,
                                                      pairs, (int)json->merge_count}};
        status = rapt__tokenizer_list(&i->source, &source, &i->allocator, i->why);
    }
    rapt__free(&i->allocator, names, names_size);
    rapt__free(&i->allocator, pairs, pairs_size);
    return status;
}

/* ---- SentencePiece ---- */

/* Reads the normalizer and the pre-tokenizer. In files written by transformers, spaces are trimmed
   either by Strip and Replace or by WhitespaceSplit. *charsmap receives the charsmap in base64, or
   "". */
static rapt_status read_spaces(struct import *i, const struct hf_json *json,
                               struct pieces_options *o, const char **charsmap)
{
    bool stripped = false, replaced = false, split = false, joined = false;
    *charsmap = "";
    for (int n = 0; n < json->normalizer.count; n++) {
        const struct hf_step *s = &json->normalizer.all[n];
        if (is(s->type, "Precompiled") && n == 0 && s->charsmap)
            *charsmap = s->charsmap;
        else if (is(s->type, "Strip") && s->left == HF_FALSE)
            stripped = true;
        else if (is(s->type, "Replace") && is(s->pattern, " {2,}") &&
                 (is(s->content, " ") || is(s->content, "\xE2\x96\x81")))
            replaced = true;
        else
            return bad_step(i, "normalizer", s);
    }
    for (int n = 0; n < json->splitter.count; n++) {
        const struct hf_step *s = &json->splitter.all[n];
        const bool prefix = s->scheme ? is(s->scheme, "always") : s->space_first != HF_FALSE;
        if (is(s->type, "WhitespaceSplit") && n == 0)
            split = true;
        else if (is(s->type, "Metaspace") && prefix && is(s->replacement, "\xE2\x96\x81"))
            joined = true;
        else
            return bad_step(i, "pre_tokenizer", s);
    }
    if (!joined || !(split || stripped) || (stripped && !replaced))
        return rapt__import_bad(i, "%s: spaces are not handled as in SentencePiece", file);
    o->dummy_prefix = o->trim_spaces = o->escape_spaces = true;
    return RAPT_OK;
}

static bool is_added(const struct hf_json *json, int id)
{
    for (size_t n = 0; n < json->added_count; n++)
        if (json->added[n].id == id) return true;
    return false;
}

static void write_pieces(const struct hf_json *json, const struct pieces_options *o,
                         struct pieces_writer *w)
{
    w->size = 0;
    for (int id = 0; id < json->rows; id++) {
        const int type = id == json->unknown_id ? PIECE_UNKNOWN
                         : is_added(json, id)   ? PIECE_CONTROL
                                                : PIECE_NORMAL;
        if (json->names[id].size) rapt__pieces_put(w, json->names[id], json->scores[id], type);
    }
    rapt__pieces_finish(w, o);
}

static rapt_status make_pieces(struct import *i, const struct hf_json *json,
                               const struct pieces_options *o, rapt_tokenizer **pieces)
{
    struct pieces_writer w = {.bytes = NULL};
    write_pieces(json, o, &w);
    const size_t size = w.size;
    w.bytes = rapt__alloc(&i->allocator, size);
    if (!w.bytes) return no_memory(i);
    write_pieces(json, o, &w);
    rapt_status status = rapt_tokenizer_load_memory(pieces, w.bytes, size, &i->allocator, i->why);
    rapt__free(&i->allocator, w.bytes, size);
    return status;
}

/* Returns the number of bytes that a base64 text encodes, or -1 if its size is not a multiple of
   4. */
static ptrdiff_t base64_bytes(const char *text)
{
    const size_t size = strlen(text);
    if (size % 4) return -1;
    if (size == 0) return 0;
    return (ptrdiff_t)(size / 4 * 3) - (text[size - 1] == '=') - (text[size - 2] == '=');
}

/* Makes a SentencePiece tokenizer of kind o.kind from the names, scores and unknown_id of
   `json`. */
static rapt_status make_sentencepiece(struct import *i, const struct hf_json *json,
                                      struct pieces_options o)
{
    rapt_tokenizer *pieces = NULL;
    const char *charsmap;
    rapt_status status = read_spaces(i, json, &o, &charsmap);
    if (status) return status;
    const ptrdiff_t size = base64_bytes(charsmap);
    char *rules = size > 0 ? rapt__alloc(&i->allocator, (size_t)size) : NULL;
    if (size > 0 && !rules) return no_memory(i);
    if (size < 0 || !rapt__base64_read(charsmap, (size_t)size, rules))
        status = rapt__import_bad(i, "%s: precompiled_charsmap is not base64", file);
    o.rules = (rapt_text){rules, size > 0 ? (size_t)size : 0};
    if (!status) status = make_pieces(i, json, &o, &pieces);
    if (rules) rapt__free(&i->allocator, rules, (size_t)size);
    if (!status)
        status = rapt_tokenizer_create_list(&i->source, json->names, json->rows, pieces,
                                            &i->allocator, i->why);
    rapt_tokenizer_free(pieces);
    return status;
}

static rapt_status make_unigram(struct import *i, const struct hf_json *json)
{
    if (!json->listed || json->unknown_id < 0 || json->byte_fallback == HF_TRUE)
        return rapt__import_bad(i, "%s: the model has no scores or unk_id, or it has byte_fallback",
                                file);
    return make_sentencepiece(i, json, (struct pieces_options){.kind = PIECES_UNIGRAM});
}

/* Scores each piece by the position of the merges that form it: earlier merges have higher scores.
   SentencePiece always forms the piece with the highest score, so all merges that form the same
   piece must be consecutive. */
static rapt_status score_merges(struct import *i, struct hf_json *json, const rapt_tokenizer *known)
{
    char name[256];
    int32_t last = -1;
    for (size_t m = 0; m < json->merge_count; m++) {
        const struct hf_merge *one = &json->merges[m];
        const int size = snprintf(name, sizeof name, "%s%s", one->left, one->right);
        const int32_t id = (size_t)size < sizeof name
                               ? rapt_tokenizer_find(known, (rapt_text){name, (size_t)size})
                               : -1;
        if (id < 0)
            return rapt__import_bad(
                i, "%s: merge %zu makes \"%.60s\", which is not in the vocabulary", file, m, name);
        if (id != last && json->scores[id] != 0)
            return rapt__import_bad(
                i,
                "%s: the merges that form \"%.60s\" must be consecutive, as they are in "
                "SentencePiece",
                file, name);
        json->scores[id] = -1 - (float)m;
        last = id;
    }
    return RAPT_OK;
}

/* Returns the number of ways to split the name of a row into two names. */
static size_t count_splits(const rapt_tokenizer *known, rapt_text name)
{
    size_t count = 0;
    for (size_t at = 1; at < name.size; at++) {
        if (rapt__utf8_continues(name.bytes[at])) continue;
        const rapt_text left = {name.bytes, at}, right = {name.bytes + at, name.size - at};
        count += rapt_tokenizer_find(known, left) >= 0 && rapt_tokenizer_find(known, right) >= 0;
    }
    return count;
}

/* Checks that there is a merge for every pair of pieces that together form a piece, because
   SentencePiece merges all such pairs. Every piece of several characters must be the result of a
   merge. */
static rapt_status check_merges(struct import *i, const struct hf_json *json,
                                const rapt_tokenizer *known)
{
    size_t splits = 0;
    for (int id = 0; id < json->rows; id++) {
        const rapt_text name = json->names[id];
        if (!name.size || is_added(json, id) || id == json->unknown_id) continue;
        size_t more = count_splits(known, name), first = 1;
        while (first < name.size && rapt__utf8_continues(name.bytes[first])) first++;
        splits += more;
        if (first < name.size && (!more || json->scores[id] == 0))
            return rapt__import_bad(i, "%s: there is no merge that makes \"%.60s\"", file,
                                    name.bytes);
    }
    if (splits == json->merge_count) return RAPT_OK;
    return rapt__import_bad(i,
                            "%s: there are %zu merges, but %zu pairs of tokens form a token; "
                            "SentencePiece merges them all",
                            file, json->merge_count, splits);
}

/* Makes a tokenizer for SentencePiece's BPE, which merges characters instead of bytes. */
static rapt_status make_character_pairs(struct import *i, struct hf_json *json)
{
    rapt_tokenizer *known = NULL;
    if (!json->unknown || json->listed || json->byte_fallback == HF_TRUE ||
        differs(json->prefix, "") || differs(json->suffix, ""))
        return rapt__import_bad(i,
                                "%s: the model has no unk_token, or it has byte_fallback, "
                                "continuing_subword_prefix or end_of_word_suffix",
                                file);
    rapt_status status =
        rapt_tokenizer_create_list(&known, json->names, json->rows, NULL, &i->allocator, i->why);
    if (status) return status;
    json->unknown_id =
        rapt_tokenizer_find(known, (rapt_text){json->unknown, strlen(json->unknown)});
    if (json->unknown_id < 0)
        status = rapt__import_bad(i, "%s: unk_token is not in the vocabulary", file);
    if (!status) status = score_merges(i, json, known);
    if (!status) status = check_merges(i, json, known);
    rapt_tokenizer_free(known);
    return status ? status
                  : make_sentencepiece(i, json, (struct pieces_options){.kind = PIECES_PAIRS});
}

/* Returns whether the BPE merges bytes, as in GPT-2. SentencePiece's BPE, which merges characters,
   has a Metaspace step. */
static bool has_bytes(const struct hf_json *json)
{
    for (int n = 0; n < json->splitter.count; n++)
        if (is(json->splitter.all[n].type, "Metaspace")) return false;
    return true;
}

/* ---- all ---- */

static rapt_status make(struct import *i, struct hf_json *json, const char *type)
{
    if (!type) type = json->type ? json->type : "";
    if (!is(json->type, type) || !(is(type, "WordPiece") || is(type, "BPE") || is(type, "Unigram")))
        return rapt__import_bad(
            i, "%s: the model is %.60s, not %s", file, json->type ? json->type : "of no type",
            *type && !is(json->type, type) ? type : "WordPiece, BPE or Unigram");
    if (is(type, "WordPiece")) return make_words(i, json);
    if (!is(type, "BPE")) return make_unigram(i, json);
    return has_bytes(json) ? make_byte_pairs(i, json) : make_character_pairs(i, json);
}

rapt_status rapt__hf_json(struct import *i, const char *type)
{
    struct hf_json json;
    rapt_status status = rapt__hf_json_read(i, &json);
    if (!status) status = make(i, &json, type);
    rapt__hf_json_free(i, &json);
    return status == RAPT_BAD_ARGUMENT ? RAPT_BAD_FILE : status;
}
