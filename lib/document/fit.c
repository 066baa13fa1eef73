/* fit.c - determines how much of a sentence has at most max_length tokens, and where to cut a
   sentence that has more. */
#include "document/document.h"

static size_t fit_characters(rapt_text text, size_t max)
{
    size_t at = 0;
    for (size_t count = 0; at < text.size && count < max; count++)
        rapt__utf8_next(text.bytes, text.size, &at);
    return at;
}

size_t rapt__splitter_fit(const struct sentence_splitter *s, rapt_text text)
{
    size_t max = (size_t)s->options.max_length;
    if (s->options.max_length == 0) return text.size;
    size_t size =
        s->engine.fit ? s->engine.fit(s->engine.user, text, max) : fit_characters(text, max);
    return rapt__min_size(size, text.size);
}

/* ---- sentences that are converted to sentence case ---- */

/* Returns at most `size` bytes of a text, without cutting a character. */
static rapt_text head_of(rapt_text text, size_t size)
{
    if (size >= text.size) return text;
    text.size = size;
    while (text.size > 0 && rapt__utf8_continues(text.bytes[text.size])) text.size--;
    return text;
}

/* Returns true if at least half of the ASCII letters are capitals. Few texts pass this test, so the
   more expensive search for guards is rare. */
static bool may_be_capitals(rapt_text text)
{
    size_t letters = 0, capitals = 0, others = 0;
    for (size_t i = 0; i < text.size; i++) {
        const char c = text.bytes[i];
        letters += (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
        capitals += c >= 'A' && c <= 'Z';
        others += (unsigned char)c >= 0x80;
    }
    return 2 * capitals >= letters && capitals + others > 0;
}

/* Lists the guards and other marks of a part of the text that is split. */
static rapt_status list_marks(const struct sentence_splitter *s, rapt_text part,
                              struct mark_list *list)
{
    const size_t begin = (size_t)(part.bytes - s->text.bytes);
    const struct text_block *block = s->format->next ? &s->reader.block : NULL;
    const struct guarding g = {.protection = &s->protection, .block = block, .base = begin};
    const rapt_span span = {begin, begin + part.size};
    size_t first = 0, last = 0;
    rapt_status status = RAPT_OK;
    if (block) {
        rapt__block_sentence(block, span, &first, &last);
        status = rapt__marks_add_block(list, block, span, first, last);
    }
    return status ? status : rapt__guards_add(&g, part, list, 0);
}

/* Returns the size of the prefix of a sentence that became the first `fits` bytes in sentence
   case. */
static size_t prefix_of(const struct recased *r, size_t fits)
{
    size_t size = r->size;
    while (size > 0 && r->places[size] > fits) size--;
    return size;
}

/* Sets *fits to the size of the longest prefix that fits in sentence case, or to 0 if the model
   reads the text as it is. */
static rapt_status fit_lowered(const struct sentence_splitter *s, rapt_text text, size_t *fits)
{
    const rapt_allocator *allocator = s->reader.block.text.allocator;
    struct mark_list marks = {.allocator = allocator};
    struct recased r = {.text = {.allocator = allocator}};
    rapt_status status = list_marks(s, text, &marks);
    const enum letter_case letters =
        status ? CASE_USUAL : rapt__case_find(&s->recasing, text, marks.items, marks.count);
    *fits = 0;
    if (letters != CASE_USUAL) {
        status = rapt__case_lower(&s->recasing, text, marks.items, marks.count, letters,
                                  s->continued, &r);
        const rapt_text lowered = {r.text.bytes, r.text.size};
        if (!status) *fits = prefix_of(&r, rapt__splitter_fit(s, lowered));
        rapt__recased_free(&r);
    }
    rapt__free(allocator, marks.items, marks.capacity * sizeof *marks.items);
    return status;
}

rapt_status rapt__splitter_fit_part(const struct sentence_splitter *s, rapt_text text, size_t *fits)
{
    enum { LONGER = 4 }; /* how much longer a text may be in sentence case, at first */
    const size_t usual = rapt__splitter_fit(s, text);
    rapt_status status = RAPT_OK;
    *fits = usual;
    if (usual == text.size) return RAPT_OK;
    for (size_t size = LONGER * rapt__max_size(usual, 1); !status; size *= 2) {
        const rapt_text head = head_of(text, size);
        size_t lowered = 0;
        if (!may_be_capitals(head) || rapt_utf8_valid(head) < head.size) break;
        status = fit_lowered(s, head, &lowered);
        *fits = rapt__max_size(*fits, lowered);
        if (lowered < head.size || head.size == text.size) break;
    }
    return status;
}

/* ---- cutting ---- */

static bool is_strong(uint32_t c)
{
    return c == ';' || c == ':' || c == 0x61B || c == 0x2014 || c == 0xFF1A || c == 0xFF1B ||
           rapt__is_terminator(c);
}

static bool is_weak(uint32_t c)
{
    return c == ',' || c == 0x60C || c == 0x2013 || c == 0x3001 || c == 0xFF0C || c == 0xFF64 ||
           rapt__is_closer(c);
}

/* For each kind of cut, the last position within the first `fit` bytes, or 0 if none was found. */
struct cuts {
    size_t strong, weak, blank, character;
};

static void note_cut(struct cuts *cuts, rapt_text text, uint32_t c, size_t end)
{
    size_t next = end;
    uint32_t after = end < text.size ? rapt__utf8_next(text.bytes, text.size, &next) : ' ';
    bool space = rapt__utf8_space(after);
    if (!rapt__is_closer(after) && (space || rapt__is_unspaced(c))) {
        if (is_strong(c)) cuts->strong = end;
        if (is_weak(c)) cuts->weak = end;
    }
    if (space) cuts->blank = end;
    cuts->character = end;
}

size_t rapt__clause_cut(rapt_text text, size_t fit, struct breaks *breaks)
{
    struct cuts cuts = {0, 0, 0, 0};
    for (size_t at = 0; at < text.size;) {
        uint32_t c = rapt__utf8_next(text.bytes, text.size, &at);
        if (at > fit && cuts.character > 0) break;
        note_cut(&cuts, text, c, at);
    }
    /* A cut in the first third would leave a short fragment. */
    if (cuts.strong > fit / 3) return cuts.strong;
    if (cuts.weak > fit / 3) return cuts.weak;
    if (cuts.blank > 0) return cuts.blank;
    size_t line = rapt__breaks_line(breaks, text, cuts.character);
    return line > fit / 3 ? line : cuts.character;
}
