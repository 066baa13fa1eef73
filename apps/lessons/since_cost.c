/* since_cost.c - lesson since: what attention costs at length n: windows, which compare a few keys,
   latent rows, which keep less of each word, and states of linear attention and of the gated delta
   rule, which keep none. */
#include "attend.h"
#include "kit/layers.h"
#include "kit/program.h"
#include "since.h"
#include <math.h>
#include <rapt/linear_attention.h>
#include <stdlib.h>
#include <string.h>

/* ---- how many words a word reads ---- */
enum { LENGTHS = 5, SHORTEST = 16, LONGEST = SHORTEST << (LENGTHS - 1), NARROW = 4 };

/* Returns the mean number of keys that a row of n random words reads, in a window of one word to
   each side with one global word, or without. */
static double words_read(int n, bool window, struct random random)
{
    struct workspace workspace = {0};
    rapt_attention a;
    float *x = xcalloc((size_t)(n * NARROW), sizeof *x);
    float *out = xcalloc((size_t)(n * NARROW), sizeof *out);
    float *statistics = xcalloc((size_t)n * 2, sizeof *statistics);
    float *weights = xcalloc((size_t)n * (size_t)n, sizeof *weights);
    const rapt_attention_saved saved = {.size = sizeof saved, .statistics = statistics};
    double read = 0;
    for (int i = 0; i < n * NARROW; i++) x[i] = random_normal(&random);
    rapt_attention_init(&a, sizeof a, 1, 1, n, n, NARROW);
    a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
    a.locality = window ? RAPT_LOCALITY_SPARSE : RAPT_LOCALITY_GLOBAL;
    a.radius = 1;
    a.sparse.global_count = window;
    void *memory = workspace_for(&workspace, &a);
    must(rapt_attention_forward(&a, x, x, x, out, &saved, memory, NULL));
    must(rapt_attention_weights(&a, x, x, &saved, 0, 0, 0, n, weights, memory, NULL));
    for (int i = 0; i < n * n; i++) read += weights[i] > 0;
    free(workspace.data), free(x), free(out), free(statistics), free(weights);
    return read / n;
}

static void show_lengths(struct since *since)
{
    struct page *page = since->page;
    const struct random random = random_from(since->options->seed, 94);
    double xs[LENGTHS], all[LENGTHS], window[LENGTHS];
    page_step(page, "What does it cost at length n?");
    for (int i = 0; i < LENGTHS; i++) {
        const int n = SHORTEST << i;
        xs[i] = n;
        all[i] = words_read(n, false, random);
        window[i] = words_read(n, true, random);
    }
    page_paragraph(
        page, SHORT,
        "Each of n words is compared with all n. Twice as many words take four times as long, and "
        "a decoder has to keep the keys and values of all words that it has read. With a window, "
        "the number of comparisons per word no longer depends on n.");
    page_chart(page, SHORT, "How many words a word reads", "n, words of the text", "words");
    page_curve(page, "all of them", LENGTHS, xs, all);
    page_curve(page, "a window and a global word", LENGTHS, xs, window);
    page_claim(page, "all: words read at n = 256, divided by those at n = 64",
               all[LENGTHS - 1] / all[LENGTHS - 3], EQUALS, 4);
    page_claim(page, "window: words read at n = 256, divided by those at n = 64",
               window[LENGTHS - 1] / window[LENGTHS - 3], AT_MOST, 1.05);
}

/* ---- latent rows ---- */
static double latent_exact(struct learner *small, const void *user)
{
    (void)user;
    return 100 * since_exact(small);
}

/* Returns how many numbers of a word a decoder keeps for cross-attention. */
static int numbers_kept(const struct since *since, enum since_variant variant)
{
    rapt_tensor tensor;
    free(since_parameter(&since->models[variant].small, "decoder.layers.0.cross_attn.kv.weight",
                         &tensor));
    return tensor.rows;
}

