/* stream.c - lesson 8: what a Transformer's residual stream predicts after each layer of the
   decoder. */
#include "inside.h"
#include "kit/layers.h"
#include "kit/program.h"
#include <stdlib.h>

static void stream_check(rapt_status status, const rapt_message *why)
{
    if (status != RAPT_OK) exit(failed("%s", why->text));
}

/* Returns a model with the first `layers` layers of the decoder, whose parameters are found by
   name. */
static rapt_model *shortened(const rapt_model *model, int layers)
{
    rapt_config config = *rapt_model_config(model);
    rapt_model *copy = NULL;
    rapt_message why = {""};
    config.decoder_layers = layers;
    stream_check(rapt_model_create(&copy, &config, 1, NULL, &why), &why);
    for (int i = 0; i < rapt_model_tensors(copy); i++) {
        rapt_tensor tensor = rapt_model_tensor(copy, i);
        float *data = xcalloc((size_t)tensor.rows * (size_t)tensor.columns, sizeof *data);
        stream_check(rapt_model_read(model, rapt_model_find(model, tensor.name), data, &why), &why);
        stream_check(rapt_model_write(copy, i, data, &why), &why);
        free(data);
    }
    return copy;
}

/* Sets probability [targets] and word [targets], the prediction of each step from the stream after
   `layers`. */
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

void show_stream(struct view *v)
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
                   "A layer adds its result to the vector of a word and passes on the sum, which "
                   "is called the residual stream. The output matrix can therefore read the stream "
                   "after any layer and show what the decoder would write if it ended there (the "
                   "logit lens). The model normalizes before each sublayer (pre-norm), as is usual "
                   "today; Vaswani et al. (2017) normalize after it (post-norm).");
    page_formula(v->page, SHORT, "x ← x + Attention(norm(x)) ,  x ← x + W_2 ReLU(W_1 norm(x))");
    page_table(v->page, SHORT,
               "Most likely next word after each layer, and the probability of the right word in %",
               "after\tlayer 1\tlayer 2\tlayer 3");
    for (int t = 0; t < v->targets; t++)
        page_row(v->page, "%s\t%s %.0f\t%s %.0f\t%s %.0f", v->target[t], chase_word(words[0][t]),
                 100 * (double)right[0][t], chase_word(words[1][t]), 100 * (double)right[1][t],
                 chase_word(words[2][t]), 100 * (double)right[2][t]);
    page_claim(v->page, "mean probability of the right word after the last layer",
               mean[DECODER_LAYERS - 1], AT_LEAST, 0.9);
    page_claim(v->page, "that probability minus the one after the first layer",
               mean[DECODER_LAYERS - 1] - mean[0], ABOVE, 0.05);
}
