/* programs.c - what programs read: their arguments, their state in a checkpoint, and a corpus. */
#define _POSIX_C_SOURCE 200809L
#define _GNU_SOURCE

#include "commands/commands.h"
#include "data/data.h"
#include "fuzz.h"
#include "training/state_text.h"
#include "training/training.h"

#include <getopt.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- command line: argument vectors chosen by the input, for the programs' option parser with
   tables of toy_translate: the options of a model's configuration, of search, and one of each other
   kind. An accepted value must be in its range, and the resulting configuration is checked. A
   refusal must print exactly one message. No file is touched. ---- */

enum { ROWS = VARIANT_ROWS + SEARCH_ROWS + 4, ARGUMENTS = 12, REST = 2 };

static struct option_row rows[ROWS];
static int row_count;
static struct variant variant;
static struct search search;
static struct {
    bool flag;
    uint64_t seed;
    const char *text, *choice;
} command_line_other;

/* Fills the table of options once. Its rows keep pointers to the values. */
static void make_rows(void)
{
    const struct option_row more[] = {
        {"flag", OPTION_FLAG, &command_line_other.flag, "", "a flag", 0, 0, false},
        {"seed", OPTION_SEED, &command_line_other.seed, "N", "a seed", 0, 0, false},
        {"out", OPTION_INPUT, &command_line_other.text, "FILE", "a text", 0, 0, false},
        {"schedule", OPTION_CHOICE, &command_line_other.choice, "inverse-sqrt|linear|constant",
         "one of", 0, 0, false},
    };
    if (row_count > 0) return;
    require(freopen("/dev/null", "w", stdout) != NULL, "help goes nowhere");
    row_count = variant_rows(&variant, VARIANT_MODEL, rows);
    row_count += variant_rows(&variant, VARIANT_ATTENTION, rows + row_count);
    search_rows(&search, rows + row_count);
    row_count += SEARCH_ROWS;
    memcpy(rows + row_count, more, sizeof more);
    row_count += (int)(sizeof more / sizeof *more);
}

static void reset(void)
{
    memset(&variant, 0, sizeof variant);
    memset(&command_line_other, 0, sizeof command_line_other);
    search = search_default;
    for (int i = 0; i < row_count; i++) rows[i].given = false;
    optind = 0; /* resets getopt in glibc */
}

/* Returns an option with or without a value, a truncated option, or some other word. */
static char *take_argument(struct feed *in)
{
    static const char *const values[] = {
        "0",    "1",  "-1", "7", "1e-300", "3e38", "1e999",  "nan",        "inf",
        "0x10", " 1", "1 ", "",  "pre",    "dot",  "linear", "2147483648", "18446744073709551616"};
    char text[300];
    uint8_t kind = take_byte(in);
    const char *name = rows[take_below(in, row_count)].name;
    const char *value = values[take_below(in, sizeof values / sizeof *values)];
    if (kind < 60)
        snprintf(text, sizeof text, "--%s", name);
    else if (kind < 140)
        snprintf(text, sizeof text, "--%s=%s", name, value);
    else if (kind < 180)
        snprintf(text, sizeof text, "%s", value);
    else if (kind < 200)
        snprintf(text, sizeof text, "--%.*s=%s", take_below(in, 12), name, value);
    else if (kind < 210)
        snprintf(text, sizeof text, "%.*s", take_below(in, 7), "--help");
    else {
        size_t size = (size_t)take_below(in, 40), at = 0;
        for (; at < size && in->left; at++) {
            uint8_t byte = take_byte(in);
            text[at] = (char)(byte ? byte : '-');
        }
        text[at] = 0;
    }
    return text_copy(text, strlen(text));
}

static void check_row(const struct option_row *row)
{
    if (row->kind == OPTION_INTEGER) {
        int value = *(int *)row->value;
        require(value >= row->min && value <= row->max, "an integer in its range");
    } else if (row->kind == OPTION_REAL) {
        double value = *(double *)row->value;
        require(isfinite(value) && value >= row->min && value <= row->max, "a number in its range");
    } else if (row->kind == OPTION_INPUT) {
        require(**(const char **)row->value != 0, "a text");
    } else if (row->kind == OPTION_CHOICE) {
        require(strstr(row->argument, *(const char **)row->value) != NULL, "one of the choices");
    } else if (row->kind == OPTION_FLAG) {
        require(*(bool *)row->value, "a flag that is set");
    }
}

/* Makes a configuration of the options. If the library refuses it, the reason must name the
   field. */
static void check_variant(void)
{
    rapt_config config = {.size = sizeof config};
    rapt_message why = {""};
    require(rapt_config_preset(&config, "tiny", 300, NULL) == RAPT_OK, "a preset");
    variant_apply(&variant, &config);
    rapt_status status = rapt_config_check(&config, &why);
    require(status == RAPT_OK || (status == RAPT_BAD_ARGUMENT && why.text[0]), "a reason");
    free(variant_text(&config));
    json_decref(variant_describe(&config));
}

