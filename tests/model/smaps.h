/* smaps.h - shared by the tests of packed files: saves a packed model, loads it, and reads what the
   system reports about its mapping. */
#ifndef RAPT_TESTS_MODEL_SMAPS_H
#define RAPT_TESTS_MODEL_SMAPS_H

#include "model/small.h"

static const rapt_save_options packed = {.size = sizeof packed, .packed = 1};
static const rapt_load_options unmapped = {.size = sizeof unmapped, .no_mapping = 1};

static inline rapt_model *packed_model(const rapt_config *config, const char *path)
{
    rapt_model *model = small_model(config, 3);
    const rapt_metadata metadata[] = {{"note", "kept"}};
    rapt_message why = {""};
    if (rapt_model_save_with(model, path, &packed, metadata, 1, &why)) fail_msg("%s", why.text);
    return model;
}

static inline rapt_model *loaded(const char *path, const rapt_load_options *options)
{
    rapt_model *model = NULL;
    rapt_message why = {""};
    if (rapt_model_load_with(&model, path, options, NULL, &why)) fail_msg("%s", why.text);
    return model;
}

/* ---- the mapping of a file according to /proc/self/smaps ---- */

/* Returns the sum of a field in KiB, or -1 if the file is not mapped or the system does not report
   it. */
static inline long smaps(const char *path, const char *key)
{
    char line[512];
    bool here = false;
    long value = -1, found;
    FILE *file = fopen("/proc/self/smaps", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (strchr(line, '-') && strchr(line, '-') < strchr(line, ' '))
            here = strstr(line, path) != NULL;
        size_t size = strlen(key);
        if (here && strncmp(line, key, size) == 0 && sscanf(line + size, ": %ld", &found) == 1)
            value = (value < 0 ? 0 : value) + found;
    }
    if (file) fclose(file);
    return value;
}

/* Tells whether packed files are mapped. Elsewhere they are read, since their numbers are
   little-endian. */
static inline bool maps_files(void)
{
    const int one = 1;
    return *(const unsigned char *)&one == 1;
}

static inline bool has_smaps(void)
{
    if (!maps_files()) {
        print_message("skipped: what is mapped: nothing is on a big-endian machine\n");
        return false;
    }
    if (access("/proc/self/smaps", R_OK) == 0) return true;
    print_message("skipped: what is mapped: the system has no /proc/self/smaps\n");
    return false;
}

#endif
