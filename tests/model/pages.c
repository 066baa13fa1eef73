/* pages.c - the memory of models as the system sees it. Two processes that map the same packed
   file share its memory, and a model may replace the file that it is mapped from. The system is
   asked for huge pages for the parameters of a model, and not for memory that a caller's
   allocator provides. */
#include "model/small.h"
#include "model/small_file.h"

#include <sys/wait.h>

/* Reads all of a model. Returns a sum, so that the reads are not optimized away. */
static double touched(const rapt_model *model)
{
    double sum = 0;
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        size_t size = small_size(model, i);
        float *data = malloc(size * sizeof *data);
        assert_int_equal(rapt_model_read(model, i, data, NULL), RAPT_OK);
        for (size_t j = 0; j < size; j++) sum += (double)data[j];
        free(data);
    }
    return sum;
}

/* 4 MB, so that whole pages matter. */
static const rapt_config large = {.size = sizeof large,
                                  .source_vocab = 7000,
                                  .target_vocab = 7000,
                                  .positions = 12,
                                  .width = 144,
                                  .heads = 2,
                                  .ffn_width = 32,
                                  .encoder_layers = 1,
                                  .decoder_layers = 1,
                                  .tie = RAPT_TIE_ALL};

/* A model that was written to has its own copy, and only the other one keeps the file mapped. */
static void test_unmapped(void **state)
{
    (void)state;
    char path[256];
    if (!has_smaps()) return;
    rapt_model *model = packed_model(&small_configs[0], small_path(path, "unmapped"));
    rapt_model *written = loaded(path, NULL), *other = loaded(path, NULL);
    float *zeros = calloc(small_size(model, 0), sizeof *zeros);
    assert_int_equal(rapt_model_write(written, 0, zeros, NULL), RAPT_OK);
    assert_true(smaps(path, "Size") > 0);
    rapt_model_free(other);
    assert_int_equal(smaps(path, "Size"), -1);
    rapt_model_free(written);
    rapt_model_free(model);
    free(zeros);
    unlink(path);
}

/* A second process maps the file, too. The pages must be shared by both and dirty in neither. */
static void test_shared(void **state)
{
    (void)state;
    char path[256];
    if (!has_smaps()) return;
    rapt_model *model = packed_model(&large, small_path(path, "shared")), *mapped;
    mapped = loaded(path, NULL);
    double sum = touched(mapped);
    assert_true(smaps(path, "Rss") > 4000);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) { /* reports by its exit code; assertions are for the parent */
        rapt_model *own = NULL;
        rapt_model_free(mapped);
        if (rapt_model_load(&own, path, NULL, NULL) || touched(own) != sum) _exit(1);
        bool shares = smaps(path, "Shared_Clean") > 4000 && smaps(path, "Private_Dirty") == 0 &&
                      smaps(path, "Shared_Dirty") == 0;
        _exit(shares ? 0 : 2);
    }
    int status = -1;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
    assert_int_equal(smaps(path, "Private_Dirty"), 0);
    assert_true(rapt_model_bytes(mapped) > rapt_model_parameters(mapped) * sizeof(float));
    rapt_model *read = loaded(path, &unmapped);
    rapt_model_free(mapped);
    assert_int_equal(smaps(path, "Rss"), -1);
    rapt_model_free(read);
    rapt_model_free(model);
    unlink(path);
}

/* The old file must stay valid as long as it is used. */
static void test_replaced(void **state)
{
    (void)state;
    char path[256];
    rapt_model *model = packed_model(&small_configs[1], small_path(path, "replaced"));
    rapt_model *mapped = loaded(path, NULL), *other = packed_model(&small_configs[3], path);
    small_same_models(model, mapped);
    assert_int_equal(rapt_model_save_with(mapped, path, &packed, NULL, 0, NULL), RAPT_OK);
    rapt_model *again = loaded(path, NULL);
    small_same_models(model, again);
    small_same_models(model, mapped);
    rapt_model_free(again);
    rapt_model_free(other);
    rapt_model_free(mapped);
    rapt_model_free(model);
    unlink(path);
}

/* Returns the KiB of all memory for which huge pages have been requested. */
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

static void test_large_pages(void **state)
{
    (void)state;
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0) {
        print_message("skipped: huge pages: the system has no transparent ones\n");
        return;
    }
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unmapped),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_large_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
