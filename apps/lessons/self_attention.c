/* self_attention.c - a sequence attends to itself: first in a recurrent network, then instead of
   one; what a trained head looks up; why positions have to be added. */
#include "kit/program.h"
#include "parts.h"
#include "study.h"
#include <math.h>
#include <stdlib.h>

int lesson_self_attention(struct page *page, const struct lesson_options *options)
{
    read_own_past(page, options);
    show_pronoun(page, options);
    draw_sinusoids(page);
    return EXIT_OK;
}

/* ---- self-attention before the Transformer ---- */

enum { LSTM, LSTMN, MAX_WORDS = 8, COLUMNS = MAX_WORDS + 2 };

static void show_map(struct page *page, struct study *study)
{
    struct sentence sentence;
    float weights[COLUMNS * COLUMNS];
    study_sentence(study, &sentence, &study_clause);
    const int columns = sentence.source.count + 1;
    const char **rows = study_names(&study->language.source, &sentence.source);
    const char *names[COLUMNS] = {"(begin)"};
    for (int s = 1; s < columns; s++) names[s] = rows[s - 1];
    recurrent_past(study->models[LSTMN].recurrent, &sentence, weights);
    page_map(page, MORE, "What each word reads: the states after the words before it", columns,
             columns, rows, names, weights);
    free(rows);
}

void read_own_past(struct page *page, const struct lesson_options *options)
{
    static struct study study;
    study_create(&study, options, MAX_WORDS, 600);
    study.training.steps = 400;
    study.config.cell = CELL_LSTM;
    page_step(page, "Self-attention began in a recurrent network");
    page_paragraph(
        page, SHORT,
        "A recurrent network continues from a single state, that of the previous word. The LSTMN "
        "(Long Short-Term Memory-Network, Cheng, Dong and Lapata 2016) keeps all its states, and "
        "each step continues from a mixture of them. The query is made of the word and the last "
        "mixture m, the states h of the words before it are keys and values, and the memories c "
        "are mixed by the same weights. The authors call this intra-attention.");
    page_formula(page, SHORT, "a_i = softmax_i(v^⊤ tanh(W_h h_i + W_x x_t + W_m m_{t-1}))");
    page_formula(page, SHORT,
                 "m_t = ∑_i a_i h_i ,  c̃_t = ∑_i a_i c_i ,  (h_t, c_t) = f(m_t, c̃_t, x_t)");
    page_formula(page, MORE, "h_i, m_t, c_i: n ,  x_t: k ,  W_h, W_m: u × n ,  W_x: u × k ,  v: u");
    study_add(&study, "LSTM", &study.config);
    study.config.reads = READS_PAST;
    study_add(&study, "LSTMN", &study.config);
    study_train(&study, 0);
    show_map(page, &study);
    study_compare(&study, page, MORE, "The same training, with one vector for the decoder",
                  "encoder", 0, 2, NULL);
    study_claim(&study, page, "LSTMN: BLEU", study_bleu, (const int[]){LSTMN}, 1, NULL, AT_LEAST,
                50);
    page_paragraph(page, SHORT,
                   "The LSTMN also has to learn where to read. Its steps still have to wait for "
                   "each other, word after word. The next section keeps the attention and drops "
                   "the recurrent network.");
    study_free(&study);
}

/* ---- sinusoidal positions (Vaswani et al. 2017, 3.5) and their dot products ---- */

enum { POSITIONS = 24, WIDTH = 32 };

/* Returns sin or cos of position / 10000^(2i / width); the two alternate. */
static double wave(int position, int column)
{
    double angle = position / pow(10000, (column - column % 2) / (double)WIDTH);
    return column % 2 ? cos(angle) : sin(angle);
}

static double product_of_codes(int a, int b)
{
    double sum = 0;
    for (int i = 0; i < WIDTH; i++) sum += wave(a, i) * wave(b, i);
    return sum;
}

void draw_sinusoids(struct page *page)
{
    float waves[POSITIONS * WIDTH];
    char text[POSITIONS + WIDTH][12];
    const char *names[POSITIONS + WIDTH];
    double xs[POSITIONS], ys[POSITIONS], differ = 0;
    for (int i = 0; i < POSITIONS + WIDTH; i++) {
        const int column = i - POSITIONS; /* every fourth column has a name */
        if (i < POSITIONS || column % 4 == 0)
            snprintf(text[i], sizeof text[i], "%d", i < POSITIONS ? i : column);
        else
            text[i][0] = '\0';
        names[i] = text[i];
    }
    for (int p = 0; p < POSITIONS; p++) {
        for (int i = 0; i < WIDTH; i++) waves[p * WIDTH + i] = (float)(0.5 + 0.5 * wave(p, i));
        xs[p] = p;
        ys[p] = product_of_codes(0, p);
        for (int q = 0; q < POSITIONS; q++)
            differ =
                fmax(differ, fabs(product_of_codes(p, q) - product_of_codes(p + 100, q + 100)));
    }
    page_step(page, "Sinusoidal positions");
    page_paragraph(
        page, SHORT,
        "Attention does not know the order of words: in any other order they get the same weights. "
        "So sines and cosines that depend on its position are added to the vector of each word. "
        "The dot product of two such codes depends only on the distance between the positions. "
        "Rotary positions bring this distance directly into the scores.");
    page_formula(page, MORE, "p_{t,2i} = sin(frac{t}{10000^{2i/w}})");
    page_formula(page, MORE, "p_{t,2i+1} = cos(frac{t}{10000^{2i/w}})");
    page_map(
        page, MORE,
        "Sinusoids, shown as (1 + p)/2: 0 %, the color of the page, is −1, 50 % is 0 and 100 % "
        "is 1; rows are positions, columns the 32 elements of a vector",
        POSITIONS, WIDTH, names, names + POSITIONS, waves);
    page_formula(page, MORE, "p_t · p_s = ∑_i cos(frac{t − s}{10000^{2i/w}})");
    page_chart(page, MORE, "Product of the codes of two positions", "distance", "product");
    page_curve(page, "p(0) · p(distance)", POSITIONS, xs, ys);
    page_claim(page, "largest change of a product if both positions move by 100", differ, AT_MOST,
               1e-9);
}
