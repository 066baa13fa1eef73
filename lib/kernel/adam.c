/* adam.c - one step of Adam: updates the parameters and both moments of a span in place.

     g' = gradient_scale g,  m = beta1 m + (1 - beta1) g',  v = beta2 v + (1 - beta2) g'^2,
     p = p - decay p - rate (correct1 m) / (sqrt(correct2 v) + epsilon)

   Kingma and Ba 2015, "Adam", algorithm 1. Weight decay: Loshchilov and Hutter 2019, "Decoupled
   weight decay regularization", algorithm 2. */

static inline void adam_16(const struct adam *a, float *p, const float *g, float *m, float *v,
                           size_t left)
{
    vf grad = vf_mul(vf_load_partial(g, left, 0), vf_splat(a->gradient_scale));
    vf mean = vf_mul(vf_load_partial(m, left, 0), vf_splat(a->beta1));
    vf square = vf_mul(vf_load_partial(v, left, 0), vf_splat(a->beta2));
    mean = vf_fma(grad, vf_splat(1 - a->beta1), mean);
    square = vf_fma(vf_mul(grad, grad), vf_splat(1 - a->beta2), square);
    vf_store_partial(m, mean, left);
    vf_store_partial(v, square, left);

    vf root = vf_sqrt(vf_mul(square, vf_splat(a->correct2)));
    vf step =
        vf_div(vf_mul(mean, vf_splat(a->rate * a->correct1)), vf_add(root, vf_splat(a->epsilon)));
    vf old = vf_load_partial(p, left, 0);
    vf_store_partial(p, vf_sub(old, vf_fma(old, vf_splat(a->decay), step)), left);
}

static void adam_span(const struct adam *a, float *p, const float *g, float *m, float *v, size_t n)
{
    for (size_t i = 0; i < n; i += 16) adam_16(a, p + i, g + i, m + i, v + i, n - i);
}
