/* score.c - the table of scores by enumerator, and their scale. */
#include "attention/score/score.h"

#include <math.h>

static const struct score *const scores[RAPT_SCORE_COUNT] = {
#define SCORE(enumerator, name) [enumerator] = &rapt__score_##name,
#include "attention/score/scores.def"
};

const char *rapt_score_name(rapt_score score)
{
    return (unsigned)score < RAPT_SCORE_COUNT ? scores[score]->name : NULL;
}

const struct score_choice rapt__all_rows = {-1, -1};

const struct score *rapt__score(rapt_score score)
{
    return scores[score];
}

bool rapt__score_is_additive(rapt_score score)
{
    return rapt__score(score)->additive;
}

bool rapt__score_is_plain(rapt_score score)
{
    const struct score *s = scores[score];
    const struct score_side *q = &s->queries, *k = &s->keys;
    return !s->additive && !q->weights && !q->rows && !k->weights && !k->rows;
}

bool rapt__score_has_positions(rapt_score score)
{
    return (unsigned)score < RAPT_SCORE_COUNT && scores[score]->keyless;
}

bool rapt__score_recurrent(const rapt_attention *a)
{
    return scores[a->score]->features;
}

bool rapt__score_has_coverage(rapt_score score)
{
    static const rapt_attention none;
    const struct score *s = rapt__score(score);
    return s->features && s->features(&none, NULL).summed;
}

float rapt__score_scale(rapt_score score, float scale, int key_width)
{
    if (scores[score]->scaleless) return 1;
    if (scale != 0) return scale;
    return scores[score]->scaled ? (float)(1 / sqrt((double)key_width)) : 1;
}
