/* tasks_answer.c - answers a question about a document.

   ITEMS: each sentence is one item, the sum of its words' vectors and of its position (Sukhbaatar
   et al. 2015, section 4.1); the question is another. An encoder attends to the items, and the row
   of the question is classified. It is compared with an encoder of one layer, which can look only
   once, and with one that reads words and has to find the sentences first. */
#include "kit/layers.h"
#include "kit/random.h"
#include "learner.h"
#include "tasks.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PEOPLE = 4, LOCATIONS = 6, THINGS = 3, MAX_FACTS = 2 * PEOPLE };
enum {
    PERSON,
    LOCATION = PERSON + PEOPLE,
    THING = LOCATION + LOCATIONS,
    WENT = THING + THINGS,
    TO,
    THE,
    TOOK,
    DOT,
    WHERE,
    IS,
    ASK,
    WORDS,
    MAX_WORDS = 4 + 6 * MAX_FACTS
};
extern const char *const story_words[WORDS];

struct story {
    int facts, who[MAX_FACTS],
        what[MAX_FACTS];     /* what: a location the person went to, or a thing the person took */
    int asked, answer, last; /* a person or a thing; its location; the location named last */
    bool needed[MAX_FACTS];  /* for the answer */
};

const char *const story_words[WORDS] = {"tom",    "mary",   "john", "anna", "garden", "kitchen",
                                        "office", "school", "park", "shop", "ball",   "book",
                                        "apple",  "went",   "to",   "the",  "took",   ".",
                                        "where",  "is",     "?"};

/* Returns the index of the last fact in which this person goes somewhere (`went`) or takes a thing,
   or -1. */
static int last_fact(const struct story *s, int who, bool went)
{
    int at = -1;
    for (int i = 0; i < s->facts; i++)
        if (s->who[i] == who && (s->what[i] < THING) == went) at = i;
    return at;
}

static bool taken(const struct story *s, int thing)
{
    for (int i = 0; i < s->facts; i++)
        if (s->what[i] == thing) return true;
    return false;
}

/* Adds a fact about a person, who may take a thing that nobody has after having gone somewhere. */
static void add_fact(struct story *s, struct random *random, int who)
{
    const int at = last_fact(s, who, true), thing = THING + random_below(random, THINGS);
    int what = thing;
    if (at < 0 || last_fact(s, who, false) >= 0 || taken(s, thing) || random_below(random, 2)) {
        do what = LOCATION + random_below(random, LOCATIONS);
        while (at >= 0 && what == s->what[at]);
        s->last = what;
    }
    s->who[s->facts] = who;
    s->what[s->facts++] = what;
}

static void ask(struct story *s, int asked)
{
    int holder = asked;
    s->asked = asked;
    if (asked >= THING) {
        int i = 0;
        while (s->what[i] != asked) i++;
        s->needed[i] = true, holder = s->who[i];
    }
    const int at = last_fact(s, holder, true);
    s->needed[at] = true, s->answer = s->what[at];
}

/* Adds up to two facts per person, in random order, and a question about a person or thing of the
   story. */
static void invent(struct story *s, struct random *random)
{
    int left[PEOPLE], total = 0, asked;
    memset(s, 0, sizeof *s);
    for (int p = 0; p < PEOPLE; p++) total += left[p] = random_below(random, 3);
    if (total == 0) total = left[0] = 1;
    for (; total > 0; total--) {
        int p;
        do p = random_below(random, PEOPLE);
        while (left[p] == 0);
        left[p]--;
        add_fact(s, random, PERSON + p);
    }
    const bool thing =
        random_below(random, 2) && (taken(s, THING) || taken(s, THING + 1) || taken(s, THING + 2));
    do asked = thing ? THING + random_below(random, THINGS) : PERSON + random_below(random, PEOPLE);
    while (thing ? !taken(s, asked) : last_fact(s, asked, true) < 0);
    ask(s, asked);
}

