/* model.c - loads model files with edits (files.h), plain and packed, as a model and as a
   translator. A file must be refused with a reason, in memory proportional to its size, or give a
   model that encodes, decodes and generates. Its logits must be finite if its weights are
   moderate. */
#define _GNU_SOURCE
#include "files.h"
#include "model/variants.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    make_files();
    check(bytes, size, false);
    check(bytes, size, true);
    return 0;
}
