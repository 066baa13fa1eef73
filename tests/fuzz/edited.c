/* edited.c - model files and checkpoints with edits (files.h). */
#define _GNU_SOURCE

#include "files.h"
#include "model/variants.h"

/* ---- model: loads model files with edits (files.h), plain and packed, as a model and as a
   translator. A file must be refused with a reason, in memory proportional to its size, or give a
   model that encodes, decodes and generates. Its logits must be finite if its weights are moderate.
   ---- */

enum { FILES = 24, WITH_TOKENIZER = 20 }; /* from WITH_TOKENIZER on they are translators */

static struct file *files; /* [FILES], then the same models packed */

static void save(const rapt_config *config, bool tokenizer, int i)
{
    char path[256];
    rapt_text text = {"ab abc abd abcd", 15};
    rapt_tokenizer *t = NULL;
    static char written[4096];
    size_t size;
    require(rapt_tokenizer_learn(&t, &text, 1, 262, NULL, NULL) == RAPT_OK, "a tokenizer");
    require(rapt_tokenizer_write(t, written, sizeof written, &size, NULL) == RAPT_OK, "its text");
    const rapt_metadata metadata[] = {{"rapt.tokenizer", written}, {"note", "a \"note\""}};
    rapt_model *model = small_model(config, (uint64_t)i);
    for (int packed = 0; packed < 2; packed++) {
        const rapt_save_options options = {.size = sizeof options, .packed = packed};
        require(rapt_model_save_with(model, small_path(path, "fuzz"), &options,
                                     metadata + !tokenizer, 2 - !tokenizer, NULL) == RAPT_OK,
                "a model file");
        read_file(&files[packed * FILES + i], path);
        unlink(path);
    }
    rapt_model_free(model);
    rapt_tokenizer_free(t);
}

static void make_files(void)
{
    if (files) return;
    files = calloc(2 * FILES, sizeof *files);
    require(files != NULL, "memory for the test itself");
    for (int i = 0; i < WITH_TOKENIZER; i++) {
        rapt_config c = i < COUNT(small_configs) ? small_configs[i] : variant(i * 13 % VARIANTS);
        save(&c, false, i);
    }
    for (int i = WITH_TOKENIZER; i < FILES; i++) {
        rapt_config c = {.size = sizeof c,
                         .source_vocab = 262,
                         .target_vocab = 262,
                         .positions = 9,
                         .width = 2,
                         .heads = 1,
                         .encoder_layers = 1,
                         .decoder_layers = 1,
                         .tie = i % 2 ? RAPT_TIE_ALL : RAPT_TIE_OUTPUT,
                         .self_score = i % 3 ? RAPT_SCORE_COSINE : 0};
        save(&c, true, i);
    }
}

static bool moderate(const rapt_model *model)
{
    float *all = small_parameters(model);
    bool good = true;
    for (size_t i = 0; i < rapt_model_parameters(model); i++) good = good && fabsf(all[i]) < 100;
    free(all);
    return good;
}

static int below(int a, int b)
{
    return a < b ? a : b;
}

/* Encodes two sources, decodes two tokens of each target, then two more. */
static void compute(const rapt_model *model)
{
    const rapt_config *c = rapt_model_config(model);
    int length = below(c->positions, 4), starts[] = {0, length, length + below(length, 2)};
    int32_t ids[8] = {0};
    for (int i = 0; i < 8 && c->source_vocab; i++) ids[i] = i * 5 % c->source_vocab;
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = 2,
                                .source_tokens = 8,
                                .target_length = length,
                                .target_tokens = 8,
                                .threads = 1};
    rapt_session *session = NULL;
    rapt_message why = {""};
    const float *out = NULL;
    rapt_tokens source = {
        .batch = 2, .ids = c->source_vocab ? ids : NULL, .starts = c->source_vocab ? starts : NULL};
    rapt_status status = rapt_session_create(&session, model, &limits, NULL, &why);
    if (status) { /* it may need more memory than is available */
        require(status == RAPT_NO_MEMORY && why.text[0], "a session, or a reason");
        return;
    }
    require(rapt_encode(session, &source, &out, &why) == RAPT_OK, "encoding");
    if (c->decoder_layers > 0) {
        const rapt_tokens target = {.batch = 2, .ids = ids, .starts = starts};
        for (int i = 0; i < 8; i++) ids[i] %= c->target_vocab;
        require(rapt_decode(session, &target, &out, &why) == RAPT_OK, "decoding");
        bool finite = true;
        for (int i = 0; i < starts[2] * c->target_vocab; i++) finite = finite && isfinite(out[i]);
        require(finite || !moderate(model), "logits of moderate weights are finite");
    }
    rapt_session_free(session);
}

static void check_model(const char *path, size_t size, uint64_t hash)
{
    struct counted counted = counted_by(hash, 8);
    const rapt_allocator allocator = counted_allocator(&counted);
    rapt_model *model = NULL;
    rapt_message why = {""};
    rapt_status status = rapt_model_load(&model, path, &allocator, &why);
    require((status == RAPT_OK) == (model != NULL), "a model, or a status");
    require(status == RAPT_OK ? !why.text[0] : why.text[0] != 0, "a reason, or none");
    require(status != RAPT_NO_MEMORY || may_lack_memory(&counted), "there was memory");
    require(counted.max <= memory_limit(size), "memory in proportion to the file");
    if (model && rapt_model_config(model)->positions <= 1 << 12) compute(model);
    rapt_model_free(model);
    require(counted.now == 0, "all memory is given back");
}

