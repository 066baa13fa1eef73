/* sample.c - draws the next token of each source from softmax(logits / temperature). The options
   top_k and top_p restrict the draw to the top_k most likely tokens, and to the smallest set of
   most likely tokens whose probabilities sum to at least top_p (Holtzman et al. 2020). The random
   number for a token depends only on the seed, the sequence number of its source and the position
   of the token, not on the batch.

   A draw inverts the cumulative distribution. A complete distribution is scanned in token order,
   and the sums of blocks are used to skip whole blocks. A truncated distribution is scanned in
   descending order of probability, using a heap of the tokens that may belong to it. The threads of
   a team divide the sources among themselves. */
#include "generate/search.h"

#include <math.h>

enum { BLOCK = 64, SUMS = 8 };

int rapt__sample_blocks(int vocab)
{
    return rapt__ceil_div(vocab, BLOCK);
}

/* ---- a heap of indices of values, with the largest value at the root ---- */

struct heap {
    const float *values;
    int *items; /* items[0 .. left) are the heap; the indices taken so far follow, latest first */
    int left;
};

/* Orders indices so that the root has the largest value. Among equal values, the one with the
   lowest index comes first. */
static int by_value(const void *context, const void *x, const void *y)
{
    const float *values = context;
    int a = *(const int *)x, b = *(const int *)y;
    if (values[a] != values[b]) return values[a] < values[b] ? -1 : 1;
    return (b > a) - (b < a);
}

static void heap_settle(struct heap *h, int at)
{
    rapt__heap_down(h->items, (size_t)at, (size_t)h->left, sizeof *h->items, by_value, h->values);
}

/* Makes a heap of those indices 0 .. count-1 whose values are at least `bound`. */
static void heap_fill(struct heap *h, int count, float bound)
{
    h->left = 0;
    for (int i = 0; i < count; i++)
        if (h->values[i] >= bound) h->items[h->left++] = i;
    for (int i = h->left / 2; i-- > 0;) heap_settle(h, i);
}

/* Removes the root and returns it. */
static int heap_take(struct heap *h)
{
    int item = h->items[0];
    h->items[0] = h->items[--h->left];
    h->items[h->left] = item;
    heap_settle(h, 0);
    return item;
}

/* ---- one draw ---- */

struct urn {
    const float *logits;
    int vocab;
    float max; /* largest logit */
    float temperature;
    double all;      /* sum of shares */
    float *shares;   /* [vocab] exp((logit - max) / temperature) */
    double *sums;    /* [blocks] sum of shares of each block */
    float *greatest; /* [blocks] largest logit of each block */
    int *tokens;     /* [vocab] memory for heaps */
};

/* Sums n floats. SUMS independent accumulators hide the latency of additions. */
static double sum_of(const float *x, int n)
{
    double sums[SUMS] = {0}, sum = 0;
    int i = 0;
    for (; i + SUMS <= n; i += SUMS)
        for (int j = 0; j < SUMS; j++) sums[j] += (double)x[i + j];
    for (; i < n; i++) sum += (double)x[i];
    for (int j = 0; j < SUMS; j++) sum += sums[j];
    return sum;
}

/* Computes the shares and, for each block and overall, the sum of shares and the largest logit. */
static void compute_shares(const struct kernels *k, struct urn *urn)
{
    int blocks = rapt__sample_blocks(urn->vocab);
    urn->max = -INFINITY, urn->all = 0;
    for (int b = 0; b < blocks; b++) {
        int end = rapt__min((b + 1) * BLOCK, urn->vocab);
        urn->greatest[b] = -INFINITY;
        for (int i = b * BLOCK; i < end; i++)
            if (urn->logits[i] > urn->greatest[b]) urn->greatest[b] = urn->logits[i];
        if (urn->greatest[b] > urn->max) urn->max = urn->greatest[b];
    }
    for (int i = 0; i < urn->vocab; i++)
        urn->shares[i] = (urn->logits[i] - urn->max) / urn->temperature;
    k->exp_row(urn->shares, (size_t)urn->vocab);
    for (int b = 0; b < blocks; b++) {
        urn->sums[b] =
            sum_of(urn->shares + (ptrdiff_t)b * BLOCK, rapt__min(urn->vocab - b * BLOCK, BLOCK));
        urn->all += urn->sums[b];
    }
}

/* Returns the first token at which the cumulative sum of the shares exceeds u times their total. */
static int draw_whole(const struct urn *urn, double u)
{
    int blocks = rapt__sample_blocks(urn->vocab), block = 0, token = 0;
    double point = u * urn->all, passed = 0;
    for (int b = 0; b < blocks && passed <= point; b++) {
        if (urn->sums[b] > 0) block = b;
        if (passed + urn->sums[b] > point) break;
        passed += urn->sums[b];
    }
    for (int i = block * BLOCK; i < urn->vocab && i < (block + 1) * BLOCK; i++) {
        if (urn->shares[i] > 0)
            token = i; /* the result if rounding keeps `passed` from exceeding `point` */
        passed += (double)urn->shares[i];
        if (passed > point) break;
    }
    return token;
}

