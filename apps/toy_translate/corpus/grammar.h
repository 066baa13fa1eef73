/* grammar.h - a parsed grammar, the derivation of one sentence, and the state of the parser.
   Internal to this folder. */
#ifndef TOY_TRANSLATE_GRAMMAR_H
#define TOY_TRANSLATE_GRAMMAR_H

#include "corpus.h"

enum { ENGLISH, GERMAN, LANGUAGES };
enum { NOMINATIVE, ACCUSATIVE, DATIVE, CASES };
enum { MASCULINE, FEMININE, NEUTER, PLURAL }; /* columns of a declension */
enum { MAX_COLUMNS = 16, MAX_NAMES = 31, MAX_WORDS = 80, MAX_ITEMS = 24, MAX_SLOTS = 2 };

/* An element of a pattern. Patterns of tenses and frames have no parts. Patterns of orders and
   sentences have only text and parts; an order named in them is expanded when it is parsed. */
enum item_kind { ITEM_TEXT, ITEM_AUXILIARY, ITEM_VERB, ITEM_SLOT, ITEM_QUALITY, ITEM_PART };
struct item {
    enum item_kind kind;
    int which;        /* auxiliary, verb form, slot or part */
    int with;         /* case of a slot, clause of a part */
    const char *text; /* the word itself; the name of a part */
};
struct pattern {
    struct item item[MAX_ITEMS];
    int count;
};

/* The forms in <verb.FORM> and the parts of a clause, in the order of form_names and corpus_parts
   (lexicon.c). */
enum {
    FORM_AGREEING,
    FORM_PLAIN,
    FORM_PREFIX,
    FORM_JOINED,
    FORM_INFINITIVE,
    FORM_PARTICIPLE,
    FORM_HELPER
};
enum {
    PART_SUBJECT,
    PART_OBJECTS,
    PART_ADVERB,
    PART_FRONT,
    PART_LIGHT,
    PART_HEAVY,
    PART_NEAR,
    PART_FAR,
    PART_NICHT,
    PART_VERB,
    PART_DENY,
    PART_AUX,
    PART_REST,
    PART_LEFT,
    PART_RIGHT,
    PART_LAST,
    PARTS
};

/* A line of the lexicon. Columns are named by the enums below. */
enum word_kind {
    NOUN,
    ADJECTIVE,
    DETERMINER,
    ENDING,
    PRONOUN,
    AUXILIARY,
    VERB,
    ADVERB,
    CONTRACTION,
    SHOW,
    WORD_KINDS
};
struct word {
    const char *text[MAX_COLUMNS]; /* "" for an empty column */
    unsigned set[4];               /* its lists, a bit for each name */
    int number[4];
};
enum { NOUN_GENDER = 0, NOUN_CLASSES = 0, NOUN_GERMAN = 2 }; /* 0, 1: English */
enum { ADJECTIVE_CLASSES = 0, ADJECTIVE_SORT = 1, ADJECTIVE_STEM = 2 };
enum { DETERMINER_ENDING = 3, DETERMINER_KIND = 0, DETERMINER_CLASSES = 1, DETERMINER_GERMAN = 2 };
enum { PRONOUN_WEIGHT = 0, PRONOUN_PERSON = 1, PRONOUN_GERMAN = 2, PRONOUN_CLASSES = 0 };
enum { AUXILIARY_GERMAN = 3 };
enum {
    VERB_WEIGHT = 0,
    VERB_HELPER = 1,
    VERB_FRAMES = 0,
    VERB_SUBJECT = 1,
    VERB_OBJECT = 2,
    VERB_TIMES = 3,
    VERB_GERMAN = 3,
    VERB_PREFIX = 7,
    VERB_PARTICIPLE = 8
};
enum { ADVERB_TIMES = 0 };

struct table {
    struct word word[MAX_WORDS];
    int count;
};

/* Kinds of determiners, as bits. */
enum { KNOWN = 1, ONE = 2, BARE = 4, EACH = 8, NONE = 16, ANY_KIND = 31 };
enum { OF_VERB = 1 << 30 }; /* as a slot's classes: those of the verb's object */

