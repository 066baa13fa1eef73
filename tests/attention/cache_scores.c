/* cache_scores.c - attention through the cache gives the bits of attention over plain arrays for
   every score, locality and normalizer, however many queries are computed at once. Weights are
   those of the definition. A cache in bf16 gives the bits of one in floats whose keys and values
   were rounded before. */
#include "attention/attention.h"
#include "judge.h"
#include "kernel/half.h"
#include "trial.h"

/* Rounds to bf16. */
static void round_floats(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] = half_widen_bf16(half_round_bf16(x[i]));
}

enum { ROWS = 41, SCENE_KEY_HEADS = 2, SCENE_HEADS = 4 };

struct scene {
    struct trial x;
    struct judge judge;
    rapt_attention spec;
    int width, values_width; /* of projected rows, and of values */
    struct cache_form form;  /* if joint, values are the ends of keys */
    bool rounded;            /* keys and values are rounded to bf16 before they are appended */
    struct cache cache;
    struct attention_history history;
    struct arena arena;
    float *packed, *keys, *values; /* keys, values: [ROWS][SCENE_KEY_HEADS][width, values_width] */
    float *log_forget;             /* [ROWS][SCENE_HEADS] */
    float *by_query;
    float *q, *hidden, *centers, *out, *lse, *statistics; /* of one call */
    int first, starts[2];
    void *workspace;
};

static void lay_out(struct scene *s)
{
    const struct cache shape = {.sequences = 1,
                                .key_heads = SCENE_KEY_HEADS,
                                .key_width = s->width,
                                .value_width = s->values_width,
                                .form = s->form,
                                .forget_heads = s->spec.log_forget ? SCENE_HEADS : 0,
                                .distance_heads = s->spec.distances.queries ? SCENE_HEADS : 0,
                                .distance_panel = rapt__distance_panel(&s->spec)};
    rapt__cache_layout(&s->cache, &shape, rapt__ceil_div_size(ROWS, 16), &s->arena);
    s->by_query = rapt__arena_floats(&s->arena, ROWS * SCENE_HEADS, rapt__distance_row(&s->spec));
    rapt__history_layout(&s->history, 1, SCENE_HEADS, ROWS, &s->arena);
    s->packed = rapt__arena_floats(&s->arena, rapt__score_packed(&s->spec) + 1, 1);
    s->keys = rapt__arena_floats(&s->arena, ROWS * SCENE_KEY_HEADS, (size_t)s->width);
    s->values = rapt__arena_floats(&s->arena, ROWS * SCENE_KEY_HEADS, (size_t)s->values_width);
    s->log_forget = rapt__arena_floats(&s->arena, ROWS, SCENE_HEADS);
    s->q = rapt__arena_floats(&s->arena, ROWS * SCENE_HEADS, (size_t)s->width);
    s->hidden = rapt__arena_floats(&s->arena, ROWS * SCENE_HEADS, 8);
    s->centers = rapt__arena_floats(&s->arena, ROWS, SCENE_HEADS);
    s->out = rapt__arena_floats(&s->arena, ROWS * SCENE_HEADS, (size_t)s->values_width);
    s->lse = rapt__arena_floats(&s->arena, ROWS, SCENE_HEADS);
    s->statistics = rapt__arena_floats(&s->arena, ROWS, 2 * SCENE_HEADS);
    s->workspace = rapt__arena_take(&s->arena, 1, rapt__cache_workspace(&s->spec, ROWS, s->form));
}

static const float *at(const float *data, const rapt_stride *s, int head, int row)
{
    return data + head * s->head + row * s->row;
}

