/* small_world.h - shared by the tests of the public interface: a small model, some work, and a hash
   of its results; and one of each object and array that the public functions take, ready for a call
   that succeeds. It includes no header of the library except <rapt/rapt.h>. */
#ifndef RAPT_TESTS_API_SMALL_WORLD_H
#define RAPT_TESTS_API_SMALL_WORLD_H

#include "model/small.h"
#include "translate/small_text.h"

/* ---- work with a small model ---- */

static const rapt_config api_config = {.size = sizeof(rapt_config),
                                       .source_vocab = 60,
                                       .target_vocab = 70,
                                       .positions = 40,
                                       .width = 40,
                                       .heads = 4,
                                       .ffn_width = 50,
                                       .encoder_layers = 2,
                                       .decoder_layers = 2,
                                       .tie = RAPT_TIE_OUTPUT};

static inline uint64_t api_hash(uint64_t h, const void *data, size_t size) /* FNV-1a */
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++) h = (h ^ bytes[i]) * 0x100000001B3u;
    return h;
}

/* Encodes, searches and samples. Returns a hash of the results, or 0 if anything fails. */
static inline uint64_t api_generate(const rapt_model *model, uint64_t seed, int threads)
{
    rapt_limits limits = {.size = sizeof limits,
                          .batch = 3,
                          .beams = 3,
                          .source_tokens = 40,
                          .target_length = 12,
                          .threads = threads};
    rapt_session *session;
    struct small_batch source;
    int lengths[] = {9, 20, 3}, counts[3];
    int32_t ids[36] = {0};
    float scores[3];
    uint64_t h = 0xCBF29CE484222325u;
    small_fill(&source, 60, lengths, 3, seed);
    if (rapt_session_create(&session, model, &limits, NULL, NULL)) return 0;
    for (int sampled = 0; sampled < 2; sampled++) {
        rapt_generate_options o;
        rapt_generate_options_default(&o, sizeof o, 1, 2);
        o.beams = sampled ? 1 : 3, o.temperature = (float)sampled, o.seed = seed;
        const rapt_generate_outputs out = {
            .size = sizeof out, .ids = ids, .counts = counts, .scores = scores};
        if (rapt_generate(session, &source.tokens, &o, &out, NULL)) h = 0;
        h = api_hash(api_hash(h, counts, sizeof counts), scores, sizeof scores);
        for (int b = 0; b < 3; b++)
            h = api_hash(h, ids + b * 12, sizeof *ids * (size_t)(counts[b] > 0 ? counts[b] : 0));
    }
    rapt_session_free(session);
    return h;
}

/* Trains a new model for a few steps. Returns a hash of the result, or 0 if anything fails. */
static inline uint64_t api_train_with(uint64_t seed, int threads, const rapt_train_options *o)
{
    rapt_train_limits limits = {sizeof limits, 3, 40, 40, .threads = threads};
    rapt_model *model = NULL;
    rapt_trainer *trainer = NULL;
    struct small_batch source, target;
    int lengths[] = {9, 20, 3};
    rapt_report report = {.size = sizeof report};
    small_fill(&source, 60, lengths, 3, seed);
    small_fill(&target, 60, lengths, 3, seed + 1);
    if (rapt_model_create(&model, &api_config, seed, NULL, NULL)) return 0;
    if (rapt_trainer_create(&trainer, model, o, &limits, NULL, NULL)) return 0;
    for (int i = 0; i < 3; i++)
        if (rapt_train_gradient(trainer, &source.tokens, &target.tokens, &report, NULL) ||
            rapt_train_step(trainer, &report, NULL))
            return 0;
    uint64_t h = api_hash(0xCBF29CE484222325u, &report, sizeof report);
    float *all = small_parameters(model);
    h = api_hash(h, all, rapt_model_parameters(model) * sizeof *all);
    free(all);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
    return h;
}

static inline uint64_t api_train(uint64_t seed, int threads)
{
    rapt_train_options o;
    rapt_train_options_default(&o, sizeof o);
    return api_train_with(seed, threads, &o);
}

/* ---- everything that a call takes ---- */

enum { WORLD_FLOATS = 4096 };
struct world {
    char path[3][256]; /* files of a model with its tokenizer, of a checkpoint, for output */
    rapt_config config;
    rapt_model *model;
    rapt_session *session;
    rapt_trainer *trainer;
    rapt_translator *translator;
    rapt_tokenizer *tokenizer;
    rapt_allocator allocator;
    rapt_limits limits;
    rapt_train_limits train_limits;
    rapt_shard shard;
    rapt_train_options train_options;
    rapt_generate_options generate_options;
    rapt_generate_outputs outputs;
    rapt_report report;
    rapt_metadata notes[2];
    rapt_tokens tokens, target, prefix, suppressed;
    rapt_text texts[COUNT(small_lines)], targets[COUNT(small_lines)], prefixes[COUNT(small_lines)];
    rapt_text names[3], pieces[3];
    rapt_alignment alignment;
    rapt_subtree tree[2];
    float sums[2]; /* of the tree */
    rapt_bleu bleu;
    rapt_chrf chrf;
    rapt_attention attention;
    rapt_attention_saved saved;
    rapt_gradients gradients;
    float *q, *k, *v, *out, *dout, *lse, *weights, *to, *workspace;
    float logits[WORLD_FLOATS], parameter[WORLD_FLOATS];
    char written[1 << 14], text[1 << 12];
    size_t written_size, size;
    int32_t ids[64];
    int counts[4];
    size_t ends[64];
};

static const int world_starts[] = {0, 2, 4}, world_parents[] = {0, 1}, world_links[64] = {0};
static const int32_t world_ids[] = {1, 5, 1, 6};

