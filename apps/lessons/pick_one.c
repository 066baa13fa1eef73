/* pick_one.c - raw items with keys, a query, and one item that is picked by argmax, at
   random, or by methods that pass a gradient to the query. The model has no encoder. */
#include "architecture.h"
#include "kit/layers.h"
#include "study.h"
#include <math.h>
#include <stdlib.h>

enum { WAYS = 4 };
static const struct way {
    const char *name;
    rapt_normalizer normalizer;
} ways[WAYS] = {{"argmax", RAPT_NORMALIZER_ARGMAX},
                {"sampled", RAPT_NORMALIZER_SAMPLE},
                {"straight-through", RAPT_NORMALIZER_STRAIGHT_THROUGH},
                {"gumbel-softmax", RAPT_NORMALIZER_GUMBEL_SOFTMAX}};
enum { ARGMAX, SAMPLED, STRAIGHT, GUMBEL };

static struct recurrent_config picking(const struct study *study, rapt_normalizer normalizer)
{
    struct recurrent_config config = study_prototype(study, PROTOTYPE_3);
    config.normalizer = normalizer;
    return config;
}

/* ---- one query that moves along a line of three keys ---- */
enum { KEYS = 3, POINTS = 25 };
static const double places[KEYS] = {-1, 0, 1};
static const float values[KEYS] = {1, 3, 2};
struct line {
    double at[POINTS], out[POINTS], gradient[POINTS];
};

static rapt_attention line_problem(rapt_normalizer normalizer)
{
    rapt_attention a;
    rapt_attention_init(&a, sizeof a, 1, 1, 1, KEYS, 2);
    a.value_width = 1;
    a.v = a.out = (rapt_stride){.batch = KEYS, .head = KEYS, .row = 1};
    a.score = RAPT_SCORE_DOT;
    a.scale = 4;
    a.normalizer = normalizer;
    a.threads = 1;
    return a;
}

/* Sets the value that is picked by a query at `at`, and the gradient of that value in the query.
   The vector of a key at place x is (2x, -x^2), so that the nearest key has the largest dot product
   with (q, 1). A sample is rewarded with the value itself. */
static void pick(rapt_attention *a, float at, float *out, float *gradient)
{
    const float q[2] = {at, 1}, one = 1;
    float keys[KEYS][2];
    for (int k = 0; k < KEYS; k++)
        keys[k][0] = 2 * (float)places[k], keys[k][1] = -(float)(places[k] * places[k]);
    float lse, dq[2] = {0};
    int chosen;
    struct workspace workspace = {0};
    void *space = workspace_for(&workspace, a);
    const rapt_attention_saved saved = {.size = sizeof saved, .lse = &lse, .chosen = &chosen};
    const rapt_gradients d = {.size = sizeof d, .q = dq};
    must(rapt_attention_forward(a, q, keys[0], values, out, &saved, space, NULL));
    const float loss = -*out;
    const rapt_reinforce reinforce = {.size = sizeof reinforce, .reward = &loss};
    must(rapt_attention_backward(a, q, keys[0], values, out, &saved, &one, &reinforce, &d, space,
                                 NULL));
    *gradient = dq[0];
    free(workspace.data);
}

static void move_query(rapt_normalizer normalizer, struct line *line)
{
    rapt_attention a = line_problem(normalizer);
    for (int i = 0; i < POINTS; i++) {
        const float at = -1.5F + 3 * (float)i / (POINTS - 1);
        float out, gradient;
        pick(&a, at, &out, &gradient);
        line->at[i] = (double)at;
        line->out[i] = (double)out;
        line->gradient[i] = (double)gradient;
    }
}

/* Returns where between two places the picked value changes. */
static double place_of_jump(rapt_attention *a, double from, double to, double value)
{
    for (int halving = 0; halving < 30; halving++) {
        const double middle = (from + to) / 2;
        float out, gradient;
        pick(a, (float)middle, &out, &gradient);
        *(fabs((double)out - value) > 0 ? &to : &from) = middle;
    }
    return from;
}

