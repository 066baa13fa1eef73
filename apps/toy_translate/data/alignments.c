/* alignments.c - word alignments of the training pairs. The file has a line for each pair, "0-0 1-2
   2-1": source word and target word, counted from 0, where words are separated by spaces. Each link
   between words becomes links between all tokens that have bytes of the source word and all tokens
   that have bytes of the target word. */
#include "data.h"
#include "kit/random.h"
#include <stdlib.h>
#include <string.h>

enum { IN_ORDER = 1 << 16 }; /* bytes per read */

int alignments_open(struct alignments *a, const char *path)
{
    *a = (struct alignments){.name = path};
    int code = file_read(path, &a->bytes, &a->size);
    if (code == EXIT_OK) code = text_check(path, a->bytes, a->size);
    if (code == EXIT_OK) a->starts = xcalloc(1, sizeof *a->starts);
    return code;
}

uint64_t alignments_hash(const struct alignments *a, uint64_t hash)
{
    return hash_bytes(hash, a->bytes, a->size);
}

/* ---- lines ---- */

/* Returns the next line, which must exist. */
static rapt_text alignment_line(struct alignments *a)
{
    const char *begin = a->bytes + a->at, *end = memchr(begin, '\n', a->size - a->at);
    rapt_text text = {begin, end != NULL ? (size_t)(end - begin) : a->size - a->at};
    a->at += text.size + (end != NULL);
    a->line++;
    return text;
}

/* Advances to line number `line`. */
static int line_at(struct alignments *a, size_t line, rapt_text *text)
{
    *text = (rapt_text){NULL, 0};
    while (a->line < line && a->at < a->size) *text = alignment_line(a);
    if (a->line == line) return EXIT_OK;
    return failed("%s has only %zu lines, but there are more pairs", a->name, a->line);
}

/* Reads a number at *at and moves *at past it. Returns false if *at is not at a digit. */
static bool take_word_number(rapt_text text, size_t *at, size_t *number)
{
    size_t first = *at;
    *number = 0;
    for (; *at < text.size && text.bytes[*at] >= '0' && text.bytes[*at] <= '9'; ++*at)
        if (*number < MAX_BYTES) *number = *number * 10 + (size_t)(text.bytes[*at] - '0');
    return *at > first;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\r' || c == '\t';
}

/* Reads the next link of a line; *more becomes false at its end. Returns false if it is
   malformed. */
static bool take_link(rapt_text text, size_t *at, size_t words[2], bool *more)
{
    while (*at < text.size && is_space(text.bytes[*at])) ++*at;
    *more = *at < text.size;
    if (!*more) return true;
    if (!take_word_number(text, at, &words[0]) || *at >= text.size || text.bytes[*at] != '-')
        return false;
    ++*at;
    return take_word_number(text, at, &words[1]) && (*at == text.size || is_space(text.bytes[*at]));
}

/* Fails if there are lines after the first `lines`, which belong to pairs. */
static int no_more(struct alignments *a, size_t lines)
{
    while (a->line < lines && a->at < a->size) alignment_line(a);
    if (a->at == a->size) return EXIT_OK;
    return failed("%s has more lines than the pairs, which have %zu", a->name, lines);
}

/* ---- words and tokens ---- */

/* The ends of tokens in their text, as rapt_tokenizer_encode reports them. */
struct token_ends {
    rapt_text text;
    const size_t *ends; /* [count] */
    size_t count;
};

/* Finds the bytes of word number `word`. Returns false if there are fewer words. */
static bool word_at(rapt_text text, size_t word, size_t *first, size_t *end)
{
    size_t at = 0;
    for (;; word--) {
        while (at < text.size && is_space(text.bytes[at])) at++;
        if (at == text.size) return false;
        *first = at;
        while (at < text.size && !is_space(text.bytes[at])) at++;
        *end = at;
        if (word == 0) return true;
    }
}

/* Finds the tokens *from .. *until - 1 that have bytes of the word. Returns false if the text has
   fewer words. */
static bool word_tokens(const struct token_ends *side, size_t word, size_t *from, size_t *until)
{
    size_t first, end;
    if (!word_at(side->text, word, &first, &end)) return false;
    for (*from = 0; *from < side->count && side->ends[*from] <= first;) ++*from;
    for (*until = *from; *until < side->count && (*until == 0 || side->ends[*until - 1] < end);)
        ++*until;
    return true;
}

static void add_links(struct alignments *a, const size_t from[2], const size_t until[2])
{
    for (size_t t = from[1]; t < until[1] && t <= UINT16_MAX; t++)
        for (size_t s = from[0]; s < until[0] && s <= UINT16_MAX; s++) {
            size_t n = a->starts[a->count + 1]++;
            if (n == a->link_capacity)
                a->links =
                    xreallocarray(a->links, a->link_capacity = 2 * n + 1024, sizeof *a->links);
            a->links[n] = (struct token_link){(uint16_t)s, (uint16_t)t};
        }
}

static int by_target(const void *x, const void *y)
{
    const struct token_link *a = x, *b = y;
    if (a->target != b->target) return (a->target > b->target) - (a->target < b->target);
    return (a->source > b->source) - (a->source < b->source);
}

/* Sorts the links of the example and removes duplicates. */
static void sort_links(struct alignments *a)
{
    size_t first = a->starts[a->count], end = a->starts[a->count + 1], kept = first;
    if (end > first) qsort(a->links + first, end - first, sizeof *a->links, by_target);
    for (size_t i = first; i < end; i++)
        if (i == first || by_target(&a->links[i], &a->links[kept - 1]) != 0)
            a->links[kept++] = a->links[i];
    a->starts[a->count + 1] = kept;
}

