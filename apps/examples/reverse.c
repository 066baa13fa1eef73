/* reverse.c - an encoder-decoder learns to reverse sequences of digits. Prints how many tokens of new sequences it
   predicts correctly, and its output for the first of them. Ids: 1 is begin, 2 is end, 3 to 12 are digits. */
#include <rapt/rapt.h>
#include <stdio.h>
#include <stdlib.h>
enum { BATCH = 32, N = 6, BEGIN = 1, END = 2, DIGIT = 3, VOCAB = 13, STEPS = 300 };
static int32_t from[BATCH * N], to[BATCH * (N + 2)], ids[BATCH * (N + 1)];
static int from_starts[BATCH + 1], to_starts[BATCH + 1], counts[BATCH];
static const rapt_tokens source = {BATCH, from, from_starts, NULL}, target = {BATCH, to, to_starts, NULL};
static unsigned seed = 1;
static rapt_message why;

static void ok(rapt_status status)
{
    if (status) puts(why.text), exit(1);
}

/* Draws new sequences. A target is begin, y1 .. yn, end. */
static void draw(void)
{
    for (int b = 0, x = 0, y = 0; b < BATCH; b++, x += N, y += N + 2) {
        for (int i = 0; i < N; i++, seed = seed * 69069 + 1)
            from[x + i] = to[y + N - i] = DIGIT + (int32_t)(seed >> 16) % 10;
        to[y] = BEGIN, to[y + N + 1] = END, from_starts[b + 1] = x + N, to_starts[b + 1] = y + N + 2;
    }
}

int main(void)
{
    rapt_config config = {sizeof config, .source_vocab = VOCAB, .target_vocab = VOCAB, .positions = 16};
    rapt_train_limits limits = {sizeof limits, BATCH, BATCH * N, .target_tokens = BATCH * (N + 2)};
    rapt_limits space = {sizeof space, .batch = BATCH, .source_tokens = BATCH * N, .target_length = N + 1};
    rapt_generate_outputs outputs = {.size = sizeof outputs, .ids = ids, .counts = counts};
    rapt_report report = {.size = sizeof report};
    rapt_train_options options;
    rapt_generate_options search;
    rapt_model *model;
    rapt_trainer *trainer;
    rapt_session *session;
    config.width = 64, config.heads = 4, config.ffn_width = 128, config.tie = RAPT_TIE_ALL;
    config.encoder_layers = config.decoder_layers = 1, config.norm_order = RAPT_NORM_ORDER_PRE;
    rapt_train_options_default(&options, sizeof options);
    options.rate = 0.003F, options.warmup = 50, options.dropout = 0;
    ok(rapt_model_create(&model, &config, 1, NULL, &why));
    ok(rapt_trainer_create(&trainer, model, &options, &limits, NULL, &why));
    for (int step = 0; step < STEPS; step++) {
        draw();
        ok(rapt_train_gradient(trainer, &source, &target, NULL, &why));
        ok(rapt_train_step(trainer, NULL, &why));
    }
    draw();
    ok(rapt_train_evaluate(trainer, &source, &target, &report, &why));
    printf("%lld of %lld\n", report.correct, report.tokens);
    rapt_generate_options_default(&search, sizeof search, BEGIN, END);
    ok(rapt_session_create(&session, model, &space, NULL, &why));
    ok(rapt_generate(session, &source, &search, &outputs, &why));
    for (int i = 0, n = N + counts[0]; i < n; i++)
        printf("%d%s", (int)(i < N ? from[i] : ids[i - N]) - DIGIT, i == N - 1 ? " -> " : i < n - 1 ? "" : "\n");
    rapt_session_free(session), rapt_trainer_free(trainer), rapt_model_free(model);
}
