/* three_problems.c - lesson 7: what attention is for: the bottleneck of one vector, gradients that
   vanish with distance, and the alignment of words. */
#include "study.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Models: of each cell with one vector, then with attention; attention alone; a GRU that is given
   its one vector at each step. */
enum { ATTENDING = CELLS, ALONE = 2 * CELLS, MODELS, EACH = MODELS };
static const char *const names[MODELS] = {"RNN, one vector", "GRU, one vector", "LSTM, one vector",
                                          "RNN, attention",  "GRU, attention",  "LSTM, attention",
                                          "attention alone"};

static void create(struct study *study)
{
    for (int i = 0; i < ALONE; i++) {
        struct recurrent_config config = study->config;
        config.cell = (enum cell_kind)(i % CELLS);
        config.pass = PASS_INITIAL;
        config.attends = i >= ATTENDING;
        config.query = QUERY_PRESENT;
        config.score = RAPT_SCORE_DOT;
        study_add(study, names[i], &config);
    }
    study_add_transformer(study, names[ALONE],
                          &(struct transformer_config){.width = 32, .layers = 1, .probed = true});
    study_add(study, "GRU, one vector at each step", &study->config);
}

/* ---- bottleneck ---- */

/* BLEU just beyond the lengths of training over that within. */
static double retained(struct study *study, int model)
{
    const int max_words = study->training.max_words;
    double beyond = quality_of(&study->models[model], max_words + 1, max_words + 2, 64).bleu;
    double within = quality_of(&study->models[model], MIN_WORDS, max_words - 2, 64).bleu;
    return beyond / within;
}

static void show_bottleneck(struct page *page, struct study *study)
{
    page_step(page, "Bottleneck");
    page_paragraph(page, SHORT,
                   "All that the decoder knows of a sentence must fit into one vector of %d "
                   "elements. Attention reads the states of all words instead, of which there are "
                   "more in longer sentences. All train on sentences of up to %d words.",
                   study->config.hidden, study->training.max_words);
    study_train(study, 0);
    const int shown[] = {EACH, ATTENDING + CELL_GRU, ALONE};
    study_curves(study, page, SHORT, "Quality by length", shown, 3);
    page_table(page, MORE, "All models", "model\tparameters\tloss\texact, %\tseconds");
    for (int i = 0; i <= EACH; i++)
        page_row(page, "%s\t%zu\t%.3f\t%.1f\t%.1f", study->models[i].name,
                 translator_parameters(&study->models[i]), study->models[i].loss,
                 study_quality(study, i).exact, study->models[i].seconds);
    page_paragraph(page, MORE,
                   "None of them translates sentences twice as long: attention removes the "
                   "bottleneck, not the need to have seen such lengths.");
    double fixed = retained(study, EACH), attending = retained(study, ATTENDING + CELL_GRU);
    page_claim(page, "one vector: BLEU beyond the training's lengths, of that within", fixed,
               AT_MOST, 0.3);
    page_claim(page, "attention retains more, times", attending / fixed, AT_LEAST, 2);
}

/* ---- vanishing gradients ---- */

/* DISTANCES points, every STRIDE steps, in sentences of WORDS words. */
enum { WORDS = 24, DISTANCES = 11, STRIDE = 4, SENTENCES = 3 };

/* Mean influence of a word on a step that is this many steps of a recurrent network away: from the
   word to the end of its sentence, and from the beginning of the translation to the step. */
static void measure_distances(struct study *study, int model, double mean[DISTANCES])
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

/* What is left at the largest distance of what there is at `STRIDE` * 2. */
static double left(const double mean[DISTANCES])
{
    return mean[DISTANCES - 1] / mean[2];
}

static void draw_distances(struct page *page, double means[MODELS][DISTANCES], const char *title,
                           int first, int last)
{
    page_chart(page, SHORT, title, "distance in steps", "log10 of the gradient");
    page_chart_range(page, -8, 0);
    for (int i = first; i < last; i++) {
        double xs[DISTANCES], ys[DISTANCES];
        for (int d = 0; d < DISTANCES; d++) {
            xs[d] = STRIDE * d;
            ys[d] = log10(means[i][d]);
        }
        page_curve(page, names[i], DISTANCES, xs, ys);
    }
}

