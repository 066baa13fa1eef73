/* learned.c - a model that learns English and Chinese and finds the weights of Tom chase Jerry
   itself, from the loss only: the loss, its curve, and the parameters that it changes. */
#include "architecture.h"
#include "chase.h"
#include "kit/layers.h"
#include "kit/program.h"
#include "lesson.h"
#include <math.h>
#include <stdlib.h>

enum { N = CHASE_WORDS, CURVE = 25, PART = 6 /* steps per point of the curve */ };

static void draw_test(struct random *random, struct ids_pair *pair, const void *user)
{
    struct chase_pair drawn;
    (void)user;
    chase_draw(random, true, &drawn);
    *pair = drawn.ids;
}

/* Appends a map of the pair's cross-attention, with a row for each word of the translation. */
static void show_pair(struct page *page, enum page_detail detail, const char *title,
                      struct learner *small, const struct ids_pair *pair, float *weights)
{
    const char *rows[SMALL_TOKENS], *columns[SMALL_TOKENS + 1];
    for (int t = 0; t < pair->target.count; t++) rows[t] = chase_word(pair->target.at[t]);
    for (int s = 0; s < pair->source.count; s++) columns[s] = chase_word(pair->source.at[s]);
    columns[pair->source.count] = "(end)";
    small_weights(small, pair, RAPT_WEIGHTS_CROSS, -1, -1, weights);
    page_map(page, detail, title, pair->target.count, pair->source.count + 1, rows, columns,
             weights);
}

/* Returns the share of words of held-out sentences whose largest weight is on the word they
   translate. */
static double aligned(struct learner *small, struct random random)
{
    enum { SENTENCES = 200 };
    float weights[(SMALL_TOKENS + 1) * (SMALL_TOKENS + 1)];
    int right = 0, words = 0;
    for (int i = 0; i < SENTENCES; i++) {
        struct chase_pair pair;
        chase_draw(&random, true, &pair);
        int columns = pair.ids.source.count + 1;
        small_weights(small, &pair.ids, RAPT_WEIGHTS_CROSS, -1, -1, weights);
        for (int t = 0; t < pair.ids.target.count; t++)
            right += argmax(columns, weights + t * columns) == pair.source[t];
        words += pair.ids.target.count;
    }
    return (double)right / words;
}

/* ---- measures of claims ---- */
static double exact(struct learner *small, const void *seed)
{
    return small_exact(small, 320, draw_test, NULL, random_from(*(const uint64_t *)seed, 52));
}

static double all_aligned(struct learner *small, const void *seed)
{
    return aligned(small, random_from(*(const uint64_t *)seed, 53));
}

/* Writes the weights [N][N + 1] of Tom chase Jerry; returns the smallest of those that each word
   puts on the word it translates. */
static double own_weights(struct learner *small, float *weights)
{
    static const struct chase tom = {.subject = 0, .verb = 0, .object = 1, .where = -1};
    struct chase_pair pair;
    double least = INFINITY;
    chase_make(&tom, &pair);
    small_weights(small, &pair.ids, RAPT_WEIGHTS_CROSS, -1, -1, weights);
    for (int i = 0; i < N; i++) least = fmin(least, (double)weights[i * (N + 1) + i]);
    return least;
}

static double least_own(struct learner *small, const void *user)
{
    float weights[(SMALL_TOKENS + 1) * (SMALL_TOKENS + 1)];
    (void)user;
    return own_weights(small, weights);
}

/* ---- what training does ---- */
static void show_loss(struct page *page, const double *losses, int steps)
{
    double xs[CURVE], ys[CURVE] = {0}, rest = 0;
    page_step(page, "The loss");
    page_paragraph(
        page, SHORT,
        "The model predicts the probability of each Chinese word from the English sentence and the "
        "right Chinese words before it, even where it would have written others itself (teacher "
        "forcing). The loss is the mean of −log p of the right words (cross-entropy). It is 0 if "
        "the model is always sure and right, and log %d = %.2f if it guesses evenly among all "
        "words.",
        chase_vocabulary(), log(chase_vocabulary()));
    page_formula(page, SHORT, "L(w) = −frac{1}{T} ∑_{t=1}^T log p_w(y_t | y_1 … y_{t-1}, x)");
    page_paragraph(
        page, SHORT,
        "Every training step computes the gradient of L for %d sentence pairs by backpropagation, "
        "and moves all parameters w a little against it. The gradient passes through the weighted "
        "sum and the softmax into queries and keys. A translator with attention has three "
        "components: the encoder, the decoder, and the alignment model that scores each pair of "
        "their states (here W_q and W_k). All three are trained jointly, from this single number.",
        SMALL_BATCH);
    page_formula(page, SHORT, "w ← w − η frac{∂L}{∂w}");
    for (int i = 0; i < CURVE; i++) {
        xs[i] = (i + 0.5) * PART;
        for (int k = 0; k < PART; k++) ys[i] += losses[i * PART + k] / PART;
    }
    page_chart(page, SHORT, "Learning curve, its beginning", "training steps", "loss per word");
    page_curve(page, "sentences of a step, not trained on before", CURVE, xs, ys);
    for (int step = CURVE * PART; step < steps; step++) rest = fmax(rest, losses[step]);
    page_paragraph(page, SHORT,
                   "The remaining %d steps are not drawn; in them the loss is at most %.4f. The "
                   "trainer does not use η as it is: Adam (lesson 11) gives each parameter a step "
                   "size of its own.",
                   steps - CURVE * PART, rest);
}