static void show_latent(struct since *since)
{
    struct page *page = since->page;
    struct learner *small = &since->models[SINCE_LATENT].small;
    const int kept = numbers_kept(since, SINCE_LATENT), all = numbers_kept(since, SINCE_2017);
    struct since_map map;
    page_paragraph(
        page, SHORT,
        "Another answer is to keep all words, but less of each. In latent attention (DeepSeek-AI "
        "2024) a word leaves behind one short row c of numbers, and all heads compute their keys "
        "and values from it by matrices A and B of their own. They need not even do that for each "
        "word: A can be applied to the query once, and B to the mixture of the rows.");
    page_formula(page, SHORT,
                 "e_{ts} = q_t ⋅ A c_s = A^⊤ q_t ⋅ c_s ,  q_t: d ,  c_s: r ,  A: d × r");
    since_weights(small, &since->pair, since_cross, &map);
    since_show(page, SHORT, "Latent rows: cross-attention, mean of the heads", &map);
    page_paragraph(
        page, SHORT,
        "The words find each other as in 2017, although an English word leaves only %d numbers for "
        "cross-attention instead of %d. DeepSeek-V2 keeps 576 numbers instead of 32768, so it can "
        "read longer texts with the same memory. If keys are rotated by their positions, some of "
        "their elements have to be kept apart from c: a rotation between A and c would differ for "
        "each pair of words, so A could no longer be applied to the query once.",
        kept, all);
    page_claim(page, "latent rows: numbers kept of a word, divided by those of 2017",
               (double)kept / all, EQUALS, 0.25);
    learner_claim(small, page, "latent rows: unseen sentences translated exactly, %", latent_exact,
                  NULL, AT_LEAST, 60);
}

/* ---- states ---- */
/* Pairs of keys and values that are written into a state one after another. */
struct written {
    int pairs, key_width, value_width;
    const float *keys, *values; /* [pairs][width] */
};
enum rule { LINEAR, DELTA, GATED_DELTA, RULES };
static const char *const rule_names[RULES] = {"linear attention", "delta rule", "gated delta rule"};
static const float decay = 0.9F; /* of the state, for each word */

/* Sets state [key width][value width] to what is left after all pairs were written. */
static void write_state(const struct written *w, enum rule rule, float *state)
{
    rapt_linear_attention a;
    const size_t pairs = (size_t)w->pairs;
    float *out = xcalloc(pairs * (size_t)w->value_width, sizeof *out);
    float *log_decay = xcalloc(pairs, sizeof *log_decay), *beta = xcalloc(pairs, sizeof *beta);
    for (int t = 0; t < w->pairs; t++) log_decay[t] = logf(decay), beta[t] = 1;
    rapt_linear_attention_init(&a, sizeof a, 1, 1, w->pairs, w->key_width, w->value_width);
    a.log_decay = rule == GATED_DELTA ? log_decay : NULL;
    a.beta = rule == LINEAR ? NULL : beta;
    void *memory = aligned_alloc(64, (rapt_linear_attention_workspace(&a, 0) + 63) / 64 * 64);
    if (memory == NULL) exit(failed("out of memory"));
    must(rapt_linear_attention_forward(&a, w->keys, w->keys, w->values, out, state, memory, NULL));
    free(out), free(log_decay), free(beta), free(memory);
}

/* Sets out [value width] to what a state returns for a query. */
static void read_state(const struct written *w, const float *state, const float *query, float *out)
{
    memset(out, 0, (size_t)w->value_width * sizeof *out);
    for (int k = 0; k < w->key_width; k++)
        for (int v = 0; v < w->value_width; v++) out[v] += query[k] * state[k * w->value_width + v];
}

/* Gives a vector the length 1. */
static void normalize(float *x, int width)
{
    double sum = 0;
    for (int i = 0; i < width; i++) sum += (double)x[i] * (double)x[i];
    for (int i = 0; i < width; i++) x[i] = (float)((double)x[i] / sqrt(sum));
}

/* ---- a dictionary of the sentence's words ---- */
enum { MEANT = 7, WRITTEN = MEANT + 1, VALUES = MEANT + 1 };

/* The words of the sentence that have a translation, then Tom once more, with another one. */
struct dictionary {
    const char *key[WRITTEN], *value[VALUES];
    float keys[WRITTEN * SINCE_WIDTH], values[WRITTEN * VALUES];
    float state[SINCE_WIDTH * VALUES];
};

