/* marianmt.h - the MarianMT of Hugging Face's transformers in double, sentence by sentence, written
   from modeling_marian.py (4.57). Reads tensors by the names that they have there. */
#ifndef RAPT_ORACLE_MARIANMT_H
#define RAPT_ORACLE_MARIANMT_H

struct marianmt_tensor {
    const char *name;
    const float *data; /* [out][in], or [out] */
};
enum { MARIANMT_SWISH, MARIANMT_RELU, MARIANMT_GELU }; /* activation_function */
struct marianmt {
    int width, heads, ffn_width, encoder_layers, decoder_layers, vocab; /* vocab: of the target */
    int activation;
    int scaled; /* scale_embedding */
    const struct marianmt_tensor *tensors;
    int count;
};

/* Computes logits [target_count][vocab] after each token of the decoder's input. */
void marianmt_logits(const struct marianmt *m, const int *source, int source_count,
                     const int *target, int target_count, double *logits);

#endif
