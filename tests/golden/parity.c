/* parity.c - compares with scaled_dot_product_attention and nn.MultiheadAttention on the cases of
   parity.txt, which make_torch.py computed with PyTorch. A case is a line of names and numbers.
   Where PyTorch has masks of -infinity, true = ignore, and added keys, rapt has true = attend, key
   counts, and a causal alignment. */
#include "golden/records.h"

#include <float.h>
#include <rapt/attention.h>
#include <stdbool.h>

enum field {
    BATCH,
    HEADS,
    KEY_HEADS,
    QUERIES,
    KEYS,
    WIDTH,
    KEY_WIDTH,
    VALUE_WIDTH,
    SCALE,
    CAUSAL,
    ALLOWED,
    BIAS,
    FULLY_MASKED,
    HUGE_MASK,
    OWN,
    PADDING,
    BIAS_KV,
    ZERO_ATTN,
    FIELDS
};
static const char *const field_names[FIELDS] = {
    "batch",        "heads",       "key_heads", "queries", "keys",    "width",
    "key_width",    "value_width", "scale",     "causal",  "allowed", "bias",
    "fully_masked", "huge",        "own",       "padding", "bias_kv", "zero_attn"};
enum { PER_BATCH = 1, PER_HEAD = 2, PER_ROW = 4 };

struct parity {
    char name[40];
    double value[FIELDS];
};
static struct parity cases[64];
static int case_count;

static void note(char *line)
{
    struct parity *c = cases + case_count++;
    char *word = strtok(line, " \n");
    snprintf(c->name, sizeof c->name, "%s", word);
    while ((word = strtok(NULL, " \n")) != NULL) {
        int i = 0;
        while (i < FIELDS && strcmp(word, field_names[i]) != 0) i++;
        if (i == FIELDS) fail_msg("%s: what is %s?", c->name, word);
        c->value[i] = strtod(strtok(NULL, " \n"), NULL);
    }
}

static int get(const struct parity *c, enum field field)
{
    return (int)c->value[field];
}

static float *drawn(const struct parity *c, const char *name, double scale, int count)
{
    float *x = calloc((size_t)count + 1, sizeof *x);
    draw(c->name, name, scale, 0, x, (size_t)count);
    return x;
}

static float *zeros(int n)
{
    return calloc((size_t)n + 1, sizeof(float));
}

/* ---- masks ---- */

/* Sets the strides of a mask that varies only over some dimensions, with `row` floats per row.
   Returns its number of rows. */
static int lay(const struct parity *c, int own, int row, rapt_stride *s)
{
    int t = own & PER_ROW ? get(c, QUERIES) : 1, h = own & PER_HEAD ? get(c, HEADS) : 1;
    *s = (rapt_stride){own & PER_BATCH ? h * t * row : 0, own & PER_HEAD ? t * row : 0,
                       own & PER_ROW ? row : 0};
    return (own & PER_BATCH ? get(c, BATCH) : 1) * h * t;
}

/* Pads rows of `keys` elements with 0 to `row` elements. */
static float *widen(float *x, int rows, int keys, int row)
{
    float *wide = zeros(rows * row);
    for (int r = 0; r < rows; r++) memcpy(wide + r * row, x + r * keys, (size_t)keys * sizeof *x);
    free(x);
    return wide;
}

/* S is the number of keys of the case. The problem may have more: added ones at the end. */
static void add_bias(const struct parity *c, rapt_attention *a, int *rows)
{
    int S = get(c, KEYS), own = get(c, BIAS);
    if (!own) return;
    *rows = lay(c, own, a->keys, &a->mask.bias_stride);
    float *bias = drawn(c, ".bias", 4, *rows * S), *holes = drawn(c, ".holes", 1, *rows * S);
    for (int i = 0; i < *rows * S; i++)
        if (holes[i] > 0.35f) bias[i] = -INFINITY;
    free(holes);
    a->mask.bias = widen(bias, *rows, S, a->keys);
}

/* Returns one byte per sequence, head, query and key. It combines .allowed, the fully masked row
   and, if keys were added after the padding so that key counts cannot express it, the padding. */
