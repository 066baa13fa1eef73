/* place.h - shared by place.c, which puts the marks of a sentence into its translation, and
   ranges.c, which finds the target words of each mark. */
#ifndef RAPT_LIB_PLACE_H
#define RAPT_LIB_PLACE_H

#include "document/document.h"
#include "document/markup.h"

/* A mark, or the two marks of an element. If the sentence contains only one tag of an element, the
   element begins or ends outside of the sentence. */
struct node {
    size_t open, close;  /* numbers of the node's marks, from 1; 0 and placer.outside are outside of
                            the sentence */
    size_t first, last;  /* [first, last) source words of the node */
    size_t parent;       /* index of a node */
    size_t begin, end;   /* [begin, end) target words of the node */
    rapt_span span;      /* bytes of the node in the target */
    enum mark_kind kind; /* MARK_OPEN for elements */
    bool empty, dropped; /* empty: the node has no target words; dropped: the node is not written */
    bool copied;         /* the node is a guard whose contents are in the target */
};

struct placer {
    const struct placed *in;
    const rapt_allocator *allocator;
    struct buffer *out;
    struct buffer recased; /* a part of the target, converted to the case of the source */
    struct word_pairs pairs;
    struct node *nodes; /* [count] parents before their children */
    size_t *order;      /* [count] nodes sorted by parent and place */
    size_t count, capacity, outside;
    signed char *class; /* [source words] whether each belongs to the node that is being placed, to
                           a sibling, or to neither */
    bool *taken;        /* [target words] true for words of that node's siblings */
    bool *surplus;      /* [target words] true for words that are not written */
    bool has_surplus;
    bool closed;       /* true if the last bytes that were written are a closing tag or a guard */
    size_t unnumbered; /* the last placeholder without a number that has been written */
    size_t last_break; /* the target word that follows the last break */
};

static inline const struct mark *mark_of(const struct placer *p, size_t mark)
{
    return &p->in->marks[mark - 1];
}

/* Returns the contents of a guard as the model read them. */
static inline rapt_text contents_of(const struct placer *p, const struct node *guard)
{
    const rapt_span text = mark_of(p, guard->open)->text;
    return (rapt_text){p->in->source.bytes + text.begin, text.end - text.begin};
}

/* ---- ranges.c ---- */
/* Returns true if the node is a guard that a program replaces with an argument, such as %s. */
bool rapt__is_placeholder(const struct placer *p, const struct node *n);
/* Sets the range of target words of an element or guard, within the range of its parent. Nodes must
   be placed in order. */
void rapt__place_words(struct placer *p, size_t index);

#endif
