/* addresses.c - finds URLs, e-mail and IPv4 addresses, paths, file and host names, and
   identifiers. */
#include "document/document.h"

/* ---- addresses ---- */

/* Returns the end of the name at `at`, whose parts may be joined by dots as in a host name, or `at`
   if there is none. */
static size_t dotted_end(rapt_text text, size_t at)
{
    const size_t limit = at + PROTECTED_NAME;
    while (at < limit && is_alphanumeric(byte_at(text, at))) {
        while (at < limit && (is_alphanumeric(byte_at(text, at)) || byte_at(text, at) == '-')) at++;
        if (byte_at(text, at) != '.' || !is_alphanumeric(byte_at(text, at + 1))) break;
        at++;
    }
    return at;
}

/* Endings of file and host names. Endings that are also common words, such as "it" and "so", are
   left out. */
static const char endings[] =
    "txt pdf html htm xhtml xml json yaml yml toml csv tsv png jpg jpeg gif svg webp mp3 mp4 wav "
    "ogg avi mkv zip gz bz2 xz zst tar exe dll iso deb rpm c h cc cpp hpp py js ts css java rs sh "
    "md doc docx xls xlsx ppt pptx odt ods odp rtf log ini cfg conf sql bat po srt vtt com org net "
    "edu gov info io dev eu uk ru cn jp br fr";

/* Returns true if a file or host name has one of the endings, with a letter or digit before the
   dot. A one-letter ending needs two letters or digits there. */
static bool has_ending(rapt_text name)
{
    size_t dot = name.size;
    while (dot > 0 && name.bytes[dot - 1] != '.' && name.bytes[dot - 1] != '/') dot--;
    if (dot < 2 || name.bytes[dot - 1] != '.' || !is_alphanumeric(name.bytes[dot - 2]))
        return false;
    if (name.size - dot == 1 && (dot < 3 || !is_alphanumeric(name.bytes[dot - 3]))) return false;
    return rapt__name_among((rapt_text){name.bytes + dot, name.size - dot}, endings);
}

/* Returns the end of the address in [at, end), excluding punctuation after it. A closing bracket
   belongs to the address if its opening bracket does. */
static size_t without_punctuation(rapt_text text, size_t at, size_t end)
{
    static const char pairs[] = "()[]{}";
    for (; end > at; end--) {
        const char c = text.bytes[end - 1], *closer = c ? strchr(pairs, c) : NULL;
        size_t opened = 0, closed = 0;
        if (closer && (closer - pairs) % 2 == 1) {
            for (size_t i = at; i < end; i++)
                opened += text.bytes[i] == closer[-1], closed += text.bytes[i] == c;
            if (opened >= closed) return end;
        } else if (!strchr(".,;:!?'*_([{", c)) {
            return end;
        }
    }
    return end;
}

/* Returns the end of the run of characters at `at` that may be part of a URL. */
static size_t url_characters(rapt_text text, size_t at)
{
    const size_t limit = rapt__min_size(text.size, at + PROTECTED_URL);
    while (at < limit) {
        size_t next = at;
        const uint32_t c = rapt__utf8_next(text.bytes, text.size, &next);
        const bool plain = c > ' ' && c < 0x7F && !strchr("<>\"`\\^|", (int)c);
        if (!plain && !(c >= 0x80 && rapt__in_word(c))) break;
        at = next;
    }
    return at;
}

size_t rapt__url_end(rapt_text text, size_t at)
{
    enum { SCHEME_MAX = 16 };
    size_t begin = at;
    while (begin < at + SCHEME_MAX &&
           (is_alphanumeric(byte_at(text, begin)) ||
            (begin > at && byte_at(text, begin) && strchr("+.-", byte_at(text, begin)))))
        begin++;
    if (begins_at(text, begin, "://"))
        begin += 3;
    else if (begins_at(text, at, "www.") || begins_at(text, at, "WWW."))
        begin = at + 4;
    else if (begins_at(text, at, "mailto:"))
        begin = at + 7;
    else if ((begin = dotted_end(text, at)) == at || byte_at(text, begin) != '/' ||
             !has_ending((rapt_text){text.bytes + at, begin - at}))
        return at;
    const size_t end = without_punctuation(text, begin, url_characters(text, begin));
    return end > begin ? end : at;
}

