/* dispatch.c - attention inside a team. First the score projects q and k; then either the flash
   path or the general path computes attention. Backward finally converts the gradients of projected
   rows into the gradients of q, k and the arrays used to project them. The workspace holds the
   arrays of the projection (struct transformed), followed by the workspace of the path. */
#include "attention/flash/flash.h"
#include "attention/general/general.h"
#include "attention/score/score.h"

/* With a guide, backward always takes the general path, even if forward took the flash path. */
static bool by_flash(const struct projected *c)
{
    return !c->losses.guide && rapt__flash_supports(c);
}

static size_t count_path(const struct bounds *b, bool flash)
{
    struct arena arena = {0};
    struct transformed t;
    rapt__transform_layout(&arena, b, &t);
    if (flash)
        rapt__flash_layout(&arena, b);
    else
        rapt__general_layout(&arena, b);
    return arena.overflow ? 0 : arena.used;
}

/* Returns the workspace size in bytes for forward, backward and weights, or 0 if it overflows
   size_t. */
static size_t count_workspace(const struct projected *c, const struct bounds *b, bool guided)
{
    size_t own = count_path(b, rapt__flash_supports(c)), guide = count_path(b, false);
    if (!own || (guided && !guide)) return 0;
    return guided ? rapt__max_size(own, guide) : own;
}

static size_t workspace(const rapt_attention *a, int team_size, bool guided)
{
    const struct projected c = rapt__projected(a, NULL, NULL);
    const struct bounds b = rapt__bounds(&c, team_size);
    return count_workspace(&c, &b, guided);
}

size_t rapt__attention_workspace(const rapt_attention *a, int team_size)
{
    return workspace(a, team_size, false);
}

/* Returns the largest number of rows that one sequence can have: at most `rows`, the total over all
   sequences, and at most `max` unless `max` is 0 (unknown). */
static size_t longest(int max, int rows)
{
    return (size_t)(max > 0 ? rapt__min(max, rows) : rows);
}

size_t rapt__attention_workspace_spec(const rapt_attention *spec, int batch, int query_rows,
                                      int key_rows, bool guided)
{
    rapt_attention none = *spec;
    none.batch = 0, none.query_starts = none.key_starts = NULL;
    const struct projected c = rapt__projected(&none, NULL, NULL);
    struct bounds b = rapt__bounds(&c, rapt__team_size(spec->threads));
    b.batch = (size_t)batch;
    b.query_rows = (size_t)query_rows, b.key_rows = (size_t)key_rows;
    b.max_queries = b.longest_queries = longest(spec->queries, query_rows);
    b.max_keys = b.longest_keys = longest(spec->keys, key_rows);
    return count_workspace(&c, &b, guided);
}

static struct arena open_workspace(struct team *team, const rapt_attention *a, bool guided,
                                   void *memory)
{
    return rapt__arena_over(memory, workspace(a, team->size, guided), team->rank);
}

static int *chosen_of(const rapt_attention *a, const rapt_attention_saved *saved)
{
    return rapt__normalizer_is_hard(a->normalizer) ? saved->chosen : NULL;
}

void rapt__attention_forward(struct team *team, const rapt_attention *a, const float *q,
                             const float *k, const float *v, float *out,
                             const rapt_attention_saved *saved, void *memory)
{
    struct transformed t;
    struct arena arena = open_workspace(team, a, false, memory);
    rapt__transform(team, a, q, k, rapt__all_rows, &arena, &t);
    t.projected.chosen = chosen_of(a, saved);
    if (rapt__flash_supports(&t.projected)) {
        rapt__transform_begin_outputs(team, &t);
        rapt__flash_forward(team, &t.projected, v, out, saved, &arena);
        rapt__transform_add_outputs(team, &t, out);
    } else
        rapt__general_forward(team, &t.projected, v, out, saved->lse, &arena);
    rapt__workspace_end(team, &arena);
}

void rapt__attention_backward(struct team *team, const rapt_attention *a, const float *q,
                              const float *k, const float *v, const float *out,
                              const rapt_attention_saved *saved, const float *dout,
                              const rapt_reinforce *reinforce, const struct weight_losses *losses,
                              const rapt_gradients *d, void *memory)
{
    struct transformed t;
    struct arena arena = open_workspace(team, a, losses->guide, memory);
    rapt__transform(team, a, q, k, rapt__all_rows, &arena, &t);
    t.projected.chosen = chosen_of(a, saved);
    t.projected.losses = *losses;
    if (a->normalizer == RAPT_NORMALIZER_SAMPLE) t.projected.reinforce = *reinforce;
    const struct projected_gradients projected = rapt__transform_backward(team, &t, dout, d);
    if (by_flash(&t.projected)) {
        const float *statistics = saved->statistics;
        if (!statistics) statistics = rapt__flash_statistics(team, &t.projected, &arena);
        rapt__flash_backward(team, &t.projected, v, out, statistics, dout, &projected, &arena);
    } else {
        rapt__general_backward(team, &t.projected, v, dout, &projected, &arena);
    }
    rapt__transform_finish(team, &t, dout);
    rapt__workspace_end(team, &arena);
}

void rapt__attention_weights(struct team *team, const rapt_attention *a, const float *q,
                             const float *k, const rapt_attention_saved *saved, int sequence,
                             int head, int first, int rows, float *weights, void *memory)
{
    struct transformed t;
    struct arena arena = open_workspace(team, a, false, memory);
    rapt__transform(team, a, q, k, (struct score_choice){sequence, rapt__talks(a) ? -1 : head},
                    &arena, &t);
    t.projected.chosen = chosen_of(a, saved);
    if (rapt__flash_supports(&t.projected)) {
        const float *statistics = saved->statistics;
        if (!statistics)
            statistics =
                rapt__flash_statistics_of(team, &t.projected, sequence, head, first, rows, &arena);
        rapt__flash_weights(team, &t.projected, statistics, sequence, head, first, rows, weights,
                            &arena);
    } else {
        rapt__general_weights(team, &t.projected, sequence, head, first, rows, weights, &arena);
    }
    rapt__workspace_end(team, &arena);
}
