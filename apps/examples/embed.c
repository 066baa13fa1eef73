/* embed.c - finds similar sentences in standard input: an encoder turns each sentence into a vector. The model is a
   sentence encoder such as all-MiniLM-L6-v2, or a translator. For each sentence, prints the most similar other
   sentence and the cosine of their vectors. */
#include <math.h>
#include <rapt/rapt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { LINES = 1000, BYTES = 512 };
static char lines[LINES][BYTES];
static rapt_text texts[LINES];
static rapt_message why;

static void ok(rapt_status status)
{
    if (status) fprintf(stderr, "%s\n", why.text), exit(1);
}

static double dot(const float *x, const float *y, int width)
{
    double sum = 0;
    for (int i = 0; i < width; i++) sum += (double)x[i] * (double)y[i];
    return sum;
}

int main(int argc, char **argv)
{
    rapt_encoder *encoder;
    int count = 0;
    if (argc != 2) return fprintf(stderr, "usage: %s MODEL\n", argv[0]), 2;
    ok(rapt_encoder_load(&encoder, argv[1], NULL, NULL, &why));
    for (; count < LINES && fgets(lines[count], BYTES, stdin); count++)
        texts[count] = (rapt_text){lines[count], strcspn(lines[count], "\n")};
    const int width = rapt_model_config(rapt_encoder_model(encoder))->width;
    float *vectors = calloc((size_t)count + 1, (size_t)width * sizeof *vectors);
    if (!vectors) return 1;
    ok(rapt_encoder_embed(encoder, texts, (size_t)count, vectors, &why));
    for (int i = 0; i < count; i++) {
        int best = -1;
        double most = -2;
        for (int j = 0; j < count; j++) {
            const float *x = vectors + i * width, *y = vectors + j * width;
            double cosine = dot(x, y, width) / sqrt(dot(x, x, width) * dot(y, y, width));
            if (j != i && cosine > most) best = j, most = cosine;
        }
        const int a = (int)texts[i].size, b = best < 0 ? 0 : (int)texts[best].size;
        if (best >= 0) printf("%.*s\t%.*s\t%.3f\n", a, lines[i], b, lines[best], most);
    }
    free(vectors);
    rapt_encoder_free(encoder);
}
