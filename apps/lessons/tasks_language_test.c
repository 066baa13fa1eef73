/* tasks_language_test.c - measures the models on sentences kept out of training: perplexity,
   compared with n-grams and the grammar; verbs after a distracting noun; masked subjects. */
#include "kit/layers.h"
#include "tasks_language.h"
#include <math.h>
#include <string.h>

void language_put(struct learner *l, const struct sentence *s, int masked)
{
    if (l->setup.config.kind == RAPT_KIND_DECODER_ONLY) learner_target(l, BEGIN);
    for (int i = 0; i < s->count; i++) {
        if (l->setup.config.kind == RAPT_KIND_DECODER_ONLY) {
            learner_target(l, s->word[i]);
            continue;
        }
        learner_id(l, i == masked ? MASK : s->word[i]);
        learner_target(l, i == masked ? s->word[i] : -1);
    }
    learner_end(l);
}

static double share_of(const float *logits, int first, int count)
{
    double p = 0;
    float all[WORDS];
    softmax(1, WORDS, logits, all);
    for (int i = first; i < first + count; i++) p += (double)all[i];
    return p;
}

/* Returns whether the words of the right number are more likely. */
static bool right_number(const float *logits, int first, int count, bool plural)
{
    return (share_of(logits, first + count, count) > share_of(logits, first, count)) == plural;
}

void language_test_decoder(struct language *t)
{
    struct learner *l = &t->learner[DECODER];
    struct random random = random_from(l->setup.seed, 2);
    double nats = 0, grams[ORDERS] = {0}, tokens = 0, distracted = 0, open = 0;
    for (int done = 0; done < TESTS; done += BATCH) {
        struct sentence s[BATCH];
        for (int b = 0; b < BATCH; b++)
            sentence_draw(&s[b], &random, true), language_put(l, &s[b], -1);
        nats += learner_evaluate(l).likelihood;
        const float *logits = learner_decode(l);
        for (int b = 0; b < BATCH; b++) {
            double share[ORDERS];
            for (int i = 0; i < s[b].count; i++) {
                grams_share(&t->grams, &s[b], i, share);
                for (int n = 0; n < ORDERS; n++) grams[n] -= log(share[n]);
            }
            tokens += s[b].count, t->grammar += s[b].nats;
            if (s[b].distracted) {
                struct sentence other = s[b]; /* with the verb of the other number */
                double wrong[ORDERS];
                grams_share(&t->grams, &s[b], s[b].verb, share);
                other.word[s[b].verb] += s[b].plural ? -VERBS : VERBS;
                grams_share(&t->grams, &other, s[b].verb, wrong);
                t->agrees[0] += share[ORDERS - 1] > wrong[ORDERS - 1];
                t->agrees[1] += right_number(logits + s[b].verb * WORDS, VERB, VERBS, s[b].plural);
                distracted++;
            }
            if (s[b].word[0] == DETERMINER) {
                t->fits[DECODER] +=
                    right_number(logits + s[b].subject * WORDS, NOUN, NOUNS, s[b].plural);
                open++;
            }
            logits += (s[b].count + 1) * WORDS;
        }
        learner_clear(l);
    }
    for (int n = 0; n < ORDERS; n++) t->perplexity[n] = exp(grams[n] / tokens);
    t->model = exp(nats / tokens), t->grammar = exp(t->grammar / tokens);
    t->agrees[0] /= distracted, t->agrees[1] /= distracted, t->fits[DECODER] /= open;
}

void language_test_encoder(struct language *t)
{
    struct learner *l = &t->learner[ENCODER];
    struct random random = random_from(l->setup.seed, 2);
    double open = 0;
    for (int done = 0; done < TESTS; done += BATCH) {
        struct sentence s[BATCH];
        for (int b = 0; b < BATCH; b++)
            sentence_draw(&s[b], &random, true), language_put(l, &s[b], s[b].subject);
        const float *logits = learner_classify(l);
        for (int b = 0; b < BATCH; b++) {
            if (s[b].word[0] == DETERMINER) {
                t->fits[ENCODER] +=
                    right_number(logits + s[b].subject * WORDS, NOUN, NOUNS, s[b].plural);
                open++;
            }
            logits += s[b].count * WORDS;
        }
        learner_clear(l);
    }
    t->fits[ENCODER] /= open;
}

double language_streamed(struct language *t)
{
    struct learner *l = &t->learner[DECODER];
    struct random random = random_from(l->setup.seed, 4);
    struct sentence s;
    float whole[(MAX_WORDS + 1) * WORDS];
    double largest = 0;
    sentence_draw(&s, &random, true);
    language_put(l, &s, -1);
    memcpy(whole, learner_decode(l), (size_t)(s.count + 1) * WORDS * sizeof *whole);
    learner_clear(l);
    for (int count = 0; count < s.count; count++) {
        struct sentence part = s;
        part.count = count;
        language_put(l, &part, -1);
        const float *logits = learner_decode(l) + count * WORDS;
        for (int i = 0; i < WORDS; i++)
            largest = fmax(largest, fabs((double)logits[i] - (double)whole[count * WORDS + i]));
        learner_clear(l);
    }
    return largest;
}
