/* three_problems.c - the problems that attention solves: the bottleneck of one vector,
   gradients that vanish with distance, and the alignment of words. */
#include "parts.h"
#include "study.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Models: each cell with one vector, then each with attention; attention only; a GRU that reads its
   one vector at each step. */
enum { ATTENDING = CELLS, ALONE = 2 * CELLS, MODELS, EACH = MODELS };
/* Measured in sentences of WORDS words, at DISTANCES distances that are STRIDE steps apart. */
enum { WORDS = 24, DISTANCES = 11, STRIDE = 4, SENTENCES = 3 };

static const char *const names[MODELS] = {"RNN, one vector", "GRU, one vector", "LSTM, one vector",
                                          "RNN, attention",  "GRU, attention",  "LSTM, attention",
                                          "attention only"};

static void create_models(struct study *study)
{
    for (int i = 0; i < ALONE; i++) {
        struct recurrent_config config =
            study_prototype(study, i < ATTENDING ? FIXED_VECTOR : SIMPLE);
        config.cell = (enum cell_kind)(i % CELLS);
        config.pass = PASS_INITIAL;
        study_add(study, names[i], &config);
    }
    study_add_transformer(study, names[ALONE],
                          &(struct transformer_config){.width = 32, .layers = 1, .probed = true});
    study_add(study, "GRU, one vector at each step", &study->config);
}

/* ---- bottleneck ---- */

/* Returns the BLEU of short sentences, minus that just beyond the lengths of training. */
static double lost(struct study *study, const int *models, const void *user)
{
    const int max_words = study->training.max_words;
    (void)user;
    return study_quality_of(study, models[0], MIN_WORDS, max_words - 2, 64).bleu -
           study_quality_of(study, models[0], max_words + 1, max_words + 2, 64).bleu;
}

/* Returns how much more BLEU models[0] has just beyond the lengths of training than models[1]. */
static double beyond_more(struct study *study, const int *models, const void *user)
{
    const int from = study->training.max_words + 1;
    (void)user;
    return study_quality_of(study, models[0], from, from + 1, 64).bleu -
           study_quality_of(study, models[1], from, from + 1, 64).bleu;
}

static void show_bottleneck(struct page *page, struct study *study)
{
    page_step(page, "Bottleneck");
    page_paragraph(page, SHORT,
                   "All that the decoder knows of a sentence has to fit into one vector of %d "
                   "elements. Attention reads the states of all words instead, and a longer "
                   "sentence has more states. All models train on sentences of up to %d words.",
                   study->config.hidden, study->training.max_words);
    study_train(study, 0);
    const int shown[] = {EACH, ATTENDING + CELL_GRU, ALONE};
    study_curves(study, page, SHORT, "Quality by length", shown, 3);
    study_compare(study, page, MORE, "All models", "model", 0, EACH + 1, NULL);
    page_paragraph(
        page, MORE,
        "None of these models translates sentences of twice the length well. Attention removes the "
        "bottleneck, but how far a model gets beyond the lengths of training also depends on its "
        "other parts and on how it was trained. The attention model of the next section gets "
        "further, and lesson 12 has one that was designed for this.");
    page_paragraph(
        page, MORE,
        "AER, the alignment error rate, is explained in the last section of this lesson. A model "
        "can have a worse AER than no model at all and still translate correctly: its largest "
        "weight may be on the state of a later word, which also knows about the word that is "
        "translated.");
    study_claim(
        study, page,
        "one vector: BLEU of short sentences, minus that just beyond the lengths of training", lost,
        (const int[]){EACH}, 1, NULL, AT_LEAST, 40);
    study_claim(study, page, "BLEU just beyond them: attention minus one vector", beyond_more,
                (const int[]){ATTENDING + CELL_GRU, EACH}, 2, NULL, AT_LEAST, 20);
}

/* ---- history ---- */
static const struct {
    int year;
    const char *what, *source, *lesson;
} history[] = {
    {1986, "learning through time by gradients", "Rumelhart et al.", "2"},
    {1990, "a network that reads word after word", "Elman", "8"},
    {1994, "why its gradients vanish", "Bengio et al.", "2"},
    {1997, "LSTM: a memory with gates", "Hochreiter, Schmidhuber", "2"},
    {2014, "encoder and decoder, GRU", "Cho et al.", "1"},
    {2014, "the same with deep LSTMs", "Sutskever et al.", "1"},
    {2014, "attention (arXiv; ICLR 2015)", "Bahdanau et al.", "2, 6, 8"},
    {2014, "glimpses, learned from a reward", "Mnih et al.", "13"},
    {2015, "soft and hard attention to pictures", "Xu et al.", "13"},
    {2015, "more scores, local attention", "Luong et al.", "8"},
    {2016, "self-attention in a recurrent network", "Cheng et al.", "10"},
    {2017, "Transformer: no recurrence", "Vaswani et al.", "11"},
    {2018, "GPT: a decoder continues a text", "Radford et al.", "14"},
    {2018, "BERT (NAACL 2019): fills gaps", "Devlin et al.", "14"},
};

