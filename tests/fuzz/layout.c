/* layout.c - problems made by rapt_attention_init and its variants from good and bad numbers. Rows
   must lie where the drawing in rapt/attention.h says. Forward and backward must give the bits of
   each sequence computed separately in the plain layout, and touch nothing else. Learned arrays
   must follow each other without gaps. Invalid numbers must be refused with a reason. */
#include "fuzz.h"
#include <rapt/attention.h>

#include <limits.h>

enum maker { PLAIN, BY_ROWS, PACKED, RAGGED, MAKERS };
enum array { Q, K, V, OUT, ARRAYS };
enum { BATCH = 3 };

struct problem {
    enum maker maker;
    int batch, heads, key_heads, rows[2], width; /* rows of queries, of keys */
    int starts[2][BATCH + 1];                    /* used if ragged */
    bool causal;
};

static rapt_status make(const struct problem *p, rapt_attention *a)
{
    size_t size = sizeof *a;
    int B = p->batch, H = p->heads, W = p->width;
    switch (p->maker) {
    case PLAIN:
        return rapt_attention_init(a, size, B, H, p->rows[0], p->rows[1], W);
    case BY_ROWS:
        return rapt_attention_init_rows(a, size, B, H, p->rows[0], p->rows[1], W);
    case PACKED:
        return rapt_attention_init_packed(a, size, B, H, p->key_heads, p->rows[0], W);
    default:
        return rapt_attention_init_ragged(a, size, B, H, p->starts[0], p->starts[1], W);
    }
}

/* ---- offsets of rows, according to the drawing ---- */

static int rows_of(const struct problem *p, enum array which, int b)
{
    bool keys = which == K || which == V;
    return p->maker == RAGGED   ? p->starts[keys][b + 1] - p->starts[keys][b]
           : p->maker == PACKED ? p->rows[0]
                                : p->rows[keys];
}

static int heads_of(const struct problem *p, enum array which)
{
    return which == K || which == V ? p->key_heads : p->heads;
}

/* Returns the number of floats before row r of head h of sequence b. In packed arrays it counts
   from the beginning of q. */
static size_t offset_of(const struct problem *p, enum array which, int b, int h, int r)
{
    int H = p->heads, G = p->key_heads, rows = rows_of(p, which, b), row;
    bool keys = which == K || which == V;
    if (p->maker == PLAIN)
        row = (b * H + h) * rows + r;
    else if (p->maker == BY_ROWS || (p->maker == PACKED && which == OUT))
        row = (b * rows + r) * H + h;
    else if (p->maker == PACKED)
        row = (b * rows + r) * (H + 2 * G) + h + (which >= K) * H + (which == V) * G;
    else
        row = (p->starts[keys][b] + r) * H + h;
    return (size_t)row * (size_t)p->width;
}

/* Returns the size of the whole array in floats, or 0 if it is part of q. */
static size_t size_of(const struct problem *p, enum array which)
{
    size_t rows = 0, heads = (size_t)p->heads;
    if (p->maker == PACKED && (which == K || which == V)) return 0;
    if (p->maker == PACKED && which == Q) heads += 2 * (size_t)p->key_heads;
    for (int b = 0; b < p->batch; b++) rows += (size_t)rows_of(p, which, b);
    return rows * heads * (size_t)p->width;
}

/* ---- a problem computed ---- */

struct run {
    rapt_attention a;
    float *x[ARRAYS], *d[ARRAYS]; /* d[OUT]: the gradient of out */
    size_t sizes[ARRAYS];
};

static float *own_array(const struct run *r, float *const arrays[ARRAYS], enum array which)
{
    return r->sizes[which] || which == Q || which == OUT ? arrays[which] : arrays[Q];
}

