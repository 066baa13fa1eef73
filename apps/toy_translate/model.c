/* model.c - opens a model: a file of our own, or a folder or file of another project. */
#include "toy.h"

int model_open(rapt_model **model, const char *path)
{
    rapt_message why = {""};
    if (rapt_model_import(model, path, NULL, &why) == RAPT_OK) return EXIT_OK;
    return failed("%s", why.text);
}
