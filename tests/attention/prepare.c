/* prepare.c - rows projected by scores, against their definitions in double; a row's bits do not
   depend on other rows; centers of local-p; buckets of relative biases. */
#include "roundings.h"
#include "trial.h"

#include "attention/attention.h"
#include "kernel/kernel.h"

enum { HEADS = 2, ROWS = 70, WIDTH = 6, HIDDEN = 5, MAX = HEADS * ROWS * 32 };

struct weights { /* large enough for the shape of any array */
    float array[RAPT_ATTENTION_PARAMETER_COUNT][HEADS * 100 * 32];
};

static void fill(float *x, size_t n, uint64_t *r)
{
    for (size_t i = 0; i < n; i++) x[i] = draw_float(r);
}

static rapt_attention spec_of(rapt_score score, struct weights *w)
{
    uint64_t r = 5 + (uint64_t)score;
    rapt_attention a = {
        .heads = HEADS,
        .key_width = WIDTH,
        .value_width = 3,
        .score = score,
        .parameters = {.hidden = HIDDEN, .positions = 100, .center_hidden = HIDDEN}};
    for (int i = 0; i < RAPT_ATTENTION_PARAMETER_COUNT; i++) {
        fill(w->array[i], sizeof w->array[i] / sizeof(float), &r);
        a.parameters.array[i] = w->array[i];
    }
    return a;
}

struct job {
    const rapt_attention *spec;
    const struct rows_given *rows;
    float *packed, *centers;
    const int *counts;
    bool keys;
};

static void prepare(struct team *team, void *argument)
{
    const struct job *j = argument;
    rapt__score_pack(team, j->spec, j->packed);
    if (j->centers)
        rapt__score_centers(team, j->spec, j->packed, j->rows, j->counts, j->centers);
    else if (j->keys)
        rapt__score_keys(team, j->spec, j->packed, j->rows);
    else
        rapt__score_queries(team, j->spec, j->packed, j->rows);
}

/* Computes y [HEADS][rows][width of the score] from x [rows][HEADS][WIDTH]. */
static void run(const rapt_attention *spec, bool keys, int position, const float *x, int rows,
                int threads, float *y)
{
    const int starts[] = {0, rows};
    int width = rapt__score_width(spec);
    const struct rows_given given = {1, starts,       &position, x, WIDTH, HEADS * WIDTH,
                                     y, rows * width, width};
    size_t floats = rapt__score_packed(spec);
    float *packed = aligned_alloc(64, (floats * sizeof(float) + 127) / 64 * 64);
    struct job job = {spec, &given, packed, NULL, NULL, keys};
    rapt__team_run(threads, prepare, &job);
    free(packed);
}

static double norm(const float *x)
{
    double sum = 0;
    for (int i = 0; i < WIDTH; i++) sum += (double)x[i] * (double)x[i];
    return fmax(sqrt(sum), 1e-8);
}

static double projected(const float *weight, const float *x, int head, int out, int n)
{
    double sum = 0;
    for (int i = 0; i < WIDTH; i++)
        sum += (double)weight[(head * out + n) * WIDTH + i] * (double)x[i];
    return sum;
}

/* Returns element n of the projection of row x of a head at a position. */
static double defined(const rapt_attention *a, bool keys, const float *x, int head, int position,
                      int n)
{
    const rapt_attention_parameters *l = &a->parameters;
    switch (a->score) {
    case RAPT_SCORE_GENERAL:
        return keys ? (double)x[n]
                    : projected(l->array[RAPT_ATTENTION_PARAMETER_QUERY_WEIGHT], x, head, WIDTH, n);
    case RAPT_SCORE_COSINE:
        return (double)x[n] / norm(x) *
               (keys ? 1 : (double)l->array[RAPT_ATTENTION_PARAMETER_INVERSE_TEMPERATURE][head]);
    case RAPT_SCORE_LOCATION:
        return (double)(keys ? l->array[RAPT_ATTENTION_PARAMETER_POSITION]
                                       [(head * l->positions + position) * WIDTH + n]
                             : x[n]);
    case RAPT_SCORE_ADDITIVE:
    case RAPT_SCORE_LOCATION_AWARE:
    case RAPT_SCORE_COVERAGE:
        return keys ? projected(l->array[RAPT_ATTENTION_PARAMETER_KEY_WEIGHT], x, head, HIDDEN, n)
                    : projected(l->array[RAPT_ATTENTION_PARAMETER_QUERY_WEIGHT], x, head, HIDDEN,
                                n) +
                          (double)l->array[RAPT_ATTENTION_PARAMETER_HIDDEN_BIAS][head * HIDDEN + n];
    default:
        return (double)x[n];
    }
}

