/* checkpoint.c - checkpoints of a trainer with edits (files.h). A refused one must leave the
   trainer unchanged, bit for bit. After an accepted one training must go on: the next step
   succeeds, or is refused because a number is not finite and changes no parameter. */
#define _GNU_SOURCE
#include "files.h"
#include "model/variants.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
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