static void translate_tom(struct learner *small, char *text, size_t size)
{
    static const struct chase tom = {.subject = 0, .verb = 0, .object = 1, .where = -1};
    struct chase_pair pair;
    struct ids out;
    size_t used = 0;
    chase_make(&tom, &pair);
    small_translate(small, &pair.ids, 1, &out);
    for (int i = 0; i < out.count && i < 4 && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? " " : "",
                                 chase_word(out.at[i]));
    if (out.count > 4 && used < size) snprintf(text + used, size - used, " …");
    if (out.count == 0) snprintf(text, size, "(nothing)");
}

/* Shows that a model is a function and a set of parameters, which training changes. */
static void show_parameters(struct page *page, struct learner *small)
{
    struct learner before;
    char text[2][200];
    const rapt_model *model = small->model;
    learner_create(&before, &small->setup);
    translate_tom(&before, text[0], sizeof text[0]);
    translate_tom(small, text[1], sizeof text[1]);
    page_step(page, "A model is a function and the set of its parameters");
    page_paragraph(
        page, SHORT,
        "The architecture defines a function m(x; w) of a sentence x and parameters w. The "
        "function is the same before and after training: all that was learned is in the %zu "
        "numbers of w, which form %d matrices and vectors. A model file holds these, their names, "
        "and the sizes that define the function. With two sets of parameters, the same function "
        "translates \"Tom chase Jerry\" as:",
        rapt_model_parameters(model), rapt_model_tensors(model));
    page_table(page, SHORT, "One function, two sets of parameters", "parameters\tm(x; w)");
    page_row(page, "w before training\t%s", text[0]);
    page_row(page, "w after training\t%s", text[1]);
    page_formula(page, SHORT, "y = m(x; w) ,  w = (E, W_q, W_k, W_v, W_o, …)");
    page_table(page, MORE, "The set w, and the mean absolute change of an element by training",
               "name\trows\tcolumns\tchange");
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        const rapt_tensor tensor = rapt_model_tensor(model, i);
        const size_t count = (size_t)tensor.rows * (size_t)tensor.columns;
        float *old = xcalloc(count, sizeof *old), *new = xcalloc(count, sizeof *new);
        double moved = 0;
        rapt_message why = {""};
        learner_check(rapt_model_read(before.model, i, old, &why), &why);
        learner_check(rapt_model_read(model, i, new, &why), &why);
        for (size_t k = 0; k < count; k++) moved += fabs((double)new[k] - (double)old[k]);
        page_row(page, "%s\t%d\t%d\t%.3f", tensor.name, tensor.rows, tensor.columns,
                 moved / (double)count);
        free(old), free(new);
    }
    learner_free(&before);
}

/* Draws the step that writes the second word of Tom chase Jerry. weights: [N][N + 1] */
static void draw_step(struct page *page, struct learner *small, const struct ids_pair *pair,
                      const float *weights)
{
    enum { STEP = 1 };
    const int vocabulary = chase_vocabulary();
    const char *source[N + 1];
    double probabilities[N];
    float *logits = xcalloc((size_t)((N + 1) * vocabulary), sizeof *logits);
    for (int i = 0; i < N; i++) source[i] = chase_english[i];
    source[N] = "(end)";
    small_logits(small, pair, logits);
    softmax(N, vocabulary, logits, logits);
    for (int t = 0; t < N; t++)
        probabilities[t] = (double)logits[t * vocabulary + pair->target.at[t]];
    show_drawn_step(page, STEP_LEARNED,
                    &(struct step_numbers){.sources = N + 1,
                                           .source = source,
                                           .step = STEP,
                                           .rows = N,
                                           .target = chase_chinese,
                                           .weights = weights,
                                           .probabilities = probabilities});
    free(logits);
}