static uint8_t *allowed_of(const struct parity *c, const rapt_attention *a)
{
    int S = get(c, KEYS), own = get(c, ALLOWED);
    rapt_stride s;
    int rows = lay(c, own, S, &s);
    float *x = drawn(c, ".allowed", own ? 1 : 0, rows * S);
    uint8_t *allowed = malloc((size_t)(a->batch * a->heads * a->queries * a->keys) + 1),
            *at = allowed;
    for (int b = 0; b < a->batch; b++)
        for (int h = 0; h < a->heads; h++)
            for (int t = 0; t < a->queries; t++)
                for (int key = 0; key < a->keys; key++) {
                    bool here = key >= S || x[b * s.batch + h * s.head + t * s.row + key] > -0.2f;
                    if (key < S && get(c, FULLY_MASKED) == t + 1) here = false;
                    if (key < S && get(c, PADDING) && key >= S - b) here = false;
                    *at++ = here;
                }
    free(x);
    return allowed;
}

static void set_masks(const struct parity *c, rapt_attention *a, int *bias_rows)
{
    static const rapt_causal_alignment causal_alignments[] = {RAPT_CAUSAL_ALIGNMENT_NONE,
                                                              RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
                                                              RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT};
    ptrdiff_t row = a->keys, head = a->queries * row;
    a->mask.causal_alignment = causal_alignments[get(c, CAUSAL)];
    a->mask.causal = get(c, CAUSAL) != 0;
    *bias_rows = 0;
    add_bias(c, a, bias_rows);
    if (!get(c, ALLOWED) && !get(c, FULLY_MASKED) && !get(c, PADDING)) return;
    uint8_t *allowed = allowed_of(c, a);
    rapt_stride stride = {a->heads * head, head, row};
    if (!get(c, HUGE_MASK)) {
        a->mask.allowed = allowed, a->mask.allowed_stride = stride;
        return;
    }
    int n = a->batch * a->heads * a->queries * a->keys;
    float *lowest = zeros(n); /* a finite value, so it hides nothing */
    for (int i = 0; i < n; i++) lowest[i] = allowed[i] ? 0 : -FLT_MAX;
    a->mask.bias = lowest, a->mask.bias_stride = stride;
    free(allowed);
}

static void free_masks(rapt_attention *a)
{
    free((void *)(uintptr_t)a->mask.bias);
    free((void *)(uintptr_t)a->mask.allowed);
}

/* ---- attention ---- */

struct arrays { /* of one problem */
    float *q, *k, *v, *out, *dout, *dq, *dk, *dv, *dbias;
    rapt_attention_saved saved;
    int nq, nk, nv, no, nbias;
};

static void *workspace_of(const rapt_attention *a)
{
    rapt_message why = {""};
    if (rapt_attention_check(a, &why)) fail_msg("%s", why.text);
    return aligned_alloc(64, (rapt_attention_workspace(a) + 127) / 64 * 64);
}

static void forward(const rapt_attention *a, struct arrays *x)
{
    void *workspace = workspace_of(a);
    float *lse = zeros(a->batch * a->heads * a->queries);
    x->out = zeros(x->no), x->saved = (rapt_attention_saved){.size = sizeof x->saved, .lse = lse};
    assert_false(rapt_attention_forward(a, x->q, x->k, x->v, x->out, &x->saved, workspace, NULL));
    free(workspace);
}

static void backward(const rapt_attention *a, struct arrays *x)
{
    void *workspace = workspace_of(a);
    x->dq = zeros(x->nq), x->dk = zeros(x->nk), x->dv = zeros(x->nv), x->dbias = zeros(x->nbias);
    rapt_gradients d = {.size = sizeof d, .q = x->dq, .k = x->dk, .v = x->dv};
    if (a->mask.bias && x->nbias) d.bias = x->dbias;
    if (rapt_attention_backward(a, x->q, x->k, x->v, x->out, &x->saved, x->dout, NULL, &d,
                                workspace, NULL))
        fail_msg("backward");
    free(workspace);
}

