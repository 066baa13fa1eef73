/* stories.h - stories that say who went where and who took what, and a question about one of them:
   "where is tom?" needs one sentence, "where is the ball?" two. Stories of a tenth of all kinds
   occur in tests alone. */
#ifndef LESSONS_STORIES_H
#define LESSONS_STORIES_H

#include "kit/random.h"
#include <stdbool.h>

enum { PEOPLE = 4, LOCATIONS = 6, THINGS = 3, MAX_FACTS = 2 * PEOPLE };
enum {
    PERSON,
    LOCATION = PERSON + PEOPLE,
    THING = LOCATION + LOCATIONS,
    WENT = THING + THINGS,
    TO,
    THE,
    TOOK,
    DOT,
    WHERE,
    IS,
    ASK,
    WORDS,
    MAX_WORDS = 4 + 6 * MAX_FACTS
};
extern const char *const story_words[WORDS];

struct story {
    int facts, who[MAX_FACTS], what[MAX_FACTS]; /* what: a place gone to, or a thing taken */
    int asked, answer, last; /* a person or a thing; its place; the place named last */
    bool needed[MAX_FACTS];  /* to answer */
};
/* Up to two facts a person, in random order, and a question about a person or a thing there is. */
void story_draw(struct story *story, struct random *random, bool test);
/* The words of the question (fact -1) or of a fact; returns how many, at most 8. */
int story_say(const struct story *story, int fact, int *ids);
/* All as texts, the question first. */
void story_texts(const struct story *story, char text[1 + MAX_FACTS][64]);

#endif
