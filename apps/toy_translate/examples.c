/* examples.c - sentence pairs as token ids: source x1 .. xn end, target begin y1 .. ym end. */
#include "toy.h"
#include <stdlib.h>

static void side_make(struct side *side, const rapt_tokenizer *tokenizer, const rapt_text *texts,
                      size_t count, size_t max_tokens)
{
    size_t tokens = 0;
    for (size_t i = 0; i < count; i++) {
        size_t bound = rapt_tokenizer_bound(tokenizer, texts[i].size);
        tokens += (bound < max_tokens ? bound : max_tokens) + 2;
    }
    side->ids = xcalloc(tokens, sizeof *side->ids);
    side->starts = xcalloc(count + 1, sizeof *side->starts);
}

/* Writes one sentence at `at`, if it has no more than max_tokens; returns its end. */
static size_t encode(const struct side *side, const rapt_tokenizer *tokenizer, rapt_text text,
                     size_t at, size_t max_tokens)
{
    size_t count = 0, bound = rapt_tokenizer_bound(tokenizer, text.size);
    if (bound > max_tokens) bound = max_tokens;
    rapt_tokenizer_encode(tokenizer, text, side->ids + at, NULL, bound, &count, NULL);
    if (count <= max_tokens)
        side->ids[at + count] = rapt_tokenizer_special(tokenizer, RAPT_TOKEN_END);
    return at + count + 1;
}

int examples_make(struct examples *examples, const struct pairs *pairs,
                  const struct vocabulary *vocabulary, int32_t begin, size_t max_tokens)
{
    *examples = (struct examples){0};
    side_make(&examples->source, vocabulary->source, pairs->source, pairs->count, max_tokens);
    side_make(&examples->target, vocabulary->target, pairs->target, pairs->count, max_tokens);
    size_t skipped = 0, first = 0;
    for (size_t i = 0; i < pairs->count; i++) {
        size_t n = examples->count;
        size_t s = examples->source.starts[n], t = examples->target.starts[n];
        size_t s_end =
            encode(&examples->source, vocabulary->source, pairs->source[i], s, max_tokens);
        examples->target.ids[t] = begin;
        size_t t_end =
            encode(&examples->target, vocabulary->target, pairs->target[i], t + 1, max_tokens);
        if (s_end - s > max_tokens || t_end - t > max_tokens) {
            if (skipped++ == 0) first = pairs->line[i];
            continue;
        }
        examples->source.starts[n + 1] = s_end;
        examples->target.starts[n + 1] = t_end;
        examples->count++;
    }
    if (skipped > 0)
        print_message("%s:%zu: a sentence has more than %zu tokens; %zu such %s skipped",
                      pairs->name, first, max_tokens, skipped,
                      skipped == 1 ? "pair is" : "pairs are");
    if (examples->count == 0) return failed("%s: no sentence pair is left", pairs->name);
    return EXIT_OK;
}

size_t examples_length(const struct examples *examples, size_t index)
{
    size_t source = examples->source.starts[index + 1] - examples->source.starts[index];
    size_t target = examples->target.starts[index + 1] - examples->target.starts[index];
    return source > target ? source : target;
}

void examples_free(struct examples *examples)
{
    free(examples->source.ids);
    free(examples->source.starts);
    free(examples->target.ids);
    free(examples->target.starts);
    *examples = (struct examples){0};
}