/* Decides by facts and question, so that equal stories are on the same side. */
static bool story_held_out(const struct story *s)
{
    struct random hash = random_from(17, (uint64_t)s->asked);
    for (int i = 0; i < s->facts; i++)
        hash = random_from(random_bits(&hash), (uint64_t)(s->who[i] * WORDS + s->what[i]));
    return random_below(&hash, 10) == 0;
}

/* Draws up to two facts per person, in random order, and a question about a person or thing of the
   story. */
static void story_draw(struct story *s, struct random *random, bool test)
{
    do invent(s, random);
    while (story_held_out(s) != test);
}

/* Writes the words of the question (fact -1) or of a fact; returns how many, at most 8. */
static int story_say(const struct story *s, int fact, int *ids)
{
    int n = 0;
    if (fact < 0) {
        ids[n++] = WHERE, ids[n++] = IS;
        if (s->asked >= THING) ids[n++] = THE;
        ids[n++] = s->asked, ids[n++] = ASK;
        return n;
    }
    ids[n++] = s->who[fact];
    ids[n++] = s->what[fact] < THING ? WENT : TOOK;
    if (s->what[fact] < THING) ids[n++] = TO;
    ids[n++] = THE, ids[n++] = s->what[fact], ids[n++] = DOT;
    return n;
}

/* Writes question and facts as text, the question first. */
static void story_texts(const struct story *s, char text[1 + MAX_FACTS][64])
{
    for (int fact = -1; fact < s->facts; fact++) {
        int ids[8], used = 0;
        const int count = story_say(s, fact, ids);
        char *to = text[fact + 1];
        for (int i = 0; i < count; i++) /* no space before the last word, ? or . */
            used += snprintf(to + used, sizeof *text - (size_t)used, "%s%s",
                             i > 0 && i + 1 < count ? " " : "", story_words[ids[i]]);
    }
}

enum { BATCH = 32, TESTS = 1024, SHOWN_FACTS = 5 };
enum { ITEMS, ONE_LAYER, OVER_WORDS, MODELS };
static const char *const model_names[MODELS] = {"sentences, two layers", "sentences, one layer",
                                                "words, two layers"};
struct answer {
    struct learner learner[MODELS];
    int steps;
    double right[MODELS][2]; /* share of right answers to questions that need one fact, and two */
    double last[2], looked, even; /* right answers by naming the last place; weight on the sentences
                                     that are needed, and the same if all weights were equal */
    struct story shown[2];
    float weights[2][2][1 + SHOWN_FACTS]; /* [story][layer] row of the question */
    int said[2], needed[2];               /* items that the second question needs */
    double handed[2]; /* layer 1: weight on the other one in the row of needed[i] */
};

static void answer_put(struct learner *l, const struct story *s)
{
    for (int fact = -1; fact < s->facts; fact++) {
        int ids[8];
        const int count = story_say(s, fact, ids);
        float *item = l->setup.config.source_width ? learner_vector(l) : NULL;
        for (int i = 0; i < count; i++)
            if (item)
                item[ids[i]] = 1;
            else
                learner_id(l, ids[i]);
    }
    learner_target(l, s->answer);
    learner_end(l);
}

static void *answer_create(const struct lesson_options *options, bool trained)
{
    struct answer *t = xcalloc(1, sizeof *t);
    t->steps = !trained ? 0 : options->quick ? 500 : 1200;
    for (int m = 0; m < MODELS; m++) {
        struct learner_setup setup = {
            .steps = t->steps, .batch = BATCH, .target_ids = 2, .rate = 0.005F};
        setup.seed = options->seed;
        setup.source_rows = m == OVER_WORDS ? MAX_WORDS : 1 + MAX_FACTS;
        setup.config =
            learner_config(RAPT_KIND_ENCODER_ONLY, 32, 2, m == ONE_LAYER ? 1 : 2, MAX_WORDS);
        setup.config.pooling = RAPT_POOLING_FIRST;
        setup.config.target_vocab = WORDS;
        *(m == OVER_WORDS ? &setup.config.source_vocab : &setup.config.source_width) = WORDS;
        learner_create(&t->learner[m], &setup);
    }
    return t;
}

/* Measures the weights of the questions in the batch on the items they need, the mean of both
   layers. */
