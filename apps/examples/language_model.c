/* language_model.c - a decoder-only model, built like GPT-2, learns to write a rhyme letter by letter and continues
   a prompt, which rapt_generate takes as a prefix. Ids: 0 is begin, 1 is end, 2 is the space, and so on. */
#include <rapt/rapt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BEGIN, END, FIRST, VOCAB = FIRST + 96, LINES = 4, MAX = 60, STEPS = 150 };
static const char *const lines[LINES] = {"Twinkle, twinkle, little star,", "How I wonder what you are!",
                                         "Up above the world so high,", "Like a diamond in the sky."};
static rapt_message why;

static void ok(rapt_status status)
{
    if (status) fprintf(stderr, "%s\n", why.text), exit(1);
}

static int put(const char *text, int32_t *ids)
{
    for (int i = 0; text[i]; i++) ids[i] = FIRST + text[i] - ' ';
    return (int)strlen(text);
}

int main(void)
{
    rapt_config config = {sizeof config, RAPT_KIND_DECODER_ONLY, .target_vocab = VOCAB, .positions = MAX};
    rapt_train_limits limits = {.size = sizeof limits, .batch = LINES, .target_tokens = LINES * MAX};
    rapt_limits space = {.size = sizeof space, .batch = 1, .target_length = MAX};
    int32_t ids[LINES * MAX], prompt[MAX], out[MAX] = {0};
    int starts[LINES + 1] = {0}, prompt_starts[] = {0, 0}, count = 0;
    const rapt_tokens target = {.batch = LINES, .ids = ids, .starts = starts}, nothing = {.batch = LINES},
                      one = {.batch = 1};
    rapt_generate_outputs outputs = {.size = sizeof outputs, .ids = out, .counts = &count};
    rapt_train_options options;
    rapt_generate_options search;
    rapt_model *model;
    rapt_trainer *trainer;
    rapt_session *session;
    config.width = 64, config.heads = 4, config.ffn_width = 128, config.decoder_layers = 2;
    config.norm_order = RAPT_NORM_ORDER_PRE, config.activation = RAPT_ACTIVATION_GELU;
    config.position = RAPT_POSITION_LEARNED, config.plain_embedding = 1, config.tie = RAPT_TIE_OUTPUT;
    for (int i = 0, n = 0; i < LINES; i++, starts[i] = n)
        ids[n++] = BEGIN, n += put(lines[i], ids + n), ids[n++] = END;
    rapt_train_options_default(&options, sizeof options);
    options.rate = 0.003F, options.warmup = 20, options.dropout = 0;
    ok(rapt_model_create(&model, &config, 1, NULL, &why));
    ok(rapt_trainer_create(&trainer, model, &options, &limits, NULL, &why));
    for (int step = 0; step < STEPS; step++) {
        ok(rapt_train_gradient(trainer, &nothing, &target, NULL, &why)); /* no source: only the batch size */
        ok(rapt_train_step(trainer, NULL, &why));
    }
    prompt_starts[1] = put("Up ab", prompt);
    const rapt_tokens prefix = {.batch = 1, .ids = prompt, .starts = prompt_starts};
    rapt_generate_options_default(&search, sizeof search, BEGIN, END);
    search.prefix = &prefix;
    ok(rapt_session_create(&session, model, &space, NULL, &why));
    ok(rapt_generate(session, &one, &search, &outputs, &why));
    for (int i = 0; i < count; i++) printf("%c%s", out[i] - FIRST + ' ', i + 1 < count ? "" : "\n");
    rapt_session_free(session), rapt_trainer_free(trainer), rapt_model_free(model);
}
