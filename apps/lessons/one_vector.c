/* one_vector.c - encoder-decoders that pass on one vector in four ways, and the influence
   of each source word on each word of the translation. */
#include "architecture.h"
#include "study.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const ways[PASSES] = {"at each step", "at the first step", "initial state",
                                         "through a network"};

static void tell(struct page *page, const struct recurrent_config *config)
{
    page_step(page, "A sentence becomes one vector");
    page_paragraph(
        page, SHORT,
        "In prototype 1 a recurrent network (RNN, here a GRU) reads the English words one after "
        "another. What it passes on is the vector c, a function of all its states. While a second "
        "network writes the German words, c is all it knows about the English ones. The simplest "
        "choice is the last state: f_c returns h_T. A state has %d numbers, however long the "
        "sentence is.",
        config->hidden);
    page_formula(page, SHORT, "h_s = f(h_{s-1}, x_s)");
    page_formula(page, SHORT, "c = f_c(h_1, …, h_T) = h_T");
    page_formula(page, SHORT, "d_t = g(d_{t-1}, y_{t-1}, c)");
    page_formula(page, SHORT, "y_t = softmax(W d_t + U c)");
    page_formula(page, MORE, "x_s: k ,  h_s, c, d_t: d ,  W, U: N × d ,  y_t: N");
    page_paragraph(page, MORE,
                   "The last line has the shapes: an embedding has k numbers (%d here), a state d, "
                   "and y_t one for each of the N words that can be written.",
                   config->embed);
    page_paragraph(page, SHORT,
                   "This decoder reads c at each step, both for its state and for its output; the "
                   "pictures show only the former. The next section compares this with other ways "
                   "to pass c on.");
    page_paragraph(page, SHORT,
                   "One vector would do if we knew in advance which parts of the sentence matter. "
                   "But sooner or later every part is needed, so the encoder has to describe the "
                   "whole sentence.");
    page_table(page, MORE, "Notation of the lessons", "symbol\tmeaning");
    page_row(page, "x₁ … x_T\tembeddings: learned vectors of the words that are read");
    page_row(page, "h₁ … h_T\ttheir encodings: states of the encoder");
    page_row(page, "c (or C)\tcontext: what is passed on, once or once per step");
    page_row(page, "d₀, d₁ …\tstates of the decoder");
    page_row(page, "y₁, y₂ …\tthe words that are written, as probabilities");
    page_row(page, "y₀ = (begin)\twhat the decoder reads before its first word");
    page_row(page, "(end)\tthe last symbol of a sentence, read or written");
    page_row(page, "q, k, v\tquery, key, value");
    page_row(page, "e, then a (or α)\tscores, then weights: positive, with sum 1");
    page_paragraph(
        page, MORE,
        "The encoder cannot be trained by itself, since nothing tells us what its last state "
        "should be. It is trained through the decoder, and so learns a state that is useful "
        "there.");
}

static const int twice = 2;

/* Returns the largest share of exact translations of all ways, in %. times (or NULL): minus that of
   sentences longer than those of training by this factor. */
static double best_exact(struct study *study, const int *models, const void *times)
{
    const int words = study->training.max_words * (times ? *(const int *)times : 1);
    double best = 0, longer = 0;
    for (int i = 0; i < PASSES; i++) {
        best = fmax(best, study_quality(study, models[i]).exact);
        if (times)
            longer = fmax(longer, study_quality_of(study, models[i], words - 1, words, 32).exact);
    }
    return best - longer;
}

