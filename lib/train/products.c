/* products.c - chooses how the matrix products of a trainer are computed: by the library in floats
   or bf16, by OpenBLAS, or by whichever of the library (in floats) and OpenBLAS computes each
   product faster on this machine. In the last case, checkpoints store the choices as bits. Also
   quantizes the matrices before each batch of quantization-aware training. */
#include "kernel/bf16.h"
#include "kernel/int8.h"
#include "train/train.h"

#include <stdio.h>
#include <string.h>

enum { ROWS_MAX = 1024, ROWS_MIN = 64 };
/* Maximum number of multiplications in a measured product, unless ROWS_MIN rows need more. */
static const size_t multiplications = (size_t)1 << 28;

struct measurement {
    rapt_trainer *trainer;
    int rows; /* maximum number of rows of a product */
};

/* Returns true if a parameter is a factor in matrix products. An embedding table is one only if it
   is also the output matrix. */
static bool multiplies(const struct layout *l, const struct parameter *p)
{
    bool table = p->offset == l->encoder.table || p->offset == l->decoder.table;
    return p->kind == IN_PANELS && (!table || p->offset == l->output.weight);
}

/* Lists each matrix shape in a model once, in the order of the parameters, and returns the number
   of shapes. Sets which[i] to a parameter of shape i. Products of shapes that do not fit in the
   list are computed by the built-in kernels. */
static int shapes_of(const struct layout *l, const struct parameter *which[PRODUCT_SHAPES])
{
    struct products seen = {.count = 0};
    for (int i = 0; i < l->count && seen.count < PRODUCT_SHAPES; i++) {
        const struct parameter *p = &l->parameters[i];
        if (!multiplies(l, p) || rapt__products_find(&seen, p->rows, p->columns)) continue;
        which[seen.count] = p;
        seen.shapes[seen.count++] = (struct product_shape){.out = p->rows, .in = p->columns};
    }
    return seen.count;
}

size_t rapt__products_scratch(const struct layout *l)
{
    const struct parameter *which[PRODUCT_SHAPES];
    size_t most = 0;
    for (int i = shapes_of(l, which); i-- > 0;)
        most = rapt__max_size(most, (size_t)which[i]->rows + (size_t)which[i]->columns);
    return most * ROWS_MIN;
}

/* Returns the number of rows to measure with: at most `rows`, few enough for x [rows][in] and y
   [rows][out] to fit in `floats`, and few enough for a quick measurement. */
static int rows_for(const struct parameter *p, int rows, size_t floats)
{
    size_t out = (size_t)p->rows, in = (size_t)p->columns;
    size_t quick = rapt__max_size(multiplications / (out * in), ROWS_MIN);
    return (int)rapt__min_size(rapt__min_size((size_t)rows, quick), floats / (in + out));
}

/* Measures the products of all shapes. x and y are in the memory of the first moments, which is
   still zero, so all products are zero and the gradients of weights stay zero. */
static void measure_all(struct team *team, void *argument)
{
    const struct measurement *m = argument;
    rapt_trainer *t = m->trainer;
    const struct layout *l = &t->model->layout;
    const struct parameter *which[PRODUCT_SHAPES];
    const struct exec_context c = {team, rapt__kernels(), t->pack, NULL, NULL};
    int count = shapes_of(l, which);
    for (int i = 0; i < count; i++) {
        int out = which[i]->rows, in = which[i]->columns,
            rows = rows_for(which[i], m->rows, t->tuning.moment_floats);
        const struct linear linear = {
            .weight = t->model->block + which[i]->offset, .in = in, .out = out};
        rapt__products_measure(&c, &t->products, &linear, rows, t->m,
                               t->m + (size_t)rows * (size_t)in, t->gradients + which[i]->offset);
    }
}

/* Returns the choices as bits: bit 3 i + k is set if OpenBLAS computes product k of shape i. */
static long long product_bits(const struct products *p)
{
    long long bits = 0;
    for (int i = 0; i < p->count * PRODUCTS; i++)
        if (p->shapes[i / PRODUCTS].openblas[i % PRODUCTS]) bits |= 1LL << i;
    return bits;
}

