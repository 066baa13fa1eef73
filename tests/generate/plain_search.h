/* plain_search.h - sorted lists of hypotheses, for plain reimplementations of search in tests. */
#ifndef RAPT_TESTS_GENERATE_PLAIN_SEARCH_H
#define RAPT_TESTS_GENERATE_PLAIN_SEARCH_H

#include "generate/small_search.h"

enum { BEAMS = 5, MAX = 9, VOCAB = 5 };

struct hypothesis {
    int32_t ids[MAX];
    float log[MAX];
    int count;
    bool ended;
    double sum, score;
};
struct list {
    struct hypothesis items[BEAMS * VOCAB];
    int count;
};

static inline double key(const struct hypothesis *h, bool score)
{
    return score ? h->score : h->sum;
}

static inline void sort(struct list *l, bool score) /* stable, largest first */
{
    for (int i = 1; i < l->count; i++)
        for (int j = i; j > 0 && key(&l->items[j], score) > key(&l->items[j - 1], score); j--) {
            struct hypothesis t = l->items[j];
            l->items[j] = l->items[j - 1], l->items[j - 1] = t;
        }
}

#endif
