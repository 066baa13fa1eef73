/* laws.h - what laws.c has made from an input, and the laws that each translation by itself has to
   obey. Everything is derived again from the public interface: tokens from the tokenizers, limits
   from the tables in the headers, words from the definition of white space. */
#ifndef RAPT_TESTS_FUZZ_LAWS_H
#define RAPT_TESTS_FUZZ_LAWS_H

#include "models.h"

enum { LAW_TEXTS = 4, LAW_BEAMS = 4, LAW_POSITIONS = 24, LAW_BYTES = 1024, LAW_VOCAB = 512 };

struct law_ids {
    int32_t ids[LAW_BYTES];
    int count;
};

/* A model with tokenizers, how to translate, and texts. */
struct subject {
    rapt_config config;
    rapt_model *model;
    const rapt_tokenizer *source, *target;
    rapt_shortlist *shortlist;
    rapt_translator_options made, own; /* the translator's, and those of the call */
    bool has_own, has_prefixes;
    int alignments, count;
    rapt_text texts[LAW_TEXTS], prefixes[LAW_TEXTS];
    char bytes[2 * LAW_TEXTS][LAW_BYTES];
};

/* A translation as it was received; `hash` is of all its fields. */
struct seen {
    bool there;
    rapt_status status;
    uint64_t hash;
    int count, ended, faults;
    int32_t ids[LAW_POSITIONS];
    float score;
};

/* A call: which texts it gets, what its callbacks do, and what they have received. */
struct run {
    const struct subject *s;
    size_t offset; /* its texts are texts[offset] and later */
    int stop_at_step, stop_at_token, stop_at_translation; /* 0: never */
    int steps, tokens, translations;
    size_t last; /* index of the last translation, sentence * LAW_BEAMS + rank, plus 1 */
    struct seen seen[LAW_TEXTS][LAW_BEAMS];
    struct law_ids heard[LAW_TEXTS]; /* announced tokens */
    double sums[LAW_TEXTS];          /* of their log-probabilities */
};

static inline const rapt_translator_options *law_options(const struct subject *s)
{
    return s->has_own ? &s->own : &s->made;
}

static inline bool law_stopped(const struct run *r)
{
    return (r->stop_at_step && r->steps >= r->stop_at_step) ||
           (r->stop_at_token && r->tokens >= r->stop_at_token);
}

static inline void law_encode(const rapt_tokenizer *tokenizer, rapt_preprocess preprocess,
                              rapt_text text, struct law_ids *out)
{
    char bytes[LAW_BYTES];
    size_t size = text.size, count = 0;
    out->count = 0;
    if (size == 0) return;
    if (preprocess) {
        require(rapt_text_preprocess(preprocess, text, bytes, NULL, sizeof bytes, &size, NULL) ==
                    RAPT_OK,
                "preprocessing");
        text = (rapt_text){bytes, size};
    }
    rapt_status status =
        rapt_tokenizer_encode(tokenizer, text, out->ids, NULL, LAW_BYTES, &count, NULL);
    require(status == RAPT_OK || status == RAPT_BAD_ARGUMENT, "encoding");
    out->count = status ? LAW_BYTES : (int)count; /* LAW_BYTES: it has a word without a token */
}

/* Encodes the prefix of a text, without the spaces at its end. */
static inline void law_prefix(const struct subject *s, size_t i, struct law_ids *out)
{
    rapt_text text = s->has_prefixes ? s->prefixes[i] : (rapt_text){NULL, 0};
    while (text.size > 0 && text.bytes[text.size - 1] == ' ') text.size--;
    law_encode(s->target, RAPT_PREPROCESS_NONE, text, out);
}

/* Returns the most tokens that a translation may have, its end included. */
static inline int law_limit(const struct subject *s, int source_tokens)
{
    static const double per_token[] = {0, 2, 3, 0, 0}, extra[] = {0, 16, 0, 511, 256};
    rapt_search_rules rules = s->made.search_rules;
    double factor = (double)law_options(s)->max_length_factor;
    double limit =
        factor > 0 ? factor * source_tokens : per_token[rules] * source_tokens + extra[rules];
    if (law_options(s)->max_length > 0) limit = fmin(limit, law_options(s)->max_length);
    limit = rules == RAPT_SEARCH_RULES_MARIAN ? ceil(limit) : floor(limit);
    return limit < 1 ? 1 : limit < s->config.positions ? (int)limit : s->config.positions;
}

/* ---- tokens ---- */

