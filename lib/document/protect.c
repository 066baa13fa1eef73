/* protect.c - finds text that a translation must not change: addresses and names (addresses.c),
   placeholders, code, tags, numbers with units, amounts of money, symbols, and text that matches
   the caller's patterns. */
#include "document/document.h"

enum { CODE_MAX = 124, PHRASE_MAX = 255 };

/* The functions below return the end of the protected text that begins at `at`, or `at` if there is
   none. */

/* ---- code ---- */

/* Finds code in backticks. */
static size_t backticks_end(rapt_text text, size_t at)
{
    if (byte_at(text, at) != '`' || rapt__markup_space(byte_at(text, at + 1))) return at;
    for (size_t end = at + 1; end < text.size && end < at + CODE_MAX; end++) {
        if (text.bytes[end] == '\n') return at;
        if (text.bytes[end] == '`') return end > at + 1 ? end + 1 : at;
    }
    return at;
}

/* Finds {{ name }} or ${name}. */
static size_t template_end(rapt_text text, size_t at)
{
    const bool twice = begins_at(text, at, "{{");
    if (!twice && !begins_at(text, at, "${")) return at;
    for (size_t end = at + 2; end < text.size && end < at + CODE_MAX; end++) {
        const char c = text.bytes[end];
        if (c == '}' && (!twice || byte_at(text, end + 1) == '}')) return end + 1 + twice;
        if (c == '\n' || c == '{' || c == '}') return at;
    }
    return at;
}

/* Finds an XML tag, such as <x id="1"/>. */
static size_t tag_end(rapt_text text, size_t at)
{
    const rapt_text near = {text.bytes, rapt__min_size(text.size, at + PHRASE_MAX)};
    if (byte_at(text, at) != '<') return at;
    const struct tag tag = rapt__tag_read(near, at, true);
    const bool is_tag = tag.kind == TAG_OPEN || tag.kind == TAG_CLOSE || tag.kind == TAG_EMPTY;
    return is_tag && tag.ended && rapt__tag_is_strict(near, &tag) ? tag.span.end : at;
}

/* Finds a placeholder, as in printf or Python format strings. */
static size_t directive_end(rapt_text text, size_t at)
{
    bool numbered;
    if (at > 0 && is_digit(text.bytes[at - 1])) return at; /* 50%d is a percentage */
    const size_t end = at + rapt__placeholder_size(text, at, &numbered);
    if (end == at || begins_at(text, at, "%%") || !rapt__is_boundary(text, end)) return at;
    return memchr(text.bytes + at, '"', end - at) ? at : end;
}

/* ---- numbers ---- */

/* Returns true if the character at `at` is a letter, digit or _, except in scripts without
   spaces. */
static bool word_follows(rapt_text text, size_t at)
{
    return at < text.size && rapt__in_word(rapt__utf8_next(text.bytes, text.size, &at));
}

/* Returns the size of a space or no-break space at `at`, or 0. */
static size_t blank_size(rapt_text text, size_t at)
{
    if (byte_at(text, at) == ' ') return 1;
    if (begins_at(text, at, "\xC2\xA0")) return 2;
    return begins_at(text, at, "\xE2\x80\xAF") ? 3 : 0;
}

/* Units. Common words such as "in" and most single letters are left out. */
/* clang-format off */
static const char *const units[] = {
    "%", "\xE2\x80\xB0", "\xC2\xB0", "\xC2\xB0" "C", "\xC2\xB0" "F", "\xE2\x82\xAC", "\xC2\xA3",
    "\xC2\xA5", "$", "nm", "mm", "cm", "dm", "m", "km", "m\xC2\xB2", "m2", "m\xC2\xB3", "m3",
    "km\xC2\xB2", "km2", "km/h", "m/s", "\xC2\xB5m", "mg", "g", "kg", "t", "ml", "mL", "cl", "dl",
    "l", "L", "hl", "ms", "h", "min", "Hz", "kHz", "MHz", "GHz", "kB", "KB", "MB", "GB", "TB",
    "KiB", "MiB", "GiB", "TiB", "kbit/s", "Mbit/s", "Gbit/s", "Mbps", "Gbps", "V", "mV", "kV",
    "mA", "W", "mW", "kW", "MW", "GW", "Wh", "kWh", "MWh", "kJ", "kcal", "cal", "kN", "Pa", "hPa",
    "kPa", "bar", "mbar", "psi", "dB", "dpi", "px", "pt", "ft", "lb", "lbs", "oz", "mph", "EUR",
    "USD", "GBP", "JPY", "CHF",
};
/* clang-format on */

