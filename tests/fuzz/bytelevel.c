/* bytelevel.c - byte pairs over bytes, with merges chosen by the input, and a text. Input: flags,
   the number of merges, two names for each, the text. The ids must be those of a search that
   applies the earliest merge, leftmost first, to each word until there is none. Ends must rise, and
   decoding must give the text again unless it spells out a special token. */
#include "fuzz.h"
#include "text/list.h"

enum { MERGES = 64, NAMES = 4 + 256 + MERGES, NAME = 256, TEXT = 600 };

struct input {
    char joined[NAMES * NAME];
    size_t start[NAMES + 1];
    int names, merges;
    int32_t pairs[MERGES][2], made[MERGES];
    char text[TEXT];
    size_t size;
};

static void add_name(struct input *n, const char *bytes, size_t size)
{
    const size_t at = n->start[n->names];
    memcpy(n->joined + at, bytes, size);
    n->joined[at + size] = 0;
    n->start[++n->names] = at + size + 1;
}

static bool has_name(const struct input *n, const char *bytes, size_t size)
{
    for (int id = 0; id < n->names; id++)
        if (n->start[id + 1] - n->start[id] - 1 == size &&
            memcmp(n->joined + n->start[id], bytes, size) == 0)
            return true;
    return false;
}

/* Adds a merge of two names, unless its name is long or already made. */
static void add_merge(struct input *n, int left, int right)
{
    char name[2 * NAME];
    const size_t a = n->start[left + 1] - n->start[left] - 1,
                 b = n->start[right + 1] - n->start[right] - 1;
    memcpy(name, n->joined + n->start[left], a);
    memcpy(name + a, n->joined + n->start[right], b);
    if (a + b >= NAME || has_name(n, name, a + b)) return;
    n->pairs[n->merges][0] = left, n->pairs[n->merges][1] = right;
    n->made[n->merges++] = n->names;
    add_name(n, name, a + b);
}

/* Returns the id of a byte, often one of the few that texts are made of, or of a merge. */
static int take_name(struct feed *in, const struct input *n)
{
    const int byte = take_byte(in);
    if (byte < 128) return 4 + (unsigned char)"ab c'st1\xC3\xA9"[byte % 10];
    return byte < 160 || n->merges == 0 ? 4 + take_byte(in) : 260 + byte % n->merges;
}

static void take_input(struct feed *in, struct input *n)
{
    static const uint32_t codes[] = {0xE9, 0x2028, 0x3000, 0x663, 0xBD, 0x1F600, 0x301, 0x4E2D};
    static const char specials[][8] = {"<s>", "<pad>", "</s>", "<unk>"};
    n->start[0] = 0, n->names = n->merges = 0, n->size = 0;
    for (int i = 0; i < 4; i++) add_name(n, specials[i], strlen(specials[i]));
    for (int byte = 0; byte < 256; byte++) {
        char name[2];
        add_name(n, name, rapt__bytelevel_spell((unsigned char)byte, name));
    }
    for (int left = take_below(in, MERGES); left > 0; left--) {
        const int a = take_name(in, n), b = take_name(in, n);
        add_merge(n, a, b);
    }
    while (in->left && n->size + 4 < TEXT) {
        const uint8_t byte = take_byte(in);
        if (byte < 240)
            n->text[n->size++] = (char)(byte < 128 ? byte : "abab c  'st11\t\n"[byte % 15]);
        else if (byte < 248)
            n->size += rapt__utf8_encode(codes[byte % 8], n->text + n->size);
        else
            n->text[n->size++] = (char)take_byte(in);
    }
}

/* Applies merges to the ids of a word, and returns their number. */
static size_t merge_all(const struct input *n, int32_t *ids, size_t count)
{
    for (;;) {
        int best = n->merges;
        size_t place = 0;
        for (size_t i = 0; i + 1 < count; i++)
            for (int m = 0; m < best; m++)
                if (n->pairs[m][0] == ids[i] && n->pairs[m][1] == ids[i + 1]) best = m, place = i;
        if (best == n->merges) return count;
        ids[place] = n->made[best];
        memmove(ids + place + 1, ids + place + 2, (count - place - 2) * sizeof *ids);
        count--;
    }
}

static void check_ids(const struct input *n, const int32_t *ids, size_t count)
{
    const rapt_text text = {n->text, n->size};
    size_t at = 0;
    for (size_t begin = 0, end; begin < n->size; begin = end) {
        int32_t word[TEXT];
        end = rapt__bytelevel_word_end(text, begin);
        require(end > begin && end <= n->size, "a word");
        for (size_t i = begin; i < end; i++) word[i - begin] = 4 + (unsigned char)n->text[i];
        const size_t size = merge_all(n, word, end - begin);
        require(at + size <= count && memcmp(word, ids + at, size * sizeof *ids) == 0, "ids");
        at += size;
    }
    require(at == count, "no more ids");
}

static void check_text(const rapt_tokenizer *t, const struct input *n, bool space_first,
                       const struct counted *counted)
{
    int32_t ids[TEXT + 1];
    size_t ends[TEXT + 1], count = 0, size = 0;
    char back[TEXT + 1];
    bool spelled = memchr(n->text, '<', n->size) != NULL;
    const rapt_status status =
        rapt_tokenizer_encode(t, (rapt_text){n->text, n->size}, ids, ends, TEXT + 1, &count, NULL);
    require(status == RAPT_OK || may_lack_memory(counted), "encoding");
    if (status) return;
    require(count <= rapt_tokenizer_bound(t, n->size), "the bound");
    for (size_t i = 0; i < count; i++)
        require(ends[i] <= n->size && (i == 0 || ends[i] >= ends[i - 1]), "ends that rise");
    require(rapt_tokenizer_decode(t, ids, count, back, sizeof back, &size, NULL) == RAPT_OK,
            "decoding");
    if (spelled || space_first) return;
    require(size == n->size && memcmp(back, n->text, size) == 0, "the same text");
    check_ids(n, ids, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct input n;
    struct feed in = {bytes, size};
    if (size > 1 << 11) return 0;
    struct counted counted = counted_by(input_hash(bytes, size), 6);
    const rapt_allocator allocator = counted_allocator(&counted);
    const bool space_first = take_flag(&in);
    take_input(&in, &n);
    const struct list_source source = {.names = n.joined,
                                       .size = n.start[n.names],
                                       .count = n.names,
                                       .merges = {true, space_first, n.pairs[0], n.merges}};
    rapt_tokenizer *t = NULL;
    const rapt_status status = rapt__tokenizer_list(&t, &source, &allocator, NULL);
    require((status == RAPT_OK) == (t != NULL), "a tokenizer, or a status");
    require(status == RAPT_OK || may_lack_memory(&counted), "only memory is missing");
    if (t) check_text(t, &n, space_first, &counted);
    rapt_tokenizer_free(t);
    require(counted.now == 0, "all memory is given back");
    return 0;
}
