/* attention.c - the smallest attention network: the items V are encoded as E = V W, the hidden state h is the
   query, the weights are a = softmax(E h), and the context is c = E^T a. Trains W by gradient descent until c is
   close to its goal. */
#include <rapt/rapt.h>
#include <stdio.h>
#include <stdlib.h>

enum { ITEMS = 3, IN = 2, WIDTH = 2, STEPS = 20 };

static void print(const char *name, const float *x, int count)
{
    printf("%s", name);
    for (int i = 0; i < count; i++) printf(" %6.3f", (double)x[i]);
}

int main(void)
{
    const float v[ITEMS][IN] = {{1, 0}, {0, 1}, {1, 1}}, h[WIDTH] = {1, -1}, goal[WIDTH] = {2, 0};
    float w[IN][WIDTH] = {{1, 0}, {0, 1}}, a[ITEMS], c[WIDTH], statistics[2];
    rapt_attention problem;
    rapt_attention_saved saved = {.size = sizeof saved, .statistics = statistics};
    rapt_message why;

    rapt_attention_init(&problem, sizeof problem, 1, 1, 1, ITEMS, WIDTH); /* 1 sequence, 1 head, 1 query */
    problem.score = RAPT_SCORE_DOT;
    void *workspace = aligned_alloc(64, rapt_attention_workspace(&problem));
    for (int step = 0; step <= STEPS; step++) {
        float e[ITEMS][WIDTH] = {{0}}, dk[ITEMS][WIDTH] = {{0}}, dv[ITEMS][WIDTH] = {{0}}, dc[WIDTH], loss = 0;
        rapt_gradients d = {.size = sizeof d, .k = dk[0], .v = dv[0]};
        for (int s = 0; s < ITEMS; s++) /* E = V W */
            for (int i = 0; i < IN; i++)
                for (int j = 0; j < WIDTH; j++) e[s][j] += v[s][i] * w[i][j];
        if (rapt_attention_forward(&problem, h, e[0], e[0], c, &saved, workspace, &why) ||
            rapt_attention_weights(&problem, h, e[0], &saved, 0, 0, 0, 1, a, workspace, &why))
            return fprintf(stderr, "%s\n", why.text), 1;
        for (int i = 0; i < WIDTH; i++) dc[i] = c[i] - goal[i], loss += dc[i] * dc[i] / 2;
        if (step % 10 == 0) {
            printf("step %2d  loss %.4f", step, (double)loss);
            print("  a", a, ITEMS), print("  c", c, WIDTH), printf("\n");
        }
        if (rapt_attention_backward(&problem, h, e[0], e[0], c, &saved, dc, NULL, &d, workspace, &why))
            return fprintf(stderr, "%s\n", why.text), 1;
        for (int s = 0; s < ITEMS; s++) /* E holds keys and values: dW = V^T (dK + dV) */
            for (int i = 0; i < IN; i++)
                for (int j = 0; j < WIDTH; j++) w[i][j] -= 0.1F * v[s][i] * (dk[s][j] + dv[s][j]);
    }
    free(workspace);
    return 0;
}
