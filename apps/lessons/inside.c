/* inside.c - a small Transformer of the grammar of lesson 5: its self-attention, mask, heads,
   cross-attention, and what its residual stream predicts after each layer. */
#include "chase.h"
#include "kit/layers.h"
#include "kit/program.h"
#include "nothing_but.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 4, ENCODER_LAYERS = 2, DECODER_LAYERS = 3, ROWS = SMALL_TOKENS + 1 };

static void draw_training(struct random *random, struct ids_pair *pair, const void *user)
{
    struct chase_pair drawn;
    (void)user;
    chase_draw(random, false, &drawn);
    *pair = drawn.ids;
}

/* Names of tokens between begin and end, either "" if it is not there. */
static int name_tokens(const struct ids *ids, const char *begin, const char *end,
                       const char **names)
{
    int count = 0;
    if (*begin) names[count++] = begin;
    for (int i = 0; i < ids->count; i++) names[count++] = chase_word(ids->at[i]);
    if (*end) names[count++] = end;
    return count;
}

struct view {
    struct page *page;
    struct learner *small;
    const struct ids_pair *pair;
    const char *source[ROWS], *target[ROWS]; /* words and the end; the beginning and words */
    int sources, targets;
    float weights[ROWS * ROWS];
};

static void show(struct view *v, enum page_detail detail, const char *title, rapt_weights which,
                 int layer, int head)
{
    const bool encoder = which == RAPT_WEIGHTS_ENCODER, decoder = which == RAPT_WEIGHTS_DECODER;
    small_weights(v->small, v->pair, which, layer, head, v->weights);
    page_map(v->page, detail, title, encoder ? v->sources : v->targets,
             decoder ? v->targets : v->sources, encoder ? v->source : v->target,
             decoder ? v->target : v->source, v->weights);
}

/* ---- self-attention, its mask, its heads ---- */
/* The encoder's head whose rows have the largest weights. */
static void clearest(struct view *v, int *layer, int *head)
{
    double best = 0;
    for (int l = 0; l < ENCODER_LAYERS; l++)
        for (int h = 0; h < HEADS; h++) {
            double sum = 0;
            small_weights(v->small, v->pair, RAPT_WEIGHTS_ENCODER, l, h, v->weights);
            for (int t = 0; t < v->sources; t++) {
                const float *row = v->weights + t * v->sources;
                sum += (double)row[argmax(v->sources, row)];
            }
            if (sum <= best) continue;
            best = sum;
            *layer = l;
            *head = h;
        }
}

static void show_self(struct view *v)
{
    page_step(v->page, "Self-attention reads the sentence");
    page_paragraph(v->page, SHORT,
                   "No state is handed from word to word: each word asks all words of its own "
                   "sentence, all at once, and adds what it reads to itself. Several heads ask "
                   "different questions. Weights from rapt_session_weights.");
    page_formula(v->page, SHORT, "Attention(Q, K, V) = softmax(frac{Q K^⊤}{sqrt{d}}) V");
    int layer = 0, head = 0;
    clearest(v, &layer, &head);
    char *title = xasprintf("Encoder, layer %d, head %d, the clearest: each row reads the "
                            "columns",
                            layer + 1, head + 1);
    show(v, SHORT, title, RAPT_WEIGHTS_ENCODER, layer, head);
    free(title);
    float heads[HEADS][ROWS * ROWS];
    const int count = v->sources * v->sources;
    double apart = 0;
    page_formula(v->page, MORE, "MultiHead(x) = W_o col{head_1}{head_2 …}");
    for (int h = 0; h < HEADS; h++) {
        char *name = xasprintf("Encoder, layer 1, head %d", h + 1);
        show(v, MORE, name, RAPT_WEIGHTS_ENCODER, 0, h);
        memcpy(heads[h], v->weights, sizeof heads[h]);
        free(name);
        for (int other = 0; other < h; other++)
            for (int i = 0; i < count; i++)
                apart += fabs((double)(heads[h][i] - heads[other][i])) / 2 / v->sources;
    }
    page_claim(v->page, "two heads of a layer differ in this share of their weight",
               apart / (HEADS * (HEADS - 1) / 2.0), AT_LEAST, 0.2);
}

