/* generate.c - generation with options chosen by the input, good and bad. A refusal must have a
   reason and write nothing. The output must respect its limits, contain no suppressed token and no
   end token inside, be sorted by score, and be the same for a batch and for each source by
   itself. */
#include "models.h"

enum { TERMS = 2 * MODEL_BATCH, PHRASES = 2 * TERMS };
enum { BEAMS = 4, LENGTH = MODEL_POSITIONS, NOTHING = -77 };

struct result {
    int32_t ids[MODEL_BATCH * BEAMS * LENGTH];
    int counts[MODEL_BATCH * BEAMS];
    float scores[MODEL_BATCH * BEAMS];
    int ended[MODEL_BATCH * BEAMS];
};

struct subject {
    rapt_config config;
    rapt_model *model;
    struct small_batch source;
    int batch, nbest, length;
    rapt_generate_options options;
    int32_t suppressed[3];
    bool has_prefix;
    struct small_batch prefix, sequences;
    bool has_sequences;
    bool has_terms;
    int term_sources[MODEL_BATCH + 1], terms[TERMS + 1], phrase_starts[PHRASES + 1];
    int32_t phrase_ids[2 * PHRASES];
    unsigned char words[64];
};

static void take_options(struct feed *in, struct subject *s)
{
    static const float values[] = {0, 0.5f, 1, 2, -1, 1e-42f, 3e38f, NAN, INFINITY, 0.9f};
    rapt_generate_options *o = &s->options;
    int vocab = s->config.target_vocab;
    bool wrong = take_flag(in);
    rapt_generate_options_default(o, sizeof *o, take_below(in, vocab), take_below(in, vocab));
    o->max_length = take_below(in, LENGTH + 1);
    if (take_flag(in)) o->max_ratio = values[take_below(in, 4)], o->max_extra = take_below(in, 4);
    o->beams = take_below(in, BEAMS + 1);
    o->nbest = take_below(in, (o->beams ? o->beams : 1) + 1);
    o->length_penalty = values[take_below(in, wrong ? 10 : 3)];
    if (take_flag(in)) o->temperature = values[take_below(in, wrong ? 10 : 4)];
    if (take_flag(in)) o->top_k = take_below(in, 6) - (wrong ? 1 : 0);
    if (take_flag(in)) o->top_p = values[take_below(in, wrong ? 10 : 3)];
    o->suppressed_count = take_below(in, 3);
    for (int i = 0; i < 3; i++) s->suppressed[i] = take_below(in, vocab + (wrong ? 2 : 0));
    o->suppressed = s->suppressed;
    o->seed = take_byte(in), o->sequence = take_byte(in);
    if (wrong && take_flag(in)) o->begin = -1 - take_byte(in);
    s->has_prefix = take_flag(in);
    if (s->has_prefix) take_batch(in, &s->prefix, vocab, s->batch, 0, 0);
    if (take_flag(in)) o->min_length = take_below(in, LENGTH + 2) - (wrong ? 1 : 0);
    if (take_flag(in)) o->no_repeat_ngram = take_below(in, 5) - (wrong ? 1 : 0);
    if (take_flag(in)) o->repetition_penalty = values[take_below(in, wrong ? 10 : 4)];
    if (take_flag(in)) o->coverage_penalty = values[take_below(in, wrong ? 10 : 4)];
    s->has_sequences = take_flag(in);
    if (s->has_sequences) take_batch(in, &s->sequences, vocab, 2, !wrong, 0);
    s->nbest = o->nbest ? o->nbest : 1;
    s->length = o->max_length ? o->max_length : LENGTH;
}

