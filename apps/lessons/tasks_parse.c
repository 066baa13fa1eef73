/* tasks_parse.c - turns a sentence into its grammar tree, written as a sequence with brackets
   (Vinyals et al. 2015, "Grammar as a foreign language"). The prepositional phrases of
   tasks_grammar.h nest: in "the dogs near the tower under a tree" the tower is under the tree.
   Each leaf is the class of a word. */
#include "learner.h"
#include "tasks.h"
#include "tasks_grammar.h"
#include <stdlib.h>
#include <string.h>

enum {
    SENTENCE, /* opening brackets */
    NOUN_PHRASE,
    PREPOSITIONAL,
    VERB_PHRASE,
    CLOSE,
    LEAF, /* and the class of a word, in the order of the words' ids */
    TREE_BEGIN = LEAF + 7,
    TREE_END,
    TREE_WORDS,
    BATCH = 32,
    TESTS = 256,
    MAX_TREE = 40,
    SHOWN_WORDS = 8
};
static const char *const tree_words[TREE_WORDS] = {
    "(S", "(NP", "(PP", "(VP", ")", "D", "N", "V", "A", "R", "P", ".", "(begin)", "(end)"};

struct tree {
    int count, token[MAX_TREE];
};
struct parse {
    struct learner learner;
    int steps;
    double exact, leaves; /* shares of the tests with the right tree, and with the right leaves */
    struct sentence shown;
    int32_t found[MAX_TREE];
    int found_count;
    float weights[MAX_TREE * MAX_WORDS]; /* [found_count + 1][words] */
};

static int class_of(int word)
{
    static const int first[] = {DETERMINER, NOUN, VERB, ADJECTIVE, ADVERB, PREPOSITION, STOP};
    int class = 0;
    while (class < 6 && word >= first[class + 1]) class ++;
    return class;
}

static void parse_add(struct tree *tree, int token)
{
    tree->token[tree->count++] = token;
}

/* Noun phrases open at each determiner, or at the word before, and all of them close where the verb
   begins. */
static void tree_of(const struct sentence *s, struct tree *tree)
{
    int open = 0;
    tree->count = 0;
    parse_add(tree, SENTENCE);
    parse_add(tree, NOUN_PHRASE), open++;
    for (int i = 0; i < s->count; i++) {
        const bool preposition = s->word[i] >= PREPOSITION && s->word[i] < STOP;
        if (preposition) parse_add(tree, PREPOSITIONAL), open++;
        if (i == s->verb) {
            for (; open > 0; open--) parse_add(tree, CLOSE);
            parse_add(tree, VERB_PHRASE);
        }
        if (s->word[i] == STOP) parse_add(tree, CLOSE);
        parse_add(tree, LEAF + class_of(s->word[i]));
        if (preposition) parse_add(tree, NOUN_PHRASE), open++;
    }
    parse_add(tree, CLOSE);
}

static void parse_put(struct learner *l, const struct sentence *s)
{
    struct tree tree;
    tree_of(s, &tree);
    for (int i = 0; i < s->count; i++) learner_id(l, s->word[i]);
    learner_target(l, TREE_BEGIN);
    for (int i = 0; i < tree.count; i++) learner_target(l, tree.token[i]);
    learner_target(l, TREE_END);
    learner_end(l);
}

static void *parse_create(const struct lesson_options *options, bool trained)
{
    struct parse *t = xcalloc(1, sizeof *t);
    struct learner_setup setup = {.batch = BATCH,
                                  .source_rows = MAX_WORDS,
                                  .target_ids = MAX_TREE,
                                  .rate = 0.005F,
                                  .seed = options->seed};
    setup.steps = t->steps = !trained ? 0 : options->quick ? 300 : 500;
    setup.config = learner_config(RAPT_KIND_ENCODER_DECODER, 32, 2, 1, MAX_TREE);
    setup.config.source_vocab = WORDS, setup.config.target_vocab = TREE_WORDS;
    learner_create(&t->learner, &setup);
    return t;
}

/* Compares with what was found, only the leaves or all of it. */
static bool parse_equal(const struct tree *tree, const int32_t *found, int count, bool leaves)
{
    int a = 0, b = 0;
    for (;; a++, b++) {
        while (leaves && a < tree->count && tree->token[a] < LEAF) a++;
        while (leaves && b < count && found[b] < LEAF) b++;
        if (a >= tree->count || b >= count) return a >= tree->count && b >= count;
        if (tree->token[a] != found[b]) return false;
    }
}