/* Returns the end of a run of digits with separators between them. */
static size_t digits_end(rapt_text text, size_t at)
{
    const size_t limit = at + PROTECTED_NAME;
    while (at < limit && is_digit(byte_at(text, at))) {
        at++;
        const char mark = byte_at(text, at);
        if ((mark == '.' || mark == ',') && is_digit(byte_at(text, at + 1))) at++;
    }
    return at;
}

/* Returns the size of the sign at `at`, or 0 if there is none. A sign counts only at the beginning
   of the text, after white space or after opening punctuation. */
static size_t sign_size(rapt_text text, size_t at)
{
    static const char *const signs[] = {"-", "+", "\xE2\x88\x92", "\xC2\xB1"};
    size_t start;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (!begins_at(text, at, signs[i])) continue;
        const uint32_t before = at > 0 ? rapt__character_before(text, at, &start) : ' ';
        return rapt__utf8_space(before) || rapt__is_opener(before) ? strlen(signs[i]) : 0;
    }
    return 0;
}

/* Returns true if a placeholder begins at `at` and ends after `end`. */
static bool is_placeholder(rapt_text text, size_t at, size_t end)
{
    return template_end(text, at) > end || directive_end(text, at) > end;
}

/* Finds a number with a unit, such as 5 km or -3.5%. */
static size_t quantity_end(rapt_text text, size_t at)
{
    if (at > 0 && text.bytes[at - 1] == '%') return at; /* a broken placeholder */
    const size_t digits = at + sign_size(text, at), number = digits_end(text, digits);
    const size_t unit = number + blank_size(text, number);
    size_t end = at;
    if (number == digits) return at;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const size_t after = unit + strlen(units[i]);
        if (after > end && begins_at(text, unit, units[i]) && !word_follows(text, after))
            end = after;
    }
    return is_placeholder(text, unit, end) ? at : end;
}

/* Finds an amount of money preceded by a currency sign. */
static size_t price_end(rapt_text text, size_t at)
{
    static const char *const signs[] = {"$", "\xE2\x82\xAC", "\xC2\xA3", "\xC2\xA5"};
    const size_t sign = at + sign_size(text, at);
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (!begins_at(text, sign, signs[i])) continue;
        const size_t number = sign + strlen(signs[i]);
        const size_t begin = number + blank_size(text, number);
        const size_t end = digits_end(text, begin);
        return end > begin ? end : at;
    }
    return at;
}

/* ---- symbols ---- */

static bool is_symbol(uint32_t c)
{
    return (c >= 0x2190 && c <= 0x21FF) || (c >= 0x2300 && c <= 0x23FF) ||
           (c >= 0x25A0 && c <= 0x27BF) || (c >= 0x2B00 && c <= 0x2BFF) || c == 0x2122 ||
           c == 0xA9 || c == 0xAE || (c >= 0x1F000 && c <= 0x1FBFF);
}

/* Returns true for characters that modify the symbol before them. */
static bool is_modifier(uint32_t c)
{
    return c == 0x200D || c == 0xFE0E || c == 0xFE0F || c == 0x20E3 ||
           (c >= 0xE0020 && c <= 0xE007F);
}

/* Finds a run of emoji and other symbols. */
static size_t symbols_end(rapt_text text, size_t at)
{
    size_t end = at;
    const char c = byte_at(text, at);
    if ((is_digit(c) || c == '#' || c == '*') &&
        (begins_at(text, at + 1, "\xEF\xB8\x8F\xE2\x83\xA3") ||
         begins_at(text, at + 1, "\xE2\x83\xA3")))
        end = at + 1;
    while (end < text.size && end < at + PROTECTED_NAME) {
        size_t next = end;
        const uint32_t code = rapt__utf8_next(text.bytes, text.size, &next);
        if (!is_symbol(code) && !(end > at && is_modifier(code))) break;
        end = next;
    }
    return end;
}

/* ---- the caller's patterns ---- */

#define NONE ((size_t)-1)

/* Matches the rest of a pattern, from byte `from` on, against the text at `at`. Returns the end of
   the match, or NONE. Each star matches as much as it can. */
static size_t match_end(rapt_text pattern, size_t from, rapt_text text, size_t at)
{
    for (; from < pattern.size; from++) {
        const char c = pattern.bytes[from];
        if (c == '*') break;
        if (c == '\\' && from + 1 < pattern.size) from++;
        if (c == '?') {
            if (at >= text.size || rapt__markup_space(text.bytes[at])) return NONE;
            rapt__utf8_next(text.bytes, text.size, &at);
        } else if (at >= text.size || text.bytes[at++] != pattern.bytes[from]) {
            return NONE;
        }
    }
    if (from == pattern.size) return at;
    size_t last = at;
    while (last < text.size && last - at < PHRASE_MAX && !rapt__markup_space(text.bytes[last]))
        last++;
    for (;; last--) {
        const bool within = last < text.size && rapt__utf8_continues(text.bytes[last]);
        const size_t end = within ? NONE : match_end(pattern, from + 1, text, last);
        if (end != NONE && rapt__is_boundary(text, end)) return end;
        if (last == at) return NONE;
    }
}

