/* pronoun.c - an encoder learns what "it" stands for: "the cat chased the mouse because it was
   hungry". The head that looks it up is found by a rule, on sentences that were kept out of
   training. */
#include "architecture.h"
#include "kit/layers.h"
#include "kit/program.h"
#include "learner.h"
#include "parts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ANIMALS = 10,
    VERBS = 3,
    REASONS = 6,
    LAYERS = 2,
    HEADS = 2,
    MODEL_WIDTH = 32,
    MAX = 12,
    BATCH = 32,
    TESTS = 256
};
enum {
    ANIMAL,
    VERB = ANIMAL + ANIMALS,
    REASON = VERB + VERBS, /* the first half is said of the subject, the second of the object */
    THE = REASON + REASONS,
    OLD,
    BECAUSE,
    IT,
    WAS,
    WORDS
};
static const char *const words[WORDS] = {
    "cat",        "dog",  "fox",    "hen",      "bird", "mouse",   "wolf",  "goat",
    "horse",      "lamb", "chased", "followed", "saw",  "hungry",  "bored", "hunting",
    "in the way", "lost", "noisy",  "the",      "old",  "because", "it",    "was"};

struct clause_of_it {
    int count, word[MAX], it, reason;
    int noun[2]; /* positions of subject and object */
    int meant;   /* the one that "it" stands for */
};

static bool pronoun_held_out(int subject, int object)
{
    struct random hash = random_from(9, (uint64_t)(subject * ANIMALS + object));
    return random_below(&hash, 4) == 0;
}

static void say(struct clause_of_it *s, int word)
{
    s->word[s->count++] = word;
}

static void say_noun(struct clause_of_it *s, int which, int animal, bool old)
{
    say(s, THE);
    if (old) say(s, OLD);
    s->noun[which] = s->count;
    say(s, ANIMAL + animal);
}

static void pronoun_make(struct clause_of_it *s, int subject, int object, int verb, int reason,
                         int old)
{
    *s = (struct clause_of_it){0};
    say_noun(s, 0, subject, old & 1);
    say(s, VERB + verb);
    say_noun(s, 1, object, old & 2);
    say(s, BECAUSE);
    s->it = s->count;
    say(s, IT), say(s, WAS);
    s->reason = s->count;
    say(s, REASON + reason);
    s->meant = s->noun[reason >= REASONS / 2];
}

static void pronoun_draw(struct clause_of_it *s, struct random *random, bool test)
{
    int subject, object;
    do subject = random_below(random, ANIMALS), object = random_below(random, ANIMALS);
    while (subject == object || pronoun_held_out(subject, object) != test);
    const int verb = random_below(random, VERBS), reason = random_below(random, REASONS);
    pronoun_make(s, subject, object, verb, reason, random_below(random, 4));
}

/* The only target is at "it": the noun that it stands for. */
static void pronoun_put(struct learner *l, const struct clause_of_it *s)
{
    for (int i = 0; i < s->count; i++) {
        learner_id(l, s->word[i]);
        learner_target(l, i == s->it ? s->word[s->meant] : -1);
    }
    learner_end(l);
}

/* The attention of "it", measured on sentences that were not used in training. */
struct reading {
    double noun[LAYERS][HEADS], other[LAYERS][HEADS], reason[LAYERS][HEADS]; /* mean weights */
    double marked[HEADS][2];   /* layer 1: weight from a noun on the reason; [1]: the noun meant */
    double all[LAYERS][HEADS]; /* mean weight from all words on the noun that is meant */
    double apart[LAYERS];      /* mean distance of the rows of the two heads */
    double right;              /* share of sentences in which the answer is right */
    int layer, head;           /* of the largest mean weight on the noun that is meant */
};

/* map: weights [count][count] */
static void add_reading(struct reading *r, const struct clause_of_it *s, const float *map,
                        int layer, int head)
{
    const int other = s->noun[0] + s->noun[1] - s->meant, count = s->count;
    const float *row = map + s->it * count;
    for (int i = 0; i < count; i++)
        r->all[layer][head] += (double)map[i * count + s->meant] / count / TESTS;
    if (layer == 0) {
        r->marked[head][0] += (double)map[other * count + s->reason] / TESTS;
        r->marked[head][1] += (double)map[s->meant * count + s->reason] / TESTS;
    }
    r->noun[layer][head] += (double)row[s->meant] / TESTS;
    r->other[layer][head] += (double)row[other] / TESTS;
    r->reason[layer][head] += (double)row[s->reason] / TESTS;
}

