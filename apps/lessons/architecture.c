/* architecture.c - collects the words, weights and scores of the step that writes the second word,
   from models that a lesson has trained. */
#include "architecture.h"
#include "kit/layers.h"
#include "kit/program.h"
#include "small.h"
#include "study.h"
#include <stdlib.h>
#include <string.h>

enum { STEP = 1 };
static const char in_words[] =
    "The words are at the bottom, their encodings and the context c above them, and the step of "
    "the decoder that writes the second word is on the right. The thickness of a line shows a "
    "weight.";
enum { TRANSFORMER = PROTOTYPES, ARCHITECTURES };
static const struct architecture plans[ARCHITECTURES] = {
    [FIXED_VECTOR] = {"fixed", "Fixed vector: the last state begins the decoder", "d_0 = h_T",
                      in_words, .encoding = ENCODED_BY_CHAIN, .added = PART_STEP, .by_state = true},
    [PROTOTYPE_1] = {"prototype-1", "Prototype 1: one vector at each step",
                     "d_t = g(d_{t-1}, y_{t-1}, h_T)", in_words, .encoding = ENCODED_BY_CHAIN,
                     .added = PARTS_ALL},
    [PROTOTYPE_2] = {"prototype-2", "Prototype 2: read again for each word",
                     "d_t = g(d_{t-1}, y_{t-1}, encode(x, d_{t-1}))", in_words,
                     .encoding = ENCODED_AGAIN, .added = PART_AGAIN},
    [PROTOTYPE_3] = {"prototype-3", "Prototype 3: pick one word",
                     "i = argmax_s(W d_t ⋅ k_s) ,  c_t = x_i", in_words, .encoding = NOT_ENCODED,
                     .added = PART_ENCODER | PART_QUERY, .attends = true, .after = true},
    [PROTOTYPE_4] = {"prototype-4", "Prototype 4: mix the encodings",
                     "d_t = g(d_{t-1}, y_{t-1}, c_t) ,  c_t = ∑_s a_s h_s", in_words,
                     .encoding = ENCODED_BY_CHAIN, .added = PART_ENCODER | PART_CONTEXT,
                     .attends = true},
    [BIDIRECTIONAL] = {"bidirectional", "Bahdanau et al.: two encoders, one from each side",
                       "h_s = col{h_s^→}{h_s^←} ,  e_s = v^⊤ tanh(W d_{t-1} + U h_s)", in_words,
                       .encoding = ENCODED_BY_CHAIN,
                       .added = PART_ENCODER | PART_CONTEXT | PART_QUERY, .attends = true,
                       .both_ways = true},
    [SIMPLE] = {"simple", "RNN with simple attention", "a = softmax([h_1 … h_T]^⊤ d_t)", in_words,
                .encoding = ENCODED_BY_CHAIN, .added = PART_STEP | PART_QUERY, .attends = true,
                .after = true},
    [PARAMETERIZED] = {"parameterized", "RNN with parameterized attention",
                       "a = softmax((W_k H)^⊤ W_q d_t) ,  c = W_v H a", in_words,
                       .encoding = ENCODED_BY_CHAIN, .added = PART_CONTEXT | PART_QUERY,
                       .attends = true, .after = true, .projected = true},
    [TRANSFORMER] =
        {"transformer", "Transformer, with the numbers of one step",
         "softmax(frac{Q K^⊤}{sqrt{d}}) V",
         "The encoder is on the left and the decoder on the right. Each attention shows "
         "the weights of its two heads. At the top are the most likely words.",
         .encoding = ENCODED_BY_ATTENTION, .attends = true, .after = true, .projected = true},
};

