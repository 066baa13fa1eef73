/* shards.c - sharded steps give the same parameters on any machines with any number of threads;
   sums follow the tree; shards that are not finite, forgotten or refused change nothing. */
#include "train/small_train.h"

enum { MACHINES = 8 };

/* Computes shard k of a step; the last shard of every second step is empty. */
static rapt_status compute(struct machine *m, const rapt_config *c, int step, int k, int shards,
                           rapt_shard *record)
{
    struct small_batch source, target;
    bool empty = shards > 1 && k == shards - 1 && step % 2;
    *record = (rapt_shard){.size = sizeof *record};
    batch_of(c, step * shards + k, &source, &target);
    return rapt_train_shard(m->trainer, k, empty ? NULL : &source.tokens,
                            empty ? NULL : &target.tokens, record, NULL);
}

/* Sums over all machines in pieces of a third of the floats, as if each machine summed its own. */
static void exchange(struct machine *machines, int count, int shards)
{
    rapt_subtree list[SHARDS], piece[SHARDS];
    int have = 0;
    size_t floats;
    rapt_trainer_gradients(machines[0].trainer, &floats, NULL);
    float *sum = malloc(floats * sizeof *sum);
    for (int m = 0; m < count; m++)
        have += rapt_train_shard_sums(machines[m].trainer, list + have, SHARDS - have);
    assert_true(have <= SHARDS);
    for (size_t at = 0; at < floats; at += floats / 3 + 1) {
        size_t size = floats - at < floats / 3 + 1 ? floats - at : floats / 3 + 1;
        for (int i = 0; i < have; i++) piece[i] = list[i], piece[i].gradient += at;
        assert_int_equal(rapt_shards_sum(shards, piece, have, size, NULL), RAPT_OK);
        memcpy(sum + at, piece[0].gradient, size * sizeof *sum);
    }
    for (int m = 0; m < count; m++)
        memcpy(rapt_trainer_gradients(machines[m].trainer, NULL, NULL), sum, floats * sizeof *sum);
    free(sum);
}

static void step_of(struct machine *machines, int count, const rapt_config *c, int step, int shards,
                    rapt_report *report)
{
    rapt_shard records[SHARDS];
    rapt_message why = {""};
    for (int m = 0; m < count; m++) {
        int first, end;
        assert_int_equal(rapt_shards_range(shards, count, m, &first, &end, NULL), RAPT_OK);
        for (int k = first; k < end; k++)
            assert_int_equal(compute(&machines[m], c, step, k, shards, &records[k]), RAPT_OK);
    }
    if (count > 1) exchange(machines, count, shards);
    for (int m = 0; m < count; m++) {
        *report = (rapt_report){.size = sizeof *report};
        if (rapt_train_shards_step(machines[m].trainer, records, report, &why))
            fail_msg("%s", why.text);
        assert_int_equal(report->step, step + 1);
    }
}

