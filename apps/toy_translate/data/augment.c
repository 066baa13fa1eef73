/* augment.c - examples that get noise. Each epoch has different noisy examples. The text of such an
   example is decoded from its tokens, gets noise, and is encoded again: once at the beginning of
   the epoch, to determine its length, and again when its batch is read, so that no text is held in
   memory. An example whose text has unknown tokens, or would become too long, stays as it is. */
#include "data.h"
#include <stdlib.h>
#include <string.h>

struct augmented {
    struct noise noise;
    uint64_t seed;
    int epoch;                           /* 0 if none has begun; no example is then noisy */
    const struct alignments *alignments; /* or NULL */
    uint32_t *counts[2];                 /* [examples] tokens of the examples without noise */
    int32_t *ids[2];                     /* [max_tokens] the tokens of one example */
    struct noisy_pair pair, next;
    struct encoded encoded;
};

void examples_augment(struct examples *examples, const struct noise *noise, uint64_t seed,
                      const struct alignments *alignments)
{
    struct augmented *a = xcalloc(1, sizeof *a);
    uint32_t *const counts[2] = {examples->source, examples->target};
    *a = (struct augmented){.noise = *noise, .seed = seed, .alignments = alignments};
    for (int side = 0; side < 2; side++) {
        a->counts[side] = xcalloc(examples->count, sizeof *a->counts[side]);
        memcpy(a->counts[side], counts[side], examples->count * sizeof *a->counts[side]);
        a->ids[side] = xcalloc(examples->max_tokens + 1, sizeof *a->ids[side]);
    }
    examples->augmented = a;
}

void augmented_free(struct augmented *a)
{
    if (a == NULL) return;
    for (int side = 0; side < 2; side++) {
        free(a->counts[side]);
        free(a->ids[side]);
    }
    noisy_free(&a->pair);
    noisy_free(&a->next);
    encoded_free(&a->encoded);
    free(a);
}

size_t augmented_bytes(size_t examples)
{
    return examples * 2 * sizeof(uint32_t);
}

void examples_clean_counts(const struct examples *examples, size_t index, size_t counts[2])
{
    const struct augmented *a = examples->augmented;
    counts[0] = a != NULL ? a->counts[0][index] : examples->source[index];
    counts[1] = a != NULL ? a->counts[1][index] : examples->target[index];
}

/* Draws the noise of an example in this epoch. */
static unsigned draw(const struct augmented *a, size_t index, struct random *random)
{
    struct random of_epoch = random_from(a->seed, (uint64_t)a->epoch);
    *random = random_from(random_bits(&of_epoch), index);
    return noise_draw(&a->noise, random);
}

bool examples_noisy(const struct examples *examples, size_t index)
{
    struct random random;
    const struct augmented *a = examples->augmented;
    return a != NULL && a->epoch > 0 && draw(a, index, &random) != 0;
}

/* ---- the text of an example ---- */

/* Decodes tokens into a side of a pair. Returns false if one of them is unknown. */
static bool decode_side(struct noisy_pair *pair, int side, const rapt_tokenizer *tokenizer,
                        const int32_t *ids, size_t count)
{
    const int32_t unknown = rapt_tokenizer_special(tokenizer, RAPT_TOKEN_UNKNOWN);
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        if (ids[i] == unknown) return false;
    rapt_tokenizer_decode(tokenizer, ids, count, NULL, 0, &size, NULL);
    pair->size[side] = 0;
    char *bytes = noisy_reserve(pair, side, size);
    if (rapt_tokenizer_decode(tokenizer, ids, count, bytes, size, &size, NULL) != RAPT_OK)
        return false;
    pair->size[side] = size;
    return true;
}

/* Finds the text of an example without noise. *known becomes false if it has unknown tokens. */
static int decode(struct examples *examples, size_t index, struct noisy_pair *pair, bool *known)
{
    struct augmented *a = examples->augmented;
    const struct frame *source = &examples->frames.source, *target = &examples->frames.target;
    size_t counts[2];
    int code = examples_get_clean(examples, index, a->ids[0], a->ids[1]);
    examples_clean_counts(examples, index, counts);
    *known = code == EXIT_OK &&
             decode_side(pair, 0, examples->vocabulary->source, a->ids[0] + source->before_count,
                         counts[0] - frame_count(source)) &&
             decode_side(pair, 1, examples->vocabulary->target, a->ids[1] + target->before_count,
                         counts[1] - frame_count(target));
    return code;
}

/* ---- the words that tags enclose ---- */

/* Writes, for each token, the number of the last word of which it has bytes. */
static void number_words(rapt_text text, const struct ids *ids, size_t count, size_t *numbers)
{
    size_t word = 0, at = 0;
    bool within = false;
    for (size_t i = 0; i < count; i++) {
        numbers[i] = word;
        for (; at < ids->ends[i]; at++) {
            const bool space = text.bytes[at] == ' ';
            word += space && within;
            within = !space;
            if (within) numbers[i] = word;
        }
    }
}

