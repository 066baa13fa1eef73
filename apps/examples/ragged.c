/* ragged.c - computes additive attention, with scores v . tanh(W q + U k), from each word to the words of its own
   sequence, for two sequences of 2 and 3 words without padding. Then compares the gradients of W, U and v with
   finite differences of the loss, which is the sum of all outputs. */
#include <math.h>
#include <rapt/rapt.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 5, WIDTH = 4, HIDDEN = 3 }; /* rows of all sequences, back to back */
static float x[ROWS * WIDTH], W[HIDDEN * WIDTH], U[HIDDEN * WIDTH], v[HIDDEN], out[ROWS * WIDTH], stats[2 * ROWS];
static const int starts[] = {0, 2, ROWS};
static rapt_attention a;
static rapt_attention_saved saved = {.size = sizeof saved, .statistics = stats};
static void *workspace;

static void fill(float *to, int count, int seed)
{
    for (int i = 0; i < count; i++) to[i] = sinf((float)(seed * 31 + i * 7));
}

/* Returns the sum of all outputs. Every word is query, key and value. */
static double loss(void)
{
    rapt_message why;
    double sum = 0;
    if (rapt_attention_forward(&a, x, x, x, out, &saved, workspace, &why)) puts(why.text), exit(1);
    for (int i = 0; i < ROWS * WIDTH; i++) sum += (double)out[i];
    return sum;
}

int main(void)
{
    float dW[HIDDEN * WIDTH] = {0}, dU[HIDDEN * WIDTH] = {0}, dv[HIDDEN] = {0}, ones[ROWS * WIDTH];
    float *arrays[] = {W, U, v}, *gradients[] = {dW, dU, dv};
    static const rapt_attention_parameter which[] = {RAPT_ATTENTION_PARAMETER_QUERY_WEIGHT,
                                                     RAPT_ATTENTION_PARAMETER_KEY_WEIGHT,
                                                     RAPT_ATTENTION_PARAMETER_HIDDEN_VECTOR};
    rapt_gradients d = {.size = sizeof d};
    fill(x, ROWS * WIDTH, 1), fill(W, HIDDEN * WIDTH, 2), fill(U, HIDDEN * WIDTH, 3), fill(v, HIDDEN, 4);
    rapt_attention_init(&a, sizeof a, 2, 1, 3, 3, WIDTH); /* 2 sequences of at most 3 words */
    a.query_starts = a.key_starts = starts;
    a.score = RAPT_SCORE_ADDITIVE;
    a.parameters.hidden = HIDDEN;
    for (int i = 0; i < 3; i++) a.parameters.array[which[i]] = arrays[i], d.parameters[which[i]] = gradients[i];
    workspace = aligned_alloc(64, rapt_attention_workspace(&a));
    printf("sum of all outputs %.3f\n", loss());
    for (int i = 0; i < ROWS * WIDTH; i++) ones[i] = 1;
    rapt_message why;
    if (rapt_attention_backward(&a, x, x, x, out, &saved, ones, NULL, &d, workspace, &why))
        return puts(why.text), 1;
    for (int i = 0; i < 3; i++) {
        arrays[i][0] += 0.01F;
        double up = loss();
        arrays[i][0] -= 0.02F;
        printf("%s[0]: gradient %.3f, difference %.3f\n", rapt_attention_parameter_name(which[i]),
               (double)gradients[i][0], (up - loss()) / 0.02);
        arrays[i][0] += 0.01F;
    }
    free(workspace);
}
