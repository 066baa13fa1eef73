/* encode.c - the pair that a reader read last as token ids. A source is x1 .. xn
   end, without the end for some models of others, a target is begin y1 .. ym end. */
#include "index.h"
#include <stdlib.h>

/* Encodes one side, with the end token if `ends` and, unless it is -1, `begin`. Tokens beyond
   max_tokens are counted but not written. */
static void encode_side(struct ids *to, const rapt_tokenizer *tokenizer, rapt_text text,
                        int32_t begin, bool ends, size_t max_tokens)
{
    size_t bound = rapt_tokenizer_bound(tokenizer, text.size), first = begin >= 0;
    if (bound > max_tokens) bound = max_tokens;
    if (to->capacity < bound + 2) {
        to->ids = xreallocarray(to->ids, bound + 2, sizeof *to->ids);
        to->ends = xreallocarray(to->ends, to->capacity = bound + 2, sizeof *to->ends);
    }
    if (begin >= 0) to->ids[0] = begin;
    rapt_tokenizer_encode(tokenizer, text, to->ids + first, to->ends, bound, &to->count, NULL);
    to->count += first;
    if (ends && to->count <= max_tokens + first)
        to->ids[to->count] = rapt_tokenizer_special(tokenizer, RAPT_TOKEN_END);
    to->count += ends;
}

bool encode_texts(struct encoded *pair, const struct examples *examples, rapt_text source,
                  rapt_text target)
{
    size_t max = examples->max_tokens;
    encode_side(&pair->source, examples->vocabulary->source, source, -1, !examples->no_source_end,
                max);
    encode_side(&pair->target, examples->vocabulary->target, target, examples->begin, true, max);
    return pair->source.count <= max && pair->target.count <= max;
}

bool encode_pair(struct encoded *pair, const struct examples *examples,
                 const struct pair_reader *reader)
{
    return encode_texts(pair, examples, reader->source, reader->target);
}

void encoded_free(struct encoded *pair)
{
    free(pair->source.ids);
    free(pair->source.ends);
    free(pair->target.ids);
    free(pair->target.ends);
    *pair = (struct encoded){0};
}
