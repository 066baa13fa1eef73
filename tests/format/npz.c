/* npz.c - tests arrays in zip files: real ones from Python's zipfile, and refused mistakes in
   archives and arrays. */
#define _XOPEN_SOURCE 700

#include "archive.h"

static void check_arrays(const struct bytes *b)
{
    static const float a[] = {1, 2, 3, 4, 5, 6}, half[] = {0.5f, -2};
    struct tensor_file *file = NULL;
    rapt_message why = {""};
    float data[6];
    if (rapt__tensors_open_any_memory(&file, b->data, b->size, NULL, &why))
        fail_msg("%s", why.text);
    assert_int_equal(rapt__tensors_container(file), CONTAINER_NPZ);
    const struct tensor_entry *e = rapt__tensors_find(file, "a");
    assert_true(e && e->rank == 2 && e->shape[0] == 2 && e->shape[1] == 3);
    assert_int_equal(rapt__tensors_read(file, e, 0, 6, data, NULL), RAPT_OK);
    assert_memory_equal(data, a, sizeof a);
    e = rapt__tensors_find(file, "b");
    assert_int_equal(rapt__tensors_read(file, e, 0, 2, data, NULL), RAPT_OK);
    assert_memory_equal(data, half, sizeof half);
    e = rapt__tensors_find(file, "n");
    if (e) {
        int64_t n;
        assert_int_equal(rapt__tensors_integers(file, e, 0, 1, &n, NULL), RAPT_OK);
        assert_int_equal(n, -5);
        assert_string_equal(rapt__tensors_metadata(file, "special:model.yml"), "dim-emb: 4\n");
        assert_true(rapt__tensors_find(file, "a")->alpha == 0.5f);
        assert_int_equal(rapt__tensors_find(file, "c")->rank, 0);
    }
    rapt__tensors_close(file);
}

static void test_files(void **state)
{
    (void)state;
    static const char *const names[] = {"npz/stored", "npz/deflated", "npz/wide", "npz/orders"};
    for (int i = 0; i < 4; i++) {
        struct bytes b = seed(names[i]);
        if (i == 1 && without_zlib(&b)) {
            printf("skipped: format/npz, deflated arrays: built without zlib\n");
        } else {
            check_arrays(&b);
            fail_allocations(&b, 4);
            assert_true(damage_bytes(&b, 2000) > 100); /* dates and values are not checked */
        }
        refuse_beginnings(&b);
        free(b.data);
    }
}

/* ---- mistakes ---- */

static struct bytes array(const char *header, const void *data, size_t size)
{
    struct bytes b = {NULL, 0};
    put_bytes(&b, "\x93NUMPY\1\0", 8);
    put_number(&b, strlen(header), 2);
    put_bytes(&b, header, strlen(header));
    put_bytes(&b, data, size);
    return b;
}

#define GOOD "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n"