/* Adds the weights of a layer in the sentences of the batch. weights: space for HEADS. */
static void read_layer(struct learner *l, struct reading *r, const struct clause_of_it *s,
                       int layer, float *weights)
{
    const float *at[HEADS];
    for (int h = 0; h < HEADS; h++) {
        at[h] = weights + h * BATCH * MAX * MAX;
        learner_weights(l, RAPT_WEIGHTS_ENCODER, layer, h, weights + h * BATCH * MAX * MAX);
    }
    for (int b = 0; b < BATCH; b++) {
        const int count = s[b].count, it = s[b].it * count;
        for (int i = 0; i < count; i++)
            r->apart[layer] += fabs((double)(at[0][it + i] - at[1][it + i])) / 2 / TESTS;
        for (int h = 0; h < HEADS; h++) {
            add_reading(r, &s[b], at[h], layer, h);
            at[h] += count * count;
        }
    }
}

static void pronoun_read(struct learner *l, struct reading *r)
{
    struct random random = random_from(l->setup.seed, 2);
    float *weights = xcalloc(HEADS * BATCH * MAX * MAX, sizeof *weights);
    *r = (struct reading){0};
    for (int done = 0; done < TESTS; done += BATCH) {
        struct clause_of_it s[BATCH];
        for (int b = 0; b < BATCH; b++) pronoun_draw(&s[b], &random, true), pronoun_put(l, &s[b]);
        const float *logits = learner_classify(l);
        for (int b = 0; b < BATCH; b++) {
            const int said = argmax(WORDS, logits + s[b].it * WORDS);
            r->right += (double)(said == s[b].word[s[b].meant]) / TESTS;
            logits += s[b].count * WORDS;
        }
        for (int layer = 0; layer < LAYERS; layer++) read_layer(l, r, s, layer, weights);
        learner_clear(l);
    }
    for (int i = 0; i < LAYERS * HEADS; i++)
        if (r->noun[i / HEADS][i % HEADS] > r->noun[r->layer][r->head])
            r->layer = i / HEADS, r->head = i % HEADS;
    free(weights);
}

/* ---- measures of claims ---- */
static double pronoun_right(struct learner *l, const void *user)
{
    struct reading r;
    (void)user;
    pronoun_read(l, &r);
    return r.right;
}

static double pronoun_looked_up(struct learner *l, const void *user)
{
    struct reading r;
    (void)user;
    pronoun_read(l, &r);
    return r.noun[r.layer][r.head];
}

/* Returns the weight on the noun that is meant, minus that on the other noun. */
static double pronoun_told_apart(struct learner *l, const void *user)
{
    struct reading r;
    (void)user;
    pronoun_read(l, &r);
    return r.noun[r.layer][r.head] - r.other[r.layer][r.head];
}

/* Returns the larger of the distances of the two heads of a layer. */
static double pronoun_heads_differ(struct learner *l, const void *user)
{
    struct reading r;
    (void)user;
    pronoun_read(l, &r);
    return fmax(r.apart[0], r.apart[1]);
}

/* ---- the page ---- */
/* Feeds "the cat chased the old mouse because it was ..." and stores the weights of a head. */
static void shown_weights(struct learner *l, int reason, int layer, int head,
                          struct clause_of_it *s, int *said, float *weights)
{
    pronoun_make(s, 0, 5, 0, reason, 2);
    pronoun_put(l, s);
    *said = argmax(WORDS, learner_classify(l) + s->it * WORDS);
    learner_weights(l, RAPT_WEIGHTS_ENCODER, layer, head, weights);
    learner_clear(l);
}

/* Returns the weight from "it" to "cat" in the sentence that is shown, in the head that looks the
   noun up. */
