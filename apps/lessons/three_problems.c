/* three_problems.c - the problems that attention solves: the bottleneck of one vector,
   gradients that vanish with distance, and the alignment of words. */
#include "three_problems.h"
#include <stdlib.h>

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
