/* operations.h - a table of operations that call every public function on small objects. Each gives
   a status and adds its results to a hash. Tests run the table with failing allocations, in all
   floating-point modes, under signals and on many threads; functions.py checks that it is complete.
   An operation allocates nothing itself, and records whether a failure changed its arguments. */
#ifndef RAPT_TESTS_PROCESS_OPERATIONS_H
#define RAPT_TESTS_PROCESS_OPERATIONS_H

#include "process/operations_model.h"
#include "process/operations_text.h"
#include "process/operations_translator.h"

typedef rapt_status operation_fn(struct scene *s, uint64_t *h, rapt_message *why);
/* ---- constants and configurations ---- */

static rapt_status do_names(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_config c = {.size = sizeof c};
    rapt_isa isa = rapt_isa_used();
    add_text(h, rapt_version());
    for (int i = -6; i < 10; i++) {
        add_text(h, rapt_status_text((rapt_status)i));
        add_text(h, i < 0 ? NULL : rapt_score_name((rapt_score)i));
        add_text(h, i < 0 ? NULL : rapt_locality_name((rapt_locality)i));
        add_text(h, i < 0 ? NULL : rapt_normalizer_name((rapt_normalizer)i));
        add_text(h, i < 0 ? NULL : rapt_attention_parameter_name((rapt_attention_parameter)i));
        const rapt_config_field *field = rapt_config_field_at(i);
        add_text(h, field ? field->name : NULL);
    }
    for (int i = -1; i < 9; i++) add_text(h, rapt_precision_name((rapt_precision)i));
    add_text(h, rapt_isa_name(isa));
    add_text(h, rapt_isa_int8());
    size_t limits = rapt_struct_size("rapt_limits");
    add(h, &limits, sizeof limits);
    rapt_status status = rapt_config_preset(&c, "tiny", 100 + s->variant, why);
    if (!status) status = rapt_config_check(&c, why);
    add(h, &c, sizeof c);
    return status;
}

static rapt_status do_isa(struct scene *s, uint64_t *h, rapt_message *why)
{
    (void)s, (void)h, (void)why;
    return rapt_isa_use(rapt_isa_used());
}

/* ---- attention on arrays ---- */

static rapt_status do_attention(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_attention a;
    rapt_attention_saved saved = {.size = sizeof saved, .lse = s->lse};
    rapt_gradients d = {.size = sizeof d, .q = s->dx[0], .k = s->dx[1], .v = s->dx[2]};
    rapt_status status =
        rapt_attention_init(&a, sizeof a, 1, 1, ATTENTION_ROWS, ATTENTION_ROWS, ATTENTION_WIDTH);
    const int starts[] = {0, ATTENTION_ROWS};
    rapt_attention other;
    rapt_attention_parameters_layout learned = {.size = sizeof learned};
    if (!status) status = rapt_attention_init_rows(&other, sizeof other, 1, 2, 3, 4, 5);
    if (!status) status = rapt_attention_init_packed(&other, sizeof other, 1, 2, 1, 4, 5);
    if (!status) status = rapt_attention_init_ragged(&other, sizeof other, 1, 2, starts, NULL, 5);
    other.score = RAPT_SCORE_GENERAL;
    if (!status) status = rapt_attention_parameters_lay_out(&other, &learned, why);
    add(h, &learned, sizeof learned);
    enum { DISTANCE = 5 };
    int buckets[DISTANCE + 1 + DISTANCE], chosen[ATTENTION_ROWS];
    a.threads = s->threads, a.normalizer = s->variant % 2 ? RAPT_NORMALIZER_STRAIGHT_THROUGH : 0;
    a.distances =
        (rapt_distances){.before = DISTANCE, .after = DISTANCE, .buckets = buckets, .keys = s->x};
    a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
    a.distances.bucket_count = rapt_distance_buckets(DISTANCE, DISTANCE, 4, DISTANCE, buckets);
    saved.chosen = chosen;
    for (int i = 0; i < ATTENTION_FLOATS; i++) s->x[i] = 3 * small_uniform(7, (uint64_t)i);
    memset(s->dx, 0, sizeof s->dx);
    if (!status) status = rapt_attention_check(&a, why);
    if (!status && rapt_attention_workspace(&a) > sizeof s->workspace) status = RAPT_NO_MEMORY;
    if (!status)
        status = rapt_attention_forward(&a, s->x, s->x, s->x, s->out, &saved, s->workspace, why);
    if (!status)
        status = rapt_attention_backward(&a, s->x, s->x, s->x, s->out, &saved, s->x, NULL, &d,
                                         s->workspace, why);
    if (!status)
        status = rapt_attention_weights(&a, s->x, s->x, &saved, 0, 0, 0, ATTENTION_ROWS, s->weights,
                                        s->workspace, why);
    add(h, s->out, sizeof s->out);
    add(h, s->dx, sizeof s->dx);
    add(h, s->lse, sizeof s->lse);
    add(h, s->weights, sizeof s->weights);
    return status;
}