/* Appends the curve of argmax, which is vertical where the value jumps. */
static void put_steps(struct page *page, const struct line *hard)
{
    enum { MOST = 3 * POINTS };
    rapt_attention a = line_problem(RAPT_NORMALIZER_ARGMAX);
    double xs[MOST], ys[MOST];
    int count = 0;
    for (int i = 0; i < POINTS; i++) {
        xs[count] = hard->at[i], ys[count++] = hard->out[i];
        if (i + 1 == POINTS || !(fabs(hard->out[i + 1] - hard->out[i]) > 0)) continue;
        const double jump = place_of_jump(&a, hard->at[i], hard->at[i + 1], hard->out[i]);
        xs[count] = jump, ys[count++] = hard->out[i];
        xs[count] = jump, ys[count++] = hard->out[i + 1];
    }
    page_curve(page, "argmax", count, xs, ys);
}

/* Returns by how much the value changes where two keys are equally near. */
static double jump(rapt_normalizer normalizer)
{
    rapt_attention a = line_problem(normalizer);
    float before, after, gradient;
    pick(&a, -0.5F - 1e-5F, &before, &gradient);
    pick(&a, -0.5F + 1e-5F, &after, &gradient);
    return fabs((double)after - (double)before);
}

/* Returns the largest difference between the gradient of softmax and the mean of the gradients of
   many samples. */
static double sampling_error(const struct line *soft)
{
    enum { DRAWS = 20000 };
    rapt_attention a = line_problem(RAPT_NORMALIZER_SAMPLE);
    double worst = 0;
    for (int i = 0; i < POINTS; i += 4) {
        double sum = 0;
        for (int draw = 0; draw < DRAWS; draw++) {
            float out, gradient;
            a.seed = (uint64_t)draw;
            pick(&a, (float)soft->at[i], &out, &gradient);
            sum += (double)gradient;
        }
        worst = fmax(worst, fabs(sum / DRAWS - soft->gradient[i]));
    }
    return worst;
}

/* Returns how many of the queries get the value of the nearest key. */
static int nearest_picked(const struct line *hard)
{
    int right = 0;
    for (int i = 0; i < POINTS; i++) {
        double nearest = INFINITY, picked = INFINITY;
        for (int k = 0; k < KEYS; k++) {
            const double distance = fabs(hard->at[i] - places[k]);
            nearest = fmin(nearest, distance);
            if (hard->out[i] == (double)values[k]) picked = distance;
        }
        right += picked <= nearest + 1e-6; /* two may be equally near */
    }
    return right;
}

static double largest_on_line(const double *x)
{
    double max = 0;
    for (int i = 0; i < POINTS; i++) max = fmax(max, fabs(x[i]));
    return max;
}

static void show_step(struct page *page)
{
    struct line hard, soft, straight;
    double differ = 0;
    page_step(page, "A step without gradient");
    page_paragraph(page, SHORT,
                   "Three items lie on a line, at x = -1, 0 and 1, and have the values 1, 3 and 2. "
                   "A query q moves past them, and the nearest item is picked. Attention compares "
                   "by dot products, but q·x does not find the nearest item: for every positive q "
                   "it is largest at x = 1. The squared distance, however, is q² − (2qx − x²), "
                   "where q² is the same for all items. So let the key of an item be the vector "
                   "(2x, −x²) and the query (q, 1): their dot product is largest for the nearest "
                   "item.");
    page_formula(page, SHORT, "pick = argmax_i(col{q}{1} ⋅ col{2 x_i}{−x_i^2})");
    page_paragraph(page, SHORT,
                   "The value changes only where another item becomes the nearest. Everywhere else "
                   "the gradient is 0 and does not tell the query which way to move. Softmax, here "
                   "of 4 times the dot product, does have a gradient.");
    move_query(RAPT_NORMALIZER_ARGMAX, &hard);
    move_query(RAPT_NORMALIZER_SOFTMAX, &soft);
    page_chart(page, SHORT, "What is picked, by the position of the query", "query", "value");
    page_chart_range(page, 0, 4);
    put_steps(page, &hard);
    page_curve(page, "softmax", POINTS, soft.at, soft.out);
    page_claim(page, "queries, of 25, for which argmax picks the nearest item",
               nearest_picked(&hard), EQUALS, POINTS);
    page_claim(page, "argmax: largest gradient in the query", largest_on_line(hard.gradient),
               EQUALS, 0);
    page_claim(page, "softmax: largest gradient", largest_on_line(soft.gradient), ABOVE, 0.5);
    page_claim(page, "argmax: jump of the value halfway between two keys",
               jump(RAPT_NORMALIZER_ARGMAX), AT_LEAST, 1);
    page_claim(page, "softmax: change of the value at the same place",
               jump(RAPT_NORMALIZER_SOFTMAX), AT_MOST, 1e-3);
    move_query(RAPT_NORMALIZER_STRAIGHT_THROUGH, &straight);
    for (int i = 0; i < POINTS; i++)
        differ = fmax(differ, fabs(straight.gradient[i] - soft.gradient[i]));
    page_paragraph(
        page, MORE,
        "There are two ways around this. Straight-through picks as argmax does, but borrows the "
        "gradient of softmax. Sampling draws an item with the probabilities of softmax, and a "
        "reward makes good draws more likely (REINFORCE). If the reward is the value itself, the "
        "gradient averaged over many draws is that of softmax.");
    page_claim(page, "straight-through: difference of its gradient from that of softmax", differ,
               AT_MOST, 1e-5);
    page_claim(page, "sampling: difference of the mean gradient of 20,000 draws from softmax's",
               sampling_error(&soft), AT_MOST, 0.1);
}

