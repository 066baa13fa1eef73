/* simd_math.h - exp, exp2, log and tanh of vectors, inlined. With fused multiply-add, their results
   are bit-identical on every instruction set, and the stated errors are maxima over all arguments.
   The polynomials are minimax fits of the relative error (Lawson's reweighted least squares). */

/* For -110 <= x <= 89, splits e^x into p 2^n, where n is an integer and p is in [0.7, 1.5]. Returns
   p and stores n in *exponent: x = n ln 2 + r with |r| <= ln 2 / 2, and p = e^r. ln 2 is split into
   two parts, the first rounded to 16 bits, so n times the first is exact. */
static inline vf vf_exp_parts(vf x, vf *exponent)
{
    vf magic = vf_splat(0x1.8p23f), n = vf_sub(vf_fma(x, vf_splat(0x1.715476p0f), magic), magic);
    vf r = vf_fnma(n, vf_splat(0x1.7f7d1cp-20f), vf_fnma(n, vf_splat(0x1.62e4p-1f), x));
    vf p = vf_fma(vf_splat(0x1.6a4f52p-10f), r, vf_splat(0x1.12397ep-7f));

    p = vf_fma(p, r, vf_splat(0x1.5558aep-5f));
    p = vf_fma(p, r, vf_splat(0x1.555492p-3f));
    p = vf_fma(p, r, vf_splat(0x1.fffffcp-2f));
    p = vf_fma(p, r, vf_splat(1));
    *exponent = n;
    return vf_fma(p, r, vf_splat(1));
}

/* Returns e^x with an error below 0.90 ulp: 0 for -infinity, +infinity on overflow, and NaN for
   NaN. Denormal results are rounded once. */
static inline vf vf_exp(vf x)
{
    vf n, p = vf_exp_parts(vf_min(vf_splat(89), vf_max(vf_splat(-105), x)), &n);

    return vf_ldexp(p, n);
}

/* Returns 2^r for |r| <= 1/2. */
static inline vf vf_exp2_small(vf r)
{
    vf p = vf_fma(vf_splat(0x1.416b46p-13f), r, vf_splat(0x1.5f0830p-10f));

    p = vf_fma(p, r, vf_splat(0x1.3b2de0p-7f));
    p = vf_fma(p, r, vf_splat(0x1.c6af7cp-5f));
    p = vf_fma(p, r, vf_splat(0x1.ebfbdcp-3f));
    p = vf_fma(p, r, vf_splat(0x1.62e430p-1f));
    return vf_fma(p, r, vf_splat(1));
}

/* Returns 2^x for x <= 128 with an error below 0.88 ulp, and NaN for NaN. Takes less work than
   vf_exp. The result is 0 for x < -100: a weight this small is negligible next to a weight of 1,
   but it or its products in the backward pass could be denormal, and multiplying by a denormal
   takes more than a hundred cycles on Intel processors. */
#ifdef VF_REST /* vf_rest and vf_ldexp accept any x */
static inline vf vf_exp2(vf x)
{
    vf power = vf_ldexp(vf_exp2_small(vf_rest(x)), vf_round(x));

    return vf_select(vf_less(x, vf_splat(-100)), vf_zero(), power);
}
#else
static inline vf vf_exp2(vf x)
{
    vf min = vf_splat(-100), c = vf_max(min, x), n = vf_round(c);
    vf power = vf_power(vf_exp2_small(vf_sub(c, n)), n);

    return vf_select(vf_less(x, min), vf_zero(), power);
}
#endif

/* Returns log(2^n (1 + f)), where 1 + f = m is in [sqrt 1/2, sqrt 2): log(1 + f) = f - f^2/2 + f^3
   p(f). */
static inline vf vf_log_parts(vf m, vf n)
{
    vf f = vf_sub(m, vf_splat(1));
    vf p = vf_fma(vf_splat(-0x1.38c8f2p-4f), f, vf_splat(0x1.055e92p-3f));

    p = vf_fma(p, f, vf_splat(-0x1.0d824ap-3f));
    p = vf_fma(p, f, vf_splat(0x1.22d932p-3f));
    p = vf_fma(p, f, vf_splat(-0x1.54728ap-3f));
    p = vf_fma(p, f, vf_splat(0x1.99a01cp-3f));
    p = vf_fma(p, f, vf_splat(-0x1.000226p-2f));
    p = vf_fma(p, f, vf_splat(0x1.555554p-2f));
    p = vf_fma(p, f, vf_splat(-0.5f));
    p = vf_fma(p, vf_mul(f, f), vf_mul(n, vf_splat(0x1.7f7d1cp-20f)));
    return vf_fma(n, vf_splat(0x1.62e4p-1f), vf_add(f, p));
}

/* Returns the natural logarithm of a normal, positive, finite number. */
static inline vf vf_log_normal(vf x)
{
    vf n, m = vf_frexp(x, &n);

    return vf_log_parts(m, n);
}

/* Returns the natural logarithm with an error below 0.88 ulp: -infinity for 0, +infinity for
   +infinity, and NaN for NaN and negative numbers. */
static inline vf vf_log(vf x)
{
    vm small = vf_less(x, vf_splat(0x1p-126f));
    vf n, m = vf_frexp(vf_select(small, vf_mul(x, vf_splat(0x1p23f)), x), &n);
    vf p = vf_log_parts(m, vf_sub(n, vf_select(small, vf_splat(23), vf_zero())));

    p = vf_select(vf_less(x, vf_splat(INFINITY)), p, x); /* keeps +infinity and NaN */
    p = vf_select(vf_less(x, vf_zero()), vf_splat(NAN), p);
    return vf_select(vf_equal(x, vf_zero()), vf_splat(-INFINITY), p);
}

/* Returns the hyperbolic tangent with an error below 0.96 ulp: x + x^3 p(x^2) for |x| < 1, and
   otherwise 1 - 2 / (e^(2|x|) + 1) with the sign of x. */
static inline vf vf_tanh(vf x)
{
    vf a = vf_abs(x), s = vf_mul(x, x), e = vf_exp(vf_add(a, a));
    vf far = vf_sub(vf_splat(1), vf_div(vf_splat(2), vf_add(e, vf_splat(1))));
    vf p = vf_fma(vf_splat(0x1.e76a14p-14f), s, vf_splat(-0x1.ae8c22p-11f));

    p = vf_fma(p, s, vf_splat(0x1.8f860ep-9f));
    p = vf_fma(p, s, vf_splat(-0x1.18db62p-7f));
    p = vf_fma(p, s, vf_splat(0x1.64c044p-6f));
    p = vf_fma(p, s, vf_splat(-0x1.b9f6dap-5f));
    p = vf_fma(p, s, vf_splat(0x1.11103cp-3f));
    p = vf_fma(p, s, vf_splat(-0x1.555552p-2f));
    p = vf_fma(vf_mul(p, s), x, x);
    return vf_sign(vf_select(vf_less(a, vf_splat(1)), p, far), x);
}
