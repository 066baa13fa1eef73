/* since.c - what changed in attention since 2017: the same small translator with one change each,
   ordered by the four questions that the changes answer; weights of these translators, and measures
   of them. */
#include "since.h"
#include "kit/demo.h"
#include "kit/program.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const since_names[SINCE_VARIANTS] = {"2017",
                                                 "attention sinks",
                                                 "gated outputs",
                                                 "differential",
                                                 "sigmoid",
                                                 "sparsemax",
                                                 "α-entmax",
                                                 "QK-norm",
                                                 "forgetting",
                                                 "rotary positions",
                                                 "window, global word",
                                                 "latent rows"};
const struct chase since_sentence = {
    .subject = 0, .verb = 0, .object = 1, .where = 0, .negated = true, .today = true};

rapt_config since_config(void)
{
    const int vocabulary = chase_vocabulary();
    return (rapt_config){.source_vocab = vocabulary,
                         .target_vocab = vocabulary,
                         .width = SINCE_WIDTH,
                         .heads = SINCE_HEADS,
                         .ffn_width = 2 * SINCE_WIDTH,
                         .encoder_layers = 1,
                         .decoder_layers = 1,
                         .norm_order = RAPT_NORM_ORDER_PRE};
}

/* Changes the attention of 2017 in one way. */
static void change_attention(rapt_config *c, enum since_variant variant)
{
    static const rapt_normalizer normalizers[SINCE_VARIANTS] = {
        [SINCE_SINK] = RAPT_NORMALIZER_SINK_SOFTMAX,
        [SINCE_SIGMOID] = RAPT_NORMALIZER_SIGMOID,
        [SINCE_SPARSEMAX] = RAPT_NORMALIZER_SPARSEMAX,
        [SINCE_ENTMAX] = RAPT_NORMALIZER_ENTMAX};
    c->self_normalizer = c->cross_normalizer = normalizers[variant];
    if (variant == SINCE_GATE) c->output_gate = RAPT_OUTPUT_GATE_HEAD;
    if (variant == SINCE_DIFFERENCE) c->differential = 1;
    if (variant == SINCE_NORMED) c->query_key_norm = 1;
    if (variant == SINCE_FORGET) c->forget_gate = 1;
    if (variant == SINCE_ROTARY) c->position = RAPT_POSITION_NONE, c->rotary = RAPT_ROTARY_HALVES;
    if (variant == SINCE_WINDOW) {
        c->self_locality = RAPT_LOCALITY_SPARSE;
        c->self_radius = 1, c->global_tokens = 1;
    }
    if (variant == SINCE_LATENT) c->latent_width = SINCE_LATENT_WIDTH;
}

static void create_model(struct since *since, enum since_variant variant)
{
    struct since_model *model = &since->models[variant];
    rapt_config config = since_config();
    change_attention(&config, variant);
    *model = (struct since_model){.since = since};
    small_create(&model->small, &config, since->options->seed);
}

/* Called in threads. */
static void *train_model(void *argument)
{
    struct since_model *model = argument;
    const struct since *since = model->since;
    model->exact[0] = since_exact(&model->small);
    small_train(&model->small, since->steps, 5e-3F, chase_draw_training, NULL,
                random_from(since->options->seed, 91), NULL);
    model->exact[1] = since_exact(&model->small);
    return NULL;
}

static void show_question(struct since *since)
{
    struct page *page = since->page;
    page_step(page, "Four rules of softmax, and four questions");
    page_paragraph(
        page, SHORT,
        "Attention as it was in 2017 obeys four rules. A word gives away all of its weight, which "
        "is 1, even if it needs nothing. Every word that it sees gets some of this weight, since "
        "exp is never 0. A score does not know how far away a word is, unless positions tell it. "
        "And each of n words is compared with all n, which makes n² scores. Nobody chose these "
        "rules for the sake of language; they follow from the formula.");
    page_formula(page, SHORT, "a_{ts} = frac{exp(e_{ts})}{∑_j exp(e_{tj})}");
    page_paragraph(
        page, SHORT,
        "What has changed since then is best understood as answers to four questions, one for each "
        "rule. Where may weight go that nobody needs? Must weights be positive and sum to 1? How "
        "far may attention look? What does it cost? To see the answers, one small translator is "
        "trained %d times: once as in 2017, and once for each change. It has one layer in each "
        "half and %d heads, and learns to translate from English to Chinese, as in lesson 7, in %d "
        "steps. The seed and the sentences are always the same. All maps show one sentence, which "
        "was kept out of training.",
        SINCE_VARIANTS, SINCE_HEADS, since->steps);
}

