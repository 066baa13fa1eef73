/* block.c - the Transformer block: self-attention, cross-attention, feed-forward layer, residual
   sums and norms, in a small Transformer that was trained on the grammar of chase.h. */
#include "architecture.h"
#include "chase.h"
#include "kit/layers.h"
#include "kit/program.h"
#include "parts.h"
#include <math.h>
#include <stdlib.h>

enum { HEADS = 4, ENCODER_LAYERS = 2, DECODER_LAYERS = 3, ROWS = SMALL_TOKENS + 1 };
struct view {
    struct page *page;
    struct learner *small;
    const struct ids_pair *pair;
    const char *source[ROWS], *target[ROWS]; /* words and (end); (begin) and words */
    const char *written[ROWS];               /* words and (end) of the translation */
    int sources, targets;
    float weights[ROWS * ROWS];
};

/* ---- what the residual stream predicts after each layer of the decoder ---- */

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

static void show_stream(struct view *v)
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

static void show_head_distances(struct page *page, struct learner *small, uint64_t seed)
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

/* ---- attention and masks of the block ---- */

/* Collects the names of tokens between begin and end, which are "" if they are not wanted. */
static int name_tokens(const struct ids *ids, const char *begin, const char *end,
                       const char **names)
{
    int count = 0;
    if (*begin) names[count++] = begin;
    for (int i = 0; i < ids->count; i++) names[count++] = chase_word(ids->at[i]);
    if (*end) names[count++] = end;
    return count;
}

/* Shows weights of a decoder's layer, the mean of its heads. Rows are the words written. */
static void show_weights(struct view *v, const char *title, rapt_weights which, int layer)
{
    const bool cross = which == RAPT_WEIGHTS_CROSS;
    small_weights(v->small, v->pair, which, layer, -1, v->weights);
    page_map(v->page, MORE, title, v->targets, cross ? v->sources : v->targets, v->written,
             cross ? v->source : v->target, v->weights);
}

static void show_decoder(struct view *v, uint64_t seed)
{
    page_step(v->page, "The decoder: a mask, and cross-attention");
    page_paragraph(
        v->page, SHORT,
        "The maps of this section and the table of the residual stream show another model. It has "
        "%d layers in the encoder, %d in the decoder and %d heads, is pre-norm, and translates "
        "from English to Chinese, as in lesson 7. The decoder attends to what it has already "
        "written. A causal mask hides everything after a word, so that all words of a translation "
        "can be trained at the same time.",
        ENCODER_LAYERS, DECODER_LAYERS, HEADS);
    page_formula(v->page, MORE, "e_{ts} = −∞ text{ for } s > t");
    show_weights(v, "Decoder, layer 1, mean of the heads: nothing above the diagonal",
                 RAPT_WEIGHTS_DECODER, 0);
    page_paragraph(v->page, MORE,
                   "Cross-attention is prototype 4 again: the queries come from the decoder, keys "
                   "and values from the encoder. So the encoder asks itself, the decoder its own "
                   "past, and the decoder the encoder. The model has no recurrence: words "
                   "influence each other only through attention. Each row is labeled by the word "
                   "that it writes.");
    show_weights(v, "Cross-attention, last layer, mean of the heads", RAPT_WEIGHTS_CROSS,
                 DECODER_LAYERS - 1);
    small_play(v->small, v->page, v->pair, chase_word, chase_is_english);
    show_head_distances(v->page, v->small, seed);
}

/* ---- the parts ---- */
enum { PARTS = 5 };
static const struct part {
    const char *name;
    rapt_norm_order order;
    rapt_position position;
    int ffn, heads;
} parts[PARTS] = {
    {"all parts, post-norm", RAPT_NORM_ORDER_POST, RAPT_POSITION_INTERLEAVED, 64, HEADS},
    {"all parts, pre-norm", RAPT_NORM_ORDER_PRE, RAPT_POSITION_INTERLEAVED, 64, HEADS},
    {"one head, pre-norm", RAPT_NORM_ORDER_PRE, RAPT_POSITION_INTERLEAVED, 64, 1},
    {"no feed-forward layer, pre-norm", RAPT_NORM_ORDER_PRE, RAPT_POSITION_INTERLEAVED, 0, HEADS},
    {"no positions, pre-norm", RAPT_NORM_ORDER_PRE, RAPT_POSITION_NONE, 64, HEADS}};
enum { POST, PRE, UNPOSITIONED = PARTS - 1 };

static void draw_test(struct random *random, struct ids_pair *pair, const void *user)
{
    struct chase_pair drawn;
    (void)user;
    chase_draw(random, true, &drawn);
    *pair = drawn.ids;
}

static double exact(struct learner *small, const void *seed)
{
    return small_exact(small, 192, draw_test, NULL, random_from(*(const uint64_t *)seed, 84));
}