/* Takes up to 2 terms for each source, of up to 2 phrases of up to 2 tokens. */
static void take_terms(struct feed *in, struct subject *s)
{
    const int vocab = s->config.target_vocab, wrong = take_flag(in);
    int terms = 0, phrases = 0, tokens = 0;
    s->term_sources[0] = s->terms[0] = s->phrase_starts[0] = 0;
    for (int b = 0; b < s->batch; b++) {
        for (int n = take_below(in, 3); n > 0; n--) {
            for (int p = 1 - wrong + take_below(in, 2); p > 0; p--) {
                for (int k = 1 - wrong + take_below(in, 2); k > 0; k--)
                    s->phrase_ids[tokens++] = take_below(in, vocab + wrong);
                s->phrase_starts[++phrases] = tokens;
            }
            s->terms[++terms] = phrases;
        }
        s->term_sources[b + 1] = terms;
    }
    for (int i = 0; i < vocab && i < 64; i++) s->words[i] = take_byte(in) & 3;
}

struct own_terms { /* struct rapt_terms and its arrays */
    int sources[MODEL_BATCH + 1], terms[TERMS + 1], starts[PHRASES + 1];
    rapt_tokens phrases;
    rapt_terms all;
};

/* Copies the terms of `count` sources from the first on. */
static const rapt_terms *terms_of(const struct subject *s, int first, int count,
                                  struct own_terms *to)
{
    const int term = s->term_sources[first], phrase = s->terms[term];
    const int token = s->phrase_starts[phrase];
    for (int i = 0; i <= count; i++) to->sources[i] = s->term_sources[first + i] - term;
    for (int i = 0; i <= to->sources[count]; i++) to->terms[i] = s->terms[term + i] - phrase;
    const int phrases = to->terms[to->sources[count]];
    for (int i = 0; i <= phrases; i++) to->starts[i] = s->phrase_starts[phrase + i] - token;
    to->phrases =
        (rapt_tokens){.batch = phrases, .ids = s->phrase_ids + token, .starts = to->starts};
    to->all = (rapt_terms){.size = sizeof to->all,
                           .sources = to->sources,
                           .terms = to->terms,
                           .phrases = &to->phrases,
                           .words = s->config.target_vocab <= 64 ? s->words : NULL};
    return &to->all;
}

static rapt_status run(const struct subject *s, const rapt_tokens *source, int sequence,
                       int threads, struct result *r)
{
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = MODEL_BATCH,
                                .beams = BEAMS,
                                .source_tokens = MODEL_BATCH * MODEL_POSITIONS,
                                .target_length = LENGTH,
                                .threads = threads,
                                .alignments = 1};
    rapt_session *session = NULL;
    rapt_message why = {""};
    const rapt_generate_outputs out = {.size = sizeof out,
                                       .ids = r->ids,
                                       .counts = r->counts,
                                       .scores = r->scores,
                                       .ended = r->ended};
    rapt_generate_options options = s->options;
    int starts[2];
    rapt_tokens prefix = s->prefix.tokens;
    struct own_terms terms;
    if (s->has_terms) options.terms = terms_of(s, sequence, source->batch, &terms);
    options.sequence += (uint64_t)sequence;
    if (s->has_prefix && source->batch < s->batch) prefix = small_one(&prefix, sequence, starts);
    if (s->has_prefix) options.prefix = &prefix;
    if (s->has_sequences) options.suppressed_sequences = &s->sequences.tokens;
    for (int i = 0; i < MODEL_BATCH * BEAMS * LENGTH; i++) r->ids[i] = NOTHING;
    for (int i = 0; i < MODEL_BATCH * BEAMS; i++) r->counts[i] = NOTHING, r->scores[i] = NOTHING;
    require(rapt_session_create(&session, s->model, &limits, NULL, &why) == RAPT_OK, why.text);
    rapt_status status = rapt_generate(session, source, &options, &out, &why);
    require(status == RAPT_OK ? !why.text[0] : why.text[0] != 0, "a reason, or none");
    rapt_session_free(session);
    return status;
}

/* Checks that the n tokens that end at index t do not occur earlier in ids. */
static void check_repeats(const int32_t *ids, int t, int n)
{
    for (int end = n - 1; n > 0 && end < t; end++)
        require(memcmp(ids + end - n + 1, ids + t - n + 1, (size_t)n * sizeof *ids) != 0,
                "no n-gram twice");
}

