/* product.c - every score x locality x normalizer of the tables, under every kind of mask and bias,
   full and ragged, with grouped heads: outputs, choices, weights and all gradients match the
   definition, with the same bits for any number of threads and every instruction set. A new row of
   a table is tested without a new test. Keys and values that no query sees hold NaN. */
#include "judge.h"
#include "skips.h"

static const struct kind {
    const char *name;
    rapt_causal_alignment causal_alignment;
    bool causal, window, counts;
    int allowed, bias;
    float scale, cap, dropout;
    bool slopes;
    int buckets, distance;
    bool bidirectional;
    rapt_rotary rotary;
    int rotary_width;
    bool large, forget;
    int distances, near_before, near_after, near_buckets, near_distance;
    int talking;
} kinds[] = {
    {.name = "none"},
    {.name = "causal", .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT, .causal = true},
    {.name = "causal, lower-right",
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
     .causal = true},
    {.name = "window", .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT, .window = true},
    {.name = "causal window",
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
     .causal = true,
     .window = true,
     .counts = true},
    {.name = "counts", .counts = true},
    {.name = "allowed", .allowed = SHARED | PER_BATCH | PER_HEAD | PER_ROW},
    {.name = "allowed to all", .allowed = SHARED, .dropout = 0.3f},
    {.name = "bias", .bias = SHARED | PER_BATCH | PER_HEAD | PER_ROW},
    {.name = "bias for all", .bias = SHARED, .counts = true},
    {.name = "bias per head", .bias = SHARED | PER_HEAD, .cap = 1.5f},
    {.name = "bias per row", .bias = SHARED | PER_ROW, .allowed = SHARED | PER_BATCH},
    {.name = "slopes", .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT, .slopes = true},
    {.name = "slopes, lower-right",
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
     .slopes = true,
     .causal = true,
     .counts = true},
    {.name = "buckets",
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
     .buckets = 4,
     .distance = 5},
    {.name = "buckets both ways",
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
     .buckets = 8,
     .distance = 6,
     .bidirectional = true},
    {.name = "pairs rotated",
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
     .rotary = RAPT_ROTARY_PAIRS},
    {.name = "halves rotated",
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
     .rotary = RAPT_ROTARY_HALVES,
     .rotary_width = 4,
     .causal = true},
    {.name = "forget gates",
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
     .causal = true,
     .forget = true},
    {.name = "forget gates, lower-right",
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
     .causal = true,
     .counts = true,
     .allowed = SHARED | PER_ROW,
     .dropout = 0.2f,
     .forget = true},
    {.name = "distances of Shaw et al.",
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
     .distances = DISTANCE_KEYS | DISTANCE_VALUES | DISTANCES_SHARED,
     .dropout = 0.2f,
     .near_before = 2,
     .near_after = 2},
    {.name = "distances of Transformer-XL",
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
     .causal = true,
     .counts = true,
     .distances = DISTANCE_KEYS | CONTENT_BIAS | POSITION_BIAS,
     .near_before = 7},
    {.name = "distances of DeBERTa",
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
     .scale = 0.3f,
     .distances = DISTANCE_KEYS | DISTANCE_QUERIES,
     .near_before = 2,
     .near_after = 3},
    {.name = "distances of DeBERTa v2",
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
     .large = true,
     .dropout = 0.2f,
     .distances = DISTANCE_KEYS | DISTANCE_QUERIES | POSITION_BIAS,
     .near_before = 30,
     .near_after = 9,
     .near_buckets = 8,
     .near_distance = 25},
    {.name = "shared buckets of distances, with values",
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
     .counts = true,
     .distances = DISTANCE_KEYS | DISTANCE_QUERIES | DISTANCE_VALUES | DISTANCES_SHARED,
     .near_before = 3,
     .near_after = 6,
     .near_buckets = 4,
     .near_distance = 5},
    {.name = "one distance",
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
     .distances = DISTANCE_QUERIES | CONTENT_BIAS | DISTANCES_SHARED,
     .allowed = SHARED | PER_ROW},
    {.name = "all distances",
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
     .causal = true,
     .bias = SHARED | PER_HEAD | PER_ROW,
     .cap = 2,
     .dropout = 0.1f,
     .slopes = true,
     .large = true,
     .forget = true,
     .distances = DISTANCE_KEYS | DISTANCE_QUERIES | CONTENT_BIAS | POSITION_BIAS,
     .near_before = 19,
     .near_after = 4},
    {.name = "shared distances with values",
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
     .counts = true,
     .large = true,
     .distances =
         DISTANCE_KEYS | DISTANCE_QUERIES | DISTANCE_VALUES | POSITION_BIAS | DISTANCES_SHARED,
     .near_before = 5,
     .near_after = 16},
    {.name = "talking heads", .cap = 2, .dropout = 0.2f, .talking = TALKING},
    {.name = "talking heads, causal",
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
     .causal = true,
     .counts = true,
     .rotary = RAPT_ROTARY_HALVES,
     .talking = TALKING_SCORES},
    {.name = "talking heads, masks per head",
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
     .window = true,
     .allowed = SHARED | PER_HEAD | PER_ROW,
     .talking = TALKING_WEIGHTS},
    {.name = "capped", .cap = 0.8f, .dropout = 0.25f},
    {.name = "scaled", .scale = -0.7f},
    {.name = "large", .large = true},
    {.name = "talking heads, large and all at once",
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
     .causal = true,
     .counts = true,
     .allowed = SHARED | PER_HEAD | PER_ROW,
     .bias = SHARED | PER_HEAD | PER_ROW,
     .cap = 3,
     .dropout = 0.1f,
     .slopes = true,
     .buckets = 8,
     .distance = 16,
     .large = true,
     .forget = true,
     .talking = TALKING},
    {.name = "large and all at once",
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
     .causal = true,
     .counts = true,
     .allowed = SHARED | PER_ROW,
     .bias = SHARED | PER_HEAD | PER_ROW,
     .cap = 3,
     .dropout = 0.1f,
     .slopes = true,
     .buckets = 8,
     .distance = 16,
     .large = true,
     .forget = true,
     .distances = DISTANCE_KEYS | DISTANCE_QUERIES | DISTANCE_VALUES | CONTENT_BIAS | POSITION_BIAS,
     .near_before = 3,
     .near_after = 2},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool is_additive(rapt_score score)
{
    return score == RAPT_SCORE_ADDITIVE || score == RAPT_SCORE_LOCATION_AWARE ||
           score == RAPT_SCORE_COVERAGE;
}

/* Whether the score multiplies q by a matrix of its own, so that queries may have another width. */
static bool takes_any_query(rapt_score score)
{
    return score == RAPT_SCORE_GENERAL || score == RAPT_SCORE_LOCATION || is_additive(score);
}

static void fill_from_kind(struct choice *c, const struct kind *k)
{
    c->causal_alignment = k->causal_alignment, c->causal = k->causal, c->window = k->window,
    c->counts = k->counts;
    c->before = 3, c->after = 1;
    c->allowed = k->allowed, c->bias = k->bias;
    c->scale = k->scale, c->cap = k->cap;
    c->dropout = is_hard(c->normalizer) ? 0 : k->dropout;
    c->forget = k->forget;
    c->distances = k->distances, c->near_before = k->near_before, c->near_after = k->near_after;
    c->near_buckets = k->near_buckets, c->near_distance = k->near_distance;
    c->talking =
        c->score == RAPT_SCORE_LOCATION_AWARE || c->score == RAPT_SCORE_COVERAGE ? 0 : k->talking;
    if (c->talking && !k->large) c->heads = 3;
    c->slopes = k->slopes, c->buckets = k->buckets, c->distance = k->distance;
    c->bidirectional = k->bidirectional;
    c->rotary = is_additive(c->score) ? RAPT_ROTARY_NONE : k->rotary;
    c->rotary_width = c->rotary == RAPT_ROTARY_NONE ? 0 : k->rotary_width;
}

/* Draws the rest at random, with a separate seed for every trial. */
static struct choice choose(rapt_score score, rapt_locality locality, rapt_normalizer normalizer,
                            const struct kind *kind, uint64_t seed)
{
    uint64_t r = seed * 0x9E3779B97F4A7C15ull + 77;
    struct choice c = {
        .score = score, .locality = locality, .normalizer = normalizer, .learned = true};
    draw(&r);
    c.batch = 1 + draw_below(&r, 2), c.heads = 2, c.key_heads = draw_below(&r, 2);
    c.queries = 1 + draw_below(&r, 6), c.keys = 1 + draw_below(&r, 9);
    c.key_width = 4 + draw_below(&r, 4), c.value_width = 1 + draw_below(&r, 4);
    c.ragged = draw_below(&r, 2), c.previous = draw_below(&r, 3) > 0;
    if (kind->large) {
        c.batch = 1, c.queries = 18 + draw_below(&r, 5), c.keys = 30 + draw_below(&r, 40);
        c.key_width = 18;
    }
    fill_from_kind(&c, kind);
    if (c.rotary != RAPT_ROTARY_NONE) c.key_width = 6;
    if (takes_any_query(score)) c.query_width = c.key_width + 2 * (draw_below(&r, 3) - 1);
    if (locality == RAPT_LOCALITY_LOCAL_M && c.causal_alignment == RAPT_CAUSAL_ALIGNMENT_NONE)
        c.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
    if (locality != RAPT_LOCALITY_GLOBAL)
        c.radius = (kind->large ? 9 : 1) + 0.75f * (float)draw_below(&r, 5);
    if (normalizer == RAPT_NORMALIZER_GUMBEL_SOFTMAX)
        c.temperature = (float)draw_below(&r, 3) * 0.75f;
    c.rewards = normalizer == RAPT_NORMALIZER_SAMPLE;
    return c;
}

/* ---- the same bits ---- */

/* Runs one thread on every instruction set and, if team, two or three threads on one of them. */
static void same_everywhere(struct trial *x, const char *text, bool team, uint64_t seed)
{
    float *first = NULL;
    size_t n;
    rapt_isa equal[EQUAL_SETS];
    int count = equal_sets("attention/product, instruction sets", equal);
    for (int run = 0; run < count + team; run++) {
        int isa = run < count ? run : (int)(seed / 2 % (uint64_t)count);
        assert_int_equal(rapt_isa_use(equal[isa]), RAPT_OK);
        x->a.threads = run < count ? 1 : 2 + (int)(seed % 2);
        float *now = results(x, &n);
        if (first && !same_bits(first, now, n))
            fail_msg("%s: %s with %d threads differs", text, rapt_isa_name(equal[isa]),
                     x->a.threads);
        if (first)
            free(now);
        else
            first = now;
    }
    free(first);
}

/* ---- the definition ---- */

/* Compares with the definition on the active instruction set. Returns false if rounding decides
   where a window ends. */
static bool same_as_defined(struct trial *x, const char *text, bool large)
{
    struct judge j;
    x->a.threads = 1;
    run_forward(x);
    run_backward(x);
    bool decided = make_judge(&j, x, text);
    if (decided) {
        judge_forward(&j);
        judge_weights(&j);
        judge_backward(&j, large ? 1 : 2, large ? 1 : 3);
    }
    drop_judge(&j);
    return decided;
}

static void try_kind(rapt_score score, rapt_locality locality, rapt_normalizer normalizer, int kind,
                     uint64_t seed)
{
    static const rapt_isa every[] = {RAPT_ISA_SCALAR, RAPT_ISA_AVX2, RAPT_ISA_AVX512,
                                     RAPT_ISA_NEON};
    bool decided = false;
    for (int attempt = 0; !decided && attempt < 20; attempt++, seed += 1000000) {
        struct choice c = choose(score, locality, normalizer, &kinds[kind], seed);
        struct trial x = make_trial(&c, seed);
        char text[800];
        snprintf(text, sizeof text, "%s, seed %llu, %s", kinds[kind].name, (unsigned long long)seed,
                 choice_text(&c));
        hide(&x);
        rapt_isa used = rapt_isa_used();
        if (rapt_isa_use(every[seed % 4]) != RAPT_OK) rapt_isa_use(used);
        decided = same_as_defined(&x, text, kinds[kind].large);
        if (decided) same_everywhere(&x, text, kinds[kind].large || seed % 13 == 0, seed);
        rapt_isa_use(used);
        drop_trial(&x);
    }
    assert_true(decided);
}

/* Whether the score can have what distinguishes the kind; otherwise a trial would only repeat those
   of other kinds. */
static bool applies(rapt_score score, const struct kind *k)
{
    const bool dot = score == RAPT_SCORE_SCALED_DOT || score == RAPT_SCORE_DOT;
    const bool recurrent = score == RAPT_SCORE_LOCATION_AWARE || score == RAPT_SCORE_COVERAGE;
    const bool distances = k->distances && k != &kinds[KINDS - 1];
    return (dot || !distances) && !(recurrent && k->talking);
}

static void product(void **state)
{
    (void)state;
    uint64_t seed = 0;
    for (int score = 0; rapt_score_name((rapt_score)score); score++)
        for (int locality = 0; rapt_locality_name((rapt_locality)locality); locality++)
            for (int normalizer = 0; rapt_normalizer_name((rapt_normalizer)normalizer);
                 normalizer++)
                for (int kind = 0; kind < KINDS; kind++, seed++)
                    if (applies((rapt_score)score, &kinds[kind]))
                        try_kind((rapt_score)score, (rapt_locality)locality,
                                 (rapt_normalizer)normalizer, kind, seed + 1);
    assert_true(seed >=
                (uint64_t)RAPT_SCORE_COUNT * RAPT_LOCALITY_COUNT * RAPT_NORMALIZER_COUNT * KINDS);
}

/* ---- one gradient without the others ---- */

/* Requests only gradient i, counted as in trial.h, after q, k, v and bias. */
static void ask_for(struct trial *x, int i, float *to)
{
    rapt_gradients d = {.size = sizeof d};
    float **own[] = {&d.q, &d.k, &d.v, &d.bias};
    void *workspace = make_workspace(&x->a);
    if (i < 4)
        *own[i] = to;
    else
        set_pointer(&d, learned[i - 4].in_gradients, to);
    assert_int_equal(rapt_attention_backward(&x->a, x->q, x->k, x->v, x->out, &x->saved, x->dout,
                                             &x->reinforce, &d, workspace, NULL),
                     RAPT_OK);
    free(workspace);
}

static void compare_alone(struct trial *x, const char *text)
{
    const float *all[4 + LEARNED] = {x->dq, x->dk, x->dv, x->dbias};
    size_t sizes[4 + LEARNED] = {x->nq, x->nk, x->nv, x->dbias ? x->nbias : 0};
    for (int i = 0; i < LEARNED; i++)
        all[4 + i] = x->dlearned[i], sizes[4 + i] = x->dlearned[i] ? x->nlearned[i] : 0;
    for (int i = 0; i < 4 + LEARNED; i++) {
        if (sizes[i] == 0) continue;
        float *alone = zeros(sizes[i]);
        ask_for(x, i, alone);
        if (!same_bits(alone, all[i], sizes[i]))
            fail_msg("%s: gradient %d differs when requested by itself", text, i);
        ask_for(x, i, alone); /* is added to */
        for (size_t e = 0; e < sizes[i]; e++)
            if (!within_roundings((double)alone[e], 2 * (double)all[i][e], 16,
                                  1 + fabs((double)all[i][e])))
                fail_msg("%s: gradient %d is not added", text, i);
        free(alone);
    }
}

static void alone(void **state)
{
    (void)state;
    uint64_t seed = 0;
    for (int score = 0; rapt_score_name((rapt_score)score); score++)
        for (int locality = 0; rapt_locality_name((rapt_locality)locality); locality++)
            for (int normalizer = 0; rapt_normalizer_name((rapt_normalizer)normalizer);
                 normalizer++) {
                const struct kind *kind = &kinds[KINDS - 1 - normalizer % 2];
                struct choice c = choose((rapt_score)score, (rapt_locality)locality,
                                         (rapt_normalizer)normalizer, kind, ++seed);
                c.queries = 4, c.keys = 7;
                struct trial x = make_trial(&c, seed);
                x.a.threads = 1;
                hide(&x);
                run_forward(&x);
                run_backward(&x);
                compare_alone(&x, choice_text(&c));
                drop_trial(&x);
            }
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(rapt_score_name(RAPT_SCORE_LOCATION_AWARE), "location-aware");
    assert_string_equal(rapt_locality_name(RAPT_LOCALITY_LOCAL_P), "local-p");
    assert_string_equal(rapt_normalizer_name(RAPT_NORMALIZER_STRAIGHT_THROUGH), "straight-through");
    assert_null(rapt_score_name(RAPT_SCORE_COUNT));
    assert_null(rapt_locality_name(RAPT_LOCALITY_COUNT));
    assert_null(rapt_normalizer_name(RAPT_NORMALIZER_COUNT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(product),
                                       cmocka_unit_test(alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