static long read_file(const char *path, char *bytes, size_t size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t count = fread(bytes, 1, size, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(unlink(path), 0);
    return (long)count;
}

/* Returns a checkpoint of a machine as bytes. */
static char *checkpoint(const struct machine *m, long *size)
{
    enum { MAX = 1 << 20 };
    char path[256], *bytes = calloc(1, MAX);
    small_path(path, "shards");
    assert_int_equal(rapt_trainer_save(m->trainer, path, NULL, 0, NULL), RAPT_OK);
    *size = read_file(path, bytes, MAX);
    assert_true(*size > 0 && *size < MAX);
    return bytes;
}

static void same_for_machines(const rapt_config *c, int shards)
{
    char *first = NULL;
    long first_size = 0, size;
    rapt_report first_report = {0}, report;
    for (int count = 1; count <= MACHINES && count <= shards; count++) {
        struct machine machines[MACHINES];
        for (int m = 0; m < count; m++) machines[m] = machine_of(c, shards, 1 + (m + count) % 3);
        for (int step = 0; step < 3; step++) step_of(machines, count, c, step, shards, &report);
        if (count == 1) first_report = report;
        assert_memory_equal(&report, &first_report, sizeof report);
        for (int m = 0; m < count; m++) {
            char *bytes = checkpoint(&machines[m], &size);
            if (!first) first = bytes, first_size = size;
            assert_int_equal(size, first_size);
            assert_memory_equal(bytes, first, (size_t)size);
            if (bytes != first) free(bytes);
            release_machine(&machines[m]);
        }
    }
    free(first);
}

static void test_machines(void **state)
{
    (void)state;
    for (int shards = 1; shards <= SHARDS; shards *= 2) same_for_machines(&sampling_config, shards);
    same_for_machines(&wide, 8);
    same_for_machines(&small_configs[7], 4);
    same_for_machines(&small_configs[10], 4);
}

/* A step of one shard has the bits of rapt_train_gradient and rapt_train_step. */
static void one_shard(const rapt_config *c)
{
    struct machine a = machine_of(c, 1, 2), b = machine_of(c, 0, 1);
    rapt_report report;
    for (int step = 0; step < 4; step++) {
        step_of(&a, 1, c, step, 1, &report);
        assert_true(one_step(b.trainer, c, step) == report.loss);
    }
    long x, y;
    char *of_shards = checkpoint(&a, &x), *plain = checkpoint(&b, &y);
    assert_int_equal(x, y);
    assert_memory_equal(of_shards, plain, (size_t)x);
    free(of_shards);
    free(plain);
    release_machine(&a);
    release_machine(&b);
}

static void test_one_shard(void **state)
{
    (void)state;
    one_shard(&wide);
    one_shard(&sampling_config);
}

/* ---- the tree, by its definition ---- */

static float node(float *const *leaves, int first, int count, size_t i)
{
    if (count == 1) return leaves[first][i];
    float left = node(leaves, first, count / 2, i);
    float right = node(leaves, first + count / 2, count / 2, i);
    return left + right;
}

/* The sum is that of the definition, also if shards are computed in another order. */
static void test_tree(void **state)
{
    (void)state;
    static const int orders[][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {5, 4, 7, 6, 1, 0, 3, 2}};
    struct machine m = machine_of(&wide, 8, 2);
    rapt_subtree held[SHARDS];
    rapt_shard record;
    float *leaves[8];
    size_t floats;
    rapt_trainer_gradients(m.trainer, &floats, NULL);
    for (int k = 0; k < 8; k++) {
        assert_int_equal(compute(&m, &wide, 0, k, 8, &record), RAPT_OK);
        assert_int_equal(record.shard, k);
        assert_int_equal(rapt_train_shard_sums(m.trainer, held, SHARDS), 1);
        assert_true(held[0].first == k && held[0].count == 1);
        leaves[k] = small_copy(held[0].gradient, floats * sizeof(float));
        rapt_train_shards_discard(m.trainer);
    }
    for (int o = 0; o < COUNT(orders); o++) {
        for (int k = 0; k < 8; k++)
            assert_int_equal(compute(&m, &wide, 0, orders[o][k], 8, &record), RAPT_OK);
        assert_int_equal(rapt_train_shard_sums(m.trainer, held, 1), 1);
        assert_int_equal(held[0].count, 8);
        assert_ptr_equal(held[0].gradient, rapt_trainer_gradients(m.trainer, NULL, NULL));
        size_t apart = 0;
        for (size_t i = 0; i < floats; i++) {
            assert_true(held[0].gradient[i] == node(leaves, 0, 8, i));
            float chain = 0; /* another order gives other bits: the comparison can fail */
            for (int k = 0; k < 8; k++) chain += leaves[k][i];
            if (chain != held[0].gradient[i]) apart++;
        }
        assert_true(apart > floats / 10);
        rapt_train_shards_discard(m.trainer);
    }
    for (int k = 0; k < 8; k++) free(leaves[k]);
    release_machine(&m);
}

/* Ranges follow one another, are nearly equal, and leave a block for the sum. */
static void parts_of(struct machine *m, int shards, int machines)
{
    int next = 0, first, end;
    for (int i = 0; i < machines; i++, next = end) {
        assert_int_equal(rapt_shards_range(shards, machines, i, &first, &end, NULL), RAPT_OK);
        assert_true(first == next && end >= first);
        assert_true(end - first <= 1.1 * ((shards - 1) / machines + 1));
        rapt_shard record = {.size = sizeof record};
        rapt_subtree held[SHARDS];
        for (int k = first; k < end; k++)
            assert_int_equal(rapt_train_shard(m->trainer, k, NULL, NULL, &record, NULL), RAPT_OK);
        int count = rapt_train_shard_sums(m->trainer, held, SHARDS);
        assert_true(count <= SHARDS);
        for (int h = 0; end - first < shards && h < count; h++)
            assert_ptr_not_equal(held[h].gradient, rapt_trainer_gradients(m->trainer, NULL, NULL));
        rapt_train_shards_discard(m->trainer);
    }
    assert_int_equal(next, shards);
}

static void test_memory(void **state)
{
    (void)state;
    for (int shards = 1; shards <= 1024; shards *= 2) {
        struct machine m = machine_of(&small_configs[12], shards, 1);
        for (int machines = 1; machines <= 9; machines++) parts_of(&m, shards, machines);
        parts_of(&m, shards, shards);
        parts_of(&m, shards, 2 * shards + 1);
        release_machine(&m);
    }
}

/* ---- shards that must change nothing ---- */

/* After a shard that was forgotten, or whose loss is NaN, everything has the bits of a trainer that
   never computed it, or that dropped the step too. */
static void test_dropped(void **state)
{
    (void)state;
    struct machine a = machine_of(&sampling_config, 4, 2), b = machine_of(&sampling_config, 4, 1);
    rapt_shard records[4];
    rapt_report report = {.size = sizeof report};
    rapt_message why = {""};
    step_of(&a, 1, &sampling_config, 0, 4, &report);
    step_of(&b, 1, &sampling_config, 0, 4, &report);
    for (int k = 0; k < 3; k++) compute(&a, &sampling_config, 4, k, 4, &records[k]);
    rapt_train_shards_discard(a.trainer);
    step_of(&a, 1, &sampling_config, 1, 4, &report);
    step_of(&b, 1, &sampling_config, 1, 4, &report);
    /* One machine computes all four shards, the other two of them; the loss of one is NaN. */
    float *before = small_parameters(a.model);
    rapt_subtree held;
    for (int k = 0; k < 4; k++) compute(&a, &sampling_config, 2, k, 4, &records[k]);
    for (int k = 0; k < 2; k++) compute(&b, &sampling_config, 2, k, 4, &records[k]);
    assert_int_equal(rapt_train_shard_sums(b.trainer, &held, 1), 1);
    held.gradient[3] = NAN, records[1].loss = (double)NAN;
    assert_int_equal(rapt_train_shards_step(a.trainer, records, &report, &why), RAPT_NOT_FINITE);
    assert_non_null(strstr(why.text, "shard 1"));
    assert_int_equal(rapt_train_shards_step(b.trainer, records, &report, &why), RAPT_NOT_FINITE);
    float *after = small_parameters(a.model);
    assert_memory_equal(before, after, rapt_model_parameters(a.model) * sizeof *after);
    step_of(&a, 1, &sampling_config, 2, 4, &report);
    step_of(&b, 1, &sampling_config, 2, 4, &report);
    small_same_models(a.model, b.model);
    long x, y;
    char *one = checkpoint(&a, &x), *other = checkpoint(&b, &y);
    assert_int_equal(x, y);
    assert_memory_equal(one, other, (size_t)x);
    free(one);
    free(other);
    free(before);
    free(after);
    release_machine(&a);
    release_machine(&b);
}

/* The loss of a damaged model is not finite either. */
static void test_not_finite(void **state)
{
    (void)state;
    struct machine m = machine_of(&sampling_config, 2, 2);
    rapt_shard records[2];
    rapt_report report = {.size = sizeof report};
    rapt_message why = {""};
    float *good = small_parameters(m.model), *at = good;
    small_shake(m.model, 5, INFINITY);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(compute(&m, &sampling_config, 0, k, 2, &records[k]), RAPT_OK);
        assert_true(!isfinite(records[k].loss));
    }
    assert_int_equal(rapt_train_shards_step(m.trainer, records, &report, &why), RAPT_NOT_FINITE);
    for (int t = 0; t < rapt_model_tensors(m.model); at += small_size(m.model, t), t++)
        assert_int_equal(rapt_model_write(m.model, t, at, NULL), RAPT_OK);
    step_of(&m, 1, &sampling_config, 0, 2, &report);
    assert_true(isfinite(report.gradient_norm));
    free(good);
    release_machine(&m);
}

