/* scene.h - creates and frees a scene: the objects and files that operations work on. */
#ifndef RAPT_TESTS_PROCESS_SCENE_H
#define RAPT_TESTS_PROCESS_SCENE_H

#include "api/small_world.h"
#include "model/small.h"
#include "text/spm_models.h"
#include "translate/small_text.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { SCENE_FLOATS = 1 << 15, SCENE_BYTES = 1 << 20, SCENE_IDS = 512 };
enum { SCENE_VARIANTS = 28 };
enum { ATTENTION_ROWS = 20, ATTENTION_WIDTH = 8, ATTENTION_FLOATS = 20 * 8 };

/* A folder of another project: its files and their content. */
enum { SCENE_FOLDERS = 2, SCENE_FILES = 3 };
struct scene_folder {
    rapt_export format;
    const char *files[SCENE_FILES]; /* NULL after the last */
    char path[256];
    uint64_t hashes[SCENE_FILES];
};

/* The objects of operations. `shared` and `tokenizer` are constant and may belong to another
   scene. */
struct scene {
    const rapt_allocator *allocator;
    int threads, variant;
    rapt_config config;
    bool changed; /* whether a failing call changed something */
    rapt_model *shared, *own;
    rapt_tokenizer *tokenizer;
    rapt_session *session;
    rapt_model *classifier; /* encoder-only */
    rapt_session *classifying;
    rapt_trainer *trainer;
    rapt_translator *translator;
    struct small_batch source, target;
    char model_path[256], checkpoint_path[256], translator_path[256], out_path[256];
    char spm_path[256], file_path[300];
    struct scene_folder folders[SCENE_FOLDERS];
    char foreign[1 << 15]; /* the model of `folders` as a rapt file in memory */
    size_t foreign_size;
    struct craft crafted;
    const void *spm; /* a SentencePiece model */
    size_t spm_size;
    _Alignas(64) float x[ATTENTION_FLOATS], out[ATTENTION_FLOATS], dx[3][ATTENTION_FLOATS];
    float lse[ATTENTION_ROWS], weights[ATTENTION_ROWS * ATTENTION_ROWS];
    _Alignas(64) char workspace[1 << 20];
    float floats[SCENE_FLOATS];
    _Alignas(64) float layer[2][SCENE_FLOATS]; /* parameters of a block and their gradients */
    char file[1 << 18];                        /* a model file in memory */
    char reason[sizeof(rapt_message)];         /* message of the last operation */
    char bytes[SCENE_BYTES];
    int32_t ids[SCENE_IDS];
};

static inline void add(uint64_t *h, const void *data, size_t size)
{
    *h = api_hash(*h, data, size);
}

static inline void add_text(uint64_t *h, const char *text)
{
    if (text) add(h, text, strlen(text));
}

static inline void add_model(struct scene *s, uint64_t *h, const rapt_model *model)
{
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        size_t size = small_size(model, i);
        if (size > SCENE_FLOATS || rapt_model_read(model, i, s->floats, NULL)) s->changed = true;
        add(h, s->floats, size * sizeof *s->floats);
    }
}

static inline void add_file(struct scene *s, uint64_t *h, const char *path)
{
    int file = open(path, O_RDONLY);
    for (ssize_t n; file >= 0 && (n = read(file, s->bytes, SCENE_BYTES)) != 0;)
        if (n > 0) add(h, s->bytes, (size_t)n);
    if (file >= 0) close(file);
}

static inline const char *scene_file_path(struct scene *s, int folder, int file)
{
    const struct scene_folder *f = &s->folders[folder];
    snprintf(s->file_path, sizeof s->file_path, "%s/%s", f->path, f->files[file]);
    return s->file_path;
}

static inline rapt_limits scene_limits(const struct scene *s)
{
    return (rapt_limits){.size = sizeof(rapt_limits),
                         .batch = 3,
                         .beams = 2,
                         .source_tokens = 20,
                         .target_length = 9,
                         .target_tokens = 6,
                         .threads = s->threads,
                         .alignments = 1,
                         .self_weights = 1};
}

static inline rapt_train_limits scene_train_limits(const struct scene *s)
{
    return (rapt_train_limits){sizeof(rapt_train_limits), 3, 20, 20, s->threads, .shards = 2};
}

/* Fails the test if a call failed. Only for the main thread. */
static inline void must(rapt_status status, const rapt_message *why)
{
    if (status) fail_msg("%s", why->text);
}

static inline void scene_batch(struct small_batch *batch, int vocab, const int lengths[3],
                               uint64_t seed)
{
    small_fill(batch, vocab, lengths, 3, seed);
}

/* Creates a model that Marian and CTranslate2 can represent, with a vocabulary of names. */
static inline void scene_foreign(struct scene *s)
{
    static const char *const names[] = {"</s>", "<unk>", "a", "b", "\"c\"", "d"};
    rapt_text texts[COUNT(names)];
    char written[512];
    size_t size;
    rapt_message why = {""};
    rapt_tokenizer *tokenizer = NULL;
    for (int i = 0; i < COUNT(names); i++) texts[i] = (rapt_text){names[i], strlen(names[i])};
    const rapt_config c = foreign_config(COUNT(names), 4);
    must(rapt_tokenizer_create_list(&tokenizer, texts, COUNT(names), NULL, NULL, &why), &why);
    must(rapt_tokenizer_write(tokenizer, written, sizeof written, &size, &why), &why);
    rapt_tokenizer_free(tokenizer);
    rapt_model *model = small_model(&c, 14);
    const rapt_metadata pair = {"rapt.tokenizer", written};
    must(rapt_model_save_memory(model, s->foreign, sizeof s->foreign, &s->foreign_size, &pair, 1,
                                &why),
         &why);
    rapt_model_free(model);
}