/* Creates a model of one layer in each half with these parts. */
static void part_create(struct learner *small, const struct part *part, uint64_t seed)
{
    const rapt_config config = {.source_vocab = chase_vocabulary(),
                                .target_vocab = chase_vocabulary(),
                                .width = 32,
                                .heads = part->heads,
                                .ffn_width = part->ffn,
                                .encoder_layers = 1,
                                .decoder_layers = 1,
                                .position = part->position,
                                .norm_order = part->order};
    small_create(small, &config, seed);
}

static void show_ablation(struct page *page, const struct lesson_options *options)
{
    double trained[PARTS], untrained[PARTS];
    size_t parameters[PARTS];
    page_step(page, "Which parts a small language needs");
    page_paragraph(page, SHORT,
                   "Five small Transformers, one layer in each half, learn the English and Chinese "
                   "of lesson 7. Each is trained for %d steps.",
                   options->quick ? 200 : 300);
    page_table(page, SHORT, "Unseen sentences translated exactly",
               "model\tparameters\tloss\texact, %");
    for (int i = 0; i < PARTS; i++) {
        const int steps = options->quick ? 200 : 300;
        double *losses = xcalloc((size_t)steps, sizeof *losses);
        struct learner small;
        part_create(&small, &parts[i], options->seed);
        untrained[i] = 100 * exact(&small, &options->seed);
        small_train(&small, steps, 5e-3F, chase_draw_training, NULL, random_from(options->seed, 83),
                    losses);
        trained[i] = 100 * exact(&small, &options->seed);
        parameters[i] = rapt_model_parameters(small.model);
        page_row(page, "%s\t%zu\t%.2f\t%.1f", parts[i].name, parameters[i], losses[steps - 1],
                 trained[i]);
        learner_free(&small);
        free(losses);
    }
    page_paragraph(
        page, SHORT,
        "All of them keep the norms, residual sums and masks. This language is so small that a "
        "model can learn it with one head, or without a feed-forward layer. It cannot learn it "
        "without positions, since attention does not know the order of words: \"A chase B\" and "
        "\"B chase A\" look the same to the model. One would expect a guess to be right half of "
        "the time. But at most one of the two is kept out of training, so the model always writes "
        "the order that it has seen, and for the sentences kept out that is the wrong one. "
        "Pre-norm models have %zu more parameters than the post-norm one, since each of their "
        "halves ends with one more norm. For the translation of real text, table 3 of the paper "
        "shows what each part contributes.",
        parameters[PRE] - parameters[POST]);
    page_claim_learned(page, "post-norm: unseen sentences translated exactly, %", trained[POST],
                       untrained[POST], AT_LEAST, 80);
    page_claim_learned(page, "pre-norm: unseen sentences translated exactly, %", trained[PRE],
                       untrained[PRE], AT_LEAST, 80);
    page_claim_learned(page,
                       "pre-norm: sentences translated exactly, minus those without positions, %",
                       trained[PRE] - trained[UNPOSITIONED],
                       untrained[PRE] - untrained[UNPOSITIONED], AT_LEAST, 20);
}

static void show_figure(struct page *page, const struct lesson_options *options)
{
    page_step(page, "The whole picture");
    page_paragraph(
        page, SHORT,
        "This is figure 1 of \"Attention Is All You Need\" (Vaswani et al. 2017), with the numbers "
        "of a real step. A model of %d layers with %d heads, trained for a few seconds on the "
        "German of earlier lessons, writes the second word of its translation of \"cats do not "
        "like dogs\". Read it from the bottom up. The vector x of a word enters each sublayer and "
        "also bypasses it on the right. In the left half, the source attends to itself. In the "
        "right half, the words written so far attend to themselves and then ask the source. Each "
        "attention in the picture ends as in lesson 10: the results of its %d heads are "
        "concatenated and multiplied by W_o before they are added to x.",
        BLOCK_LAYERS, BLOCK_HEADS, BLOCK_HEADS);
    show_transformer(page, options);
}

static void show_norm(struct page *page)
{
    enum { NUMBERS = 4 };
    static const float x[NUMBERS] = {2, 4, 4, 10};
    struct params params;
    struct norm norm;
    float y[NUMBERS];
    params_create(&params, 2 * NUMBERS);
    norm_create(&norm, &params, NUMBERS);
    norm_forward(&norm, 1, x, y);
    params_free(&params);
    page_paragraph(page, SHORT,
                   "A norm brings the numbers of each vector to mean 0 and variance 1, and then "
                   "gives each place a learned gain γ and shift β. With γ = 1 and β = 0 it turns "
                   "(%.0f, %.0f, %.0f, %.0f) into (%.2f, %.2f, %.2f, %.2f). Without norms, vectors "
                   "would grow with every sum, and scores with them.",
                   (double)x[0], (double)x[1], (double)x[2], (double)x[3], (double)y[0],
                   (double)y[1], (double)y[2], (double)y[3]);
    page_formula(page, SHORT, "norm(x) = γ frac{x − μ}{sqrt{σ^2 + ε}} + β");
}

