/* config.c - the names of the choices, and which of them can be combined. */
#include "recurrent.h"

const char *const pass_names[PASSES] = {"each", "first", "init", "mlp"};
const char *const encoder_names[ENCODERS] = {"none", "once", "again"};
const char *const reads_names[READINGS] = {"state", "past"};
const char *const query_names[QUERIES] = {"before", "present"};

/* Returns true for scores that multiply query and key without a projection. */
static bool needs_equal_widths(rapt_score score)
{
    return score == RAPT_SCORE_DOT || score == RAPT_SCORE_SCALED_DOT || score == RAPT_SCORE_COSINE;
}

const char *recurrent_refusal(const struct recurrent_config *c)
{
    const bool initial = c->pass == PASS_INITIAL || c->pass == PASS_NETWORK;
    const int keys = c->encoder == ENCODER_NONE ? c->embed : c->directions * c->encoder_hidden;
    if (c->batch > MAX_BATCH) return "a batch has at most 64 sentences";
    if (c->directions != 1 && c->directions != 2) return "an encoder has one or two directions";
    if (c->encoder == ENCODER_NONE && !c->attends)
        return "without an encoder the decoder needs attention";
    if (c->encoder != ENCODER_ONCE && initial)
        return "an initial state needs an encoding before the first step: encoder once";
    if (c->reads == READS_PAST && (c->encoder != ENCODER_ONCE || c->directions != 1))
        return "what reads its past is an encoder in one direction, once";
    if (c->one_cell &&
        (c->encoder == ENCODER_NONE || c->directions != 1 || c->encoder_hidden != c->hidden))
        return "one cell for both needs an encoder in one direction, as wide as the decoder";
    if (c->attends && c->pass == PASS_FIRST)
        return "attention has a context at each step, not the first";
    if (c->pass == PASS_INITIAL && keys != c->hidden)
        return "the encoding is the initial state, so both must have the same width";
    if (c->attends && !c->projected && needs_equal_widths(c->score) && keys != c->hidden)
        return "a dot product needs queries and keys of the same width";
    return NULL;
}