static void compute(const struct problem *p, struct run *r)
{
    size_t bytes = rapt_attention_workspace(&r->a), k = 0, v = 0, lse = 0;
    float *workspace = array_of((bytes + 3) / 4);
    if (p->maker == PACKED) k = (size_t)(p->heads * p->width);
    if (p->maker == PACKED) v = k + (size_t)(p->key_heads * p->width);
    for (int b = 0; b < p->batch; b++) lse += (size_t)(rows_of(p, Q, b) * p->heads);
    float *statistics = array_of(2 * lse);
    const rapt_attention_saved saved = {.size = sizeof saved, .statistics = statistics};
    const rapt_gradients d = {.size = sizeof d,
                              .q = r->d[Q],
                              .k = own_array(r, r->d, K) + k,
                              .v = own_array(r, r->d, V) + v};
    const float *key = own_array(r, r->x, K) + k, *value = own_array(r, r->x, V) + v;
    rapt_message why = {""};
    require(bytes > 0, "workspace");
    require(rapt_attention_forward(&r->a, r->x[Q], key, value, r->x[OUT], &saved, workspace,
                                   &why) == RAPT_OK,
            why.text);
    require(rapt_attention_backward(&r->a, r->x[Q], key, value, r->x[OUT], &saved, r->d[OUT], NULL,
                                    &d, workspace, &why) == RAPT_OK,
            why.text);
    array_free(workspace, (bytes + 3) / 4), array_free(statistics, 2 * lse);
}

static void open_run(const struct problem *p, struct run *r)
{
    for (int i = 0; i < ARRAYS; i++) {
        r->sizes[i] = size_of(p, (enum array)i);
        r->x[i] = array_of(r->sizes[i]), r->d[i] = array_of(r->sizes[i]);
        array_zero(r->x[i], r->sizes[i]), array_zero(r->d[i], r->sizes[i]);
    }
    require(make(p, &r->a) == RAPT_OK, "a problem");
    if (p->maker != PACKED) r->a.key_heads = p->key_heads;
    if (p->causal)
        r->a.mask.causal = 1, r->a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
    r->a.threads = 1;
}

static void close_run(struct run *r)
{
    for (int i = 0; i < ARRAYS; i++)
        array_free(r->x[i], r->sizes[i]), array_free(r->d[i], r->sizes[i]);
}

/* Copies the rows of a sequence from one array to another. */
static void move(const struct problem *from, int from_b, const float *x, const struct problem *to,
                 int to_b, float *y, enum array which)
{
    for (int h = 0; h < heads_of(from, which); h++)
        for (int t = 0; t < rows_of(from, which, from_b); t++)
            memcpy(y + offset_of(to, which, to_b, h, t), x + offset_of(from, which, from_b, h, t),
                   (size_t)from->width * sizeof *x);
}

static void same_rows(const struct problem *p, int b, const float *x, const struct problem *alone,
                      const float *y, enum array which, const char *what)
{
    for (int h = 0; h < heads_of(p, which); h++)
        for (int t = 0; t < rows_of(p, which, b); t++)
            require(array_same(x + offset_of(p, which, b, h, t),
                               y + offset_of(alone, which, 0, h, t), (size_t)p->width),
                    what);
}

/* Computes all sequences together, then each separately in the plain layout, and compares. */
static void check(const struct problem *p, uint64_t seed)
{
    static const char *const names[] = {"dq", "dk", "dv"};
    struct run all, one[BATCH];
    struct problem alone[BATCH];
    open_run(p, &all);
    for (int b = 0; b < p->batch; b++) {
        alone[b] = *p;
        alone[b].maker = PLAIN, alone[b].batch = 1;
        alone[b].rows[0] = rows_of(p, Q, b), alone[b].rows[1] = rows_of(p, K, b);
        open_run(&alone[b], &one[b]);
        for (int i = 0; i < ARRAYS; i++) {
            float *x = i == OUT ? one[b].d[OUT] : one[b].x[i];
            float *y = i == OUT ? all.d[OUT] : own_array(&all, all.x, (enum array)i);
            for (size_t k = 0; k < one[b].sizes[i]; k++)
                x[k] = (float)((double)(input_random(&seed) >> 40) * 0x1p-23 - 1);
            move(&alone[b], 0, x, p, b, y, (enum array)i);
        }
        compute(&alone[b], &one[b]);
    }
    compute(p, &all);
    for (int b = 0; b < p->batch; b++) {
        same_rows(p, b, all.x[OUT], &alone[b], one[b].x[OUT], OUT, "out");
        for (int i = Q; i < OUT; i++)
            same_rows(p, b, own_array(&all, all.d, (enum array)i), &alone[b], one[b].d[i],
                      (enum array)i, names[i]);
        close_run(&one[b]);
    }
    close_run(&all);
}

