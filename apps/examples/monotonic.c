/* monotonic.c - trains the queries and keys of monotonic attention with expected stops, so that each of four
   queries outputs a given value and the delay stays small. Then reads the keys one at a time, with hard stops. */
#include <rapt/rapt.h>
#include <stdio.h>
#include <stdlib.h>

enum { QUERIES = 4, KEYS = 8, WIDTH = 8, STEPS = 1000 };
static float q[QUERIES * WIDTH], k[KEYS * WIDTH], v[KEYS], out[QUERIES];
static const float goals[QUERIES] = {1, 1, 4, 6}, offset = -1;

/* Exits with the library's message if a call failed. */
static void ok(rapt_status status, const rapt_message *why)
{
    if (status) fprintf(stderr, "%s\n", why->text), exit(1);
}

static void train(rapt_monotonic_attention *a, void *workspace)
{
    float delays[QUERIES];
    const rapt_monotonic_attention_outputs outputs = {.size = sizeof outputs, .delays = delays};
    rapt_message why;
    for (int step = 0; step <= STEPS; step++) {
        float dout[QUERIES], ddelays[QUERIES], dq[QUERIES * WIDTH] = {0}, dk[KEYS * WIDTH] = {0}, loss = 0,
                                                            delay = 0;
        const rapt_monotonic_attention_gradients d = {.size = sizeof d, .q = dq, .k = dk};
        a->noise = 1, a->seed = (uint64_t)step; /* so that stop probabilities become nearly 0 or 1 */
        ok(rapt_monotonic_attention_forward(a, q, k, v, NULL, NULL, out, &outputs, workspace, &why), &why);
        for (int t = 0; t < QUERIES; t++) {
            dout[t] = out[t] - goals[t], ddelays[t] = 0.01F; /* the loss includes 0.01 times each delay */
            loss += dout[t] * dout[t] / 2, delay += delays[t] / QUERIES;
        }
        if (step % 500 == 0) printf("step %4d  loss %.3f  delay %.2f\n", step, (double)loss, (double)delay);
        ok(rapt_monotonic_attention_backward(a, q, k, v, NULL, NULL, dout, NULL, ddelays, &d, workspace, &why),
           &why);
        for (int i = 0; i < QUERIES * WIDTH; i++) q[i] -= 0.1F * dq[i];
        for (int i = 0; i < KEYS * WIDTH; i++) k[i] -= 0.1F * dk[i];
    }
}

int main(void)
{
    rapt_monotonic_attention a;
    rapt_message why;
    int exist = 0, position = 0; /* number of keys that have arrived; the key where the head continues */
    for (int i = 0; i < QUERIES * WIDTH; i++) q[i] = (float)(i * 7 % 11) / 11 - 0.5F;
    for (int i = 0; i < KEYS * WIDTH; i++) k[i] = (float)(i * 5 % 13) / 13 - 0.5F;
    for (int s = 0; s < KEYS; s++) v[s] = (float)s; /* the value of a key is its index */
    rapt_monotonic_attention_init(&a, sizeof a, 1, 1, QUERIES, KEYS, WIDTH);
    a.value_width = 1, a.v.row = a.out.row = 1, a.offset = &offset;
    void *workspace = aligned_alloc(64, rapt_monotonic_attention_workspace(&a, 1));
    train(&a, workspace);
    a.queries = 1, a.key_counts = &exist;
    for (int t = 0; t < QUERIES && exist <= KEYS;) {
        ok(rapt_monotonic_attention_step(&a, q + t * WIDTH, k, v, NULL, NULL, &position, out, workspace, &why),
           &why);
        if (position < exist) printf("after %d keys: query %d outputs %.0f\n", exist, t++, (double)out[0]);
        else exist++; /* the query has read all keys: wait for the next one */
    }
    free(workspace);
}
