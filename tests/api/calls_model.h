/* calls_model.h - one call of each public function of attention.h, config.h, transformer.h and
   generate.h, for calls.c. */
#ifndef RAPT_TESTS_API_CALLS_MODEL_H
#define RAPT_TESTS_API_CALLS_MODEL_H

#include "api/small_world.h"

/* ---- base.h ---- */

static rapt_status struct_size(struct world *w, int null, rapt_message *why)
{
    (void)w, (void)why;
    return found(rapt_struct_size(arg(null, 0, "rapt_attention")) > 0);
}

/* ---- attention.h ---- */

static rapt_status attention_init(struct world *w, int null, rapt_message *why)
{
    (void)w, (void)why;
    rapt_attention a;
    return rapt_attention_init(arg(null, 0, &a), sizeof a, 1, 2, 3, 4, 5);
}

static rapt_status attention_init_rows(struct world *w, int null, rapt_message *why)
{
    (void)w, (void)why;
    rapt_attention a;
    return rapt_attention_init_rows(arg(null, 0, &a), sizeof a, 1, 2, 3, 4, 5);
}

static rapt_status attention_init_packed(struct world *w, int null, rapt_message *why)
{
    (void)w, (void)why;
    rapt_attention a;
    return rapt_attention_init_packed(arg(null, 0, &a), sizeof a, 1, 2, 1, 4, 5);
}

static rapt_status attention_init_ragged(struct world *w, int null, rapt_message *why)
{
    (void)w, (void)why;
    rapt_attention a;
    return rapt_attention_init_ragged(arg(null, 0, &a), sizeof a, 2, 2, arg(null, 1, world_starts),
                                      arg(null, 2, world_starts), 5);
}

static rapt_status attention_parameters_lay_out(struct world *w, int null, rapt_message *why)
{
    rapt_attention_parameters_layout l = {.size = sizeof l};
    return rapt_attention_parameters_lay_out(arg(null, 0, &w->attention), arg(null, 1, &l), why);
}

static rapt_status attention_check(struct world *w, int null, rapt_message *why)
{
    return rapt_attention_check(arg(null, 0, &w->attention), why);
}

static rapt_status attention_workspace(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_attention_workspace(arg(null, 0, &w->attention)) > 0);
}

static rapt_status distance_buckets(struct world *w, int null, rapt_message *why)
{
    int to[3];
    (void)w, (void)why;
    return rapt_distance_buckets(1, 1, 4, 3, arg(null, 0, to)) ? RAPT_OK : RAPT_BAD_ARGUMENT;
}

static rapt_status attention_forward(struct world *w, int null, rapt_message *why)
{
    return rapt_attention_forward(arg(null, 0, &w->attention), arg(null, 1, w->q),
                                  arg(null, 2, w->k), arg(null, 3, w->v), arg(null, 4, w->to),
                                  arg(null, 5, &w->saved), arg(null, 6, w->workspace), why);
}

static rapt_status attention_backward(struct world *w, int null, rapt_message *why)
{
    const rapt_reinforce none = {.size = sizeof none};
    return rapt_attention_backward(
        arg(null, 0, &w->attention), arg(null, 1, w->q), arg(null, 2, w->k), arg(null, 3, w->v),
        arg(null, 4, w->out), arg(null, 5, &w->saved), arg(null, 6, w->dout), arg(null, 7, &none),
        arg(null, 8, &w->gradients), arg(null, 9, w->workspace), why);
}

static rapt_status attention_weights(struct world *w, int null, rapt_message *why)
{
    return rapt_attention_weights(arg(null, 0, &w->attention), arg(null, 1, w->q),
                                  arg(null, 2, w->k), arg(null, 3, &w->saved), 0, 1, 0, 3,
                                  arg(null, 4, w->weights), arg(null, 5, w->workspace), why);
}

/* ---- config.h ---- */

static rapt_status config_preset(struct world *w, int null, rapt_message *why)
{
    (void)w;
    rapt_config c = {.size = sizeof c};
    return rapt_config_preset(arg(null, 0, &c), arg(null, 1, "tiny"), 300, why);
}

