/* monotonic_attention.c - problems of monotonic attention chosen by the input: outputs, alignments
   and delays are compared with the definition, hard stops with theirs, and gradients with those of
   other threads. Alignments have the properties of probabilities. A problem whose fields are
   arbitrary is computed if the check accepts it, and refused by every function if not. */
#include "attention/monotonic.h"

#include "fuzz.h"

enum { ROUNDINGS = 1000 }; /* of energies whose terms add up to several hundred */

static struct monotonic_choice take_choice(struct feed *in)
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

/* Requires that n numbers are near the definition. */
static void near(const float *got, const double *wanted, int n, double size)
{
    for (int i = 0; i < n; i++)
        require(within_roundings((double)got[i], wanted[i], ROUNDINGS, size), "the definition");
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

static void compare_head(const struct monotonic_trial *t, const struct monotonic_doubles *d, int b,
                         int h)
{
    const rapt_monotonic_attention *a = &t->a;
    struct oracle_monotonic_results r = monotonic_results(a);
    int n = oracle_monotonic_keys(a, b), V = a->value_width;
    oracle_monotonic_head(a, &d->inputs, b, h, &r);
    for (int i = 0; i < oracle_monotonic_queries(a, b); i++) {
        ptrdiff_t row = oracle_monotonic_query(a, &a->weights, b, h, i);
        near(t->out + oracle_monotonic_query(a, &a->out, b, h, i), r.out + i * V, V, 1);
        near(t->alpha + row, r.alpha + i * n, n, 1);
        near(t->weights + row, r.weights + i * n, n, 1);
        near(t->delay + oracle_monotonic_delay(a, b, h, i), r.delays + i, 1, n);
        monotone(r.alpha + i * n, i ? r.alpha + (i - 1) * n : NULL, n);
    }
    monotonic_results_free(&r);
}

static void compare_stops(const struct monotonic_trial *t, const struct monotonic_doubles *d, int b,
                          int h)
{
    const rapt_monotonic_attention *a = &t->a;
    double *out = calloc((size_t)a->value_width, sizeof *out);
    int position = 0, queries = oracle_monotonic_queries(a, b), i = 0;
    for (; i < queries; i++) { /* an energy near 0 may be rounded to either side */
        if (oracle_monotonic_stop(a, &d->inputs, b, h, i, &position, out, NULL) < 1e-4) break;
        near(t->out + oracle_monotonic_query(a, &a->out, b, h, i), out, a->value_width, 1);
    }
    if (i == queries) require(t->positions[b * a->heads + h] == position, "the same stops");
    free(out);
}

static void defined(const struct monotonic_choice *c, uint64_t seed)
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
        for (int h = 0; h < t.a.heads; h++) compare_head(&t, &d, b, h), compare_stops(&u, &d, b, h);
    monotonic_double_free(&d), monotonic_free(&t), monotonic_free(&u);
}

/* Fields that the check refuses; the arrays are never read. */
static void refused(const rapt_monotonic_attention *a, float *x)
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

static void arbitrary(struct feed *in, const struct monotonic_choice *c)
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
        refused(&a, x);
    else
        require(rapt_monotonic_attention_workspace(&a, 1) > 0, "a workspace for what is accepted");
}

int fuzz_monotonic_attention(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    struct monotonic_choice c = take_choice(&in);
    defined(&c, take_byte(&in));
    arbitrary(&in, &c);
    return 0;
}
