/* operations_glossary.h - the operations on glossaries. */
#ifndef RAPT_TESTS_PROCESS_OPERATIONS_GLOSSARY_H
#define RAPT_TESTS_PROCESS_OPERATIONS_GLOSSARY_H

#include "process/operations_translator.h"

static const char scene_glossary[] = "cat|cats\tbird\nthe dog\ta \\|dog\texact\n";

static rapt_status do_glossary(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_glossary *made = scene_untouched;
    const rapt_text text = {scene_glossary, sizeof scene_glossary - 1};
    rapt_status status = rapt_glossary_create(&made, text, s->allocator, why);
    if (status) {
        s->changed |= made != scene_untouched;
        return status;
    }
    size_t count = rapt_glossary_count(made);
    add(h, &count, sizeof count);
    rapt_glossary_free(made);
    return RAPT_OK;
}

static rapt_status do_translate_terms(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_glossary *made = NULL;
    const rapt_text texts[] = {{"the cat", 7}, {"", 0}, {"a bird sleeps", 13}};
    const rapt_text text = {scene_glossary, sizeof scene_glossary - 1};
    uint64_t before = *h;
    rapt_status status = rapt_glossary_create(&made, text, s->allocator, why);
    if (status) return status;
    const rapt_translate_call call = {.size = sizeof call, .glossary = made};
    status = rapt_translate_many_with(s->translator, texts, 3, &call, scene_take, h, why);
    if (status) s->changed |= *h != before;
    rapt_glossary_free(made);
    return status;
}

#endif
