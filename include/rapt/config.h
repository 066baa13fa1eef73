/* config.h - the configuration of a Transformer: its halves, layers, widths and kinds of attention.
   transformer.h creates models from it; block.h creates single layers. Parameter names are in
   quotes; the names of a layer's parameters omit the layer's prefix, such as
   "encoder.layers.0.". */
#ifndef RAPT_CONFIG_H
#define RAPT_CONFIG_H

#include "attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which halves a model has, and the main functions that run it. */
typedef enum rapt_kind {
    RAPT_KIND_ENCODER_DECODER, /* source to target: rapt_encode, rapt_decode, rapt_generate */
    RAPT_KIND_ENCODER_ONLY,    /* source to classes or vectors: rapt_classify, rapt_embed */
    RAPT_KIND_DECODER_ONLY     /* language model: rapt_encode, rapt_decode, rapt_generate */
} rapt_kind;
/* Where the norm of a sublayer f is applied. */
typedef enum rapt_norm_order {
    RAPT_NORM_ORDER_POST, /* x = norm(x + f(x))   Vaswani et al. 2017 */
    RAPT_NORM_ORDER_PRE   /* x = x + f(norm(x)), with one more norm after the last layer */
} rapt_norm_order;
/* The activation of feed-forward layers. */
typedef enum rapt_activation {
    RAPT_ACTIVATION_RELU,     /* max(0, x) */
    RAPT_ACTIVATION_GELU,     /* x Phi(x), where Phi is the standard normal distribution function */
    RAPT_ACTIVATION_SILU,     /* x / (1 + exp(-x)) */
    RAPT_ACTIVATION_GELU_TANH /* x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2, close to GELU */
} rapt_activation;
/* Positional embeddings, which are added to the embeddings of tokens or vectors. Sinusoids need an
   even width; p is the position of a token, counted from first_position. */
typedef enum rapt_position {
    /* Sinusoids with angle(p, i) = p / 10000^(2i / width) for i = 0 .. width/2 - 1: */
    RAPT_POSITION_INTERLEAVED,     /* columns sin cos sin cos ...      Vaswani et al. 2017, 3.5 */
    RAPT_POSITION_CONCATENATED,    /* all sines, then all cosines */
    RAPT_POSITION_CONCATENATED_N1, /* the same, but with the exponent i / (width/2 - 1):
                                      tensor2tensor, Marian */
    RAPT_POSITION_LEARNED,         /* a row of a learned table for each position */
    RAPT_POSITION_NONE             /* no positional embeddings */
} rapt_position;
/* Which of the source embeddings, the target embeddings and the output matrix (those that the model
   has) are the same matrix. */
typedef enum rapt_tie {
    RAPT_TIE_NONE,   /* all three differ */
    RAPT_TIE_OUTPUT, /* the target embeddings are the output matrix */
    RAPT_TIE_ALL     /* all three are one matrix, so there is a single vocabulary: source_vocab must
                        be equal to target_vocab, or 0 */
} rapt_tie;
/* The type of all norms: in the layers, on the embeddings, and after the last layer. */
typedef enum rapt_norm_type {
    RAPT_NORM_TYPE_LAYER, /* layer norm           Ba, Kiros and Hinton 2016 */
    RAPT_NORM_TYPE_RMS /* x / sqrt(mean of x^2 + epsilon), times a gain   Zhang and Sennrich 2019 */
} rapt_norm_type;
/* Effects of the distance between key and query in self-attention. The values up to T5 select
   biases that are added to the scores; all layers of an encoder or decoder share them. The other
   values select vectors for distances up to relative_distance; larger distances share the last
   vector (rapt/distances.h). The formulas given below for these values replace q . k in the score.
   Decoders are causal, so they need no vectors for later keys (but DeBERTa's table has rows for
   both directions). Vectors require scores that are scaled dot products or dot products, and cannot
   be combined with rotary embeddings, latent_width or talking_heads. */
