/* adam.c - one step of Adam for a span of parameters.

     g' = gradient_scale g,  m = beta1 m + (1 - beta1) g',  v = beta2 v + (1 - beta2) g'^2,
     p = p - decay p - rate (correct1 m) / (sqrt(correct2 v) + epsilon)

   Kingma and Ba 2015, "Adam", algorithm 1; decay as in Loshchilov and Hutter 2019, "Decoupled
   weight decay regularization", algorithm 2. */

static inline void adam_16(const struct adam *a, float *p, const float *g, float *m, float *v,
                           size_t left)
{
    vf grad = vf_mul(vf_load_up(g, left, 0), vf_all(a->gradient_scale));
    vf mean = vf_mul(vf_load_up(m, left, 0), vf_all(a->beta1));
    vf square = vf_mul(vf_load_up(v, left, 0), vf_all(a->beta2));
    mean = vf_fma(grad, vf_all(1 - a->beta1), mean);
    square = vf_fma(vf_mul(grad, grad), vf_all(1 - a->beta2), square);
    vf_store_up(m, mean, left);
    vf_store_up(v, square, left);

    vf root = vf_sqrt(vf_mul(square, vf_all(a->correct2)));
    vf step = vf_div(vf_mul(mean, vf_all(a->rate * a->correct1)), vf_add(root, vf_all(a->epsilon)));
    vf old = vf_load_up(p, left, 0);
    vf_store_up(p, vf_sub(old, vf_fma(old, vf_all(a->decay), step)), left);
}

static void adam_span(const struct adam *a, float *p, const float *g, float *m, float *v, size_t n)
{
    for (size_t i = 0; i < n; i += 16) adam_16(a, p + i, g + i, m + i, v + i, n - i);
}
