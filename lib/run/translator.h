/* translator.h - what translator.c, translate.c and window.c share. */
#ifndef RAPT_LIB_TRANSLATOR_H
#define RAPT_LIB_TRANSLATOR_H

#include "run/run.h"
#include <rapt/translator.h>

enum { TARGET_PER_SOURCE = 2, TARGET_EXTRA = 16 }; /* tokens of a translation at most */

struct rapt_translator {
    rapt_allocator allocator;
    rapt_translator_options options; /* all filled in */
    rapt_model *model;
    rapt_tokenizer *source, *target; /* target may be source */
    rapt_session *session;
    int target_capacity; /* of one target sequence in a full batch, in tokens */
};

/* ---- a window: sentences that are translated together ---- */
enum { WINDOW = 1024 };

struct sentence {
    int number;   /* in its window */
    size_t start; /* of its source tokens */
    int count;    /* of them, RAPT_TOKEN_END included; 0: an empty text, -1: too long */
    int limit;    /* target tokens at most, the end included */
    size_t out;   /* its first result: nbest rows of limit tokens */
};

struct window {
    rapt_translator *t;
    const rapt_text *texts;
    size_t first; /* number of its first sentence */
    int count;
    struct sentence sentences[WINDOW];
    struct sentence *order[WINDOW]; /* longest first */
    struct arena arena;
    int32_t *ids;  /* source tokens */
    int32_t *out;  /* target tokens */
    int *counts;   /* [count][nbest] */
    float *scores; /* [count][nbest] */
    int32_t *batch_ids, *batch_out;
    int *batch_starts, *batch_counts;
    float *batch_scores;
    float *weights;    /* one alignment; NULL: none wanted */
    int32_t *inputs;   /* one target sequence */
    int *input_starts; /* [beams + 1] */
    char *text;        /* one translation */
    size_t text_size;
};

/* ---- window.c ---- */
/* Target tokens of a source of so many at most, the end included. */
int rapt__window_limit(const rapt_translator *t, int source_count);
/* Tokens, and the sentences in the order of the search. */
rapt_status rapt__window_encode(struct window *w);
/* How many sentences from order[first] on make one batch; 0: there are no more. */
int rapt__window_batch(const struct window *w, int first);
rapt_status rapt__window_search(struct window *w, int first, int n, rapt_message *why);

#endif