/* ---- linear_attention.h ---- */

static rapt_status do_linear_attention(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_linear_attention a;
    rapt_linear_attention_gradients d = {
        .size = sizeof d, .q = s->dx[0], .k = s->dx[1], .v = s->dx[2]};
    float state[ATTENTION_WIDTH * ATTENTION_WIDTH] = {0}, gates[ATTENTION_ROWS];
    rapt_status status = rapt_linear_attention_init(&a, sizeof a, 1, 1, ATTENTION_ROWS,
                                                    ATTENTION_WIDTH, ATTENTION_WIDTH);
    for (int i = 0; i < ATTENTION_ROWS; i++) gates[i] = 0.1f * small_uniform(8, (uint64_t)i);
    for (int i = 0; i < ATTENTION_FLOATS; i++) s->x[i] = small_uniform(7, (uint64_t)i);
    memset(s->dx, 0, sizeof s->dx);
    a.threads = s->threads, a.log_decay = gates;
    a.feature_map = s->variant % 2 ? RAPT_FEATURE_MAP_ELU : RAPT_FEATURE_MAP_NONE;
    if (s->variant % 4) a.beta = gates;
    add_text(h, rapt_feature_map_name(a.feature_map));
    if (!status) status = rapt_linear_attention_check(&a, why);
    if (!status && rapt_linear_attention_workspace(&a, 1) > sizeof s->workspace)
        status = RAPT_NO_MEMORY;
    if (!status)
        status =
            rapt_linear_attention_forward(&a, s->x, s->x, s->x, s->out, state, s->workspace, why);
    add(h, s->out, sizeof s->out);
    if (!status)
        status = rapt_linear_attention_backward(&a, s->x, s->x, s->x, s->x, state, &d, s->workspace,
                                                why);
    if (!status)
        status = rapt_linear_attention_step(&a, s->x, s->x, s->x, state, s->out, s->workspace, why);
    add(h, s->out, sizeof s->out);
    add(h, s->dx, sizeof s->dx);
    add(h, state, sizeof state);
    return status;
}

/* ---- monotonic_attention.h ---- */

static rapt_status do_monotonic_attention(struct scene *s, uint64_t *h, rapt_message *why)
{
    enum { ROWS = ATTENTION_ROWS, WIDTH = ATTENTION_WIDTH };
    rapt_monotonic_attention a;
    const rapt_monotonic_attention_outputs outputs = {.size = sizeof outputs, .alpha = s->weights};
    const rapt_monotonic_attention_gradients d = {
        .size = sizeof d, .q = s->dx[0], .k = s->dx[1], .v = s->dx[2]};
    int position = 0;
    rapt_status status = rapt_monotonic_attention_init(&a, sizeof a, 1, 1, ROWS, ROWS, WIDTH);
    for (int i = 0; i < ATTENTION_FLOATS; i++) s->x[i] = small_uniform(7, (uint64_t)i);
    memset(s->dx, 0, sizeof s->dx);
    a.threads = s->threads, a.chunk = 4;
    a.mode = (rapt_monotonic)(s->variant % RAPT_MONOTONIC_COUNT);
    add_text(h, rapt_monotonic_name(a.mode));
    if (!status) status = rapt_monotonic_attention_check(&a, why);
    if (!status && rapt_monotonic_attention_workspace(&a, 1) > sizeof s->workspace)
        status = RAPT_NO_MEMORY;
    const float *x = s->x;
    if (!status)
        status = rapt_monotonic_attention_forward(&a, x, x, x, x, x, s->out, &outputs, s->workspace,
                                                  why);
    add(h, s->out, sizeof s->out);
    add(h, s->weights, sizeof s->weights);
    if (!status)
        status = rapt_monotonic_attention_backward(&a, x, x, x, x, x, x, s->weights, x, &d,
                                                   s->workspace, why);
    if (!status)
        status =
            rapt_monotonic_attention_step(&a, x, x, x, x, x, &position, s->out, s->workspace, why);
    add(h, s->out, sizeof s->out);
    add(h, s->dx, sizeof s->dx);
    add(h, &position, sizeof position);
    return status;
}

