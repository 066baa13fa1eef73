/* softmax.c - the exponentials and their sum in the softmax of a row of scores, the log-sum-exp of
   a row, the loss of a row of logits, and the k largest elements of a row.

     p[i] = exp(x[i] - max x) / sum,  sum = sum over i of exp(x[i] - max x)

   Loss with label smoothing s (Szegedy et al. 2016, "Rethinking the Inception architecture",
   section 7): the target probability is s/n for each of the n logits, plus 1 - s for the label, so

     loss = log sum - (1 - s) (x[label] - max x) - s mean(x - max x). */

static float max_row(const float *x, int n)
{
    vf a = vf_splat(-INFINITY), b = a, c = a, d = a;
    int i = 0;

    for (; i + 64 <= n; i += 64) {
        a = vf_max(a, vf_load(x + i));
        b = vf_max(b, vf_load(x + i + 16));
        c = vf_max(c, vf_load(x + i + 32));
        d = vf_max(d, vf_load(x + i + 48));
    }
    for (; i < n; i += 16) a = vf_max(a, vf_load_partial(x + i, (size_t)(n - i), -INFINITY));
    return vf_reduce_max(vf_max(vf_max(a, b), vf_max(c, d)));
}

static float row_origin(float max)
{
    return max == -INFINITY ? 0 : max;
}

/* Returns exp(x - origin), or exactly 0 for hidden keys (x = -infinity) in every rounding mode. */
static inline vf visible_exp(vf x, vf origin)
{
    vf e = vf_exp(vf_sub(x, origin));
    return vf_select(vf_equal(x, vf_splat(-INFINITY)), vf_zero(), e);
}

/* Replaces x with exp(x - origin) and returns the sum. `hides` is true if scores may be -infinity,
   which hides their keys. */
static inline __attribute__((always_inline)) double row_exp(float *x, int n, float origin,
                                                            bool hides)
{
    vf o = vf_splat(origin);
    double sum = 0;

    for (int i = 0; i < n;) {
        int end = n - i < BLOCK / 4 ? n : i + BLOCK / 4;
        vf s = vf_zero();
        for (; i < end; i += 16) {
            size_t left = (size_t)(end - i);
            vf logit = vf_load_partial(x + i, left, -INFINITY);
            vf e = hides ? visible_exp(logit, o) : vf_exp(vf_sub(logit, o));
            s = vf_add(s, e);
            vf_store_partial(x + i, e, left);
        }
        sum += (double)vf_sum(s);
    }
    return sum;
}

static void softmax_row(float *x, int n, float *max, float *sum)
{
    *max = max_row(x, n);
    *sum = (float)row_exp(x, n, row_origin(*max), true);
}

static double log_of(double x) /* returns log x in float precision, corrected for the rounding of x
                                  to a float */
{
    float near = (float)x, log = vf_reduce_max(vf_log(vf_splat(near)));
    return near > 0 && near < INFINITY ? (double)log + (x - (double)near) / (double)near
                                       : (double)log;
}

static float log_sum_row(const float *x, int n)
{
    float origin = row_origin(max_row(x, n));
    vf o = vf_splat(origin);
    double sum = 0;

    for (int i = 0; i < n;) {
        int end = n - i < BLOCK / 4 ? n : i + BLOCK / 4;
        vf s = vf_zero();
        for (; i < end; i += 16)
            s = vf_add(s, visible_exp(vf_load_partial(x + i, (size_t)(end - i), -INFINITY), o));
        sum += (double)vf_sum(s);
    }
    return (float)((double)origin + log_of(sum));
}

static double row_offsets(const float *x, int n, float origin) /* sum of x - origin */
{
    vf o = vf_splat(origin);
    double sum = 0;

    for (int i = 0; i < n;) {
        int end = n - i < BLOCK / 4 ? n : i + BLOCK / 4;
        vf s = vf_zero();
        for (; i < end; i += 16)
            s = vf_add(s, vf_sub(vf_load_partial(x + i, (size_t)(end - i), origin), o));
        sum += (double)vf_sum(s);
    }
    return sum;
}

static int row_find(const float *x, int n, float value) /* the index of the first element equal to
                                                           `value`, or 0 */
{
    vf v = vf_splat(value);

    for (int i = 0; i < n; i += 16) {
        unsigned bits = vm_bits(vf_equal(vf_load_partial(x + i, (size_t)(n - i), NAN), v));
        if (bits) return i + __builtin_ctz(bits);
    }
    return 0;
}

static void loss_row(float *x, int n, int label, float smoothing, float scale,
                     struct loss_sums *sums)
{
    float max = max_row(x, n), origin = row_origin(max);
    double s = (double)smoothing, smooth = s > 0 ? s * row_offsets(x, n, origin) / n : 0;
    double offset = (double)x[label] - (double)origin;

    sums->best = row_find(x, n, max);
    x[sums->best] = -INFINITY; /* the maximum's term, e^0, is added in double precision, to keep
                                  small losses precise */
    double sum = 1 + row_exp(x, n, origin, false), log_sum = log_of(sum);
    x[sums->best] = 1;
    sums->likelihood = (float)(log_sum - offset);
    sums->loss = (float)(log_sum - (1 - s) * offset - smooth);

    vf by = vf_splat((float)((double)scale / sum)),
       share = vf_splat((float)(s * (double)scale / n));
    for (int i = 0; i < n; i += 16) {
        size_t left = (size_t)(n - i);
        vf_store_partial(x + i, vf_sub(vf_mul(vf_load_partial(x + i, left, 0), by), share), left);
    }
    x[label] = x[label] - (float)((1 - s) * (double)scale);
}

/* Inserts a value after all values that are greater than or equal to it. Returns the new count, at
   most k. */
static int top_insert(int count, int k, int *index, float *value, int new_index, float new_value)
{
    int position = count < k ? count : k - 1;

    for (; position > 0 && value[position - 1] < new_value; position--) {
        value[position] = value[position - 1];
        index[position] = index[position - 1];
    }
    value[position] = new_value;
    index[position] = new_index;
    return count < k ? count + 1 : k;
}

static int top_more(const float *x, int n, int first, int k, int count, int *index, float *value)
{
    /* elements must exceed this to be inserted */
    vf bar = vf_splat(count == k && k > 0 ? value[k - 1] : -INFINITY);

    for (int i = 0; i < n && k > 0; i += 16) {
        unsigned bits = vm_bits(vf_less(bar, vf_load_partial(x + i, (size_t)(n - i), -INFINITY)));
        for (; bits; bits &= bits - 1) {
            int j = i + __builtin_ctz(bits);
            if (count == k && !(x[j] > value[k - 1])) continue;
            count = top_insert(count, k, index, value, first + j, x[j]);
            if (count == k) bar = vf_splat(value[k - 1]);
        }
    }
    return count;
}

static int top_row(const float *x, int n, int k, int *index, float *value)
{
    return top_more(x, n, 0, k, 0, index, value);
}