static void dictionary_make(struct dictionary *d, const struct since *since)
{
    static const struct chase other = {.subject = 2, .where = -1};
    struct chase_pair pair, spike;
    rapt_tensor tensor;
    float *table =
        since_parameter(&since->models[SINCE_2017].small, "encoder.embedding.weight", &tensor);
    chase_make(&since_sentence, &pair);
    chase_make(&other, &spike);
    memset(d->values, 0, sizeof d->values);
    for (int i = 0; i < WRITTEN; i++) {
        const int t = i % MEANT, id = pair.ids.source.at[pair.source[t]];
        d->key[i] = chase_word(id);
        d->value[i] = chase_word(i < MEANT ? pair.ids.target.at[t] : spike.ids.target.at[0]);
        memcpy(d->keys + i * SINCE_WIDTH, table + id * SINCE_WIDTH, SINCE_WIDTH * sizeof *table);
        normalize(d->keys + i * SINCE_WIDTH, SINCE_WIDTH);
        d->values[i * VALUES + i] = 1;
    }
    free(table);
}

/* Shows what each word reads. Returns the weights of Tom's two translations in *tom. */
static void show_dictionary(struct page *page, struct dictionary *d, enum rule rule, double tom[2])
{
    const struct written w = {WRITTEN, SINCE_WIDTH, VALUES, d->keys, d->values};
    float weights[MEANT * VALUES];
    char *title = xasprintf("%s: what the words (rows) read from the state of %d × %d numbers",
                            rule_names[rule], SINCE_WIDTH, VALUES);
    title[0] = (char)(title[0] - 'a' + 'A');
    write_state(&w, rule, d->state);
    for (int i = 0; i < MEANT; i++)
        read_state(&w, d->state, d->keys + i * SINCE_WIDTH, weights + i * VALUES);
    page_map(page, SHORT, title, MEANT, VALUES, d->key, d->value, weights);
    tom[0] = (double)weights[0];
    tom[1] = (double)weights[VALUES - 1];
    free(title);
}

static void show_states(struct since *since)
{
    struct page *page = since->page;
    struct dictionary d;
    double linear[2], gated[2];
    dictionary_make(&d, since);
    page_paragraph(
        page, SHORT,
        "The most radical answer is to keep no words at all. Without exp, the sum over all words "
        "can be computed before anyone asks: linear attention (Katharopoulos et al. 2020) adds the "
        "product of each key and value to a matrix S, by which a query is then multiplied. Each "
        "word takes the same time, and S never grows.");
    page_formula(page, SHORT, "S ← S + k v^⊤ ,  c = S^⊤ q ,  k, q: d ,  v, c: m ,  S: d × m");
    page_paragraph(
        page, SHORT,
        "What does such a state remember? As keys we take the vectors of the words of our "
        "sentence, from the translator of 2017, scaled to the length 1. The value of a word is its "
        "translation. They are written in the order of the Chinese sentence. Then Tom gets another "
        "name: the same key is written once more, with the value %s.",
        d.value[VALUES - 1]);
    show_dictionary(page, &d, LINEAR, linear);
    page_paragraph(
        page, SHORT,
        "All words are there, with noise, since a query is never quite at a right angle to the "
        "other keys. And Tom has two names, since nothing that was added ever leaves. The delta "
        "rule (Schlag et al. 2021) first looks at what S returns for the key, and adds only the "
        "difference. The gated delta rule (Yang et al. 2024) also lets S fade, by a factor α for "
        "each word, here %.2f.",
        (double)decay);
    page_formula(page, SHORT, "S ← α S ,  S ← S + β k (v − S^⊤ k)^⊤");
    show_dictionary(page, &d, GATED_DELTA, gated);
    page_claim(page, "linear attention: the smaller of the weights of Tom's two names",
               fmin(linear[0], linear[1]), AT_LEAST, 0.5);
    page_claim(page, "gated delta rule: weight of the new name", gated[1], AT_LEAST, 0.99);
    page_claim(page, "gated delta rule: absolute weight of the old name", fabs(gated[0]), AT_MOST,
               0.01);
}

/* ---- forgetting ---- */
enum { PAIRS = 64, KEY = 16, TRIALS = 64 };

/* Adds the relative distances of what each query reads from what was written with its key.
   errors: by the number of words since. */
static void add_errors(const struct written *w, const float *read, double errors[PAIRS])
{
    for (int i = 0; i < PAIRS; i++) {
        double sum = 0;
        for (int v = 0; v < KEY; v++) {
            const double off = (double)read[i * KEY + v] - (double)w->values[i * KEY + v];
            sum += off * off;
        }
        errors[PAIRS - 1 - i] += sqrt(sum) / TRIALS; /* values have the length 1 */
    }
}