typedef enum rapt_relative_bias {
    RAPT_RELATIVE_BIAS_NONE,  /* no effect */
    RAPT_RELATIVE_BIAS_ALIBI, /* -slope |distance| with slope 2^(-8 h / heads) for head h = 1, 2,
                                 ... If heads is not a power of two, the slopes are those for the
                                 next smaller power of two, followed by every other slope for the
                                 next larger one. Press, Smith and Lewis 2022 */
    RAPT_RELATIVE_BIAS_ALIBI_LEARNED, /* the same, but the slopes are learned, starting from these
                                         values: "encoder.slopes" or "decoder.slopes" */
    RAPT_RELATIVE_BIAS_T5,            /* a learned table [heads][relative_buckets],
                                         "encoder.relative_bias.weight" or
                                         "decoder.relative_bias.weight". In the encoder, half of the
                                         buckets are for keys after the query. Raffel et al. 2020 */
    RAPT_RELATIVE_BIAS_SHAW_KEYS,     /* q . (k + r), with learned vectors r that the heads of a
                                         layer share: "self_attn.distances.keys" [n][width of a
                                         head], where n is 2 relative_distance + 1 in the encoder
                                         and relative_distance + 1 in the decoder. Shaw, Uszkoreit
                                         and Vaswani 2018 */
    RAPT_RELATIVE_BIAS_SHAW,          /* the same, and learned vectors are also added to the values:
                                         "self_attn.distances.values" [n][width of a head] */
    RAPT_RELATIVE_BIAS_TRANSFORMER_XL, /* (q + u) . k + (q + v) . r, where r is a projection of
                                          sinusoids by "self_attn.distances.key.weight", and u and v
                                          are "self_attn.distances.content_bias" and
                                          "...position_bias" [heads][width of a head]. The model's
                                          width must be even. Dai et al. 2019 */
    /* (q . k + q . r + k . r') / sqrt(3), where r is the row for the distance from query to key,
       projected by "self_attn.distances.key.weight", and r' is the row for the distance from key to
       query, projected by "...query.weight". Both are rows of the learned table
       "encoder.distances.weight" or "decoder.distances.weight" [2 relative_distance + 1][width].
       With relative_buckets, distances share logarithmic buckets (rapt_distance_buckets), the table
       is [2 relative_buckets - 1][width], and relative_distance must be at least relative_buckets -
       1. He et al. 2021 */
    RAPT_RELATIVE_BIAS_DEBERTA
} rapt_relative_bias;
/* How the output rows of a sequence, one per token, are reduced to one row. */
typedef enum rapt_pooling {
    RAPT_POOLING_NONE,  /* no reduction */
    RAPT_POOLING_FIRST, /* the first row */
    RAPT_POOLING_MEAN   /* the mean of all rows */
} rapt_pooling;
/* The first input of the decoder. */
typedef enum rapt_decoder_start {
    RAPT_DECODER_START_BEGIN,  /* the tokenizer's RAPT_TOKEN_BEGIN */
    RAPT_DECODER_START_END,    /* the tokenizer's RAPT_TOKEN_END: fairseq */
    RAPT_DECODER_START_PAD,    /* the tokenizer's RAPT_TOKEN_PAD: Hugging Face's MarianMT */
    RAPT_DECODER_START_ZERO,   /* any token. Its embedding is replaced by zeros, but its positional
                                  embedding is still added: Marian, CTranslate2 */
    RAPT_DECODER_START_UNKNOWN /* the tokenizer's RAPT_TOKEN_UNKNOWN: MADLAD-400 */
} rapt_decoder_start;
/* The recurrent unit that replaces self-attention in a decoder. At inference, its memory does not
   grow with the length of the target.

   All kinds but NONE and SSRU are linear attention (linear_attention.h): each key head has a matrix
   S, which starts at 0 and is updated by every token; ' denotes the transpose. As in
   self-attention, one matrix, "linear_attn.qkv.weight" with "...qkv.bias", computes the queries,
   keys and values from the input x of the sublayer, and "...out.weight" with "...out.bias" projects
   the outputs of the heads. Linear attention uses only these attention fields: heads, key_heads,
   head_width and output_gate. Attention dropout does not apply.

   In GATED, DELTA and GATED_DELTA, q, k and v pass through SiLU. Each head of q and k is then
   divided by its length, sqrt(sum of squares + norm_epsilon). The output of a head is S' q, divided
   by its root mean square and multiplied by gains "...output_norm.weight" [width of a head], which
   all heads share (Yang et al. 2024, arXiv 2412.06464, without its short convolutions). */