/* Shows the sentence as the translator of 2017 reads it. */
static void show_2017(struct since *since)
{
    struct learner *small = &since->models[SINCE_2017].small;
    struct since_map map;
    since_weights(small, &since->pair, since_cross, &map);
    since_show(since->page, SHORT, "2017: cross-attention, mean of the heads", &map);
    page_paragraph(
        since->page, SHORT,
        "Each Chinese word (row) finds its English word, or a neighbor that has read it in the "
        "encoder. Most rows need one or two words, and still no weight of the map is 0.");
    page_claim(since->page, "2017: weights of the sentence shown that are exactly 0",
               since_zeros(&map), EQUALS, 0);
}

static void show_all(struct since *since)
{
    struct page *page = since->page;
    double worst[2] = {1, 1};
    page_table(page, SHORT, "Unseen sentences translated exactly, and rows of cross-attention",
               "change\texact, %\trow sum\tread\tparameters");
    for (int i = 0; i < SINCE_VARIANTS; i++) {
        struct since_model *model = &since->models[i];
        page_row(page, "%s\t%.0f\t%.2f\t%.1f\t%zu", since_names[i], 100 * model->exact[1],
                 1 - since_mean(&model->small, since_cross, since_unused),
                 since_mean(&model->small, since_cross, since_seen),
                 rapt_model_parameters(model->small.model));
        for (int trained = 0; trained < 2; trained++)
            if (model->exact[trained] < worst[trained]) worst[trained] = model->exact[trained];
    }
    page_paragraph(
        page, SHORT,
        "A word is counted as read if its weight is at least 1 %%. All translators learn this "
        "language, so the changes cannot be judged by how well they translate here: they were made "
        "for models a million times as large. What we can see here is what they do to the "
        "weights.");
    page_claim_learned(page, "the worst translator: unseen sentences translated exactly, %",
                       100 * worst[1], 100 * worst[0], AT_LEAST, 60);
}

static void show_summary(struct page *page)
{
    page_step(page, "All answers");
    page_table(page, SHORT, "What was softmax in 2017, and what was made of it",
               "question\tchange\tweights, output or state");
    page_row(page, "Where to?\tattention sink\texp(e) / (exp b + Σ exp e)");
    page_row(page, "\tgated output\tσ(W x) times the result of a head");
    page_row(page, "\tdifferential\tsoftmax(e) − λ softmax(e′)");
    page_row(page, "What sum?\tsigmoid\tσ(e + b), each by itself");
    page_row(page, "\tsparsemax, entmax\tmax(0, e − τ), or a power of it");
    page_row(page, "\tQK-norm\tq and k of fixed length");
    page_row(page, "How far?\tforgetting\te + the sum of log f in between");
    page_row(page, "\tscaled rotary\tslower angles for longer texts");
    page_row(page, "\twindow, global words\tonly a few e are computed");
    page_row(page, "What cost?\tlatent rows\tk = A c, v = B c for all heads");
    page_row(page, "\tlinear\tS + k v, read by q S");
    page_row(page, "\tgated delta rule\tα S, corrected by β k (v − k S)");
    page_paragraph(
        page, SHORT,
        "The questions are independent, and so are the answers: a model may combine QK-norm, "
        "gates, windows in some layers and a state in others, as many of today's do. What remains "
        "of 2017 is what the first lessons were about: a query asks, keys answer, and values are "
        "mixed.");
}

int lesson_since(struct page *page, const struct lesson_options *options)
{
    struct since *since = xcalloc(1, sizeof *since);
    struct chase_pair pair;
    chase_make(&since_sentence, &pair);
    *since = (struct since){
        .page = page, .options = options, .pair = pair.ids, .steps = options->quick ? 250 : 400};
    show_question(since);
    for (int i = 0; i < SINCE_VARIANTS; i++) create_model(since, (enum since_variant)i);
    run_threads(train_model, since->models, SINCE_VARIANTS, sizeof *since->models,
                options->threads);
    show_2017(since);
    show_all(since);
    since_nowhere(since);
    since_sums(since);
    since_far(since);
    since_cost(since);
    show_summary(page);
    for (int i = 0; i < SINCE_VARIANTS; i++) learner_free(&since->models[i].small);
    free(since);
    return EXIT_OK;
}

/* ---- weights of the translators, and measures of them ---- */

enum { SENTENCES = 32 };
const struct since_head since_cross = {RAPT_WEIGHTS_CROSS, -1};