/* Trains the slowest way for longer, and the same way without the network for comparison. */
static void show_longer_training(struct page *page, const struct lesson_options *options)
{
    enum { TIMES = 3 };
    static const enum pass_kind passes[2] = {PASS_NETWORK, PASS_INITIAL};
    static struct study study;
    double exact[2];
    study_create(&study, options, 8, 2400 * TIMES);
    study.training.rate = 4e-3F;
    for (int i = 0; i < 2; i++) {
        study.config.pass = passes[i];
        study_add(&study, ways[passes[i]], &study.config);
    }
    study_train(&study, 0);
    for (int i = 0; i < 2; i++) exact[i] = study_quality(&study, i).exact;
    page_paragraph(
        page, SHORT,
        "Does the network do harm? It adds a tanh layer between encoder and decoder, which shrinks "
        "the gradient, so perhaps it only needs more steps. After %d times as many, it translates "
        "%.1f %% of the sentences exactly. Without the network, the initial state reaches %.1f %% "
        "in as many steps. With this seed the network %s.",
        TIMES, exact[0], exact[1],
        exact[0] < exact[1] - 5   ? "is still behind: at best it learns more slowly"
        : exact[0] > exact[1] + 5 ? "is ahead by then: it was slow, but does no harm"
                                  : "has caught up by then: it was only slower");
    study_free(&study);
}

static void compare_ways(struct page *page, struct study *study,
                         const struct lesson_options *options, const struct sentence *sentence)
{
    page_step(page, "Four ways to pass it on");
    page_paragraph(
        page, SHORT,
        "The vector can enter the decoder at every step or at the first step only. It can also "
        "become the decoder's initial state, either directly or through a network with a hidden "
        "layer. All four models train on the same sentences of %d to %d words.",
        MIN_WORDS, study->training.max_words);
    for (int pass = 0; pass < PASSES; pass++) {
        struct recurrent_config config = study->config;
        config.pass = (enum pass_kind)pass;
        study_add(study, ways[pass], &config);
    }
    study_train(study, 0);
    page_paragraph(page, SHORT,
                   "In the pictures of models, blue boxes are states and the circle is the context "
                   "c. Blue lines lead to the context, and the thicker a line is, the larger its "
                   "weight. The orange line leads from the context to what the output is made of. "
                   "Later lessons add a pink line from the state that serves as the query, and a "
                   "green one from the decoder back into the encoder. In each picture only the new "
                   "parts are in color; the rest is faint.");
    show_architecture(page, study, PASS_EACH, PROTOTYPE_1, sentence);
    show_architecture(page, study, PASS_INITIAL, FIXED_VECTOR, sentence);
    study_curves(study, page, SHORT,
                 "Quality by length: low beyond the 8 words of training, whichever way c is passed",
                 (const int[]){PASS_EACH, PASS_FIRST, PASS_INITIAL, PASS_NETWORK}, PASSES);
    page_paragraph(
        page, SHORT,
        "BLEU measures how many of a translation's sequences of one to four words also occur in "
        "the right translation, from 0 (none) to 100 (all); lesson 11 says more about it. A short "
        "sentence has few sequences of four words, and a single wrong word can spoil them all. "
        "Sentences of 4 words can therefore have a lower BLEU than those of 6.");
    study_compare(study, page, SHORT, "The four ways", "c is passed", 0, PASSES, NULL);
    page_paragraph(
        page, MORE,
        "A decoder that sees c only once has to carry it along in its own state, next to what it "
        "has already written. A decoder that sees c at each step does not have to, and therefore "
        "learns the most in the same number of training steps. The order of the other ways depends "
        "on the seed.");
    show_longer_training(page, options);
    const int all[PASSES] = {PASS_EACH, PASS_FIRST, PASS_INITIAL, PASS_NETWORK};
    study_claim(study, page,
                "sentences of training lengths that the best way translates exactly, %", best_exact,
                all, PASSES, NULL, AT_LEAST, 40);
    study_claim(study, page,
                "exact translations of the best way, minus those of sentences twice as long, %",
                best_exact, all, PASSES, &twice, AT_LEAST, 38);
    study_claim(study, page, "BLEU at each step minus BLEU at the first step only", study_bleu_more,
                all, 2, NULL, ABOVE, 5);
}

