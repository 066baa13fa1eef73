/* attention_kinds.c - benchmark of all kinds of attention, forward and backward: each score with
   global locality and softmax; then, with scaled dot products, each locality, each normalizer, each
   change of the scores (soft cap, biases, masks, rotary positions, forget gates, distance vectors
   up to REACH), shared keys, talking heads, norms of queries and keys, output gates and
   differential attention. Each is measured for one long sequence and for many short ones. The norms
   and gates are functions of lib/op; the product that computes the gates is not measured.

   To make rates comparable, only the operations of scaled dot products are counted: 4 B H T S K
   forward and 10 B H T S K backward if keys and values are K wide, half of that if causal.
   Differential attention has twice as many heads, with keys half as wide as the values, which are
   stored twice. For additive scores, of_tanh is the time of their tanh calls alone divided by the
   measured time. It exceeds 1 if the kernel saves loads and stores between the calls. times_plain
   is the speed relative to scaled dot products of width 64 with softmax, causal if the kind is, in
   samples that alternate. */
#include "attention/attention.h"
#include "bench.h"
#include "kernel/kernel.h"
#include "op/op.h"

#include <math.h>
#include <rapt/attention.h>

enum { HEADS = 8, ROWS = 512, WIDTH = 64, CHANNELS = 4, FILTER_WIDTH = 7 };
enum { ARRAYS = 40 };
enum { REACH = 64 };                 /* largest distance with vectors, in both directions */
enum { NEAR = 2 * REACH + 1 };       /* number of distances */
enum { SENTENCES = 32, WORDS = 32 }; /* number of short sequences, and the rows of each */

/* What differs from scaled dot products with softmax. Each head has a bias of its own, whose
   gradient is computed, too. The mask is shared by all heads and hides one key in eight. */
struct extra {
    const char *name;
    float cap;
    bool bias, slopes, table, allowed;
    int group; /* query heads that share keys and values; 0 means none */
    int width; /* 0: WIDTH; at most WIDTH */
    bool rotary;
    rapt_rotary_scaling scaling;
    bool norm; /* normalize queries and keys before attention */
    int gates; /* number of factors of the outputs per head and row */
    bool differential;
    bool causal, forget;
    bool talking;       /* mix heads by two matrices */
    unsigned distances; /* bits for keys, queries, values, content_bias and position_bias */
    bool shared;        /* all heads have the same distance vectors */
    bool bucketed;      /* distances are in DeBERTa v2's logarithmic buckets */
};
enum { KEYS = 1, QUERIES = 2, VALUES = 4, CONTENT_BIAS = 8, POSITION_BIAS = 16 };
static const struct extra extras[] = {
    {.name = "none"},
    {.name = "causal", .causal = true},
    {.name = "cap", .cap = 30},
    {.name = "bias", .bias = true},
    {.name = "slopes", .slopes = true},
    {.name = "table", .table = true},
    {.name = "allowed", .allowed = true},
    {.name = "2 heads share keys", .group = 2},
    {.name = "width 50", .width = 50}, /* not a whole number of vectors */
    {.name = "bias and slopes", .bias = true, .slopes = true},
    {.name = "cap and slopes", .cap = 30, .slopes = true},
    {.name = "cap, bias and table", .cap = 30, .bias = true, .table = true},
    {.name = "rotary", .rotary = true},
    {.name = "rotary, yarn", .rotary = true, .scaling = RAPT_ROTARY_SCALING_YARN},
    {.name = "norms of q and k", .norm = true},
    {.name = "gate per head", .gates = 1},
    {.name = "gates per element", .gates = WIDTH},
    {.name = "differential", .differential = true},
    {.name = "causal slopes", .causal = true, .slopes = true},
    {.name = "forget gates", .causal = true, .forget = true},
    {.name = "talking heads", .talking = true},
    {.name = "distances of Shaw, keys", .distances = KEYS, .shared = true},
    {.name = "distances of Shaw", .distances = KEYS | VALUES, .shared = true},
    {.name = "distances of Transformer-XL", .distances = KEYS | CONTENT_BIAS | POSITION_BIAS},
    {.name = "distances of DeBERTa", .distances = KEYS | QUERIES},
    {.name = "distances of DeBERTa v2", .distances = KEYS | QUERIES, .bucketed = true}};
