/* noise.c - noise in sentence pairs. The kinds and most default rates are those with which Mozilla
   trains its models (OpusTrainer; Nail et al. 2023, "OpusCleaner and OpusTrainer"). */
#include "data.h"
#include "kit/text.h"
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    double rate; /* the default */
} kinds_of_noise[NOISE_KINDS] = {
    [NOISE_CAPS] = {"caps", 0.07},
    [NOISE_TITLE] = {"title", 0.05},
    [NOISE_TYPOS] = {"typos", 0.05},
    [NOISE_TAGS] = {"tags", 0.005},
    [NOISE_NO_END_PUNCTUATION] = {"no-end-punctuation", 0.2},
    [NOISE_CONCAT] = {"concat", 0.05},
};
static const char all_names[] = "caps|title|typos|tags|no-end-punctuation|concat|all";

const char *noise_name(int kind)
{
    return kinds_of_noise[kind].name;
}

/* ---- lists of kinds ---- */

static int unknown_kind(const char *name, const char *command, const char *option)
{
    char *meant = suggest_choice(all_names, name);
    char *hint = meant != NULL ? xasprintf("; did you mean '%s'?", meant) : xasprintf(".");
    int code = usage_error("%s: --%s: unknown noise '%s'%s Choose from caps, title, "
                           "typos, tags, no-end-punctuation, concat and all",
                           command, option, name, hint);
    free(hint);
    free(meant);
    return code;
}

/* Rounds to the nine digits that a checkpoint stores. Returns -1 if the text is not a rate. */
static double rate_of(const char *text)
{
    char *end, digits[32];
    double rate = strtod(text, &end);
    if (end == text || *end != 0 || !(rate >= 0 && rate <= 1)) return -1;
    snprintf(digits, sizeof digits, "%.9g", rate);
    return strtod(digits, NULL);
}

/* Reads one kind, written as name or name=rate. */
static int read_kind(struct noise *noise, char *text, bool always, const char *command,
                     const char *option)
{
    bool found = false;
    double rate = -1;
    char *equals = strchr(text, '=');
    if (equals != NULL) {
        rate = rate_of(equals + 1);
        if (rate < 0)
            return usage_error("%s: --%s: %s: the rate must be a number from 0 to 1", command,
                               option, text);
        *equals = 0;
    }
    for (int kind = 0; kind < NOISE_KINDS; kind++) {
        if (strcmp(text, "all") != 0 && strcmp(text, noise_name(kind)) != 0) continue;
        found = true;
        noise->rates[kind] = equals != NULL ? rate : always ? 1 : kinds_of_noise[kind].rate;
    }
    return found ? EXIT_OK : unknown_kind(text, command, option);
}

int noise_read(struct noise *noise, const char *list, bool always, const char *command,
               const char *option)
{
    int code = EXIT_OK;
    *noise = (struct noise){{0}};
    while (list != NULL && code == EXIT_OK) {
        const char *comma = strchr(list, ',');
        char *text = xasprintf("%.*s", (int)(comma ? comma - list : (long)strlen(list)), list);
        code = read_kind(noise, text, always, command, option);
        free(text);
        list = comma != NULL ? comma + 1 : NULL;
    }
    return code;
}

bool noise_any(const struct noise *noise)
{
    bool any = false;
    for (int kind = 0; kind < NOISE_KINDS; kind++) any = any || noise->rates[kind] > 0;
    return any;
}

char *noise_text(const struct noise *noise)
{
    char *text = xasprintf("%s", "");
    for (int kind = 0; kind < NOISE_KINDS; kind++) {
        if (noise->rates[kind] <= 0) continue;
        char *more =
            xasprintf("%s%s%s=%.9g", text, *text ? "," : "", noise_name(kind), noise->rates[kind]);
        free(text);
        text = more;
    }
    return text;
}

unsigned noise_draw(const struct noise *noise, struct random *random)
{
    unsigned kinds = 0;
    for (int kind = 0; kind < NOISE_KINDS; kind++)
        if ((double)random_unit(random) < noise->rates[kind]) kinds |= 1u << kind;
    return kinds;
}

/* ---- text ---- */

rapt_text noisy_text(const struct noisy_pair *pair, int side)
{
    return (rapt_text){pair->bytes[side], pair->size[side]};
}

char *noisy_reserve(struct noisy_pair *pair, int side, size_t more)
{
    if (pair->capacity[side] - pair->size[side] < more) {
        pair->capacity[side] = 2 * pair->size[side] + more + 64;
        pair->bytes[side] = xreallocarray(pair->bytes[side], pair->capacity[side], 1);
    }
    return pair->bytes[side] + pair->size[side];
}

/* Replaces `size` bytes at `at` with `by`. */
static void replace(struct noisy_pair *pair, int side, size_t at, size_t size, rapt_text by)
{
    noisy_reserve(pair, side, by.size);
    char *place = pair->bytes[side] + at;
    memmove(place + by.size, place + size, pair->size[side] - at - size);
    memcpy(place, by.bytes, by.size);
    pair->size[side] += by.size - size;
}

