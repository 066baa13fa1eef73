/* shared.c - packed model files on POSIX systems: two processes that map the same file share its
   memory, and a model may replace the file that it is mapped from. */
#include "model/smaps.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unmapped),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