static void append_scene(struct team *team, void *argument)
{
    struct scene *s = argument;
    const int starts[] = {0, ROWS};
    const ptrdiff_t W = s->width, V = s->values_width;
    const rapt_attention *a = &s->x.a;
    const struct rows_given rows = {
        1, starts, NULL, s->x.k, a->k.head, a->k.row, s->keys, W, W * SCENE_KEY_HEADS};
    rapt__score_pack(team, &s->spec, s->packed);
    if (rapt__score_changes(&s->spec, true)) rapt__score_keys(team, &s->spec, s->packed, &rows);
    for (int n = 0; team->rank == 0 && n < ROWS * SCENE_KEY_HEADS; n++) {
        int g = n % SCENE_KEY_HEADS, t = n / SCENE_KEY_HEADS;
        memcpy(s->values + n * V, at(s->x.v, &a->v, g, t), (size_t)V * sizeof(float));
        if (!rapt__score_changes(&s->spec, true))
            memcpy(s->keys + n * W, at(s->x.k, &a->k, g, t), (size_t)a->key_width * sizeof(float));
    }
    for (int n = 0; team->rank == 0 && a->log_forget && n < ROWS * SCENE_HEADS; n++)
        s->log_forget[n] =
            *at(a->log_forget, &a->log_forget_stride, n % SCENE_HEADS, n / SCENE_HEADS);
    rapt__team_barrier(team);
    if (s->rounded && team->rank == 0) {
        round_floats(s->keys, (size_t)(ROWS * SCENE_KEY_HEADS * W));
        round_floats(s->values, (size_t)(ROWS * SCENE_KEY_HEADS * V));
    }
    rapt__team_barrier(team);
    rapt__cache_append(team, &s->cache, starts, s->keys, W * SCENE_KEY_HEADS,
                       s->form.joint ? NULL : s->values, SCENE_KEY_HEADS * V);
    if (a->log_forget) rapt__cache_forget(team, &s->cache, starts, s->log_forget);
    if (a->distances.queries)
        rapt__cache_distances(team, &s->cache, &s->spec, starts, s->keys, W * SCENE_KEY_HEADS,
                              s->workspace);
}

static struct cached_queries queries_of(struct scene *s)
{
    struct cached_queries q = {.spec = &s->spec,
                               .count = 1,
                               .starts = s->starts,
                               .positions = &s->first,
                               .q = s->q,
                               .q_row = SCENE_HEADS * s->width,
                               .out = s->out,
                               .out_row = (ptrdiff_t)SCENE_HEADS * s->values_width,
                               .lse = s->lse,
                               .statistics = s->statistics,
                               .history = &s->history};
    if (s->spec.distances.keys) q.by_query = s->by_query;
    if (s->spec.locality == RAPT_LOCALITY_LOCAL_P) q.centers = s->centers;
    return q;
}

/* Computes rows from s->first on, s->starts[1] of them. */
static void attend_scene(struct team *team, void *argument)
{
    struct scene *s = argument;
    const int counts[] = {ROWS};
    const ptrdiff_t W = s->width;
    const rapt_attention *a = &s->x.a;
    const float *q = at(s->x.q, &a->q, 0, s->first);
    struct rows_given rows = {1,    s->starts, &s->first,      q, a->q.head, a->q.row,
                              s->q, W,         W * SCENE_HEADS};
    const struct cached_queries queries = queries_of(s);
    if (rapt__score_changes(&s->spec, false)) rapt__score_queries(team, &s->spec, s->packed, &rows);
    for (int n = 0; team->rank == 0 && n < s->starts[1] * SCENE_HEADS; n++)
        if (!rapt__score_changes(&s->spec, false))
            memcpy(s->q + n * W, at(q, &a->q, n % SCENE_HEADS, n / SCENE_HEADS),
                   (size_t)a->key_width * sizeof(float));
    rows.y = s->by_query;
    if (queries.by_query) rapt__score_distances(team, &s->spec, s->packed, &rows);
    rows.y = s->hidden;
    if (queries.centers) rapt__score_centers(team, &s->spec, s->packed, &rows, counts, s->centers);
    rapt__team_barrier(team);
    rapt__cache_attend(team, &s->cache, &queries, s->workspace);
}

static void compare_scene(struct scene *s)
{
    const rapt_attention *a = &s->x.a;
    int n = s->starts[1], V = s->values_width;
    struct cached_queries q = queries_of(s);
    for (int h = 0; h < SCENE_HEADS; h++)
        for (int r = 0; r < n; r++) {
            float got[ROWS] = {0};
            const float *out = at(s->x.out, &a->out, h, s->first + r);
            assert_true(same_bits(s->out + (r * SCENE_HEADS + h) * V, out, (size_t)V));
            assert_true(same_bits(s->lse + h * n + r, s->x.lse + h * ROWS + s->first + r, 1));
            rapt__cache_weights(&s->cache, &q, 0, r, h, 1, got, s->workspace);
            judge_weight_row(&s->judge, (size_t)(h * ROWS + s->first + r), ROWS, got);
        }
}

/* Makes the values the ends of the keys. */
static void join(struct trial *x)
{
    const rapt_attention *a = &x->a;
    for (int n = 0; n < ROWS * SCENE_KEY_HEADS; n++) {
        const float *k = at(x->k, &a->k, n % SCENE_KEY_HEADS, n / SCENE_KEY_HEADS);
        memcpy((float *)at(x->v, &a->v, n % SCENE_KEY_HEADS, n / SCENE_KEY_HEADS),
               k + (a->key_width - a->value_width), (size_t)a->value_width * sizeof *k);
    }
}

