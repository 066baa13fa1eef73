/* attention.c - a sentence's translation and its cross-attention weights by word: decodes the
   finished translation again and reads the weights. */
#include "toy.h"
#include <stdlib.h>
#include <string.h>

struct found {
    const rapt_translator *translator;
    int32_t *source, *target; /* source with the end, target with the begin */
    int source_count, target_count;
    char *text;
    rapt_status status;
};

static int32_t *copy(const int32_t *ids, int count, int32_t first, int32_t last)
{
    int32_t *all = xcalloc((size_t)count + 2, sizeof *all);
    all[0] = first;
    if (count > 0) memcpy(all + 1, ids, (size_t)count * sizeof *all);
    all[count + 1] = last;
    return all;
}

static int callback(void *user, const rapt_translation *t)
{
    struct found *found = user;
    const rapt_tokenizer *target = rapt_translator_target(found->translator);
    int32_t begin = rapt_tokenizer_special(target, RAPT_TOKEN_BEGIN);
    int32_t end = rapt_tokenizer_special(target, RAPT_TOKEN_END);
    int32_t source_end =
        rapt_tokenizer_special(rapt_translator_source(found->translator), RAPT_TOKEN_END);
    found->status = t->status;
    found->source = copy(t->source, t->source_count, begin, source_end);
    found->target = copy(t->target, t->target_count, begin, end);
    found->source_count = t->source_count;
    found->target_count = t->target_count;
    found->text = printable((rapt_text){t->text, t->size});
    return 1;
}

/* weights: [target + 1][source + 1]. */
static int read_weights(const rapt_model *model, const struct found *found, int layer, int head,
                        float *weights)
{
    int sources = found->source_count + 1, targets = found->target_count + 1;
    rapt_limits limits = {.size = sizeof limits,
                          .batch = 1,
                          .source_tokens = sources,
                          .target_length = targets,
                          .target_tokens = targets,
                          .threads = 1};
    int source_starts[2] = {0, sources}, target_starts[2] = {0, targets};
    rapt_tokens source = {1, found->source + 1, source_starts};
    rapt_tokens target = {1, found->target, target_starts};
    rapt_session *session = NULL;
    rapt_message why = {""};
    rapt_status status = rapt_session_create(&session, model, &limits, NULL, &why);
    if (status == RAPT_OK) status = rapt_encode(session, &source, NULL, &why);
    if (status == RAPT_OK) status = rapt_decode(session, &target, NULL, &why);
    if (status == RAPT_OK) status = rapt_session_alignment(session, layer, head, weights, &why);
    rapt_session_free(session);
    return status == RAPT_OK ? EXIT_OK : failed("%s", why.text);
}

static int fold(struct attention *attention, rapt_translator *translator, struct found *found,
                int layer, int head)
{
    const rapt_model *model = rapt_translator_model(translator);
    size_t sources = (size_t)found->source_count + 1, targets = (size_t)found->target_count + 1;
    float *weights = xcalloc(sources * targets, sizeof *weights);
    int code = read_weights(model, found, layer, head, weights);
    words_make(&attention->source, rapt_translator_source(translator), found->source + 1,
               found->source_count);
    words_make(&attention->target, rapt_translator_target(translator), found->target + 1,
               found->target_count);
    attention->grid = xcalloc((size_t)attention->source.count * (size_t)attention->target.count,
                              sizeof *attention->grid);
    words_fold(&attention->source, &attention->target, weights, attention->grid);
    free(weights);
    return code;
}

int attention_make(struct attention *attention, rapt_translator *translator, const char *sentence,
                   int layer, int head)
{
    struct found found = {.translator = translator};
    rapt_message why = {""};
    rapt_text text = {sentence, strlen(sentence)};
    *attention = (struct attention){0};
    int code = EXIT_OK;
    if (rapt_translate_many(translator, &text, 1, 0, callback, &found, &why) != RAPT_OK)
        code = failed("%s", why.text);
    else if (found.status != RAPT_OK)
        code = failed("the sentence has more tokens than the model has positions");
    else
        code = fold(attention, translator, &found, layer, head);
    attention->text = found.text;
    free(found.source);
    free(found.target);
    return code;
}

struct heatmap attention_map(const struct attention *attention)
{
    return (struct heatmap){attention->target.count, attention->source.count,
                            attention->target.texts, attention->source.texts, attention->grid};
}

void attention_free(struct attention *attention)
{
    words_free(&attention->source);
    words_free(&attention->target);
    free(attention->grid);
    free(attention->text);
    *attention = (struct attention){0};
}
