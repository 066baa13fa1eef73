/* bottleneck.h - interface header of bottleneck: three translation models and their quality by
   sentence length. */
#ifndef BOTTLENECK_H
#define BOTTLENECK_H

#include "kit/demo.h"
#include "kit/heatmap.h"
#include "recurrent/recurrent.h"

enum { FIXED_VECTOR, WITH_ATTENTION, TRANSFORMER, KINDS };

/* ---- measure.c: quality by sentence length ---- */
enum { POINTS = 12 };
struct curve {
    const char *name;
    size_t parameters;
    struct quality at[POINTS];       /* sentences of (i + 1) max_words / 4 words */
    struct quality in_range, beyond; /* up to max_words / 2 words; max_words + 1 .. 5/4 max_words */
};
/* Over TESTS sentences of each length. */
enum { TESTS = 64 };
void curve_measure(struct curve *curve, struct translator *translator);
int point_length(const struct training *training, int point);

/* ---- show.c ---- */
enum { EXAMPLES = 2 };
struct example {
    const char *about;
    struct sentence sentence;
    struct words out;
    float *weights; /* [French words and the end][English words and the end] */
};
void example_make(struct example *example, const char *about, const struct clause *clause,
                  struct translator *translator);
void example_free(struct example *example);
/* Labels and weights as a table; free it. */
struct heatmap example_map(const struct example *example, const struct language *language);
void example_map_free(struct heatmap *map);
struct report {
    const struct training *training;
    struct curve curves[KINDS];
    struct example examples[EXAMPLES];
    double seconds;
};
/* show.c, picture.c */
void report_print(const struct report *report);
void report_json(const struct report *report);
int report_svg(const struct report *report, const char *path);
/* BLEU on sentences just longer than any in training over BLEU on short ones. The claim: less than
   0.5 with the fixed vector, at least 0.9 with attention. */
double retained(const struct curve *curve);
bool claim_holds(const struct report *report);

#endif