/* ---- refusals ---- */

static void refused(rapt_status status, const rapt_message *why, const char *part)
{
    assert_int_equal(status, RAPT_BAD_ARGUMENT);
    if (!strstr(why->text, part)) fail_msg("'%s' does not say '%s'", why->text, part);
}

static void test_refused_shards(void **state)
{
    (void)state;
    struct machine m = machine_of(&wide, 8, 1), none = machine_of(&wide, 0, 1);
    struct small_batch s, t;
    rapt_shard r = {.size = sizeof r}, records[8];
    rapt_report report = {.size = sizeof report};
    rapt_message why;
    char path[256];
    batch_of(&wide, 0, &s, &t);
    refused(rapt_train_shard(none.trainer, 0, &s.tokens, &t.tokens, &r, &why), &why,
            "limits.shards 0");
    refused(rapt_train_shards_step(none.trainer, &r, NULL, &why), &why, "limits.shards 0");
    refused(rapt_train_shard(m.trainer, 8, &s.tokens, &t.tokens, &r, &why), &why, "shard is 8");
    refused(rapt_train_shard(m.trainer, 0, &s.tokens, NULL, &r, &why), &why, "target");
    refused(rapt_train_shard(m.trainer, 0, NULL, &t.tokens, &r, &why), &why, "source");
    for (int k = 0; k < 8; k += 2)
        assert_int_equal(compute(&m, &wide, 0, k, 8, &records[k]), RAPT_OK);
    refused(rapt_train_shard(m.trainer, 2, &s.tokens, &t.tokens, &r, &why), &why, "shard 2 has");
    refused(rapt_train_shard(m.trainer, 1, &s.tokens, &t.tokens, &r, &why), &why, "no memory");
    refused(rapt_train_gradient(m.trainer, &s.tokens, &t.tokens, &report, &why), &why, "shards");
    refused(rapt_train_step(m.trainer, &report, &why), &why, "shards");
    refused(rapt_trainer_save(m.trainer, small_path(path, "none"), NULL, 0, &why), &why,
            "gradients are waiting for a step");
    rapt_train_shards_discard(m.trainer);
    assert_int_equal(rapt_train_gradient(m.trainer, &s.tokens, &t.tokens, &report, NULL), RAPT_OK);
    refused(rapt_train_shard(m.trainer, 0, &s.tokens, &t.tokens, &r, &why), &why, "gradients from");
    refused(rapt_train_shards_step(m.trainer, records, NULL, &why), &why, "gradients from");
    assert_int_equal(rapt_train_step(m.trainer, &report, NULL), RAPT_OK);
    release_machine(&m);
    release_machine(&none);
}

