/* variants.c - every score, locality and normalizer in a session and in a trainer: results and
   alignments agree with the definition; bits do not depend on threads, batch, beams or the number
   of tokens per call; models are saved and loaded. */
#include "model/variants.h"

#include "oracle/transformer.h"

enum { BATCH = 4, MAX = 12 };
static const int source_lengths[] = {5, 1, 12, 3}, target_lengths[] = {7, 12, 2, 4};

/* Allocates memory full of NaN, so that reading it before writing shows. */
static void *take(void *user, size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    (void)user;
    assert_non_null(memory);
    return memset(memory, 0xff, bytes);
}

static void give_back(void *user, void *memory, size_t bytes)
{
    (void)user, (void)bytes;
    free(memory);
}

static const rapt_allocator allocator = {take, give_back, NULL};

static rapt_session *session_of(const rapt_model *model, int batch, int beams, int threads)
{
    rapt_session *session = NULL;
    rapt_message why = {""};
    rapt_limits limits = {.size = sizeof limits,
                          .batch = batch,
                          .beams = beams,
                          .source_tokens = batch * MAX,
                          .target_length = MAX,
                          .target_tokens = batch * beams * MAX,
                          .threads = threads};
    if (rapt_session_create(&session, model, &limits, &allocator, &why)) fail_msg("%s", why.text);
    return session;
}

struct trial {
    rapt_config config;
    char name[160];
    rapt_model *model;
    struct small_batch source, target;
};

static struct trial begin(int i)
{
    struct trial t = {.config = variant(i)};
    variant_name(&t.config, t.name);
    t.model = small_model(&t.config, (uint64_t)i + 5);
    return t;
}

static void fill(struct trial *t, uint64_t seed)
{
    small_fill(&t->source, t->config.source_vocab, source_lengths, BATCH, seed);
    small_fill(&t->target, t->config.target_vocab, target_lengths, BATCH, seed + 1);
}

/* ---- against the definition ---- */

static void near(const struct trial *t, const char *what, const float *got, const double *wanted,
                 int n)
{
    double max = 0;
    for (int i = 0; i < n; i++) max = fmax(max, fabs(wanted[i]));
    for (int i = 0; i < n; i++)
        if (!(fabs((double)got[i] - wanted[i]) <= 2e-5 * (1 + max)))
            fail_msg("%s: %s %d of %d: got %.9g, wanted %.9g", t->name, what, i, n, (double)got[i],
                     wanted[i]);
}

static struct oracle_sentence sentence(const rapt_tokens *t, int b)
{
    return (struct oracle_sentence){.number = b,
                                    .first = t->starts[b],
                                    .count = t->starts[b + 1] - t->starts[b],
                                    .ids = t->ids + t->starts[b]};
}

/* Compares logits and weights of cross-attention of sentence b; at: its first weight. */
static void compare(const struct trial *t, struct oracle_model *oracle, rapt_session *session,
                    const float *logits, int b, int at)
{
    struct oracle_sentence s = sentence(&t->source.tokens, b), u = sentence(&t->target.tokens, b);
    int N = t->config.target_vocab, cells = s.count * u.count;
    double states[MAX * 8], wanted[MAX * 9], cross[2 * MAX * MAX];
    float weights[BATCH * MAX * MAX];
    oracle_encode(oracle, NULL, &s, states);
    oracle_decode(oracle, NULL, &s, states, &u, wanted, cross);
    near(t, "logit", logits + u.first * N, wanted, u.count * N);
    for (int h = 0; h < t->config.heads; h++) {
        assert_int_equal(rapt_session_alignment(session, 0, h, weights, NULL), RAPT_OK);
        near(t, "weight", weights + at, cross + h * cells, cells);
    }
}