/* Tells whether no translation may contain a token, unless its prefix does. */
static inline bool law_suppressed(const struct subject *s, int32_t id)
{
    rapt_search_rules rules = s->made.search_rules;
    if (id == rapt_tokenizer_special(s->target, RAPT_TOKEN_END)) return true;
    if (rules == RAPT_SEARCH_RULES_CT2) return false;
    if (id == rapt_tokenizer_special(s->target, RAPT_TOKEN_PAD)) return true;
    if (id == rapt_target_begin(s->model, s->target)) return true;
    if (rapt_tokenizer_name(s->target, id).size == 0) return true;
    return rules == RAPT_SEARCH_RULES_MARIAN &&
           id == rapt_tokenizer_special(s->target, RAPT_TOKEN_UNKNOWN);
}

/* Checks that the n tokens that end at index t do not occur earlier in ids. */
static inline void law_repeats(const int32_t *ids, int t, int n)
{
    for (int end = n - 1; n > 0 && end < t; end++)
        require(memcmp(ids + end - n + 1, ids + t - n + 1, (size_t)n * sizeof *ids) != 0,
                "no n-gram twice");
}

/* Checks that a token is one that the shortlist has for the source. */
static inline void law_listed(const struct subject *s, const struct law_ids *source, int32_t id)
{
    int32_t ids[LAW_BYTES + 1], listed[LAW_VOCAB];
    size_t count = (size_t)source->count;
    int found = 0;
    bool is = false;
    memcpy(ids, source->ids, count * sizeof *ids);
    if (!s->config.no_source_end) ids[count++] = rapt_tokenizer_special(s->source, RAPT_TOKEN_END);
    require(rapt_shortlist_tokens(s->shortlist, ids, count, listed, LAW_VOCAB, &found, NULL) ==
                RAPT_OK,
            "the tokens of a shortlist");
    for (int i = 0; i < found; i++) is = is || listed[i] == id;
    require(is, "a token of the shortlist");
}

static inline void law_tokens(const struct subject *s, const struct law_ids *source,
                              const struct law_ids *prefix, const rapt_translation *t)
{
    const rapt_translator_options *o = law_options(s);
    const bool ct2 = s->made.search_rules == RAPT_SEARCH_RULES_CT2;
    const int least = o->min_length > ct2 ? o->min_length : ct2;
    const int limit = law_limit(s, source->count + !s->config.no_source_end);
    require(t->target_count >= prefix->count, "no less than its prefix");
    require(t->target_count + t->ended <= limit, "no longer than its limit");
    /* Hugging Face makes the last token that a limit allows the end. */
    const bool forced =
        s->made.search_rules == RAPT_SEARCH_RULES_HF && t->target_count + 1 == limit;
    require(!t->ended || forced || t->target_count >= least, "no shorter than min_length");
    for (int i = 0; i < t->target_count; i++) {
        int32_t id = t->target[i];
        require(id >= 0 && id < s->config.target_vocab, "a token of the vocabulary");
        if (i < prefix->count) require(id == prefix->ids[i], "the prefix");
        if (i < prefix->count) continue;
        require(!law_suppressed(s, id), "no suppressed token, and no end inside");
        law_repeats(t->target, i, o->no_repeat_ngram);
        if (s->shortlist) law_listed(s, source, id);
    }
}

static inline void law_text(const struct subject *s, const rapt_translation *t)
{
    size_t size = 0;
    char *text = malloc(t->size + 1);
    require(text != NULL, "memory for the test itself");
    require(t->text[t->size] == 0, "a terminated text");
    require(rapt_tokenizer_decode(s->target, t->target, (size_t)t->target_count, text, t->size,
                                  &size, NULL) == RAPT_OK &&
                size == t->size && memcmp(text, t->text, size) == 0,
            "the text of its tokens");
    free(text);
}

/* ---- alignments, spans, words ---- */

