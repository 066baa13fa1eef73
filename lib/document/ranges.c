/* ranges.c - finds the target words for the marks of a sentence. An element gets the range in which
   words that come from the element outnumber words that come from elsewhere by the largest margin
   (a maximum subarray; Bentley 1984). The range contains no words of the element's siblings, so
   elements never overlap, no matter how the translation orders the words. A guard replaces the
   words that it gets, so it gets only words that spell it or look like an altered copy of it. */
#include "document/document.h"

#include <string.h>

enum { OF_OTHERS = -1, OF_SIBLING = -2, OF_NODE = 1 };

/* Finds the source words that belong to a node and to its siblings, and the target words that have
   already been assigned to siblings. */
static void classify(struct placer *p, size_t index)
{
    const struct node *n = &p->nodes[index];
    memset(p->class, OF_OTHERS, p->pairs.source.count);
    memset(p->taken, 0, p->pairs.target.count * sizeof *p->taken);
    for (size_t i = 1; i < p->count; i++) {
        const struct node *sibling = &p->nodes[i];
        if (i == index || sibling->parent != n->parent) continue;
        if (sibling->last > sibling->first)
            memset(p->class + sibling->first, OF_SIBLING, sibling->last - sibling->first);
        for (size_t w = sibling->begin; i < index && w < sibling->end; w++) p->taken[w] = true;
    }
    memset(p->class + n->first, OF_NODE, n->last - n->first);
}

/* Returns the value of a target word in a range of a node: 1 if it comes from the node, 0 if it has
   no source word, -1 if it comes from elsewhere, and OF_SIBLING if the range must not contain
   it. */
static int value_of(const struct placer *p, size_t word)
{
    const int source = p->pairs.aligned[word];
    if (p->taken[word]) return OF_SIBLING;
    return source == NOT_ALIGNED ? 0 : p->class[source];
}

/* Sets the range of an element that begins and ends within the sentence. Among equally good ranges
   with the same first word, takes the longest, which contains the most words of the element. */
static void best_range(const struct placer *p, struct node *n, size_t low, size_t high)
{
    long sum = 0, best = 0, own = 0;
    size_t from = low;
    for (size_t w = low; w < high; w++) {
        const int value = value_of(p, w);
        sum += value, own += value == OF_NODE;
        if (value == OF_SIBLING || sum < 0 || own == 0) sum = 0, own = 0, from = w + 1;
        const bool longer = sum == best && n->begin == from && value == OF_NODE;
        if (sum > best || longer) best = sum, n->begin = from, n->end = w + 1;
    }
}

/* Sets the range of an element that began before the sentence. */
static void best_beginning(const struct placer *p, struct node *n, size_t low, size_t high)
{
    long sum = 0, best = 0;
    n->begin = n->end = low;
    for (size_t w = low; w < high && value_of(p, w) != OF_SIBLING; w++) {
        sum += value_of(p, w);
        if (sum > best) best = sum, n->end = w + 1;
    }
}

/* Sets the range of an element that ends after the sentence. */
static void best_ending(const struct placer *p, struct node *n, size_t low, size_t high)
{
    long sum = 0, best = 0;
    n->begin = n->end = high;
    for (size_t w = high; w > low && value_of(p, w - 1) != OF_SIBLING; w--) {
        sum += value_of(p, w - 1);
        if (sum > best) best = sum, n->begin = w - 1;
    }
}

/* Returns the number of target words first .. last that come from the node, or -1 if one of them
   belongs to a sibling. */
static long count_own(const struct placer *p, size_t first, size_t last)
{
    long count = 0;
    for (size_t w = first; w <= last; w++) {
        const int source = p->pairs.aligned[w];
        if (p->taken[w]) return -1;
        count += source != NOT_ALIGNED && p->class[source] == OF_NODE;
    }
    return count;
}

/* Looks for a copy of a guard's contents in target words [low, high). Takes the copy with the most
   words that come from the guard. If the contents are a single byte other than a letter, at least
   one word of the copy must come from the guard. */
static void find_contents(const struct placer *p, struct node *n, size_t low, size_t high)
{
    const struct mark *m = placed_mark(p, n->open);
    const struct word_spans *words = &p->pairs.target;
    const size_t size = m->text.end - m->text.begin;
    const rapt_text contents = {p->in->source.bytes + m->text.begin, size};
    long most = rapt__has_letters(contents) || size > 1 ? -1 : 0;
    for (size_t w = low, end = low; w < high; w++) {
        const size_t begin = words->spans[w].begin;
        if (end < w) end = w;
        while (end < high && words->spans[end].end < begin + size) end++;
        if (end == high || words->spans[end].end != begin + size) continue;
        if (memcmp(p->in->target.bytes + begin, contents.bytes, size) != 0) continue;
        const long own = count_own(p, w, end);
        if (own <= most) continue;
        most = own;
        n->copied = true;
        n->begin = w, n->end = end + 1;
    }
}

/* ---- guards that the model has altered ---- */

static rapt_text target_text(const struct placer *p, size_t first, size_t last)
{
    const rapt_span *words = p->pairs.target.spans;
    return (rapt_text){p->in->target.bytes + words[first].begin,
                       words[last - 1].end - words[first].begin};
}

/* Returns the end of the longest run of target words that begins with `word` and spells the
   contents of a guard from byte `at` on. White space and the case of ASCII letters are ignored. The
   run ends before the first word that comes from elsewhere. *size receives the total size of its
   words in bytes. */
