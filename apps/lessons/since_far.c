/* since_far.c - lesson since: how far a word may look: forgetting attention, windows with global
   words, and rotary positions beyond the lengths of training. */
#include "kit/demo.h"
#include "kit/layers.h"
#include "kit/program.h"
#include "since.h"
#include <math.h>
#include <stdlib.h>

/* Rotary positions beyond the lengths of training: their scores by distance, translations of longer
   texts, with the angles as trained or scaled, and the angles themselves. */

enum { LONG = 36, KNOWN = 18, FACTOR = 2, SCALINGS = RAPT_ROTARY_SCALING_YARN + 1, TESTED = 64 };
static const char *const scaling_names[SCALINGS] = {"as trained", "linear", "NTK-aware", "YaRN"};

/* ---- texts of several sentences ---- */
struct text {        /* which texts are drawn */
    int least, most; /* sentences */
    bool unseen;
};

static void append(struct ids *ids, const struct ids *more)
{
    for (int i = 0; i < more->count; i++) ids->at[ids->count++] = more->at[i];
}

/* Draws again if the text is longer than LONG words. */
static void draw_text(struct random *random, struct ids_pair *pair, const void *user)
{
    const struct text *text = user;
    struct ids_pair whole;
    do {
        const int sentences = text->least + random_below(random, text->most - text->least + 1);
        whole.source.count = whole.target.count = 0;
        for (int i = 0; i < sentences; i++) {
            struct chase_pair part;
            chase_draw(random, text->unseen, &part);
            append(&whole.source, &part.ids.source);
            append(&whole.target, &part.ids.target);
        }
    } while (whole.source.count > LONG);
    *pair = whole;
}

/* Returns the share of unseen texts of so many sentences that are translated exactly, in %. */
static double exact(struct learner *small, int sentences)
{
    const struct text text = {sentences, sentences, true};
    return 100 * small_exact(small, TESTED, draw_text, &text, random_from(small->setup.seed, 97));
}

/* ---- models ---- */
/* A translator with rotary positions, trained on one and two sentences; then with each scaling, as
   it is and after more training with up to three. */
struct scaled {
    struct learner small;
    int head;            /* of the encoder, whose scores are shown */
    int steps;           /* of more training */
    double scores[LONG]; /* by distance, before that */
    double exact[2][2];  /* [trained further][two or three sentences] */
};

static void create(struct learner *small, uint64_t seed)
{
    rapt_config config = since_config();
    config.position = RAPT_POSITION_NONE, config.rotary = RAPT_ROTARY_HALVES;
    small_create(small, &config, seed);
}

/* Sets scores[d] to the score of a word at distance d in a head of the encoder, less that at
   distance 0. The text is one word, LONG times, so that only the distance can make a difference. */
static void scores_by_distance(struct learner *small, int head, double scores[LONG])
{
    struct since_map map;
    struct ids_pair pair = {.source.count = LONG, .target.count = 0};
    for (int i = 0; i < LONG; i++) pair.source.at[i] = RAPT_TOKEN_SPECIALS;
    since_weights(small, &pair, (struct since_head){RAPT_WEIGHTS_ENCODER, head}, &map);
    const float *row = map.weights + (LONG - 1) * map.columns;
    for (int d = 0; d < LONG; d++)
        scores[d] = log((double)row[LONG - 1 - d]) - log((double)row[LONG - 1]);
}

/* Returns the largest minus the smallest score of a head within the distances of training. */
static double range_of_scores(struct learner *small, int head)
{
    double scores[LONG], most = -INFINITY, least = INFINITY;
    scores_by_distance(small, head, scores);
    for (int d = 0; d < KNOWN; d++) {
        most = fmax(most, scores[d]);
        least = fmin(least, scores[d]);
    }
    return most - least;
}

/* Returns the head with the larger range. */
static int ranging_head(struct learner *small)
{
    return range_of_scores(small, 1) > range_of_scores(small, 0);
}

