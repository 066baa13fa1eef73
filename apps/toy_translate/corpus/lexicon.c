/* lexicon.c - parses the tokens of a line, the entries of the lexicon, and patterns. */
#include "grammar.h"
#include <stdlib.h>
#include <string.h>

void corpus_complain(struct reader *r, const char *what, const char *token)
{
    if (r->bad) return;
    r->bad = true;
    snprintf(r->why, CORPUS_TEXT, "grammar, line %d: %s%s%.60s%s", r->line, what,
             token ? " \"" : "", token ? token : "", token ? "\"" : "");
}

char *corpus_take(struct reader *r)
{
    static char none[] = "-";
    if (r->next < r->count) return r->token[r->next++];
    corpus_complain(r, "too few columns", NULL);
    return none;
}

int corpus_take_number(struct reader *r)
{
    char *token = corpus_take(r), *end;
    long number = strtol(token, &end, 10);
    if (end == token || *end || number < 0 || number > 1000)
        corpus_complain(r, "not a number from 0 to 1000:", token);
    return (int)number;
}

int corpus_find(const struct names *names, const char *name)
{
    for (int i = 0; i < names->count; i++)
        if (!strcmp(names->name[i], name)) return i;
    return -1;
}

int corpus_look_up(struct reader *r, int list, const char *name)
{
    int at = corpus_find(&r->grammar->names[list], name);
    if (at < 0) corpus_complain(r, "unknown name", name);
    return at < 0 ? 0 : at;
}

int corpus_add_name(struct reader *r, int list, const char *name)
{
    struct names *names = &r->grammar->names[list];
    if (corpus_find(names, name) >= 0) corpus_complain(r, "named twice:", name);
    if (names->count == MAX_NAMES - 1) corpus_complain(r, "too many names; cannot add", name);
    if (r->bad) return 0;
    names->name[names->count] = name;
    return names->count++;
}

/* Reads a comma-separated list of names as a set of bits. "-" means the empty set, and "any" means
   all names. Modifies the list. */
unsigned corpus_set_of(struct reader *r, const struct names *names, char *list)
{
    unsigned set = 0;
    if (!strcmp(list, "-")) return 0;
    if (!strcmp(list, "any")) return OF_VERB - 1;
    for (char *name = list, *comma; name; name = comma ? comma + 1 : NULL) {
        if ((comma = strchr(name, ',')) != NULL) *comma = 0;
        int at = corpus_find(names, name);
        if (at < 0)
            corpus_complain(r, "unknown name", name);
        else
            set |= 1u << at;
    }
    return set;
}

unsigned corpus_take_set(struct reader *r, int list)
{
    return corpus_set_of(r, &r->grammar->names[list], corpus_take(r));
}

const struct names corpus_kinds = {{"known", "one", "bare", "each", "none"}, 5};

/* ---- the lexicon: what the columns of an entry hold ----
   t  text              # number              g  gender             p  person
   n  new ending        a  new auxiliary      e  known ending       h  known auxiliary
   c  list of classes   f  list of frames     i  list of times      k  list of kinds */
static const struct {
    const char *name, *columns;
} entries[WORD_KINDS] = {
    [NOUN] = {"noun", "ttgttttc"},
    [ADJECTIVE] = {"adjective", "tttcc"},
    [DETERMINER] = {"determiner", "###ttkectttttttttttt"},
    [ENDING] = {"ending", "ntttttttttttt"},
    [PRONOUN] = {"pronoun", "#ttptttc"},
    [AUXILIARY] = {"auxiliary", "attttttt"},
    [VERB] = {"verb", "#ttttttttthfcci"},
    [ADVERB] = {"adverb", "tti"},
    [CONTRACTION] = {"contraction", "ttt"},
    [SHOW] = {"", ""},
};

/* Takes a text column. "-" becomes "", and each "_" becomes a space. */
static char *take_text_column(struct reader *r)
{
    char *text = corpus_take(r);
    for (char *c = text; *c; c++)
        if (*c == '_') *c = ' ';
    return strcmp(text, "-") ? text : text + 1;
}

/* Takes a token and returns its index in a list of allowed ones. */
static int take_one_of(struct reader *r, const struct names *allowed)
{
    const char *token = corpus_take(r);
    int at = corpus_find(allowed, token);
    if (at < 0) corpus_complain(r, "unexpected", token);
    return at < 0 ? 0 : at;
}

static const struct names genders = {{"m", "f", "n"}, 3};
static const struct names persons = {{"1s", "2s", "3s", "1p", "3p"}, 5};

static void take_columns(struct reader *r, struct word *word, const char *columns)
{
    int texts = 0, sets = 0, numbers = 0;
    for (; *columns && !r->bad; columns++) switch (*columns) {
        case 't':
            word->text[texts++] = take_text_column(r);
            break;
        case '#':
            word->number[numbers++] = corpus_take_number(r);
            break;
        case 'g':
            word->number[numbers++] = take_one_of(r, &genders);
            break;
        case 'p':
            word->number[numbers++] = take_one_of(r, &persons);
            break;
        case 'n':
            corpus_add_name(r, ENDINGS, corpus_take(r));
            break;
        case 'a':
            corpus_add_name(r, AUXILIARIES, r->token[r->next]);
            break;
        case 'e':
            word->number[numbers++] = take_one_of(r, &r->grammar->names[ENDINGS]);
            break;
        case 'h':
            word->number[numbers++] = take_one_of(r, &r->grammar->names[AUXILIARIES]);
            break;
        case 'c':
            word->set[sets++] = corpus_take_set(r, CLASSES);
            break;
        case 'f':
            word->set[sets++] = corpus_take_set(r, FRAMES);
            break;
        case 'i':
            word->set[sets++] = corpus_take_set(r, TIMES);
            break;
        default:
            word->set[sets++] = corpus_set_of(r, &corpus_kinds, corpus_take(r));
            break;
        }
}