static rapt_status config_check(struct world *w, int null, rapt_message *why)
{
    return rapt_config_check(arg(null, 0, &w->config), why);
}

/* ---- transformer.h ---- */

static rapt_status model_create(struct world *w, int null, rapt_message *why)
{
    rapt_model *made = NULL;
    rapt_status status = rapt_model_create(arg(null, 0, &made), arg(null, 1, &w->config), 1,
                                           arg(null, 2, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    rapt_model_free(made);
    return status;
}

static rapt_status model_free(struct world *w, int null, rapt_message *why)
{
    (void)why;
    rapt_model *made = NULL;
    assert_int_equal(rapt_model_create(&made, &w->config, 1, NULL, NULL), RAPT_OK);
    rapt_model_free(arg(null, 0, made));
    if (null == 0) rapt_model_free(made);
    return RAPT_OK;
}

static rapt_status model_config(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_model_config(arg(null, 0, w->model)) != NULL);
}

static rapt_status model_parameters(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_model_parameters(arg(null, 0, w->model)) > 0);
}

static rapt_status model_bytes(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_model_bytes(arg(null, 0, w->model)) > 0);
}

static rapt_status file_write(struct world *w, int null, rapt_message *why)
{
    return rapt_file_write(arg(null, 0, w->path[2]), arg(null, 1, w->path[2]), 3, why);
}

static rapt_status file_check(struct world *w, int null, rapt_message *why)
{
    return rapt_file_check(arg(null, 0, w->path[2]), 100, 1000, why);
}

static rapt_status model_save(struct world *w, int null, rapt_message *why)
{
    return rapt_model_save(arg(null, 0, w->model), arg(null, 1, w->path[2]), arg(null, 2, w->notes),
                           2, why);
}

static rapt_status model_save_with(struct world *w, int null, rapt_message *why)
{
    const rapt_save_options options = {.size = sizeof options, .packed = 1};
    return rapt_model_save_with(arg(null, 0, w->model), arg(null, 1, w->path[2]),
                                arg(null, 2, &options), arg(null, 3, w->notes), 2, why);
}

static rapt_status model_check(struct world *w, int null, rapt_message *why)
{
    return rapt_model_check(arg(null, 0, w->model), why);
}

