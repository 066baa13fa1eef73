/* torch.c - state dicts of torch.save: archives that Python's pickle and zipfile wrote, and pickles
   made by hand, of which all but what a state dict needs is refused. */
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
    static const char *const names[] = {"torch/stored", "torch/deflated", "torch/wide",
                                        "torch/plain"};
    static const float all[] = {1, 2, 3, 4, 5, 6}, turned[] = {1, 4, 2, 5, 3, 6};
    static const float half[] = {0.5f, -2, 3};
    for (int i = 0; i < 4; i++) {
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
        {"torch/strides", "\"t\": its strides leave out elements"},
        {"torch/behind", "\"t\": ends behind its storage"},
        {"torch/no_tensor", "\"epoch\": is no tensor"},
        {"torch/nested", "\"model\": is no tensor"},
        {"torch/size", "its storage has another size"},
        {"torch/missing", "its storage is not in the file"},
        {"torch/big_endian", "its byteorder is not \"little\""},
        {"torch/evil", "the name posix.system is of no state dict"},
        {"torch/list", "operation 0x5d is of no state dict"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes b = seed(rows[i].name);
        refuse(&b, rows[i].reason);
        free(b.data);
    }
}

/* An archive of a pickle, and one storage of two floats. */
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
#define TENSOR  REBUILD "(" STORAGE("\2") "K\0K\2\x85K\1\x85\x89}tR"

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
        ROW("", "has 0 bytes"),
        ROW(DICT ".", NULL),
        ROW(DICT KEY TENSOR "s.", NULL),
        ROW(DICT "(" KEY TENSOR "u.", NULL),
        ROW("\x80\x02"
            "ccollections\nOrderedDict\n)R" KEY TENSOR "s}b.",
            NULL),
        ROW(DICT "q\0"
                 "0h\0.",
            "operation 0x30 is of no"),
        ROW(DICT KEY REBUILD "(" STORAGE("\2") "K\0K\2K\1\x86K\1K\2\x86\x89}tRs.", NULL),
        ROW(DICT KEY REBUILD "(" STORAGE("\2") "K\0)K\1\x85\x89}tRs.", "has other strides"),
        ROW(DICT KEY REBUILD "(" STORAGE("\2") "K\0N\x85K\1\x85\x89}tRs.", "is no size"),
        ROW(DICT KEY REBUILD "(" STORAGE("\2") "K\0K\2\x85N\x85\x89}tRs.", "a stride is no size"),
        ROW(DICT KEY REBUILD "(" STORAGE("\2") "J\xFF\xFF\xFF\xFFK\2\x85K\1\x85\x89}tRs.",
            "behind"),
        ROW(DICT KEY REBUILD "(" STORAGE("\3") "K\0K\2\x85K\1\x85\x89}tRs.", "another size"),
        ROW(DICT KEY REBUILD "(" STORAGE("\2") "K\0K\2\x85K\1\x85tRs.", "does not take"),
        ROW(DICT KEY REBUILD ")Rs.", "does not take"),
        ROW(DICT KEY "ctorch\nFloatStorage\n)Rs.", "does not take"),
        ROW(DICT KEY "K\1)Rs.", "of another kind"),
        ROW(DICT KEY KEY "Qs.", "of another kind"),
        ROW(DICT KEY ")Qs.", "is no storage"),
        ROW(DICT "K\1K\1s.", "a key of the state dict is no text"),
        ROW(DICT KEY "Ns.", "\"a\": is no tensor"),
        ROW(DICT KEY TENSOR "s" KEY TENSOR "s.", "\"a\": is there twice"),
        ROW(DICT "X\1\0\0\0\xFF" TENSOR "s.", "not UTF-8"),
        ROW(DICT "X\2\0\0\0a\0" TENSOR "s.", "has a 0"),
        ROW(DICT "X\0\0\0\0" TENSOR "s.", "has no name"),
        ROW("\x80\x05}.", "a protocol other than"),
        ROW("}\x80\x02.", "a protocol other than"),
        ROW(DICT "}.", "more than one object"),
        ROW(DICT "..", "more than one object"),
        ROW(DICT, "it does not end"),
        ROW("\x80\x02.", "a value is missing"),
        ROW("\x80\x02N.", "of another kind"),
        ROW(DICT "(.", "of another kind"),
        ROW(DICT "s.", "a value is missing"),
        ROW(DICT KEY "(s.", "a value is missing"),
        ROW(DICT "u.", "a mark is missing"),
        ROW(DICT "t.", "a mark is missing"),
        ROW("\x80\x02(u.", "a dictionary is missing"),
        ROW("\x80\x02N(u.", "a dictionary is missing"),
        ROW(DICT "(Nu.", "a key without a value"),
        ROW("\x80\x02\x86.", "a value is missing"),
        ROW("\x80\x02(\x85.", "a value is missing"),
        ROW("\x80\x02q\0.", "a value is missing"),
        ROW(DICT "q\1.", "an index of the memo that is left out"),
        ROW(DICT "h\0.", "an index of the memo that is not there"),
        ROW(DICT "X\xFF\xFF\xFF\xFFx.", "it ends within a text"),
        ROW(DICT "\x8C\x7Fx.", "it ends within a text"),
        ROW(DICT "J\1", "it ends within a number"),
        ROW(DICT "\x8A\x09"
                 "123456789.",
            "more than 64 bits"),
        ROW(DICT "cos\nsystem", "it ends within a name"),
        ROW(DICT "cos\nsystem\n", "the name os.system is of no"),
        ROW(DICT "cbuiltins\nev\x1Bl\n", "the name builtins.ev?l is of no"),
        ROW(DICT "\x93", "operation 0x93 is of no"),
        ROW(DICT "ctorch._utils\n_rebuild_parameter\n", "_rebuild_parameter is of no"),
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

struct measured { /* memory: bytes that are held, and the maximum */
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

/* One long key, given to one tensor again and again: it is not copied as often. */
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
    if (!strstr(why.text, "a key of the state dict is there twice")) fail_msg("%s", why.text);
    assert_int_equal(m.held, 0);
    if (m.max > 100 * b.size) fail_msg("%zu bytes for a file of %zu", m.max, b.size);
    free(pickle.data);
    free(b.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repeated_key),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_refused_files),
        cmocka_unit_test(test_pickles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