enum { CAUSAL = 1 }; /* index in extras */
_Static_assert(HEADS *HEADS <= WIDTH, "the matrices of talking heads fit into gain");
enum { EXTRAS = sizeof extras / sizeof *extras, BUCKETS = 32, DISTANCE = 128 };

struct kind {
    rapt_score score;
    rapt_locality locality;
    rapt_normalizer normalizer;
    int extra;
    bool sentences; /* SENTENCES sequences of WORDS rows; else one sequence of ROWS */
};

struct kind_job {
    rapt_attention a;
    rapt_attention_saved saved;
    rapt_reinforce reinforce;
    rapt_gradients d;
    float *q, *k, *v, *out, *dout;
    void *workspace;
    uint8_t *allowed;
    float *row; /* input of the tanh loop */
    const struct extra *extra;
    float *raw_q, *raw_k, *inverse, *gain, *dgain, *partial; /* for norms and differential */
    float *gate, *gated, *dgate;
    int buckets[NEAR];
    float *floats[ARRAYS]; /* [count] arrays from take() */
    int count;
};

/* Returns an array of floats that close_job frees. */
static float *take(struct kind_job *j, size_t count)
{
    return j->floats[j->count++] = bench_floats(count);
}

/* Returns the number of rows of all heads, which are stored one after the other. */
static int rows_of(const struct kind_job *j)
{
    return j->a.batch * j->a.heads * j->a.queries;
}

static struct head_norm norm_of(const struct kind_job *j)
{
    return (struct head_norm){
        .gain = j->gain, .heads = 1, .width = WIDTH, .row = WIDTH, .epsilon = 1e-5f};
}

static struct output_gate gate_of(const struct kind_job *j)
{
    return (struct output_gate){j->extra->gates, WIDTH / j->extra->gates};
}

static struct difference difference_of(const struct kind_job *j)
{
    return (struct difference){.vectors = j->gain,
                               .gain = j->gain,
                               .heads = 1,
                               .width = WIDTH,
                               .group = 1,
                               .initial = 0.2f,
                               .epsilon = 1e-5f};
}

static void subtract_outputs(struct team *team, void *argument)
{
    struct kind_job *j = argument;
    const struct exec_context c = {.team = team, .kernels = rapt__kernels()};
    const struct difference d = difference_of(j);
    rapt__difference_forward(&c, &d, rows_of(j) / 2, j->out, j->gated, j->raw_q, j->inverse);
}

static void subtract_gradients(struct team *team, void *argument)
{
    struct kind_job *j = argument;
    const struct exec_context c = {.team = team, .kernels = rapt__kernels()};
    const struct difference d = difference_of(j);
    rapt__difference_backward(&c, &d, rows_of(j) / 2, j->out, j->raw_q, j->inverse, j->gated,
                              j->dout, j->dgain, j->dgain, j->partial, j->dgate);
}

static void norm_inputs(struct team *team, void *argument)
{
    struct kind_job *j = argument;
    const struct exec_context c = {.team = team, .kernels = rapt__kernels()};
    struct head_norm n = norm_of(j);
    rapt__head_norm_forward(&c, &n, rows_of(j), j->q, j->raw_q, j->inverse);
    rapt__head_norm_forward(&c, &n, rows_of(j), j->k, j->raw_k, j->inverse + rows_of(j));
}

static void norm_gradients(struct team *team, void *argument)
{
    struct kind_job *j = argument;
    const struct exec_context c = {.team = team, .kernels = rapt__kernels()};
    struct head_norm n = norm_of(j);
    rapt__head_norm_backward(&c, &n, rows_of(j), j->raw_q, j->inverse, j->d.q, j->dgain,
                             j->partial);
    rapt__head_norm_backward(&c, &n, rows_of(j), j->raw_k, j->inverse + rows_of(j), j->d.k,
                             j->dgain, j->partial);
}

static void gate_outputs(struct team *team, void *argument)
{
    struct kind_job *j = argument;
    const struct exec_context c = {.team = team, .kernels = rapt__kernels()};
    struct output_gate g = gate_of(j);
    rapt__output_gate_forward(&c, &g, rows_of(j), j->gate, j->out, j->gated);
}

static void gate_gradients(struct team *team, void *argument)
{
    struct kind_job *j = argument;
    const struct exec_context c = {.team = team, .kernels = rapt__kernels()};
    struct output_gate g = gate_of(j);
    rapt__output_gate_backward(&c, &g, rows_of(j), j->gate, j->out, j->gated, j->dgate, j->dout);
}

