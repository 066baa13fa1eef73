/* workspace.c - how much scratch attention needs. All of it is linear in queries + keys, but for
   location-aware scores. */
#include "attention/score/transform.h"

bool rapt__grow(size_t *sum, size_t a, size_t b, size_t c)
{
    size_t ab, abc, more;
    if (!rapt__times(a, b, &ab) || !rapt__times(ab, c, &abc)) return false;
    return rapt__plus(abc, LANES - 1, &more) && rapt__plus(*sum, more / LANES * LANES, sum);
}

/* Floats, rounded up to whole vectors. */
static size_t whole(size_t floats)
{
    return (floats + LANES - 1) / LANES * LANES;
}

static bool tiles_workspace(const struct bounds *b, struct workspace_sizes *sizes)
{
    size_t kw = whole(b->width), vw = whole(b->value_width);
    size_t chunks =
        b->heads / b->key_heads * ((b->longest_queries + ATTEND_ROWS - 1) / ATTEND_ROWS);
    *sizes = (struct workspace_sizes){.chunks = (int)chunks};
    size_t panels = (b->longest_keys + LANES - 1) / LANES;
    size_t non_finite = (panels + sizeof(float) - 1) / sizeof(float);
    bool fits = rapt__grow(&sizes->keys, panels, LANES, b->width) &&
                rapt__grow(&sizes->values, panels, LANES, vw) &&
                rapt__grow(&sizes->packed, sizes->keys, 1, 1) &&
                rapt__grow(&sizes->packed, sizes->values, 1, 1) &&
                rapt__grow(&sizes->packed, non_finite, 1, 1);
    if (!fits) return false;
    sizes->attend = whole(rapt__attend_workspace((int)b->width, (int)b->value_width));
    sizes->chunk =
        whole(ATTEND_SLOTS * (b->width + b->value_width) + ATTEND_ROWS * (2 * kw + vw + 2) + LANES);
    sizes->block = whole(ATTEND_BLOCK * (b->width + b->value_width + 2 * kw + vw) +
                         2 * ATTEND_ROWS * ATTEND_BLOCK);
    if (rapt__relative_wanted(b->a) &&
        !rapt__grow(&sizes->relative, b->heads, b->query_rows + b->key_rows, 1))
        return false;
    return rapt__plus(sizes->packed, sizes->attend, &sizes->member) &&
           rapt__grow(&sizes->forward, sizes->member, b->team, 1) &&
           rapt__grow(&sizes->backward, sizes->chunk, chunks, b->team) &&
           rapt__grow(&sizes->backward, sizes->block, b->team, 1) &&
           rapt__grow(&sizes->backward, sizes->relative, 1, 1);
}

static int longest(const int *starts, int batch, int full)
{
    if (!starts) return full;
    int max = 0;
    for (int b = 0; b < batch; b++)
        if (starts[b + 1] - starts[b] > max) max = starts[b + 1] - starts[b];
    return max;
}

struct bounds rapt__bounds(const rapt_attention *a, int team_size)
{
    return (struct bounds){.a = a,
                           .heads = (size_t)a->heads,
                           .key_heads = (size_t)rapt__key_heads_of(a),
                           .width = (size_t)rapt__score(a->score)->width(a),
                           .value_width = (size_t)a->value_width,
                           .batch = (size_t)a->batch,
                           .query_rows = (size_t)rapt__query_rows(a),
                           .key_rows = (size_t)rapt__key_rows(a),
                           .max_queries = (size_t)a->queries,
                           .max_keys = (size_t)a->keys,
                           .longest_queries =
                               (size_t)longest(a->query_starts, a->batch, a->queries),
                           .longest_keys = (size_t)longest(a->key_starts, a->batch, a->keys),
                           .team = (size_t)team_size};
}

bool rapt__workspace_of(const rapt_attention *a, int team_size, struct workspace_sizes *sizes)
{
    const struct bounds b = rapt__bounds(a, team_size);
    return tiles_workspace(&b, sizes);
}

static bool projected_workspace(const struct bounds *b, size_t *floats)
{
    struct workspace_sizes sizes;
    if (!rapt__flash_supports_problem(b->a)) return rapt__general_workspace(b, floats);
    if (!tiles_workspace(b, &sizes)) return false;
    *floats = sizes.forward > sizes.backward ? sizes.forward : sizes.backward;
    return true;
}

/* Bytes of what is prepared and of the core behind it; 0: more than fits. */
static size_t bytes_of(const struct bounds *b)
{
    struct transformed transformed = {0};
    size_t floats, projected, bytes;
    bool fits = rapt__transformed_layout(b, NULL, &transformed, &floats) &&
                projected_workspace(b, &projected) && rapt__plus(floats, projected, &floats) &&
                rapt__times(floats, sizeof(float), &bytes);
    return fits ? bytes : 0;
}

size_t rapt__attention_workspace(const rapt_attention *a, int team_size)
{
    const struct bounds b = rapt__bounds(a, team_size);
    return bytes_of(&b);
}

/* Of rows of all sequences, those of the longest, where that is said. */
static int min(int max, int rows)
{
    return max > 0 && max < rows ? max : rows;
}

size_t rapt__attention_workspace_spec(const rapt_attention *spec, int batch, int query_rows,
                                      int key_rows)
{
    rapt_attention none = *spec;
    none.batch = 0, none.query_starts = none.key_starts = NULL;
    struct bounds b = rapt__bounds(&none, rapt__team_size(spec->threads));
    b.batch = (size_t)batch;
    b.query_rows = (size_t)query_rows, b.key_rows = (size_t)key_rows;
    b.max_queries = b.longest_queries = (size_t)min(spec->queries, query_rows);
    b.max_keys = b.longest_keys = (size_t)min(spec->keys, key_rows);
    return bytes_of(&b);
}
