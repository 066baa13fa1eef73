/* small_play.c - writes a small model as JSON that play.js reads: its configuration, parameters and
   words, and all attention weights for one sentence. */
#include "play.h"
#include "small.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static json_t *ids_json(const struct ids *ids, bool end)
{
    json_t *list = json_array();
    for (int i = 0; i < ids->count; i++) put_item(list, json_integer(ids->at[i]));
    if (end) put_item(list, json_integer(RAPT_TOKEN_END));
    return list;
}

/* Rounds to 1e-4, so that a weight takes few characters. */
static json_t *rounded(float weight)
{
    return json_real(round(1e4 * (double)weight) / 1e4);
}

/* Returns [layers][heads][rows * columns]. */
static json_t *weights_json(struct learner *l, const struct ids_pair *pair, rapt_weights which)
{
    const rapt_config *config = rapt_model_config(l->model);
    const bool encoder = which == RAPT_WEIGHTS_ENCODER;
    const int sources = pair->source.count + 1, targets = pair->target.count + 1;
    const int rows = encoder ? sources : targets;
    const int columns = which == RAPT_WEIGHTS_DECODER ? targets : sources;
    const int layers = encoder ? config->encoder_layers : config->decoder_layers;
    float *weights = xcalloc((size_t)(rows * columns), sizeof *weights);
    json_t *all = json_array();
    for (int layer = 0; layer < layers; layer++) {
        json_t *heads = json_array();
        for (int h = 0; h < config->heads; h++) {
            json_t *flat = json_array();
            small_weights(l, pair, which, layer, h, weights);
            for (int i = 0; i < rows * columns; i++) put_item(flat, rounded(weights[i]));
            put_item(heads, flat);
        }
        put_item(all, heads);
    }
    free(weights);
    return all;
}

/* Returns the parameters of all tensors, one after another, in base64. */
static json_t *parameters_json(const rapt_model *model)
{
    const size_t count = rapt_model_parameters(model);
    float *data = xcalloc(count, sizeof *data), *to = data;
    rapt_message why = {""};
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        const rapt_tensor tensor = rapt_model_tensor(model, i);
        learner_check(rapt_model_read(model, i, to, &why), &why);
        to += (size_t)tensor.rows * (size_t)tensor.columns;
    }
    char *text = play_base64((const unsigned char *)data, count * sizeof *data);
    json_t *json = json_string(text);
    free(text);
    free(data);
    return json;
}

static json_t *fields_json(const rapt_config *config)
{
    json_t *fields = json_array();
    for (int i = 0; i < RAPT_CONFIG_FIELDS; i++) {
        const rapt_config_field *field = rapt_config_field_at(i);
        const char *member = (const char *)config + field->offset;
        float real;
        int whole;
        memcpy(&real, member, sizeof real);
        memcpy(&whole, member, sizeof whole);
        put_item(fields, field->type == RAPT_FIELD_TYPE_FLOAT ? json_real((double)real)
                                                              : json_integer(whole));
    }
    return fields;
}

void small_play(struct learner *l, struct page *page, const struct ids_pair *pair,
                const char *(*word)(int32_t id), bool (*reads)(int32_t id))
{
    const rapt_config *config = rapt_model_config(l->model);
    json_t *words = json_array(), *read = json_array();
    for (int32_t id = 0; id < config->target_vocab; id++) {
        const bool special = id < RAPT_TOKEN_SPECIALS;
        put_item(words, json_string(special ? "" : word(id)));
        put_item(read, json_boolean(!special && reads(id)));
    }
    json_t *model =
        json_pack("{s:o,s:o,s:o,s:o,s:{s:i,s:i},s:i,s:i,s:i}", "words", words, "reads", read,
                  "source", ids_json(&pair->source, true), "target", ids_json(&pair->target, false),
                  "layers", "encoder", config->encoder_layers, "decoder", config->decoder_layers,
                  "heads", config->heads, "longest", config->positions, "most", SMALL_MOST);
    put_member(model, "weights",
               json_pack("{s:o,s:o,s:o}", "encoder", weights_json(l, pair, RAPT_WEIGHTS_ENCODER),
                         "decoder", weights_json(l, pair, RAPT_WEIGHTS_DECODER), "cross",
                         weights_json(l, pair, RAPT_WEIGHTS_CROSS)));
    put_member(model, "fields", fields_json(config));
    put_member(model, "parameters", parameters_json(l->model));
    char *text = json_dumps(model, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(model);
    if (text == NULL) exit(failed("out of memory"));
    page_map_model(page, text);
    free(text);
}
