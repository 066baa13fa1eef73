/* measure.c - quality by the length of the English sentence, as in figure 2 of Bahdanau, Cho and
   Bengio 2015. */
#include "bottleneck.h"

int point_length(const struct training *training, int point)
{
    int length = (point + 1) * training->max_words / 4;
    return length < MIN_WORDS ? MIN_WORDS : length;
}

void curve_measure(struct curve *curve, struct translator *translator)
{
    const struct training *training = translator->training;
    curve->name = translator->name;
    curve->parameters = translator_parameters(translator);
    for (int i = 0; i < POINTS; i++) {
        int length = point_length(training, i);
        curve->at[i] = quality_of(translator, length, length, TESTS);
    }
    curve->in_range = quality_of(translator, MIN_WORDS, training->max_words / 2, TESTS);
    curve->beyond =
        quality_of(translator, training->max_words + 1, training->max_words * 5 / 4, TESTS);
}

double retained(const struct curve *curve)
{
    return curve->in_range.bleu > 0 ? curve->beyond.bleu / curve->in_range.bleu : 0;
}

bool claim_holds(const struct report *report)
{
    return retained(&report->curves[FIXED_VECTOR]) < 0.5 &&
           retained(&report->curves[WITH_ATTENTION]) >= 0.9;
}
