/* generate.h - interface of the layer generate: sessions, and what searches share. */
#ifndef RAPT_LIB_GENERATE_H
#define RAPT_LIB_GENERATE_H

#include "model/model.h"
#include <rapt/generate.h>
#include <rapt/shortlist.h>

/* ---- beam.c: the state of a search; slot b*beams + i is hypothesis i of source b ---- */
struct candidate { /* one way to go on */
    double sum;    /* of log-probabilities */
    int slot;      /* of its source: 0 .. beams-1 */
    int32_t token;
    float log_p; /* of the token */
};
struct search_memory {
    int32_t *live, *next;       /* [slots][target_length] tokens so far, without begin */
    float *live_log, *next_log; /* [slots][target_length] their log-probabilities, if wanted */
    double *sums, *next_sums;   /* [slots] */
    int *count;                 /* [batch] tokens of each live hypothesis of a source */
    int *given;                 /* [batch] of them, those of the prefix */
    int *announced;             /* [batch] tokens given to options.token; -1: all */
    int *live_count;            /* [batch] hypotheses that go on */
    int *done_count;            /* [batch] hypotheses that ended, as far as they are kept */
    int *ended_count;           /* [batch] all that ended */
    int *top_ended;             /* [batch] whether an end had the first rank, in any step */
    int *limit;                 /* [batch] tokens at most, end included */
    int32_t *done;              /* [slots][target_length] */
    float *done_log;            /* [slots][target_length] the end's included */
    int *done_length;           /* [slots] */
    int *done_ended;            /* [slots] with the end, not by a limit */
    int *done_slot;             /* [slots] where it was when it ended */
    double *done_score;         /* [slots] */
    int *parents;               /* [slots] */
    int *starts;                /* [slots + 1] of one step */
    int *row_slot;              /* [slots] the slot of each row of a step */
    int32_t *inputs;            /* [rows] of the decoder; rows: max(slots, target_tokens) */
    int32_t *wanted;            /* [rows] forced decoding: the tokens that follow them */
    float *wanted_logits;       /* [rows] */
    int *order;                 /* [min(threads, batch)][vocab] sampling: tokens by likelihood, */
    float *shares;              /*   [same] of the likeliest's probability, */
    double *block_sums;         /*   [min(threads, batch)][rapt__sample_blocks(vocab)] of shares, */
    float *block_greatest;      /*   [same] logits */
    struct candidate *candidates; /* [beams * (beams + 1)] */
    int *counts, *tokens;         /* of struct picks */
    float *logits;                /* of struct picks */
    float *log_sums;              /* [rows] */
    float *section_sums;          /* [rows][rapt__pick_sections(vocab)] */
};
void rapt__search_layout(struct search_memory *m, const rapt_limits *limits, int vocab,
                         struct arena *arena);

/* ---- alignment.c: cross-attention while a search goes on; rows NULL: not recorded ---- */
struct alignment_record {
    float *rows; /* of each position: [beams * source tokens], a row of its source for every slot */
    int *parents; /* [positions + 1][targets] slot one token before that a slot continues */
};
/* Floats in rows, ints in parents. */
void rapt__record_layout(struct alignment_record *record, size_t floats, size_t parents,
                         struct arena *arena);

/* ---- shortlist.c: the rows of the output matrix that the sources of a call may choose among ----
 */
struct listed_rows {
    struct arena arena;
    int sources;
    struct linear output; /* of all sources together: rows of the model's, in ascending order */
    int32_t *rows;        /* [output.out] their tokens */
    int *starts;          /* [sources + 1] */
    int32_t *tokens;      /* [starts[sources]] of each source, ascending */
    int32_t *columns;     /* [starts[sources]] the rows of output that these are */
};
/* source: tokens that are in the vocabulary. `end` is among those of each source. Allocates. */
rapt_status rapt__listed_rows_make(struct listed_rows *l, const rapt_session *s,
                                   const rapt_shortlist *shortlist, const rapt_tokens *source,
                                   int32_t end, rapt_message *why);
/* RAPT_BAD_ARGUMENT: it is for other vocabularies. */
rapt_status rapt__shortlist_check(const rapt_shortlist *shortlist, const rapt_config *config,
                                  rapt_message *why);
void rapt__listed_rows_free(struct listed_rows *l, const rapt_session *s);

