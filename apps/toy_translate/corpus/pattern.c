/* pattern.c - parses a pattern: words, and placeholders <...>. */
#include "reader.h"

#include <string.h>

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
