/* dispatch.c - attention inside a team: prepared by the score, then in tiles or row by row, then
   the gradients of what was prepared. */
#include "attention/prepare.h"

static const struct score_choice all = {-1, -1};

bool rapt__in_tiles(const rapt_attention *a)
{
    return a->weighing == RAPT_WEIGH_SOFT && a->reach != RAPT_REACH_LOCAL_P && a->cap == 0 &&
           !rapt__score(a->score)->additive && !(a->mask.bias && rapt__relative_wanted(a));
}

bool rapt__core_in_tiles(const struct core *c)
{
    return rapt__in_tiles(c->a);
}

void rapt__attention_forward(struct team *team, const rapt_attention *a, const float *q,
                             const float *k, const float *v, float *out, float *lse, void *scratch)
{
    struct prepared p;
    rapt__prepare(team, a, q, k, all, scratch, &p);
    if (rapt__core_in_tiles(&p.core))
        rapt__tiles_forward(team, &p.core, v, out, lse, p.rest);
    else
        rapt__rows_forward(team, &p.core, v, out, lse, p.rest);
}

void rapt__attention_backward(struct team *team, const rapt_attention *a, const float *q,
                              const float *k, const float *v, const float *out, const float *lse,
                              const float *dout, const rapt_gradients *d, void *scratch)
{
    struct prepared p;
    rapt__prepare(team, a, q, k, all, scratch, &p);
    const struct core_gradients core = rapt__prepare_backward(team, &p, d);
    if (rapt__core_in_tiles(&p.core))
        rapt__tiles_backward(team, &p.core, v, out, lse, dout, &core, p.rest);
    else
        rapt__rows_backward(team, &p.core, v, out, lse, dout, &core, p.rest);
    rapt__finish(team, &p);
}