static void test_refused_steps(void **state)
{
    (void)state;
    struct machine m = machine_of(&wide, 2, 1);
    rapt_shard records[2], wrong[2];
    rapt_report report = {.size = sizeof report};
    rapt_message why;
    for (int k = 0; k < 2; k++) assert_int_equal(compute(&m, &wide, 0, k, 2, &records[k]), RAPT_OK);
    memcpy(wrong, records, sizeof wrong);
    wrong[1].shard = 0;
    refused(rapt_train_shards_step(m.trainer, wrong, &report, &why), &why, "records[1]");
    wrong[1] = records[1], wrong[1].tokens = -1;
    refused(rapt_train_shards_step(m.trainer, wrong, &report, &why), &why, "tokens -1");
    wrong[0].tokens = wrong[1].tokens = 0;
    refused(rapt_train_shards_step(m.trainer, wrong, &report, &why), &why, "no token contributed");
    rapt_trainer_set_rate(m.trainer, -1);
    refused(rapt_train_shards_step(m.trainer, records, &report, &why), &why, "rate");
    rapt_trainer_set_rate(m.trainer, 0.01f);
    assert_int_equal(rapt_train_shards_step(m.trainer, records, &report, NULL), RAPT_OK);
    assert_int_equal(report.tokens, records[0].tokens + records[1].tokens);
    release_machine(&m);
}

