/* pairs.c - any bytes as a corpus: one file of two columns, or two parallel files. A plain reading
   of the same bytes says which lines are pairs and whether the corpus must be refused. Reading a
   few bytes at a time, and each pair again at its position, must give the same pairs. */
#define _GNU_SOURCE
#include "data/data.h"
#include "fuzz.h"
#include <sys/mman.h>
#include <unistd.h>

struct file {
    int handle;
    char path[32];
    const uint8_t *bytes;
    size_t size;
};

/* Overwrites a file in memory. The file is created once and serves all inputs. */
static void fill(struct file *f, const uint8_t *bytes, size_t size)
{
    f->bytes = bytes, f->size = size;
    if (f->path[0] == 0) {
        f->handle = memfd_create("corpus", 0);
        require(f->handle >= 0, "a file in memory");
        snprintf(f->path, sizeof f->path, "/proc/self/fd/%d", f->handle);
    }
    require(ftruncate(f->handle, 0) == 0, "an empty file");
    require(pwrite(f->handle, bytes, size, 0) == (ssize_t)size, "a written file");
}

/* Finds the line at *at and moves *at to the next. Returns false at the end. */
static bool next_line(const struct file *f, size_t *at, rapt_text *line)
{
    if (*at >= f->size) return false;
    size_t begin = *at, end = begin;
    while (end < f->size && f->bytes[end] != '\n') end++;
    *at = end + 1;
    if (end > begin && f->bytes[end - 1] == '\r') end--;
    *line = (rapt_text){(const char *)f->bytes + begin, end - begin};
    return true;
}

