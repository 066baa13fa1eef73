/* calls.c - a table that calls every public function that takes a pointer. A successful call must
   not touch its message or errno. With NULL for one of its pointers, a function must return
   RAPT_BAD_ARGUMENT with a reason that names the pointer, or succeed if the pointer is optional.
   The same holds for pointers in arrays of structs. project/tables compares the tables with the
   headers. */
#include "api/calls_layers.h"
#include "api/calls_model.h"
#include "api/calls_text.h"
#include "api/calls_train.h"
#include "api/calls_translate.h"

#include <errno.h>

/* One row per function, in the order of the headers. */
static const struct call {
    const char *name;
    bool message;      /* whether its last parameter is a message */
    int pointers;      /* not counting the message; a rapt_text counts as one */
    unsigned optional; /* bit i: pointer i may be NULL */
    call_fn *make;
} calls[] = {
    /* clang-format off */
    /* base.h */
    {"rapt_struct_size", false, 1, 0, struct_size},
    /* block.h */
    {"rapt_block_create", true, 4, 1u << 3, block_create},
    {"rapt_block_free", false, 1, 1u << 0, block_free},
    {"rapt_block_floats", false, 1, 0, block_floats},
    {"rapt_block_init", true, 2, 0, block_init},
    {"rapt_block_tensors", false, 1, 0, block_tensors},
    {"rapt_block_tensor", false, 1, 0, block_tensor},
    {"rapt_block_find", false, 2, 0, block_find},
    {"rapt_block_read", true, 3, 0, block_read},
    {"rapt_block_write", true, 3, 0, block_write},
    {"rapt_block_forward", true, 5, 0, block_forward},
    {"rapt_block_backward", true, 7, 1u << 4 | 1u << 5, block_backward},
    /* document.h */
    {"rapt_document_translate", true, 5, 1u << 1 | 1u << 2 | 1u << 4, document_translate},
    {"rapt_document_translate_with", true, 6, 1u << 1 | 1u << 2 | 1u << 4 | 1u << 5, document_translate_with},
    /* encoder.h */
    {"rapt_encoder_load", true, 4, 1u << 2 | 1u << 3, encoder_load},
    {"rapt_encoder_create", true, 5, 1u << 2 | 1u << 3 | 1u << 4, encoder_create},
    {"rapt_encoder_free", false, 1, 1u << 0, encoder_free},
    {"rapt_encoder_model", false, 1, 0, encoder_model},
    {"rapt_encoder_tokenizer", false, 1, 0, encoder_tokenizer},
    {"rapt_encoder_embed", true, 3, 0, encoder_embed},
    {"rapt_encoder_classify", true, 4, 1u << 2, encoder_classify},
    /* attention.h */
    {"rapt_attention_init", false, 1, 0, attention_init},
    {"rapt_attention_init_rows", false, 1, 0, attention_init_rows},
    {"rapt_attention_init_packed", false, 1, 0, attention_init_packed},
    {"rapt_attention_init_ragged", false, 3, 1u << 2, attention_init_ragged},
    {"rapt_attention_parameters_lay_out", true, 2, 0, attention_parameters_lay_out},
    {"rapt_attention_check", true, 1, 0, attention_check},
    {"rapt_attention_workspace", false, 1, 0, attention_workspace},
    {"rapt_attention_forward", true, 7, 1u << 5, attention_forward},
    {"rapt_attention_backward", true, 10, 1u << 7, attention_backward},
    {"rapt_attention_weights", true, 6, 0, attention_weights},
    /* distances.h */
    {"rapt_distance_buckets", false, 1, 0, distance_buckets},
    /* linear_attention.h */
    {"rapt_linear_attention_init", false, 1, 0, linear_attention_init},
    {"rapt_linear_attention_check", true, 1, 0, linear_attention_check},
    {"rapt_linear_attention_workspace", false, 1, 0, linear_attention_workspace},
    {"rapt_linear_attention_forward", true, 7, 1u << 5, linear_attention_forward},
    {"rapt_linear_attention_backward", true, 8, 1u << 5, linear_attention_backward},
    {"rapt_linear_attention_step", true, 7, 0, linear_attention_step},
    /* monotonic_attention.h */
    {"rapt_monotonic_attention_init", false, 1, 0, monotonic_attention_init},
    {"rapt_monotonic_attention_check", true, 1, 0, monotonic_attention_check},
    {"rapt_monotonic_attention_workspace", false, 1, 0, monotonic_attention_workspace},
    {"rapt_monotonic_attention_forward", true, 9, 1u << 7, monotonic_attention_forward},
    {"rapt_monotonic_attention_backward", true, 11, 1u << 7 | 1u << 8, monotonic_attention_backward},
    {"rapt_monotonic_attention_step", true, 9, 0, monotonic_attention_step},
    /* file.h */
    {"rapt_file_write", true, 2, 0, file_write},
    {"rapt_file_check", true, 1, 0, file_check},
    /* config.h */
    {"rapt_config_preset", true, 2, 0, config_preset},
    {"rapt_config_check", true, 1, 0, config_check},
    /* transformer.h */
    {"rapt_model_create", true, 3, 1u << 2, model_create},
    {"rapt_model_free", false, 1, 1u << 0, model_free},
    {"rapt_model_config", false, 1, 0, model_config},
    {"rapt_model_parameters", false, 1, 0, model_parameters},
    {"rapt_model_bytes", false, 1, 0, model_bytes},
    {"rapt_model_save", true, 3, 0, model_save},
    {"rapt_model_save_with", true, 4, 1u << 2, model_save_with},
    {"rapt_model_load", true, 3, 1u << 2, model_load},
    {"rapt_model_load_with", true, 4, 1u << 2 | 1u << 3, model_load_with},
    {"rapt_model_load_memory", true, 4, 1u << 2 | 1u << 3, model_load_memory},
    {"rapt_model_load_from", true, 4, 1u << 2 | 1u << 3, model_load_from},
    {"rapt_model_check", true, 1, 0, model_check},
    {"rapt_model_save_memory", true, 4, 1u << 1, model_save_memory},
    {"rapt_model_save_to", true, 3, 0, model_save_to},
    {"rapt_model_metadata", false, 2, 0, model_metadata},
    {"rapt_model_metadata_count", false, 1, 0, model_metadata_count},
    {"rapt_model_metadata_at", false, 1, 0, model_metadata_at},
    {"rapt_model_tensors", false, 1, 0, model_tensors},
    {"rapt_model_tensor", false, 1, 0, model_tensor},
    {"rapt_model_find", false, 2, 0, model_find},
    {"rapt_model_read", true, 2, 0, model_read},
    {"rapt_model_scales", true, 3, 1u << 1 | 1u << 2, model_scales},
    {"rapt_model_write", true, 2, 0, model_write},
    {"rapt_model_precision", false, 1, 0, model_precision},
    {"rapt_model_set_precision", true, 1, 0, model_set_precision},
    {"rapt_session_bytes", false, 2, 0, session_bytes},
    {"rapt_session_create", true, 4, 1u << 3, session_create},
    {"rapt_session_free", false, 1, 1u << 0, session_free},
    {"rapt_encode", true, 3, 1u << 2, encode},
    {"rapt_classify", true, 3, 0, classify},
    {"rapt_embed", true, 3, 0, embed},
    {"rapt_decode", true, 3, 1u << 2, decode},
    {"rapt_session_reorder", true, 2, 0, session_reorder},
    {"rapt_session_alignment", true, 2, 0, session_alignment},
    {"rapt_session_weights", true, 2, 0, session_weights},
    /* generate.h */
    {"rapt_generate_options_default", false, 1, 1u << 0, generate_options_default},
    {"rapt_generate", true, 4, 0, generate},
    {"rapt_score_targets", true, 5, 1u << 3 | 1u << 4, score_targets},
    /* train.h */
    {"rapt_train_options_default", false, 1, 1u << 0, train_options_default},
    {"rapt_trainer_bytes", false, 2, 0, trainer_bytes},
    {"rapt_trainer_bytes_with", false, 3, 1u << 1, trainer_bytes_with},
    {"rapt_trainer_create", true, 5, 1u << 4, trainer_create},
    {"rapt_trainer_free", false, 1, 1u << 0, trainer_free},
    {"rapt_train_gradient", true, 4, 1u << 3, train_gradient},
    {"rapt_train_align", true, 2, 1u << 1, train_align},
    {"rapt_train_step", true, 2, 1u << 1, train_step},
    {"rapt_train_evaluate", true, 4, 1u << 3, train_evaluate},
    {"rapt_trainer_gradients", false, 3, 1u << 1 | 1u << 2, trainer_gradients},
    {"rapt_trainer_read_gradient", true, 2, 0, trainer_read_gradient},
    {"rapt_trainer_read_adapter", true, 3, 1u << 1 | 1u << 2, trainer_read_adapter},
    {"rapt_shards_range", true, 2, 0, shards_range},
    {"rapt_train_shard", true, 4, 0, train_shard},
    {"rapt_train_shard_early", true, 6, 3u << 4, train_shard_early},
    {"rapt_train_shard_sums", false, 2, 1u << 1, train_shard_sums},
    {"rapt_shards_sum", true, 1, 0, shards_sum},
    {"rapt_train_shards_step", true, 3, 1u << 2, train_shards_step},
    {"rapt_train_shards_discard", false, 1, 1u << 0, train_shards_discard},
    {"rapt_trainer_products", false, 1, 0, trainer_products},
    {"rapt_trainer_set_rate", false, 1, 1u << 0, trainer_set_rate},
    {"rapt_trainer_set_quantized", false, 1, 1u << 0, trainer_set_quantized},
    {"rapt_trainer_save", true, 3, 0, trainer_save},
    {"rapt_trainer_load", true, 2, 0, trainer_load},
    /* text.h */
    {"rapt_tokenizer_learn", true, 3, 1u << 2, tokenizer_learn},
    {"rapt_tokenizer_load", true, 3, 1u << 2, tokenizer_load},
    {"rapt_tokenizer_load_memory", true, 3, 1u << 2, tokenizer_load_memory},
    {"rapt_tokenizer_create_list", true, 4, 1u << 2 | 1u << 3, tokenizer_create_list},
    {"rapt_tokenizer_create_wordpiece", true, 4, 1u << 2 | 1u << 3, tokenizer_create_wordpiece},
    {"rapt_tokenizer_file", false, 1, 0, tokenizer_file},
    {"rapt_tokenizer_write", true, 3, 1u << 1, tokenizer_write},
    {"rapt_tokenizer_create", true, 3, 1u << 2, tokenizer_create},
    {"rapt_tokenizer_free", false, 1, 1u << 0, tokenizer_free},
    {"rapt_tokenizer_vocab", false, 1, 0, tokenizer_vocab},
    {"rapt_tokenizer_special", false, 1, 0, tokenizer_special},
    {"rapt_tokenizer_token", false, 1, 0, tokenizer_token},
    {"rapt_tokenizer_name", false, 1, 0, tokenizer_name},
    {"rapt_tokenizer_find", false, 2, 0, tokenizer_find},
    {"rapt_tokenizer_bound", false, 1, 0, tokenizer_bound},
    {"rapt_tokenizer_encode", true, 5, 1u << 3, tokenizer_encode},
    {"rapt_tokenizer_decode", true, 4, 0, tokenizer_decode},
    {"rapt_text_preprocess", true, 4, 1u << 1 | 1u << 2, text_preprocess},
    {"rapt_utf8_valid", false, 1, 0, utf8_valid},
    /* shortlist.h */
    {"rapt_shortlist_load", true, 5, 1u << 4, shortlist_load},
    {"rapt_shortlist_load_memory", true, 5, 1u << 4, shortlist_load_memory},
    {"rapt_shortlist_create", true, 5, 1u << 4, shortlist_create},
    {"rapt_shortlist_source_vocab", false, 1, 0, shortlist_source_vocab},
    {"rapt_shortlist_target_vocab", false, 1, 0, shortlist_target_vocab},
    {"rapt_shortlist_free", false, 1, 1u << 0, shortlist_free},
    {"rapt_shortlist_write", true, 2, 0, shortlist_write},
    {"rapt_shortlist_tokens", true, 4, 0, shortlist_tokens},
    /* glossary.h */
    {"rapt_glossary_create", true, 3, 1u << 2, glossary_create},
    {"rapt_glossary_count", false, 1, 0, glossary_count},
    {"rapt_glossary_free", false, 1, 1u << 0, glossary_free},
    /* metrics.h */
    {"rapt_bleu_add", true, 4, 1u << 3, bleu_add},
    {"rapt_bleu_score", false, 1, 1u << 0, bleu_score},
    {"rapt_chrf_add", true, 4, 1u << 3, chrf_add},
    {"rapt_chrf_score", false, 1, 1u << 0, chrf_score},
    /* translator.h */
    {"rapt_model_import", true, 3, 1u << 2, model_import},
    {"rapt_model_import_with", true, 6, 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5, model_import_with},
    {"rapt_model_calibrate", true, 2, 0, model_calibrate},
    {"rapt_model_export", true, 2, 0, model_export},
    {"rapt_model_export_with", true, 3, 1u << 2, model_export_with},
    {"rapt_translator_options_default", false, 2, 1u << 0 | 1u << 1, translator_options_default},
    {"rapt_translator_load", true, 4, 1u << 2 | 1u << 3, translator_load},
    {"rapt_translator_create", true, 6, 1u << 3 | 1u << 4 | 1u << 5, translator_create},
    {"rapt_translator_free", false, 1, 1u << 0, translator_free},
    {"rapt_translator_model", false, 1, 0, translator_model},
    {"rapt_translator_source", false, 1, 0, translator_source},
    {"rapt_translator_target", false, 1, 0, translator_target},
    {"rapt_translator_frame", false, 1, 0, translator_frame},
    {"rapt_translator_set_shortlist", true, 2, 1u << 1, translator_set_shortlist},
    {"rapt_translator_load_shortlist", true, 2, 0, translator_load_shortlist},
    {"rapt_target_begin", false, 2, 0, target_begin},
    {"rapt_translate", true, 4, 1u << 3, translate},
    {"rapt_translate_many", true, 4, 1u << 3, translate_many},
    {"rapt_translate_many_with", true, 5, 1u << 2 | 1u << 4, translate_many_with},
    {"rapt_translator_score", true, 5, 1u << 4, translator_score},
    /* clang-format on */
};

