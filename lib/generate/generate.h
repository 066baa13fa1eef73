/* generate.h - interface of the generate layer: sessions, the state of a search, alignment records,
   the output matrix for a shortlist, and the choice of the next tokens from logits. */
#ifndef RAPT_LIB_GENERATE_H
#define RAPT_LIB_GENERATE_H

#include "model/model.h"
#include <rapt/generate.h>
#include <rapt/shortlist.h>

/* ---- beam.c: the state of a search ---- */

/* Each source has limits.beams slots for its hypotheses: slot b * limits.beams + i is hypothesis i
   of source b. Hypotheses that are "live" are extended in the next step; those that are "done" are
   finished. In the shapes below, `beams` is limits.beams and `length` is the session's
   target_capacity. */
struct candidate { /* a possible continuation of a live hypothesis */
    double sum;    /* log-probability of the sequence including this token, but not the prefix */
    int slot;      /* the hypothesis that it continues: 0 .. beams-1 within its source */
    int32_t token;
    float log_p; /* log-probability of the token */
};
struct search_memory {
    int32_t *live, *next; /* [slots][length] tokens of live hypotheses, without the begin token,
                             before and after a step */
    float *live_log,
        *next_log;            /* [slots][length] log-probabilities of these tokens, if requested */
    double *sums, *next_sums; /* [slots] sums of log-probabilities */
    int *count;       /* [batch] number of tokens in each live hypothesis of a source, including the
                         prefix */
    int *given;       /* [batch] number of tokens in the prefix */
    int *announced;   /* [batch] number of tokens that are in the prefix or have been passed to
                         options.token; -1 once all have been passed */
    int *live_count;  /* [batch] number of live hypotheses */
    int *done_count;  /* [batch] number of finished hypotheses that are kept */
    int *ended_count; /* [batch] number of finished hypotheses, kept or not */
    int *top_ended;   /* [batch] 1 if in some step the best candidate was an end token */
    int *limit;       /* [batch] maximum number of tokens, including the end token */
    int32_t *done;    /* [slots][length] tokens of finished hypotheses, without the end token */
    float *done_log;  /* [slots][length] log-probabilities of these tokens and of the end token,
                         if requested */
    int *done_length; /* [slots] number of tokens without the end token; -1 once output */
    int *done_ended;  /* [slots] 1 if finished by the end token, 0 if truncated */
    int *done_slot;   /* [slots] the live slot in which the hypothesis finished */
    double *done_score;   /* [slots] */
    int *done_terms;      /* [slots] number of terms that the hypothesis contains */
    int *parents;         /* [slots] the slot that each live hypothesis continues */
    int *starts;          /* [slots + 1] first row of each slot in a step */
    int *row_slot;        /* [slots] the slot of each row in a step */
    int32_t *inputs;      /* [rows] decoder inputs, where rows = max(slots, target_tokens) */
    int32_t *wanted;      /* [rows] for forced decoding: the token that follows each input */
    float *wanted_logits; /* [rows] logit of that token */
    /* Workspace for sampling by t = min(threads, batch) threads. */
    int *order;            /* [t][vocab] memory for heaps of tokens or of blocks */
    float *shares;         /* [t][vocab] probabilities relative to the most likely token */
    double *block_sums;    /* [t][rapt__sample_blocks(vocab)] sum of the shares in each block */
    float *block_greatest; /* [t][rapt__sample_blocks(vocab)] largest logit of each block */
    struct candidate *candidates; /* [beams * (beams + 1)] */
    int *counts, *tokens;         /* counts and tokens of struct picks */
    float *logits;                /* logits of struct picks */
    float *log_sums;              /* [rows] log sum exp of each row of logits */
    float *section_sums; /* [rows][rapt__pick_sections(vocab)] log sum exp of each section */
};
void rapt__search_layout(struct search_memory *m, const rapt_limits *limits, int vocab,
                         struct arena *arena);

