/* operations_folder.h - the operations on folders of other projects. A small model that Marian and
   CTranslate2 can represent, with a vocabulary of names, is exported to both and imported again. */
#ifndef RAPT_TESTS_PROCESS_OPERATIONS_FOLDER_H
#define RAPT_TESTS_PROCESS_OPERATIONS_FOLDER_H

#include "process/operations_text.h"

/* Adds the metadata and tensors of an imported model to the hash and frees the model. */
static inline rapt_status made(struct scene *s, uint64_t *h, rapt_status status, rapt_model *model)
{
    if (status) {
        s->changed |= model != scene_untouched;
        return status;
    }
    add_model(s, h, model);
    for (int i = 0; i < rapt_model_metadata_count(model); i++) {
        rapt_metadata note = rapt_model_metadata_at(model, i);
        add_text(h, note.key);
        add_text(h, rapt_model_metadata(model, note.key));
    }
    rapt_model_free(model);
    return status;
}

static rapt_status do_folder_import(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_status status = RAPT_OK;
    for (int i = 0; !status && i < SCENE_FOLDERS; i++) {
        rapt_model *model = scene_untouched;
        status = rapt_model_import(&model, s->folders[i].path, s->allocator, why);
        status = made(s, h, status, model);
    }
    return status;
}

/* Exports replace the files of a folder one by one. After a call that fails they must be as
   before. */
static rapt_status do_folder_export(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_model *model = NULL;
    rapt_status status =
        rapt_model_load_memory(&model, s->foreign, s->foreign_size, NULL, s->allocator, why);
    const rapt_export_options check = {.size = sizeof check, .check_only = 1};
    for (int i = 0; !status && i < SCENE_FOLDERS; i++)
        status =
            rapt_model_export_with(model, s->folders[i].format, s->folders[i].path, &check, why);
    for (int i = 0; !status && i < SCENE_FOLDERS; i++)
        status = rapt_model_export(model, s->folders[i].format, s->folders[i].path, why);
    for (int i = 0; i < SCENE_FOLDERS; i++)
        for (int f = 0; f < SCENE_FILES && s->folders[i].files[f]; f++) {
            uint64_t is = 0;
            scene_file_path(s, i, f);
            add_file(s, &is, s->file_path);
            if (status) s->changed |= is != s->folders[i].hashes[f];
            add(h, &is, sizeof is);
        }
    rapt_model_free(model);
    return status;
}

#endif
