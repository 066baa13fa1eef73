/* sentence.c - chooses the words of one sentence; spell.c writes them out in both languages. */
#include "grammar.h"

#include <stdlib.h>
#include <string.h>

/* Constraints for choosing a word. */
struct request {
    unsigned classes;  /* of a noun, pronoun or adjective; a verb's object allows one */
    unsigned kinds;    /* of a determiner or adjective; frames of a verb, times of an adverb */
    unsigned subjects; /* a verb's subject must allow one of these classes; 0 means any */
    const struct word *noun;    /* the noun after a determiner */
    const struct word *subject; /* the pronoun that is the subject of an object, or NULL */
};
struct draft {
    const corpus_grammar *grammar;
    uint64_t *state;
    const char *wanted;
    const struct word *used[8]; /* nouns and verbs already used; each occurs only once */
    int used_count;
};

/* ---- choosing ---- */

uint64_t corpus_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int draw_below(struct draft *d, int n)
{
    return (int)((corpus_random(d->state) >> 32) * (uint64_t)n >> 32);
}

static bool chance(struct draft *d, int percent)
{
    return draw_below(d, 100) < percent;
}

/* Returns whether the sentence contains these words. Without a sentence or words, returns true. */
static bool mentioned(const char *sentence, const char *words)
{
    if (!sentence) return true;
    size_t size = strlen(words);
    for (const char *at = sentence; size && (at = strstr(at, words)) != NULL; at++)
        if ((at == sentence || at[-1] == ' ') && (at[size] == ' ' || !at[size])) return true;
    return !size;
}

static bool is_used(const struct draft *d, const struct word *word)
{
    for (int i = 0; i < d->used_count; i++)
        if (d->used[i] == word) return true;
    return false;
}

/* Returns the weight of a word, or 0 if it violates the constraints. */
typedef int weigh(const struct draft *d, const struct word *word, const struct request *request);

static const struct word *pick_word(struct draft *d, enum word_kind kind, weigh *weight,
                                    const struct request *request)
{
    const struct table *table = &d->grammar->table[kind];
    int sum = 0, at;
    for (int i = 0; i < table->count; i++) sum += weight(d, &table->word[i], request);
    if (!sum) return NULL;
    at = draw_below(d, sum);
    for (int i = 0;; i++)
        if ((at -= weight(d, &table->word[i], request)) < 0) return &table->word[i];
}

static int weigh_noun(const struct draft *d, const struct word *noun, const struct request *request)
{
    return (noun->set[NOUN_CLASSES] & request->classes) && !is_used(d, noun);
}

/* Returns the weight of a determiner with this noun in this number. */
static int weigh_number(const struct draft *d, const struct word *determiner,
                        const struct word *noun, bool plural)
{
    bool mass = !*noun->text[1];
    if ((plural && mass) || !mentioned(d->wanted, noun->text[plural])) return 0;
    return determiner->number[plural ? 1 : mass ? 2 : 0];
}

static int weigh_determiner(const struct draft *d, const struct word *determiner,
                            const struct request *request)
{
    const struct word *noun = request->noun;
    if (!(determiner->set[DETERMINER_KIND] & request->kinds)) return 0;
    if (!(determiner->set[DETERMINER_CLASSES] & noun->set[NOUN_CLASSES])) return 0;
    return weigh_number(d, determiner, noun, false) + weigh_number(d, determiner, noun, true);
}

static int weigh_adjective(const struct draft *d, const struct word *adjective,
                           const struct request *request)
{
    (void)d;
    return (adjective->set[ADJECTIVE_CLASSES] & request->classes) &&
           (adjective->set[ADJECTIVE_SORT] & request->kinds);
}

/* Excludes objects in the first or second person if the subject is in the same person, as in "I see
   us". */
static int weigh_pronoun(const struct draft *d, const struct word *pronoun,
                         const struct request *request)
{
    static const int person[] = {1, 2, 3, 1, 3}; /* of 1s 2s 3s 1p 3p */
    (void)d;
    int mine = person[pronoun->number[PRONOUN_PERSON]];
    if (!(pronoun->set[PRONOUN_CLASSES] & request->classes)) return 0;
    if (request->subject && mine < 3 && mine == person[request->subject->number[PRONOUN_PERSON]])
        return 0;
    return pronoun->number[PRONOUN_WEIGHT];
}

