/* cut.c - divides a sentence that is too long. */
#include "document/document.h"

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

/* The last place within the first `fit` bytes for each kind of cut; 0 if there is none. */
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