/* Shows what each word of a translation is made from. */
static void show_outputs(struct page *page, struct study *study, const struct sentence *sentence)
{
    struct words out;
    char before[400] = "C";
    translator_translate(&study->models[PASS_EACH], sentence, 1, &out, NULL);
    page_formula(page, SHORT, "C = F(x_1, …, x_T)");
    page_formula(page, SHORT, "y_1 = f(C) ,  y_2 = f(C, y_1) ,  y_3 = f(C, y_1, y_2)");
    page_table(page, SHORT, "The model with C at each step translates \"cats do not like dogs\"",
               "step\twritten by f\tf reads");
    for (int t = 0; t < out.count && t < 6; t++) {
        const char *word = study->language.target.words[out.tokens[t]];
        const size_t used = strlen(before);
        page_row(page, "%d\t%s\t%s", t + 1, word, before);
        snprintf(before + used, sizeof before - used, ", %s", word);
    }
}

/* Shows a map of influences under a title that says by how much its rows differ. */
static void show_rows(struct page *page, struct study *study, enum page_detail detail,
                      const char *name, const struct sentence *sentence, const float *map)
{
    char *title =
        xasprintf("%s: two rows differ by %.2f on average", name,
                  study_distance(sentence->target.count + 1, sentence->source.count + 1, map));
    study_map(study, page, detail, title, sentence, &sentence->target, map);
    free(title);
}

struct nearest { /* the two rows that differ least */
    int a, b;
    double distance;
};

static struct nearest nearest_rows(const struct sentence *sentence, const float *map)
{
    const int columns = sentence->source.count + 1;
    struct nearest least = {0, 0, INFINITY};
    for (int a = 0; a <= sentence->target.count; a++)
        for (int b = a + 1; b <= sentence->target.count; b++) {
            double distance = 0;
            for (int s = 0; s < columns; s++)
                distance += fabs((double)(map[a * columns + s] - map[b * columns + s])) / 2;
            if (distance < least.distance) least = (struct nearest){a, b, distance};
        }
    return least;
}

static void show_influence(struct page *page, struct study *study, const struct sentence *sentence)
{
    const struct recurrent_config config = study_prototype(study, SIMPLE);
    page_step(page, "The distraction model");
    page_paragraph(
        page, SHORT,
        "\"… no matter which word is generated … they all use the same semantic encoding "
        "C\": the lecture \"Simply explain Attention Model\" therefore calls a model "
        "without attention a distraction model.");
    show_outputs(page, study, sentence);
    page_paragraph(page, SHORT,
                   "To see how much each English word influences each German word, we take the "
                   "gradient of the German word's loss with respect to each English word, and "
                   "divide each row by its sum. As in training, the decoder reads the right words "
                   "here. The rows of the map, like the words in the pictures above, are therefore "
                   "those of the right translation. What the model writes by itself is in the "
                   "table and may differ.");
    page_formula(page, SHORT, "I_{ts} = frac{|∂loss_t / ∂x_s|}{∑_j |∂loss_t / ∂x_j|}");
    int attending = study_add(study, "attention", &config);
    study_train(study, attending);
    float *fixed = study_influence(study, PASS_EACH, sentence);
    float *sharp = study_influence(study, attending, sentence);
    const struct nearest least = nearest_rows(sentence, sharp);
    const char **words = study_names(&study->language.target, &sentence->target);
    show_rows(page, study, SHORT, "One vector", sentence, fixed);
    show_rows(page, study, MORE, "With attention (lesson 6)", sentence, sharp);
    page_paragraph(page, MORE,
                   "The distance of two rows is 0 if they are equal and 1 if they have nothing in "
                   "common. With attention, too, two words may read the same: here \"%s\" and "
                   "\"%s\" differ least, by %.2f.",
                   words[least.a], words[least.b], least.distance);
    free(words);
    study_claim(study, page, "distance of two rows with attention, minus that with one vector",
                study_distance_more, (const int[]){attending, PASS_EACH}, 2, sentence, AT_LEAST,
                0.2);
    free(fixed);
    free(sharp);
}

int lesson_one_vector(struct page *page, const struct lesson_options *options)
{
    struct study study;
    struct sentence sentence;
    study_create(&study, options, 8, 2400);
    study_sentence(&study, &sentence, &study_clause);
    study.training.rate = 4e-3F;
    tell(page, &study.config);
    compare_ways(page, &study, options, &sentence);
    show_influence(page, &study, &sentence);
    study_free(&study);
    return EXIT_SUCCESS;
}
