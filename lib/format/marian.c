/* marian.c - the type codes and special names of Marian's files.

   A code is the sum of a class and a size. Bergamot's fork, which Firefox uses, has different
   classes for quantized types. Source: src/common/types.h and
   src/tensors/cpu/expression_graph_packable.h of marian-nmt/marian-dev 1.12 and of
   browsermt/marian-dev. */
#include "marian.h"

#include <float.h>
#include <stddef.h>
#include <string.h>

static const struct marian_type types[] = {
    {0x404, "F32", "float32", false},
    {0x408, "F64", "float64", false},
    {0x402, "F16", "float16", false},
    {0x101, "I8", "int8", false},
    {0x102, "I16", "int16", false},
    {0x104, "I32", "int32", false},
    {0x108, "I64", "int64", false},
    {0x201, "U8", "uint8", false},
    {0x202, "U16", "uint16", false},
    {0x204, "U32", "uint32", false},
    {0x208, "U64", "uint64", false},
    {0x4101, "I8", "intgemm8", true},
    {0x4102, "I16", "intgemm16", true},
    {0x10001, "I8", "intgemm8", true},
    {0x10002, "I16", "intgemm16", true},
    {0x802, NULL, "packed16", false},
    {0x1801, NULL, "packed8avx2", false},
    {0x2801, NULL, "packed8avx512", false},
    {0x18001, NULL, "intgemm8ssse3", false},
    {0x11001, NULL, "intgemm8avx2", false},
    {0x12001, NULL, "intgemm8avx512", false},
    {0x13001, NULL, "intgemm8avx512vnni", false},
    {0x14002, NULL, "intgemm16sse2", false},
    {0x11002, NULL, "intgemm16avx2", false},
    {0x12002, NULL, "intgemm16avx512", false},
};

const struct marian_type *rapt__marian_type(uint64_t code)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].code == code) return &types[i];
    return NULL;
}

bool rapt__marian_narrow(const char *name)
{
    const char *found = strstr(name, "_W");
    size_t tail = found ? strlen(found) : 0;
    return tail == 2 || tail == 3 || strstr(name, "Wemb");
}

bool rapt__marian_transposed(const char *name)
{
    return !strstr(name, "Wemb");
}

/* Returns whether an entry can be an alpha. Marian's converter stores everything with "Wemb" in its
   name as intgemm8. This includes the alpha m of the embeddings, which it stores as the integer 127
   with the scale 127 / m. */
static bool is_alpha(const struct tensor_entry *entry)
{
    return entry->count == 1 && (strcmp(entry->dtype, "F32") == 0 || entry->scales == 1);
}

rapt_status rapt__marian_alphas(struct tensor_file *file, rapt_message *why)
{
    const size_t tail = strlen(MARIAN_ALPHA);
    for (size_t i = 0; i < file->count; i++) {
        struct tensor_entry *entry = &file->entries[i];
        size_t size = strlen(entry->name);
        if (size < tail || strcmp(entry->name + size - tail, MARIAN_ALPHA) != 0) continue;
        if (!is_alpha(entry))
            return rapt__tensors_bad(file, entry->name, "is not a single F32 or intgemm8 number",
                                     why);
        entry->use = TENSOR_ALPHA;
        struct tensor_entry *of = rapt__tensors_named(file, entry->name, size - tail);
        float alpha;
        rapt_status status = rapt__tensors_read(file, entry, 0, 1, &alpha, why);
        if (status != RAPT_OK) return status;
        if (!(alpha > 0 && alpha <= FLT_MAX))
            return rapt__tensors_bad(file, entry->name, "is not positive and finite", why);
        if (of) of->alpha = alpha;
    }
    return RAPT_OK;
}