static inline void law_alignment(const struct subject *s, const rapt_translation *t)
{
    const int columns = t->source_count + 1;
    /* A local query may see no key at all, and the Gaussian of local-p is not divided out. A sink
       takes a share of the weights, and sigmoids have any sum. */
    const rapt_normalizer n = s->config.cross_normalizer;
    const bool summed = n != RAPT_NORMALIZER_SIGMOID,
               whole = s->config.cross_locality == RAPT_LOCALITY_GLOBAL && summed &&
                       n != RAPT_NORMALIZER_SINK_SOFTMAX;
    for (int i = 0; i <= t->target_count; i++) {
        const float *row = t->alignment + i * columns;
        const bool empty = i == t->target_count && !t->ended;
        double sum = 0;
        for (int j = 0; j < columns; j++) {
            require(row[j] >= 0 && row[j] <= 1.0001f, "a weight from 0 to 1");
            sum += (double)row[j];
        }
        if (s->config.no_source_end) require(row[columns - 1] == 0, "no weight of no end");
        require(!summed || sum <= 1.0001, "weights of at most 1");
        require(!empty || sum == 0, "no weights without end");
        require(!whole || empty || sum >= 0.9999, "weights that add up to 1");
    }
}

static inline void law_spans(const rapt_span *spans, int count, size_t size)
{
    size_t at = 0;
    for (int i = 0; i < count; i++) {
        require(spans[i].begin == at && spans[i].end >= at, "spans that follow each other");
        at = spans[i].end;
    }
    require(at <= size, "spans within the text");
}

/* Checks that the tokens of a byte-pair vocabulary are the bytes of their spans. */
static inline void law_bytes(const rapt_tokenizer *tokenizer, const rapt_span *spans,
                             const int32_t *ids, int count, rapt_text text)
{
    for (int i = 0; i < count; i++) {
        rapt_text token = rapt_tokenizer_token(tokenizer, ids[i]);
        require(token.size == spans[i].end - spans[i].begin &&
                    memcmp(token.bytes, text.bytes + spans[i].begin, token.size) == 0,
                "the bytes of a token");
    }
    require(count == 0 || spans[count - 1].end == text.size, "all bytes of the text");
}

/* Returns the bytes of the white space at the beginning of a text; 0 if there is none. */
static inline size_t law_space(const char *text, size_t left)
{
    static const char *const two[] = {"\xC2\x85", "\xC2\xA0"};
    static const char *const three[] = {"\xE1\x9A\x80", "\xE2\x80\xA8", "\xE2\x80\xA9",
                                        "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80"};
    if (left && (*text == ' ' || (*text >= 9 && *text <= 13))) return 1;
    for (int i = 0; left >= 2 && i < COUNT(two); i++)
        if (memcmp(text, two[i], 2) == 0) return 2;
    for (int i = 0; left >= 3 && i < COUNT(three); i++)
        if (memcmp(text, three[i], 3) == 0) return 3;
    return left >= 3 && memcmp(text, "\xE2\x80", 2) == 0 && (unsigned char)text[2] >= 0x80 &&
                   (unsigned char)text[2] <= 0x8A
               ? 3
               : 0;
}

static inline void law_words(const rapt_span *words, int count, rapt_text text)
{
    int n = 0;
    bool inside = false;
    for (size_t at = 0, space; at < text.size; at += space ? space : 1) {
        space = law_space(text.bytes + at, text.size - at);
        require(n + !space * !inside <= count, "as many words as the text has");
        if (!space && !inside) require(words[n++].begin == at, "where a word begins");
        if (!space) require(words[n - 1].end > at, "where a word ends");
        if (space && inside) require(words[n - 1].end == at, "a word without its space");
        inside = !space;
    }
    require(n == count && (n == 0 || words[n - 1].end <= text.size), "as many words, in the text");
}

/* A text is compared byte by byte with its tokens if `bytes`. */
static inline void law_places(const struct subject *s, rapt_text source, const rapt_translation *t)
{
    const rapt_text target = {t->text, t->size};
    if (!t->alignment) {
        require(!t->source_spans && !t->target_spans && !t->source_words && !t->target_words &&
                    !t->word_alignment && !t->source_word_count && !t->target_word_count,
                "nothing that was not requested");
        return;
    }
    law_alignment(s, t);
    law_spans(t->source_spans, t->source_count, source.size);
    law_spans(t->target_spans, t->target_count, target.size);
    if (rapt_tokenizer_special(s->source, RAPT_TOKEN_UNKNOWN) < 0 && !s->made.preprocess &&
        rapt_tokenizer_vocab(s->source) >= 259)
        law_bytes(s->source, t->source_spans, t->source, t->source_count, source);
    if (rapt_tokenizer_special(s->target, RAPT_TOKEN_UNKNOWN) < 0 &&
        rapt_tokenizer_vocab(s->target) >= 259)
        law_bytes(s->target, t->target_spans, t->target, t->target_count, target);
    law_words(t->source_words, t->source_word_count, source);
    law_words(t->target_words, t->target_word_count, target);
    for (int u = 0; u < t->target_word_count; u++) {
        double sum = 0;
        for (int v = 0; v < t->source_word_count; v++) {
            float weight = t->word_alignment[u * t->source_word_count + v];
            require(weight >= 0, "a weight of words");
            sum += (double)weight;
        }
        require(sum <= 1.0002, "weights of words of at most 1");
    }
}

