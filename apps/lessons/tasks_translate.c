/* tasks_translate.c - translates English numbers into German, which swaps tens and units ("forty
   five", "fünf und vierzig"). A tenth of the numbers occurs only in tests. */
#include "learner.h"
#include "tasks.h"
#include <stdlib.h>

/* English words have the ids of their German translations; German has two more. */
enum {
    TENS = 19,
    HUNDRED = 27,
    THOUSAND,
    ONE_BEFORE,
    AND,
    BEGIN,
    END,
    WORDS,
    MAX = 12,
    TESTS = 256
};
static const char *const english[] = {
    "one",       "two",      "three",    "four",    "five",     "six",      "seven",   "eight",
    "nine",      "ten",      "eleven",   "twelve",  "thirteen", "fourteen", "fifteen", "sixteen",
    "seventeen", "eighteen", "nineteen", "twenty",  "thirty",   "forty",    "fifty",   "sixty",
    "seventy",   "eighty",   "ninety",   "hundred", "thousand"};
static const char *const german[] = {
    "eins",     "zwei",     "drei",          "vier",     "f\u00FCnf",    "sechs",
    "sieben",   "acht",     "neun",          "zehn",     "elf",          "zw\u00F6lf",
    "dreizehn", "vierzehn", "f\u00FCnfzehn", "sechzehn", "siebzehn",     "achtzehn",
    "neunzehn", "zwanzig",  "drei\u00DFig",  "vierzig",  "f\u00FCnfzig", "sechzig",
    "siebzig",  "achtzig",  "neunzig",       "hundert",  "tausend",      "ein",
    "und",      "",         "(end)"};

struct translate {
    struct learner learner;
    int steps;
    double exact, in_order; /* shares of the tests: right; right without any swap */
    int shown, words,
        found; /* a number, the count of its English words and of the German ones that were found */
    int source[MAX];
    int32_t target[MAX];
    float weights[MAX * MAX]; /* [found + 1][words] */
};

static bool translate_held_out(int number)
{
    struct random hash = random_from(10, (uint64_t)number);
    return random_below(&hash, 10) == 0;
}

static int before(int unit, bool in_german)
{
    return in_german && unit == 1 ? ONE_BEFORE : unit - 1;
}

/* Writes the ids of a number below 10,000; returns how many. */
static int name_number(int number, bool in_german, int *ids)
{
    const int rest = number % 100;
    int count = 0;
    if (number >= 1000) ids[count++] = before(number / 1000, in_german), ids[count++] = THOUSAND;
    if (number % 1000 >= 100)
        ids[count++] = before(number % 1000 / 100, in_german), ids[count++] = HUNDRED;
    if (rest == 0) return count;
    if (rest < 20) return ids[count++] = rest - 1, count;
    if (in_german && rest % 10 != 0) ids[count++] = before(rest % 10, true), ids[count++] = AND;
    ids[count++] = TENS + rest / 10 - 2;
    if (!in_german && rest % 10 != 0) ids[count++] = rest % 10 - 1;
    return count;
}

static int translate_draw(struct random *random, bool test)
{
    int number;
    do number = 1 + random_below(random, 9999);
    while (translate_held_out(number) != test);
    return number;
}

static void translate_put(struct learner *l, int number)
{
    int ids[MAX];
    const int words = name_number(number, false, ids);
    for (int i = 0; i < words; i++) learner_id(l, ids[i]);
    learner_id(l, END);
    const int count = name_number(number, true, ids);
    learner_target(l, BEGIN);
    for (int i = 0; i < count; i++) learner_target(l, ids[i]);
    learner_target(l, END);
    learner_end(l);
}

static void *translate_create(const struct lesson_options *options, bool trained)
{
    struct translate *t = xcalloc(1, sizeof *t);
    struct learner_setup setup = {
        .batch = 32, .source_rows = MAX, .target_ids = MAX, .rate = 0.005F};
    setup.steps = t->steps = !trained ? 0 : options->quick ? 300 : 600, setup.seed = options->seed;
    setup.config = learner_config(RAPT_KIND_ENCODER_DECODER, 48, 4, 1, MAX);
    setup.config.source_vocab = setup.config.target_vocab = WORDS;
    learner_create(&t->learner, &setup);
    return t;
}

static void translate_test(struct translate *t)
{
    struct learner *l = &t->learner;
    struct random random = random_from(l->setup.seed, 2);
    int32_t out[TESTS * MAX];
    int counts[TESTS], numbers[TESTS] = {0}, ids[MAX];
    for (int done = 0; done < TESTS; done += l->setup.batch) {
        for (int b = 0; b < l->setup.batch; b++)
            translate_put(l, numbers[done + b] = translate_draw(&random, true));
        learner_generate(l, BEGIN, END, NULL, out + done * MAX, counts + done, NULL);
        learner_clear(l);
    }
    for (int i = 0; i < TESTS; i++) {
        const int count = name_number(numbers[i], true, ids);
        bool right = count == counts[i];
        for (int k = 0; k < count && right; k++) right = out[i * MAX + k] == ids[k];
        t->exact += (double)right / TESTS;
        t->in_order += (double)(numbers[i] % 100 < 20 || numbers[i] % 10 == 0) / TESTS;
    }
}

static void translate_train(void *task, int model)
{
    struct translate *t = task;
    struct learner *l = &t->learner;
    struct random random = random_from(l->setup.seed, 1);
    (void)model;
    for (int step = 0; step < t->steps; step++) {
        for (int b = 0; b < l->setup.batch; b++) translate_put(l, translate_draw(&random, false));
        learner_step(l);
    }
    translate_test(t);
    for (t->shown = 2345;
         !translate_held_out(t->shown) || t->shown % 100 < 20 || t->shown % 10 == 0;)
        t->shown++;
    translate_put(l, t->shown);
    t->words = name_number(t->shown, false, t->source);
    learner_generate(l, BEGIN, END, NULL, t->target, &t->found, t->weights);
}

static void translate_show(struct page *page, void *task, void *untrained)
{
    const struct translate *none = untrained;
    struct translate *t = task;
    const char *rows[MAX], *columns[MAX];
    page_step(page, "Text \u2192 translation");
    page_paragraph(
        page, SHORT,
        "English numbers up to 9999 are translated into German, which says the units before the "
        "tens. A tenth of the numbers are kept for the test. One of them is \"%d\".",
        t->shown);
    for (int i = 0; i < t->words; i++) columns[i] = english[t->source[i]];
    columns[t->words] = "(end)";
    for (int i = 0; i < t->found; i++) rows[i] = german[t->target[i]];
    rows[t->found] = "(end)";
    page_map(page, SHORT, "Cross-attention: units and tens cross over", t->found + 1, t->words + 1,
             rows, columns, t->weights);
    page_table(page, MORE, "Unseen numbers", "way\texact");
    page_row(page, "word by word, in the order of English\t%.1f %%", 100 * t->in_order);
    page_row(page, "encoder-decoder, %zu parameters\t%.1f %%",
             rapt_model_parameters(t->learner.model), 100 * t->exact);
    page_claim_learned(page, "translate: share of unseen numbers that are exactly right", t->exact,
                       none->exact, AT_LEAST, 0.9);
}

static void translate_free(void *task)
{
    learner_free(&((struct translate *)task)->learner);
    free(task);
}

const struct task task_translate = {"translate\ttext\ttext\tencoder-decoder\tgenerative",
                                    1,
                                    translate_create,
                                    translate_train,
                                    translate_show,
                                    translate_free};
