/* guided.c - guided alignment (Chen et al. 2016, as in Marian): takes the word alignment of the
   next batch, gives it to the backward pass as a target for cross-attention, and sums the loss of
   the attention weights. */
#include "train/train.h"

#include <string.h>

rapt_status rapt_train_align(rapt_trainer *t, const rapt_alignment *alignment, rapt_message *why)
{
    if (!t) return rapt__fail(why, RAPT_BAD_ARGUMENT, "trainer is NULL");
    if (alignment && !(t->options.guided_alignment > 0))
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "alignment: it has no effect while options.guided_alignment is 0");
    if (alignment && !alignment->starts)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "alignment.starts is NULL");
    t->alignment = alignment ? *alignment : (rapt_alignment){NULL, NULL};
    return RAPT_OK;
}

static rapt_status check_alignment_starts(const rapt_alignment *a, int rows, rapt_message *why)
{
    if (a->starts[0] != 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "alignment: starts[0] is %d, not 0",
                          a->starts[0]);
    for (int r = 0; r < rows; r++)
        if (a->starts[r + 1] < a->starts[r])
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "alignment: starts[%d] is %d, less than starts[%d], which is %d",
                              r + 1, a->starts[r + 1], r, a->starts[r]);
    return RAPT_OK;
}

/* Checks the alignment of label rows first .. end - 1 to a source of `tokens` tokens. All starts
   have already been checked. */
static rapt_status check_alignment_rows(const rapt_alignment *a, int first, int end, int tokens,
                                        rapt_message *why)
{
    for (int r = first; r < end; r++) {
        if (a->starts[r + 1] > a->starts[r] && !a->sources)
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "alignment.sources is NULL");
        for (int i = a->starts[r]; i < a->starts[r + 1]; i++)
            if (a->sources[i] < 0 || a->sources[i] >= tokens)
                return rapt__fail(why, RAPT_BAD_ARGUMENT,
                                  "alignment: sources[%d] is %d; the source has %d tokens", i,
                                  a->sources[i], tokens);
    }
    return RAPT_OK;
}

rapt_status rapt__alignment_check(const rapt_trainer *t, const rapt_tokens *source,
                                  const rapt_tokens *target, rapt_message *why)
{
    const rapt_alignment *a = &t->alignment;
    int row = 0, more = t->options.frame ? 1 : -1; /* number of label rows of a target minus its
                                                      number of tokens */
    if (!a->starts) return RAPT_OK;
    rapt_status status =
        check_alignment_starts(a, target->starts[target->batch] + more * target->batch, why);
    for (int b = 0; !status && b < target->batch; b++) {
        int tokens = target->starts[b + 1] - target->starts[b];
        int end = row + tokens + more;
        status = check_alignment_rows(a, row, end, source->starts[b + 1] - source->starts[b], why);
        row = end;
    }
    return status;
}

const struct guide *rapt__guide_of(rapt_trainer *t, int rows)
{
    if (!t->alignment.starts) return NULL;
    memset(t->guided, 0, (size_t)rows * sizeof *t->guided);
    t->guide = (struct guide){t->options.guided_alignment, t->alignment.starts,
                              t->alignment.sources, t->guided};
    return &t->guide;
}

void rapt__guide_end(rapt_trainer *t, int rows)
{
    t->alignment_loss = 0;
    for (int r = 0; t->alignment.starts && r < rows; r++) t->alignment_loss += t->guided[r];
    t->alignment = (rapt_alignment){NULL, NULL};
}
