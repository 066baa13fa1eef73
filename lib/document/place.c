/* place.c - puts the marks of a sentence into its translation. The marks form a tree of elements.
   From the outside in, each element or guard gets a range of target words (ranges.c). Marks without
   words are put next to the translation of a source word near them. A line break is put near its
   relative position in the source. */
#include "document/document.h"

#include <string.h>

enum { ROOT = 0 };

/* ---- the tree ---- */

/* Sets the source words of a node to those that overlap bytes [begin, end). */
static void set_words(const struct placer *p, struct node *n, size_t begin, size_t end)
{
    const struct word_spans *words = &p->pairs.source;
    while (n->first < words->count && words->spans[n->first].end <= begin) n->first++;
    n->last = n->first;
    while (begin < end && n->last < words->count && words->spans[n->last].begin < end) n->last++;
}

static void add_node(struct placer *p, enum mark_kind kind, size_t open, size_t close)
{
    struct node *n = &p->nodes[p->count++];
    *n = (struct node){.kind = kind, .open = open, .close = close};
    if (kind == MARK_OPEN)
        set_words(p, n, open ? placed_mark(p, open)->text.end : 0,
                  close < p->outside ? placed_mark(p, close)->text.begin : p->in->source.size);
    else if (kind == MARK_GUARD)
        set_words(p, n, placed_mark(p, open)->text.begin, placed_mark(p, open)->text.end);
    for (size_t i = 0; i + 1 < p->count; i++)
        if (p->nodes[i].kind == MARK_OPEN && p->nodes[i].open <= open && p->nodes[i].close >= close)
            n->parent = i;
}

static void add_nodes(struct placer *p)
{
    const struct mark *marks = p->in->marks;
    const size_t count = p->in->mark_count;
    add_node(p, MARK_OPEN, 0, p->outside);
    for (size_t i = count; i-- > 0;)
        if (marks[i].kind == MARK_CLOSE && marks[i].partner == NO_PARTNER)
            add_node(p, MARK_OPEN, 0, i + 1);
    for (size_t i = 0; i < count; i++) {
        if (marks[i].kind == MARK_OPEN)
            add_node(p, MARK_OPEN, i + 1,
                     marks[i].partner == NO_PARTNER ? p->outside : marks[i].partner + 1);
        else if (marks[i].kind != MARK_CLOSE)
            add_node(p, marks[i].kind, i + 1, i + 1);
    }
}

/* ---- bytes ---- */

static void set_span(struct placer *p, struct node *n)
{
    const rapt_span *words = p->pairs.target.spans, parent = p->nodes[n->parent].span;
    n->span = (rapt_span){n->open == 0 ? parent.begin : parent.end,
                          n->close == p->outside ? parent.end : parent.begin};
    if (n->begin < n->end && n->open > 0) n->span.begin = words[n->begin].begin;
    if (n->begin < n->end && n->close < p->outside) n->span.end = words[n->end - 1].end;
}

/* Finds the place in the target for a mark at byte `at` of the source, and returns the index of the
   target word after this place. The place is either after the last target word aligned with the
   source word before the mark (*after is true), or before the first one aligned with the source
   word after the mark. If no target word is aligned with these two, the place has the same relative
   position among the words as in the source. */
static size_t neighbor(const struct placer *p, const struct node *parent, size_t at, bool *after)
{
    const struct word_spans *words = &p->pairs.source;
    size_t next = 0, found = NO_PARTNER;
    while (next < words->count && words->spans[next].begin < at) next++;
    *after = next > 0 && (words->spans[next - 1].end >= at || next == words->count);
    for (int attempt = 0; attempt < 2 && found == NO_PARTNER; attempt++) {
        *after = *after != (attempt == 1);
        for (size_t w = parent->begin; w < parent->end; w++) {
            const int source = p->pairs.aligned[w];
            if (*after && next > 0 && source == (int)next - 1) found = w + 1;
            if (!*after && source == (int)next && found == NO_PARTNER) found = w;
        }
    }
    if (found != NO_PARTNER) return found;
    *after = next > 0;
    return words->count == 0 ? parent->begin
                             : parent->begin + (parent->end - parent->begin) * next / words->count;
}