/* ---- numbers of any size ---- */

static int take_any(struct feed *in)
{
    static const int values[] = {0, 1, -1, INT_MIN, INT_MAX, 1 << 16, 65537, 1 << 30};
    int value = take_below(in, 12);
    return value < 8 ? values[value] : (int)take_u32(in);
}

/* Checks that the learned arrays follow each other without gaps. */
static void check_learned(const rapt_attention *a)
{
    rapt_attention_parameters_layout l = {.size = sizeof l};
    rapt_message why = {""};
    rapt_status status = rapt_attention_parameters_lay_out(a, &l, &why);
    size_t at = 0;
    require(status == RAPT_OK || (status == RAPT_BAD_ARGUMENT && why.text[0]), "a reason");
    if (status) return;
    for (int i = 0; i < RAPT_ATTENTION_PARAMETER_COUNT; i++) {
        if (!l.rows[i]) continue;
        size_t floats = (size_t)l.rows[i] * (size_t)l.columns[i];
        require(l.offset[i] == at && at % 16 == 0 && l.columns[i] > 0, "one after the other");
        at += (floats + 15) / 16 * 16;
    }
    require(at == l.floats, "floats of all");
}

static void check_any(struct problem *p, struct feed *in)
{
    rapt_attention a;
    rapt_message why = {""};
    p->heads = take_any(in), p->key_heads = take_any(in), p->width = take_any(in);
    p->rows[0] = take_any(in), p->rows[1] = take_any(in);
    if (p->maker != RAGGED) p->batch = take_any(in);
    for (int i = 0; i < 2 * (BATCH + 1) && p->maker == RAGGED; i++)
        p->starts[i / (BATCH + 1)][i % (BATCH + 1)] = take_any(in);
    require(make(p, &a) == RAPT_OK, "numbers are checked later");
    a.score = (rapt_score)take_below(in, RAPT_SCORE_COUNT + 1);
    a.locality = (rapt_locality)take_below(in, RAPT_LOCALITY_COUNT + 1);
    a.radius = 2;
    a.parameters.hidden = take_any(in), a.parameters.positions = take_any(in);
    a.parameters.channels = take_any(in), a.parameters.filter_width = take_any(in);
    a.parameters.center_hidden = take_any(in);
    check_learned(&a);
    a.threads = 1;
    rapt_status status = rapt_attention_check(&a, &why);
    require(status == RAPT_OK || (status == RAPT_BAD_ARGUMENT && why.text[0]), "a reason");
    require((rapt_attention_workspace(&a) > 0) == (status == RAPT_OK), "workspace, or refused");
}

int fuzz_layout(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    struct problem p = {.maker = (enum maker)take_below(&in, MAKERS)};
    p.batch = 1 + take_below(&in, BATCH);
    if (take_flag(&in)) {
        check_any(&p, &in);
        return 0;
    }
    p.key_heads = 1 + take_below(&in, 3), p.heads = p.key_heads * (1 + take_below(&in, 3));
    p.width = 1 + take_below(&in, 20), p.causal = take_flag(&in);
    for (int i = 0; i < 2; i++) p.rows[i] = take_below(&in, 20) * (take_flag(&in) ? 4 : 1);
    if (p.maker == RAGGED || p.maker == PLAIN || p.maker == BY_ROWS) p.key_heads = p.heads;
    for (int i = 0; i < 2; i++)
        for (int b = 0; b < p.batch; b++)
            p.starts[i][b + 1] = p.starts[i][b] + take_below(&in, 20) * (take_flag(&in) ? 4 : 1);
    check(&p, take_byte(&in));
    return 0;
}
