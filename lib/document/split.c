/* split.c - finds the sentences of a document, one after another, and cuts those that are longer
   than max_length. Prose is searched in blocks of limited size, so the memory needed does not
   depend on the length of the prose. If a sentence does not end within its block, the next block
   begins with that sentence. */
#include "document/document.h"

/* ---- lengths ---- */

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

/* Returns false if a text is unlikely to be in capitals: fewer than half of its ASCII letters are
   capitals, or it has neither ASCII capitals nor non-ASCII characters. This test avoids most of the
   searches for guards, which take longer. */
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

/* Lists the guards and other marks in a part of the text being split. */
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

/* Returns the size of the longest prefix of a sentence whose sentence-case form has at most `fits`
   bytes. */
static size_t prefix_of(const struct recased *r, size_t fits)
{
    size_t size = r->size;
    while (size > 0 && r->places[size] > fits) size--;
    return size;
}

/* Sets *fits to the size of the longest prefix of text whose sentence-case form fits, or to 0 if
   the text is not converted. */
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

/* Sets *fits to the result of rapt__splitter_fit for `text`, which is a prefix of s->sentence. If
   the text is in capitals and more of it fits in sentence case, sets *fits to that larger size. */
static rapt_status fit_part(const struct sentence_splitter *s, rapt_text text, size_t *fits)
{
    enum { LONGER = 4 }; /* the first prefix tried is this many times as long as `usual` */
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

/* The last position of each kind of cut within the first `fit` bytes, or 0 if there is none. */
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

/* Returns the place at which to cut a text whose first part may have at most `fit` bytes. The
   result is greater than 0 and at most text.size. It exceeds `fit` only if the first character is
   longer than `fit`. */
static size_t clause_cut(rapt_text text, size_t fit, struct breaks *breaks)
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

/* ---- blocks and sentences ---- */

/* Returns the end of the block that begins at `begin`. If the rest of the prose is too long, the
   block ends after the last space or line feed near its maximum size or, if there is none, where it
   does not cut a character of valid UTF-8. */
static size_t block_end(const struct sentence_splitter *s, size_t begin)
{
    enum { NEAR = 1024 };
    const char *bytes = s->text.bytes;
    size_t end = begin + SPLITTER_BLOCK;
    if (s->prose.end - begin <= SPLITTER_BLOCK) return s->prose.end;
    for (size_t at = end; at > end - NEAR; at--)
        if (bytes[at - 1] == ' ' || bytes[at - 1] == '\n') return at;
    for (size_t at = end; at > end - 4; at--)
        if (!rapt__utf8_continues(bytes[at])) return at;
    return end;
}

/* Opens the block that begins at `begin`. */
static rapt_status open_block(struct sentence_splitter *s, size_t begin, rapt_message *why)
{
    s->block = (rapt_span){begin, block_end(s, begin)};
    rapt_text block = {s->text.bytes + begin, s->block.end - begin};
    if (s->flat) {
        rapt__plain_flatten(block, s->flat);
        block.bytes = s->flat;
    }
    return rapt__breaks_set(&s->breaks, block, why);
}

/* Returns the protected text that a cut at `at` would divide, or the empty span at `at`. `from` is
   the beginning of the sentence. Callers pass places in ascending order, except when they cut a
   sentence, so the text is searched at most twice. */
static rapt_span protected_around(struct sentence_splitter *s, size_t from, size_t at)
{
    struct protected_search *f = &s->search;
    if (from < f->origin || at <= f->last.begin)
        *f = (struct protected_search){from, from, {from, from}};
    while (f->last.end <= at && f->scanned < at) {
        rapt_span span = {at, at};
        if (rapt__protected_next(&s->protection, s->text, f->scanned, at, &span)) f->last = span;
        f->scanned = span.end;
    }
    return f->last.begin < at && at < f->last.end ? f->last : (rapt_span){at, at};
}

/* Returns the protected text, or the guard in the block, that a cut at `at` would divide, or the
   empty span at `at`. `from` is the beginning of the sentence. */
static rapt_span guard_around(struct sentence_splitter *s, size_t from, size_t at)
{
    const rapt_span guard = protected_around(s, from, at);
    if (guard.begin < at || !s->format->next) return guard;
    return rapt__block_guard(&s->reader.block, at);
}

/* Returns true if the text [begin, end) of the block contains only opening and closing punctuation
   and white space. ICU may end a sentence after an opening quotation mark or bracket that directly
   follows a full stop. */
static bool is_opening(const struct sentence_splitter *s, size_t begin, size_t end)
{
    for (size_t at = begin; at < end;) {
        const uint32_t c = rapt__utf8_next(s->breaks.block.bytes, end, &at);
        if (!rapt__is_opener(c) && !rapt__is_closer(c) && !rapt__utf8_space(c)) return false;
    }
    return true;
}

/* Returns the end of the sentence that begins at `begin`, or the end of the block if that comes
   first. */
static size_t sentence_end(struct sentence_splitter *s, size_t begin)
{
    const size_t from = begin - s->block.begin;
    size_t at = from;
    do at = rapt__breaks_next(&s->breaks, at);
    while (at < s->block.end - s->block.begin &&
           (!rapt__sentence_ends(&s->languages, s->breaks.block, at) || is_opening(s, from, at) ||
            guard_around(s, begin, s->block.begin + at).begin < s->block.begin + at));
    return s->block.begin + at;
}

/* Sets s->sentence to the next sentence of the prose. */
static rapt_status next_sentence(struct sentence_splitter *s, rapt_message *why)
{
    size_t begin = s->prose.begin, end = 0;
    rapt_status status = RAPT_OK;
    if (begin >= s->block.end || begin < s->block.begin) status = open_block(s, begin, why);
    if (!status) end = sentence_end(s, begin);
    if (!status && end == s->block.end && end < s->prose.end && begin > s->block.begin) {
        status = open_block(s, begin, why);
        if (!status) end = sentence_end(s, begin);
    }
    if (status) return status;
    s->continued = s->artificial;
    s->artificial = end == s->block.end && end < s->prose.end;
    s->sentence = (rapt_span){begin, end};
    s->prose.begin = end;
    return RAPT_OK;
}

/* ---- parts of sentences ---- */

/* Moves a cut that is within a guard to the beginning of the guard, or to its end if the text
   begins with the guard. A guard that extends beyond the text is cut. */
static size_t beside_guard(struct sentence_splitter *s, rapt_text text, size_t cut)
{
    const size_t begin = (size_t)(text.bytes - s->text.bytes);
    const rapt_span guard = guard_around(s, begin, begin + cut);
    return rapt__min_size((guard.begin > begin ? guard.begin : guard.end) - begin, text.size);
}

/* Sets *size to the size of the first part of text. The loop is needed because a part may have more
   tokens by itself than at the beginning of a longer text. */
static rapt_status part_size(struct sentence_splitter *s, rapt_text text, size_t *size)
{
    for (*size = text.size;;) {
        const rapt_text rest = {text.bytes, *size};
        size_t fits = 0;
        rapt_status status = fit_part(s, rest, &fits);
        if (status || fits == rest.size) return status;
        *size = beside_guard(s, text, clause_cut(rest, fits, &s->breaks));
        if (*size > fits) return RAPT_OK; /* a single character or guard */
    }
}

/* Returns the end of the first letter of a part, or `begin` if it has none. */
static size_t letter_end(const struct sentence_splitter *s, size_t begin, size_t end)
{
    for (size_t at = begin; at < end;)
        if (rapt__is_letter(rapt__utf8_next(s->text.bytes, end, &at))) return at;
    return begin;
}

/* Returns true if there is a letter outside of text that must not change. The search for protected
   text ends at the first such letter, which saves time because few sentences begin with protected
   text. */
static bool has_letters(const struct sentence_splitter *s, rapt_span part)
{
    const rapt_text text = {s->text.bytes, part.end};
    for (size_t at = part.begin, end; (end = letter_end(s, at, part.end)) > at;) {
        rapt_span guard;
        if (rapt__protected_next(&s->protection, text, at, end, &guard))
            at = guard.end;
        else if (!s->format->next ||
                 rapt__block_has_letters(&s->reader.block, (rapt_span){at, end}))
            return true;
        else
            at = end;
    }
    return false;
}

/* Takes the next part from s->sentence. Sets *found to false if it has nothing to translate,
   because all of its letters are in protected text or guards. */
static rapt_status take_part(struct sentence_splitter *s, struct passage *part, bool *found,
                             rapt_message *why)
{
    const rapt_span whole = rapt__trimmed(s->text, s->sentence);
    const rapt_text text = {s->text.bytes + whole.begin, whole.end - whole.begin};
    size_t size = 0;
    if (text.size > 0 && part_size(s, text, &size))
        return rapt__fail(why, RAPT_NO_MEMORY, "not enough memory to cut a sentence");
    const rapt_span cut = {whole.begin, whole.begin + size};
    *part = (struct passage){rapt__trimmed(s->text, cut), s->continued};
    s->sentence.begin = cut.end == whole.end ? s->sentence.end : cut.end;
    s->continued = true;
    *found = has_letters(s, cut);
    return RAPT_OK;
}

/* Sets s->prose to the next run of prose or, in formats with markup, to the next block. Sets *found
   to false at the end of the document. */
static rapt_status next_prose(struct sentence_splitter *s, bool *found, rapt_message *why)
{
    s->block = (rapt_span){0, 0};
    s->artificial = false;
    if (!s->format->next) {
        *found = rapt__plain_next(s->document, s->options.unwrap != 0, &s->at, &s->prose);
        return RAPT_OK;
    }
    rapt_status status = s->format->next(&s->reader, found, why);
    s->text = (rapt_text){s->reader.block.text.bytes, s->reader.block.text.size};
    s->search.origin = (size_t)-1;
    s->prose = (rapt_span){0, *found ? s->text.size : 0};
    return status;
}

rapt_status rapt__splitter_next(struct sentence_splitter *s, struct passage *part, bool *found,
                                rapt_message *why)
{
    rapt_status status = RAPT_OK;
    *found = false;
    while (!status && !*found) {
        if (s->sentence.begin < s->sentence.end) {
            status = take_part(s, part, found, why);
        } else if (s->prose.begin < s->prose.end) {
            status = next_sentence(s, why);
        } else {
            bool more = false;
            status = next_prose(s, &more, why);
            if (!more) break;
        }
    }
    return status;
}
