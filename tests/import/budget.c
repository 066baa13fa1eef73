/* budget.c - measures how much memory damaged and hostile files take before they are refused. Until
   names, shapes and configuration are known to agree, it may be 8 times the size of all files
   together plus 16 MB, in every container. The files are made here. Most are small for what they
   claim to hold: runs of one byte, deflated 150 to 1, and lists of the smallest items. */
#define _XOPEN_SOURCE 700

#include "../temporary.h"
#include "format/archive.h"
#include <rapt/rapt.h>

enum { MB = 1 << 20 };

/* ---- growing bytes, in steps that suit megabytes ---- */

struct text {
    unsigned char *data;
    size_t size, capacity;
};

static void add(struct text *t, const void *data, size_t size)
{
    while (t->size + size > t->capacity) {
        t->capacity = 2 * t->capacity + 4096;
        t->data = realloc(t->data, t->capacity);
        assert_non_null(t->data);
    }
    if (size) memcpy(t->data + t->size, data, size);
    t->size += size;
}

static void add_text(struct text *t, const char *string)
{
    add(t, string, strlen(string));
}

static void add_number(struct text *t, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) add(t, &(unsigned char){(unsigned char)(value >> 8 * i)}, 1);
}

static void repeat(struct text *t, const char *string, size_t times)
{
    for (size_t i = 0; i < times; i++) add_text(t, string);
}

/* ---- deflate (RFC 1951): a block with fixed codes ---- */

struct bits {
    struct text *to;
    unsigned value, count;
};

static void add_bit(struct bits *b, unsigned bit)
{
    b->value |= bit << b->count;
    if (++b->count < 8) return;
    add_number(b->to, b->value, 1);
    b->value = b->count = 0;
}

/* Huffman codes are written from their highest bit. */
static void add_code(struct bits *b, unsigned code, int length)
{
    while (length-- > 0) add_bit(b, code >> length & 1);
}

static void add_literal(struct bits *b, unsigned char byte)
{
    if (byte < 144)
        add_code(b, 0x30u + byte, 8);
    else
        add_code(b, 0x190u + byte - 144, 9);
}

/* Deflates head[size] followed by at least `run` copies of a byte. Returns the inflated size. */
static size_t deflate(struct text *to, const void *head, size_t size, unsigned char byte,
                      size_t run)
{
    enum { LONGEST = 258 };
    struct bits b = {.to = to};
    const size_t matches = run / LONGEST + 1;
    add_code(&b, 6, 3); /* the last block, with fixed codes */
    for (size_t i = 0; i < size; i++) add_literal(&b, ((const unsigned char *)head)[i]);
    add_literal(&b, byte);
    for (size_t i = 0; i < matches; i++) {
        add_code(&b, 0xC5, 8); /* the length 258 */
        add_code(&b, 0, 5);    /* the distance 1 */
    }
    add_code(&b, 0, 7);
    while (b.count) add_bit(&b, 0);
    return size + 1 + matches * LONGEST;
}

/* ---- zip ---- */

struct packed_member {
    const char *name;
    struct text stored;
    size_t size;
    uint32_t sum; /* CRC-32 of the inflated bytes */
    bool deflated;
};

static void add_record(struct text *to, const struct packed_member *m, size_t offset,
                       bool directory)
{
    add(to, directory ? "PK\1\2\x14\0" : "PK\3\4", directory ? 6 : 4);
    add_number(to, 20, 2);
    add_number(to, 0, 2);
    add_number(to, m->deflated ? 8 : 0, 2);
    add_number(to, 0, 4);
    add_number(to, m->sum, 4);
    add_number(to, m->stored.size, 4);
    add_number(to, m->size, 4);
    add_number(to, strlen(m->name), 2);
    add_number(to, 0, 2);
    if (directory) add_number(to, 0, 8), add_number(to, 0, 2), add_number(to, offset, 4);
    add_text(to, m->name);
}