static void test_archives(void **state)
{
    (void)state;
    static const struct {
        struct member member;
        const char *reason;
    } rows[] = {
        {{.name = "b.npy", .local_name = "b.npy"}, NULL},
        {{.name = "a.npy", .local_name = "a.npy"}, "\"a.npy\" occurs twice"},
        {{.name = "b.txt", .local_name = "b.txt"}, "its name does not end in .npy"},
        {{.name = ".npy", .local_name = ".npy"}, "has no name"},
        {{.name = "\xFF.npy", .local_name = "\xFF.npy"}, "a name is not UTF-8"},
        {{.name = "b.npy", .local_name = "c.npy"}, "has a different name in the directory"},
        {{.name = "b.npy", .local_name = "cc.npy"}, "is not where the directory says"},
        {{.name = "b.npy", .local_name = "b.npy", .flags = 1}, "is encrypted"},
        {{.name = "b.npy", .local_name = "b.npy", .method = 12}, "method 12; only stored (0)"},
        {{.name = "b.npy", .local_name = "b.npy", .size = 4},
         "its compressed and uncompressed sizes differ"},
        {{.name = "b.npy", .local_name = "b.npy", .size = 1000000, .method = 8},
         "that deflate cannot reach"},
        {{.name = "b.npy", .local_name = "b.npy", .size = 4, .stored = 4}, "ends within or after"},
        {{.name = "b.npy", .local_name = "b.npy", .size = -4, .stored = -4},
         "does not match its shape"},
        {{.name = "b.npy", .local_name = "b.npy", .at = 1}, "is not where the directory says"},
        {{.name = "b.npy", .local_name = "b.npy", .at = 100000}, "begins after the directory"},
        {{.name = "b.npy", .local_name = "b.npy", .method = 8}, ""},
    };
    struct bytes data = array(GOOD, "12345678", 8);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct member members[] = {{.name = "a.npy", .local_name = "a.npy"}, rows[i].member};
        members[0].data = members[1].data = data;
        struct bytes b = archive(members, 2);
        if (rows[i].reason)
            refuse(&b, rows[i].reason);
        else
            assert_int_equal(try_any(b.data, b.size, NULL), RAPT_OK);
        free(b.data);
    }
    /* two members share their bytes */
    struct member same[] = {{.name = "a.npy", .local_name = "a.npy", .data = data},
                            {.name = "a.npy", .local_name = "a.npy", .data = data}};
    same[1].at = -(long)(30 + 5 + data.size);
    struct bytes b = archive(same, 2);
    refuse(&b, "overlaps another member");
    free(b.data);
    free(data.data);
    b = (struct bytes){NULL, 0};
    put_bytes(&b, "PK\3\4", 4);
    put_zeros(&b, 5000);
    refuse(&b, "the end of the zip directory is missing");
    free(b.data);
}

/* Members that touch are allowed; members that share one byte are not. */
static void test_neighbors(void **state)
{
    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        const char *header = shared ? "{'descr': '|u1', 'fortran_order': False, 'shape': (9,), }\n"
                                    : "{'descr': '|u1', 'fortran_order': False, 'shape': (8,), }\n";
        struct bytes data = array(header, "12345678", 8), last = array(GOOD, "12345678", 8);
        const struct member members[] = {{.name = "a.npy",
                                          .local_name = "a.npy",
                                          .data = data,
                                          .size = shared,
                                          .stored = shared},
                                         {.name = "b.npy", .local_name = "b.npy", .data = last}};
        struct bytes b = archive(members, 2);
        if (shared)
            refuse(&b, "\"b.npy\" overlaps another member");
        else
            assert_int_equal(try_any(b.data, b.size, NULL), RAPT_OK);
        free(b.data);
        free(data.data);
        free(last.data);
    }
}

/* Builds an archive with 64-bit numbers and a zip64 end record, of which one number is replaced. */
static void test_wide(void **state)
{
    (void)state;
    static const struct {
        int from_end; /* offset of the number */
        uint64_t value;
        const char *reason;
    } rows[] = {
        {22 + 12, UINT64_MAX, "comes after the end"},
        {22 + 12, 0, "the zip64 record is missing"},
        {22 + 20 + 8, 1 << 20, "does not fit into the file"},
        {22 + 20 + 16, UINT64_MAX, "does not fit into the file"},
        {22 + 20 + 16, 100, "differs from the total size of its entries"},
        {22 + 20 + 24, UINT64_MAX, "does not fit into the file"},
        {22 + 20 + 24, 1, "differs from the total size of its entries"},
        {22 + 20 + 8, 1, "an entry of the directory is missing"},
    };
    struct bytes data = array(GOOD, "12345678", 8);
    struct member members[] = {{.name = "a.npy", .local_name = "a.npy", .data = data},
                               {.name = "b.npy", .local_name = "b.npy", .data = data}};
    struct bytes b = wide_archive(members, 2);
    rapt_message why = {""};
    if (try_any(b.data, b.size, &why)) fail_msg("%s", why.text);
    refuse_beginnings(&b);
    assert_true(damage_bytes(&b, 2000) > 100);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned char *at = b.data + b.size - rows[i].from_end, before[8];
        memcpy(before, at, 8);
        for (int k = 0; k < 8; k++) at[k] = (unsigned char)(rows[i].value >> 8 * k);
        refuse(&b, rows[i].reason);
        memcpy(at, before, 8);
    }
    free(b.data);
    members[1].at = 1 << 20;
    b = wide_archive(members, 2);
    refuse(&b, "begins after the directory");
    free(b.data);
    free(data.data);
}