static size_t first_byte(const struct file *f)
{
    return f->size >= 3 && memcmp(f->bytes, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

static bool equal(rapt_text a, rapt_text b)
{
    return a.size == b.size && (!a.size || memcmp(a.bytes, b.bytes, a.size) == 0);
}

struct expected {
    bool good; /* false if a line is malformed */
    size_t count;
};

static void expect_pair(struct expected *e, const struct pairs *pairs, rapt_text a, rapt_text b,
                        size_t line)
{
    if (!a.size || !b.size || a.size > MAX_BYTES || b.size > MAX_BYTES) return;
    if (e->count < pairs->count) {
        require(equal(a, pairs->source[e->count]), "the source of a pair");
        require(equal(b, pairs->target[e->count]), "the target of a pair");
        require(pairs->line[e->count] == line, "its line");
    }
    e->count++;
}

/* Returns whether a file is refused although it may be UTF-8: a zip archive, a file of bzip2,
   UTF-16 of ASCII, lines that end with CR only. */
static bool is_foreign(const struct file *f)
{
    size_t zeros[2] = {0, 0};
    for (size_t i = 0; i < 8 && f->size >= 8; i++) zeros[i % 2] += f->bytes[i] == 0;
    bool wide = (zeros[0] == 4 && zeros[1] == 0) || (zeros[0] == 0 && zeros[1] == 4);
    bool zip = f->size >= 4 && memcmp(f->bytes, "PK\x03\x04", 4) == 0;
    bool bzip2 =
        f->size >= 10 && memcmp(f->bytes, "BZh", 3) == 0 && memcmp(f->bytes + 4, "1AY&SY", 6) == 0;
    bool cr = f->size && !memchr(f->bytes, '\n', f->size) && memchr(f->bytes, '\r', f->size - 1);
    return wide || zip || bzip2 || cr;
}

static struct expected expect_one(const struct file *f, const struct pairs *pairs)
{
    struct expected e = {.good = f->size > 0 && !is_foreign(f)};
    size_t at = first_byte(f), number = 0;
    rapt_text line;
    while (e.good && next_line(f, &at, &line)) {
        number++;
        if (line.size == 0) continue; /* a pair whose sides are empty */
        const char *tab = memchr(line.bytes, '\t', line.size);
        e.good = tab && rapt_utf8_valid(line) == line.size;
        if (!e.good) break;
        rapt_text source = {line.bytes, (size_t)(tab - line.bytes)};
        rapt_text target = {tab + 1, line.size - source.size - 1};
        const char *more = target.size ? memchr(target.bytes, '\t', target.size) : NULL;
        if (more) target.size = (size_t)(more - target.bytes);
        expect_pair(&e, pairs, source, target, number);
    }
    return e;
}

static struct expected expect_two(const struct file f[2], const struct pairs *pairs)
{
    struct expected e = {.good = f[0].size > 0 && f[1].size > 0 && !is_foreign(&f[0]) &&
                                 !is_foreign(&f[1])};
    size_t at[2] = {first_byte(&f[0]), first_byte(&f[1])}, number = 0;
    rapt_text line[2];
    while (e.good) {
        bool more[2] = {next_line(&f[0], &at[0], &line[0]), next_line(&f[1], &at[1], &line[1])};
        if (!more[0] && !more[1]) break;
        number++;
        e.good = more[0] && more[1] && rapt_utf8_valid(line[0]) == line[0].size &&
                 rapt_utf8_valid(line[1]) == line[1].size;
        if (e.good) expect_pair(&e, pairs, line[0], line[1], number);
    }
    return e;
}

static void is_pair(const struct pair_reader *reader, const struct pairs *pairs, size_t i)
{
    require(equal(reader->source, pairs->source[i]), "the source, read again");
    require(equal(reader->target, pairs->target[i]), "the target, read again");
}

/* Reads all pairs in chunks, then the last and the first again at their positions. */
static void read_again(const struct pairs *pairs, const struct pair_files *files, size_t chunk)
{
    struct pair_inputs inputs;
    struct pair_reader reader = {0};
    struct position first = {0}, last = {0};
    bool more = true, same;
    require(pair_inputs_open(&inputs, files) == EXIT_OK, "files open again");
    require(reader_open(&reader, &inputs, chunk) == EXIT_OK, "they are read again");
    for (size_t i = 0; i < pairs->count; i++) {
        require(reader_next(&reader, &more) == EXIT_OK && more, "a pair is there again");
        require(reader_lines(&reader) == pairs->line[i], "its line again");
        is_pair(&reader, pairs, i);
        last = reader.position;
        if (i == 0) first = last;
    }
    require(reader_next(&reader, &more) == EXIT_OK && !more, "no more pairs");
    require(reader_again(&reader, last, &same) == EXIT_OK && same, "the last pair at its position");
    is_pair(&reader, pairs, pairs->count - 1);
    require(reader_again(&reader, first, &same) == EXIT_OK && same,
            "the first pair at its position");
    is_pair(&reader, pairs, 0);
    reader_close(&reader);
    pair_inputs_close(&inputs);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct file files[2];
    struct pairs pairs;
    struct expected e;
    if (size < 2 || size > 1 << 13) return 0;
    bool two = bytes[0] % 2;
    size_t first = two ? (size_t)bytes[1] % (size - 1) : size - 2;
    fill(&files[0], bytes + 2, first < size - 2 ? first : size - 2);
    if (two) fill(&files[1], bytes + 2 + files[0].size, size - 2 - files[0].size);
    const struct pair_files at = {.data = two ? NULL : files[0].path,
                                  .source = two ? files[0].path : NULL,
                                  .target = two ? files[1].path : NULL,
                                  .more_columns = true};
    int code = pairs_read(&pairs, &at);
    e = two ? expect_two(files, &pairs) : expect_one(&files[0], &pairs);
    require((code == EXIT_OK) == (e.good && e.count > 0), "which files are read");
    if (e.good) require(e.count == pairs.count, "how many pairs");
    if (code == EXIT_OK) read_again(&pairs, &at, 1 + bytes[1] % 64);
    pairs_free(&pairs);
    return 0;
}
