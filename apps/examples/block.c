/* block.c - uses a layer of a pre-trained model in your own network: copies it from the model by name, and trains
   it together with a new feed-forward layer on top. The task is to turn each row into the next one. */
#include <rapt/rapt.h>
#include <stdio.h>
#include <stdlib.h>
enum { ROWS = 8, WIDTH = 16, N = ROWS * WIDTH, STEPS = 40, CAPACITY = 1 << 13 };
static _Alignas(64) float p[CAPACITY], q[CAPACITY], dp[CAPACITY], dq[CAPACITY]; /* parameters, gradients */
static float x[N], y[N], z[N], dy[N], dz[N];
static rapt_message why;

static void ok(rapt_status status)
{
    if (status) fprintf(stderr, "%s\n", why.text), exit(1);
}

/* Copies the first encoder layer of a model. */
static void copy(const rapt_block *block, const rapt_model *model)
{
    for (int i = 0; i < rapt_block_tensors(block); i++) {
        char name[128];
        snprintf(name, sizeof name, "encoder.layers.0.%s", rapt_block_tensor(block, i).name);
        ok(rapt_model_read(model, rapt_model_find(model, name), dp, &why));
        ok(rapt_block_write(block, p, i, dp, &why));
    }
    for (int i = 0; i < CAPACITY; i++) dp[i] = 0;
}

int main(void)
{
    rapt_config config = {sizeof config, RAPT_KIND_ENCODER_ONLY, .source_vocab = 100, .target_vocab = 9,
                          .positions = ROWS};
    config.width = WIDTH, config.heads = 2, config.ffn_width = 32, config.encoder_layers = 2;
    const rapt_block_limits limits = {.size = sizeof limits, .batch = 1, .rows = ROWS};
    const rapt_block_rows rows = {sizeof rows, (const int[]){0, ROWS}, .batch = 1, .learning = 1};
    rapt_model *model;
    rapt_block *layer, *top;
    ok(rapt_model_create(&model, &config, 1, NULL, &why)); /* in place of rapt_model_load */
    ok(rapt_block_create(&layer, RAPT_BLOCK_KIND_ENCODER, &config, &limits, NULL, &why));
    ok(rapt_block_create(&top, RAPT_BLOCK_KIND_FEEDFORWARD, &config, &limits, NULL, &why));
    if (rapt_block_floats(layer) > CAPACITY || rapt_block_floats(top) > CAPACITY) return 1;
    copy(layer, model), ok(rapt_block_init(top, 2, q, &why));
    for (int i = 0; i < N; i++) x[i] = (float)(i * 7919 % 1000) / 500 - 1;
    for (int step = 0; step <= STEPS; step++) {
        float loss = 0;
        ok(rapt_block_forward(layer, p, &rows, x, z, &why)), ok(rapt_block_forward(top, q, &rows, z, y, &why));
        for (int i = 0; i < N; i++) dy[i] = y[i] - x[(i + WIDTH) % N], loss += dy[i] * dy[i] / 2, dz[i] = 0;
        ok(rapt_block_backward(top, q, &rows, dy, dz, NULL, dq, &why));
        ok(rapt_block_backward(layer, p, &rows, dz, NULL, NULL, dp, &why));
        for (int i = 0; i < CAPACITY; i++) p[i] -= 0.02F * dp[i], q[i] -= 0.02F * dq[i], dp[i] = dq[i] = 0;
        if (step % 20 == 0) printf("step %2d  loss %.2f\n", step, (double)loss);
    }
    ok(rapt_block_read(top, q, rapt_block_find(top, "feedforward.out.weight"), dq, &why));
    printf("feedforward.out.weight[0][0] %.3f\n", (double)dq[0]);
    rapt_block_free(layer), rapt_block_free(top), rapt_model_free(model);
}