static void test_arrays(void **state)
{
    (void)state;
    static const struct {
        const char *header, *reason;
    } rows[] = {
        {GOOD, NULL},
        {"{\"shape\":(1,2,),\"fortran_order\":False,\"descr\":\"<f4\"}", NULL},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (2, 4), }", NULL},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", NULL},
        {"{'descr': 'f4', 'fortran_order': False, 'shape': (2,), }", "type \"f4\""},
        {"{'descr': '', 'fortran_order': False, 'shape': (2,), }", "type \"\""},
        {"{'descr': '|S8', 'fortran_order': False, 'shape': (), }", "type \"|S8\""},
        {"{'descr': '|V2', 'fortran_order': False, 'shape': (4,), }", "type \"|V2\""},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", "type \"<c8\""},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", "is not a string"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }", NULL},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2, 1), }", NULL},
        {"{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2, 2), }",
         "more than 2 dimensions in Fortran order"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2,), }", "neither True nor False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "does not match its shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2), }",
         "has a shape that is not a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': [2], }",
         "has a shape that is not a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", "is not a number"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,2), }",
         "8 dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
         "has a size that overflows"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999999999, 4), }",
         "has a size that overflows"},
        {"{'descr': '<f4', 'fortran_order': False, }", "without descr"},
        {"{'descr': '<f4', 'descr': '<f4', 'shape': (2,), }", "an unknown or duplicate key"},
        {"{'other': '<f4', 'fortran_order': False, 'shape': (2,), }",
         "an unknown or duplicate key"},
        {"{'descr' '<f4', 'fortran_order': False, 'shape': (2,), }", "without a value"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,) 3}", "without a closing brace"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} 3",
         "continues after the dictionary"},
        {"['descr']", "is not a dictionary"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes data = array(rows[i].header, "12345678", 8);
        const struct member member = {.name = "a.npy", .local_name = "a.npy", .data = data};
        struct bytes b = archive(&member, 1);
        if (rows[i].reason)
            refuse(&b, rows[i].reason);
        else
            assert_int_equal(try_any(b.data, b.size, NULL), RAPT_OK);
        free(b.data);
        free(data.data);
    }
}

/* Builds an archive of one array. */
static struct bytes one_array(const char *name, const char *header, const void *data, size_t size)
{
    struct bytes bytes = array(header, data, size);
    const struct member member = {.name = name, .local_name = name, .data = bytes};
    struct bytes b = archive(&member, 1);
    free(bytes.data);
    return b;
}

