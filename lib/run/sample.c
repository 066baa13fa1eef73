/* sample.c - the next token drawn from softmax(logits / temperature), cut to the top_k likeliest
   and to the likeliest that hold top_p of the probability (Holtzman et al. 2020). Draw t of
   sequence b is a function of (seed, b, t): the batch does not matter. */
#include "run/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Greater logit first, then the lower token: a heap of places in `order`. */
static bool before(const float *logits, int a, int b)
{
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
}

static void sink(const float *logits, int *heap, int n, int i)
{
    for (int child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && before(logits, heap[child + 1], heap[child])) child++;
        if (!before(logits, heap[child], heap[i])) return;
        int t = heap[i];
        heap[i] = heap[child], heap[child] = t;
    }
}

/* Takes the likeliest token off the heap. */
static int pop(const float *logits, int *heap, int *n)
{
    int top = heap[0];
    heap[0] = heap[--*n];
    sink(logits, heap, *n, 0);
    return top;
}

/* Walks from the likeliest token down until the share `point` of the kept mass is passed; -1 if
   there is no mass: every token is forbidden, or the logits are no numbers. */
static int32_t draw(const struct search *s, const float *logits, int vocab, double u)
{
    const rapt_generate_options *o = s->options;
    int *heap = s->m->order, n = vocab;
    for (int i = 0; i < vocab; i++) heap[i] = i;
    for (int i = vocab / 2; i-- > 0;) sink(logits, heap, n, i);
    double max = (double)logits[heap[0]], all = 0, t = (double)o->temperature;
    for (int i = 0; i < vocab; i++) all += exp(((double)logits[i] - max) / t);
    if (!(all > 0 && isfinite(all))) return -1;
    int limit = o->top_k && o->top_k < vocab ? o->top_k : vocab;
    double wanted = o->top_p > 0 && o->top_p < 1 ? (double)o->top_p * all : all, kept = 0;
    int *taken = heap + vocab; /* popped tokens pile up from the end, behind the heap */
    int count = 0;
    while (count < limit && kept < wanted && n > 0) {
        int token = pop(logits, heap, &n);
        *--taken = token, count++;
        kept += exp(((double)logits[token] - max) / t);
    }
    double point = u * kept, passed = 0;
    for (int i = 1; i <= count; i++) {
        int token = s->m->order[vocab - i];
        passed += exp(((double)logits[token] - max) / t);
        if (passed > point) return (int32_t)token;
    }
    return (int32_t)s->m->order[vocab - count];
}

void rapt__search_sample(struct search *s, int source, int row, const float *logits)
{
    struct search_memory *m = s->m;
    const rapt_generate_options *o = s->options;
    int at = source * s->stride, vocab = s->session->model->config.target_vocab;
    uint64_t key = rapt__mix(o->seed, o->sequence + (uint64_t)source);
    int32_t token = draw(s, logits, vocab, rapt__uniform(key, (uint64_t)s->step));
    if (token < 0) {
        m->live_count[source] = 0;
        return;
    }
    double sum = m->sums[at] + (double)logits[token] - (double)m->log_sums[row];
    bool end = token == o->end;
    int32_t *from = m->live + (size_t)at * (size_t)s->length;
    int32_t *to =
        end ? m->done + (size_t)at * (size_t)s->length : m->next + (size_t)at * (size_t)s->length;
    memcpy(to, from, sizeof(int32_t) * (size_t)s->step);
    if (end) {
        m->done_length[at] = s->step;
        m->done_slot[at] = at;
        m->done_score[at] = sum / pow(s->step + 1, (double)o->length_penalty);
        m->done_count[source] = 1;
        m->live_count[source] = 0;
        return;
    }
    to[s->step] = token;
    m->next_sums[at] = sum;
}