static void show_training(struct page *page)
{
    enum { POINTS = 20, WARMUP = 4000, WIDTH = 512 };
    double xs[POINTS], ys[POINTS];
    page_step(page, "How the paper trains it");
    page_paragraph(
        page, SHORT,
        "The optimizer is Adam. The learning rate first grows for %d steps (warm-up), since early "
        "gradients are unreliable, and then falls in proportion to 1/√step. Training does not ask "
        "for the right word alone: that word gets 0.9 of the probability and all others share 0.1 "
        "(label smoothing), so that the model does not become too sure of itself. Dropout sets a "
        "tenth of the numbers that a sublayer adds, chosen at random, to 0. In translation, beam "
        "search keeps the few most likely beginnings instead of only one (greedy search). BLEU "
        "compares the result with a human translation: it counts how many of its sequences of one "
        "to four words occur there. toy_translate does all of this.",
        WARMUP);
    page_formula(page, SHORT, "η(s) = w^{-1/2} min(s^{-1/2}, s ⋅ 4000^{-3/2})");
    for (int i = 0; i < POINTS; i++) {
        const double step = 1000.0 * (i + 1);
        xs[i] = step / 1000;
        ys[i] = 1000 * fmin(1 / sqrt(step), step / pow(WARMUP, 1.5)) / sqrt(WIDTH);
    }
    page_chart(page, MORE, "Learning rate of the paper (width 512)", "thousand steps",
               "rate, times 1000");
    page_curve(page, "warm-up, then the inverse square root", POINTS, xs, ys);
}

static void show_sublayers(struct page *page)
{
    page_step(page, "Feed-forward layer, residual sum, norm");
    page_paragraph(
        page, SHORT,
        "Attention only mixes vectors: its result is a weighted sum of values, which are linear in "
        "x. The feed-forward layer computes something new from the mixture. It is applied to each "
        "word by itself, always with the same two matrices: the first turns %d numbers into %d, "
        "negative ones are set to 0, and the second turns the result into %d numbers again.",
        BLOCK_WIDTH, BLOCK_FFN, BLOCK_WIDTH);
    page_formula(page, SHORT, "FFN(x) = W_2 max(0, W_1 x + b_1) + b_2");
    page_formula(page, MORE, "x, b_2, γ, β: w ,  W_1: f × w ,  b_1: f ,  W_2: w × f");
    page_paragraph(
        page, SHORT,
        "Each of these sublayers, attention or feed-forward, adds its result to the vector x that "
        "it read. The sum gives the gradient a way around each sublayer, just as attention gives "
        "it one around the time steps.");
    show_norm(page);
    page_paragraph(
        page, SHORT,
        "Let S be a sublayer. The paper puts the norm after the sum (post-norm), as in the "
        "picture. Most models since then put it before the sublayer (pre-norm), which leaves the "
        "sums themselves untouched and makes deep models easier to train. In rapt, the field "
        "norm_order of rapt_config chooses between the two.");
    page_formula(page, SHORT, "text{post-norm: } x ← norm(x + S(x))");
    page_formula(page, SHORT, "text{pre-norm: } x ← x + S(norm(x))");
}

int lesson_block(struct page *page, const struct lesson_options *options)
{
    static const struct chase sentence = {
        .subject = 0, .verb = 0, .object = 1, .where = 0, .negated = true, .today = true};
    const int vocabulary = chase_vocabulary();
    const rapt_config config = {.source_vocab = vocabulary,
                                .target_vocab = vocabulary,
                                .width = 32,
                                .heads = HEADS,
                                .ffn_width = 64,
                                .encoder_layers = ENCODER_LAYERS,
                                .decoder_layers = DECODER_LAYERS,
                                .norm_order = RAPT_NORM_ORDER_PRE};
    struct learner small;
    struct chase_pair pair;
    chase_make(&sentence, &pair);
    small_create(&small, &config, options->seed);
    small_train(&small, options->quick ? 200 : 500, 5e-3F, chase_draw_training, NULL,
                random_from(options->seed, 81), NULL);
    struct view view = {.page = page, .small = &small, .pair = &pair.ids};
    view.sources = name_tokens(&pair.ids.source, "", "(end)", view.source);
    view.targets = name_tokens(&pair.ids.target, "(begin)", "", view.target);
    name_tokens(&pair.ids.target, "", "(end)", view.written);
    show_figure(page, options);
    show_sublayers(page);
    show_ablation(page, options);
    show_decoder(&view, options->seed);
    show_masks(page, options->seed);
    show_stream(&view);
    show_training(page);
    learner_free(&small);
    return EXIT_OK;
}
