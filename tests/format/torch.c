/* torch.c - tests state dicts of torch.save: files that PyTorch 1.13 wrote in both formats, and
   hand-made pickles, which are refused if they contain more than a state dict needs. */
#define _XOPEN_SOURCE 700

#include "archive.h"

static void check_floats(const struct tensor_file *file, const char *name, const float *expected,
                         size_t count)
{
    float data[6];
    const struct tensor_entry *e = rapt__tensors_find(file, name);
    if (!e || e->count != count) fail_msg("%s", name);
    assert_int_equal(rapt__tensors_read(file, e, 0, count, data, NULL), RAPT_OK);
    assert_memory_equal(data, expected, count * sizeof *data);
}

static void test_files(void **state)
{
    (void)state;
    static const char *const names[] = {"torch/stored",  "torch/deflated",  "torch/wide",
                                        "torch/plain",   "torch/nested",    "torch/legacy",
                                        "torch/legacy4", "torch/protocol4", "torch/protocol5"};
    static const float all[] = {1, 2, 3, 4, 5, 6}, turned[] = {1, 4, 2, 5, 3, 6};
    static const float half[] = {0.5f, -2, 3};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct bytes b = seed(names[i]);
        struct tensor_file *file = NULL;
        rapt_message why = {""};
        int64_t id;
        if (i == 1 && without_zlib(&b)) {
            printf("skipped: format/torch, deflated storages: built without zlib\n");
            free(b.data);
            continue;
        }
        if (rapt__tensors_open_any_memory(&file, b.data, b.size, NULL, &why))
            fail_msg("%s", why.text);
        assert_int_equal(rapt__tensors_container(file), CONTAINER_PYTORCH);
        assert_int_equal(rapt__tensors_count(file), 6);
        check_floats(file, "shared", all, 6);
        check_floats(file, "lm_head", all, 6);
        check_floats(file, "t", turned, 6);
        check_floats(file, "part", all + 2, 4);
        check_floats(file, "half", half, 3);
        const struct tensor_entry *e = rapt__tensors_find(file, "ids");
        assert_int_equal(rapt__tensors_integers(file, e, 0, 1, &id, NULL), RAPT_OK);
        assert_int_equal(id, -5);
        assert_true(rapt__tensors_find(file, "t")->transposed);
        e = rapt__tensors_find(file, "lm_head");
        assert_int_equal(e->begin, rapt__tensors_find(file, "shared")->begin);
        rapt__tensors_close(file);
        fail_allocations(&b, 8);
        refuse_beginnings(&b);
        assert_true(damage_bytes(&b, 2000) > 100);
        free(b.data);
    }
}

