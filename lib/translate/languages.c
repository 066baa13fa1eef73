/* languages.c - determines the tokens with which sources and targets begin. In multilingual models,
   these tokens name the languages. */
#include "translate/translate.h"

#include <stdio.h>
#include <string.h>

/* Sets *id to the token of a language that the caller has named, or to -1 if there is none. */
static rapt_status find_language(const rapt_tokenizer *t, const char *option, const char *language,
                                 int32_t *id, rapt_message *why)
{
    char near[300];
    *id = -1;
    if (!language) return RAPT_OK;
    if (!rapt__language_any(t))
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "%s is %.60s, but the model has no tokens of languages", option,
                          language);
    *id = rapt__language_find(t, language);
    if (*id >= 0) return RAPT_OK;
    rapt__language_near(t, language, near, sizeof near);
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is %.60s, which the model does not have%s%s",
                      option, language, *near ? "; similar: " : "", near);
}

/* Sets t->source_first, t->target_first and, if the decoder starts with the target's language,
   t->begin. If the options name no target language, the token in the metadata key FIRST_KEY takes
   its place. Ignores unusable metadata. */
static void find_first(rapt_translator *t)
{
    int begins = 0, starts = 0;
    const int32_t first = rapt__read_token(t->model, FIRST_KEY);
    rapt__read_count(t->model, BEGIN_KEY, 1, &begins);
    t->source_first = begins ? rapt_tokenizer_special(t->source, RAPT_TOKEN_BEGIN) : -1;
    if (t->source_language >= 0) t->source_first = t->source_language;
    if (t->source_language >= 0 && t->source_language_last) t->source_first = -1;
    if (t->target_language < 0 && first != t->end) t->target_language = first;
    rapt__read_count(t->model, LANGUAGE_START_KEY, 1, &starts);
    t->target_first = starts ? -1 : t->target_language;
    if (starts && t->target_language >= 0) t->begin = t->target_language;
}

rapt_status rapt__languages_find(rapt_translator *t, rapt_message *why)
{
    rapt_translator_options *o = &t->options;
    int last = 0;
    rapt_status status =
        find_language(t->source, "source_language", o->source_language, &t->source_language, why);
    if (!status)
        status = find_language(t->target, "target_language", o->target_language,
                               &t->target_language, why);
    t->multilingual = rapt__language_any(t->target);
    rapt__read_count(t->model, LANGUAGE_LAST_KEY, 1, &last);
    t->source_language_last = last;
    find_first(t);
    o->source_language = o->target_language = NULL; /* the strings belong to the caller */
    return status;
}

/* Returns the token that follows the end of a source, which is its language, or -1. */
static int32_t source_last(const rapt_translator *t)
{
    return t->source_language_last ? t->source_language : -1;
}

size_t rapt__source_front(const rapt_translator *t)
{
    return t->source_first >= 0;
}

size_t rapt__source_more(const rapt_translator *t)
{
    return rapt__source_front(t) + (size_t)(t->source_end >= 0) + (size_t)(source_last(t) >= 0);
}

size_t rapt__source_frame(const rapt_translator *t, int32_t *ids, size_t count)
{
    if (t->source_first >= 0) ids[0] = t->source_first, count++;
    if (t->source_end >= 0) ids[count++] = t->source_end;
    if (source_last(t) >= 0) ids[count++] = source_last(t);
    return count;
}

int32_t rapt_translator_frame(const rapt_translator *t, rapt_frame which)
{
    if (!t) return -1;
    const int32_t tokens[] = {
        [RAPT_FRAME_SOURCE_FIRST] = t->source_first, [RAPT_FRAME_SOURCE_END] = t->source_end,
        [RAPT_FRAME_SOURCE_LAST] = source_last(t),   [RAPT_FRAME_TARGET_BEGIN] = t->begin,
        [RAPT_FRAME_TARGET_FIRST] = t->target_first, [RAPT_FRAME_TARGET_END] = t->end};
    return (unsigned)which < sizeof tokens / sizeof *tokens ? tokens[which] : -1;
}

rapt_status rapt__languages_given(const rapt_translator *t, rapt_message *why)
{
    const bool both = t->source_language >= 0 && t->target_language >= 0;
    if (both || !t->multilingual) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT,
                      "%s is not set, but the model translates between many languages",
                      t->source_language < 0 ? "source_language" : "target_language");
}
