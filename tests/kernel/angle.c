/* angle.c - sines and cosines of angles: on every instruction set those of rapt__sincos rounded to
   float, for every length of a row; nothing past the end of the row is written. */
#include "kernel/trial.h"

enum { N = 67 };

static void equal_to_one_by_one(void **state)
{
    const struct kernels *k;
    double frequencies[N];

    (void)state;
    for (int i = 0; i < N; i++) frequencies[i] = 1 / (1 + 100 * uniform(3, (size_t)i));
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int n = 0; n < N; n++) {
            double position = (n % 2 ? -1 : 1) * floor(1e6 * uniform(4, (size_t)n));
            float sines[N + 1], cosines[N + 1];
            sines[n] = cosines[n] = 7;
            k->sine_cosine_row(position, frequencies, n, sines, cosines);
            for (int i = 0; i < n; i++) {
                double s, c;
                rapt__sincos(position * frequencies[i], &s, &c);
                assert_true(sines[i] == (float)s && cosines[i] == (float)c);
            }
            assert_true(sines[n] == 7 && cosines[n] == 7);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(equal_to_one_by_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
