/* grammar.c - parses grammar.txt, whose comments describe its syntax, into struct
   corpus_grammar. */
#include "grammar.h"

#include <stdlib.h>
#include <string.h>

/* ---- blocks: a heading and the lines below it ---- */

static bool tense_line(struct reader *r, const char *key)
{
    corpus_grammar *g = r->grammar;
    int part = corpus_find(&corpus_parts, key);
    if (!strcmp(key, "tense")) {
        if (g->tenses == MAX_NAMES) corpus_complain(r, "too many tenses", NULL);
        if (r->bad) return true;
        r->block = TENSE_BLOCK;
        struct tense *tense = &g->tense[g->tenses++];
        tense->weight = corpus_take_number(r);
        tense->times = corpus_take_set(r, TIMES);
    } else if (r->block == TENSE_BLOCK && part >= PART_VERB) {
        corpus_take_pattern(r, &g->tense[g->tenses - 1].part[part]);
        if (part == PART_DENY) g->tense[g->tenses - 1].deniable = true;
    } else
        return false;
    return true;
}

static void take_slot(struct reader *r, struct frame *frame)
{
    if (frame->slots == MAX_SLOTS) corpus_complain(r, "too many slots", NULL);
    if (r->bad) return;
    struct slot *slot = &frame->slot[frame->slots++];
    slot->name = corpus_take(r)[0];
    char *classes = corpus_take(r);
    slot->classes = strcmp(classes, "object")
                        ? corpus_set_of(r, &r->grammar->names[CLASSES], classes)
                        : OF_VERB;
    slot->kinds = corpus_set_of(r, &corpus_kinds, corpus_take(r));
}

static bool frame_line(struct reader *r, const char *key)
{
    if (!strcmp(key, "frame")) {
        int at = corpus_add_name(r, FRAMES, corpus_take(r));
        r->grammar->frame[at].asked = r->next < r->count && !strcmp(corpus_take(r), "asked");
        r->block = FRAME_BLOCK;
        return true;
    }
    if (r->block != FRAME_BLOCK) return false;
    struct frame *frame = &r->grammar->frame[r->grammar->names[FRAMES].count - 1];
    if (!strcmp(key, "slot"))
        take_slot(r, frame);
    else if (!strcmp(key, "quality"))
        frame->quality = !strcmp(corpus_take(r), "object");
    else if (!strcmp(key, "objects"))
        corpus_take_pattern(r, &frame->objects);
    else if (!strcmp(key, "near"))
        corpus_take_pattern(r, &frame->near);
    else if (!strcmp(key, "far"))
        corpus_take_pattern(r, &frame->far);
    else
        return false;
    return true;
}

static const struct word *question_word(struct reader *r, const char *english)
{
    const struct table *pronouns = &r->grammar->table[PRONOUN];
    for (int i = 0; i < pronouns->count; i++)
        if (!strcmp(pronouns->word[i].text[0], english)) return &pronouns->word[i];
    corpus_complain(r, "unknown pronoun", english);
    return NULL;
}

static void take_clause_options(struct reader *r, struct clause_rule *rule)
{
    while (r->next < r->count && !r->bad) {
        char *name = corpus_take(r), *value = strchr(name, '=');
        if (value) *value++ = 0;
        if (!value && !strcmp(name, "known"))
            rule->known = true;
        else if (!value && !strcmp(name, "unfilled"))
            rule->unfilled = true;
        else if (!value)
            corpus_complain(r, "unknown option", name);
        else if (!strcmp(name, "adverb"))
            rule->adverb = atoi(value);
        else if (!strcmp(name, "front"))
            rule->front = atoi(value);
        else if (!strcmp(name, "denied"))
            rule->denied = atoi(value);
        else if (!strcmp(name, "frame"))
            rule->frames = corpus_set_of(r, &r->grammar->names[FRAMES], value);
        else if (!strcmp(name, "time"))
            rule->times = corpus_set_of(r, &r->grammar->names[TIMES], value);
        else if (!strcmp(name, "subject"))
            rule->subject = question_word(r, value);
        else if (!strcmp(name, "object"))
            rule->object = question_word(r, value);
        else
            corpus_complain(r, "unknown option", name);
    }
}

