/* linear_monotonic.c - problems of linear and of monotonic attention chosen by the input. Outputs,
   states, alignments and delays are compared with the definition, and gradients with those of other
   threads. A problem whose fields are arbitrary is computed if the check accepts it, and refused by
   every function if not. */
#include "attention/linear.h"
#include "attention/monotonic.h"
#include "fuzz.h"

/* ---- linear_attention: also steps are compared with chunks ---- */

enum { LINEAR_ROUNDINGS = 64 };

static struct linear_choice take_linear_choice(struct feed *in)
{
    static const float strengths[] = {0, 0.01f, 30, 200}, scales[] = {0, 1, -0.5f, 3};
    struct linear_choice c = {.batch = take_below(in, 4),
                              .heads = 1 + take_below(in, 4),
                              .rows = take_below(in, 80),
                              .key_width = 1 + take_below(in, 20),
                              .value_width = 1 + take_below(in, 20)};
    if (take_flag(in)) c.rows += 60;
    if (take_flag(in)) c.key_heads = c.heads, c.heads *= 1 + take_below(in, 3);
    c.by_rows = take_flag(in), c.ragged = take_flag(in);
    c.decay = take_flag(in), c.delta = take_flag(in), c.state = take_flag(in);
    c.features = take_flag(in), c.normalized = c.features && !c.delta && take_flag(in);
    c.strength = strengths[take_below(in, 4)], c.scale = scales[take_below(in, 4)];
    return c;
}

static double linear_state_size(const rapt_linear_attention *a, const struct linear_head *r)
{
    double most = 1e-30;
    int n = a->key_width * (a->value_width + (a->normalized ? 1 : 0));
    for (int i = 0; i < n; i++) most = fabs(r->state[i]) > most ? fabs(r->state[i]) : most;
    return most;
}

static void compare_linear_head(const struct linear_trial *t, const struct linear_doubles *d, int b,
                                int h)
{
    const rapt_linear_attention *a = &t->a;
    int key_heads = a->key_heads ? a->key_heads : a->heads;
    struct linear_head r = linear_head(a, d, b, h);
    size_t first = linear_state_of(a, b, h / (a->heads / key_heads));
    double most = linear_state_size(a, &r);
    for (int row = 0; row < oracle_linear_rows(a, b); row++)
        for (int j = 0; j < a->value_width; j++) {
            int i = row * a->value_width + j;
            float got = t->out[oracle_linear_at(a, &a->out, b, h, row) + j];
            require(within_roundings((double)got, r.out[i], LINEAR_ROUNDINGS, r.size[i]),
                    "the definition");
        }
    for (int i = 0; i < a->key_width * (a->value_width + (a->normalized ? 1 : 0)); i++)
        require(within_roundings((double)t->final_state[first + (size_t)i], r.state[i],
                                 LINEAR_ROUNDINGS, most + 1),
                "the state by definition");
    linear_head_free(&r);
}

static void compare_linear(const struct linear_trial *t)
{
    struct linear_doubles d = linear_double(t);
    for (int b = 0; b < t->a.batch; b++)
        for (int h = 0; h < t->a.heads; h++) compare_linear_head(t, &d, b, h);
    linear_double_free(&d);
}

static void step_linear(struct linear_trial *t)
{
    memset(t->final_state, 0, t->states * sizeof(float));
    if (t->count[LINEAR_STATE])
        memcpy(t->final_state, t->x[LINEAR_STATE], t->states * sizeof(float));
    void *workspace = linear_workspace(&t->a, 0);
    require(rapt_linear_attention_step(&t->a, t->x[LINEAR_Q], t->x[LINEAR_K], t->x[LINEAR_V],
                                       t->final_state, t->out, workspace, NULL) == RAPT_OK,
            "a step");
    free(workspace);
}

