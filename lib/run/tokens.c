/* tokens.c - rapt_tokens checked against a vocabulary and limits. */
#include "run/run.h"

int rapt__longest(int batch, const int *starts)
{
    int longest = 0;
    for (int b = 0; b < batch; b++)
        if (starts[b + 1] - starts[b] > longest) longest = starts[b + 1] - starts[b];
    return longest;
}

static rapt_status check_starts(const rapt_tokens *t, const char *what, int max_tokens, int longest,
                                rapt_message *why)
{
    if (t->starts[0] != 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s: starts[0] is %d, not 0", what, t->starts[0]);
    for (int b = 0; b < t->batch; b++) {
        if (t->starts[b + 1] < t->starts[b] || t->starts[b + 1] > max_tokens)
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "%s: starts[%d] is %d, after %d and with at most %d tokens", what,
                              b + 1, t->starts[b + 1], t->starts[b], max_tokens);
        if (t->starts[b + 1] - t->starts[b] > longest)
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "%s: sequence %d has %d tokens, there are positions for %d", what, b,
                              t->starts[b + 1] - t->starts[b], longest);
    }
    return RAPT_OK;
}

rapt_status rapt__tokens_check(const rapt_tokens *t, const char *what, int vocab, int sequences,
                               int max_tokens, int longest, rapt_message *why)
{
    if (!t || !t->starts)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s: NULL, or its starts are NULL", what);
    if (t->batch < 0 || t->batch > sequences)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s: batch is %d, the limit is %d", what,
                          t->batch, sequences);
    rapt_status status = check_starts(t, what, max_tokens, longest, why);
    if (status) return status;
    int count = t->starts[t->batch];
    if (count > 0 && !t->ids) return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s: ids is NULL", what);
    for (int i = 0; i < count; i++)
        if (t->ids[i] < 0 || t->ids[i] >= vocab)
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s: token %d is %d, the vocabulary has %d",
                              what, i, (int)t->ids[i], vocab);
    return RAPT_OK;
}
