/* metadata.c - the metadata of a model. Copies it from the file when the model is loaded, and
   merges it with the caller's metadata when the model is saved. Entries with the library's own keys
   (configuration, trainer counters, layout) are never copied; a save generates the ones that apply
   to the file. */
#include "model/model.h"

#include <string.h>

static const char *const own_keys[] = {CONFIG_KEY, TRAINER_KEY, LAYOUT_KEY};

static bool is_own(const char *key)
{
    for (size_t i = 0; i < sizeof own_keys / sizeof *own_keys; i++)
        if (strcmp(key, own_keys[i]) == 0) return true;
    return false;
}

rapt_status rapt__metadata_copy(rapt_model *m, const struct tensor_file *file)
{
    int all = rapt__tensors_metadata_count(file), count = 0;
    size_t size = 0;
    for (int i = 0; i < all; i++) {
        const struct tensor_metadata *n = rapt__tensors_metadata_at(file, i);
        if (is_own(n->key)) continue;
        count++, size += sizeof(rapt_metadata) + strlen(n->key) + strlen(n->value) + 2;
    }
    if (count == 0) return RAPT_OK;
    m->notes.pairs = rapt__alloc(&m->allocator, size);
    if (!m->notes.pairs) return RAPT_NO_MEMORY;
    m->notes.size = size;
    char *at = (char *)(m->notes.pairs + count);
    for (int i = 0; i < all; i++) {
        const struct tensor_metadata *n = rapt__tensors_metadata_at(file, i);
        if (is_own(n->key)) continue;
        size_t key_size = strlen(n->key) + 1, value_size = strlen(n->value) + 1;
        m->notes.pairs[m->notes.count++] = (rapt_metadata){at, at + key_size};
        memcpy(at, n->key, key_size);
        memcpy(at + key_size, n->value, value_size);
        at += key_size + value_size;
    }
    return rapt__scales_index(m);
}

rapt_status rapt__metadata_set(rapt_model *m, const rapt_metadata *metadata, int count)
{
    size_t size = (size_t)count * sizeof *metadata;
    for (int i = 0; i < count; i++)
        if (metadata[i].value) size += strlen(metadata[i].key) + strlen(metadata[i].value) + 2;
    rapt_metadata *all = rapt__alloc(&m->allocator, size);
    if (!all) return RAPT_NO_MEMORY;
    struct model_notes unused = m->notes; /* the entries may point into it */
    m->notes = (struct model_notes){.pairs = all, .size = size};
    char *at = (char *)(all + count);
    for (int i = 0; i < count; i++) {
        if (!metadata[i].value) continue;
        size_t key_size = strlen(metadata[i].key) + 1, value_size = strlen(metadata[i].value) + 1;
        all[m->notes.count++] = (rapt_metadata){at, at + key_size};
        memcpy(at, metadata[i].key, key_size);
        memcpy(at + key_size, metadata[i].value, value_size);
        at += key_size + value_size;
    }
    rapt_status status = rapt__scales_index(m);
    if (status) {
        const struct model_notes before = unused;
        unused = m->notes, m->notes = before;
    }
    rapt__free(&m->allocator, unused.pairs, unused.size);
    rapt__free(&m->allocator, unused.scale_lines, unused.scale_count * sizeof(size_t));
    return status;
}

static bool given(const rapt_metadata *metadata, int count, const char *key)
{
    for (int i = 0; i < count; i++)
        if (strcmp(metadata[i].key, key) == 0) return true;
    return false;
}

rapt_status rapt__metadata_replace(rapt_model *m, const char *key, const char *value)
{
    const rapt_metadata pair = {key, value};
    size_t bytes = ((size_t)m->notes.count + 1) * sizeof(rapt_metadata);
    rapt_metadata *all = rapt__alloc(&m->allocator, bytes);
    if (!all) return RAPT_NO_MEMORY;
    int count = 0;
    for (int i = 0; i < m->notes.count; i++)
        if (!given(&pair, 1, m->notes.pairs[i].key)) all[count++] = m->notes.pairs[i];
    all[count++] = pair;
    rapt_status status = rapt__metadata_set(m, all, count);
    rapt__free(&m->allocator, all, bytes);
    return status;
}

rapt_status rapt__metadata_check(const rapt_metadata *metadata, int count, rapt_message *why)
{
    if (count < 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "count is %d; it must be 0 or more", count);
    if (count > 0 && !metadata)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "metadata is NULL, but count is %d", count);
    for (int i = 0; i < count; i++) {
        if (!metadata[i].key)
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "metadata[%d].key is NULL", i);
        if (is_own(metadata[i].key))
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "metadata: key %s is reserved for the library", metadata[i].key);
        if (given(metadata, i, metadata[i].key))
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "metadata: key %s is given twice",
                              metadata[i].key);
    }
    return RAPT_OK;
}

static int by_key(const void *context, const void *a, const void *b)
{
    (void)context;
    return strcmp(((const struct tensor_metadata *)a)->key,
                  ((const struct tensor_metadata *)b)->key);
}

int rapt__metadata_merge(const rapt_model *m, const rapt_metadata *metadata, int count,
                         struct tensor_metadata *all)
{
    int n = 0;
    for (int i = 0; i < count; i++)
        if (metadata[i].value)
            all[n++] = (struct tensor_metadata){metadata[i].key, metadata[i].value};
    for (int i = 0; i < m->notes.count; i++)
        if (!given(metadata, count, m->notes.pairs[i].key))
            all[n++] = (struct tensor_metadata){m->notes.pairs[i].key, m->notes.pairs[i].value};
    rapt__sort(all, (size_t)n, sizeof *all, by_key, NULL);
    return n;
}

const char *rapt_model_metadata(const rapt_model *model, const char *key)
{
    if (!model || !key) return NULL;
    if (strcmp(key, CONFIG_KEY) == 0) return model->config_text;
    for (int i = 0; i < model->notes.count; i++)
        if (strcmp(model->notes.pairs[i].key, key) == 0) return model->notes.pairs[i].value;
    return NULL;
}

int rapt_model_metadata_count(const rapt_model *model)
{
    return model ? model->notes.count : 0;
}

rapt_metadata rapt_model_metadata_at(const rapt_model *model, int index)
{
    if (!model || index < 0 || index >= model->notes.count) return (rapt_metadata){NULL, NULL};
    return model->notes.pairs[index];
}
