/* vocabularies.c - vocabularies and tokenizers of other projects. */
#include "format/format.h"
#include "fuzz.h"
#include "temporary.h"
#include "text/list.h"

#include "import/hf.h"

#include <rapt/text.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- vocabulary: any bytes as a vocabulary, in the form that the first byte selects. It must be
   refused with a reason or give tokens that are found under their ids, in memory proportional to
   its size. ---- */

int fuzz_vocabulary(const uint8_t *bytes, size_t size)
{
    if (size < 1 || size > 1 << 13) return 0;
    uint8_t *exact = exact_copy(bytes + 1, size - 1);
    struct counted counted = counted_by(input_hash(bytes, size), 8);
    const rapt_allocator allocator = counted_allocator(&counted);
    rapt_message why = {""};
    struct vocabulary *v = NULL;
    rapt_status status = rapt__vocabulary_open_memory(
        &v, exact, size - 1, (enum vocabulary_form)(bytes[0] % 3), &allocator, &why);
    free(exact); /* the vocabulary has its own copy */
    require((status == RAPT_OK) == (v != NULL), "a file, or a status");
    require(status != RAPT_NO_MEMORY || may_lack_memory(&counted), "there was memory");
    require(status == RAPT_OK || status == RAPT_NO_MEMORY ||
                (status == RAPT_BAD_FILE && why.text[0]),
            "status, and a reason");
    require(counted.max <= 64 * size + 4096, "memory in proportion to the file");
    for (int i = 0; v && i < rapt__vocabulary_count(v); i++) {
        const char *token = rapt__vocabulary_token(v, i);
        require(token && token[0] && strlen(token) <= size, "a token");
        require(rapt__vocabulary_find(v, token) == i, "its number");
    }
    rapt__vocabulary_close(v);
    require(counted.now == 0, "all memory is given back");
    return 0;
}

/* ---- sentencepiece: any bytes as a SentencePiece model that encodes a text. Input: the size of
   the text in a byte, the text, the model. The model must be refused with a reason or give ids
   within its bound, with increasing ends. It must decode any of its ids, and give the same ids
   after it was written and created again. ---- */

static void check_written(const rapt_tokenizer *t, rapt_text text, const int32_t *ids, size_t count)
{
    rapt_tokenizer *again = NULL;
    size_t size = 0, same = 0;
    require(rapt_tokenizer_write(t, NULL, 0, &size, NULL) == RAPT_OK, "its size");
    char *string = malloc(size);
    int32_t *others = malloc((count + 1) * sizeof *others);
    require(string && others, "memory for the test itself");
    require(rapt_tokenizer_write(t, string, size, &size, NULL) == RAPT_OK, "writing");
    require(rapt_tokenizer_create(&again, string, size - 1, NULL, NULL) == RAPT_OK, "creating");
    require(rapt_tokenizer_encode(again, text, others, NULL, count, &same, NULL) == RAPT_OK,
            "as many tokens again");
    require(same == count, "as many tokens");
    require(count == 0 || memcmp(others, ids, count * sizeof *ids) == 0, "the same tokens");
    rapt_tokenizer_free(again);
    free(string);
    free(others);
}

static void check_decode(const rapt_tokenizer *t, const int32_t *ids, size_t count,
                         const struct counted *counted)
{
    size_t size = 0;
    char bytes[64];
    rapt_status status = rapt_tokenizer_decode(t, ids, count, bytes, sizeof bytes, &size, NULL);
    require(status == RAPT_OK || status == RAPT_BAD_ARGUMENT || may_lack_memory(counted),
            "decoding");
    require(status != RAPT_OK || size <= sizeof bytes, "what is decoded fits");
}

static void check_text_sentencepiece(const rapt_tokenizer *t, rapt_text text,
                                     const struct counted *counted)
{
    size_t bound = rapt_tokenizer_bound(t, text.size), count = 0;
    int vocab = rapt_tokenizer_vocab(t);
    if (bound > 1 << 20) return; /* skip rules that lengthen the text too much */
    int32_t *ids = malloc((bound + 1) * sizeof *ids);
    size_t *ends = malloc((bound + 1) * sizeof *ends);
    require(ids && ends, "memory for the test itself");
    rapt_status status = rapt_tokenizer_encode(t, text, ids, ends, bound, &count, NULL);
    require(status == RAPT_OK || may_lack_memory(counted), "encoding");
    for (size_t i = 0; i < count; i++) {
        require(ids[i] >= 0 && ids[i] < vocab, "an id");
        require(ends[i] <= text.size && (i == 0 || ends[i] >= ends[i - 1]), "ends that rise");
    }
    if (status == RAPT_OK) check_decode(t, ids, count, counted);
    if (counted->fail_at < 0) check_written(t, text, ids, count);
    for (size_t i = 0; i < bound && i < 16; i++) ids[i] = (int32_t)i % vocab;
    check_decode(t, ids, bound < 16 ? bound : 16, counted);
    free(ids);
    free(ends);
}