/* Returns a lower bound on the logits of the top_k most likely tokens: the top_k-th largest of the
   blocks' maxima, which at least top_k tokens reach, or -infinity if there are fewer than top_k
   blocks. */
static float bound_of_k(const struct urn *urn, int top_k)
{
    int blocks = rapt__sample_blocks(urn->vocab), block = 0;
    struct heap heap = {.values = urn->greatest, .items = urn->tokens};
    if (top_k > blocks) return -INFINITY;
    heap_fill(&heap, blocks, -INFINITY);
    for (int i = 0; i < top_k; i++) block = heap_take(&heap);
    return urn->greatest[block];
}

/* Returns a logit such that all tokens with lower logits have a total probability below 1 - top_p.
   A token with this logit has a probability of just under (1 - top_p) / vocab: the terms with 1e-3
   and 1e-6 lower it, to allow for rounding. */
static float bound_of_p(const struct urn *urn, double top_p)
{
    double share = (1 - top_p) * urn->all / urn->vocab;
    double distance = (double)urn->temperature * (rapt__log(share) - 1e-3);
    return (float)((double)urn->max + distance - 1e-6 * fabs((double)urn->max));
}

/* Takes tokens from a heap until there are top_k tokens or their total probability reaches top_p,
   and draws one of them. */
static int draw_truncated(const rapt_generate_options *o, struct urn *urn, double u)
{
    bool nucleus = o->top_p > 0 && o->top_p < 1;
    int limit = o->top_k ? rapt__min(o->top_k, urn->vocab) : urn->vocab;
    double wanted = nucleus ? (double)o->top_p * urn->all : INFINITY, kept = 0, passed = 0;
    float bound = o->top_k ? bound_of_k(urn, limit) : -INFINITY;
    if (nucleus) bound = fmaxf(bound, bound_of_p(urn, (double)o->top_p));
    struct heap heap = {.values = urn->logits, .items = urn->tokens};
    heap_fill(&heap, urn->vocab, bound);
    int first = heap.left - 1, likeliest = heap.items[0];
    while (first - heap.left + 1 < limit && kept < wanted && heap.left > 0)
        kept += (double)urn->shares[heap_take(&heap)];
    for (int i = first; i >= heap.left; i--) {
        passed += (double)urn->shares[heap.items[i]];
        if (passed > u * kept) return heap.items[i];
    }
    return likeliest; /* not reached: u < 1, and `passed` ends equal to `kept` */
}

/* Draws a token. Returns -1 if no token has a probability above 0, because all are suppressed or
   the logits are not finite. */
static int draw_token(const rapt_generate_options *o, const struct kernels *k, struct urn *urn,
                      double u)
{
    compute_shares(k, urn);
    if (!(urn->all > 0 && isfinite(urn->all))) return -1;
    bool whole = !o->top_k && !(o->top_p > 0 && o->top_p < 1);
    return whole ? draw_whole(urn, u) : draw_truncated(o, urn, u);
}

/* Draws the next token of a source from its row of logits. If no token can be drawn, truncates the
   hypothesis. */
static void sample(struct search *s, int source, int member)
{
    struct search_memory *m = s->m;
    const rapt_generate_options *o = s->options;
    int at = source * s->stride, vocab = s->session->model->config.target_vocab;
    int row = m->starts[at];
    const float *logits = s->session->logits + (size_t)row * (size_t)vocab;
    uint64_t number = o->sequences ? o->sequences[source] : o->sequence + (uint64_t)source;
    uint64_t key = rapt__mix(o->seed, number);
    size_t first = (size_t)member * (size_t)vocab,
           block = (size_t)member * (size_t)rapt__sample_blocks(vocab);
    struct urn urn = {.logits = logits,
                      .vocab = vocab,
                      .temperature = o->temperature,
                      .shares = m->shares + first,
                      .sums = m->block_sums + block,
                      .greatest = m->block_greatest + block,
                      .tokens = m->order + first};
    int32_t token =
        draw_token(o, rapt__kernels(), &urn, rapt__uniform(key, (uint64_t)m->count[source]));
    if (token < 0) {
        rapt__search_truncate(s, source);
        return;
    }
    double logit = (double)logits[token], log_sum = (double)m->log_sums[row];
    const struct candidate drawn = {m->sums[at] + logit - log_sum, 0, token,
                                    (float)(logit - log_sum)};
    rapt__search_take(s, source, &drawn);
}

static void work_on_samples(struct team *team, void *argument)
{
    struct search *s = argument;
    for (int b; (b = rapt__team_take(team)) < s->session->sources;)
        if (s->m->live_count[b]) sample(s, b, team->rank);
}

void rapt__search_sample(struct search *s)
{
    rapt__team_run(rapt__min(s->session->limits.threads, s->session->sources), work_on_samples, s);
}
