/* choose.c - which instruction set is used, and switching to another one. */
#include "kernel/trial.h"

static void names_and_limits(void **state)
{
    (void)state;
    assert_string_equal(rapt_isa_name(RAPT_ISA_SCALAR), "scalar");
    assert_string_equal(rapt_isa_name(RAPT_ISA_AVX512), "avx512");
    assert_null(rapt_isa_name((rapt_isa)(RAPT_ISA_AVX512 + 1)));
    assert_null(rapt_isa_name((rapt_isa)-1));
    assert_null(rapt__kernels_of((rapt_isa)99));
    assert_int_equal(rapt_isa_use((rapt_isa)99), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_isa_use((rapt_isa)-1), RAPT_BAD_ARGUMENT);
}

static void the_best_is_used(void **state)
{
    const struct kernels *k, *last = NULL;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;) last = k;
    assert_non_null(last); /* plain C is always available */
    assert_int_equal(rapt_isa_used(), last->isa);
    assert_ptr_equal(rapt__kernels(), last);
}

static void any_may_be_used(void **state)
{
    rapt_isa first = rapt_isa_used();

    (void)state;
    for (int isa = 0; rapt_isa_name((rapt_isa)isa) != NULL; isa++) {
        rapt_isa before = rapt_isa_used();
        const struct kernels *k = rapt__kernels_of((rapt_isa)isa);
        assert_int_equal(rapt_isa_use((rapt_isa)isa), k ? RAPT_OK : RAPT_BAD_ARGUMENT);
        assert_int_equal(rapt_isa_used(), k ? (rapt_isa)isa : before);
    }
    assert_int_equal(rapt_isa_use(first), RAPT_OK);
}

static void only_what_the_processor_has(void **state)
{
    (void)state;
    assert_true(rapt__processor_has(RAPT_ISA_SCALAR));
    assert_false(rapt__processor_has((rapt_isa)99));
    assert_false(rapt__processor_has(RAPT_ISA_NEON) && rapt__processor_has(RAPT_ISA_AVX2));
    assert_true(rapt__processor_has(RAPT_ISA_AVX2) || !rapt__processor_has(RAPT_ISA_AVX512));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_is_used),
        cmocka_unit_test(names_and_limits),
        cmocka_unit_test(any_may_be_used),
        cmocka_unit_test(only_what_the_processor_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
