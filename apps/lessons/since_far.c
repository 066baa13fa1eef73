/* since_far.c - lesson since: forgetting attention, scaled rotary positions, and windows with
   global words: how far a word may look. */
#include "kit/program.h"
#include "since.h"
#include <math.h>
#include <stdlib.h>

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
