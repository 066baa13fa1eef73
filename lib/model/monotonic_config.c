/* monotonic_config.c - checks the fields of a configuration that concern monotonic
   cross-attention. */
#include "model/model.h"

bool rapt__monotonic_is_soft(const rapt_config *c)
{
    return c->monotonic > RAPT_CROSS_MONOTONIC_HARD;
}

rapt_status rapt__monotonic_check(const rapt_config *c, rapt_message *why)
{
    static const enum config_field meaningless[] = {
        CONFIG_cross_score,  CONFIG_cross_locality, CONFIG_cross_normalizer, CONFIG_score_cap,
        CONFIG_differential, CONFIG_latent_width,   CONFIG_talking_heads,    CONFIG_query_key_norm};
    const char *kind = rapt_config_field_at(CONFIG_monotonic)->word((int)c->monotonic);
    if (c->monotonic_chunk && c->monotonic != RAPT_CROSS_MONOTONIC_CHUNK)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "monotonic_chunk is %d, but monotonic is %s, not chunk",
                          c->monotonic_chunk, kind);
    if (!c->monotonic) return RAPT_OK;
    if (c->kind != RAPT_KIND_ENCODER_DECODER)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "monotonic is %s, but the model has no cross-attention", kind);
    for (size_t i = 0; i < sizeof meaningless / sizeof *meaningless; i++) {
        const rapt_config_field *f = rapt_config_field_at((int)meaningless[i]);
        if (rapt__config_get(c, (int)meaningless[i]))
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "%s must be %s with monotonic %s, which computes stops instead of "
                              "weights from scores",
                              f->name, f->word ? f->word(0) : "0", kind);
    }
    return RAPT_OK;
}