static int name_words(const char **names, const char *begin, const struct ids *ids, const char *end)
{
    int count = 0;
    if (begin != NULL) names[count++] = begin;
    for (int i = 0; i < ids->count; i++) names[count++] = chase_word(ids->at[i]);
    if (end != NULL) names[count++] = end;
    return count;
}

void since_weights(struct learner *small, const struct ids_pair *pair, struct since_head which,
                   struct since_map *map)
{
    const bool encoder = which.which == RAPT_WEIGHTS_ENCODER;
    map->rows = name_words(map->row, NULL, encoder ? &pair->source : &pair->target, "(end)");
    if (which.which == RAPT_WEIGHTS_DECODER)
        map->columns = name_words(map->column, "(begin)", &pair->target, NULL);
    else
        map->columns = name_words(map->column, NULL, &pair->source, "(end)");
    small_weights(small, pair, which.which, 0, which.head, map->weights);
}

void since_add_rest(struct since_map *map, const char *name)
{
    const int columns = map->columns++;
    map->column[columns] = name;
    for (int r = map->rows - 1; r >= 0; r--) {
        float *row = map->weights + r * map->columns;
        memmove(row, map->weights + r * columns, (size_t)columns * sizeof *row);
        row[columns] = 1;
        for (int c = 0; c < columns; c++) row[columns] -= row[c];
    }
}

void since_show(struct page *page, enum page_detail detail, const char *title,
                const struct since_map *map)
{
    page_map(page, detail, title, map->rows, map->columns, map->row, map->column, map->weights);
}

double since_mean(struct learner *small, struct since_head which, since_map_fn *measure)
{
    struct random random = random_from(small->setup.seed, 92);
    struct since_map map;
    double sum = 0;
    for (int i = 0; i < SENTENCES; i++) {
        struct chase_pair pair;
        chase_draw(&random, true, &pair);
        since_weights(small, &pair.ids, which, &map);
        sum += measure(&map);
    }
    return sum / SENTENCES;
}

struct since_head since_most(struct learner *small, since_map_fn *measure)
{
    static const rapt_weights all[] = {RAPT_WEIGHTS_ENCODER, RAPT_WEIGHTS_DECODER,
                                       RAPT_WEIGHTS_CROSS};
    struct since_head most = {RAPT_WEIGHTS_CROSS, 0};
    double largest = -INFINITY;
    for (int i = 0; i < 3 * SINCE_HEADS; i++) {
        const struct since_head head = {all[i / SINCE_HEADS], i % SINCE_HEADS};
        const double mean = since_mean(small, head, measure);
        if (mean > largest) largest = mean, most = head;
    }
    return most;
}

static double row_sum(const struct since_map *map, int row)
{
    double sum = 0;
    for (int c = 0; c < map->columns; c++) sum += (double)map->weights[row * map->columns + c];
    return sum;
}

double since_unused(const struct since_map *map)
{
    double sum = 0;
    for (int r = 0; r < map->rows; r++) sum += row_sum(map, r);
    return 1 - sum / map->rows;
}

double since_zeros(const struct since_map *map)
{
    int zeros = 0;
    for (int i = 0; i < map->rows * map->columns; i++) zeros += !(fabsf(map->weights[i]) > 0);
    return zeros;
}

double since_read(const struct since_map *map)
{
    return map->columns - since_zeros(map) / map->rows;
}

double since_seen(const struct since_map *map)
{
    int seen = 0;
    for (int i = 0; i < map->rows * map->columns; i++) seen += fabsf(map->weights[i]) >= 0.01F;
    return (double)seen / map->rows;
}

double since_apart(const struct since_map *map)
{
    double most = -INFINITY, least = INFINITY;
    for (int r = 0; r < map->rows; r++) {
        most = fmax(most, row_sum(map, r));
        least = fmin(least, row_sum(map, r));
    }
    return most - least;
}

double since_least(const struct since_map *map)
{
    double least = INFINITY;
    for (int i = 0; i < map->rows * map->columns; i++) least = fmin(least, (double)map->weights[i]);
    return least;
}

double since_bits(const struct since_map *map)
{
    double sum = 0;
    for (int i = 0; i < map->rows * map->columns; i++) {
        const double weight = (double)map->weights[i];
        if (weight > 0) sum -= weight * log2(weight);
    }
    return sum / map->rows;
}

