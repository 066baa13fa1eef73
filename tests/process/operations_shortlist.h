/* operations_shortlist.h - the operations on lexical shortlists. */
#ifndef RAPT_TESTS_PROCESS_OPERATIONS_SHORTLIST_H
#define RAPT_TESTS_PROCESS_OPERATIONS_SHORTLIST_H

#include "process/operations_text.h"

/* Creates, queries, writes and reads a shortlist. */
static rapt_status do_shortlist(struct scene *s, uint64_t *h, rapt_message *why)
{
    static const rapt_lexical_pair pairs[] = {{5, 6, 0.5f}, {5, 7, 0.25f}, {9, 6, 1}};
    static const int32_t source[] = {9, 5};
    static const char text[] = "a b 0.5\ns e 1\n";
    rapt_shortlist *made = scene_untouched, *read = NULL, *other = NULL;
    int count = 0;
    rapt_status status = rapt_shortlist_create(&made, pairs, COUNT(pairs), 4, 2, s->tokenizer,
                                               s->tokenizer, s->allocator, why);
    if (status) {
        s->changed |= made != scene_untouched;
        return status;
    }
    status = rapt_shortlist_tokens(made, source, 2, s->ids, COUNT(s->ids), &count, why);
    if (!status) add(h, s->ids, (size_t)count * sizeof *s->ids);
    if (!status) status = rapt_shortlist_write(made, s->out_path, why);
    if (!status)
        status =
            rapt_shortlist_load(&read, s->out_path, s->tokenizer, s->tokenizer, s->allocator, why);
    if (!status)
        status = rapt_shortlist_load_memory(&other, text, sizeof text - 1, s->tokenizer,
                                            s->tokenizer, s->allocator, why);
    int vocab = rapt_shortlist_source_vocab(made) + rapt_shortlist_target_vocab(made);
    add(h, &vocab, sizeof vocab);
    rapt_shortlist_free(made);
    rapt_shortlist_free(read);
    rapt_shortlist_free(other);
    unlink(s->out_path);
    return status;
}

static rapt_status do_translate_listed(struct scene *s, uint64_t *h, rapt_message *why)
{
    static const char text[] = "a b 0.5\ns e 1\n";
    rapt_shortlist *list = NULL;
    char out[64] = "";
    size_t size = 0;
    rapt_status status = rapt_shortlist_load_memory(&list, text, sizeof text - 1, s->tokenizer,
                                                    s->tokenizer, s->allocator, why);
    if (!status) status = rapt_translator_set_shortlist(s->translator, list, why);
    if (!status) status = rapt_translate(s->translator, "the cat", out, sizeof out, &size, why);
    add(h, out, size);
    rapt_translator_set_shortlist(s->translator, NULL, NULL);
    if (!status) status = rapt_shortlist_write(list, s->out_path, why);
    if (!status) status = rapt_translator_load_shortlist(s->translator, s->out_path, why);
    rapt_translator_set_shortlist(s->translator, NULL, NULL);
    rapt_shortlist_free(list);
    unlink(s->out_path);
    return status;
}

#endif