static struct text zip_of(struct packed_member *members, int count)
{
    struct text to = {0};
    size_t offsets[4];
    for (int i = 0; i < count; i++) {
        offsets[i] = to.size;
        add_record(&to, &members[i], 0, false);
        add(&to, members[i].stored.data, members[i].stored.size);
    }
    const size_t begin = to.size;
    for (int i = 0; i < count; i++) add_record(&to, &members[i], offsets[i], true);
    const size_t size = to.size - begin;
    add(&to, "PK\5\6\0\0\0", 8);
    add_number(&to, (uint64_t)count, 2), add_number(&to, (uint64_t)count, 2);
    add_number(&to, size, 4), add_number(&to, begin, 4), add_number(&to, 0, 2);
    for (int i = 0; i < count; i++) free(members[i].stored.data);
    return to;
}

/* An array of npz, of `count` elements that are all `byte`. */
static struct packed_member array(const char *name, const char *descr, const char *shape,
                                  unsigned char byte, size_t count)
{
    struct packed_member m = {.name = name, .deflated = true};
    char header[160];
    int size = snprintf(header + 10, 150, "{'descr': '%s', 'fortran_order': False, 'shape': %s}\n",
                        descr, shape);
    memcpy(header, "\x93NUMPY\1\0", 8);
    header[8] = (char)size, header[9] = 0;
    m.size = deflate(&m.stored, header, 10 + (size_t)size, byte, count);
    return m;
}

/* ---- the files ---- */

static struct text settings_of_npz(void)
{
    struct packed_member m = array("special:model.yml.npy", "|i1", "(41943299,)", 'a', 40u * MB);
    return zip_of(&m, 1);
}

static struct text unused_tensor(void)
{
    struct packed_member m = array("nobody.npy", "<f4", "(104857600,)", 0, 400u * MB);
    return zip_of(&m, 1);
}

static struct text tall_table(void)
{
    struct packed_member m = array("Wemb.npy", "<f4", "(6000000, 4)", 0, 96000000);
    return zip_of(&m, 1);
}

static uint32_t sum_of_byte(uint32_t sum, unsigned char byte)
{
    sum ^= byte;
    for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320u : 0);
    return sum;
}

static struct text packed_pickle(void)
{
    struct packed_member m = {.name = "archive/data.pkl", .deflated = true};
    uint32_t sum = sum_of_byte(sum_of_byte(~0u, 0x80), 2);
    m.size = deflate(&m.stored, "\x80\2", 2, ']', 4 * MB - 1000); /* empty lists */
    for (size_t i = 2; i < m.size; i++) sum = sum_of_byte(sum, ']');
    m.sum = ~sum;
    return zip_of(&m, 1);
}

static struct text plain_pickle(void)
{
    struct text to = {0};
    add(&to, "\x80\2", 2);
    repeat(&to, "]", 2 * MB);
    return to;
}

static struct text marian_settings(const char *begin, const char *item, size_t times)
{
    struct text to = {0}, yml = {0};
    add_text(&yml, begin);
    repeat(&yml, item, times);
    add_number(&to, 1, 8), add_number(&to, 2, 8);
    add_number(&to, 18, 8), add_number(&to, 0x101, 8), add_number(&to, 1, 8);
    add_number(&to, yml.size, 8);
    add_number(&to, 2, 8), add_number(&to, 0x101, 8), add_number(&to, 1, 8);
    add_number(&to, 1, 8);
    add(&to, "special:model.yml", 18), add(&to, "a", 2);
    add_number(&to, yml.size, 4), add_number(&to, 1, 4);
    add_number(&to, 0, 8);
    add(&to, yml.data, yml.size), add_number(&to, 0, 1);
    free(yml.data);
    return to;
}

static struct text yaml_keys(void)
{
    return marian_settings("", "a: 1\n", 4 * MB);
}

static struct text yaml_list(void)
{
    return marian_settings("a: [", "b,", 4 * MB);
}