/* Steps in lessons that do not train a recurrent model, or have not trained one yet. */
static const struct architecture step_plans[DRAWN_STEPS] = {
    [STEP_GIVEN] = {.title = "Given weights: a context for each word",
                    .formula = "c_t = ∑_s α_{ts} h_s",
                    .description = in_words,
                    .note = "numbers: the weights that the lecture gives",
                    .encoding = ENCODED_BY_CHAIN,
                    .added = PART_CONTEXT,
                    .given = true,
                    .attends = true},
    [STEP_LEARNED] = {.title = "Learned weights: the gradient of the loss goes back",
                      .formula = "−log p(y_t) ,  c_t = ∑_s α_{ts} W_v h_s",
                      .description = in_words,
                      .note = "numbers: the weights that training has found",
                      .encoding = ENCODED_AT_ONCE,
                      .added = 0, /* only the loss is new */
                      .attends = true,
                      .after = true,
                      .projected = true},
    [STEP_SCALED] = {.title = "Scaled dot products: the query equals the fourth state",
                     .formula = "a = softmax(frac{1}{sqrt{n}} [h_1 … h_T]^⊤ d_t)",
                     .description = in_words,
                     .note = "numbers: q·k / √n, below it the weight",
                     .encoding = ENCODED_BY_CHAIN,
                     .added = PART_CONTEXT,
                     .attends = true,
                     .after = true},
    [STEP_ITSELF] = {.title = "Self-attention: a word asks all words of its own sentence",
                     .formula = "x_t ← x_t + ∑_s softmax_s(frac{q_t ⋅ k_s}{sqrt{d}}) v_s",
                     .description = "The words are at the bottom, their vectors above them. The "
                                    "word \"it\" asks, and what it reads is added to its own "
                                    "vector. The thickness of a line shows a weight.",
                     .note = "numbers: weights of the head in the map above",
                     .encoding = ENCODED_AT_ONCE,
                     .added = PART_QUERY | PART_STEP | PART_CONTEXT,
                     .itself = true,
                     .attends = true},
};

static void copy_word(char to[16], const struct vocabulary *vocabulary, int token)
{
    snprintf(to, 16, "%s", vocabulary->words[token]);
}

static void take_words(struct architecture *a, const struct language *language,
                       const struct sentence *sentence, const struct words *out)
{
    const int columns = sentence->source.count + 1;
    a->sources = columns < DRAWN_WORDS ? columns : DRAWN_WORDS;
    a->step = out->count > STEP ? STEP : 0;
    a->targets = a->step + 1;
    for (int s = 0; s < a->sources; s++)
        copy_word(a->source[s], &language->source,
                  s < sentence->source.count ? sentence->source.tokens[s] : RAPT_TOKEN_END);
    for (int t = 0; t < a->targets; t++)
        copy_word(a->target[t], &language->target,
                  t < out->count ? out->tokens[t] : RAPT_TOKEN_END);
}

/* The numbers of all steps of a model. */
struct all_steps {
    int rows, columns;
    float *weights, *scores; /* [rows][columns]; no scores: NULL */
};

static void all_steps_free(struct all_steps *all)
{
    free(all->weights);
    free(all->scores);
}

/* Copies the numbers of the drawn step, which begin at `at`. `scores` may be NULL. */
static void take_step(struct architecture *a, const float *weights, const float *scores, int at)
{
    const size_t size = (size_t)a->sources * sizeof *weights;
    memcpy(a->weights, weights + at, size);
    a->scored = scores != NULL;
    if (a->scored) memcpy(a->scores, scores + at, size);
}

/* Stores the weights of the model's own translation, or influences on the right one. The caller
   frees *all. */
static void take_numbers(struct architecture *a, struct study *study, int model,
                         const struct sentence *sentence, struct all_steps *all)
{
    struct words out;
    float *scores = NULL;
    float *weights = study_weights(study, model, sentence, &out, &scores);
    const struct words *written = a->attends ? &out : &sentence->target;
    *all = (struct all_steps){written->count + 1, sentence->source.count + 1, weights, scores};
    if (!a->attends) {
        free(all->weights);
        all->weights = study_influence(study, model, sentence);
    }
    if (!a->attends || a->encoding != ENCODED_BY_CHAIN) {
        free(all->scores);
        all->scores = NULL;
    }
    take_words(a, &study->language, sentence, written);
    take_step(a, all->weights, all->scores, a->step * all->columns);
}

