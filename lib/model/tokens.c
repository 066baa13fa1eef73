/* tokens.c - checks rapt_tokens against a vocabulary and limits. */
#include "model/model.h"

static rapt_status check_token_starts(const rapt_tokens *t, const struct token_limits *l,
                                      rapt_message *why)
{
    if (t->starts[0] != 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s: starts[0] is %d, not 0", l->what,
                          t->starts[0]);
    for (int b = 0; b < t->batch; b++)
        if (t->starts[b + 1] < t->starts[b])
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "%s: starts[%d] is %d, less than starts[%d], which is %d", l->what,
                              b + 1, t->starts[b + 1], b, t->starts[b]);
    long long count = t->starts[t->batch] + (long long)l->extra * t->batch;
    const char *note = l->begin_and_end ? " (begin and end count)" : "";
    if (count > l->tokens)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "the batch has %lld %s tokens%s, but limits.%s_tokens is %d", count,
                          l->what, note, l->what, l->tokens);
    for (int b = 0; b < t->batch; b++)
        if (t->starts[b + 1] - t->starts[b] > l->length - l->extra)
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "%s: sequence %d has %d tokens%s, but the maximum is %d", l->what, b,
                              t->starts[b + 1] - t->starts[b] + l->extra, note, l->length);
    return RAPT_OK;
}

rapt_status rapt__tokens_check(const rapt_tokens *t, const struct token_limits *l,
                               rapt_message *why)
{
    if (!t || !t->starts)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s%s is NULL", l->what, t ? ".starts" : "");
    if (t->batch < 0 || t->batch > l->batch)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s: batch is %d, but limits.batch is %d",
                          l->what, t->batch, l->batch);
    rapt_status status = check_token_starts(t, l, why);
    if (status) return status;
    if (l->vectors ? t->ids != NULL : t->vectors != NULL)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s: it has %s, but must have %s", l->what,
                          l->vectors ? "ids" : "vectors", l->vectors ? "vectors" : "ids");
    int count = t->starts[t->batch];
    if (count > 0 && !t->ids && !t->vectors)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s.%s is NULL", l->what,
                          l->vectors ? "vectors" : "ids");
    for (int i = 0; i < count && !l->vectors; i++)
        if (t->ids[i] < 0 || t->ids[i] >= l->vocab)
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "%s: ids[%d] is %d; the vocabulary has %d tokens", l->what, i,
                              (int)t->ids[i], l->vocab);
    return RAPT_OK;
}
