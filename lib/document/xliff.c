/* xliff.c - finds the units of XLIFF 1.2 and 2.0 (OASIS) that have no translation or are marked as
   untranslated. A block is the contents of a <source>, or a part of them if they are long. The
   translation is written to the <target> that follows the <source>, or to a new one if there is
   none. The whole document is checked first, since the units of a malformed document cannot be
   trusted. */
#include "document/document.h"
#include "document/markup.h"

#include <string.h>

/* Indices in reader->state. */
enum {
    CHECKED, /* 1 after the document has been checked */
    FROM,    /* beginning of the remaining part of the source that is being translated, or 0 */
    INITIAL  /* 1 if the segment is marked as untranslated, even if it has a target */
};

static const rapt_text none = {"", 0};

/* ---- well-formed documents ---- */

static size_t line_of(rapt_text text, size_t at)
{
    size_t line = 1;
    for (size_t i = 0; i < at; i++) line += text.bytes[i] == '\n';
    return line;
}

/* Returns the next tag at or after `at`, with kind TAG_NONE at the end of the document. */
static struct tag next_tag(rapt_text text, size_t at)
{
    while (at < text.size) {
        const char *next = memchr(text.bytes + at, '<', text.size - at);
        if (!next) break;
        at = (size_t)(next - text.bytes);
        const struct tag tag = rapt__tag_read(text, at, true);
        if (tag.kind != TAG_NONE) return tag;
        at++;
    }
    return (struct tag){TAG_NONE, {text.size, text.size}, none, true};
}

static int name_size(rapt_text name)
{
    return (int)rapt__min_size(name.size, 40);
}

/* Returns true if two names are equal in XML, which is case-sensitive. */
static bool is_same(rapt_text a, rapt_text b)
{
    return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

/* Returns true if the name of a tag is in a list of names, which are separated by single spaces. */
static bool is_named(const struct tag *tag, const char *names)
{
    for (const char *end; *names; names = *end ? end + 1 : end) {
        end = names + strcspn(names, " ");
        if (is_same(tag->name, (rapt_text){names, (size_t)(end - names)})) return true;
    }
    return false;
}

/* Checks that the text [from, to) between tags does not contain <. XML forbids it there, and
   together with the words of a translation it could form a tag. */
static rapt_status check_text(rapt_text text, size_t from, size_t to, rapt_message *why)
{
    const char *stray = memchr(text.bytes + from, '<', to - from);
    if (!stray) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_FILE,
                      "line %zu: < does not start a tag; in text it must be written as &lt;",
                      line_of(text, (size_t)(stray - text.bytes)));
}

/* Checks that tags are complete, that elements are closed in order and not nested too deeply, that
   < occurs only in tags, and that the first element is <xliff>. */
static rapt_status check_document(rapt_text text, rapt_message *why)
{
    enum { DEEPEST = 200 };
    rapt_text open[DEEPEST];
    size_t depth = 0, elements = 0;
    for (size_t at = 0; at < text.size;) {
        const struct tag tag = next_tag(text, at);
        const int size = name_size(tag.name);
        rapt_status status = check_text(text, at, tag.span.begin, why);
        if (status) return status;
        at = tag.span.end;
        if (tag.kind == TAG_NONE) break;
        if (!tag.ended)
            return rapt__fail(why, RAPT_BAD_FILE, "line %zu: the file ends within a tag or comment",
                              line_of(text, tag.span.begin));
        if (tag.kind == TAG_OTHER) continue;
        if (tag.kind == TAG_EMPTY && text.bytes[tag.span.end - 3] == '/')
            return rapt__fail(why, RAPT_BAD_FILE, "line %zu: <%.*s//> has one / too many",
                              line_of(text, tag.span.begin), size, tag.name.bytes);
        if (elements++ == 0 && !is_named(&tag, "xliff"))
            return rapt__fail(why, RAPT_BAD_FILE,
                              "the first element is <%.*s>; XLIFF begins with <xliff>, without a "
                              "prefix",
                              size, tag.name.bytes);
        if (tag.kind == TAG_CLOSE && (depth == 0 || !is_same(open[depth - 1], tag.name)))
            return rapt__fail(why, RAPT_BAD_FILE,
                              "line %zu: </%.*s> does not close the last open element",
                              line_of(text, tag.span.begin), size, tag.name.bytes);
        if (tag.kind == TAG_CLOSE) depth--;
        if (tag.kind != TAG_OPEN) continue;
        if (depth == DEEPEST)
            return rapt__fail(why, RAPT_BAD_FILE,
                              "line %zu: elements are nested more than %d levels deep",
                              line_of(text, tag.span.begin), DEEPEST);
        open[depth++] = tag.name;
    }
    if (depth > 0)
        return rapt__fail(why, RAPT_BAD_FILE, "<%.*s> is not closed", name_size(open[depth - 1]),
                          open[depth - 1].bytes);
    if (elements == 0) return rapt__fail(why, RAPT_BAD_FILE, "the file has no XML element");
    return RAPT_OK;
}

