/* variant.c - which attention a model learns with: options that take their words from the library's
   tables. */
#include "toy.h"
#include <stdlib.h>
#include <string.h>

typedef const char *name_of(int value);

static const char *score_name(int value)
{
    return rapt_score_name((rapt_score)value);
}

static const char *locality_name(int value)
{
    return rapt_locality_name((rapt_locality)value);
}

static const char *normalizer_name(int value)
{
    return rapt_normalizer_name((rapt_normalizer)value);
}

/* "soft|argmax|...", all that the table holds; never freed: options live as long as the program. */
static const char *choices(name_of *name)
{
    char *all = xasprintf("%s", name(0));
    for (int i = 1; name(i) != NULL; i++) {
        char *more = xasprintf("%s|%s", all, name(i));
        free(all);
        all = more;
    }
    return all;
}

void variant_rows(struct variant *v, struct option_row rows[VARIANT_ROWS])
{
    static const char *scores, *localities, *normalizers;
    if (scores == NULL) {
        scores = choices(score_name);
        localities = choices(locality_name);
        normalizers = choices(normalizer_name);
    }
    /* clang-format off */
    const struct option_row all[VARIANT_ROWS] = {
        {"score", OPTION_CHOICE, &v->score, scores, "how attention compares, everywhere", 0, 0, 0},
        {"self-score", OPTION_CHOICE, &v->self_score, scores, "the same of self-attention,", 0, 0, 0},
        {"cross-score", OPTION_CHOICE, &v->cross_score, scores, "of cross-attention", 0, 0, 0},
        {"locality", OPTION_CHOICE, &v->keys, localities, "which tokens it sees, everywhere", 0, 0, 0},
        {"self-locality", OPTION_CHOICE, &v->self_keys, localities, "the same of self-attention,", 0, 0, 0},
        {"cross-locality", OPTION_CHOICE, &v->cross_keys, localities, "of cross-attention", 0, 0, 0},
        {"normalizer", OPTION_CHOICE, &v->normalizer, normalizers, "how scores become weights, everywhere", 0, 0, 0},
        {"self-normalizer", OPTION_CHOICE, &v->self_normalizer, normalizers, "the same of self-attention,", 0, 0, 0},
        {"cross-normalizer", OPTION_CHOICE, &v->cross_normalizer, normalizers, "of cross-attention", 0, 0, 0},
        {"radius", OPTION_REAL, &v->radius, "R", "of local keys; 0: 4", 0, 1e6, 0},
        {"temperature", OPTION_REAL, &v->temperature, "T", "of gumbel; 0: 1", 0, 1e6, 0},
        {"score-hidden", OPTION_INTEGER, &v->score_hidden, "N", "hidden units of additive scores; 0: a head's width", 0, 65536, 0},
    };
    /* clang-format on */
    memcpy(rows, all, sizeof all);
}

/* The value of that name: what is said of the part, else of everything, else the first. */
static int find(name_of *name, const char *part, const char *everywhere)
{
    const char *wanted = part != NULL ? part : everywhere;
    for (int i = 0; wanted != NULL && name(i) != NULL; i++)
        if (strcmp(name(i), wanted) == 0) return i;
    return 0;
}

void variant_apply(const struct variant *v, rapt_config *c)
{
    c->self_score = (rapt_score)find(score_name, v->self_score, v->score);
    c->cross_score = (rapt_score)find(score_name, v->cross_score, v->score);
    c->self_locality = (rapt_locality)find(locality_name, v->self_keys, v->keys);
    c->cross_locality = (rapt_locality)find(locality_name, v->cross_keys, v->keys);
    c->self_normalizer = (rapt_normalizer)find(normalizer_name, v->self_normalizer, v->normalizer);
    c->cross_normalizer =
        (rapt_normalizer)find(normalizer_name, v->cross_normalizer, v->normalizer);
    c->self_radius = c->cross_radius = (float)v->radius;
    c->self_temperature = c->cross_temperature = (float)v->temperature;
    c->score_hidden = v->score_hidden;
}

/* Nothing for a softmax over scaled dot products: so it was before there were others. */
char *variant_text(const rapt_config *c)
{
    bool plain = c->self_score == 0 && c->cross_score == 0 && c->self_locality == 0 &&
                 c->cross_locality == 0 && c->self_normalizer == 0 && c->cross_normalizer == 0;
    if (plain) return xasprintf("%s", "");
    return xasprintf(
        " self-score %s cross-score %s self-locality %s cross-locality %s self-normalizer %s "
        "cross-normalizer %s radius %.9g temperature %.9g score-hidden %d",
        rapt_score_name(c->self_score), rapt_score_name(c->cross_score),
        rapt_locality_name(c->self_locality), rapt_locality_name(c->cross_locality),
        rapt_normalizer_name(c->self_normalizer), rapt_normalizer_name(c->cross_normalizer),
        (double)c->self_radius, (double)c->self_temperature, c->score_hidden);
}

void variant_describe(const rapt_config *c, json_t *object)
{
    json_t *more =
        json_pack("{s:s, s:s, s:s, s:s}", "self_locality", rapt_locality_name(c->self_locality),
                  "cross_locality", rapt_locality_name(c->cross_locality), "self_normalizer",
                  rapt_normalizer_name(c->self_normalizer), "cross_normalizer",
                  rapt_normalizer_name(c->cross_normalizer));
    const struct {
        const char *name, *bits;
        float value;
    } sizes[] = {{"self_radius", "self_radius_bits", c->self_radius},
                 {"cross_radius", "cross_radius_bits", c->cross_radius},
                 {"self_temperature", "self_temperature_bits", c->self_temperature},
                 {"cross_temperature", "cross_temperature_bits", c->cross_temperature}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        json_object_del(object, sizes[i].bits); /* as a number people can read */
        if (sizes[i].value > 0)
            json_object_set_new(more, sizes[i].name, json_real((double)sizes[i].value));
    }
    json_object_update(object, more);
    json_decref(more);
}