/* ---- the text of rapt_trainer_products ---- */

static void append_product(char text[PRODUCTS_TEXT], const char *more)
{
    size_t used = strlen(text);
    snprintf(text + used, PRODUCTS_TEXT - used, "%s", more);
}

/* Writes the text of rapt_trainer_products, truncated if it is too long. */
static void describe_products(const struct products *p, char text[PRODUCTS_TEXT])
{
    static const char *const names[] = {"y", "dx", "dW"};
    char one[64];
    text[0] = 0;
    for (int i = 0; i < p->count * PRODUCTS; i++) {
        const struct product_shape *s = &p->shapes[i / PRODUCTS];
        if (!s->openblas[i % PRODUCTS]) continue;
        snprintf(one, sizeof one, "%s%s %dx%d", text[0] ? ", " : "OpenBLAS: ", names[i % PRODUCTS],
                 s->out, s->in);
        append_product(text, one);
    }
    if (p->all) append_product(text, "OpenBLAS: all large products");
    if (p->bf16) append_product(text, p->tiles ? "bf16 tiles" : "bf16");
    const enum bf16_sums sums = p->tiles ? BF16_TILES : BF16_STEPS;
    if (p->bf16 && rapt__bf16_kernels(rapt_isa_used(), sums)->form == BF16_EMULATED)
        append_product(text, ", emulated");
    if (!text[0]) append_product(text, "built-in");
}

const char *rapt_trainer_products(const rapt_trainer *trainer)
{
    return trainer ? trainer->products_text : NULL;
}

/* ---- creating a trainer and loading a checkpoint ---- */

/* Measures the products of a new trainer, then zeroes its memory again and stores the choices. */
static void choose_by_measuring(rapt_trainer *t)
{
    int rows = rapt__max(t->limits.source_tokens, t->limits.target_tokens);
    struct measurement m = {t, rapt__min(rows, ROWS_MAX)};
    rapt__team_run(t->limits.threads, measure_all, &m);
    memset(t->m, 0, t->tuning.moment_floats * sizeof *t->m); /* some may be -0 now */
    memset(t->gradients, 0, t->model->layout.floats * sizeof *t->gradients);
    t->state.products = product_bits(&t->products);
}

void rapt__products_choose(rapt_trainer *t)
{
    t->products.all = t->options.products == RAPT_PRODUCTS_OPENBLAS;
    t->products.tiles = t->options.products == RAPT_PRODUCTS_BF16_TILES;
    t->products.bf16 = t->products.tiles || t->options.products == RAPT_PRODUCTS_BF16;
    if (t->options.products == RAPT_PRODUCTS_AUTO && rapt__openblas_load(NULL) == RAPT_OK)
        choose_by_measuring(t);
    describe_products(&t->products, t->products_text);
}

rapt_status rapt__products_check(const rapt_trainer *t, const struct trainer_state *state,
                                 rapt_message *why)
{
    rapt_message reason;
    if (t->options.products != RAPT_PRODUCTS_AUTO || state->products == 0) return RAPT_OK;
    rapt_status status = rapt__openblas_load(&reason);
    if (status == RAPT_OK) return RAPT_OK;
    return rapt__fail(
        why, status,
        "this checkpoint was trained with OpenBLAS, which cannot be loaded: %.200s; to "
        "continue without OpenBLAS (results will differ slightly), use "
        "RAPT_PRODUCTS_BUILTIN",
        reason.text);
}

void rapt__products_restore(rapt_trainer *t)
{
    const struct parameter *which[PRODUCT_SHAPES];
    if (t->options.products != RAPT_PRODUCTS_AUTO) return;
    t->products.count = shapes_of(&t->model->layout, which);
    for (int i = 0; i < t->products.count; i++) {
        struct product_shape *shape = &t->products.shapes[i];
        *shape = (struct product_shape){.out = which[i]->rows, .in = which[i]->columns};
        for (int kind = 0; kind < PRODUCTS; kind++)
            shape->openblas[kind] = t->state.products >> (i * PRODUCTS + kind) & 1;
    }
    describe_products(&t->products, t->products_text);
}