/* ---- pick.c: the likeliest next tokens of every row, found while the logits are at hand ---- */
struct section { /* logits of consecutive columns of a row */
    int first, columns;
    const int32_t *tokens; /* of all columns of the row, ascending; NULL: column t is token t */
    float *logits;         /* [columns] */
};
/* That token, if it is in the section, becomes impossible. */
void rapt__section_forbid(const struct section *section, int32_t token);
struct picks {
    int max;                   /* how many per row */
    int *counts;               /* [rows] how many there are */
    int *tokens;               /* [rows][max] greatest logit first */
    float *logits;             /* [rows][max] */
    float *log_sums;           /* [rows] log sum exp of the row */
    float *section_sums;       /* [rows][sections] workspace */
    int sections;              /* rapt__pick_sections of the model's vocabulary */
    const int32_t *wanted;     /* [rows] a token of each row, or NULL */
    float *wanted_logits;      /* [rows] its logit */
    const int32_t *suppressed; /* [suppressed_count] tokens that must not be picked */
    int suppressed_count;
    bool sum_all; /* those not to be picked count in log_sums */
    /* Sets those that this row must not have to -infinity; NULL: none. */
    void (*forbid)(const void *rules, int row, const struct section *section);
    const void *rules;
    /* Rows may have these tokens alone; NULL: all. */
    const struct listed_rows *listed;
    const int *row_slot; /* with listed: [rows] the source of row r is row_slot[r] / stride */
    int stride;
    bool keep; /* all logits are wanted afterwards */
};
int rapt__pick_sections(int vocab);
/* From the logits x W' + b of the output. logits: [rows][vocab], which they fill if
   p->keep; else only some of it is used. For a team. */
void rapt__pick(const struct exec_context *c, const struct linear *output, const float *x, int rows,
                struct picks *p, float *logits);
/* From logits [rows][vocab] that are there; those that must not be picked become -infinity. */
void rapt__pick_again(const struct exec_context *c, int rows, int vocab, struct picks *p,
                      float *logits);

/* ---- session.c, encode.c, session_memory.c ---- */
struct rapt_session {
    rapt_allocator allocator;
    const rapt_model *model;
    rapt_limits limits; /* beams and target_tokens filled in */
    struct arena arena;
    struct stack_memory encoder, decoder;
    struct cache_state self, cross; /* [decoder layers] caches */
    int *capacity;                  /* [batch * beams] tokens that the caches can hold */
    int *parents;                   /* [batch * beams] */
    void *attention_workspace;
    size_t weights_workspace; /* bytes of it that one member needs for rapt__decoder_weights */
    int weights_rows;     /* of the encoder that are read at once; 0: limits.self_weights is 0 */
    float *some_weights;  /* [weights_rows][positions] */
    int encoder_rows;     /* that the encoder takes at once; a sequence is never split */
    int *group_starts;    /* [batch + 1] rows of a group, which is a few sequences */
    float *states;        /* [source_tokens][D] of all groups, if there are several */
    float *pack;          /* [PACK_FLOATS] */
    float *logits;        /* [target_tokens][N]; encoder alone: [source_tokens][N], pooled
                             [batch][N] */
    float *pooled;        /* [batch][D] */
    int sources, targets; /* sequences of the last rapt_encode; of its targets */
    int target_rows;      /* of the last rapt_decode; 0: none since rapt_encode */
    bool reordered;       /* since then */
    bool searched;        /* the targets since rapt_encode are those of a search */
    int target_capacity;  /* tokens per target since the last rapt_encode */
    int *source_starts;   /* [batch + 1], behind the last sequence all equal */
    int *target_starts;   /* [batch * beams + 1], the same, of the last rapt_decode */
    int *past;            /* [batch * beams] tokens before the last rapt_decode */
    int *length;          /* [batch * beams] tokens now */
    int *source_of;       /* [batch * beams] */
    int *source_length;   /* [batch * beams] tokens of that source */
    struct search_memory search;
    struct alignment_record record;
};

/* rapt_encode for targets of up to target_capacity tokens: more than target_length when there are
   fewer sequences than limits.batch. */
rapt_status rapt__encode(rapt_session *s, const rapt_tokens *source, int target_capacity,
                         const float **encoder_output, rapt_message *why);
/* The greatest target_capacity for that many sources. */
int rapt__session_target_capacity(const rapt_session *s, int sources);
/* rapt_decode; with picks, if not NULL, instead of logits, unless picks->keep. Picks of which
   nothing is wanted (max 0, wanted NULL): no logits are computed. */
rapt_status rapt__decode(rapt_session *s, const rapt_tokens *target, struct picks *picks,
                         rapt_message *why);
/* rapt_session_reorder, of a search, too. */
rapt_status rapt__reorder(rapt_session *s, const int *parents, rapt_message *why);

/* ---- feed.c: the first target of every source is given tokens that are known ---- */
struct feed {
    const rapt_tokens *tokens; /* one sequence per source */
    int32_t begin, end;        /* around each; end -1: none */
};
/* The next rows of all sequences, as many as limits.target_tokens allows, in search.starts and
   search.inputs; what follows each of them, in search.wanted. No rows: all have been fed. */
rapt_tokens rapt__feed_next(rapt_session *s, const struct feed *feed);

#endif
