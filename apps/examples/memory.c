/* memory.c - models without files: one is written to memory and read back, and read once more through a function of
   the program's own, as from an archive; all three have the same parameters. Prints how many, and if that holds. */
#include <rapt/rapt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rapt_message why;

static void ok(rapt_status status)
{
    if (status) fprintf(stderr, "%s\n", why.text), exit(1);
}

/* Bytes [at, at + count) of an archive; 0: done. */
static int read_archive(void *archive, uint64_t at, void *data, size_t count)
{
    memcpy(data, (const char *)archive + at, count);
    return 0;
}

static int same(const rapt_model *a, const rapt_model *b)
{
    int equal = 1;
    for (int i = 0; i < rapt_model_tensors(a); i++) {
        rapt_tensor tensor = rapt_model_tensor(a, i);
        size_t bytes = (size_t)tensor.rows * (size_t)tensor.columns * sizeof(float);
        float *x = malloc(bytes), *y = malloc(bytes);
        ok(rapt_model_read(a, i, x, &why));
        ok(rapt_model_read(b, i, y, &why));
        equal &= memcmp(x, y, bytes) == 0;
        free(x), free(y);
    }
    return equal;
}

int main(void)
{
    rapt_config config = {.size = sizeof config};
    const rapt_metadata note = {"made.by", "memory.c"};
    rapt_model *model, *again, *third;
    size_t size;
    ok(rapt_config_preset(&config, "tiny", 100, &why));
    ok(rapt_model_create(&model, &config, 1, NULL, &why));
    ok(rapt_model_save_memory(model, NULL, 0, &size, &note, 1, &why)); /* how much? */
    void *bytes = malloc(size);
    ok(rapt_model_save_memory(model, bytes, size, &size, &note, 1, &why));
    ok(rapt_model_load_memory(&again, bytes, size, NULL, NULL, &why));
    const rapt_reader archive = {read_archive, bytes, size};
    ok(rapt_model_load_from(&third, &archive, NULL, NULL, &why));
    printf("%zu parameters\n", rapt_model_parameters(model));
    printf("from memory: %s\n", same(model, again) ? "the same" : "another model");
    printf("through a function: %s, made by %s\n", same(model, third) ? "the same" : "another model",
           rapt_model_metadata(third, "made.by"));
    rapt_model_free(model), rapt_model_free(again), rapt_model_free(third), free(bytes);
    return 0;
}
