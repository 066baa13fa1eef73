/* own_past.c - self-attention before the Transformer. A recurrent encoder that reads all
   of its own states so far (LSTMN, Cheng, Dong and Lapata 2016) is compared with one that reads the
   previous state. */
#include "parts.h"
#include "study.h"
#include <stdlib.h>

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