static struct text marian_items(void)
{
    enum { ITEMS = 200000 };
    struct text to = {0};
    add_number(&to, 1, 8), add_number(&to, ITEMS, 8);
    for (int i = 0; i < ITEMS; i++) {
        add_number(&to, 2, 8), add_number(&to, 0x404, 8);
        add_number(&to, 0, 8), add_number(&to, 4, 8);
    }
    for (int i = 0; i < ITEMS; i++) add(&to, "a", 2);
    add_number(&to, 0, 8);
    for (int i = 0; i < ITEMS; i++) add_number(&to, 0, 4);
    return to;
}

static struct text ct2_variables(void)
{
    enum { VARIABLES = 1 << 20 };
    struct text to = {0};
    add_number(&to, 6, 4), add_number(&to, 2, 2), add(&to, "T", 2), add_number(&to, 1, 4);
    add_number(&to, VARIABLES, 4);
    for (int i = 0; i < VARIABLES; i++) {
        add_number(&to, 2, 2), add(&to, "a", 2), add_number(&to, 0, 1);
        add_number(&to, 1, 1), add_number(&to, 1, 4), add_number(&to, 0, 1);
    }
    add_number(&to, 0, 4);
    return to;
}

static struct text safetensors_entries(void)
{
    static const char entry[] = "\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},";
    enum { ENTRIES = 300000 };
    struct text to = {0};
    add_number(&to, ENTRIES * (sizeof entry - 1) + 1, 8);
    add_text(&to, "{");
    repeat(&to, entry, ENTRIES);
    to.data[to.size - 1] = '}';
    return to;
}

static struct text safetensors_metadata(void)
{
    static const char pair[] = "\"a\":\"\",", begin[] = "{\"__metadata__\":{";
    enum { PAIRS = 2000000 };
    struct text to = {0};
    add_number(&to, sizeof begin - 1 + PAIRS * (sizeof pair - 1) + 1, 8);
    add_text(&to, begin);
    repeat(&to, pair, PAIRS);
    to.data[to.size - 1] = '}';
    add_text(&to, "}");
    return to;
}

static struct text index_of_shards(void)
{
    struct text to = {0};
    add_text(&to, "{\"weight_map\":{");
    repeat(&to, "\"a\":\"b\",", 2 * MB);
    to.data[to.size - 1] = '}';
    add_text(&to, "}");
    return to;
}

/* A gzip file whose trailer declares the most that is accepted. */
static struct text gzip(void)
{
    struct text to = {0};
    add(&to, "\x1F\x8B\x08\0\0\0\0\0\0\3", 10);
    deflate(&to, "", 0, '[', 200u * MB);
    add_number(&to, 0, 4);
    add_number(&to, 4 * (to.size + 4) + 4 * MB, 4);
    return to;
}

static struct text long_piece(void)
{
    struct text to = {0}, piece = {0};
    uint64_t seed = 7;
    for (int i = 0; i < 5 * MB; i++) add_number(&piece, 'a' + next_random(&seed) % 26, 1);
    for (int i = 0; i < 2; i++) { /* <unk>, and the long piece */
        const size_t size = i ? piece.size : 5;
        struct text body = {0};
        add_number(&body, 0x0A, 1);
        for (size_t n = size; n || body.size == 1; n >>= 7)
            add_number(&body, (n & 127) | (n >> 7 ? 128 : 0), 1);
        add(&body, i ? piece.data : (const unsigned char *)"<unk>", size);
        add_number(&body, 0x18, 1), add_number(&body, i ? 1 : 2, 1);
        add_number(&to, 0x0A, 1);
        for (size_t n = body.size, first = 1; n || first; n >>= 7, first = 0)
            add_number(&to, (n & 127) | (n >> 7 ? 128 : 0), 1);
        add(&to, body.data, body.size);
        free(body.data);
    }
    free(piece.data);
    return to;
}

/* ---- the law ---- */

typedef rapt_status open_fn(const char *path, const rapt_allocator *allocator, rapt_message *why);

static rapt_status open_model(const char *path, const rapt_allocator *allocator, rapt_message *why)
{
    rapt_model *model = NULL;
    rapt_status status = rapt_model_import(&model, path, allocator, why);
    rapt_model_free(model);
    return status;
}

