/* score.c - the scores, one row each. A score is its row here and a file that says how queries
   and keys are prepared; dot products need no file. */
#include "attention/score/score.h"

#include <math.h>

static int of_keys(const rapt_attention *a)
{
    return a->key_width;
}

static int of_queries(const rapt_attention *a)
{
    return rapt__query_width(a);
}

static int of_hidden(const rapt_attention *a)
{
    return a->learned.hidden;
}

static const struct score scores[RAPT_SCORE_COUNT] = {
    [RAPT_SCORE_SCALED_DOT] = {.name = "scaled-dot", .scaled = true, .width = of_keys},
    [RAPT_SCORE_DOT] = {.name = "dot", .width = of_keys},
    [RAPT_SCORE_GENERAL] = {.name = "general",
                            .width = of_keys,
                            .queries = {.weights = rapt__general_queries}},
    [RAPT_SCORE_COSINE] = {.name = "cosine",
                           .scaleless = true,
                           .width = of_keys,
                           .queries = {.rows = rapt__cosine_queries,
                                       .rows_back = rapt__cosine_queries_back,
                                       .learned = rapt__cosine_inverse_temperature},
                           .keys = {.rows = rapt__cosine_keys,
                                    .rows_back = rapt__cosine_keys_back}},
    [RAPT_SCORE_LOCATION] = {.name = "location",
                             .keyless = true,
                             .width = of_queries,
                             .keys = {.rows = rapt__location_keys,
                                      .learned = rapt__location_position}},
    [RAPT_SCORE_ADDITIVE] = {.name = "additive",
                             .additive = true,
                             .width = of_hidden,
                             .queries = {.weights = rapt__additive_queries},
                             .keys = {.weights = rapt__additive_keys}},
    [RAPT_SCORE_LOCATION_AWARE] = {.name = "location-aware",
                                   .additive = true,
                                   .recurrent = true,
                                   .width = of_hidden,
                                   .queries = {.weights = rapt__additive_queries},
                                   .keys = {.weights = rapt__additive_keys}},
};

const char *rapt_score_name(rapt_score score)
{
    return (unsigned)score < RAPT_SCORE_COUNT ? scores[score].name : NULL;
}

const struct score_choice rapt__all_rows = {-1, -1};

const struct score *rapt__score(rapt_score score)
{
    return scores + score;
}

bool rapt__score_recurrent(const rapt_attention *a)
{
    return scores[a->score].recurrent;
}

float rapt__score_scale(rapt_score score, float scale, int key_width)
{
    if (scores[score].scaleless) return 1;
    if (scale != 0) return scale;
    return scores[score].scaled ? (float)(1 / sqrt((double)key_width)) : 1;
}
