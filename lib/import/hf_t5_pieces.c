/* hf_t5_pieces.c - reads the pieces of T5's vocabularies, to which extra ids are added. ByT5 has no
   file of pieces, so a SentencePiece model is created for it, with the pieces <pad>, </s>, <unk>
   and the 256 bytes. Source: transformers 4.57, tokenization_t5.py, tokenization_byt5.py. */
#include "import/hf.h"

#include <stdio.h>
#include <string.h>

/* ---- a SentencePiece model of bytes ---- */

static void write_bytes(struct pieces_writer *w)
{
    /* no piece has type NORMAL, so every character is split into its bytes */
    static const struct pieces_options options = {.kind = PIECES_CHARACTER, .byte_fallback = true};
    w->size = 0;
    rapt__pieces_put(w, (rapt_text){"<pad>", 5}, 0, PIECE_CONTROL);
    rapt__pieces_put(w, (rapt_text){"</s>", 4}, 0, PIECE_CONTROL);
    rapt__pieces_put(w, (rapt_text){"<unk>", 5}, 0, PIECE_UNKNOWN);
    for (int byte = 0; byte < 256; byte++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)byte);
        rapt__pieces_put(w, (rapt_text){name, 6}, 0, PIECE_BYTE);
    }
    rapt__pieces_finish(w, &options);
}

static rapt_status make_bytes(struct import *i, rapt_tokenizer **pieces)
{
    struct pieces_writer w = {.bytes = NULL};
    write_bytes(&w);
    const size_t size = w.size;
    w.bytes = rapt__alloc(&i->allocator, size);
    if (!w.bytes) return rapt__fail(i->why, RAPT_NO_MEMORY, "no memory for a vocabulary");
    write_bytes(&w);
    rapt_status status = rapt_tokenizer_load_memory(pieces, w.bytes, size, &i->allocator, i->why);
    rapt__free(&i->allocator, w.bytes, size);
    return status;
}

/* ---- the choice ---- */

/* Returns whether the tokenizer of a folder is ByT5's, according to the settings of
   tokenizer_config.json or, if these do not name it, of config.json. */
static bool is_byt5(const struct import_settings *tokenizer, const struct import_settings *config)
{
    const char *name = rapt__import_setting(tokenizer, "tokenizer_class");
    if (!name) name = rapt__import_setting(config, "tokenizer_class");
    return name && strcmp(name, "ByT5Tokenizer") == 0;
}

rapt_status rapt__hf_t5_pieces(struct import *i, const struct import_settings *config,
                               rapt_tokenizer **pieces, int *extra, bool *ascending)
{
    static const char file[] = "tokenizer_config.json";
    struct import_settings s = {0};
    rapt_status status = RAPT_OK;
    if (rapt__import_has(i, file)) status = rapt__import_settings(i, file, &s);
    if (status) return status;
    *ascending = is_byt5(&s, config);
    status = rapt__import_whole(i, &s, "extra_ids", *ascending ? HF_BYTE_EXTRA : 100, extra);
    rapt__import_settings_free(i, &s);
    if (status) return status;
    if (!*ascending) return rapt__import_pieces(i, "spiece.model", pieces);
    if (!*extra) *extra = HF_BYTE_EXTRA; /* transformers always writes 0 */
    return make_bytes(i, pieces);
}
