/* attend.c - attention of small arrays, and of a sentence made by hand, by the library. */
#include "attend.h"
#include "kit/layers.h"
#include "kit/program.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void attend(const struct attended *a, float *out, float *weights)
{
    struct workspace workspace = {0};
    rapt_attention problem;
    float *statistics = xcalloc((size_t)a->queries * 2, sizeof *statistics);
    float *unused =
        out == NULL ? xcalloc((size_t)(a->queries * a->value_width), sizeof *unused) : NULL;
    rapt_attention_init(&problem, sizeof problem, 1, 1, a->queries, a->keys, a->width);
    problem.value_width = a->value_width;
    problem.v.row = problem.out.row = a->value_width;
    problem.v.batch = problem.v.head = (ptrdiff_t)a->keys * a->value_width;
    problem.out.batch = problem.out.head = (ptrdiff_t)a->queries * a->value_width;
    problem.scale = a->scale;
    void *memory = workspace_for(&workspace, &problem);
    const rapt_attention_saved saved = {.size = sizeof saved, .statistics = statistics};
    must(rapt_attention_forward(&problem, a->q, a->k, a->v, out != NULL ? out : unused, &saved,
                                memory, NULL));
    if (weights != NULL)
        must(rapt_attention_weights(&problem, a->q, a->k, &saved, 0, 0, 0, a->queries, weights,
                                    memory, NULL));
    free(workspace.data);
    free(statistics);
    free(unused);
}

/* ---- a sentence of ten words whose vectors are made by hand ----
   They are made so that the attention weights mean something, and so are the parameters of every
   score.

   A vector has KINDS numbers, the kinds of word that a word is (key) or looks for (query), and
   WAVES pairs cos, sin of pi / words * wave * position: codes of near positions have a large dot
   product. */

enum { KINDS = BY_HAND_KINDS, WAVES = (BY_HAND_WIDTH - KINDS) / 2 };
enum {
    NOUN = 1,
    VERB = 2,
    ARTICLE = 4,
    ADJECTIVE = 8,
    CONJUNCTION = 16,
    PRONOUN = 32,
    AUXILIARY = 64,
    AGENT = 128
};

static const struct {
    const char *word;
    int is, seeks; /* sets of kinds */
    int offset;    /* the relative position it seeks */
    float value[2];
} lexicon[BY_HAND_WORDS] = {
    {"the", ARTICLE, NOUN, 2, {-0.9F, 0.5F}},
    {"old", ADJECTIVE, NOUN, 1, {-0.5F, 0.95F}},
    {"cat", NOUN | AGENT, ADJECTIVE, -1, {0.75F, 0.85F}},
    {"slept", VERB, NOUN | AGENT, -1, {0.1F, -0.9F}},
    {"because", CONJUNCTION, VERB, -1, {-0.62F, -0.3F}},
    {"it", PRONOUN | AGENT, NOUN | AGENT, -3, {0.45F, 0.4F}},
    {"had", AUXILIARY, VERB, 1, {-0.75F, -0.75F}},
    {"chased", VERB, PRONOUN | AGENT, -2, {0.6F, -0.7F}},
    {"the", ARTICLE, NOUN, 1, {-0.95F, -0.1F}},
    {"mouse", NOUN, VERB, -2, {1.0F, 0.1F}},
};

static void encode_word(float *row, int kinds, float size, double at)
{
    for (int i = 0; i < KINDS; i++) row[i] = kinds >> i & 1 ? size : 0;
    for (int i = 0; i < WAVES; i++) {
        double angle = 3.14159265358979 / BY_HAND_WORDS * (i + 1) * at;
        row[KINDS + 2 * i] = (float)cos(angle);
        row[KINDS + 2 * i + 1] = (float)sin(angle);
    }
}

/* Sets W of the general score, in which kinds weigh more than positions. */
static void make_general(struct by_hand *s)
{
    for (int i = 0; i < BY_HAND_WIDTH; i++)
        s->general[i * BY_HAND_WIDTH + i] = i < KINDS ? 0.8F : 0.35F;
}

/* Sets the hidden layer of additive scores: two units for each number, tanh(g (q + k) - c) and
   tanh(-g (q + k) - c). Their sum is largest where q and k are both large and of the same sign, so
   the layer detects agreement without a product. Without agreement these units sum to about -31.
   The next one adds 30, since a sink and sigmoids compare scores with 0. The last unit reads the
   weights of the previous query or, for coverage, the sum of those of all queries before. */