static void measure_weights(struct answer *t, const struct story *stories)
{
    static _Thread_local float all[2][BATCH * (1 + MAX_FACTS) * (1 + MAX_FACTS)];
    for (int layer = 0; layer < 2; layer++)
        learner_weights(&t->learner[ITEMS], RAPT_WEIGHTS_ENCODER, layer, -1, all[layer]);
    for (int b = 0, at = 0; b < BATCH; b++) {
        const int items = 1 + stories[b].facts;
        for (int i = 0; i < stories[b].facts; i++)
            if (stories[b].needed[i]) {
                t->looked += (double)(all[0][at + 1 + i] + all[1][at + 1 + i]) / 2 / TESTS;
                t->even += 1.0 / items / TESTS;
            }
        at += items * items;
    }
}

static void answer_test(struct answer *t, int model)
{
    struct learner *l = &t->learner[model];
    struct random random = random_from(l->setup.seed, 2);
    int asked[2] = {0}, right[2] = {0}, last[2] = {0};
    for (int done = 0; done < TESTS; done += BATCH) {
        struct story stories[BATCH];
        for (int b = 0; b < BATCH; b++)
            story_draw(&stories[b], &random, true), answer_put(l, &stories[b]);
        const float *logits = learner_classify(l);
        for (int b = 0; b < BATCH; b++) {
            const bool two = stories[b].asked >= THING;
            asked[two]++;
            right[two] += argmax(WORDS, logits + b * WORDS) == stories[b].answer;
            last[two] += stories[b].last == stories[b].answer;
        }
        if (model == ITEMS) measure_weights(t, stories);
        learner_clear(l);
    }
    for (int two = 0; two < 2; two++) {
        t->right[model][two] = (double)right[two] / asked[two];
        if (model == ITEMS) t->last[two] = (double)last[two] / asked[two];
    }
}

/* weights: [items][items] of layer 1 in the story that needs two facts. */
static void keep_handed(struct answer *t, const float *weights)
{
    const struct story *s = &t->shown[1];
    for (int i = 0, count = 0; i < s->facts; i++)
        if (s->needed[i]) t->needed[count++] = 1 + i;
    for (int i = 0; i < 2; i++)
        t->handed[i] = (double)weights[t->needed[i] * (1 + s->facts) + t->needed[1 - i]];
}

/* Keeps a story of at least five facts whose answer is not the last place, for each kind of
   question. */
static void keep_example(struct answer *t, int two)
{
    struct learner *l = &t->learner[ITEMS];
    struct random random = random_from(3, (uint64_t)two);
    struct story *s = &t->shown[two];
    float all[(1 + MAX_FACTS) * (1 + MAX_FACTS)];
    do story_draw(s, &random, true);
    while (s->facts != SHOWN_FACTS || (s->asked >= THING) != two || s->answer == s->last);
    answer_put(l, s);
    t->said[two] = argmax(WORDS, learner_classify(l));
    for (int layer = 0; layer < 2; layer++) {
        learner_weights(l, RAPT_WEIGHTS_ENCODER, layer, -1, all);
        memcpy(t->weights[two][layer], all, (size_t)(1 + s->facts) * sizeof *all);
        if (two && layer == 0) keep_handed(t, all);
    }
    learner_clear(l);
}

static void answer_train(void *task, int model)
{
    struct answer *t = task;
    struct learner *l = &t->learner[model];
    struct random random = random_from(l->setup.seed, 1);
    struct story story;
    for (int step = 0; step < t->steps; step++) {
        for (int b = 0; b < BATCH; b++) story_draw(&story, &random, false), answer_put(l, &story);
        learner_step(l);
    }
    answer_test(t, model);
    for (int two = 0; two < 2 && model == ITEMS; two++) keep_example(t, two);
}