static void defined_linear(const struct linear_choice *c, uint64_t seed)
{
    struct linear_trial t = linear_make(c, seed), u = linear_make(c, seed);
    u.a.threads = 3;
    require(linear_forward(&t, NULL) == RAPT_OK && linear_backward(&t, NULL) == RAPT_OK, "a pass");
    require(linear_forward(&u, NULL) == RAPT_OK && linear_backward(&u, NULL) == RAPT_OK, "a pass");
    compare_linear(&t);
    require(!memcmp(t.out, u.out, t.outs * sizeof(float)), "the same bits");
    for (int i = 0; i < LINEAR_INPUTS; i++)
        require(!memcmp(t.d[i], u.d[i], t.count[i] * sizeof(float)), "gradients of the same bits");
    step_linear(&u), compare_linear(&u);
    linear_free(&t), linear_free(&u);
}

/* Fields that the check refuses; the arrays are never read. */
static void refused_linear(const rapt_linear_attention *a, float *x)
{
    const rapt_linear_attention_gradients d = {.size = sizeof d, .q = x};
    require(rapt_linear_attention_workspace(a, 0) == 0, "no workspace for what is refused");
    require(rapt_linear_attention_forward(a, x, x, x, x, x, x, NULL) == RAPT_BAD_ARGUMENT &&
                rapt_linear_attention_backward(a, x, x, x, x, x, &d, x, NULL) ==
                    RAPT_BAD_ARGUMENT &&
                rapt_linear_attention_step(a, x, x, x, x, x, x, NULL) == RAPT_BAD_ARGUMENT,
            "refused by all");
}

static void arbitrary_linear(struct feed *in, const struct linear_choice *c)
{
    static const int odd[] = {-1, 0, 1, 3, 65535, 65537, INT32_MAX, INT32_MIN};
    _Alignas(64) static float x[16];
    int starts[8];
    rapt_message why = {""};
    rapt_linear_attention a = linear_problem(c, starts);
    int *const fields[] = {&a.batch,     &a.heads,       &a.key_heads, &a.rows,
                           &a.key_width, &a.value_width, &a.threads,   &a.normalized};
    ptrdiff_t *const strides[] = {&a.q.row, &a.k.head, &a.v.batch, &a.out.row, &a.gates.head};
    a.starts = NULL;
    if (take_flag(in)) a.beta = x;
    if (take_flag(in)) a.feature_map = (rapt_feature_map)take_below(in, 4);
    if (take_flag(in)) a.scale = take_bits(in);
    for (int n = take_below(in, 3); n >= 0; n--)
        *fields[take_below(in, 8)] = odd[take_below(in, 8)];
    if (take_flag(in))
        memcpy(strides[take_below(in, 5)], &(uint64_t){take_u64(in)}, sizeof **strides);
    rapt_status status = rapt_linear_attention_check(&a, &why);
    require((status == RAPT_OK) == (why.text[0] == 0), "a reason for each refusal");
    if (status)
        refused_linear(&a, x);
    else
        require(rapt_linear_attention_workspace(&a, 1) > 0, "a workspace for what is accepted");
}

int fuzz_linear_attention(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    struct linear_choice c = take_linear_choice(&in);
    defined_linear(&c, take_byte(&in));
    arbitrary_linear(&in, &c);
    return 0;
}

/* ---- monotonic_attention: also hard stops are compared with their definition, and alignments have
   the properties of probabilities ---- */

enum { MONOTONIC_ROUNDINGS = 1000 }; /* of energies whose terms add up to several hundred */