/* Structs that hold pointers and are passed in arrays, or singly without a size, and their
   pointers. project/tables compares this table and the next with the headers. */
static const struct element {
    const char *type, *member;
    size_t offset, bytes; /* of the member; of the struct */
    bool optional;        /* the function accepts NULL */
} elements[] = {
    /* clang-format off */
    {"rapt_text", "bytes", offsetof(rapt_text, bytes), sizeof(rapt_text), false},
    {"rapt_metadata", "key", offsetof(rapt_metadata, key), sizeof(rapt_metadata), false},
    {"rapt_metadata", "value", offsetof(rapt_metadata, value), sizeof(rapt_metadata), true},
    {"rapt_tokens", "ids", offsetof(rapt_tokens, ids), sizeof(rapt_tokens), false},
    {"rapt_tokens", "starts", offsetof(rapt_tokens, starts), sizeof(rapt_tokens), false},
    {"rapt_tokens", "vectors", offsetof(rapt_tokens, vectors), sizeof(rapt_tokens), true},
    {"rapt_alignment", "starts", offsetof(rapt_alignment, starts), sizeof(rapt_alignment), false},
    {"rapt_alignment", "sources", offsetof(rapt_alignment, sources), sizeof(rapt_alignment), true},
    {"rapt_subtree", "gradient", offsetof(rapt_subtree, gradient), sizeof(rapt_subtree), false},
    /* clang-format on */
};