/* Makes a problem and the results of the definition, but not one where a window of local-p ends so
   near a key that rounding may decide. */
static void make_scene(struct scene *s, const struct choice *c)
{
    for (uint64_t seed = 1;; seed++) {
        s->x = make_trial(c, seed);
        s->x.a.noiseless = 1;
        s->x.a.relative = (rapt_relative){0};
        s->x.a.sparse.blocks = NULL; /* which a cache does not support */
        if (s->form.joint) join(&s->x);
        run_forward(&s->x);
        if (make_judge(&s->judge, &s->x, choice_text(c))) return;
        assert_true(seed < 20);
        drop_judge(&s->judge);
        drop_trial(&s->x);
    }
}

/* Makes the cache of a scene, and appends all keys and values. */
static void open_scene(struct scene *s, const struct choice *c)
{
    const int capacity[] = {ROWS};
    s->spec = s->x.a;
    s->width = rapt__score_width(&s->spec), s->values_width = c->value_width;
    assert_true(s->spec.parameters.center_hidden <= 8);
    lay_out(s);
    assert_int_equal(rapt__arena_reserve(&s->arena, NULL), RAPT_OK);
    lay_out(s);
    rapt__cache_start(&s->cache, capacity);
    rapt__history_start(&s->history, capacity);
    rapt__team_run(2, append_scene, s);
}

static void close_scene(struct scene *s)
{
    rapt__arena_free(&s->arena, NULL);
    drop_judge(&s->judge);
    drop_trial(&s->x);
}

static void one(rapt_score score, rapt_locality locality, rapt_normalizer normalizer, bool causal,
                bool forget, bool talks, int distances, int piece, bool joint)
{
    const struct choice c = {.batch = 1,
                             .heads = SCENE_HEADS,
                             .key_heads = SCENE_KEY_HEADS,
                             .queries = ROWS,
                             .keys = ROWS,
                             .key_width = joint ? 38 : 12,
                             .value_width = joint ? 32 : 20,
                             .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
                             .causal = causal || forget,
                             .forget = forget,
                             .talking = talks ? TALKING : 0,
                             .distances = distances,
                             .near_before = 6,
                             .near_after = causal ? 0 : 3,
                             .near_buckets = distances % 2 && piece > 1 ? 4 : 0,
                             .near_distance = 5,
                             .score = score,
                             .locality = locality,
                             .radius = 5.5f,
                             .normalizer = normalizer,
                             .temperature = 0.5f,
                             .learned = true};
    struct scene s = {.form.joint = joint};
    make_scene(&s, &c);
    judge_forward(&s.judge);
    open_scene(&s, &c);
    for (s.first = 0; s.first < ROWS; s.first += s.starts[1]) {
        s.starts[1] = ROWS - s.first < piece ? ROWS - s.first : piece;
        rapt__team_run(2, attend_scene, &s);
        compare_scene(&s);
    }
    close_scene(&s);
}

static void every_combination(void **state)
{
    (void)state;
    for (int n = 0; n < RAPT_SCORE_COUNT * RAPT_LOCALITY_COUNT * RAPT_NORMALIZER_COUNT; n++) {
        int normalizer = n % RAPT_NORMALIZER_COUNT,
            locality = n / RAPT_NORMALIZER_COUNT % RAPT_LOCALITY_COUNT;
        int score = n / RAPT_NORMALIZER_COUNT / RAPT_LOCALITY_COUNT;
        one((rapt_score)score, (rapt_locality)locality, (rapt_normalizer)normalizer, n % 2,
            n % 3 == 0, false, NONE, 1 + n / 3 % 3 * 12, false);
        if (score != RAPT_SCORE_LOCATION_AWARE && score != RAPT_SCORE_COVERAGE)
            one((rapt_score)score, (rapt_locality)locality, (rapt_normalizer)normalizer, n % 3,
                n % 2 == 0, true, NONE, 1 + n / 2 % 3 * 12, false);
    }
}

/* A joint cache holds no values of its own. It serves scores that leave keys as they are. */
static void joint(void **state)
{
    (void)state;
    for (int n = 0; n < RAPT_LOCALITY_COUNT * RAPT_NORMALIZER_COUNT; n++)
        one(n % 2 ? RAPT_SCORE_DOT : RAPT_SCORE_SCALED_DOT,
            (rapt_locality)(n / RAPT_NORMALIZER_COUNT),
            (rapt_normalizer)(n % RAPT_NORMALIZER_COUNT), n % 2, n % 3 == 0, false, NONE,
            1 + n / 3 % 3 * 12, true);
}

