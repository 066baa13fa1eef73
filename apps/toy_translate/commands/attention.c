/* attention.c - attention weights between the words of a sentence and its translation, from
   cross-attention or from self-attention in either half. The finished translation is decoded again,
   and the weights of that pass are read. */
#include "commands.h"
#include <stdlib.h>
#include <string.h>

struct found {
    const rapt_translator *translator;
    int32_t *source,
        *target; /* source ends with the end token, target begins with the begin token */
    int source_count, target_count;
    char *text;
    rapt_status status;
};

static int32_t *copy_ids(const int32_t *ids, int count, int32_t first, int32_t last)
{
    int32_t *all = xcalloc((size_t)count + 2, sizeof *all);
    all[0] = first;
    if (count > 0) memcpy(all + 1, ids, (size_t)count * sizeof *all);
    all[count + 1] = last;
    return all;
}

static int attention_callback(void *user, const rapt_translation *t)
{
    struct found *found = user;
    const rapt_tokenizer *target = rapt_translator_target(found->translator);
    int32_t begin = rapt_target_begin(rapt_translator_model(found->translator), target);
    int32_t end = rapt_tokenizer_special(target, RAPT_TOKEN_END);
    int32_t source_end =
        rapt_tokenizer_special(rapt_translator_source(found->translator), RAPT_TOKEN_END);
    found->status = t->status;
    found->source = copy_ids(t->source, t->source_count, begin, source_end);
    found->target = copy_ids(t->target, t->target_count, begin, end);
    found->source_count = t->source_count;
    found->target_count = t->target_count;
    found->text = printable((rapt_text){t->text, t->size});
    return 1;
}

static bool source_ends(const rapt_model *model)
{
    return !rapt_model_config(model)->no_source_end;
}

/* Returns true if the translation ends with an end token. A translation that reaches the model's
   last position is cut off and has none. */
static bool target_ends(const rapt_model *model, const struct found *found)
{
    return found->target_count < rapt_model_config(model)->positions;
}

/* Tokenizes the sentence and a given translation, as if the model had found the latter. */
static int take_pair(struct found *found, const struct attention_choice *choice)
{
    const rapt_translator *translator = found->translator;
    const char *const texts[2] = {choice->sentence, choice->target};
    const rapt_tokenizer *const tokenizers[2] = {rapt_translator_source(translator),
                                                 rapt_translator_target(translator)};
    const rapt_model *model = rapt_translator_model(translator);
    int positions = rapt_model_config(model)->positions;
    rapt_message why = {""};
    for (int i = 0; i < 2; i++) {
        rapt_text text = {texts[i], strlen(texts[i])};
        size_t bound = rapt_tokenizer_bound(tokenizers[i], text.size), count = 0;
        int32_t *ids = xcalloc(bound, sizeof *ids);
        rapt_status status =
            rapt_tokenizer_encode(tokenizers[i], text, ids, NULL, bound, &count, &why);
        int most = positions - (i == 0 && source_ends(model));
        bool fits = status == RAPT_OK && count <= (size_t)most;
        int32_t *all = copy_ids(ids, fits ? (int)count : 0, rapt_target_begin(model, tokenizers[i]),
                                rapt_tokenizer_special(tokenizers[i], RAPT_TOKEN_END));
        free(ids);
        *(i == 0 ? &found->source : &found->target) = all;
        *(i == 0 ? &found->source_count : &found->target_count) = (int)count;
        if (!fits)
            return failed("the %s has more tokens than the model supports",
                          i == 0 ? "sentence" : "translation");
    }
    found->text = xasprintf("%s", choice->target);
    return EXIT_OK;
}

/* Adds the mean weights of the chosen heads to weights [count]. */
static rapt_status average_heads(rapt_session *session, const struct attention_choice *choice,
                                 size_t count, float *weights, rapt_message *why)
{
    int heads = choice->heads > 0 ? choice->heads : 1;
    float *one = xcalloc(count, sizeof *one);
    rapt_status status = RAPT_OK;
    for (int h = 0; h < heads && status == RAPT_OK; h++) {
        status =
            rapt_session_weights(session, choice->which, choice->layer, choice->head + h, one, why);
        for (size_t i = 0; i < count; i++) weights[i] += one[i] / (float)heads;
    }
    free(one);
    return status;
}

/* Reads weights [queries][keys] of tokens, including end tokens where the model uses them. The
   array must be zero at first. */
static int read_weights(const rapt_model *model, const struct found *found,
                        const struct attention_choice *choice, size_t count, float *weights)
{
    int sources = found->source_count + source_ends(model);
    int targets = found->target_count + target_ends(model, found);
    rapt_limits limits = {.size = sizeof limits,
                          .batch = 1,
                          .source_tokens = sources,
                          .target_length = targets,
                          .target_tokens = targets,
                          .threads = 1,
                          .self_weights = choice->which != RAPT_WEIGHTS_CROSS};
    int source_starts[2] = {0, sources}, target_starts[2] = {0, targets};
    rapt_tokens source = {.batch = 1, .ids = found->source + 1, .starts = source_starts};
    rapt_tokens target = {.batch = 1, .ids = found->target, .starts = target_starts};
    rapt_session *session = NULL;
    rapt_message why = {""};
    rapt_status status = rapt_session_create(&session, model, &limits, NULL, &why);
    if (status == RAPT_OK) status = rapt_encode(session, &source, NULL, &why);
    if (status == RAPT_OK) status = rapt_decode(session, &target, NULL, &why);
    if (status == RAPT_OK) status = average_heads(session, choice, count, weights, &why);
    rapt_session_free(session);
    return status == RAPT_OK ? EXIT_OK : failed("%s", why.text);
}

