/* soak_calls.h - the calls of soak.c in addition to the operations of operations.h: damaged files,
   arguments that are refused, callbacks that stop, sampling and attention of random shapes, and
   files of other projects. Each draws its arguments from the round's seed and adds its results to
   the round's hash. */
#ifndef RAPT_TESTS_PROCESS_SOAK_CALLS_H
#define RAPT_TESTS_PROCESS_SOAK_CALLS_H

#include "process/operations.h"

struct soak {
    struct scene *scene;
    const char *data; /* folder with files of other projects; NULL: none */
    uint64_t seed, drawn;
    uint64_t hash; /* of all results of the round */
};

/* Draws a number from 0 to `below` - 1. */
static inline int soak_draw(struct soak *k, int below)
{
    return (int)(small_random(k->seed, k->drawn++) % (uint64_t)below);
}

static inline void soak_add(struct soak *k, rapt_status status, const rapt_message *why)
{
    int number = (int)status;
    if (!status != !why->text[0]) fail_msg("status %d, \"%s\"", number, why->text);
    add(&k->hash, &number, sizeof number);
    add_text(&k->hash, why->text);
}

/* ---- files ---- */

/* Truncates the bytes or changes a few of them, half of the time in the header. Returns the new
   size. */
static inline size_t soak_damage(struct soak *k, void *data, size_t size)
{
    unsigned char *bytes = data;
    if (soak_draw(k, 4) == 0) return (size_t)soak_draw(k, (int)size);
    const int end = (int)(soak_draw(k, 2) && size > 4096 ? 4096 : size);
    for (int i = soak_draw(k, 4); i >= 0; i--)
        bytes[soak_draw(k, end)] ^= (unsigned char)(1 << soak_draw(k, 8));
    return size;
}

static inline size_t soak_read(struct scene *s, const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(s->bytes, 1, SCENE_BYTES, file) : 0;
    if (file) fclose(file);
    if (size == 0 || size == SCENE_BYTES) fail_msg("%s: %zu bytes", path, size);
    return size;
}

static inline void soak_write(const char *path, const void *bytes, size_t size)
{
    rapt_message why = {""};
    must(rapt_file_write(path, bytes, size, &why), &why);
}

static void soak_damaged_model(struct soak *k)
{
    struct scene *s = k->scene;
    rapt_model *model = scene_untouched;
    rapt_message why = {""};
    size_t size = soak_damage(k, s->bytes, soak_read(s, s->model_path));
    rapt_status status = rapt_model_load_memory(&model, s->bytes, size, NULL, s->allocator, &why);
    soak_add(k, add_model_made(s, &k->hash, status, model), &why);
}

static void soak_damaged_pieces(struct soak *k)
{
    struct scene *s = k->scene;
    rapt_tokenizer *tokenizer = scene_untouched;
    rapt_message why = {""};
    size_t size = soak_damage(k, s->bytes, soak_read(s, s->spm_path));
    rapt_status status = rapt_tokenizer_load_memory(&tokenizer, s->bytes, size, s->allocator, &why);
    soak_add(k, loaded(s, &k->hash, status, tokenizer), &why);
}

static void soak_damaged_checkpoint(struct soak *k)
{
    struct scene *s = k->scene;
    rapt_message why = {""};
    size_t size = soak_damage(k, s->bytes, soak_read(s, s->checkpoint_path));
    soak_write(s->out_path, s->bytes, size);
    soak_add(k, rapt_trainer_load(s->trainer, s->out_path, &why), &why);
    add_model(s, &k->hash, s->own);
    unlink(s->out_path);
}

/* Damages a file of a folder of another project, imports the folder, and restores the file. */
static void soak_damaged_folder(struct soak *k)
{
    struct scene *s = k->scene;
    rapt_model *model = scene_untouched;
    rapt_message why = {""};
    int folder = soak_draw(k, SCENE_FOLDERS), file = soak_draw(k, SCENE_FILES);
    if (!s->folders[folder].files[file]) file = 0;
    const char *path = scene_file_path(s, folder, file);
    size_t whole = soak_read(s, path);
    char *kept = small_copy(s->bytes, whole);
    soak_write(path, s->bytes, soak_damage(k, s->bytes, whole));
    rapt_status status = rapt_model_import(&model, s->folders[folder].path, s->allocator, &why);
    soak_write(path, kept, whole);
    free(kept);
    soak_add(k, add_model_made(s, &k->hash, status, model), &why);
}

/* Folders below the data folder; some lack weights and are refused. */
static const char *const soak_folders[] = {"firefox-tiny-enpt",
                                           "ct2-aren/aren-transliteration",
                                           "ct2-aren/aren-transliteration-i16",
                                           "ct2-aren/aren-transliteration-i8",
                                           "opus-mt-hf/en-mg",
                                           "bergamot/ende"};