/* ---- the Transformer: the same sentences as ids ---- */
static void to_ids(const struct sentence *sentence, struct ids_pair *pair)
{
    pair->source.count = sentence->source.count;
    pair->target.count = sentence->target.count;
    for (int i = 0; i < pair->source.count; i++) pair->source.at[i] = sentence->source.tokens[i];
    for (int i = 0; i < pair->target.count; i++) pair->target.at[i] = sentence->target.tokens[i];
}

static void draw_ids(struct random *random, struct ids_pair *pair, const void *user)
{
    const struct study *study = user;
    struct sentence sentence = {0};
    int more = random_below(random, study->training.max_words - MIN_WORDS + 1);
    study->language.draw(&study->language, &sentence, random, MIN_WORDS + more);
    to_ids(&sentence, pair);
}

/* Stores the weights of each head in one row of a kind of attention. */
static void take_heads(struct learner *small, const struct ids_pair *pair, rapt_weights which,
                       int row, int columns, int stride, float heads[BLOCK_HEADS][DRAWN_WORDS])
{
    float weights[(SMALL_TOKENS + 1) * (SMALL_TOKENS + 1)];
    for (int h = 0; h < BLOCK_HEADS; h++) {
        small_weights(small, pair, which, BLOCK_LAYERS - 1, h, weights);
        memcpy(heads[h], weights + row * stride, (size_t)columns * sizeof *weights);
    }
}

/* Stores the most likely words of the step. */
static void take_likely(struct architecture *a, const struct study *study, struct learner *small,
                        const struct ids_pair *pair)
{
    const int count = study->language.target.count;
    float *logits = xcalloc((size_t)(pair->target.count + 1) * (size_t)count, sizeof *logits);
    small_logits(small, pair, logits);
    float *row = logits + a->step * count;
    softmax(1, count, row, row);
    a->block.vocabulary = count;
    for (int i = 0; i < BLOCK_LIKELY; i++) {
        const int token = argmax(count, row);
        copy_word(a->block.likely[i], &study->language.target, token);
        a->block.probability[i] = row[token];
        row[token] = -1; /* for the next one */
    }
    free(logits);
}

static void take_transformer(struct architecture *a, const struct study *study)
{
    const rapt_config config = {.source_vocab = study->language.source.count,
                                .target_vocab = study->language.target.count,
                                .width = BLOCK_WIDTH,
                                .heads = BLOCK_HEADS,
                                .ffn_width = BLOCK_FFN,
                                .encoder_layers = BLOCK_LAYERS,
                                .decoder_layers = BLOCK_LAYERS,
                                .norm_order = RAPT_NORM_ORDER_POST};
    float weights[(SMALL_TOKENS + 1) * (SMALL_TOKENS + 1)];
    struct sentence sentence;
    struct ids_pair pair;
    struct words out;
    struct learner small;
    study_sentence(study, &sentence, &study_clause);
    to_ids(&sentence, &pair);
    small_create(&small, &config, study->config.seed);
    small_train(&small, study->training.steps, 5e-3F, draw_ids, study,
                random_from(study->config.seed, 82), NULL);
    struct ids found;
    small_translate(&small, &pair, 1, &found);
    pair.target = found;
    out.count = found.count;
    for (int i = 0; i < found.count; i++) out.tokens[i] = (int)found.at[i];
    take_words(a, &study->language, &sentence, &out);
    small_weights(&small, &pair, RAPT_WEIGHTS_CROSS, BLOCK_LAYERS - 1, -1, weights);
    a->seen = argmax(a->sources, weights + a->step * a->sources);
    take_heads(&small, &pair, RAPT_WEIGHTS_CROSS, a->step, a->sources, a->sources, a->block.cross);
    take_heads(&small, &pair, RAPT_WEIGHTS_ENCODER, a->seen, a->sources, a->sources, a->block.self);
    take_heads(&small, &pair, RAPT_WEIGHTS_DECODER, a->step, a->targets, found.count + 1,
               a->block.past);
    take_likely(a, study, &small, &pair);
    learner_free(&small);
}

