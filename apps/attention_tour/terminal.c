/* terminal.c - heat maps as text, side by side: rows are queries, columns keys, by two letters. */
#include "tour.h"
#include <string.h>

enum { LABEL = 7, CELL = 3, MAP = CELL * WORDS + 1 };

static void print_word(rapt_text word, int columns)
{
    int size = (int)word.size < columns ? (int)word.size : columns;
    printf("%*s%.*s", columns - size, "", size, word.bytes);
}

/* One score and normalizer, `count` localities from this one on. */
static void print_maps(const struct sentence *s, struct variant variant, int count, uint64_t seed)
{
    static float weights[RAPT_LOCALITY_COUNT][WORDS * WORDS];
    printf("%*s", LABEL, "");
    for (int m = 0; m < count; m++) {
        struct result r;
        problem_make(&r, s, variant, seed);
        attend(&r, s->query, s->key, s->value);
        memcpy(weights[m], r.weights, sizeof r.weights);
        printf(" %-*s", MAP - 1, rapt_locality_name(variant.locality));
        variant.locality = (rapt_locality)(variant.locality + 1);
    }
    printf("\n%*s", LABEL, "");
    for (int i = 0; i < count * WORDS; i++) {
        printf("%s", i % WORDS == 0 ? " " : "");
        print_word(s->words[i % WORDS], 2);
        putchar(' ');
    }
    putchar('\n');
    for (int t = 0; t < WORDS; t++) {
        print_word(s->words[t], LABEL);
        for (int i = 0; i < count * WORDS; i++) {
            const char *shade = heatmap_shade(weights[i / WORDS][t * WORDS + i % WORDS]);
            printf("%s%s%s ", i % WORDS == 0 ? " " : "", shade, shade);
        }
        putchar('\n');
    }
    putchar('\n');
}

bool is_selected(struct choice only, struct variant v)
{
    return (only.score < 0 || only.score == (int)v.score) &&
           (only.locality < 0 || only.locality == (int)v.locality) &&
           (only.normalizer < 0 || only.normalizer == (int)v.normalizer);
}

/* One score and normalizer: as many localities side by side as fit. */
static void print_localities(const struct sentence *s, struct variant v, int asked, uint64_t seed)
{
    int capacity = (terminal_columns(stdout) - LABEL) / MAP;
    capacity = capacity < 1 ? 1 : capacity > RAPT_LOCALITY_COUNT ? RAPT_LOCALITY_COUNT : capacity;
    int from = asked < 0 ? 0 : asked, to = asked < 0 ? RAPT_LOCALITY_COUNT : asked + 1;
    printf("%s score, %s\n", rapt_score_name(v.score), rapt_normalizer_name(v.normalizer));
    for (; from < to; from += capacity) {
        v.locality = (rapt_locality)from;
        print_maps(s, v, to - from < capacity ? to - from : capacity, seed);
    }
}

void terminal_show(const struct sentence *s, struct choice only, uint64_t seed)
{
    const int locality = only.locality;
    only.locality = -1;
    printf("Rows: queries; columns: keys. Weights:\n%s.\n\n", heatmap_legend);
    for (struct variant v = {0}; variant_is(v); v = variant_after(v))
        if (v.locality == RAPT_LOCALITY_GLOBAL && is_selected(only, v))
            print_localities(s, v, locality, seed);
}

void terminal_claims(const struct claim claims[CLAIMS])
{
    for (int i = 0; i < CLAIMS; i++) {
        const struct claim *c = &claims[i];
        printf("%-4s %s\n", claim_holds(c) ? "yes" : "NO", c->statement);
        printf("     %s: %.2g (%s %g), worst of %d variants\n", c->measure, c->figure,
               c->above ? "at least" : "at most", c->bound, c->variants);
    }
}
