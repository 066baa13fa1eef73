/* outside.c - a program outside the tree that uses the installed library, compiled as C and as
   C++. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <rapt/rapt.h>
#include <stdio.h>
#include <stdlib.h>

/* Translates sentences by keeping them. */
static rapt_status keep(void *user, const rapt_text *sentences, size_t count, rapt_take_fn *take,
                        void *taker, rapt_message *why)
{
    (void)user, (void)why;
    for (size_t i = 0; i < count; i++) take(taker, RAPT_OK, sentences[i], NULL);
    return RAPT_OK;
}

static int count_sentences(void *user, const rapt_document_piece *piece)
{
    *(int *)user += piece->kind == RAPT_PIECE_SENTENCE;
    return 0;
}

int main(void)
{
    /* One query cannot tell its two keys apart, so the result is the mean of their values. */
    float q[2] = {1, 0}, k[4] = {1, 2, 1, 3}, v[4] = {2, 10, 4, 20}, out[2] = {0, 0};
    rapt_attention a;
    rapt_attention_init(&a, sizeof a, 1, 1, 1, 2, 2);
    size_t bytes = (rapt_attention_workspace(&a) + 63) / 64 * 64;
    void *workspace = NULL;
    rapt_status status = RAPT_NO_MEMORY;

    if (posix_memalign(&workspace, 64, bytes) == 0)
        status = rapt_attention_forward(&a, q, k, v, out, NULL, workspace, NULL);
    free(workspace);

    const rapt_document_engine engine = {sizeof engine, keep, NULL, NULL};
    const rapt_text document = {"Mr. A left. Two.", 16};
    int sentences = 0;
    rapt_document_translate_with(&engine, document, NULL, count_sentences, &sentences, NULL, NULL);
    printf("rapt %s, %s: %s, %g %g, %d sentences\n", rapt_version(), rapt_isa_name(rapt_isa_used()),
           rapt_status_text(status), (double)out[0], (double)out[1], sentences);
    return !(status == RAPT_OK && sentences == 2 && fabsf(out[0] - 3) < 1e-5f &&
             fabsf(out[1] - 15) < 1e-4f);
}