static void show_gradients(struct page *page, double means[MODELS][DISTANCES])
{
    double best = 0, worst = 1e9;
    page_step(page, "Vanishing gradient");
    page_paragraph(
        page, SHORT,
        "How strongly does a word of the source influence a step of the decoder, before "
        "any training? With one vector the gradient passes through every state between "
        "the two, and each takes a share of it. With attention there is a way past them.");
    page_formula(page, SHORT,
                 "frac{∂ loss_t}{∂ x_s} = frac{∂ loss_t}{∂ d_t} frac{∂ d_t}{∂ d_{t-1}} "
                 "… frac{∂ h_{s+1}}{∂ h_s} frac{∂ h_s}{∂ x_s}");
    draw_distances(page, means, "One vector: the gradient vanishes", 0, ATTENDING);
    draw_distances(page, means, "Attention: it does not", ATTENDING, MODELS);
    page_paragraph(page, MORE,
                   "Norm of the gradient of a step's loss in an embedded word, over that in the "
                   "step's logits; sentences of %d words. The LSTM's memory, whose forget gate is "
                   "open at first, carries further than the other cells' states, but not so far as "
                   "attention.",
                   WORDS);
    for (int i = 0; i < MODELS; i++)
        if (i < ATTENDING)
            best = fmax(best, left(means[i]));
        else
            worst = fmin(worst, left(means[i]));
    page_claim(page, "one vector, the best cell: left at distance 40 of that at 8", best, AT_MOST,
               0.15);
    page_claim(page, "attention, the worst model: left at distance 40 of that at 8", worst,
               AT_LEAST, 0.3);
}

/* ---- alignment ---- */

static void show_steps(struct page *page, struct study *study, const struct sentence *sentence,
                       const struct words *out, const float *weights)
{
    const int columns = sentence->source.count + 1;
    char text[400], title[500];
    study_spell(&study->language.source, &sentence->source, text, sizeof text);
    snprintf(title, sizeof title, "Weights, %s", text);
    page_table(page, MORE, title, "at the step of\tlargest weight on\t%\tweight on not, %");
    for (int t = 0; t < out->count; t++) {
        const float *row = weights + t * columns;
        int s = argmax(columns, row);
        const int token = s < columns - 1 ? sentence->source.tokens[s] : RAPT_TOKEN_END;
        page_row(page, "%s\t%s\t%.0f\t%.0f", study->language.target.words[out->tokens[t]],
                 study->language.source.words[token], 100 * (double)row[s], 100 * (double)row[2]);
    }
}

static void show_alignment(struct page *page, struct study *study)
{
    enum { ATTENTION = ATTENDING + CELL_GRU, LIKE = 3, NOT = 2 };
    static const char *const wanted[2] = {"Katzen mögen keine Hunde",
                                          "Katzen mögen die Hunde nicht"};
    static const char *const titles[2] = {"cats do not like dogs", "cats do not like the dogs"};
    page_step(page, "Alignment");
    page_paragraph(
        page, SHORT,
        "In English the negation comes before the verb, in German behind it, as keine or "
        "nicht. The weights say what the decoder read for each word. mögen reads yᵉ(4), "
        "the state behind \"cats do not like\"; so the state that is read knows of the "
        "negation, although no weight is on \"not\" yet.");
    for (int the = 0; the < 2; the++) {
        struct german_clause clause = study_clause;
        struct sentence sentence;
        struct words out;
        char text[400];
        clause.object.the = the;
        study_sentence(study, &sentence, &clause);
        float *weights = study_weights(study, ATTENTION, &sentence, &out, NULL);
        const int columns = sentence.source.count + 1;
        study_map(study, page, the ? MORE : SHORT, titles[the], &sentence, &out, weights);
        show_steps(page, study, &sentence, &out, weights);
        study_spell(&study->language.target, &out, text, sizeof text);
        page_claim(page,
                   the ? "the second is translated rightly" : "the sentence is translated rightly",
                   strcmp(text, wanted[the]) == 0, EQUALS, 1);
        page_claim(page, "at mögen, weight of the state behind like",
                   (double)weights[columns + LIKE], AT_LEAST, 0.5);
        page_claim(page, "and of the state behind not", (double)weights[columns + NOT], AT_MOST,
                   0.2);
        free(weights);
    }
    const double error = study_quality(study, ATTENTION).alignment_error;
    const double diagonal =
        diagonal_error(&study->training, MIN_WORDS, study->training.max_words, 64);
    page_paragraph(
        page, MORE,
        "The grammar knows which word translates which. Alignment error rate (Och and Ney "
        "2003) of the largest weights: %.2f; of attention alone (mean of the heads) %.2f; "
        "of taking word t for word t, without a model, %.2f. keine needs both \"not\" and "
        "that \"dogs\" has no article, so its weight is divided; nicht reads \"not\", or with "
        "another seed the end, whose state knows of it, too.",
        error, study_quality(study, ALONE).alignment_error, diagonal);
    page_formula(page, MORE, "AER = 1 - frac{|A ∩ S| + |A ∩ P|}{|A| + |S|}");
    page_claim(page, "alignment error rate, below that without a model", error, BELOW, diagonal);
}

int lesson_three_problems(struct page *page, const struct lesson_options *options)
{
    struct study study;
    double means[MODELS][DISTANCES]; /* before any training */
    study_create(&study, options, 8, 1200);
    study.config.words = 4 * WORDS;
    create(&study);
    for (int i = 0; i < MODELS; i++) measure_distances(&study, i, means[i]);
    show_bottleneck(page, &study);
    show_gradients(page, means);
    show_alignment(page, &study);
    study_free(&study);
    return EXIT_SUCCESS;
}
