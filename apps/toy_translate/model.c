/* model.c - opens a model file, or says that a file is no such file at all. */
#include "toy.h"
#include <stdio.h>

/* A safetensors file begins with the size of its header in eight bytes, then the header, which is
   JSON. */
static bool is_safetensors(const char *path)
{
    char bytes[9] = "";
    FILE *file = fopen(path, "rb");
    bool begins =
        file != NULL && fread(bytes, 1, sizeof bytes, file) == sizeof bytes && bytes[8] == '{';
    bool readable = file != NULL && !ferror(file);
    if (file != NULL) fclose(file);
    return begins || !readable; /* what cannot be read has a reason of its own */
}

int model_refuse(const char *path, rapt_status status, const rapt_message *why)
{
    if (status == RAPT_BAD_FILE && !is_safetensors(path))
        return failed("%s: not a safetensors file", path);
    return failed("%s", why->text);
}

int model_open(rapt_model **model, const char *path)
{
    rapt_message why = {""};
    rapt_status status = rapt_model_load(model, path, NULL, &why);
    return status == RAPT_OK ? EXIT_OK : model_refuse(path, status, &why);
}
