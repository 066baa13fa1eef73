/* pages.c - nothing is read or written past the end of an array: each array ends at the end of a
   page that is followed by an inaccessible one. */
#define _DEFAULT_SOURCE
#include "trial.h"

#include <sys/mman.h>
#include <unistd.h>

struct fence {
    char *base;
    size_t size;
};

static void *fenced(struct fence *f, const void *x, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), inside = (bytes + page - 1) / page * page;
    f->size = inside + page;
    f->base = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(f->base != MAP_FAILED);
    assert_int_equal(mprotect(f->base + inside, page, PROT_NONE), 0);
    char *at = f->base + inside - bytes;
    if (bytes) memcpy(at, x, bytes);
    return at;
}

/* Runs the same problem with all arrays ending at fences; gradients start at 0. */
static void run_fenced(const struct trial *plain)
{
    struct trial x = *plain;
    enum { INPUTS = 6, ARRAYS = 11 };
    float **arrays[ARRAYS] = {&x.q,   &x.k,  &x.v,  &x.bias, &x.dout, &x.out,
                              &x.lse, &x.dq, &x.dk, &x.dv,   &x.dbias};
    const size_t sizes[ARRAYS] = {x.nq,   x.nk, x.nv, x.nbias, x.no,   x.no,
                                  x.nlse, x.nq, x.nk, x.nv,    x.nbias};
    struct fence fence[ARRAYS], capacity;
    for (int i = 0; i < ARRAYS; i++) {
        float *from = *arrays[i], *nothing = zeros(sizes[i]);
        *arrays[i] =
            fenced(fence + i, i < INPUTS && from ? from : nothing, sizes[i] * sizeof(float));
        free(nothing);
    }
    void *workspace = make_workspace(&x.a);
    size_t bytes = (rapt_attention_workspace(&x.a) + 63) / 64 * 64;
    void *mine = fenced(&capacity, workspace, bytes);
    if (x.a.mask.bias) x.a.mask.bias = x.bias;
    x.saved.lse = x.lse;
    assert_int_equal(rapt_attention_forward(&x.a, x.q, x.k, x.v, x.out, &x.saved, mine, NULL),
                     RAPT_OK);
    assert_int_equal(
        rapt_attention_backward(&x.a, x.q, x.k, x.v, x.out, &x.saved, x.dout, NULL,
                                &(rapt_gradients){.size = sizeof(rapt_gradients),
                                                  .q = x.dq,
                                                  .k = x.dk,
                                                  .v = x.dv,
                                                  .bias = x.a.mask.bias ? x.dbias : NULL},
                                mine, NULL),
        RAPT_OK);
    assert_true(same_bits(x.out, plain->out, x.no));
    assert_true(same_bits(x.lse, plain->lse, x.nlse));
    assert_true(same_bits(x.dq, plain->dq, x.nq));
    assert_true(same_bits(x.dk, plain->dk, x.nk));
    assert_true(same_bits(x.dv, plain->dv, x.nv));
    for (int i = 0; i < ARRAYS; i++) munmap(fence[i].base, fence[i].size);
    munmap(capacity.base, capacity.size);
    free(workspace);
}

static void fences(void **state)
{
    (void)state;
    uint64_t r = 1;
    for (int i = 0; i < 120; i++) {
        const struct choice c = {.batch = 1 + i % 2,
                                 .heads = 2,
                                 .key_heads = i % 3 == 0,
                                 .queries = 1 + draw_below(&r, 70),
                                 .keys = 1 + draw_below(&r, 150),
                                 .key_width = 1 + draw_below(&r, 40),
                                 .value_width = 1 + draw_below(&r, 40),
                                 .bias = i % 4 == 0 ? SHARED | i % 8 : NONE,
                                 .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
                                 .causal = i % 5 == 0};
        struct trial x = make_trial(&c, (uint64_t)i);
        run_forward(&x);
        run_backward(&x);
        run_fenced(&x);
        drop_trial(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fences)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
