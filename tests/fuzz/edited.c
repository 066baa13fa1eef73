/* edited.c - good model files and checkpoints with a few edits, chosen by the input: in the header,
   whose length is kept right, in the data, or in any byte. */
#define _GNU_SOURCE

#include "fuzz.h"
#include "model/variants.h"

#include <fcntl.h>
#include <unistd.h>

/* ---- edits ---- */

enum { FILE_SPACE = 1 << 17 };

struct file {
    uint8_t bytes[FILE_SPACE];
    size_t size, header; /* size of the whole file, size of the JSON */
};

static void set_prefix(struct file *f)
{
    for (int i = 0; i < 8; i++) f->bytes[i] = (uint8_t)((uint64_t)f->header >> 8 * i);
}

static void read_file(struct file *f, const char *path)
{
    int handle = open(path, O_RDONLY);
    ssize_t size = handle < 0 ? -1 : read(handle, f->bytes, sizeof f->bytes);
    require(size > 8 && size < FILE_SPACE / 2, "a good file to begin with");
    close(handle);
    f->size = (size_t)size;
    f->header = 0;
    for (int i = 0; i < 8; i++) f->header |= (size_t)f->bytes[i] << 8 * i;
}

/* Replaces `old` bytes of the header by a text. */
static void rewrite(struct file *f, size_t at, size_t old, const char *text)
{
    size_t new = strlen(text);
    if (at > f->header) at = f->header;
    if (old > f->header - at) old = f->header - at;
    if (f->size + new - old > FILE_SPACE) return;
    uint8_t *here = f->bytes + 8 + at;
    memmove(here + new, here + old, f->size - 8 - at - old);
    memcpy(here, text, new);
    f->size = f->size + new - old, f->header = f->header + new - old;
    set_prefix(f);
}

/* Finds the number-th run of digits in the header. Returns its offset and sets its length. */
static size_t find_digits(const struct file *f, int number, size_t *length)
{
    const uint8_t *h = f->bytes + 8;
    for (size_t at = 0; at < f->header; at += *length) {
        *length = 0;
        while (at + *length < f->header && h[at + *length] >= '0' && h[at + *length] <= '9')
            ++*length;
        if (*length && number-- == 0) return at;
        if (*length == 0) *length = 1;
    }
    return *length = 0;
}

static void edit(struct file *f, struct feed *in)
{
    static const char *const words[] = {"0",
                                        "1",
                                        "2",
                                        "3",
                                        "-1",
                                        "65536",
                                        "2147483648",
                                        "18446744073709551615",
                                        "null",
                                        "F16",
                                        "BF16",
                                        "F64",
                                        "I64",
                                        "\\\"",
                                        "rapt.config",
                                        "__metadata__",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        ",",
                                        ":",
                                        "\"",
                                        "1e-5",
                                        "nan",
                                        "adam.m.",
                                        "adam.v.",
                                        "softmax",
                                        "sample",
                                        "additive",
                                        "local-p",
                                        "learned",
                                        "7fc00000",
                                        "ffffffffffffffff",
                                        " "};
    static const uint32_t floats[] = {0x7FC00000, 0x7F800000, 0xFF800000, 0x7F7FFFFF,
                                      0x00000001, 0x80000000, 0xBF800000, 0x5F000000};
    const char *word = words[take_byte(in) % (sizeof words / sizeof *words)];
    size_t at = (size_t)take_byte(in) << 8 | take_byte(in), length = 0;
    switch (take_below(in, 7)) {
    case 0: /* change a byte of the header */
        f->bytes[8 + at % (f->header + 1)] = take_byte(in);
        break;
    case 1: /* delete a piece or replace it by a word */
        rewrite(f, at % (f->header + 1), (size_t)take_below(in, 24), take_flag(in) ? word : "");
        break;
    case 2: /* insert a word */
        rewrite(f, at % (f->header + 1), 0, word);
        break;
    case 3: /* change a number */
        at = find_digits(f, (int)(at % 300), &length);
        rewrite(f, at, length, word);
        break;
    case 4: /* change a float of the data */
        at = 8 + f->header + at * 4;
        if (at + 4 <= f->size) memcpy(f->bytes + at, &floats[take_below(in, 8)], 4);
        break;
    case 5: /* truncate or extend */
        f->size = take_flag(in) ? f->size - at % f->size : f->size + at % 64;
        if (f->size < 9) f->size = 9;
        if (f->header > f->size - 8) f->header = f->size - 8; /* the length in the prefix stays */
        break;
    default: /* change any byte */
        f->bytes[at % f->size] = take_byte(in);
    }
}

static void edit_all(struct file *f, struct feed *in)
{
    for (int edits = take_below(in, 6); edits > 0; edits--) edit(f, in);
}

/* ---- model: loads model files with edits, plain and packed, as a model and as a
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
    const char *path = memory_path(f.bytes, f.size);
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

/* ---- checkpoint: checkpoints of a trainer with edits. A refused one must leave the
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
    require(rapt_trainer_load(s->trainer, memory_path(s->good.bytes, s->good.size), NULL) ==
                RAPT_OK,
            "a good file");
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
    rapt_status status = rapt_trainer_load(s->trainer, memory_path(f.bytes, f.size), &why);
    require(status == RAPT_OK || (status == RAPT_BAD_FILE && why.text[0]), "a reason");
    if (status == RAPT_OK)
        check_accepted(s);
    else
        check_refused(s);
    return 0;
}