static size_t spelled(const struct placer *p, rapt_text contents, size_t at, size_t word,
                      size_t high, size_t *size)
{
    size_t end = word;
    for (*size = 0; end < high && value_of(p, end) >= 0; end++) {
        const rapt_text text = target_text(p, end, end + 1);
        if (!rapt__word_follows(contents, &at, text)) break;
        *size += text.size;
    }
    return end;
}

/* Returns true if a run that spells `size` bytes of a guard is long enough to be an altered copy of
   it: more than half of the bytes that are not white space, or exactly half of them if the run has
   no letters, such as the 5 in $5. */
static bool is_most(rapt_text contents, rapt_text run, size_t size)
{
    size_t all = 0;
    for (size_t i = 0; i < contents.size; i++) all += !rapt__markup_space(contents.bytes[i]);
    return 2 * size > all || (2 * size == all && !rapt__has_letters(run));
}

/* Returns true if a target word is this punctuation mark. */
static bool is_mark(const struct placer *p, size_t word, char mark)
{
    const rapt_text text = target_text(p, word, word + 1);
    const bool digit = mark >= '0' && mark <= '9';
    return text.size == 1 && text.bytes[0] == mark && !digit && !rapt__has_letters(text);
}

/* Returns the end of the run of target words that begins with `word` and is enclosed in the
   brackets, quotation marks or other punctuation of a guard, such as {nome} for {name}. None of its
   words comes from elsewhere, and it has no more words than the guard. Returns `word` if there is
   no such run. */
static size_t bracketed(const struct placer *p, const struct node *n, rapt_text contents,
                        size_t word, size_t high)
{
    const size_t limit = rapt__min_size(high, word + n->last - n->first);
    size_t found = word;
    if (!is_mark(p, word, contents.bytes[0])) return word;
    for (size_t end = word; end < limit && value_of(p, end) >= 0; end++)
        if (end > word + 1 && is_mark(p, end, contents.bytes[contents.size - 1])) found = end + 1;
    return found;
}

/* Returns true if the target words from `word` on begin with the contents of another guard. */
static bool is_other_guard(const struct placer *p, const struct node *n, size_t word)
{
    const rapt_text target = p->in->target;
    const size_t begin = p->pairs.target.spans[word].begin;
    for (size_t i = 1; i < p->count; i++) {
        const struct node *other = &p->nodes[i];
        if (other == n || other->kind != MARK_GUARD) continue;
        const rapt_text contents = guard_contents(p, other);
        if (contents.size > 0 && contents.size <= target.size - begin &&
            memcmp(target.bytes + begin, contents.bytes, contents.size) == 0)
            return true;
    }
    return false;
}

bool rapt__is_placeholder(const struct placer *p, const struct node *n)
{
    bool numbered;
    if (n->kind != MARK_GUARD) return false;
    const rapt_text contents = guard_contents(p, n);
    return contents.size > 1 && rapt__placeholder_size(contents, 0, &numbered) == contents.size;
}

/* Looks for a run of words that spells the beginning of a guard, and at least three quarters of it,
   such as %(name) for %(name)s. Such a run belongs to the guard no matter where the model attended.
   If the target also has the whole placeholder, the model was probably forced to write it in a
   worse place. */
static void find_beginning(const struct placer *p, struct node *n, size_t low, size_t high)
{
    enum { LEAST = 4 }; /* bytes */
    const rapt_text contents = guard_contents(p, n);
    size_t most = 0;
    for (size_t w = low; w < high; w++) {
        size_t size = 0, at = 0, end = w;
        for (; end < high && !p->taken[end]; end++) {
            const rapt_text text = target_text(p, end, end + 1);
            if (!rapt__word_follows(contents, &at, text)) break;
            size += text.size;
        }
        if (size <= most || size < LEAST || 4 * size < 3 * contents.size || size == contents.size ||
            is_other_guard(p, n, w))
            continue;
        most = size;
        n->begin = w, n->end = end;
    }
}

/* Looks for altered copies of a guard that contain a word aligned with it, and takes the longest.
   Words that are aligned with the guard but do not resemble it are ignored: attention makes
   mistakes, so replacing such a word could lose a word of the text. */
static void find_likeness(const struct placer *p, struct node *n, size_t low, size_t high)
{
    const rapt_text contents = guard_contents(p, n);
    size_t most = 0;
    for (size_t w = low; w < high && contents.size > 0; w++) {
        size_t best = bracketed(p, n, contents, w, high), size;
        for (size_t at = 0; value_of(p, w) >= 0 && at < contents.size; at++) {
            const size_t end = spelled(p, contents, at, w, high, &size);
            if (end > best && is_most(contents, target_text(p, w, end), size)) best = end;
        }
        if (best == w || target_text(p, w, best).size <= most) continue;
        if (count_own(p, w, best - 1) <= 0) continue;
        most = target_text(p, w, best).size;
        n->begin = w, n->end = best;
    }
}

void rapt__place_words(struct placer *p, size_t index)
{
    struct node *n = &p->nodes[index];
    const struct node *parent = &p->nodes[n->parent];
    const size_t low = parent->begin, high = parent->end;
    n->empty = true;
    if (parent->empty || n->kind == MARK_POINT || n->kind == MARK_BREAK) return;
    classify(p, index);
    if (n->kind == MARK_GUARD) {
        find_contents(p, n, low, high);
        if (!n->copied || rapt__is_placeholder(p, n)) find_beginning(p, n, low, high);
        if (n->begin == n->end && !p->pairs.guessed) find_likeness(p, n, low, high);
    } else if (n->open == 0)
        best_beginning(p, n, low, high);
    else if (n->close == p->outside)
        best_ending(p, n, low, high);
    else if (n->last > n->first)
        best_range(p, n, low, high);
    n->empty = n->begin == n->end && n->open > 0 && n->close < p->outside;
}