static void scaled_create(struct scaled *scaled, struct learner *from, rapt_rotary_scaling scaling,
                          int steps)
{
    struct learner_setup setup = from->setup;
    setup.config.rotary_scaling = scaling;
    setup.config.rotary_factor = scaling == RAPT_ROTARY_SCALING_NONE ? 0 : FACTOR;
    setup.config.rotary_positions = scaling == RAPT_ROTARY_SCALING_YARN ? KNOWN : 0;
    scaled->steps = steps;
    scaled->head = ranging_head(from);
    learner_create(&scaled->small, &setup);
    since_copy(from, &scaled->small);
}

/* Called in threads. */
static void *scaled_work(void *argument)
{
    static const struct text three = {1, 3, false};
    struct scaled *scaled = argument;
    struct learner *small = &scaled->small;
    scores_by_distance(small, scaled->head, scaled->scores);
    for (int i = 0; i < 2; i++) scaled->exact[0][i] = exact(small, 2 + i);
    small_train(small, scaled->steps, 3e-3F, draw_text, &three, random_from(small->setup.seed, 98),
                NULL);
    for (int i = 0; i < 2; i++) scaled->exact[1][i] = exact(small, 2 + i);
    return NULL;
}

/* ---- measures of claims ---- */
static double scores_differ(struct learner *small, const void *user)
{
    (void)user;
    return range_of_scores(small, ranging_head(small));
}

/* Returns by how many % more texts of two sentences are right with NTK-aware than with linear
   scaling, without further training. */
static double kept_more(struct learner *small, const void *user)
{
    double kept[SCALINGS];
    (void)user;
    for (int i = RAPT_ROTARY_SCALING_LINEAR; i <= RAPT_ROTARY_SCALING_NTK; i++) {
        struct scaled scaled;
        scaled_create(&scaled, small, (rapt_rotary_scaling)i, 0);
        kept[i] = exact(&scaled.small, 2);
        learner_free(&scaled.small);
    }
    return kept[RAPT_ROTARY_SCALING_NTK] - kept[RAPT_ROTARY_SCALING_LINEAR];
}

/* ---- the angles of a large model ---- */
enum { WIDE = 64, WIDE_PAIRS = WIDE / 2, TRAINED = 4096, WIDE_FACTOR = 8 };

/* Returns the angle by which a pair of elements turns from one position to the next. The query has
   the first element of the pair, and the key before it the second one, so that their product is the
   sine of the angle. The other key is 0. */
static double angle_of(rapt_rotary_scaling scaling, int pair)
{
    struct workspace workspace = {0};
    rapt_attention a;
    float q[WIDE] = {[0] = 0}, k[2 * WIDE] = {[0] = 0}, out[WIDE], statistics[2], weights[2];
    const rapt_attention_saved saved = {.size = sizeof saved, .statistics = statistics};
    const double as_trained = pow(10000, -2.0 * pair / WIDE);
    q[pair] = k[WIDE_PAIRS + pair] = 1;
    rapt_attention_init(&a, sizeof a, 1, 1, 1, 2, WIDE);
    a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT;
    a.scale = (float)(1 / as_trained);
    a.relative = (rapt_relative){.rotary = RAPT_ROTARY_HALVES,
                                 .rotary_scaling = scaling,
                                 .rotary_factor = WIDE_FACTOR,
                                 .rotary_positions = TRAINED,
                                 .rotary_magnitude = 1};
    void *memory = workspace_for(&workspace, &a);
    must(rapt_attention_forward(&a, q, k, k, out, &saved, memory, NULL));
    must(rapt_attention_weights(&a, q, k, &saved, 0, 0, 0, 1, weights, memory, NULL));
    free(workspace.data);
    return asin(fabs(log((double)weights[0] / (double)weights[1])) * as_trained);
}

/* Shows what is left of each angle, and claims that YaRN keeps the fastest one and divides the
   slowest one. */