/* Returns the same after rotation. */
static double rotated(const rapt_attention *a, bool keys, const float *x, int head, int position,
                      int n)
{
    double here = defined(a, keys, x, head, position, n);
    int all = a->relative.rotary_width ? a->relative.rotary_width : WIDTH;
    if (a->relative.rotary == RAPT_ROTARY_NONE || n >= all) return here;
    bool halves = a->relative.rotary == RAPT_ROTARY_HALVES;
    bool second = halves ? n >= all / 2 : n % 2 != 0;
    int pair = halves ? n % (all / 2) : n / 2;
    int other = halves ? (n + all / 2) % all : second ? n - 1 : n + 1;
    double angle = position * pow(10000, -2. * pair / all);
    double there = defined(a, keys, x, head, position, other);
    return second ? there * sin(angle) + here * cos(angle) : here * cos(angle) - there * sin(angle);
}

static void compare(const rapt_attention *a, bool keys, int position, const float *x,
                    const float *y)
{
    int width = rapt__score_width(a);
    for (int h = 0; h < HEADS; h++)
        for (int r = 0; r < ROWS; r++)
            for (int n = 0; n < width; n++) {
                double wanted = rotated(a, keys, x + (r * HEADS + h) * WIDTH, h, position + r, n);
                double is = (double)y[(h * ROWS + r) * width + n];
                if (!within_roundings(is, wanted, 16, 1 + fabs(wanted)))
                    fail_msg("%s, %s: %.9g is not %.9g", rapt_score_name(a->score),
                             keys ? "keys" : "queries", is, wanted);
            }
}

static bool is_additive(rapt_score score)
{
    return score == RAPT_SCORE_ADDITIVE || score == RAPT_SCORE_LOCATION_AWARE ||
           score == RAPT_SCORE_COVERAGE;
}

static void as_defined(void **state)
{
    (void)state;
    struct weights *w = malloc(sizeof *w);
    float *x = malloc(MAX * sizeof *x), *y = malloc(MAX * sizeof *y);
    uint64_t r = 3;
    fill(x, ROWS * HEADS * WIDTH, &r);
    for (int score = 0; score < RAPT_SCORE_COUNT; score++)
        for (int rotary = 0; rotary < 3; rotary++)
            for (int keys = 0; keys < 2; keys++) {
                rapt_attention a = spec_of((rapt_score)score, w);
                bool additive = is_additive(a.score);
                if (rotary && additive) continue;
                a.relative.rotary = (rapt_rotary)rotary;
                a.relative.rotary_width = rotary == 1 ? 0 : 4;
                if (!rapt__score_changes(&a, keys)) continue;
                run(&a, keys, 7, x, ROWS, 2, y);
                compare(&a, keys, 7, x, y);
            }
    free(w), free(x), free(y);
}

/* A zero vector has a direction of 0, not NaN. */
static void zero_vectors(void **state)
{
    (void)state;
    struct weights *w = malloc(sizeof *w);
    float x[HEADS * WIDTH] = {0}, y[HEADS * WIDTH];
    rapt_attention a = spec_of(RAPT_SCORE_COSINE, w);
    for (int keys = 0; keys < 2; keys++) {
        run(&a, keys, 0, x, 1, 1, y);
        for (int i = 0; i < HEADS * WIDTH; i++) assert_true(y[i] == 0);
    }
    free(w);
}

/* All rows at once have the same bits as one by one, as a decoder computes them. */
static void one_by_one(void **state)
{
    (void)state;
    struct weights *w = malloc(sizeof *w);
    float *x = malloc(MAX * sizeof *x), *y = malloc(MAX * sizeof *y);
    uint64_t r = 4;
    fill(x, ROWS * HEADS * WIDTH, &r);
    for (int score = 0; score < RAPT_SCORE_COUNT; score++)
        for (int keys = 0; keys < 2; keys++) {
            rapt_attention a = spec_of((rapt_score)score, w);
            if (!is_additive(a.score)) a.relative.rotary = RAPT_ROTARY_HALVES;
            if (!rapt__score_changes(&a, keys)) continue;
            int width = rapt__score_width(&a);
            run(&a, keys, 2, x, ROWS, 2, y);
            for (int t = 0; t < ROWS; t++) {
                float one[HEADS * 32];
                run(&a, keys, 2 + t, x + t * HEADS * WIDTH, 1, 1, one);
                for (int h = 0; h < HEADS; h++)
                    assert_memory_equal(one + h * width, y + (h * ROWS + t) * width,
                                        (size_t)width * sizeof(float));
            }
        }
    free(w), free(x), free(y);
}