static rapt_status model_load(struct world *w, int null, rapt_message *why)
{
    rapt_model *made = NULL;
    rapt_status status = rapt_model_load(arg(null, 0, &made), arg(null, 1, w->path[0]),
                                         arg(null, 2, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    rapt_model_free(made);
    return status;
}

static rapt_status model_load_with(struct world *w, int null, rapt_message *why)
{
    const rapt_load_options options = {.size = sizeof options};
    rapt_model *made = NULL;
    rapt_status status =
        rapt_model_load_with(arg(null, 0, &made), arg(null, 1, w->path[0]), arg(null, 2, &options),
                             arg(null, 3, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    rapt_model_free(made);
    return status;
}

/* A model file in memory, and the offset of the next byte to write. */
struct call_file {
    char bytes[1 << 16];
    size_t used;
};

static int call_write(void *user, const void *data, size_t count)
{
    struct call_file *f = user;
    if (count > sizeof f->bytes - f->used) return 1;
    memcpy(f->bytes + f->used, data, count);
    f->used += count;
    return 0;
}

static int call_read(void *user, uint64_t at, void *data, size_t count)
{
    const struct call_file *f = user;
    memcpy(data, f->bytes + at, count);
    return 0;
}

static rapt_status model_save_to(struct world *w, int null, rapt_message *why)
{
    static struct call_file f;
    const rapt_writer writer = {call_write, &f};
    f.used = 0;
    return rapt_model_save_to(arg(null, 0, w->model), arg(null, 1, &writer), arg(null, 2, w->notes),
                              2, why);
}

static rapt_status model_save_memory(struct world *w, int null, rapt_message *why)
{
    static struct call_file f;
    return rapt_model_save_memory(arg(null, 0, w->model), arg(null, 1, f.bytes), sizeof f.bytes,
                                  arg(null, 2, &f.used), arg(null, 3, w->notes), 2, why);
}

static rapt_status model_load_memory(struct world *w, int null, rapt_message *why)
{
    static struct call_file f;
    const rapt_load_options options = {.size = sizeof options};
    rapt_model *made = NULL;
    assert_int_equal(
        rapt_model_save_memory(w->model, f.bytes, sizeof f.bytes, &f.used, NULL, 0, NULL), RAPT_OK);
    rapt_status status =
        rapt_model_load_memory(arg(null, 0, &made), arg(null, 1, f.bytes), f.used,
                               arg(null, 2, &options), arg(null, 3, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    rapt_model_free(made);
    return status;
}

static rapt_status model_load_from(struct world *w, int null, rapt_message *why)
{
    static struct call_file f;
    const rapt_load_options options = {.size = sizeof options};
    rapt_model *made = NULL;
    assert_int_equal(
        rapt_model_save_memory(w->model, f.bytes, sizeof f.bytes, &f.used, NULL, 0, NULL), RAPT_OK);
    const rapt_reader reader = {call_read, &f, f.used};
    rapt_status status =
        rapt_model_load_from(arg(null, 0, &made), arg(null, 1, &reader), arg(null, 2, &options),
                             arg(null, 3, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    rapt_model_free(made);
    return status;
}

static rapt_status model_metadata(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_model_metadata(arg(null, 0, w->model), arg(null, 1, "rapt.tokenizer")) !=
                 NULL);
}

static rapt_status model_metadata_count(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_model_metadata_count(arg(null, 0, w->model)) > 0);
}

static rapt_status model_metadata_at(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_model_metadata_at(arg(null, 0, w->model), 0).key != NULL);
}

static rapt_status model_tensors(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_model_tensors(arg(null, 0, w->model)) > 0);
}

static rapt_status model_tensor(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_model_tensor(arg(null, 0, w->model), 0).name != NULL);
}

static rapt_status model_find(struct world *w, int null, rapt_message *why)
{
    (void)why;
    const char *name = rapt_model_tensor(w->model, 0).name;
    return found(rapt_model_find(arg(null, 0, w->model), arg(null, 1, name)) == 0);
}

static int small_tensor(const struct world *w)
{
    int i = 0;
    while (small_size(w->model, i) > WORLD_FLOATS) i++;
    return i;
}

static rapt_status model_scales(struct world *w, int null, rapt_message *why)
{
    return rapt_model_scales(arg(null, 0, w->model), 0, arg(null, 1, w->parameter),
                             arg(null, 2, w->logits), why);
}

static rapt_status model_read(struct world *w, int null, rapt_message *why)
{
    return rapt_model_read(arg(null, 0, w->model), small_tensor(w), arg(null, 1, w->logits), why);
}

static rapt_status model_write(struct world *w, int null, rapt_message *why)
{
    return rapt_model_write(arg(null, 0, w->model), small_tensor(w), arg(null, 1, w->parameter),
                            why);
}

static rapt_status model_precision(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_model_precision(arg(null, 0, w->model)) != RAPT_PRECISION_STORED);
}

static rapt_status model_set_precision(struct world *w, int null, rapt_message *why)
{
    rapt_model *made = NULL;
    if (null < 0) assert_int_equal(rapt_model_load(&made, w->path[0], NULL, why), RAPT_OK);
    rapt_status status =
        rapt_model_set_precision(null < 0 ? made : arg(null, 0, made), RAPT_PRECISION_INT8, 1, why);
    rapt_model_free(made);
    return status;
}

static rapt_status session_bytes(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_session_bytes(arg(null, 0, w->model), arg(null, 1, &w->limits)) > 0);
}

static rapt_status session_create(struct world *w, int null, rapt_message *why)
{
    rapt_session *made = NULL;
    rapt_status status =
        rapt_session_create(arg(null, 0, &made), arg(null, 1, w->model), arg(null, 2, &w->limits),
                            arg(null, 3, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    rapt_session_free(made);
    return status;
}

static rapt_status session_free(struct world *w, int null, rapt_message *why)
{
    (void)why;
    rapt_session *made = NULL;
    assert_int_equal(rapt_session_create(&made, w->model, &w->limits, NULL, NULL), RAPT_OK);
    rapt_session_free(arg(null, 0, made));
    if (null == 0) rapt_session_free(made);
    return RAPT_OK;
}

static rapt_status encode(struct world *w, int null, rapt_message *why)
{
    const float *states;
    return rapt_encode(arg(null, 0, w->session), arg(null, 1, &w->tokens), arg(null, 2, &states),
                       why);
}

static rapt_status decode(struct world *w, int null, rapt_message *why)
{
    const float *logits;
    assert_int_equal(rapt_encode(w->session, &w->tokens, NULL, NULL), RAPT_OK);
    return rapt_decode(arg(null, 0, w->session), arg(null, 1, &w->target), arg(null, 2, &logits),
                       why);
}

/* Classifies or embeds with an encoder-only model of the same sizes. */
static rapt_status ask(struct world *w, int null, bool embeds, rapt_message *why)
{
    rapt_config c = w->config;
    c.kind = RAPT_KIND_ENCODER_ONLY, c.decoder_layers = 0;
    rapt_model *model;
    rapt_session *session;
    const float *answers;
    assert_int_equal(rapt_model_create(&model, &c, 1, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_session_create(&session, model, &w->limits, NULL, NULL), RAPT_OK);
    void *a = arg(null, 0, session), *b = arg(null, 1, &w->tokens), *to = arg(null, 2, &answers);
    rapt_status status =
        embeds ? rapt_embed(a, b, RAPT_POOLING_MEAN, to, why) : rapt_classify(a, b, to, why);
    rapt_session_free(session);
    rapt_model_free(model);
    return status;
}

static rapt_status classify(struct world *w, int null, rapt_message *why)
{
    return ask(w, null, false, why);
}

static rapt_status embed(struct world *w, int null, rapt_message *why)
{
    return ask(w, null, true, why);
}

static rapt_status session_reorder(struct world *w, int null, rapt_message *why)
{
    assert_int_equal(decode(w, -1, NULL), RAPT_OK);
    return rapt_session_reorder(arg(null, 0, w->session), arg(null, 1, world_parents), why);
}

static rapt_status session_alignment(struct world *w, int null, rapt_message *why)
{
    assert_int_equal(decode(w, -1, NULL), RAPT_OK);
    return rapt_session_alignment(arg(null, 0, w->session), -1, -1, arg(null, 1, w->weights), why);
}

static rapt_status session_weights(struct world *w, int null, rapt_message *why)
{
    assert_int_equal(decode(w, -1, NULL), RAPT_OK);
    return rapt_session_weights(arg(null, 0, w->session), RAPT_WEIGHTS_CROSS, -1, -1,
                                arg(null, 1, w->weights), why);
}

/* ---- generate.h ---- */

static rapt_status generate_options_default(struct world *w, int null, rapt_message *why)
{
    (void)why;
    rapt_generate_options_default(arg(null, 0, &w->generate_options), sizeof w->generate_options, 1,
                                  2);
    return RAPT_OK;
}

static rapt_status generate(struct world *w, int null, rapt_message *why)
{
    rapt_generate_options options = w->generate_options;
    options.prefix = &w->prefix, options.suppressed_sequences = &w->suppressed;
    return rapt_generate(arg(null, 0, w->session), arg(null, 1, &w->tokens), arg(null, 2, &options),
                         arg(null, 3, &w->outputs), why);
}

static rapt_status score_targets(struct world *w, int null, rapt_message *why)
{
    double sums[2];
    return rapt_score_targets(arg(null, 0, w->session), arg(null, 1, &w->tokens),
                              arg(null, 2, &w->target), 1, 2, arg(null, 3, w->logits),
                              arg(null, 4, sums), why);
}

#endif