static double shown_on_cat(struct learner *l, const void *user)
{
    struct reading r;
    struct clause_of_it s;
    float weights[MAX * MAX];
    int said;
    (void)user;
    pronoun_read(l, &r);
    shown_weights(l, 0, r.layer, r.head, &s, &said, weights);
    return (double)weights[s.it * s.count + s.meant];
}

static void show_sentence(struct page *page, struct learner *l, const struct reading *r, int reason,
                          enum page_detail detail)
{
    struct clause_of_it s;
    const char *names[MAX];
    float weights[MAX * MAX];
    int said;
    shown_weights(l, reason, r->layer, r->head, &s, &said, weights);
    for (int i = 0; i < s.count; i++) names[i] = words[s.word[i]];
    const float *row = weights + s.it * s.count;
    const int most = argmax(s.count, row);
    char *title =
        xasprintf("… because it was %s: \"it\" reads \"%s\" with %.0f %%, and the answer "
                  "is \"%s\"",
                  words[REASON + reason], names[most], 100 * (double)row[most], words[said]);
    page_map(page, detail, title, s.count, s.count, names, names, weights);
    page_map_row(page, s.it);
    free(title);
    if (reason == 0)
        show_drawn_step(page, STEP_ITSELF,
                        &(struct step_numbers){
                            .sources = s.count, .source = names, .step = s.it, .weights = row});
}

/* Says how the words know which noun is meant, which "it" does not find out by itself. */
static void show_marks(struct page *page, const struct reading *r)
{
    int head = 0;
    double more[HEADS]; /* by which a noun that is not meant reads the reason more */
    for (int h = 0; h < HEADS; h++) {
        more[h] = r->marked[h][0] - r->marked[h][1];
        if (fabs(more[h]) > fabs(more[head])) head = h;
    }
    page_paragraph(
        page, SHORT,
        "How does \"it\" know about the reason, which it hardly reads? The nouns have already read "
        "it. In layer 1, head %d, the noun that is not meant gives the reason a weight of %.2f on "
        "average, and the noun that is meant one of %.2f. %s",
        head + 1, r->marked[head][0], r->marked[head][1],
        fabs(more[head]) >= 0.3
            ? "So after layer 1 each noun knows whether it is meant, and in layer 2 every word can "
              "find it by its key."
            : "This difference is small, so it must take both heads to tell the nouns apart.");
}

static void show_heads(struct page *page, const struct reading *r, double untrained)
{
    page_table(page, SHORT, "What \"it\" reads, mean weight in 256 sentences kept out of training",
               "head\tthe noun meant\tthe other noun\tthe reason");
    for (int i = 0; i < LAYERS * HEADS; i++)
        page_row(page, "layer %d, head %d\t%.2f\t%.2f\t%.2f", i / HEADS + 1, i % HEADS + 1,
                 r->noun[i / HEADS][i % HEADS], r->other[i / HEADS][i % HEADS],
                 r->reason[i / HEADS][i % HEADS]);
    page_paragraph(
        page, SHORT,
        "The maps show head %d of layer %d. It was chosen by a rule and not by eye: of all heads, "
        "it has the largest mean weight from \"it\" to the noun that is meant, %.2f. The other "
        "head of this layer puts %.2f there. The answer is read at \"it\" and nowhere else, so "
        "only this row of the maps was trained to find the noun, and the others are faded. On "
        "average, all rows together put %.2f on that noun. %s",
        r->head + 1, r->layer + 1, r->noun[r->layer][r->head], r->noun[r->layer][1 - r->head],
        r->all[r->layer][r->head],
        r->all[r->layer][r->head] >= 0.8
            ? "So the queries hardly differ, and what counts is the key of the noun."
            : "The other rows are free to read something else.");
    show_marks(page, r);
    page_paragraph(
        page, SHORT,
        "Each head has its own W_q, W_k and W_v and can therefore ask its own question. The "
        "results of the %d heads, of %d numbers each, are concatenated into one vector of %d "
        "numbers, which one more learned matrix, W_o, mixes. The result is what is added to x. In "
        "the table of lesson 7, this matrix is called out.weight.",
        HEADS, MODEL_WIDTH / HEADS, MODEL_WIDTH);
    page_formula(page, SHORT, "text{head}_i = Attention(X W_q^i, X W_k^i, X W_v^i)");
    page_formula(page, SHORT, "MultiHead(X) = [text{head}_1 , … , text{head}_H] W_o");
    page_formula(page, MORE, "W_q^i, W_k^i, W_v^i: w × d ,  text{head}_i: n × d ,  W_o: H d × w");
    page_paragraph(
        page, SHORT,
        "How different are the questions? In the same sentence, the rows of \"it\" in the two "
        "heads of a layer have an average distance (lesson 1) of %.2f in layer 1 and %.2f in layer "
        "2. In the untrained network the larger of the two is %.2f. Lesson 11 measures more heads.",
        r->apart[0], r->apart[1], untrained);
}

