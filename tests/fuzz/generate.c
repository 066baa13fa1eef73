/* generate.c - generation with options chosen by the input, good and bad. A refusal must have a
   reason and write nothing. The output must respect its limits, contain no suppressed token and no
   end token inside, be sorted by score, and be the same for a batch and for each source by
   itself. */
#include "models.h"

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
    struct small_batch prefix;
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
    s->nbest = o->nbest ? o->nbest : 1;
    s->length = o->max_length ? o->max_length : LENGTH;
}

static rapt_status run(const struct subject *s, const rapt_tokens *source, int sequence,
                       int threads, struct result *r)
{
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = MODEL_BATCH,
                                .beams = BEAMS,
                                .source_tokens = MODEL_BATCH * MODEL_POSITIONS,
                                .target_length = LENGTH,
                                .threads = threads};
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
    options.sequence += (uint64_t)sequence;
    if (s->has_prefix && source->batch < s->batch) prefix = small_one(&prefix, sequence, starts);
    if (s->has_prefix) options.prefix = &prefix;
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
        check_repeats(ids, t, s->options.no_repeat_ngram);
    }
    require(count < 0 || count >= given, "no less than its prefix");
    require(!r->ended[i] || count >= s->options.min_length, "the shortest length");
    require(count >= 0 || r->scores[i] == -INFINITY, "the score of what is not there");
    if (i % s->nbest) require(!(r->scores[i] > r->scores[i - 1]), "the best comes first");
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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
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
    rapt_status status = run(&s, &s.source.tokens, 0, 1 + (take_byte(&in) % 8 == 7), &r);
    require(status == RAPT_OK || status == RAPT_BAD_ARGUMENT || status == RAPT_NOT_FINITE,
            "status");
    if (status) check_nothing(&r);
    for (int i = 0; !status && i < s.batch * s.nbest; i++) check_sequence(&s, &r, i);
    for (int b = 0; !status && b < s.batch; b++) check_alone(&s, &r, b);
    rapt_model_free(s.model);
    return 0;
}