/* Every argument that is such a struct or an array of them, and where `world` has it. */
static const struct place {
    const char *function, *argument, *type;
    size_t offset; /* in struct world */
    int index;     /* of the element to damage */
} places[] = {
    /* clang-format off */
    {"rapt_model_save", "metadata", "rapt_metadata", offsetof(struct world, notes), 1},
    {"rapt_model_save_with", "metadata", "rapt_metadata", offsetof(struct world, notes), 1},
    {"rapt_model_save_memory", "metadata", "rapt_metadata", offsetof(struct world, notes), 1},
    {"rapt_model_save_to", "metadata", "rapt_metadata", offsetof(struct world, notes), 1},
    {"rapt_trainer_save", "metadata", "rapt_metadata", offsetof(struct world, notes), 1},
    {"rapt_encode", "source", "rapt_tokens", offsetof(struct world, tokens), 0},
    {"rapt_classify", "source", "rapt_tokens", offsetof(struct world, tokens), 0},
    {"rapt_embed", "source", "rapt_tokens", offsetof(struct world, tokens), 0},
    {"rapt_decode", "target", "rapt_tokens", offsetof(struct world, target), 0},
    {"rapt_generate", "source", "rapt_tokens", offsetof(struct world, tokens), 0},
    {"rapt_generate", "options.prefix", "rapt_tokens", offsetof(struct world, prefix), 0},
    {"rapt_generate", "options.suppressed_sequences", "rapt_tokens", offsetof(struct world, suppressed), 0},
    {"rapt_score_targets", "source", "rapt_tokens", offsetof(struct world, tokens), 0},
    {"rapt_score_targets", "target", "rapt_tokens", offsetof(struct world, target), 0},
    {"rapt_train_gradient", "source", "rapt_tokens", offsetof(struct world, tokens), 0},
    {"rapt_train_gradient", "target", "rapt_tokens", offsetof(struct world, target), 0},
    {"rapt_train_evaluate", "source", "rapt_tokens", offsetof(struct world, tokens), 0},
    {"rapt_train_evaluate", "target", "rapt_tokens", offsetof(struct world, target), 0},
    {"rapt_train_shard", "source", "rapt_tokens", offsetof(struct world, tokens), 0},
    {"rapt_train_shard", "target", "rapt_tokens", offsetof(struct world, target), 0},
    {"rapt_train_shard_early", "source", "rapt_tokens", offsetof(struct world, tokens), 0},
    {"rapt_train_shard_early", "target", "rapt_tokens", offsetof(struct world, target), 0},
    {"rapt_train_align", "alignment", "rapt_alignment", offsetof(struct world, alignment), 0},
    {"rapt_shards_sum", "list", "rapt_subtree", offsetof(struct world, tree), 1},
    {"rapt_document_translate", "options.protected_patterns", "rapt_text", offsetof(struct world, prefixes), 1},
    {"rapt_document_translate_with", "options.protected_patterns", "rapt_text", offsetof(struct world, prefixes), 1},
    {"rapt_tokenizer_learn", "texts", "rapt_text", offsetof(struct world, texts), 1},
    {"rapt_tokenizer_create_list", "names", "rapt_text", offsetof(struct world, names), 1},
    {"rapt_tokenizer_create_wordpiece", "names", "rapt_text", offsetof(struct world, pieces), 1},
    {"rapt_encoder_embed", "texts", "rapt_text", offsetof(struct world, texts), 1},
    {"rapt_encoder_classify", "texts", "rapt_text", offsetof(struct world, texts), 1},
    {"rapt_encoder_classify", "seconds", "rapt_text", offsetof(struct world, targets), 1},
    {"rapt_model_calibrate", "texts", "rapt_text", offsetof(struct world, texts), 1},
    {"rapt_translator_load", "options.suppressed_texts", "rapt_text", offsetof(struct world, prefixes), 1},
    {"rapt_translator_create", "options.suppressed_texts", "rapt_text", offsetof(struct world, prefixes), 1},
    {"rapt_translate_many", "texts", "rapt_text", offsetof(struct world, texts), 1},
    {"rapt_translate_many_with", "texts", "rapt_text", offsetof(struct world, texts), 1},
    {"rapt_translate_many_with", "call.prefixes", "rapt_text", offsetof(struct world, prefixes), 1},
    {"rapt_translator_score", "sources", "rapt_text", offsetof(struct world, texts), 1},
    {"rapt_translator_score", "targets", "rapt_text", offsetof(struct world, targets), 1},
    /* clang-format on */
};