static void judge_pronoun(struct page *page, struct learner *l, const struct reading *r)
{
    struct learner untrained;
    learner_create(&untrained, &l->setup);
    show_heads(page, r, pronoun_heads_differ(&untrained, NULL));
    learner_free(&untrained);
    learner_claim(l, page, "share of unseen sentences in which \"it\" is named right",
                  pronoun_right, NULL, AT_LEAST, 0.85);
    learner_claim(l, page, "\"hungry\": weight from \"it\" to \"cat\" in the sentence shown",
                  shown_on_cat, NULL, AT_LEAST, 0.75);
    learner_claim(l, page, "the chosen head: mean weight from \"it\" to the noun that is meant",
                  pronoun_looked_up, NULL, AT_LEAST, 0.9);
    learner_claim(l, page, "the chosen head: mean weight on that noun minus the other noun",
                  pronoun_told_apart, NULL, AT_LEAST, 0.8);
}

void show_pronoun(struct page *page, const struct lesson_options *options)
{
    struct learner l;
    struct reading r;
    struct clause_of_it s;
    struct random random = random_from(options->seed, 1);
    struct learner_setup setup = {.steps = options->quick ? 3000 : 4000,
                                  .batch = BATCH,
                                  .source_rows = MAX,
                                  .target_ids = MAX,
                                  .rate = 0.005F,
                                  .seed = options->seed};
    page_step(page, "Every word asks all words");
    page_paragraph(
        page, SHORT,
        "Now no state is handed from word to word. All words ask at the same time: each one reads "
        "all words of its own sentence and adds what it reads to its own vector. The query, key "
        "and value of a word are three projections of the same vector x.");
    page_formula(page, SHORT, "Q = X W_q ,  K = X W_k ,  V = X W_v");
    page_formula(page, SHORT, "Attention(Q, K, V) = softmax(frac{Q K^⊤}{sqrt{d}}) V");
    page_paragraph(
        page, SHORT,
        "X has one row for each of n words and is n × w. Q and K are n × d, the weights are n × n "
        "(row by row: which words a word reads), and the result is n × d. Any score of lesson 8 "
        "could take the place of the scaled dot product.");
    page_paragraph(
        page, SHORT,
        "What is this good for? In \"the cat chased the mouse because it was hungry\" the word "
        "\"it\" stands for the cat; with \"lost\" in place of \"hungry\" it stands for the mouse. "
        "There are six such reasons: \"hungry\", \"bored\" and \"hunting\" are said of the "
        "subject, \"in the way\", \"lost\" and \"noisy\" of the object. An encoder of %d layers "
        "with %d heads has to name the animal at the place of \"it\". A quarter of the pairs of "
        "animals are kept out of training.",
        LAYERS, HEADS);
    setup.config = learner_config(RAPT_KIND_ENCODER_ONLY, MODEL_WIDTH, HEADS, LAYERS, MAX);
    setup.config.source_vocab = setup.config.target_vocab = WORDS;
    learner_create(&l, &setup);
    for (int step = 0; step < setup.steps; step++) {
        for (int b = 0; b < BATCH; b++) pronoun_draw(&s, &random, false), pronoun_put(&l, &s);
        learner_step(&l);
    }
    pronoun_read(&l, &r);
    show_sentence(page, &l, &r, 0, SHORT);
    show_sentence(page, &l, &r, REASONS / 2 + 1, SHORT);
    judge_pronoun(page, &l, &r);
    learner_free(&l);
}