/* ---- alignment.c: cross-attention weights recorded during a search ---- */
struct alignment_record {
    float *rows;  /* [positions][beams * source tokens]: at each position, for every slot, one row
                     over the tokens of its source; NULL without limits.alignments or
                     cross-attention */
    int *parents; /* [positions + 1][targets]: parents[p][i] is the slot from which slot i took its
                     first p - 1 tokens */
    const unsigned char *wanted; /* [sources] only the rows of sources with a nonzero byte are
                                    recorded; NULL means all */
};
/* Lays out a record with `floats` floats in `rows` and `parents` ints in `parents`. */
void rapt__record_layout(struct alignment_record *record, size_t floats, size_t parents,
                         struct arena *arena);

/* ---- term_beam.c: memory of a search with terms; rows are the live hypotheses of a step ---- */
struct term_memory {
    struct arena arena;
    int *starts;     /* [rows + 1] where the wanted tokens of each row begin */
    int32_t *tokens; /* [starts[rows]] tokens that lead to missing terms, or the end token if none
                        is missing; no entries for a source without terms */
    float *logits;   /* [starts[rows]] their logits */
    struct term_scan *scans; /* [rows] */
    bool *open;              /* [rows] true if the hypothesis lacks terms */
    bool *refused; /* [slots] true if at some position of the hypothesis the end token was the most
                      likely token, but terms were missing */
    bool *next_refused;           /* [beams] */
    double *hope;                 /* [sources] see rapt__terms_hope */
    struct candidate *candidates; /* candidates of one source */
    int *left;                    /* number of term tokens that each candidate lacks */
    int *places, *taken, *seen;   /* [banks] for each bank: its places in the beam, the places used,
                                     and the candidates counted so far */
};
/* Allocates memory for the terms of the encoded sources, or returns RAPT_NO_MEMORY. After success,
   free the memory with rapt__terms_end. */
rapt_status rapt__terms_begin(rapt_session *s, const rapt_generate_options *o, rapt_message *why);
void rapt__terms_end(rapt_session *s);

/* ---- shortlist.c: the part of the output matrix that a call needs with a shortlist ---- */
struct listed_rows {
    struct arena arena;
    int sources;
    struct linear output; /* copies of the rows that at least one source needs, in ascending
                             order */
    int32_t *rows;        /* [output.out] the token of each row */
    int *starts;          /* [sources + 1] where the tokens of each source begin */
    int32_t *tokens;      /* [starts[sources]] tokens that each source may use, ascending */
    int32_t *columns;     /* [starts[sources]] the rows of these tokens in `output` */
};
/* Collects the tokens that each source may use, always including the end token and the tokens of
   the source's terms, and copies their rows of the output matrix. Source tokens must be in the
   vocabulary. Returns RAPT_NO_MEMORY if there is not enough memory. After success, free the result
   with rapt__listed_rows_free. */
rapt_status rapt__listed_rows_make(struct listed_rows *l, const rapt_session *s,
                                   const rapt_generate_options *options, const rapt_tokens *source,
                                   rapt_message *why);
/* Returns RAPT_BAD_ARGUMENT if the shortlist was made for vocabularies whose sizes differ from the
   model's. */
rapt_status rapt__shortlist_check(const rapt_shortlist *shortlist, const rapt_config *config,
                                  rapt_message *why);
void rapt__listed_rows_free(struct listed_rows *l, const rapt_session *s);