static struct monotonic_choice take_monotonic_choice(struct feed *in)
{
    static const float strengths[] = {0, 0.01f, 5, 20}, scales[] = {0, 1, -0.5f, 0.1f};
    static const float shifts[] = {0, -4, -60, 3}, noises[] = {0, 0, 1, 0.1f};
    struct monotonic_choice c = {.batch = take_below(in, 4),
                                 .heads = 1 + take_below(in, 4),
                                 .queries = take_below(in, 20),
                                 .keys = take_below(in, 40),
                                 .key_width = 1 + take_below(in, 20),
                                 .value_width = 1 + take_below(in, 20),
                                 .mode = (rapt_monotonic)take_below(in, RAPT_MONOTONIC_COUNT),
                                 .chunk = 1 + take_below(in, 50)};
    if (take_flag(in)) c.keys += 60;
    if (take_flag(in)) c.key_heads = c.heads, c.heads *= 1 + take_below(in, 3);
    c.by_rows = take_flag(in), c.ragged = take_flag(in), c.counted = take_flag(in);
    c.last_stops = take_flag(in), c.offset = take_flag(in);
    c.strength = strengths[take_below(in, 4)], c.scale = scales[take_below(in, 4)];
    c.shift = shifts[take_below(in, 4)], c.noise = noises[take_below(in, 4)];
    return c;
}

/* Requires that n numbers are near_monotonic the definition. */
static void near_monotonic(const float *got, const double *wanted, int n, double size)
{
    for (int i = 0; i < n; i++)
        require(within_roundings((double)got[i], wanted[i], MONOTONIC_ROUNDINGS, size),
                "the definition");
}

/* The mass of an alignment never grows from query to query, nor does the mass before any key. */
static void monotone(const double *alpha, const double *before, int n)
{
    double mass = 0, mass_before = 0;
    for (int s = 0; s < n; s++) {
        mass += alpha[s], mass_before += before ? before[s] : s == 0;
        require(mass <= mass_before + 1e-4 && mass <= 1 + 1e-4, "stops do not go back");
    }
}

static void compare_monotonic_head(const struct monotonic_trial *t,
                                   const struct monotonic_doubles *d, int b, int h)
{
    const rapt_monotonic_attention *a = &t->a;
    struct oracle_monotonic_results r = monotonic_results(a);
    int n = oracle_monotonic_keys(a, b), V = a->value_width;
    oracle_monotonic_head(a, &d->inputs, b, h, &r);
    for (int i = 0; i < oracle_monotonic_queries(a, b); i++) {
        ptrdiff_t row = oracle_monotonic_query(a, &a->weights, b, h, i);
        near_monotonic(t->out + oracle_monotonic_query(a, &a->out, b, h, i), r.out + i * V, V, 1);
        near_monotonic(t->alpha + row, r.alpha + i * n, n, 1);
        near_monotonic(t->weights + row, r.weights + i * n, n, 1);
        near_monotonic(t->delay + oracle_monotonic_delay(a, b, h, i), r.delays + i, 1, n);
        monotone(r.alpha + i * n, i ? r.alpha + (i - 1) * n : NULL, n);
    }
    monotonic_results_free(&r);
}

static void compare_monotonic_stops(const struct monotonic_trial *t,
                                    const struct monotonic_doubles *d, int b, int h)
{
    const rapt_monotonic_attention *a = &t->a;
    double *out = calloc((size_t)a->value_width, sizeof *out);
    int position = 0, queries = oracle_monotonic_queries(a, b), i = 0;
    for (; i < queries; i++) { /* an energy near_monotonic 0 may be rounded to either side */
        if (oracle_monotonic_stop(a, &d->inputs, b, h, i, &position, out, NULL) < 1e-4) break;
        near_monotonic(t->out + oracle_monotonic_query(a, &a->out, b, h, i), out, a->value_width,
                       1);
    }
    if (i == queries) require(t->positions[b * a->heads + h] == position, "the same stops");
    free(out);
}

