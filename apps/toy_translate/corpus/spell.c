/* spell.c - writes a sentence in one language: word order, agreement, case, "kein", and
   contractions ("an apple", "im Garten"). */
#include "grammar.h"

#include <string.h>

struct writer {
    const corpus_grammar *grammar;
    const struct clause *clause; /* being written */
    int language;
    char *text;
    size_t used, last; /* number of bytes written, and place where the last piece begins */
    bool full;
};

static void append_piece(struct writer *w, const char *piece)
{
    size_t size = strlen(piece);
    w->full |= w->used + size >= CORPUS_TEXT;
    if (w->full) return;
    memcpy(w->text + w->used, piece, size + 1);
    w->used += size;
}

/* Returns the contraction of the last piece and this one, or NULL. */
static const char *contracted(const struct writer *w, const char *piece)
{
    const struct table *table = &w->grammar->table[CONTRACTION];
    for (int i = 0; w->language == GERMAN && i < table->count; i++) {
        const char *const *text = table->word[i].text;
        if (!strcmp(text[0], w->text + w->last) && !strcmp(text[1], piece)) return text[2];
    }
    return NULL;
}

static void put_piece(struct writer *w, const char *piece)
{
    if (!*piece || w->full) return;
    if (w->used) {
        const char *both = contracted(w, piece);
        if (both) {
            w->used = w->last;
            append_piece(w, both);
            return;
        }
        if (w->language == ENGLISH && !strcmp(w->text + w->last, "a") && strchr("aeio", *piece))
            append_piece(w, "n");
        append_piece(w, " ");
    }
    w->last = w->used;
    append_piece(w, piece);
}

/* ---- agreement ---- */

static int person_of(const struct phrase *phrase) /* 0: 1s, 1: 2s, 2: 3s, 3: 1p, 4: 3p */
{
    if (phrase->pronoun) return phrase->pronoun->number[PRONOUN_PERSON];
    return phrase->plural ? 4 : 2;
}

/* Returns the column of ich, du, er or wir. */
static int german_person(const struct phrase *subject)
{
    int person = person_of(subject);
    return person > 3 ? 3 : person;
}

static void put_auxiliary(struct writer *w, const struct word *auxiliary)
{
    int person = person_of(&w->clause->subject);
    if (w->language == GERMAN)
        put_piece(w, auxiliary->text[AUXILIARY_GERMAN + german_person(&w->clause->subject)]);
    else
        put_piece(w, auxiliary->text[person == 0 ? 0 : person == 2 ? 1 : 2]);
}

/* Writes prefix and stem as one word. */
static void put_joined(struct writer *w, const struct word *verb, const char *form)
{
    put_piece(w, *verb->text[VERB_PREFIX] ? verb->text[VERB_PREFIX] : form);
    if (*verb->text[VERB_PREFIX]) append_piece(w, form);
}

static void put_verb(struct writer *w, int form)
{
    const struct word *verb = w->clause->verb;
    const char *const *german = &verb->text[VERB_GERMAN];
    bool he = person_of(&w->clause->subject) == 2;
    int agreeing = german_person(&w->clause->subject);
    if (w->language == ENGLISH)
        put_piece(w, verb->text[form == FORM_PLAIN ? 0 : form == FORM_PARTICIPLE ? 2 : he]);
    else if (form == FORM_PREFIX)
        put_piece(w, verb->text[VERB_PREFIX]);
    else if (form == FORM_PARTICIPLE)
        put_piece(w, verb->text[VERB_PARTICIPLE]);
    else if (form == FORM_HELPER)
        put_auxiliary(w, &w->grammar->table[AUXILIARY].word[verb->number[VERB_HELPER]]);
    else if (form == FORM_AGREEING)
        put_piece(w, german[agreeing]);
    else
        put_joined(w, verb, german[form == FORM_JOINED ? agreeing : 3]);
}

static void put_phrase(struct writer *w, const struct phrase *phrase, int grammatical,
                       const struct word *determiner)
{
    const struct word *noun = phrase->noun, *adjective = phrase->adjective;
    if (phrase->pronoun) {
        put_piece(w, phrase->pronoun->text[w->language == GERMAN ? PRONOUN_GERMAN + grammatical
                                                                 : grammatical != NOMINATIVE]);
        return;
    }
    if (!noun) return;
    if (w->language == ENGLISH) {
        put_piece(w, determiner->text[phrase->plural]);
        if (adjective) put_piece(w, adjective->text[0]);
        put_piece(w, noun->text[phrase->plural]);
        return;
    }
    int cell = grammatical * 4 + (phrase->plural ? PLURAL : noun->number[NOUN_GENDER]);
    put_piece(w, determiner->text[DETERMINER_GERMAN + cell]);
    if (adjective) {
        put_piece(w, adjective->text[ADJECTIVE_STEM]);
        append_piece(
            w, w->grammar->table[ENDING].word[determiner->number[DETERMINER_ENDING]].text[cell]);
    }
    put_piece(w, noun->text[NOUN_GERMAN + (phrase->plural ? 2 + (grammatical == DATIVE)
                                                          : grammatical != NOMINATIVE)]);
}

