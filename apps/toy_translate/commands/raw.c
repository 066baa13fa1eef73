/* raw.c - recognizes raw text that is given to a model without a tokenizer, such as a folder of
   CTranslate2: most of its words are not in the vocabulary, and results are arbitrary. */
#include "commands.h"
#include <string.h>

void raw_add(struct raw *raw, const rapt_tokenizer *tokenizer, const int32_t *ids, int count)
{
    const int32_t unknown = rapt_tokenizer_special(tokenizer, RAPT_TOKEN_UNKNOWN);
    if (rapt_tokenizer_file(tokenizer).size > 0) return; /* SentencePiece splits the text */
    raw->tokens += (size_t)count;
    for (int i = 0; i < count; i++) raw->unknown += ids[i] == unknown;
}

static bool contains(rapt_text text, const char *mark)
{
    size_t size = strlen(mark);
    for (size_t i = 0; i + size <= text.size; i++)
        if (memcmp(text.bytes + i, mark, size) == 0) return true;
    return false;
}

/* Returns whether a tenth of the vocabulary's names contain the mark. */
static bool is_marked(const rapt_tokenizer *tokenizer, const char *mark)
{
    int vocab = rapt_tokenizer_vocab(tokenizer), marked = 0;
    for (int32_t id = 0; id < vocab; id++)
        marked += contains(rapt_tokenizer_name(tokenizer, id), mark);
    return 10 * marked > vocab;
}

/* Returns whether the tokenizer splits text into words itself, as those of Argos Translate with
   bpe.model do: the text of a token then lacks a mark of its name ("gar@@"). */
static bool splits_words(const rapt_tokenizer *tokenizer)
{
    for (int32_t id = 0; id < rapt_tokenizer_vocab(tokenizer); id++) {
        const rapt_text text = rapt_tokenizer_token(tokenizer, id);
        if (text.size > 0 && text.size < rapt_tokenizer_name(tokenizer, id).size) return true;
    }
    return false;
}

void raw_report(struct raw *raw, const rapt_tokenizer *tokenizer, const char *model,
                const char *consequence)
{
    static const struct {
        const char *mark, *advice;
    } kinds[] = {
        {"\xE2\x96\x81",
         ", such as \"\xE2\x96\x81The \xE2\x96\x81house\", which spm_encode gives; or "
         "copy its SentencePiece models into the folder, as source.spm and target.spm"},
        {"@@", ", such as \"gar@@ den\", which subword-nmt gives with the model's codes"},
        {"\xEF\xBF\xAD", ", such as \"garden \xEF\xBF\xAD.\", which OpenNMT's tokenizer gives"},
    };
    if (raw->reported || 2 * raw->unknown <= raw->tokens || splits_words(tokenizer)) return;
    const char *advice = "";
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds && !*advice; k++)
        if (is_marked(tokenizer, kinds[k].mark)) advice = kinds[k].advice;
    print_message("%s: %zu of %zu tokens are not in its vocabulary, so %s. The model has no "
                  "tokenizer: give tokens separated by spaces%s",
                  model, raw->unknown, raw->tokens, consequence, advice);
    raw->reported = true;
}
