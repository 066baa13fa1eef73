/* input.c - what programs read. Lines of a descriptor come in full windows if they are available,
   and in shorter ones where the input pauses; the lines are the same. What a program compresses
   comes back whatever the sizes of the reads are, and damaged files give an error or some bytes. */
#define _GNU_SOURCE
#include "kit/program.h"
#include "kit/text.h"
#include "temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

const char program_name[] = "input";

/* ---- lines ---- */

enum { MAX = 100 };

static void give(int file, const char *text)
{
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
}

static void is(const struct lines *lines, size_t index, const char *text)
{
    rapt_text line = lines_get(lines, index);
    assert_int_equal(line.size, strlen(text));
    assert_memory_equal(line.bytes, text, line.size);
}

static void test_pauses(void **state)
{
    (void)state;
    int ends[2];
    struct lines lines;
    assert_int_equal(pipe(ends), 0);
    lines_open(&lines, ends[0]);
    give(ends[1], "one\ntwo\r\r\n\nhal");
    assert_int_equal(lines_next(&lines, MAX), 3);
    is(&lines, 0, "one");
    is(&lines, 1, "two");
    is(&lines, 2, "");
    give(ends[1], "f\nlast");
    assert_int_equal(lines_next(&lines, MAX), 1);
    is(&lines, 0, "half");
    close(ends[1]);
    assert_int_equal(lines_next(&lines, MAX), 1);
    is(&lines, 0, "last");
    assert_int_equal(lines_next(&lines, MAX), 0);
    assert_int_equal(lines.error, 0);
    lines_close(&lines);
    close(ends[0]);
}

/* A byte order mark is dropped only at the beginning of the input. */
static void test_mark(void **state)
{
    (void)state;
    int ends[2];
    struct lines lines;
    assert_int_equal(pipe(ends), 0);
    lines_open(&lines, ends[0]);
    give(ends[1], "\xEF\xBB\xBFone\n\xEF\xBB\xBFtwo\n");
    assert_int_equal(lines_next(&lines, 1), 1);
    is(&lines, 0, "one");
    assert_int_equal(lines_next(&lines, 1), 1);
    is(&lines, 0, "\xEF\xBB\xBFtwo");
    close(ends[1]);
    lines_close(&lines);
    close(ends[0]);
}

/* Available input fills windows, from a blocking and a non-blocking pipe. */
static void test_full(void **state)
{
    (void)state;
    for (int flags = 0; flags <= O_NONBLOCK; flags += O_NONBLOCK) {
        int ends[2];
        struct lines lines;
        assert_int_equal(pipe2(ends, flags), 0);
        for (int i = 0; i < 5 * MAX / 2; i++) give(ends[1], i % 2 ? "odd\n" : "\n");
        close(ends[1]);
        lines_open(&lines, ends[0]);
        assert_int_equal(lines_next(&lines, MAX), MAX);
        is(&lines, MAX - 1, "odd");
        assert_int_equal(lines_next(&lines, MAX), MAX);
        is(&lines, 0, "");
        assert_int_equal(lines_next(&lines, MAX), MAX / 2);
        is(&lines, MAX / 2 - 1, "odd");
        assert_int_equal(lines_next(&lines, MAX), 0);
        lines_close(&lines);
        close(ends[0]);
    }
}

/* Compares lines of every length with the bytes that they were cut from: many reads per line, many
   lines per read. */
static void test_lengths(void **state)
{
    (void)state;
    enum { LONGEST = 700, SIZE = LONGEST * (LONGEST + 1) / 2 };
    char *all = malloc(SIZE), folder[TEMPORARY], path[TEMPORARY + 8];
    assert_non_null(temporary_folder(folder));
    snprintf(path, sizeof path, "%s/lines", folder);
    int file = open(path, O_RDWR | O_CREAT, 0600);
    struct lines lines;
    size_t number = 0, count;
    assert_true(file >= 0 && all);
    memset(all, 'x', SIZE);
    for (size_t n = 1, at = 0; n <= LONGEST; at += n++) all[at + n - 1] = '\n';
    assert_int_equal(write(file, all, SIZE - 1), SIZE - 1); /* the last line lacks its end */
    assert_int_equal(lseek(file, 0, SEEK_SET), 0);
    lines_open(&lines, file);
    while ((count = lines_next(&lines, 64)) > 0) {
        assert_int_equal(count, number + 64 <= LONGEST ? 64 : LONGEST - number);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(lines_get(&lines, i).size, number++);
            assert_null(memchr(lines_get(&lines, i).bytes, '\n', number - 1));
        }
    }
    assert_int_equal(number, LONGEST);
    lines_close(&lines);
    close(file);
    assert_true(unlink(path) == 0 && rmdir(folder) == 0);
    free(all);
}

static void test_error(void **state)
{
    (void)state;
    struct lines lines;
    int folder = open(".", O_RDONLY);
    lines_open(&lines, folder);
    assert_int_equal(lines_next(&lines, MAX), 0);
    assert_int_equal(lines.error, EISDIR);
    assert_int_equal(lines_next(&lines, MAX), 0);
    lines_close(&lines);
    close(folder);
}

static void is_block(struct lines *lines, size_t max, bool paragraphs, const char *text)
{
    rapt_text block = lines_block(lines, max, paragraphs);
    assert_int_equal(block.size, strlen(text));
    if (block.size > 0) assert_memory_equal(block.bytes, text, block.size);
}

/* Blocks are whole lines, or paragraphs, byte for byte. */
static void test_blocks(void **state)
{
    (void)state;
    for (int paragraphs = 0; paragraphs < 2; paragraphs++) {
        int ends[2];
        struct lines lines;
        assert_int_equal(pipe(ends), 0);
        lines_open(&lines, ends[0]);
        give(ends[1], "one\r\n\ntwo\nthr");
        is_block(&lines, MAX, paragraphs, paragraphs ? "one\r\n\n" : "one\r\n\ntwo\n");
        give(ends[1], "ee\n \t\r\nfour");
        is_block(&lines, MAX, paragraphs, paragraphs ? "two\nthree\n \t\r\n" : "three\n \t\r\n");
        close(ends[1]);
        is_block(&lines, MAX, paragraphs, "four");
        is_block(&lines, MAX, paragraphs, "");
        assert_int_equal(lines.error, 0);
        assert_null(lines.ends); /* lines are not counted */
        lines_close(&lines);
        close(ends[0]);
    }
}

/* A line that is too long is cut: after a sentence, a word or a character. */
static void test_cut_lines(void **state)
{
    (void)state;
    int ends[2];
    struct lines lines;
    assert_int_equal(pipe(ends), 0);
    lines_open(&lines, ends[0]);
    give(ends[1], "a. b. c d e\nf g hij klmnopqrst\xC3\xA9uvw\n\nx\ny\n\nz");
    close(ends[1]);
    is_block(&lines, 8, false, "a. b. ");
    is_block(&lines, 8, false, "c d e\n");
    is_block(&lines, 8, false, "f g hij ");
    is_block(&lines, 11, false, "klmnopqrst");
    is_block(&lines, 8, true, "\xC3\xA9uvw\n\n");
    is_block(&lines, 3, true, "x\n");
    is_block(&lines, 3, true, "y\n\n");
    is_block(&lines, 3, true, "z");
    is_block(&lines, 3, true, "");
    lines_close(&lines);
    close(ends[0]);
}

/* ---- compressed texts, read through a file ---- */

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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pauses),    cmocka_unit_test(test_mark),
        cmocka_unit_test(test_full),      cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_error),     cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_cut_lines), cmocka_unit_test(test_whole),
        cmocka_unit_test(test_damaged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
