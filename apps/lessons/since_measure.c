/* since_measure.c - weights of the small translators of lesson since, and measures of them. */
#include "kit/program.h"
#include "since.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