static void show_story(struct page *page, const struct answer *t, int two)
{
    const struct story *s = &t->shown[two];
    char text[1 + MAX_FACTS][64], title[96];
    story_texts(s, text);
    snprintf(title, sizeof title, "\"%s\" \u2014 \"%s\"", text[0], story_words[t->said[two]]);
    page_table(page, SHORT, title, "weights of the question's row\tlayer 1\tlayer 2");
    for (int i = 0; i <= s->facts; i++)
        page_row(page, "%s\t%.0f %%\t%.0f %%", text[i], 100 * (double)t->weights[two][0][i],
                 100 * (double)t->weights[two][1][i]);
}

/* Explains whether layer 1 hands one of the two sentences that the second question needs to the
   other. */
static void explain_layers(struct page *page, const struct answer *t)
{
    const double even = 1.0 / (1 + t->shown[1].facts);
    char text[1 + MAX_FACTS][64];
    story_texts(&t->shown[1], text);
    for (int i = 0; i < 2; i++) {
        if (t->handed[i] < 2 * even || t->weights[1][1][t->needed[i]] < 0.75F) continue;
        page_paragraph(
            page, SHORT,
            "The table shows what the question reads. In layer 1 the sentences also read each "
            "other: \"%s\" puts %.0f %% of its weight on \"%.*s\" (mean of the heads; equal "
            "weights would be %.0f %%). In layer 2 the question therefore needs to read only the "
            "former sentence, and the latter may have 0 %% in both columns.",
            text[t->needed[i]], 100 * t->handed[i], (int)strcspn(text[t->needed[1 - i]], "."),
            text[t->needed[1 - i]], 100 * even);
        return;
    }
    page_paragraph(page, SHORT,
                   "The table shows what the question reads. In layer 1 the sentences also read "
                   "each other, so that a fact can reach the question through another sentence.");
}

static void answer_show(struct page *page, void *task, void *untrained)
{
    const struct answer *none = untrained;
    struct answer *t = task;
    page_step(page, "Document, question \u2192 answer");
    page_paragraph(
        page, SHORT,
        "A story tells up to two facts about each person. Each sentence is one item: the sum of "
        "the vectors of its words and of its position. The question is another item and attends to "
        "the sentences. \"Where is tom?\" needs the last sentence about tom. \"Where is the "
        "ball?\" needs two: who took it, and where that person went.");
    for (int two = 0; two < 2; two++) show_story(page, t, two);
    explain_layers(page, t);
    page_table(page, SHORT, "Right answers on unseen stories", "way\tone fact\ttwo facts");
    page_row(page, "the place named last\t%.1f %%\t%.1f %%", 100 * t->last[0], 100 * t->last[1]);
    for (int m = MODELS - 1; m >= 0; m--)
        page_row(page, "%s\t%.1f %%\t%.1f %%", model_names[m], 100 * t->right[m][0],
                 100 * t->right[m][1]);
    page_paragraph(page, SHORT,
                   "If the items are words, the model first has to learn which words belong to the "
                   "same sentence, and it gets less far in the same number of steps.");
    page_claim_learned(page, "answer: one fact, percentage points above naming the last place",
                       100 * (t->right[ITEMS][0] - t->last[0]),
                       100 * (none->right[ITEMS][0] - none->last[0]), AT_LEAST, 30);
    page_claim_learned(page, "answer: two facts, percentage points above naming the last place",
                       100 * (t->right[ITEMS][1] - t->last[1]),
                       100 * (none->right[ITEMS][1] - none->last[1]), AT_LEAST, 30);
    page_claim_learned(page, "answer: two facts, percentage points that the second layer adds",
                       100 * (t->right[ITEMS][1] - t->right[ONE_LAYER][1]),
                       100 * (none->right[ITEMS][1] - none->right[ONE_LAYER][1]), AT_LEAST, 10);
    page_claim_learned(page,
                       "answer: weight of the sentences that are needed, divided by equal weights",
                       t->looked / t->even, none->looked / none->even, AT_LEAST, 1.4);
}

static void answer_free(void *task)
{
    struct answer *t = task;
    for (int m = 0; m < MODELS; m++) learner_free(&t->learner[m]);
    free(t);
}

const struct task task_answer = {"answer\tdocument, question\tword\tencoder\tmany to one",
                                 MODELS,
                                 answer_create,
                                 answer_train,
                                 answer_show,
                                 answer_free};
