/* elementary.c - exp, log and tanh of rows in place, for layers above that cannot include
   simd_math.h. */

static void exp_row(float *x, size_t n)
{
    for (size_t i = 0; i < n; i += LANES)
        vf_store_partial(x + i, vf_exp(vf_load_partial(x + i, n - i, 0)), n - i);
}

static void log_row(float *x, size_t n)
{
    for (size_t i = 0; i < n; i += LANES)
        vf_store_partial(x + i, vf_log(vf_load_partial(x + i, n - i, 1)), n - i);
}

static void tanh_row(float *x, size_t n)
{
    for (size_t i = 0; i < n; i += LANES)
        vf_store_partial(x + i, vf_tanh(vf_load_partial(x + i, n - i, 0)), n - i);
}