/* Shows that the argmax of scores with Gumbel noise draws from the softmax of the scores. */
static void show_gumbel(struct page *page, uint64_t seed)
{
    enum { DRAWS = 20000 };
    static const float scores[KEYS] = {0, 1, 2};
    struct random random = random_from(seed, 31);
    float p[KEYS], noisy[KEYS];
    double share[KEYS] = {0}, differ = 0;
    softmax(1, KEYS, scores, p);
    for (int draw = 0; draw < DRAWS; draw++) {
        for (int i = 0; i < KEYS; i++) {
            const double u = fmax((double)random_unit(&random), 1e-12);
            noisy[i] = scores[i] - (float)log(-log(u));
        }
        share[argmax(KEYS, noisy)] += 1.0 / DRAWS;
    }
    page_step(page, "What Gumbel noise is");
    page_paragraph(page, SHORT,
                   "Add to each score the number −log(−log u), where u is drawn evenly between 0 "
                   "and 1, and take the largest. Each item then wins with exactly its softmax "
                   "probability. All the chance is in the noise; the rest is a function of the "
                   "scores. A softmax of the noisy scores at a low temperature comes close to that "
                   "choice, and it has a gradient.");
    page_table(page, SHORT, "20,000 draws", "score\tsoftmax\tlargest with noise");
    for (int i = 0; i < KEYS; i++) {
        page_row(page, "%.0f\t%.3f\t%.3f", (double)scores[i], (double)p[i], share[i]);
        differ = fmax(differ, fabs(share[i] - (double)p[i]));
    }
    page_claim(page, "Gumbel noise: largest difference of a share from softmax", differ, AT_MOST,
               0.02);
}

/* ---- translation by picking words ---- */

static void show_items(struct page *page, struct study *study)
{
    page_step(page, "Raw items, keys, a query");
    page_paragraph(
        page, SHORT,
        "Prototype 3 has no encoder. The items are the English words as they are, and the key of "
        "an item consists of the word and its position. For each German word the state of the "
        "decoder is the query, one item is picked, and the output layer sees both the state and "
        "the item.");
    page_formula(page, SHORT, "k_s = x_s + p_s");
    page_formula(page, SHORT, "i = argmax_s(W d_t ⋅ k_s)");
    page_formula(page, SHORT, "y_t = softmax(W^o col{d_t}{x_i})");
    page_formula(page, MORE, "x_s, p_s, k_s: k ,  d_t: d ,  W: k × d ,  W^o: N × (d + k)");
    page_paragraph(page, MORE,
                   "Argmax gives the query no gradient, so the model never learns what to pick. A "
                   "sample is rewarded if it makes the right word more likely than the mixture of "
                   "all items would (REINFORCE with a baseline). Straight-through picks the "
                   "maximum but learns as if it had used softmax. Gumbel-softmax adds random noise "
                   "to the scores before the softmax, but only in training. In translation it is a "
                   "plain softmax, so its row in the table below shows soft attention.");
    page_paragraph(page, MORE,
                   "Sometimes it is known beforehand which items count: the last three, say, or "
                   "those of one speaker. Then nothing has to be learned. Such a condition is "
                   "called a mask, and all items that it excludes have the weight 0.");
    for (int i = 0; i < WAYS; i++) {
        struct recurrent_config config = picking(study, ways[i].normalizer);
        study_add(study, ways[i].name, &config);
    }
    study_add(study, "none: one vector", &study->config);
    study_train(study, 0);
}

