/* translate.h - interface of the translate layer. translator.c creates translators, and imports and
   exports models. settings.c reads a translator's defaults from the model's metadata, and finds
   language tokens. translate.c translates sentences window by window and passes the translations to
   callbacks: tokenize.c tokenizes the sentences, window.c searches for translations and repeats the
   search if faults.c finds faults, and words.c aligns words. score_texts.c scores given
   translations. terms.c finds glossary terms. memory.c manages the memory of these calls.
   calibrate.c measures a model while it translates. encoder.c turns texts into vectors or logits,
   without a translator. */
#ifndef RAPT_LIB_TRANSLATE_H
#define RAPT_LIB_TRANSLATE_H

#include "generate/generate.h"
#include "text/glossary.h"
#include "text/text.h"
#include <rapt/translator.h>

/* Limits on the length of a translation in tokens: at most per_source times the length of its
   source plus `extra`, including the end token, and at least `min`, not including the end token. */
struct target_limit {
    float per_source;
    int extra, min;
};

enum {
    TERM_BEAMS = 16 /* minimum number of beams for a sentence with terms */
};
enum { MAX_BEAMS = 1024 }; /* maximum number of beams, and of samples */

struct rapt_translator {
    rapt_allocator allocator;
    rapt_translator_options options; /* with defaults filled in */
    bool defaulted;                  /* the caller passed no options */
    const rapt_model *model;
    const rapt_tokenizer *source, *target; /* may be the same */
    /* Each of the next three is NULL unless the translator owns the object. */
    rapt_model *own_model;
    rapt_tokenizer *own_source, *own_target;
    int32_t source_end;      /* token after the text of a source; -1 if there is none */
    int32_t begin, end;      /* tokens around a target */
    int32_t source_language; /* -1 if there is none */
    int32_t source_first;    /* token before the text of a source: a language or begin token; -1 if
                                there is none */
    int32_t target_language; /* -1 if there is none */
    int32_t target_first;    /* token that every target begins with, such as its language token;
                                -1 if there is none or if `begin` is the language token */
    bool multilingual;       /* the target's tokenizer has language tokens */
    bool source_language_last; /* a source's language token follows its end token instead of
                                  preceding its text */
    int32_t *suppressed; /* [suppressed_count] tokens that are never generated: those without a
                            name, those listed in the metadata, and, depending on the search rules,
                            special tokens */
    int suppressed_count, suppressed_capacity;
    struct target_limit limit; /* limits of the search rules; options.max_length_factor replaces
                                  per_source and extra */
    const rapt_shortlist *shortlist; /* NULL if there is none */
    rapt_shortlist *own_shortlist;   /* NULL unless the translator has loaded the shortlist
                                        itself */
    rapt_session *session;
    rapt_session *term_session; /* session for sentences with terms; NULL until needed */
    unsigned char *words;       /* [target vocabulary] as in rapt_terms; NULL until needed */
    int target_capacity;        /* maximum number of tokens of each target in a full batch */
    struct call_memory *calls;  /* memory of calls that have not ended, newest first */
};

/* ---- terms.c: terms of a glossary ---- */
/* The phrases of terms, as in rapt_terms, in arrays that grow. */
struct term_store {
    int *terms;  /* [count + 1] */
    int *starts; /* [phrases + 1] */
    int32_t *ids;
    size_t term_capacity, start_capacity, id_capacity;
    int count, phrases, tokens;
};
struct window;
struct sentence;
/* Frees the arrays and zeroes the store. */
void rapt__terms_free(struct term_store *store, const rapt_allocator *allocator);
/* Finds the terms of the glossary in the text of sentence *s. Creates the session for terms if
   necessary. */
rapt_status rapt__window_terms(struct window *w, struct sentence *s, rapt_message *why);
/* Does what rapt__window_terms does, and also adds the opaque parts of the text that tokens can
   spell, as terms. */
rapt_status rapt__window_copies(struct window *w, struct sentence *s, rapt_message *why);
/* Converts options.suppressed_texts to phrases in w->memory.suppressed. */
rapt_status rapt__window_suppress(struct window *w);
/* Appends the terms of sentence *s to w->memory.batch_terms. */
rapt_status rapt__batch_terms(struct window *w, const struct sentence *s);

/* ---- memory.c: a call ---- */
/* The memory of a call. It comes first in a larger struct that the call allocates. */
struct call_memory {
    struct call_memory *outer; /* the next older call that has not ended */
    size_t size;               /* size of the struct in bytes */
    struct arena texts, results;
    char *text; /* [text_size] one translation; grows as needed */
    size_t text_size;
    void *spans; /* [spans_size] spans and word weights of one translation; grows as needed */
    size_t spans_size;
    struct term_store terms, batch_terms; /* terms of all sentences in a window, and of those in a
                                             batch */
    struct term_store suppressed;         /* phrases of options.suppressed_texts */
};
/* Allocates a struct of `size` bytes that begins with a call_memory. Initializes the call_memory
   and adds it to the front of the translator's list; the rest of the struct is uninitialized.
   Returns NULL if the allocation fails. */