static void run_forward(void *argument, int count)
{
    struct kind_job *j = argument;
    for (int i = 0; i < count; i++) {
        if (j->extra->norm) rapt__team_run(j->a.threads, norm_inputs, j);
        if (rapt_attention_forward(&j->a, j->q, j->k, j->v, j->out, &j->saved, j->workspace, NULL))
            bench_fail("rapt_attention_forward");
        if (j->extra->gates) rapt__team_run(j->a.threads, gate_outputs, j);
        if (j->extra->differential) rapt__team_run(j->a.threads, subtract_outputs, j);
    }
}

static void run_backward(void *argument, int count)
{
    struct kind_job *j = argument;
    for (int i = 0; i < count; i++) {
        if (j->extra->gates) rapt__team_run(j->a.threads, gate_gradients, j);
        if (j->extra->differential) rapt__team_run(j->a.threads, subtract_gradients, j);
        if (rapt_attention_backward(&j->a, j->q, j->k, j->v, j->out, &j->saved, j->dout,
                                    &j->reinforce, &j->d, j->workspace, NULL))
            bench_fail("rapt_attention_backward");
        if (j->extra->norm) rapt__team_run(j->a.threads, norm_gradients, j);
    }
}

/* Computes as many values of tanh as one thread of the forward pass. */
static void run_tanh(void *argument, int count)
{
    struct kind_job *j = argument;
    const rapt_attention *a = &j->a;
    long long rows = (long long)a->heads * a->queries * a->keys / a->threads;
    for (long long i = 0; i < count * rows; i++) rapt__kernels()->tanh_row(j->row, WIDTH);
}

/* Returns the number of rows that learned arrays have room for. */
static size_t largest_rows(const struct kind_job *j)
{
    return (size_t)(j->a.queries > ROWS ? j->a.queries : ROWS);
}

/* Sets the learned arrays of a score or locality and the space for their gradients, from two blocks
   of numbers. */
static void learn(struct kind_job *j, float *values, float *gradients)
{
    size_t square = (size_t)HEADS * WIDTH * WIDTH,
           largest = (size_t)HEADS * WIDTH * largest_rows(j);
    rapt_attention_parameters *l = &j->a.parameters;
    *l = (rapt_attention_parameters){.hidden = WIDTH,
                                     .positions = j->a.keys,
                                     .channels = CHANNELS,
                                     .filter_width = FILTER_WIDTH,
                                     .center_hidden = WIDTH};
    for (int i = 0; i < RAPT_ATTENTION_PARAMETER_COUNT; i++) {
        bool second = i == RAPT_ATTENTION_PARAMETER_KEY_WEIGHT ||
                      i == RAPT_ATTENTION_PARAMETER_FEATURE_WEIGHT;
        l->array[i] = second ? values + square : values;
        j->d.parameters[i] = gradients + (size_t)i * largest;
    }
}

/* Applies `e` to the problem. Biases, slopes, tables and their gradients lie in two blocks of
   numbers. Slopes are those of Press, Smith and Lewis 2022: 1/2, 1/4, ... for eight heads. */
static void add_extra(struct kind_job *j, const struct extra *e, float *bias, float *dbias)
{
    ptrdiff_t rows = j->a.queries, keys = j->a.keys;
    float *few = bias + j->a.heads * rows * keys, *dfew = dbias + j->a.heads * rows * keys;
    j->a.cap = e->cap;
    if (e->group) j->a.key_heads = j->a.heads / e->group;
    if (e->bias) j->a.mask.bias = bias, j->d.bias = dbias;
    j->a.mask.bias_stride = (rapt_stride){0, rows * keys, keys};
    for (int h = 0; h < j->a.heads && e->slopes; h++) few[h] = ldexpf(1, -h - 1);
    if (e->slopes) j->a.relative.slopes = few, j->d.slopes = dfew;
    if (e->table) j->a.relative.table = few, j->d.table = dfew;
    for (ptrdiff_t i = 0; i < rows * keys; i++) j->allowed[i] = i % 8 != 0;
    if (e->allowed) j->a.mask.allowed = j->allowed, j->a.mask.allowed_stride.row = keys;
    j->a.mask.causal = e->causal;
    for (ptrdiff_t i = 0; i < j->a.batch * keys * j->a.heads && e->forget; i++) bias[i] = -0.01f;
    if (e->forget) j->a.log_forget = bias, j->d.log_forget = dbias;
    j->a.log_forget_stride = (rapt_stride){keys * j->a.heads, keys, 1};
    if (e->talking) {
        j->a.talking_scores = j->gain, j->d.talking_scores = j->dgain;
        j->a.talking_weights = j->gain + WIDTH, j->d.talking_weights = j->dgain + WIDTH;
    }
    j->a.relative.buckets = BUCKETS, j->a.relative.distance = DISTANCE;
    if (e->rotary) j->a.relative.rotary = RAPT_ROTARY_HALVES;
    j->a.relative.rotary_scaling = e->scaling;
    if (e->scaling) j->a.relative.rotary_factor = 4, j->a.relative.rotary_positions = ROWS;
}

