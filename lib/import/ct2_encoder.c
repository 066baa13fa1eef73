/* ct2_encoder.c - reads the settings and the tokenizer of encoders (BERT, DistilBERT, RoBERTa and
   XLM-RoBERTa) in folders of CTranslate2. Such a folder has the names of tokens, but not the rules
   for splitting text into tokens. The rules, and the settings of sentence-transformers, are read
   from the files of the original model, which are in the same folder or its parent. Source:
   CTranslate2 4.8: src/layers/transformer.cc, specs/transformer_spec.py,
   converters/transformers.py. */
#include "import/ct2.h"
#include "import/hf.h"

#include <stdio.h>
#include <string.h>

/* ---- the files of the original model ---- */

/* Calls `read` while i->folder is the folder with the tokenizer's files: the model's folder or, if
   only its parent has them, the parent. */
static rapt_status with_tokenizer(struct import *i, rapt_status (*read)(struct import *i))
{
    const size_t size = strlen(i->folder);
    if (!rapt__hf_has_tokenizer(i) && !i->archive && size + 4 <= sizeof i->folder) {
        memcpy(i->folder + size, "../", 4);
        if (!rapt__hf_has_tokenizer(i)) i->folder[size] = 0;
    }
    rapt_status status = read(i);
    i->folder[size] = 0;
    return status;
}

static rapt_status read_tokenizer(struct import *i)
{
    if (rapt__hf_has_tokenizer(i)) return rapt__hf_encoder_vocabulary(i);
    return rapt__import_bad(i,
                            "its vocabulary has no rules for splitting texts; copy tokenizer.json, "
                            "or vocab.txt with tokenizer_config.json, of the original model into "
                            "its folder");
}

/* ---- the configuration ---- */

static rapt_status read_settings(struct import *i)
{
    struct import_settings s;
    rapt_config *c = &i->config;
    rapt_status status = rapt__import_settings(i, "config.json", &s);
    if (status) return status;
    status = rapt__import_float(i, &s, "layer_norm_epsilon", c->norm_epsilon, &c->norm_epsilon);
    rapt__import_settings_free(i, &s);
    return status;
}

/* Checks that the embeddings of tokens and of token types are added rather than concatenated. */
static rapt_status check_merge(struct import *i)
{
    enum { CONCATENATED, ADDED };
    int merge;
    rapt_status status = rapt__import_number(i, "encoder/embeddings_merge", CONCATENATED, &merge);
    if (status || !i->config.token_types || merge == ADDED) return status;
    return rapt__import_bad(
        i, "encoder/embeddings_merge is %d, not %d: its embeddings are not added", merge, ADDED);
}

/* Ignores the pooler, as the importer of Hugging Face's encoders does: the vector of a text is the
   average of the vectors of its tokens, unless the files of sentence-transformers specify
   otherwise. */
static void ignore_pooler(struct import *i)
{
    for (int n = 0; n < rapt__tensors_count(i->file); n++)
        i->used[n] |= strncmp(rapt__tensors_entry(i->file, n)->name, "pooler_", 7) == 0;
}

rapt_status rapt__ct2_encoder(struct import *i)
{
    i->source_begin = true;
    ignore_pooler(i);
    rapt_status status = check_merge(i);
    if (!status) status = read_settings(i);
    return status ? status : with_tokenizer(i, rapt__import_sentence);
}

/* ---- the vocabulary ---- */

/* Checks that the vocabulary names the rows of the table as the tokenizer does, because the files
   of the tokenizer might belong to another model. Rows without a name in the tokenizer may have any
   name, because they are never produced. */
static rapt_status compare_names(struct import *i, const char *file, const struct vocabulary *v)
{
    const int rows = i->config.source_vocab, count = rapt__vocabulary_count(v);
    if (count != rows)
        return rapt__import_bad(i, "%s has %d names, but the model's table has %d rows", file,
                                count, rows);
    for (int id = 0; id < rows; id++) {
        const char *name = rapt__vocabulary_token(v, id);
        const rapt_text own = rapt_tokenizer_name(i->source, id);
        if (!own.size || (own.size == strlen(name) && memcmp(own.bytes, name, own.size) == 0))
            continue;
        return rapt__import_bad(i, "%s: token %d is \"%.60s\", but \"%.*s\" in the tokenizer", file,
                                id, name, (int)rapt__min_size(own.size, 60), own.bytes);
    }
    return RAPT_OK;
}

static rapt_status check_names(struct import *i)
{
    struct vocabulary *v;
    const char *file = "vocabulary.json";
    if (!rapt__import_has(i, file)) file = "vocabulary.txt";
    rapt_status status = rapt__import_open_names(i, file, &v);
    if (status) return status;
    status = compare_names(i, file, v);
    rapt__vocabulary_close(v);
    return status;
}

rapt_status rapt__ct2_encoder_vocabulary(struct import *i)
{
    rapt_status status = with_tokenizer(i, read_tokenizer);
    return status ? status : check_names(i);
}