static void check_command_line(int count, char **arguments)
{
    struct command command = {.name = "train",
                              .arguments = "[A] [B]",
                              .purpose = "none",
                              .rows = rows,
                              .count = row_count,
                              .min = count % 2,
                              .max = REST};
    long before = messages;
    reset();
    int code = options_read(&command, count, arguments);
    require(code == GO_ON || code == EXIT_OK || code == EXIT_USAGE, "an exit code");
    require(messages - before == (code == EXIT_USAGE), "one message for a refusal, else none");
    if (code != GO_ON) return;
    int rest = (int)(arguments + count - command.rest);
    require(rest >= command.min && rest <= command.max, "how many arguments are left");
    for (int i = 0; i < row_count; i++) {
        require(option_given(&command, rows[i].name) == rows[i].given, "what was given");
        if (rows[i].given) check_row(&rows[i]);
    }
    check_variant();
}

int fuzz_command_line(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    if (size > 1 << 10) return 0;
    make_rows();
    char *own[ARGUMENTS + 1], *arguments[ARGUMENTS + 1];
    int count = 1 + take_below(&in, ARGUMENTS);
    own[0] = text_copy("train", 5);
    for (int i = 1; i < count; i++) own[i] = take_argument(&in);
    own[count] = NULL;
    memcpy(arguments, own, sizeof(char *) * ((size_t)count + 1)); /* parsing permutes them */
    check_command_line(count, arguments);
    for (int i = 0; i < count; i++) free(own[i]);
    return 0;
}

/* ---- state: the text of a training state in a checkpoint of toy_translate: any bytes, or fields
   with values chosen by the input. It must be refused with a reason and change nothing, or have
   every field in the range of state.def and stay the same when it is written and read again. ----
   */

enum { TEXT = 1 << 12 };

static const char *const names[] = {
#define STATE(ctype, name, kind, min, max) #name,
#include "training/state.def"
    "data",
    "options",
};
enum { NAMES = sizeof names / sizeof *names };

/* Writes a good state in which a field may be missing, repeated or changed. */
static void structured(struct feed *in, char *text)
{
    static const char *const good[NAMES] = {
        "3",          "2", "9", "1.5", "1", "0", "0.0", "12.25", "77", "\"00000000000000ff\"",
        "\"width 8\""};
    static const char *const values[] = {"0",
                                         "1",
                                         "-1",
                                         "9",
                                         "10",
                                         "1000000000",
                                         "1000000001",
                                         "1000000000000000001",
                                         "1e300",
                                         "1.1e300",
                                         "1e999",
                                         "-0.0",
                                         "null",
                                         "true",
                                         "\"\"",
                                         "[]",
                                         "9223372036854775807",
                                         "9223372036854775808",
                                         "-9223372036854775808",
                                         "1.0",
                                         "1e9",
                                         "\"00000000000000FF\"",
                                         "\"ffffffffffffffff\"",
                                         "\"\\u0000\"",
                                         "\"\\u00e9 1\""};
    size_t at = 0;
    for (int i = 0; i < NAMES; i++) {
        uint8_t what = take_byte(in);
        const char *value = what < sizeof values / sizeof *values ? values[what] : good[i];
        if (what == 255) continue;
        const char *name = names[what == 254 ? take_below(in, NAMES) : i];
        at += (size_t)snprintf(text + at, TEXT - at, "%s\"%s\":%s", at ? "," : "{", name, value);
    }
    snprintf(text + at, TEXT - at, "%s}", at ? "" : "{");
}

static void check_ranges(const struct state *s)
{
    const double values[] = {
#define STATE(ctype, name, kind, min, max) (double)s->name,
#include "training/state.def"
    };
    static const double lowest[] = {
#define STATE(ctype, name, kind, min, max) min,
#include "training/state.def"
    };
    static const double highest[] = {
#define STATE(ctype, name, kind, min, max) max,
#include "training/state.def"
    };
    for (int i = 0; i < NAMES - 2; i++) {
        bool none = strcmp(names[i], "best") == 0 && values[i] == (double)INFINITY;
        require(none || (values[i] >= lowest[i] && values[i] <= highest[i]),
                "a field in its range");
    }
}

static void check_state(const char *text, size_t size)
{
    struct state state, old, again = {0};
    struct state_reason why = {""};
    char *options = NULL, *other = NULL;
    memset(&state, 0x11, sizeof state);
    old = state;
    bool good = state_parse(&state, &options, text, size, &why);
    require(good == (options != NULL) && good == !why.text[0], "a state, or a reason");
    if (!good) {
        require(memcmp(&state, &old, sizeof old) == 0, "what is refused changes nothing");
        return;
    }
    check_ranges(&state);
    char *written = state_text(&state, options);
    require(written && state_parse(&again, &other, written, strlen(written), &why), "read again");
    require(memcmp(&state, &again, sizeof again) == 0 && strcmp(options, other) == 0, "the same");
    free(written);
    free(options);
    free(other);
}

int fuzz_state(const uint8_t *bytes, size_t size)
{
    static char text[TEXT];
    struct feed in = {bytes, size};
    if (size > TEXT) return 0;
    bool fields = take_byte(&in) % 2;
    if (fields) structured(&in, text);
    size_t length = fields ? strlen(text) : in.left;
    char *exact = exact_copy(fields ? (const uint8_t *)text : in.at, length);
    check_state(exact, length);
    free(exact);
    return 0;
}

/* ---- pairs: any bytes as a corpus: one file of two columns, or two parallel files. A plain
   reading of the same bytes says which lines are pairs and whether the corpus must be refused.
   Reading a few bytes at a time, and each pair again at its position, must give the same pairs.
   ---- */

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

int fuzz_pairs(const uint8_t *bytes, size_t size)
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