size_t rapt__mail_end(rapt_text text, size_t at)
{
    enum { LOCAL_MAX = 64 };
    size_t begin = at;
    while (begin < at + LOCAL_MAX &&
           (is_alphanumeric(byte_at(text, begin)) ||
            (byte_at(text, begin) && strchr("._%+-", byte_at(text, begin)))))
        begin++;
    if (begin == at || byte_at(text, begin) != '@') return at;
    const size_t end = dotted_end(text, begin + 1);
    const char *dot = end > begin ? memchr(text.bytes + begin, '.', end - begin) : NULL;
    return dot && is_alphabetic(text.bytes[end - 1]) && rapt__is_boundary(text, end) ? end : at;
}

/* ---- names ---- */

static bool in_path(char c)
{
    return is_alphanumeric(c) || (c && strchr("_-./~+", c));
}

size_t rapt__path_end(rapt_text text, size_t at)
{
    size_t end = at, slashes = 0;
    const bool rooted = byte_at(text, at) == '/' || begins_at(text, at, "~/") ||
                        begins_at(text, at, "./") || begins_at(text, at, "../");
    size_t start;
    if (rooted && at > 0 && rapt__in_word(rapt__character_before(text, at, &start))) return at;
    if (!rooted && !is_alphanumeric(byte_at(text, at)) && byte_at(text, at) != '_') return at;
    for (; end < at + PROTECTED_NAME && in_path(byte_at(text, end)); end++)
        slashes += text.bytes[end] == '/';
    while (end > at && strchr(".-~+", text.bytes[end - 1])) end--;
    const rapt_text path = {text.bytes + at, end - at};
    if (end == at || !rapt__is_boundary(text, end)) return at;
    const bool deep = slashes > (text.bytes[at] == '/');
    return has_ending(path) || (rooted && deep && rapt__has_letters(path)) ? end : at;
}

size_t rapt__hidden_end(rapt_text text, size_t at)
{
    enum { SHORTEST = 4 };
    size_t start, end = at + 1;
    const uint32_t before = at > 0 ? rapt__character_before(text, at, &start) : ' ';
    const char c = byte_at(text, end);
    if (byte_at(text, at) != '.' || c < 'a' || c > 'z') return at;
    if (!rapt__utf8_space(before) && !rapt__is_opener(before)) return at;
    while (end < at + PROTECTED_NAME && in_path(byte_at(text, end))) end++;
    while (strchr(".-~+", text.bytes[end - 1])) end--;
    return end - at >= SHORTEST && rapt__is_boundary(text, end) ? end : at;
}

size_t rapt__windows_path_end(rapt_text text, size_t at)
{
    const bool drive = is_alphabetic(byte_at(text, at)) && begins_at(text, at + 1, ":\\");
    size_t end = at + (drive ? 3 : 2), names = 0;
    if (!drive && !begins_at(text, at, "\\\\")) return at;
    for (char c; end < at + PROTECTED_NAME; end++, names++)
        if (!in_path(c = byte_at(text, end)) && (c == 0 || !strchr("\\$%", c))) break;
    while (end > at && strchr(".-~+", text.bytes[end - 1])) end--;
    return drive || names > 1 ? end : at;
}

size_t rapt__number_address_end(rapt_text text, size_t at)
{
    enum { GROUPS = 4, LONGEST = 3 };
    size_t end = at;
    if (at > 1 && text.bytes[at - 1] == '.' && is_digit(text.bytes[at - 2])) return at;
    for (int group = 0; group < GROUPS; group++) {
        const size_t begin = end;
        while (end < begin + LONGEST && is_digit(byte_at(text, end))) end++;
        if (end == begin || (group + 1 < GROUPS && byte_at(text, end++) != '.')) return at;
    }
    const char separator = byte_at(text, end);
    if ((separator == ':' || separator == '/') && is_digit(byte_at(text, end + 1)))
        for (end++; is_digit(byte_at(text, end)) && end < at + PROTECTED_NAME;) end++;
    const bool goes_on = byte_at(text, end) == '.' && is_digit(byte_at(text, end + 1));
    return rapt__is_boundary(text, end) && !goes_on ? end : at;
}

size_t rapt__identifier_end(rapt_text text, size_t at)
{
    size_t end = at;
    bool joined = false;
    while (end < at + PROTECTED_NAME &&
           (is_alphanumeric(byte_at(text, end)) || byte_at(text, end) == '_')) {
        joined =
            joined || (end > at && text.bytes[end] == '_' && is_alphanumeric(text.bytes[end - 1]) &&
                       is_alphanumeric(byte_at(text, end + 1)));
        end++;
    }
    if (end == at || !rapt__is_boundary(text, end)) return at;
    if (begins_at(text, end, "()")) return is_digit(text.bytes[at]) ? at : end + 2;
    return joined ? end : at;
}