static void test_definition(void **state)
{
    (void)state;
    for (int i = 0; i < VARIANTS; i++) {
        struct trial t = begin(i);
        struct oracle_model *oracle = oracle_model_read(t.model);
        rapt_session *session = session_of(t.model, BATCH, 1, 2);
        const float *logits;
        fill(&t, (uint64_t)i);
        assert_int_equal(rapt_encode(session, &t.source.tokens, NULL, NULL), RAPT_OK);
        assert_int_equal(rapt_decode(session, &t.target.tokens, &logits, NULL), RAPT_OK);
        for (int b = 0, at = 0; b < BATCH; at += source_lengths[b] * target_lengths[b], b++)
            compare(&t, oracle, session, logits, b, at);
        rapt_session_free(session);
        oracle_model_free(oracle);
        rapt_model_free(t.model);
    }
}

/* ---- equal bits ---- */

enum { N = 9 }; /* tokens of the target vocabulary */

/* Computes logits and mean weights of the whole batch with that number of threads. */
static void run_whole(const struct trial *t, int threads, float *logits, float *weights)
{
    rapt_session *session = session_of(t->model, BATCH, 1, threads);
    const float *got;
    assert_int_equal(rapt_encode(session, &t->source.tokens, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_decode(session, &t->target.tokens, &got, NULL), RAPT_OK);
    memcpy(logits, got, sizeof *got * N * (size_t)t->target.starts[BATCH]);
    assert_int_equal(rapt_session_alignment(session, -1, -1, weights, NULL), RAPT_OK);
    rapt_session_free(session);
}

/* Decodes one sentence by itself, in pieces; the weights of the last piece are compared too. */
static void run_alone(const struct trial *t, int b, int piece, const float *logits,
                      const float *weights)
{
    rapt_session *session = session_of(t->model, 1, 1, 1);
    int s[2], u[2], S = source_lengths[b], T = target_lengths[b], step;
    rapt_tokens source = small_one(&t->source.tokens, b, s);
    rapt_tokens target = small_one(&t->target.tokens, b, u);
    float got[MAX * MAX];
    assert_int_equal(rapt_encode(session, &source, NULL, NULL), RAPT_OK);
    for (int at = 0; at < T; at += step) {
        const float *part;
        step = T - at < piece ? T - at : piece;
        rapt_tokens some = {.batch = 1, .ids = target.ids + at, .starts = (const int[]){0, step}};
        assert_int_equal(rapt_decode(session, &some, &part, NULL), RAPT_OK);
        if (memcmp(part, logits + at * N, sizeof *part * (size_t)(step * N)) != 0)
            fail_msg("%s: sentence %d in pieces of %d, token %d", t->name, b, piece, at);
        assert_int_equal(rapt_session_alignment(session, -1, -1, got, NULL), RAPT_OK);
        if (memcmp(got, weights + at * S, sizeof *got * (size_t)(step * S)) != 0)
            fail_msg("%s: weights of sentence %d in pieces of %d", t->name, b, piece);
    }
    rapt_session_free(session);
}

static void test_bits(void **state)
{
    (void)state;
    float logits[BATCH * MAX * N], again[BATCH * MAX * N];
    float weights[BATCH * MAX * MAX], weights_again[BATCH * MAX * MAX];
    for (int i = 0; i < VARIANTS; i++) {
        struct trial t = begin(i);
        int cells = 0;
        fill(&t, (uint64_t)i);
        run_whole(&t, 1, logits, weights);
        run_whole(&t, 3, again, weights_again);
        for (int b = 0; b < BATCH; b++) {
            for (int piece = 1; piece < 4; piece += 2)
                run_alone(&t, b, piece, logits + t.target.starts[b] * N, weights + cells);
            cells += source_lengths[b] * target_lengths[b];
        }
        size_t size = sizeof *logits * N * (size_t)t.target.starts[BATCH];
        if (memcmp(logits, again, size) != 0 ||
            memcmp(weights, weights_again, sizeof *weights * (size_t)cells) != 0)
            fail_msg("%s: threads", t.name);
        rapt_model_free(t.model);
    }
}

/* Decoder-only models. */
static void test_decoder(void **state)
{
    (void)state;
    for (int i = 0; i < VARIANTS; i++) {
        struct trial t = {.config = variant_half(i, RAPT_KIND_DECODER_ONLY)};
        variant_name(&t.config, t.name);
        t.model = small_model(&t.config, (uint64_t)i + 5);
        struct oracle_model *oracle = oracle_model_read(t.model);
        rapt_session *session = session_of(t.model, 1, 1, 1);
        const rapt_tokens none = {.batch = 1};
        const float *got;
        float whole[MAX * N];
        double wanted[MAX * N];
        small_fill(&t.target, N, (const int[]){MAX}, 1, (uint64_t)i);
        struct oracle_sentence s = sentence(&t.target.tokens, 0);
        assert_int_equal(rapt_encode(session, &none, NULL, NULL), RAPT_OK);
        assert_int_equal(rapt_decode(session, &t.target.tokens, &got, NULL), RAPT_OK);
        memcpy(whole, got, sizeof whole);
        oracle_decode(oracle, NULL, NULL, NULL, &s, wanted, NULL);
        near(&t, "logit", whole, wanted, MAX * N);
        assert_int_equal(rapt_encode(session, &none, NULL, NULL), RAPT_OK);
        for (int n = 0; n < MAX; n++) {
            rapt_tokens one = {.batch = 1, .ids = t.target.ids + n, .starts = (const int[]){0, 1}};
            assert_int_equal(rapt_decode(session, &one, &got, NULL), RAPT_OK);
            if (memcmp(got, whole + n * N, N * sizeof *got) != 0)
                fail_msg("%s: token %d by itself", t.name, n);
        }
        oracle_model_free(oracle);
        rapt_session_free(session);
        rapt_model_free(t.model);
    }
}

/* A hypothesis that was moved continues like one that was always there. */
static void test_reorder(void **state)
{
    (void)state;
    enum { SLOTS = 6 };
    static const int parents[SLOTS] = {2, 0, 0, 4, 4, 5}, sources[] = {4, 7};
    static const int lengths[SLOTS] = {5, 1, 3, 3, 2, 4}, next[SLOTS] = {1, 2, 1, 0, 3, 1};
    for (int i = 0; i < VARIANTS; i++) {
        struct trial t = begin(i);
        rapt_session *moved = session_of(t.model, 2, 3, 2), *fresh = session_of(t.model, 2, 3, 1);
        struct small_batch past, other, now;
        const float *got, *wanted;
        int others[SLOTS];
        for (int k = 0; k < SLOTS; k++) others[k] = lengths[parents[k]];
        small_fill(&t.source, t.config.source_vocab, sources, 2, 1);
        small_fill(&past, N, lengths, SLOTS, 2);
        small_fill(&other, N, others, SLOTS, 2);
        small_fill(&now, N, next, SLOTS, 3);
        for (int k = 0; k < SLOTS; k++)
            memcpy(other.ids + other.starts[k], past.ids + past.starts[parents[k]],
                   sizeof *past.ids * (size_t)others[k]);
        assert_int_equal(rapt_encode(moved, &t.source.tokens, NULL, NULL), RAPT_OK);
        assert_int_equal(rapt_decode(moved, &past.tokens, NULL, NULL), RAPT_OK);
        assert_int_equal(rapt_session_reorder(moved, parents, NULL), RAPT_OK);
        assert_int_equal(rapt_decode(moved, &now.tokens, &got, NULL), RAPT_OK);
        assert_int_equal(rapt_encode(fresh, &t.source.tokens, NULL, NULL), RAPT_OK);
        assert_int_equal(rapt_decode(fresh, &other.tokens, NULL, NULL), RAPT_OK);
        assert_int_equal(rapt_decode(fresh, &now.tokens, &wanted, NULL), RAPT_OK);
        if (memcmp(got, wanted, sizeof *got * N * (size_t)now.starts[SLOTS]) != 0)
            fail_msg("%s: reordered", t.name);
        rapt_session_free(moved);
        rapt_session_free(fresh);
        rapt_model_free(t.model);
    }
}

/* ---- training ---- */

static rapt_trainer *trainer_of(rapt_model *model, int threads)
{
    rapt_train_options o;
    rapt_train_options_default(&o, sizeof o);
    rapt_train_limits limits = {.size = sizeof limits,
                                .batch = BATCH,
                                .source_tokens = 48,
                                .target_tokens = 48,
                                .threads = threads};
    rapt_trainer *trainer = NULL;
    rapt_message why = {""};
    o.attention_dropout = 0.1f, o.rate = 0.01f, o.warmup = 2;
    if (rapt_trainer_create(&trainer, model, &o, &limits, NULL, &why)) fail_msg("%s", why.text);
    return trainer;
}

static void steps(struct trial *t, rapt_trainer *trainer, int first, int end)
{
    for (int i = first; i < end; i++) {
        rapt_report report = {.size = sizeof report};
        rapt_message why = {""};
        fill(t, (uint64_t)i % 3);
        if (rapt_train_gradient(trainer, &t->source.tokens, &t->target.tokens, &report, &why))
            fail_msg("%s: %s", t->name, why.text);
        assert_int_equal(rapt_train_step(trainer, &report, NULL), RAPT_OK);
    }
}

/* Four steps on one thread give the bits of two on three threads, a checkpoint, and two more. */
static void test_training(void **state)
{
    (void)state;
    char path[256], model_path[256];
    small_path(path, "variant");
    small_path(model_path, "variant-model");
    for (int i = 0; i < VARIANTS; i += 2) { /* the others are in cross-attention */
        struct trial whole = begin(i), parts = begin(i);
        rapt_trainer *a = trainer_of(whole.model, 1), *b = trainer_of(parts.model, 3);
        rapt_message why = {""};
        steps(&whole, a, 0, 4);
        steps(&parts, b, 0, 2);
        assert_int_equal(rapt_trainer_save(b, path, NULL, 0, NULL), RAPT_OK);
        assert_int_equal(rapt_model_save(parts.model, model_path, NULL, 0, NULL), RAPT_OK);
        rapt_trainer_free(b);
        rapt_model_free(parts.model);
        if (rapt_model_load(&parts.model, model_path, NULL, &why))
            fail_msg("%s: %s", parts.name, why.text);
        const rapt_config loaded = *rapt_model_config(parts.model);
        assert_true(loaded.self_locality == whole.config.self_locality &&
                    loaded.cross_normalizer == whole.config.cross_normalizer &&
                    loaded.cross_radius == whole.config.cross_radius &&
                    loaded.location_filter_width == whole.config.location_filter_width);
        b = trainer_of(parts.model, 2);
        if (rapt_trainer_load(b, path, &why)) fail_msg("%s: %s", parts.name, why.text);
        steps(&parts, b, 2, 4);
        small_same_models(whole.model, parts.model);
        rapt_trainer_free(a);
        rapt_trainer_free(b);
        rapt_model_free(whole.model);
        rapt_model_free(parts.model);
    }
    unlink(path);
    unlink(model_path);
}

/* An evaluation has the loss of a session: nothing is drawn or dropped. */
static void test_evaluation(void **state)
{
    (void)state;
    for (int i = 0; i < VARIANTS; i++) {
        struct trial t = begin(i);
        rapt_trainer *trainer = trainer_of(t.model, 2);
        struct oracle_model *oracle = oracle_model_read(t.model);
        rapt_report report = {.size = sizeof report};
        fill(&t, 7);
        assert_int_equal(
            rapt_train_evaluate(trainer, &t.source.tokens, &t.target.tokens, &report, NULL),
            RAPT_OK);
        double wanted =
            oracle_batch_loss(oracle, NULL, &t.source.tokens, &t.target.tokens, (double)0.1f, NULL);
        if (!(fabs(report.loss - wanted) <= 1e-5 * wanted))
            fail_msg("%s: loss %.9g, wanted %.9g", t.name, report.loss, wanted);
        oracle_model_free(oracle);
        rapt_trainer_free(trainer);
        rapt_model_free(t.model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition), cmocka_unit_test(test_bits),
        cmocka_unit_test(test_decoder),    cmocka_unit_test(test_reorder),
        cmocka_unit_test(test_training),   cmocka_unit_test(test_evaluation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