/* ---- sessions ---- */

static rapt_status do_session(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_session *session = scene_untouched;
    rapt_limits limits = scene_limits(s);
    rapt_status status = rapt_session_create(&session, s->shared, &limits, s->allocator, why);
    if (status) {
        s->changed |= session != scene_untouched;
        return status;
    }
    s->changed |= rapt_session_bytes(s->shared, &limits) == 0;
    add(h, &limits, sizeof limits.size);
    rapt_session_free(session);
    return status;
}

static rapt_status do_classify(struct scene *s, uint64_t *h, rapt_message *why)
{
    const float *rows = NULL;
    const rapt_config *c = rapt_model_config(s->classifier);
    size_t answers = (size_t)(c->pooling ? 3 : s->source.starts[3]);
    rapt_status status = rapt_classify(s->classifying, &s->source.tokens, &rows, why);
    if (!status) add(h, rows, sizeof *rows * answers * (size_t)c->target_vocab);
    if (!status) status = rapt_embed(s->session, &s->source.tokens, RAPT_POOLING_MEAN, &rows, why);
    if (!status) add(h, rows, sizeof *rows * 3 * (size_t)c->width);
    return status;
}

static rapt_status do_decode(struct scene *s, uint64_t *h, rapt_message *why)
{
    const int starts[] = {0, 1, 2, 3, 4, 5, 6}, parents[] = {1, 0, 2, 2, 5, 4};
    const int32_t ids[] = {1, 2, 3, 4, 1, 2};
    const rapt_tokens target = {.batch = 6, .ids = ids, .starts = starts};
    const float *encoded = NULL, *logits = NULL;
    const rapt_config *c = rapt_model_config(s->shared);
    rapt_status status = rapt_encode(s->session, &s->source.tokens, &encoded, why);
    if (!status) add(h, encoded, sizeof *encoded * (size_t)c->width * (size_t)s->source.starts[3]);
    for (int i = 0; !status && i < 3; i++) {
        status = rapt_decode(s->session, &target, &logits, why);
        if (!status) add(h, logits, 6 * sizeof *logits * (size_t)c->target_vocab);
        if (!status) status = rapt_session_reorder(s->session, parents, why);
    }
    if (!status) status = rapt_decode(s->session, &target, &logits, why);
    if (!status) status = rapt_session_alignment(s->session, -1, -1, s->floats, why);
    if (!status) add(h, s->floats, 2 * sizeof *s->floats * (size_t)s->source.starts[3]);
    for (int which = RAPT_WEIGHTS_ENCODER; which < RAPT_WEIGHTS_CROSS; which++) {
        memset(s->floats, 0, sizeof s->floats);
        if (!status)
            status = rapt_session_weights(s->session, (rapt_weights)which, -1, 0, s->floats, why);
        add(h, s->floats, 200 * sizeof *s->floats);
    }
    return status;
}

static rapt_status do_generate(struct scene *s, uint64_t *h, rapt_message *why)
{
    int counts[6] = {0};
    float scores[6] = {0};
    rapt_status status = RAPT_OK;
    const rapt_tokens prefix = {
        .batch = 3, .ids = (const int32_t[]){3, 4}, .starts = (const int[]){0, 1, 1, 2}};
    for (int sampled = 0; !status && sampled < 2; sampled++) {
        rapt_generate_options o;
        rapt_generate_options_default(&o, sizeof o, 1, 2);
        o.beams = 2 - sampled, o.nbest = o.beams, o.temperature = (float)sampled, o.top_k = 3;
        if (s->variant % 2) o.prefix = &prefix, o.min_length = 3, o.no_repeat_ngram = 2;
        const rapt_generate_outputs out = {.size = sizeof out,
                                           .ids = s->ids,
                                           .counts = counts,
                                           .scores = scores,
                                           .alignments = s->floats};
        memset(s->ids, 0, sizeof s->ids);
        status = rapt_generate(s->session, &s->source.tokens, &o, &out, why);
        add(h, counts, sizeof counts);
        add(h, scores, sizeof scores);
    }
    return status;
}