static inline void world_attention(struct world *w)
{
    w->q = w->parameter, w->k = w->q + 64, w->v = w->k + 64, w->dout = w->v + 64;
    w->out = w->logits, w->lse = w->out + 64, w->weights = w->lse + 64, w->to = w->weights + 64;
    for (int i = 0; i < WORLD_FLOATS; i++) w->parameter[i] = small_uniform(9, (uint64_t)i);
    assert_int_equal(rapt_attention_init(&w->attention, sizeof w->attention, 1, 2, 3, 4, 5),
                     RAPT_OK);
    w->attention.threads = 2;
    w->saved = (rapt_attention_saved){.size = sizeof w->saved, .lse = w->lse};
    w->gradients = (rapt_gradients){.size = sizeof w->gradients, .q = w->to};
    size_t bytes = rapt_attention_workspace(&w->attention);
    w->workspace = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(w->workspace);
}

static inline void *world_alloc(void *user, size_t bytes)
{
    (void)user;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static inline void world_release(void *user, void *memory, size_t bytes)
{
    (void)user, (void)bytes;
    free(memory);
}

static inline void world_options(struct world *w)
{
    w->limits = (rapt_limits){.size = sizeof w->limits,
                              .batch = 2,
                              .source_tokens = 9,
                              .target_length = 5,
                              .target_tokens = 4,
                              .threads = 2};
    w->train_limits = (rapt_train_limits){sizeof w->train_limits, 2, 9, 9, 2, .shards = 1};
    rapt_train_options_default(&w->train_options, sizeof w->train_options);
    rapt_generate_options_default(&w->generate_options, sizeof w->generate_options, 1, 2);
    w->outputs =
        (rapt_generate_outputs){.size = sizeof w->outputs, .ids = w->ids, .counts = w->counts};
    w->allocator = (rapt_allocator){world_alloc, world_release, NULL};
    w->report.size = sizeof w->report;
}

static inline void world_arrays(struct world *w)
{
    static const rapt_text names[] = {{"</s>", 4}, {"a", 1}, {"<unk>", 5}};
    static const rapt_text pieces[] = {{"[UNK]", 5}, {"a", 1}, {"##b", 3}};
    memcpy(w->names, names, sizeof names);
    memcpy(w->pieces, pieces, sizeof pieces);
    w->notes[0] = (rapt_metadata){"note", "kept"};
    w->notes[1] = (rapt_metadata){"other", "kept"};
    w->tokens = (rapt_tokens){.batch = 2, .ids = world_ids, .starts = world_starts};
    w->target = w->prefix = w->suppressed = w->tokens;
    for (int i = 0; i < COUNT(w->texts); i++) {
        w->texts[i] = (rapt_text){small_lines[i], strlen(small_lines[i])};
        w->targets[i] = w->prefixes[i] = w->texts[i];
    }
    w->alignment = (rapt_alignment){world_links, NULL};
    w->tree[0] = (rapt_subtree){0, 1, &w->sums[0]};
    w->tree[1] = (rapt_subtree){1, 1, &w->sums[1]};
}

static inline void world_create(struct world *w)
{
    *w = (struct world){.size = 0};
    static const char *const names[] = {"world-model", "world-checkpoint", "world-written"};
    for (int i = 0; i < COUNT(names); i++) small_path(w->path[i], names[i]);
    world_options(w);
    world_arrays(w);
    world_attention(w);
    small_translator_file(w->path[0], 16, 1);
    w->tokenizer = small_tokenizer();
    assert_int_equal(
        rapt_tokenizer_write(w->tokenizer, w->written, sizeof w->written, &w->written_size, NULL),
        RAPT_OK);
    assert_int_equal(rapt_translator_load(&w->translator, w->path[0], NULL, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_model_load(&w->model, w->path[0], NULL, NULL), RAPT_OK);
    w->config = *rapt_model_config(w->model);
    w->config.size = sizeof w->config;
    assert_int_equal(rapt_session_create(&w->session, w->model, &w->limits, NULL, NULL), RAPT_OK);
    assert_int_equal(
        rapt_trainer_create(&w->trainer, w->model, &w->train_options, &w->train_limits, NULL, NULL),
        RAPT_OK);
    assert_int_equal(rapt_trainer_save(w->trainer, w->path[1], NULL, 0, NULL), RAPT_OK);
    assert_int_equal(rapt_attention_forward(&w->attention, w->q, w->k, w->v, w->out, &w->saved,
                                            w->workspace, NULL),
                     RAPT_OK);
}

static inline void world_free(struct world *w)
{
    rapt_trainer_free(w->trainer);
    rapt_session_free(w->session);
    rapt_model_free(w->model);
    rapt_translator_free(w->translator);
    rapt_tokenizer_free(w->tokenizer);
    free(w->workspace);
    for (int i = 0; i < COUNT(w->path); i++) unlink(w->path[i]);
}

/* Calls a function with pointer number `null` replaced by NULL, or unchanged if `null` is -1.
   Pointers are counted from 0 in the order of the declaration, without the message. If the function
   returns no status, an empty result counts as RAPT_BAD_ARGUMENT. */
typedef rapt_status call_fn(struct world *w, int null, rapt_message *why);

static inline void *arg(int null, int i, const void *pointer)
{
    return null == i ? NULL : (void *)(uintptr_t)pointer;
}

static inline rapt_text text_arg(int null, int i)
{
    return (rapt_text){arg(null, i, "the cat"), 7};
}

static inline rapt_status found(bool good)
{
    return good ? RAPT_OK : RAPT_BAD_ARGUMENT;
}

#endif
