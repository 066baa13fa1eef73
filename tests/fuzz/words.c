/* words.c - lists of words, shortlists and glossaries, and words as Moses splits them. */
#include "fuzz.h"
#include "text/list.h"
#include "text/plain_glossary.h"

#include <rapt/shortlist.h>

/* ---- shortlist: any bytes as a lexical shortlist. The first byte of the input says whether the
   rest is a text or the body of a binary file, to which a header with the right checksum is added.
   The file must be refused with a reason or give ascending tokens of the vocabulary for every
   source token. ---- */

static uint64_t number(const uint8_t *bytes)
{
    uint64_t x = 0;
    for (int i = 8; i-- > 0;) x = x << 8 | bytes[i];
    return x;
}

static void put(uint8_t *bytes, uint64_t x)
{
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(x >> 8 * i);
}

/* Fills in the magic number and checksum of bytes[16 + size]. */
static void seal(uint8_t *bytes, size_t size)
{
    uint64_t sum = 0;
    for (size_t at = 16; at + 8 <= 16 + size; at += 8)
        sum ^= number(bytes + at) + 0x9e3779b9u + (sum << 6) + (sum >> 2);
    put(bytes, 0xF11A48D5013417F5u);
    put(bytes + 8, sum);
}

static void check_shortlist(const rapt_shortlist *l)
{
    for (int32_t source = 0; source < rapt_shortlist_source_vocab(l); source++) {
        int32_t tokens[16];
        int count = -1;
        rapt_status status = rapt_shortlist_tokens(l, &source, 1, tokens, 16, &count, NULL);
        require(status == RAPT_OK || status == RAPT_NO_MEMORY, "tokens");
        for (int i = 0; status == RAPT_OK && i < count; i++)
            require(tokens[i] >= (i ? tokens[i - 1] + 1 : 0) &&
                        tokens[i] < rapt_shortlist_target_vocab(l),
                    "ascending tokens");
    }
}

int fuzz_shortlist(const uint8_t *bytes, size_t size)
{
    static const rapt_text names[] = {{"</s>", 4}, {"<unk>", 5}, {"a", 1}, {"b", 1},
                                      {"c", 1},    {"d", 1},     {"e", 1}, {"f", 1},
                                      {"g", 1},    {"h", 1},     {"i", 1}};
    if (size < 1 || size > 1 << 12) return 0;
    size_t extra = bytes[0] & 1 ? 16 : 0;
    uint8_t *exact = malloc(size - 1 + extra + 1);
    rapt_tokenizer *source = NULL, *target = NULL;
    rapt_shortlist *l = NULL;
    rapt_message why = {""};
    require(exact != NULL, "memory for the test itself");
    memcpy(exact + extra, bytes + 1, size - 1);
    if (extra) seal(exact, size - 1);
    require(rapt_tokenizer_create_list(&source, names, 5, NULL, NULL, NULL) == RAPT_OK, "names");
    require(rapt_tokenizer_create_list(&target, names, 11, NULL, NULL, NULL) == RAPT_OK, "names");
    struct counted counted = counted_by(input_hash(bytes, size), 8);
    const rapt_allocator allocator = counted_allocator(&counted);
    rapt_status status = rapt_shortlist_load_memory(
        &l, exact, size - 1 + extra, bytes[0] & 2 ? target : source, target, &allocator, &why);
    free(exact); /* the shortlist has its own copy */
    require((status == RAPT_OK) == (l != NULL), "a shortlist, or a status");
    require(status != RAPT_NO_MEMORY || may_lack_memory(&counted), "there was memory");
    require(status == RAPT_OK || status == RAPT_NO_MEMORY ||
                (status == RAPT_BAD_FILE && why.text[0]),
            "status, and a reason");
    require(counted.max <= 64 * size + 4096, "memory in proportion to the file");
    if (l) check_shortlist(l);
    rapt_shortlist_free(l);
    require(counted.now == 0, "all memory is given back");
    rapt_tokenizer_free(source);
    rapt_tokenizer_free(target);
    return 0;
}

