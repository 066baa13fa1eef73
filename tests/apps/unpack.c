/* unpack.c - what a program compresses comes back whatever the sizes of the reads are, and damaged
   files give an error or some bytes, but nothing else happens. Texts are read through a file. */
#define _GNU_SOURCE
#include "kit/text.h"

#include "kit/program.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

const char program_name[] = "unpack";
enum { TEXT = 20000, DAMAGED = 400 };
static const struct packing *const packings[] = {&packing_gzip, &packing_zstd};

static uint64_t state_of_random = 1;

static size_t below(size_t n)
{
    state_of_random = state_of_random * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(state_of_random >> 33) % n;
}

/* Reads a file of these bytes in pieces of any size, into out [capacity]. Returns the size of the
   text, or -1 if the file is refused. */
static ssize_t read_all(const char *bytes, size_t size, char *out, size_t capacity)
{
    struct unpack u;
    ssize_t got;
    size_t all = 0;
    FILE *whole = tmpfile();
    assert_non_null(whole);
    const int file = fileno(whole);
    assert_int_equal(write(file, bytes, size), (ssize_t)size);
    assert_int_equal(lseek(file, 0, SEEK_SET), 0);
    unpack_open(&u, file);
    do {
        size_t room = 1 + below(below(2) ? 9 : 6000);
        if (room > capacity - all) room = capacity - all;
        got = unpack_read(&u, out + all, room);
        assert_true(got <= (ssize_t)room);
        all += got > 0 ? (size_t)got : 0;
    } while (got > 0 && all < capacity);
    if (got < 0) assert_non_null(u.wrong);
    unpack_close(&u);
    fclose(whole);
    return got < 0 ? -1 : (ssize_t)all;
}

/* Fills text [TEXT] with letters that compress a little. */
static void fill(char *text)
{
    for (size_t i = 0; i < TEXT; i++) text[i] = (char)('a' + below(1 + i % 26));
}

static void test_whole(void **state)
{
    (void)state;
    static char text[TEXT], out[2 * TEXT + 1];
    static const size_t sizes[] = {0, 1, 100, TEXT};
    fill(text);
    for (size_t p = 0; p < 2; p++)
        for (size_t s = 0; s < 4 && packings[p]->pack; s++) {
            size_t size = 0;
            char *packed = packings[p]->pack(text, sizes[s], &size), *two = malloc(2 * size);
            assert_true(packed && two && is_packed(packed, size));
            memcpy(two, packed, size), memcpy(two + size, packed, size);
            assert_int_equal(read_all(packed, size, out, sizeof out), (ssize_t)sizes[s]);
            assert_memory_equal(out, text, sizes[s]);
            assert_int_equal(read_all(two, 2 * size, out, sizeof out), (ssize_t)(2 * sizes[s]));
            assert_memory_equal(out + sizes[s], text, sizes[s]);
            free(packed);
            free(two);
        }
    assert_int_equal(read_all(text, TEXT, out, sizeof out), TEXT);
    assert_memory_equal(out, text, TEXT);
    assert_ptr_equal(packing_of("a.gz"), &packing_gzip);
    assert_ptr_equal(packing_of("a.txt.zst"), &packing_zstd);
    assert_null(packing_of(".gz"));
    assert_null(packing_of("gz"));
}

static void test_damaged(void **state)
{
    (void)state;
    static char text[TEXT], out[4 * TEXT];
    fill(text);
    for (size_t p = 0; p < 2; p++) {
        size_t size = 0, refused = 0;
        if (!packings[p]->pack) continue;
        char *packed = packings[p]->pack(text, TEXT, &size), *copy = malloc(size);
        assert_true(packed && copy);
        for (int i = 0; i < DAMAGED; i++) {
            const size_t cut = i % 3 == 0 ? 4 + below(size - 4) : size;
            memcpy(copy, packed, size);
            for (int k = i % 3 == 0 ? 0 : 1 + (int)below(3); k > 0; k--)
                copy[4 + below(size - 4)] ^= (char)(1 + below(255));
            refused += read_all(copy, cut, out, sizeof out) < 0;
        }
        assert_true(refused > DAMAGED / 2);
        free(packed);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole),
                                       cmocka_unit_test(test_damaged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