struct call_memory *rapt__call_begin(rapt_translator *t, size_t size);
/* Decodes target tokens into m->text, which becomes null-terminated. Sets *size to the number of
   bytes before the terminator. */
rapt_status rapt__call_text(const rapt_translator *t, struct call_memory *m, const int32_t *ids,
                            size_t count, size_t *size);
/* Frees everything that the call has allocated, except the struct. */
void rapt__call_release(rapt_translator *t, struct call_memory *m);
/* Removes the struct from the translator's list, and frees it and everything else that the call has
   allocated. */
void rapt__call_end(rapt_translator *t, struct call_memory *m);

/* ---- translator.c ---- */
/* Checks the options of one call and copies them, with defaults filled in, to *own. If `given` is
   NULL, copies the translator's options. */
rapt_status rapt__call_options(const rapt_translator *t, const rapt_translator_options *given,
                               rapt_translator_options *own, rapt_message *why);
/* Returns RAPT_BAD_ARGUMENT if the caller's options specify a precision. Called for models that
   belong to the caller. */
rapt_status rapt__check_no_precision(rapt_precision precision, rapt_message *why);

/* ---- settings.c: tokens around sources and targets ---- */
/* Finds the tokens of the languages that the options name, and any other tokens that the model's
   sources and targets begin with. Returns RAPT_BAD_ARGUMENT if the model lacks one of the
   languages; *why lists similar names, if there are any. */
rapt_status rapt__languages_find(rapt_translator *t, rapt_message *why);
/* The tokens of a source's text are framed by special tokens: a language or begin token, and an end
   token, as the model and the options require. rapt__source_front returns the number of special
   tokens before the text, and rapt__source_more the total number of special tokens.
   rapt__source_frame writes the special tokens to ids, which already contains the `count` tokens of
   the text from index rapt__source_front on, and returns the total number of tokens. */
size_t rapt__source_front(const rapt_translator *t);
size_t rapt__source_more(const rapt_translator *t);
size_t rapt__source_frame(const rapt_translator *t, int32_t *ids, size_t count);
/* Returns RAPT_BAD_ARGUMENT if the model has language tokens but the options do not name both
   languages. The target language may also come from the metadata. */
rapt_status rapt__languages_given(const rapt_translator *t, rapt_message *why);

/* ---- settings.c ---- */
/* Sets *count to the value of `key` in the metadata, rounded down, if that is a number from 1 to
   `max`; otherwise leaves it unchanged. */
void rapt__read_count(const rapt_model *model, const char *key, int max, int *count);
/* Returns the token that is the value of `key` in the metadata, or -1 if it is missing or not a
   token. */
int32_t rapt__read_token(const rapt_model *model, const char *key);
/* Unless the options name search rules, adopts those of the project that the model comes from. Sets
   t->limit to the limits of the search rules. */
void rapt__follow_project(rapt_translator *t);
/* Allocates t->suppressed and lists in it the tokens that are never generated. */
rapt_status rapt__suppress(rapt_translator *t, rapt_message *why);

/* ---- tokenize.c: a text ---- */
/* Preprocesses text as requested by options.preprocess, then encodes it like rapt_tokenizer_encode.
   ends[] are offsets in the original text. */
rapt_status rapt__text_encode(const rapt_translator *t, const rapt_tokenizer *tokenizer,
                              rapt_text text, int32_t *ids, size_t *ends, size_t capacity,
                              size_t *count);

/* ---- window.c: a window is a run of consecutive sentences that are translated together ---- */
enum { WINDOW = 1024 };

struct sentence {
    int number;       /* index of the sentence in its window */
    size_t start;     /* index in window.ids of its first source token */
    size_t prefix;    /* index in window.given of the first token of its prefix */
    int prefix_count; /* number of tokens of its prefix */
    int count;        /* number of source tokens, including special tokens; 0 if there is nothing to
                         translate, -1 if the sentence or its prefix is too long */
    bool begun;       /* the search for the sentence has begun */
    bool aligned;     /* the alignment of the sentence is requested */
    int faults;       /* RAPT_FAULT_...; 0 unless call.mend is set */
    int terms;        /* number of glossary terms in the text */
    int term, term_count; /* the terms that have phrases: index of the first in memory.terms, and
                             their number */
    int term_tokens;      /* total number of tokens in the shortest phrases of these terms */
    int limit;            /* maximum number of target tokens, including the end token */
    size_t out;           /* index in window.out: [nbest][limit] tokens */
    size_t alignment;     /* index in window.alignments_out: [nbest][limit + 1][columns] */
};
/* One call of rapt_translate_many_with. */
struct translate_job {
    rapt_translator *t;
    rapt_translator_options options; /* with defaults filled in */
    rapt_translate_call call;
    void *user; /* argument of the callbacks */
};
/* Returns the number of columns of an alignment: one for each source token, plus one if sources
   have no end token. Returns 0 if s->count is not positive. */
static inline size_t rapt__alignment_columns(const rapt_translator *t, const struct sentence *s)
{
    return s->count > 0 ? (size_t)s->count + (t->source_end < 0) : 0;
}