/* Sets the distance vectors and the space for their gradients. */
static void add_distances(struct kind_job *j, const struct extra *e)
{
    rapt_distances *x = &j->a.distances;
    rapt_distance_gradients *d = &j->d.distances;
    const float **arrays[] = {&x->keys, &x->queries, &x->values, &x->content_bias,
                              &x->position_bias};
    float **gradients[] = {&d->keys, &d->queries, &d->values, &d->content_bias, &d->position_bias};
    x->before = x->after = REACH, x->shared = e->shared;
    for (int i = 0; i < 5; i++) {
        if (!(e->distances >> i & 1)) continue;
        *arrays[i] = take(j, (size_t)NEAR * HEADS * WIDTH);
        *gradients[i] = take(j, (size_t)NEAR * HEADS * WIDTH);
    }
    if (!e->bucketed) return;
    x->bucket_count = rapt_distance_buckets(REACH, REACH, REACH / 2, REACH, j->buckets);
    x->buckets = j->buckets;
}

/* plain: the speed relative to scaled dot products with softmax; 0 if it was not measured */
static void report(struct bench *b, const struct kind *kind, const struct kind_job *j,
                   bool backward, struct timing time, double tanh_seconds, double plain)
{
    const rapt_attention *a = &j->a;
    double cells = (double)a->batch * a->heads * a->queries * a->keys / (a->mask.causal ? 2 : 1);
    double forward = a->key_width + a->value_width, both = 3 * a->key_width + 2 * a->value_width;
    json_t *more =
        json_pack("{s:s, s:s, s:s, s:s}", "score", rapt_score_name(kind->score), "locality",
                  rapt_locality_name(kind->locality), "normalizer",
                  rapt_normalizer_name(kind->normalizer), "extra", extras[kind->extra].name);
    if (tanh_seconds > 0)
        json_object_set_new(more, "of_tanh", json_real(tanh_seconds / time.fastest));
    if (plain > 0) json_object_set_new(more, "times_plain", json_real(plain));
    bench_line(b,
               &(struct result){.name = backward ? "attention_backward" : "attention_forward",
                                .shape = json_pack("{s:i, s:i, s:i, s:i, s:i, s:b}", "B", a->batch,
                                                   "H", a->heads, "T", a->queries, "S", a->keys,
                                                   "K", a->value_width, "causal", a->mask.causal),
                                .threads = a->threads,
                                .time = time,
                                .operations = 2 * cells * (backward ? both : forward),
                                .more = more});
}

/* Sets the arrays of a problem. */
static void fill_job(struct kind_job *j)
{
    const size_t all = (size_t)rows_of(j), rows = (size_t)j->a.queries, size = all * WIDTH,
                 learned = (size_t)RAPT_ATTENTION_PARAMETER_COUNT * HEADS * WIDTH * largest_rows(j),
                 square = (size_t)j->a.heads * (rows * rows + BUCKETS);
    float **arrays[] = {&j->q, &j->k, &j->v, &j->out, &j->dout, &j->d.q, &j->d.k, &j->d.v};
    float **twice[] = {&j->raw_q, &j->raw_k, &j->inverse, &j->gate, &j->gated, &j->dgate};
    for (int i = 0; i < 8; i++) *arrays[i] = take(j, size);
    for (int i = 0; i < 6; i++) *twice[i] = take(j, 2 * size);
    j->gain = take(j, 2 * WIDTH), j->dgain = take(j, 2 * WIDTH), j->row = take(j, WIDTH);
    j->partial = take(j, rapt__head_norm_partial((int)all, WIDTH));
    j->saved.statistics = take(j, 2 * all);
    j->reinforce.reward = take(j, all);
    j->saved.chosen = bench_alloc(all * sizeof *j->saved.chosen);
    j->allowed = bench_alloc(rows * rows);
    learn(j, take(j, learned), take(j, learned));
    float *bias = take(j, square);
    add_extra(j, j->extra, bias, take(j, square));
    if (j->extra->distances) add_distances(j, j->extra);
    j->workspace = bench_alloc(rapt_attention_workspace(&j->a));
}

