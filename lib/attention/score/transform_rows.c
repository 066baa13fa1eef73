/* transform_rows.c - projects new rows for a cache. It uses the functions that transform.c uses for
   whole arrays, so the results are bit-identical. */
#include "attention/score/score.h"

struct packed { /* offsets, in floats, of the weights for keys, the weights for centers, the rotary
                   frequencies and the distance vectors, and the total size; the weights for queries
                   come first */
    size_t keys, centers, frequencies, distances, end;
};

static size_t of_side(const struct score_side *side, const rapt_attention *a, int heads)
{
    struct projection p;
    if (!side->weights) return 0;
    p = side->weights(a, NULL);
    return (size_t)heads * rapt__projection_panels(p.in, p.out);
}

static struct packed packed_of(const rapt_attention *a)
{
    const struct score *s = rapt__score(a->score);
    bool centered = rapt__locality_centered(a);
    struct packed p = {.keys = of_side(&s->queries, a, a->heads)};
    p.centers = p.keys + of_side(&s->keys, a, rapt__key_heads_of(a));
    p.frequencies = p.centers + (centered ? of_side(&rapt__center_side, a, a->heads) : 0);
    p.distances = p.frequencies + 2 * (size_t)rapt__rotary_pairs(a);
    p.end = p.distances + rapt__distance_packed(a);
    return p;
}

int rapt__score_width(const rapt_attention *spec)
{
    return rapt__score(spec->score)->width(spec);
}

bool rapt__score_changes(const rapt_attention *spec, bool keys)
{
    const struct score *s = rapt__score(spec->score);
    const struct score_side *side = keys ? &s->keys : &s->queries;
    bool biased = !keys && spec->distances.content_bias;
    return side->weights || side->rows || rapt__rotary_pairs(spec) > 0 || biased;
}

size_t rapt__score_packed(const rapt_attention *spec)
{
    return packed_of(spec).end;
}

static void pack_side(struct team *team, const struct score_side *side, const rapt_attention *a,
                      float *panels)
{
    if (!side->weights) return;
    struct projection p = side->weights(a, NULL);
    rapt__projection_pack(team, &p, false, panels);
}

void rapt__score_pack(struct team *team, const rapt_attention *spec, float *packed)
{
    const struct score *s = rapt__score(spec->score);
    const struct packed p = packed_of(spec);
    void *frequencies = packed + p.frequencies;
    if (team->rank == 0) rapt__rotary_frequencies(spec, frequencies);
    pack_side(team, &s->queries, spec, packed);
    pack_side(team, &s->keys, spec, packed + p.keys);
    if (rapt__locality_centered(spec))
        pack_side(team, &rapt__center_side, spec, packed + p.centers);
    rapt__distance_pack(team, spec, packed + p.distances);
}

/* Returns a problem whose sequences consist of the given rows. If `counts` is not NULL, sequence i
   has counts[i] keys; otherwise these rows are also its keys. */
static rapt_attention view_of(const rapt_attention *spec, const struct rows_given *r,
                              const int *counts)
{
    rapt_attention view = *spec;
    view.batch = r->sequences;
    view.query_starts = r->starts;
    view.key_starts = counts ? NULL : r->starts;
    view.mask.key_counts = counts;
    return view;
}

static struct score_rows score_rows_of(const rapt_attention *view, const struct rows_given *r,
                                       bool keys)
{
    return (struct score_rows){
        view, keys, r->x, {0, r->x_head, r->x_row}, r->y, {0, r->y_head, r->y_row}};
}

static void project_rows(struct team *team, const rapt_attention *spec, const float *packed,
                         const struct rows_given *given, bool keys)
{
    const struct score *s = rapt__score(spec->score);
    const struct packed p = packed_of(spec);
    const rapt_attention view = view_of(spec, given, NULL);
    const struct score_rows rows = score_rows_of(&view, given, keys);
    const void *frequencies = packed + p.frequencies;
    rapt__side_forward(team, keys ? &s->keys : &s->queries, &rows, packed + (keys ? p.keys : 0),
                       given->positions, rapt__all_rows);
    if (rapt__rotary_pairs(spec) > 0)
        rapt__rotary_rotate(team, &rows, frequencies, given->positions, false, rapt__all_rows);
}

void rapt__score_queries(struct team *team, const rapt_attention *spec, const float *packed,
                         const struct rows_given *rows)
{
    project_rows(team, spec, packed, rows, false);
}

void rapt__score_keys(struct team *team, const rapt_attention *spec, const float *packed,
                      const struct rows_given *rows)
{
    project_rows(team, spec, packed, rows, true);
}

void rapt__score_centers(struct team *team, const rapt_attention *spec, const float *packed,
                         const struct rows_given *given, const int *counts, float *centers)
{
    const struct packed p = packed_of(spec);
    const rapt_attention view = view_of(spec, given, counts);
    struct score_rows rows = score_rows_of(&view, given, false);
    ptrdiff_t width = spec->parameters.center_hidden;
    rows.y_stride = (rapt_stride){0, given->starts[given->sequences] * width, width};
    rapt__side_forward(team, &rapt__center_side, &rows, packed + p.centers, given->positions,
                       rapt__all_rows);
    rapt__locality_centers(team, &view, given->positions, rapt__all_rows, given->y, centers);
}

void rapt__score_distances(struct team *team, const rapt_attention *spec, const float *packed,
                           const struct rows_given *given)
{
    const struct packed p = packed_of(spec);
    int rows = given->starts[given->sequences];
    size_t row = rapt__distance_row(spec), begin, end;
    while (rapt__team_part(team, (size_t)spec->heads, 1, &begin, &end))
        for (size_t h = begin; h < end; h++)
            rapt__distance_queries(spec, packed + p.distances, (int)h,
                                   given->x + (ptrdiff_t)h * given->x_head, given->x_row, rows,
                                   given->y + h * (size_t)rows * row);
    rapt__team_barrier(team);
}