const char *since_which(rapt_weights which)
{
    return which == RAPT_WEIGHTS_ENCODER   ? "self-attention of the encoder"
           : which == RAPT_WEIGHTS_DECODER ? "self-attention of the decoder"
                                           : "cross-attention";
}

static void draw_unseen(struct random *random, struct ids_pair *pair, const void *user)
{
    struct chase_pair drawn;
    (void)user;
    chase_draw(random, true, &drawn);
    *pair = drawn.ids;
}

double since_exact(struct learner *small)
{
    return small_exact(small, SINCE_TESTS, draw_unseen, NULL, random_from(small->setup.seed, 93));
}

/* ---- parameters ---- */
static int find_parameter(const struct learner *small, const char *name)
{
    const int index = rapt_model_find(small->model, name);
    if (index < 0) exit(failed("the model has no parameter %s", name));
    return index;
}

float *since_parameter(const struct learner *small, const char *name, rapt_tensor *tensor)
{
    const int index = find_parameter(small, name);
    rapt_message why = {""};
    *tensor = rapt_model_tensor(small->model, index);
    float *data = xcalloc((size_t)tensor->rows * (size_t)tensor->columns, sizeof *data);
    learner_check(rapt_model_read(small->model, index, data, &why), &why);
    return data;
}

/* Sets x to the normalized input of self-attention in the first layer: word `id` at a position. */
static void gate_input(float *const p[3], int id, int position, double x[SINCE_WIDTH])
{
    enum { WIDTH = SINCE_WIDTH };
    double mean = 0, variance = 0;
    for (int i = 0; i < WIDTH; i++) {
        const double angle = position / pow(10000, (double)(i / 2 * 2) / WIDTH);
        x[i] = (double)p[0][id * WIDTH + i] * sqrt(WIDTH) + (i % 2 ? cos(angle) : sin(angle));
        mean += x[i] / WIDTH;
    }
    for (int i = 0; i < WIDTH; i++) variance += (x[i] - mean) * (x[i] - mean) / WIDTH;
    for (int i = 0; i < WIDTH; i++)
        x[i] = (x[i] - mean) / sqrt(variance + 1e-5) * (double)p[1][i] + (double)p[2][i];
}

static float *half_parameter(const struct learner *small, const char *half, const char *rest)
{
    rapt_tensor tensor;
    char *name = xasprintf("%s.%s", half, rest);
    float *data =
        rapt_model_find(small->model, name) < 0 ? NULL : since_parameter(small, name, &tensor);
    free(name);
    return data;
}

void since_gates(const struct learner *small, const char *half, const char *gate, int count,
                 const int32_t *ids, float *gates)
{
    char *names[2] = {xasprintf("layers.0.self_attn.%s.weight", gate),
                      xasprintf("layers.0.self_attn.%s.bias", gate)};
    float *p[] = {half_parameter(small, half, "embedding.weight"),
                  half_parameter(small, half, "layers.0.self_attn.norm.weight"),
                  half_parameter(small, half, "layers.0.self_attn.norm.bias"),
                  half_parameter(small, half, names[0]), half_parameter(small, half, names[1])};
    for (int t = 0; t < count; t++) {
        double x[SINCE_WIDTH];
        gate_input(p, ids[t], t, x);
        for (int h = 0; h < SINCE_HEADS; h++) {
            double sum = p[4] != NULL ? (double)p[4][h] : 0;
            for (int i = 0; i < SINCE_WIDTH; i++) sum += (double)p[3][h * SINCE_WIDTH + i] * x[i];
            gates[t * SINCE_HEADS + h] = (float)(1 / (1 + exp(-sum)));
        }
    }
    for (int i = 0; i < 5; i++) free(p[i]);
    free(names[0]), free(names[1]);
}

void since_scale(struct learner *small, const char *name, float factor)
{
    rapt_tensor tensor;
    rapt_message why = {""};
    float *data = since_parameter(small, name, &tensor);
    for (int i = 0; i < tensor.rows * tensor.columns; i++) data[i] *= factor;
    learner_check(rapt_model_write(small->model, find_parameter(small, name), data, &why), &why);
    free(data);
}

void since_copy(const struct learner *from, struct learner *to)
{
    for (int i = 0; i < rapt_model_tensors(from->model); i++) {
        rapt_tensor tensor = rapt_model_tensor(from->model, i);
        rapt_message why = {""};
        float *data = since_parameter(from, tensor.name, &tensor);
        const int index = find_parameter(to, tensor.name);
        learner_check(rapt_model_write(to->model, index, data, &why), &why);
        free(data);
    }
}
