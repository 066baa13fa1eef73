/* weights.c - self-attention weights of a session agree with the definition for every configuration
   and variant; have the bits of rapt_attention_weights for the same queries and keys; have the same
   bits for any threads, batch and pieces; and reading them changes no result. */
#include "generate/small_session.h"

#include "model/variants.h"
#include "oracle/transformer.h"

enum { BATCH = 4, MAX = 12 };
static const int source_lengths[] = {5, 1, 12, 3}, target_lengths[] = {7, 12, 1, 4};

static rapt_session *asking_session(const rapt_model *model, int threads, int tokens, int length)
{
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = LARGER_BATCH,
                                .source_tokens = tokens,
                                .target_length = length,
                                .target_tokens = tokens,
                                .self_weights = 1};
    return session_of(model, &limits, threads);
}

static void weights_of(rapt_session *session, rapt_weights which, int layer, int head,
                       float *weights)
{
    rapt_message why = {""};
    if (rapt_session_weights(session, which, layer, head, weights, &why)) fail_msg("%s", why.text);
}

/* ---- against the definition ---- */

static struct oracle_sentence sentence(const rapt_tokens *t, int b)
{
    return (struct oracle_sentence){.number = b,
                                    .first = t->starts[b],
                                    .count = t->starts[b + 1] - t->starts[b],
                                    .ids = t->ids + t->starts[b]};
}

static void near(const rapt_config *c, const float *got, const double *wanted, int n)
{
    char name[160];
    for (int i = 0; i < n; i++)
        if (!(fabs((double)got[i] - wanted[i]) <= 2e-5))
            fail_msg("%s: weight %d of %d: got %.9g, wanted %.9g", variant_name(c, name), i, n,
                     (double)got[i], wanted[i]);
}

/* Compares the weights of sentence b, n rows from row `at` on, in every layer and head and their
   mean. wanted: [layers][heads][n][n]. */
static void compare(rapt_session *session, const rapt_config *c, rapt_weights which, int layers,
                    int n, int at, const double *wanted)
{
    static float weights[BATCH * MAX * MAX];
    double mean[MAX * MAX] = {0};
    for (int i = 0; i < layers * c->heads; i++) {
        weights_of(session, which, i / c->heads, i % c->heads, weights);
        near(c, weights + at, wanted + i * n * n, n * n);
        for (int j = 0; j < n * n; j++) mean[j] += wanted[i * n * n + j] / (layers * c->heads);
    }
    weights_of(session, which, -1, -1, weights);
    near(c, weights + at, mean, n * n);
}

static void judge(const rapt_config *c, uint64_t seed)
{
    static double states[MAX * 64], logits[MAX * 128], self[4 * 8 * MAX * MAX];
    static float weights[MAX * MAX];
    rapt_message why = {""};
    rapt_model *model = small_model(c, seed);
    struct oracle_model *oracle = oracle_model_read(model);
    rapt_session *session = asking_session(model, 2, BATCH * MAX, MAX);
    struct small_batch source, target;
    bool encodes = c->kind != RAPT_KIND_DECODER_ONLY, decodes = c->kind != RAPT_KIND_ENCODER_ONLY;
    small_fill(&source, encodes ? c->source_vocab : 1, source_lengths, BATCH, seed);
    small_fill(&target, c->target_vocab, target_lengths, BATCH, seed + 1);
    const rapt_tokens read = small_source(c, &source.tokens);
    assert_int_equal(rapt_encode(session, &read, NULL, NULL), RAPT_OK);
    if (decodes) assert_int_equal(rapt_decode(session, &target.tokens, NULL, NULL), RAPT_OK);
    for (int b = 0, at = 0, to = 0; b < BATCH; b++) {
        struct oracle_sentence s = sentence(&source.tokens, b), t = sentence(&target.tokens, b);
        oracle->self = self;
        if (encodes) {
            oracle_encode(oracle, NULL, &s, states);
            compare(session, c, RAPT_WEIGHTS_ENCODER, c->encoder_layers, s.count, at, self);
        }
        oracle->self = self;
        if (decodes && c->decoder_recurrence) {
            assert_int_equal(
                rapt_session_weights(session, RAPT_WEIGHTS_DECODER, 0, 0, weights, &why),
                RAPT_BAD_ARGUMENT);
            assert_non_null(strstr(why.text, "linear attention"));
        } else if (decodes) {
            oracle_decode(oracle, NULL, encodes ? &s : NULL, states, &t, logits, NULL);
            compare(session, c, RAPT_WEIGHTS_DECODER, c->decoder_layers, t.count, to, self);
        }
        at += s.count * s.count, to += t.count * t.count;
    }
    rapt_session_free(session);
    oracle_model_free(oracle);
    rapt_model_free(model);
}

