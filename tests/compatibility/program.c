/* program.c FILE - uses the types and functions of <rapt/rapt.h> and prints a hash of the bits of
   every result. FILE is written and removed. `program --tail` prints whether the library accepts a
   struct that is longer than this program's and not 0 in the additional part: "known" or
   "refused". */
#include <rapt/rapt.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCES = 3, TOKENS = 18, LENGTH = 8, BEAMS = 2 };

static const int starts[SENTENCES + 1] = {0, 7, 16, TOKENS};
static int32_t ids[TOKENS];

static void check(const char *what, rapt_status status, const rapt_message *why)
{
    if (status == RAPT_OK) return;
    printf("%s: %s\n", what, *why->text ? why->text : rapt_status_text(status));
    exit(1);
}

static void print_bits(const char *what, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t h = 0xCBF29CE484222325u; /* FNV-1a */
    for (size_t i = 0; i < size; i++) h = (h ^ bytes[i]) * 0x100000001B3u;
    printf("%s %016" PRIx64 "\n", what, h);
}

static void attend(void)
{
    enum { HEADS = 2, ROWS = 20, WIDTH = 8, SIZE = HEADS * ROWS * WIDTH };
    static float q[SIZE], k[SIZE], v[SIZE], out[SIZE], dq[SIZE], lse[HEADS * ROWS], bias[ROWS];
    rapt_attention a;
    rapt_message why = {""};
    for (int i = 0; i < SIZE; i++)
        q[i] = (float)(i % 7), k[i] = (float)(i % 5) / 5, v[i] = (float)(i % 11);
    for (int i = 0; i < ROWS; i++) bias[i] = (float)(i % 3);
    check("init", rapt_attention_init(&a, sizeof a, 1, HEADS, ROWS, ROWS, WIDTH), &why);
    a.threads = 1, a.cap = 3;
    a.mask.causal = 1, a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
    a.mask.bias = bias;
    rapt_attention_saved saved = {.size = sizeof saved, .lse = lse};
    rapt_gradients d = {.size = sizeof d, .q = dq};
    size_t bytes = (rapt_attention_workspace(&a) + 63) / 64 * 64;
    void *workspace = aligned_alloc(64, bytes ? bytes : 64);
    check("forward", rapt_attention_forward(&a, q, k, v, out, &saved, workspace, &why), &why);
    check("backward",
          rapt_attention_backward(&a, q, k, v, out, &saved, v, NULL, &d, workspace, &why), &why);
    free(workspace);
    print_bits("attention", out, sizeof out);
    print_bits("gradient", dq, sizeof dq);
}

static rapt_model *create_model(int vocab)
{
    rapt_config c = {.size = sizeof c};
    rapt_model *model = NULL;
    rapt_message why = {""};
    check("preset", rapt_config_preset(&c, "tiny", vocab, &why), &why);
    c.width = 24, c.heads = 2, c.ffn_width = 30, c.encoder_layers = c.decoder_layers = 1;
    c.positions = 40;
    check("model", rapt_model_create(&model, &c, 7, NULL, &why), &why);
    const rapt_config *own = rapt_model_config(model);
    printf("width %d, %d positions\n", own->width, own->positions);
    return model;
}

static void train(rapt_model *model)
{
    const rapt_tokens tokens = {.batch = SENTENCES, .ids = ids, .starts = starts};
    const rapt_train_limits limits = {.size = sizeof limits,
                                      .batch = SENTENCES,
                                      .source_tokens = TOKENS,
                                      .target_tokens = TOKENS,
                                      .threads = 1};
    rapt_train_options o;
    rapt_report report = {.size = sizeof report};
    rapt_trainer *trainer = NULL;
    rapt_message why = {""};
    rapt_train_options_default(&o, sizeof o);
    o.rate = 0.01f, o.warmup = 2;
    check("trainer", rapt_trainer_create(&trainer, model, &o, &limits, NULL, &why), &why);
    for (int i = 0; i < 3; i++) {
        check("batch", rapt_train_gradient(trainer, &tokens, &tokens, &report, &why), &why);
        check("step", rapt_train_step(trainer, &report, &why), &why);
    }
    printf("loss %a of %lld tokens, step %lld, rate %a, norm %a\n", report.loss, report.tokens,
           report.step, report.rate, report.gradient_norm);
    rapt_trainer_free(trainer);
}

