/* cache_rows.c - every score, locality and normalizer has the same bits through a cache as over
   plain arrays, however many queries are computed at once; its weights are those of the
   definition. */
#include "judge.h"

#include "attention/attention.h"

enum { ROWS = 41, KEY_HEADS = 2, HEADS = 4 };

struct scene {
    struct trial x;
    struct judge judge;
    rapt_attention spec;
    int width, values_width; /* of projected rows, and of values */
    bool joint;              /* values are the ends of keys */
    struct cache cache;
    struct attention_history history;
    struct arena arena;
    float *packed, *keys, *values; /* keys, values: [ROWS][KEY_HEADS][width, values_width] */
    float *log_forget;             /* [ROWS][HEADS] */
    float *by_query;
    float *q, *hidden, *centers, *out, *lse, *statistics; /* of one call */
    int first, starts[2];
    void *workspace;
};

static void lay_out(struct scene *s)
{
    rapt__cache_layout(&s->cache, 1, rapt__ceil_div_size(ROWS, 16), KEY_HEADS, s->width,
                       s->values_width, s->spec.log_forget ? HEADS : 0, s->joint,
                       s->spec.distances.queries ? HEADS : 0, rapt__distance_panel(&s->spec),
                       &s->arena);
    s->by_query = rapt__arena_floats(&s->arena, ROWS * HEADS, rapt__distance_row(&s->spec));
    rapt__history_layout(&s->history, 1, HEADS, ROWS, &s->arena);
    s->packed = rapt__arena_floats(&s->arena, rapt__score_packed(&s->spec) + 1, 1);
    s->keys = rapt__arena_floats(&s->arena, ROWS * KEY_HEADS, (size_t)s->width);
    s->values = rapt__arena_floats(&s->arena, ROWS * KEY_HEADS, (size_t)s->values_width);
    s->log_forget = rapt__arena_floats(&s->arena, ROWS, HEADS);
    s->q = rapt__arena_floats(&s->arena, ROWS * HEADS, (size_t)s->width);
    s->hidden = rapt__arena_floats(&s->arena, ROWS * HEADS, 8);
    s->centers = rapt__arena_floats(&s->arena, ROWS, HEADS);
    s->out = rapt__arena_floats(&s->arena, ROWS * HEADS, (size_t)s->values_width);
    s->lse = rapt__arena_floats(&s->arena, ROWS, HEADS);
    s->statistics = rapt__arena_floats(&s->arena, ROWS, 2 * HEADS);
    s->workspace = rapt__arena_take(&s->arena, 1, rapt__cache_workspace(&s->spec, ROWS, s->joint));
}

static const float *at(const float *data, const rapt_stride *s, int head, int row)
{
    return data + head * s->head + row * s->row;
}

static void append(struct team *team, void *argument)
{
    struct scene *s = argument;
    const int starts[] = {0, ROWS};
    const ptrdiff_t W = s->width, V = s->values_width;
    const rapt_attention *a = &s->x.a;
    const struct rows_given rows = {1,        starts,  NULL, s->x.k,       a->k.head,
                                    a->k.row, s->keys, W,    W * KEY_HEADS};
    rapt__score_pack(team, &s->spec, s->packed);
    if (rapt__score_changes(&s->spec, true)) rapt__score_keys(team, &s->spec, s->packed, &rows);
    for (int n = 0; team->rank == 0 && n < ROWS * KEY_HEADS; n++) {
        int g = n % KEY_HEADS, t = n / KEY_HEADS;
        memcpy(s->values + n * V, at(s->x.v, &a->v, g, t), (size_t)V * sizeof(float));
        if (!rapt__score_changes(&s->spec, true))
            memcpy(s->keys + n * W, at(s->x.k, &a->k, g, t), (size_t)a->key_width * sizeof(float));
    }
    for (int n = 0; team->rank == 0 && a->log_forget && n < ROWS * HEADS; n++)
        s->log_forget[n] = *at(a->log_forget, &a->log_forget_stride, n % HEADS, n / HEADS);
    rapt__team_barrier(team);
    rapt__cache_append(team, &s->cache, starts, s->keys, W * KEY_HEADS, s->joint ? NULL : s->values,
                       KEY_HEADS * V);
    if (a->log_forget) rapt__cache_forget(team, &s->cache, starts, s->log_forget);
    if (a->distances.queries)
        rapt__cache_distances(team, &s->cache, &s->spec, starts, s->keys, W * KEY_HEADS,
                              s->workspace);
}