/* Returns the last character of a text, which must not be empty, and sets *at to its place. */
static uint32_t last_character(rapt_text text, size_t *at)
{
    size_t end = text.size;
    do end--;
    while (end > 0 && ((unsigned char)text.bytes[end] & 0xC0) == 0x80);
    *at = end;
    return unicode_next(text, &end);
}

void noisy_append(struct noisy_pair *pair, rapt_text source, rapt_text target)
{
    const rapt_text texts[2] = {source, target};
    size_t at;
    for (int side = 0; side < 2; side++) {
        const uint32_t last =
            pair->size[side] > 0 ? last_character(noisy_text(pair, side), &at) : 0;
        const bool wide = last >= 0x3000 && script_of(last) != SCRIPT_SPACED;
        if (pair->size[side] > 0 && !wide)
            replace(pair, side, pair->size[side], 0, (rapt_text){" ", 1});
        replace(pair, side, pair->size[side], 0, texts[side]);
    }
}

/* ---- letters ---- */

static bool is_letter(uint32_t c)
{
    return c > ' ' && !(c >= '0' && c <= '9') && script_of(c) == SCRIPT_SPACED;
}

/* Writes letters in upper case: all, or those at the beginning of words. */
static void capitalize(struct noisy_pair *pair, int side, bool all)
{
    const rapt_text text = noisy_text(pair, side);
    char *to = pair->bytes[side];
    bool within = false; /* a word */
    size_t size = 0;
    for (size_t at = 0; at < text.size;) {
        const size_t from = at;
        const uint32_t c = unicode_next(text, &at);
        const uint32_t upper = all || !within ? unicode_upper(c) : c;
        if (c == 0xDF && upper == c && all) /* the German sharp s */
            memcpy(to + size, "SS", 2), size += 2;
        else if (upper == c)
            memmove(to + size, text.bytes + from, at - from), size += at - from;
        else
            size += unicode_write(upper, to + size);
        within = is_letter(c) || (within && c == '\'');
    }
    pair->size[side] = size;
}

/* Finds the letter with this number, from 0, and returns number + 1. Returns the number of letters
   if the text has too few. */
static size_t find_letter(rapt_text text, size_t number, size_t *begin, size_t *end)
{
    size_t count = 0;
    for (size_t at = 0, next = 0; at < text.size; at = next) {
        if (!is_letter(unicode_next(text, &next))) continue;
        *begin = at, *end = next;
        if (count++ == number) break;
    }
    return count;
}

/* Returns a key beside that of an ASCII letter, in the same case. */
static char key_beside(char letter, struct random *random)
{
    static const char keys[] = "qwertyuiop asdfghjkl zxcvbnm";
    const char low = (char)(letter | 0x20);
    const char *at = strchr(keys, low);
    const bool has_left = at > keys && at[-1] != ' ', has_right = at[1] != ' ' && at[1] != 0;
    const bool left = has_left && (!has_right || random_below(random, 2) == 0);
    return (char)((left ? at[-1] : at[1]) ^ (letter ^ low));
}

enum typo { SWAP, DROP, DOUBLE, OTHER_KEY, TYPOS };

/* Makes a random typo at a letter of the source. Doubles the letter if that typo is not possible
   there. */
static void add_typo(struct noisy_pair *pair, size_t begin, size_t end, struct random *random)
{
    const rapt_text text = noisy_text(pair, 0);
    const enum typo typo = (enum typo)random_below(random, TYPOS);
    size_t next = end, size = end - begin;
    const uint32_t after = end < text.size ? unicode_next(text, &next) : ' ';
    const bool followed = is_letter(after);
    char both[8];
    memcpy(both, text.bytes + end, next - end);
    memcpy(both + (next - end), text.bytes + begin, size);
    const char letter = text.bytes[begin];
    if (typo == SWAP && followed && memcmp(both, text.bytes + begin, next - begin) != 0) {
        replace(pair, 0, begin, next - begin, (rapt_text){both, next - begin});
    } else if (typo == DROP && followed) {
        replace(pair, 0, begin, size, (rapt_text){"", 0});
    } else if (typo == OTHER_KEY && (unsigned char)letter < 0x80) {
        const char other = key_beside(letter, random);
        replace(pair, 0, begin, size, (rapt_text){&other, 1});
    } else {
        replace(pair, 0, end, 0, (rapt_text){both + (next - end), size});
    }
}

static void add_typos(struct noisy_pair *pair, struct random *random)
{
    enum { LETTERS = 40 }; /* letters for each typo after the first */
    size_t begin = 0, end = 0, letters = find_letter(noisy_text(pair, 0), SIZE_MAX, &begin, &end);
    for (size_t i = 0; letters > 0 && i <= letters / LETTERS; i++) {
        const size_t count = find_letter(noisy_text(pair, 0), SIZE_MAX, &begin, &end);
        if (count == 0) return;
        const size_t number = (size_t)random_below(random, (int)count);
        find_letter(noisy_text(pair, 0), number, &begin, &end);
        add_typo(pair, begin, end, random);
    }
}

