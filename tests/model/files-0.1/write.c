/* write.c - wrote the files of this folder and expected.txt: compiled and linked against release
   0.1 (commit 46ea048), not against this tree; see README.md. Prints, for each file, the sum of its
   parameters' bits and the bits of what release 0.1 computes with them. */
#include <rapt/rapt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(rapt_status status, const rapt_message *why)
{
    if (status == RAPT_OK) return;
    fprintf(stderr, "%s\n", why->text);
    exit(1);
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
        rapt_tensor t = rapt_model_tensor(model, i);
        size_t count = (size_t)t.rows * (size_t)t.columns;
        float *data = malloc(count * sizeof *data);
        rapt_model_read(model, i, data);
        for (size_t j = 0; j < count; j++) {
            uint32_t bits;
            memcpy(&bits, data + j, sizeof bits);
            sum = (sum ^ bits) * 0x100000001B3u;
        }
        free(data);
    }
    printf("parameters %zu %016llx\n", rapt_model_parameters(model), (unsigned long long)sum);
}

/* Biases are not 0, gains not 1: what a file holds in the wrong place is seen. */
static void shake(rapt_model *model)
{
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        rapt_tensor t = rapt_model_tensor(model, i);
        size_t count = (size_t)t.rows * (size_t)t.columns;
        float *data = malloc(count * sizeof *data);
        rapt_model_read(model, i, data);
        for (size_t j = 0; j < count; j++)
            data[j] += (float)((int)((j * 37 + (size_t)i * 11) % 64) - 32) / 128;
        rapt_model_write(model, i, data);
        free(data);
    }
}

static const int32_t ids[] = {1, 4, 2, 6, 3, 5, 0, 2};
static const int source_starts[] = {0, 5, 8}, target_starts[] = {0, 4, 7};

/* The encoder's output, or logits of 7 tokens over 8. */
static void print_use(const rapt_model *model)
{
    rapt_config c = rapt_model_config(model);
    rapt_limits limits = {
        .batch = 2, .source_tokens = 8, .target_length = 8, .target_tokens = 8, .threads = 1};
    rapt_session *session;
    rapt_message why = {""};
    rapt_tokens source = {2, ids, source_starts}, target = {2, ids, target_starts};
    const float *memory, *logits;
    if (c.kind == RAPT_DECODER_ONLY) source = (rapt_tokens){2, NULL, NULL};
    must(rapt_session_create(&session, model, &limits, NULL, &why), &why);
    must(rapt_encode(session, &source, &memory, &why), &why);
    if (c.kind == RAPT_ENCODER_ONLY) {
        print_floats("states", memory, (size_t)(8 * c.width));
    } else {
        must(rapt_decode(session, &target, &logits, &why), &why);
        print_floats("logits", logits, (size_t)(7 * (c.target_vocab < 12 ? c.target_vocab : 12)));
    }
    rapt_session_free(session);
}

static rapt_model *make(const rapt_config *config, uint64_t seed)
{
    rapt_model *model;
    rapt_message why = {""};
    must(rapt_model_create(&model, config, seed, NULL, &why), &why);
    shake(model);
    return model;
}

static void print_file(const char *name, const rapt_model *model)
{
    printf("file %s\n", name);
    print_sum(model);
}

static void write_model(const char *name, const rapt_config *config, uint64_t seed)
{
    rapt_model *model = make(config, seed);
    rapt_note note = {"note", "kept \xC3\xA9"};
    rapt_message why = {""};
    must(rapt_model_save(model, name, &note, 1, &why), &why);
    print_file(name, model);
    print_use(model);
    rapt_model_free(model);
}