static void show_angles(struct page *page)
{
    double xs[WIDE_PAIRS], left[SCALINGS][WIDE_PAIRS];
    page_paragraph(
        page, SHORT,
        "YaRN (Peng et al. 2023) treats each angle according to the number of turns that it makes "
        "in the longest text of training. An angle with 32 turns or more has been everywhere, and "
        "keeps its speed. One that does not complete a turn would go where it has never been, and "
        "is divided as in linear scaling. Those in between get a mixture of both. Scores are also "
        "multiplied by the square of 0.1 log(factor) + 1, so that weights stay as sharp among more "
        "words. The chart shows a head of %d numbers that was trained on texts of %d words, for "
        "texts %d times as long.",
        WIDE, TRAINED, WIDE_FACTOR);
    page_chart(page, SHORT, "What is left of each rotary angle", "pair of elements",
               "angle, divided by that as trained");
    for (int i = 0; i < SCALINGS; i++) {
        for (int pair = 0; pair < WIDE_PAIRS; pair++) {
            xs[pair] = pair;
            left[i][pair] =
                angle_of((rapt_rotary_scaling)i, pair) / angle_of(RAPT_ROTARY_SCALING_NONE, pair);
        }
        page_curve(page, scaling_names[i], WIDE_PAIRS, xs, left[i]);
    }
    page_claim(page, "YaRN: fastest angle, divided by that as trained",
               left[RAPT_ROTARY_SCALING_YARN][0], AT_LEAST, 0.999);
    page_claim(page, "linear: fastest angle, divided by that as trained",
               left[RAPT_ROTARY_SCALING_LINEAR][0], AT_MOST, 0.126);
    page_claim(page, "YaRN: slowest angle, divided by that as trained",
               left[RAPT_ROTARY_SCALING_YARN][WIDE_PAIRS - 1], AT_MOST, 0.126);
}

/* ---- the page ---- */
static void show_scores(struct page *page, const struct scaled *scaled)
{
    const double *none = scaled[RAPT_ROTARY_SCALING_NONE].scores;
    const double *linear = scaled[RAPT_ROTARY_SCALING_LINEAR].scores;
    double xs[LONG], worst = 0;
    for (int d = 0; d < LONG; d++) xs[d] = d;
    char *title = xasprintf("\"Tom Tom Tom …\": score of a word by its distance, encoder, head %d",
                            scaled->head + 1);
    page_chart(page, MORE, title, "distance in words", "score, less that at distance 0");
    free(title);
    for (int i = 0; i < SCALINGS; i++)
        page_curve(page, scaling_names[i], LONG, xs, scaled[i].scores);
    for (int d = 0; FACTOR * d < LONG; d++) worst = fmax(worst, fabs(linear[FACTOR * d] - none[d]));
    page_claim(page, "linear, factor 2: score at distance 2d, minus that at d as trained, largest",
               worst, AT_MOST, 1e-3);
}

static void show_texts(struct page *page, const struct scaled *scaled)
{
    double least = 100, most = 0;
    page_table(page, SHORT, "Unseen texts of 2 and 3 sentences translated exactly, %",
               "angles\t2\t3\t2, trained\t3, trained");
    for (int i = 0; i < SCALINGS; i++) {
        least = fmin(least, scaled[i].exact[1][1]);
        most = fmax(most, scaled[i].exact[1][1]);
        page_row(page, "%s\t%.0f\t%.0f\t%.0f\t%.0f", scaling_names[i], scaled[i].exact[0][0],
                 scaled[i].exact[0][1], scaled[i].exact[1][0], scaled[i].exact[1][1]);
    }
    page_paragraph(
        page, SHORT,
        "The columns on the left show the same parameters with other angles. Linear scaling spoils "
        "what the model could do before, two sentences, since each distance now has another angle. "
        "NTK-aware scaling preserves it. None of our angles turns more than three times in %d "
        "words, so YaRN is close to linear scaling here. Three sentences need more than angles: "
        "cross-attention must find its place in them, too. So the columns on the right were "
        "measured after %d more steps, with up to three sentences. By then the four translate "
        "between %.0f and %.0f %% of the texts of three sentences exactly%s. What scaling saves in "
        "large models is training: texts of a new length take many more steps without it, and few "
        "or none with it.",
        KNOWN, scaled->steps, least, most,
        most - least < 15 ? ", so none of them is clearly the best here" : "");
}