static void generate(const rapt_model *model)
{
    const rapt_tokens tokens = {.batch = SENTENCES, .ids = ids, .starts = starts};
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = SENTENCES,
                                .beams = BEAMS,
                                .source_tokens = TOKENS,
                                .target_length = LENGTH,
                                .threads = 1,
                                .alignments = 1};
    int32_t found[SENTENCES * LENGTH] = {0};
    int counts[SENTENCES];
    float scores[SENTENCES];
    static float alignments[(LENGTH + 1) * TOKENS];
    const rapt_generate_outputs out = {.size = sizeof out,
                                       .ids = found,
                                       .counts = counts,
                                       .scores = scores,
                                       .alignments = alignments};
    rapt_session *session = NULL;
    rapt_message why = {""};
    rapt_generate_options o;
    rapt_generate_options_default(&o, sizeof o, 1, 2);
    check("session", rapt_session_create(&session, model, &limits, NULL, &why), &why);
    for (int sampled = 0; sampled < 2; sampled++) {
        o.beams = BEAMS - sampled, o.temperature = (float)sampled;
        check("generate", rapt_generate(session, &tokens, &o, &out, &why), &why);
        print_bits("tokens", found, sizeof found);
        print_bits("counts", counts, sizeof counts);
        print_bits("scores", scores, sizeof scores);
        print_bits("alignments", alignments, sizeof alignments);
    }
    rapt_session_free(session);
}

static int print_translation(void *user, const rapt_translation *t)
{
    (void)user;
    printf("%zu.%d: status %d, %d tokens, score %a\n", t->sentence, t->rank, (int)t->status,
           t->target_count, (double)t->score);
    print_bits("text", t->text, t->size);
    print_bits("alignment", t->alignment,
               sizeof(float) * (size_t)((t->source_count + 1) * (t->target_count + 1)));
    return 0;
}

static void translate(const char *file)
{
    static const rapt_text texts[] = {{"the cat sees the dog", 20}, {"the dog sees the cat", 20}};
    const rapt_translator_options o = {.size = sizeof o, .beams = 3, .nbest = 2, .threads = 1};
    rapt_tokenizer *tokenizer = NULL;
    rapt_translator *translator = NULL;
    rapt_message why = {""};
    size_t size;
    check("learn", rapt_tokenizer_learn(&tokenizer, texts, 2, 265, NULL, &why), &why);
    check("size", rapt_tokenizer_write(tokenizer, NULL, 0, &size, &why), &why);
    char *text = malloc(size);
    check("write", rapt_tokenizer_write(tokenizer, text, size, &size, &why), &why);
    rapt_model *model = create_model(rapt_tokenizer_vocab(tokenizer));
    const rapt_metadata metadata = {"rapt.tokenizer", text};
    check("save", rapt_model_save(model, file, &metadata, 1, &why), &why);
    rapt_model_free(model);
    rapt_tokenizer_free(tokenizer);
    free(text);
    check("load", rapt_translator_load(&translator, file, &o, NULL, &why), &why);
    check("translate", rapt_translate_many(translator, texts, 2, 1, print_translation, NULL, &why),
          &why);
    rapt_translator_free(translator);
    remove(file);
}

static int print_tail(void)
{
    const struct {
        rapt_limits known;
        int more[4];
    } limits = {{.size = sizeof limits, .batch = 1, .source_tokens = 4, .target_length = 4},
                {0, 1}};
    rapt_model *model = create_model(60);
    rapt_session *session = NULL;
    rapt_message why = {""};
    rapt_status status = rapt_session_create(&session, model, &limits.known, NULL, &why);
    printf("%s\n", status == RAPT_OK ? "known" : "refused");
    rapt_session_free(session);
    rapt_model_free(model);
    return status != RAPT_OK && (status != RAPT_BAD_ARGUMENT || !strstr(why.text, "rapt_limits"));
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    for (int i = 0; i < TOKENS; i++) ids[i] = 3 + i * i % 50;
    if (strcmp(argv[1], "--tail") == 0) return print_tail();
    attend();
    rapt_model *model = create_model(60);
    train(model);
    generate(model);
    rapt_model_free(model);
    translate(argv[1]);
    return 0;
}
