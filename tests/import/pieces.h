/* pieces.h - random models that can be exported: with SentencePiece models of as many pieces as
   their tables have rows. */
#ifndef RAPT_TESTS_IMPORT_PIECES_H
#define RAPT_TESTS_IMPORT_PIECES_H

#include "import/folder.h"

enum pieces { PIECES_BEGIN = 1, PIECES_PAD = 2 }; /* <s> is piece 2, <pad> the last one */

/* Writes a SentencePiece model of `vocab` pieces: </s>, <unk>, t2 .. */
static inline void put_pieces(struct bytes *b, int vocab, int specials)
{
    char name[16];
    b->size = 0;
    for (int i = 0; i < vocab; i++) {
        snprintf(name, sizeof name, "t%d", i);
        bool begin = i == 2 && specials & PIECES_BEGIN;
        bool pad = i == vocab - 1 && specials & PIECES_PAD;
        const char *text = i == 0   ? "</s>"
                           : i == 1 ? "<unk>"
                           : begin  ? "<s>"
                           : pad    ? "<pad>"
                                    : name;
        size_t size = strlen(text);
        put_number(b, 0x0A, 1), put_number(b, size + 4, 1);
        put_number(b, 0x0A, 1), put_number(b, size, 1);
        put(b, text, size);
        put_number(b, 0x18, 1), put_number(b, i == 0 || begin || pad ? 3 : i == 1 ? 2 : 1, 1);
    }
}

static inline char *pieces_text(int vocab, int specials)
{
    static struct bytes b;
    rapt_tokenizer *t = NULL;
    rapt_message why = {""};
    size_t size;
    put_pieces(&b, vocab, specials);
    if (rapt_tokenizer_load_memory(&t, b.data, b.size, NULL, &why)) fail_msg("%s", why.text);
    assert_int_equal(rapt_tokenizer_file(t).size, b.size);
    assert_memory_equal(rapt_tokenizer_file(t).bytes, b.data, b.size);
    assert_int_equal(rapt_tokenizer_write(t, NULL, 0, &size, NULL), RAPT_OK);
    char *text = malloc(size);
    assert_int_equal(rapt_tokenizer_write(t, text, size, &size, NULL), RAPT_OK);
    rapt_tokenizer_free(t);
    return text;
}

/* Makes a random model with tokenizers as metadata. */
static inline rapt_model *pieces_model(const rapt_config *c, uint64_t seed, int specials)
{
    static char bytes[1 << 18];
    size_t size;
    char *source = pieces_text(c->source_vocab, specials),
         *target = pieces_text(c->target_vocab, specials);
    bool joint = c->source_vocab == c->target_vocab;
    const rapt_metadata pairs[] = {{joint ? "rapt.tokenizer" : "rapt.source_tokenizer", source},
                                   {"rapt.target_tokenizer", target}};
    rapt_model *model = small_model(c, seed), *with_pairs = NULL;
    assert_int_equal(
        rapt_model_save_memory(model, bytes, sizeof bytes, &size, pairs, joint ? 1 : 2, NULL),
        RAPT_OK);
    assert_int_equal(rapt_model_load_memory(&with_pairs, bytes, size, NULL, NULL, NULL), RAPT_OK);
    rapt_model_free(model);
    free(source);
    free(target);
    return with_pairs;
}

/* Each allocation of an export fails once: RAPT_NO_MEMORY, and nothing leaks. */
static inline void export_without_memory(const rapt_config *config, int specials,
                                         rapt_export format, const char *folder)
{
    static char bytes[1 << 18];
    struct counting c = {.fails = -1};
    const rapt_allocator allocator = {counting_alloc, counting_free, &c};
    rapt_model *plain = pieces_model(config, 3, specials), *model;
    size_t size;
    assert_int_equal(rapt_model_save_memory(plain, bytes, sizeof bytes, &size, NULL, 0, NULL),
                     RAPT_OK);
    assert_int_equal(rapt_model_load_memory(&model, bytes, size, NULL, &allocator, NULL), RAPT_OK);
    long living = c.living;
    rapt_status status = RAPT_NO_MEMORY;
    for (long fails = 0; status; fails++) {
        rapt_message why = {""};
        c.calls = 0, c.fails = fails;
        status = rapt_model_export(model, format, folder, &why);
        if (status != RAPT_OK && status != RAPT_NO_MEMORY) fail_msg("%ld: %s", fails, why.text);
        assert_int_equal(status == RAPT_OK, !why.text[0]);
        assert_int_equal(c.living, living);
        assert_true(status || c.calls == fails);
    }
    rapt_model_free(model);
    rapt_model_free(plain);
}

/* Checks that the export of a random model is refused, naming a field, and that nothing is
   written. */
static inline void export_refused(const rapt_config *c, int special, rapt_export format,
                                  const char *field)
{
    char folder[256];
    rapt_message why = {""};
    rapt_model *model = pieces_model(c, 3, special);
    folder_make(folder, "refused");
    assert_int_equal(rapt_model_export(model, format, folder, &why), RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, field)) fail_msg("\"%s\" does not name %s", why.text, field);
    assert_int_equal(rmdir(folder), 0); /* nothing was written */
    rapt_model_free(model);
}

#endif