static void compare_ways(struct page *page, struct study *study)
{
    const int length = study->training.max_words;
    page_step(page, "Ways to pick");
    study_curves(study, page, SHORT, "Quality by length", (const int[]){0, 1, 2, 3, WAYS},
                 WAYS + 1);
    study_compare(study, page, SHORT, "The same training", "picked by", 0, WAYS + 1, NULL);
    page_paragraph(
        page, SHORT,
        "AER is the alignment error rate (lesson 2). It is 0 if the item that is picked is always "
        "the word that is being translated. The last row is the model of lesson 1. It also has an "
        "encoder to train, which takes one step for each English word, so that each German word "
        "costs %.1f steps of a recurrent cell. In the other models it costs %.0f.",
        study_steps_of(study, WAYS, length), study_steps_of(study, STRAIGHT, length));
    study_claim(study, page, "sampled: sentences translated exactly, %", study_exact,
                (const int[]){SAMPLED}, 1, NULL, AT_LEAST, 50);
    study_claim(study, page, "straight-through: sentences translated exactly, %", study_exact,
                (const int[]){STRAIGHT}, 1, NULL, AT_LEAST, 70);
    study_claim(study, page, "gumbel-softmax: sentences translated exactly, %", study_exact,
                (const int[]){GUMBEL}, 1, NULL, AT_LEAST, 70);
    study_claim(study, page, "straight-through minus argmax, which cannot learn what to pick, %",
                study_exact_more, (const int[]){STRAIGHT, ARGMAX}, 2, NULL, AT_LEAST, 60);
}

/* ---- a word that two items decide: the mixture of two paints ----
   Hard attention reads one of them, soft attention both. */

enum {
    PAINTS = 5,
    PAINT_LENGTH = 4,
    PAINT_FIRST = 1,
    PAINT_SECOND = 3
}; /* "mix blue with yellow" */
enum { PAINT_HARD, PAINT_SOFT, PAINT_WAYS };
enum { PAINT_TESTS = 4096 };
static const double PAINT_BY_ONE =
    100.0 / (PAINTS - 1); /* % right by reading one paint and guessing */
static const char *const paints[PAINTS] = {"red", "yellow", "blue", "white", "black"};
static const char *const mixtures[PAINTS][PAINTS] = {{"", "orange", "purple", "pink", "maroon"},
                                                     {"", "", "green", "cream", "olive"},
                                                     {"", "", "", "azure", "navy"},
                                                     {"", "", "", "", "gray"}};

static void paint_append(const struct language *language, struct sentence *sentence, int a, int b)
{
    words_append(&language->source, &sentence->source, "mix");
    words_append(&language->source, &sentence->source, paints[a]);
    words_append(&language->source, &sentence->source, "with");
    words_append(&language->source, &sentence->source, paints[b]);
    words_append(&language->target, &sentence->target, a < b ? mixtures[a][b] : mixtures[b][a]);
    sentence->links[0] = (struct link){.sure = -1, .first = PAINT_FIRST, .last = PAINT_SECOND};
}

static void paint_draw(const struct language *language, struct sentence *sentence,
                       struct random *random, int length)
{
    int a, b;
    (void)length; /* always PAINT_LENGTH */
    do a = random_below(random, PAINTS), b = random_below(random, PAINTS);
    while (a == b);
    *sentence = (struct sentence){0};
    paint_append(language, sentence, a, b);
}

static void paint_create(struct language *language)
{
    const struct vocabulary empty = {RAPT_TOKEN_SPECIALS, {"", "", "(end)"}};
    *language = (struct language){"paints", "mixtures", empty, empty, paint_draw};
    vocabulary_add(&language->source, "mix with");
    for (int a = 0; a < PAINTS; a++) {
        vocabulary_add(&language->source, paints[a]);
        for (int b = a + 1; b < PAINTS; b++) vocabulary_add(&language->target, mixtures[a][b]);
    }
}

/* Returns the share of mixtures that a model names right, in %. */
static double right(struct study *study, int model)
{
    return study_quality_of(study, model, PAINT_LENGTH, PAINT_LENGTH, PAINT_TESTS).exact;
}

static double right_more(struct study *study, const int *models, const void *user)
{
    (void)user;
    return right(study, models[0]) - right(study, models[1]);
}

/* Returns how far the share of right names is from that of reading one paint and guessing. */
static double from_one_paint(struct study *study, const int *models, const void *user)
{
    (void)user;
    return fabs(right(study, models[0]) - PAINT_BY_ONE);
}

