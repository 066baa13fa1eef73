/* cache.c - attention through the cache gives the bits of attention over plain arrays: however the
   tokens arrive, whichever sequences share a source, and after any reordering. A cache in bf16
   gives the bits of attention over rounded keys and values. */
#include "attention/attention.h"
#include "judge.h"
#include "kernel/half.h"
#include "trial.h"

enum { SEQUENCES = 6, MAX = 300, KEY_HEADS = 2, HEADS = 6, KW = 12, VW = 20 };
enum {
    K_ROW = KEY_HEADS * KW + 3,
    V_ROW = KEY_HEADS * VW,
    Q_ROW = HEADS * KW + 1,
    OUT_ROW = HEADS * VW + 2
};

/* Rounds to bf16. */
static void round_floats(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] = half_widen_bf16(half_round_bf16(x[i]));
}

/* A cache and the plain rows that it should hold. */
struct pair {
    struct cache cache;
    struct arena arena;
    float *k[SEQUENCES], *v[SEQUENCES]; /* [MOST] rows */
    int counts[SEQUENCES], capacity[SEQUENCES];
    uint64_t random;
    int threads;
    float cap; /* of scores, 0: none */
};

static void make_pair(struct pair *p, int threads, bool bf16)
{
    const size_t panels = SEQUENCES * rapt__ceil_div_size(MAX, 16);
    const struct cache shape = {.sequences = SEQUENCES,
                                .key_heads = KEY_HEADS,
                                .key_width = KW,
                                .value_width = VW,
                                .form.bf16 = bf16};
    *p = (struct pair){.random = 11, .threads = threads};
    for (int i = 0; i < SEQUENCES; i++) {
        p->k[i] = zeros(MAX * K_ROW), p->v[i] = zeros(MAX * V_ROW);
        p->capacity[i] = MAX - i % 2;
    }
    rapt__cache_layout(&p->cache, &shape, panels, &p->arena);
    assert_int_equal(rapt__arena_reserve(&p->arena, NULL), RAPT_OK);
    rapt__cache_layout(&p->cache, &shape, panels, &p->arena);
    rapt__cache_start(&p->cache, p->capacity);
}

static void drop_pair(struct pair *p)
{
    for (int i = 0; i < SEQUENCES; i++) free(p->k[i]), free(p->v[i]);
    rapt__arena_free(&p->arena, NULL);
}

struct job {
    struct pair *p;
    const int *starts, *parents;
    const float *k, *v;
    struct cached_queries queries;
    void *workspace;
};

static void append_work(struct team *team, void *argument)
{
    struct job *j = argument;
    rapt__cache_append(team, &j->p->cache, j->starts, j->k, K_ROW, j->v, V_ROW);
}

static void attend_work(struct team *team, void *argument)
{
    struct job *j = argument;
    rapt__cache_attend(team, &j->p->cache, &j->queries, j->workspace);
}

static void move_work(struct team *team, void *argument)
{
    struct job *j = argument;
    rapt__cache_reorder(team, &j->p->cache, j->parents);
}

/* Appends up to `max` rows to each sequence. */
static void append(struct pair *p, int max)
{
    int starts[SEQUENCES + 1] = {0};
    for (int i = 0; i < SEQUENCES; i++) {
        int n = draw_below(&p->random, max + 1), left = p->capacity[i] - p->counts[i];
        starts[i + 1] = starts[i] + (n < left ? n : left);
    }
    float *k = draw_floats(&p->random, (size_t)(starts[SEQUENCES] * K_ROW), 1);
    float *v = draw_floats(&p->random, (size_t)(starts[SEQUENCES] * V_ROW), 1);
    for (int i = 0; i < SEQUENCES; i++)
        for (int r = starts[i]; r < starts[i + 1]; r++, p->counts[i]++) {
            if (draw_below(&p->random, 40) == 0) v[r * V_ROW + 3] = NAN;
            memcpy(p->k[i] + p->counts[i] * K_ROW, k + r * K_ROW, K_ROW * sizeof *k);
            memcpy(p->v[i] + p->counts[i] * V_ROW, v + r * V_ROW, V_ROW * sizeof *v);
            if (!p->cache.form.bf16) continue;
            round_floats(p->k[i] + p->counts[i] * K_ROW, K_ROW);
            round_floats(p->v[i] + p->counts[i] * V_ROW, V_ROW);
        }
    struct job job = {.p = p, .starts = starts, .k = k, .v = v};
    rapt__team_run(p->threads, append_work, &job);
    assert_memory_equal(p->cache.counts, p->counts, sizeof p->counts);
    free(k), free(v);
}

/* Computes attention of n query rows over the plain rows of one sequence. */
static void plain(const struct pair *p, int sequence, int n, bool causal, const float *q,
                  float *out, float *lse)
{
    rapt_attention a = {.size = sizeof a,
                        .batch = 1,
                        .heads = HEADS,
                        .key_heads = KEY_HEADS,
                        .queries = n,
                        .keys = p->counts[sequence],
                        .key_width = KW,
                        .value_width = VW,
                        .q = {0, KW, Q_ROW},
                        .k = {0, KW, K_ROW},
                        .v = {0, VW, V_ROW},
                        .out = {0, VW, OUT_ROW},
                        .cap = p->cap,
                        .threads = 1};
    if (causal) a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT, a.mask.causal = 1;
    void *workspace = make_workspace(&a);
    assert_int_equal(rapt_attention_forward(
                         &a, q, p->k[sequence], p->v[sequence], out,
                         &(rapt_attention_saved){.size = sizeof(rapt_attention_saved), .lse = lse},
                         workspace, NULL),
                     RAPT_OK);
    free(workspace);
}

