/* vanishing.c - lesson 7: how strongly a word of the source influences a step of the decoder before
   any training, by the number of recurrent steps between the two. */
#include "three_problems.h"
#include <math.h>
#include <string.h>

/* Measures the mean influence of a word on a step at each distance: the number of recurrent steps
   from the word to the end of its sentence and from the beginning of the translation to the step.
   */
void measure_distances(struct study *study, int model, double mean[DISTANCES])
{
    struct random random = random_from(study->training.seed, 7);
    int count[DISTANCES] = {0};
    memset(mean, 0, DISTANCES * sizeof *mean);
    for (int i = 0; i < SENTENCES; i++) {
        struct sentence sentence;
        float norms[WORDS + 1];
        study->language.draw(&study->language, &sentence, &random, WORDS);
        for (int step = 0; step < sentence.target.count; step += 2) {
            translator_influence(&study->models[model], &sentence, step, norms);
            for (int s = 0; s <= WORDS; s++) {
                int distance = WORDS - s + step;
                if (distance % STRIDE != 0 || distance / STRIDE >= DISTANCES) continue;
                mean[distance / STRIDE] += (double)norms[s];
                count[distance / STRIDE]++;
            }
        }
    }
    for (int d = 0; d < DISTANCES; d++) mean[d] /= count[d];
}

/* Returns the mean at the largest distance divided by that at 2 STRIDE. */
static double left(const double mean[DISTANCES])
{
    return mean[DISTANCES - 1] / mean[2];
}

static void draw_distances(struct page *page, const struct study *study,
                           double means[MODELS][DISTANCES], const char *title, int first, int last)
{
    page_chart(page, SHORT, title, "distance in steps", "log10 of the gradient");
    page_chart_range(page, -8, 0);
    for (int i = first; i < last; i++) {
        double xs[DISTANCES], ys[DISTANCES];
        for (int d = 0; d < DISTANCES; d++) {
            xs[d] = STRIDE * d;
            ys[d] = log10(means[i][d]);
        }
        page_curve(page, study->models[i].name, DISTANCES, xs, ys);
    }
}

void show_gradients(struct page *page, const struct study *study, double means[MODELS][DISTANCES])
{
    double best = 0, worst = 1e9;
    page_step(page, "Vanishing gradient");
    page_paragraph(page, SHORT,
                   "How strongly does a word of the source influence a step of the decoder, before "
                   "any training? With one vector the gradient has to pass through every state "
                   "between the two, and each step multiplies it by the Jacobian of the cell. "
                   "Attention gives it a way around them.");
    page_formula(page, SHORT,
                 "frac{∂loss_t}{∂x_s} = frac{∂loss_t}{∂d_t} ⋅ frac{∂d_t}{∂d_{t-1}} ⋅ … ⋅ "
                 "frac{∂h_{s+1}}{∂h_s} ⋅ frac{∂h_s}{∂x_s}");
    draw_distances(page, study, means, "One vector: the gradient vanishes", 0, ATTENDING);
    draw_distances(page, study, means, "Attention: the gradient does not vanish", ATTENDING,
                   MODELS);
    page_paragraph(page, MORE,
                   "The curves show the norm of the gradient of a step's loss with respect to an "
                   "embedded word, divided by that with respect to the step's logits, in sentences "
                   "of %d words. Nothing has been trained yet. At first the gates of a GRU are "
                   "near 1/2 and the forget gate of an LSTM is at σ(1) = 0.73, so that the LSTM "
                   "keeps more of its old state. The gradient also passes through the new content "
                   "of a state, so it decreases more slowly than by these factors. What a plain "
                   "RNN keeps depends on its random matrix and therefore on the seed.",
                   WORDS);
    for (int i = 0; i < MODELS; i++)
        if (i < ATTENDING)
            best = fmax(best, left(means[i]));
        else
            worst = fmin(worst, left(means[i]));
    page_claim(page, "one vector, the best cell: gradient at distance 40, divided by that at 8",
               best, AT_MOST, 0.25);
    page_claim(page, "attention, the worst model: gradient at distance 40, divided by that at 8",
               worst, AT_LEAST, 0.3);
}
