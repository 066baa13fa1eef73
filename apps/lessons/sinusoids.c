/* sinusoids.c - sinusoidal positions (Vaswani et al. 2017, 3.5) and their dot products. */
#include "kit/program.h"
#include "parts.h"
#include <math.h>
#include <stdlib.h>

enum { POSITIONS = 24, WIDTH = 32 };

/* Returns sin or cos of position / 10000^(2i / width); the two alternate. */
static double wave(int position, int column)
{
    double angle = position / pow(10000, (column - column % 2) / (double)WIDTH);
    return column % 2 ? cos(angle) : sin(angle);
}

static double product_of_codes(int a, int b)
{
    double sum = 0;
    for (int i = 0; i < WIDTH; i++) sum += wave(a, i) * wave(b, i);
    return sum;
}

void draw_sinusoids(struct page *page)
{
    float waves[POSITIONS * WIDTH];
    char text[POSITIONS + WIDTH][12];
    const char *names[POSITIONS + WIDTH];
    double xs[POSITIONS], ys[POSITIONS], differ = 0;
    for (int i = 0; i < POSITIONS + WIDTH; i++) {
        const int column = i - POSITIONS; /* every fourth column has a name */
        if (i < POSITIONS || column % 4 == 0)
            snprintf(text[i], sizeof text[i], "%d", i < POSITIONS ? i : column);
        else
            text[i][0] = '\0';
        names[i] = text[i];
    }
    for (int p = 0; p < POSITIONS; p++) {
        for (int i = 0; i < WIDTH; i++) waves[p * WIDTH + i] = (float)(0.5 + 0.5 * wave(p, i));
        xs[p] = p;
        ys[p] = product_of_codes(0, p);
        for (int q = 0; q < POSITIONS; q++)
            differ =
                fmax(differ, fabs(product_of_codes(p, q) - product_of_codes(p + 100, q + 100)));
    }
    page_step(page, "Sinusoidal positions");
    page_paragraph(
        page, SHORT,
        "Attention does not know the order of words: in any other order they get the same weights. "
        "So sines and cosines that depend on its position are added to the vector of each word. "
        "The dot product of two such codes depends only on the distance between the positions. "
        "Rotary positions bring this distance directly into the scores.");
    page_formula(page, MORE, "p_{t,2i} = sin(frac{t}{10000^{2i/w}})");
    page_formula(page, MORE, "p_{t,2i+1} = cos(frac{t}{10000^{2i/w}})");
    page_map(
        page, MORE,
        "Sinusoids, shown as (1 + p)/2: 0 %, the color of the page, is −1, 50 % is 0 and 100 % "
        "is 1; rows are positions, columns the 32 elements of a vector",
        POSITIONS, WIDTH, names, names + POSITIONS, waves);
    page_formula(page, MORE, "p_t · p_s = ∑_i cos(frac{t − s}{10000^{2i/w}})");
    page_chart(page, MORE, "Product of the codes of two positions", "distance", "product");
    page_curve(page, "p(0) · p(distance)", POSITIONS, xs, ys);
    page_claim(page, "largest change of a product if both positions move by 100", differ, AT_MOST,
               1e-9);
}
