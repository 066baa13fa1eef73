/* attend.c - one struct for every variant of attention: score, locality and normalizer. */
#include "tour.h"
#include <stdlib.h>
#include <string.h>

bool variant_is(struct variant v)
{
    return rapt_score_name(v.score) != NULL;
}

struct variant variant_after(struct variant v)
{
    v.normalizer = (rapt_normalizer)(v.normalizer + 1);
    if (rapt_normalizer_name(v.normalizer) != NULL) return v;
    v.normalizer = RAPT_NORMALIZER_SOFTMAX;
    v.locality = (rapt_locality)(v.locality + 1);
    if (rapt_locality_name(v.locality) != NULL) return v;
    v.locality = RAPT_LOCALITY_GLOBAL;
    v.score = (rapt_score)(v.score + 1);
    return v;
}

bool is_hard(rapt_normalizer normalizer)
{
    return normalizer == RAPT_NORMALIZER_ARGMAX || normalizer == RAPT_NORMALIZER_SAMPLE ||
           normalizer == RAPT_NORMALIZER_STRAIGHT_THROUGH;
}

void problem_make(struct result *r, const struct sentence *s, struct variant variant, uint64_t seed)
{
    memset(r, 0, sizeof *r);
    rapt_attention *a = &r->problem;
    rapt_attention_init(a, sizeof *a, 1, 1, WORDS, WORDS, WIDTH);
    a->value_width = 2;
    a->v = a->out = (rapt_stride){.batch = 2 * WORDS, .head = 2 * WORDS, .row = 2};
    a->score = variant.score;
    a->locality = variant.locality;
    a->normalizer = variant.normalizer;
    a->mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT; /* query t is at position t */
    a->radius = 2;
    a->temperature = 0.5F;
    a->seed = seed;
    a->threads = 1;
    a->learned =
        (rapt_learned){.hidden = HIDDEN,
                       .positions = WORDS,
                       .channels = 1,
                       .filter_width = 3,
                       .center_hidden = 1,
                       .array = {[RAPT_LEARNED_QUERY_WEIGHT] = s->query_weight,
                                 [RAPT_LEARNED_KEY_WEIGHT] = s->key_weight,
                                 [RAPT_LEARNED_HIDDEN_BIAS] = s->hidden_bias,
                                 [RAPT_LEARNED_HIDDEN_VECTOR] = s->hidden_vector,
                                 [RAPT_LEARNED_INVERSE_TEMPERATURE] = s->inverse_temperature,
                                 [RAPT_LEARNED_POSITION] = s->position,
                                 [RAPT_LEARNED_FILTERS] = s->filter,
                                 [RAPT_LEARNED_FEATURE_WEIGHT] = s->feature_weight,
                                 [RAPT_LEARNED_CENTER_WEIGHT] = s->center_weight,
                                 [RAPT_LEARNED_CENTER_VECTOR] = s->center_vector}};
    if (variant.score == RAPT_SCORE_GENERAL)
        a->learned.array[RAPT_LEARNED_QUERY_WEIGHT] = s->general;
}

static void *workspace_for(const rapt_attention *a)
{
    rapt_message why = {""};
    if (rapt_attention_check(a, &why) != RAPT_OK) exit(failed("attention: %s", why.text));
    void *workspace = aligned_alloc(64, (rapt_attention_workspace(a) + 64) & ~(size_t)63);
    if (workspace == NULL) exit(failed("out of memory"));
    return workspace;
}

static void must(rapt_status status)
{
    if (status != RAPT_OK) exit(failed("attention: %s", rapt_status_text(status)));
}

static rapt_attention_saved saved_of(struct result *r)
{
    return (rapt_attention_saved){
        .size = sizeof(rapt_attention_saved), .lse = r->lse, .chosen = r->chosen};
}

void attend(struct result *r, const float *query, const float *key, const float *value)
{
    const rapt_attention_saved saved = saved_of(r);
    void *workspace = workspace_for(&r->problem);
    must(rapt_attention_forward(&r->problem, query, key, value, r->out, &saved, workspace, NULL));
    must(rapt_attention_weights(&r->problem, query, key, &saved, 0, 0, 0, WORDS, r->weights,
                                workspace, NULL));
    free(workspace);
}

void gradients_of(struct tour_gradients *gradients, struct result *r, const struct sentence *s,
                  const float *dout, const float *reward)
{
    memset(gradients, 0, sizeof *gradients);
    const rapt_reinforce reinforce = {.size = sizeof reinforce, .reward = reward};
    const rapt_gradients to = {
        .size = sizeof to,
        .q = gradients->query,
        .k = gradients->key,
        .learned = {[RAPT_LEARNED_QUERY_WEIGHT] = gradients->learned,
                    [RAPT_LEARNED_KEY_WEIGHT] = gradients->learned + HIDDEN * WIDTH}};
    const rapt_attention_saved saved = saved_of(r);
    void *workspace = workspace_for(&r->problem);
    must(rapt_attention_backward(&r->problem, s->query, s->key, s->value, r->out, &saved, dout,
                                 &reinforce, &to, workspace, NULL));
    free(workspace);
}