/* Two steps, saved, and the parameters after a third. */
static void write_checkpoint(const char *name, const rapt_config *config, uint64_t seed)
{
    rapt_model *model = make(config, seed);
    rapt_train_options options = rapt_train_options_default();
    rapt_train_limits limits = {.batch = 2, .source_tokens = 8, .target_tokens = 8, .threads = 1};
    rapt_trainer *trainer;
    rapt_report report;
    rapt_message why = {""};
    rapt_note note = {"order", "1 2 3"};
    rapt_tokens source = {2, ids, source_starts}, target = {2, ids, target_starts};
    options.warmup = 3, options.seed = 9, options.attention_dropout = 0.1f;
    must(rapt_trainer_create(&trainer, model, &options, &limits, NULL, &why), &why);
    for (int i = 0; i < 3; i++) {
        if (i == 2) must(rapt_trainer_save(trainer, name, &note, 1, &why), &why);
        if (i == 2) print_file(name, model);
        memset(&report, 0, sizeof report);
        must(rapt_train_gradient(trainer, &source, &target, &report, &why), &why);
        must(rapt_train_step(trainer, &report), &why);
    }
    print_sum(model);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

static char *learn(const char *text, int vocab)
{
    rapt_tokeniser *tokeniser;
    rapt_text one = {text, strlen(text)};
    rapt_message why = {""};
    size_t size;
    must(rapt_tokeniser_learn(&tokeniser, &one, 1, vocab, NULL, &why), &why);
    rapt_tokeniser_write(tokeniser, NULL, 0, &size);
    char *written = malloc(size);
    rapt_tokeniser_write(tokeniser, written, size, &size);
    rapt_tokeniser_free(tokeniser);
    return written;
}

static void write_translator(const char *name, const rapt_config *config, const rapt_note *notes,
                             int count)
{
    rapt_model *model = make(config, 5);
    rapt_translator *translator;
    rapt_message why = {""};
    char text[512];
    must(rapt_model_save(model, name, notes, count, &why), &why);
    print_file(name, model);
    must(rapt_translator_load(&translator, name, NULL, NULL, &why), &why);
    must(rapt_translate(translator, "the cat sat", text, sizeof text, NULL, &why), &why);
    printf("translation");
    for (const char *at = text; *at; at++) printf(" %02x", (unsigned)(unsigned char)*at);
    printf("\n");
    rapt_translator_free(translator);
    rapt_model_free(model);
}

int main(void)
{
    const rapt_config base = {.source_vocab = 7,
                              .target_vocab = 8,
                              .positions = 9,
                              .width = 8,
                              .heads = 2,
                              .hidden = 6,
                              .encoder_layers = 1,
                              .decoder_layers = 1};
    rapt_config c = base;
    c.position = RAPT_POSITION_LEARNED, c.output_bias = 1, c.key_heads = 1;
    write_model("learned-positions.safetensors", &c, 1);
    c = base;
    c.self_score = RAPT_SCORE_ADDITIVE, c.self_reach = RAPT_REACH_LOCAL_P;
    c.self_weighing = RAPT_WEIGH_GUMBEL, c.self_radius = 2.75f, c.self_temperature = 0.3f;
    c.cross_score = RAPT_SCORE_COSINE, c.cross_reach = RAPT_REACH_LOCAL_M;
    c.cross_radius = 1.1f, c.score_hidden = 5, c.centre_hidden = 3;
    write_model("additive-local-p-gumbel.safetensors", &c, 2);
    c = base;
    c.self_score = RAPT_SCORE_GENERAL, c.self_weighing = RAPT_WEIGH_STRAIGHT_THROUGH;
    c.cross_score = RAPT_SCORE_LOCATION_AWARE, c.cross_reach = RAPT_REACH_LOCAL_P;
    c.location_channels = 2, c.location_taps = 3, c.cross_weighing = RAPT_WEIGH_ARGMAX;
    write_model("general-location-aware.safetensors", &c, 3);
    c = base;
    c.norm = RAPT_NORM_BEFORE, c.activation = RAPT_GELU, c.norm_epsilon = 1e-3f;
    c.tie = RAPT_TIE_OUTPUT, c.self_score = RAPT_SCORE_LOCATION, c.plain_embedding = 1;
    write_model("pre-norm.safetensors", &c, 4);
    c = base;
    c.kind = RAPT_ENCODER_ONLY, c.decoder_layers = 0, c.activation = RAPT_SILU;
    c.position = RAPT_POSITION_CONCATENATED_N1, c.norm_epsilon = 3.1415927e-7f;
    write_model("encoder-only.safetensors", &c, 5);
    c = base;
    c.kind = RAPT_DECODER_ONLY, c.encoder_layers = 0, c.source_vocab = 0;
    c.position = RAPT_POSITION_NONE, c.hidden = 0;
    write_model("decoder-only.safetensors", &c, 6);
    c = base;
    c.cross_weighing = RAPT_WEIGH_SAMPLE, c.self_score = RAPT_SCORE_DOT;
    write_checkpoint("checkpoint.safetensors", &c, 7);

    char *joint = learn("the cat sat on the mat", 262),
         *other = learn("die Katze sass, die Katze sass", 260);
    c = base;
    c.source_vocab = c.target_vocab = 262, c.tie = RAPT_TIE_ALL, c.positions = 40;
    write_translator("joint.safetensors", &c, (rapt_note[]){{"rapt.tokeniser", joint}}, 1);
    c.target_vocab = 260, c.tie = RAPT_TIE_OUTPUT, c.width = 4, c.heads = 1;
    write_translator(
        "two.safetensors", &c,
        (rapt_note[]){{"rapt.source_tokeniser", joint}, {"rapt.target_tokeniser", other}}, 2);
    free(joint);
    free(other);
    return 0;
}
