/* terminal.c - heat maps of text, side by side: rows are the words that look, columns the words
   looked at, by their first two letters. */
#include "tour.h"
#include <string.h>

enum { LABEL = 7, CELL = 3, MAP = CELL * WORDS + 1, MOST_MAPS = 8 };

static void print_word(rapt_text word, int columns)
{
    int size = (int)word.size < columns ? (int)word.size : columns;
    printf("%*s%.*s", columns - size, "", size, word.bytes);
}

/* One score and weighing, `count` reaches from this one on. */
static void print_maps(const struct sentence *s, struct variant variant, int count, uint64_t seed)
{
    static float weights[MOST_MAPS][WORDS * WORDS];
    printf("%*s", LABEL, "");
    for (int m = 0; m < count; m++, variant.reach++) {
        struct result r;
        problem_make(&r, s, variant, seed);
        attend(&r, s->query, s->key, s->value);
        memcpy(weights[m], r.weights, sizeof r.weights);
        printf(" %-*s", MAP - 1, rapt_reach_name(variant.reach));
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

/* As many reaches side by side as there is room for. */
static void print_reaches(const struct sentence *s, int score, int weighing, int asked,
                          uint64_t seed)
{
    int room = (terminal_columns(stdout) - LABEL) / MAP, reaches = 0;
    room = room < 1 ? 1 : room > MOST_MAPS ? MOST_MAPS : room;
    while (rapt_reach_name(reaches) != NULL) reaches++;
    int from = asked < 0 ? 0 : asked, to = asked < 0 ? reaches : asked + 1;
    printf("%s score, %s\n", rapt_score_name(score), rapt_weighing_name(weighing));
    for (; from < to; from += room)
        print_maps(s, (struct variant){score, from, weighing}, to - from < room ? to - from : room,
                   seed);
}

void terminal_show(const struct sentence *s, struct choice only, uint64_t seed)
{
    for (int score = 0; rapt_score_name(score) != NULL; score++)
        for (int weighing = 0; rapt_weighing_name(weighing) != NULL; weighing++) {
            if (only.score >= 0 && only.score != score) continue;
            if (only.weighing >= 0 && only.weighing != weighing) continue;
            print_reaches(s, score, weighing, only.reach, seed);
        }
}

void terminal_claims(const struct claim claims[CLAIMS])
{
    for (int i = 0; i < CLAIMS; i++) {
        const struct claim *c = &claims[i];
        printf("%-4s %s\n", claim_holds(c) ? "yes" : "NO", c->says);
        printf("     %s: %.2g (%s %g), the worst of %d kinds\n", c->figure_is, c->figure,
               c->above ? "at least" : "at most", c->bound, c->variants);
    }
}
