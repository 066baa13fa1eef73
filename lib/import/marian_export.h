/* marian_export.h - declarations shared by the exports in Marian's format, which differ in the
   names of files and in precision. */
#ifndef RAPT_LIB_IMPORT_MARIAN_EXPORT_H
#define RAPT_LIB_IMPORT_MARIAN_EXPORT_H

#include "import/export.h"

/* The vocabularies of a folder: one for both sides, or one for each. */
enum marian_side { MARIAN_BOTH, MARIAN_SOURCE, MARIAN_TARGET, MARIAN_SIDES };
struct marian_names { /* names of the files that an export writes */
    const char *model;
    const char *pieces[MARIAN_SIDES]; /* SentencePiece models */
    const char *lists[MARIAN_SIDES];  /* lists of names; NULL if lists are not allowed */
};
enum { MARIAN_SETTINGS = 4096 };
/* Composes special:model.yml, the configuration in Marian's files. */
void rapt__marian_settings(const rapt_config *config, char text[MARIAN_SETTINGS]);
/* Checks the vocabularies, then writes them and the model. */
rapt_status rapt__marian_export(struct exporting *e, enum marian_precision precision,
                                const struct marian_names *names);

#endif