static void test_refused_files(void **state)
{
    (void)state;
    static const struct {
        const char *name, *reason;
    } rows[] = {
        {"torch/strides", "\"t\" has strides that skip or permute elements"},
        {"torch/behind", "\"t\" extends past the end of its storage"},
        {"torch/no_tensor", "\"epoch\" is not a tensor"},
        {"torch/size", "a storage whose size differs"},
        {"torch/missing", "has a storage that is not in the file"},
        {"torch/big_endian", "byteorder is not \"little\""},
        {"torch/evil", "the name posix.system is not allowed in a state dict"},
        {"torch/list", "\"t\" is not a tensor"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes b = seed(rows[i].name);
        refuse(&b, rows[i].reason);
        free(b.data);
    }
}

/* Builds an archive of a pickle and one storage of two floats. */
static struct bytes with_pickle(const char *pickle, size_t size)
{
    struct member members[] = {{.name = "m/data.pkl", .local_name = "m/data.pkl"},
                               {.name = "m/data/0", .local_name = "m/data/0"}};
    put_bytes(&members[0].data, pickle, size);
    put_bytes(&members[1].data, "\0\0\x80\x3F\0\0\0\x40", 8);
    struct bytes b = archive(members, 2);
    free(members[0].data.data);
    free(members[1].data.data);
    return b;
}

#define DICT "\x80\x02}"
#define STORAGE(n)                                                                                 \
    "(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"                                             \
    "0X\3\0\0\0cpuK" n "tQ"
#define REBUILD "ctorch._utils\n_rebuild_tensor_v2\n"
#define KEY     "X\1\0\0\0a"
#define MUCH    "J\xFF\xFF\xFF\x7F"
#define MODEL   "X\5\0\0\0model"
#define STATE   "X\x0A\0\0\0state_dict"
#define DICT1   "}" /* another dictionary */
#define TENSOR  REBUILD "(" STORAGE("\2") "K\0K\2\x85K\1\x85\x89}tR"

/* The same in opcodes of protocol 4. */
#define TENSOR4                                                                                    \
    "\x8C\x0Ctorch._utils\x8C\x12_rebuild_tensor_v2\x93(("                                         \
    "\x8C\7storage\x8C\5torch\x8C\x0C"                                                             \
    "FloatStorage\x93\x8C\1"                                                                       \
    "0\x8C\3cpuK\2tQK\0K\2\x85K\1\x85\x89}tR"
#define PARAMETER "ctorch._utils\n_rebuild_parameter"

static void test_pickles(void **state)
{
    (void)state;
#define ROW(text, reason)                                                                          \
    {                                                                                              \
        text, sizeof text - 1, reason,                                                             \
    }
    static const struct {
        const char *pickle;
        size_t size;
        const char *reason;
    } rows[] = {
        ROW("", "(0 bytes) is empty"),
        ROW(DICT ".", NULL),
        ROW(DICT KEY TENSOR "s.", NULL),
        ROW(DICT "(" KEY TENSOR "u.", NULL),
        ROW("\x80\x02"
            "ccollections\nOrderedDict\n)R" KEY TENSOR "s}b.",
            NULL),
        ROW(DICT "q\0"
                 "0h\0.",
            "opcode 0x30 is not allowed in a state dict"),
        ROW(DICT KEY REBUILD "(" STORAGE("\2") "K\0K\2K\1\x86K\1K\2\x86\x89}tRs.", NULL),
        ROW(DICT KEY REBUILD "(" STORAGE("\2") "K\0)K\1\x85\x89}tRs.",
            "does not have one stride per dimension"),
        ROW(DICT KEY REBUILD "(" STORAGE("\2") "K\0N\x85K\1\x85\x89}tRs.",
            "a dimension that is negative or too large"),
        ROW(DICT KEY REBUILD "(" STORAGE("\2") "K\0K\2\x85N\x85\x89}tRs.",
            "a stride that is negative or not a number"),
        ROW(DICT KEY REBUILD "(" STORAGE("\2") "J\xFF\xFF\xFF\xFFK\2\x85K\1\x85\x89}tRs.",
            "extends past the end of its storage"),
        ROW(DICT KEY REBUILD "(" STORAGE("\3") "K\0K\2\x85K\1\x85\x89}tRs.",
            "a storage whose size differs"),
        ROW(DICT KEY REBUILD "(" STORAGE("\2") "K\0K\2\x85K\1\x85tRs.",
            "the arguments of _rebuild_tensor_v2"),
        ROW(DICT KEY REBUILD "(" STORAGE("\2") "K\0(K\1K\1K\1K\1K\1K\1K\1K\1K\1t)\x89}tRs.",
            "has more than 8 dimensions"),
        ROW(DICT KEY REBUILD "(" STORAGE("\2") "K\0" MUCH MUCH MUCH "\x87)\x89}tRs.",
            "has a size that overflows"),
        ROW(DICT KEY REBUILD ")Rs.", "the arguments of _rebuild_tensor_v2"),
        ROW(DICT KEY "ctorch\nFloatStorage\n)Rs.", "a storage type is called as a function"),
        ROW(DICT KEY "K\1)Rs.", "the wrong type"),
        ROW(DICT KEY KEY "Qs.", "the wrong type"),
        ROW(DICT KEY ")Qs.", "does not describe a storage"),
        ROW(DICT "K\1K\1s.", "a key of the state dict is not a string"),
        ROW(DICT KEY "Ns.", "\"a\" is not a tensor"),
        ROW(DICT KEY TENSOR "s" KEY TENSOR "s.", "\"a\" occurs twice"),
        ROW(DICT "X\1\0\0\0\xFF" TENSOR "s.", "not UTF-8"),
        ROW(DICT "X\2\0\0\0a\0" TENSOR "s.", "contains a NUL byte"),
        ROW(DICT "X\0\0\0\0" TENSOR "s.", "has no name"),
        ROW("\x80\x05}.", NULL),
        ROW("\x80\x06}.", "the protocol is not between 2 and 5"),
        ROW("\x80\x01}.", "the protocol is not between 2 and 5"),
        ROW("}\x80\x02.", "the protocol is given twice or too late"),
        ROW(DICT "}.", "it contains more than one object"),
        ROW(DICT "..", "has bytes after the pickle, which ends at byte 4"),
        ROW(DICT, "it ends without a STOP opcode"),
        ROW("\x80\x02.", "a value is missing"),
        ROW("\x80\x02N.", "is not a dictionary"),
        ROW(DICT "(.", "the wrong type"),
        ROW(DICT "s.", "a value is missing"),
        ROW(DICT KEY "(s.", "a value is missing"),
        ROW(DICT "u.", "a mark is missing"),
        ROW(DICT "t.", "a mark is missing"),
        ROW("\x80\x02(u.", "a dictionary is missing"),
        ROW("\x80\x02N(u.", "a dictionary is missing"),
        ROW(DICT "(Nu.", "a key has no value"),
        ROW("\x80\x02\x86.", "a value is missing"),
        ROW("\x80\x02(\x85.", "a value is missing"),
        ROW("\x80\x02q\0.", "a value is missing"),
        ROW(DICT "q\1.", "an index of the memo was skipped"),
        ROW(DICT "h\0.", "the memo does not have this index"),
        ROW(DICT "X\xFF\xFF\xFF\xFFx.", "it ends within a string"),
        ROW(DICT "\x8C\x7Fx.", "it ends within a string"),
        ROW(DICT "J\1", "it ends within a number"),
        ROW(DICT KEY "\x8A\x09"
                     "123456789s.",
            "\"a\" is not a tensor"),
        ROW(DICT "\x8A\x0A"
                 "123456789",
            "it ends within a number"),
        ROW(DICT "G1234567", "it ends within a number"),
        ROW(DICT "\x8D\xFF\0\0\0\0\0\0\0x.", "it ends within a string"),
        ROW(DICT "\x8D\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFFx.", "it ends within a string"),
        ROW("\x80\4\x95\2\0\0\0\0\0\0\0}.", NULL),
        ROW("\x80\4\x95\3\0\0\0\0\0\0\0}.", "it ends within a frame"),
        ROW("\x80\4\x95\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF}.", "it ends within a frame"),
        ROW(DICT "\x94h\0s.", "a value is missing"),
        ROW("\x80\4}\x94" KEY "\x94" TENSOR4 "s.", NULL),
        ROW("\x80\4\x94.", "a value is missing"),
        ROW("\x80\4(\x94.", "a value is missing"),
        ROW("\x80\4}\x8C\2os\x8C\6system\x93.", "the name os.system is not allowed"),
        ROW("\x80\4}\x8C\2osK\1\x93.", "the wrong type"),
        ROW("\x80\4}K\1\x8C\2os\x93.", "the wrong type"),
        ROW("\x80\4}\x93.", "the wrong type"),
        ROW(DICT KEY "]s.", "\"a\" is not a tensor"),
        ROW(DICT KEY "](K\1K\2es.", "\"a\" is not a tensor"),
        ROW(DICT "a.", "a value is missing"),
        ROW(DICT "K\1a.", "a list is missing"),
        ROW(DICT "](ae.", "a value is missing"),
        ROW(DICT "e.", "a mark is missing"),
        ROW(DICT "(K\1e.", "a list is missing"),
        ROW("\x80\2].", "is not a dictionary"),
        ROW(DICT KEY PARAMETER "\n(" TENSOR "\x88}tRs.", NULL),
        ROW(DICT KEY PARAMETER "_with_state\n(" TENSOR "\x88}}tRs.", NULL),
        ROW(DICT KEY PARAMETER "\n(" TENSOR "\x88}Nt"
                               "Rs.",
            "the arguments of _rebuild_parameter"),
        ROW(DICT KEY PARAMETER "\n("
                               "K\1\x88}t"
                               "Rs.",
            "the arguments of _rebuild_parameter"),
        ROW(DICT KEY PARAMETER "_with_state\n(" TENSOR "\x88}tRs.", "the arguments of _rebuild"),
        ROW(DICT KEY "ccollections\nOrderedDict\nK\1\x85Rs.", "OrderedDict has arguments"),
        ROW(DICT MODEL DICT1 KEY TENSOR "ss.", NULL),
        ROW(DICT STATE DICT1 KEY TENSOR "ssX\5\0\0\0epochK\3s" MODEL "Ns.", NULL),
        ROW(DICT STATE DICT1 KEY TENSOR "ss" MODEL "}s.", "has two state dicts, \"model\" and"),
        ROW(DICT MODEL DICT1 KEY "K\1ss.", "\"a\" is not a tensor"),
        ROW(DICT MODEL TENSOR "s.", NULL),
        ROW(DICT "cos\nsystem", "it ends within a name"),
        ROW(DICT "cos\nsystem\n", "the name os.system is not allowed"),
        ROW(DICT "cbuiltins\nev\x1Bl\n", "the name builtins.ev?l is not allowed"),
        ROW(DICT "\x81", "opcode 0x81 is not allowed in a state dict"),
        ROW(DICT "ctorch._utils\n_rebuild_qtensor\n", "_rebuild_qtensor is not allowed"),
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes b = with_pickle(rows[i].pickle, rows[i].size);
        rapt_message why = {""};
        if (rows[i].reason)
            refuse(&b, rows[i].reason);
        else if (try_any(b.data, b.size, &why))
            fail_msg("%zu: %s", i, why.text);
        free(b.data);
    }
}

/* ---- before PyTorch 1.6 ---- */

/* A file in the format before PyTorch 1.6. */
struct legacy {
    const char *head; /* the three pickles before the state dict; NULL: valid ones */
    const char *dict; /* NULL: one tensor of two floats, storage "0" */
    size_t dict_size;
    const char *keys; /* the list of storages; NULL: "0" */
    uint64_t count;   /* number of elements in the storage's header */
    size_t data;      /* bytes after the number */
    const char *reason;
};

#define MAGIC   "\x80\2\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19."
#define VERSION "\x80\2M\xE9\3."
#define ORDER   "X\x0D\0\0\0little_endian"

static struct bytes legacy_file(const struct legacy *l)
{
    static const char dict[] = DICT KEY TENSOR "s.", system[] = "\x80\2}" ORDER "\x88s.";
    static const char keys[] = "\x80\2]X\1\0\0\0"
                               "0a.";
    struct bytes b = {NULL, 0};
    if (l->head) {
        put_bytes(&b, l->head, strlen(l->head));
    } else {
        put_bytes(&b, MAGIC VERSION, sizeof MAGIC VERSION - 1);
        put_bytes(&b, system, sizeof system - 1);
    }
    put_bytes(&b, l->dict ? l->dict : dict, l->dict ? l->dict_size : sizeof dict - 1);
    put_bytes(&b, l->keys ? l->keys : keys, l->keys ? strlen(l->keys) : sizeof keys - 1);
    put_number(&b, l->count, 8);
    for (size_t i = 0; i < l->data; i++) put_number(&b, i, 1);
    return b;
}

static void test_legacy(void **state)
{
    (void)state;
#define WITH(text) .dict = text, .dict_size = sizeof text - 1
#define TWO(second)                                                                                \
    DICT KEY TENSOR "sX\1\0\0\0"                                                                   \
                    "b" REBUILD "(" second "K\0K\1\x85K\1\x85\x89}tRs."
    static const struct legacy rows[] = {
        {.count = 2, .data = 8, .reason = NULL},
        {.count = 2, .data = 7, .reason = "a storage"},
        {.count = 2, .data = 9, .reason = "there are bytes after the last storage"},
        {.count = 1, .data = 8, .reason = "differs from that in the pickle"},
        {.count = 3, .data = 12, .reason = "differs from that in the pickle"},
        {.count = UINT64_MAX, .data = 8, .reason = "differs from that in the pickle"},
        {.head = MAGIC "\x80\2M\xE8\3.", .reason = "the version is not 1001"},
        {.head = MAGIC "\x80\2N.", .reason = "the version is not 1001"},
        {.head = "\x80\2M\xE9\3.", .reason = "the pickle was not written by torch.save"},
        {.head = "\x80\2\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x1A.",
         .reason = "not written by torch.save"},
        {.head = "\x80\2}.", .reason = "not written by torch.save"},
        {.head = MAGIC VERSION "\x80\2].", .reason = "little_endian is not True"},
        {.head = MAGIC VERSION "\x80\2}.", .reason = "little_endian is not True"},
        {WITH("\x80\2N."), .count = 2, .data = 8, .reason = "no tensor uses"},
        {WITH(DICT "."), .count = 2, .data = 8, .reason = "no tensor uses"},
        {.keys = "\x80\2].", .data = 0, .reason = "after the last storage"},
        {.keys = "\x80\2N.", .data = 0, .reason = "there is no list of storages"},
        {.keys = "\x80\2]K\1a.", .data = 8, .reason = "no tensor uses"},
        {WITH(TWO(STORAGE("\2"))), .count = 2, .data = 8, .reason = NULL},
        {WITH(TWO(STORAGE("\3"))), .count = 2, .data = 8, .reason = "disagree about the storage"},
        {WITH(DICT KEY REBUILD "((X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"
                               "0X\3\0\0\0cpuK\2NtQ"
                               "K\0K\2\x85K\1\x85\x89}tRs."),
         .count = 2, .data = 8, .reason = NULL},
        {WITH(DICT KEY REBUILD "((X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"
                               "0X\3\0\0\0cpuK\2)tQ"
                               "K\0K\2\x85K\1\x85\x89}tRs."),
         .count = 2, .data = 8, .reason = "does not describe a storage"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes b = legacy_file(&rows[i]);
        rapt_message why = {""};
        if (rows[i].reason)
            refuse(&b, rows[i].reason);
        else if (try_any(b.data, b.size, &why))
            fail_msg("%zu: %s", i, why.text);
        free(b.data);
    }
}

/* Lists of storages in which the only storage is missing or occurs twice. */
static void test_legacy_lists(void **state)
{
    (void)state;
    struct bytes whole = legacy_file(&(struct legacy){.count = 2, .data = 8}), b = {NULL, 0};
    const size_t tail = 8 + 8 +
                        sizeof "\x80\2]X\1\0\0\0"
                               "0a." -
                        1; /* of the list and the storage */
    put_bytes(&b, whole.data, whole.size - tail);
    put_bytes(&b, "\x80\2].", 4);
    refuse(&b, "\"a\" has a storage that is not in the file");
    b.size -= 4;
    put_bytes(&b,
              "\x80\2]X\1\0\0\0"
              "0q\0ah\0a.",
              16);
    for (int i = 0; i < 2; i++) put_bytes(&b, whole.data + whole.size - 16, 16);
    refuse(&b, "the list of storages contains a duplicate");
    free(whole.data);
    free(b.data);
}

/* Keys of storages have at most 128 bytes, since every key may be compared with every other. */
static void test_long_keys(void **state)
{
    (void)state;
    for (size_t size = 128; size <= 129; size++) {
        struct bytes pickle = {NULL, 0};
        put_bytes(&pickle, DICT KEY REBUILD "((X\7\0\0\0storagectorch\nFloatStorage\nX",
                  sizeof DICT KEY REBUILD "((X\7\0\0\0storagectorch\nFloatStorage\nX" - 1);
        put_number(&pickle, size, 4);
        for (size_t i = 0; i < size; i++) put_bytes(&pickle, "0", 1);
        put_bytes(&pickle, "X\3\0\0\0cpuK\2tQK\0K\2\x85K\1\x85\x89}tRs.",
                  sizeof "X\3\0\0\0cpuK\2tQK\0K\2\x85K\1\x85\x89}tRs." - 1);
        struct bytes b = with_pickle((const char *)pickle.data, pickle.size);
        refuse(&b,
               size > 128 ? "the key of a storage is too long" : "has a storage that is not in");
        free(pickle.data);
        free(b.data);
    }
}

/* Pickles with more values than a state dict has are refused. */
static void test_many_values(void **state)
{
    (void)state;
    enum { TIMES = 70000 };
    for (int kind = 0; kind < 5; kind++) {
        struct bytes pickle = {NULL, 0};
        put_bytes(&pickle, "\x80\4}\x94", 4);
        for (int i = 0; i < TIMES; i += 100) {
            char run[500];
            size_t size = 0;
            for (int k = 0; k < 100; k++) {
                const char *one = kind == 0   ? "N"
                                  : kind == 1 ? "\x94"
                                  : kind == 2 ? "N\x85"
                                  : kind == 3 ? "]Na"
                                              : "NNs";
                memcpy(run + size, one, strlen(one));
                size += strlen(one);
            }
            put_bytes(&pickle, run, size);
        }
        put_bytes(&pickle, ".", 1);
        struct bytes b = with_pickle((const char *)pickle.data, pickle.size);
        refuse(&b, "the pickle has more than 65536 values");
        free(pickle.data);
        free(b.data);
    }
}

struct measured { /* bytes allocated now, and the maximum */
    size_t held, max;
};

static void *measured_alloc(void *user, size_t bytes)
{
    struct measured *m = user;
    m->held += bytes;
    m->max = m->held > m->max ? m->held : m->max;
    return aligned_alloc(64, (bytes / 64 + 1) * 64);
}

static void measured_free(void *user, void *memory, size_t bytes)
{
    if (memory) ((struct measured *)user)->held -= bytes;
    free(memory);
}

/* One long key, assigned to one tensor again and again, must not be copied each time. */
static void test_repeated_key(void **state)
{
    (void)state;
    enum { KEY_SIZE = 20000, TIMES = 2000 };
    struct bytes pickle = {NULL, 0};
    static char key[KEY_SIZE];
    memset(key, 'k', sizeof key);
    put_bytes(&pickle, "\x80\x02}X", 4);
    put_number(&pickle, KEY_SIZE, 4);
    put_bytes(&pickle, key, KEY_SIZE);
    put_bytes(&pickle, "q\0", 2);
    put_bytes(&pickle, TENSOR "q\1s", sizeof TENSOR + 2);
    for (int i = 0; i < TIMES; i++) put_bytes(&pickle, "h\0h\1s", 5);
    put_bytes(&pickle, ".", 1);
    struct bytes b = with_pickle((const char *)pickle.data, pickle.size);
    struct measured m = {0, 0};
    const rapt_allocator allocator = {measured_alloc, measured_free, &m};
    struct tensor_file *file = NULL;
    rapt_message why = {""};
    assert_int_equal(rapt__tensors_open_any_memory(&file, b.data, b.size, &allocator, &why),
                     RAPT_BAD_FILE);
    if (!strstr(why.text, "a key of the state dict occurs twice")) fail_msg("%s", why.text);
    assert_int_equal(m.held, 0);
    if (m.max > 100 * b.size) fail_msg("%zu bytes for a file of %zu", m.max, b.size);
    free(pickle.data);
    free(b.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repeated_key),  cmocka_unit_test(test_files),
        cmocka_unit_test(test_refused_files), cmocka_unit_test(test_pickles),
        cmocka_unit_test(test_legacy),        cmocka_unit_test(test_legacy_lists),
        cmocka_unit_test(test_many_values),   cmocka_unit_test(test_long_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