static void test_definition(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(small_configs); i++) judge(&small_configs[i], (uint64_t)i + 70);
    for (int i = 0; i < VARIANTS; i++) {
        rapt_config c = variant(i);
        c.encoder_layers = c.decoder_layers = 1 + i % 2;
        judge(&c, (uint64_t)i + 5);
    }
}

/* ---- the bits of plain arrays ---- */

enum { D = 8, H = 2, ROWS = 7, VOCAB = 11 };

/* Makes queries the embedding and keys the embedding in reverse order, so that no sum rounds. */
static void choose_projections(rapt_model *model, const char *name)
{
    static float w[3 * D * D], zero[3 * D];
    memset(w, 0, sizeof w);
    for (int i = 0; i < D; i++)
        w[i * D + i] = w[(D + i) * D + D - 1 - i] = w[(2 * D + i) * D + i] = 1;
    char full[64];
    snprintf(full, sizeof full, "%s.layers.0.self_attn.qkv.weight", name);
    assert_int_equal(rapt_model_write(model, rapt_model_find(model, full), w, NULL), RAPT_OK);
    snprintf(full, sizeof full, "%s.layers.0.self_attn.qkv.bias", name);
    assert_int_equal(rapt_model_write(model, rapt_model_find(model, full), zero, NULL), RAPT_OK);
}

static void arrays_of(const rapt_model *model, const char *name, const int32_t *ids, float *q,
                      float *k)
{
    float table[VOCAB * D];
    char full[64];
    snprintf(full, sizeof full, "%s.embedding.weight", name);
    assert_int_equal(rapt_model_read(model, rapt_model_find(model, full), table, NULL), RAPT_OK);
    for (int t = 0; t < ROWS; t++)
        for (int i = 0; i < D; i++) {
            q[t * D + i] = table[ids[t] * D + i];
            k[t * D + i] = table[ids[t] * D + D - 1 - i];
        }
}

static void wanted_weights(const float *q, const float *k, bool causal, int head, float *weights)
{
    rapt_attention a;
    float out[ROWS * D], lse[H * ROWS];
    assert_int_equal(rapt_attention_init(&a, sizeof a, 1, H, ROWS, ROWS, D / H), RAPT_OK);
    a.q = a.k = a.v = a.out = (rapt_stride){0, D / H, D};
    a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT, a.mask.causal = causal;
    a.threads = 1;
    const rapt_attention_saved saved = {.size = sizeof saved, .lse = lse};
    size_t bytes = (rapt_attention_workspace(&a) + 63) / 64 * 64;
    void *workspace = aligned_alloc(64, bytes);
    assert_int_equal(rapt_attention_forward(&a, q, k, q, out, &saved, workspace, NULL), RAPT_OK);
    assert_int_equal(
        rapt_attention_weights(&a, q, k, &saved, 0, head, 0, ROWS, weights, workspace, NULL),
        RAPT_OK);
    free(workspace);
}

