/* write.c - wrote the files of version 0.2 that are in files.tar.gz. It is not part of the build.

   The archive holds model files, a trainer's checkpoint, translators and a checkpoint of
   `toy_translate train` as version 0.2.0 (commit bd0cfca) wrote them. Its expected.txt has, for
   each file, the FNV-1a sum over the bits of its parameters, and what version 0.2.0 computed with
   them: the first 24 values of an encoder's output or of logits, the sum of the parameters after
   one more training step, or a translation. ../files_0_2.c loads them all, and
   tests/apps/toy_translate.sh resumes the run. They were made with

       git checkout bd0cfca && cmake -S . -B build && cmake --build build
       cc -std=c11 -Iinclude write.c -Lbuild/lib -lrapt -o write
       LD_LIBRARY_PATH=build/lib ./write >expected.txt
       build/bin/toy_translate train --data pairs.tsv --layers 1 --width 2 --heads 1 --ffn-width 2 \
           --vocab 264 --epochs 2 --threads 1 --seed 7 --average 1 --self-locality local-m \
           --cross-score additive --cross-normalizer gumbel-softmax --temperature 0.3 --radius 3 \
           --keep-checkpoint --out toy_translate

   with the pairs that are in tests/apps/toy_translate.sh. Never make them again: they stand for the
   files that users have. */
#include <rapt/rapt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rapt_message why;

static void must(rapt_status status)
{
    if (status == RAPT_OK) return;
    fprintf(stderr, "%s\n", why.text);
    exit(1);
}

static size_t tensor_size(rapt_tensor t)
{
    return (size_t)t.rows * (size_t)t.columns;
}

static void print_floats(const char *what, const float *x, size_t count)
{
    printf("%s %zu", what, count);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        printf("%s%08x", i % 12 ? " " : "\n", (unsigned)bits);
    }
    printf("\n");
}

/* FNV-1a over the bits of all parameters, in the model's order. */
static void print_sum(const rapt_model *model)
{
    uint64_t sum = 0xCBF29CE484222325u;
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        size_t count = tensor_size(rapt_model_tensor(model, i));
        float *data = malloc(count * sizeof *data);
        must(rapt_model_read(model, i, data, &why));
        for (size_t j = 0; j < count; j++) {
            uint32_t bits;
            memcpy(&bits, data + j, sizeof bits);
            sum = (sum ^ bits) * 0x100000001B3u;
        }
        free(data);
    }
    printf("parameters %zu %016llx\n", rapt_model_parameters(model), (unsigned long long)sum);
}

/* Moves biases away from 0 and gains away from 1, so that a reader that swaps them is noticed. The
   steps are so coarse that the files compress. */
static void shake(rapt_model *model)
{
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        size_t count = tensor_size(rapt_model_tensor(model, i));
        float *data = malloc(count * sizeof *data);
        for (size_t j = 0; j < count; j++)
            data[j] = (float)((int)((j * 37 + j / 64 * 13 + (size_t)i * 11) % 64) - 31) / 64;
        must(rapt_model_write(model, i, data, &why));
        free(data);
    }
}

static const int32_t ids[] = {1, 4, 2, 6, 3, 5, 0, 2};
static const int source_starts[] = {0, 5, 8}, target_starts[] = {0, 4, 7};

/* Prints the first 24 values of the encoder's output for 8 tokens, or of the logits of 7 tokens. */
static void print_use(const rapt_model *model)
{
    const rapt_config *c = rapt_model_config(model);
    rapt_limits limits = {.size = sizeof limits,
                          .batch = 2,
                          .source_tokens = 8,
                          .target_length = 8,
                          .target_tokens = 8,
                          .threads = 1};
    rapt_session *session;
    rapt_tokens source = {.batch = 2, .ids = ids, .starts = source_starts},
                target = {.batch = 2, .ids = ids, .starts = target_starts};
    const float *values;
    if (c->kind == RAPT_KIND_DECODER_ONLY) source = (rapt_tokens){.batch = 2};
    must(rapt_session_create(&session, model, &limits, NULL, &why));
    must(rapt_encode(session, &source, &values, &why));
    if (c->kind != RAPT_KIND_ENCODER_ONLY) must(rapt_decode(session, &target, &values, &why));
    print_floats(c->kind == RAPT_KIND_ENCODER_ONLY ? "states" : "logits", values, 24);
    rapt_session_free(session);
}