/* Moves a place that is within a sibling to the end of the sibling, or to its beginning if the
   sibling ends outside of the sentence. */
static size_t outside_siblings(const struct placer *p, size_t index, size_t place, bool *after)
{
    for (size_t i = 1; i < p->count; i++) {
        const struct node *s = &p->nodes[i];
        if (s->parent != p->nodes[index].parent || s->begin == s->end) continue;
        const bool begun = s->open == 0 || s->begin < place;
        const bool open = s->close == p->outside || s->end > place;
        if (!begun || !open) continue;
        place = s->close == p->outside ? s->begin : s->end;
        *after = true;
    }
    return place;
}

/* Returns the index of the first target word aligned with a word of the guard, or NO_PARTNER. */
static size_t first_own(const struct placer *p, const struct node *n)
{
    const struct node *parent = &p->nodes[n->parent];
    for (size_t w = parent->begin; n->kind == MARK_GUARD && w < parent->end; w++) {
        const int source = p->pairs.aligned[w];
        if (source >= (int)n->first && source < (int)n->last) return w;
    }
    return NO_PARTNER;
}

/* Places a node without target words. A guard goes before the first word that the alignment pairs
   with it, if there is one. */
static void place_point(struct placer *p, size_t index)
{
    struct node *n = &p->nodes[index];
    const struct node *parent = &p->nodes[n->parent];
    const rapt_span *words = p->pairs.target.spans;
    bool after = false;
    n->span = (rapt_span){parent->span.begin, parent->span.begin};
    n->begin = n->end = parent->begin;
    if (parent->begin == parent->end) return;
    size_t place = p->pairs.guessed ? NO_PARTNER : first_own(p, n);
    if (place == NO_PARTNER)
        place = neighbor(p, parent, placed_mark(p, n->open)->text.begin, &after);
    place = outside_siblings(p, index, place, &after);
    n->begin = n->end = place;
    size_t at = place == parent->end || (after && place > parent->begin) ? words[place - 1].end
                                                                         : words[place].begin;
    n->span = (rapt_span){at, at};
}

/* Returns true if a line may be broken before target word `word`. */
static bool may_break(const struct placer *p, size_t word)
{
    const rapt_span *words = p->pairs.target.spans;
    size_t start;
    if (words[word - 1].end < words[word].begin) return true;
    return rapt__is_unspaced(rapt__character_before(p->in->target, words[word].begin, &start));
}

/* Places a line break as near as possible to its relative position in the source, measured in
   bytes. Drops it if there is no place for it after the previous break. */
static void place_break(struct placer *p, size_t index)
{
    struct node *n = &p->nodes[index];
    const struct node *parent = &p->nodes[n->parent];
    const rapt_span *words = p->pairs.target.spans;
    const double wanted = (double)placed_mark(p, n->open)->text.begin * (double)p->in->target.size /
                          (double)p->in->source.size;
    double least = 0;
    n->dropped = true;
    for (size_t w = rapt__max_size(parent->begin, p->last_break) + 1; w < parent->end; w++) {
        const double away = (double)words[w - 1].end - wanted;
        const double distance = away < 0 ? -away : away;
        bool after = false;
        if (!may_break(p, w) || outside_siblings(p, index, w, &after) != w) continue;
        if (!n->dropped && distance >= least) continue;
        n->dropped = false;
        least = distance;
        n->begin = n->end = w;
    }
    if (n->dropped) return;
    n->span = (rapt_span){words[n->begin - 1].end, words[n->begin].begin};
    p->last_break = n->begin;
}

static void place_nodes(struct placer *p)
{
    struct node *root = &p->nodes[ROOT];
    root->end = p->pairs.target.count;
    for (size_t i = 1; i < p->count; i++) rapt__place_words(p, i);
    root->span = (rapt_span){0, p->in->target.size};
    for (size_t i = 1; i < p->count; i++) {
        struct node *n = &p->nodes[i];
        if (!n->empty)
            set_span(p, n);
        else if (n->kind == MARK_BREAK)
            place_break(p, i);
        else
            place_point(p, i);
    }
}

