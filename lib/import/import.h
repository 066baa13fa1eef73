/* import.h - the interface of the import layer: how other projects name and lay out a Transformer.
   A folder or file goes in as downloaded; a model with its tokenizers as metadata comes out, as if
   it had been loaded from a model file of our own. What cannot be held exactly is refused by its
   name.

   This layer knows other projects' files; it does not know how models compute. */
#ifndef RAPT_LIB_IMPORT_H
#define RAPT_LIB_IMPORT_H

#include "model/model.h"
#include <rapt/file.h>

/* A folder, a file that begins as no safetensors file does, or one of those without a configuration
   of ours beside a config.json. A path that cannot be read is not. */
bool rapt__import_wants(const char *path, const rapt_allocator *allocator);
/* *model is the caller's to free; `file` (NULL: not wanted) is called with every file of the folder
   once the model is complete. RAPT_BAD_FILE: the files are damaged, or hold what this library does
   not; *why names it. */
rapt_status rapt__import(rapt_model **model, const char *path, rapt_file_fn *file, void *user,
                         const rapt_allocator *allocator, rapt_message *why);

/* ---- export.c ---- */
enum export_format {
    EXPORT_MARIAN,
    EXPORT_BERGAMOT, /* Marian's with matrices in 8 bits */
    EXPORT_HF,
    EXPORT_CT2
};
/* Into a folder that is there, with the model's tokenizers. RAPT_BAD_ARGUMENT: the other project
   cannot hold the model; *why names the field of the configuration, or the tokenizer. */
rapt_status rapt__export(const rapt_model *model, enum export_format format, const char *folder,
                         rapt_message *why);

#endif
