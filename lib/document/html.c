/* html.c - finds the blocks of HTML: the text between the tags of paragraphs, headings, cells and
   the like. Other tags become marks in the text. Elements that are not translated are kept; within
   a block they become guards or points (see markup.h). */
#include "document/document.h"
#include "document/markup.h"

#include <string.h>

/* Elements that end a block. */
static const char blocks[] =
    "address article aside audio base blockquote body br button canvas caption center col colgroup "
    "dd details dialog dir div dl dt embed fieldset figcaption figure footer form frame frameset "
    "h1 "
    "h2 h3 h4 h5 h6 head header hgroup hr html input legend li link listing main map menu meta nav "
    "noscript object ol optgroup option p param plaintext pre search section select slot source "
    "summary table tbody td template tfoot th thead title tr track ul video";
/* Elements that have no contents and no closing tag. */
static const char voids[] =
    "area base br col embed frame hr img input link meta param source track "
    "wbr";
/* Elements whose contents are kept and are not parsed. */
static const char raws[] = "script style xmp iframe noembed noframes textarea";
/* Elements that are not translated by default, because their contents are code, formulas or
   drawings. */
static const char codes[] = "code kbd listing math pre samp svg template tt var";
/* Elements whose closing tags also end all elements that are still open within them. */
static const char containers[] = "article aside blockquote body details div dl fieldset figure "
                                 "footer form header html li main nav ol section table tbody td "
                                 "tfoot th thead tr ul";
/* Elements that end where the next element of the same kind begins. */
static const char open_ended[] = "dd dt li optgroup option p tbody td tfoot th thead tr";

enum { TITLE_END }; /* reader->state[TITLE_END] is the end of the title, within which < is text */

/* ---- elements that are not translated ---- */

/* Returns the beginning of the closing tag of a raw element, or the size of the document if there
   is none. */
static size_t raw_end(rapt_text document, const struct tag *opening)
{
    for (size_t at = opening->span.end; at < document.size; at++) {
        const char *next = memchr(document.bytes + at, '<', document.size - at);
        if (!next) break;
        at = (size_t)(next - document.bytes);
        if (at + 2 + opening->name.size >= document.size || document.bytes[at + 1] != '/') continue;
        const char after = document.bytes[at + 2 + opening->name.size];
        if (rapt__names_equal((rapt_text){document.bytes + at + 2, opening->name.size},
                              opening->name) &&
            (rapt__markup_space(after) || after == '/' || after == '>'))
            return at;
    }
    return document.size;
}

/* Returns the end of a raw element, including its closing tag. */
static size_t raw_element_end(rapt_text document, const struct tag *opening)
{
    const size_t end = raw_end(document, opening);
    return end < document.size ? rapt__tag_read(document, end, false).span.end : end;
}

/* Counters used in the search for the end of an element: open elements of the same name, including
   the element itself, and open containers. */
struct nesting {
    size_t same, containers;
};

/* Returns true if the element ends before this tag because its closing tag is missing. */
static bool ends_before(const struct tag *opening, const struct tag *tag, struct nesting open)
{
    if (open.containers > 0) return false;
    if (tag->kind == TAG_CLOSE)
        return rapt__name_among(tag->name, containers) ||
               (!rapt__name_among(opening->name, blocks) &&
                rapt__name_among(tag->name, "p h1 h2 h3 h4 h5 h6"));
    if (rapt__same_name(opening->name, "p")) return rapt__name_among(tag->name, blocks);
    return rapt__names_equal(tag->name, opening->name) &&
           rapt__name_among(opening->name, open_ended);
}

/* Returns the end of the contents of an element. Sets *end to the end of its closing tag or, if
   that is missing, to the end of the contents. */
static size_t contents_end(rapt_text document, const struct tag *opening, size_t *end)
{
    struct nesting open = {1, 0};
    for (size_t at = opening->span.end; at < document.size;) {
        const char *next = memchr(document.bytes + at, '<', document.size - at);
        if (!next) break;
        at = (size_t)(next - document.bytes);
        const struct tag tag = rapt__tag_read(document, at, false);
        const bool same = rapt__names_equal(tag.name, opening->name),
                   closes = tag.kind == TAG_CLOSE;
        if (tag.kind != TAG_NONE && !tag.ended) break;
        *end = tag.span.end;
        if (closes && same && --open.same == 0) return at;
        *end = at;
        if (tag.kind != TAG_NONE && tag.kind != TAG_OTHER && !(closes && same) &&
            ends_before(opening, &tag, open))
            return at;
        if (same && !closes) open.same++;
        if (!same && rapt__name_among(tag.name, containers))
            open.containers = closes ? open.containers - 1 : open.containers + 1;
        at = tag.kind == TAG_NONE ? at + 1 : tag.span.end;
        if (tag.kind == TAG_OPEN && rapt__name_among(tag.name, raws))
            at = raw_element_end(document, &tag);
    }
    *end = document.size;
    return document.size;
}

static bool has_word(rapt_text list, const char *word)
{
    const size_t size = strlen(word);
    for (size_t at = 0; at + size <= list.size; at++)
        if (memcmp(list.bytes + at, word, size) == 0 &&
            (at == 0 || rapt__markup_space(list.bytes[at - 1])) &&
            (at + size == list.size || rapt__markup_space(list.bytes[at + size])))
            return true;
    return false;
}