/* Checks that no suppressed sequence ends at index t. */
static void check_sequences(const struct subject *s, const int32_t *ids, int t)
{
    const rapt_tokens *all = &s->sequences.tokens;
    for (int i = 0; s->has_sequences && i < all->batch; i++) {
        const int n = all->starts[i + 1] - all->starts[i], first = t + 1 - n;
        require(first < 0 ||
                    memcmp(ids + first, all->ids + all->starts[i], (size_t)n * sizeof *ids) != 0,
                "no suppressed sequence");
    }
}

static void check_sequence(const struct subject *s, const struct result *r, int i)
{
    const int32_t *ids = r->ids + i * s->length;
    int count = r->counts[i];
    int b = i / s->nbest, given = s->has_prefix ? s->prefix.starts[b + 1] - s->prefix.starts[b] : 0;
    require(count >= -1 && count <= s->length, "a count within its limit");
    for (int t = 0; t < count; t++) {
        require(ids[t] >= 0 && ids[t] < s->config.target_vocab, "a token of the vocabulary");
        if (t < given) require(ids[t] == s->prefix.ids[s->prefix.starts[b] + t], "the prefix");
        if (t < given) continue;
        require(ids[t] != s->options.end, "no end inside");
        for (int k = 0; k < s->options.suppressed_count; k++)
            require(ids[t] != s->suppressed[k], "no suppressed token");
        check_sequences(s, ids, t);
        if (!s->has_terms) check_repeats(ids, t, s->options.no_repeat_ngram);
    }
    require(count < 0 || count >= given, "no less than its prefix");
    require(!r->ended[i] || count >= s->options.min_length, "the shortest length");
    require(count >= 0 || r->scores[i] == -INFINITY, "the score of what is not there");
    if (i % s->nbest && !s->has_terms)
        require(!(r->scores[i] > r->scores[i - 1]), "the best comes first");
}

static void check_nothing(const struct result *r)
{
    for (int i = 0; i < MODEL_BATCH * BEAMS * LENGTH; i++)
        require(r->ids[i] == NOTHING, "a refused call writes no ids");
    for (int i = 0; i < MODEL_BATCH * BEAMS; i++)
        require(r->counts[i] == NOTHING, "a refused call writes no counts");
}

static void check_alone(const struct subject *s, const struct result *r, int b)
{
    static struct result alone;
    int starts[2];
    rapt_tokens source = small_one(&s->source.tokens, b, starts);
    require(run(s, &source, b, 1, &alone) == RAPT_OK, "a source alone");
    for (int n = 0; n < s->nbest; n++) {
        int i = b * s->nbest + n, count = r->counts[i];
        require(alone.counts[n] == count, "as many tokens alone");
        require(memcmp(&alone.scores[n], &r->scores[i], sizeof(float)) == 0, "the same score");
        if (count > 0)
            require(memcmp(alone.ids + n * s->length, r->ids + i * s->length,
                           (size_t)count * sizeof(int32_t)) == 0,
                    "the same tokens for one source");
    }
}

int fuzz_generate(const uint8_t *bytes, size_t size)
{
    static struct subject s;
    static struct result r;
    struct feed in = {bytes, size};
    s.model = take_model(&in, &s.config);
    if (!s.model || s.config.kind != RAPT_KIND_ENCODER_DECODER) {
        rapt_model_free(s.model);
        return 0;
    }
    s.batch = 1 + take_below(&in, MODEL_BATCH);
    take_batch(&in, &s.source, s.config.source_vocab, s.batch, 1, 0);
    take_options(&in, &s);
    s.has_terms = take_flag(&in);
    if (s.has_terms) take_terms(&in, &s);
    rapt_status status = run(&s, &s.source.tokens, 0, 1 + (take_byte(&in) % 8 == 7), &r);
    require(status == RAPT_OK || status == RAPT_BAD_ARGUMENT || status == RAPT_NOT_FINITE,
            "status");
    if (status) check_nothing(&r);
    for (int i = 0; !status && i < s.batch * s.nbest; i++) check_sequence(&s, &r, i);
    for (int b = 0; !status && b < s.batch; b++) check_alone(&s, &r, b);
    rapt_model_free(s.model);
    return 0;
}
