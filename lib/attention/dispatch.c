/* dispatch.c - attention inside a team: prepared by the score, then in tiles or row by row, then
   the gradients of what was prepared. */
#include "attention/score/transform.h"

static const struct score_choice all = {-1, -1};

bool rapt__flash_supports_problem(const rapt_attention *a)
{
    return a->normalizer == RAPT_NORMALIZER_SOFTMAX && !rapt__locality_centered(a) && a->cap == 0 &&
           !rapt__score_additive(a) && !(a->mask.bias && rapt__relative_wanted(a));
}

bool rapt__flash_supports(const struct projected *c)
{
    return rapt__flash_supports_problem(c->a);
}

void rapt__attention_forward(struct team *team, const rapt_attention *a, const float *q,
                             const float *k, const float *v, float *out, float *lse,
                             void *workspace)
{
    struct transformed p;
    rapt__transform(team, a, q, k, all, workspace, &p);
    if (rapt__flash_supports(&p.projected))
        rapt__flash_forward(team, &p.projected, v, out, lse, p.rest);
    else
        rapt__general_forward(team, &p.projected, v, out, lse, p.rest);
}

void rapt__attention_backward(struct team *team, const rapt_attention *a, const float *q,
                              const float *k, const float *v, const float *out, const float *lse,
                              const float *dout, const rapt_gradients *d, void *workspace)
{
    struct transformed p;
    rapt__transform(team, a, q, k, all, workspace, &p);
    const struct projected_gradients projected = rapt__transform_backward(team, &p, d);
    if (rapt__flash_supports(&p.projected))
        rapt__flash_backward(team, &p.projected, v, out, lse, dout, &projected, p.rest);
    else
        rapt__general_backward(team, &p.projected, v, out, lse, dout, &projected, p.rest);
    rapt__finish(team, &p);
}
