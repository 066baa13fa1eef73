/* examples.c - access to the pairs of a part as token ids. The places and lengths of all pairs are
   in memory, and so are the ids of the first pairs, as many as may be held. The other pairs are
   read from their files when they are needed, and their digests are compared with those of the text
   that was read first. */
#include "data.h"
#include <stdlib.h>
#include <string.h>

size_t examples_index_bytes(const struct part *part)
{
    size_t each = (part->inputs->two ? 2 : 1) * sizeof(uint64_t) + 3 * sizeof(uint32_t);
    return part->count * each;
}

size_t examples_length(const struct examples *examples, size_t index)
{
    uint32_t source = examples->source[index], target = examples->target[index];
    return source > target ? source : target;
}

static int read_one(struct examples *examples, size_t index, int32_t *source, int32_t *target)
{
    struct encoded pair = {0};
    struct position position = {{examples->where[0][index]}, 0};
    size_t counts[2];
    bool same;
    examples_clean_counts(examples, index, counts);
    if (examples->where[1] != NULL) position.at[1] = examples->where[1][index];
    int code = reader_again(&examples->reader, position, &same);
    if (code != EXIT_OK) return code;
    same = same && reader_digest(&examples->reader) == examples->digests[index];
    same = same && encode_pair(&pair, examples, &examples->reader) &&
           pair.source.count == counts[0] && pair.target.count == counts[1];
    if (same) {
        memcpy(source, pair.source.ids, counts[0] * sizeof *source);
        memcpy(target, pair.target.ids, counts[1] * sizeof *target);
    }
    encoded_free(&pair);
    if (same) return EXIT_OK;
    return failed("%s has changed since training began: different pairs at byte %llu",
                  examples->reader.inputs->side[0].name, (unsigned long long)position.at[0]);
}

int examples_get_clean(struct examples *examples, size_t index, int32_t *source, int32_t *target)
{
    size_t counts[2];
    if (index >= examples->held) return read_one(examples, index, source, target);
    const int32_t *ids = examples->ids + examples->where[0][index];
    examples_clean_counts(examples, index, counts);
    memcpy(source, ids, counts[0] * sizeof *ids);
    memcpy(target, ids + counts[0], counts[1] * sizeof *ids);
    return EXIT_OK;
}

int examples_get(struct examples *examples, size_t index, int32_t *source, int32_t *target)
{
    return examples_noisy(examples, index) ? augmented_get(examples, index, source, target)
                                           : examples_get_clean(examples, index, source, target);
}

void examples_free(struct examples *examples)
{
    reader_close(&examples->reader);
    free(examples->where[0]);
    free(examples->where[1]);
    free(examples->source);
    free(examples->target);
    free(examples->digests);
    free(examples->ids);
    augmented_free(examples->augmented);
    *examples = (struct examples){0};
}

/* ---- pairs as token ids with special tokens around them: a source is x1 .. xn end, a target is
   begin y1 .. ym end, and some models add language tokens ---- */

size_t frame_count(const struct frame *frame)
{
    return frame->before_count + frame->after_count;
}

static void add_token(int32_t tokens[2], size_t *count, int32_t token)
{
    if (token >= 0) tokens[(*count)++] = token;
}

static void take_frames(struct frames *f, const rapt_translator *t)
{
    struct frame *source = &f->source, *target = &f->target;
    *f = (struct frames){{.before_count = 0}, {.before_count = 0}};
    add_token(source->before, &source->before_count,
              rapt_translator_frame(t, RAPT_FRAME_SOURCE_FIRST));
    add_token(source->after, &source->after_count, rapt_translator_frame(t, RAPT_FRAME_SOURCE_END));
    add_token(source->after, &source->after_count,
              rapt_translator_frame(t, RAPT_FRAME_SOURCE_LAST));
    add_token(target->before, &target->before_count,
              rapt_translator_frame(t, RAPT_FRAME_TARGET_BEGIN));
    add_token(target->before, &target->before_count,
              rapt_translator_frame(t, RAPT_FRAME_TARGET_FIRST));
    add_token(target->after, &target->after_count, rapt_translator_frame(t, RAPT_FRAME_TARGET_END));
}

int frames_find(struct frames *frames, const rapt_model *model, const struct vocabulary *vocabulary,
                const char *source_language, const char *target_language)
{
    const rapt_translator_options options = {.size = sizeof options,
                                             .beams = 1,
                                             .batch = 1,
                                             .batch_tokens = 1,
                                             .threads = 1,
                                             .source_language = source_language,
                                             .target_language = target_language};
    rapt_translator *translator = NULL;
    rapt_message why = {""};
    if (rapt_translator_create(&translator, model, vocabulary->source, vocabulary->target, &options,
                               NULL, &why) != RAPT_OK)
        return failed("%s", why.text);
    take_frames(frames, translator);
    rapt_translator_free(translator);
    return EXIT_OK;
}

/* Encodes one side. Tokens beyond max_tokens are counted but not written. */
static void encode_side(struct ids *to, const rapt_tokenizer *tokenizer, rapt_text text,
                        const struct frame *frame, size_t max_tokens)
{
    size_t bound = rapt_tokenizer_bound(tokenizer, text.size), room = frame_count(frame);
    if (bound > max_tokens) bound = max_tokens;
    if (to->capacity < bound + room) {
        to->capacity = bound + room;
        to->ids = xreallocarray(to->ids, to->capacity, sizeof *to->ids);
        to->ends = xreallocarray(to->ends, to->capacity, sizeof *to->ends);
    }
    memcpy(to->ids, frame->before, frame->before_count * sizeof *to->ids);
    rapt_tokenizer_encode(tokenizer, text, to->ids + frame->before_count, to->ends, bound,
                          &to->count, NULL);
    if (to->count <= max_tokens)
        memcpy(to->ids + frame->before_count + to->count, frame->after,
               frame->after_count * sizeof *to->ids);
    to->count += room;
}

bool encode_texts(struct encoded *pair, const struct examples *examples, rapt_text source,
                  rapt_text target)
{
    size_t max = examples->max_tokens;
    const struct frames *f = &examples->frames;
    encode_side(&pair->source, examples->vocabulary->source, source, &f->source, max);
    encode_side(&pair->target, examples->vocabulary->target, target, &f->target, max);
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
