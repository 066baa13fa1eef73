/* stories.h - stories about who went where and who took what, and a question about one of them.
   "where is tom?" needs one sentence, "where is the ball?" two. A tenth of the stories occurs only
   in tests. */
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
    int facts, who[MAX_FACTS],
        what[MAX_FACTS];     /* what: a location the person went to, or a thing the person took */
    int asked, answer, last; /* a person or a thing; its location; the location named last */
    bool needed[MAX_FACTS];  /* for the answer */
};
/* Draws up to two facts per person, in random order, and a question about a person or thing of the
   story. */
void story_draw(struct story *story, struct random *random, bool test);
/* Writes the words of the question (fact -1) or of a fact; returns how many, at most 8. */
int story_say(const struct story *story, int fact, int *ids);
/* Writes question and facts as text, the question first. */
void story_texts(const struct story *story, char text[1 + MAX_FACTS][64]);

#endif