typedef enum rapt_recurrence {
    RAPT_RECURRENCE_NONE,   /* self-attention */
    RAPT_RECURRENCE_SSRU,   /* the simpler simple recurrent unit of Kim et al. 2019: y_t = max(c_t,
                               0), c_t = f_t c_(t-1) + (1 - f_t) W x_t, f_t = sigmoid(V x_t + b),
                               c_0 = 0. W is "recurrent.input.weight", V is "...forget.weight" and b
                               is "...forget.bias" */
    RAPT_RECURRENCE_LINEAR, /* S = S + phi(k) v', out = S' phi(q) / (z . phi(q)), where z is the sum
                               of phi(k) over the tokens so far, and phi(x) = elu(x) + 1
                               (Katharopoulos et al. 2020) */
    RAPT_RECURRENCE_GATED,  /* S = a S + k v', where a = sigmoid(W x + b) is the decay for each
                               token and key head. W is "linear_attn.forget.weight" [key
                               heads][width], and b is "...forget.bias" */
    RAPT_RECURRENCE_DELTA,  /* the delta rule: S = S + r k (v - S' k)', r = sigmoid(W x), where W is
                               "linear_attn.rate.weight" [key heads][width] (Yang et al. 2024, arXiv
                               2406.06484) */
    RAPT_RECURRENCE_GATED_DELTA /* S = a S with the decay a of GATED, followed by the delta rule
                                   (arXiv 2412.06464) */
} rapt_recurrence;

/* Gates on the outputs c of attention heads: the output projection reads c sigmoid(W x), where x is
   the input of the sublayer, and W is "self_attn.gate.weight", "cross_attn.gate.weight" or
   "linear_attn.gate.weight" (Qiu et al. 2025). */
typedef enum rapt_output_gate {
    RAPT_OUTPUT_GATE_NONE,   /* no gates */
    RAPT_OUTPUT_GATE_HEAD,   /* one per head: W [heads][width] */
    RAPT_OUTPUT_GATE_ELEMENT /* one per element: W [heads * width of a head][width] */
} rapt_output_gate;

/* Monotonic attention, which can replace ordinary cross-attention. Every head reads the source from
   left to right and never goes back (monotonic_attention.h).

   The energy of query t at key s is q . k / sqrt(width of a head) + offset, with a learned offset
   for each head, "cross_attn.monotonic.offset" [heads], which starts at -2. (A learned factor is
   not needed: the projections of q and k can represent it.) The last token of a source stops every
   head that reaches it. In CHUNK and LOOKBACK, the softmax has its own queries and keys, which are
   computed with the second half of the rows of "cross_attn.q" and the last third of the rows of
   "cross_attn.kv" (the other rows compute q, k and the values).

   Training computes expected outputs, with noise (rapt_train_options.monotonic_noise); blocks and
   rapt_train_evaluate do so without noise. In rapt_decode, rapt_generate, rapt_score_targets and
   translators, stops are hard: a head reads no source row after the one at which it stops.
   Attention dropout does not apply. */
typedef enum rapt_cross_monotonic {
    RAPT_CROSS_MONOTONIC_NONE,    /* cross_normalizer applies */
    RAPT_CROSS_MONOTONIC_HARD,    /* the value of the key at which the head stops */
    RAPT_CROSS_MONOTONIC_CHUNK,   /* the values of the last monotonic_chunk keys up to that key,
                                     weighted by a softmax */
    RAPT_CROSS_MONOTONIC_LOOKBACK /* the values of all keys up to that key, weighted by a softmax */
} rapt_cross_monotonic;

