/* variants.h - small models of every score, locality and normalizer. Model i has variant i of the
   product of the tables in self-attention and another in cross-attention, so that each variant
   occurs in both. */
#ifndef RAPT_TESTS_MODEL_VARIANTS_H
#define RAPT_TESTS_MODEL_VARIANTS_H

#include "model/small.h"

enum { VARIANTS = RAPT_SCORE_COUNT * RAPT_LOCALITY_COUNT * RAPT_NORMALIZER_COUNT, OTHER = 37 };

static inline rapt_config variant(int i)
{
    int j = (i + OTHER) % VARIANTS, n = i / 2 + i % 2, localities = (int)RAPT_LOCALITY_COUNT,
        normalizers = (int)RAPT_NORMALIZER_COUNT;
    rapt_config c = {.size = sizeof(rapt_config),
                     .source_vocab = 7,
                     .target_vocab = 9,
                     .positions = 12,
                     .width = 8,
                     .heads = 2,
                     .key_heads = 1 + n % 2,
                     .ffn_width = n % 3 ? 6 : 0,
                     .encoder_layers = 1,
                     .decoder_layers = 1,
                     .norm_order = n % 5 ? RAPT_NORM_ORDER_POST : RAPT_NORM_ORDER_PRE};
    c.self_score = (rapt_score)(i / normalizers / localities);
    c.self_locality = (rapt_locality)(i / normalizers % localities);
    c.self_normalizer = (rapt_normalizer)(i % normalizers);
    c.cross_score = (rapt_score)(j / normalizers / localities);
    c.cross_locality = (rapt_locality)(j / normalizers % localities);
    c.cross_normalizer = (rapt_normalizer)(j % normalizers);
    if (n % 4 == 0) c.self_radius = 1.5f, c.cross_radius = 2.75f;
    if (n % 4 == 2) c.global_tokens = 2;
    if (n % 4 == 1) c.self_temperature = 0.5f, c.cross_temperature = 1.5f;
    if (n % 3 == 0) c.score_hidden = 5, c.center_hidden = 3;
    if (n % 3 == 1) c.location_channels = 2, c.location_filter_width = 3;
    return c;
}

/* Returns a model with one half of a variant: encoder-only or decoder-only. */
static inline rapt_config variant_half(int i, rapt_kind kind)
{
    rapt_config c = variant(i);
    c.kind = kind;
    if (kind == RAPT_KIND_ENCODER_ONLY)
        c.decoder_layers = 0;
    else
        c.encoder_layers = c.source_vocab = 0;
    return c;
}

static inline const char *variant_name(const rapt_config *c, char text[160])
{
    snprintf(text, 160, "self %s %s %s, cross %s %s %s", rapt_score_name(c->self_score),
             rapt_locality_name(c->self_locality), rapt_normalizer_name(c->self_normalizer),
             rapt_score_name(c->cross_score), rapt_locality_name(c->cross_locality),
             rapt_normalizer_name(c->cross_normalizer));
    return text;
}

#endif
