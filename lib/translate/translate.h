/* translate.h - what translator.c (makes one), translate.c (calls back with translations),
   window.c (translates some sentences) and score_texts.c (scores given translations) share. Calls
   go from translate.c to window.c. */
#ifndef RAPT_LIB_TRANSLATE_H
#define RAPT_LIB_TRANSLATE_H

#include "generate/generate.h"
#include <rapt/translator.h>

/* Tokens of a translation: at most per_source for each token of its source and `extra` more, at
   least `min` before the end. */
struct target_limit {
    int per_source, extra, min;
};

struct rapt_translator {
    rapt_allocator allocator;
    rapt_translator_options options; /* all filled in */
    const rapt_model *model;
    const rapt_tokenizer *source, *target; /* target may be source */
    rapt_model *own_model;                 /* NULL, these three: the caller's */
    rapt_tokenizer *own_source, *own_target;
    int32_t source_end;    /* special tokens: behind a source, -1: none is; */
    int32_t begin, end;    /*   around a target */
    int32_t suppressed[3]; /* special tokens that no target has */
    int suppressed_count;
    struct target_limit limit;
    const rapt_shortlist *shortlist; /* NULL: none */
    rapt_shortlist *own_shortlist;   /* that it has loaded; NULL: none */
    rapt_session *session;
    int target_capacity; /* of one target sequence in a full batch, in tokens */
};

/* ---- translator.c ---- */
/* Those of one call, checked and with everything filled in; NULL: the translator's. */
rapt_status rapt__call_options(const rapt_translator *t, const rapt_translator_options *given,
                               rapt_translator_options *own, rapt_message *why);

/* ---- preprocess.c ---- */
/* rapt_tokenizer_encode of a text that is prepared as options.preprocess says. */
rapt_status rapt__text_encode(const rapt_translator *t, const rapt_tokenizer *tokenizer,
                              rapt_text text, int32_t *ids, size_t *ends, size_t capacity,
                              size_t *count);

/* ---- window.c: a window, consecutive sentences that are translated together ---- */
enum { WINDOW = 1024 };

struct sentence {
    int number;       /* in its window */
    size_t start;     /* of its source tokens */
    size_t prefix;    /* of the tokens that its translation begins with */
    int prefix_count; /* of them */
    int count;        /* of them, an end included; 0: a text without tokens, -1: too long, or its
                         prefix is */
    bool begun;       /* its translation */
    int limit;        /* target tokens at most, the end included */
    size_t out;       /* its first result: nbest rows of limit tokens */
    size_t alignment; /* its first alignment: nbest of [limit + 1][rapt__alignment_columns] */
};
/* One call: how, and for whom. */
struct translate_job {
    rapt_translator *t;
    rapt_translator_options options; /* all filled in */
    rapt_translate_call call;
    void *user; /* of the callbacks */
};
/* Columns of an alignment: one for the end, whether there is one or not. */
static inline size_t rapt__alignment_columns(const rapt_translator *t, const struct sentence *s)
{
    return s->count > 0 ? (size_t)s->count + (t->source_end < 0) : 0;
}

struct window {
    const struct translate_job *job;
    rapt_translator *t;                /* the job's */
    size_t before;                     /* sentences of earlier windows */
    const rapt_text *texts, *prefixes; /* [count] of this window; prefixes NULL: none */
    int count;
    int first;    /* the batch that is being searched begins with order[first] */
    bool stopped; /* by a callback of the search */
    struct sentence sentences[WINDOW];
    struct sentence *order[WINDOW]; /* longest first */
    struct arena texts_arena, results_arena;
    int32_t *ids;        /* source tokens */
    size_t *ends;        /* with alignments, of each token: the byte behind it in its text */
    int32_t *given;      /* tokens of prefixes */
    int32_t *out;        /* target tokens */
    int *counts, *ended; /* [count][nbest] */
    float *scores;       /* [count][nbest] */
    float *alignments_out;
    char *text; /* [text_size] of one translation; grows as it needs */
    size_t text_size;
    void *spans; /* [spans_size] spans and word weights of one translation; grows too */
    size_t spans_size;
    struct search_batch { /* what rapt_generate reads and writes */
        int32_t *ids, *given, *out;
        int *starts, *given_starts, *counts, *ended;
        float *scores, *alignments;
        struct alignment_record record;
    } batch;
};

/* ---- words.c ---- */
/* Fills in the spans, words and word weights of a translation with an alignment, whose text is
   decoded; source: its text. */
rapt_status rapt__words_fill(struct window *w, const struct sentence *s, rapt_translation *out);

/* Tokens of a text that is not too long, at most, without the end. */
size_t rapt__token_capacity(const rapt_translator *t, const rapt_tokenizer *tokenizer,
                            rapt_text text);
/* Translates the texts from `before` on, as many as make a window: w->count. */
rapt_status rapt__window_translate(struct window *w, const struct translate_job *job,
                                   const rapt_text *texts, size_t count, size_t before,
                                   rapt_message *why);
void rapt__window_free(struct window *w); /* also after a failure */

#endif