/* ---- the parts of a clause ---- */

/* Returns the determiner "kein" if the last object of a negated clause is indefinite. It then
   negates the clause instead of "nicht". */
static const struct word *kein(const struct writer *w)
{
    const struct pattern *near = &w->clause->frame->near;
    const struct table *determiners = &w->grammar->table[DETERMINER];
    if (!w->clause->denied || !near->count) return NULL;
    const struct phrase *last = &w->clause->slot[near->item[near->count - 1].which];
    if (!last->noun || !(last->determiner->set[DETERMINER_KIND] & (ONE | BARE))) return NULL;
    for (int i = 0; i < determiners->count; i++)
        if (determiners->word[i].set[DETERMINER_KIND] & NONE) return &determiners->word[i];
    return NULL;
}

/* Writes the pattern of a tense or frame. Writes pronouns only if `light` is true, and other
   phrases only if `heavy` is true. */
static void put_pattern(struct writer *w, const struct pattern *pattern, bool light, bool heavy)
{
    const struct clause *c = w->clause;
    for (int i = 0; i < pattern->count; i++) {
        const struct item *item = &pattern->item[i];
        const struct phrase *phrase = &c->slot[item->kind == ITEM_SLOT ? item->which : 0];
        const struct word *determiner = phrase->determiner;
        switch (item->kind) {
        case ITEM_TEXT:
            put_piece(w, item->text);
            break;
        case ITEM_AUXILIARY:
            put_auxiliary(w, &w->grammar->table[AUXILIARY].word[item->which]);
            break;
        case ITEM_VERB:
            put_verb(w, item->which);
            break;
        case ITEM_QUALITY:
            put_piece(w, c->quality->text[w->language == GERMAN]);
            break;
        case ITEM_SLOT:
            if (!(phrase->pronoun ? light : heavy)) break;
            if (w->language == GERMAN && pattern == &c->frame->near && i == pattern->count - 1 &&
                kein(w))
                determiner = kein(w);
            put_phrase(w, phrase, item->with, determiner);
            break;
        case ITEM_PART:
            break;
        }
    }
}

static void put_part(struct writer *w, const struct item *item)
{
    const struct clause *c = w->clause;
    switch (item->which) {
    case PART_SUBJECT:
        put_phrase(w, &c->subject, NOMINATIVE, c->subject.determiner);
        break;
    case PART_OBJECTS:
        put_pattern(w, &c->frame->objects, true, true);
        break;
    case PART_ADVERB:
    case PART_FRONT:
        if (c->adverb && c->front == (item->which == PART_FRONT))
            put_piece(w, c->adverb->text[w->language == GERMAN]);
        break;
    case PART_LIGHT:
        put_pattern(w, &c->frame->near, true, false);
        break;
    case PART_HEAVY:
        put_pattern(w, &c->frame->near, false, true);
        break;
    case PART_NEAR:
        put_pattern(w, &c->frame->near, true, true);
        break;
    case PART_FAR:
        put_pattern(w, &c->frame->far, true, true);
        break;
    case PART_NICHT:
        if (c->denied && !kein(w)) put_piece(w, item->text);
        break;
    case PART_VERB:
        put_pattern(w, &c->tense->part[c->denied ? PART_DENY : PART_VERB], true, true);
        break;
    default:
        put_pattern(w, &c->tense->part[item->which], true, true);
    }
}

bool corpus_spell(const corpus_grammar *grammar, const struct pattern *pattern,
                  const struct clause *clause, int language, char text[CORPUS_TEXT])
{
    struct writer w = {.grammar = grammar, .language = language, .text = text};
    int words = 0;
    text[0] = 0;
    for (int i = 0; i < pattern->count; i++) {
        w.clause = &clause[pattern->item[i].with];
        if (pattern->item[i].kind == ITEM_TEXT)
            put_piece(&w, pattern->item[i].text);
        else
            put_part(&w, &pattern->item[i]);
    }
    for (const char *c = text; *c; c++)
        words += *c != ' ' && *c != ',' && *c != '?' && (c == text || c[-1] == ' ');
    return !w.full && words >= grammar->shortest && words <= grammar->longest;
}
