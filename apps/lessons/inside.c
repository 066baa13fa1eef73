/* inside.c - lesson 8: self-attention, mask, heads and cross-attention of a small Transformer that
   was trained on the grammar of lesson 5. */
#include "inside.h"
#include "kit/layers.h"
#include "kit/program.h"
#include "parts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static void show_weights(struct view *v, enum page_detail detail, const char *title,
                         rapt_weights which, int layer, int head)
{
    const bool encoder = which == RAPT_WEIGHTS_ENCODER, decoder = which == RAPT_WEIGHTS_DECODER;
    small_weights(v->small, v->pair, which, layer, head, v->weights);
    page_map(v->page, detail, title, encoder ? v->sources : v->targets,
             decoder ? v->targets : v->sources, encoder ? v->source : v->target,
             decoder ? v->target : v->source, v->weights);
}

/* ---- self-attention, its mask, its heads ---- */
/* Finds the encoder's head whose rows have the largest weights. */
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
                   "No state is handed from word to word. Each word asks all words of its sentence "
                   "at the same time and adds what it reads to its own vector. Each of several "
                   "heads has its own projections, so that it can ask its own question. The "
                   "weights come from rapt_session_weights.");
    page_formula(v->page, SHORT, "Attention(Q, K, V) = softmax(frac{Q K^⊤}{sqrt{d}}) V");
    int layer = 0, head = 0;
    clearest(v, &layer, &head);
    char *title = xasprintf("Encoder, layer %d, head %d, the clearest: each row reads the columns",
                            layer + 1, head + 1);
    show_weights(v, SHORT, title, RAPT_WEIGHTS_ENCODER, layer, head);
    free(title);
    float heads[HEADS][ROWS * ROWS];
    const int count = v->sources * v->sources;
    double apart = 0;
    page_formula(v->page, MORE, "MultiHead(x) = W_o col{head_1}{head_2 …}");
    for (int h = 0; h < HEADS; h++) {
        char *name = xasprintf("Encoder, layer 1, head %d", h + 1);
        show_weights(v, MORE, name, RAPT_WEIGHTS_ENCODER, 0, h);
        memcpy(heads[h], v->weights, sizeof heads[h]);
        free(name);
        for (int other = 0; other < h; other++)
            for (int i = 0; i < count; i++)
                apart += fabs((double)(heads[h][i] - heads[other][i])) / 2 / v->sources;
    }
    page_claim(v->page, "share of the weight in which two heads of a layer differ",
               apart / (HEADS * (HEADS - 1) / 2.0), AT_LEAST, 0.2);
}

static void show_decoder(struct view *v)
{
    double ahead = 0, sums = 0;
    page_step(v->page, "A mask hides the future, cross-attention reads the source");
    page_paragraph(
        v->page, SHORT,
        "The decoder attends to what it has already written. A causal mask hides everything after "
        "a word, so that all words of a translation can be trained at the same time.");
    page_formula(v->page, MORE, "e_{ts} = −∞ text{ for } s > t");
    show_weights(v, MORE, "Decoder, layer 1, mean of the heads: nothing above the diagonal",
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
    page_claim(v->page, "largest weight on a word that is not written yet", ahead, EQUALS, 0);
    page_claim(v->page, "largest deviation of a sum of weights from 1", sums, AT_MOST, 1e-6);
    page_paragraph(v->page, MORE,
                   "Cross-attention is prototype 4 again: the queries come from the decoder, keys "
                   "and values from the encoder. Each row belongs to the step that reads its word "
                   "and predicts the next one.");
    show_weights(v, MORE, "Cross-attention, last layer, mean of the heads", RAPT_WEIGHTS_CROSS,
                 DECODER_LAYERS - 1, -1);
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
    small_train(&small, options->quick ? 200 : 500, 5e-3F, chase_draw_training, NULL,
                random_from(options->seed, 81));
    struct view view = {.page = page, .small = &small, .pair = &pair.ids};
    view.sources = name_tokens(&pair.ids.source, "", "(end)", view.source);
    view.targets = name_tokens(&pair.ids.target, "(begin)", "", view.target);
    show_self(&view);
    show_decoder(&view);
    show_stream(&view);
    learner_free(&small);
}