static bool sentence_line(struct reader *r, const char *key)
{
    corpus_grammar *g = r->grammar;
    if (!strcmp(key, "sentence")) {
        if (g->sentences == MAX_NAMES) corpus_complain(r, "too many sentences", NULL);
        if (r->bad) return true;
        g->sentence[g->sentences++] =
            (struct sentence){.weight = corpus_take_number(r), .clauses = 1};
        r->block = SENTENCE_BLOCK;
        return true;
    }
    if (r->block != SENTENCE_BLOCK) return false;
    struct sentence *sentence = &g->sentence[g->sentences - 1];
    if (!strcmp(key, "A") || !strcmp(key, "B")) {
        take_clause_options(r, &sentence->clause[key[0] - 'A']);
        if (key[0] == 'B') sentence->clauses = 2;
    } else if (!strcmp(key, "en"))
        corpus_take_pattern(r, &sentence->side[ENGLISH]);
    else if (!strcmp(key, "de"))
        corpus_take_pattern(r, &sentence->side[GERMAN]);
    else
        return false;
    return true;
}

/* ---- the file ---- */

static bool setting_line(struct reader *r, const char *key)
{
    corpus_grammar *g = r->grammar;
    int list = !strcmp(key, "class") ? CLASSES : TIMES;
    if (!strcmp(key, "length")) {
        g->shortest = corpus_take_number(r);
        g->longest = corpus_take_number(r);
    } else if (!strcmp(key, "share")) {
        static const struct names shares = {{"pronoun-subject", "pronoun-object", "adjective"}, 3};
        int at = corpus_find(&shares, corpus_take(r));
        if (at < 0)
            corpus_complain(r, "unknown share", r->token[1]);
        else
            g->share[at] = corpus_take_number(r);
    } else if (!strcmp(key, "order")) {
        int at = corpus_add_name(r, ORDERS, corpus_take(r));
        r->block = ORDER_BLOCK;
        corpus_take_pattern(r, &g->order[at]);
    } else if (!strcmp(key, "class") || !strcmp(key, "time")) {
        while (r->next < r->count && !r->bad) corpus_add_name(r, list, corpus_take(r));
    } else
        return false;
    return true;
}

/* Parses: show SOURCE = TARGET */
static void read_show(struct reader *r, char *text)
{
    struct table *shows = &r->grammar->table[SHOW];
    char *equals = strstr(text, " = ");
    text += strspn(text, " ");
    if (!equals || equals < text || shows->count == MAX_WORDS || strlen(text) >= CORPUS_TEXT) {
        corpus_complain(r, "invalid example, or too many:", text);
        return;
    }
    *equals = 0;
    r->grammar->show[shows->count++] = (struct corpus_pair){text, equals + 3};
}

static void read_grammar_line(struct reader *r, char *text)
{
    text += strspn(text, " \t");
    if (!strncmp(text, "show ", 5)) {
        read_show(r, text + 5);
        return;
    }
    r->count = r->next = 0;
    for (char *rest; *text && *text != '#' && !r->bad; text = rest + strspn(rest, " \t")) {
        rest = text + strcspn(text, " \t");
        if (*rest) *rest++ = 0;
        if (!strcmp(text, "|")) continue;
        if (r->count == MAX_TOKENS)
            corpus_complain(r, "too many columns", NULL);
        else
            r->token[r->count++] = text;
    }
    if (!r->count || r->bad) return;
    const char *key = corpus_take(r);
    if (!tense_line(r, key) && !frame_line(r, key) && !sentence_line(r, key) &&
        !setting_line(r, key) && !corpus_lexicon_line(r, key))
        corpus_complain(r, "unexpected", key);
    if (r->next < r->count) corpus_complain(r, "too many columns from", r->token[r->next]);
}

corpus_grammar *corpus_grammar_create(const void *bytes, size_t count, char why[CORPUS_TEXT])
{
    corpus_grammar *grammar = calloc(1, sizeof *grammar);
    char *text = malloc(count + 1);
    struct reader reader = {.grammar = grammar, .why = why};
    if (!grammar || !text) {
        snprintf(why, CORPUS_TEXT, "out of memory");
        free(grammar);
        free(text);
        return NULL;
    }
    if (count) memcpy(text, bytes, count);
    text[count] = 0;
    if (strlen(text) < count) corpus_complain(&reader, "the file contains a zero byte", NULL);
    grammar->text = text;
    for (char *line = text, *next; line && !reader.bad; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        reader.line++;
        read_grammar_line(&reader, line);
    }
    if (!grammar->sentences) corpus_complain(&reader, "no sentence pattern", NULL);
    if (!reader.bad) return grammar;
    corpus_grammar_free(grammar);
    return NULL;
}

void corpus_grammar_free(corpus_grammar *grammar)
{
    if (!grammar) return;
    free(grammar->text);
    free(grammar);
}

const struct corpus_pair *corpus_showcase(const corpus_grammar *grammar, size_t *count)
{
    *count = (size_t)grammar->table[SHOW].count;
    return grammar->show;
}