static void show_history(struct page *page)
{
    page_step(page, "How it came about");
    page_paragraph(
        page, SHORT,
        "Until 2014, recurrent networks were the usual choice for reading or writing a sequence. "
        "In that year two of them were joined into a translator: the first reads the sentence and "
        "passes one vector on to the second. Attention was added in the same year, as a way around "
        "that vector. Three years later it replaced the recurrent networks altogether. Each row "
        "gives the year of the first publication, which may be a preprint, and the lesson that "
        "deals with it.");
    page_table(page, SHORT, "Attention, year by year", "year\twhat\twho\tlesson");
    for (size_t i = 0; i < sizeof history / sizeof *history; i++)
        page_row(page, "%d\t%s\t%s\t%s", history[i].year, history[i].what, history[i].source,
                 history[i].lesson);
}

/* ---- vanishing gradients: how strongly a word of the source influences a step of the decoder,
 * before and after training, by the number of recurrent steps between the two ---- */

/* Measures the mean influence of a word on a step at each distance, which is the number of
   recurrent steps from the word to the end of its sentence plus those from the beginning of the
   translation to the step. */
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

static void show_gradients(struct page *page, struct study *study, double before[MODELS][DISTANCES])
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

/* ---- alignment: what the decoder reads for the words of two negations, and how far its weights
 * are from the grammar's ---- */

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

/* Returns by how much more weight the step of mögen puts on the state after "like" than on that
   after "not". */
static double like_more(struct study *study, const int *models, const void *user)
{
    enum { NOT = 2, LIKE = 3, STEP = 1 };
    const struct sentence *sentence = user;
    struct words out;
    float *weights = study_weights(study, models[0], sentence, &out, NULL);
    const float *row = weights + STEP * (sentence->source.count + 1);
    const double more = (double)row[LIKE] - (double)row[NOT];
    free(weights);
    return more;
}

/* A model without any exact translation aligns nothing. */
static double alignment_error(struct study *study, const int *models, const void *user)
{
    const double error = study_quality(study, models[0]).alignment_error;
    (void)user;
    return isnan(error) ? 1 : error;
}

static void show_alignment(struct page *page, struct study *study)
{
    const int model = ATTENDING + CELL_GRU;
    static const char *const titles[2] = {"cats do not like dogs", "cats do not like the dogs"};
    page_step(page, "Alignment");
    page_paragraph(page, SHORT,
                   "In English the negation comes before the verb. In German it comes after the "
                   "verb, as keine or nicht. The weights show what the decoder reads as it writes "
                   "each word. For mögen it reads h₄ (yᵉ(4) in the lecture), the state after "
                   "\"cats do not like\". That state already knows about the negation, so the "
                   "decoder does not have to look at \"not\" yet.");
    for (int the = 0; the < 2; the++) {
        struct german_clause clause = study_clause;
        struct sentence sentence;
        struct words out;
        clause.object.the = the;
        study_sentence(study, &sentence, &clause);
        float *weights = study_weights(study, model, &sentence, &out, NULL);
        study_map(study, page, the ? MORE : SHORT, titles[the], &sentence, &out, weights);
        show_steps(page, study, &sentence, &out, weights);
        study_claim(study, page,
                    the ? "\"cats do not like the dogs\": is the translation exact? (1: yes)"
                        : "\"cats do not like dogs\": is the translation exact? (1: yes)",
                    study_translates, &model, 1, &sentence, EQUALS, 1);
        study_claim(study, page,
                    the ? "second sentence, at mögen: weight of the state after like, minus not"
                        : "first sentence, at mögen: weight of the state after like, minus not",
                    like_more, &model, 1, &sentence, AT_LEAST, 0.4);
        free(weights);
    }
    const double error = study_quality(study, model).alignment_error;
    const double diagonal =
        diagonal_error(&study->training, MIN_WORDS, study->training.max_words, 64);
    page_paragraph(
        page, MORE,
        "The grammar knows which word translates which. The alignment error rate (AER, Och and Ney "
        "2003) compares this knowledge with the set A of pairs that the weights suggest: each "
        "German word and the English word on which its weight is largest. S is the set of pairs "
        "that the grammar is sure of, and P that of all possible pairs. The AER is %.2f for \"GRU, "
        "attention\" and %.2f for attention only (mean of the heads). Without a model, if the "
        "first word is aligned with the first, the second with the second and so on, it is %.2f. "
        "The word keine depends both on \"not\" and on the missing article of \"dogs\". Which "
        "state it reads depends on the seed: every state after \"not\" knows about the negation, "
        "so nicht, too, may read \"not\" or a later word.",
        error, study_quality(study, ALONE).alignment_error, diagonal);
    page_formula(page, MORE, "AER = 1 - frac{|A ∩ S| + |A ∩ P|}{|A| + |S|}");
    study_claim(study, page, "alignment error rate, which must be below that without a model",
                alignment_error, &model, 1, NULL, BELOW, diagonal);
}

/* ---- the lesson ---- */

int lesson_three_problems(struct page *page, const struct lesson_options *options)
{
    struct study study;
    double before[MODELS][DISTANCES]; /* measured before training */
    study_create(&study, options, 8, 1200);
    study.config.words = 4 * WORDS;
    create_models(&study);
    show_history(page);
    for (int i = 0; i < MODELS; i++) measure_distances(&study, i, before[i]);
    show_bottleneck(page, &study);
    show_longer(page, options);
    show_gradients(page, &study, before);
    show_alignment(page, &study);
    study_free(&study);
    return EXIT_SUCCESS;
}
