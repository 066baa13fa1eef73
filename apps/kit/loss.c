/* loss.c - cross-entropy: -log p[label], p = softmax(x). */
#include "kit/layers.h"
#include <math.h>
#include <string.h>

double cross_entropy(int rows, int width, const float *x, const int *labels, float *dx,
                     int *correct)
{
    double loss = 0;
    softmax(rows, width, x, dx);
    for (int r = 0; r < rows; r++, x += width, dx += width) {
        int label = labels[r];
        if (label < 0) {
            memset(dx, 0, (size_t)width * sizeof *dx);
            continue;
        }
        loss -= log((double)dx[label]);
        if (correct != NULL) *correct += argmax(width, x) == label;
        dx[label] -= 1;
    }
    return loss;
}