/* ---- glossary: any bytes as a glossary and a sentence, which is what follows the first empty
   line. The glossary is refused with the number of a line, or finds in the sentence what its
   definition says. ---- */

/* Returns the offset of the sentence. */
static size_t sentence_at(const uint8_t *bytes, size_t size)
{
    size_t at = 0;
    while (at + 1 < size && !(bytes[at] == '\n' && bytes[at + 1] == '\n')) at++;
    return at + 1 < size ? at + 2 : size;
}

static void check_glossary(const rapt_glossary *g, rapt_text sentence)
{
    struct glossary_match match;
    size_t begin, end, entry;
    for (size_t at = 0;; at = match.end) {
        const bool found = rapt__glossary_next(g, sentence, at, &match);
        require(found == plain_next(g, sentence, at, &begin, &end, &entry), "a match");
        if (!found) return;
        require(match.begin == begin && match.end == end && match.end > at, "its place");
        require(match.entry == &g->entries[entry], "its entry");
    }
}

int fuzz_glossary(const uint8_t *bytes, size_t size)
{
    if (size > 1 << 12) return 0;
    const size_t at = sentence_at(bytes, size);
    char *glossary = malloc(at + 1), *sentence = malloc(size - at + 1);
    rapt_glossary *g = NULL;
    rapt_message why = {""};
    require(glossary && sentence, "memory for the test itself");
    memcpy(glossary, bytes, at);
    memcpy(sentence, bytes + at, size - at);
    struct counted counted = counted_by(input_hash(bytes, size), 8);
    const rapt_allocator allocator = counted_allocator(&counted);
    rapt_status status = rapt_glossary_create(&g, (rapt_text){glossary, at}, &allocator, &why);
    free(glossary); /* the glossary has its own copy */
    require((status == RAPT_OK) == (g != NULL), "a glossary, or a status");
    require(status != RAPT_NO_MEMORY || may_lack_memory(&counted), "there was memory");
    require(status == RAPT_OK || status == RAPT_NO_MEMORY ||
                (status == RAPT_BAD_FILE && strncmp(why.text, "line ", 5) == 0),
            "a status, and a line");
    require(counted.max <= 256 * size + 8192, "memory in proportion to the text");
    if (g && rapt_utf8_valid((rapt_text){sentence, size - at}) == size - at)
        check_glossary(g, (rapt_text){sentence, size - at});
    rapt_glossary_free(g);
    require(counted.now == 0, "all memory is given back");
    free(sentence);
    return 0;
}

/* ---- moses: words as Moses splits them, with merges chosen by the input, and a text. Input:
   language and version, the number of merges, two symbols for each, the text. The pieces must be
   those of a search that applies the earliest merge wherever it occurs until there is none. Ends
   must rise, and decoding must write the beginning of its text into less room. ---- */

enum {
    MERGES = 40,
    SYMBOL = 24,
    FILE_MAX = MERGES * (2 * SYMBOL + 2) + 32,
    MOSES_TEXT = 400,
    WORD = 4096
};

struct moses_input {
    const char *language;
    bool end_apart;
    int merges;
    char parts[MERGES][2][SYMBOL]; /* the symbols that each merge joins */
    char file[FILE_MAX];
    size_t file_size;
    char text[MOSES_TEXT];
    size_t size;
};

/* Chooses a symbol: a character, the end of a word, or what a merge makes. */
static void take_symbol(struct feed *in, const struct moses_input *n, char to[SYMBOL])
{
    static const char *const some[] = {"a",     "b",    "\xC3\xA9", "'",         "a</w>",
                                       "b</w>", "</w>", "&",        "quot;</w>", "."};
    const int which = take_byte(in);
    const char(*of)[SYMBOL] = n->parts[n->merges ? which % n->merges : 0];
    if (which < 128 || n->merges == 0 || strlen(of[0]) + strlen(of[1]) >= SYMBOL)
        strcpy(to, some[which % 10]);
    else
        snprintf(to, SYMBOL, "%.*s%.*s", SYMBOL / 2, of[0], SYMBOL / 2 - 1, of[1]);
}