/* ---- pick.c: picks the most likely next tokens of every row ---- */
struct section { /* logits of consecutive columns of a row */
    int first, columns;
    const int32_t *tokens; /* tokens of all columns of the row, ascending; if NULL, column t is
                              token t */
    float *logits;         /* [columns] */
};
/* Sets the logit of a token to -infinity if the token is in the section. */
void rapt__section_forbid(const struct section *section, int32_t token);
/* Returns the logit of a token, or NULL if the token is not in the section. */
float *rapt__section_logit(const struct section *section, int32_t token);
struct picks {             /* a request to pick tokens, and its result */
    int max;               /* maximum number of tokens per row */
    int *counts;           /* [rows] number of tokens found; fewer than max if no other tokens have
                              a logit above -infinity */
    int *tokens;           /* [rows][max] in descending order of logits */
    float *logits;         /* [rows][max] */
    float *log_sums;       /* [rows] log sum exp of the row */
    float *section_sums;   /* [rows][sections] workspace */
    int sections;          /* rapt__pick_sections of the model's vocabulary */
    const int32_t *wanted; /* [rows] a token whose logit is requested, or NULL */
    float *wanted_logits;  /* [rows] the logit of that token */
    /* If not NULL, terms->logits receives the logits of terms->tokens. */
    const struct term_memory *terms;
    const int32_t *suppressed; /* [suppressed_count] tokens that are never picked */
    int suppressed_count;
    bool sum_all; /* suppressed and forbidden tokens are included in log_sums */
    /* Calls rapt__section_forbid for the tokens that are forbidden in this row. May be NULL. */
    void (*forbid)(const void *rules, int row, const struct section *section);
    /* Changes the logits of a section before tokens are suppressed and forbidden. May be NULL. */
    void (*penalize)(const void *rules, int row, const struct section *section);
    const void *rules; /* passed to forbid and penalize */
    bool sum_first;    /* the whole row is summed before `penalize` is called; requires sum_all */
    const struct listed_rows *listed; /* the tokens that each source may use; NULL means all */
    const int *row_slot; /* [rows], used only if `listed` is set: the source of row r is row_slot[r]
                            / stride */
    int stride;
    bool keep; /* if true, all logits remain available to the caller */
};
/* Returns the number of sections of a row with this many logits. */
int rapt__pick_sections(int vocab);
/* Computes the logits x W' + b (with p->listed, only those of listed tokens) and picks from them.
   If p->keep, logits [rows][vocab] receives the logits, changed as in rapt__pick_again; otherwise
   it is workspace. Must be called by all threads of a team. */
void rapt__pick(const struct exec_context *c, const struct linear *output, const float *x, int rows,
                struct picks *p, float *logits);
/* Picks from given logits [rows][vocab], which it changes: suppressed and forbidden tokens get
   -infinity, penalties are applied, and with p->listed the logits are moved. Must be called by all
   threads of a team. */
void rapt__pick_again(const struct exec_context *c, int rows, int vocab, struct picks *p,
                      float *logits);

/* ---- session.c, encode.c, session_memory.c ---- */
struct rapt_session {
    rapt_allocator allocator;
    const rapt_model *model;
    rapt_limits limits; /* with defaults filled in */
    struct arena arena;
    struct stack_memory encoder, decoder;
    struct cache_state self, cross; /* caches of the decoder's attention */
    int *capacity; /* [batch * beams] workspace: number of tokens that each sequence of a cache can
                      hold */
    int *parents;  /* [batch * beams] workspace of rapt__reorder */
    void *attention_workspace;
    size_t weights_workspace; /* bytes that one thread needs for rapt__decoder_weights */
    int weights_rows;         /* number of encoder rows whose attention weights are read at a time;
                                 0 without limits.self_weights */
    float *some_weights;      /* [weights_rows][positions] */
    int encoder_rows;  /* maximum number of rows that the encoder reads at a time; sequences are not
                          split */
    int *group_starts; /* [batch + 1] starts relative to the group of sequences being read;
                          sequences outside the group are empty */
    float *states;     /* [source_tokens][D] encoder output, if there may be several groups */
    float *pack;       /* [PACK_FLOATS] */
    float *logits;     /* [target_tokens][N] with N = target_vocab; in encoder-only models
                          [source_tokens][N], or [batch][N] with pooling */
    float *pooled;     /* [batch][D] */
    float *hidden;     /* [batch][D] after the pooler; NULL without one */
    int sources, targets; /* number of sequences in the last rapt_encode, and of their targets */
    int target_rows;      /* rows of the last rapt_decode; 0 if there were none or targets have
                             moved since */
    bool reordered;      /* rapt_session_reorder has been called since the last rapt_decode, even if
                            nothing moved */
    bool searched;       /* the targets belong to a search, so the caller must not extend them */
    int target_capacity; /* maximum number of tokens in a target, as passed to rapt__encode */
    int *source_starts;  /* [batch + 1] the last value repeats for absent sequences */
    int *target_starts;  /* [batch * beams + 1] for the last rapt_decode; the last value repeats
                            for absent targets */
    int *past;   /* [batch * beams] number of tokens before the last rapt_decode, or now if targets
                    have moved since */
    int *length; /* [batch * beams] number of tokens now */
    int *source_of;     /* [batch * beams] the source of each target */
    int *source_length; /* [batch * beams] number of tokens in that source */
    struct search_memory search;
    struct listed_rows listed; /* belongs to the current rapt_generate, like `terms` */
    struct term_memory terms;
    struct alignment_record record;
    const struct observer *observer; /* receives the inputs of layers; NULL if there is none */
    bool ended_only; /* hypotheses that would be truncated are dropped if others have finished */
};

