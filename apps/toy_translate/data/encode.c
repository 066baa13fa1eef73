/* encode.c - encodes pairs as token ids with special tokens around them: a source is x1 .. xn end,
   a target is begin y1 .. ym end, and some models add languages. */
#include "index.h"
#include <stdlib.h>
#include <string.h>

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
