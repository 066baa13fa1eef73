/* sha256.c - the hashes of the texts that FIPS 180-4 was published with, added in pieces of any
   size. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

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

static void published(void **state)
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(published)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
