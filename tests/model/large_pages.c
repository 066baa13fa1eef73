/* large_pages.c - the system is asked for large pages for the parameters of a model, and not for
   memory that a caller's allocator provides. */
#include "model/model.h"
#include "model/small.h"


/* Returns whether the mapping that contains an address has been advised to use large pages, or -1
   if the system does not report it. */
static int advised(const void *address)
{
    char line[1024];
    unsigned long from = 0, to = 0;
    int found = -1;
    FILE *file = fopen("/proc/self/smaps", "r");
    while (file && fgets(line, sizeof line, file)) {
        unsigned long a, b;
        if (sscanf(line, "%lx-%lx ", &a, &b) == 2) from = a, to = b;
        bool here = (uintptr_t)address >= from && (uintptr_t)address < to;
        if (here && strncmp(line, "VmFlags:", 8) == 0) found = strstr(line, " hg") != NULL;
    }
    if (file) fclose(file);
    return found;
}

static void *callers_alloc(void *user, size_t bytes)
{
    (void)user;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void callers_free(void *user, void *memory, size_t bytes)
{
    (void)user, (void)bytes;
    free(memory);
}

static void parameters(void **state)
{
    (void)state;
    const rapt_allocator callers = {callers_alloc, callers_free, NULL};
    rapt_config config = small_configs[0];
    config.source_vocab = config.target_vocab = 40000;
    config.width = 64, config.heads = 2;
    for (int own = 0; own < 2; own++) {
        rapt_model *model = NULL;
        rapt_message why = {""};
        if (rapt_model_create(&model, &config, 1, own ? NULL : &callers, &why))
            fail_msg("%s", why.text);
        size_t floats = model->layout.floats;
        assert_true(floats * sizeof(float) > (size_t)8 << 20);
        int found = advised(model->block + floats / 2);
        if (found >= 0) assert_int_equal(found, own);
        rapt_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parameters)};
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0) {
        puts("skipped: model/large_pages: the system has no transparent large pages");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