/* ---- a translation ---- */

static inline uint64_t law_hash(uint64_t h, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i++) h = (h ^ bytes[i]) * 0x100000001B3u;
    return h;
}

/* Keeps a translation and the hash of all its fields but its number. */
static inline void law_keep(const rapt_translation *t, struct seen *seen)
{
    const int numbers[] = {t->rank,         (int)t->status,       t->source_count,
                           t->target_count, t->source_word_count, t->target_word_count,
                           t->ended};
    const size_t rows = (size_t)t->target_count + 1, columns = (size_t)t->source_count + 1;
    uint64_t h = law_hash(1, numbers, sizeof numbers);
    h = law_hash(h, t->text, t->size);
    h = law_hash(h, &t->score, sizeof t->score);
    h = law_hash(h, t->source, (columns - 1) * sizeof *t->source);
    h = law_hash(h, t->target, (rows - 1) * sizeof *t->target);
    if (t->alignment) {
        h = law_hash(h, t->alignment, rows * columns * sizeof *t->alignment);
        h = law_hash(h, t->source_spans, (columns - 1) * sizeof *t->source_spans);
        h = law_hash(h, t->target_spans, (rows - 1) * sizeof *t->target_spans);
        h = law_hash(h, t->source_words, (size_t)t->source_word_count * sizeof(rapt_span));
        h = law_hash(h, t->target_words, (size_t)t->target_word_count * sizeof(rapt_span));
        h = law_hash(h, t->word_alignment,
                     (size_t)t->source_word_count * (size_t)t->target_word_count * sizeof(float));
    }
    *seen = (struct seen){.there = true,
                          .status = t->status,
                          .hash = h,
                          .count = t->target_count,
                          .ended = t->ended,
                          .faults = t->faults,
                          .score = t->score};
    require(t->target_count >= 0 && t->target_count <= LAW_POSITIONS, "a number of tokens");
    if (rows > 1) memcpy(seen->ids, t->target, (rows - 1) * sizeof *t->target);
}

/* Tells whether a source has only begin and end tokens, which CTranslate2 does not count. */
static inline bool law_bare(const struct subject *s, const struct law_ids *source)
{
    const int32_t end = rapt_tokenizer_special(s->source, RAPT_TOKEN_END);
    const rapt_search_rules rules = s->made.search_rules;
    const int n = source->count;
    int counted = n;
    if (n == 0 || rules == RAPT_SEARCH_RULES_MARIAN || rules == RAPT_SEARCH_RULES_HF) return false;
    if (source->ids[0] == rapt_tokenizer_special(s->source, RAPT_TOKEN_BEGIN)) counted--;
    if (source->ids[n - 1] == end)
        counted--;
    else if (n > 1 && source->ids[n - 2] == end)
        counted -= 2;
    return counted <= 0;
}

/* Checks a translation by itself. */
static inline void law_check(const struct subject *s, size_t i, const rapt_translation *t)
{
    struct law_ids source, prefix;
    law_encode(s->source, s->made.preprocess, s->texts[i], &source);
    law_prefix(s, i, &prefix);
    const int tokens = source.count + !s->config.no_source_end;
    const bool empty = source.count == 0 || law_bare(s, &source);
    const bool fits =
        empty || (tokens <= s->config.positions && prefix.count <= law_limit(s, tokens));
    require((t->status == RAPT_OK) == fits, "a status for a text or a prefix that is too long");
    require(t->status == RAPT_OK || t->status == RAPT_BAD_ARGUMENT, "status");
    if (t->status || empty) {
        require(t->size == 0 && t->text[0] == 0 && !t->source_count && !t->target_count &&
                    !t->ended && !t->alignment,
                "an empty translation");
        return;
    }
    require(t->source_count == source.count &&
                memcmp(t->source, source.ids, (size_t)source.count * sizeof *source.ids) == 0,
            "the tokens of the source");
    require(!t->alignment == !s->alignments, "an alignment if requested");
    law_tokens(s, &source, &prefix, t);
    law_text(s, t);
    law_places(s, s->texts[i], t);
}

#endif
