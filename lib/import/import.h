/* import.h - interface of the import layer, which knows how other projects name and lay out the
   parameters of a Transformer. It turns a downloaded folder or file into a model with its
   tokenizers as metadata, as if it had been loaded from a model file of our own. It also writes
   models in the formats of other projects. A model with a feature that this library or the other
   project does not support is rejected with a message that states the reason.

   This layer handles other projects' files; the layers below it compute with the models. */
#ifndef RAPT_LIB_IMPORT_H
#define RAPT_LIB_IMPORT_H

#include "model/model.h"
#include <rapt/file.h>
#include <rapt/shortlist.h>

/* Returns whether a path must be imported rather than loaded: a folder, a file that does not begin
   like a safetensors file, or a safetensors file without our configuration and with a config.json
   in the same folder. Returns false for a file that cannot be opened or has fewer than 9 bytes. */
bool rapt__import_wants(const char *path, const rapt_allocator *allocator);
/* Imports a model, which the caller must free. `path` names its folder, its file of tensors, or an
   Argos package (.argosmodel). `precision` is the requested precision. After the model is complete,
   calls `file`, unless it is NULL, with `user` for every file in the folder and for every file that
   was read next to the folder. Returns RAPT_NO_FILE or RAPT_BAD_FILE if a file is missing or cannot
   be read, RAPT_BAD_FILE if the files are damaged or use a feature that this library does not
   support, RAPT_BAD_ARGUMENT if the model is too wide for the precision, and RAPT_NO_MEMORY if an
   allocation fails; *why names the file or the feature. */
rapt_status rapt__import(rapt_model **model, const char *path, rapt_precision precision,
                         rapt_file_fn *file, void *user, const rapt_allocator *allocator,
                         rapt_message *why);

/* ---- export.c ---- */
enum export_format {
    EXPORT_MARIAN,
    EXPORT_BERGAMOT, /* Marian's format with 8-bit matrices */
    EXPORT_FIREFOX,  /* like EXPORT_BERGAMOT, with Mozilla's names and settings */
    EXPORT_HF,
    EXPORT_CT2
};
/* Options of an export. */
struct export_settings {
    const char *source_language, *target_language; /* codes, required by EXPORT_FIREFOX; otherwise
                                                      NULL is allowed */
    const rapt_shortlist *shortlist;               /* written by EXPORT_FIREFOX; may be NULL */
    bool gzip;       /* EXPORT_FIREFOX compresses the model, vocabularies and shortlist */
    bool check_only; /* nothing is written; the folder may be NULL */
};
/* Writes a model and its tokenizers to an existing folder. Returns RAPT_BAD_ARGUMENT if the other
   project cannot represent the model, in which case *why contains as many of the reasons as fit,
   such as configuration fields; if the folder has a file of another model or format, which *why
   names; or if the path is too long. Also returns RAPT_NO_FILE if the folder cannot be listed or a
   file cannot be written, RAPT_BAD_FILE if a tokenizer of the model is damaged, and RAPT_NO_MEMORY
   if an allocation fails. */
rapt_status rapt__export(const rapt_model *model, enum export_format format, const char *folder,
                         const struct export_settings *settings, rapt_message *why);

#endif
