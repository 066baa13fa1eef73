/* prototype_4.c - prototype 4 as a translator: encode each word, mix the encodings by the softmax
   of scores, pass the mixture on. It is compared with the one vector of lesson 1. */
#include "architecture.h"
#include "parts.h"
#include "study.h"
#include <stdlib.h>

enum { VECTOR, MIXED };

static void show_shapes(struct page *page, const struct study *study,
                        const struct sentence *sentence)
{
    const int n = sentence->source.count + 1, k = study->config.embed, d = study->config.hidden;
    page_paragraph(
        page, SHORT,
        "Now in matrices, for n items of k numbers and states of d numbers: V holds the embedded "
        "words and is n × k, and E holds their encodings and is n × d. The state of the decoder "
        "d_t is a vector of d numbers (the lecture calls it h_t), and the weights a_t are n "
        "numbers. In \"cats do not like dogs\" with its end, n is %d, and the model below has k = "
        "%d and d = %d.",
        n, k, d);
    page_formula(page, SHORT, "E = f_{encoder}(V) ,  V: n × k ,  E: n × d");
    page_formula(page, SHORT, "a_t = softmax(E d_t) ,  a_t: n ,  d_t: d");
    page_formula(page, SHORT, "d_{t+1} = f_{output}(E^⊤ a_t , d_t) ,  E^⊤ a_t: d");
    page_paragraph(page, SHORT,
                   "The model below computes its scores by a small network instead, v tanh(W d + U "
                   "h), as Bahdanau's does (lesson 8). Everything else is as in these formulas.");
}

void show_prototype_4(struct page *page, const struct lesson_options *options)
{
    static struct study study;
    struct sentence sentence;
    struct words out;
    page_step(page, "Prototype 4");
    page_paragraph(page, SHORT,
                   "Prototype 4 puts the parts together: encode each item, compute the softmax of "
                   "the items' scores with the query, and pass on the weighted average of the "
                   "encodings. Since every step reads all encodings, this is called global or soft "
                   "attention. Local attention (lesson 8) reads some of them, and hard attention "
                   "only one.");
    study_create(&study, options, 8, 1200);
    study_sentence(&study, &sentence, &study_clause);
    show_shapes(page, &study, &sentence);
    study_add(&study, "one vector", &study.config);
    const struct recurrent_config config = study_prototype(&study, PROTOTYPE_4);
    study_add(&study, "prototype 4", &config);
    study_train(&study, 0);
    show_architecture(page, &study, MIXED, PROTOTYPE_4, &sentence);
    float *weights = study_weights(&study, MIXED, &sentence, &out, NULL);
    study_map(&study, page, SHORT, "Prototype 4, trained: the weights of each word that it writes",
              &sentence, &out, weights);
    page_map_temperature(page);
    page_paragraph(page, MORE,
                   "The slider below the map divides the scores by a temperature before the "
                   "softmax. At 0 only the largest weight is left, which is hard attention, and "
                   "far above 1 all weights become equal.");
    free(weights);
    study_compare(&study, page, SHORT, "The same training", "model", VECTOR, MIXED + 1, NULL);
    page_paragraph(page, SHORT,
                   "An AER (lesson 2) far from 0 does not mean that translations are wrong. A "
                   "state knows the words before it, so a word can be read from the state after "
                   "it. That counts as an error in the AER, but does no harm to the translation.");
    study_claim(&study, page, "prototype 4: sentences translated exactly, %", study_exact,
                (const int[]){MIXED}, 1, NULL, AT_LEAST, 75);
    study_claim(&study, page, "sentences translated exactly: prototype 4 minus one vector, %",
                study_exact_more, (const int[]){MIXED, VECTOR}, 2, NULL, AT_LEAST, 5);
    study_free(&study);
}