static void make_hidden(struct by_hand *s)
{
    enum { LEVEL = 2 * BY_HAND_WIDTH, FEATURE };
    for (int unit = 0; unit < LEVEL; unit++) {
        int i = unit / 2;
        float sign = unit % 2 ? -1 : 1, gain = i < KINDS ? 0.8F : 1.1F;
        s->query_weight[unit * BY_HAND_WIDTH + i] = sign * gain;
        s->key_weight[unit * BY_HAND_WIDTH + i] = sign * gain;
        s->hidden_bias[unit] = -1.5F;
        s->hidden_vector[unit] = i < KINDS ? 1.8F : 0.7F;
    }
    s->hidden_bias[LEVEL] = 20; /* tanh is 1 */
    s->hidden_vector[LEVEL] = 30;
    s->hidden_vector[FEATURE] = 3;
    s->filter[0] = 1; /* f[s] = weight[s - 1]: the key after the previous one */
    s->feature_weight[FEATURE] = 1.5F;
    s->coverage_weight[FEATURE] = -1.5F; /* keys that were read before */
}

void by_hand_make(struct by_hand *s)
{
    memset(s, 0, sizeof *s);
    for (int t = 0; t < BY_HAND_WORDS; t++) {
        s->words[t] = lexicon[t].word;
        encode_word(s->query + t * BY_HAND_WIDTH, lexicon[t].seeks, 1.6F, t + lexicon[t].offset);
        encode_word(s->key + t * BY_HAND_WIDTH, lexicon[t].is, 1.6F, t);
        memcpy(s->value + 2 * t, lexicon[t].value, sizeof lexicon[t].value);
        encode_word(s->position + t * BY_HAND_WIDTH, 0, 0,
                    t); /* the location score uses positions only */
    }
    make_general(s);
    make_hidden(s);
    s->inverse_temperature[0] = 6;
    /* The slowest wave falls from 1 to -1 along the sentence: sigmoid(-2.6 tanh wave) rises. */
    s->center_weight[KINDS] = 1.2F;
    s->center_vector[0] = -2.6F;
}

/* ---- attention among the words ---- */
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

bool variant_is_hard(rapt_normalizer normalizer)
{
    return normalizer == RAPT_NORMALIZER_ARGMAX || normalizer == RAPT_NORMALIZER_SAMPLE ||
           normalizer == RAPT_NORMALIZER_STRAIGHT_THROUGH;
}

void by_hand_problem(struct by_hand_result *r, const struct by_hand *s, struct variant variant,
                     uint64_t seed)
{
    memset(r, 0, sizeof *r);
    rapt_attention *a = &r->problem;
    rapt_attention_init(a, sizeof *a, 1, 1, BY_HAND_WORDS, BY_HAND_WORDS, BY_HAND_WIDTH);
    a->value_width = 2;
    a->v = a->out = (rapt_stride){.batch = 2 * BY_HAND_WORDS, .head = 2 * BY_HAND_WORDS, .row = 2};
    a->score = variant.score;
    a->locality = variant.locality;
    a->normalizer = variant.normalizer;
    a->mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT; /* query t is at position t */
    a->radius = 2;
    a->sparse.global_count = 1;
    a->temperature = 0.5F;
    a->seed = seed;
    a->threads = 1;
    a->parameters = (rapt_attention_parameters){
        .hidden = BY_HAND_HIDDEN,
        .positions = BY_HAND_WORDS,
        .channels = 1,
        .filter_width = 3,
        .center_hidden = 1,
        .array = {[RAPT_ATTENTION_PARAMETER_QUERY_WEIGHT] = s->query_weight,
                  [RAPT_ATTENTION_PARAMETER_KEY_WEIGHT] = s->key_weight,
                  [RAPT_ATTENTION_PARAMETER_HIDDEN_BIAS] = s->hidden_bias,
                  [RAPT_ATTENTION_PARAMETER_HIDDEN_VECTOR] = s->hidden_vector,
                  [RAPT_ATTENTION_PARAMETER_INVERSE_TEMPERATURE] = s->inverse_temperature,
                  [RAPT_ATTENTION_PARAMETER_POSITION] = s->position,
                  [RAPT_ATTENTION_PARAMETER_FILTERS] = s->filter,
                  [RAPT_ATTENTION_PARAMETER_FEATURE_WEIGHT] = s->feature_weight,
                  [RAPT_ATTENTION_PARAMETER_COVERAGE_WEIGHT] = s->coverage_weight,
                  [RAPT_ATTENTION_PARAMETER_CENTER_WEIGHT] = s->center_weight,
                  [RAPT_ATTENTION_PARAMETER_CENTER_VECTOR] = s->center_vector}};
    if (variant.score == RAPT_SCORE_GENERAL)
        a->parameters.array[RAPT_ATTENTION_PARAMETER_QUERY_WEIGHT] = s->general;
}

void by_hand_attend(struct by_hand_result *r, const float *query, const float *key,
                    const float *value)
{
    const rapt_attention_saved saved = {.size = sizeof saved, .lse = r->lse, .chosen = r->chosen};
    struct workspace workspace = {0};
    void *space = workspace_for(&workspace, &r->problem);
    must(rapt_attention_forward(&r->problem, query, key, value, r->out, &saved, space, NULL));
    must(rapt_attention_weights(&r->problem, query, key, &saved, 0, 0, 0, BY_HAND_WORDS, r->weights,
                                space, NULL));
    free(workspace.data);
}
