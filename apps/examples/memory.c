/* memory.c - saves and loads a model without files: first in memory, then through the program's own functions, as
   for an archive. Prints the number of parameters, and whether they are the same in all three models. */
#include <rapt/rapt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rapt_message why;
static char archive[1 << 23];
static size_t archive_size;

static void ok(rapt_status status)
{
    if (status) fprintf(stderr, "%s\n", why.text), exit(1);
}

/* Appends to the archive. A nonzero result means an error. */
static int write_archive(void *user, const void *data, size_t count)
{
    (void)user;
    if (count > sizeof archive - archive_size) return 1;
    memcpy(archive + archive_size, data, count), archive_size += count;
    return 0;
}

/* Reads bytes [at, at + count). */
static int read_archive(void *user, uint64_t at, void *data, size_t count)
{
    (void)user, memcpy(data, archive + at, count);
    return 0;
}

static const char *compare(const rapt_model *a, const rapt_model *b)
{
    static float x[1 << 20], y[1 << 20]; /* larger than any parameter */
    for (int i = 0; i < rapt_model_tensors(a); i++) {
        rapt_tensor tensor = rapt_model_tensor(a, i);
        ok(rapt_model_read(a, i, x, &why)), ok(rapt_model_read(b, i, y, &why));
        if (memcmp(x, y, (size_t)tensor.rows * (size_t)tensor.columns * sizeof *x)) return "another model";
    }
    return "the same";
}

int main(void)
{
    rapt_config config = {.size = sizeof config};
    const rapt_metadata note = {"made.by", "memory.c"};
    rapt_model *model, *again, *third;
    ok(rapt_config_preset(&config, "tiny", 100, &why));
    ok(rapt_model_create(&model, &config, 1, NULL, &why));
    ok(rapt_model_save_memory(model, archive, sizeof archive, &archive_size, &note, 1, &why));
    ok(rapt_model_load_memory(&again, archive, archive_size, NULL, NULL, &why)), archive_size = 0;
    ok(rapt_model_save_to(model, &(rapt_writer){write_archive, NULL}, &note, 1, &why));
    ok(rapt_model_load_from(&third, &(rapt_reader){read_archive, NULL, archive_size}, NULL, NULL, &why));
    ok(rapt_model_check(third, &why)); /* no parameter is infinite or NaN */
    printf("%zu parameters\nfrom memory: %s\nthrough functions: %s, made by %s\n", rapt_model_parameters(model),
           compare(model, again), compare(model, third), rapt_model_metadata(third, "made.by"));
    rapt_model_free(model), rapt_model_free(again), rapt_model_free(third);
}