static bool same_rows(const float *x, const float *y, int rows)
{
    for (int r = 0; r < rows; r++)
        if (!same_bits(x + r * OUT_ROW, y + r * OUT_ROW, HEADS * VW)) return false;
    return true;
}

/* Compares queries that read sequences `of` (NULL: each its own), up to `max` rows each. */
static void compare(struct pair *p, int count, const int *of, int max, bool causal)
{
    int starts[3 * SEQUENCES + 1] = {0};
    for (int i = 0; i < count; i++)
        starts[i + 1] =
            starts[i] + (draw_below(&p->random, 4) ? draw_below(&p->random, max + 1) : 1);
    int rows = starts[count];
    float *q = draw_floats(&p->random, (size_t)(rows * Q_ROW), 1);
    float *out = zeros((size_t)(rows * OUT_ROW)), *lse = zeros((size_t)(rows * HEADS));
    float *out1 = zeros((size_t)(rows * OUT_ROW)), *lse1 = zeros((size_t)(rows * HEADS));
    const rapt_attention spec = {.size = sizeof spec,
                                 .heads = HEADS,
                                 .key_width = KW,
                                 .value_width = VW,
                                 .mask.causal = causal,
                                 .cap = p->cap,
                                 .threads = p->threads};
    struct job job = {.p = p,
                      .workspace = malloc(rapt__cache_workspace(&spec, MAX, p->cache.form) + 1)};
    job.queries = (struct cached_queries){.spec = &spec,
                                          .count = count,
                                          .starts = starts,
                                          .sequence = of,
                                          .q = q,
                                          .q_row = Q_ROW,
                                          .out = out,
                                          .out_row = OUT_ROW,
                                          .lse = lse};
    rapt__team_run(p->threads, attend_work, &job);
    for (int i = 0; i < count; i++) {
        int n = starts[i + 1] - starts[i];
        plain(p, of ? of[i] : i, n, causal, q + starts[i] * Q_ROW, out1, lse1);
        assert_true(same_rows(out + starts[i] * OUT_ROW, out1, n));
        for (int h = 0; h < HEADS; h++)
            assert_true(same_bits(lse + h * rows + starts[i], lse1 + h * n, (size_t)n));
    }
    free(q), free(out), free(lse), free(out1), free(lse1), free(job.workspace);
}

static void grows(void **state)
{
    (void)state;
    const int of[] = {3, 3, 3, 0, 5, 5, 1, 3, 3, 2};
    for (int n = 0; n < 6; n++) {
        struct pair p;
        make_pair(&p, 1 + n / 2, n % 2);
        for (int step = 0; step < 25; step++) {
            append(&p, step % 5 == 0 ? 110 : 1);
            p.cap = step % 3 == 1 ? 0.7f : 0;
            compare(&p, SEQUENCES, NULL, 3, step % 2);
            compare(&p, 10, of, 9, false);
        }
        rapt__cache_start(&p.cache, p.capacity);
        memset(p.counts, 0, sizeof p.counts);
        compare(&p, SEQUENCES, NULL, 2, true);
        append(&p, 20);
        compare(&p, SEQUENCES, NULL, 2, true);
        drop_pair(&p);
    }
}

static void move(struct pair *p, const int *parents)
{
    float *k[SEQUENCES], *v[SEQUENCES];
    int counts[SEQUENCES];
    for (int i = 0; i < SEQUENCES; i++) {
        k[i] = zeros(MAX * K_ROW), v[i] = zeros(MAX * V_ROW);
        counts[i] = p->counts[parents[i]];
        memcpy(k[i], p->k[parents[i]], MAX * K_ROW * sizeof(float));
        memcpy(v[i], p->v[parents[i]], MAX * V_ROW * sizeof(float));
    }
    for (int i = 0; i < SEQUENCES; i++) {
        free(p->k[i]), free(p->v[i]);
        p->k[i] = k[i], p->v[i] = v[i], p->counts[i] = counts[i];
    }
    struct job job = {.p = p, .parents = parents};
    rapt__team_run(p->threads, move_work, &job);
    assert_memory_equal(p->cache.counts, p->counts, sizeof p->counts);
}

static void moves(void **state)
{
    (void)state;
    const int known[][SEQUENCES] = {{0, 1, 2, 3, 4, 5}, {1, 0, 2, 3, 4, 5}, {1, 2, 3, 4, 5, 0},
                                    {0, 0, 0, 0, 0, 0}, {1, 1, 3, 2, 3, 2}, {5, 4, 3, 2, 1, 0}};
    for (int n = 0; n < 6; n++) {
        struct pair p;
        make_pair(&p, 1 + n / 2, n % 2);
        for (int step = 0; step < 60; step++) {
            int parents[SEQUENCES];
            append(&p, step % 20 == 0 ? 30 : 1);
            for (int i = 0; i < SEQUENCES; i++)
                parents[i] = step < 6 ? known[step][i] : draw_below(&p.random, SEQUENCES);
            move(&p, parents);
            compare(&p, SEQUENCES, NULL, 2, true);
        }
        drop_pair(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(grows), cmocka_unit_test(moves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
