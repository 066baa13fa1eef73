/* vanishing.c - how strongly a word of the source influences a step of the decoder, before and
   after training, by the number of recurrent steps between the two. */
#include "three_problems.h"
#include <math.h>
#include <string.h>

/* Measures the mean influence of a word on a step at each distance, which is the number of
   recurrent steps from the word to the end of its sentence plus those from the beginning of the
   translation to the step. */
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

/* Returns the factor by which each step between the two multiplies the gradient, on average. */
static double per_step(const double mean[DISTANCES])
{
    return pow(left(mean), 1.0 / ((DISTANCES - 3) * STRIDE));
}

static void draw_distances(struct page *page, enum page_detail detail, const struct study *study,
                           double means[MODELS][DISTANCES], const char *title, int first, int last)
{
    page_chart(page, detail, title, "distance in steps", "log10 of the gradient");
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

static void show_factors(struct page *page, const struct study *study,
                         double before[MODELS][DISTANCES], double after[MODELS][DISTANCES])
{
    page_table(page, SHORT, "What each step leaves of the gradient (distances 8 to 40)",
               "model\tuntrained\ttrained");
    for (int i = 0; i < MODELS; i++)
        page_row(page, "%s\t%.2f\t%.2f", study->models[i].name, per_step(before[i]),
                 per_step(after[i]));
    page_paragraph(
        page, SHORT,
        "In each step a GRU keeps a share z of its old state, and an LSTM a share f of its memory. "
        "Before training, z is about 1/2 and f about σ(1) = %.2f, since its bias starts at 1. Yet "
        "%.2f of the gradient is left after a step of the untrained GRU, and %.2f after one of the "
        "LSTM. The reason is that the new content n depends on the old state, too, and passes on "
        "part of the gradient past the gate. For a GRU:",
        1 / (1 + exp(-1)), per_step(before[CELL_GRU]), per_step(before[CELL_LSTM]));
    page_formula(page, SHORT,
                 "frac{∂h_t}{∂h_{t-1}} = z + (1 − z) frac{∂n}{∂h_{t-1}} + (h_{t-1} − n) "
                 "frac{∂z}{∂h_{t-1}}");
    page_paragraph(
        page, MORE,
        "Training changes these factors, from %.2f to %.2f for the GRU and from %.2f to %.2f for "
        "the LSTM. A gate can learn to stay open where something has to be kept. A plain RNN has "
        "no gate. Each of its steps multiplies the gradient by W^h and the slope of tanh, so what "
        "is left depends on how large the initial W^h happens to be (try --seed 2). Here the "
        "factor is %.2f before training and %.2f after it.",
        per_step(before[CELL_GRU]), per_step(after[CELL_GRU]), per_step(before[CELL_LSTM]),
        per_step(after[CELL_LSTM]), per_step(before[CELL_RNN]), per_step(after[CELL_RNN]));
    page_formula(page, MORE,
                 "text{GRU: } z = σ(W_z x + U_z h) ,  r = σ(W_r x + U_r h) ,  n = tanh(W_n x + "
                 "r U_n h) ,  h ← (1 − z) n + z h");
    page_formula(page, MORE,
                 "text{LSTM: } i = σ(W_i x + U_i h) ,  f = σ(W_f x + U_f h + 1) ,  o = σ(W_o x + "
                 "U_o h)");
    page_formula(page, MORE, "g = tanh(W_g x + U_g h) ,  c ← f c + i g ,  h ← o tanh(c)");
    page_formula(page, MORE,
                 "x: k ,  h, c: d ,  W: d × k ,  U: d × d ,  frac{∂h_t}{∂h_{t-1}}: d × d");
}

void show_gradients(struct page *page, struct study *study, double before[MODELS][DISTANCES])
{
    double after[MODELS][DISTANCES], best = 0, worst = 1e9;
    for (int i = 0; i < MODELS; i++) measure_distances(study, i, after[i]);
    page_step(page, "Vanishing gradient");
    page_paragraph(page, SHORT,
                   "How strongly does a word of the source influence a step of the decoder? With "
                   "one vector the gradient has to pass through every state between the two, and "
                   "each step multiplies it by the Jacobian of the cell. Attention is a shortcut "
                   "from each step to each word, and gives the gradient a way around all these "
                   "factors.");
    page_formula(page, SHORT,
                 "frac{∂loss_t}{∂x_s} = frac{∂loss_t}{∂d_t} ⋅ frac{∂d_t}{∂d_{t-1}} ⋅ … ⋅ "
                 "frac{∂h_{s+1}}{∂h_s} ⋅ frac{∂h_s}{∂x_s}");
    draw_distances(page, SHORT, study, before, "One vector, untrained: the gradient vanishes", 0,
                   ATTENDING);
    draw_distances(page, MORE, study, after, "One vector, trained", 0, ATTENDING);
    draw_distances(page, SHORT, study, before, "Attention, untrained: the gradient does not vanish",
                   ATTENDING, MODELS);
    draw_distances(page, MORE, study, after, "Attention, trained", ATTENDING, MODELS);
    page_paragraph(page, MORE,
                   "The curves show the norm of the gradient of a step's loss with respect to an "
                   "embedded word, divided by that with respect to the step's logits, in sentences "
                   "of %d words. Training used sentences of up to %d words.",
                   WORDS, study->training.max_words);
    show_factors(page, study, before, after);
    for (int i = 0; i < MODELS; i++)
        if (i < ATTENDING)
            best = fmax(best, left(before[i]));
        else
            worst = fmin(worst, left(before[i]));
    page_claim(
        page, "one vector, the best cell, untrained: gradient at distance 40, divided by that at 8",
        best, AT_MOST, 0.25);
    page_claim(
        page,
        "attention, the worst model, untrained: gradient at distance 40, divided by that at 8",
        worst, AT_LEAST, 0.3);
}