static void take_moses(struct feed *in, struct moses_input *n)
{
    static const char *const languages[] = {"en", "de", "fr", "cs", "zh", "ko", "xx", "ga"};
    static const char *const marks[] = {
        ".", ",",   "'",      "\"",    "\xC2\xA0",     "\xE2\x80\xA6", "\xC2\xAB", "(",
        ")", "Mr.", "&quot;", " @-@ ", "\xEA\xB0\x81", "\xE2\x80\x9E", "$",        "@@ "};
    const int kind = take_byte(in);
    n->language = languages[kind % 8], n->end_apart = kind & 8, n->merges = 0, n->size = 0;
    n->file_size = (size_t)snprintf(n->file, FILE_MAX, "#version: 0.%d\n", n->end_apart ? 1 : 2);
    for (int left = take_below(in, MERGES); left > 0; left--) {
        char(*parts)[SYMBOL] = n->parts[n->merges];
        take_symbol(in, n, parts[0]);
        take_symbol(in, n, parts[1]);
        n->merges++;
        n->file_size += (size_t)snprintf(n->file + n->file_size, FILE_MAX - n->file_size, "%s %s\n",
                                         parts[0], parts[1]);
    }
    while (in->left && n->size + 8 < MOSES_TEXT) {
        const uint8_t byte = take_byte(in);
        if (byte >= 208)
            n->size += (size_t)snprintf(n->text + n->size, 8, "%s", marks[byte % 16]);
        else
            n->text[n->size++] = (char)(byte < 64 ? "aab b1.'"[byte % 8] : byte);
    }
}

/* ---- the search by definition ---- */

struct naive_word {
    const char *bytes;
    size_t start[WORD + 2]; /* where the symbols begin, and the end of the last one */
    size_t count;
};

static bool is_symbol(const struct naive_word *w, size_t i, const char *symbol)
{
    const size_t size = w->start[i + 1] - w->start[i];
    return size == strlen(symbol) && memcmp(w->bytes + w->start[i], symbol, size) == 0;
}

static bool is_pair(const struct naive_word *w, size_t i, const char parts[2][SYMBOL])
{
    return i + 1 < w->count && is_symbol(w, i, parts[0]) && is_symbol(w, i + 1, parts[1]);
}

/* Joins all occurrences of a pair. Returns whether there are any. */
static bool join_all(struct naive_word *w, const char parts[2][SYMBOL])
{
    const size_t before = w->count;
    for (size_t i = 0; i < w->count; i++)
        if (is_pair(w, i, parts)) {
            memmove(w->start + i + 1, w->start + i + 2, (w->count - i - 1) * sizeof *w->start);
            w->count--;
        }
    return w->count < before;
}

static void check_moses_word(const struct moses_input *n, const struct moses *m,
                             const struct moses_character *word, size_t count)
{
    static char bytes[4 * WORD + 4];
    static uint32_t start[WORD + 2], next[WORD + 2], previous[WORD + 2];
    static uint64_t heap[3 * WORD + 6], round[WORD + 2];
    static struct naive_word naive;
    struct moses_word w = {bytes, start, next, previous, heap, round, 0, 0, 0};
    rapt__moses_divide(m, word, count, &w);
    naive.bytes = bytes, naive.count = 0;
    char one[4];
    size_t at = 0;
    for (size_t i = 0; i < count; at += rapt__moses_spell(word[i++].code, one))
        naive.start[naive.count++] = at;
    if (n->end_apart) naive.start[naive.count++] = at;
    naive.start[naive.count] = at + 4;
    for (int k = 0; k < n->merges; k++)
        if (join_all(&naive, n->parts[k])) k = -1;
    size_t from = 0;
    for (size_t i = 0; i < naive.count; i++, from = next[from])
        require(from < w.symbols && start[from] == naive.start[i], "the pieces of a word");
    require(from == w.symbols, "no more pieces");
}