/* ---- surplus placeholders ---- */

/* Finds surplus target words: those that are part of a copy of a placeholder but belong to no
   guard. The model has written the placeholder too many times, and a program would fail on such a
   copy or insert an argument twice. */
static void find_surplus(struct placer *p)
{
    const struct word_spans *words = &p->pairs.target;
    memset(p->taken, 0, words->count * sizeof *p->taken);
    for (size_t i = 1; i < p->count; i++)
        for (size_t w = p->nodes[i].begin; p->nodes[i].kind == MARK_GUARD && w < p->nodes[i].end;
             w++)
            p->taken[w] = true;
    for (size_t i = 1; i < p->count; i++) {
        if (!rapt__is_placeholder(p, &p->nodes[i])) continue;
        const rapt_text contents = guard_contents(p, &p->nodes[i]);
        for (size_t w = 0; w < words->count; w++) {
            const struct word_run run = rapt__words_copy(words, p->in->target, w, contents);
            for (size_t j = run.first; j < run.last && !p->taken[j]; j++)
                p->surplus[j] = p->has_surplus = true;
        }
    }
}

/* ---- writing ---- */

static int comes_before(const void *context, const void *left, const void *right)
{
    const struct node *nodes = context, *a = &nodes[*(const size_t *)left],
                      *b = &nodes[*(const size_t *)right];
    if (a->parent != b->parent) return a->parent < b->parent ? -1 : 1;
    if (a->span.begin != b->span.begin) return a->span.begin < b->span.begin ? -1 : 1;
    if (a->span.end != b->span.end) return a->span.end < b->span.end ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* Writes a mark, preceded by a space if it would otherwise merge with the bytes before it: two
   adjacent runs of the same Markdown delimiter, as in `a``b`, would become one, and a ! before a
   link would turn it into an image. */
static void write_mark(struct placer *p, size_t mark)
{
    const struct mark *m = placed_mark(p, mark);
    const rapt_span span = m->document;
    const char first = p->in->document.bytes[span.begin];
    const char last = p->out->size > 0 ? p->out->bytes[p->out->size - 1] : 0;
    const bool joins = first == last && p->closed && m->kind != MARK_CLOSE;
    if ((joins && first && strchr("`*_~", first)) || (first == '[' && last == '!'))
        rapt__buffer_add(p->out, (rapt_text){" ", 1});
    p->closed = m->kind == MARK_CLOSE || m->kind == MARK_GUARD;
    rapt__buffer_add(p->out,
                     (rapt_text){p->in->document.bytes + span.begin, span.end - span.begin});
}

/* Returns bytes [begin, end) of the target, with the source's letter case restored if it was
   changed. */
static rapt_text target_bytes(struct placer *p, size_t begin, size_t end)
{
    if (p->in->letters == CASE_USUAL) return (rapt_text){p->in->target.bytes + begin, end - begin};
    p->recased.size = 0;
    rapt__case_restore(p->in, &p->pairs, (rapt_span){begin, end}, &p->recased);
    p->out->failed = p->out->failed || p->recased.failed;
    return (rapt_text){p->recased.bytes, p->recased.size};
}

static void write_bytes(struct placer *p, size_t begin, size_t end)
{
    if (end <= begin) return;
    rapt_text text = target_bytes(p, begin, end);
    p->closed = false;
    if (text.size > 0 && p->in->apart && p->out->size == 0 && text.bytes[0] > ' ' &&
        text.bytes[0] < 0x7F) {
        rapt__write_apart(p->out, text.bytes[0]);
        text.bytes++, text.size--;
    }
    if (text.size > 0) p->in->write(p->out, text);
}

/* Writes bytes [begin, end) of the target, without surplus words and the spaces before them. */
static void write_target(struct placer *p, size_t begin, size_t end)
{
    const rapt_span *words = p->pairs.target.spans;
    for (size_t w = 0; p->has_surplus && w < p->pairs.target.count; w++) {
        if (!p->surplus[w] || words[w].begin < begin || words[w].end > end) continue;
        size_t stop = words[w].begin;
        while (stop > begin && p->in->target.bytes[stop - 1] == ' ') stop--;
        write_bytes(p, begin, stop);
        begin = words[w].end;
        while (p->out->size == 0 && begin < end && p->in->target.bytes[begin] == ' ') begin++;
    }
    write_bytes(p, begin, end);
}

/* Returns the mark to write for a guard. Placeholders without a number or name are written in the
   order of the source. */
static size_t guard_of(struct placer *p, const struct node *n)
{
    if (!rapt__same_name(placed_mark(p, n->open)->name, "%")) return n->open;
    do p->unnumbered++;
    while (placed_mark(p, p->unnumbered)->kind != MARK_GUARD ||
           !rapt__same_name(placed_mark(p, p->unnumbered)->name, "%"));
    return p->unnumbered;
}

/* Returns true for characters that must not be directly next to a guard. */
static bool is_word(uint32_t c)
{
    return (rapt__is_letter(c) && !rapt__is_unspaced(c)) || (c >= '0' && c <= '9');
}

/* Returns true if a space belongs between a guard and the character `near` next to it, which is not
   white space. `across` is the character on the other side of the guard. `touches` is true for
   punctuation that takes no space on this side, such as ( before a guard. Other punctuation is
   separated from the guard if there is a space on the other side. */
static bool needs_blank(uint32_t near, uint32_t across, bool touches)
{
    return is_word(near) || (rapt__utf8_space(across) && !rapt__is_unspaced(near) && !touches);
}

/* Writes a guard. If no words of the translation belong to it, spaces separate it from adjacent
   words. */
static void write_guard(struct placer *p, const struct node *n)
{
    const rapt_text target = p->in->target, blank = {" ", 1};
    size_t at = n->span.end, start;
    const bool added = n->span.begin == n->span.end;
    uint32_t before = added && at > 0 ? rapt__character_before(target, at, &start) : ' ';
    uint32_t after =
        added && at < target.size ? rapt__utf8_next(target.bytes, target.size, &at) : ' ';
    if (!rapt__utf8_space(before) && needs_blank(before, after, rapt__is_opener(before)))
        rapt__buffer_add(p->out, blank);
    write_mark(p, guard_of(p, n));
    const bool ends = rapt__is_closer(after) || rapt__is_terminator(after) || after == ',';
    if (!rapt__utf8_space(after) && needs_blank(after, before, ends))
        rapt__buffer_add(p->out, blank);
}

/* ---- marks without words ---- */

/* Returns true if byte `at` of a text is white space. */
static bool is_space_at(rapt_text text, size_t at)
{
    return at < text.size && rapt__markup_space(text.bytes[at]);
}

/* If the document has a space on both sides of an image, a comment or an empty element, but the
   translation has only one there, writes the other. `after` is true once the mark has been
   written. */
static void write_other_space(struct placer *p, const struct node *n, bool after)
{
    const rapt_text document = p->in->document, target = p->in->target;
    const size_t close = n->kind == MARK_OPEN ? n->close : n->open;
    const size_t begin = placed_mark(p, n->open)->document.begin, at = n->span.begin;
    if (begin == 0 || !is_space_at(document, begin - 1) ||
        !is_space_at(document, placed_mark(p, close)->document.end))
        return;
    const bool spaced = at == 0 || is_space_at(target, at - 1);
    const bool before_space = at == target.size || is_space_at(target, at);
    if (spaced == before_space || spaced != after) return;
    size_t next = at;
    const uint32_t c = after ? rapt__utf8_next(target.bytes, target.size, &next)
                             : rapt__character_before(target, at, &next);
    if (!rapt__is_unspaced(c)) rapt__buffer_add(p->out, (rapt_text){" ", 1});
}

static void write_children(struct placer *p, size_t index);

/* Writes a node that is not a guard, with its contents. */
static void write_node(struct placer *p, size_t index)
{
    const struct node *n = &p->nodes[index];
    const bool alone = n->span.begin == n->span.end && n->kind != MARK_BREAK && n->open > 0 &&
                       n->close < p->outside;
    if (alone) write_other_space(p, n, false);
    if (n->open > 0) write_mark(p, n->open);
    if (n->kind == MARK_OPEN) write_children(p, index);
    if (n->kind == MARK_OPEN && n->close < p->outside) write_mark(p, n->close);
    if (alone) write_other_space(p, n, true);
}

/* Writes the contents of a node. */
static void write_children(struct placer *p, size_t index)
{
    const struct node *parent = &p->nodes[index];
    size_t at = parent->span.begin, low = 1, high = p->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (p->nodes[p->order[middle]].parent < index)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i < p->count && p->nodes[p->order[i]].parent == index; i++) {
        const struct node *n = &p->nodes[p->order[i]];
        if (n->dropped) continue;
        write_target(p, at, n->span.begin);
        at = rapt__max_size(at, n->span.end);
        if (n->kind == MARK_GUARD)
            write_guard(p, n);
        else
            write_node(p, p->order[i]);
    }
    write_target(p, at, parent->span.end);
}