static struct cached_queries queries_of(struct scene *s)
{
    struct cached_queries q = {.spec = &s->spec,
                               .count = 1,
                               .starts = s->starts,
                               .positions = &s->first,
                               .q = s->q,
                               .q_row = HEADS * s->width,
                               .out = s->out,
                               .out_row = (ptrdiff_t)HEADS * s->values_width,
                               .lse = s->lse,
                               .statistics = s->statistics,
                               .history = &s->history};
    if (s->spec.distances.keys) q.by_query = s->by_query;
    if (s->spec.locality == RAPT_LOCALITY_LOCAL_P) q.centers = s->centers;
    return q;
}

/* Computes rows from s->first on, s->starts[1] of them. */
static void attend(struct team *team, void *argument)
{
    struct scene *s = argument;
    const int counts[] = {ROWS};
    const ptrdiff_t W = s->width;
    const rapt_attention *a = &s->x.a;
    const float *q = at(s->x.q, &a->q, 0, s->first);
    struct rows_given rows = {1, s->starts, &s->first, q, a->q.head, a->q.row, s->q, W, W * HEADS};
    const struct cached_queries queries = queries_of(s);
    if (rapt__score_changes(&s->spec, false)) rapt__score_queries(team, &s->spec, s->packed, &rows);
    for (int n = 0; team->rank == 0 && n < s->starts[1] * HEADS; n++)
        if (!rapt__score_changes(&s->spec, false))
            memcpy(s->q + n * W, at(q, &a->q, n % HEADS, n / HEADS),
                   (size_t)a->key_width * sizeof(float));
    rows.y = s->by_query;
    if (queries.by_query) rapt__score_distances(team, &s->spec, s->packed, &rows);
    rows.y = s->hidden;
    if (queries.centers) rapt__score_centers(team, &s->spec, s->packed, &rows, counts, s->centers);
    rapt__team_barrier(team);
    rapt__cache_attend(team, &s->cache, &queries, s->workspace);
}

static void compare(struct scene *s)
{
    const rapt_attention *a = &s->x.a;
    int n = s->starts[1], V = s->values_width;
    struct cached_queries q = queries_of(s);
    for (int h = 0; h < HEADS; h++)
        for (int r = 0; r < n; r++) {
            float got[ROWS] = {0};
            const float *out = at(s->x.out, &a->out, h, s->first + r);
            assert_true(same_bits(s->out + (r * HEADS + h) * V, out, (size_t)V));
            assert_true(same_bits(s->lse + h * n + r, s->x.lse + h * ROWS + s->first + r, 1));
            rapt__cache_weights(&s->cache, &q, 0, r, h, 1, got, s->workspace);
            judge_weight_row(&s->judge, (size_t)(h * ROWS + s->first + r), ROWS, got);
        }
}

/* Makes the values the ends of the keys. */
static void join(struct trial *x)
{
    const rapt_attention *a = &x->a;
    for (int n = 0; n < ROWS * KEY_HEADS; n++) {
        const float *k = at(x->k, &a->k, n % KEY_HEADS, n / KEY_HEADS);
        memcpy((float *)at(x->v, &a->v, n % KEY_HEADS, n / KEY_HEADS),
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
        if (s->joint) join(&s->x);
        run_forward(&s->x);
        if (make_judge(&s->judge, &s->x, choice_text(c))) return;
        assert_true(seed < 20);
        drop_judge(&s->judge);
        drop_trial(&s->x);
    }
}

static void one(rapt_score score, rapt_locality locality, rapt_normalizer normalizer, bool causal,
                bool forget, bool talks, int distances, int piece, bool joint)
{
    const int capacity[] = {ROWS};
    const struct choice c = {.batch = 1,
                             .heads = HEADS,
                             .key_heads = KEY_HEADS,
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
    struct scene s = {.joint = joint};
    make_scene(&s, &c);
    judge_forward(&s.judge);
    s.spec = s.x.a;
    s.width = rapt__score_width(&s.spec), s.values_width = c.value_width;
    assert_true(s.spec.parameters.center_hidden <= 8);
    lay_out(&s);
    assert_int_equal(rapt__arena_reserve(&s.arena, NULL), RAPT_OK);
    lay_out(&s);
    rapt__cache_start(&s.cache, capacity);
    rapt__history_start(&s.history, capacity);
    rapt__team_run(2, append, &s);
    for (s.first = 0; s.first < ROWS; s.first += s.starts[1]) {
        s.starts[1] = ROWS - s.first < piece ? ROWS - s.first : piece;
        rapt__team_run(2, attend, &s);
        compare(&s);
    }
    rapt__arena_free(&s.arena, NULL);
    drop_judge(&s.judge);
    drop_trial(&s.x);
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_combination), cmocka_unit_test(joint),
                                       cmocka_unit_test(distances)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