/* ---- punctuation and tags ---- */

static bool ends_sentence(uint32_t c)
{
    return c == '.' || c == '!' || c == '?' || c == 0x2026 || c == 0x3002 || c == 0xFF01 ||
           c == 0xFF1F || c == 0x0964 || c == 0x061F;
}

/* Returns the size of a text without its last punctuation, or all of it if nothing would be
   left. */
static size_t without_end(rapt_text text)
{
    const size_t all = text.size;
    size_t at = 0;
    bool dropped = false;
    while (text.size > 0) {
        const uint32_t c = last_character(text, &at);
        if (!ends_sentence(c) && !(dropped && c == ' ')) break;
        dropped = true;
        text.size = at;
    }
    return text.size > 0 ? text.size : all;
}

/* Removes the last punctuation of both sides if both have some. */
static void drop_end(struct noisy_pair *pair)
{
    const size_t source = without_end(noisy_text(pair, 0));
    const size_t target = without_end(noisy_text(pair, 1));
    if (source == pair->size[0] || target == pair->size[1]) return;
    pair->size[0] = source;
    pair->size[1] = target;
}

/* Finds a word between spaces. Returns false if there are fewer words. */
static bool find_word(rapt_text text, size_t number, rapt_span *word)
{
    for (size_t at = 0;; number--) {
        while (at < text.size && text.bytes[at] == ' ') at++;
        if (at == text.size) return false;
        word->begin = at;
        while (at < text.size && text.bytes[at] != ' ') at++;
        word->end = at;
        if (number == 0) return true;
    }
}

/* Puts tags around a word of each side, or around both sentences. */
static void add_tags(struct noisy_pair *pair, const size_t words[2], struct random *random)
{
    static const char *const names[] = {"a", "b", "em", "i", "span", "strong", "u"};
    const char *name = names[random_below(random, (int)(sizeof names / sizeof *names))];
    rapt_span at[2] = {{0, pair->size[0]}, {0, pair->size[1]}};
    for (int side = 0; side < 2 && words != NULL; side++)
        if (!find_word(noisy_text(pair, side), words[side], &at[side])) return;
    for (int side = 0; side < 2; side++) {
        char tag[16];
        const size_t size = (size_t)snprintf(tag, sizeof tag, "</%s>", name);
        replace(pair, side, at[side].end, 0, (rapt_text){tag, size});
        tag[1] = '<'; /* the opening tag begins after the first character */
        replace(pair, side, at[side].begin, 0, (rapt_text){tag + 1, size - 1});
    }
}

/* ---- all kinds of noise ---- */

void noise_add(struct noisy_pair *pair, unsigned kinds, const size_t words[2],
               struct random *random)
{
    const bool caps = kinds & 1u << NOISE_CAPS, title = kinds & 1u << NOISE_TITLE;
    if (kinds & 1u << NOISE_TYPOS) add_typos(pair, random);
    if (kinds & 1u << NOISE_NO_END_PUNCTUATION) drop_end(pair);
    for (int side = 0; side < 2 && (caps || title); side++) capitalize(pair, side, caps);
    if (kinds & 1u << NOISE_TAGS) add_tags(pair, words, random);
}

void noisy_free(struct noisy_pair *pair)
{
    free(pair->bytes[0]);
    free(pair->bytes[1]);
    *pair = (struct noisy_pair){0};
}

static bool same_text(rapt_text a, rapt_text b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.bytes, b.bytes, a.size) == 0);
}

size_t noise_pairs(struct pairs *noisy, const struct pairs *pairs, const struct noise *noise,
                   uint64_t seed)
{
    struct noisy_pair pair = {0};
    size_t changed = 0;
    *noisy = (struct pairs){.name = pairs->name, .lines = pairs->lines};
    for (size_t i = 0; i < pairs->count; i++) {
        struct random random = random_from(seed, i);
        const unsigned kinds = noise_draw(noise, &random);
        const size_t next = (i + 1) % pairs->count;
        pair.size[0] = pair.size[1] = 0;
        noisy_append(&pair, pairs->source[i], pairs->target[i]);
        if (kinds & 1u << NOISE_CONCAT)
            noisy_append(&pair, pairs->source[next], pairs->target[next]);
        noise_add(&pair, kinds, NULL, &random);
        changed += !same_text(noisy_text(&pair, 0), pairs->source[i]) ||
                   !same_text(noisy_text(&pair, 1), pairs->target[i]);
        pairs_add(noisy, noisy_text(&pair, 0), noisy_text(&pair, 1), pairs->line[i]);
    }
    noisy_free(&pair);
    return changed;
}
