/* stream.c - what a Transformer's residual stream predicts after each layer of the
   decoder, and by how much the heads of a layer differ. */
#include "inside.h"
#include "kit/layers.h"
#include "kit/program.h"
#include <math.h>
#include <stdlib.h>

/* Returns a model with the first `layers` layers of the decoder, whose parameters are found by
   name. */
static rapt_model *shortened(const rapt_model *model, int layers)
{
    rapt_config config = *rapt_model_config(model);
    rapt_model *copy = NULL;
    rapt_message why = {""};
    config.decoder_layers = layers;
    learner_check(rapt_model_create(&copy, &config, 1, NULL, &why), &why);
    for (int i = 0; i < rapt_model_tensors(copy); i++) {
        rapt_tensor tensor = rapt_model_tensor(copy, i);
        float *data = xcalloc((size_t)tensor.rows * (size_t)tensor.columns, sizeof *data);
        learner_check(rapt_model_read(model, rapt_model_find(model, tensor.name), data, &why),
                      &why);
        learner_check(rapt_model_write(copy, i, data, &why), &why);
        free(data);
    }
    return copy;
}

/* Sets probability [targets] and word [targets], the prediction of each step from the stream after
   `layers`. */
static void predict(const struct learner *small, const struct view *v, int layers, float *right,
                    int32_t *word)
{
    const int vocabulary = chase_vocabulary();
    struct learner cut = *small;
    cut.model = shortened(small->model, layers);
    cut.session = NULL;
    learner_session(&cut);
    float *logits = xcalloc((size_t)v->targets * (size_t)vocabulary, sizeof *logits);
    small_logits(&cut, v->pair, logits);
    softmax(v->targets, vocabulary, logits, logits);
    for (int t = 0; t < v->targets; t++) {
        int32_t wanted = t + 1 < v->targets ? v->pair->target.at[t] : RAPT_TOKEN_END;
        right[t] = logits[t * vocabulary + wanted];
        word[t] = argmax(vocabulary, logits + t * vocabulary);
    }
    free(logits);
    rapt_session_free(cut.session);
    rapt_model_free(cut.model);
}

/* Returns the mean probability of the right word after `layers` layers. */
static double mean_after(const struct learner *small, const struct view *v, int layers)
{
    float right[ROWS];
    int32_t words[ROWS];
    double mean = 0;
    predict(small, v, layers, right, words);
    for (int t = 0; t < v->targets; t++) mean += (double)right[t] / v->targets;
    return mean;
}

static double last_mean(struct learner *small, const void *view)
{
    return mean_after(small, view, DECODER_LAYERS);
}

static double gain(struct learner *small, const void *view)
{
    return last_mean(small, view) - mean_after(small, view, 1);
}

void show_stream(struct view *v)
{
    float right[DECODER_LAYERS][ROWS];
    int32_t words[DECODER_LAYERS][ROWS];
    for (int l = 0; l < DECODER_LAYERS; l++) predict(v->small, v, l + 1, right[l], words[l]);
    page_step(v->page, "Each layer adds to a residual stream");
    page_paragraph(
        v->page, SHORT,
        "Each layer adds its result to the vector of a word and passes on the sum, which is called "
        "the residual stream. The output matrix can therefore read the stream after any layer and "
        "show what the decoder would write if it ended there (the logit lens). This model is "
        "pre-norm: norms are applied only to what a sublayer reads, and the stream itself changes "
        "only by sums. One last norm lies between the stream and the output matrix; it is applied "
        "in every column of the table.");
    page_table(v->page, SHORT,
               "Most likely next word after each layer, and the probability of the right word in %",
               "after\tlayer 1\tlayer 2\tlayer 3");
    for (int t = 0; t < v->targets; t++)
        page_row(v->page, "%s\t%s %.0f\t%s %.0f\t%s %.0f", v->target[t], chase_word(words[0][t]),
                 100 * (double)right[0][t], chase_word(words[1][t]), 100 * (double)right[1][t],
                 chase_word(words[2][t]), 100 * (double)right[2][t]);
    learner_claim(v->small, v->page, "mean probability of the right word after the last layer",
                  last_mean, v, AT_LEAST, 0.9);
    learner_claim(v->small, v->page,
                  "mean probability of the right word: last layer minus first layer", gain, v,
                  ABOVE, 0.05);
}

/* ---- by how much the heads of one layer differ in what they read ---- */

enum { SENTENCES = 64, WEIGHTS = ROWS * ROWS };

struct pair_of_heads { /* the two heads of one layer that differ most, and by how much */
    int layer, heads[2];
    double distance;
};

/* Adds to `sums` for each pair of heads the mean distance of their rows in one sentence. */
static void add_distances(struct learner *small, const struct ids_pair *pair, int layer,
                          float (*weights)[WEIGHTS], double sums[HEADS][HEADS])
{
    const int rows = pair->target.count + 1, columns = pair->source.count + 1;
    for (int h = 0; h < HEADS; h++)
        small_weights(small, pair, RAPT_WEIGHTS_CROSS, layer, h, weights[h]);
    for (int a = 0; a < HEADS; a++)
        for (int b = 0; b < a; b++)
            for (int i = 0; i < rows * columns; i++)
                sums[a][b] += fabs((double)(weights[a][i] - weights[b][i])) / 2 / rows;
}

static struct pair_of_heads most_different(struct learner *small, uint64_t seed)
{
    struct pair_of_heads most = {0, {0, 0}, -1};
    float(*weights)[WEIGHTS] = xcalloc(HEADS, sizeof *weights);
    for (int layer = 0; layer < DECODER_LAYERS; layer++) {
        struct random random = random_from(seed, 85);
        double sums[HEADS][HEADS] = {{0}};
        for (int i = 0; i < SENTENCES; i++) {
            struct chase_pair pair;
            chase_draw(&random, true, &pair);
            add_distances(small, &pair.ids, layer, weights, sums);
        }
        for (int a = 0; a < HEADS; a++)
            for (int b = 0; b < a; b++)
                if (sums[a][b] / SENTENCES > most.distance)
                    most = (struct pair_of_heads){layer, {b, a}, sums[a][b] / SENTENCES};
    }
    free(weights);
    return most;
}

static double largest_distance(struct learner *small, const void *seed)
{
    return most_different(small, *(const uint64_t *)seed).distance;
}

void show_head_distances(struct page *page, struct learner *small, uint64_t seed)
{
    const struct pair_of_heads most = most_different(small, seed);
    page_paragraph(
        page, SHORT,
        "Do the heads of one layer ask different questions? In %d sentences that were kept out of "
        "training, we compare the rows of two heads of cross-attention word by word. Their "
        "distance is 0 if they read the same, and 1 if they have nothing in common. Heads %d and "
        "%d of layer %d differ most, by %.2f on average.",
        SENTENCES, most.heads[0] + 1, most.heads[1] + 1, most.layer + 1, most.distance);
    learner_claim(small, page,
                  "cross-attention: distance of the two heads of a layer that differ most",
                  largest_distance, &seed, AT_LEAST, 0.4);
}
