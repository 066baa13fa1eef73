/* alignment.c - what the decoder reads for the words of two negations, and how far its
   weights are from the grammar's alignment. */
#include "three_problems.h"
#include <math.h>
#include <stdlib.h>

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

void show_alignment(struct page *page, struct study *study)
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