enum { NUMBER = 4711 }; /* any value that is not an error number */
static const char as_before[] = "as it was before the call";

static void test_success(void **state)
{
    (void)state;
    struct world w;
    world_create(&w);
    for (int i = 0; i < COUNT(calls); i++)
        for (int messages = 0; messages < 2; messages++) {
            rapt_message why = {""};
            strcpy(why.text, as_before);
            errno = NUMBER;
            rapt_status status = calls[i].make(&w, -1, messages ? &why : NULL);
            int number = errno;
            if (status) fail_msg("%s: %s", calls[i].name, why.text);
            if (number != NUMBER) fail_msg("%s sets errno to %d", calls[i].name, number);
            if (strcmp(why.text, as_before) != 0)
                fail_msg("%s leaves \"%s\"", calls[i].name, why.text);
        }
    world_free(&w);
}

static void test_null(void **state)
{
    (void)state;
    struct world w;
    world_create(&w);
    for (int i = 0; i < COUNT(calls); i++)
        for (int null = 0; null < calls[i].pointers; null++) {
            bool optional = calls[i].optional >> null & 1u;
            rapt_message why = {""}, other = {""};
            rapt_status status = calls[i].make(&w, null, &why);
            bool reason = why.text[0] != 0, wanted = calls[i].message && !optional;
            if (status != (optional ? RAPT_OK : RAPT_BAD_ARGUMENT) || reason != wanted)
                fail_msg("%s without its pointer %d: %d \"%s\"", calls[i].name, null, (int)status,
                         why.text);
            if (reason && !strstr(why.text, "NULL"))
                fail_msg("%s without its pointer %d: \"%s\"", calls[i].name, null, why.text);
            for (int before = 0; reason && before < null; before++)
                if (calls[i].make(&w, before, &other) && strcmp(other.text, why.text) == 0)
                    fail_msg("%s: \"%s\" for pointers %d and %d", calls[i].name, why.text, before,
                             null);
            assert_int_equal(calls[i].make(&w, null, NULL), status);
            if (status) assert_int_equal(calls[i].make(&w, -1, NULL), RAPT_OK);
        }
    world_free(&w);
}