static void show_decoder(struct view *v)
{
    double ahead = 0, sums = 0;
    page_step(v->page, "A mask keeps the future out; cross-attention lets the source in");
    page_paragraph(v->page, SHORT,
                   "The decoder attends to what it has written: with a causal mask all words of a "
                   "translation train at once, and none sees what comes after it.");
    page_formula(v->page, MORE, "e_{ts} = −∞ text{ for } s > t");
    show(v, MORE, "Decoder, layer 1, mean of the heads: nothing above the diagonal",
         RAPT_WEIGHTS_DECODER, 0, -1);
    for (int t = 0; t < v->targets; t++) {
        double sum = 0;
        for (int s = 0; s < v->targets; s++) {
            double weight = (double)v->weights[t * v->targets + s];
            ahead = s > t ? fmax(ahead, weight) : ahead;
            sum += weight;
        }
        sums = fmax(sums, fabs(sum - 1));
    }
    page_claim(v->page, "the largest weight on a word that is not written yet", ahead, EQUALS, 0);
    page_claim(v->page, "the weights on what is written add up to 1 but for", sums, AT_MOST, 1e-6);
    page_paragraph(v->page, MORE,
                   "Cross-attention is prototype 4 once more: queries of the decoder, keys and "
                   "values of the encoder. A row belongs to the step that reads its word and "
                   "predicts the next one.");
    show(v, MORE, "Cross-attention, last layer, mean of the heads", RAPT_WEIGHTS_CROSS,
         DECODER_LAYERS - 1, -1);
}

/* ---- the residual stream ---- */
static void check(rapt_status status, const rapt_message *why)
{
    if (status != RAPT_OK) exit(failed("%s", why->text));
}

/* The model's first `layers` layers of the decoder, by the names of their parameters. */
static rapt_model *shortened(const rapt_model *model, int layers)
{
    rapt_config config = *rapt_model_config(model);
    rapt_model *copy = NULL;
    rapt_message why = {""};
    config.decoder_layers = layers;
    check(rapt_model_create(&copy, &config, 1, NULL, &why), &why);
    for (int i = 0; i < rapt_model_tensors(copy); i++) {
        rapt_tensor tensor = rapt_model_tensor(copy, i);
        float *data = xcalloc((size_t)tensor.rows * (size_t)tensor.columns, sizeof *data);
        check(rapt_model_read(model, rapt_model_find(model, tensor.name), data, &why), &why);
        check(rapt_model_write(copy, i, data, &why), &why);
        free(data);
    }
    return copy;
}

/* probability [targets], word [targets]: what each step predicts from the stream after `layers`. */
static void predict(const struct view *v, int layers, float *right, int32_t *word)
{
    const int vocabulary = chase_vocabulary();
    struct learner cut = *v->small;
    cut.model = shortened(v->small->model, layers);
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

static void show_stream(struct view *v)
{
    float right[DECODER_LAYERS][ROWS];
    int32_t words[DECODER_LAYERS][ROWS];
    double mean[DECODER_LAYERS] = {0};
    for (int l = 0; l < DECODER_LAYERS; l++) {
        predict(v, l + 1, right[l], words[l]);
        for (int t = 0; t < v->targets; t++) mean[l] += (double)right[l][t] / v->targets;
    }
    page_step(v->page, "Each layer adds to a residual stream");
    page_paragraph(v->page, SHORT,
                   "A layer adds its answer to the vector of a word and hands the sum on. So the "
                   "output matrix can read the stream after any layer; here, what the decoder "
                   "would write if it ended there.");
    page_formula(v->page, SHORT, "x ← x + Attention(norm(x)) ,  x ← x + W_2 ReLU(W_1 norm(x))");
    page_table(v->page, SHORT, "The likeliest next word after each layer, % of the right one",
               "after\tlayer 1\tlayer 2\tlayer 3");
    for (int t = 0; t < v->targets; t++)
        page_row(v->page, "%s\t%s %.0f\t%s %.0f\t%s %.0f", v->target[t], chase_word(words[0][t]),
                 100 * (double)right[0][t], chase_word(words[1][t]), 100 * (double)right[1][t],
                 chase_word(words[2][t]), 100 * (double)right[2][t]);
    page_claim(v->page, "mean probability of the right word after the last layer",
               mean[DECODER_LAYERS - 1], AT_LEAST, 0.9);
    page_claim(v->page, "and how much more that is than after the first",
               mean[DECODER_LAYERS - 1] - mean[0], ABOVE, 0.05);
}

void see_inside(struct page *page, const struct lesson_options *options)
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
    small_train(&small, options->quick ? 200 : 500, 5e-3F, draw_training, NULL,
                random_from(options->seed, 81));
    struct view view = {.page = page, .small = &small, .pair = &pair.ids};
    view.sources = name_tokens(&pair.ids.source, "", "(end)", view.source);
    view.targets = name_tokens(&pair.ids.target, "(begin)", "", view.target);
    show_self(&view);
    show_decoder(&view);
    show_stream(&view);
    learner_free(&small);
}