static void show_weights(struct page *page, struct learner *small)
{
    static const struct chase tom = {.subject = 0, .verb = 0, .object = 1, .where = -1};
    static const struct chase denied = {
        .subject = 0, .verb = 0, .object = 1, .where = 0, .negated = true, .today = true};
    float weights[(SMALL_TOKENS + 1) * (SMALL_TOKENS + 1)];
    struct chase_pair pair;
    page_step(page, "The weights that it found");
    chase_make(&tom, &pair);
    page_formula(page, SHORT, "α_{ij} = softmax_j(frac{W_q d_i · W_k h_j}{sqrt{n}})");
    page_formula(page, MORE, "d_i, h_j: n ,  W_q, W_k: n × n");
    page_paragraph(page, SHORT,
                   "Here n is the number of elements of W_q d_i. Lesson 8 explains the projections "
                   "W_q, W_k and W_v, and lesson 9 the root.");
    show_pair(page, SHORT, "Learned weights: Tom chase Jerry", small, &pair.ids, weights);
    page_table(page, SHORT, "Weight of the word that a word translates", "word\tlecture\tlearned");
    for (int i = 0; i < N; i++)
        page_row(page, "%s %s\t%.2f\t%.2f", chase_chinese[i], chase_english[i],
                 (double)chase_weights[i][i], (double)weights[i * (N + 1) + i]);
    page_paragraph(page, SHORT,
                   "The lecture's weights are an illustration, and training is free to find "
                   "sharper ones. The smallest of its three is %.2f; the largest of the lecture's "
                   "is %.2f.",
                   least_own(small, NULL), (double)chase_weights[1][1]);
    page_paragraph(
        page, SHORT,
        "This is the step that writes the second word, after training. The gradient of its loss "
        "(see the legend for its color) follows the path of the numbers backwards: into the state "
        "of the decoder, the weights and the encodings. Everything that it passes through learns.");
    draw_step(page, small, &pair.ids, weights);
    chase_make(&denied, &pair);
    show_pair(page, MORE, "Learned weights: another order of words", small, &pair.ids, weights);
    page_paragraph(page, MORE,
                   "Nothing forces the weights to be an alignment. The encoder's self-attention "
                   "(lesson 10) may carry a word over to its neighbor, and with another seed "
                   "(--seed 3) the word is read there. The translations are right all the same.");
}

int lesson_learned(struct page *page, const struct lesson_options *options)
{
    const int steps = options->quick ? 300 : 800, vocabulary = chase_vocabulary();
    const rapt_config config = {.source_vocab = vocabulary,
                                .target_vocab = vocabulary,
                                .width = 32,
                                .heads = 1,
                                .ffn_width = 64,
                                .encoder_layers = 1,
                                .decoder_layers = 1,
                                .norm_order = RAPT_NORM_ORDER_POST};
    struct learner small;
    double *losses = xcalloc((size_t)steps, sizeof *losses);
    page_step(page, "Nobody says which word translates which");
    page_paragraph(
        page, SHORT,
        "A Transformer with one layer and one head learns from sentences like \"Tom chase Jerry\" "
        "and longer ones, in which Chinese puts time and place before the verb. (Lesson 11 takes a "
        "Transformer apart. Here only its cross-attention matters.) Three in ten combinations of "
        "who does what to whom are kept out of training, among them \"Tom chase Jerry\". The "
        "weights of lesson 4 appear nowhere in the data.");
    small_create(&small, &config, options->seed);
    small_train(&small, steps, 5e-3F, chase_draw_training, NULL, random_from(options->seed, 51),
                losses);
    show_loss(page, losses, steps);
    show_weights(page, &small);
    show_parameters(page, &small);
    learner_claim(&small, page, "unseen sentences that are translated exactly, share", exact,
                  &options->seed, AT_LEAST, 0.95);
    learner_claim(&small, page, "smallest of the three learned weights above", least_own, NULL,
                  AT_LEAST, 0.5);
    learner_claim(&small, page,
                  "words whose largest weight is on the word that they translate, share",
                  all_aligned, &options->seed, AT_LEAST, 0.6);
    free(losses);
    learner_free(&small);
    return EXIT_OK;
}
