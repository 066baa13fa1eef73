/* read_again.c - lesson 2: the source is encoded anew for every word of the translation, given the
   state of the decoder: what it gives, and what it costs by the length of the sentence. */
#include "study.h"
#include <stdlib.h>

enum { ONCE, AGAIN };

static void compare(struct page *page, struct study *study)
{
    page_step(page, "Read it again for every word");
    page_paragraph(page, SHORT,
                   "Prototype 2: before each word the decoder has the whole sentence encoded once "
                   "more, and the encoder is told the state of the decoder. So each encoding needs "
                   "to hold no more than what the next word is made of.");
    page_formula(page, SHORT, "h_s = f(h_{s-1}, x_s, d_{t-1})");
    page_formula(page, SHORT, "c_t = h_T");
    page_formula(page, SHORT, "d_t = g(d_{t-1}, y_{t-1}, c_t)");
    struct recurrent_config config = study->config;
    study_add(study, "one vector", &config);
    config.encoder = ENCODER_AGAIN;
    study_add(study, "read again", &config);
    study_train(study, 0);
    study_curves(study, page, SHORT, "Quality by length, after the same training",
                 (const int[]){ONCE, AGAIN}, 2);
    struct quality quality[2];
    study_compare(study, page, SHORT, "Two encoders", "encoder", ONCE, 2, quality);
    page_claim(page, "read again: % of sentences exact", quality[AGAIN].exact, AT_LEAST, 60);
    page_claim(page, "more than with one vector, %", quality[AGAIN].exact - quality[ONCE].exact,
               AT_LEAST, 5);
}

static void show_influence(struct page *page, struct study *study)
{
    struct sentence sentence;
    study_sentence(study, &sentence, &study_clause);
    const int rows = sentence.target.count + 1, columns = sentence.source.count + 1;
    float *again = study_influence(study, AGAIN, &sentence);
    float *once = study_influence(study, ONCE, &sentence);
    page_step(page, "Another encoding for each word");
    page_paragraph(
        page, SHORT,
        "Who is about to write a noun needs to know of nouns alone. The influence of each "
        "English word, as in lesson 1, is another one for each German word now.");
    study_map(study, page, SHORT, "Read again: influence of each word", &sentence, &sentence.target,
              again);
    study_map(study, page, MORE, "One vector, for comparison", &sentence, &sentence.target, once);
    page_claim(page, "rows differ more than with one vector, times",
               study_distance(rows, columns, again) / study_distance(rows, columns, once), AT_LEAST,
               1.5);
    free(again);
    free(once);
}

static void show_cost(struct page *page, struct study *study)
{
    enum { LENGTHS = 4 };
    double lengths[LENGTHS], steps[2][LENGTHS];
    page_step(page, "The price: quadratic");
    page_paragraph(
        page, SHORT,
        "A sentence of T words is read T times for a translation of as many: T steps of a cell for "
        "each word (plus one for the end, and the decoder's own), T² in all, where one encoding "
        "takes T.");
    page_table(page, SHORT, "Cost of each word of the translation",
               "English words\tcell steps, one vector\tread again\tµs, one vector\tread again");
    for (int i = 0; i < LENGTHS; i++) {
        struct study_cost cost[2];
        const int length = MIN_WORDS << i;
        lengths[i] = length;
        for (int k = ONCE; k <= AGAIN; k++) {
            cost[k] = study_cost_of(study, k, length);
            steps[k][i] = cost[k].steps;
        }
        page_row(page, "%d\t%.1f\t%.1f\t%.1f\t%.1f", length, cost[ONCE].steps, cost[AGAIN].steps,
                 cost[ONCE].time, cost[AGAIN].time);
    }
    page_chart(page, MORE, "Steps of a recurrent cell for each word", "English words", "steps");
    for (int k = ONCE; k <= AGAIN; k++)
        page_curve(page, study->models[k].name, LENGTHS, lengths, steps[k]);
    page_paragraph(
        page, MORE,
        "Attention (lesson 6) reads T states for each word, too, but by T products, not by "
        "T steps that wait for each other.");
    page_claim(page, "read again: steps per word at 32 words over those at 8",
               steps[AGAIN][3] / steps[AGAIN][1], AT_LEAST, 3);
    page_claim(page, "one vector: the same", steps[ONCE][3] / steps[ONCE][1], AT_MOST, 1.5);
}

int lesson_read_again(struct page *page, const struct lesson_options *options)
{
    struct study study;
    study_create(&study, options, 8, 900);
    study.config.words = 64;
    compare(page, &study);
    show_influence(page, &study);
    show_cost(page, &study);
    study_free(&study);
    return EXIT_SUCCESS;
}