int fuzz_sentencepiece(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    struct counted counted = counted_by(input_hash(bytes, size), 40);
    const rapt_allocator allocator = counted_allocator(&counted);
    size_t part = take_byte(&in);
    if (part > in.left) part = in.left;
    char *text = exact_copy(in.at, part), *model = exact_copy(in.at + part, in.left - part);
    rapt_tokenizer *t = NULL;
    rapt_message why = {""};
    rapt_status status = rapt_tokenizer_load_memory(&t, model, in.left - part, &allocator, &why);
    require((status == RAPT_OK) == (t != NULL), "a tokenizer, or a status");
    require((status == RAPT_OK) == (why.text[0] == 0), "a reason");
    require(status == RAPT_OK || status == RAPT_BAD_FILE || may_lack_memory(&counted), "status");
    require(counted.max <= 256 * size + (1 << 20), "memory in proportion to the model");
    if (t) check_text_sentencepiece(t, (rapt_text){text, part}, &counted);
    rapt_tokenizer_free(t);
    require(counted.now == 0, "all memory is given back");
    free(text);
    free(model);
    return 0;
}

/* ---- hf json: any bytes as tokenizer.json. Each type of model must be refused with a reason or
   become a tokenizer that encodes a text within its bound, in memory bounded by the size of the
   file. ---- */

enum { ROWS = 300, LARGEST = 1 << 15 };

static char folder[TEMPORARY], path[TEMPORARY + 32];

static void remove_folder(void)
{
    unlink(path);
    rmdir(folder);
}

static void write_file(const uint8_t *bytes, size_t size)
{
    if (folder[0] == 0) {
        require(temporary_folder(folder) != NULL, "a folder");
        snprintf(path, sizeof path, "%s/tokenizer.json", folder);
        atexit(remove_folder);
    }
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    require(file >= 0 && write(file, bytes, size) == (ssize_t)size, "a written file");
    close(file);
}

static void check_tokenizer(const rapt_tokenizer *t)
{
    static const char text[] = "a ab  the\tcat's <mask>, en_XX\xC3\xA9<extra_id_0>\xFF";
    int32_t ids[512];
    size_t ends[512], count = 0;
    const rapt_text all = {text, sizeof text - 1};
    require(rapt_tokenizer_vocab(t) == ROWS, "a token for each row");
    const size_t bound = rapt_tokenizer_bound(t, all.size);
    const rapt_status status = rapt_tokenizer_encode(t, all, ids, ends, 512, &count, NULL);
    require(status == RAPT_OK || status == RAPT_NO_MEMORY || status == RAPT_BAD_ARGUMENT,
            "encoding");
    if (status) return;
    require(count <= bound, "the bound");
    for (size_t i = 0; i < count; i++)
        require(ids[i] >= 0 && ids[i] < ROWS && ends[i] <= all.size, "ids and ends");
}

/* Checks one type of model. `more` is the memory that is allowed for a file without bytes. */
static void check_type(const char *type, uint64_t hash, size_t size, size_t more)
{
    static struct import i;
    struct counted counted = counted_by(hash, 6);
    rapt_message why = {""};
    i = (struct import){.why = &why, .allocator = counted_allocator(&counted)};
    snprintf(i.folder, sizeof i.folder, "%s/", folder);
    i.config.source_vocab = ROWS;
    const rapt_status status = rapt__hf_json(&i, type);
    require((status == RAPT_OK) == (i.source != NULL), "a tokenizer, or a status");
    require(status == RAPT_OK || why.text[0], "a reason");
    require(status == RAPT_OK || status == RAPT_BAD_FILE || may_lack_memory(&counted), "status");
    require(counted.max <= 64 * size + more, "memory in proportion to the file");
    if (i.source) check_tokenizer(i.source);
    rapt_tokenizer_free(i.source);
    require(counted.now == 0, "all memory is given back");
}

int fuzz_hf_json(const uint8_t *bytes, size_t size)
{
    if (size > LARGEST) return 0;
    /* A file of zstd may inflate to 4 MB more, and needs a window of up to 8 MB. */
    const size_t more = size >= 4 && rapt__is_zstd(bytes) ? 1 << 25 : 1 << 18;
    write_file(bytes, size);
    check_type("WordPiece", input_hash(bytes, size), size, more);
    check_type("BPE", input_hash(bytes, size) + 1, size, more);
    check_type("Unigram", input_hash(bytes, size) + 2, size, more);
    return 0;
}

/* ---- bytelevel: byte pairs over bytes, with merges chosen by the input, and a text. Input: flags,
   the number of merges, two names for each, the text. The ids must be those of a search that
   applies the earliest merge, leftmost first, to each word until there is none. Ends must rise, and
   decoding must give the text again unless it spells out a special token. ---- */

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

static void check_text_bytelevel(const rapt_tokenizer *t, const struct input *n, bool space_first,
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

int fuzz_bytelevel(const uint8_t *bytes, size_t size)
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
    if (t) check_text_bytelevel(t, &n, space_first, &counted);
    rapt_tokenizer_free(t);
    require(counted.now == 0, "all memory is given back");
    return 0;
}
