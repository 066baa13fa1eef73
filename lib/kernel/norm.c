/* norm.c - layer norm and RMSNorm of a row, and their gradients.

     y = (x - mean) inverse gain + bias,  inverse = 1 / sqrt(mean((x - mean)^2) + epsilon)

   Ba, Kiros and Hinton 2016, "Layer normalization", equation 4. The variance is computed from x -
   mean in a second pass over the row, so no precision is lost if the mean is far from 0. With xhat
   = (x - mean) inverse, g = dy gain, and means over the row:

     dx = inverse (g - mean(g) - xhat mean(g xhat)),  dgain = sum dy xhat,  dbias = sum dy.

   RMSNorm (Zhang and Sennrich 2019, equation 4) is the same without a bias and with 0 in place of
   mean and mean(g). */

static double row_sum(const float *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n;) {
        size_t end = i + block_length(n - i);
        vf a = vf_zero(), b = a, c = a, d = a;
        for (; i + 64 <= end; i += 64) {
            a = vf_add(a, vf_load(x + i));
            b = vf_add(b, vf_load(x + i + 16));
            c = vf_add(c, vf_load(x + i + 32));
            d = vf_add(d, vf_load(x + i + 48));
        }
        for (; i < end; i += 16) a = vf_add(a, vf_load_partial(x + i, end - i, 0));
        i = end;
        sum += (double)vf_sum(fold_4(a, b, c, d));
    }
    return sum;
}

static double row_deviation(const float *x, float mean, size_t n) /* sum (x - mean)^2 */
{
    vf m = vf_splat(mean);
    double sum = 0;

    for (size_t i = 0; i < n;) {
        size_t end = i + block_length(n - i);
        vf a = vf_zero(), b = a;
        for (; i + 32 <= end; i += 32) {
            vf d = vf_sub(vf_load(x + i), m), e = vf_sub(vf_load(x + i + 16), m);
            a = vf_fma(d, d, a);
            b = vf_fma(e, e, b);
        }
        for (; i < end; i += 16) {
            vf d = vf_sub(vf_load_partial(x + i, end - i, mean), m);
            a = vf_fma(d, d, a);
        }
        i = end;
        sum += (double)vf_sum(vf_add(a, b));
    }
    return sum;
}

static void norm_row(const float *x, const float *gain, const float *bias, float epsilon, int n,
                     float *y, float *mean, float *inverse)
{
    size_t end = (size_t)n;
    float m = bias ? (float)(row_sum(x, end) / n) : 0;
    double variance = row_deviation(x, m, end) / n;
    float inv = (float)(1 / __builtin_sqrt(variance + (double)epsilon));
    vf center = vf_splat(m), by = vf_splat(inv);

    for (size_t i = 0; i < end; i += 16) {
        vf xhat = vf_mul(vf_sub(vf_load_partial(x + i, end - i, 0), center), by);
        vf g = vf_load_partial(gain + i, end - i, 0);
        vf b = bias ? vf_load_partial(bias + i, end - i, 0) : vf_zero();
        vf_store_partial(y + i, vf_fma(xhat, g, b), end - i);
    }
    *mean = m;
    *inverse = inv;
}

static void norm_row_backward(const float *x, const float *gain, bool centered, float mean,
                              float inverse, const float *dy, const float *from, int n, float *dx)
{
    vf center = vf_splat(mean), by = vf_splat(inverse);
    size_t end = (size_t)n;
    double sum = 0, product_sum = 0;

    for (size_t i = 0; i < end;) {
        size_t stop = i + block_length(end - i);
        vf s = vf_zero(), t = s;
        for (; i < stop; i += 16) {
            vf xhat = vf_mul(vf_sub(vf_load_partial(x + i, stop - i, mean), center), by);
            vf g = vf_mul(vf_load_partial(dy + i, stop - i, 0),
                          vf_load_partial(gain + i, stop - i, 0));
            s = vf_add(s, g);
            t = vf_fma(g, xhat, t);
        }
        i = stop;
        sum += (double)vf_sum(s);
        product_sum += (double)vf_sum(t);
    }
    vf a = centered ? vf_splat((float)(sum / n)) : vf_zero(),
       b = vf_splat((float)(product_sum / n));
    const float *base = from ? from : dx;
    for (size_t i = 0; i < end; i += 16) {
        vf xhat = vf_mul(vf_sub(vf_load_partial(x + i, end - i, 0), center), by);
        vf g = vf_mul(vf_load_partial(dy + i, end - i, 0), vf_load_partial(gain + i, end - i, 0));
        vf d = vf_fnma(xhat, b, vf_sub(g, a));
        vf_store_partial(dx + i, vf_fma(by, d, vf_load_partial(base + i, end - i, 0)), end - i);
    }
}

struct norm_sums {
    struct kahan gain, bias;
};

static inline void norm_columns_16(struct norm_sums *s, vf x, vf dy, vf mean, vf inverse)
{
    kahan_add(&s->gain, vf_mul(dy, vf_mul(vf_sub(x, mean), inverse)));
    kahan_add(&s->bias, dy);
}

static void norm_columns(const float *x, const float *dy, ptrdiff_t ld, const float *mean,
                         const float *inverse, int rows, int n, float *dgain, float *dbias)
{
    for (int j = 0; j < n; j += 32) { /* two vectors at a time, for more independent sums */
        size_t left = (size_t)(n - j), more = left > 16 ? left - 16 : 0;
        struct norm_sums a = {kahan_zero(), kahan_zero()}, b = a;
        for (int r = 0; r < rows; r++) {
            const float *from = x + r * ld + j, *slope = dy + r * ld + j;
            vf m = vf_splat(mean[r]), inv = vf_splat(inverse[r]);
            norm_columns_16(&a, vf_load_partial(from, left, 0), vf_load_partial(slope, left, 0), m,
                            inv);
            if (more)
                norm_columns_16(&b, vf_load_partial(from + 16, more, 0),
                                vf_load_partial(slope + 16, more, 0), m, inv);
        }
        kahan_end(&a.gain, dgain + j, left);
        if (more) kahan_end(&b.gain, dgain + j + 16, more);
        if (!dbias) continue;
        kahan_end(&a.bias, dbias + j, left);
        if (more) kahan_end(&b.bias, dbias + j + 16, more);
    }
}