static void defined_monotonic(const struct monotonic_choice *c, uint64_t seed)
{
    struct monotonic_trial t = monotonic_make(c, seed), u = monotonic_make(c, seed);
    u.a.threads = 3;
    require(monotonic_forward(&t, NULL) == RAPT_OK && monotonic_backward(&t, NULL) == RAPT_OK &&
                monotonic_forward(&u, NULL) == RAPT_OK && monotonic_backward(&u, NULL) == RAPT_OK,
            "a pass");
    require(!memcmp(t.out, u.out, t.outs * sizeof(float)) &&
                !memcmp(t.alpha, u.alpha, t.pairs * sizeof(float)) &&
                !memcmp(t.weights, u.weights, t.pairs * sizeof(float)) &&
                !memcmp(t.delay, u.delay, t.delays * sizeof(float)),
            "the same bits");
    for (int i = 0; i < MONOTONIC_INPUTS; i++) {
        require(!memcmp(t.d[i], u.d[i], t.count[i] * sizeof(float)), "gradients of the same bits");
        for (size_t n = 0; n < t.count[i]; n++) require(isfinite(t.d[i][n]), "finite gradients");
    }
    require(monotonic_step(&u, NULL) == RAPT_OK, "a step");
    struct monotonic_doubles d = monotonic_double(&t);
    for (int b = 0; b < t.a.batch; b++)
        for (int h = 0; h < t.a.heads; h++)
            compare_monotonic_head(&t, &d, b, h), compare_monotonic_stops(&u, &d, b, h);
    monotonic_double_free(&d), monotonic_free(&t), monotonic_free(&u);
}

/* Fields that the check refuses; the arrays are never read. */
static void refused_monotonic(const rapt_monotonic_attention *a, float *x)
{
    const rapt_monotonic_attention_gradients d = {.size = sizeof d, .q = x};
    int position = 0;
    require(rapt_monotonic_attention_workspace(a, 0) == 0, "no workspace for what is refused");
    require(rapt_monotonic_attention_forward(a, x, x, x, x, x, x, NULL, x, NULL) ==
                    RAPT_BAD_ARGUMENT &&
                rapt_monotonic_attention_backward(a, x, x, x, x, x, x, x, x, &d, x, NULL) ==
                    RAPT_BAD_ARGUMENT &&
                rapt_monotonic_attention_step(a, x, x, x, x, x, &position, x, x, NULL) ==
                    RAPT_BAD_ARGUMENT,
            "refused by all");
}

static void arbitrary_monotonic(struct feed *in, const struct monotonic_choice *c)
{
    static const int odd[] = {-1, 0, 1, 3, 65535, 65537, INT32_MAX, INT32_MIN};
    _Alignas(64) static float x[16];
    int query_starts[8], key_starts[8], key_counts[8] = {0};
    rapt_message why = {""};
    rapt_monotonic_attention a = monotonic_problem(c, query_starts, key_starts, key_counts);
    int *const fields[] = {&a.batch,     &a.heads,       &a.key_heads, &a.queries, &a.keys,
                           &a.key_width, &a.value_width, &a.threads,   &a.chunk,   &a.last_stops};
    ptrdiff_t *const strides[] = {&a.q.row,       &a.k.head,      &a.v.batch,    &a.out.row,
                                  &a.chunk_q.row, &a.chunk_k.row, &a.weights.row};
    a.query_starts = a.key_starts = a.key_counts = NULL;
    a.mode = (rapt_monotonic)take_below(in, 5);
    if (take_flag(in)) a.scale = take_bits(in);
    if (take_flag(in)) a.noise = take_bits(in);
    for (int n = take_below(in, 3); n >= 0; n--)
        *fields[take_below(in, 10)] = odd[take_below(in, 8)];
    if (take_flag(in))
        memcpy(strides[take_below(in, 7)], &(uint64_t){take_u64(in)}, sizeof **strides);
    rapt_status status = rapt_monotonic_attention_check(&a, &why);
    require((status == RAPT_OK) == (why.text[0] == 0), "a reason for each refusal");
    if (status)
        refused_monotonic(&a, x);
    else
        require(rapt_monotonic_attention_workspace(&a, 1) > 0, "a workspace for what is accepted");
}

int fuzz_monotonic_attention(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    struct monotonic_choice c = take_monotonic_choice(&in);
    defined_monotonic(&c, take_byte(&in));
    arbitrary_monotonic(&in, &c);
    return 0;
}
