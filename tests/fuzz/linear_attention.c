/* linear_attention.c - problems of linear attention chosen by the input: outputs and states are
   compared with the definition, steps with chunks, and gradients with those of other threads. A
   problem whose fields are arbitrary is computed if the check accepts it, and refused by every
   function if not. */
#include "attention/linear.h"

#include "fuzz.h"

enum { ROUNDINGS = 64 };

static struct linear_choice take_choice(struct feed *in)
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

static double state_size(const rapt_linear_attention *a, const struct linear_head *r)
{
    double most = 1e-30;
    int n = a->key_width * (a->value_width + (a->normalized ? 1 : 0));
    for (int i = 0; i < n; i++) most = fabs(r->state[i]) > most ? fabs(r->state[i]) : most;
    return most;
}

static void compare_head(const struct linear_trial *t, const struct linear_doubles *d, int b, int h)
{
    const rapt_linear_attention *a = &t->a;
    int key_heads = a->key_heads ? a->key_heads : a->heads;
    struct linear_head r = linear_head(a, d, b, h);
    size_t first = linear_state_of(a, b, h / (a->heads / key_heads));
    double most = state_size(a, &r);
    for (int row = 0; row < oracle_linear_rows(a, b); row++)
        for (int j = 0; j < a->value_width; j++) {
            int i = row * a->value_width + j;
            float got = t->out[oracle_linear_at(a, &a->out, b, h, row) + j];
            require(within_roundings((double)got, r.out[i], ROUNDINGS, r.size[i]),
                    "the definition");
        }
    for (int i = 0; i < a->key_width * (a->value_width + (a->normalized ? 1 : 0)); i++)
        require(within_roundings((double)t->final_state[first + (size_t)i], r.state[i], ROUNDINGS,
                                 most + 1),
                "the state by definition");
    linear_head_free(&r);
}

static void compare(const struct linear_trial *t)
{
    struct linear_doubles d = linear_double(t);
    for (int b = 0; b < t->a.batch; b++)
        for (int h = 0; h < t->a.heads; h++) compare_head(t, &d, b, h);
    linear_double_free(&d);
}

static void step(struct linear_trial *t)
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

static void defined(const struct linear_choice *c, uint64_t seed)
{
    struct linear_trial t = linear_make(c, seed), u = linear_make(c, seed);
    u.a.threads = 3;
    require(linear_forward(&t, NULL) == RAPT_OK && linear_backward(&t, NULL) == RAPT_OK, "a pass");
    require(linear_forward(&u, NULL) == RAPT_OK && linear_backward(&u, NULL) == RAPT_OK, "a pass");
    compare(&t);
    require(!memcmp(t.out, u.out, t.outs * sizeof(float)), "the same bits");
    for (int i = 0; i < LINEAR_INPUTS; i++)
        require(!memcmp(t.d[i], u.d[i], t.count[i] * sizeof(float)), "gradients of the same bits");
    step(&u), compare(&u);
    linear_free(&t), linear_free(&u);
}

/* Fields that the check refuses; the arrays are never read. */
static void refused(const rapt_linear_attention *a, float *x)
{
    const rapt_linear_attention_gradients d = {.size = sizeof d, .q = x};
    require(rapt_linear_attention_workspace(a, 0) == 0, "no workspace for what is refused");
    require(rapt_linear_attention_forward(a, x, x, x, x, x, x, NULL) == RAPT_BAD_ARGUMENT &&
                rapt_linear_attention_backward(a, x, x, x, x, x, &d, x, NULL) ==
                    RAPT_BAD_ARGUMENT &&
                rapt_linear_attention_step(a, x, x, x, x, x, x, NULL) == RAPT_BAD_ARGUMENT,
            "refused by all");
}

static void arbitrary(struct feed *in, const struct linear_choice *c)
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
        refused(&a, x);
    else
        require(rapt_linear_attention_workspace(&a, 1) > 0, "a workspace for what is accepted");
}

int fuzz_linear_attention(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    struct linear_choice c = take_choice(&in);
    defined(&c, take_byte(&in));
    arbitrary(&in, &c);
    return 0;
}