static void tell_rotary(struct page *page)
{
    page_paragraph(
        page, SHORT,
        "Most models today rotate queries and keys by angles that grow with the position (Su et "
        "al. 2021), so that a score depends on the distance. What will the scores be at distances "
        "that never occurred in training? One more translator learns texts of one or two "
        "sentences, up to %d words. Its scores can be seen in a text that repeats a single word %d "
        "times, where only the distance can make a difference. The chart shows the head whose "
        "scores vary more.",
        KNOWN, LONG);
    page_formula(page, SHORT, "e_{ts} = frac{1}{sqrt{d}} q_t ⋅ R((t − s) θ) k_s");
}

static void tell_scaling(struct page *page)
{
    page_paragraph(
        page, SHORT,
        "As trained, the curve goes on to distances that it was never trained for. Position "
        "interpolation (linear; Chen et al. 2023) divides all angles by the factor of the new "
        "length, here %d, so that distance 34 gets the score that 17 had. All scores stay on the "
        "part of the curve that was trained, but neighbors are harder to tell apart. That is what "
        "the fastest angles were for, and these have made whole turns in training. NTK-aware "
        "scaling therefore leaves the fastest angle as it is, and slows the others down more, the "
        "slower they are.",
        FACTOR);
}

static void since_long(struct since *since)
{
    static const struct text two = {1, 2, false};
    struct page *page = since->page;
    struct learner rotary;
    struct scaled *scaled = xcalloc(SCALINGS, sizeof *scaled);
    const uint64_t seed = since->options->seed;
    create(&rotary, seed);
    small_train(&rotary, 2 * since->steps, 5e-3F, draw_text, &two, random_from(seed, 96), NULL);
    for (int i = 0; i < SCALINGS; i++)
        scaled_create(&scaled[i], &rotary, (rapt_rotary_scaling)i, since->steps / 2);
    run_threads(scaled_work, scaled, SCALINGS, sizeof *scaled, since->options->threads);
    tell_rotary(page);
    show_scores(page, scaled);
    tell_scaling(page);
    show_angles(page);
    show_texts(page, scaled);
    learner_claim(&rotary, page,
                  "rotary: range of the scores of that head within the distances of training",
                  scores_differ, NULL, AT_LEAST, 2.2);
    learner_claim(
        &rotary, page,
        "two sentences translated exactly, NTK-aware minus linear, not trained further, %",
        kept_more, NULL, AT_LEAST, 30);
    for (int i = 0; i < SCALINGS; i++) learner_free(&scaled[i].small);
    learner_free(&rotary);
    free(scaled);
}

/* ---- forgetting ---- */
/* Returns the largest minus the smallest weight of the last word, in the rows that have one. */
static double last_differs(const struct since_map *map)
{
    double most = 0, least = 1;
    for (int r = 1; r < map->rows; r++) {
        most = fmax(most, (double)map->weights[r * map->columns + r]);
        least = fmin(least, (double)map->weights[r * map->columns + r]);
    }
    return most - least;
}

/* Returns the head of the decoder's self-attention in which that differs most. */
static struct since_head choosy_head(struct learner *small)
{
    const struct since_head head[] = {{RAPT_WEIGHTS_DECODER, 0}, {RAPT_WEIGHTS_DECODER, 1}};
    return head[since_mean(small, head[1], last_differs) >
                since_mean(small, head[0], last_differs)];
}

static double most_different(struct learner *small, const void *user)
{
    (void)user;
    return since_mean(small, choosy_head(small), last_differs);
}

/* Returns the largest difference of the gates [words][heads] from those that the weights of a head
   show if all scores are 0: then f is the weight of the word before, divided by that of the word.
 */
static double gates_off(const struct learner *small, const struct ids_pair *pair, int head,
                        const float *gates)
{
    struct learner even;
    struct since_map map;
    double off = 0;
    learner_create(&even, &small->setup);
    since_copy(small, &even);
    since_scale(&even, "decoder.layers.0.self_attn.qkv.weight", 0);
    since_scale(&even, "decoder.layers.0.self_attn.qkv.bias", 0);
    since_weights(&even, pair, (struct since_head){RAPT_WEIGHTS_DECODER, head}, &map);
    for (int t = 1; t < map.columns; t++) {
        const float *row = map.weights + t * map.columns;
        const double f = (double)row[t - 1] / (double)row[t];
        off = fmax(off, fabs(f - (double)gates[t * SINCE_HEADS + head]));
    }
    learner_free(&even);
    return off;
}