static bool is_kept(rapt_text document, const struct tag *tag)
{
    rapt_text value;
    if (rapt__tag_attribute(document, tag, "translate", &value))
        return rapt__same_name(value, "no");
    if (rapt__tag_attribute(document, tag, "class", &value) && has_word(value, "notranslate"))
        return true;
    return rapt__name_among(tag->name, codes);
}

/* ---- reading ---- */

/* Writes the contents of a guard, without tags and with single spaces, into out [capacity]. Returns
   the size, or 0 if the contents are too long for a guard. */
static size_t guard_text(rapt_text document, rapt_span contents, char *out, size_t capacity)
{
    size_t size = 0;
    for (size_t at = contents.begin; at < contents.end;) {
        const struct tag tag = rapt__tag_read(document, at, false);
        uint32_t code = (unsigned char)document.bytes[at];
        size_t next = at + 1;
        if (size + 4 > capacity) return 0;
        if (tag.kind != TAG_NONE) {
            at = tag.span.end;
            continue;
        }
        if (code == '&') {
            const size_t reference = rapt__reference_read(document, at, false, &code);
            next = reference ? at + reference : next;
            if (!reference) code = '&';
        } else if (code >= 0x80) {
            next = at;
            code = rapt__utf8_next(document.bytes, document.size, &next);
        }
        at = next;
        if (code < 0x80 && rapt__markup_space((char)code)) code = ' ';
        if (code == 0 || (code == ' ' && (size == 0 || out[size - 1] == ' '))) continue;
        size += rapt__utf8_encode(code, out + size);
    }
    if (size > 0 && out[size - 1] == ' ') size--;
    return size + 4 > capacity ? 0 : size;
}

/* Reads an element that is not translated. Returns true if it ends the block, because it is a block
   element or because its closing tag is missing. */
static bool keep_element(struct format_reader *r, const struct tag *tag)
{
    enum { GUARD = 128 };
    char text[GUARD];
    size_t end = 0;
    const size_t contents = contents_end(r->document, tag, &end);
    r->at = end;
    if (rapt__name_among(tag->name, blocks) || contents == end) return true;
    const size_t size =
        guard_text(r->document, (rapt_span){tag->span.end, contents}, text, sizeof text);
    const rapt_span trimmed = rapt__trimmed((rapt_text){text, size}, (rapt_span){0, size});
    rapt_text content = {text + trimmed.begin, trimmed.end - trimmed.begin};
    if (rapt_utf8_valid(content) < content.size) content.size = 0;
    rapt__block_mark(&r->block, content.size > 0 ? MARK_GUARD : MARK_POINT,
                     (rapt_span){tag->span.begin, end}, tag->name, content);
    return false;
}

bool rapt__html_is_block(const struct tag *tag)
{
    return rapt__name_among(tag->name, blocks) || rapt__name_among(tag->name, raws);
}

bool rapt__html_tag(struct format_reader *r, const struct tag *tag)
{
    struct text_block *b = &r->block;
    const rapt_text none = {"", 0};
    r->at = tag->span.end;
    if (!tag->ended) return true; /* the rest of the document is kept */
    if (tag->kind == TAG_OTHER) {
        rapt__block_mark(b, MARK_POINT, tag->span, tag->name, none);
        return false;
    }
    const bool opens = tag->kind != TAG_CLOSE;
    if (opens && rapt__same_name(tag->name, "plaintext")) r->at = r->document.size;
    if (opens && rapt__same_name(tag->name, "title"))
        r->state[TITLE_END] = raw_end(r->document, tag);
    if (opens && rapt__name_among(tag->name, raws)) {
        const bool script = rapt__name_among(tag->name, "script style");
        r->at = raw_element_end(r->document, tag);
        if (script)
            rapt__block_mark(b, MARK_POINT, (rapt_span){tag->span.begin, r->at}, tag->name, none);
        return !script;
    }
    if (rapt__name_among(tag->name, voids)) {
        if (rapt__name_among(tag->name, blocks)) return true;
        rapt__block_mark(b, MARK_POINT, tag->span, tag->name, none);
        return false;
    }
    if (opens && is_kept(r->document, tag)) return keep_element(r, tag);
    if (rapt__name_among(tag->name, blocks)) return true;
    rapt__block_mark(b, opens ? MARK_OPEN : MARK_CLOSE, tag->span, tag->name, none);
    return false;
}

/* Reads a tag, a character reference or a run of text. Returns true at the end of a block. */
static bool read_some(struct format_reader *r)
{
    const char c = r->document.bytes[r->at];
    if (c == '<' && r->at >= r->state[TITLE_END]) {
        const struct tag tag = rapt__tag_read(r->document, r->at, false);
        if (tag.kind != TAG_NONE) return rapt__html_tag(r, &tag);
    }
    if (c == '&')
        rapt__read_reference(r, false);
    else
        rapt__read_words(r, "<&");
    return false;
}

rapt_status rapt__html_next(struct format_reader *r, bool *found, rapt_message *why)
{
    *found = false;
    rapt__block_clear(&r->block);
    while (r->at < r->document.size && !*found) {
        const bool ends = read_some(r) || rapt__block_full(&r->block);
        if (!ends && r->at < r->document.size) continue;
        *found = rapt__block_has_letters(&r->block, (rapt_span){0, r->block.text.size});
        if (r->block.text.failed) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a block");
        if (!*found) rapt__block_clear(&r->block);
    }
    return RAPT_OK;
}
