/* problem.c - the sequences, rows and sizes of a rapt_attention. Also initializes problems for the
   layouts drawn in rapt/attention.h. */
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

/* ---- layouts ----

   Sizes are not checked here: strides that overflow become the largest possible value, and negative
   numbers count as 0. */

static ptrdiff_t stride_times(ptrdiff_t a, ptrdiff_t b)
{
    size_t product;
    if (a <= 0 || b <= 0) return 0;
    bool fits = rapt__times((size_t)a, (size_t)b, &product) && product <= PTRDIFF_MAX;
    return fits ? (ptrdiff_t)product : PTRDIFF_MAX;
}

static ptrdiff_t stride_plus(ptrdiff_t a, ptrdiff_t b)
{
    return a > PTRDIFF_MAX - b ? PTRDIFF_MAX : a + b;
}

rapt_stride rapt__stride_by_heads(int heads, int rows, int width)
{
    ptrdiff_t head = stride_times(rows, width);
    return (rapt_stride){stride_times(heads, head), head, rapt__max(width, 0)};
}

/* Returns the strides of an array laid out as [rows][heads][width] for each sequence. */
static rapt_stride stride_by_rows(int heads, int rows, int width)
{
    ptrdiff_t row = stride_times(heads, width);
    return (rapt_stride){stride_times(rows, row), rapt__max(width, 0), row};
}

static rapt_attention problem_of(int batch, int heads, int queries, int keys, int width)
{
    return (rapt_attention){.batch = batch,
                            .heads = heads,
                            .queries = queries,
                            .keys = keys,
                            .key_width = width,
                            .value_width = width};
}

rapt_status rapt_attention_init(rapt_attention *a, size_t size, int batch, int heads, int queries,
                                int keys, int width)
{
    rapt_attention own = problem_of(batch, heads, queries, keys, width);
    own.q = own.out = rapt__stride_by_heads(heads, queries, width);
    own.k = own.v = rapt__stride_by_heads(heads, keys, width);
    return rapt__struct_default(a, size, &own, sizeof own);
}

rapt_status rapt_attention_init_rows(rapt_attention *a, size_t size, int batch, int heads,
                                     int queries, int keys, int width)
{
    rapt_attention own = problem_of(batch, heads, queries, keys, width);
    own.q = own.out = stride_by_rows(heads, queries, width);
    own.k = own.v = stride_by_rows(heads, keys, width);
    return rapt__struct_default(a, size, &own, sizeof own);
}

rapt_status rapt_attention_init_packed(rapt_attention *a, size_t size, int batch, int heads,
                                       int key_heads, int rows, int width)
{
    rapt_attention own = problem_of(batch, heads, rows, rows, width);
    ptrdiff_t queries = stride_times(heads, width),
              keys = stride_times(key_heads ? key_heads : heads, width);
    ptrdiff_t row = stride_plus(queries, stride_plus(keys, keys));
    own.key_heads = key_heads;
    own.q = own.k = own.v = (rapt_stride){stride_times(rows, row), rapt__max(width, 0), row};
    own.out = stride_by_rows(heads, rows, width);
    return rapt__struct_default(a, size, &own, sizeof own);
}

rapt_status rapt_attention_init_ragged(rapt_attention *a, size_t size, int batch, int heads,
                                       const int *query_starts, const int *key_starts, int width)
{
    if (!query_starts) return RAPT_BAD_ARGUMENT;
    if (!key_starts) key_starts = query_starts;
    rapt_attention own = problem_of(batch, heads, rapt__longest(batch, query_starts),
                                    rapt__longest(batch, key_starts), width);
    own.q = own.k = own.v = own.out = stride_by_rows(heads, 0, width);
    own.query_starts = query_starts, own.key_starts = key_starts;
    return rapt__struct_default(a, size, &own, sizeof own);
}