static void check_moses_words(const struct moses_input *n, const struct moses *m)
{
    struct moses_text t = {.allocator = rapt__allocator(NULL), .language = &m->language};
    require(rapt__moses_split(&t, (rapt_text){n->text, n->size}) == RAPT_OK, "words");
    require(t.now.count <= WORD, "few characters");
    for (size_t at = 0, end; at < t.now.count; at = end + 1) {
        for (end = at; end < t.now.count && t.now.at[end].code != ' ';) end++;
        if (end > at) check_moses_word(n, m, t.now.at + at, end - at);
    }
    rapt__moses_text_free(&t);
}

/* ---- the tokenizer ---- */

static void check_moses_text(const rapt_tokenizer *t, const struct moses_input *n,
                             const struct counted *counted)
{
    static int32_t ids[MOSES_GROWTH * MOSES_TEXT + 1];
    static size_t ends[MOSES_GROWTH * MOSES_TEXT + 1];
    static char whole[16 * MOSES_GROWTH * MOSES_TEXT], part[16 * MOSES_GROWTH * MOSES_TEXT];
    const size_t room = MOSES_GROWTH * MOSES_TEXT + 1;
    size_t count = 0, size = 0, again = 0;
    rapt_status status =
        rapt_tokenizer_encode(t, (rapt_text){n->text, n->size}, ids, ends, room, &count, NULL);
    require(status == RAPT_OK || may_lack_memory(counted), "encoding");
    if (status) return;
    require(count <= rapt_tokenizer_bound(t, n->size), "the bound");
    for (size_t i = 0; i < count; i++)
        require(ends[i] <= n->size && (i == 0 || ends[i] >= ends[i - 1]), "ends that rise");
    status = rapt_tokenizer_decode(t, ids, count, whole, sizeof whole, &size, NULL);
    require(status == RAPT_OK || may_lack_memory(counted), "decoding");
    if (status || size == 0) return;
    status = rapt_tokenizer_decode(t, ids, count, part, size - 1, &again, NULL);
    require(status == RAPT_BAD_ARGUMENT || may_lack_memory(counted), "too little room");
    if (status == RAPT_BAD_ARGUMENT)
        require(again == size && memcmp(part, whole, size - 1) == 0, "the beginning of the text");
}

int fuzz_moses(const uint8_t *bytes, size_t size)
{
    static const char names[] =
        "<unk>\0a\0a@@\0b\0b@@\0ab\0aa@@\0'\0&@@\0&quot;\0quot;\0.\0,\0@-@\0"
        "&apos;\0\xC3\xA9@@\0\xEA\xB0\x81\0$\0@@@";
    enum { NAMES = 19 };
    static struct moses_input n;
    struct feed in = {bytes, size};
    if (size > 1 << 11) return 0;
    struct counted counted = counted_by(input_hash(bytes, size), 6);
    const rapt_allocator allocator = counted_allocator(&counted);
    take_moses(&in, &n);
    const struct list_source source = {
        .names = names,
        .size = sizeof names,
        .count = NAMES,
        .moses = {{n.file, n.file_size}, {n.language, strlen(n.language)}}};
    rapt_tokenizer *t = NULL;
    const rapt_status status = rapt__tokenizer_list(&t, &source, &allocator, NULL);
    require((status == RAPT_OK) == (t != NULL), "a tokenizer, or a status");
    require(status == RAPT_OK || may_lack_memory(&counted), "only memory is missing");
    if (t) check_moses_words(&n, t->list->moses);
    if (t) check_moses_text(t, &n, &counted);
    rapt_tokenizer_free(t);
    require(counted.now == 0, "all memory is given back");
    return 0;
}