/* ---- parts of a session, and sizes ---- */
static inline struct stack rapt__session_stack(rapt_session *s, bool decoder)
{
    return (struct stack){.model = s->model,
                          .block = s->model->block,
                          .decoder = decoder,
                          .memory = decoder ? &s->decoder : &s->encoder,
                          .attention_workspace = s->attention_workspace,
                          .threads = s->limits.threads};
}

static inline struct stack_caches rapt__session_caches(rapt_session *s)
{
    struct stack_caches caches = {s->self, s->cross, s->past, s->source_of};
    caches.self.counts = s->length, caches.cross.counts = s->source_length;
    return caches;
}

/* Returns the number of head positions that monotonic cross-attention stores, over all layers and
   targets, or SIZE_MAX if it overflows. */
static inline size_t rapt__positions_count(const rapt_session *s)
{
    const rapt_config *c = &s->model->config;
    const size_t targets = (size_t)s->limits.batch * (size_t)s->limits.beams;
    return rapt__product(rapt__product((size_t)c->decoder_layers, targets), (size_t)c->heads);
}

static inline struct exec_context rapt__session_exec(rapt_session *s, struct team *team)
{
    const struct products *products =
        s->limits.products == RAPT_PRODUCTS_BF16         ? &rapt__products_bf16
        : s->limits.products == RAPT_PRODUCTS_BF16_TILES ? &rapt__products_tiles
                                                         : NULL;
    return (struct exec_context){team, rapt__kernels(), s->pack, products, s->observer};
}

/* Copies `starts` [batch + 1] to `to` [max + 1] and repeats the last value, so that absent
   sequences are empty. */
static inline void rapt__starts_copy(int *to, const int *starts, int batch, int max)
{
    for (int b = 0; b <= max; b++) to[b] = starts[b < batch ? b : batch];
}

/* Does the same as rapt_encode for targets of up to target_capacity tokens, which may exceed
   limits.target_length; see rapt__session_target_capacity. */
rapt_status rapt__encode(rapt_session *s, const rapt_tokens *source, int target_capacity,
                         const float **encoder_output, rapt_message *why);
/* Returns the largest target_capacity that rapt__encode accepts for this number of sources. */
int rapt__session_target_capacity(const rapt_session *s, int sources);
/* Appends tokens to the targets and computes s->logits, like rapt_decode, but also accepts targets
   that belong to a search. If picks is not NULL, also picks tokens; the logits then remain
   available only if picks->keep is set. If nothing is to be picked (max is 0 and wanted is NULL),
   no logits are computed. */
rapt_status rapt__decode(rapt_session *s, const rapt_tokens *target, struct picks *picks,
                         rapt_message *why);
/* Does the same as rapt_session_reorder, but also for the targets of a search. */
rapt_status rapt__reorder(rapt_session *s, const int *parents, rapt_message *why);

/* ---- session.c: known tokens of the first target of every source ---- */
struct feed {
    const rapt_tokens *tokens; /* one sequence per source */
    int32_t begin, end;        /* tokens put around each sequence; end is -1 if there is no end
                                  token */
};
/* Returns the next rows of all sequences, at most limits.target_tokens, as the argument for
   rapt__decode. They are stored in search.starts and search.inputs, and the token that follows each
   row in search.wanted. The result has no rows once all sequences have been fed. */
rapt_tokens rapt__feed_next(rapt_session *s, const struct feed *feed);

#endif