/* Returns the closing tag of an element in a document that has been checked. */
static struct tag closing_tag(rapt_text text, const struct tag *opening)
{
    size_t depth = 1;
    for (size_t at = opening->span.end;;) {
        const struct tag tag = next_tag(text, at);
        if (tag.kind == TAG_OPEN) depth++;
        if (tag.kind == TAG_NONE || (tag.kind == TAG_CLOSE && --depth == 0)) return tag;
        at = tag.span.end;
    }
}

static bool has_value(rapt_text text, const struct tag *tag, const char *name, const char *values)
{
    rapt_text value;
    return rapt__tag_attribute(text, tag, name, &value) && rapt__name_among(value, values);
}

/* ---- units ---- */

static bool is_blank(rapt_text text, rapt_span span)
{
    while (span.begin < span.end && rapt__markup_space(text.bytes[span.begin])) span.begin++;
    return span.begin == span.end;
}

/* Returns the first tag after *after, ignoring comments and <seg-source> elements. Moves *after to
   the end of what was ignored. */
static struct tag following(rapt_text text, size_t *after)
{
    for (;;) {
        const struct tag tag = next_tag(text, *after);
        if (tag.kind == TAG_OPEN && is_named(&tag, "seg-source"))
            *after = closing_tag(text, &tag).span.end;
        else if (tag.kind == TAG_OTHER)
            *after = tag.span.end;
        else
            return tag;
    }
}

/* Decides where the translation of a source is written. Returns false if the source is already
   translated. */
static bool find_place(const struct format_reader *r, const struct tag *source, size_t end,
                       struct elsewhere *e)
{
    const rapt_text text = r->document;
    size_t after = end, indent = source->span.begin;
    const struct tag target = following(text, &after);
    *e = (struct elsewhere){.before = "", .after = "", .given = true};
    if (is_named(&target, "target") && target.kind == TAG_OPEN) {
        e->place = (rapt_span){target.span.end, closing_tag(text, &target).span.begin};
        return is_blank(text, e->place) || r->state[INITIAL] ||
               has_value(text, &target, "state", "new needs-translation");
    }
    if (is_named(&target, "target") && target.kind == TAG_EMPTY) {
        e->place = (rapt_span){target.span.end - 2, target.span.end};
        e->before = ">", e->after = "</target>";
        return true;
    }
    while (indent > 0 && rapt__markup_space(text.bytes[indent - 1])) indent--;
    e->place = (rapt_span){after, after};
    e->indent = (rapt_span){indent, source->span.begin};
    e->before = "<target>", e->after = "</target>";
    return true;
}

/* Reads a tag outside of sources. If it begins a source to be translated, sets r->state[FROM] and
   r->end to the beginning and the end of the source's contents. */
static void read_unit(struct format_reader *r)
{
    const rapt_text text = r->document;
    const struct tag tag = next_tag(text, r->at);
    r->at = tag.span.end;
    if (tag.kind != TAG_OPEN) return;
    if (is_named(&tag, "segment")) r->state[INITIAL] = has_value(text, &tag, "state", "initial");
    if (is_named(&tag, "trans-unit")) r->state[INITIAL] = 0;
    const bool kept = is_named(&tag, "alt-trans matches mtc:matches target") ||
                      has_value(text, &tag, "translate", "no");
    if (kept) r->at = closing_tag(text, &tag).span.end;
    if (kept || !is_named(&tag, "source")) return;
    const struct tag close = closing_tag(text, &tag);
    r->at = close.span.end;
    if (!find_place(r, &tag, close.span.end, &r->block.elsewhere)) return;
    r->block.elsewhere.original = (rapt_span){tag.span.end, close.span.begin};
    r->state[FROM] = tag.span.end;
    r->end = close.span.begin;
}

/* ---- sources ---- */