/* The number of fields that rapt_config_field_at describes. */
enum { RAPT_CONFIG_FIELDS = 66 };

/* The configuration of a model. Set size and the fields that should not be 0, or start from a
   preset. Fields named self_* apply to self-attention in both halves. At inference, attention is
   deterministic: SAMPLE chooses the most likely key, and GUMBEL_SOFTMAX adds no noise.
   rapt_config_field_at describes every field but size and reserved. Floats must be finite. Some
   combinations of values within the ranges below are also rejected, such as positions * width above
   2^26; rapt_config_check says why.

   GPT-2 is a DECODER_ONLY model with norms before the sublayers, GELU, learned positions,
   plain_embedding and a tied output. Llama instead has rotary positions, RMSNorm, gated
   feed-forward layers with SiLU, an untied output and, in larger models, fewer key_heads than
   heads. */
typedef struct rapt_config { /* size-first, see base.h */
    size_t size;             /* sizeof(rapt_config) */
    rapt_kind kind;          /* which halves the model has */
    int source_vocab; /* size of the source vocabulary, 0 to 2^24; 0 if and only if the model has no
                         encoder or its encoder reads vectors (source_width) */
    int target_vocab; /* size of the target vocabulary, or number of classes of an encoder-only
                         model, 0 to 2^24; 0 only for an encoder-only model, which then has no
                         output matrix and must have output_bias 0 */
    int positions;    /* maximum length of a sequence in tokens, 1 to 2^24 */
    int width;        /* elements of a token's vector, 1 to 2^16; 512 in Vaswani et al. */
    int heads;        /* attention heads, 1 to 2^16; must divide width if head_width is 0 */
    int key_heads;    /* heads of keys and values, 0 to 2^16; 0 means one per query head. Must
                         divide heads (Ainslie et al. 2023) */
    int ffn_width;    /* hidden units of the feed-forward layers, 0 to 2^20; 0 means no feed-forward
                         layers. Vaswani et al. use 4 times width */
    int encoder_layers; /* layers of the encoder, 0 to 2^10; 0 for decoder-only models, at least 1
                           for others */
    int decoder_layers; /* layers of the decoder, 0 to 2^10; 0 for encoder-only models, at least 1
                           for others */

    rapt_score self_score;  /* score function of self-attention */
    rapt_score cross_score; /* score function of cross-attention */

    rapt_norm_order norm_order; /* whether norms follow residual sums or precede sublayers */
    rapt_activation activation; /* activation of the feed-forward layers */
    rapt_position position;     /* positional embedding */
    rapt_tie tie;               /* which of the embeddings and the output matrix share parameters */
    int output_bias;            /* 1: the logits have a bias */
    int plain_embedding;        /* 1: embeddings are not multiplied by sqrt(width) */
    float norm_epsilon;         /* added to the variance or mean square in norms, at least 0 and
                                   below 1; 0 means 1e-5 */

    rapt_locality self_locality;      /* which keys self-attention can see */
    rapt_locality cross_locality;     /* which keys cross-attention can see */
    rapt_normalizer self_normalizer;  /* how scores become weights in self-attention */
    rapt_normalizer cross_normalizer; /* how scores become weights in cross-attention */
    float self_radius;                /* radius of local and sparse self-attention in tokens, 0 or
                                         more; 0 means 4 */
    float cross_radius;               /* radius of local and sparse cross-attention in tokens, 0 or
                                         more; 0 means 4 */
    float self_temperature;           /* temperature of Gumbel-softmax in self-attention, 0 or more;
                                         0 means 1 */
    float cross_temperature;          /* temperature of Gumbel-softmax in cross-attention, 0 or
                                         more; 0 means 1 */

    int score_hidden; /* hidden units of scores with a tanh (additive, location-aware and coverage),
                         0 to 2^16; 0 means the width of a head */
    int center_hidden;         /* hidden units of the network that predicts the center of local-p, 0
                                  to 2^16; 0 means the width of a head */
    int location_channels;     /* filters of location-aware scores, 0 to 2^10; 0 means 4 */
    int location_filter_width; /* width of the filters in keys, 0 to 2^10; 0 means 7, and other
                                  values must be odd */

    rapt_pooling pooling; /* how an encoder-only model reduces a sequence to one result;
                             RAPT_POOLING_NONE means one result per token. Must be NONE in models
                             with a decoder */

    rapt_rotary rotary; /* rotary embeddings in self-attention (Su et al. 2021). Not supported for
                           scores with a tanh, nor with distance vectors (relative_bias) */
    int rotary_width;   /* number of leading elements of each query and key that are rotated, 0 to
                           2^16; 0 means all. The number must be even, at least 2 (4 with NTK), and
                           at most the width of a query. With latent_width, these are additional
                           elements, and their number may exceed the width of a head; 0 then means
                           the width of a head */
    float rotary_base;  /* base of the rotary angles, 0 or more; 0 means 10000 */

    rapt_relative_bias relative_bias; /* effects of the distance between key and query in
                                         self-attention */
    int relative_buckets;  /* number of buckets of T5 biases, 0 to 2^10; 0 means 32. With DEBERTA,
                              the position_buckets of DeBERTa v2, or 0 for no buckets. Nonzero
                              values must be even and at least 4 */
    int relative_distance; /* keys at least this many tokens away share the last T5 bucket or
                              vector, 0 to 2^24; 0 means 128. Must be at most 32767 with vectors,
                              and more than relative_buckets / 2 otherwise */

    float score_cap; /* soft cap on all scores, 0 or more: x becomes cap tanh(x / cap); 0 means no
                        cap (Gemma Team 2024) */
    rapt_norm_type norm_type; /* layer norm or RMSNorm */
    int ffn_gated;    /* 1: feed-forward layers compute activation(x W) times x V, with two matrices
                         W and V: SwiGLU with SiLU, GEGLU with GELU (Shazeer 2020) */
    int source_width; /* elements of the vectors that the encoder reads instead of tokens, 0 to
                         2^16; 0 means that it reads tokens. Must be 0 without an encoder */
    int first_position; /* position of the first token in sinusoids, 0 to 2^24. Must be 0 if
                           `position` does not select sinusoids */

    rapt_decoder_start decoder_start;   /* first input of the decoder; must be BEGIN without a
                                           decoder */
    rapt_recurrence decoder_recurrence; /* recurrent unit that replaces self-attention in the
                                           decoder, which then ignores the fields of self-attention
                                           except those that rapt_recurrence lists. Must be NONE
                                           without a decoder. Linear attention requires latent_width
                                           0; in a decoder-only model, self_score, self_locality,
                                           self_normalizer, rotary, relative_bias, query_key_norm,
                                           differential and score_cap must then be 0 as well */
    int no_source_end;   /* 1: translators and text encoders (encoder.h) do not append an end token
                            to the source */
    int alignment_layer; /* decoder layer, counted from 1, whose cross-attention gives alignments,
                            as the mean of its first alignment_heads heads. 0 to 2^10; 0 means the
                            mean of all layers and heads. Must be at most decoder_layers, and 0
                            without cross-attention */
    int embedding_norm;  /* 1: the sum of the embeddings of a token, its type and its position is
                            normalized (Devlin et al. 2019) */
    int token_types;     /* number of types of source tokens, each with a learned vector, 0 to 2^4;
                            0 means no types. The id of token t of type k is t + k source_vocab
                            (Devlin et al. 2019). Must be 0 if source_vocab is 0 */
    int pooler; /* 1: pooled rows pass through a dense layer with tanh before the output matrix
                   (Devlin et al. 2019); rapt_embed ignores it. Requires pooling and target_vocab */
    int alignment_heads; /* number of heads of alignment_layer, starting with the first, that are
                            averaged for alignments, 0 to 2^16; 0 means 1. Must be at most heads,
                            and 0 if alignment_layer is 0 */
    int head_width;      /* elements in each query, key and value of a head, 0 to 2^16; 0 means
                            width / heads */
    rapt_rotary_scaling rotary_scaling; /* how rotary angles are reduced for long sequences */
    float rotary_factor;    /* with rotary_scaling, the ratio of the new to the original length, 0
                               or more; 0 means 1, and other values must be at least 1 */
    int rotary_positions;   /* with YaRN, the original length in tokens, 0 to 2^24; 0 means
                               `positions` */
    float rotary_magnitude; /* with YaRN, the factor applied to sines and cosines, 0 or more; 0
                               means 0.1 ln(rotary_factor) + 1 */
    int query_key_norm; /* 1: queries and keys of each head are divided by their root mean square
                           and multiplied by gains, before any rotary embedding. All heads share the
                           gains "self_attn.query_norm.weight" and "...key_norm.weight" [width of a
                           head]; likewise in "cross_attn" (Henry et al. 2020; Dehghani et al.
                           2023) */
    rapt_output_gate output_gate; /* gates on the outputs of attention heads */
    int differential; /* 1: each head computes the difference of two attention maps (Ye et al.
                         2024): (1 - a) norm(p v - lambda p2 v). The first half of each query and
                         key gives the weights p, and the second half gives p2. norm is RMSNorm with
                         the gains "self_attn.differential_norm.weight" [width of a head], and
                         lambda is exp(x0 . x1) - exp(x2 . x3) + a, where the vectors x are the rows
                         of "self_attn.differential.weight" [4][half a head]; likewise in
                         "cross_attn". a is 0.8 - 0.6 exp(-0.3 i) in layer i of the encoder or
                         decoder, counted from 0. If r heads share keys, their r queries are r
                         first halves, followed by r second halves. For norms, scores, biases and
                         forget gates, each map counts as a head with queries and keys of half the
                         width, in the order of these halves. The width of a head must be even. Hard
                         normalizers, latent_width, talking_heads and monotonic are not supported */
    int forget_gate;  /* 1: self-attention of the decoder has a forget gate for each token and head,
                         sigmoid(W x + b), where x is the input of the sublayer. The logarithms of
                         the gates of all tokens after a key, up to and including the query, are
                         added to the key's score (Lin et al. 2025). W is "self_attn.forget.weight"
                         [heads][width], with twice as many rows if attention is differential, and b
                         is "self_attn.forget.bias", which starts at 0. Must be 0 without a decoder
                         that has self-attention */
    int global_tokens; /* with sparse attention, the number of leading tokens of a sequence that see
                          all tokens and are seen by all tokens (except that in a decoder, no token
                          sees a later one), 0 to 2^24; 0 means 1. In cross-attention, queries at
                          these positions see the whole source, and all queries see these positions
                          of the source */
    int latent_width;  /* elements of a token's latent row c, from which the keys and values of
                          all heads are computed, a multiple of 16, 0 to 2^16; 0 means that keys and
                          values are computed from the input (DeepSeek-AI 2024). c is the last
                          latent_width elements of the output of "self_attn.qkv", after RMSNorm with
                          the gain "self_attn.latent_norm.weight". Let K be the width of a head.
                          Head h has the keys (p, A_h' c) and the values B_h c, where A_h' is the
                          transpose of A_h. A_h is block h of latent_width rows of
                          "self_attn.key_up.weight" [heads * latent_width][K], and B_h is block h of
                          K rows of "self_attn.value_up.weight" [heads * K][latent_width]. With
                          rotary, p is the rotary_width elements before c; all heads share them, and
                          only they are rotated. Each query then begins with rotary_width elements
                          for p. Cross-attention has no p, and computes c with "cross_attn.kv".
                          Caches store only p and c. K must be a multiple of 16, key_heads must be
                          0, and scores must be dot or scaled-dot. local-p, distance vectors,
                          query_key_norm, differential, talking_heads, monotonic and linear
                          attention are not supported */
    int talking_heads; /* 1: one matrix mixes the scores of all heads before the normalizer, and
                          another mixes the weights of all heads after the normalizer (Shazeer et
                          al. 2020), like talking_scores and talking_weights of rapt_attention. The
                          matrices are "self_attn.talking.scores" and "self_attn.talking.weights"
                          [heads][heads], and likewise in "cross_attn". Both start as the identity.
                          heads must be at most 1024. Location-aware and coverage scores, distance
                          vectors, latent_width, differential and monotonic are not supported */
    int latent_query_width; /* elements of a latent row from which the queries of all heads are
                               computed, 0 to 2^16; 0 means that queries are computed from the input
                               (DeepSeek-AI 2024, the q_lora_rank of DeepseekV2). Requires
                               latent_width. The row is the first latent_query_width elements of
                               the output of "self_attn.qkv", after RMSNorm with the gain
                               "self_attn.latent_query_norm.weight", and the queries are its product
                               with "self_attn.query_up.weight" [elements of all
                               queries][latent_query_width]; likewise in "cross_attn", where
                               "cross_attn.q" computes the row */
    rapt_cross_monotonic monotonic; /* monotonic attention of the decoder to the source (Raffel et
                                       al. 2017; Chiu and Raffel 2018; Ma et al. 2019). Must be NONE
                                       without cross-attention. Other values require that
                                       cross_score is scaled-dot, cross_locality is global,
                                       cross_normalizer is softmax, and score_cap, query_key_norm,
                                       differential, latent_width and talking_heads are 0 */
    int monotonic_chunk;            /* keys in a chunk, 0 to 2^24; 0 means 4. Must be 0 unless
                                       monotonic is RAPT_CROSS_MONOTONIC_CHUNK */
    int reserved[2];                /* must be 0 */
} rapt_config;