static void open_job(struct kind_job *j, const struct kind *kind, const struct bench *b,
                     int threads)
{
    const bool check = b->check;
    const struct extra *extra = extras + kind->extra;
    const int rows = kind->sentences ? WORDS : check ? 40 : b->rows ? b->rows : ROWS;
    const int batch = !kind->sentences ? 1 : check ? 2 : SENTENCES;
    const int heads = (check ? 2 : HEADS) * (extra->differential ? 2 : 1);
    *j = (struct kind_job){.saved = {.size = sizeof j->saved},
                           .reinforce = {.size = sizeof j->reinforce},
                           .d = {.size = sizeof j->d},
                           .extra = extra};
    rapt_attention_init(&j->a, sizeof j->a, batch, heads, rows, rows,
                        extra->width ? extra->width : WIDTH);
    if (extra->differential) j->a.key_width = WIDTH / 2;
    j->a.threads = threads;
    j->a.score = kind->score, j->a.locality = kind->locality, j->a.normalizer = kind->normalizer;
    j->a.radius = 16, j->a.sparse.global_count = 4;
    j->a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
    fill_job(j);
}

static void close_job(struct kind_job *j)
{
    while (j->count > 0) bench_free(j->floats[--j->count]);
    bench_free(j->saved.chosen);
    bench_free(j->allowed);
    bench_free(j->workspace);
}

/* Measures one pass, and its speed relative to `plain` in samples that alternate. */
static void measure_pass(struct bench *b, const struct kind *kind, struct kind_job *j,
                         struct kind_job *plain, bool backward)
{
    bench_work *run = backward ? run_backward : run_forward;
    const bool tanh = rapt__score_is_additive(kind->score);
    const double alone = tanh && !backward ? bench_time(b, run_tanh, j).fastest : 0;
    const double times = bench_times(b, run, j, plain);
    report(b, kind, j, backward, bench_time(b, run, j), alone, times);
}

static void measure_kind(struct bench *b, const struct kind *kind, int threads)
{
    struct kind_job j, plain;
    const int causal = extras[kind->extra].causal ? CAUSAL : 0;
    open_job(&j, kind, b, threads);
    open_job(&plain, &(struct kind){.extra = causal, .sentences = kind->sentences}, b, threads);
    run_forward(&j, 1);
    run_forward(&plain, 1);
    measure_pass(b, kind, &j, &plain, false);
    measure_pass(b, kind, &j, &plain, true);
    close_job(&j);
    close_job(&plain);
}

void measure_kinds(struct bench *b, int threads)
{
    if (b->quick && !b->check && !b->only) return;
    for (int i = 0; rapt_score_name((rapt_score)i); i++)
        if (bench_wants(b, "kinds", rapt_score_name((rapt_score)i)))
            measure_kind(b, &(struct kind){.score = (rapt_score)i}, threads);
    for (int i = 1; rapt_locality_name((rapt_locality)i); i++)
        if (bench_wants(b, "kinds", rapt_locality_name((rapt_locality)i)))
            measure_kind(b, &(struct kind){.locality = (rapt_locality)i}, threads);
    for (int i = 1; rapt_normalizer_name((rapt_normalizer)i); i++)
        if (bench_wants(b, "kinds", rapt_normalizer_name((rapt_normalizer)i)))
            measure_kind(b, &(struct kind){.normalizer = (rapt_normalizer)i}, threads);
    for (int i = 0; i < 2 * EXTRAS; i++) {
        const struct kind kind = {.extra = i % EXTRAS, .sentences = i >= EXTRAS};
        if (i > 0 && bench_wants(b, "kinds", extras[kind.extra].name))
            measure_kind(b, &kind, threads);
    }
}
