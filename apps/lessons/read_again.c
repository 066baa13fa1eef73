/* read_again.c - the source is encoded anew for every word of the translation, given the
   state of the decoder. Measures quality, and the cost by the length of the sentence. */
#include "architecture.h"
#include "study.h"
#include <stdlib.h>

enum { ONCE, AGAIN };

static void compare_encoders(struct page *page, struct study *study,
                             const struct sentence *sentence)
{
    page_step(page, "Read it again for every word");
    page_paragraph(page, SHORT,
                   "Prototype 2 encodes the whole sentence once more before it writes each word, "
                   "and its encoder sees the state of the decoder. Each encoding then has to hold "
                   "only what the next word needs.");
    page_formula(page, SHORT, "h_s = f(h_{s-1}, x_s, d_{t-1})");
    page_formula(page, SHORT, "c_t = h_T");
    page_formula(page, SHORT, "d_t = g(d_{t-1}, y_{t-1}, c_t)");
    const struct recurrent_config config = study_prototype(study, PROTOTYPE_2);
    study_add(study, "one vector", &study->config);
    study_add(study, "read again", &config);
    study_train(study, 0);
    show_architecture(page, study, AGAIN, PROTOTYPE_2, sentence);
    study_curves(study, page, SHORT, "Quality by length, after the same training",
                 (const int[]){ONCE, AGAIN}, 2);
    study_compare(study, page, SHORT, "Two encoders", "encoder", ONCE, 2, NULL);
    study_claim(study, page, "read again: sentences translated exactly, %", study_exact,
                (const int[]){AGAIN}, 1, NULL, AT_LEAST, 60);
    study_claim(study, page, "sentences translated exactly: read again minus one vector, %",
                study_exact_more, (const int[]){AGAIN, ONCE}, 2, NULL, AT_LEAST, 5);
}

/* Shares of the English nouns in the influence on the German nouns, and in that on the verb. */
struct noun_shares {
    double for_nouns, for_verb;
};

/* Returns by how much the nouns matter more for nouns than for the verb. */
static double preference(const struct noun_shares *shares)
{
    return shares->for_nouns - shares->for_verb;
}

static struct noun_shares shares_of_nouns(const struct sentence *sentence, const float *map)
{
    enum { CATS = 0, DOGS = 4, KATZEN = 0, MOEGEN = 1, HUNDE = 3 }; /* of study_clause */
    const int columns = sentence->source.count + 1;
    double share[HUNDE + 1] = {0};
    for (int t = 0; t <= HUNDE; t++)
        share[t] = (double)map[t * columns + CATS] + (double)map[t * columns + DOGS];
    return (struct noun_shares){(share[KATZEN] + share[HUNDE]) / 2, share[MOEGEN]};
}

static void show_influence(struct page *page, struct study *study, const struct sentence *sentence)
{
    float *again = study_influence(study, AGAIN, sentence);
    float *once = study_influence(study, ONCE, sentence);
    const struct noun_shares again_nouns = shares_of_nouns(sentence, again);
    const struct noun_shares once_nouns = shares_of_nouns(sentence, once);
    const int columns = sentence->source.count + 1;
    page_step(page, "Another encoding for each word");
    page_paragraph(
        page, SHORT,
        "An encoding that is made for a single word need not hold the rest of the sentence. To "
        "write a noun, says the lecture, the decoder only needs to know about the nouns. Do our "
        "models agree? The influence of each English word, measured as in lesson 1, now differs "
        "from one German word to the next.");
    study_map(study, page, SHORT, "Read again: influence of each word", sentence, &sentence->target,
              again);
    study_map(study, page, MORE, "One vector, for comparison", sentence, &sentence->target, once);
    study_claim(study, page,
                "read again: distance of two rows of influences, minus that with one vector",
                study_distance_more, (const int[]){AGAIN, ONCE}, 2, sentence, AT_LEAST, 0.1);
    page_paragraph(
        page, SHORT,
        "If the sentence is read again, the two English nouns have %.0f %% of the influence on the "
        "German nouns and %.0f %% of that on the verb. With one vector they have %.0f %% and %.0f "
        "%%; equal shares would be %.0f %%. So %s. A gradient tells what a small change of a word "
        "would do, not what is enough to write a noun. These numbers therefore neither prove nor "
        "refute that a noun needs only the nouns. What they do show is that the rows differ more "
        "from each other than with one vector (%.2f against %.2f), since each word has an encoding "
        "of its own.",
        100 * again_nouns.for_nouns, 100 * again_nouns.for_verb, 100 * once_nouns.for_nouns,
        100 * once_nouns.for_verb, 200.0 / columns,
        preference(&again_nouns) > preference(&once_nouns) + 0.1
            ? "the nouns matter more for nouns than for the verb, and more clearly so if the "
              "sentence is read again"
            : "reading again does not make nouns depend on the nouns more clearly than one vector "
              "does",
        study_distance(sentence->target.count + 1, columns, again),
        study_distance(sentence->target.count + 1, columns, once));
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
        "A sentence of T words is read T times if its translation is as long. Each word costs T "
        "steps of a recurrent cell (plus one for the end of the sentence and one for the decoder), "
        "so a translation costs about T² steps. With a single encoding it costs about 2T.");
    page_table(page, SHORT, "Steps of a cell for each word of the translation",
               "English words\tone vector\tread again");
    for (int i = 0; i < LENGTHS; i++) {
        const int length = MIN_WORDS << i;
        lengths[i] = length;
        for (int k = ONCE; k <= AGAIN; k++) steps[k][i] = study_steps_of(study, k, length);
        page_row(page, "%d\t%.1f\t%.1f", length, steps[ONCE][i], steps[AGAIN][i]);
    }
    page_chart(page, MORE, "Steps of a recurrent cell for each word", "English words", "steps");
    for (int k = ONCE; k <= AGAIN; k++)
        page_curve(page, study->models[k].name, LENGTHS, lengths, steps[k]);
    page_paragraph(page, MORE,
                   "Attention (lesson 6) also reads T states for each word. But these are T "
                   "products that can be computed at once, not T steps that wait for each other.");
}

int lesson_read_again(struct page *page, const struct lesson_options *options)
{
    struct study study;
    struct sentence sentence;
    study_create(&study, options, 8, 900);
    study_sentence(&study, &sentence, &study_clause);
    study.config.words = 64;
    compare_encoders(page, &study, &sentence);
    show_influence(page, &study, &sentence);
    show_cost(page, &study);
    study_free(&study);
    return EXIT_SUCCESS;
}