static void put_picture(struct page *page, const struct architecture *a)
{
    page_formula(page, SHORT, a->formula);
    page_drawing(page, SHORT, a->title, a->description, ARCHITECTURE_WIDTH, architecture_height(a),
                 architecture_draw, a);
}

/* Attaches the numbers of all steps, unless the drawing has other parts at another step, or leaves
   columns out. */
static void put_rows(struct page *page, const struct architecture *a,
                     const struct drawing_rows *rows)
{
    if (!a->itself && !a->by_state && rows->columns == a->sources) page_drawing_rows(page, rows);
}

void show_architecture(struct page *page, struct study *study, int model, enum prototype which,
                       const struct sentence *sentence)
{
    struct architecture a = plans[which];
    struct all_steps all;
    take_numbers(&a, study, model, sentence, &all);
    put_picture(page, &a);
    put_rows(page, &a,
             &(struct drawing_rows){all.rows, all.columns, a.step, all.weights, all.scores, NULL});
    all_steps_free(&all);
}

void show_drawn_step(struct page *page, enum drawn_step which, const struct step_numbers *numbers)
{
    struct architecture a = step_plans[which];
    const int targets = a.itself ? 0 : numbers->step + 1;
    a.sources = numbers->sources;
    a.step = numbers->step;
    a.targets = targets;
    a.probability = numbers->probabilities != NULL ? numbers->probabilities[a.step] : 0;
    for (int s = 0; s < a.sources; s++) snprintf(a.source[s], 16, "%s", numbers->source[s]);
    for (int t = 0; t < targets; t++) snprintf(a.target[t], 16, "%s", numbers->target[t]);
    take_step(&a, numbers->weights, numbers->scores, numbers->rows > 0 ? a.step * a.sources : 0);
    put_picture(page, &a);
    if (numbers->rows == 0) return;
    put_rows(page, &a,
             &(struct drawing_rows){numbers->rows, a.sources, a.step, numbers->weights,
                                    numbers->scores, numbers->probabilities});
}

/* Prepares a study whose models are trained for a moment. */
static void prepare(struct study *study, const struct lesson_options *options)
{
    study_create(study, options, 8, 0);
    study->training.steps = 400;
}

void show_transformer(struct page *page, const struct lesson_options *options)
{
    struct architecture a = plans[TRANSFORMER];
    static struct study study;
    prepare(&study, options);
    take_transformer(&a, &study);
    put_picture(page, &a);
    study_free(&study);
}

static int write_picture(const char *folder, const struct architecture *a)
{
    struct svg svg;
    char *path = xasprintf("%s/%s.svg", folder, a->file);
    int code = svg_open(&svg, path, ARCHITECTURE_WIDTH, architecture_height(a), a->title);
    if (code == EXIT_OK) {
        svg_text(&svg, 12, 24, 16, SVG_LEFT, "#222222", "%s", a->title);
        architecture_draw(&svg, a);
        code = svg_close(&svg);
    }
    free(path);
    return code;
}

int architectures_write(const char *folder, const struct lesson_options *options)
{
    static struct study study;
    struct sentence sentence;
    int code = EXIT_OK;
    prepare(&study, options);
    study_sentence(&study, &sentence, &study_clause);
    for (int i = 0; i < PROTOTYPES; i++) {
        const struct recurrent_config config = study_prototype(&study, (enum prototype)i);
        study_add(&study, plans[i].title, &config);
    }
    study_train(&study, 0);
    for (int i = 0; i < ARCHITECTURES && code == EXIT_OK; i++) {
        struct architecture a = plans[i];
        struct all_steps all = {0};
        if (i == TRANSFORMER)
            take_transformer(&a, &study);
        else
            take_numbers(&a, &study, i, &sentence, &all);
        code = write_picture(folder, &a);
        all_steps_free(&all);
    }
    study_free(&study);
    return code;
}