/* Reads elements in both byte orders, and matrices in C and Fortran order. */
static void test_orders(void **state)
{
    (void)state;
    static const struct {
        const char *header, *data;
        float expected[4];
        bool whole;
    } rows[] = {
        {"{'descr': '>f2', 'fortran_order': True, 'shape': (2, 2), }",
         "\x3C\0\x40\0\x42\0\x44\0",
         {1, 3, 2, 4},
         false},
        {"{'descr': '<f2', 'fortran_order': True, 'shape': (2, 2), }",
         "\0\x3C\0\x40\0\x42\0\x44",
         {1, 3, 2, 4},
         false},
        {"{'descr': '>f2', 'fortran_order': False, 'shape': (4,), }",
         "\x3C\0\x40\0\x42\0\x44\0",
         {1, 2, 3, 4},
         false},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }",
         "\x3F\x80\0\0\x40\0\0\0",
         {1, 2},
         false},
        {"{'descr': '>f8', 'fortran_order': False, 'shape': (), }",
         "\x3F\xF8\0\0\0\0\0\0",
         {1.5f},
         false},
        {"{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2), }",
         "\0\1\0\2\xFF\xFF\1\0",
         {1, -1, 2, 256},
         true},
        {"{'descr': '>u4', 'fortran_order': False, 'shape': (2, 1), }",
         "\0\0\0\1\0\0\1\0",
         {1, 256},
         true},
        {"{'descr': '>i8', 'fortran_order': False, 'shape': (1,), }",
         "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFE",
         {-2},
         true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes b = one_array("a.npy", rows[i].header, rows[i].data, 8);
        struct tensor_file *file = NULL;
        rapt_message why = {""};
        float data[4];
        int64_t whole[4];
        if (rapt__tensors_open_any_memory(&file, b.data, b.size, NULL, &why))
            fail_msg("%s", why.text);
        const struct tensor_entry *e = rapt__tensors_find(file, "a");
        if (rows[i].whole)
            assert_int_equal(rapt__tensors_integers(file, e, 0, e->count, whole, NULL), RAPT_OK);
        else
            assert_int_equal(rapt__tensors_read(file, e, 0, e->count, data, NULL), RAPT_OK);
        for (size_t k = 0; k < e->count; k++)
            if ((rows[i].whole ? (float)whole[k] : data[k]) != rows[i].expected[k])
                fail_msg("%zu: element %zu", i, k);
        rapt__tensors_close(file);
        try_any(b.data, b.size, &why);
        free(b.data);
    }
}

/* Reads Marian's configuration, stored the way NumPy stores bytes. */
static void test_texts(void **state)
{
    (void)state;
    static const struct {
        const char *header, *reason;
    } rows[] = {
        {"{'descr': '|i1', 'fortran_order': False, 'shape': (8,), }", NULL},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (8,), }", NULL},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (1, 8), }", NULL},
        {"{'descr': '|S8', 'fortran_order': False, 'shape': (), }", NULL},
        {"{'descr': '|S8', 'fortran_order': False, 'shape': (1,), }", NULL},
        {"{'descr': '|V8', 'fortran_order': False, 'shape': (), }", NULL},
        {"{'descr': '|S4', 'fortran_order': False, 'shape': (2,), }", "has more than one string"},
        {"{'descr': '|S9', 'fortran_order': False, 'shape': (), }", "does not match its shape"},
        {"{'descr': '|S', 'fortran_order': False, 'shape': (), }", "type \"|S\""},
        {"{'descr': '|S0', 'fortran_order': False, 'shape': (), }", "does not match its shape"},
        {"{'descr': '|S8x', 'fortran_order': False, 'shape': (), }", "type \"|S8x\""},
        {"{'descr': '<U2', 'fortran_order': False, 'shape': (), }", "type \"<U2\""},
        {"{'descr': '|S99999999999999999999', 'fortran_order': False, 'shape': (), }", "type"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes b = one_array("special:model.yml.npy", rows[i].header, "a: 1\n\0\0\0", 8);
        struct tensor_file *file = NULL;
        rapt_message why = {""};
        if (rows[i].reason) {
            refuse(&b, rows[i].reason);
        } else {
            if (rapt__tensors_open_any_memory(&file, b.data, b.size, NULL, &why))
                fail_msg("%zu: %s", i, why.text);
            assert_string_equal(rapt__tensors_metadata(file, "special:model.yml"), "a: 1\n");
            assert_int_equal(rapt__tensors_count(file), 0);
            rapt__tensors_close(file);
        }
        free(b.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),     cmocka_unit_test(test_archives),
        cmocka_unit_test(test_neighbors), cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_wide),      cmocka_unit_test(test_orders),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
