/* problem.c - the sequences, rows and sizes of a rapt_attention. */
#include "attention/projected.h"

#include <limits.h>

struct sequence rapt__sequence(const rapt_attention *a, int index)
{
    struct sequence s = {.index = index,
                         .query_first = a->query_starts ? 0 : index * a->queries,
                         .queries = a->queries,
                         .key_first = a->key_starts ? 0 : index * a->keys,
                         .keys = a->keys,
                         .query_batch = index,
                         .key_batch = index};
    if (a->query_starts) {
        s.query_first = a->query_starts[index];
        s.queries = a->query_starts[index + 1] - s.query_first;
        s.query_batch = 0, s.query_row = s.query_first;
    }
    if (a->key_starts) {
        s.key_first = a->key_starts[index];
        s.keys = a->key_starts[index + 1] - s.key_first;
        s.key_batch = 0, s.key_row = s.key_first;
    }
    s.existing = a->mask.key_counts ? a->mask.key_counts[index] : s.keys;
    return s;
}

int rapt__key_heads_of(const rapt_attention *a)
{
    return a->key_heads ? a->key_heads : a->heads;
}

int rapt__query_width(const rapt_attention *a)
{
    return a->query_width ? a->query_width : a->key_width;
}

int rapt__key_width(const rapt_attention *a)
{
    return a->key_width;
}

int rapt__query_rows(const rapt_attention *a)
{
    return a->query_starts ? a->query_starts[a->batch] : a->batch * a->queries;
}

int rapt__key_rows(const rapt_attention *a)
{
    return a->key_starts ? a->key_starts[a->batch] : a->batch * a->keys;
}

int rapt__longest(int batch, const int *starts)
{
    int64_t max = 0;
    for (int b = 0; b < batch; b++) {
        int64_t rows = (int64_t)starts[b + 1] - starts[b];
        if (rows > max) max = rows;
    }
    return max < INT_MAX ? (int)max : INT_MAX;
}

/* Returns the number of rows of the longest sequence, which is `rows` if starts is NULL. */
static size_t longest_of(const int *starts, int batch, int rows)
{
    return (size_t)(starts ? rapt__longest(batch, starts) : rows);
}

struct bounds rapt__bounds(const struct projected *c, int team_size)
{
    const rapt_attention *a = c->a;
    return (struct bounds){.a = a,
                           .heads = (size_t)a->heads,
                           .key_heads = (size_t)rapt__key_heads_of(a),
                           .width = (size_t)c->width,
                           .value_width = (size_t)a->value_width,
                           .additive = c->additive,
                           .channels = (size_t)c->features.channels,
                           .filter_width = (size_t)c->features.filter_width,
                           .batch = (size_t)a->batch,
                           .query_rows = (size_t)rapt__query_rows(a),
                           .key_rows = (size_t)rapt__key_rows(a),
                           .max_queries = (size_t)a->queries,
                           .max_keys = (size_t)a->keys,
                           .longest_queries = longest_of(a->query_starts, a->batch, a->queries),
                           .longest_keys = longest_of(a->key_starts, a->batch, a->keys),
                           .team = (size_t)team_size};
}