/* Finds the longest match of any of the caller's patterns. */
static size_t listed_end(const struct protection *p, rapt_text text, size_t at)
{
    size_t longest = at;
    if (!p->firsts[(unsigned char)text.bytes[at]]) return at;
    for (size_t i = 0; i < p->pattern_count; i++) {
        const size_t end = match_end(p->patterns[i], 0, text, at);
        if (end != NONE && end > longest && rapt__is_boundary(text, end)) longest = end;
    }
    return longest;
}

static rapt_status check_pattern(rapt_text pattern, size_t index, rapt_message *why)
{
    enum { STARS_MAX = 2 };
    size_t stars = 0;
    rapt_status status =
        rapt__text_check("protected_patterns", index, pattern.bytes, pattern.size, why);
    for (size_t i = 0; !status && i < pattern.size; i++) {
        if (pattern.bytes[i] == '\\')
            i++; /* the next byte stands for itself */
        else
            stars += pattern.bytes[i] == '*';
    }
    if (status) return status;
    const bool valid = rapt_utf8_valid(pattern) == pattern.size;
    if (pattern.size > 0 && pattern.size <= PHRASE_MAX && stars <= STARS_MAX && valid)
        return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT,
                      "protected_patterns[%zu] %s; it must have 1 to %d bytes of UTF-8 and at most "
                      "%d stars",
                      index,
                      !valid              ? "is not valid UTF-8"
                      : pattern.size == 0 ? "is empty"
                      : stars > STARS_MAX ? "has too many stars"
                                          : "is too long",
                      PHRASE_MAX, STARS_MAX);
}

rapt_status rapt__protection_open(struct protection *p, const rapt_document_options *options,
                                  rapt_message *why)
{
    *p = (struct protection){.off = options->unprotected != 0,
                             .patterns = options->protected_patterns,
                             .pattern_count = options->protected_pattern_count};
    if (p->pattern_count > 0 && !p->patterns)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "protected_patterns is NULL");
    for (size_t i = 0; i < p->pattern_count; i++) {
        rapt_status status = check_pattern(p->patterns[i], i, why);
        if (status) return status;
        const char *bytes = p->patterns[i].bytes;
        const char first = bytes[0] == '\\' && p->patterns[i].size > 1 ? bytes[1] : bytes[0];
        const bool any = bytes[0] == '*' || bytes[0] == '?';
        for (int c = 0; c < 256; c++)
            p->firsts[c] = p->firsts[c] || any || c == (unsigned char)first;
    }
    return RAPT_OK;
}

/* ---- all protected text ---- */

/* Returns the end of the longest protected text that begins at `at`, or `at` if there is none. */
static size_t protected_end(const struct protection *p, rapt_text text, size_t at)
{
    static size_t (*const of_words[])(rapt_text, size_t) = {
        rapt__url_end,          rapt__mail_end,           rapt__path_end,       rapt__hidden_end,
        rapt__windows_path_end, rapt__number_address_end, rapt__identifier_end, quantity_end};
    static size_t (*const anywhere[])(rapt_text, size_t) = {
        price_end, symbols_end, backticks_end, template_end, tag_end, directive_end};
    const bool boundary = rapt__is_boundary(text, at);
    size_t longest = boundary ? listed_end(p, text, at) : at;
    if (p->off) return longest;
    for (size_t i = 0; boundary && i < sizeof of_words / sizeof *of_words; i++)
        longest = rapt__max_size(longest, of_words[i](text, at));
    for (size_t i = 0; i < sizeof anywhere / sizeof *anywhere; i++)
        longest = rapt__max_size(longest, anywhere[i](text, at));
    return longest;
}

/* Returns true if protected text may begin with byte c. Does not consider the text before it. */
static bool may_begin(const struct protection *p, char c)
{
    return is_alphanumeric(c) || (unsigned char)c >= 0x80 || strchr("_/\\~.$`{<%#*+-", c) ||
           p->firsts[(unsigned char)c];
}

bool rapt__protected_next(const struct protection *p, rapt_text text, size_t at, size_t limit,
                          rapt_span *span)
{
    if (p->off && p->pattern_count == 0) return false;
    while (at < limit) {
        const size_t begin = at;
        const size_t end = may_begin(p, text.bytes[at]) ? protected_end(p, text, at) : at;
        if (end > begin) {
            *span = (rapt_span){begin, end};
            return true;
        }
        rapt__utf8_next(text.bytes, text.size, &at);
        while (at < limit && is_alphanumeric(text.bytes[at]) && is_alphanumeric(text.bytes[at - 1]))
            at++;
    }
    return false;
}
