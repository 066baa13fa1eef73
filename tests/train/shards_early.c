/* shards_early.c - the floats reported as final while a shard is computed do not change any more,
   are all floats in the end, and are the sum that rapt_train_shard gives. */
#include "train/small_train.h"

struct reported {
    rapt_subtree tree;
    size_t from; /* all floats from here on have been reported */
    int times;
    float *copy; /* the floats as they were when reported */
};

static void on_ready(void *user, const rapt_subtree *tree, size_t from, size_t until)
{
    struct reported *reported = user;
    assert_true(from < until && until == reported->from);
    assert_true(!reported->times || reported->tree.gradient == tree->gradient);
    memcpy(reported->copy + from, tree->gradient + from, (until - from) * sizeof *reported->copy);
    reported->tree = *tree, reported->from = from, reported->times++;
}

/* Computes shard k on a, which reports final floats, and on b. empty: it has no sequences. */
static void compute_one(struct machine *a, struct machine *b, const rapt_config *c, int k,
                        bool empty, struct reported *reported)
{
    struct small_batch source, target;
    rapt_shard record = {.size = sizeof record};
    batch_of(c, k, &source, &target);
    const rapt_tokens *s = empty ? NULL : &source.tokens, *t = empty ? NULL : &target.tokens;
    assert_int_equal(rapt_train_shard_early(a->trainer, k, s, t, &record, on_ready, reported, NULL),
                     RAPT_OK);
    assert_int_equal(rapt_train_shard(b->trainer, k, s, t, &record, NULL), RAPT_OK);
}

/* Floats reported during the computation have not changed, and are the sum that b has. */
static void compare_early(const rapt_config *c, int threads)
{
    struct machine a = machine_of(c, 8, threads), b = machine_of(c, 8, 1);
    size_t floats;
    rapt_trainer_gradients(a.trainer, &floats, NULL);
    float *copy = malloc(floats * sizeof *copy);
    int layers = c->encoder_layers + c->decoder_layers;
    int stacks = (c->encoder_layers > 0) + (c->decoder_layers > 0);
    if (c->norm_order == RAPT_NORM_ORDER_PRE) layers -= stacks;
    for (int k = 0; k < 8; k++) {
        bool empty = k % 3 == 1;
        struct reported reported = {.from = floats, .copy = copy};
        rapt_subtree x[SHARDS], y[SHARDS];
        compute_one(&a, &b, c, k, empty, &reported);
        assert_int_equal(reported.times, empty ? 1 : 1 + layers);
        assert_true(reported.from == 0);
        int count = rapt_train_shard_sums(a.trainer, x, SHARDS);
        assert_int_equal(rapt_train_shard_sums(b.trainer, y, SHARDS), count);
        assert_memory_equal(&x[count - 1], &reported.tree, sizeof *x);
        assert_memory_equal(copy, reported.tree.gradient, floats * sizeof *copy);
        for (int h = 0; h < count; h++)
            assert_memory_equal(x[h].gradient, y[h].gradient, floats * sizeof *copy);
    }
    free(copy);
    release_machine(&a);
    release_machine(&b);
}

static void test_early(void **state)
{
    (void)state;
    compare_early(&wide, 3);
    compare_early(&sampling_config, 2);
    for (int i = 0; i < COUNT(small_configs); i++) compare_early(&small_configs[i], 1 + i % 3);
}

/* If shards are not in ascending order, everything is reported at the end. */
static void test_late(void **state)
{
    (void)state;
    struct machine a = machine_of(&wide, 4, 2), b = machine_of(&wide, 4, 1);
    size_t floats;
    rapt_trainer_gradients(a.trainer, &floats, NULL);
    struct reported reported = {.from = floats, .copy = malloc(floats * sizeof *reported.copy)};
    compute_one(&a, &b, &wide, 1, false, &reported);
    reported.from = floats, reported.times = 0;
    compute_one(&a, &b, &wide, 0, false, &reported);
    assert_true(reported.times == 1 && reported.from == 0 && reported.tree.count == 2);
    free(reported.copy);
    release_machine(&a);
    release_machine(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_early),
        cmocka_unit_test(test_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
