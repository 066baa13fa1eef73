/* struct_size.c - sizes of public structs by name, for programs that declare the structs in another
   language. tests/project/tables.py compares the list with the headers. This file is in the top
   layer because it includes all headers. */
#include <rapt/rapt.h>

#include <string.h>

/* clang-format off */
#define STRUCT(name) {#name, sizeof(name)}
static const struct {
    const char *name;
    size_t size;
} structs[] = {
    STRUCT(rapt_message),
    STRUCT(rapt_allocator),
    STRUCT(rapt_stride),
    STRUCT(rapt_mask),
    STRUCT(rapt_attention_parameters),
    STRUCT(rapt_relative),
    STRUCT(rapt_sparse),
    STRUCT(rapt_distances),
    STRUCT(rapt_attention),
    STRUCT(rapt_attention_parameters_layout),
    STRUCT(rapt_attention_saved),
    STRUCT(rapt_reinforce),
    STRUCT(rapt_distance_gradients),
    STRUCT(rapt_gradients),
    STRUCT(rapt_linear_attention),
    STRUCT(rapt_linear_attention_gradients),
    STRUCT(rapt_monotonic_attention),
    STRUCT(rapt_monotonic_attention_outputs),
    STRUCT(rapt_monotonic_attention_gradients),
    STRUCT(rapt_reader),
    STRUCT(rapt_writer),
    STRUCT(rapt_config),
    STRUCT(rapt_config_field),
    STRUCT(rapt_metadata),
    STRUCT(rapt_save_options),
    STRUCT(rapt_load_options),
    STRUCT(rapt_export_options),
    STRUCT(rapt_tensor),
    STRUCT(rapt_tokens),
    STRUCT(rapt_limits),
    STRUCT(rapt_terms),
    STRUCT(rapt_generate_options),
    STRUCT(rapt_generate_outputs),
    STRUCT(rapt_train_options),
    STRUCT(rapt_report),
    STRUCT(rapt_train_limits),
    STRUCT(rapt_alignment),
    STRUCT(rapt_shard),
    STRUCT(rapt_subtree),
    STRUCT(rapt_block_limits),
    STRUCT(rapt_block_rows),
    STRUCT(rapt_text),
    STRUCT(rapt_wordpiece_options),
    STRUCT(rapt_lexical_pair),
    STRUCT(rapt_bleu),
    STRUCT(rapt_chrf),
    STRUCT(rapt_encoder_options),
    STRUCT(rapt_translator_options),
    STRUCT(rapt_span),
    STRUCT(rapt_translation),
    STRUCT(rapt_translate_call),
    STRUCT(rapt_text_score),
    STRUCT(rapt_document_options),
    STRUCT(rapt_document_piece),
    STRUCT(rapt_document_engine),
};
#undef STRUCT
/* clang-format on */

size_t rapt_struct_size(const char *name)
{
    for (size_t i = 0; name && i < sizeof structs / sizeof *structs; i++)
        if (strcmp(name, structs[i].name) == 0) return structs[i].size;
    return 0;
}