/* Distance vectors, with every normalizer, on the flash path and on the general one. */
static void distances(void **state)
{
    (void)state;
    static const int kinds[] = {
        DISTANCE_KEYS | DISTANCES_SHARED, DISTANCE_KEYS | DISTANCE_VALUES,
        DISTANCE_KEYS | CONTENT_BIAS | POSITION_BIAS, DISTANCE_KEYS | DISTANCE_QUERIES,
        DISTANCE_QUERIES | DISTANCE_VALUES | CONTENT_BIAS | DISTANCES_SHARED};
    for (int n = 0; n < 5 * RAPT_NORMALIZER_COUNT * 2; n++)
        one(n / 5 % 2 ? RAPT_SCORE_DOT : RAPT_SCORE_SCALED_DOT, RAPT_LOCALITY_GLOBAL,
            (rapt_normalizer)(n / 10), n % 2, n % 4 == 1, false, kinds[n % 5], 1 + n % 3 * 12,
            false);
}

/* Compares a scene's results for all rows with those of another scene. */
static void same_results(struct scene *s, struct scene *other)
{
    const struct cached_queries q = queries_of(s), r = queries_of(other);
    assert_true(same_bits(s->out, other->out, (size_t)(ROWS * SCENE_HEADS * s->values_width)));
    assert_true(same_bits(s->lse, other->lse, ROWS * SCENE_HEADS));
    for (int n = 0; n < ROWS * SCENE_HEADS; n++) {
        float x[ROWS] = {0}, y[ROWS] = {0};
        rapt__cache_weights(&s->cache, &q, 0, n / SCENE_HEADS, n % SCENE_HEADS, 1, x, s->workspace);
        rapt__cache_weights(&other->cache, &r, 0, n / SCENE_HEADS, n % SCENE_HEADS, 1, y,
                            other->workspace);
        assert_true(same_bits(x, y, ROWS));
    }
}

static void rounded(const struct choice *c, bool joint)
{
    struct scene both[2] = {{.form = {joint, false}, .rounded = true}, {.form = {joint, true}}};
    for (int i = 0; i < 2; i++) {
        make_scene(&both[i], c);
        open_scene(&both[i], c);
        both[i].starts[1] = ROWS;
        rapt__team_run(2, attend_scene, &both[i]);
    }
    same_results(&both[1], &both[0]);
    for (int i = 0; i < 2; i++) close_scene(&both[i]);
}

/* A cache in bf16, with every score, locality and normalizer, talking heads, forget gates and
   distance vectors, separate and joint. */
static void bf16(void **state)
{
    (void)state;
    for (int n = 0; n < RAPT_SCORE_COUNT * RAPT_LOCALITY_COUNT * RAPT_NORMALIZER_COUNT; n++) {
        const rapt_score score =
            (rapt_score)(n / RAPT_NORMALIZER_COUNT / RAPT_LOCALITY_COUNT % RAPT_SCORE_COUNT);
        const bool dot = score == RAPT_SCORE_DOT || score == RAPT_SCORE_SCALED_DOT;
        const bool recurrent = score == RAPT_SCORE_LOCATION_AWARE || score == RAPT_SCORE_COVERAGE;
        struct choice c = {.batch = 1,
                           .heads = SCENE_HEADS,
                           .key_heads = SCENE_KEY_HEADS,
                           .queries = ROWS,
                           .keys = ROWS,
                           .key_width = 12,
                           .value_width = 20,
                           .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
                           .causal = n % 2 || n % 3 == 0,
                           .forget = n % 3 == 0,
                           .talking = n % 5 == 0 && !recurrent ? TALKING : 0,
                           .score = score,
                           .locality =
                               (rapt_locality)(n / RAPT_NORMALIZER_COUNT % RAPT_LOCALITY_COUNT),
                           .radius = 5.5f,
                           .normalizer = (rapt_normalizer)(n % RAPT_NORMALIZER_COUNT),
                           .temperature = 0.5f,
                           .learned = true};
        rounded(&c, false);
        if (!dot || c.talking) continue; /* latent rows do not support these */
        c.key_width = 38, c.value_width = 32;
        rounded(&c, true);
        if (c.locality != RAPT_LOCALITY_GLOBAL) continue;
        c.distances = DISTANCE_KEYS | DISTANCE_VALUES, c.near_before = 6, c.near_after = 3;
        rounded(&c, false);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_combination), cmocka_unit_test(joint),
                                       cmocka_unit_test(distances), cmocka_unit_test(bf16)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
