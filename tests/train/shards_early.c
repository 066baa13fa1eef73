/* shards_early.c - what is told to be final while a shard is computed stays as it is, covers all
   floats, and is the sum that comes without being told. */
#include "train/small_shards.h"

struct told {
    rapt_subtree tree;
    size_t from; /* all floats from here on have been told */
    int times;
    float *copy; /* of the floats, as they were when they were told */
};

static void on_ready(void *user, const rapt_subtree *tree, size_t from, size_t until)
{
    struct told *told = user;
    assert_true(from < until && until == told->from);
    assert_true(!told->times || told->tree.gradient == tree->gradient);
    memcpy(told->copy + from, tree->gradient + from, (until - from) * sizeof *told->copy);
    told->tree = *tree, told->from = from, told->times++;
}

/* Shard k of a step on a, which tells what is final, and on b; `empty`: it has no sequences. */
static void tell_one(struct machine *a, struct machine *b, const rapt_config *c, int k, bool empty,
                     struct told *told)
{
    struct small_batch source, target;
    rapt_shard record = {.size = sizeof record};
    batch_of(c, k, &source, &target);
    const rapt_tokens *s = empty ? NULL : &source.tokens, *t = empty ? NULL : &target.tokens;
    assert_int_equal(rapt_train_shard_early(a->trainer, k, s, t, &record, on_ready, told, NULL),
                     RAPT_OK);
    assert_int_equal(rapt_train_shard(b->trainer, k, s, t, &record, NULL), RAPT_OK);
}

/* What was told while a shard was computed has stayed, and is the sum that there is without. */
static void told_early(const rapt_config *c, int threads)
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
        struct told told = {.from = floats, .copy = copy};
        rapt_subtree x[SHARDS], y[SHARDS];
        tell_one(&a, &b, c, k, empty, &told);
        assert_int_equal(told.times, empty ? 1 : 1 + layers);
        assert_true(told.from == 0);
        int count = rapt_train_shards_held(a.trainer, x, SHARDS);
        assert_int_equal(rapt_train_shards_held(b.trainer, y, SHARDS), count);
        assert_memory_equal(&x[count - 1], &told.tree, sizeof *x);
        assert_memory_equal(copy, told.tree.gradient, floats * sizeof *copy);
        for (int h = 0; h < count; h++)
            assert_memory_equal(x[h].gradient, y[h].gradient, floats * sizeof *copy);
    }
    free(copy);
    release(&a);
    release(&b);
}

static void test_early(void **state)
{
    (void)state;
    told_early(&wide, 3);
    told_early(&sampling, 2);
    for (int i = 0; i < COUNT(small_configs); i++) told_early(&small_configs[i], 1 + i % 3);
}

/* In another order than ascending, all is told at the end. */
static void test_late(void **state)
{
    (void)state;
    struct machine a = machine_of(&wide, 4, 2), b = machine_of(&wide, 4, 1);
    size_t floats;
    rapt_trainer_gradients(a.trainer, &floats, NULL);
    struct told told = {.from = floats, .copy = malloc(floats * sizeof *told.copy)};
    tell_one(&a, &b, &wide, 1, false, &told);
    told.from = floats, told.times = 0;
    tell_one(&a, &b, &wide, 0, false, &told);
    assert_true(told.times == 1 && told.from == 0 && told.tree.count == 2);
    free(told.copy);
    release(&a);
    release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_early),
        cmocka_unit_test(test_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