static const char *const soak_pieces[] = {
    "bergamot/ende/vocab.deen.spm", "sentencepiece/joeynmt_sp200.model",
    "sentencepiece/nmt_vocab.joint.spm", "sentencepiece/test_model.model"};

static void soak_foreign_folder(struct soak *k)
{
    struct scene *s = k->scene;
    char path[512];
    rapt_translator *translator = NULL;
    rapt_message why = {""};
    const rapt_translator_options options = {
        .size = sizeof options, .beams = 1 + soak_draw(k, 3), .threads = s->threads};
    const rapt_text texts[] = {{"A small bird sings in the garden.", 33}, {"m a r y", 7}};
    snprintf(path, sizeof path, "%s/models/%s", k->data,
             soak_folders[soak_draw(k, COUNT(soak_folders))]);
    rapt_status status = rapt_translator_load(&translator, path, &options, s->allocator, &why);
    soak_add(k, status, &why);
    if (status) return;
    status = rapt_translate_many(translator, texts, 2, soak_draw(k, 2), scene_take, &k->hash, &why);
    soak_add(k, status, &why);
    rapt_translator_free(translator);
}

static void soak_foreign_pieces(struct soak *k)
{
    struct scene *s = k->scene;
    char path[512];
    rapt_tokenizer *tokenizer = scene_untouched;
    rapt_message why = {""};
    snprintf(path, sizeof path, "%s/models/%s", k->data,
             soak_pieces[soak_draw(k, COUNT(soak_pieces))]);
    rapt_status status = rapt_tokenizer_load(&tokenizer, path, s->allocator, &why);
    soak_add(k, loaded(s, &k->hash, status, tokenizer), &why);
}

/* ---- generation ---- */

static void soak_sampled(struct soak *k)
{
    struct scene *s = k->scene;
    rapt_generate_options o;
    rapt_message why = {""};
    int counts[6] = {0};
    float scores[6] = {0};
    const rapt_generate_outputs out = {
        .size = sizeof out, .ids = s->ids, .counts = counts, .scores = scores};
    rapt_generate_options_default(&o, sizeof o, soak_draw(k, 5), soak_draw(k, 5));
    o.seed = (uint64_t)soak_draw(k, 1 << 30), o.sequence = (uint64_t)soak_draw(k, 9);
    o.temperature = (float)(1 + soak_draw(k, 40)) / 16;
    if (soak_draw(k, 2)) o.top_k = 1 + soak_draw(k, 7);
    if (soak_draw(k, 2)) o.top_p = (float)(1 + soak_draw(k, 15)) / 16;
    memset(s->ids, 0, sizeof s->ids);
    soak_add(k, rapt_generate(s->session, &s->source.tokens, &o, &out, &why), &why);
    add(&k->hash, s->ids, sizeof s->ids);
    add(&k->hash, counts, sizeof counts);
    add(&k->hash, scores, sizeof scores);
}

struct soak_stop {
    uint64_t hash;
    int left; /* calls until a callback stops */
};

static int soak_text(void *user, const rapt_translation *t)
{
    struct soak_stop *stop = user;
    add(&stop->hash, t->text, t->size);
    add(&stop->hash, &t->score, sizeof t->score);
    return --stop->left <= 0;
}

static int soak_token(void *user, int source, int32_t id, float log_probability)
{
    struct soak_stop *stop = user;
    (void)source;
    add(&stop->hash, &id, sizeof id);
    add(&stop->hash, &log_probability, sizeof log_probability);
    return --stop->left <= 0;
}

static void soak_logits(void *user, int source, const int32_t *ids, int count, float *logits,
                        int vocab)
{
    struct soak_stop *stop = user;
    (void)source, (void)ids;
    add(&stop->hash, logits, (size_t)vocab * sizeof *logits);
    logits[count % vocab] = -INFINITY;
}

static int soak_halt(void *user)
{
    struct soak_stop *stop = user;
    return --stop->left <= 0;
}

static void soak_callbacks(struct soak *k)
{
    static const rapt_text texts[] = {
        {"the cat", 7}, {"a bird sleeps", 13}, {"", 0}, {"dogs see the bird", 17}};
    struct soak_stop stop = {1, 1 + soak_draw(k, 20)};
    rapt_message why = {""};
    const rapt_translate_call call = {.size = sizeof call,
                                      .alignments = soak_draw(k, 2),
                                      .token = soak_draw(k, 2) ? soak_token : NULL,
                                      .logits = soak_draw(k, 2) ? soak_logits : NULL,
                                      .stop = soak_draw(k, 2) ? soak_halt : NULL};
    rapt_status status = rapt_translate_many_with(k->scene->translator, texts, COUNT(texts), &call,
                                                  soak_text, &stop, &why);
    soak_add(k, status, &why);
    add(&k->hash, &stop.hash, sizeof stop.hash);
}

/* ---- attention ---- */

