/* attention.c - one query and three values V go in; energies E, weights a and the context c come
   out: E[s] = q.k[s] / sqrt(2), a = softmax(E), c = sum of a[s] V[s]. Then the way back: dV = a
   dc', dq. */
#include <math.h>
#include <rapt/rapt.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEYS = 3, WIDTH = 2 };

static void print(const char *name, const float *x, int rows, int columns)
{
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < columns; i++)
            printf("%s%6.3f%s", i ? " " : name, (double)x[r * columns + i], i + 1 < columns ? "" : "\n");
}

int main(void)
{
    const float q[WIDTH] = {2, 0}, k[KEYS * WIDTH] = {1, 0, 0, 1, -1, 0}; /* [rows][width] */
    const float v[KEYS * WIDTH] = {1, 2, 3, 4, 5, 6}, dc[WIDTH] = {1, 0};
    float c[WIDTH], e[KEYS], a[KEYS], lse[1], dq[WIDTH] = {0}, dk[KEYS * WIDTH] = {0}, dv[KEYS * WIDTH] = {0};
    rapt_attention problem;
    rapt_attention_saved saved = {.size = sizeof saved, .lse = lse};
    rapt_gradients d = {.size = sizeof d, .q = dq, .k = dk, .v = dv};
    rapt_message why;

    rapt_attention_init(&problem, sizeof problem, 1, 1, 1, KEYS, WIDTH); /* 1 sequence, 1 head, 1 query */
    void *workspace = aligned_alloc(64, rapt_attention_workspace(&problem));
    if (rapt_attention_forward(&problem, q, k, v, c, &saved, workspace, &why) ||
        rapt_attention_weights(&problem, q, k, &saved, 0, 0, 0, 1, a, workspace, &why) ||
        rapt_attention_backward(&problem, q, k, v, c, &saved, dc, NULL, &d, workspace, &why)) {
        fprintf(stderr, "%s\n", why.text);
        return 1;
    }
    for (int s = 0; s < KEYS; s++) e[s] = logf(a[s]) + lse[0]; /* a = exp(E - lse) */
    print("V  ", v, KEYS, WIDTH);
    print("E  ", e, 1, KEYS);
    print("a  ", a, 1, KEYS);
    print("c  ", c, 1, WIDTH);
    print("dq ", dq, 1, WIDTH);
    print("dV ", dv, KEYS, WIDTH);
    free(workspace);
    return 0;
}