/* ---- training for inference in 8-bit arithmetic (Jacob et al. 2018, section 3) ----

   Before each batch, the parameters are quantized into a second model, which runs the forward pass.
   Apart from dropout and other random draws, the results are bit-identical to those of the model in
   RAPT_PRECISION_INT8. In the backward pass, rounding is treated as a function whose derivative is
   1 (the straight-through estimator, Bengio et al. 2013). A product y = x^ W^' of rounded factors
   thus has the gradients

       dx = dy W^        dW = dy' x^

   The backward pass uses a third model, whose parameters are the values of W^ as floats, and rounds
   x to x^ again (op/linear.c). The optimizer updates W in floats. */

/* Returns the number of inputs of the widest matrix. */
static int widest_matrix(const struct layout *l)
{
    int columns = 0;
    for (int i = 0; i < l->count; i++)
        if (l->parameters[i].kind == IN_PANELS)
            columns = rapt__max(columns, l->parameters[i].columns);
    return columns;
}

/* Returns a model with its own layout and block that shares the other arrays of the trainer's
   model, such as its sinusoids. */
static rapt_model twin_of(const rapt_model *m, const struct layout *layout, float *block)
{
    return (rapt_model){.config = m->config,
                        .layout = *layout,
                        .block = block,
                        .sinusoids = m->sinusoids,
                        .slopes = m->slopes,
                        .distances = m->distances,
                        .distance_buckets = m->distance_buckets};
}

void rapt__quantized_layout(rapt_trainer *t, int rows, struct arena *arena)
{
    struct quantized_models *q = &t->quantized;
    const struct layout *floats = &t->model->layout;
    struct layout bytes;
    if (!t->options.quantize_aware) return;
    rapt__layout_make(&bytes, &t->model->config, IN_BYTES, arena);
    q->forward = twin_of(t->model, &bytes, rapt__arena_floats(arena, bytes.floats, 1));
    q->backward = twin_of(t->model, floats, rapt__arena_floats(arena, floats->floats, 1));
    rows = rapt__max(rows, rapt__distances_rows(&t->model->config, false));
    q->rounded = rapt__arena_floats(arena, (size_t)rows, (size_t)widest_matrix(floats));
}

rapt_status rapt__quantized_check(const rapt_train_options *o, const rapt_model *model,
                                  rapt_message *why)
{
    rapt_status status = rapt__int_check("quantize_aware", o->quantize_aware, 0, 1, why);
    if (status || !o->quantize_aware) return status;
    return rapt__check_depths(&model->layout, IN_BYTES, why);
}

rapt_status rapt__quantized_begin(const rapt_trainer *t, rapt_message *why)
{
    rapt_model *m = t->model;
    if (!t->options.quantize_aware || !rapt_model_metadata(m, SCALES_KEY)) return RAPT_OK;
    if (rapt__metadata_replace(m, SCALES_KEY, NULL) == RAPT_OK) return RAPT_OK;
    return rapt__fail(why, RAPT_NO_MEMORY, "no memory for metadata");
}

void rapt__quantized_fill(const struct exec_context *c, const rapt_trainer *t)
{
    const struct quantized_models *q = &t->quantized;
    for (int i = 0; i < t->model->layout.count; i++) {
        const struct parameter *p = &t->model->layout.parameters[i],
                               *to = &q->forward.layout.parameters[i];
        const float *from = t->model->block + p->offset;
        float *back = q->backward.block + p->offset;
        if (to->kind == IN_BYTES) {
            const struct linear l = rapt__parameter_matrix(to, q->forward.block);
            rapt__int8_pack(c, from, l.out, l.in, NULL, (int8_t *)l.bytes, (float *)l.scale);
            rapt__int8_widen(c, &l, back);
        } else {
            rapt__copy(c, from, rapt__parameter_count(p), q->forward.block + to->offset);
            rapt__copy(c, from, rapt__parameter_count(p), back);
        }
    }
}

void rapt_trainer_set_quantized(rapt_trainer *trainer, int on)
{
    if (trainer) trainer->state.quantized = on != 0;
}
