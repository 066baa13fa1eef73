/* languages.c - the languages of a translator between many. The source has a token that names its
   language, and the target begins with one, which is given. */
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
    o->source_language = o->target_language = NULL; /* the strings belong to the caller */
    return status;
}

/* Returns whether the source begins with its language. */
static bool leads(const rapt_translator *t)
{
    return t->source_language >= 0 && !t->source_language_last;
}

size_t rapt__source_front(const rapt_translator *t)
{
    return leads(t);
}

size_t rapt__source_more(const rapt_translator *t)
{
    return (size_t)(t->source_end >= 0) + (size_t)(t->source_language >= 0);
}

size_t rapt__source_frame(const rapt_translator *t, int32_t *ids, size_t count)
{
    if (leads(t)) ids[0] = t->source_language, count++;
    if (t->source_end >= 0) ids[count++] = t->source_end;
    if (t->source_language >= 0 && !leads(t)) ids[count++] = t->source_language;
    return count;
}

rapt_status rapt__languages_given(const rapt_translator *t, rapt_message *why)
{
    const bool both = t->source_language >= 0 && t->target_language >= 0;
    if (both || !t->multilingual) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT,
                      "%s is not set, but the model translates between many languages",
                      t->source_language < 0 ? "source_language" : "target_language");
}
