/* folder.h - helpers to write folders of other projects: growing bytes, files of a folder, random
   models whose parameters they contain, and random models that can be exported. */
#ifndef RAPT_TESTS_IMPORT_FOLDER_H
#define RAPT_TESTS_IMPORT_FOLDER_H

#include "../counting.h"
#include "model/small.h"

#include <sys/stat.h>

struct bytes {
    unsigned char data[1 << 17];
    size_t size;
};

static inline void put(struct bytes *b, const void *data, size_t size)
{
    assert_true(size <= sizeof b->data - b->size);
    if (size) memcpy(b->data + b->size, data, size);
    b->size += size;
}

/* Appends a number of `size` bytes, little-endian. */
static inline void put_number(struct bytes *b, uint64_t number, int size)
{
    for (int i = 0; i < size; i++) put(b, &(unsigned char){(unsigned char)(number >> 8 * i)}, 1);
}

/* Appends floats, little-endian. */
static inline void put_floats(struct bytes *b, const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        put_number(b, bits, sizeof bits);
    }
}

static inline void put_text(struct bytes *b, const char *text)
{
    put(b, text, strlen(text));
}

/* Makes a temporary folder. Files written to it replace existing ones. */
static inline const char *folder_make(char path[256], const char *name)
{
    small_path(path, name);
    unlink(path);
    if (mkdir(path, 0700) != 0) assert_int_equal(access(path, W_OK), 0);
    return path;
}

static inline void folder_write(const char *folder, const char *name, const struct bytes *b)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(b->data, 1, b->size, file), b->size);
    assert_int_equal(fclose(file), 0);
}

static inline void folder_text(const char *folder, const char *name, const char *text)
{
    static struct bytes b;
    b.size = 0;
    put_text(&b, text);
    folder_write(folder, name, &b);
}

static inline void folder_remove(const char *folder, const char *const *names, int count)
{
    char path[600];
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

static inline rapt_model *folder_import(const char *folder)
{
    rapt_model *model = NULL;
    rapt_message why = {""};
    if (rapt_model_import(&model, folder, NULL, &why)) fail_msg("%s", why.text);
    return model;
}

/* Checks that the imported model has the configuration and, bit for bit, the parameters of a
   model. */
static inline void folder_is(const char *folder, const rapt_model *model)
{
    rapt_model *read = folder_import(folder);
    const char *wanted = rapt_model_metadata(model, "rapt.config"),
               *got = rapt_model_metadata(read, "rapt.config");
    assert_string_equal(got, wanted);
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        size_t size = small_size(model, i);
        float *a = malloc(size * sizeof *a), *b = malloc(size * sizeof *b);
        assert_int_equal(rapt_model_read(model, i, a, NULL), RAPT_OK);
        assert_int_equal(rapt_model_read(read, i, b, NULL), RAPT_OK);
        for (size_t j = 0; j < size; j++)
            if (!(a[j] == b[j]))
                fail_msg("%s[%zu]: %.9g, not %.9g", rapt_model_tensor(model, i).name, j,
                         (double)b[j], (double)a[j]);
        free(a);
        free(b);
    }
    rapt_model_free(read);
}

/* Checks that a folder, opened in each precision, gives the model that is opened in floats and then
   converted. */
static inline void folder_precisions(const char *folder)
{
    for (rapt_precision p = RAPT_PRECISION_INT8; rapt_precision_name(p); p++) {
        const rapt_load_options f32 = {.size = sizeof f32, .precision = RAPT_PRECISION_F32},
                                own = {.size = sizeof own, .precision = p};
        rapt_model *floats = NULL, *opened = NULL;
        rapt_message why = {""};
        if (rapt_model_import_with(&floats, folder, &f32, NULL, NULL, NULL, &why) ||
            rapt_model_set_precision(floats, p, 1, &why) ||
            rapt_model_import_with(&opened, folder, &own, NULL, NULL, NULL, &why))
            fail_msg("%s: %s", rapt_precision_name(p), why.text);
        assert_int_equal(rapt_model_precision(opened), p);
        small_same_models(floats, opened);
        rapt_model_free(floats);
        rapt_model_free(opened);
    }
}