/* Returns true if a source word and a target word are linked only to each other. */
static bool is_couple(const struct token_link *links, size_t count, size_t *const numbers[2],
                      size_t source, size_t target)
{
    for (size_t i = 0; i < count; i++)
        if ((numbers[0][links[i].source] == source) != (numbers[1][links[i].target] == target))
            return false;
    return true;
}

/* Chooses a word and its translation, which must be linked only to each other: the first such words
   from a random link on. Returns false if the pair has none. */
static bool choose_words(struct examples *examples, size_t index, struct random *random,
                         size_t words[2])
{
    struct augmented *a = examples->augmented;
    size_t count = 0, counts[2], *numbers[2];
    bool found = false;
    const struct token_link *links = alignments_links(a->alignments, index, &count);
    encode_texts(&a->encoded, examples, noisy_text(&a->pair, 0), noisy_text(&a->pair, 1));
    examples_clean_counts(examples, index, counts);
    if (count == 0 || a->encoded.source.count != counts[0] || a->encoded.target.count != counts[1])
        return false;
    numbers[0] = xcalloc(counts[0], sizeof *numbers[0]);
    numbers[1] = xcalloc(counts[1], sizeof *numbers[1]);
    number_words(noisy_text(&a->pair, 0), &a->encoded.source, counts[0] - 1, numbers[0]);
    number_words(noisy_text(&a->pair, 1), &a->encoded.target, counts[1] - 2, numbers[1]);
    const size_t first = (size_t)random_below(random, (int)count);
    for (size_t i = 0; i < count && !found; i++) {
        const struct token_link *link = &links[(first + i) % count];
        words[0] = numbers[0][link->source];
        words[1] = numbers[1][link->target];
        found = is_couple(links, count, numbers, words[0], words[1]);
    }
    free(numbers[0]);
    free(numbers[1]);
    return found;
}

/* ---- examples with noise ---- */

/* Adds an example's noise to its text in a->pair. */
static int add_noise(struct examples *examples, size_t index, unsigned kinds, struct random *random)
{
    struct augmented *a = examples->augmented;
    size_t words[2];
    const bool tags = kinds & 1u << NOISE_TAGS, linked = a->alignments != NULL;
    bool known = false;
    int code = EXIT_OK;
    if (tags && linked && !choose_words(examples, index, random, words))
        kinds &= ~(1u << NOISE_TAGS);
    if (kinds & 1u << NOISE_CONCAT)
        code = decode(examples, (index + 1) % examples->count, &a->next, &known);
    if (known) noisy_append(&a->pair, noisy_text(&a->next, 0), noisy_text(&a->next, 1));
    noise_add(&a->pair, kinds, linked ? words : NULL, random);
    return code;
}

/* Encodes an example with its noise in a->encoded. *noisy becomes false if the example stays as it
   is. */
static int make(struct examples *examples, size_t index, bool *noisy)
{
    struct augmented *a = examples->augmented;
    struct random random;
    const unsigned kinds = draw(a, index, &random);
    *noisy = false;
    if (kinds == 0) return EXIT_OK;
    int code = decode(examples, index, &a->pair, noisy);
    if (code != EXIT_OK || !*noisy) return code;
    code = add_noise(examples, index, kinds, &random);
    if (code != EXIT_OK) return code;
    *noisy =
        encode_texts(&a->encoded, examples, noisy_text(&a->pair, 0), noisy_text(&a->pair, 1)) &&
        a->encoded.source.count > 1 && a->encoded.target.count > 2;
    return EXIT_OK;
}

int augmented_get(struct examples *examples, size_t index, int32_t *source, int32_t *target)
{
    const struct encoded *e = &examples->augmented->encoded;
    bool noisy;
    int code = make(examples, index, &noisy);
    if (code != EXIT_OK) return code;
    if (!noisy) return examples_get_clean(examples, index, source, target);
    memcpy(source, e->source.ids, e->source.count * sizeof *source);
    memcpy(target, e->target.ids, e->target.count * sizeof *target);
    return EXIT_OK;
}

int examples_epoch(struct examples *examples, int epoch)
{
    struct augmented *a = examples->augmented;
    int code = EXIT_OK;
    if (a == NULL) return EXIT_OK;
    a->epoch = epoch;
    for (size_t i = 0; i < examples->count && code == EXIT_OK; i++) {
        bool noisy;
        code = make(examples, i, &noisy);
        examples->source[i] = noisy ? (uint32_t)a->encoded.source.count : a->counts[0][i];
        examples->target[i] = noisy ? (uint32_t)a->encoded.target.count : a->counts[1][i];
    }
    return code;
}
