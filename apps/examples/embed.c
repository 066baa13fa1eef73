/* embed.c - which sentences of standard input are alike: the encoder of a translator turns each into a vector.
   Prints for each sentence the most similar other one and the cosine of their vectors. */
#include <math.h>
#include <rapt/rapt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { LINES = 1000, TOKENS = 32000, BYTES = 512 };
static char lines[LINES][BYTES];
static int32_t ids[TOKENS];
static int starts[LINES + 1], count;
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
    rapt_translator *translator;
    rapt_session *session;
    const float *vectors;
    if (argc != 2) return fprintf(stderr, "usage: %s model.safetensors\n", argv[0]), 2;
    ok(rapt_translator_load(&translator, argv[1], NULL, NULL, &why));
    const rapt_tokenizer *tokenizer = rapt_translator_source(translator);
    const rapt_model *model = rapt_translator_model(translator);
    for (; count < LINES && fgets(lines[count], BYTES, stdin); count++) {
        size_t size = strcspn(lines[count], "\n"), got, left = (size_t)(TOKENS - starts[count]);
        lines[count][size] = 0;
        ok(rapt_tokenizer_encode(tokenizer, (rapt_text){lines[count], size}, ids + starts[count], NULL, left, &got,
                                 &why));
        starts[count + 1] = starts[count] + (int)got;
    }
    const rapt_limits limits = {.size = sizeof limits, .batch = count, .source_tokens = TOKENS, .target_length = 1};
    ok(rapt_session_create(&session, model, &limits, NULL, &why));
    ok(rapt_embed(session, &(rapt_tokens){count, ids, starts, NULL}, RAPT_POOLING_MEAN, &vectors, &why));
    for (int i = 0, width = rapt_model_config(model)->width; i < count; i++) {
        int best = -1;
        double most = -2;
        for (int j = 0; j < count; j++) {
            const float *x = vectors + i * width, *y = vectors + j * width;
            double cosine = dot(x, y, width) / sqrt(dot(x, x, width) * dot(y, y, width));
            if (j != i && cosine > most) best = j, most = cosine;
        }
        if (best >= 0) printf("%s\t%s\t%.3f\n", lines[i], lines[best], most);
    }
    rapt_session_free(session), rapt_translator_free(translator);
}
