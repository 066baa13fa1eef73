/* sentence.c - a sentence of ten words with hand-made embeddings, whose attention weights are
   meaningful, and hand-made parameters of every score.

   A word has KINDS numbers, what it is (key) or seeks (query), and WAVES pairs cos, sin (pi / WORDS
   * wave * position): codes of near positions have large dot products. */
#include "tour.h"
#include <math.h>
#include <string.h>

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
} lexicon[WORDS] = {
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
        double angle = 3.14159265358979 / WORDS * (i + 1) * at;
        row[KINDS + 2 * i] = (float)cos(angle);
        row[KINDS + 2 * i + 1] = (float)sin(angle);
    }
}

/* W of the general score: kinds weigh more than positions. */
static void make_general(struct sentence *s)
{
    for (int i = 0; i < WIDTH; i++) s->general[i * WIDTH + i] = i < KINDS ? 0.8F : 0.35F;
}

/* The hidden layer of additive scores: two units for each number, tanh(g (q + k) - c) and
   tanh(-g (q + k) - c). Their sum is maximal where q and k are both large with the same sign, so a
   hidden layer detects agreement without a product. The last unit reads the weights of the previous
   query. */
static void make_hidden(struct sentence *s)
{
    for (int unit = 0; unit + 1 < HIDDEN; unit++) {
        int i = unit / 2;
        float sign = unit % 2 ? -1 : 1, gain = i < KINDS ? 0.8F : 1.1F;
        s->query_weight[unit * WIDTH + i] = sign * gain;
        s->key_weight[unit * WIDTH + i] = sign * gain;
        s->hidden_bias[unit] = -1.5F;
        s->hidden_vector[unit] = i < KINDS ? 1.8F : 0.7F;
    }
    s->hidden_vector[HIDDEN - 1] = 3;
    s->filter[0] = 1; /* f[s] = weight[s - 1]: the key after the previous one */
    s->feature_weight[HIDDEN - 1] = 1.5F;
}

void sentence_make(struct sentence *s)
{
    memset(s, 0, sizeof *s);
    for (int t = 0; t < WORDS; t++) {
        s->words[t] = (rapt_text){lexicon[t].word, strlen(lexicon[t].word)};
        encode_word(s->query + t * WIDTH, lexicon[t].seeks, 1.6F, t + lexicon[t].offset);
        encode_word(s->key + t * WIDTH, lexicon[t].is, 1.6F, t);
        memcpy(s->value + 2 * t, lexicon[t].value, sizeof lexicon[t].value);
        encode_word(s->position + t * WIDTH, 0, 0, t); /* the location score uses positions only */
    }
    make_general(s);
    make_hidden(s);
    s->inverse_temperature[0] = 6;
    /* The slowest wave falls from 1 to -1 along the sentence: sigmoid(-2.6 tanh wave) rises. */
    s->center_weight[KINDS] = 1.2F;
    s->center_vector[0] = -2.6F;
}
