/* small.c - trains an encoder-decoder on pairs of token ids, and asks it for translations and
   attention weights. */
#include "small.h"
#include "kit/layers.h"
#include "page.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void small_create(struct learner *l, const rapt_config *config, uint64_t seed)
{
    struct learner_setup setup = {.config = *config,
                                  .batch = SMALL_BATCH,
                                  .source_rows = SMALL_TOKENS + 1,
                                  .target_ids = SMALL_TOKENS + 1,
                                  .rate = 1e-3F, /* for the first step */
                                  .seed = seed};
    setup.config.size = sizeof setup.config;
    setup.config.kind = RAPT_KIND_ENCODER_DECODER;
    setup.config.positions = SMALL_TOKENS + 1;
    learner_create(l, &setup);
}

/* Adds a pair. Source: words, end. Target: begin, words, and with `ends` the end. */
static void small_put(struct learner *l, const struct ids_pair *pair, bool ends)
{
    for (int i = 0; i < pair->source.count; i++) learner_id(l, pair->source.at[i]);
    learner_id(l, RAPT_TOKEN_END);
    learner_target(l, RAPT_TOKEN_BEGIN);
    for (int i = 0; i < pair->target.count; i++) learner_target(l, pair->target.at[i]);
    if (ends) learner_target(l, RAPT_TOKEN_END);
    learner_end(l);
}

void small_train(struct learner *l, int steps, float rate, small_draw_fn *draw, const void *user,
                 struct random random, double *losses)
{
    struct ids_pair pair;
    l->setup.steps = steps;
    for (int step = 0; step < steps; step++) {
        for (int b = 0; b < SMALL_BATCH; b++) {
            draw(&random, &pair, user);
            small_put(l, &pair, true);
        }
        rapt_trainer_set_rate(l->trainer, rate * schedule_factor(step, steps, 20, 0.01F));
        const double loss = learner_step(l);
        if (losses != NULL) losses[step] = loss;
    }
}

void small_translate(struct learner *l, const struct ids_pair *pairs, int count, struct ids *out)
{
    int counts[SMALL_BATCH];
    int32_t *ids = xcalloc(SMALL_BATCH * (SMALL_TOKENS + 1), sizeof *ids);
    for (int b = 0; b < count; b++) small_put(l, &pairs[b], false);
    learner_generate(l, RAPT_TOKEN_BEGIN, RAPT_TOKEN_END, NULL, ids, counts, NULL);
    learner_clear(l);
    for (int b = 0; b < count; b++) {
        out[b].count = counts[b] < SMALL_TOKENS ? counts[b] : SMALL_TOKENS;
        memcpy(out[b].at, ids + b * (SMALL_TOKENS + 1), (size_t)out[b].count * sizeof *ids);
    }
    free(ids);
}

double small_exact(struct learner *l, int count, small_draw_fn *draw, const void *user,
                   struct random random)
{
    struct ids_pair pairs[SMALL_BATCH];
    struct ids out[SMALL_BATCH];
    int exact = 0;
    for (int done = 0; done < count; done += SMALL_BATCH) {
        int rows = count - done < SMALL_BATCH ? count - done : SMALL_BATCH;
        for (int b = 0; b < rows; b++) draw(&random, &pairs[b], user);
        small_translate(l, pairs, rows, out);
        for (int b = 0; b < rows; b++)
            exact += out[b].count == pairs[b].target.count &&
                     memcmp(out[b].at, pairs[b].target.at,
                            (size_t)out[b].count * sizeof *out[b].at) == 0;
    }
    return (double)exact / count;
}

/* Feeds the target to the decoder and returns the logits. */
static const float *small_decode(struct learner *l, const struct ids_pair *pair)
{
    small_put(l, pair, false);
    const float *logits = learner_decode(l);
    learner_clear(l);
    return logits;
}

void small_logits(struct learner *l, const struct ids_pair *pair, float *logits)
{
    const size_t row = (size_t)rapt_model_config(l->model)->target_vocab;
    memcpy(logits, small_decode(l, pair), ((size_t)pair->target.count + 1) * row * sizeof *logits);
}

void small_weights(struct learner *l, const struct ids_pair *pair, rapt_weights which, int layer,
                   int head, float *weights)
{
    small_decode(l, pair);
    learner_weights(l, which, layer, head, weights);
}

/* ---- writes the model as JSON that play.js reads: its configuration, parameters and words, and
 * all attention weights for one sentence ---- */

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