static rapt_status open_pieces(const char *path, const rapt_allocator *allocator, rapt_message *why)
{
    rapt_tokenizer *tokenizer = NULL;
    rapt_status status = rapt_tokenizer_load(&tokenizer, path, allocator, why);
    rapt_tokenizer_free(tokenizer);
    return status;
}

static rapt_status open_shortlist(const char *path, const rapt_allocator *allocator,
                                  rapt_message *why)
{
    static const rapt_text names[] = {{"</s>", 4}, {"<unk>", 5}, {"a", 1}};
    rapt_tokenizer *tokenizer = NULL;
    rapt_shortlist *shortlist = NULL;
    assert_int_equal(rapt_tokenizer_create_list(&tokenizer, names, 3, NULL, NULL, NULL), RAPT_OK);
    rapt_status status =
        rapt_shortlist_load(&shortlist, path, tokenizer, tokenizer, allocator, why);
    rapt_shortlist_free(shortlist);
    rapt_tokenizer_free(tokenizer);
    return status;
}

static const struct {
    const char *name;
    struct text (*make)(void);
    open_fn *open;
    const char *ending;
    const char *reason; /* in the message; NULL: any */
} rows[] = {
    {"npz, model.yml", settings_of_npz, open_model, "", "8 times its size plus 16 MB"},
    {"npz, unused", unused_tensor, open_model, "", "8 times its size plus 16 MB"},
    {"npz, Wemb", tall_table, open_model, "", "8 times its size plus 16 MB"},
    {"torch, zip", packed_pickle, open_model, "", NULL},
    {"torch, legacy", plain_pickle, open_model, "", NULL},
    {"yaml, keys", yaml_keys, open_model, "", NULL},
    {"yaml, list", yaml_list, open_model, "", NULL},
    {"marian", marian_items, open_model, "", NULL},
    {"ctranslate2", ct2_variables, open_model, "", NULL},
    {"safetensors, entries", safetensors_entries, open_model, "", NULL},
    {"safetensors, metadata", safetensors_metadata, open_model, "", NULL},
    {"shards", index_of_shards, open_model, "", NULL},
    {"gzip", gzip, open_model, ".bin.gz", NULL},
    {"gzip, pieces", gzip, open_pieces, ".spm.gz", NULL},
    {"gzip, shortlist", gzip, open_shortlist, ".txt.gz", NULL},
    {"pieces", long_piece, open_pieces, ".spm", "8 times its size plus 16 MB"},
};

static void check(const char *folder, int n)
{
    char path[TEMPORARY + 16];
    struct text made = rows[n].make();
    snprintf(path, sizeof path, "%s/model%s", folder, rows[n].ending);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(made.data, 1, made.size, file), made.size);
    assert_int_equal(fclose(file), 0);
    struct stingy stingy = {.fail_at = -1};
    const rapt_allocator allocator = {stingy_alloc, stingy_free, &stingy};
    rapt_message why = {""};
    rapt_status status = rows[n].open(path, &allocator, &why);
    remove(path);
    free(made.data);
    print_message("%-22s %8zu bytes, %8zu of %8zu of memory: %s\n", rows[n].name, made.size,
                  stingy.max, 8 * made.size + 16 * MB, why.text);
    if (status != RAPT_BAD_FILE) fail_msg("%s: %d: %s", rows[n].name, (int)status, why.text);
    if (rows[n].reason && !strstr(why.text, rows[n].reason) &&
        !strstr(why.text, "built without zlib"))
        fail_msg("%s: %s", rows[n].name, why.text);
    if (stingy.max > 8 * made.size + 16 * MB)
        fail_msg("%s: %zu bytes take %zu of memory", rows[n].name, made.size, stingy.max);
    assert_int_equal(stingy.alive, 0);
}

static void test_all(void **state)
{
    for (int n = 0; n < (int)(sizeof rows / sizeof *rows); n++) check(*state, n);
}

static int make_folder(void **state)
{
    static char folder[TEMPORARY];
    return (*state = temporary_folder(folder)) ? 0 : -1;
}

static int remove_folder(void **state)
{
    return rmdir(*state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
