/* stories.c - draws stories and questions and puts them into words. */
#include "stories.h"
#include <stdio.h>
#include <string.h>

const char *const story_words[WORDS] = {"tom",    "mary",   "john", "anna", "garden", "kitchen",
                                        "office", "school", "park", "shop", "ball",   "book",
                                        "apple",  "went",   "to",   "the",  "took",   ".",
                                        "where",  "is",     "?"};

/* Returns the index of the last fact in which this person goes somewhere (`went`) or takes a thing,
   or -1. */
static int last_fact(const struct story *s, int who, bool went)
{
    int at = -1;
    for (int i = 0; i < s->facts; i++)
        if (s->who[i] == who && (s->what[i] < THING) == went) at = i;
    return at;
}

static bool taken(const struct story *s, int thing)
{
    for (int i = 0; i < s->facts; i++)
        if (s->what[i] == thing) return true;
    return false;
}

/* Adds a fact about a person, who may take a thing that nobody has after having gone somewhere. */
static void add_fact(struct story *s, struct random *random, int who)
{
    const int at = last_fact(s, who, true), thing = THING + random_below(random, THINGS);
    int what = thing;
    if (at < 0 || last_fact(s, who, false) >= 0 || taken(s, thing) || random_below(random, 2)) {
        do what = LOCATION + random_below(random, LOCATIONS);
        while (at >= 0 && what == s->what[at]);
        s->last = what;
    }
    s->who[s->facts] = who;
    s->what[s->facts++] = what;
}

static void ask(struct story *s, int asked)
{
    int holder = asked;
    s->asked = asked;
    if (asked >= THING) {
        int i = 0;
        while (s->what[i] != asked) i++;
        s->needed[i] = true, holder = s->who[i];
    }
    const int at = last_fact(s, holder, true);
    s->needed[at] = true, s->answer = s->what[at];
}

/* Adds up to two facts per person, in random order, and a question about a person or thing of the
   story. */
static void invent(struct story *s, struct random *random)
{
    int left[PEOPLE], total = 0, asked;
    memset(s, 0, sizeof *s);
    for (int p = 0; p < PEOPLE; p++) total += left[p] = random_below(random, 3);
    if (total == 0) total = left[0] = 1;
    for (; total > 0; total--) {
        int p;
        do p = random_below(random, PEOPLE);
        while (left[p] == 0);
        left[p]--;
        add_fact(s, random, PERSON + p);
    }
    const bool thing =
        random_below(random, 2) && (taken(s, THING) || taken(s, THING + 1) || taken(s, THING + 2));
    do asked = thing ? THING + random_below(random, THINGS) : PERSON + random_below(random, PEOPLE);
    while (thing ? !taken(s, asked) : last_fact(s, asked, true) < 0);
    ask(s, asked);
}

/* Decides by facts and question, so that equal stories are on the same side. */
static bool story_held_out(const struct story *s)
{
    struct random hash = random_from(17, (uint64_t)s->asked);
    for (int i = 0; i < s->facts; i++)
        hash = random_from(random_bits(&hash), (uint64_t)(s->who[i] * WORDS + s->what[i]));
    return random_below(&hash, 10) == 0;
}

void story_draw(struct story *s, struct random *random, bool test)
{
    do invent(s, random);
    while (story_held_out(s) != test);
}

int story_say(const struct story *s, int fact, int *ids)
{
    int n = 0;
    if (fact < 0) {
        ids[n++] = WHERE, ids[n++] = IS;
        if (s->asked >= THING) ids[n++] = THE;
        ids[n++] = s->asked, ids[n++] = ASK;
        return n;
    }
    ids[n++] = s->who[fact];
    ids[n++] = s->what[fact] < THING ? WENT : TOOK;
    if (s->what[fact] < THING) ids[n++] = TO;
    ids[n++] = THE, ids[n++] = s->what[fact], ids[n++] = DOT;
    return n;
}

void story_texts(const struct story *s, char text[1 + MAX_FACTS][64])
{
    for (int fact = -1; fact < s->facts; fact++) {
        int ids[8], used = 0;
        const int count = story_say(s, fact, ids);
        char *to = text[fact + 1];
        for (int i = 0; i < count; i++) /* no space before the last word, ? or . */
            used += snprintf(to + used, sizeof *text - (size_t)used, "%s%s",
                             i > 0 && i + 1 < count ? " " : "", story_words[ids[i]]);
    }
}
