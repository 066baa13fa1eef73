/* hash.c - hashes: FNV-1a and SHA-256. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* ---- hash: the published values of FNV-1a; any one changed byte changes the hash. ---- */

/* From the FNV test suite: http://www.isthe.com/chongo/src/fnv/test_fnv.c */
static void hash_published(void **state)
{
    (void)state;
    assert_int_equal(rapt__hash(NULL, 0), 0x811c9dc5u);
    assert_int_equal(rapt__hash("a", 1), 0xe40c292cu);
    assert_int_equal(rapt__hash("foobar", 6), 0xbf9cf968u);
}

static void one_byte(void **state)
{
    (void)state;
    unsigned char text[9] = "any text";
    uint32_t hash = rapt__hash(text, sizeof text);
    for (size_t i = 0; i < sizeof text; i++) {
        unsigned char before = text[i];
        for (unsigned add = 1; add < 256; add++) {
            text[i] = (unsigned char)(before + add);
            assert_int_not_equal(rapt__hash(text, sizeof text), hash);
        }
        text[i] = before;
    }
}

/* The hash is constant for one table and differs between tables. */
static void of_tables(void **state)
{
    (void)state;
    static char tables[64][64];
    uint32_t first = rapt__hash_from(tables[0], "a", 1);
    int same = 0;
    assert_int_equal(rapt__hash_from(tables[0], "a", 1), first);
    for (int i = 1; i < 64; i++) same += rapt__hash_from(tables[i], "a", 1) == first;
    assert_int_equal(same, 0);
}

/* ---- sha256: the hashes of the texts that FIPS 180-4 was published with, added in pieces of any
   size. ---- */

static void is(const char *text, size_t times, size_t piece, const char *wanted)
{
    struct sha256 hash;
    char got[SHA256_TEXT];
    const size_t size = strlen(text);
    rapt__sha256_begin(&hash);
    for (size_t n = 0; n < times; n++)
        for (size_t at = 0; at < size; at += piece)
            rapt__sha256_add(&hash, text + at, at + piece < size ? piece : size - at);
    rapt__sha256_end(&hash, got);
    assert_string_equal(got, wanted);
}

static void sha256_published(void **state)
{
    (void)state;
    static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    for (size_t piece = 1; piece < 70; piece++) {
        is("", 1, piece, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        is("abc", 1, piece, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        is(two, 1, piece, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    }
    is("a", 1000000, 1, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_published),
        cmocka_unit_test(one_byte),
        cmocka_unit_test(of_tables),
        cmocka_unit_test(sha256_published),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