static int weigh_verb(const struct draft *d, const struct word *verb, const struct request *request)
{
    if (!(verb->set[VERB_FRAMES] & request->kinds) || is_used(d, verb)) return 0;
    if (request->classes && !(verb->set[VERB_OBJECT] & request->classes)) return 0;
    if (request->subjects && !(verb->set[VERB_SUBJECT] & request->subjects)) return 0;
    return verb->number[VERB_WEIGHT];
}

static int weigh_adverb(const struct draft *d, const struct word *adverb,
                        const struct request *request)
{
    (void)d;
    return (adverb->set[ADVERB_TIMES] & request->kinds) != 0;
}

/* Chooses a noun phrase or, with a chance of `pronouns` per cent, a pronoun. If the phrase is an
   object and the subject is a pronoun, `subject` is that pronoun; otherwise NULL. */
static bool choose_phrase(struct draft *d, struct phrase *phrase, unsigned classes, unsigned kinds,
                          int pronouns, const struct word *subject)
{
    struct request request = {.classes = classes, .kinds = kinds, .subject = subject};
    *phrase = (struct phrase){0};
    if ((kinds & KNOWN) && chance(d, pronouns))
        if ((phrase->pronoun = pick_word(d, PRONOUN, weigh_pronoun, &request)) != NULL) return true;
    request.noun = phrase->noun = pick_word(d, NOUN, weigh_noun, &request);
    if (!phrase->noun) return false;
    d->used[d->used_count++] = phrase->noun;
    phrase->determiner = pick_word(d, DETERMINER, weigh_determiner, &request);
    if (!phrase->determiner) return false;
    int singular = weigh_number(d, phrase->determiner, phrase->noun, false);
    int plural = weigh_number(d, phrase->determiner, phrase->noun, true);
    phrase->plural = draw_below(d, singular + plural) >= singular;
    if (!chance(d, d->grammar->share[SHARE_ADJECTIVE])) return true;
    request = (struct request){.classes = phrase->noun->set[NOUN_CLASSES], .kinds = ~0u};
    phrase->adjective = pick_word(d, ADJECTIVE, weigh_adjective, &request);
    return true;
}

static const struct tense *choose_tense(struct draft *d, unsigned times, bool denied)
{
    const struct tense *chosen = NULL;
    for (int i = 0, sum = 0; i < d->grammar->tenses; i++) {
        const struct tense *tense = &d->grammar->tense[i];
        if (!(tense->times & times) || (denied && !tense->deniable)) continue;
        sum += tense->weight;
        if (draw_below(d, sum) < tense->weight) chosen = tense;
    }
    return chosen;
}

static const struct frame *choose_frame(struct draft *d, unsigned frames)
{
    const struct frame *chosen = NULL;
    for (int i = 0, count = 0; i < d->grammar->names[FRAMES].count; i++)
        if ((frames >> i & 1) && !draw_below(d, ++count)) chosen = &d->grammar->frame[i];
    return chosen;
}

static unsigned usual_frames(const corpus_grammar *grammar)
{
    unsigned frames = 0;
    for (int i = 0; i < grammar->names[FRAMES].count; i++)
        if (!grammar->frame[i].asked) frames |= 1u << i;
    return frames;
}

static bool choose_slots(struct draft *d, struct clause *c, const struct clause_rule *rule)
{
    unsigned object = c->verb->set[VERB_OBJECT];
    const struct word *subject = c->subject.pronoun;
    for (int i = 0; i < c->frame->slots && !rule->unfilled; i++) {
        const struct slot *slot = &c->frame->slot[i];
        unsigned classes = slot->classes == OF_VERB ? object : slot->classes;
        if (rule->object)
            c->slot[i] = (struct phrase){.pronoun = rule->object};
        else if (!choose_phrase(d, &c->slot[i], classes, slot->kinds,
                                d->grammar->share[SHARE_OBJECT], subject))
            return false;
    }
    if (!c->frame->quality) return true;
    unsigned classes = c->subject.pronoun ? c->subject.pronoun->set[PRONOUN_CLASSES]
                                          : c->subject.noun->set[NOUN_CLASSES];
    c->quality = pick_word(d, ADJECTIVE, weigh_adjective,
                           &(struct request){.classes = classes, .kinds = object});
    return c->quality && c->quality != c->subject.adjective;
}