static rapt_model *make(const rapt_config *config)
{
    rapt_model *model;
    must(rapt_model_create(&model, config, 1, NULL, &why));
    shake(model);
    return model;
}

static void print_file(const char *name, const rapt_model *model)
{
    printf("file %s\n", name);
    print_sum(model);
}

static void write_model(const char *name, const rapt_config *config, int packed)
{
    rapt_model *model = make(config);
    rapt_save_options options = {.size = sizeof options, .packed = packed};
    rapt_metadata metadata = {"note", "kept \xC3\xA9"};
    must(rapt_model_save_with(model, name, &options, &metadata, 1, &why));
    print_file(name, model);
    print_use(model);
    rapt_model_free(model);
}

/* Saves after two steps, and prints the parameters after a third. */
static void write_checkpoint(const char *name, const rapt_config *config)
{
    rapt_model *model = make(config);
    rapt_train_options options;
    rapt_train_limits limits = {
        .size = sizeof limits, .batch = 2, .source_tokens = 8, .target_tokens = 8, .threads = 1};
    rapt_trainer *trainer;
    rapt_report report = {.size = sizeof report};
    rapt_metadata metadata = {"order", "1 2 3"};
    rapt_tokens source = {.batch = 2}, target = {.batch = 2, .ids = ids, .starts = target_starts};
    rapt_train_options_default(&options, sizeof options);
    options.warmup = 3, options.seed = 9, options.attention_dropout = 0.1f;
    must(rapt_trainer_create(&trainer, model, &options, &limits, NULL, &why));
    for (int i = 0; i < 3; i++) {
        if (i == 2) must(rapt_trainer_save(trainer, name, &metadata, 1, &why));
        if (i == 2) print_file(name, model);
        must(rapt_train_gradient(trainer, &source, &target, &report, &why));
        must(rapt_train_step(trainer, &report, &why));
    }
    print_sum(model);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

static char *learn(const char *text, int vocab)
{
    rapt_tokenizer *tokenizer;
    rapt_text one = {text, strlen(text)};
    size_t size;
    must(rapt_tokenizer_learn(&tokenizer, &one, 1, vocab, NULL, &why));
    rapt_tokenizer_write(tokenizer, NULL, 0, &size, NULL);
    char *written = malloc(size);
    must(rapt_tokenizer_write(tokenizer, written, size, &size, &why));
    rapt_tokenizer_free(tokenizer);
    return written;
}

static void write_translator(const char *name, const rapt_config *config,
                             const rapt_metadata *metadata, int count)
{
    rapt_model *model = make(config);
    rapt_translator *translator;
    char text[512];
    must(rapt_model_save(model, name, metadata, count, &why));
    print_file(name, model);
    must(rapt_translator_load(&translator, name, NULL, NULL, &why));
    must(rapt_translate(translator, "the cat sat", text, sizeof text, NULL, &why));
    printf("translation");
    for (const char *at = text; *at; at++) printf(" %02x", (unsigned)(unsigned char)*at);
    printf("\n");
    rapt_translator_free(translator);
    rapt_model_free(model);
}

static const rapt_config base = {.size = sizeof base,
                                 .source_vocab = 7,
                                 .target_vocab = 8,
                                 .positions = 9,
                                 .width = 8,
                                 .heads = 2,
                                 .ffn_width = 6,
                                 .encoder_layers = 1,
                                 .decoder_layers = 1};

/* Writes files that together contain every array that scores and localities learn. */
static void write_scores(void)
{
    rapt_config c = base;
    c.self_score = RAPT_SCORE_ADDITIVE, c.self_locality = RAPT_LOCALITY_LOCAL_P;
    c.self_normalizer = RAPT_NORMALIZER_GUMBEL_SOFTMAX, c.self_radius = 2.75f;
    c.self_temperature = 0.3f, c.cross_score = RAPT_SCORE_COSINE;
    c.cross_locality = RAPT_LOCALITY_LOCAL_M;
    c.cross_radius = 1.1f, c.score_hidden = 5, c.center_hidden = 3;
    write_model("additive-local-p-gumbel.safetensors", &c, 0);
    c = base;
    c.self_score = RAPT_SCORE_GENERAL, c.self_normalizer = RAPT_NORMALIZER_STRAIGHT_THROUGH;
    c.cross_score = RAPT_SCORE_LOCATION_AWARE, c.cross_locality = RAPT_LOCALITY_LOCAL_P;
    c.location_channels = 2, c.location_filter_width = 3;
    c.cross_normalizer = RAPT_NORMALIZER_ARGMAX;
    write_model("general-location-aware.safetensors", &c, 0);
    c = base;
    c.norm_order = RAPT_NORM_ORDER_PRE, c.activation = RAPT_ACTIVATION_GELU;
    c.norm_epsilon = 1e-3f, c.tie = RAPT_TIE_OUTPUT, c.self_score = RAPT_SCORE_LOCATION;
    c.plain_embedding = 1, c.position = RAPT_POSITION_LEARNED, c.output_bias = 1, c.key_heads = 1;
    write_model("pre-norm.safetensors", &c, 0);
}

static void write_kinds(void)
{
    rapt_config c = base;
    c.kind = RAPT_KIND_ENCODER_ONLY, c.decoder_layers = 0, c.activation = RAPT_ACTIVATION_SILU;
    c.position = RAPT_POSITION_CONCATENATED_N1, c.norm_epsilon = 3.1415927e-7f;
    write_model("encoder-only.safetensors", &c, 0);
    c = base;
    c.kind = RAPT_KIND_DECODER_ONLY, c.encoder_layers = 0, c.source_vocab = 0;
    c.position = RAPT_POSITION_NONE, c.ffn_width = 0, c.rotary = RAPT_ROTARY_HALVES;
    c.rotary_width = 2, c.norm_type = RAPT_NORM_TYPE_RMS, c.score_cap = 20;
    write_model("decoder-only.safetensors", &c, 0);
    c = base;
    c.decoder_recurrence = RAPT_RECURRENCE_SSRU, c.first_position = 2, c.alignment_layer = 1;
    c.decoder_start = RAPT_DECODER_START_ZERO, c.no_source_end = 1, c.ffn_gated = 1;
    write_model("ssru.safetensors", &c, 0);
    c = base;
    c.relative_bias = RAPT_RELATIVE_BIAS_T5, c.relative_buckets = 4, c.relative_distance = 5;
    write_model("packed.safetensors", &c, 1);
}

int main(void)
{
    write_scores();
    write_kinds();
    rapt_config c = base;
    c.kind = RAPT_KIND_DECODER_ONLY, c.encoder_layers = 0, c.source_vocab = 0;
    c.width = 4, c.ffn_width = 0, c.self_normalizer = RAPT_NORMALIZER_SAMPLE;
    write_checkpoint("checkpoint.safetensors", &c);

    char *joint = learn("the cat sat on the mat", 262),
         *other = learn("die Katze sass, die Katze sass", 260);
    c = base;
    c.source_vocab = c.target_vocab = 262, c.tie = RAPT_TIE_ALL, c.positions = 40;
    write_translator("joint.safetensors", &c, (rapt_metadata[]){{"rapt.tokenizer", joint}}, 1);
    c.target_vocab = 260, c.tie = RAPT_TIE_OUTPUT, c.width = 4, c.heads = 1;
    write_translator(
        "two.safetensors", &c,
        (rapt_metadata[]){{"rapt.source_tokenizer", joint}, {"rapt.target_tokenizer", other}}, 2);
    free(joint);
    free(other);
    return 0;
}