static void test_refused_sums(void **state)
{
    (void)state;
    float g[4][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 11, 12}};
    rapt_message why;
    const rapt_subtree whole = {0, 4, g[0]}, left = {0, 2, g[0]}, right = {2, 2, g[1]};
    const rapt_subtree good[] = {{0, 1, g[0]}, {1, 1, g[1]}, right};
    const rapt_subtree odd[] = {{0, 1, g[0]}, {1, 2, g[1]}, {3, 1, g[2]}};
    const rapt_subtree hole[] = {{0, 1, g[0]}, right}, lacking[] = {left, {2, 2, NULL}};
    const rapt_subtree more[] = {left, right, {4, 2, g[2]}};
    refused(rapt_shards_sum(3, good, 3, 3, &why), &why, "shards is 3");
    refused(rapt_shards_sum(0, good, 3, 3, &why), &why, "shards is 0");
    refused(rapt_shards_sum(4, good, 2, 3, &why), &why, "covers 2 of 4");
    refused(rapt_shards_sum(4, odd, 3, 3, &why), &why, "list[1]");
    refused(rapt_shards_sum(4, hole, 2, 3, &why), &why, "list[1]");
    refused(rapt_shards_sum(4, lacking, 2, 3, &why), &why, "list[1].gradient");
    refused(rapt_shards_sum(4, more, 3, 3, &why), &why, "list[2]");
    assert_int_equal(rapt_shards_sum(4, &whole, 1, 3, NULL), RAPT_OK);
    assert_true(g[0][0] == 1);
    const rapt_subtree two[] = {left, {2, 2, g[2]}};
    assert_int_equal(rapt_shards_sum(4, two, 2, 2, NULL), RAPT_OK);
    assert_true(g[0][0] == 8 && g[0][1] == 10 && g[0][2] == 3);
}

static void test_limits(void **state)
{
    (void)state;
    static const int wrong[] = {-1, 3, 12, 2048};
    rapt_model *model = small_model(&wide, 1);
    rapt_train_options o = dropout_and_clipping();
    rapt_trainer *trainer = NULL;
    rapt_message why;
    rapt_train_limits l = small_limits;
    int first, end;
    refused(rapt_shards_range(6, 2, 0, &first, &end, &why), &why, "shards is 6");
    refused(rapt_shards_range(8, 0, 0, &first, &end, &why), &why, "machines is 0");
    refused(rapt_shards_range(8, 2, 2, &first, &end, &why), &why, "machine is 2");
    for (int i = 0; i < COUNT(wrong); i++) {
        l.shards = wrong[i];
        refused(rapt_trainer_create(&trainer, model, &o, &l, NULL, &why), &why, "limits.shards");
    }
    size_t bytes[2], block = rapt_model_parameters(model) * sizeof(float);
    l.shards = 0, bytes[0] = rapt_trainer_bytes(model, &l);
    l.shards = 8, bytes[1] = rapt_trainer_bytes(model, &l);
    assert_true(bytes[1] - bytes[0] >= 3 * block && bytes[1] - bytes[0] < 4 * block);
    l.reserved = 1;
    refused(rapt_trainer_create(&trainer, model, &o, &l, NULL, &why), &why, "limits.reserved");
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_machines),       cmocka_unit_test(test_one_shard),
        cmocka_unit_test(test_tree),           cmocka_unit_test(test_memory),
        cmocka_unit_test(test_dropped),        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_refused_shards), cmocka_unit_test(test_refused_steps),
        cmocka_unit_test(test_refused_sums),   cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