/* The type of a field of rapt_config. */
typedef enum rapt_field_type {
    RAPT_FIELD_TYPE_INT,   /* an int */
    RAPT_FIELD_TYPE_FLAG,  /* an int, 0 or 1 */
    RAPT_FIELD_TYPE_FLOAT, /* a float */
    RAPT_FIELD_TYPE_ENUM   /* an enumeration, read and written as int */
} rapt_field_type;
/* The description of a field of rapt_config, for programs that list, parse or print configurations.
   Descriptions are static. Later versions may append fields to this struct. min and max are set for
   every type. */
typedef struct rapt_config_field {
    const char *name;     /* as in rapt_config and in model files, such as "ffn_width" */
    rapt_field_type type; /* type of the field */
    size_t offset;        /* offset of the field in rapt_config; its size is always 4 bytes */
    double min, max;      /* smallest value; largest value */
    double zero;          /* the value that 0 stands for if that is a constant, else 0 */
    const char *(*word)(
        int value); /* returns the name of an enumerator, such as "pre", or NULL if the value is
                       unknown. For other types, `word` itself is NULL */
    const char *meaning; /* a one-line description in English */
} rapt_config_field;
/* Returns the static description of field `index` of rapt_config, or NULL if index is out of
   range. */
RAPT_API const rapt_config_field *rapt_config_field_at(int index);

/* Fills in *config, whose size must be set, with a preset: "tiny" (4+4 layers, width 128), "small"
   (6+6, width 256) or "base" (6+6, width 512; Vaswani et al. 2017, table 3). All are
   encoder-decoders with a single vocabulary of `vocab` tokens, tied embeddings and 512 positions.
   Returns RAPT_BAD_ARGUMENT if the name is unknown or NULL. Does not check vocab (rapt_config_check
   does). */
RAPT_API rapt_status rapt_config_preset(rapt_config *config, const char *name, int vocab,
                                        rapt_message *why);
/* Checks whether a configuration is valid. Returns RAPT_BAD_ARGUMENT if it is not; *why names the
   offending field. */
RAPT_API rapt_status rapt_config_check(const rapt_config *config, rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
