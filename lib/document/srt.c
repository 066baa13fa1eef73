/* srt.c - finds the text of subtitles (SubRip and WebVTT, which are similar). A block is all or
   part of the text of a cue: a line that begins with a marker such as "- " begins a new block. */
#include "document/document.h"
#include "document/markup.h"

#include <string.h>

enum { CUE_END }; /* reader->state[CUE_END] is the end of the text of the cue */

static bool is_empty(rapt_text text, size_t at)
{
    while (at < text.size && (text.bytes[at] == ' ' || text.bytes[at] == '\t')) at++;
    return at == text.size || rapt__is_break(text.bytes[at]);
}

/* Returns true if a line is a time code such as 00:00:01,000 --> 00:00:02,500. */
static bool is_time(rapt_text text, size_t at, size_t end)
{
    size_t digits = 0;
    for (; at + 3 < end && memcmp(text.bytes + at, "-->", 3) != 0; at++) {
        const char c = text.bytes[at];
        if (c >= '0' && c <= '9') digits++;
        if (c == 0 || !strchr("0123456789:,. \t", c)) return false;
    }
    return digits >= 4 && at + 3 < end;
}

/* Moves r->at to the text of the next cue, and r->end to the end of that text. */
static void find_cue(struct format_reader *r)
{
    const rapt_text text = r->document;
    while (r->at < text.size) {
        const size_t end = rapt__line_end(text, r->at), next = rapt__line_next(text, end);
        const bool time = is_time(text, r->at, end);
        r->at = next;
        if (time) break;
    }
    for (r->end = r->at; r->end < text.size && !is_empty(text, r->end);)
        r->end = rapt__line_next(text, rapt__line_end(text, r->end));
    r->state[CUE_END] = r->end;
    if (r->at < r->end) r->at = rapt__plain_marks(text, r->at);
}

/* Reads a line break within a cue. Returns true if the block ends there, because the cue ends or
   the next line begins with a marker. */
static bool read_break(struct format_reader *r)
{
    const size_t next = rapt__line_next(r->document, r->at);
    const size_t begin = next < r->end ? rapt__plain_marks(r->document, next) : next;
    size_t blanks = next;
    while (blanks < r->end &&
           (r->document.bytes[blanks] == ' ' || r->document.bytes[blanks] == '\t'))
        blanks++;
    const rapt_span span = {r->at, blanks};
    r->at = begin;
    if (begin != blanks || begin >= r->end) return true;
    rapt__block_mark(&r->block, MARK_BREAK, span, (rapt_text){"", 0}, (rapt_text){"", 0});
    return false;
}

/* Reads a piece of a cue. Returns true at the end of a block. */
static bool read_some(struct format_reader *r)
{
    const char c = r->document.bytes[r->at];
    if (rapt__is_break(c)) return read_break(r);
    if ((c == '<' || c == '&') && rapt__read_loose_tag(r)) return false;
    if (c == '{' && r->at + 1 < r->end && r->document.bytes[r->at + 1] == '\\') { /* {\an8} */
        const char *close = memchr(r->document.bytes + r->at, '}', r->end - r->at);
        if (close) {
            rapt__read_point(r, (size_t)(close - r->document.bytes) + 1);
            return false;
        }
    }
    rapt__read_words(r, "<&{\r\n");
    return false;
}

rapt_status rapt__srt_next(struct format_reader *r, bool *found, rapt_message *why)
{
    *found = false;
    r->end = r->state[CUE_END];
    while (!*found && (r->at < r->end || r->at < r->document.size)) {
        if (r->at >= r->end) find_cue(r);
        rapt__block_clear(&r->block);
        while (r->at < r->end && !rapt__block_full(&r->block))
            if (read_some(r)) break;
        rapt__block_unpair(&r->block);
        *found = rapt__block_has_letters(&r->block, (rapt_span){0, r->block.text.size});
        if (r->block.text.failed) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a block");
    }
    return RAPT_OK;
}

void rapt__write_plain(struct buffer *out, rapt_text text)
{
    rapt__buffer_add(out, text);
}