/* Shows the map of a head, in which each column is named by its word and the word's gate. */
static void show_gates(struct since *since, struct since_head head)
{
    struct learner *small = &since->models[SINCE_FORGET].small;
    const int words = since->pair.target.count + 1;
    int32_t ids[SINCE_ROWS] = {RAPT_TOKEN_BEGIN};
    float gates[SINCE_ROWS * SINCE_HEADS];
    char *names[SINCE_ROWS];
    struct since_map map;
    for (int i = 1; i < words; i++) ids[i] = since->pair.target.at[i - 1];
    since_gates(small, "decoder", "forget", words, ids, gates);
    since_weights(small, &since->pair, head, &map);
    for (int c = 0; c < words; c++)
        map.column[c] = names[c] =
            xasprintf("%s %.0f", map.column[c], 100 * (double)gates[c * SINCE_HEADS + head.head]);
    since_show(since->page, SHORT,
               "Forgetting: the past of the decoder; beside each word its gate f in %", &map);
    for (int c = 0; c < words; c++) free(names[c]);
    page_claim(since->page,
               "forgetting: f, minus the ratio of two weights if all scores are 0, largest",
               gates_off(small, &since->pair, head.head, gates), AT_MOST, 1e-4);
}

static void show_forgetting(struct since *since)
{
    struct page *page = since->page;
    struct learner *small = &since->models[SINCE_FORGET].small;
    const struct since_head head = choosy_head(small);
    page_step(page, "How far may attention look?");
    page_paragraph(
        page, SHORT,
        "A score does not know the distance between two words, unless positions are mixed into "
        "their vectors. Forgetting attention (Lin et al. 2025) gives each word of the decoder a "
        "gate f between 0 and 1, like that of an LSTM, and the gates of all later words lower the "
        "score of a word. A word with f = 0 closes the door: nothing before it can be read any "
        "more. A word with f = 1 leaves everything as near as it was.");
    page_formula(page, SHORT, "e_{ts} ← e_{ts} + ∑_{j=s+1}^t log f_j");
    show_gates(since, head);
    page_paragraph(
        page, SHORT,
        "The map shows head %d, in which the rows differ most in the weight that they give to the "
        "word just written. Look for a column with a small f, and then at the weights to the left "
        "of it, from its own row downwards.",
        head.head + 1);
    learner_claim(small, page,
                  "forgetting: by how much the weight of the last word differs between rows",
                  most_different, NULL, AT_LEAST, 0.58);
}

/* ---- windows ---- */
/* Returns the largest weight between words that are more than 1 apart and of which none is the
   first. */
static double outside(const struct since_map *map)
{
    double most = 0;
    for (int r = 1; r < map->rows; r++)
        for (int c = 1; c < map->columns; c++)
            if (abs(r - c) > 1) most = fmax(most, (double)map->weights[r * map->columns + c]);
    return most;
}

static void show_window(struct since *since)
{
    struct page *page = since->page;
    struct learner *small = &since->models[SINCE_WINDOW].small;
    struct since_map map;
    page_paragraph(
        page, SHORT,
        "The simplest answer is a limit. In a sliding window each word reads only its neighbors, "
        "here one to each side, and information travels further from layer to layer. A few global "
        "words see all words and are seen by all (Longformer: Beltagy, Peters and Cohan 2020; "
        "BigBird: Zaheer et al. 2020); here it is the first one. So any two words are at most two "
        "steps apart.");
    since_weights(small, &since->pair, (struct since_head){RAPT_WEIGHTS_ENCODER, -1}, &map);
    since_show(page, SHORT, "Window of one word to each side, and the first word for all: encoder",
               &map);
    page_claim(page, "window: largest weight outside, in the sentence shown", outside(&map), EQUALS,
               0);
}

void since_far(struct since *since)
{
    show_forgetting(since);
    since_long(since);
    show_window(since);
}