/* ---- the call ---- */

static rapt_status open_placer(struct placer *p)
{
    rapt_status status = rapt__words_pair(p->in, &p->pairs, p->allocator);
    p->capacity = p->in->mark_count + 1;
    p->outside = p->in->mark_count + 1;
    p->nodes = rapt__alloc(p->allocator, p->capacity * sizeof *p->nodes);
    p->order = rapt__alloc(p->allocator, p->capacity * sizeof *p->order);
    p->class = rapt__alloc(p->allocator, p->pairs.source.count + 1);
    p->taken = rapt__alloc(p->allocator, (p->pairs.target.count + 1) * sizeof *p->taken);
    p->surplus = rapt__alloc(p->allocator, (p->pairs.target.count + 1) * sizeof *p->surplus);
    if (p->surplus) memset(p->surplus, 0, p->pairs.target.count * sizeof *p->surplus);
    return status || !p->nodes || !p->order || !p->class || !p->taken || !p->surplus
               ? RAPT_NO_MEMORY
               : RAPT_OK;
}

static void close_placer(struct placer *p)
{
    rapt__free(p->allocator, p->nodes, p->capacity * sizeof *p->nodes);
    rapt__free(p->allocator, p->order, p->capacity * sizeof *p->order);
    rapt__free(p->allocator, p->class, p->pairs.source.count + 1);
    rapt__free(p->allocator, p->taken, (p->pairs.target.count + 1) * sizeof *p->taken);
    rapt__free(p->allocator, p->surplus, (p->pairs.target.count + 1) * sizeof *p->surplus);
    rapt__words_free(&p->pairs, p->allocator);
    rapt__buffer_free(&p->recased);
}

/* Counts the guards that the translation does not contain. */
static int count_lost(const struct placer *p)
{
    int count = 0;
    for (size_t i = 1; i < p->count; i++)
        count += p->nodes[i].kind == MARK_GUARD && !p->nodes[i].copied;
    return count;
}

rapt_status rapt__place_marks(struct placed *placed, struct buffer *out)
{
    struct placer p = {.in = placed,
                       .allocator = out->allocator,
                       .out = out,
                       .recased = {.allocator = out->allocator}};
    placed->dotless = placed->letters != CASE_USUAL && rapt__case_dotless(placed->target);
    rapt_status status = open_placer(&p);
    if (!status) {
        add_nodes(&p);
        place_nodes(&p);
        find_surplus(&p);
        for (size_t i = 0; i < p.count; i++) p.order[i] = i;
        rapt__sort(p.order + 1, p.count - 1, sizeof *p.order, comes_before, p.nodes);
        write_children(&p, ROOT);
        placed->lost = count_lost(&p);
    }
    close_placer(&p);
    return status || out->failed ? RAPT_NO_MEMORY : RAPT_OK;
}