struct slot {
    char name;
    unsigned classes, kinds;
};
struct frame {
    struct slot slot[MAX_SLOTS];
    int slots;
    bool asked, quality;
    struct pattern objects, near, far;
};
struct tense {
    int weight;
    unsigned times;
    struct pattern part[PARTS]; /* from PART_VERB on */
    bool deniable;
};
struct clause_rule {
    unsigned frames, times; /* 0 means the default */
    int adverb, front, denied;
    bool known, unfilled;
    const struct word *subject, *object; /* question words, or NULL */
};
struct sentence {
    int weight, clauses;
    struct clause_rule clause[2];
    struct pattern side[LANGUAGES];
};

struct names {
    const char *name[MAX_NAMES];
    int count;
};
enum { CLASSES, TIMES, FRAMES, ENDINGS, ORDERS, AUXILIARIES, NAME_LISTS };
enum { SHARE_SUBJECT, SHARE_OBJECT, SHARE_ADJECTIVE, SHARES };

struct corpus_grammar {
    char *text; /* the file, split into tokens */
    struct names names[NAME_LISTS];
    struct table table[WORD_KINDS];
    struct frame frame[MAX_NAMES];
    struct pattern order[MAX_NAMES];
    struct tense tense[MAX_NAMES];
    struct sentence sentence[MAX_NAMES];
    struct corpus_pair show[MAX_WORDS];
    int tenses, sentences, shortest, longest, share[SHARES];
};

/* A noun phrase: a pronoun, or a noun with determiner and adjective. */
struct phrase {
    const struct word *pronoun, *noun, *determiner, *adjective;
    bool plural;
};
struct clause {
    const struct word *verb, *adverb, *quality;
    const struct frame *frame;
    const struct tense *tense;
    struct phrase subject, slot[MAX_SLOTS];
    bool denied, front;
};

/* Returns bits of splitmix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number
   generators"): a hash of the state, which counts up. */
uint64_t corpus_random(uint64_t *state);

/* Derives a sentence. Returns false at a dead end, if the length is wrong, or if the English
   sentence is not `wanted` (NULL means any). */
bool corpus_sentence(const corpus_grammar *grammar, uint64_t *state, const char *wanted,
                     char source[CORPUS_TEXT], char target[CORPUS_TEXT]);

/* Writes one side of a sentence. Returns false if the grammar does not allow its length. */
bool corpus_spell(const corpus_grammar *grammar, const struct pattern *pattern,
                  const struct clause *clause, int language, char text[CORPUS_TEXT]);

/* ---- state and helpers of the parser: grammar.c and lexicon.c ---- */

enum { MAX_TOKENS = 40 };
enum block { NO_BLOCK, TENSE_BLOCK, FRAME_BLOCK, SENTENCE_BLOCK, ORDER_BLOCK };

struct reader {
    corpus_grammar *grammar;
    char *why;
    int line;
    enum block block; /* the block that the lines after a heading belong to */
    char *token[MAX_TOKENS];
    int count, next; /* tokens of this line, and how many have been taken */
    bool bad;
};

extern const struct names corpus_kinds; /* names of the kinds of determiners */

/* Records the first error. Later ones are consequences of it. */
void corpus_complain(struct reader *r, const char *what, const char *token);

/* Takes the next token of the line. */
char *corpus_take(struct reader *r);
int corpus_take_number(struct reader *r);
unsigned corpus_take_set(struct reader *r, int list);

/* Return the index of a name. Without such a name, corpus_find returns -1, and corpus_look_up
   records an error and returns 0. */
int corpus_find(const struct names *names, const char *name);
int corpus_look_up(struct reader *r, int list, const char *name);
int corpus_add_name(struct reader *r, int list, const char *name);

/* Reads a comma-separated list of names as a set of bits. "-" means the empty set, and "any" means
   all names. Modifies the list. */
unsigned corpus_set_of(struct reader *r, const struct names *names, char *list);

/* The names of the parts of a clause. */
extern const struct names corpus_parts;

/* Parses the rest of the line, in the syntax of its block. */
void corpus_take_pattern(struct reader *r, struct pattern *pattern);

/* Returns false if the line is not an entry of the lexicon. */
bool corpus_lexicon_line(struct reader *r, const char *key);

#endif