/* errors: of attention, which keeps all keys, and of the states */
static void measure_errors(struct random random, double errors[1 + RULES][PAIRS])
{
    float keys[PAIRS * KEY], values[PAIRS * KEY], read[PAIRS * KEY], state[KEY * KEY];
    const struct written w = {PAIRS, KEY, KEY, keys, values};
    memset(errors, 0, sizeof(double[1 + RULES][PAIRS]));
    for (int trial = 0; trial < TRIALS; trial++) {
        for (int i = 0; i < PAIRS * KEY; i++) {
            keys[i] = random_normal(&random);
            values[i] = random_normal(&random);
        }
        for (int i = 0; i < PAIRS; i++)
            normalize(keys + i * KEY, KEY), normalize(values + i * KEY, KEY);
        attend(&(struct attended){PAIRS, PAIRS, KEY, KEY, 64, keys, keys, values}, read, NULL);
        add_errors(&w, read, errors[0]);
        for (int rule = 0; rule < RULES; rule++) {
            write_state(&w, (enum rule)rule, state);
            for (int i = 0; i < PAIRS; i++) read_state(&w, state, keys + i * KEY, read + i * KEY);
            add_errors(&w, read, errors[1 + rule]);
        }
    }
}

static void show_forgotten(struct since *since)
{
    struct page *page = since->page;
    static const int ages[] = {0, 1, 2, 4, 6, 8, 12, 16, 24, 32, 48, PAIRS - 1};
    enum { POINTS = sizeof ages / sizeof *ages };
    double xs[POINTS], ys[POINTS], errors[1 + RULES][PAIRS], worst = 0;
    measure_errors(random_from(since->options->seed, 95), errors);
    page_paragraph(
        page, SHORT,
        "A state that never grows must forget. Here %d random keys and values are written into a "
        "state of %d × %d numbers, and then we ask for all of them.",
        PAIRS, KEY, KEY);
    page_chart(page, SHORT, "How far what is read is from what was written", "words written since",
               "distance");
    for (int c = 0; c <= RULES; c++) {
        for (int i = 0; i < POINTS; i++) xs[i] = ages[i], ys[i] = errors[c][ages[i]];
        page_curve(page, c == 0 ? "softmax attention, which keeps all" : rule_names[c - 1], POINTS,
                   xs, ys);
    }
    page_paragraph(
        page, SHORT,
        "Values have the length 1, so a distance of 0 is perfect, and 1 is what reading nothing "
        "would give. Linear attention remembers all words equally badly. The delta rule returns "
        "the last word exactly and loses the old ones. With a gate they are lost sooner, but "
        "quietly: what has faded reads as 0, which is at the distance 1. This is the price of "
        "constant time. Many of today's models pay it in most of their layers and keep softmax "
        "attention in the others.");
    for (int i = 0; i < PAIRS; i++) worst = fmax(worst, errors[0][i]);
    page_claim(page, "64 words, softmax attention: the largest distance", worst, AT_MOST, 0.01);
    page_claim(page, "64 words, linear attention: distance of the last word", errors[1 + LINEAR][0],
               AT_LEAST, 1.5);
    page_claim(page, "64 words, delta rule: distance of the last word", errors[1 + DELTA][0],
               AT_MOST, 0.001);
    page_claim(page, "64 words, delta rule: distance of the first word",
               errors[1 + DELTA][PAIRS - 1], AT_LEAST, 1);
}

static void show_table(struct page *page)
{
    enum { K = 64 };
    page_table(page, SHORT, "What a decoder needs for word n (a head with 64 numbers per vector)",
               "n\t10\t1000\t100000");
    page_row(page, "attention: keys compared\t10\t1000\t100000");
    page_row(page, "attention: numbers kept\t%d\t%d\t%d", 2 * K * 10, 2 * K * 1000, 2 * K * 100000);
    page_row(page, "state: numbers kept\t%d\t%d\t%d", K * K, K * K, K * K);
}

void since_cost(struct since *since)
{
    show_lengths(since);
    show_latent(since);
    show_states(since);
    show_forgotten(since);
    show_table(since->page);
}