/* Makes the words of columns and rows. A row of the decoder's self-attention holds the weights of
   the step that produced its word; the inputs of that step are the words before it. */
static void make_words(struct attention *attention, rapt_translator *translator,
                       const struct found *found, rapt_weights which)
{
    const rapt_model *model = rapt_translator_model(translator);
    bool ends = source_ends(model), target_end = target_ends(model, found);
    const rapt_tokenizer *source = rapt_translator_source(translator);
    const rapt_tokenizer *target = rapt_translator_target(translator);
    if (which == RAPT_WEIGHTS_DECODER) {
        words_make(&attention->source, target, found->target + 1,
                   found->target_count - !target_end);
        words_begin(&attention->source);
    } else {
        words_make(&attention->source, source, found->source + 1, found->source_count);
        if (!ends) words_no_end(&attention->source);
    }
    if (which == RAPT_WEIGHTS_ENCODER) {
        words_make(&attention->target, source, found->source + 1, found->source_count);
        if (!ends) words_no_end(&attention->target);
        return;
    }
    words_make(&attention->target, target, found->target + 1, found->target_count);
    if (!target_end) words_no_end(&attention->target);
}

static int fold_weights(struct attention *attention, rapt_translator *translator,
                        struct found *found, const struct attention_choice *choice)
{
    const rapt_model *model = rapt_translator_model(translator);
    size_t cells;
    make_words(attention, translator, found, choice->which);
    cells = (size_t)attention->source.tokens * (size_t)attention->target.tokens;
    float *weights = xcalloc(cells, sizeof *weights);
    int code = read_weights(model, found, choice, cells, weights);
    attention->grid = xcalloc((size_t)attention->source.count * (size_t)attention->target.count,
                              sizeof *attention->grid);
    words_fold(&attention->source, &attention->target, weights, attention->grid);
    free(weights);
    return code;
}

static int find_weights(struct found *found, rapt_translator *translator, const char *sentence)
{
    rapt_message why = {""};
    rapt_text text = {sentence, strlen(sentence)};
    if (rapt_translate_many(translator, &text, 1, 0, attention_callback, found, &why) != RAPT_OK)
        return failed("%s", why.text);
    if (found->status == RAPT_OK) return EXIT_OK;
    return failed("the sentence has more tokens than the model supports");
}

/* Marks the words of the columns that training has not seen, by the list in the model's file. With
   decoder self-attention the columns are target words, about which nothing is known. */
static void mark_unseen(struct attention *attention, const struct found *found, rapt_weights which)
{
    const int count = attention->source.count;
    struct words words;
    bool known = attention->seen.list != NULL;
    bool *unseen = unseen_find(&attention->seen, found->source + 1, found->source_count, &words);
    attention->unseen = xcalloc((size_t)count, sizeof *attention->unseen);
    attention->names = xcalloc((size_t)count, sizeof *attention->names);
    attention->self = which == RAPT_WEIGHTS_ENCODER;
    for (int w = 0; w < count; w++) {
        const rapt_text text = attention->source.texts[w];
        attention->unseen[w] = known && which != RAPT_WEIGHTS_DECODER && unseen[w];
        char *name =
            xasprintf("%s%.*s", attention->unseen[w] ? "?" : "", (int)text.size, text.bytes);
        attention->names[w] = (rapt_text){name, strlen(name)};
    }
    free(unseen);
    words_free(&words);
}

int attention_make(struct attention *attention, rapt_translator *translator,
                   const struct attention_choice *choice)
{
    struct found found = {.translator = translator};
    const rapt_tokenizer *tokenizer = rapt_translator_source(translator);
    struct raw raw = {0};
    *attention = (struct attention){0};
    unseen_open(&attention->seen, translator);
    int code = choice->target != NULL ? take_pair(&found, choice)
                                      : find_weights(&found, translator, choice->sentence);
    if (code == EXIT_OK && found.source_count + source_ends(rapt_translator_model(translator)) == 0)
        code = failed("the sentence has no tokens");
    if (code == EXIT_OK) code = fold_weights(attention, translator, &found, choice);
    if (code == EXIT_OK) mark_unseen(attention, &found, choice->which);
    if (code == EXIT_OK) raw_add(&raw, tokenizer, found.source + 1, found.source_count);
    if (code == EXIT_OK && choice->model != NULL)
        raw_report(&raw, tokenizer, choice->model, "the attention is arbitrary");
    if (code == EXIT_OK && !choice->quiet) {
        unseen_add(&attention->seen, found.source + 1, found.source_count);
        unseen_report(&attention->seen);
    }
    attention->text = found.text;
    free(found.source);
    free(found.target);
    return code;
}

struct heatmap attention_map(const struct attention *attention)
{
    return (struct heatmap){attention->target.count, attention->source.count,
                            attention->self ? attention->names : attention->target.texts,
                            attention->names, attention->grid};
}

void attention_free(struct attention *attention)
{
    for (int w = 0; attention->names != NULL && w < attention->source.count; w++)
        free((char *)attention->names[w].bytes);
    free(attention->names);
    free(attention->unseen);
    unseen_free(&attention->seen);
    words_free(&attention->source);
    words_free(&attention->target);
    free(attention->grid);
    free(attention->text);
    *attention = (struct attention){0};
}
