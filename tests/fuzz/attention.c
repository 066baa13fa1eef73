/* attention.c - attention problems chosen by the input: forward, weights and gradients are compared
   with the definition (tests/attention/judge.h). Every array lies between guard pages. Other
   strides, with rows or heads stored in reverse, must give the same bits. If the inputs contain
   NaN, infinities or very large numbers, only bits are compared. A problem that the check refuses
   must be refused by every function. */
#define _DEFAULT_SOURCE
#include "attention/judge.h"

#include "fuzz.h"
#include <sys/mman.h>

/* ---- arrays between guard pages ---- */
enum { SLOTS = 52, SLOT = 1 << 17, PAGE = 1 << 16, FILL = 0x7F };

struct slot { /* SLOT bytes between two pages; unused bytes hold FILL */
    char *base;
    size_t offset, bytes;
};
static struct slot slots[SLOTS];
static int used;

static void open_slots(void)
{
    if (slots[0].base) return;
    for (int i = 0; i < SLOTS; i++) {
        char *at = mmap(NULL, SLOT + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        require(at != MAP_FAILED, "pages");
        require(mprotect(at + PAGE, SLOT, PROT_READ | PROT_WRITE) == 0, "pages to use");
        memset(at + PAGE, FILL, SLOT);
        slots[i].base = at + PAGE;
    }
}

/* Copies an array to the end of a free slot or, if `front`, to its beginning. */
static void *put(const void *from, size_t bytes, bool front)
{
    require(used < SLOTS && bytes <= SLOT, "a slot for each array");
    struct slot *s = &slots[used++];
    s->bytes = bytes, s->offset = front ? 0 : SLOT - bytes;
    if (bytes) memcpy(s->base + s->offset, from, bytes);
    return s->base + s->offset;
}

/* Checks that nobody wrote next to an array, and frees the slots. */
static void close_slots(void)
{
    for (int i = 0; i < used; i++) {
        const struct slot *s = &slots[i];
        size_t behind = s->offset + s->bytes, before = s->offset < 256 ? s->offset : 256;
        for (size_t k = 0; k < before; k++)
            require(s->base[s->offset - 1 - k] == FILL, "nothing is written before an array");
        for (size_t k = behind; k < SLOT && k < behind + 256; k++)
            require(s->base[k] == FILL, "nothing is written after an array");
        memset(s->base + s->offset, FILL, s->bytes);
    }
    used = 0;
}

/* ---- the problem ---- */

static struct choice take_choice(struct feed *in)
{
    static const float scales[] = {0, 0.5f, -1, 3}, radii[] = {1, 2.5f, 4, 0.5f};
    struct choice c = {.batch = 1 + take_below(in, 3),
                       .heads = 1 + take_below(in, 4),
                       .queries = take_below(in, 12),
                       .keys = take_below(in, 24),
                       .key_width = 1 + take_below(in, 20),
                       .value_width = 1 + take_below(in, 20)};
    if (take_flag(in)) c.queries *= 3, c.keys *= 4;
    if (take_flag(in)) c.key_heads = 1 + take_below(in, c.heads);
    c.ragged = take_flag(in), c.counts = take_flag(in);
    c.causal_alignment = (rapt_causal_alignment)take_below(in, 3);
    c.causal = take_flag(in), c.window = take_flag(in);
    c.before = take_below(in, 9), c.after = take_below(in, 5);
    c.allowed = take_flag(in) ? 1 + take_below(in, 15) : NONE;
    c.bias = take_flag(in) ? 1 + take_below(in, 15) : NONE;
    c.score = (rapt_score)take_below(in, RAPT_SCORE_COUNT);
    c.locality = (rapt_locality)take_below(in, RAPT_LOCALITY_COUNT);
    c.normalizer = (rapt_normalizer)take_below(in, RAPT_NORMALIZER_COUNT);
    c.scale = scales[take_below(in, 4)], c.radius = radii[take_below(in, 4)];
    if (take_flag(in)) c.dropout = 0.3f;
    if (take_flag(in)) c.query_size = take_byte(in) % 2 ? 20 : 0.01f;
    if (take_flag(in)) c.query_width = 1 + take_below(in, 20);
    if (take_flag(in)) c.temperature = 0.7f;
    if (take_flag(in)) c.cap = 5;
    c.slopes = take_flag(in);
    c.learned = c.score >= RAPT_SCORE_GENERAL || c.locality == RAPT_LOCALITY_LOCAL_P;
    c.previous = c.score >= RAPT_SCORE_LOCATION_AWARE && take_flag(in);
    c.rewards = c.normalizer == RAPT_NORMALIZER_SAMPLE;
    c.hidden = take_below(in, 20);
    if (take_flag(in)) c.buckets = 8, c.distance = 20, c.bidirectional = take_flag(in);
    if (take_flag(in)) c.rotary = (rapt_rotary)take_below(in, 3);
    if (take_flag(in)) c.rotary_width = 2 * take_below(in, 10);
    if (take_flag(in)) c.rotary_scaling = (rapt_rotary_scaling)take_below(in, 4);
    if (take_flag(in)) c.rotary_factor = (float)take_below(in, 5);
    c.forget = take_flag(in);
    if (take_flag(in)) c.distances = take_below(in, 64);
    c.near_before = take_below(in, 40), c.near_after = take_below(in, 5);
    if (take_flag(in)) c.near_buckets = 4 + 2 * take_below(in, 3), c.near_distance = 9;
    c.talking = take_below(in, 4);
    return c;
}

/* ---- the same arrays in other layouts ---- */

/* Reverses the order of rows, or of heads. Returns the offset in floats at which the array then
   begins. */
static ptrdiff_t turn(rapt_stride *s, int rows, int heads, bool by_heads)
{
    int n = by_heads ? heads : rows;
    ptrdiff_t *step = by_heads ? &s->head : &s->row, from = n > 0 ? (n - 1) * *step : 0;
    *step = -*step;
    return from;
}

/* Moves each row to its offset in the other layout. */
static void move(const rapt_stride *from, const float *x, const rapt_stride *to, float *y,
                 int batch, int heads, int rows, int width)
{
    for (int b = 0; b < batch; b++)
        for (int h = 0; h < heads; h++)
            for (int r = 0; r < rows; r++)
                memcpy(y + b * to->batch + h * to->head + r * to->row,
                       x + b * from->batch + h * from->head + r * from->row,
                       (size_t)width * sizeof *x);
}

struct array { /* q, k, v or out, as given and in another layout */
    rapt_stride plain, turned;
    size_t n;
    int heads, rows, batch, width;
    ptrdiff_t origin;
};

static struct array laid_out(const rapt_stride *s, size_t n, const int *starts, int batch, int rows,
                             int heads, int width, uint8_t how)
{
    struct array a = {.plain = *s, .turned = *s, .n = n, .heads = heads, .width = width};
    a.batch = starts ? 1 : batch, a.rows = starts ? starts[batch] : rows;
    if (how % 3 && n > 0) a.origin = turn(&a.turned, a.rows, heads, how % 3 == 1);
    return a;
}

static float *put_array(const struct array *a, const float *x, bool front)
{
    float *base = put(x, a->n * sizeof *x, front);
    if (a->n)
        move(&a->plain, x, &a->turned, base + a->origin, a->batch, a->heads, a->rows, a->width);
    return base + a->origin;
}

static void same_array(const struct array *a, const float *turned, const float *plain,
                       const char *what)
{
    float *back = exact_copy(plain, a->n * sizeof *plain);
    if (a->n) move(&a->turned, turned, &a->plain, back, a->batch, a->heads, a->rows, a->width);
    require(same_bits(back, plain, a->n), what);
    free(back);
}

/* Runs forward and backward again on arrays between guard pages and in other layouts. The bits must
   be the same. */
static void run_elsewhere(const struct trial *x, struct feed *in)
{
    rapt_attention a = x->a;
    int G = a.key_heads ? a.key_heads : a.heads, Q = a.query_width ? a.query_width : a.key_width;
    struct array q =
        laid_out(&a.q, x->nq, a.query_starts, a.batch, a.queries, a.heads, Q, take_byte(in));
    struct array k =
        laid_out(&a.k, x->nk, a.key_starts, a.batch, a.keys, G, a.key_width, take_byte(in));
    struct array v =
        laid_out(&a.v, x->nv, a.key_starts, a.batch, a.keys, G, a.value_width, take_byte(in));
    struct array o = laid_out(&a.out, x->no, a.query_starts, a.batch, a.queries, a.heads,
                              a.value_width, take_byte(in));
    bool front = take_flag(in);
    size_t lse_bytes = x->nlse * sizeof(float), bytes = rapt_attention_workspace(&a);
    float *zero = zeros(x->nq + x->nk + x->nv + x->no + x->nlse + x->nbias + 1);
    rapt_attention_saved saved = {.size = sizeof saved, .lse = put(zero, lse_bytes, front)};
    if (x->chosen) saved.chosen = put(zero, x->nlse * sizeof(int), front);
    a.q = q.turned, a.k = k.turned, a.v = v.turned, a.out = o.turned;
    if (x->bias) a.mask.bias = put(x->bias, x->nbias * sizeof(float), front);
    const float *own_q = put_array(&q, x->q, front), *own_k = put_array(&k, x->k, front);
    const float *own_v = put_array(&v, x->v, front), *own_dout = put_array(&o, x->dout, front);
    float *out = put_array(&o, zero, front), *dq = put_array(&q, zero, front);
    float *dk = put_array(&k, zero, front), *dv = put_array(&v, zero, front);
    rapt_gradients d = {.size = sizeof d, .q = dq, .k = dk, .v = dv};
    if (x->bias) d.bias = put(zero, x->nbias * sizeof(float), front);
    for (int i = 0; i < LEARNED; i++) {
        if (!x->learned[i]) continue;
        float *none = zeros(x->nlearned[i]);
        size_t size = x->nlearned[i] * sizeof(float);
        set_pointer(&a, learned[i].in_problem, put(x->learned[i], size, front));
        set_pointer(&d, learned[i].in_gradients, put(none, size, front));
        free(none);
    }
    void *workspace = bytes <= SLOT ? put(zero, 0, true) : NULL;
    if (workspace) {
        slots[used - 1].bytes = (bytes + 63) / 64 * 64;
        slots[used - 1].offset = SLOT - slots[used - 1].bytes;
        workspace = slots[used - 1].base + slots[used - 1].offset;
    } else {
        workspace = aligned_alloc(64, (bytes + 63) / 64 * 64);
    }
    a.threads = 1;
    require(rapt_attention_forward(&a, own_q, own_k, own_v, out, &saved, workspace, NULL) ==
                RAPT_OK,
            "forward elsewhere");
    require(rapt_attention_backward(&a, own_q, own_k, own_v, out, &saved, own_dout, &x->reinforce,
                                    &d, workspace, NULL) == RAPT_OK,
            "backward elsewhere");
    require(same_bits(saved.lse, x->lse, x->nlse), "lse elsewhere");
    same_array(&o, out, x->out, "out elsewhere");
    same_array(&q, dq, x->dq, "dq elsewhere");
    same_array(&k, dk, x->dk, "dk elsewhere");
    same_array(&v, dv, x->dv, "dv elsewhere");
    if (bytes > SLOT) free(workspace);
    free(zero);
    close_slots();
}

/* Replaces some elements of q, k, v and the bias by extreme values. */
static void make_extreme(struct trial *x, struct feed *in)
{
    static const float values[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 1e-42f, -0.f, 1e30f};
    float *arrays[] = {x->q, x->k, x->v, x->bias};
    const size_t sizes[] = {x->nq, x->nk, x->nv, x->nbias};
    for (int n = 1 + take_below(in, 8); n > 0; n--) {
        int which = take_below(in, 4);
        size_t at = (size_t)take_byte(in) << 8 | take_byte(in);
        float value = values[take_below(in, 8)];
        if (sizes[which] > 0) arrays[which][at % sizes[which]] = value;
    }
    if (take_flag(in)) x->a.temperature = values[3 + take_below(in, 5)];
    if (take_flag(in)) x->a.scale = values[3 + take_below(in, 5)];
}

static void check_refused(struct trial *x)
{
    rapt_message why = {""};
    require(rapt_attention_workspace(&x->a) == 0, "no workspace for what is refused");
    require(rapt_attention_forward(&x->a, x->q, x->k, x->v, x->out, &x->saved, NULL, &why) ==
                    RAPT_BAD_ARGUMENT &&
                why.text[0],
            "what the check refuses is refused");
}

int fuzz_attention(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    struct judge j;
    open_slots();
    struct choice c = take_choice(&in);
    struct trial x = make_trial(&c, take_byte(&in));
    bool thorough = take_flag(&in), extreme = take_flag(&in);
    if (extreme) make_extreme(&x, &in);
    x.a.threads = 1 + (take_byte(&in) % 32 == 31);
    if (rapt_attention_check(&x.a, NULL) != RAPT_OK) {
        check_refused(&x);
    } else {
        run_forward(&x);
        run_backward(&x);
        bool decided = make_judge(&j, &x, choice_text(&c)) && !extreme;
        if (decided) judge_forward(&j), judge_weights(&j);
        if (decided && thorough) judge_backward(&j, 1, 1);
        drop_judge(&j);
        run_elsewhere(&x, &in);
    }
    drop_trial(&x);
    return 0;
}