struct window {
    struct call_memory memory; /* must come first */
    const struct translate_job *job;
    rapt_translator *t;                /* job->t */
    size_t before;                     /* number of sentences in earlier windows */
    const rapt_text *texts, *prefixes; /* [count] texts of this window; prefixes may be NULL */
    int count;
    int first;    /* the current batch begins with order[first] */
    bool stopped; /* a callback of the search has asked to stop */
    struct sentence sentences[WINDOW];
    struct sentence *order[WINDOW]; /* sentences in the order of by_length (window.c) */
    int32_t *ids;                   /* source tokens */
    size_t *ends;   /* end of each source token, an offset in its text; NULL if alignments are not
                       requested */
    int32_t *given; /* tokens of prefixes */
    int32_t *out;   /* target tokens */
    int *counts, *ended, *met; /* [count][nbest] */
    float *scores;             /* [count][nbest] */
    float *logs; /* log-probabilities of the tokens in out and of end tokens; unused unless
                    requested */
    float *alignments_out;
    struct search_batch { /* arguments and results of rapt_generate */
        int32_t *ids, *given, *out;
        int *starts, *given_starts, *counts, *ended, *met;
        int *term_starts;  /* [size + 1] index in memory.batch_terms of each sentence's first
                              term */
        int size;          /* number of sentences */
        uint64_t *numbers; /* numbers of the sentences, for sampling */
        float *scores, *alignments, *logs;
        unsigned char *aligned; /* [size] 1 if the alignment of the sentence is requested */
        bool any_aligned;
        struct alignment_record record;
    } batch;
};

/* ---- tokenize.c: a window ---- */
/* Returns the number of tokens, not counting special tokens, for which memory is reserved to
   tokenize a text. A text with more tokens is rejected. */
size_t rapt__token_capacity(const rapt_translator *t, const rapt_tokenizer *tokenizer,
                            rapt_text text);
/* Returns the length limits for the translations of a call. */
struct target_limit rapt__window_rule(const struct window *w);
/* Allocates memory for the tokens of all texts and prefixes of the window. */
rapt_status rapt__window_take_texts(struct window *w);
/* Tokenizes text `number` and its prefix, finds its terms, and fills in the sentence. */
rapt_status rapt__window_tokenize(struct window *w, int number, struct sentence *s,
                                  rapt_message *why);

/* ---- faults.c: opaque parts of texts, which translations may have to contain ---- */
struct opaque_parts {
    const rapt_span *spans; /* [count] in ascending order */
    size_t count;
};
/* Returns RAPT_BAD_ARGUMENT if opaque_starts is missing, or if opaque parts overlap, are out of
   order or are not within their texts. */
rapt_status rapt__opaque_check(const rapt_translate_call *call, const rapt_text *texts,
                               size_t count, rapt_message *why);
/* Returns the opaque parts of text `number`. */
struct opaque_parts rapt__window_parts(const struct window *w, int number);
rapt_text rapt__part_text(const struct window *w, int number, rapt_span part);
/* Sets *spelled to true if the tokens of a text decode to the same text, otherwise to false. */
rapt_status rapt__spelled(const rapt_translator *t, const rapt_tokenizer *tokenizer, rapt_text text,
                          bool *spelled);
/* Returns true if translations of text `number` must contain its opaque parts. */
bool rapt__copies_wanted(const struct window *w, int number);

/* ---- memory.c: a window ---- */
/* Returns the session in which a sentence is translated. */
rapt_session *rapt__window_session(const struct window *w, const struct sentence *s);
/* Returns the number of sentences, starting with order[first], that form one batch, or 0 if that
   sentence is not translated. */
int rapt__window_batch(const struct window *w, int first);
/* Allocates memory for all results and for the arrays of a batch. `end` holds the indices at which
   the arrays of the last sentence end. */
rapt_status rapt__window_take_results(struct window *w, const struct sentence *end);

/* ---- faults.c ---- */
/* Sets *faults to the RAPT_FAULT_... bits of the faults in a translation of *s. */
rapt_status rapt__faults_find(struct window *w, const struct sentence *s, const int32_t *ids,
                              int count, int *faults);
/* Constraints on translations; 0 means none. max_length includes the end token. */
struct constraint {
    int max_length, min_length, no_repeat_ngram;
};
/* Returns constraints that exclude the faults of *s, except RAPT_FAULT_LOST, for which
   rapt__window_copies makes terms. */
struct constraint rapt__fault_constraint(const struct window *w, const struct sentence *s);

/* ---- window.c ---- */
/* Translates a window of texts that begins with texts[before], and sets w->count to the number of
   texts in it. Call rapt__call_release afterwards, even after a failure. */
rapt_status rapt__window_translate(struct window *w, const struct translate_job *job,
                                   const rapt_text *texts, size_t count, size_t before,
                                   rapt_message *why);

/* ---- words.c ---- */
/* Fills in the spans, words and word weights of a translation of *s that has a text and an
   alignment. */
rapt_status rapt__words_fill(struct window *w, const struct sentence *s, rapt_translation *out);

#endif
