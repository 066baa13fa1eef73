/* score.c - the scores, one row each. */
#include "attention/problem.h"

#include <math.h>

struct score {
    const char *name;
    bool scaled; /* divided by the root of the key width */
};

static const struct score scores[RAPT_SCORES] = {
    [RAPT_SCORE_SCALED_DOT] = {"scaled-dot", true},
    [RAPT_SCORE_DOT] = {"dot", false},
    [RAPT_SCORE_GENERAL] = {"general", false},
    [RAPT_SCORE_COSINE] = {"cosine", false},
    [RAPT_SCORE_LOCATION] = {"location", false},
    [RAPT_SCORE_ADDITIVE] = {"additive", false},
    [RAPT_SCORE_LOCATION_AWARE] = {"location-aware", false},
};

const char *rapt_score_name(rapt_score score)
{
    return (unsigned)score < RAPT_SCORES ? scores[score].name : NULL;
}

float rapt__score_scale(rapt_score score, float scale, int key_width)
{
    if (scale != 0) return scale;
    return scores[score].scaled ? (float)(1 / sqrt((double)key_width)) : 1.f;
}