/* Returns the weight of the less read paint at the step that writes the mixture. */
static double second_weight(struct study *study, const int *models, const void *user)
{
    const struct sentence *sentence = user;
    struct words out;
    float *weights = study_weights(study, models[0], sentence, &out, NULL);
    const double least =
        (double)(weights[PAINT_FIRST] < weights[PAINT_SECOND] ? weights[PAINT_FIRST]
                                                              : weights[PAINT_SECOND]);
    free(weights);
    return least;
}

static void show_mixtures(struct page *page, struct study *study)
{
    static const char *const titles[PAINT_WAYS] = {"Hard: one item is read",
                                                   "Soft: both paints are read"};
    struct sentence sentence = {0};
    paint_append(&study->language, &sentence, 2, 1);
    for (int way = 0; way < PAINT_WAYS; way++) {
        struct words out;
        float *weights = study_weights(study, way, &sentence, &out, NULL);
        study_map(study, page, SHORT, titles[way], &sentence, &out, weights);
        free(weights);
    }
    page_table(page, SHORT, "Mixtures that are named right",
               "attention\tright, %\tweight of the paint read less");
    for (int way = 0; way < PAINT_WAYS; way++)
        page_row(page, "%s\t%.1f\t%.2f", study->models[way].name, right(study, way),
                 second_weight(study, (const int[]){way}, &sentence));
    study_claim(study, page,
                "mixtures that soft attention names right, minus those of hard attention, %",
                right_more, (const int[]){PAINT_SOFT, PAINT_HARD}, 2, NULL, AT_LEAST, 50);
    study_claim(study, page,
                "hard: distance of its share of right names from that of reading one paint, %",
                from_one_paint, (const int[]){PAINT_HARD}, 1, NULL, AT_MOST, 15);
    study_claim(study, page, "soft: weight of the paint that is read less", second_weight,
                (const int[]){PAINT_SOFT}, 1, &sentence, AT_LEAST, 0.3);
}

static void show_one_item(struct page *page, const struct lesson_options *options)
{
    static struct study study;
    page_step(page, "When one item is too little");
    page_paragraph(
        page, SHORT,
        "Every word above depends on a single word of the source, so picking one was enough. That "
        "is not always so. Now the task is \"mix blue with yellow\", and the answer is the single "
        "word \"green\". A model that reads only \"blue\" has to guess among the %d mixtures of "
        "blue, and is right in %.0f %% of all cases. A model that reads no paint at all guesses "
        "among %d mixtures, and is right in %.0f %%. Two models learn the task. One mixes by "
        "softmax; the other draws one item by the same kind of weights and learns from a reward, "
        "as above. Their scores depend on the place of a word and not on the word itself (the "
        "location score of lesson 8). Otherwise the choice could give away something about the "
        "paint that was not picked.",
        PAINTS - 1, PAINT_BY_ONE, PAINTS * (PAINTS - 1) / 2, 2 * PAINT_BY_ONE / PAINTS);
    study_create(&study, options, PAINT_LENGTH, 0);
    paint_create(&study.language);
    study.training.steps = options->quick ? 600 : 1200;
    struct recurrent_config config = study_prototype(&study, PROTOTYPE_3);
    config.score = RAPT_SCORE_LOCATION;
    config.normalizer = RAPT_NORMALIZER_SAMPLE;
    study_add(&study, "hard (sampled)", &config);
    config.normalizer = RAPT_NORMALIZER_SOFTMAX;
    study_add(&study, "soft (softmax)", &config);
    study_train(&study, 0);
    show_mixtures(page, &study);
    page_paragraph(
        page, SHORT,
        "Softmax is the subject of the next lesson. Hard attention has two other ways out: several "
        "heads that pick one item each, or several looks before it answers (lesson 13).");
    study_free(&study);
}

/* ---- the lesson ---- */

int lesson_pick_one(struct page *page, const struct lesson_options *options)
{
    struct study study;
    struct sentence sentence;
    struct words out;
    study_create(&study, options, 8, 1200);
    study_sentence(&study, &sentence, &study_clause);
    show_step(page);
    show_gumbel(page, options->seed);
    show_items(page, &study);
    show_architecture(page, &study, STRAIGHT, PROTOTYPE_3, &sentence);
    float *weights = study_weights(&study, STRAIGHT, &sentence, &out, NULL);
    study_map(&study, page, SHORT, "The item that is picked (straight-through)", &sentence, &out,
              weights);
    free(weights);
    compare_ways(page, &study);
    show_one_item(page, options);
    study_free(&study);
    return EXIT_SUCCESS;
}
