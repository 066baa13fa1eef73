/* moses.c - words as Moses splits them, with merges chosen by the input, and a text. Input:
   language and version, the number of merges, two symbols for each, the text. The pieces must be
   those of a search that applies the earliest merge wherever it occurs until there is none. Ends
   must rise, and decoding must write the beginning of its text into less room. */
#include "fuzz.h"
#include "text/list.h"

enum {
    MERGES = 40,
    SYMBOL = 24,
    FILE_MAX = MERGES * (2 * SYMBOL + 2) + 32,
    TEXT = 400,
    WORD = 4096
};

struct input {
    const char *language;
    bool end_apart;
    int merges;
    char parts[MERGES][2][SYMBOL]; /* the symbols that each merge joins */
    char file[FILE_MAX];
    size_t file_size;
    char text[TEXT];
    size_t size;
};

/* Chooses a symbol: a character, the end of a word, or what a merge makes. */
static void take_symbol(struct feed *in, const struct input *n, char to[SYMBOL])
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

static void take_input(struct feed *in, struct input *n)
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
    while (in->left && n->size + 8 < TEXT) {
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

static void check_word(const struct input *n, const struct moses *m,
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

static void check_words(const struct input *n, const struct moses *m)
{
    struct moses_text t = {.allocator = rapt__allocator(NULL), .language = &m->language};
    require(rapt__moses_split(&t, (rapt_text){n->text, n->size}) == RAPT_OK, "words");
    require(t.now.count <= WORD, "few characters");
    for (size_t at = 0, end; at < t.now.count; at = end + 1) {
        for (end = at; end < t.now.count && t.now.at[end].code != ' ';) end++;
        if (end > at) check_word(n, m, t.now.at + at, end - at);
    }
    rapt__moses_text_free(&t);
}

/* ---- the tokenizer ---- */

static void check_text(const rapt_tokenizer *t, const struct input *n,
                       const struct counted *counted)
{
    static int32_t ids[MOSES_GROWTH * TEXT + 1];
    static size_t ends[MOSES_GROWTH * TEXT + 1];
    static char whole[16 * MOSES_GROWTH * TEXT], part[16 * MOSES_GROWTH * TEXT];
    const size_t room = MOSES_GROWTH * TEXT + 1;
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
    static struct input n;
    struct feed in = {bytes, size};
    if (size > 1 << 11) return 0;
    struct counted counted = counted_by(input_hash(bytes, size), 6);
    const rapt_allocator allocator = counted_allocator(&counted);
    take_input(&in, &n);
    const struct list_source source = {
        .names = names,
        .size = sizeof names,
        .count = NAMES,
        .moses = {{n.file, n.file_size}, {n.language, strlen(n.language)}}};
    rapt_tokenizer *t = NULL;
    const rapt_status status = rapt__tokenizer_list(&t, &source, &allocator, NULL);
    require((status == RAPT_OK) == (t != NULL), "a tokenizer, or a status");
    require(status == RAPT_OK || may_lack_memory(&counted), "only memory is missing");
    if (t) check_words(&n, t->list->moses);
    if (t) check_text(t, &n, &counted);
    rapt_tokenizer_free(t);
    require(counted.now == 0, "all memory is given back");
    return 0;
}