static rapt_status do_score_targets(struct scene *s, uint64_t *h, rapt_message *why)
{
    double sums[3];
    const rapt_tokens target = {
        .batch = 3, .ids = (const int32_t[]){3, 4, 5}, .starts = (const int[]){0, 2, 3, 3}};
    rapt_status status =
        rapt_score_targets(s->session, &s->source.tokens, &target, 1, 2, s->floats, sums, why);
    if (status) return status;
    add(h, s->floats, 6 * sizeof *s->floats);
    add(h, sums, sizeof sums);
    return status;
}

/* allocates: the operation asks for memory. exact: it computes nothing, so that its result is the
   same in every floating-point mode. */
struct operation {
    const char *name;
    operation_fn *run;
    bool allocates, exact;
};
/* clang-format off */
static const struct operation operations[] = {
    {"names", do_names, false, true},
    {"isa_use", do_isa, false, true},
    {"attention", do_attention, false, false},
    {"linear_attention", do_linear_attention, false, false},
    {"monotonic_attention", do_monotonic_attention, false, false},
    {"tokenizer_learn", do_learn, true, true},
    {"tokenizer_create", do_tokenizer, true, true},
    {"tokenizer_load", do_spm, true, true},
    {"tokenizer_load_memory", do_spm_memory, true, true},
    {"tokenizer_create_list", do_list, true, true},
    {"tokenizer_create_wordpiece", do_wordpiece, true, true},
    {"file_write", do_file, true, true},
    {"shortlist", do_shortlist, true, true},
    {"translate_listed", do_translate_listed, true, false},
    {"tokenizer_encode", do_tokens, false, true},
    {"bleu_add", do_bleu, true, false},
    {"chrf_add", do_chrf, true, false},
    {"model_create", do_model_create, true, false},
    {"model_load", do_model_load, true, true},
    {"model_import", do_model_import, true, true},
    {"model_import_with", do_model_import_with, true, false},
    {"model_export", do_model_export, true, true},
    {"folder_import", do_folder_import, true, true},
    {"folder_export", do_folder_export, true, false},
    {"model_load_with", do_model_load_with, true, true},
    {"model_memory", do_model_memory, true, true},
    {"model_save_to", do_model_save_to, true, true},
    {"model_save", do_model_save, true, true},
    {"model_packed", do_model_packed, true, true},
    {"model_set_precision", do_model_set_precision, true, false},
    {"model_read", do_model_read, false, true},
    {"session_create", do_session, true, true},
    {"classify", do_classify, false, false},
    {"decode", do_decode, false, false},
    {"generate", do_generate, false, false},
    {"score_targets", do_score_targets, false, false},
    {"trainer_create", do_trainer, true, true},
    {"tune", do_tune, true, false},
    {"train", do_train, false, false},
    {"train_shards", do_train_shards, false, false},
    {"trainer_save", do_trainer_save, true, false},
    {"trainer_load", do_trainer_load, true, true},
    {"block", do_block, true, false},
    {"encoder_load", do_encoder_load, true, true},
    {"encoder_embed", do_encoder_embed, true, false},
    {"encoder_classify", do_encoder_classify, true, false},
    {"translator_load", do_translator, true, true},
    {"translator_create", do_translator_create, true, true},
    {"translator_score", do_translator_score, true, false},
    {"model_calibrate", do_model_calibrate, true, false},
    {"translate", do_translate, true, false},
    {"translate_many", do_translate_many, true, false},
    {"translate_many_with", do_translate_many_with, true, false},
    {"glossary_create", do_glossary, true, true},
    {"translate_terms", do_translate_terms, true, false},
    {"document_translate", do_document, true, false},
    {"document_translate_with", do_document_with, true, false},
};
/* clang-format on */
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* ICU 72 leaks memory if one of its own allocations fails: one or two blocks for each ubrk_open. */
#ifdef RAPT_HAVE_ICU
static const bool have_icu = true;
#else
static const bool have_icu = false;
#endif
static inline bool uses_icu(const struct operation *o)
{
    return have_icu && strncmp(o->name, "document_", 9) == 0;
}

/* Runs one operation. Returns the hash of its results, or 0 if it failed. */
static inline uint64_t scene_run(struct scene *s, const struct operation *o)
{
    uint64_t h = 0xCBF29CE484222325u;
    rapt_message why = {""};
    rapt_status status = o->run(s, &h, &why);
    memcpy(s->reason, why.text, sizeof s->reason);
    return status || s->changed || why.text[0] ? 0 : h;
}

#endif