static void soak_attention(struct soak *k)
{
    static const rapt_score scores[] = {RAPT_SCORE_SCALED_DOT, RAPT_SCORE_DOT, RAPT_SCORE_COSINE};
    struct scene *s = k->scene;
    rapt_message why = {""};
    int heads = 1 + soak_draw(k, 3), queries = 1 + soak_draw(k, 70), keys = 1 + soak_draw(k, 70);
    int width = 1 + soak_draw(k, 20), chosen[3 * 70];
    size_t counts[3] = {(size_t)(heads * queries * width), (size_t)(heads * keys * width),
                        (size_t)(heads * queries)};
    float *x = malloc((4 * counts[0] + 4 * counts[1] + counts[2]) * sizeof *x);
    float *q = x, *out = q + counts[0], *dout = out + counts[0], *dq = dout + counts[0];
    float *key = dq + counts[0], *v = key + counts[1], *dk = v + counts[1], *dv = dk + counts[1];
    rapt_attention a;
    rapt_attention_saved saved = {.size = sizeof saved, .lse = dv + counts[1], .chosen = chosen};
    rapt_gradients d = {.size = sizeof d, .q = dq, .k = dk, .v = dv};
    must(rapt_attention_init(&a, sizeof a, 1, heads, queries, keys, width), &why);
    a.score = scores[soak_draw(k, COUNT(scores))], a.threads = s->threads;
    a.mask.causal = soak_draw(k, 2), a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT;
    a.normalizer = soak_draw(k, 2) ? (rapt_normalizer)soak_draw(k, RAPT_NORMALIZER_COUNT) : 0;
    a.seed = (uint64_t)soak_draw(k, 99);
    for (size_t i = 0; i < 4 * counts[0] + 4 * counts[1]; i++) x[i] = small_uniform(k->seed, i);
    float reward[COUNT(chosen)];
    for (int i = 0; i < COUNT(reward); i++) reward[i] = small_uniform(k->seed + 1, (uint64_t)i);
    const rapt_reinforce reinforce = {.size = sizeof reinforce, .reward = reward};
    void *workspace = aligned_alloc(64, (rapt_attention_workspace(&a) + 64) / 64 * 64);
    must(rapt_attention_forward(&a, q, key, v, out, &saved, workspace, &why), &why);
    must(rapt_attention_backward(&a, q, key, v, out, &saved, dout, &reinforce, &d, workspace, &why),
         &why);
    add(&k->hash, out, counts[0] * sizeof *out);
    add(&k->hash, dq, counts[0] * sizeof *dq);
    add(&k->hash, dk, 2 * counts[1] * sizeof *dk);
    free(workspace);
    free(x);
}

/* ---- refusals ---- */

static void soak_refused(struct soak *k)
{
    struct scene *s = k->scene;
    rapt_message why[8] = {{""}};
    rapt_status status[8];
    rapt_model *model = scene_untouched;
    rapt_session *session = scene_untouched;
    rapt_trainer *trainer = scene_untouched;
    rapt_tokenizer *tokenizer = scene_untouched;
    rapt_shortlist *list = scene_untouched;
    rapt_config config = s->config;
    rapt_limits limits = scene_limits(s);
    rapt_train_limits train = scene_train_limits(s);
    rapt_train_options options;
    rapt_generate_options generate;
    const rapt_translator_options many = {.size = sizeof many, .beams = 99};
    const rapt_translate_call call = {.size = sizeof call, .options = &many};
    const rapt_generate_outputs out = {.size = sizeof out, .ids = s->ids};
    rapt_train_options_default(&options, sizeof options);
    rapt_generate_options_default(&generate, sizeof generate, 1, 2);
    config.heads = config.width + 1 + soak_draw(k, 5);
    limits.batch = -soak_draw(k, 5), train.batch = -soak_draw(k, 5);
    const rapt_allocator *by = s->allocator;
    status[0] = rapt_model_create(&model, &config, 1, by, &why[0]);
    status[1] = rapt_session_create(&session, s->shared, &limits, by, &why[1]);
    status[2] = rapt_trainer_create(&trainer, s->own, &options, &train, by, &why[2]);
    status[3] = rapt_tokenizer_create(&tokenizer, "no tokenizer", 12, by, &why[3]);
    status[4] =
        rapt_shortlist_load_memory(&list, "a\n", 2, s->tokenizer, s->tokenizer, by, &why[4]);
    status[5] = rapt_model_load(&model, s->out_path, by, &why[5]);
    status[6] = rapt_generate(s->session, &s->source.tokens, &generate, &out, &why[6]);
    status[7] =
        rapt_translate_many_with(s->translator, NULL, 0, &call, scene_take, &k->hash, &why[7]);
    s->changed |= model != scene_untouched || session != scene_untouched;
    s->changed |= trainer != scene_untouched || tokenizer != scene_untouched;
    s->changed |= list != scene_untouched;
    for (int i = 0; i < COUNT(status); i++) {
        if (!status[i]) fail_msg("refusal %d: accepted", i);
        soak_add(k, status[i], &why[i]);
    }
}

#endif