static void test_same_as_arrays(void **state)
{
    (void)state;
    for (int decoder = 0; decoder < 2; decoder++) {
        const char *name = decoder ? "decoder" : "encoder";
        const rapt_config c = {.size = sizeof c,
                               .kind = decoder ? RAPT_KIND_DECODER_ONLY : RAPT_KIND_ENCODER_ONLY,
                               .source_vocab = decoder ? 0 : VOCAB,
                               .target_vocab = VOCAB,
                               .positions = ROWS,
                               .width = D,
                               .heads = H,
                               .encoder_layers = !decoder,
                               .decoder_layers = decoder,
                               .position = RAPT_POSITION_NONE,
                               .plain_embedding = 1};
        rapt_model *model = small_model(&c, 3);
        struct small_batch b;
        float q[ROWS * D], k[ROWS * D], got[ROWS * ROWS], wanted[ROWS * ROWS];
        choose_projections(model, name);
        rapt_session *session = asking_session(model, 1, ROWS, ROWS);
        small_fill(&b, VOCAB, (const int[]){ROWS}, 1, 8);
        arrays_of(model, name, b.ids, q, k);
        const rapt_tokens read = small_source(rapt_model_config(model), &b.tokens);
        assert_int_equal(rapt_encode(session, &read, NULL, NULL), RAPT_OK);
        if (decoder) assert_int_equal(rapt_decode(session, &b.tokens, NULL, NULL), RAPT_OK);
        for (int h = 0; h < H; h++) {
            weights_of(session, decoder ? RAPT_WEIGHTS_DECODER : RAPT_WEIGHTS_ENCODER, 0, h, got);
            wanted_weights(q, k, decoder, h, wanted);
            assert_memory_equal(got, wanted, sizeof got);
        }
        rapt_session_free(session);
        rapt_model_free(model);
    }
}

/* ---- the same bits ---- */

static const int larger_lengths[LARGER_BATCH] = {70, 3, 33, 17, 1, 16};
enum { TOKENS = 140, CELLS = 70 * 70 + 9 + 33 * 33 + 17 * 17 + 1 + 256 };

struct both {
    float encoder[CELLS], decoder[CELLS];
};

