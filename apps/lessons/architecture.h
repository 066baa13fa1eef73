/* architecture.h - pictures of trained models of the lessons, with the numbers of one step of a
   translation: the one that writes its second word. */
#ifndef LESSONS_ARCHITECTURE_H
#define LESSONS_ARCHITECTURE_H

#include "study.h"

enum { DRAWN_WORDS = 10 };
/* Parts of a picture, which grows from lesson to lesson. */
enum {
    PART_ENCODER = 1, /* words and their encodings */
    PART_CONTEXT = 2, /* lines from the encodings to c, and their numbers */
    PART_STEP = 4,    /* the decoder's states and what it reads and writes */
    PART_QUERY = 8,   /* what the decoder asks */
    PART_AGAIN = 16,  /* the way from the decoder into the encoder */
    PARTS_ALL = 31
};
enum encoding {
    ENCODED_BY_CHAIN,
    ENCODED_AGAIN,
    ENCODED_AT_ONCE, /* no encoding waits for the one before */
    NOT_ENCODED,
    ENCODED_BY_ATTENTION /* the whole Transformer */
};
/* Weights of a Transformer's last layer, head by head, at the step, and what it writes there. */
enum { BLOCK_HEADS = 2, BLOCK_LAYERS = 2, BLOCK_WIDTH = 32, BLOCK_FFN = 64, BLOCK_LIKELY = 3 };
struct block_numbers {
    float self[BLOCK_HEADS][DRAWN_WORDS];  /* [sources] of `seen` on the source words */
    float past[BLOCK_HEADS][DRAWN_WORDS];  /* [targets] on (begin) and the words written */
    float cross[BLOCK_HEADS][DRAWN_WORDS]; /* [sources] */
    char likely[BLOCK_LIKELY][16];         /* the most likely words, and their probabilities */
    float probability[BLOCK_LIKELY];
    int vocabulary;
};
struct architecture {
    const char *file, *title, *formula, *description; /* name of the file: "simple" */
    const char *note;                                 /* what the numbers are; NULL means the
                                                         usual */
    enum encoding encoding;
    unsigned added; /* PART_*: what is new in the lesson; all else is faint */
    bool given;     /* the weights are given, so that nothing asks for them */
    bool itself;    /* a word of the source asks, at place `step`, instead of a decoder */
    bool both_ways; /* one encoder reads from the left, another from the right */
    bool by_state;  /* c is the initial state instead of an input of each step */
    bool after;     /* c enters the output layer, beside the new state */
    bool projected; /* W^q, W^k, W^v */
    bool attends;   /* the weights are those of attention, not influences of words through the one
                       vector */
    int sources, step, targets;
    char source[DRAWN_WORDS][16],
        target[DRAWN_WORDS][16]; /* words, the target's up to the one that is written */
    float weights[DRAWN_WORDS], scores[DRAWN_WORDS]; /* [sources] at the step */
    bool scored;
    double probability; /* of the word that is written, if the loss is drawn; else 0 */
    int seen;           /* ENCODED_BY_ATTENTION: the source word with the largest weight */
    struct block_numbers block;
};
enum { ARCHITECTURE_WIDTH = 480, ARCHITECTURE_HEIGHT = 400, BLOCK_HEIGHT = 654 };
/* Draw without the title; architecture_height is the height that they need. */
void architecture_draw(struct svg *svg, const void *architecture);
double architecture_height(const struct architecture *architecture);
/* ---- block_draw.c: the Transformer, as figure 1 of Vaswani et al. 2017 ---- */
void block_draw(struct svg *svg, const void *architecture);
/* Appends the formula of a prototype, and the picture of a trained model of the study that is one,
   at work on the sentence. */
void show_architecture(struct page *page, struct study *study, int model, enum prototype which,
                       const struct sentence *sentence);
/* Trains a Transformer on the German of the study and appends its formula and picture. */
void show_transformer(struct page *page, const struct lesson_options *options);
/* Appends the picture of a step that no model of a study makes. */
enum drawn_step { STEP_GIVEN, STEP_LEARNED, STEP_SCALED, STEP_ITSELF, DRAWN_STEPS };
struct step_numbers {
    int sources, step;
    int rows; /* number of steps whose numbers follow; 0: only those of `step` follow, in one row */
    const char *const *source;   /* [sources] words */
    const char *const *target;   /* [step + 1] words; unused if a sequence attends to itself */
    const float *weights;        /* [rows][sources] */
    const float *scores;         /* [rows][sources] or NULL */
    const double *probabilities; /* STEP_LEARNED: [rows], of the words that are written */
};
void show_drawn_step(struct page *page, enum drawn_step which, const struct step_numbers *numbers);
/* Writes the pictures of all models as NAME.svg into the folder. */
int architectures_write(const char *folder, const struct lesson_options *options);

#endif