/* Exports that model to folders whose names contain `number`. */
static inline void scene_folders(struct scene *s, int number)
{
    static const struct scene_folder all[SCENE_FOLDERS] = {
        {RAPT_EXPORT_MARIAN, {"model.bin", "vocab.yml"}, "", {0}},
        {RAPT_EXPORT_CT2, {"model.bin", "config.json", "shared_vocabulary.json"}, "", {0}}};
    rapt_model *model = NULL;
    rapt_message why = {""};
    char name[64];
    scene_foreign(s);
    must(rapt_model_load_memory(&model, s->foreign, s->foreign_size, NULL, NULL, &why), &why);
    for (int i = 0; i < SCENE_FOLDERS; i++) {
        s->folders[i] = all[i];
        snprintf(name, sizeof name, "folder-%d-%d", number, i);
        mkdir(small_path(s->folders[i].path, name), 0700);
        must(rapt_model_export(model, all[i].format, s->folders[i].path, &why), &why);
        for (int f = 0; f < SCENE_FILES && all[i].files[f]; f++)
            add_file(s, &s->folders[i].hashes[f], scene_file_path(s, i, f));
    }
    rapt_model_free(model);
}

/* Creates scene `variant` of SCENE_VARIANTS: an encoder with a decoder, with more layers and text
   each time. `number` must be unique within the process. If `from` is not NULL, its shared model
   and tokenizer are used. */
static inline struct scene *scene_new(int variant, int threads, int number,
                                      const struct scene *from)
{
    struct scene *s = aligned_alloc(64, (sizeof *s + 63) / 64 * 64);
    enum { CONFIGS = 7 }; /* those with an encoder and a decoder */
    rapt_message why = {""};
    char name[64];
    assert_non_null(s);
    memset(s, 0, sizeof *s);
    s->variant = variant, s->threads = threads;
    s->config = small_configs[variant % CONFIGS];
    s->config.encoder_layers += variant / CONFIGS;
    s->config.decoder_layers += variant / CONFIGS;
    char *paths[] = {s->model_path, s->checkpoint_path, s->translator_path, s->out_path,
                     s->spm_path};
    for (int i = 0; i < COUNT(paths); i++) {
        snprintf(name, sizeof name, "scene-%d-%d", number, i);
        small_path(paths[i], name);
    }
    s->shared = from ? from->shared : small_model(&s->config, 11);
    s->tokenizer = from ? from->tokenizer : small_tokenizer();
    s->own = small_model(&s->config, 12);
    scene_batch(&s->source, rapt_model_config(s->own)->source_vocab, (const int[]){9, 4, 7}, 1);
    scene_batch(&s->target, rapt_model_config(s->own)->target_vocab, (const int[]){5, 3, 8}, 2);
    rapt_limits limits = scene_limits(s);
    must(rapt_session_create(&s->session, s->shared, &limits, NULL, &why), &why);
    rapt_config alone = s->config;
    alone.kind = RAPT_KIND_ENCODER_ONLY, alone.decoder_layers = 0;
    alone.pooling = (rapt_pooling)(variant % 3);
    s->classifier = small_model(&alone, 13);
    must(rapt_session_create(&s->classifying, s->classifier, &limits, NULL, &why), &why);
    rapt_train_limits train = scene_train_limits(s);
    rapt_train_options options;
    rapt_train_options_default(&options, sizeof options);
    must(rapt_trainer_create(&s->trainer, s->own, &options, &train, NULL, &why), &why);
    rapt_metadata note = {"note", "of the file"};
    must(rapt_model_save(s->shared, s->model_path, &note, 1, &why), &why);
    must(rapt_trainer_save(s->trainer, s->checkpoint_path, NULL, 0, &why), &why);
    small_translator_file(s->translator_path, 16, 1);
    craft_model(&s->crafted, (size_t)variant % CRAFTED_MODELS);
    s->spm = s->crafted.bytes, s->spm_size = s->crafted.size;
    must(rapt_file_write(s->spm_path, s->spm, s->spm_size, &why), &why);
    scene_folders(s, number);
    rapt_translator_options translate = {
        .size = sizeof translate, .beams = 2, .batch = 2, .threads = threads};
    must(rapt_translator_load(&s->translator, s->translator_path, &translate, NULL, &why), &why);
    return s;
}

static inline void scene_free(struct scene *s, const struct scene *from)
{
    rapt_translator_free(s->translator);
    rapt_trainer_free(s->trainer);
    rapt_session_free(s->session);
    rapt_session_free(s->classifying);
    rapt_model_free(s->classifier);
    rapt_model_free(s->own);
    if (!from) {
        rapt_tokenizer_free(s->tokenizer);
        rapt_model_free(s->shared);
    }
    unlink(s->model_path);
    unlink(s->checkpoint_path);
    unlink(s->translator_path);
    unlink(s->out_path);
    unlink(s->spm_path);
    for (int i = 0; i < SCENE_FOLDERS; i++) {
        for (int f = 0; f < SCENE_FILES && s->folders[i].files[f]; f++)
            unlink(scene_file_path(s, i, f));
        rmdir(s->folders[i].path);
    }
    free(s);
}

#endif