static void centers(void **state)
{
    (void)state;
    struct weights *w = malloc(sizeof *w);
    rapt_attention a = spec_of(RAPT_SCORE_DOT, w);
    const int starts[] = {0, 3, 3, 8}, counts[] = {40, 9, 11}, positions[] = {0, 0, 0};
    float x[8 * HEADS * WIDTH], hidden[8 * HEADS * HIDDEN], c[8 * HEADS];
    uint64_t r = 8;
    a.locality = RAPT_LOCALITY_LOCAL_P;
    fill(x, 8 * HEADS * WIDTH, &r);
    const struct rows_given given = {3, starts, positions, x, WIDTH, HEADS * WIDTH, hidden, 0, 0};
    size_t floats = rapt__score_packed(&a);
    float *packed = aligned_alloc(64, (floats * sizeof(float) + 127) / 64 * 64);
    struct job job = {&a, &given, packed, c, counts, false};
    rapt__team_run(2, prepare, &job);
    for (int h = 0; h < HEADS; h++)
        for (int t = 0; t < 8; t++) {
            double u = 0;
            for (int n = 0; n < HIDDEN; n++)
                u += (double)w->array[RAPT_ATTENTION_PARAMETER_CENTER_VECTOR][h * HIDDEN + n] *
                     tanh(projected(w->array[RAPT_ATTENTION_PARAMETER_CENTER_WEIGHT],
                                    x + (t * HEADS + h) * WIDTH, h, HIDDEN, n));
            double wanted = counts[t < 3 ? 0 : 2] / (1 + exp(-u));
            assert_true(within_roundings((double)c[h * 8 + t], wanted, 8, 1 + wanted));
        }
    free(packed), free(w);
}

struct filling {
    const rapt_attention *a;
    float *row;
};

static void fill_relative(struct team *team, void *argument)
{
    const struct filling *f = argument;
    rapt__relative_fill(team, f->a, 4001, 2000, f->row);
}

/* Raffel et al. 2020: exact below half, then logarithmic; the values are those of 32 buckets up to
   128. */
static void buckets(void **state)
{
    (void)state;
    const struct {
        int distance, both, back;
    } known[] = {{0, 0, 0},     {-1, 1, 1},     {1, 17, 0},      {-7, 7, 7},    {7, 23, 0},
                 {-8, 8, 8},    {-11, 8, 11},   {-12, 9, 12},    {-15, 9, 15},  {-16, 10, 16},
                 {16, 26, 0},   {-22, 10, 18},  {-23, 11, 18},   {-32, 12, 21}, {-64, 14, 26},
                 {-91, 15, 29}, {-128, 15, 31}, {-2000, 15, 31}, {2000, 31, 0}};
    for (int both = 0; both < 2; both++) {
        float table[32], row[4001];
        for (int i = 0; i < 32; i++) table[i] = (float)i;
        rapt_attention a = {
            .heads = 1,
            .relative = {.table = table, .buckets = 32, .distance = 128, .bidirectional = both}};
        struct filling f = {&a, row};
        rapt__team_run(2, fill_relative, &f);
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            int wanted = both ? known[i].both : known[i].back;
            int is = (int)row[2000 + known[i].distance];
            if (is != wanted) fail_msg("%d: bucket %d is not %d", known[i].distance, is, wanted);
        }
    }
}

/* If the logarithm falls on the edge of a bucket, rounding does not decide. */
static void edges(void **state)
{
    (void)state;
    float table[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, row[4001];
    rapt_attention a = {.heads = 1, .relative = {.table = table, .buckets = 10, .distance = 160}};
    struct filling f = {&a, row};
    rapt__team_run(1, fill_relative, &f);
    for (int i = 0; i < 4; i++) {
        assert_true(row[2000 - (10 << i)] == (float)(6 + i));
        assert_true(row[2000 - (10 << i) + 1] == (float)(5 + i));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_defined), cmocka_unit_test(zero_vectors), cmocka_unit_test(one_by_one),
        cmocka_unit_test(centers),    cmocka_unit_test(buckets),      cmocka_unit_test(edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