static void free_arrays(struct arrays *x)
{
    float *all[] = {x->q, x->k, x->v, x->out, x->saved.lse, x->dout, x->dq, x->dk, x->dv, x->dbias};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* ---- scaled_dot_product_attention ---- */

/* `lse` is [heads][batch][queries], while PyTorch's is [batch][heads][queries]. */
static void compare_lse(const struct parity *c, const float *lse)
{
    int B = get(c, BATCH), H = get(c, HEADS), T = get(c, QUERIES);
    float *transposed = zeros(B * H * T);
    for (int i = 0; i < B * H * T; i++)
        transposed[i] = lse[(i / T % H * B + i / T / H) * T + i % T];
    compare(c->name, "lse", transposed, (size_t)(B * H * T));
    free(transposed);
}

static void sdpa(const struct parity *c)
{
    int B = get(c, BATCH), H = get(c, HEADS), T = get(c, QUERIES), S = get(c, KEYS);
    int G = get(c, KEY_HEADS) ? get(c, KEY_HEADS) : H, E = get(c, WIDTH), V = get(c, VALUE_WIDTH);
    int bias_rows;
    rapt_attention a;
    rapt_attention_init(&a, sizeof a, B, H, T, S, E);
    a.key_heads = get(c, KEY_HEADS), a.value_width = V, a.scale = (float)c->value[SCALE];
    a.k = (rapt_stride){G * S * E, S * E, E}, a.v = (rapt_stride){G * S * V, S * V, V};
    a.out = (rapt_stride){H * T * V, T * V, V};
    set_masks(c, &a, &bias_rows);
    struct arrays x = {.nq = B * H * T * E,
                       .nk = B * G * S * E,
                       .nv = B * G * S * V,
                       .no = B * H * T * V,
                       .nbias = bias_rows * S};
    x.q = drawn(c, ".q", 4, x.nq), x.k = drawn(c, ".k", 4, x.nk), x.v = drawn(c, ".v", 4, x.nv);
    x.dout = drawn(c, ".dout", 1, x.no);
    forward(&a, &x);
    backward(&a, &x);
    compare(c->name, "out", x.out, (size_t)x.no);
    if (!get(c, HUGE_MASK)) { /* with huge biases, lse is too large to recompute weights from it */
        compare_lse(c, x.saved.lse);
        compare(c->name, "dq", x.dq, (size_t)x.nq);
        compare(c->name, "dk", x.dk, (size_t)x.nk);
        compare(c->name, "dv", x.dv, (size_t)x.nv);
    }
    if (x.nbias) compare(c->name, "dbias", x.dbias, (size_t)x.nbias);
    free_arrays(&x);
    free_masks(&a);
}

/* ---- nn.MultiheadAttention ---- */

struct linear { /* y = x W' + b: `out` rows of W, `in` columns */
    int in, out;
    const float *W, *b;
    float *dW, *db;
};

static void apply(const struct linear *l, const float *x, float *y)
{
    for (int o = 0; o < l->out; o++) {
        double sum = (double)l->b[o];
        for (int i = 0; i < l->in; i++) sum += (double)l->W[o * l->in + i] * (double)x[i];
        y[o] = (float)sum;
    }
}

static void apply_back(const struct linear *l, const float *x, const float *dy, float *dx)
{
    for (int o = 0; o < l->out; o++) {
        l->db[o] += dy[o];
        for (int i = 0; i < l->in; i++) {
            l->dW[o * l->in + i] += dy[o] * x[i];
            dx[i] += dy[o] * l->W[o * l->in + i];
        }
    }
}

enum { Q_SIDE, K_SIDE, V_SIDE, OUT_SIDE, SIDES };
static const char *const inputs[] = {".query", ".key", ".value"};
static const char *const input_gradients[] = {"dquery", "dkey", "dvalue"};
static const char *const projections[] = {"q_proj_weight", "k_proj_weight", "v_proj_weight"};

struct module {
    const struct parity *c;
    int N, H, L, S, E, keys; /* keys: S and the added ones */
    int width[SIDES], rows[SIDES];
    float *x[SIDES], *dx[SIDES]; /* inputs of the projections of query, key and value; for OUT_SIDE
                                    the context */
    float *weights, *dweights, *biases, *dbiases; /* of all sides, packed */
    float *extra[2], *dextra[2];                  /* bias_k, bias_v */
    struct linear side[SIDES];
};

static void draw_weights(struct module *m)
{
    const struct parity *c = m->c;
    int E = m->E, at = 0, all = 0;
    bool packed = m->width[K_SIDE] == E && m->width[V_SIDE] == E;
    for (int i = 0; i < SIDES; i++) all += E * m->width[i];
    m->weights = zeros(all), m->dweights = zeros(all);
    m->biases = zeros(4 * E), m->dbiases = zeros(4 * E);
    if (packed) draw(c->name, ".in_proj_weight", 2, 0, m->weights, (size_t)(3 * E * E));
    draw(c->name, ".in_proj_bias", 2, 0, m->biases, (size_t)(3 * E));
    draw(c->name, ".out_proj.bias", 2, 0, m->biases + 3 * E, (size_t)E);
    for (int i = 0; i < SIDES; at += E * m->width[i++]) {
        char name[40];
        snprintf(name, sizeof name, ".%s", i < OUT_SIDE ? projections[i] : "out_proj.weight");
        if (!packed || i == OUT_SIDE)
            draw(c->name, name, 2, 0, m->weights + at, (size_t)(E * m->width[i]));
        m->side[i] = (struct linear){m->width[i],      E,
                                     m->weights + at,  m->biases + i * E,
                                     m->dweights + at, m->dbiases + i * E};
    }
}

static struct module make_module(const struct parity *c)
{
    int E = get(c, WIDTH), added = get(c, BIAS_KV) + get(c, ZERO_ATTN);
    struct module m = {c,
                       get(c, BATCH),
                       get(c, HEADS),
                       get(c, QUERIES),
                       get(c, KEYS),
                       E,
                       0,
                       {E, get(c, KEY_WIDTH) ? get(c, KEY_WIDTH) : E,
                        get(c, VALUE_WIDTH) ? get(c, VALUE_WIDTH) : E, E},
                       {0},
                       {0},
                       {0},
                       NULL,
                       NULL,
                       NULL,
                       NULL,
                       {0},
                       {0},
                       {{0}}};
    m.keys = m.S + added;
    for (int i = 0; i < SIDES; i++) m.rows[i] = m.N * (i == Q_SIDE || i == OUT_SIDE ? m.L : m.S);
    for (int i = 0; i < OUT_SIDE; i++) {
        m.x[i] = drawn(c, get(c, OWN) ? ".query" : inputs[i], 4, m.rows[i] * m.width[i]);
        m.dx[i] = zeros(m.rows[i] * m.width[i]);
    }
    m.dx[OUT_SIDE] = zeros(m.rows[OUT_SIDE] * E);
    m.extra[0] = drawn(c, ".bias_k", 2, E), m.extra[1] = drawn(c, ".bias_v", 2, E);
    m.dextra[0] = zeros(E), m.dextra[1] = zeros(E);
    draw_weights(&m);
    return m;
}

static void free_module(struct module *m)
{
    for (int i = 0; i < SIDES; i++) free(m->dx[i]);
    for (int i = 0; i < OUT_SIDE; i++) free(m->x[i]);
    for (int i = 0; i < 2; i++) free(m->extra[i]), free(m->dextra[i]);
    free(m->weights), free(m->dweights), free(m->biases), free(m->dbiases);
}

/* Returns the index of row r of a side after keys were added at the end of each sequence. */
static int row_of(const struct module *m, int side, int r)
{
    return side == Q_SIDE ? r : r / m->S * m->keys + r % m->S;
}

static void project(const struct module *m, float *to[3])
{
    for (int i = 0; i < OUT_SIDE; i++)
        for (int r = 0; r < m->rows[i]; r++)
            apply(&m->side[i], m->x[i] + r * m->width[i], to[i] + row_of(m, i, r) * m->E);
    for (int n = 0; n < m->N && get(m->c, BIAS_KV); n++)
        for (int i = 0; i < 2; i++) /* the row of zeros after it stays 0 */
            memcpy(to[1 + i] + (n * m->keys + m->S) * m->E, m->extra[i],
                   (size_t)m->E * sizeof(float));
}

static void project_back(const struct module *m, float *dy[3])
{
    for (int i = 0; i < OUT_SIDE; i++)
        for (int r = 0; r < m->rows[i]; r++) {
            int input = get(m->c, OWN) ? Q_SIDE : i;
            apply_back(&m->side[i], m->x[i] + r * m->width[i], dy[i] + row_of(m, i, r) * m->E,
                       m->dx[input] + r * m->width[i]);
        }
    for (int n = 0; n < m->N && get(m->c, BIAS_KV); n++)
        for (int i = 0; i < 2 * m->E; i++)
            m->dextra[i / m->E][i % m->E] +=
                dy[1 + i / m->E][(n * m->keys + m->S) * m->E + i % m->E];
}

static void compare_weights(const struct module *m, const rapt_attention *a, const struct arrays *x)
{
    int n = m->L * m->keys;
    float *weights = zeros(m->N * m->H * n), *average = zeros(m->N * n);
    void *workspace = workspace_of(a);
    for (int i = 0; i < m->N * m->H; i++) {
        float *at = weights + i * n;
        assert_int_equal(rapt_attention_weights(a, x->q, x->k, &x->saved, i / m->H, i % m->H, 0,
                                                m->L, at, workspace, NULL),
                         RAPT_OK);
        for (int j = 0; j < n; j++) average[i / m->H * n + j] += at[j] / (float)m->H;
    }
    compare(m->c->name, "weights", weights, (size_t)(m->N * m->H * n));
    compare(m->c->name, "average", average, (size_t)(m->N * n));
    free(weights), free(average), free(workspace);
}

static void compare_gradients(const struct module *m)
{
    const struct parity *c = m->c;
    int E = m->E, at = 0;
    bool packed = m->width[K_SIDE] == E && m->width[V_SIDE] == E;
    for (int i = 0; i < (get(c, OWN) ? 1 : 3); i++)
        compare(c->name, input_gradients[i], m->dx[i], (size_t)(m->rows[i] * m->width[i]));
    if (packed) compare(c->name, "gradient.in_proj_weight", m->dweights, (size_t)(3 * E * E));
    for (int i = 0; i < OUT_SIDE; at += E * m->width[i++]) {
        char name[40];
        snprintf(name, sizeof name, "gradient.%s", projections[i]);
        if (!packed) compare(c->name, name, m->dweights + at, (size_t)(E * m->width[i]));
    }
    compare(c->name, "gradient.out_proj.weight", m->dweights + at, (size_t)(E * E));
    compare(c->name, "gradient.in_proj_bias", m->dbiases, (size_t)(3 * E));
    compare(c->name, "gradient.out_proj.bias", m->dbiases + 3 * E, (size_t)E);
    if (!get(c, BIAS_KV)) return;
    compare(c->name, "gradient.bias_k", m->dextra[0], (size_t)E);
    compare(c->name, "gradient.bias_v", m->dextra[1], (size_t)E);
}

/* In the rows of the projections, heads are side by side. */
static rapt_attention problem_of(const struct module *m)
{
    int width = m->E / m->H, bias_rows;
    rapt_attention a;
    rapt_attention_init(&a, sizeof a, m->N, m->H, m->L, m->keys, width);
    a.q = a.out = (rapt_stride){m->L * m->E, width, m->E};
    a.k = a.v = (rapt_stride){m->keys * m->E, width, m->E};
    set_masks(m->c, &a, &bias_rows);
    return a;
}

static void mha(const struct parity *c)
{
    struct module m = make_module(c);
    rapt_attention a = problem_of(&m);
    int E = m.E, rows = m.N * m.L;
    struct arrays x = {
        .nq = rows * E, .nk = m.N * m.keys * E, .nv = m.N * m.keys * E, .no = rows * E};
    float *out = zeros(rows * E), *dout = drawn(c, ".dout", 1, rows * E);
    x.q = zeros(x.nq), x.k = zeros(x.nk), x.v = zeros(x.nv);
    project(&m, (float *[]){x.q, x.k, x.v});
    forward(&a, &x);
    for (int r = 0; r < rows; r++) apply(&m.side[OUT_SIDE], x.out + r * E, out + r * E);
    compare(c->name, "out", out, (size_t)(rows * E));
    compare_weights(&m, &a, &x);
    for (int r = 0; r < rows; r++)
        apply_back(&m.side[OUT_SIDE], x.out + r * E, dout + r * E, m.dx[OUT_SIDE] + r * E);
    x.dout = m.dx[OUT_SIDE], m.dx[OUT_SIDE] = NULL;
    backward(&a, &x);
    project_back(&m, (float *[]){x.dq, x.dk, x.dv});
    compare_gradients(&m);
    free(out), free(dout);
    free_arrays(&x);
    free_masks(&a);
    free_module(&m);
}

/* ---- all of them ---- */

static int read_all(void **state)
{
    (void)state;
    return read_records(RAPT_TESTS_DIR "/golden/parity.txt", note) ? 0 : -1;
}

static bool is_module(const struct parity *c)
{
    return strncmp(c->name, "mha", 3) == 0;
}

static void test_sdpa(void **state)
{
    (void)state;
    int n = 0;
    for (int i = 0; i < case_count; i++)
        if (!is_module(cases + i)) sdpa(cases + i), n++;
    assert_true(n >= 25);
}

static void test_mha(void **state)
{
    (void)state;
    int n = 0;
    for (int i = 0; i < case_count; i++)
        if (is_module(cases + i)) mha(cases + i), n++;
    assert_true(n >= 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sdpa), cmocka_unit_test(test_mha)};
    return cmocka_run_group_tests(tests, read_all, free_records);
}
