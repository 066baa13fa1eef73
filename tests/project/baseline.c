/* baseline.c - uses the kernels and prints the name of the instruction set that was chosen. */
#include "kernel/kernel.h"
#include <stdio.h>

int main(void)
{
    float x[37], y[37], sum = 0;

    for (int i = 0; i < 37; i++) {
        x[i] = (float)i;
        y[i] = 2;
        sum += x[i] * y[i];
    }
    if (rapt__kernels()->dot(x, y, 37) != sum) return 1;
    return puts(rapt_isa_name(rapt_isa_used())) < 0;
}
