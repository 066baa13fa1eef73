/* check.c - is a problem a problem? Every field that cannot be meant is named. */
#include "attention/problem.h"

#include <limits.h>
#include <math.h>

enum { WIDEST = 1 << 16 };

static rapt_status bad(rapt_message *why, const char *field, double value, const char *wanted)
{
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is %.9g, it must be %s", field, value, wanted);
}

static rapt_status check_sizes(const rapt_attention *a, rapt_message *why)
{
    if (a->batch < 0) return bad(why, "batch", a->batch, "0 or more");
    if (a->heads < 1) return bad(why, "heads", a->heads, "1 or more");
    if (a->key_heads < 0 || (a->key_heads > 0 && a->heads % a->key_heads != 0))
        return bad(why, "key_heads", a->key_heads, "0 or a divisor of heads");
    if (a->queries < 0) return bad(why, "queries", a->queries, "0 or more");
    if (a->keys < 0) return bad(why, "keys", a->keys, "0 or more");
    if (a->key_width < 1 || a->key_width > WIDEST)
        return bad(why, "key_width", a->key_width, "1 to 65536");
    if (a->value_width < 1 || a->value_width > WIDEST)
        return bad(why, "value_width", a->value_width, "1 to 65536");
    return RAPT_OK;
}

/* Offsets that begin with 0 and never fall; no sequence longer than `most`. */
static rapt_status check_starts(const char *field, const int *starts, int batch, int most,
                                rapt_message *why)
{
    if (!starts) return RAPT_OK;
    if (starts[0] != 0) return bad(why, field, starts[0], "0 for the first sequence");
    for (int b = 0; b < batch; b++) {
        if (starts[b + 1] < starts[b])
            return bad(why, field, starts[b + 1], "no less than the one before");
        if (starts[b + 1] - starts[b] > most)
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "%s: sequence %d has %d rows, the longest is said to have %d", field,
                              b, starts[b + 1] - starts[b], most);
    }
    return RAPT_OK;
}

/* Row numbers of all heads are counted in int. */
static rapt_status check_rows(const rapt_attention *a, rapt_message *why)
{
    int64_t queries = a->query_starts ? a->query_starts[a->batch] : (int64_t)a->batch * a->queries;
    int64_t keys = a->key_starts ? a->key_starts[a->batch] : (int64_t)a->batch * a->keys;
    if (queries > INT_MAX / a->heads)
        return bad(why, "queries of all sequences and heads", (double)queries * a->heads,
                   "at most 2147483647");
    if (keys > INT_MAX - ATTEND_BLOCK)
        return bad(why, "keys of all sequences", (double)keys, "at most 2147483519");
    return RAPT_OK;
}

static rapt_status check_mask(const rapt_attention *a, rapt_message *why)
{
    const rapt_mask *m = &a->mask;
    if ((unsigned)m->corner > RAPT_CORNER_BOTTOM_RIGHT)
        return bad(why, "mask.corner", m->corner, "a rapt_corner");
    if ((m->causal || m->window) && m->corner == RAPT_CORNER_NONE)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "mask.corner is not set, but causality and windows need one");
    if (m->window && m->before < 0) return bad(why, "mask.before", m->before, "0 or more");
    if (m->window && m->after < 0) return bad(why, "mask.after", m->after, "0 or more");
    for (int b = 0; m->key_counts && b < a->batch; b++) {
        int keys = a->key_starts ? a->key_starts[b + 1] - a->key_starts[b] : a->keys;
        if (m->key_counts[b] < 0 || m->key_counts[b] > keys)
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "mask.key_counts[%d] is %d of %d keys", b,
                              m->key_counts[b], keys);
    }
    return RAPT_OK;
}

static rapt_status check_numbers(const rapt_attention *a, rapt_message *why)
{
    if ((unsigned)a->score >= RAPT_SCORES) return bad(why, "score", a->score, "a rapt_score");
    if (!isfinite(a->scale)) return bad(why, "scale", (double)a->scale, "finite");
    if (!(a->dropout >= 0 && a->dropout < 1))
        return bad(why, "dropout", (double)a->dropout, "at least 0 and below 1");
    if (a->threads < 0) return bad(why, "threads", a->threads, "0 or more");
    return RAPT_OK;
}

/* Two rows of out must not be the same memory. */
static rapt_status check_out(const rapt_attention *a, rapt_message *why)
{
    if (rapt__query_rows(a) == 0) return RAPT_OK;
    if (a->out.row == 0 && a->queries > 1) return bad(why, "out.row", 0, "a row's distance");
    if (a->out.head == 0 && a->heads > 1) return bad(why, "out.head", 0, "a head's distance");
    if (a->out.batch == 0 && a->batch > 1 && !a->query_starts)
        return bad(why, "out.batch", 0, "a sequence's distance");
    return RAPT_OK;
}

rapt_status rapt_attention_check(const rapt_attention *a, rapt_message *why)
{
    if (!a) return rapt__fail(why, RAPT_BAD_ARGUMENT, "no problem is given");
    rapt_status s = check_sizes(a, why);
    if (s == RAPT_OK) s = check_starts("query_starts", a->query_starts, a->batch, a->queries, why);
    if (s == RAPT_OK) s = check_starts("key_starts", a->key_starts, a->batch, a->keys, why);
    if (s == RAPT_OK) s = check_rows(a, why);
    if (s == RAPT_OK) s = check_mask(a, why);
    if (s == RAPT_OK) s = check_numbers(a, why);
    if (s == RAPT_OK) s = check_out(a, why);
    if (s == RAPT_OK && rapt__attention_scratch(a, rapt__team_size(a->threads)) == 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "the problem does not fit into memory");
    return s;
}