/* Each allocation fails once: the only error is RAPT_NO_MEMORY, and nothing leaks. */
static inline void folder_without_memory(const char *folder)
{
    rapt_model *model = NULL;
    for (long fails = 0; !model; fails++) {
        struct counting c = {.fails = fails};
        const rapt_allocator allocator = {counting_alloc, counting_free, &c};
        rapt_message why = {""};
        rapt_status status = rapt_model_import(&model, folder, &allocator, &why);
        if (status != (model ? RAPT_OK : RAPT_NO_MEMORY)) fail_msg("%ld: %s", fails, why.text);
        assert_true(model || why.text[0]);
        rapt_model_free(model);
        assert_int_equal(c.living, 0);
    }
}

/* Checks that the folder is refused and that the message contains this text. */
static inline void folder_refused(const char *folder, const char *phrase)
{
    rapt_model *none = (rapt_model *)(uintptr_t)64;
    rapt_message why = {""};
    if (rapt_model_import(&none, folder, NULL, &why) != RAPT_BAD_FILE)
        fail_msg("not refused for %s: %s", phrase, why.text);
    if (!strstr(why.text, phrase)) fail_msg("\"%s\" does not name %s", why.text, phrase);
    assert_true((uintptr_t)none == 64);
}

static inline void count_vocabulary(void *user, const char *name, rapt_file_use use,
                                    const char *reason)
{
    (void)name, (void)reason;
    *(int *)user += use == RAPT_FILE_USE_VOCABULARY;
}

/* Imports a folder and returns the number of its files that are reported as vocabularies. */
static inline int folder_vocabularies(const char *folder)
{
    rapt_model *model = NULL;
    rapt_message why = {""};
    int count = 0;
    if (rapt_model_import_with(&model, folder, NULL, count_vocabulary, &count, NULL, &why))
        fail_msg("%s", why.text);
    rapt_model_free(model);
    return count;
}

/* ---- CTranslate2: configurations that CTranslate2 supports with the same meaning. ---- */

enum { CT2_OLDEST = 3 }; /* also supported by version 1, which has no attributes */

/* clang-format off */
static const rapt_config ct2_configs[] = {
    {.size = sizeof(rapt_config), .source_vocab = 9, .target_vocab = 7, .positions = 1024, .width = 8, .heads = 2, .ffn_width = 12,
     .encoder_layers = 2, .decoder_layers = 1, .norm_order = RAPT_NORM_ORDER_PRE, .position = RAPT_POSITION_CONCATENATED_N1,
     .first_position = 1, .output_bias = 1, .norm_epsilon = 1e-5f, .no_source_end = 1, .alignment_layer = 1},
    {.size = sizeof(rapt_config), .source_vocab = 8, .target_vocab = 8, .positions = 6, .width = 4, .heads = 1, .ffn_width = 5,
     .encoder_layers = 1, .decoder_layers = 2, .activation = RAPT_ACTIVATION_GELU, .position = RAPT_POSITION_LEARNED,
     .tie = RAPT_TIE_ALL, .output_bias = 1, .plain_embedding = 1, .norm_epsilon = 1e-3f, .decoder_start = RAPT_DECODER_START_ZERO,
     .alignment_layer = 1},
    {.size = sizeof(rapt_config), .source_vocab = 5, .target_vocab = 6, .positions = 1024, .width = 6, .heads = 3, .ffn_width = 4,
     .encoder_layers = 1, .decoder_layers = 1, .norm_order = RAPT_NORM_ORDER_PRE, .activation = RAPT_ACTIVATION_SILU,
     .position = RAPT_POSITION_CONCATENATED_N1, .first_position = 1, .tie = RAPT_TIE_OUTPUT, .norm_type = RAPT_NORM_TYPE_RMS,
     .ffn_gated = 1, .output_bias = 1, .norm_epsilon = 1e-6f, .decoder_start = RAPT_DECODER_START_END,
     .alignment_layer = 1, .alignment_heads = 2},
    {.size = sizeof(rapt_config), .source_vocab = 7, .target_vocab = 9, .positions = 1024, .width = 16, .heads = 8, .ffn_width = 12,
     .encoder_layers = 1, .decoder_layers = 2, .norm_order = RAPT_NORM_ORDER_PRE, .position = RAPT_POSITION_CONCATENATED_N1,
     .first_position = 1, .output_bias = 1, .norm_epsilon = 1e-5f, .no_source_end = 1, .alignment_layer = 2},
    {.size = sizeof(rapt_config), .source_vocab = 5, .target_vocab = 5, .positions = 1024, .width = 4, .heads = 2, .ffn_width = 6,
     .encoder_layers = 1, .decoder_layers = 1, .norm_order = RAPT_NORM_ORDER_PRE, .activation = RAPT_ACTIVATION_GELU_TANH,
     .position = RAPT_POSITION_CONCATENATED_N1, .first_position = 1, .norm_epsilon = 1e-5f, .alignment_layer = 1},
};
/* clang-format on */