/* Reads an element that is kept: as a guard if `seen` (the model should see its contents) and the
   contents are short plain text, otherwise as a point. */
static void keep_element(struct format_reader *r, const struct tag *tag, bool seen)
{
    enum { LONGEST = 128 };
    const size_t end =
        tag->kind == TAG_OPEN ? closing_tag(r->document, tag).span.end : tag->span.end;
    const size_t contents = tag->kind == TAG_OPEN ? closing_tag(r->document, tag).span.begin : end;
    const rapt_span span = {tag->span.end, contents};
    const rapt_text text = {r->document.bytes + span.begin, span.end - span.begin};
    const rapt_span trimmed = rapt__trimmed(text, (rapt_span){0, text.size});
    const bool plain = text.size > 0 && text.size <= LONGEST &&
                       !memchr(text.bytes, '<', text.size) && !memchr(text.bytes, '&', text.size) &&
                       trimmed.end - trimmed.begin == text.size &&
                       rapt_utf8_valid(text) == text.size && !memchr(text.bytes, '\n', text.size);
    if (!seen || !plain) {
        rapt__read_point(r, end);
        return;
    }
    rapt__block_mark(&r->block, MARK_GUARD, (rapt_span){r->at, end}, none, text);
    r->at = end;
}

/* Adds a mark for a tag that begins or ends a pair, or for an element that does so and contains
   native code. The id of the pair is the name of both marks. */
static void read_paired(struct format_reader *r, const struct tag *tag, bool opens)
{
    const size_t end =
        tag->kind == TAG_OPEN ? closing_tag(r->document, tag).span.end : tag->span.end;
    rapt_text id = none;
    if (!(!opens && rapt__tag_attribute(r->document, tag, "startRef", &id)) &&
        !rapt__tag_attribute(r->document, tag, "rid", &id))
        rapt__tag_attribute(r->document, tag, "id", &id);
    rapt__block_mark(&r->block, opens ? MARK_OPEN : MARK_CLOSE, (rapt_span){r->at, end}, id, none);
    r->at = end;
}

static void read_tag(struct format_reader *r, const struct tag *tag)
{
    if (tag->kind == TAG_OTHER) {
        rapt__read_point(r, tag->span.end);
    } else if (tag->kind == TAG_CLOSE) {
        rapt__block_mark(&r->block, MARK_CLOSE, tag->span, tag->name, none);
        r->at = tag->span.end;
    } else if (is_named(tag, "bpt bx sc")) {
        read_paired(r, tag, true);
    } else if (is_named(tag, "ept ex ec")) {
        read_paired(r, tag, false);
    } else if (has_value(r->document, tag, "translate", "no") ||
               has_value(r->document, tag, "mtype", "protected")) {
        keep_element(r, tag, true);
    } else if (tag->kind == TAG_EMPTY || is_named(tag, "ph it")) {
        keep_element(r, tag, false);
    } else {
        rapt__block_mark(&r->block, MARK_OPEN, tag->span, tag->name, none);
        r->at = tag->span.end;
    }
}

/* Reads the next block of the source that is being translated. Returns true if it has letters. */
static bool read_source(struct format_reader *r)
{
    const size_t next = r->at;
    r->at = r->state[FROM];
    rapt__block_clear(&r->block);
    while (r->at < r->end && !rapt__block_full(&r->block)) {
        const char c = r->document.bytes[r->at];
        const struct tag tag = rapt__tag_read(r->document, r->at, true);
        if (tag.kind != TAG_NONE)
            read_tag(r, &tag);
        else if (c == '&')
            rapt__read_reference(r, true);
        else
            rapt__read_words(r, "<&");
    }
    r->state[FROM] = r->at;
    r->at = next;
    return rapt__block_has_letters(&r->block, (rapt_span){0, r->block.text.size});
}

rapt_status rapt__xliff_next(struct format_reader *r, bool *found, rapt_message *why)
{
    rapt_status status = r->state[CHECKED] ? RAPT_OK : check_document(r->document, why);
    r->state[CHECKED] = 1;
    *found = false;
    while (!status && !*found) {
        if (r->state[FROM] > 0 && r->state[FROM] < r->end)
            *found = read_source(r);
        else if (r->at < r->document.size)
            read_unit(r);
        else
            break;
        if (r->block.text.failed) status = rapt__fail(why, RAPT_NO_MEMORY, "no memory for a block");
    }
    return status;
}
