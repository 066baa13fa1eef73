/* gemv.c - weighted sums of rows and their gradient against the definition; rows of weight 0 may
   hold anything. */
#include "kernel/trial.h"

enum { ROWS = 9, WIDEST = 150, LD = WIDEST + 3 };

static float w[ROWS], x[ROWS * LD], y[ROWS * LD], start[ROWS * LD];

static void prepare(int width)
{
    fill(w, ROWS, -1, 1, (uint64_t)width);
    fill(x, ROWS * LD, -1, 1, 1);
    fill(start, ROWS * LD, -1, 1, 2);
    w[4] = 0, w[7] = -0.0f;
    memcpy(y, start, sizeof y);
}

static void weighted_sums(void **state)
{
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int width = 0; width <= WIDEST; width++) {
            prepare(width);
            for (int j = 0; j < LD; j++) x[4 * LD + j] = NAN, x[7 * LD + j] = INFINITY;
            k->gemv(w, ROWS, x, LD, width, y);
            for (int j = 0; j < LD; j++) {
                double want = (double)start[j];
                for (int s = 0; s < ROWS && j < width; s++)
                    if (w[s] != 0) want += (double)w[s] * (double)x[s * LD + j];
                close_to((double)y[j], want, j < width ? 1e-6 : 0);
            }
        }
}

static void spread(void **state)
{
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int width = 0; width <= WIDEST; width++) {
            prepare(width);
            for (int j = 0; j < LD; j++) y[4 * LD + j] = start[4 * LD + j] = INFINITY;
            k->rank1_update(w, ROWS, x, width, y, LD);
            for (int i = 0; i < ROWS * LD; i++) {
                double add = i % LD < width ? (double)w[i / LD] * (double)x[i % LD] : 0;
                close_to((double)y[i], (double)start[i] + add, i % LD < width ? 1e-6 : 0);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weighted_sums),
        cmocka_unit_test(spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