/* ---- Marian: configurations that Marian supports: the first PLAIN_CONFIGS with layer norms, the
   others with root mean squares. ---- */

enum { PLAIN_CONFIGS = 4 };

/* clang-format off */
static const rapt_config marian_configs[] = {
    {.size = sizeof(rapt_config), .source_vocab = 9, .target_vocab = 9, .positions = 1024, .width = 16, .heads = 2, .ffn_width = 32,
     .encoder_layers = 2, .decoder_layers = 2, .position = RAPT_POSITION_CONCATENATED_N1, .tie = RAPT_TIE_ALL, .output_bias = 1,
     .norm_epsilon = 1e-6f, .decoder_start = RAPT_DECODER_START_ZERO, .decoder_recurrence = RAPT_RECURRENCE_SSRU,
     .alignment_layer = 2},
    {.size = sizeof(rapt_config), .source_vocab = 8, .target_vocab = 7, .positions = 1024, .width = 8, .heads = 4, .ffn_width = 12,
     .encoder_layers = 1, .decoder_layers = 2, .position = RAPT_POSITION_CONCATENATED_N1, .tie = RAPT_TIE_OUTPUT, .output_bias = 1,
     .norm_epsilon = 1e-6f, .decoder_start = RAPT_DECODER_START_ZERO, .norm_order = RAPT_NORM_ORDER_PRE,
     .activation = RAPT_ACTIVATION_SILU, .alignment_layer = 1},
    {.size = sizeof(rapt_config), .source_vocab = 5, .target_vocab = 7, .positions = 1024, .width = 4, .heads = 1, .ffn_width = 8,
     .encoder_layers = 1, .decoder_layers = 1, .position = RAPT_POSITION_CONCATENATED_N1,
     .norm_epsilon = 1e-6f, .decoder_start = RAPT_DECODER_START_ZERO, .alignment_layer = 1},
    {.size = sizeof(rapt_config), .source_vocab = 7, .target_vocab = 7, .positions = 1024, .width = 8, .heads = 2, .ffn_width = 8,
     .encoder_layers = 1, .decoder_layers = 2, .position = RAPT_POSITION_CONCATENATED_N1, .tie = RAPT_TIE_ALL, .output_bias = 1,
     .norm_epsilon = 1e-6f, .decoder_start = RAPT_DECODER_START_ZERO, .norm_order = RAPT_NORM_ORDER_PRE,
     .decoder_recurrence = RAPT_RECURRENCE_SSRU, .alignment_layer = 2},
    {.size = sizeof(rapt_config), .source_vocab = 5, .target_vocab = 7, .positions = 1024, .width = 4, .heads = 1, .ffn_width = 8,
     .encoder_layers = 1, .decoder_layers = 1, .position = RAPT_POSITION_CONCATENATED_N1, .norm_type = RAPT_NORM_TYPE_RMS,
     .norm_epsilon = 1e-6f, .decoder_start = RAPT_DECODER_START_ZERO, .alignment_layer = 1},
};
/* clang-format on */

/* ---- models: random models that can be exported: with SentencePiece models of as many pieces as
   their tables have rows. ---- */

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