static void parse_test(struct parse *t)
{
    struct learner *l = &t->learner;
    struct random random = random_from(l->setup.seed, 2);
    for (int done = 0; done < TESTS; done += BATCH) {
        struct sentence s[BATCH];
        int32_t out[BATCH * MAX_TREE];
        int counts[BATCH];
        for (int b = 0; b < BATCH; b++) sentence_draw(&s[b], &random, true), parse_put(l, &s[b]);
        learner_generate(l, TREE_BEGIN, TREE_END, NULL, out, counts, NULL);
        learner_clear(l);
        for (int b = 0; b < BATCH; b++) {
            struct tree tree;
            tree_of(&s[b], &tree);
            t->exact += (double)parse_equal(&tree, out + b * MAX_TREE, counts[b], false) / TESTS;
            t->leaves += (double)parse_equal(&tree, out + b * MAX_TREE, counts[b], true) / TESTS;
        }
    }
}

static void parse_train(void *task, int model)
{
    struct parse *t = task;
    struct learner *l = &t->learner;
    struct random random = random_from(l->setup.seed, 1);
    struct sentence s;
    (void)model;
    for (int step = 0; step < t->steps; step++) {
        for (int b = 0; b < BATCH; b++) sentence_draw(&s, &random, false), parse_put(l, &s);
        learner_step(l);
    }
    parse_test(t);
    random = random_from(3, 3);
    do sentence_draw(&t->shown, &random, true);
    while (t->shown.count != SHOWN_WORDS || t->shown.verb != SHOWN_WORDS - 3);
    parse_put(l, &t->shown);
    learner_generate(l, TREE_BEGIN, TREE_END, NULL, t->found, &t->found_count, t->weights);
}

/* Writes the tree that was found, with the words in place of the leaves. */
static void spell(const struct parse *t, char *to, size_t size)
{
    size_t used = 0;
    int word = 0;
    for (int i = 0; i < t->found_count && used < size; i++) {
        const int token = t->found[i];
        const bool leaf = token >= LEAF && token < TREE_BEGIN && word < t->shown.count;
        const char *text = leaf ? grammar_words[t->shown.word[word++]] : tree_words[token];
        used += (size_t)snprintf(to + used, size - used, "%s%s", i > 0 && token != CLOSE ? " " : "",
                                 text);
    }
}

static void parse_show(struct page *page, void *task, void *untrained)
{
    const struct parse *none = untrained;
    const struct parse *t = task;
    const char *rows[MAX_TREE + 1], *columns[MAX_WORDS];
    char text[512];
    page_step(page, "Sentence \u2192 grammar tree");
    spell(t, text, sizeof text);
    page_paragraph(page, SHORT,
                   "A tree can also be written as a sequence, with brackets. The decoder writes "
                   "brackets and classes of words (D determiner, A adjective, N noun, P "
                   "preposition, V verb, R adverb). With the words in place of the classes:");
    page_paragraph(page, SHORT, "%s", text);
    for (int i = 0; i < t->shown.count; i++) columns[i] = grammar_words[t->shown.word[i]];
    for (int i = 0; i < t->found_count; i++) rows[i] = tree_words[t->found[i]];
    rows[t->found_count] = "(end)";
    page_map(page, MORE, "Cross-attention: the tree over the words", t->found_count + 1,
             t->shown.count, rows, columns, t->weights);
    page_paragraph(
        page, MORE,
        "The step that writes a bracket or class does not have to read the word that belongs to "
        "it. Every noun phrase begins with a determiner, so D always follows (NP and can be "
        "written without reading any word; the step may look ahead to where the phrase goes on. "
        "The loss depends only on the tree, not on where the decoder looks. One sentence in ten is "
        "kept out of training, but no tree is: there are 28 trees, and all of them occur in "
        "training.");
    page_table(page, MORE, "Sentences that were kept out of training, %", "right\tof all");
    page_row(page, "the classes of all words\t%.1f", 100 * t->leaves);
    page_row(page, "the whole tree\t%.1f", 100 * t->exact);
    page_claim_learned(page, "parse: share of sentences kept out of training with the right tree",
                       t->exact, none->exact, AT_LEAST, 0.9);
}

static void parse_free(void *task)
{
    learner_free(&((struct parse *)task)->learner);
    free(task);
}

const struct task task_parse = {"parse\ttext\ttree\tencoder-decoder\tgenerative",
                                1,
                                parse_create,
                                parse_train,
                                parse_show,
                                parse_free};