static void read_both(rapt_session *session, const rapt_tokens *tokens, int layer, int head,
                      struct both *to)
{
    assert_int_equal(rapt_encode(session, tokens, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_decode(session, tokens, NULL, NULL), RAPT_OK);
    weights_of(session, RAPT_WEIGHTS_ENCODER, layer, head, to->encoder);
    weights_of(session, RAPT_WEIGHTS_DECODER, layer, head, to->decoder);
}

/* Compares one sentence by itself, its target in pieces, with the rows `whole` of the batch. */
static void compare_alone(rapt_session *session, const rapt_tokens *all, int b, int layer, int head,
                          const float *encoder, const float *decoder)
{
    static float weights[70 * 70];
    int starts[2], n = larger_lengths[b];
    const rapt_tokens one = small_one(all, b, starts);
    assert_int_equal(rapt_encode(session, &one, NULL, NULL), RAPT_OK);
    weights_of(session, RAPT_WEIGHTS_ENCODER, layer, head, weights);
    assert_memory_equal(weights, encoder, sizeof *weights * (size_t)(n * n));
    for (int t = 0, step; t < n; t += step) {
        step = t % 2 ? 5 : 1;
        if (step > n - t) step = n - t;
        const int piece[] = {0, step};
        assert_int_equal(
            rapt_decode(session, &(rapt_tokens){.batch = 1, .ids = one.ids + t, .starts = piece},
                        NULL, NULL),
            RAPT_OK);
        weights_of(session, RAPT_WEIGHTS_DECODER, layer, head, weights);
        for (int r = 0; r < step; r++) {
            const float *row = decoder + (t + r) * n;
            assert_memory_equal(weights + r * (t + step), row, sizeof *row * (size_t)(t + step));
            for (int s = t + r + 1; s < n; s++) assert_true(row[s] == 0);
        }
    }
}

static void test_bits(void **state)
{
    (void)state;
    static struct both one, many;
    for (int i = 0; i < 4; i++) {
        rapt_config c = larger;
        if (i == 1)
            c.self_score = RAPT_SCORE_LOCATION_AWARE, c.self_locality = RAPT_LOCALITY_LOCAL_P;
        if (i == 2) c.key_heads = 1, c.self_normalizer = RAPT_NORMALIZER_ARGMAX;
        if (i == 3) c.key_heads = 1, c.self_score = RAPT_SCORE_COVERAGE;
        rapt_model *model = small_model(&c, 17);
        rapt_session *first = asking_session(model, 1, TOKENS, 70);
        rapt_session *second = asking_session(model, 3, TOKENS, 70);
        struct small_batch b;
        small_fill(&b, 70, larger_lengths, LARGER_BATCH, 4);
        for (int layer = -1; layer < 2; layer++) {
            read_both(first, &b.tokens, layer, layer, &one);
            read_both(second, &b.tokens, layer, layer, &many);
            assert_memory_equal(&one, &many, sizeof one);
            for (int s = 0, at = 0; s < LARGER_BATCH;
                 at += larger_lengths[s] * larger_lengths[s], s++)
                compare_alone(second, &b.tokens, s, layer, layer, one.encoder + at,
                              one.decoder + at);
        }
        rapt_session_free(first);
        rapt_session_free(second);
        rapt_model_free(model);
    }
}

/* ---- sessions without limits.self_weights ---- */

static void test_asking(void **state)
{
    (void)state;
    rapt_model *model = small_model(&larger, 5);
    rapt_session *asks = asking_session(model, 2, TOKENS, 70);
    rapt_session *other = session_of(model, &larger_limits, 2);
    struct small_batch b;
    const float *x, *y;
    float weights[1] = {9};
    rapt_message why = {""};
    small_fill(&b, 70, larger_lengths, LARGER_BATCH, 4);
    size_t bytes = sizeof(float) * (size_t)b.starts[LARGER_BATCH];
    assert_int_equal(rapt_encode(asks, &b.tokens, &x, NULL), RAPT_OK);
    assert_int_equal(rapt_encode(other, &b.tokens, &y, NULL), RAPT_OK);
    assert_memory_equal(x, y, bytes * (size_t)larger.width);
    assert_int_equal(rapt_decode(asks, &b.tokens, &x, NULL), RAPT_OK);
    assert_int_equal(rapt_decode(other, &b.tokens, &y, NULL), RAPT_OK);
    assert_memory_equal(x, y, bytes * (size_t)larger.target_vocab);
    for (int which = 0; which < 2; which++) {
        rapt_weights part = which ? RAPT_WEIGHTS_DECODER : RAPT_WEIGHTS_ENCODER;
        assert_int_equal(rapt_session_weights(other, part, 0, 0, weights, &why), RAPT_BAD_ARGUMENT);
        assert_non_null(strstr(why.text, "limits.self_weights"));
    }
    assert_int_equal(rapt_session_weights(asks, (rapt_weights)3, 0, 0, weights, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "which: 3 is not a value of rapt_weights"));
    assert_int_equal(rapt_session_weights(asks, RAPT_WEIGHTS_ENCODER, 2, 0, weights, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "layer 2"));
    assert_true(weights[0] == 9);
    rapt_session_free(asks);
    rapt_session_free(other);
    rapt_model_free(model);
}

/* Before the first call there are no rows; parts that the model lacks are refused. */
static void test_parts(void **state)
{
    (void)state;
    const rapt_weights missing[] = {RAPT_WEIGHTS_DECODER, RAPT_WEIGHTS_ENCODER};
    const char *const words[] = {"no decoder", "no encoder"};
    for (int i = 0; i < 2; i++) {
        rapt_model *model = small_model(&small_configs[i ? 10 : 7], 5);
        rapt_session *session = asking_session(model, 1, 9, 9);
        float weights[1] = {9};
        rapt_message why = {""};
        weights_of(session, missing[1 - i], -1, -1, weights);
        assert_true(weights[0] == 9);
        assert_int_equal(rapt_session_weights(session, missing[i], 0, 0, weights, &why),
                         RAPT_BAD_ARGUMENT);
        assert_non_null(strstr(why.text, words[i]));
        assert_int_equal(rapt_session_weights(session, RAPT_WEIGHTS_CROSS, 0, 0, weights, &why),
                         RAPT_BAD_ARGUMENT);
        rapt_session_free(session);
        rapt_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition), cmocka_unit_test(test_same_as_arrays),
        cmocka_unit_test(test_bits),       cmocka_unit_test(test_asking),
        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
