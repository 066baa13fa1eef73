/* large_pages.c - the system is asked for large pages for the parameters of a model, and not for
   memory that a caller's allocator provides. */
#include "model/small.h"

/* Returns the KiB of all memory for which large pages have been requested. */
static long advised(void)
{
    char line[1024];
    long size = 0, sum = 0;
    FILE *file = fopen("/proc/self/smaps", "r");
    while (file && fgets(line, sizeof line, file)) {
        (void)sscanf(line, "Size: %ld", &size);
        if (strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " hg")) sum += size;
    }
    if (file) fclose(file);
    return sum;
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
        long before = advised();
        if (rapt_model_create(&model, &config, 1, own ? NULL : &callers, &why))
            fail_msg("%s", why.text);
        size_t kib = rapt_model_bytes(model) >> 10;
        assert_true(kib > (size_t)8 << 10);
        if (own)
            assert_true(advised() - before > (long)kib / 2);
        else
            assert_int_equal(advised(), before);
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