static call_fn *call_of(const char *function)
{
    for (int i = 0; i < COUNT(calls); i++)
        if (strcmp(calls[i].name, function) == 0) return calls[i].make;
    fail_msg("%s is not in the table", function);
    return NULL;
}

/* Calls the function with NULL for one pointer of a struct. A refusal names the pointer. */
static void damage(struct world *w, const struct place *p, const struct element *e)
{
    char *at = (char *)w + p->offset + (size_t)p->index * e->bytes + e->offset;
    const char *dot = strchr(p->argument, '.'), *argument = dot ? dot + 1 : p->argument;
    char named[64], whole[64];
    const void *none = NULL, *before;
    rapt_message why = {""};
    snprintf(named, sizeof named, p->index > 0 ? "%s[%d].%s" : "%s%.0d.%s", argument, p->index,
             e->member);
    snprintf(whole, sizeof whole, "%s.%s", p->argument, e->member);
    memcpy(&before, at, sizeof before);
    memcpy(at, &none, sizeof none);
    rapt_status status = call_of(p->function)(w, -1, &why);
    memcpy(at, &before, sizeof before);
    if (status != (e->optional ? RAPT_OK : RAPT_BAD_ARGUMENT))
        fail_msg("%s without %s: %d \"%s\"", p->function, whole, (int)status, why.text);
    if (status && (!strstr(why.text, named) || !strstr(why.text, " is NULL")))
        fail_msg("%s without %s: \"%s\"", p->function, named, why.text);
}

