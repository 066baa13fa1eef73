/* mix.c - lesson 4: softmax mixes items by weights that are positive and have the sum 1. */
#include "kit/layers.h"
#include "kit/program.h"
#include "lesson.h"

int lesson_mix(struct page *page, const struct lesson_options *options)
{
    static const char *const names[] = {"key 1", "key 2", "key 3"};
    const float scores[3] = {2, 1, -1};
    float weights[3];
    double sum = 0;
    (void)options;
    softmax(1, 3, scores, weights);
    for (int i = 0; i < 3; i++) sum += (double)weights[i];
    page_step(page, "Scores become weights");
    page_paragraph(page, SHORT, "Softmax of the scores 2, 1 and -1.");
    page_paragraph(page, MORE, "A larger score takes weight from all others.");
    page_formula(page, SHORT, "a_i = frac{exp(e_i)}{∑_j exp(e_j)}");
    page_map(page, SHORT, "Weights", 1, 3, (const char *const[]){"query"}, names, weights);
    page_claim(page, "the weights add up to 1", sum, AT_LEAST, 1 - 1e-6);
    return EXIT_OK;
}