static bool choose_clause(struct draft *d, struct clause *c, const struct clause_rule *rule)
{
    const corpus_grammar *g = d->grammar;
    unsigned frames = rule->frames ? rule->frames : usual_frames(g);
    unsigned kinds = rule->known ? KNOWN : ANY_KIND;
    bool adverb = chance(d, rule->adverb);
    *c = (struct clause){.front = chance(d, rule->front), .denied = chance(d, rule->denied)};
    struct request request = {.classes = rule->object ? rule->object->set[PRONOUN_CLASSES] : 0,
                              .kinds = frames,
                              .subjects = rule->subject ? rule->subject->set[PRONOUN_CLASSES] : 0};
    if (!(c->verb = pick_word(d, VERB, weigh_verb, &request))) return false;
    d->used[d->used_count++] = c->verb;
    c->frame = choose_frame(d, frames & c->verb->set[VERB_FRAMES]);
    unsigned times = c->verb->set[VERB_TIMES] & (rule->times ? rule->times : ~0u);
    if (!(c->tense = choose_tense(d, times, c->denied))) return false;
    if (rule->subject)
        c->subject = (struct phrase){.pronoun = rule->subject};
    else if (!choose_phrase(d, &c->subject, c->verb->set[VERB_SUBJECT],
                            c->denied ? kinds & (KNOWN | BARE) : kinds, g->share[SHARE_SUBJECT],
                            NULL))
        return false;
    if (!choose_slots(d, c, rule)) return false;
    if (!c->front && (c->denied || !adverb)) return true;
    request = (struct request){.kinds = times & c->tense->times};
    return (c->adverb = pick_word(d, ADVERB, weigh_adverb, &request)) != NULL;
}

static const struct sentence *choose_sentence(struct draft *d)
{
    const struct sentence *chosen = NULL;
    for (int i = 0, sum = 0; i < d->grammar->sentences; i++) {
        const struct sentence *sentence = &d->grammar->sentence[i];
        sum += sentence->weight;
        if (draw_below(d, sum + !sum) < sentence->weight) chosen = sentence;
    }
    return chosen;
}

bool corpus_sentence(const corpus_grammar *grammar, uint64_t *state, const char *wanted,
                     char source[CORPUS_TEXT], char target[CORPUS_TEXT])
{
    struct draft d = {.grammar = grammar, .state = state, .wanted = wanted};
    struct clause clause[2] = {{0}};
    const struct sentence *sentence = choose_sentence(&d);
    if (!sentence) return false;
    for (int i = 0; i < sentence->clauses; i++)
        if (!choose_clause(&d, &clause[i], &sentence->clause[i])) return false;
    return corpus_spell(grammar, &sentence->side[ENGLISH], clause, ENGLISH, source) &&
           (!wanted || !strcmp(source, wanted)) &&
           corpus_spell(grammar, &sentence->side[GERMAN], clause, GERMAN, target);
}

/* ---- searching ---- */

/* Keeps only words that occur in the sentence in one of their first `forms` columns, and "kein". */
static void keep_words(corpus_grammar *grammar, enum word_kind kind, int forms,
                       const char *sentence)
{
    struct table *table = &grammar->table[kind];
    int kept = 0;
    for (int i = 0; i < table->count; i++) {
        struct word word = table->word[i];
        bool found = false;
        for (int form = 0; form < forms; form++)
            found |= mentioned(sentence, word.text[form]) ||
                     (!strcmp(word.text[form], "a") && mentioned(sentence, "an"));
        if (found || (kind == DETERMINER && word.set[DETERMINER_KIND] == NONE))
            table->word[kept++] = word;
    }
    table->count = kept;
}

/* Keeps only patterns whose English words occur in the sentence. */
static void keep_sentences(corpus_grammar *grammar, const char *sentence)
{
    for (int i = 0; i < grammar->sentences; i++) {
        const struct pattern *english = &grammar->sentence[i].side[ENGLISH];
        for (int k = 0; k < english->count; k++)
            if (english->item[k].kind == ITEM_TEXT && !mentioned(sentence, english->item[k].text))
                grammar->sentence[i].weight = 0;
    }
}

bool corpus_derive(const corpus_grammar *grammar, const char *source, long tries,
                   char target[CORPUS_TEXT])
{
    static const struct {
        enum word_kind kind;
        int forms;
    } words[] = {{NOUN, 2}, {ADJECTIVE, 1}, {DETERMINER, 2}, {PRONOUN, 2}, {VERB, 3}, {ADVERB, 1}};
    char english[CORPUS_TEXT];
    uint64_t state = 0;
    bool found = false;
    corpus_grammar *narrow = malloc(sizeof *narrow);
    if (!narrow) return false;
    *narrow = *grammar;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        keep_words(narrow, words[i].kind, words[i].forms, source);
    keep_sentences(narrow, source);
    while (!found && tries-- > 0) found = corpus_sentence(narrow, &state, source, english, target);
    free(narrow);
    return found;
}