static void test_elements(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(places); i++) {
        struct world w; /* its trainer may keep a gradient from call to call */
        world_create(&w);
        for (int e = 0; e < COUNT(elements); e++)
            if (strcmp(places[i].type, elements[e].type) == 0) damage(&w, &places[i], &elements[e]);
        world_free(&w);
    }
}

static void *no_memory(void *user, size_t bytes)
{
    (void)user, (void)bytes;
    return NULL;
}

/* An allocator of all zeros selects the default; one with only one function set must fail. */
static void test_allocator(void **state)
{
    (void)state;
    static const rapt_status wanted[] = {RAPT_OK, RAPT_NO_MEMORY, RAPT_NO_MEMORY, RAPT_NO_MEMORY};
    const rapt_allocator allocators[] = {{NULL, NULL, NULL},
                                         {world_alloc, NULL, NULL},
                                         {NULL, world_release, NULL},
                                         {no_memory, world_release, NULL}};
    struct world w;
    world_create(&w);
    for (int i = 0; i < COUNT(calls); i++)
        for (int a = 0; strstr(calls[i].name, "_create") && a < COUNT(allocators); a++) {
            w.allocator = allocators[a];
            assert_int_equal(calls[i].make(&w, -1, NULL), wanted[a]);
        }
    world_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_success),
        cmocka_unit_test(test_null),
        cmocka_unit_test(test_elements),
        cmocka_unit_test(test_allocator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