bool corpus_lexicon_line(struct reader *r, const char *key)
{
    for (int kind = 0; kind < WORD_KINDS; kind++) {
        if (strcmp(entries[kind].name, key)) continue;
        struct table *table = &r->grammar->table[kind];
        if (table->count == MAX_WORDS)
            corpus_complain(r, "too many entries: ", key);
        else
            take_columns(r, &table->word[table->count++], entries[kind].columns);
        return true;
    }
    return false;
}

/* ---- patterns: words, and placeholders <...> ---- */

const struct names corpus_parts = {{"subject", "objects", "adverb", "front", "light", "heavy",
                                    "near", "far", "nicht", "verb", "deny", "aux", "rest", "left",
                                    "right", "last"},
                                   PARTS};
static const struct names form_names = {
    {"", "plain", "prefix", "joined", "infinitive", "participle", "helper"}, 7};
static const struct names case_names = {{"nom", "acc", "dat"}, CASES};

static void add_item(struct reader *r, struct pattern *pattern, struct item item)
{
    if (pattern->count == MAX_ITEMS)
        corpus_complain(r, "pattern too long", NULL);
    else
        pattern->item[pattern->count++] = item;
}

/* Adds <verb>, <verb.FORM> or <AUXILIARY>. */
static void add_in_tense(struct reader *r, struct pattern *pattern, const char *name,
                         const char *form)
{
    bool verb = !strcmp(name, "verb");
    int which = verb ? corpus_find(&form_names, form) : corpus_look_up(r, AUXILIARIES, name);
    if (which < 0 || (!verb && *form)) corpus_complain(r, "unknown form", form);
    add_item(r, pattern, (struct item){verb ? ITEM_VERB : ITEM_AUXILIARY, which, 0, NULL});
}

/* Adds <SLOT>, <SLOT.CASE> or <quality>. */
static void add_in_frame(struct reader *r, struct pattern *pattern, const char *name,
                         const char *grammatical)
{
    const struct frame *frame = &r->grammar->frame[r->grammar->names[FRAMES].count - 1];
    struct item item = {ITEM_QUALITY, 0,
                        corpus_find(&case_names, *grammatical ? grammatical : "acc"), NULL};
    if (item.with < 0) corpus_complain(r, "unknown case", grammatical);
    if (strcmp(name, "quality")) {
        item.kind = ITEM_SLOT;
        while (item.which < frame->slots && frame->slot[item.which].name != name[0]) item.which++;
        if (item.which == frame->slots || name[1]) corpus_complain(r, "unknown slot", name);
    } else if (!frame->quality)
        corpus_complain(r, "this frame has no quality", NULL);
    add_item(r, pattern, item);
}

/* Adds a part of a clause, or the parts of an order. */
static void add_part(struct reader *r, struct pattern *pattern, int clause, const char *name)
{
    int part = corpus_find(&corpus_parts, name);
    if (part >= 0) {
        add_item(r, pattern, (struct item){ITEM_PART, part, clause, name});
        return;
    }
    const struct pattern *order = &r->grammar->order[corpus_look_up(r, ORDERS, name)];
    for (int i = 0; i < order->count; i++) {
        struct item item = order->item[i];
        item.with = clause;
        add_item(r, pattern, item);
    }
}

/* Adds <PART> in an order, or <A.PART> in a sentence. */
static void add_in_sentence(struct reader *r, struct pattern *pattern, const char *name,
                            const char *part)
{
    if (r->block == ORDER_BLOCK) {
        add_part(r, pattern, 0, name);
        return;
    }
    int clause = name[0] - 'A';
    if (clause < 0 || clause >= r->grammar->sentence[r->grammar->sentences - 1].clauses || name[1])
        corpus_complain(r, "unknown clause", name);
    else
        add_part(r, pattern, clause, part);
}

void corpus_take_pattern(struct reader *r, struct pattern *pattern)
{
    if (pattern->count) corpus_complain(r, "given twice:", r->token[0]);
    while (r->next < r->count && !r->bad) {
        char *token = corpus_take(r), *end = strchr(token, '>'), *dot = strchr(token, '.');
        if (token[0] != '<') {
            add_item(r, pattern, (struct item){ITEM_TEXT, 0, 0, token});
            continue;
        }
        if (!end || end[1]) {
            corpus_complain(r, "invalid placeholder:", token);
            return;
        }
        *end = 0;
        if (dot) *dot = 0;
        const char *name = token + 1, *form = dot ? dot + 1 : "";
        if (r->block == TENSE_BLOCK)
            add_in_tense(r, pattern, name, form);
        else if (r->block == FRAME_BLOCK)
            add_in_frame(r, pattern, name, form);
        else
            add_in_sentence(r, pattern, name, form);
    }
}