/* Adds the links of the next example, from line number `line`. Lines must be requested in
   order. */
static int add_line(struct alignments *a, size_t line, const struct token_ends *source,
                    const struct token_ends *target)
{
    rapt_text text;
    size_t at = 0, words[2], from[2], until[2];
    bool more;
    int code = line_at(a, line, &text);
    if (code != EXIT_OK) return code;
    if (a->count + 1 >= a->capacity)
        a->starts =
            xreallocarray(a->starts, (a->capacity = 2 * a->count + 1024) + 1, sizeof *a->starts);
    a->starts[a->count + 1] = a->starts[a->count];
    for (;;) {
        if (!take_link(text, &at, words, &more))
            return failed("%s:%zu: byte %zu: a link is two numbers with a hyphen between them, "
                          "such as 0-0 1-2",
                          a->name, line, at + 1);
        if (!more) break;
        if (!word_tokens(source, words[0], &from[0], &until[0]) ||
            !word_tokens(target, words[1], &from[1], &until[1]))
            return failed("%s:%zu: link %zu-%zu: the pair has no such word", a->name, line,
                          words[0], words[1]);
        add_links(a, from, until);
    }
    sort_links(a);
    a->count++;
    return EXIT_OK;
}

/* ---- examples ---- */

static int add_example(struct alignments *a, const struct pair_reader *reader,
                       const struct encoded *pair)
{
    const struct token_ends source = {reader->source, pair->source.ends, pair->source.count - 1},
                            target = {reader->target, pair->target.ends, pair->target.count - 2};
    return add_line(a, reader_lines(reader), &source, &target);
}

/* Reads the files of pairs to their end. The alignments have lines for the pairs that are held out,
   too, but no lines beyond those. */
static int check_end(struct alignments *a, struct pair_reader *reader)
{
    bool more = true;
    int code = EXIT_OK;
    while (more && code == EXIT_OK) code = reader_next(reader, &more);
    return code == EXIT_OK ? no_more(a, reader_lines(reader)) : code;
}

/* Returns true if pair number `pair` of the files is held out. *segment must be 0 at first, and
   pairs must be requested in order. */
static bool is_held_out(const struct part *part, size_t *segment, size_t pair)
{
    while (*segment < part->segments && part->marks[*segment].pair < pair) ++*segment;
    const struct mark *mark = &part->marks[*segment];
    return *segment < part->segments && mark->pair == pair && mark->held_out;
}

int alignments_make(struct alignments *a, const struct examples *examples, const struct part *part)
{
    struct pair_reader reader;
    struct encoded pair = {0};
    size_t segment = 0;
    bool more = true;
    int code = reader_open(&reader, part->inputs, IN_ORDER);
    for (size_t i = 0; i < part->pairs && more && code == EXIT_OK; i++) {
        code = reader_next(&reader, &more);
        if (code == EXIT_OK && more && !is_held_out(part, &segment, i) &&
            encode_pair(&pair, examples, &reader))
            code = add_example(a, &reader, &pair);
    }
    if (code == EXIT_OK && a->count != examples->count)
        code = failed("%s changed while it was being read", part->inputs->side[0].name);
    if (code == EXIT_OK) code = check_end(a, &reader);
    reader_close(&reader);
    encoded_free(&pair);
    free(a->bytes);
    a->bytes = NULL;
    a->size = a->at = 0;
    return code;
}

/* ---- batches ---- */

/* Adds the links of an example whose target has `rows` rows from `row` on, after the n sources so
   far. An example with noise has other tokens, and gets no links. Returns the number of sources. */
static size_t add_rows(struct alignments *a, size_t example, bool noisy, size_t row, size_t rows,
                       size_t n)
{
    size_t i = a->starts[example], end = noisy ? i : a->starts[example + 1];
    if (n + (end - i) > a->source_capacity)
        a->sources =
            xreallocarray(a->sources, a->source_capacity = 2 * (n + end - i), sizeof *a->sources);
    for (size_t t = 0; t < rows; t++) {
        for (; i < end && a->links[i].target == t; i++) a->sources[n++] = a->links[i].source;
        a->row_starts[row + t + 1] = (int)n;
    }
    return n;
}

rapt_alignment alignments_batch(struct alignments *a, const struct batches *batches)
{
    const struct examples *examples = batches->examples;
    size_t row = 0, n = 0;
    if (a->row_capacity < batches->budget + 1)
        a->row_starts = xreallocarray(a->row_starts, a->row_capacity = batches->budget + 1,
                                      sizeof *a->row_starts);
    a->row_starts[0] = 0;
    for (size_t i = batches->from; i < batches->end; i++) {
        uint32_t example = batches->order[i];
        size_t rows = examples->target[example] - 1; /* all tokens but begin are predicted */
        n = add_rows(a, example, examples_noisy(examples, example), row, rows, n);
        row += rows;
    }
    return (rapt_alignment){a->row_starts, a->sources};
}

const struct token_link *alignments_links(const struct alignments *a, size_t example, size_t *count)
{
    *count = a->starts[example + 1] - a->starts[example];
    return a->links + a->starts[example];
}

void alignments_free(struct alignments *a)
{
    free(a->bytes);
    free(a->links);
    free(a->starts);
    free(a->row_starts);
    free(a->sources);
    *a = (struct alignments){0};
}