static void check_translator(const char *path)
{
    const rapt_translator_options options = {
        .size = sizeof options, .beams = 2, .batch = 2, .batch_tokens = 16, .threads = 1};
    rapt_translator *translator = NULL;
    rapt_message why = {""};
    char out[512];
    rapt_status status = rapt_translator_load(&translator, path, &options, NULL, &why);
    require((status == RAPT_OK) == (translator != NULL), "a translator, or a status");
    require(status == RAPT_OK || why.text[0], "a reason");
    if (!translator) return;
    status = rapt_translate(translator, "ab abc", out, sizeof out, NULL, &why);
    require(status == RAPT_OK || why.text[0], "a translation, or a reason");
    rapt_translator_free(translator);
}

static void check(const uint8_t *bytes, size_t size, bool packed)
{
    static struct file f;
    struct feed in = {bytes, size};
    f = files[packed * FILES + take_below(&in, FILES)];
    edit_all(&f, &in);
    const char *path = file_path(&f);
    check_model(path, f.size, input_hash(bytes, size));
    if (input_hash(bytes, size) % 8 == 7 || bytes == NULL || bytes[0] % FILES >= WITH_TOKENIZER)
        check_translator(path);
}

int fuzz_model(const uint8_t *bytes, size_t size)
{
    make_files();
    check(bytes, size, false);
    check(bytes, size, true);
    return 0;
}

/* ---- checkpoint: checkpoints of a trainer with edits (files.h). A refused one must leave the
   trainer unchanged, bit for bit. After an accepted one training must go on: the next step
   succeeds, or is refused because a number is not finite and changes no parameter. ---- */

enum { CONFIGS = 4 };

static struct subject {
    rapt_config config;
    rapt_model *model;
    rapt_trainer *trainer;
    struct file good;
    struct small_batch source, target;
} * subjects;

static const int lengths[] = {3, 2};

static rapt_status step(struct subject *s)
{
    rapt_status status =
        rapt_train_gradient(s->trainer, &s->source.tokens, &s->target.tokens, NULL, NULL);
    return status ? status : rapt_train_step(s->trainer, NULL, NULL);
}

static void make(struct subject *s, int i)
{
    char path[256];
    rapt_train_options options;
    const rapt_train_limits limits = {
        .size = sizeof limits, .batch = 2, .source_tokens = 8, .target_tokens = 8, .threads = 1};
    s->config = i % 2 ? variant(3 * i + 2) : small_configs[i];
    rapt_train_options_default(&options, sizeof options);
    options.warmup = 2;
    s->model = small_model(&s->config, 3);
    small_fill(&s->source, s->config.source_vocab ? s->config.source_vocab : 1, lengths, 2, 1);
    small_fill(&s->target, s->config.target_vocab, lengths, 2, 2);
    require(rapt_trainer_create(&s->trainer, s->model, &options, &limits, NULL, NULL) == RAPT_OK,
            "a trainer");
    for (int n = 0; n < 3; n++) require(step(s) == RAPT_OK, "a step");
    require(rapt_trainer_save(s->trainer, small_path(path, "fuzz"), NULL, 0, NULL) == RAPT_OK,
            "a checkpoint");
    read_file(&s->good, path);
    unlink(path);
}

static void make_subjects(void)
{
    if (subjects) return;
    subjects = calloc(CONFIGS, sizeof *subjects);
    require(subjects != NULL, "memory for the test itself");
    for (int i = 0; i < CONFIGS; i++) make(&subjects[i], i);
}

static void load_good(struct subject *s)
{
    require(rapt_trainer_load(s->trainer, file_path(&s->good), NULL) == RAPT_OK, "a good file");
}

/* Takes one step and returns the parameters after it. */
static float *after_step(struct subject *s)
{
    require(step(s) == RAPT_OK, "a step from a good file");
    return small_parameters(s->model);
}

static void check_refused(struct subject *s)
{
    size_t bytes = rapt_model_parameters(s->model) * sizeof(float);
    float *now = after_step(s);
    load_good(s);
    float *wanted = after_step(s);
    require(memcmp(now, wanted, bytes) == 0, "a refused file changes nothing");
    free(now);
    free(wanted);
}

static bool all_finite(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

static void check_accepted(struct subject *s)
{
    size_t n = rapt_model_parameters(s->model);
    float *before = small_parameters(s->model);
    require(all_finite(before, n), "parameters of an accepted file are finite");
    rapt_status status = step(s);
    float *after = small_parameters(s->model);
    require(status == RAPT_OK || status == RAPT_NOT_FINITE,
            "a step, or a number that is not finite");
    require(status == RAPT_OK || memcmp(before, after, n * sizeof *before) == 0, "no change");
    require(all_finite(after, n), "parameters stay finite");
    free(before);
    free(after);
}

int fuzz_checkpoint(const uint8_t *bytes, size_t size)
{
    static struct file f;
    struct feed in = {bytes, size};
    rapt_message why = {""};
    make_subjects();
    struct subject *s = &subjects[take_below(&in, CONFIGS)];
    load_good(s);
    f = s->good;
    edit_all(&f, &in);
    rapt_status status = rapt_trainer_load(s->trainer, file_path(&f), &why);
    require(status == RAPT_OK || (status == RAPT_BAD_FILE && why.text[0]), "a reason");
    if (status == RAPT_OK)
        check_accepted(s);
    else
        check_refused(s);
    return 0;
}
